"""Risks as measures: a value with its range and a sentence for whoever signs the release."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.measures.measure import Measure
from sfumato.measures.risk.log_linear_risk import TOLERANCE

SHARE = (0.0, 1.0)
ATTACKERS = {
    "prosecutor": "who knows that a person is in the table",
    "journalist": "who does not know whether a person is in the table",
    "marketer": "who links all records at once",
}
SENSITIVE: dict[str, tuple[tuple[float, float], str]] = {
    "distinct_l": ((1.0, math.inf), '"{1}" takes at least {0} different value{2}'),
    "entropy_l": ((1.0, math.inf), '"{1}" is at least as varied as {0:.4g} equally frequent value{2}'),
    "alpha": (SHARE, 'no value of "{1}" has a share above {0:.2%}'),
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
            looks = f"looks like {of['smallest']} record{'s' if of['smallest'] > 1 else ''}{place}, itself included"
            highest = f"Somebody {who} finds the most exposed record with a chance of {of['highest']:.2%}: it {looks}."
            measures.append(
                Measure(f"{name} highest risk", of["highest"], SHARE, highest, baseline=guess, details=details)
            )
        average = f"Somebody {who} finds {of['average']:.2%} of the records on average."
        if outside == 1:
            average += (
                " The population table holds no record as often as this table does, so this says no more than the "
                "prosecutor's risk: is it the population of these people, with the same columns?"
            )
        elif outside:
            average += (
                f" The population table holds {of['outside']:.2%} of the records less often than this table does; "
                "they are counted as here."
            )
        measures.append(Measure(f"{name} average risk", of["average"], SHARE, average, baseline=guess, details=details))
        if name != "marketer":
            at_risk = (
                f"{of['records_at_risk']:.2%} of the records are above the threshold of {of['threshold']:g} for "
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
            f"{counted['both']} of the {counted['sample_uniques']} records that are unique in the sample ({given:.2%}) "
            "are unique in the population."
        )
    counts = {key: counted[key] for key in ("population_uniques", "sample_uniques", "both", "population_size")}
    people = f"{counted['population_uniques']} of {counted['population_size']}"
    return [
        Measure(
            "population unique",
            counted["pu"],
            SHARE,
            f"{people} records of the population ({counted['pu']:.2%}) are unique in the quasi-identifiers.",
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
            f"The risk of {whose} is {average:.4%} on average and {found['highest']:.2%} at most; {expected:.2f} "
            f"re-identifications are expected, by survey weights."
            if name == "individual"
            else f"The risk that somebody of {whose} is found is {average:.4%} on average and {found['highest']:.2%} "
            "at most.",
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
            f'{of[window]:.2%} of the original values of "{name}" lie within {width} of the released one; for somebody '
            f"else's released value it is {of[f'{window}_baseline']:.2%}.",
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
            else f"Every record looks like at least {k - 1} other{'s' if k > 2 else ''}: k is {k}.",
        )
    ]
    for name, values in found["sensitive"].items():
        for key, (bounds, sentence) in SENSITIVE.items():
            if key in values:
                value = values[key]
                text = "In every group of records that look alike, " + sentence.format(value, name, _s(value)) + "."
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


def _s(number: float) -> str:
    return "" if number == 1 else "s"
