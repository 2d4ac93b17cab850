"""The summary behind `sf.utility`: every measure of utility that a pair of tables allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from sfumato.core.parameters import whole_number
from sfumato.core.wording import quoted
from sfumato.errors import ColumnError, MissingExtra
from sfumato.hierarchies.order import orders_of
from sfumato.measures.measure import Measure, finite
from sfumato.measures.utility.classification_metric import classification_metric
from sfumato.measures.utility.contingency import contingency
from sfumato.measures.utility.direct_comparison import direct_comparison
from sfumato.measures.utility.distribution import DISTANCES, distances, distribution_distance, kl_divergence
from sfumato.measures.utility.eigenvalues import eigenvalues_of
from sfumato.measures.utility.entropy_loss import entropy_loss
from sfumato.measures.utility.il1s import il1s_of
from sfumato.measures.utility.information_loss import information_loss
from sfumato.measures.utility.learning import learning
from sfumato.measures.utility.numeric_error import ERRORS, STATISTICS, error_of, numbers_of
from sfumato.measures.utility.pair import CountedPair, Pair, notes_of, pair_of
from sfumato.measures.utility.query_error import query_error

LOSSES = ("lm", "ncp", "precision", "non-uniform-entropy", "discernibility", "c-avg")


def utility_summary(
    original: Any,
    released: Any = None,
    quasi: Any = None,
    *,
    hierarchies: Mapping[str, Any] | None = None,
    target: str | None = None,
    rows: Sequence[int] | np.ndarray | None = None,
    key: str | None = None,
    k: int | None = None,
    queries: int = 200,
    dimension: int = 2,
    seed: int = 0,
) -> dict[str, Any]:
    """What a release is still good for: every measure of utility on a pair of tables, as plain values.

    Parameters
    ----------
    original, released, rows, key, hierarchies
        See `pair_of`. Measures that compare row by row are None where it is not known which row came from which.
    quasi
        The columns of the information losses and of the queries; those in which the release prints something else by
        default. Numbers, categories and distributions are measured on all shared columns.
    target
        A column to predict: adds the classification metric and, where scikit-learn is installed, learning.
    k
        The class size that was asked for, for c-avg. queries: how many; 0 for none. dimension: of contingency tables.

    Returns
    -------
    A mapping with the keys rows, quasi, loss, numbers, categories, distributions, queries, learning, measures: a list
    of all of them with range, interval, baseline and sentence; and notes: what the figures alone do not say. What is
    not defined is None.

    Examples
    --------
    >>> table = {"age": [20, 30, 40, 60]}
    >>> utility_summary(table, {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]})["loss"]["lm"]
    0.375
    """
    queries, dimension = whole_number(queries, "queries", 0), whole_number(dimension, "dimension")
    seed = whole_number(seed, "seed", 0)
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    names = pair.changed() if quasi is None else pair.names(quasi, "quasi")
    losses = {name: information_loss(pair, None, names, loss=name, k=k) for name in LOSSES}
    losses["kl-divergence"] = kl_divergence(pair, None, names)
    if target is not None:
        losses["classification-metric"] = classification_metric(pair, None, names, target=target)
    spread = {name: distribution_distance(pair, distance=name) for name in DISTANCES}
    numbers, categories = _numbers(pair), _categories(pair, dimension)
    asked = query_error(pair, None, names, queries=queries, seed=seed) if queries else None
    learnt = None
    if target is not None and not isinstance(pair, CountedPair):
        with suppress(MissingExtra):
            learnt = learning(pair, target=target, seed=seed)
    every = [*losses.values(), *numbers.values(), *categories.values(), *spread.values()]
    every += [measure for measure in (asked, learnt) if measure is not None]
    return {
        "rows": {
            "original": pair.original_rows,
            "released": pair.released_rows,
            "suppressed": pair.suppressed,
            "aligned": pair.rows is not None,
        },
        "quasi": list(names),
        "loss": _values(losses),
        "numbers": _nested(numbers) if numbers else None,
        "categories": _values(categories),
        "distributions": _values(spread)
        | {
            "per_column": {
                name: {way: finite(far) for way, far in distances(pair.column(name)).items()} for name in pair.shared
            }
        },
        "queries": None
        if asked is None
        else {"median": finite(asked.value)}
        | {name: asked.details[name] for name in ("mean", "upper_decile", "queries")},
        "learning": None
        if learnt is None
        else {"released": learnt.value}
        | {name: finite(learnt.details[name]) for name in ("original", "majority", "kept")}
        | {"models": learnt.details["models"]},
        "measures": [measure.to_dict() for measure in every],
        "notes": [*(_left_out(pair, target) if isinstance(pair, CountedPair) else []), *notes_of(pair)],
    }


def _numbers(pair: Pair) -> dict[str, Measure]:
    """The measures of the shared numeric columns; none where there is none."""
    if not pair.holds([name for name in pair.shared if pair.column(name).numeric]):
        return {}
    try:
        found = numbers_of(pair)
    except ColumnError:
        return {}
    on = STATISTICS if found.aligned else STATISTICS[1:]
    measures = {f"{error} of {what}": error_of(found, error, what) for error in ERRORS for what in on}
    if found.aligned:
        measures["il1s"] = il1s_of(found)
    return measures | {"eigenvalues": eigenvalues_of(found)}


def _left_out(pair: CountedPair, target: str | None) -> list[str]:
    """What needs rows, or more memory than was given."""
    found = []
    if pair.too_many:
        found.append(
            f"columns with too many different values to be held in memory are left out: {quoted(pair.too_many)}"
        )
    numeric = [name for name in pair.shared if pair.column(name).numeric]
    if numeric and not pair.holds(numeric):
        found.append(
            f"numbers are left out: {quoted(numeric)} have too many different combinations to be held in memory"
        )
    if target is not None:
        found.append(f'learning to predict "{target}" is left out: it trains on rows')
    return found


def _categories(pair: Pair, dimension: int) -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    if pair.rows is not None:
        found["direct-comparison"] = direct_comparison(pair)
        if orders_of(None, pair.hierarchies):
            found["direct-comparison ranked"] = direct_comparison(pair, distance="ranked")
        found["entropy-loss"] = entropy_loss(pair)
    with suppress(ColumnError):  # every column has too many values
        found["contingency"] = contingency(pair, dimension=dimension)
    return found


def _values(measures: Mapping[str, Measure]) -> dict[str, float | None]:
    return {name: finite(measure.value) for name, measure in measures.items()}


def _nested(measures: Mapping[str, Measure]) -> dict[str, Any]:
    """`{"mean-squared-error of means": m}` as `{"mean-squared-error": {"means": value}}`."""
    found: dict[str, Any] = {}
    for name, measure in measures.items():
        error, of, what = name.partition(" of ")
        if of:
            found.setdefault(error, dict.fromkeys(STATISTICS))[what] = finite(measure.value)
        else:
            found[name] = finite(measure.value)
    return found
