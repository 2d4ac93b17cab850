"""The summary of all risks of a table that its inputs allow: what stands behind the verb `risk`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import PolicyError
from sfumato.measures.measure import Measure
from sfumato.measures.risk.achievement import achieved_figures
from sfumato.measures.risk.asked import fraction_of, is_size, share
from sfumato.measures.risk.attackers import figures, journalist_figures, marketer_figures
from sfumato.measures.risk.individual_risk import cell_risks, household_risks, weights
from sfumato.measures.risk.keys import Keys, keys_of
from sfumato.measures.risk.log_linear_risk import log_linear_figures
from sfumato.measures.risk.sentences import (
    achieved_measures,
    attacker_measures,
    expected_measures,
    log_linear_measures,
    table_measures,
)
from sfumato.measures.risk.uniqueness import MODELS, population_measure, sample_measure, table_figures
from sfumato.measures.tables import Table, refuse, table_of
from sfumato.parameters import mapping

SMALL_TABLE = 20_000  # combinations of key values up to which the summary fits the two-way model


def risk_summary(
    frame: Any,
    quasi: Sequence[str],
    *,
    population: Any = None,
    sampling_fraction: float | None = None,
    weight: str | None = None,
    household: str | None = None,
    threshold: float = 0.2,
    wildcard: bool = False,
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Every risk of a table that its inputs allow, as plain values.

    Parameters
    ----------
    frame, quasi: any table, and its quasi-identifiers.
    population: a table of the population that holds the sample, or its size.
    sampling_fraction: the share of the population that is in the table; follows from a population or from weights.
    weight, household: columns of survey weights and of households.
    threshold: records strictly above it are at risk. wildcard: whether a missing value (and "*") matches any value.
    sensitive, hierarchies: columns whose l, t, alpha, beta and delta are measured, and their hierarchies.

    Returns
    -------
    `rows`, `classes`, `threshold`, `wildcard`; `prosecutor`, `journalist`, `marketer`; `uniqueness` with `sample` and,
    where the population's size is known, `population` by model (None where a model has no solution), `pu` and
    `pu_given_su`; `individual` with weights; `household` with households; `log_linear` with a sampling fraction below
    1; `achieved`; and `measures`, the same in sentences.

    >>> found = risk_summary({"age": [30, 30, 30, 40]}, ["age"])
    >>> found["prosecutor"]["highest"], found["uniqueness"]["sample"]
    (1.0, 0.25)
    """
    found, measures = assessed(
        frame,
        quasi,
        population=population,
        sampling_fraction=sampling_fraction,
        weight=weight,
        household=household,
        threshold=threshold,
        wildcard=wildcard,
        sensitive=sensitive,
        hierarchies=hierarchies,
    )
    return found | {"measures": [measure.to_dict() for measure in measures]}


def assessed(
    data: Any,
    quasi: Sequence[str],
    *,
    population: Any = None,
    sampling_fraction: float | None = None,
    weight: str | None = None,
    household: str | None = None,
    threshold: float = 0.2,
    wildcard: bool = False,
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], tuple[Measure, ...]]:
    """The plain values of `risk_summary`, and its measures as values with a range and a sentence."""
    table = table_of(data)
    limit = share(threshold, "threshold")
    sized = is_size(population)
    others = None if population is None or sized else table_of(population)
    if household is not None and not isinstance(table, pl.DataFrame):
        refuse("household risk")
    keys = keys_of(table, quasi, others, wildcard, mapping(hierarchies, "hierarchies"))
    weighed = None if weight is None else _weighed(table, keys, weight)
    size = float(population) if sized else None if keys.population is None else float(keys.population.sum())
    fraction = _fraction(keys.rows, size, sampling_fraction, None if weighed is None else _total(*weighed))
    found: dict[str, Any] = {
        "rows": keys.rows,
        "classes": len(keys.classes),
        "threshold": limit,
        "wildcard": wildcard,
        "prosecutor": figures(keys, keys.size, limit),
        "journalist": journalist_figures(keys, limit),
        "marketer": marketer_figures(keys, limit),
    }
    measures = attacker_measures(found, others is not None)
    found["uniqueness"], more = _uniqueness(keys, fraction)
    measures += more
    if weighed is not None or household is not None:
        by, survey = (keys, np.ones(keys.rows)) if weighed is None else weighed
        risks = cell_risks(by, by.weighted(survey))
        if weighed is not None:
            found["individual"] = _expected(risks, by.sample, limit)
            measures += expected_measures("individual", found["individual"])
        if household is not None:
            homes = household_risks(by.frame, household, risks[by.of_row])
            found["household"] = _expected(homes, np.ones(len(homes), np.int64), limit)
            measures += expected_measures("household", found["household"])
    if fraction is not None and fraction < 1:
        found["log_linear"] = log_linear_figures(keys, fraction, SMALL_TABLE)
        measures += log_linear_measures(found["log_linear"])
    found["achieved"] = achieved_figures(table, keys, sensitive, hierarchies)
    measures += achieved_measures(found["achieved"])
    return found, tuple(measures)


