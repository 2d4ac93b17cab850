"""Local suppression by risk: cells of rows that are too rare become missing, as few as do (Templ, Kowarik and Meindl,
Journal of Statistical Software 67, 2015)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.cells import count_cells
from sfumato.core.compiled import inner, kernel
from sfumato.core.masked import Change, Context, Fact, MaskStep
from sfumato.core.microdata import encode
from sfumato.core.parameters import OneOf, Share, Whole, Written, column_set, is_whole, mapping, whole_number
from sfumato.core.wording import count, number, quoted
from sfumato.measures.risk.kernels import individual_risks
from sfumato.search.suppression.cells import kept_bits, packed
from sfumato.search.suppression.wildcard_rule import known_bits, lightest_blanks, match_counts

MOST_COLUMNS = 12  # all sets of which are tried
MOST_COMBINATIONS = 500
MOST_PAIRS = 5e8  # of rows that are compared to give cells back
TIE = 1e-6  # by how much importance counts beside the number of cells


@dataclass(frozen=True)
class RiskSuppression(MaskStep):
    """Blank as few cells as needed of rows whose key values are too rare, those of less important columns first.

    columns: the keys. k: a row is at risk where fewer rows match it in the keys. threshold: or where its individual
    risk is above this: 1/f for f such rows, and with survey weights the mean of 1/F over the population they stand for.
    A missing value matches any. importance: the columns from the most to the least important, or {column: rank}, 1 the
    most; of equally many cells those of the least important go. combinations: sets of keys in each of which no row
    shall be at risk, or numbers of columns, for all sets of that many; all keys together where it is left out. matches:
    "table", each row at risk loses cells of its own until it matches enough rows of the table; "release", cells that
    other rows' blanks make needless are given back, which are fewer, but then a rare row may stay as it is.
    """

    k: Annotated[Any, Whole(2)] = None
    threshold: Annotated[Any, Share(above=True)] = None
    importance: Annotated[Any, Written("list", "column")] = None
    combinations: Annotated[Any, Written("lists")] = None
    matches: Annotated[str, OneOf(("table", "release"))] = "table"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.k is None) == (self.threshold is None):
            raise self.refuse("give k or a threshold of risk", allowed="k=3 or threshold=0.1")
        if not self.columns:
            raise self.refuse("it needs the key columns", allowed='["age", "sex", "zip"]')
        if len(self.columns) > MOST_COLUMNS:
            got, allowed = count(len(self.columns), "column"), f"at most {MOST_COLUMNS}"
            raise self.refuse(
                "it has too many keys", got=got, allowed=allowed, hint="use the search minimal-suppression"
            )
        if self.importance is not None:
            self.settle(importance=self._ranks(self.importance))
        if self.combinations is not None:
            self.settle(combinations=self._sets(self.combinations))

    def _ranks(self, given: Any) -> dict[str, int]:
        what = f"{self.name}: importance"
        if not isinstance(given, Mapping):
            given = {name: i for i, name in enumerate(column_set(given, what), 1)}
        found = mapping(given, what, self.columns, "the step")
        return {name: whole_number(rank, f'{what} of "{name}"', 1) for name, rank in found.items()}

    def _sets(self, given: Any) -> tuple[Any, ...]:
        listed_sets = list(given) if isinstance(given, list | tuple) else [given]
        if listed_sets and all(isinstance(one, str) for one in listed_sets):
            listed_sets = [listed_sets]  # one combination, written without its own brackets
        found = tuple(
            whole_number(one, f"{self.name}: combinations", 1, len(self.columns))
            if is_whole(one)
            else column_set(one, f"{self.name}: each of combinations")
            for one in listed_sets
        )
        if alien := sorted({name for one in found if not isinstance(one, int) for name in one} - {*self.columns}):
            raise self.refuse(
                "combinations name columns that are no keys", got=quoted(alien), allowed=quoted(self.columns)
            )
        if not found or len(_combined(found, self.columns)) > MOST_COMBINATIONS:
            raise self.refuse("there must be 1 combination at least, and not too many", allowed=f"{MOST_COMBINATIONS}")
        return found

    kinds = ("number", "category", "date")
    perturbs = False

    @property
    def leaves(self) -> str:
        """What blanks tell."""
        rare = " A rare row may stay whole where another was blanked." if self.matches == "release" else ""
        return f"That a cell was blanked tells that its value was rare; other columns are as they were.{rare}"

    def sentence(self) -> str:
        """What it does."""
        if self.k is not None:
            rare = f"that match fewer than {self.k} rows"
        else:
            rare = f"whose individual risk is above {number(self.threshold)}"
        sets = "" if self.combinations is None else " in one of the stated combinations"
        return f"cells of rows {rare} by {quoted(self.columns)}{sets} are made missing"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Blank cells of the rows at risk."""
        keys = _Keys(self, columns, context.weights if self.threshold is not None else None)
        gone = keys.blanks()
        if self.matches == "release":
            gone = keys.given_back(gone)
        kept = [pl.lit(pl.Series(~lost)) for lost in gone.T]
        made = columns.select(pl.when(k).then(pl.col(n)).alias(n) for n, k in zip(columns.columns, kept, strict=True))
        sets = [tuple(columns.columns[i] for i in one) for one in keys.sets]
        stated = tuple(Fact("matches", names, {"k": keys.least}) for names in sets)
        if keys.mass is not None and context.weight is not None:
            told = {"threshold": self.threshold, "weight": context.weight}
            stated = tuple(Fact("risk", (*names, context.weight), told) for names in sets)
        return Change(made, facts=stated)


