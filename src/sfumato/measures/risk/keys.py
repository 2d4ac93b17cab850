"""What the risk measures are asked, checked: shares, thresholds, sizes of a population."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells, count_cells
from sfumato.core.hierarchy import Categories
from sfumato.core.keys import tally
from sfumato.core.label_grammar import STAR
from sfumato.core.microdata import encode
from sfumato.core.parameters import column_names, known_columns, share_of, shown
from sfumato.core.printed import printed
from sfumato.errors import PolicyError
from sfumato.measures.risk.matching import covered_people, matched
from sfumato.measures.table import Table, entries


def fraction_of(rows: int, population_size: Any, sampling_fraction: Any) -> float:
    """The sampling fraction, from itself or from the size of the population.

    >>> fraction_of(10, 200, None)
    0.05
    """
    if (population_size is None) == (sampling_fraction is None):
        raise PolicyError(
            "the size of the population or the sampling fraction is needed, and only one of them",
            allowed="population_size=1000000 or sampling_fraction=0.01",
        )
    if population_size is None:
        return share_of(sampling_fraction, "sampling_fraction", above=True)
    if not is_size(population_size) or population_size < rows:
        allowed = f"a number of at least the {rows} rows of the table"
        raise PolicyError("population_size is out of range", got=shown(population_size), allowed=allowed)
    return float(rows / population_size)


def is_size(value: Any) -> bool:
    """Whether a value can be the size of a population: a number above 0."""
    real = isinstance(value, Integral | Real) and not isinstance(value, bool)
    return real and math.isfinite(value) and value > 0


@dataclass(frozen=True, eq=False)
class Keys:
    """Distinct tuples of the quasi-identifiers with the cell of each row, and the population's rows where given.

    With `wildcard`, a missing value and the printed value "*" match any value; else they are values of their own. With
    `times` a row of the frame stands for so many: distinct tuples that an engine counted.
    """

    cells: Cells  # of sample and population together
    of_row: np.ndarray  # int32 per row of the sample
    frame: pl.DataFrame  # those rows
    times: np.ndarray | None
    known: np.ndarray  # bool [columns, cells]: whether a value is no wildcard
    sample: np.ndarray  # int64 per cell: rows of the sample
    population: np.ndarray | None = None  # int64 per cell: rows of the population
    wildcard: bool = False
    covered: np.ndarray | None = None  # int64 per cell: rows of a population that is not recoded like the sample

    @property
    def rows(self) -> int:
        """Rows of the sample."""
        return len(self.of_row) if self.times is None else int(self.times.sum())

    @cached_property
    def size(self) -> np.ndarray:
        """Per cell the rows of the sample that match it."""
        return self._met(self.sample)

    @cached_property
    def population_size(self) -> np.ndarray:
        """Per cell the rows of the population that match it, and no fewer than those of the sample: it is part of it.

        A population table that lacks a key would otherwise make it look safe.
        """
        return self.size if self.population is None else np.maximum(self.in_population, self.size)

    @cached_property
    def in_population(self) -> np.ndarray:
        """Per cell the rows of the population table that match it, or that its labels cover."""
        assert self.population is not None
        return self._met(self.population) if self.covered is None else self.covered

    @cached_property
    def classes(self) -> np.ndarray:
        """Sizes of the classes of the sample: cells that have rows in it."""
        return self.size[self.sample > 0]

    def _met(self, count: np.ndarray) -> np.ndarray:
        return matched(self.cells.codes, self.cells.sizes, self.known, count) if self.wildcard else count

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """Per cell the sum of the weights of the rows that match it."""
        of = self.of_row
        if self.times is not None:  # counted tuples come in any order: sorted, their sums repeat to the last bit
            weights = weights * self.times
            order = np.lexsort((weights, of))
            of, weights = of[order], weights[order]
        return self._met(np.bincount(of, weights=weights, minlength=len(self.cells)))


def keys_of(
    table: Table,
    quasi: Any,
    population: Table | None = None,
    wildcard: bool = False,
    hierarchies: Mapping[str, Any] | None = None,
    beside: Sequence[str] = (),
) -> Keys:
    """Count the distinct tuples of the quasi-identifiers.

    Where the sample has labels that no record of the population has, its people are counted by what the labels cover.
    A table that is known by counts gives entries of the quasi-identifiers and of the columns `beside`.

    >>> keys = keys_of(pl.DataFrame({"age": ["30", "30", "40", None]}), ["age"], wildcard=True)
    >>> keys.sample.tolist(), keys.size.tolist()
    ([2, 1, 1], [3, 2, 4])
    """
    names = quasi_of(table, quasi)
    if population is not None:
        quasi_of(population, names, "the population table")
    frame, times = entries(table, (*names, *beside))
    columns, every = [frame.get_column(name) for name in names], times
    if population is not None:
        people, often = entries(population, names)
        columns = [stacked(column, people.get_column(column.name)) for column in columns]
        if times is not None or often is not None:
            parts = ((times, frame.height), (often, people.height))
            every = np.concatenate([np.ones(rows, np.int64) if of is None else of for of, rows in parts])
    encoded = [encode(column) for column in columns]
    cells, of_row = count_cells(names, [code for _, code in encoded], [len(of) for of, _ in encoded], every)
    known = np.broadcast_to(np.True_, cells.codes.shape)
    if wildcard:
        known = np.stack([_tells(of)[codes] for (of, _), codes in zip(encoded, cells.codes, strict=True)])
    if population is None:
        return Keys(cells, of_row, frame, times, known, cells.count, None, wildcard)
    of_row = of_row[: frame.height]
    sample = tally(of_row, len(cells), times)
    others, covered = cells.count - sample, None
    if _recoded(encoded, frame.height):
        mine = np.flatnonzero(sample > 0)
        classes = Cells(names, cells.codes[:, mine], sample[mine], cells.sizes)
        texts = [of.text for of, _ in encoded]
        found = covered_people(classes, texts, people, hierarchies, wildcard, often)
        if found is not None:
            covered = np.zeros(len(cells), np.int64)
            covered[mine] = found
    return Keys(cells, of_row, frame, times, known, sample, others, wildcard, covered)


def _recoded(encoded: Sequence[tuple[Categories, np.ndarray]], rows: int) -> bool:
    """Whether a column has a text in the first rows, the sample, that none of the others has."""
    for of, code in encoded:
        here, there = (np.bincount(part, minlength=len(of)) > 0 for part in (code[:rows], code[rows:]))
        if not of.ordered and bool((here & ~there)[: len(of) - of.missing].any()):
            return True
    return False


def quasi_of(frame: Table, quasi: Any, what: str = "the table") -> tuple[str, ...]:
    """The names of the quasi-identifiers, each once, checked against the table."""
    names = tuple(dict.fromkeys(column_names(quasi, "quasi")))
    if not names:
        raise PolicyError("no quasi-identifying column is given", allowed='one column or more, as in ["age", "zip"]')
    known_columns(names, frame.columns, what)
    return names


def stacked(one: pl.Series, other: pl.Series) -> pl.Series:
    """A column of two tables in one, so that equal values get equal codes: numbers as numbers, else as printed."""
    if one.dtype == other.dtype and not isinstance(one.dtype, pl.Categorical | pl.Enum):
        return pl.concat([one, other.alias(one.name)])
    if one.dtype.is_numeric() and other.dtype.is_numeric():
        whole = [_whole(one), _whole(other)]  # a missing value turns whole numbers into floats in some libraries
        if all(series is not None for series in whole):
            return pl.concat([series.alias(one.name) for series in whole if series is not None])
        return pl.concat([series.cast(pl.Float64).alias(one.name) for series in (one, other)])
    return pl.concat([printed(series).alias(one.name) for series in (one, other)])


def _whole(series: pl.Series) -> pl.Series | None:
    """Numbers as 64-bit integers, or None where one would change."""
    value = series.fill_nan(None) if series.dtype.is_float() else series
    number = value.cast(pl.Int64, strict=False)
    return number if bool((number.cast(value.dtype, strict=False).eq_missing(value)).all()) else None


def _tells(categories: Categories) -> np.ndarray:
    """Which values of a column are no wildcard."""
    return np.array([text is not None and text != STAR for text in categories.text], dtype=np.bool_)
