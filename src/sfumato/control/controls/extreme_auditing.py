"""Auditing of max and min by extreme sets: S. Nabar, B. Marthi, K. Kenthapadi, N. Mishra and R. Motwani, "Towards
robustness in query auditing", VLDB 2006; what may be answered whatever is true: K. Kenthapadi, N. Mishra and K. Nissim,
"Simulatable auditing", PODS 2005."""

from __future__ import annotations

import hashlib
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
        return ExtremeAuditor(setting.everybody)

    def sentence(self) -> str:
        """What it says."""
        return "Greatest and least values together determine nobody's value."


class ExtremeAuditor(Auditor):
    """The extremes that were told, for each column."""

    def __init__(self, people: int) -> None:
        self._people = people
        self._columns: dict[str, Extremes] = {}
        self._known: set[tuple[str, str, bytes]] = set()
        self._inside = np.zeros(1, np.bool_)

    def refusal(self, asked: AskedSet) -> str | None:
        """Somebody's value could be determined by the answer: by the true one, or by some that is possible."""
        name, kind = asked.query.column, asked.query.kind
        if kind not in ExtremeAuditing.audits or name is None or _key(asked) in self._known:
            return None
        told = self._columns.setdefault(name, Extremes(self._people))
        self._inside = told.look(asked.inside)
        answers = told.candidates() if asked.answer is None else np.array([asked.answer])
        if told.determines(self._inside, kind == MIN, answers):
            return f'with what was answered of "{name}", somebody\'s value could be found'
        return None

    def record(self, asked: AskedSet, answer: float) -> None:
        """The extreme was told."""
        name, kind = asked.query.column, asked.query.kind
        if kind in ExtremeAuditing.audits and name is not None and _key(asked) not in self._known:
            self._columns[name].tell(self._inside, kind == MIN, answer)
            self._known.add(_key(asked))


def _key(asked: AskedSet) -> tuple[str, str, bytes]:
    return asked.query.kind, asked.query.column or "", hashlib.sha256(np.packbits(asked.inside).tobytes()).digest()


class Extremes:
    """What was told of a column: greatest values, and least ones, which are the greatest of the negated values."""

    def __init__(self, people: int) -> None:
        self.classes = QueryClasses(people)
        self.sides = ToldMaxima(), ToldMaxima()

    def look(self, inside: np.ndarray) -> np.ndarray:
        """Which classes are in a set, after it has divided them."""
        parents, found = self.classes.split(inside)
        for side in self.sides:
            side.widen(parents)
        return found

    def candidates(self) -> np.ndarray:
        """Answers that stand for all that may come: those that were told, and the numbers next to each, however large,
        one of which is between each two, and one beyond each end."""
        told = np.unique(np.append(self.sides[0].answers, -self.sides[1].answers))
        if not len(told):
            return np.zeros(1)
        return np.unique([told, np.nextafter(told, -np.inf), np.nextafter(told, np.inf)])

    def determines(self, inside: np.ndarray, least: bool, answers: np.ndarray) -> bool:
        """Whether one of some answers may come, and would leave somebody's value certain."""
        own, other = self.sides[least], self.sides[not least]
        sizes = self.classes.sizes
        half = sizes // 2  # who may have a greatest and a least value stands for one of them alone
        parts = (sizes - half, half) if least else (half, sizes - half)
        here = np.where(other.open, parts[0], sizes)
        there = np.where(own.open | inside, parts[1], sizes)
        nobody = np.zeros_like(inside)
        crowded = other.tally(nobody, there).is_unsafe(-np.inf)
        tally = own.tally(inside, here)
        bound, below, people = own.bound[inside], -other.bound[inside], here[inside]
        highest = below.max(initial=-np.inf)
        for answer in -answers if least else answers:
            may = bound >= answer
            if not may.any() or tally.is_impossible(answer) or highest > answer:
                continue  # it cannot come
            if crowded or people[may].sum() < 2 or (below == np.minimum(bound, answer)).any():
                return True
            if tally.is_unsafe(answer) or own.shares(answer, inside, may, people):
                return True
        return False

    def tell(self, inside: np.ndarray, least: bool, answer: float) -> None:
        """An extreme is told."""
        self.sides[least].tell(inside, -answer if least else answer)


class ToldMaxima:
    """Sets and the greatest value of each: who may have it, and how great the value of a class may be. If all values
    differ, one person has a value that was told of several sets: who may be that is in `shared`."""

    def __init__(self) -> None:
        self.bound = np.full(1, np.inf)  # of each class
        self.answers, self.may = np.zeros(0), np.zeros((0, 1), np.float32)
        self.values, self.shared = np.zeros(0), np.zeros((0, 1), np.float32)
        self.open = np.zeros(1, np.bool_)  # whether a class may have some of them

    def widen(self, parents: np.ndarray) -> None:
        """New classes, each taken from another."""
        if len(parents):
            self.bound, self.open = np.append(self.bound, self.bound[parents]), np.append(self.open, self.open[parents])
            self.may = np.append(self.may, self.may[:, parents], axis=1)
            self.shared = np.append(self.shared, self.shared[:, parents], axis=1)

    def tally(self, inside: np.ndarray, people: np.ndarray) -> MaximaTally:
        """How many people may have each value, of all and of those outside of a set."""
        weights = np.column_stack((people, people * ~inside, people >= 0, ~inside)).astype(np.float32)
        return MaximaTally(self.answers, self.may @ weights, self.values, self.shared @ weights)

    def shares(self, answer: float, inside: np.ndarray, may: np.ndarray, people: np.ndarray) -> bool:
        """Whether, if all values differ, fewer than two people of a set, of whom some `may` have an answer, may have it
        if it was told of other sets too."""
        both = (self.shared[self.values == answer][:, inside] > 0) & may
        return bool((both.any(axis=1) & (both @ people < 2)).any())

    def tell(self, inside: np.ndarray, answer: float) -> None:
        """The greatest value of a set is told."""
        self.bound[inside] = np.minimum(self.bound[inside], answer)
        self.may[np.ix_(self.answers > answer, inside)] = 0
        self.shared[np.ix_(self.values > answer, inside)] = 0
        may = np.where(self.bound == answer, inside, 0).astype(np.float32)
        self.may, self.answers = np.vstack((self.may, may)), np.append(self.answers, answer)
        same = self.values == answer
        if same.any():
            self.shared[same] *= may
        else:
            self.shared, self.values = np.vstack((self.shared, may)), np.append(self.values, answer)
        self.open = np.asarray(self.may.any(axis=0))


@dataclass(frozen=True, eq=False)
class MaximaTally:
    """How many people may have each told value: of all, and of those outside of a set whose values are lower; then how
    many classes of both may. The same of those who may have it if all values differ."""

    answers: np.ndarray
    may: np.ndarray  # [answers, 4]
    values: np.ndarray
    shared: np.ndarray  # [values, 4]

    def is_impossible(self, answer: float) -> bool:
        """Whether nobody would be left to have some greater value."""
        return bool(((self.may[:, 3] == 0) & (self.answers > answer)).any())

    def is_unsafe(self, answer: float) -> bool:
        """Whether fewer than two people may have some value, if an answer is told of the set."""
        if (np.where(self.answers > answer, self.may[:, 1], self.may[:, 0]) < 2).any():
            return True
        number, there = np.where((self.values > answer)[:, None], self.shared[:, 1::2], self.shared[:, ::2]).T
        return bool(np.any((there > 0) & (self.values != answer) & (number < 2)))
