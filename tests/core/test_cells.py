"""Counting and grouping are exact, whatever the number of columns and values."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.cells import Cells, classes_of, count_cells, count_histogram, roll_up
from tests.fuzz import examples


def brute(codes: np.ndarray) -> Counter[tuple[int, ...]]:
    return Counter(map(tuple, codes.T.tolist()))


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "values", "rows"), [(1, 3, 50), (3, 100, 5000), (9, 70, 5000), (40, 1000, 3000)])
def test_cells_are_the_distinct_rows(columns: int, values: int, rows: int) -> None:
    rng = np.random.default_rng(columns)
    codes = rng.integers(0, values, (columns, rows), dtype=np.int32)
    codes[:, rows // 2 :] = codes[:, : rows - rows // 2]  # every second row is a repeat
    codes[-1, -1] = (codes[-1, -1] + 1) % values  # but for the last column of the last row
    cells, cell_of_row = count_cells([str(i) for i in range(columns)], list(codes), [values] * columns)
    assert dict(zip(map(tuple, cells.codes.T.tolist()), cells.count.tolist(), strict=True)) == brute(codes)
    assert (cells.codes[:, cell_of_row] == codes).all()
    assert list(map(tuple, cells.codes.T.tolist())) == sorted(map(tuple, cells.codes.T.tolist()))


def test_wide_keys_do_not_wrap() -> None:
    """Forty columns of a thousand values need 399 bits: rows that differ in one column only stay apart."""
    base = np.zeros((40, 41), np.int32)
    for i in range(40):
        base[i, i + 1] = 999
    cells, _ = count_cells([str(i) for i in range(40)], list(base), [1000] * 40)
    assert len(cells) == 41
    classes = roll_up(cells, [np.arange(1000)] * 40, range(40))
    assert len(classes.size) == 41
    merged = roll_up(cells, [np.zeros(1000, np.int64)] + [np.arange(1000)] * 39, range(40))
    assert sorted(merged.size.tolist()) == [1] * 39 + [2]


@settings(max_examples=examples(100))
@given(st.integers(1, 5), st.integers(1, 60), st.integers(0, 10**6))
def test_roll_up_groups_equal_labels(columns: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (columns, rows), dtype=np.int32)
    cells, cell_of_row = count_cells([str(i) for i in range(columns)], list(codes), [6] * columns)
    tables = [rng.integers(0, 3, 6) for _ in range(columns)]
    classes = roll_up(cells, tables, range(columns))
    labels = np.stack([table[code] for table, code in zip(tables, codes, strict=True)])
    assert sorted(classes.size.tolist()) == sorted(brute(labels).values())
    of = classes.class_of_cell[cell_of_row]
    assert len(set(zip(of.tolist(), map(tuple, labels.T.tolist()), strict=True))) == len(classes.size)


@settings(max_examples=examples(100))
@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 10**6))
def test_histograms_merge(rows: int, values: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    quasi, secret = rng.integers(0, 8, rows, dtype=np.int32), rng.integers(0, values, rows, dtype=np.int32)
    cells, cell_of_row = count_cells(["q"], [quasi], [8])
    histogram = count_histogram(cell_of_row, len(cells), secret, tuple(map(str, range(values))), None)
    cells = Cells(cells.names, cells.codes, cells.count, cells.sizes, {"s": histogram})
    class_of_cell = (cells.codes[0] % 3).astype(np.int32)
    classes = classes_of(cells, class_of_cell, 3)
    merged = classes.histogram("s")
    for c in range(3):
        run = slice(merged.start[c], merged.start[c + 1])
        found = dict(zip(merged.value[run].tolist(), merged.count[run].tolist(), strict=True))
        assert found == Counter(secret[quasi % 3 == c].tolist())
        assert sorted(found) == merged.value[run].tolist()
    some = np.flatnonzero(class_of_cell != 1)
    assert cells.take(some).histograms["s"].count.sum() == (quasi % 3 != 1).sum()
