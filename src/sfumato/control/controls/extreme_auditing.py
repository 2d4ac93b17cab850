"""Auditing of max and min by extreme sets: S. Nabar, B. Marthi, K. Kenthapadi, N. Mishra and R. Motwani, "Towards
robustness in query auditing", VLDB 2006; what may be answered whatever is true: K. Kenthapadi, N. Mishra and K. Nissim,
"Simulatable auditing", PODS 2005."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.control.classes import QueryClasses
from sfumato.control.controls.model import AskedSet, Auditor, QueryModel, Setting
from sfumato.control.query import MAX, MIN


@dataclass(frozen=True)
class ExtremeAuditing(QueryModel):
    """Answers max and min only as long as all answers together determine nobody's value.

    Every greatest value that was told has at least two people who may have it, whether or not some values are equal,
    and so has every least one. Unless auditing is offline, this has to be so whatever the next answer is.
    """

    audits: ClassVar[frozenset[str]] = frozenset({MAX, MIN})

    @property
    def carries(self) -> bool:
        """Whether it holds over snapshots: a value that has changed would not fit what was told."""
        return False

    def start(self, setting: Setting) -> ExtremeAuditor:
        """Nothing was answered."""
        return ExtremeAuditor(len(setting.people))

    def sentence(self) -> str:
        """What it says."""
        return "Greatest and least values together determine nobody's value."


class ExtremeAuditor(Auditor):
    """The extremes that were told, for each column."""

    def __init__(self, people: int) -> None:
        self._people = people
        self._columns: dict[str, Extremes] = {}
        self._inside = np.zeros(1, np.bool_)

    def refusal(self, asked: AskedSet) -> str | None:
        """Somebody's value could be determined by the answer: by the true one, or by some that is possible."""
        name, kind = asked.query.column, asked.query.kind
        if kind not in ExtremeAuditing.audits or name is None:
            return None
        told = self._columns.setdefault(name, Extremes(self._people))
        self._inside = told.look(asked.inside)
        if told.knows(self._inside, kind == MAX):
            return None
        answers = told.candidates() if asked.answer is None else np.array([asked.answer])
        if any(told.determines(self._inside, kind == MAX, float(one)) for one in answers):
            return f'with what was answered of "{name}", somebody\'s value could be found'
        return None

    def record(self, asked: AskedSet, answer: float) -> None:
        """The extreme was told."""
        if asked.query.kind in ExtremeAuditing.audits and asked.query.column is not None:
            self._columns[asked.query.column].tell(self._inside, asked.query.kind == MAX, answer)


class Extremes:
    """Sets of a column, of each its greatest or its least value."""

    def __init__(self, people: int) -> None:
        self.classes = QueryClasses(people)
        self.sets = np.zeros((0, 1), np.bool_)  # over classes
        self.greatest = np.zeros(0, np.bool_)
        self.answers = np.zeros(0)

    def look(self, inside: np.ndarray) -> np.ndarray:
        """Which classes are in a set, after it has divided them."""
        parents, found = self.classes.split(inside)
        self.sets = np.append(self.sets, self.sets[:, parents], axis=1)
        return found

    def knows(self, inside: np.ndarray, greatest: bool) -> bool:
        """Whether this very extreme was told."""
        return bool(((self.sets == inside).all(axis=1) & (self.greatest == greatest)).any())

    def tell(self, inside: np.ndarray, greatest: bool, answer: float) -> None:
        """An extreme is told."""
        if not self.knows(inside, greatest):
            self.sets, self.greatest, self.answers = self._with(inside, greatest, answer)

    def candidates(self) -> np.ndarray:
        """Answers that stand for all that may come: those that were told, one between each two, one beyond each end."""
        told = np.unique(self.answers)
        if not len(told):
            return np.zeros(1)
        return np.concatenate((told, (told[1:] + told[:-1]) / 2, [told[0] - 1, told[-1] + 1]))

    def determines(self, inside: np.ndarray, greatest: bool, answer: float) -> bool:
        """Whether an answer may come, and would leave somebody's value certain."""
        sets, kinds, answers = self._with(inside, greatest, answer)
        there = self.classes.sizes > 0
        sets, sizes = sets[:, there], self.classes.sizes[there]
        above = np.where(sets & kinds[:, None], answers[:, None], np.inf).min(axis=0)
        below = np.where(sets & ~kinds[:, None], answers[:, None], -np.inf).max(axis=0)
        may = sets & (np.where(kinds[:, None], above, below) == answers[:, None])  # who may have what was told
        if (below > above).any() or not may.any(axis=1).all():
            return False  # it cannot come
        if (below == above).any():
            return True
        high, low = may[kinds].any(axis=0), may[~kinds].any(axis=0)
        half = sizes // 2  # who may have a greatest and a least value stands for one of them alone
        for kind, own in ((True, np.where(low, half, sizes)), (False, np.where(high, sizes - half, sizes))):
            extremes, values = may[kinds == kind], answers[kinds == kind]
            if (extremes @ own < 2).any():
                return True
            for value in np.unique(values):  # if all values differ, one person has it in all these sets
                shared = extremes[values == value].all(axis=0)
                if shared.any() and shared @ own < 2:
                    return True
        return False

    def _with(self, inside: np.ndarray, greatest: bool, answer: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        sets = np.vstack((self.sets, inside))
        return sets, np.append(self.greatest, greatest), np.append(self.answers, answer)
