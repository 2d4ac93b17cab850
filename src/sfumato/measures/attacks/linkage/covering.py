"""Covering: the released cells and the known people of two tables as codes, and which label covers which value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.cells import count_cells
from sfumato.core.label_grammar import says_nothing
from sfumato.measures.attacks.classes import Encoded
from sfumato.measures.attacks.kernels import set_bits
from sfumato.measures.attacks.linkage import LinkedPair
from sfumato.measures.attacks.matching import gather
from sfumato.measures.labels_cover import Cover, ValueRun, read_labels

BITS = 1_000_000_000  # of cells and parts of values, at most


@dataclass(frozen=True, eq=False)
class CodedPair:
    """Both tables as distinct tuples: cells of released labels, and points, the known values of people.

    The labels of all columns are numbered through; the value of a point is -1 where it is not known.
    `low`, `high`, `begin` and `listed` say what a label covers, as the kernels read it; a `star` covers everything.
    `own` is the cell of each person `here`, those who are known to be released. Per column `unread` counts the labels
    that cannot be read and may be anything, or were learnt from who is who, and `strange` those that are taken for
    values of other people. `told` are the people of whom some label that can be read is known to be theirs.
    """

    names: tuple[str, ...]
    values: tuple[int, ...]  # how many each column knows
    labels: np.ndarray  # int64 [columns, cells]
    count: np.ndarray  # int64 [cells]
    cell_of: np.ndarray  # per released row
    point: np.ndarray  # int64 [columns, points]
    people: np.ndarray  # int64 [points]
    point_of: np.ndarray  # per external row
    low: np.ndarray
    high: np.ndarray
    begin: np.ndarray
    listed: np.ndarray
    star: np.ndarray  # bool [labels]
    blank: np.ndarray  # bool [labels]: those that say nothing, whoever is known
    column: np.ndarray  # of each label
    here: np.ndarray
    own: np.ndarray
    told: np.ndarray
    unread: tuple[int, ...]
    strange: tuple[int, ...]

    @property
    def table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What each label covers."""
        return self.low, self.high, self.begin, self.listed


def code_pair(
    pair: LinkedPair,
    names: tuple[str, ...],
    hierarchies: Mapping[str, Any] | None = None,
    encoded: Encoded | None = None,
) -> CodedPair:
    """Both tables on some columns: labels are read against values once per column."""
    encoded = encoded or Encoded()
    coded = [encoded(pair.released, name) for name in names]
    cells, cell_of = count_cells(names, [code for _, code in coded], [len(categories) for categories, _ in coded])
    texts = [categories.text for categories, _ in coded]
    here = np.empty(0, np.int64) if pair.truth is None else np.flatnonzero(pair.truth >= 0)
    own = here if pair.truth is None else cell_of[pair.truth[here]]
    low, high, star, blank = [], [], [], []
    begin, listed = [np.zeros(1, np.int64)], [np.empty(0, np.int64)]
    codes, unread, strange, sizes, values = [], [], [], [], []
    told = np.zeros(pair.external.height, np.bool_)
    for c, (name, label) in enumerate(zip(names, texts, strict=True)):
        categories, code = encoded(pair.external, name)
        known = categories.text[: len(categories) - categories.missing]
        spec = (hierarchies or {}).get(name)
        cover = read_labels(label, known, spec, unread=True, strangers=True, wildcard=True, name=name)
        if len(here) and not cover.read.all():
            cover = _learnt(cover, cells.codes[c][own], code[here])
        lo, hi, lists = _ranges(cover)
        low.append(lo)
        high.append(hi)
        begin.append(np.cumsum([len(entries) for entries in lists]) + begin[-1][-1])
        listed += lists
        star.append((lo == 0) & (hi == len(known) - 1) & np.array([not len(entries) for entries in lists]))
        nothing = np.array([says_nothing(text) for text in label], np.bool_)
        blank.append(nothing | (star[-1] & ~cover.read))
        unread.append(int((~cover.read & (lo <= hi)).sum()))
        strange.append(int((~cover.read & (lo > hi)).sum()))
        codes.append(code)
        values.append(len(known))
        sizes.append(len(categories))
        if pair.supposed:
            told[here] |= (cover.read & ~star[-1])[cells.codes[c][own]]
    offset = np.concatenate([[0], np.cumsum([len(label) for label in texts])])[:-1]
    points, point_of = count_cells(names, codes, sizes)
    point = points.codes.astype(np.int64)
    for c, name in enumerate(names):
        if encoded(pair.external, name)[0].missing:  # what the attacker does not know fits anything
            point[c][point[c] == sizes[c] - 1] = -1
    return CodedPair(
        names,
        tuple(values),
        cells.codes + offset[:, None],
        cells.count,
        cell_of,
        point,
        points.count,
        point_of,
        np.concatenate(low),
        np.concatenate(high),
        np.concatenate(begin),
        np.concatenate(listed),
        np.concatenate(star),
        np.concatenate(blank),
        np.repeat(np.arange(len(names)), [len(label) for label in texts]),
        here,
        own,
        told,
        tuple(unread),
        tuple(strange),
    )


def _learnt(cover: Cover, label: np.ndarray, value: np.ndarray) -> Cover:
    """The cover with labels that cannot be read as groups of the values that their people have: label[i], value[i]."""
    some = ~cover.read[label] & (value < cover.values)  # not those whose value nobody knows
    pairs = np.unique(np.stack([label[some], value[some]]).astype(np.int64), axis=1)
    start = np.searchsorted(pairs[0], np.arange(len(cover.found) + 1))
    found = [
        f if read else pairs[1][start[i] : start[i + 1]]
        for i, (f, read) in enumerate(zip(cover.found, cover.read.tolist(), strict=True))
    ]
    return Cover(tuple(found), cover.read, cover.values)


