"""Achieved: what a policy would have to say for a table to keep it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.cells import Histogram, count_histogram
from sfumato.core.label_grammar import STAR
from sfumato.core.microdata import microdata
from sfumato.core.parameters import checked, column_names, known_columns
from sfumato.core.printed import printed
from sfumato.criteria.audit import WildcardGroups
from sfumato.criteria.search_distance import SEARCHED, run_maxima, run_of, run_sums
from sfumato.errors import ColumnError
from sfumato.measures.arguments import HIERARCHIES, QUASI, SENSITIVES, TABLE, WILDCARD
from sfumato.measures.risk.keys import Keys, keys_of
from sfumato.measures.table import Table, table_of
from sfumato.release.request import recipes_of

MOST_L = 10  # the last l whose recursive c is given
COUNTED = 100  # values told apart under wildcards, at least


@checked
def achieved(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    sensitive: Annotated[Sequence[str], SENSITIVES] = (),
    *,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    wildcard: Annotated[bool, WILDCARD] = False,
) -> dict[str, Any]:
    """The strictest parameters of each privacy model that a table satisfies, whoever made it.

    `k`, the smallest class. For each sensitive column, under `sensitive`:

    - `distinct_l`, the fewest different values of a class; `entropy_l`, exp of the least entropy;
    - `recursive_c`, for each l from 2 on the least c (nothing where a class has fewer than l values);
    - `t`, the largest distance to the whole table, by name: equal, kl, ordered for numbers and dates, and
      hierarchical with a hierarchy;
    - `alpha`, the largest share of a value in a class; `beta`, the largest gain (p - q)/q; `enhanced_beta`, the same,
      None where some gain is above -ln q, which no beta mends;
    - `delta`, the largest abs(log2(p/q)), None where a class lacks a value; `delta_present`, of values not lacking.

    The whole table is the table given. Where a model's comparison is strict (c, delta) the value is the least above,
    by one part in 1e11. `require` lists the same as criteria of a policy file; all of them hold in verify.

    With `wildcard`, a missing quasi-identifier (and "*") matches any value, which only `k` and `distinct_l` (counted
    up to 100) are defined for.

    >>> found = achieved({"age": [30, 30, 40, 40], "ill": ["a", "b", "a", "a"]}, ["age"], ["ill"])
    >>> found["k"], found["sensitive"]["ill"]["distinct_l"], found["sensitive"]["ill"]["alpha"]
    (2, 1, 1.0)
    """
    table = table_of(df)
    keys = keys_of(table, quasi, wildcard=wildcard)
    return achieved_figures(table, keys, sensitive, hierarchies)


def achieved_figures(
    table: Table, keys: Keys, sensitive: Any, hierarchies: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The same from counted keys."""
    names = tuple(dict.fromkeys(column_names(sensitive, "sensitive")))
    known_columns(names, table.columns)
    for name in names:
        if name in keys.cells.names:
            raise ColumnError(f'column "{name}" cannot be both quasi-identifying and sensitive')
    k = int(keys.classes.min())
    found: dict[str, Any] = {"k": k, "sensitive": {}, "require": [{"model": "k-anonymity", "k": k}]}
    for name in names:
        with_it = keys
        if not isinstance(table, pl.DataFrame):
            with_it = keys_of(table, keys.cells.names, wildcard=keys.wildcard, beside=[name])
        if keys.wildcard:
            values = {"distinct_l": _wildcard_variety(with_it, name)}
        else:
            values = _of_attribute(with_it, name, hierarchies)
        found["sensitive"][name] = values
        found["require"] += _required(name, values, k)
    return found


def _of_attribute(keys: Keys, name: str, hierarchies: Mapping[str, Any] | None) -> dict[str, Any]:
    frame = keys.frame
    given = {} if not hierarchies or name not in hierarchies else recipes_of(frame, {name: hierarchies[name]})
    micro = microdata(frame.select(name), {name: "sensitive"}, given, row_counts=keys.row_counts)
    attribute = micro.attribute(name)
    ancestor = None if attribute.hierarchy is None else attribute.ladder.of
    rows = np.flatnonzero(keys.sample > 0)  # cells of the population alone are no classes
    cell_of_row = keys.cell_of_row
    if len(rows) < len(keys.sample):
        place = np.zeros(len(keys.sample), np.int32)
        place[rows] = np.arange(len(rows))
        cell_of_row = place[cell_of_row]
    histogram = count_histogram(
        cell_of_row, len(rows), micro.codes[name], attribute.categories.text, ancestor, keys.row_counts
    )
    size = keys.sample[rows]
    known = {"equal": True, "ordered": attribute.categories.ordered, "kl": True, "hierarchical": ancestor is not None}
    distances = [distance for distance, defined in known.items() if defined]
    distinct = int(np.diff(histogram.start).min())
    return {
        "distinct_l": distinct,
        "entropy_l": _entropy_l(size, histogram),
        "recursive_c": _recursive_c(histogram, distinct),
        "t": {d: _distance(d, size, histogram) for d in distances},
        **_gains(size, histogram),
    }


