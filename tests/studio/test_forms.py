"""Forms of every variant of every table: they draw, their example fills them, and nonsense is told at its field."""

from __future__ import annotations

import asyncio
from importlib import import_module

import pytest
from nicegui.testing import user_simulation

from sfumato.core.forms import as_text, fill
from sfumato.criteria import CRITERIA
from sfumato.studio.context import PageContext
from sfumato.studio.forms import Form, columns_by_role, first_values, variants
from sfumato.studio.project import create
from sfumato.studio.server import Studio
from sfumato.studio.tasks import forms
from sfumato.studio.tasks.forms import _table as table_of
from sfumato.studio.texts import Texts
from tests.fuzz import slow_but

POLICY = {
    "input": {"path": "private/t.csv"},
    "roles": {"quasi": ["age", "sex"], "sensitive": ["disease", "wish", "ward"]},
}
COLUMNS = columns_by_role(POLICY)
KINDS = ("criteria", "searches", "losses", "steps", "generators", "hierarchies")
GIVEN = {  # of builders, which are functions: what their forms are filled with
    "intervals": {"widths": [5, 10], "top": 90},
    "redact": {"side": "left", "steps": [2, 4]},
    "dates": {"units": ["month", "year"]},
    "levels": {"steps": ["*"]},
    "order": {"values": ["low", "mid, or so", "high"], "fanouts": [2], "learned": True},
    "tree": {"edges": "a.csv"},
    "wide": {"rows": "a.csv"},
    "file": {"path": "a.csv", "learned": True},
    "either": {"alternatives": ["redact:right", "redact:left"]},
    "learned": {"groups": 8, "digits": "codes"},
    "postcode": {"country": "de"},
    "prefix": {"lengths": [5, 2]},
}
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


class Here:
    """Workers that do the work in this process."""

    async def run(self, task, *arguments, about="", slot=None, job=None):
        module, _, name = task.partition(".")
        return getattr(import_module(f"sfumato.studio.tasks.{module}"), name)(*arguments, None)


class Drawn:
    """A form, what it handed on last, and what stands at its fields."""

    def __init__(self, context, kind, name, values):
        self.made = None
        self.form = Form(context, kind, name, values, COLUMNS, self.changed)

    async def changed(self, found):
        self.made = found

    async def put(self, name, value):
        """Put a value into a field, and let the form look at it; gives what is told there."""
        field = self.form.fields[name][1]
        field._handle_value_change = lambda _: None  # so that it is looked at once, here
        field.value, self.made = value, None
        await self.form._settle()
        return field.props["error-message"] or self.form.fault.text


def nonsense(parameter):
    """A value that the parameter cannot have; None where anything goes, or a field cannot hold it."""
    known = parameter["range"]
    if parameter["choices"] or parameter["many"]:
        return None
    number = known is not None and parameter["type"] in ("whole number", "number")
    if number and known["least"] is not None and known["least"] > -1e6:
        return known["least"] if known["open_least"] else known["least"] - 1
    return None


@pytest.mark.parametrize("kind", slow_but(KINDS, "criteria"))
def test_a_form_of_every_variant(kind, tmp_path):
    context = PageContext(Studio(tmp_path, Here()), "", Texts("en"), create(tmp_path, "p", POLICY))
    table = table_of(kind)
    told = []

    async def page():
        for name, variant in (await variants(context, kind)).items():
            known = {one["name"] for one in variant["parameters"]}
            values = {key: value for key, value in variant["example"].items() if key in known}
            values = {key: value for key, value in (values or GIVEN.get(name, {})).items() if value is not None}
            drawn = Drawn(context, kind, name, values)
            await drawn.form.draw()
            assert list(drawn.form.fields) != [] or not known, name
            assert {*drawn.form.fields} == known, name
            await drawn.form._settle()  # as it stands: the example, through the texts of fields
            assert drawn.made is not None, f"{name}: {drawn.form.fault.text}"
            again, faults = fill(name, table[name], drawn.made)
            assert (faults, again) == ([], fill(name, table[name], values)[0]), name
            for parameter in variant["parameters"]:
                own, wrong = parameter["name"], nonsense(parameter)
                before, where = drawn.form.fields[own][1].value, f"{name} {own}"
                if wrong is not None:
                    assert await drawn.put(own, wrong), where
                    assert drawn.form.fields[own][1].props["error"], where
                    assert drawn.made is None, where
                    told.append(where)
                elif parameter["type"] in OTHER and not parameter["many"] and kind in KINDS[:3] and own not in TOGETHER:
                    value = OTHER[parameter["type"]](parameter)
                    assert not await drawn.put(own, value), where
                    assert drawn.made[own] == value, where
                await drawn.put(own, before)

    failed = []

    async def guarded():
        try:
            await page()
        except BaseException as error:
            failed.append(error)

    async def run():
        async with user_simulation(guarded) as user:
            await user.open("/")

    asyncio.run(run())
    for error in failed:
        raise error
    assert told or kind == "losses"
