"""Verify from counts: which promises a released table keeps, from its distinct tuples, without the search's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sfumato.criteria.audit import Counts, Groups, Wide
from sfumato.criteria.promise import examined
from sfumato.engines.store import COUNT
from sfumato.measures.class_sizes import summary
from sfumato.measures.verify import Verification


def verify_counts(
    counted: pl.DataFrame,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    *,
    whole: Mapping[str, Counts] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> Verification:
    """The same as `verify_table`, of a table that an engine counted.

    `counted` has the distinct tuples of printed texts, null where missing, and in `COUNT` the rows of each.

    >>> from sfumato.criteria import KAnonymity
    >>> table = pl.DataFrame({"age": ["2*", "3*"], COUNT: [2, 1]})
    >>> verify_counts(table, [["age"]], [KAnonymity(2)]).promises[0].measured
    1
    """
    trees = {name: _wide(tree) for name, tree in (hierarchies or {}).items()}
    needed = dict.fromkeys(name for criterion in require for name in criterion.needs)
    times = counted.get_column(COUNT)
    promises, classes = [], []
    for names in quasi:
        groups = Groups(counted.select(names), {a: counted.get_column(a) for a in needed}, whole or {}, trees, times)
        classes.append(summary(groups.sizes["size"], names))
        promises += [examined(criterion, names, groups) for criterion in require]
    rows = int(times.sum())
    return Verification(rows > 0 and all(p.holds for p in promises), rows, tuple(promises), tuple(classes))


def _wide(hierarchy: Any) -> Wide:
    """A row of labels per leaf, from it to the root."""
    lines = [[of[i] for i in line] for of, line in zip(hierarchy.labels, hierarchy.ancestor.tolist(), strict=True)]
    return list(zip(*lines, strict=True))