def _weighed(table: Table, keys: Keys, weight: Any) -> tuple[Keys, np.ndarray]:
    """The survey weights, and the keys of their rows: of a table that is known by counts they are counted as well."""
    if not isinstance(table, pl.DataFrame):
        if not isinstance(weight, str):
            raise PolicyError("weight must be the name of a column", got=type(weight).__name__)
        keys = keys_of(table, keys.cells.names, wildcard=keys.wildcard, beside=[weight])
    return keys, weights(keys.frame, weight)


def _total(keys: Keys, survey: np.ndarray) -> float:
    return float(survey.sum() if keys.times is None else np.sort(survey * keys.times).sum())


def _fraction(rows: int, size: float | None, given: float | None, weight: float | None) -> float | None:
    """The sampling fraction, of what is given: itself, the population, or the weights; None where none is."""
    if given is not None:
        if size is not None and abs(fraction_of(rows, size, None) - given) > 0.01 * given:
            raise PolicyError(
                "the sampling fraction is not that of the population given",
                got=f"{given:g} and {rows} of {size:g} records",
                allowed="one of them, or both where they agree",
            )
        return share(given, "sampling_fraction", above_zero=True)
    if size is not None:
        return fraction_of(rows, size, None)
    return None if weight is None else min(1.0, rows / weight)


def _uniqueness(keys: Keys, fraction: float | None) -> tuple[dict[str, Any], list[Measure]]:
    sample = sample_measure(keys)
    found: dict[str, Any] = {"sample": sample.value, **sample.details}
    measures = [sample]
    if fraction is not None:
        estimates = {model: population_measure(keys, fraction, model) for model in MODELS}
        found["population"] = {model: _plain(measure.value) for model, measure in estimates.items()}
        found["sampling_fraction"] = fraction
        rule = estimates["dankar"]
        found["pu"], found["pu_given_su"] = _plain(rule.value), _plain(rule.details["pu_given_su"])
        measures.append(rule)
    if keys.population is not None:
        counted = table_figures(keys)
        found["table"] = {name: _plain(value) for name, value in counted.items()}
        found["pu"], found["pu_given_su"] = found["table"]["pu"], found["table"]["pu_given_su"]
        measures += table_measures(counted)
    return found, measures


def _expected(risk: np.ndarray, count: np.ndarray, threshold: float) -> dict[str, float]:
    """Figures of risks that so many records have each."""
    rows, expected = int(count.sum()), float((risk * count).sum())
    return {
        "expected_records": expected,
        "average": expected / rows,
        "highest": float(risk[count > 0].max()),
        "records_at_risk": int(count[risk > threshold * (1 + 1e-12)].sum()) / rows,
        "threshold": threshold,
    }


def _plain(value: float) -> float | None:
    return None if isinstance(value, float) and math.isnan(value) else value
