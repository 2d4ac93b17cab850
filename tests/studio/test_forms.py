"""Forms of every criterion, search and loss: a field per parameter, and what is filled in is the policy."""

from __future__ import annotations

import asyncio

import polars as pl
import pytest

from sfumato.core.forms import as_text, fill
from sfumato.criteria import CRITERIA
from sfumato.losses import LOSSES
from sfumato.search import SEARCHES
from sfumato.studio.context import PageContext
from sfumato.studio.forms import Form, columns_by_role, first_values, variants
from sfumato.studio.project import create
from sfumato.studio.server import Studio
from sfumato.studio.tasks import forms
from sfumato.studio.texts import Texts

POLICY = {
    "input": {"path": "private/t.csv"},
    "roles": {"quasi": ["age", "sex"], "sensitive": ["disease", "wish", "ward"]},
}
COLUMNS = columns_by_role(POLICY)
TABLES = {"criteria": CRITERIA, "searches": SEARCHES, "losses": LOSSES}
OTHER = {  # something else than the default, for each type of parameter
    "whole number": lambda parameter: int((parameter["default"] or 6) + 1),
    "number": lambda parameter: parameter["range"]["least"] + (parameter["default"] or 0.2) / 2,
    "choice": lambda parameter: next(one for one in parameter["choices"] if one != parameter["default"]),
    "yes or no": lambda parameter: not parameter["default"],
    "column": lambda parameter: COLUMNS[parameter["refers_to"] or "column"][-1],
}
# parameters that go together, which a form changes one after the other
TOGETHER = {
    "class_attribute", "dimension", "queries", "cost", "relaxed", "distance", "matches", "epsilon_search", "prefer",
    "among", "estimator",
}  # fmt: skip


def test_every_parameter_has_a_first_value_that_is_right():
    for name, one in forms.variants("criteria", None).items():
        values = first_values(one, COLUMNS)
        made, faults = fill(name, CRITERIA[name], values)
        assert faults == [], name
        assert made is not None


def test_lists_and_mappings_are_typed_as_they_are_read():
    assert as_text({"HIV": 3, "flu, mild": 2}) == 'HIV=3, "flu, mild=2"'
    assert (as_text(["a", "b,c"]), as_text(None), as_text(3)) == ('a, "b,c"', "", "3")


@pytest.fixture
def context(tmp_path):
    from sfumato.studio.worker import Workers

    project = create(tmp_path, "p", POLICY)
    pl.DataFrame(
        {"age": [31, 31, 58, 58], "sex": ["F", "F", "M", "M"], "disease": ["flu", "gout"] * 2, "wish": [1, 2, 1, 2],
         "ward": ["a"] * 4}
    ).write_csv(project.folder / "private" / "t.csv")  # fmt: skip
    workers = Workers(1)
    yield PageContext(Studio(tmp_path, workers), "", Texts("en"), project)
    workers.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_a_form_of_every_variant_draws_and_makes_its_values(kind, context):
    from nicegui import ui
    from nicegui.testing import user_simulation

    made: dict[str, dict] = {}
    drawn: dict[str, Form] = {}

    async def page() -> None:
        for name, variant in (await variants(context, kind)).items():

            async def changed(found, name=name):
                made[name] = found

            drawn[name] = Form(context, kind, name, first_values(variant, COLUMNS), COLUMNS, changed)
            await drawn[name].draw()

    async def run() -> None:
        async with user_simulation() as user:
            ui.page("/", response_timeout=60)(page)
            await user.open("/")
            known = forms.variants(kind, None)
            for _ in range(600):
                if len(drawn) == len(known) and list(drawn[list(known)[-1]].fields) == [
                    parameter["name"] for parameter in known[list(known)[-1]]["parameters"]
                ]:
                    break
                await asyncio.sleep(0.1)
            for name, variant in known.items():
                assert sorted(drawn[name].fields) == sorted(one["name"] for one in variant["parameters"]), name
                for parameter in variant["parameters"]:
                    number = parameter["type"].endswith("number")
                    if (
                        parameter["type"] not in OTHER
                        or parameter["name"] in TOGETHER
                        or (number and parameter["choices"])
                    ):
                        continue
                    value = OTHER[parameter["type"]](parameter)
                    made.pop(name, None)
                    field, before = drawn[name].fields[parameter["name"]][1], drawn[name].values
                    with user:
                        field.set_value(value)
                    for _ in range(100):
                        if name in made or drawn[name].fault.visible:
                            break
                        await asyncio.sleep(0.02)
                    where = f"{name} {parameter['name']}"
                    assert name in made, f"{where}: {drawn[name].fault.text}"
                    assert made[name] == {**before, parameter["name"]: value}, where
                    assert fill(name, TABLES[kind][name], made[name])[1] == [], where
                    if parameter["type"] == "column":  # which another parameter may want next
                        made.pop(name)
                        with user:
                            field.set_value(before.get(parameter["name"]))
                        while name not in made:
                            await asyncio.sleep(0.02)

    asyncio.run(run())
