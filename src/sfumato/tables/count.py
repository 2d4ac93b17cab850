"""Count a table: one GROUP BY of the engine, then sums and largest contributions of every total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from math import prod
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key
from sfumato.core.keys import rank_tuples
from sfumato.core.masked import of_type
from sfumato.core.microdata import microdata
from sfumato.core.printed import printed
from sfumato.core.progress import Progress, check_cancelled
from sfumato.core.random_stream import stream_of
from sfumato.core.wording import count
from sfumato.engines.protocol import COUNT, Engine, SumsAsked
from sfumato.errors import ColumnError, EmptyTable, PolicyError
from sfumato.tables.engine_sums import EXACT, MOST_DECIMALS, add_up
from sfumato.tables.values import Dimension, StatTable, check_size, dimension_of


def count_table(
    engine: Engine,
    by: Sequence[str],
    value: str | None,
    hierarchies: Mapping[str, Any],
    weight: str | None,
    contributor: str | None,
    request: str | None,
    record: str | None,
    largest: int,
    report_progress: Progress,
    most: int,
) -> StatTable:
    """The cells of a table, with all totals: sums of the engine where it computes any, else of counted tuples."""
    columns = list(dict.fromkeys([*by, *filter(None, (value, weight, contributor, request, record))]))
    asked = SumsAsked(tuple(by), value, weight, contributor, request, largest)
    with engine.snapshot(False) as table:
        if record is None:
            with table.sums(asked) as sums:
                found = None if sums is None else add_up(sums, asked, hierarchies, report_progress, most)
            if found is not None:
                return replace(found, reading=dict(table.reading), fingerprint=table.fingerprint(key()))
        counted = table.count(columns, report_progress, most)
        mark, reading = table.fingerprint(key()), dict(table.reading)
    if not counted.height:
        raise EmptyTable("the table has no rows")
    times = counted.get_column(COUNT).to_numpy().astype(np.int64)
    roles = dict.fromkeys(by, "insensitive")
    micro = microdata(counted, roles, {name: hierarchies.get(name) for name in by}, row_counts=times)
    made = [dimension_of(attribute.categories, attribute.hierarchy) for attribute in micro.schema]
    dimensions = tuple(dimension for dimension, _ in made)
    check_size(dimensions)
    leaf = [of[micro.codes[one.name]] for (one, of) in made]
    report_progress("adding up", None)
    amount, decimals = _amounts(counted, value, weight)
    who = None if contributor is None else _contributors(counted, contributor)
    wish = None if request is None else _requests(counted, request)
    shape = tuple(len(one.leaf) for one in dimensions)
    at = np.ravel_multi_index(tuple(leaf), shape)
    rows = _totals(dimensions, np.bincount(at, times, prod(shape)).reshape(shape)).astype(np.int64)
    per_row = np.ones(len(times)) if amount is None else amount
    value_of = _totals(dimensions, np.bincount(at, times * per_row, prod(shape)).reshape(shape))
    top, gross, people, requests = _contributions(dimensions, leaf, times, per_row, who, wish, largest)
    scale = 10.0**decimals
    keys = None if record is None else _cell_keys(dimensions, at, times, counted, record)
    return StatTable(
        dimensions, value, rows, value_of / scale, people, top / scale, gross / scale, decimals, requests,
        keys, negative=bool((per_row < 0).any()), reading=reading, fingerprint=mark,
    )  # fmt: skip


def _totals(dimensions: Sequence[Dimension], cells: np.ndarray) -> np.ndarray:
    for axis, one in enumerate(dimensions):
        cells = one.added_up(cells, axis)
    return cells


def _numbers(counted: pl.DataFrame, name: str) -> np.ndarray:
    """A column of known, finite numbers."""
    column = counted.get_column(name)
    if column.dtype == pl.String:  # as a file has it
        column = of_type(column, pl.Float64())
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise ColumnError(f'"{name}" has no numbers to add up', got=str(column.dtype), hint="name a column of numbers")
    found = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    lost = int(counted.get_column(COUNT).to_numpy()[~np.isfinite(found)].sum())
    if lost and not np.isfinite(found).any():
        raise ColumnError(f'"{name}" has no numbers to add up', hint="name a column of numbers")
    if lost:
        raise ColumnError(f'"{name}" has no number in {count(lost, "row")}', hint="fill them, or leave the rows out")
    return found


def _amounts(counted: pl.DataFrame, value: str | None, weight: str | None) -> tuple[np.ndarray | None, int]:
    """What a row adds to its cell, in units of the last digit after the point, and how many digits that are."""
    if value is None and weight is None:
        return None, 0
    found = np.ones(counted.height) if value is None else _numbers(counted, value)
    if weight is not None:
        weights = _numbers(counted, weight)
        if (weights < 0).any():
            raise ColumnError(f'"{weight}" has a weight below zero', allowed="weights of 0 and more")
        found = found * weights
    most = float((np.abs(found) * counted.get_column(COUNT).to_numpy()).sum())
    for decimals in range(MOST_DECIMALS + 1):
        scaled = found * 10.0**decimals
        if most * 10**decimals >= EXACT:
            break
        if np.allclose(scaled, np.rint(scaled), rtol=1e-13, atol=1e-9):
            return np.rint(scaled), decimals
    decimals = max(0, min(MOST_DECIMALS, 14 - Decimal(most).adjusted()) if most else 0)
    return np.rint(found * 10.0**decimals), decimals


def _contributors(counted: pl.DataFrame, name: str) -> np.ndarray:
    """The number of each row's contributor."""
    column = counted.get_column(name)
    missing = column.is_null() | (column.is_nan() if column.dtype.is_float() else False)
    if column.dtype == pl.String:
        missing |= column == ""
    lost = int(counted.get_column(COUNT).to_numpy()[missing.fill_null(True).to_numpy()].sum())
    if lost:
        what = f'"{name}" does not say in {count(lost, "row")} whose contribution it is'
        raise ColumnError(what, hint="fill the column, or leave the rows out")
    return column.rank("dense").to_numpy().astype(np.int64) - 1


