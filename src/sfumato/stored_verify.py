"""Verify from counts: which promises a released table keeps, from its distinct tuples, without the search's code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from sfumato import arguments
from sfumato.criteria.audit import Counts as Whole
from sfumato.criteria.audit import Groups
from sfumato.criteria.promise import examined
from sfumato.engines.store import COUNT, Say, Store
from sfumato.measures.class_sizes import summary
from sfumato.measures.counted import MOST, Counts, quiet
from sfumato.measures.released_rows import Tallied
from sfumato.measures.verify import Verification, verify_released, wide_of
from sfumato.microdata import microdata


def verify_counts(
    counted: pl.DataFrame,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    *,
    whole: Mapping[str, Whole] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> Verification:
    """The same as `verify_table`, of a table that an engine counted.

    `counted` has the distinct tuples of printed texts, null where missing, and in `COUNT` the rows of each.

    >>> from sfumato.criteria import KAnonymity
    >>> table = pl.DataFrame({"age": ["2*", "3*"], COUNT: [2, 1]})
    >>> verify_counts(table, [["age"]], [KAnonymity(2)]).promises[0].measured
    1
    """
    trees = {name: wide_of(tree) for name, tree in (hierarchies or {}).items()}
    needed = dict.fromkeys(name for criterion in require for name in criterion.needs)
    times = counted.get_column(COUNT)
    promises, classes = [], []
    for names in quasi:
        groups = Groups(counted.select(names), {a: counted.get_column(a) for a in needed}, whole or {}, trees, times)
        classes.append(summary(groups.sizes["size"], names))
        promises += [examined(criterion, names, groups) for criterion in require]
    rows = int(times.sum())
    return Verification(rows, tuple(promises), tuple(classes))


def verify_store(
    store: Store,
    *,
    quasi: Sequence[str] | Sequence[Sequence[str]],
    require: Iterable[Any] | Any,
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    max_cells: int = MOST,
    say: Say = quiet,
) -> Verification:
    """Which promises a table that is not in memory keeps: what `sfumato.verify` says of it in memory.

    The store counts the distinct tuples of each set of quasi-identifiers, with each sensitive attribute that a
    criterion looks at; more than `max_cells` of them are refused.

    >>> from sfumato.engines.scanned import Scanned
    >>> verify_store(Scanned("out/*.parquet"), quasi=["age"], require="k-anonymity 5").holds  # doctest: +SKIP
    True
    """
    counts, promised = Counts(store, max_cells, say), arguments.criteria(require)
    nothing = pl.DataFrame(schema=counts.schema)
    needed = [name for criterion in promised for name in criterion.needs]
    roles = arguments.roles_of(nothing, quasi, (), sensitive, (), None, needed)
    trees = {}
    for name, recipe in arguments.recipes_of(nothing, hierarchies).items():
        frame, times = counts.entries([name])
        tree = recipe.build(microdata(frame, {name: "sensitive"}, {}, times=times).attribute(name).categories)
        trees[name] = wide_of(tree)
    return verify_released(Tallied(counts, {}, trees), roles.quasi, promised, wildcard=wildcard)
