"""Risks as measures: a value with its range and a sentence for whoever signs the release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import column_name, column_names, mapping, share_of
from sfumato.core.wording import count, percent
from sfumato.errors import PolicyError
from sfumato.measures.measure import Measure
from sfumato.measures.risk.achievement import achieved_figures
from sfumato.measures.risk.attackers import figures, journalist_figures, marketer_figures
from sfumato.measures.risk.individual_risk import cell_risks, household_risks, weights
from sfumato.measures.risk.keys import Keys, fraction_of, is_size, keys_of
from sfumato.measures.risk.log_linear_risk import TOLERANCE, log_linear_figures
from sfumato.measures.risk.people import achieved_by_people, household_risks_of, of_people, people_table
from sfumato.measures.risk.uniqueness import MODELS, population_measure, sample_measure, table_figures
from sfumato.measures.table import Table, refuse, table_of

SHARE = (0.0, 1.0)
ATTACKERS = {
    "prosecutor": "who knows that a person is in the table",
    "journalist": "who does not know whether a person is in the table",
    "marketer": "who links all records at once",
}
SENSITIVE: dict[str, tuple[tuple[float, float], str]] = {
    "distinct_l": ((1.0, math.inf), '"{1}" takes at least {0} different value{2}'),
    "entropy_l": ((1.0, math.inf), '"{1}" is at least as varied as {0:.4g} equally frequent value{2}'),
    "alpha": (SHARE, 'no value of "{1}" has a share above {3}'),
    "beta": ((0.0, math.inf), 'no value of "{1}" gains more than {0:.4g} times its share in the table in a class'),
}


def attacker_measures(found: Mapping[str, Any], with_population: bool) -> list[Measure]:
    """Highest, average and share at risk for each attacker; guessing one of the rows is the baseline."""
    guess = 1 / found["rows"]
    where = " in the population" if with_population else ""
    measures = []
    for name, who in ATTACKERS.items():
        of = found[name]
        details = {key: value for key, value in of.items() if key not in ("highest", "average", "records_at_risk")}
        outside = of.get("outside", 0.0)
        place = "" if name == "prosecutor" or outside else where  # records outside of it are counted as in the table
        if name != "marketer":
            looks = f"looks like {count(of['smallest'], 'record')}{place}, itself included"
            highest = (
                f"Somebody {who} finds the most exposed record with a chance of {percent(of['highest'])}: it {looks}."
            )
            measures.append(
                Measure(f"{name} highest risk", of["highest"], SHARE, highest, baseline=guess, details=details)
            )
        average = f"Somebody {who} finds {percent(of['average'])} of the records on average."
        if outside == 1:
            average += (
                " The population table holds no record as often as this table does, so this says no more than the "
                "prosecutor's risk: is it the population of these people, with the same columns?"
            )
        elif outside:
            average += (
                f" The population table holds {percent(of['outside'])} of the records less often than this table does; "
                "they are counted as here."
            )
        measures.append(Measure(f"{name} average risk", of["average"], SHARE, average, baseline=guess, details=details))
        if name != "marketer":
            at_risk = (
                f"{percent(of['records_at_risk'])} of the records are above the threshold of {of['threshold']:g} for "
                f"somebody {who}."
            )
            measures.append(Measure(f"{name} records at risk", of["records_at_risk"], SHARE, at_risk, details=details))
    return measures


def table_measures(counted: Mapping[str, Any]) -> list[Measure]:
    """Pr(PU) and Pr(PU given SU), counted in a population table."""
    given = counted["pu_given_su"]
    if math.isnan(given):
        sentence = "No record is unique in the sample, so none of them can be unique in the population."
    else:
        sentence = (
            f"{counted['both']} of the {counted['sample_uniques']} records that are unique in the sample "
            f"({percent(given)}) are unique in the population."
        )
    counts = {key: counted[key] for key in ("population_uniques", "sample_uniques", "both", "population_size")}
    people = f"{counted['population_uniques']} of {counted['population_size']}"
    return [
        Measure(
            "population unique",
            counted["pu"],
            SHARE,
            f"{people} records of the population ({percent(counted['pu'])}) are unique in the quasi-identifiers.",
            details=counts,
        ),
        Measure("population unique given sample unique", given, SHARE, sentence, details=counts),
    ]


def expected_measures(name: str, found: Mapping[str, Any]) -> list[Measure]:
    """Individual or household risk over the records."""
    whose = "a record" if name == "individual" else "a record's household"
    expected, average = found["expected_records"], found["average"]
    return [
        Measure(
            f"{name} risk",
            average,
            SHARE,
            f"The risk of {whose} is {percent(average)} on average and {percent(found['highest'])} at most; "
            f"{expected:.2f} re-identifications are expected, by survey weights."
            if name == "individual"
            else f"The risk that somebody of {whose} is found is {percent(average)} on average and "
            f"{percent(found['highest'])} at most.",
            details=dict(found),
        )
    ]


def log_linear_measures(found: Mapping[str, Any]) -> list[Measure]:
    """tau1 and tau2 of the richest model that was fitted."""
    model = "two-way" if "tau1" in found["two-way"] else "independence"
    uniques, of = found["uniques"], found[model]
    most = (0.0, float(uniques))
    details = {"model": model, "uniques": uniques, "sampling_fraction": found["sampling_fraction"]}
    rough = ""
    if (gap := of.get("gap", 0.0)) > TOLERANCE:
        rough = (
            f" The fit did not converge: after {of['sweeps']} sweeps it misses the counts by up to {gap:.2g} of them, "
            "so this is a rough figure."
        )
        details |= {"sweeps": of["sweeps"], "gap": gap}
    return [
        Measure(
            "log-linear tau1",
            of["tau1"],
            most,
            f"Of {uniques} records unique in the sample, {of['tau1']:.2f} are expected to be unique in the population "
            f"(log-linear model, {model}).{rough}",
            details=details,
        ),
        Measure(
            "log-linear tau2",
            of["tau2"],
            most,
            f"Somebody who links the {uniques} records unique in the sample to the population is expected to be right "
            f"about {of['tau2']:.2f} of them (log-linear model, {model}).{rough}",
            details=details,
        ),
    ]


def interval_measures(found: Mapping[str, Any]) -> list[Measure]:
    """Interval disclosure of each column, by rank and by standard deviations."""
    within = {
        "rank": f"{found.get('rank', 0):g} % of the ranks",
        "sd": f"{found.get('sd', 0):g} standard deviations",
    }
    return [
        Measure(
            f"interval disclosure of {name} by {window}",
            of[window],
            SHARE,
            f'{percent(of[window])} of the original values of "{name}" lie within {width} of the released one; for '
            f"somebody else's released value it is {percent(of[f'{window}_baseline'])}.",
            baseline=of[f"{window}_baseline"],
            details={"attribute": name, "rows": of["rows"]},
        )
        for name, of in found["columns"].items()
        for window, width in within.items()
        if of[window] is not None
    ]


def achieved_measures(found: Mapping[str, Any]) -> list[Measure]:
    """k, and what each sensitive column achieves."""
    k = found["k"]
    measures = [
        Measure(
            "achieved k",
            float(k),
            (1.0, math.inf),
            "Some record looks like no other: k is 1."
            if k == 1
            else f"Every record looks like at least {count(k - 1, 'other')}: k is {k}.",
        )
    ]
    for name, values in found["sensitive"].items():
        for key, (bounds, sentence) in SENSITIVE.items():
            if key in values:
                value = values[key]
                text = (
                    "In every group of records that look alike, "
                    + sentence.format(value, name, "s" * (value != 1), percent(value))
                    + "."
                )
                label = f"achieved {key.replace('_', ' ')} of {name}"
                measures.append(Measure(label, float(value), bounds, text, details={"attribute": name}))
        for distance, t in values.get("t", {}).items():
            text = (
                f'In every group of records that look alike, "{name}" is within {t:.4g} of its distribution in the '
                f"table ({distance})."
            )
            bounds = (0.0, math.inf) if distance == "kl" else SHARE
            details = {"attribute": name, "distance": distance}
            measures.append(Measure(f"achieved t of {name}, {distance}", t, bounds, text, details=details))
        if "delta" in values:
            delta = values["delta"]
            text = (
                f'Some group of records that look alike lacks a value of "{name}", so that no delta holds.'
                if delta is None
                else f'In every group of records that look alike, every value of "{name}" is within a factor of '
                f"{2**delta:.4g} of its share in the table."
            )
            value = math.nan if delta is None else delta
            measures.append(
                Measure(f"achieved delta of {name}", value, (0.0, math.inf), text, details={"attribute": name})
            )
    return measures


SMALL_TABLE = 20_000  # combinations of key values up to which the summary fits the two-way model


def risk_summary(
    frame: Any,
    quasi: Sequence[str],
    *,
    population: Any = None,
    sampling_fraction: float | None = None,
    weight: str | None = None,
    household: str | None = None,
    person: str | None = None,
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
    weight, household: columns of survey weights and of households. person: a column that says whose each row is: of
        several rows of a person in a class, one counts.
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
        person=person,
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
    person: str | None = None,
    threshold: float = 0.2,
    wildcard: bool = False,
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], tuple[Measure, ...]]:
    """The plain values of `risk_summary`, and its measures as values with a range and a sentence."""
    table = table_of(data)
    limit = share_of(threshold, "threshold")
    sized = is_size(population)
    others = None if population is None or sized else table_of(population)
    if household is not None and not isinstance(table, pl.DataFrame):
        refuse("household risk")
    people = None
    if person is not None:
        if wildcard:
            what = "people cannot be counted where a missing value matches any value"
            raise PolicyError(what, hint="leave wildcard out, or person")
        secrets = tuple(dict.fromkeys(column_names(sensitive, "sensitive")))
        people = people_table(table, quasi, person, weight, household, secrets)
        table = people.frame
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
            of_row = risks[by.cell_of_row]
            if people is None:
                homes = household_risks(by.frame, household, of_row)
            else:
                homes = household_risks_of(people, household, of_row)
            found["household"] = _expected(homes, np.ones(len(homes), np.int64), limit)
            measures += expected_measures("household", found["household"])
    if fraction is not None and fraction < 1:
        found["log_linear"] = log_linear_figures(keys, fraction, SMALL_TABLE)
        measures += log_linear_measures(found["log_linear"])
    if people is None:
        found["achieved"] = achieved_figures(table, keys, sensitive, hierarchies)
    else:
        found["achieved"] = achieved_by_people(people, keys.cells.names, secrets)
    measures += achieved_measures(found["achieved"])
    if people is not None:
        found |= {"rows": people.rows, "people": people.people, "most_rows": people.most}
        measures = [of_people(measure) for measure in measures]
    return found, tuple(measures)


def _weighed(table: Table, keys: Keys, weight: Any) -> tuple[Keys, np.ndarray]:
    """The survey weights, and the keys of their rows: of a table that is known by counts they are counted as well."""
    if not isinstance(table, pl.DataFrame):
        keys = keys_of(table, keys.cells.names, wildcard=keys.wildcard, beside=[column_name(weight, "weight")])
    return keys, weights(keys.frame, weight)


def _total(keys: Keys, survey: np.ndarray) -> float:
    return float(survey.sum() if keys.row_counts is None else np.sort(survey * keys.row_counts).sum())


def _fraction(rows: int, size: float | None, given: float | None, weight: float | None) -> float | None:
    """The sampling fraction, of what is given: itself, the population, or the weights; None where none is."""
    if given is not None:
        if size is not None and abs(fraction_of(rows, size, None) - given) > 0.01 * given:
            raise PolicyError(
                "the sampling fraction is not that of the population given",
                got=f"{given:g} and {rows} of {size:g} records",
                allowed="one of them, or both where they agree",
            )
        return share_of(given, "sampling_fraction", above=True)
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
