"""Findings on some of the classes of a table, and how those of all of them are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from sfumato.criteria.audit import Counts, Finding, Groups, Wide
from sfumato.criteria.promise import Promise, examined
from sfumato.engines.store import COUNT

LEAST = ("k", "l")  # bounds that what is measured must reach; the others it must not exceed


def findings(
    counted: pl.DataFrame,
    names: Sequence[str],
    needed: Sequence[str],
    require: Sequence[Any],
    given: Mapping[str, Counts],
    trees: Mapping[str, Wide],
) -> dict[str, Any]:
    """What some classes say, each of them whole: how many there are of each size, and a finding per criterion.

    `counted` is as `verify_counts` takes it. There is no finding on a promise about the table as a whole.
    """
    texts = {name: counted.get_column(name) for name in needed}
    groups = Groups(counted.select(names), texts, given, trees, counted.get_column(COUNT))
    sizes = groups.sizes.get_column("size").value_counts(name="classes").sort("size")
    found = [None if about_table(criterion) else asdict(criterion.audit(groups)) for criterion in require]
    return {"sizes": [list(row) for row in sizes.iter_rows()], "findings": found}


def about_table(criterion: Any) -> bool:
    """Whether a criterion is about the table as a whole: it then looks at the sizes of all classes."""
    return hasattr(criterion, "holds_table")


def all_sizes(told: Sequence[Mapping[str, Any]]) -> pl.Series:
    """The size of every class, ascending."""
    pairs = np.array([pair for found in told for pair in found["sizes"]], dtype=np.int64).reshape(-1, 2)
    size, of = np.unique(pairs[:, 0], return_inverse=True)
    count = np.bincount(of, weights=pairs[:, 1], minlength=len(size)).astype(np.int64)
    return pl.Series("size", np.repeat(size, count), dtype=pl.Int64)


def joined(
    told: Sequence[Mapping[str, Any]],
    sizes: pl.Series,
    names: Sequence[str],
    require: Sequence[Any],
    released: Mapping[str, Counts],
    given: Mapping[str, Counts],
    trees: Mapping[str, Wide],
) -> list[Promise]:
    """The promises, from what all classes say. `released` are the distributions of the released rows."""
    groups: Any = SimpleNamespace(keys=SimpleNamespace(height=len(sizes)), sizes=SimpleNamespace(height=len(sizes)))
    promises = []
    for i, criterion in enumerate(require):
        if about_table(criterion):
            finding = _of_table(criterion, sizes)
        else:
            finding = _worst(criterion, [Finding(**found["findings"][i]) for found in told])
            if len(sizes):
                finding = replace(finding, note=_note(criterion, sizes, released, given, trees))
        promises.append(examined(_Found(criterion, finding), names, groups))
    return promises


class _Found:
    """A criterion whose audit is done."""

    def __init__(self, criterion: Any, finding: Finding) -> None:
        self._criterion, self._finding = criterion, finding

    def audit(self, groups: Any) -> Finding:
        """What was found."""
        return self._finding

    def __getattr__(self, name: str) -> Any:
        return getattr(self._criterion, name)


def _of_table(criterion: Any, sizes: pl.Series) -> Finding:
    if not len(sizes):
        return Finding(False, None, criterion.bound, 0)
    table = pl.DataFrame({"class": np.arange(len(sizes), dtype=np.uint32), "size": sizes})
    found: Finding = criterion.audit(SimpleNamespace(sizes=table))
    return found


def _worst(criterion: Any, found: Sequence[Finding]) -> Finding:
    """All hold where each does; what is measured is the worst."""
    worst = min if criterion.bounded_by in LEAST else max
    measured = [one.measured for one in found if one.measured is not None]
    failing = sum(one.failing_classes for one in found)
    return Finding(all(one.holds for one in found), worst(measured, default=None), criterion.bound, failing)


def _note(
    criterion: Any,
    sizes: pl.Series,
    released: Mapping[str, Counts],
    given: Mapping[str, Counts],
    trees: Mapping[str, Wide],
) -> str | None:
    """What an audit notes: it speaks of the smallest class and of the released values, and a table of two classes, one
    of that size and one with all values, has the same of both."""
    smallest = int(sizes[0])
    texts: dict[str, pl.Series] = {}
    times = [smallest, int(sizes.sum())]
    for name in criterion.needs:
        values = [value or None for value in released[name]]
        times = [smallest, *released[name].values()]
        texts[name] = pl.Series([values[0], *values], dtype=pl.String)
    keys = pl.DataFrame({"class": ["smallest"] + ["all"] * (len(times) - 1)})
    own = {name: given[name] for name in criterion.needs if name in given}
    found: Finding = criterion.audit(Groups(keys, texts, own, trees, pl.Series(times)))
    return found.note
