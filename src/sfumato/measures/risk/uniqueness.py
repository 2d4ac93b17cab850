"""Uniqueness: who is alone in the sample, and how many of them are alone in the population as well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from sfumato.core.parameters import OneOf, Real, checked
from sfumato.core.wording import count, percent
from sfumato.criteria.population_uniqueness import ESTIMATORS
from sfumato.measures.arguments import FRACTION, QUASI, TABLE, WILDCARD
from sfumato.measures.measure import Measure
from sfumato.measures.risk.keys import Keys, fraction_of, keys_of
from sfumato.measures.table import table_of

MODELS = tuple(ESTIMATORS)


@checked
def sample_uniqueness(
    df: Annotated[Any, TABLE], quasi: Annotated[Sequence[str], QUASI], *, wildcard: Annotated[bool, WILDCARD] = False
) -> Measure:
    """The share of records that no other record of the table looks like.

    With `wildcard`, a missing value (and "*") matches any value. `details` has the number of `uniques` and `rows`.

    >>> sample_uniqueness({"age": [30, 30, 30, 40]}, ["age"]).value
    0.25
    """
    keys = keys_of(table_of(df), quasi, wildcard=wildcard)
    return sample_measure(keys)


@checked
def population_uniqueness(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    population_size: Annotated[float | None, Real(1)] = None,
    sampling_fraction: Annotated[float | None, FRACTION] = None,
    model: Annotated[str, OneOf(MODELS)] = "dankar",
) -> Measure:
    """The share of the population that is unique, estimated from the sizes of the sample's classes: Pr(PU).

    Models: "pitman" (Gamma(theta+1)/Gamma(theta+alpha) N^alpha uniques, by maximum likelihood), "zayatz", "snb" (slide
    negative binomial), and "dankar", the rule that takes Pitman where the sampling fraction is at most 0.1, else the
    smaller of Zayatz and SNB. Give the size of the population, or the sampling fraction.

    `value` is nan where the model has no solution. `details`: `pu`, the value again; `pu_given_su`, the estimated share
    of the sample uniques that are unique in the population, at most 1; `uniques` in the population; `model`,
    `population_size`, `sampling_fraction`, `sample_uniques`.

    >>> table = {"age": [20, 30, 40, 40]}  # of 8 people
    >>> round(population_uniqueness(table, ["age"], population_size=8, model="zayatz").value, 6)
    0.318182

    Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment, JOS 17(4), 2001; Zayatz,
    Estimation of the percent of unique population elements on a microdata file using the sample, 1991; Chen and
    Keller-McNulty, Estimation of identification disclosure risk in microdata, JOS 14(1), 1998; Dankar, El Emam, Neisa,
    Roffey, BMC Medical Informatics and Decision Making 12:66, 2012.
    """
    keys = keys_of(table_of(df), quasi)
    return population_measure(keys, fraction_of(keys.rows, population_size, sampling_fraction), model)


@checked
def unique_in_population(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    population: Annotated[Any, TABLE],
    *,
    wildcard: Annotated[bool, WILDCARD] = False,
) -> dict[str, float | int]:
    """Pr(PU) and Pr(PU given SU), counted in a table of the population that holds the sample.

    `pu` is the share of the population's records that are unique in it; `pu_given_su` the share of the sample's unique
    records that are unique in the population (nan where the sample has none); `population_uniques`, `sample_uniques`,
    `both` and `population_size` the counts. A record that the population lacks is not counted as unique in it.

    >>> found = unique_in_population({"age": [20, 30, 40, 40]}, ["age"], {"age": [20, 30, 30, 40, 40, 50]})
    >>> found["pu"], found["pu_given_su"]
    (0.3333333333333333, 0.5)
    """
    keys = keys_of(table_of(df), quasi, table_of(population), wildcard)
    return table_figures(keys)


def sample_measure(keys: Keys) -> Measure:
    """Sample uniqueness from counted keys."""
    uniques = int(keys.sample[keys.size == 1].sum())
    value = uniques / keys.rows
    return Measure(
        "sample uniqueness",
        value,
        (0.0, 1.0),
        f"{count(uniques, 'record')} of {keys.rows} ({percent(value)}) {'is' if uniques == 1 else 'are'} unlike any "
        "other in the quasi-identifiers.",
        details={"uniques": uniques, "rows": keys.rows},
    )


def population_measure(keys: Keys, fraction: float, model: str) -> Measure:
    """Population uniqueness from counted keys."""
    sizes = keys.sample[keys.sample > 0]  # the models know no wildcards
    uniques = int((sizes == 1).sum())
    value = float(ESTIMATORS[model](sizes, fraction))
    given = math.nan if uniques == 0 else min(1.0, value * keys.rows / uniques)
    size = keys.rows / fraction
    if math.isnan(value):
        sentence = f"The model {model} has no solution for these class sizes, so it gives no population uniqueness."
    else:
        sentence = (
            f"An estimated {percent(value)} of the population (about {value * size:.0f} of {size:.0f} people) are "
            f"unique in the quasi-identifiers ({model})."
        )
    details = {
        "model": model,
        "pu": value,
        "pu_given_su": given,
        "uniques": value * size,
        "population_size": size,
        "sampling_fraction": fraction,
        "sample_uniques": uniques,
    }
    return Measure(f"population uniqueness, {model}", value, (0.0, 1.0), sentence, details=details)


def table_figures(keys: Keys) -> dict[str, float | int]:
    """Pr(PU) and Pr(PU given SU) from counted keys that have a population."""
    assert keys.population is not None
    rows = int(keys.population.sum())
    alone = keys.in_population == 1
    people = keys.population if keys.covered is None else keys.covered
    uniques = int(people[alone].sum())  # of people whom labels cover, those who are the only one of a class
    in_sample = int(keys.sample[keys.size == 1].sum())
    both = int(keys.sample[(keys.size == 1) & alone].sum())
    return {
        "pu": uniques / rows,
        "pu_given_su": both / in_sample if in_sample else math.nan,
        "population_uniques": uniques,
        "sample_uniques": in_sample,
        "both": both,
        "population_size": rows,
    }