def _entropy_l(size: np.ndarray, histogram: Histogram) -> float:
    share = histogram.count / size[run_of(histogram.start)]
    return max(1.0, math.exp(float(run_sums(-share * np.log(share), histogram.start).min())))


def _recursive_c(histogram: Histogram, distinct: int) -> dict[str, float]:
    start, of = histogram.start, run_of(histogram.start)
    falling = histogram.count[np.lexsort((-histogram.count, of))]
    rank = np.arange(len(of)) - start[:-1][of]
    first = run_maxima(falling, start)
    found = {}
    for l in range(2, min(distinct, MOST_L) + 1):
        tail = run_sums(np.where(rank >= l - 1, falling, 0), start)
        found[str(l)] = above(float((first / tail).max()))
    return found


def _distance(name: str, size: np.ndarray, histogram: Histogram) -> float:
    largest = max(0.0, float(SEARCHED[name](size, histogram).max()))
    return largest if name == "kl" else min(1.0, largest)


def _gains(size: np.ndarray, histogram: Histogram) -> dict[str, float | None]:
    """alpha, beta and delta: what one value gains or loses in a class."""
    p = histogram.count / size[run_of(histogram.start)]
    q = (histogram.overall / histogram.overall.sum())[histogram.value]
    gain = (p - q) / q
    beta = max(0.0, float(gain.max()))
    present = above(float(np.abs(np.log2(p / q)).max()))
    complete = bool((np.diff(histogram.start) == np.count_nonzero(histogram.overall)).all())
    return {
        "alpha": float(p.max()),
        "beta": beta,
        "enhanced_beta": beta if bool((gain <= -np.log(q) + 1e-12).all()) else None,
        "delta": present if complete else None,
        "delta_present": present,
    }


def above(bound: float) -> float:
    """A little more than a bound that must not be reached."""
    return float(f"{bound * (1 + 1e-11) + 1e-12:.14g}")


def _wildcard_variety(keys: Keys, name: str) -> int:
    """The fewest different values among the rows that match a row."""
    frame = keys.frame
    columns = [printed(frame.get_column(quasi)) for quasi in keys.cells.names]
    texts = pl.DataFrame([column.set(column == STAR, None) for column in columns])
    groups = WildcardGroups(texts, {name: printed(frame.get_column(name))})
    fewest: Any = groups.variety(name, COUNTED)["values"].min()
    return min(int(fewest), COUNTED)


def _required(name: str, values: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
    """The values as criteria of a policy; those that no parameter makes hold are left out."""
    of: dict[str, Any] = {"attribute": name}
    found: list[dict[str, Any]] = [{"model": "distinct-l-diversity", **of, "l": values["distinct_l"]}]
    if "entropy_l" not in values:
        return found
    found.append({"model": "entropy-l-diversity", **of, "l": values["entropy_l"]})
    for l, c in values["recursive_c"].items():
        found.append({"model": "recursive-cl-diversity", **of, "c": c, "l": int(l)})
    found += [{"model": "t-closeness", **of, "t": t, "distance": d} for d, t in values["t"].items()]
    found.append({"model": "alpha-k", "alpha": values["alpha"], "k": k, **of})
    for kind, beta in (("basic", values["beta"]), ("enhanced", values["enhanced_beta"])):
        if beta is not None:  # a beta of 0 is no parameter: the least that is
            found.append({"model": "beta-likeness", **of, "beta": max(beta, 1e-12), "kind": kind})
    for absent, delta in (("violates", values["delta"]), ("skipped", values["delta_present"])):
        if delta is not None:
            found.append({"model": "delta-disclosure", **of, "delta": delta, "absent": absent})
    return found
