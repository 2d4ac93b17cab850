"""Minimal sample uniques: the smallest sets of columns on which a record stands alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from sfumato.cells import count_cells
from sfumato.errors import PolicyError
from sfumato.kernels.suda import uniques, weigh
from sfumato.measures.risk.asked import shown
from sfumato.measures.risk.keys import Keys, keys_of
from sfumato.measures.risk.matching import matched
from sfumato.measures.tables import table_of

WORD = 6  # the sets of so many columns are the bits of one word
MOST_BYTES = 2**31  # of marks
THREADS = min(4, os.cpu_count() or 1)  # each has scratch of its own


@dataclass(frozen=True, eq=False)
class Uniques:
    """Per cell: the weighted number of its minimal sample uniques, the part of it with each column, their number and
    least size (0: it has none), the number of its rows, and of those that match it on all columns. `of_row` is the cell
    of a row; None where the table is known by counts alone."""

    names: tuple[str, ...]
    of_row: np.ndarray | None
    rows: np.ndarray
    size: np.ndarray
    score: np.ndarray
    parts: np.ndarray  # [columns, cells]
    number: np.ndarray
    least: np.ndarray


def minimal_uniques(
    data: Any, quasi: Any, up_to: int | None, wildcard: bool, weight: Callable[[int, int], float]
) -> Uniques:
    """Find them for every row; a minimal unique of s of M columns counts weight(s, M)."""
    if up_to is not None and (isinstance(up_to, bool) or not isinstance(up_to, int) or up_to < 1):
        raise PolicyError("up_to must be a number of columns", got=shown(up_to), allowed="1 or more, or None")
    keys = keys_of(table_of(data), quasi, wildcard=wildcard)
    columns = len(keys.cells.names)
    most = columns if up_to is None else min(up_to, columns)
    weights = np.array([0.0, *(weight(s, columns) for s in range(1, columns + 1))])
    cells = len(keys.cells)
    score, parts = np.zeros(cells), np.zeros((columns, cells))
    number, least = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    of_row = keys.of_row if keys.times is None else None
    found = Uniques(keys.cells.names, of_row, keys.sample, keys.size, score, parts, number, least)
    (_by_level if wildcard and not keys.known.all() else _by_partition)(keys, most, weights, found)
    return found


def _by_partition(keys: Keys, most: int, weights: np.ndarray, found: Uniques) -> None:
    """Per cell, by walking all sets of columns once; columns of many values split first: groups end soon."""
    cells = keys.cells
    columns, values = len(cells.names), max(cells.sizes)
    low = max(min(columns, 1), min(WORD, columns - 2))
    tall = columns - low
    if tall > 62 or sum(comb(tall, s) for s in range(min(most, tall) + 1)) * len(cells) * 8 > MOST_BYTES:
        what = f"{columns} columns of {len(cells)} different tuples have too many sets of columns to look at"
        hint = "limit their size, as in up_to=3 (suda=3 of sf.risk, --suda-up-to 3), or leave columns out"
        raise PolicyError(what, hint=hint)
    chosen = (some for s in range(min(most, tall) + 1) for some in combinations(range(tall), s))
    above = sorted(sum(1 << j for j in some) for some in chosen)  # a set comes after those within it
    at = {mask: i for i, mask in enumerate(above)}
    parent = np.array([[at[m ^ 1 << j] if m >> j & 1 else -1 for j in range(tall)] for m in above], np.int64)
    parent = parent.reshape(len(above), tall)
    order = np.argsort(cells.sizes, kind="stable")
    codes = np.ascontiguousarray(cells.codes[order].astype(np.uint8 if values <= 256 else np.int32))
    marks = np.zeros((len(above), len(cells)), np.uint64)
    if len(cells) == 1:  # alone on any column
        marks[at[0]] = sum(1 << (1 << j) for j in range(low))
        marks[[at[1 << j] for j in range(tall)]] = 1
    edges = np.linspace(0, len(cells), THREADS + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(THREADS) as pool:
        if len(cells) > 1:
            list(pool.map(lambda m: uniques(codes, values, low, m, most, marks[at[m]]), above))
        marks[:, cells.count > 1] = 0  # who has a double is never unique
        parts = np.zeros_like(found.parts)  # columns as ordered here
        per_cell = (found.score, parts, found.number, found.least)
        rest = (low, np.array(above), parent, weights, *per_cell)
        list(pool.map(lambda a, b: weigh(marks, a, b, *rest), edges[:-1], edges[1:]))
    found.parts[order] = parts


def _by_level(keys: Keys, most: int, weights: np.ndarray, found: Uniques) -> None:
    """The same where a missing value matches anything: set by set, the smaller first.

    Only sets of columns that a cell knows can be minimal: on a missing one it matches everybody.
    """
    cells, known = keys.cells, keys.known
    score, parts, number, least = found.score, found.parts, found.number, found.least
    smaller: dict[tuple[int, ...], np.ndarray] = {}
    for s in range(1, most + 1):
        level: dict[tuple[int, ...], np.ndarray] = {}
        for chosen in combinations(range(len(cells.names)), s):
            at = list(chosen)
            sizes, knows = [cells.sizes[c] for c in chosen], known[at].all(axis=0)
            part, of = count_cells([cells.names[c] for c in chosen], list(cells.codes[at]), sizes)
            tells = np.empty(part.codes.shape, np.bool_)
            tells[:, of] = known[at]
            rows = np.bincount(of, weights=cells.count).astype(np.int64)
            met = matched(part.codes, sizes, tells, rows)[of]
            alone = (met == 1) & knows
            if not alone.any():
                continue
            level[chosen] = alone
            lesser = [smaller[rest] for rest in combinations(chosen, s - 1) if rest in smaller]
            first = alone & ~np.logical_or.reduce(lesser) if lesser else alone
            score[first] += weights[s]
            parts[np.ix_(at, first)] += weights[s]
            number[first] += 1
            least[first & (least == 0)] = s
        smaller = level
