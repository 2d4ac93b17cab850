"""Keys: the cells that risk is counted on, and how many records match each where suppressed values are wildcards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells, count_cells
from sfumato.core.hierarchy import Categories
from sfumato.core.keys import rank_tuples, tally
from sfumato.core.label_grammar import STAR
from sfumato.core.microdata import encode
from sfumato.core.parameters import column_names, known_columns, share_of, shown
from sfumato.core.printed import LARGEST_KEY, printed
from sfumato.core.progress import check_cancelled
from sfumato.core.wording import is_real
from sfumato.errors import PolicyError
from sfumato.measures.labels_cover import read_labels
from sfumato.measures.risk.kernels import add_met, project
from sfumato.measures.table import Table, entries


def matched(codes: np.ndarray, sizes: Sequence[int], known: np.ndarray, count: np.ndarray) -> np.ndarray:
    """For each cell the sum of `count` over the cells that match it, itself included.

    Two cells match where each column is equal or unknown in at least one of them. Cells are taken by the pattern of
    what they know: those of patterns P and Q match where they agree on P & Q, so for each such set of columns the
    cells are grouped once and looked up. The work grows with cells times patterns, never with cells squared.

    Parameters: `codes` [columns, cells]; `sizes`, values per column; `known` [columns, cells], whether a value is no
    wildcard; `count` per cell (of rows, or of weights).

    >>> codes, known = np.array([[0, 0, 1], [0, 1, 2]]), np.array([[True, True, True], [True, True, False]])
    >>> matched(codes, (2, 3), known, np.array([1, 1, 1])).tolist()  # (0, 0), (0, 1), (1, *)
    [1, 1, 1]
    >>> matched(codes[1:], (3,), known[1:], np.array([1, 1, 1])).tolist()  # 0, 1, *
    [2, 2, 3]
    """
    starred = np.flatnonzero(~known.all(axis=1))
    if not len(starred):
        return count.copy()
    of, patterns = rank_tuples(list(known[starred]), [2] * len(starred), codes.shape[1])
    order = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=patterns))
    starts = np.concatenate([[0], ends[:-1]])
    key, strides = _key(codes, sizes, starred, order)
    stars = codes[starred][:, order].astype(np.int64)
    knows = known[starred][:, order[starts]].T
    masks = [sum(1 << bit for bit in np.flatnonzero(row).tolist()) for row in knows]
    meetings: dict[int, dict[int, list[int]]] = {}
    for own, mask in enumerate(masks):
        for other, theirs in enumerate(masks):
            meetings.setdefault(mask & theirs, {}).setdefault(own, []).append(other)
    weight, found = count[order], np.zeros(len(order), count.dtype)
    for both, of_own in meetings.items():
        members = np.array(sorted(of_own))
        if len(members) == 1 and both == (1 << len(starred)) - 1:  # cells that know everything match themselves alone
            found[starts[members[0]] : ends[members[0]]] += weight[starts[members[0]] : ends[members[0]]]
            continue
        free = np.array([bit for bit in range(len(starred)) if not both >> bit & 1], dtype=np.int64)
        # a pattern meets itself where it knows nothing else: its cells must then find each other
        length = [0 if masks[own] == both else ends[own] - starts[own] for own in members]
        largest = int(np.argmax(length)) if max(length) else -1
        if strides is not None:
            group, groups = project(key, stars, strides, free, starts[members], ends[members], largest)
        else:  # the keys are too wide for subtraction: rank the columns that both know
            bits = [bit for bit in range(len(starred)) if both >> bit & 1]
            columns = [key, *(stars[bit] for bit in bits)]
            group, groups = rank_tuples(columns, [len(key), *(sizes[starred[bit]] for bit in bits)], len(key))
        tally = np.zeros(groups, count.dtype)
        for own, others in of_own.items():
            add_met(group, weight, starts[own], ends[own], starts[others], ends[others], tally, found)
    result = np.empty_like(found)
    result[order] = found
    return result


def _key(
    codes: np.ndarray, sizes: Sequence[int], starred: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """A key of each cell, in that order, from which columns can be subtracted, and what a value of each weighs in it.

    Where such a key does not fit in 64 bits, the key of the columns without wildcards alone, and None.
    """
    fixed = [i for i in range(len(codes)) if i not in set(starred.tolist())]
    base, groups = rank_tuples([codes[i] for i in fixed], [sizes[i] for i in fixed], codes.shape[1])
    key, strides, domain = base[order].astype(np.int64), [], groups
    for i in starred:
        strides.append(domain)
        domain *= sizes[i]
    if domain >= LARGEST_KEY:
        return key, None
    for i, stride in zip(starred, strides, strict=True):
        key += codes[i][order].astype(np.int64) * stride
    return key, np.array(strides, dtype=np.int64)


def covered_people(
    classes: Cells,
    texts: list[tuple[str | None, ...]],
    population: pl.DataFrame,
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    row_counts: np.ndarray | None = None,
) -> np.ndarray | None:
    """Per class the people of the population whose values its labels cover, in every column.

    None where no label stands for other values than itself: then equal keys tell all. A label that cannot be read
    covers nobody, so that it never makes a class look safe. `texts` are the labels of each column, by code;
    `row_counts` how many people each row of the population is.

    >>> classes = Cells(("age",), np.array([[0, 1]]), np.array([1, 1]), (2,))
    >>> covered_people(classes, [("20-29", "3*")], pl.DataFrame({"age": [21, 25, 33]}))
    array([2, 1])
    """
    coded = [encode(population.get_column(name)) for name in classes.names]
    people, _ = count_cells(
        classes.names, [code for _, code in coded], [len(values) for values, _ in coded], row_counts
    )
    covers, recoded = [], False
    for name, text, code, (values, _) in zip(classes.names, texts, classes.codes, coded, strict=True):
        cover = read_labels(text, values.text, (hierarchies or {}).get(name), wildcard=wildcard, name=name).members
        usual = {*values.text, None, *((STAR,) if wildcard else ())}
        recoded |= any(text[i] not in usual and len(cover[i]) for i in np.unique(code).tolist())
        # under wildcards an unknown value of a person fits any label
        free = [i for i, value in enumerate(values.text) if wildcard and value in (None, STAR)]
        covers.append([np.union1d(members, free).astype(np.int64) for members in cover])
    if not recoded:
        return None
    order = np.argsort([len(text) for text in texts], kind="stable")  # columns of few labels split first
    found = np.zeros(len(classes), np.int64)
    every = np.arange(len(classes)), np.arange(len(people))
    _descend(classes.codes[order], people.codes[order], people.count, [covers[i] for i in order], 0, every, found)
    return found


def _descend(
    labels: np.ndarray,
    values: np.ndarray,
    count: np.ndarray,
    covers: list[list[np.ndarray]],  # the values of each label, ascending
    column: int,
    here: tuple[np.ndarray, np.ndarray],
    found: np.ndarray,
) -> None:
    """Split classes by their label in one column, take the people whom each label covers, and go on with the next."""
    classes, people = here
    if column == len(labels):
        found[classes] = count[people].sum()
        return
    by_label = classes[np.argsort(labels[column, classes], kind="stable")]
    label, first = np.unique(labels[column, by_label], return_index=True)
    by_value = people[np.argsort(values[column, people], kind="stable")]
    value = values[column, by_value]
    for one, members in zip(label.tolist(), np.split(by_label, first[1:]), strict=True):
        wanted = covers[column][one]
        if not len(wanted):
            continue
        start, stop = np.searchsorted(value, wanted[0], "left"), np.searchsorted(value, wanted[-1], "right")
        inside = by_value[start:stop]
        if len(wanted) <= wanted[-1] - wanted[0]:  # it has gaps
            inside = inside[np.isin(value[start:stop], wanted)]
        if len(inside):
            _descend(labels, values, count, covers, column + 1, (members, inside), found)


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
    return is_real(value) and math.isfinite(value) and value > 0


@dataclass(frozen=True, eq=False)
class Keys:
    """Distinct tuples of the quasi-identifiers with the cell of each row, and the population's rows where given.

    With `wildcard`, a missing value and the printed value "*" match any value; else they are values of their own. With
    `row_counts` a row of the frame stands for so many: distinct tuples that an engine counted.
    """

    cells: Cells  # of sample and population together
    cell_of_row: np.ndarray  # int32 per row of the sample
    frame: pl.DataFrame  # those rows
    row_counts: np.ndarray | None
    known: np.ndarray  # bool [columns, cells]: whether a value is no wildcard
    sample: np.ndarray  # int64 per cell: rows of the sample
    population: np.ndarray | None = None  # int64 per cell: rows of the population
    wildcard: bool = False
    covered: np.ndarray | None = None  # int64 per cell: rows of a population that is not recoded like the sample

    @property
    def rows(self) -> int:
        """Rows of the sample."""
        return len(self.cell_of_row) if self.row_counts is None else int(self.row_counts.sum())

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
        of = self.cell_of_row
        if self.row_counts is not None:  # counted tuples come in any order: sorted, their sums repeat to the last bit
            weights = weights * self.row_counts
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
    check_cancelled()
    names = quasi_of(table, quasi)
    if population is not None:
        quasi_of(population, names, "the population table")
    frame, row_counts = entries(table, (*names, *beside))
    columns, every = [frame.get_column(name) for name in names], row_counts
    if population is not None:
        people, often = entries(population, names)
        columns = [stacked(column, people.get_column(column.name)) for column in columns]
        if row_counts is not None or often is not None:
            parts = ((row_counts, frame.height), (often, people.height))
            every = np.concatenate([np.ones(rows, np.int64) if of is None else of for of, rows in parts])
    encoded = [encode(column) for column in columns]
    cells, cell_of_row = count_cells(names, [code for _, code in encoded], [len(of) for of, _ in encoded], every)
    known = np.broadcast_to(np.True_, cells.codes.shape)
    if wildcard:
        known = np.stack([_tells(of)[codes] for (of, _), codes in zip(encoded, cells.codes, strict=True)])
    if population is None:
        return Keys(cells, cell_of_row, frame, row_counts, known, cells.count, None, wildcard)
    cell_of_row = cell_of_row[: frame.height]
    sample = tally(cell_of_row, len(cells), row_counts)
    others, covered = cells.count - sample, None
    if _recoded(encoded, frame.height):
        mine = np.flatnonzero(sample > 0)
        classes = Cells(names, cells.codes[:, mine], sample[mine], cells.sizes)
        texts = [of.text for of, _ in encoded]
        found = covered_people(classes, texts, people, hierarchies, wildcard, often)
        if found is not None:
            covered = np.zeros(len(cells), np.int64)
            covered[mine] = found
    return Keys(cells, cell_of_row, frame, row_counts, known, sample, others, wildcard, covered)


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
