"""Every masker keeps its contract: it repeats with its key, leaves missing values and other columns alone, is made anew
from its parameters, and what it states of the table is so."""

from __future__ import annotations

import dataclasses
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.core.random_stream import RandomStream
from sfumato.errors import SfumatoError
from sfumato.masking import MASKERS
from sfumato.masking.run import Masked, masked
from sfumato.pseudonyms import PSEUDONYMS
from sfumato.release.facts import FACTS, as_dict, check_private, check_public
from sfumato.verbs.steps import masker

APART = ["state", "county", "home", "weight"]
NAMES = sorted(MASKERS)
REPEATED = [name for name in NAMES if not MASKERS[name].example.private]  # others draw noise that is kept nowhere


@cache
def table() -> pl.DataFrame:
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
    return masked(table(), [step], [RandomStream(bytes([key]) * 32)], weight=weight, apart=APART)


@pytest.mark.parametrize("name", [*NAMES, *sorted(PSEUDONYMS)])
def test_parameters_that_make_no_sense_are_refused_and_crash_nothing(name: str) -> None:
    step: Any = {**MASKERS, **PSEUDONYMS}[name].example
    for parameter in (field.name for field in dataclasses.fields(step)):
        kind = type(getattr(step, parameter))
        for value in (0.3, -1, "", "no", object(), [1, 2], [None], {"a": 1}, True, math.inf, math.nan, 10**400):
            try:
                dataclasses.replace(step, **{parameter: value})
            except SfumatoError:
                continue
            assert kind is not bool or value is True, f"{parameter} takes {value!r}"


def test_each_is_described_on_a_page_of_its_family() -> None:
    docs = Path(__file__).parents[2] / "docs"
    pages = [page for page in (docs / "masking").glob("*.md") if page.name != "index.md"]
    text = "".join(page.read_text("utf-8") for page in (*pages, docs / "pseudonyms.md"))
    steps = {**MASKERS, **PSEUDONYMS}
    assert [n for n in steps if f"`{n}" not in text and f"{type(steps[n].example).__name__}`" not in text
            and f"sf.{type(steps[n].example).__name__}(" not in text] == []  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_it_is_made_anew_from_its_parameters(name: str) -> None:
    step = MASKERS[name].example
    assert masker(name, **json.loads(json.dumps(step.parameters()))) == step
    assert step.sentence()
    assert step.leaves
    assert not {*step.published_parameters()} & {*step.secret}  # type: ignore[attr-defined]
    assert {*step.kinds} <= {"number", "category", "date"}


@pytest.mark.parametrize(
    ("name", "weight"),
    [(name, by) for name in REPEATED for by in (None, "weight") if by or name != "massc"],
)
def test_it_repeats_and_does_what_it_states(name: str, weight: str | None) -> None:
    step, before = MASKERS[name].example, table()
    found = run(step, weight=weight)
    assert found.table.equals(run(step, weight=weight).table)
    assert found.table.columns == before.columns
    json.dumps([dict(one) for one in found.published])
    assert not found.table.equals(before)
    assert found.table.height == len(found.rows) <= before.height
    assert (np.diff(found.rows) > 0).all()
    rows = before[found.rows]
    for column in before.columns:
        if column not in found.changed:
            assert found.table[column].equals(rows[column]), column
        elif step.perturbs:
            assert found.table[column].is_null().equals(rows[column].is_null()), column
        else:  # it may suppress
            assert (found.table[column].is_null() | rows[column].is_not_null()).all(), column
    for number, fact in found.facts:
        stated = json.loads(json.dumps(as_dict(fact, number)))
        checked = (
            check_private(before, found.table, stated, found.changed)
            if FACTS[fact.fact].private
            else check_public(found.table, None, stated)
        )
        assert checked.holds, (checked.sentence, checked.note)


@pytest.mark.parametrize("name", [name for name in REPEATED if MASKERS[name].example.perturbs])
def test_another_key_perturbs_otherwise_or_not_at_all(name: str) -> None:
    """One that draws nothing gives the same under any key."""
    step = MASKERS[name].example
    made = [run(step, key, "weight").table for key in (1, 2, 3)]
    alike = [made[0].equals(other) for other in made[1:]]
    assert alike in ([True, True], [False, False])
