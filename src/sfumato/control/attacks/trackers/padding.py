"""Padding: refused query sets as sums and differences of answered ones. Denning, Denning and Schwartz, TODS 1979."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence
from sfumato.core.wording import count
from sfumato.measures.attacks.result import MOST, Attack, outcome

MOST_PAIRED = 1500  # answers whose pairs are looked through
Terms = tuple[tuple[int, int], ...]  # number of an answered query, and how often its answer is added


@dataclass
class AnsweredSets:
    """The answered query sets of one kind of answer about one column, found by the sum of a random number per row.

    What is found by such a key is compared row by row, so nothing hangs on chance but time.
    """

    people: int
    row_keys: np.ndarray
    rows: dict[int, np.ndarray] = field(default_factory=dict)  # by number of the query
    keys: dict[int, int] = field(default_factory=dict)
    by_key: dict[int, int] = field(default_factory=dict)

    def add(self, number: int, rows: np.ndarray) -> None:
        """One more answered set."""
        self.rows[number] = rows
        self.keys[number] = self.key(rows)
        self.by_key.setdefault(self.keys[number], number)

    def key(self, rows: np.ndarray) -> int:
        """The sum of the numbers of some rows, modulo 2^64."""
        return int(self.row_keys[rows].sum(dtype=np.uint64))

    @property
    def everybody(self) -> int:
        """The sum of the numbers of all rows."""
        return self.key(np.arange(self.people))

    def find(self, key: int) -> int | None:
        """The first answered query whose set has a key."""
        return self.by_key.get(key % 2**64)

    @cached_property
    def differences(self) -> tuple[list[int], np.ndarray, np.ndarray]:
        """The first answered queries, the keys of each of them less each other, sorted, and which pairs these are."""
        numbers = list(self.keys)[:MOST_PAIRED]
        keys = np.array([self.keys[number] for number in numbers], np.uint64)
        less = (keys[:, None] - keys[None, :]).ravel()
        order = np.argsort(less, kind="stable")
        return numbers, less[order], order

    def splits(self) -> Iterator[tuple[int, int]]:
        """Answered sets and the rest of the people, answered as well."""
        all_of_them = self.everybody
        for number, key in self.keys.items():
            other = self.find(all_of_them - key)
            if other is not None and number < other:
                yield number, other

    def makes(self, terms: Terms, rows: np.ndarray) -> bool:
        """Whether the sets, added and taken away, are the set that was refused, for each of its rows and no other."""
        total = np.zeros(self.people, np.int64)
        for number, often in terms:
            total[self.rows[number]] += often
        total[rows] -= 1
        return not total.any()


Padding = Callable[[AnsweredSets, np.ndarray], Terms | None]


def answered_sets(evidence: LogEvidence) -> dict[tuple[str, str | None, int], AnsweredSets]:
    """Answered sets by kind, column and snapshot; a mean is a sum to whoever can count."""
    keys = np.random.default_rng(0).integers(0, 2**64, evidence.people, np.uint64)
    found: dict[tuple[str, str | None, int], AnsweredSets] = {}
    for entry in evidence.answered:
        if entry.kind in ("count", "sum", "mean"):
            about = ("sum" if entry.kind == "mean" else entry.kind, entry.column, entry.snapshot)
            found.setdefault(about, AnsweredSets(evidence.people, keys)).add(entry.number, np.asarray(entry.rows))
    return found


def refused_and_told(name: str, evidence: LogEvidence, padding: Padding, most: int = MOST) -> dict[str, Attack]:
    """The refused queries of a log whose answer follows by a padding from answered ones.

    Rows are exposed where the set that was refused is one person, or everybody else.
    """
    sets = answered_sets(evidence)
    tried: dict[str, int] = {}
    told: dict[str, list[dict[str, Any]]] = {}
    alone: dict[str, set[int]] = {}
    for entry in evidence.entries:
        about = ("sum" if entry.kind == "mean" else entry.kind, entry.column, entry.snapshot)
        if not entry.refused or entry.kind not in ("count", "sum", "mean"):
            continue
        column = entry.column or "count"
        tried[column] = tried.get(column, 0) + 1
        rows = np.asarray(entry.rows, np.int64)
        terms = padding(sets[about], rows) if about in sets else None
        if terms is None or not sets[about].makes(terms, rows):
            continue
        told.setdefault(column, []).append({"refused": entry.number, "by": sorted({number for number, _ in terms})})
        if len(rows) == 1:
            alone.setdefault(column, set()).add(int(rows[0]))
        elif len(rows) == evidence.people - 1:
            alone.setdefault(column, set()).add(int(np.setdiff1d(np.arange(evidence.people), rows)[0]))
    found = {}
    for column, often in tried.items():
        these, exposed = told.get(column, []), sorted(alone.get(column, ()))
        sentence = (
            f"the answers of {len(these)} of {count(often, 'refused query', 'refused queries')} follow from answered "
            f"ones; {count(len(exposed), 'record')} stood alone in one"
        )
        details = {"column": column, "told": these[:most], "rows": exposed}
        found[column] = outcome(name, len(these), often, 0.0, exposed[:most], sentence, of="table", details=details)
    return found
