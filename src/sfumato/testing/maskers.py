"""Checks of a masker: it is made anew from its parameters, repeats with its key, leaves missing values and columns that
are not its own alone, and what it states of the table is so."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.random_stream import RandomStream
from sfumato.errors import SfumatoError
from sfumato.masking import MASKERS
from sfumato.masking.run import Masked, masked
from sfumato.release.facts import FACTS, as_dict, check_private, check_public
from sfumato.verbs.steps import masker

APART = ["state", "county", "home", "weight"]  # columns that no step takes by itself
ODD = (0.3, -1, "", "no", object(), [1, 2], [None], {"a": 1}, True, math.inf, math.nan, 10**400)


@cache
def people() -> pl.DataFrame:
    """Households in areas, with ages, incomes and jobs, some of them missing."""
    chance = np.random.default_rng(8)
    rows = 600
    home = np.arange(rows) // 3
    age = chance.integers(18, 90, rows)
    income = np.exp(9 + 0.01 * age + 0.5 * chance.standard_normal(rows)).round(2)
    frame = pl.DataFrame(
        {
            "state": [f"state {h % 2}" for h in home],
            "county": [f"county {h % 8}" for h in home],
            "home": home,
            "age": age,
            "sex": chance.choice(["F", "M"], rows),
            "job": chance.choice(["baker", "clerk", "nurse", "pilot"], rows),
            "income": income,
            "tax": (0.3 * income + 500 * chance.standard_normal(rows)).round(2),
            "weight": chance.uniform(1, 9, rows).round(1),
        }
    )
    there = pl.Series(chance.uniform(size=rows) > 0.1)
    return frame.with_columns(pl.when(there).then(name).alias(name) for name in ("job", "tax"))


def run(step: Any, key: int = 1, weight: str | None = None) -> Masked:
    """That table after a step, under one of some keys."""
    return masked(people(), [step], [RandomStream(bytes([key]) * 32)], weight=weight, apart=APART)


def check_masker_declaration(step: Any) -> None:
    """Its parameters are plain and make it again, as a manifest does; it says what it does, and what it leaves open."""
    name = MASKERS.name_of(step)
    assert name is not None
    made = masker(name, **json.loads(json.dumps(step.parameters())))
    assert made == step, f"its parameters make another value: {made}"
    assert step.sentence(), "it does not say what it does"
    assert step.leaves, "it does not say what it leaves open"
    assert not {*step.published_parameters()} & {*step.secret}, "it publishes a secret parameter"
    assert {*step.kinds} <= {"number", "category", "date"}, f"unknown kinds of columns: {step.kinds}"
    assert step.stored in (None, "map", "rows"), f"stored is {step.stored!r}"
    assert isinstance(step.perturbs, bool), "perturbs is not True or False"


def check_masker_values(step: Any) -> None:
    """Parameters that make no sense are refused, and crash nothing."""
    for parameter in (field.name for field in dataclasses.fields(step)):
        kind = type(getattr(step, parameter))
        for value in ODD:
            try:
                dataclasses.replace(step, **{parameter: value})
            except SfumatoError:
                continue
            assert kind is not bool or value is True, f"{parameter} takes {value!r}"


def check_masker_release(step: Any) -> None:
    """It repeats and does what it states, with weights, without them, or both."""
    if step.private:  # which draws noise that is kept nowhere
        return
    refused = []
    for weight in (None, "weight"):
        try:
            run(step, weight=weight)
        except SfumatoError as error:
            refused.append(str(error))
            continue
        hold_to_facts(step, weight)
    assert len(refused) < 2, f"it takes no columns of the table of these checks: {refused[0]}"


def hold_to_facts(step: Any, weight: str | None) -> None:
    """What it makes of the table is what it states, and the same once more."""
    before, found = people(), run(step, weight=weight)
    assert found.table.equals(run(step, weight=weight).table), "the same key gives another table"
    assert found.table.columns == before.columns, "columns are others, or in another order"
    json.dumps([dict(one) for one in found.published])
    assert not found.table.equals(before), "it changes nothing"
    assert found.table.height == len(found.rows) <= before.height, "rows are not those that it says"
    assert (np.diff(found.rows) > 0).all(), "rows are in another order"
    rows = before[found.rows]
    for column in before.columns:
        if column not in found.changed:
            assert found.table[column].equals(rows[column]), f"{column}: changed, and not said to be"
        elif step.perturbs:
            assert found.table[column].is_null().equals(rows[column].is_null()), f"{column}: missing elsewhere"
        else:  # it may suppress
            there = found.table[column].is_null() | rows[column].is_not_null()
            assert there.all(), f"{column}: missing values are filled"
    for number, fact in found.facts:
        stated = json.loads(json.dumps(as_dict(fact, number)))
        checked = (
            check_private(before, found.table, stated, found.changed)
            if FACTS[fact.fact].private
            else check_public(found.table, None, stated)
        )
        assert checked.holds, f"{checked.sentence} {checked.note}"


def check_masker_key(step: Any) -> None:
    """Another key perturbs otherwise; one that draws nothing gives the same under any key."""
    if step.private or not step.perturbs:
        return
    made = [run(step, key, "weight").table for key in (1, 2, 3)]
    alike = [made[0].equals(other) for other in made[1:]]
    assert alike in ([True, True], [False, False]), "some keys give the same table, and others another"


MASKER_CHECKS = (check_masker_declaration, check_masker_values, check_masker_release, check_masker_key)