def _requests(counted: pl.DataFrame, name: str) -> np.ndarray:
    """Which rows are of somebody who asked for confidentiality."""
    found = _numbers(counted, name)
    if not np.isin(found, (0, 1)).all():
        raise ColumnError(f'"{name}" says who asked for confidentiality', allowed="true and false, or 1 and 0")
    return found > 0


def _cell_keys(
    dimensions: Sequence[Dimension], at: np.ndarray, times: np.ndarray, counted: pl.DataFrame, record: str
) -> np.ndarray:
    """The key of each cell: the sum of those of its records, modulo 1, in units of 2**-64.

    A record has its key under the owner's, whatever table it is counted in.
    """
    if key() is None:
        raise PolicyError("cell keys are drawn under the owner's key, and there is none",
                          hint="without it the same cell would change in another way in each table")  # fmt: skip
    who = _contributors(counted, record)
    texts = printed(counted.get_column(record)).to_list()
    stream = stream_of(0, "cell keys", of="table")
    marks = replace(stream, row_keys=tuple(str(text).encode() for text in texts)).uniform(len(who))
    own = np.ldexp(marks, 53).astype(np.uint64) << np.uint64(11)
    found = np.zeros(prod(len(one.leaf) for one in dimensions), np.uint64)
    np.add.at(found, at, own * times.astype(np.uint64))  # what is over 64 bits is left out
    return _totals(dimensions, found.reshape(tuple(len(one.leaf) for one in dimensions)))


def _contributions(
    dimensions: Sequence[Dimension], leaf: Sequence[np.ndarray], times: np.ndarray, amount: np.ndarray,
    who: np.ndarray | None, asked: np.ndarray | None, most: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:  # fmt: skip
    """For every cell its largest contributions, the sum of all absolute ones, how many contributors it has, and how
    many of them asked for confidentiality. What a contributor adds in several rows of a cell is one contribution."""
    shape = tuple(len(one) for one in dimensions)
    size = prod(shape)
    top, gross, people = np.zeros((size, most)), np.zeros(size), np.zeros(size, np.int64)
    requests = None if asked is None else np.zeros(size, np.int64)
    for levels in product(*(range(len(one.level)) for one in dimensions)):
        check_cancelled()
        nodes = [one.level[level][at] for one, level, at in zip(dimensions, levels, leaf, strict=True)]
        cell = np.ravel_multi_index(tuple(nodes), shape)
        part, often, wish = amount, times, asked
        if who is not None:  # holdings are added up first
            of, held = rank_tuples([cell, who], [size, int(who.max()) + 1], len(cell))
            part = np.bincount(of, amount * times, held)
            first = np.zeros(held, np.int64)
            first[of] = np.arange(len(of))
            cell, often = cell[first], np.ones(held, np.int64)
            wish = None if asked is None else np.bincount(of, asked, held) > 0
        order = np.lexsort((-np.abs(part), cell))
        cell, part, often = cell[order], np.abs(part[order]), often[order]
        there, begin = np.unique(cell, return_index=True)
        upto = np.concatenate([[0], np.cumsum(often)])
        base = upto[begin]
        end = np.append(base[1:], upto[-1])
        for rank in range(most):
            at = np.minimum(np.searchsorted(upto, base + rank, "right") - 1, len(part) - 1)
            top[there, rank] = np.where(base + rank < end, part[at], 0)
        gross[there] = np.add.reduceat(part * often, begin)
        people[there] = end - base
        if requests is not None and wish is not None:
            requests[there] = np.add.reduceat(wish[order] * often, begin)
    return (
        top.reshape(*shape, most), gross.reshape(shape), people.reshape(shape),
        None if requests is None else requests.reshape(shape),
    )  # fmt: skip