def _combined(given: Iterable[Any], columns: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Combinations as places of columns, each once."""
    found: list[tuple[int, ...]] = []
    for one in given:
        found += combinations(range(len(columns)), one) if isinstance(one, int) else [tuple(map(columns.index, one))]
    return list(dict.fromkeys(tuple(sorted(one)) for one in found))


class _Keys:
    """The distinct key values of a table, -1 for missing, and the cells that they lose."""

    def __init__(self, step: RiskSuppression, columns: pl.DataFrame, weights: np.ndarray | None) -> None:
        self.step, names = step, columns.columns
        coded = [encode(column) for column in columns.iter_columns()]
        cells, self.cell_of_row = count_cells(names, [code for _, code in coded], [len(of) for of, _ in coded])
        lost = [len(of) - 1 if of.missing else -2 for of, _ in coded]
        known = [np.where(code == m, -1, code) for code, m in zip(cells.codes, lost, strict=True)]
        self.codes = np.ascontiguousarray(np.stack(known, axis=1).astype(np.int32))
        self.count, self.weights, self.mass = cells.count, weights, None
        self.threshold = 0.0
        if weights is not None:
            self.mass, self.threshold = np.bincount(self.cell_of_row, weights, len(cells)), step.threshold
        self.least = step.k or math.ceil(1 / step.threshold - 1e-9)
        self.sets = _combined(step.combinations or [len(names)], tuple(names))
        self.bits = [sum(1 << c for c in one) for one in self.sets]
        ranks = step.importance or {}
        rank = np.array([ranks.get(name, len(names) + 1) for name in names] if ranks else [-len(of) for of, _ in coded])
        self.weight = 1 + TIE * (len(names) - np.unique(rank, return_inverse=True)[1])
        if not bool(self._safe(np.array([len(columns)]), np.array([0.0 if weights is None else weights.sum()]))[0]):
            raise step.refuse("no suppression is enough: the table, or a stratum of it, has too few rows",
                              got=count(len(columns), "row"))  # fmt: skip

    def _safe(self, f: np.ndarray, population: np.ndarray) -> np.ndarray:
        if self.mass is None:
            return np.asarray(f >= self.least)
        return np.asarray(individual_risks(f, np.minimum(1.0, f / population)) <= self.threshold)

    def blanks(self) -> np.ndarray:
        """Which cells of each row are blanked: of each row the lightest set without which it is safe in the table."""
        words, fields = packed(self.codes)
        known = known_bits(self.codes)
        patterns = np.unique(known)

        def enough(mine: np.ndarray, shown: int) -> np.ndarray:
            safe = np.ones(len(mine), np.bool_)
            for part in {shown & bits for bits in self.bits}:
                some = np.flatnonzero(safe)
                kept, parts = kept_bits(fields, ~np.array([part])), kept_bits(fields, ~np.unique(patterns & part))
                f = match_counts(words, self.count, mine[some], kept[0], parts)
                population = f if self.mass is None else match_counts(words, self.mass, mine[some], kept[0], parts)
                safe[some] = self._safe(f, population)
            return safe

        blank, _ = lightest_blanks(known, self.weight, enough, lambda *_: None)
        gone: np.ndarray = (blank[:, None] >> np.arange(self.codes.shape[1]) & 1).astype(np.bool_)
        return gone[self.cell_of_row]

    def given_back(self, gone: np.ndarray) -> np.ndarray:
        """The same without cells that are needless because of blanks of other rows, the most important first."""
        rows = np.flatnonzero(gone.any(axis=1))
        mine = self.cell_of_row[rows]
        whole = np.flatnonzero(np.bincount(mine, minlength=len(self.codes)) == 0)
        if not len(rows) or len(rows) * (len(whole) + len(rows)) > MOST_PAIRS:
            return gone
        original = self.codes[np.concatenate([whole, mine])]
        codes = original.copy()
        codes[len(whole) :][gone[rows]] = -1
        often = np.concatenate([self.count[whole], np.ones(len(rows), np.int64)])
        mass = often * 1.0
        if self.mass is not None and self.weights is not None:
            mass = np.concatenate([self.mass[whole], self.weights[rows]])
        inside = np.array([[bits >> c & 1 for c in range(codes.shape[1])] for bits in self.bits], np.bool_)
        f, population = (np.stack([_met(codes, x, bits) for bits in self.bits], axis=1) for x in (often, mass))
        order = np.argsort(-self.weight, kind="stable")
        give_back(codes, original, often, mass, inside, f, population, order, len(whole), self._least_population())
        left = gone.copy()
        left[rows] = codes[len(whole) :] != original[len(whole) :]
        return left

    def _least_population(self) -> np.ndarray:
        """How many people rows that match must stand for, to be safe, by the number of the rows; 0 from k rows on."""
        found = np.append(np.full(self.least, np.inf), 0.0)
        if self.mass is None:
            return found
        f = np.arange(1, min(self.least, int(self.count.sum()) + 1))
        low, high = np.zeros(len(f)), np.ones(len(f))
        for _ in range(60):  # the risk rises with the share of the population that the rows are
            middle = (low + high) / 2
            safe = individual_risks(f, middle) <= self.threshold
            low, high = np.where(safe, middle, low), np.where(safe, high, middle)
        found[f] = f / np.maximum(low, 1e-300)
        return found


def _met(codes: np.ndarray, amount: np.ndarray, bits: int) -> np.ndarray:
    """Of each entry, how much is there of entries that match it in some columns."""
    words, fields = packed(codes)
    known = known_bits(codes) & bits
    patterns, found = np.unique(known), np.zeros_like(amount)
    for shown in patterns.tolist():
        mine = np.flatnonzero(known == shown)
        kept, parts = kept_bits(fields, ~np.array([shown])), kept_bits(fields, ~np.unique(patterns & shown))
        found[mine] = match_counts(words, amount, mine, kept[0], parts)
    return found


@kernel
def give_back(
    codes: np.ndarray, original: np.ndarray, often: np.ndarray, mass: np.ndarray, inside: np.ndarray, f: np.ndarray,
    population: np.ndarray, order: np.ndarray, first: int, least: np.ndarray,
) -> None:  # fmt: skip
    """Give cells of the entries from `first` on back, column after column, where all stay safe in all sets.

    `inside` [sets, columns]; `f` and `population` [entries, sets], the rows and the weight that match an entry; `least`
    the weight that so many rows must have.
    """
    n, sets = len(codes), len(inside)
    lost_rows, lost_mass = np.zeros(sets, np.int64), np.zeros(sets)
    for c in order:
        for e in range(first, n):
            value = original[e, c]
            if codes[e, c] >= 0 or value < 0:
                continue
            needed = False
            for s in range(sets):
                lost_rows[s] = 0
                lost_mass[s] = 0.0
            for t in range(n):
                if codes[t, c] < 0 or codes[t, c] == value:
                    continue
                for s in range(sets):
                    if inside[s, c] and _agree(codes, t, e, inside[s]):
                        lost_rows[s] += often[t]
                        lost_mass[s] += mass[t]
                        if not _is_safe(f[t, s] - often[e], population[t, s] - mass[e], least):
                            needed = True
                            break
                if needed:
                    break
            for s in range(sets):
                if not needed and inside[s, c]:
                    left, others = f[e, s] - lost_rows[s], population[e, s] - lost_mass[s]
                    needed = not _is_safe(left, others, least)
            if needed:
                continue
            for t in range(n):
                if codes[t, c] < 0 or codes[t, c] == value:
                    continue
                for s in range(sets):
                    if inside[s, c] and _agree(codes, t, e, inside[s]):
                        f[t, s] -= often[e]
                        population[t, s] -= mass[e]
            for s in range(sets):
                if inside[s, c]:
                    f[e, s] -= lost_rows[s]
                    population[e, s] -= lost_mass[s]
            codes[e, c] = value


@inner
def _agree(codes: np.ndarray, t: int, e: int, inside: np.ndarray) -> bool:
    """Whether two entries are equal in some columns, or one is missing."""
    for c in range(len(inside)):
        if inside[c] and codes[t, c] >= 0 and codes[e, c] >= 0 and codes[t, c] != codes[e, c]:
            return False
    return True


@inner
def _is_safe(f: int, population: float, least: np.ndarray) -> bool:
    """Whether rows that match stand for enough people."""
    return population >= least[min(f, len(least) - 1)]
