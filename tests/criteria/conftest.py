"""Classes made by hand, in the shape in which a search hands them to a criterion, and the same as released groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from sfumato.criteria.audit import Groups


@dataclass
class FakeHistogram:
    start: np.ndarray
    value: np.ndarray
    count: np.ndarray
    whole: np.ndarray
    text: tuple
    ancestor: np.ndarray | None


@dataclass
class FakeClasses:
    size: np.ndarray
    only: FakeHistogram

    def histogram(self, attribute):
        assert attribute == "s"
        return self.only


def in_code_order(values):
    """Numbers by number, other texts by text, missing last."""
    known = [v for v in values if v is not None]
    number = all(v.isdigit() for v in known)
    return [*sorted(set(known), key=int if number else str), *([None] if None in values else [])]


def search_side(classes, suppressed=(), tree=None):
    """Classes of printed values; `suppressed` rows count in the whole table only; `tree` maps a value to its labels."""
    rows = [v for one in classes for v in one]
    text = in_code_order([*rows, *suppressed])
    code = {v: i for i, v in enumerate(text)}
    counts = [sorted((code[v], n) for v, n in Counter(one).items()) for one in classes]
    start = np.cumsum([0, *(len(c) for c in counts)], dtype=np.int64)
    whole = np.bincount([code[v] for v in [*rows, *suppressed]], minlength=len(text)).astype(np.int64)
    ancestor = None
    if tree is not None:
        labels = [tree[v] for v in text]
        paths = [[tuple(row[level:]) for row in labels] for level in range(len(labels[0]))]
        known = [{p: i for i, p in enumerate(dict.fromkeys(line))} for line in paths]
        ancestor = np.array([[k[p] for p in line] for k, line in zip(known, paths, strict=True)], dtype=np.int32)
    histogram = FakeHistogram(
        start,
        np.array([v for c in counts for v, _ in c], dtype=np.int32),
        np.array([n for c in counts for _, n in c], dtype=np.int64),
        whole,
        tuple(text),
        ancestor,
    )
    return FakeClasses(np.array([len(one) for one in classes], dtype=np.int64), histogram)


def released_side(classes, suppressed=(), tree=None):
    """The same classes as released rows."""
    keys = pl.DataFrame({"q": [str(i) for i, one in enumerate(classes) for _ in one]})
    rows = [v for one in classes for v in one]
    given = {"s": dict(Counter([*rows, *suppressed]))}
    trees = {} if tree is None else {"s": [row for value, row in tree.items() if value is not None]}
    return Groups(keys, {"s": pl.Series("s", rows, dtype=pl.String)}, given, trees)


@pytest.fixture(scope="session")
def search():
    return search_side


@pytest.fixture(scope="session")
def released():
    return released_side