def _ranges(cover: Cover) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Least and greatest value of each label, and the values themselves where it has gaps."""
    low, high = np.zeros(len(cover.found), np.int64), np.full(len(cover.found), -1, np.int64)
    nothing = np.empty(0, np.int64)
    lists = []
    ascending: dict[int, bool] = {}
    for i, members in enumerate(cover.found):
        entries = members
        if isinstance(members, ValueRun):
            number = members.order.number
            key = id(members.order)
            if key not in ascending:
                ascending[key] = bool((np.diff(number) == 1).all())
            if ascending[key] and members.stop > members.start:  # a range of values in their order: no need to list it
                low[i], high[i] = number[members.start], number[members.stop - 1]
                lists.append(nothing)
                continue
            entries = members.numbers()
        entries = np.sort(np.asarray(entries))
        if len(entries):
            low[i], high[i] = entries[0], entries[-1]
        lists.append(entries if len(entries) and high[i] - low[i] + 1 > len(entries) else nothing)
    return low, high, lists


def sum_covering(labels: np.ndarray, amount: np.ndarray, table: tuple[np.ndarray, ...], values: int) -> np.ndarray:
    """For each value of a column the sum of what the labels that cover it amount to."""
    low, high, begin, listed = table
    width = begin[labels + 1] - begin[labels]
    run = (width == 0) & (high[labels] >= low[labels])
    total = np.zeros(values + 1, amount.dtype)
    np.add.at(total, low[labels[run]], amount[run])
    np.subtract.at(total, high[labels[run]] + 1, amount[run])
    total = np.cumsum(total)[:values]
    np.add.at(total, gather(begin, listed, labels[width > 0]), np.repeat(amount, width))
    return total


def _alike(labels: np.ndarray, table: tuple[np.ndarray, ...], values: int) -> np.ndarray:
    """For each value of a column the first one that the same of these labels cover.

    Labels are drawn as numbers, and values compared by the sum of those that cover them.
    """
    drawn = np.random.default_rng(0).integers(0, 2**64, len(labels), np.uint64)
    total = sum_covering(labels, drawn, table, values)
    _, first, of = np.unique(total, return_index=True, return_inverse=True)
    return first[of.reshape(-1)]


@dataclass(frozen=True, eq=False)
class OpenCells:
    """The cells whose labels say nothing in the same columns, and the points as far as they matter there.

    Cells are sorted by their labels; `holds` has a bit for each of them, set where its label covers a value of the
    part: part[c] gives the part of each value of column c, and where a part has several values the cell must be looked
    at. `begin` and `stop` are the words of a part that have bits.
    """

    cells: np.ndarray  # their numbers
    point: np.ndarray  # int64 [columns, points that differ]
    of: np.ndarray  # per point of the pair
    columns: np.ndarray  # what says something, the most telling first
    part: np.ndarray  # int64 [columns, points]: rows of `holds`, -1 where nothing is known
    holds: np.ndarray  # uint64 [parts, words]
    begin: np.ndarray
    stop: np.ndarray
    coarse: bool  # whether some part has several values


def open_parts(coded: CodedPair) -> Iterator[OpenCells]:
    """The cells by the set of columns whose labels cover everything."""
    patterns, of_cell = np.unique(coded.star[coded.labels].T, axis=0, return_inverse=True)
    size = coded.point.max(axis=1, initial=0) + 2
    for number, pattern in enumerate(patterns):
        items = np.flatnonzero(of_cell.reshape(-1) == number)
        point = np.full_like(coded.point, -1)
        telling = []
        for c in np.flatnonzero(~pattern).tolist():
            alike = _alike(np.unique(coded.labels[c, items]), coded.table, coded.values[c])
            point[c] = np.append(alike, -1)[coded.point[c]]  # -1, not known, stays
            telling.append((-len(np.unique(alike)), c))
        columns = np.array([c for _, c in sorted(telling)], np.int64)
        some, of = count_cells(coded.names, list((point + 1).astype(np.int32)), size.tolist())
        point = some.codes.astype(np.int64) - 1
        keys = [
            key
            for c in columns[::-1]
            for key in (coded.high[coded.labels[c, items]], coded.low[coded.labels[c, items]])
        ]
        items = items[np.lexsort(keys)] if keys else items
        most = max(64, BITS // (len(items) * max(len(columns), 1)))
        part, rows, coarse = np.full_like(point, -1), 0, False
        spans = []
        for c in columns.tolist():
            values = np.unique(point[c][point[c] >= 0])
            step = -(-len(values) // most)
            coarse |= step > 1
            at = np.searchsorted(values, point[c])
            part[c] = np.where(point[c] < 0, -1, rows + at // step)
            spans.append((values, rows, step))
            rows += -(-len(values) // step)
        holds = np.zeros((rows, len(items) // 64 + 1), np.uint64)
        for c, (values, first, step) in zip(columns.tolist(), spans, strict=True):
            set_bits(holds, first, values, step, coded.labels[c, items], *coded.table)
        filled = holds != 0
        begin = np.where(filled.any(axis=1), filled.argmax(axis=1), holds.shape[1])
        stop = np.where(filled.any(axis=1), holds.shape[1] - filled[:, ::-1].argmax(axis=1), 0)
        yield OpenCells(items, point, of, columns, part, holds, begin, stop, coarse)
