"""The page of hierarchies: trees as plain values, edits as new files, and a form for every builder."""

from __future__ import annotations

import asyncio

import polars as pl
import pytest
from nicegui.testing import user_simulation

from sfumato.core.hierarchy import Categories
from sfumato.errors import HierarchyError
from sfumato.hierarchies import HIERARCHIES, parse
from sfumato.studio.context import Drawn, PageContext
from sfumato.studio.cuts import new_cut, read, shown, step_of
from sfumato.studio.project import create
from sfumato.studio.server import Studio
from sfumato.studio.tasks import forms, hierarchies
from sfumato.studio.texts import Texts
from sfumato.studio.views.hierarchies import draw, with_hierarchy

SECRET = "Kaltenbrunn"
MARKUP = "<img src=x onerror=alert(1)>"
TOWNS = {"ulm": 4, "bonn": 3, SECRET: 1, "köln": 2}


def quiet(message, share=None):
    pass


def asked(project):
    return {"tables": project.policy, "folder": str(project.folder)}


@pytest.fixture
def project(tmp_path):
    found = create(tmp_path, "p")
    towns = [town for town, rows in TOWNS.items() for _ in range(rows)]
    born = [f"{1950 + 5 * i}-03-0{i % 9 + 1}" for i in range(10)]
    table = pl.DataFrame({"age": range(20, 70, 5), MARKUP: towns, "born": born, "zip": range(10115, 10125)})
    table.write_csv(found.folder / "private" / "t.csv")
    found.change("table", {"input": {"path": "private/t.csv"}, "roles": {"quasi": table.columns},
                           "hierarchies": {MARKUP: {"flat": True}, "age": {"intervals": [10, 20]}}})  # fmt: skip
    return found


def edit(project, column, **what):
    spec = hierarchies.edited(asked(project), column, what, quiet)
    project.change("hierarchy", with_hierarchy(project.policy, column, spec))
    return spec


def labels(project, column, level):
    spec = project.policy["hierarchies"][column]
    return parse(spec, project.folder).build(Categories(column, "text", (), None, None)).labels[level]


def test_a_tree_has_its_rows_and_no_more_than_is_opened(project):
    found = hierarchies.tree(asked(project), "age", [], "", None, quiet)
    assert (found["about"], found["values"], len(found["levels"])) == ("intervals 10, 20", 10, 4)
    assert (found["root"]["rows"], [one["rows"] for one in found["root"]["children"]]) == (10, [4, 4, 2])
    assert found["root"]["children"][0]["children"] == []
    found = hierarchies.tree(asked(project), "age", [], "", [1, "[30, 40)"], quiet)
    assert found["opened"] == [[3, "*", 200], [2, "[20, 40)", 200]]
    found = hierarchies.tree(asked(project), "age", [[3, "*", 2], [2, "[20, 40)", 9]], "", None, quiet)
    first, second = found["root"]["children"]
    assert [one["label"] for one in first["children"]] == ["[20, 30)", "[30, 40)"]
    assert (second["rows"], second["children"], found["root"]["hidden"]) == (4, [], 1)
    assert found["levels"][1]["cuts"] == ["30", "40", "50", "60"]
    found = hierarchies.tree(asked(project), "age", [], "45", None, quiet)
    at = found["root"]
    for label in ("[40, 60)", "[40, 50)", "45"):
        [at] = at["children"]
        assert at["label"] == label


def test_thousands_of_values_are_drawn_some_at_a_time(tmp_path):
    project = create(tmp_path, "p")
    pl.DataFrame({"n": [f"v{i:05}" for i in range(5000)]}).write_csv(project.folder / "private" / "t.csv")
    tables = {"input": {"path": "private/t.csv"}, "roles": {"quasi": ["n"]}, "hierarchies": {"n": {"flat": True}}}
    project.change("table", tables)
    root = hierarchies.node(asked(project), "n", 1, "*", 200, "", quiet)
    assert (len(root["children"]), root["hidden"]) == (200, 4800)
    root = hierarchies.tree(asked(project), "n", [], "v0499", None, quiet)["root"]
    assert ([one["label"] for one in root["children"]], root["hidden"]) == ([f"v{i:05}" for i in range(4990, 5000)], 0)


def test_each_edit_is_a_new_file_and_undo_finds_the_old_one(project):
    first = edit(project, MARKUP, kind="group", level=0, labels=["ulm", "bonn"], to="big")
    assert first == {"file": "hierarchies/img-src-x-onerror-alert-1-1.csv", "learned": True}  # no hash of what is in it
    assert set(labels(project, MARKUP, 1)) == {"big", SECRET, "köln"}
    edit(project, MARKUP, kind="merge", level=1, labels=[SECRET, "köln"], to="small")
    edit(project, MARKUP, kind="rename", level=2, labels=["*"], to="all")
    edit(project, MARKUP, kind="move", level=0, labels=["bonn", SECRET], to="small")
    root = hierarchies.tree(asked(project), MARKUP, [[2, "all", 9]], "", None, quiet)["root"]
    assert sorted((one["label"], one["rows"]) for one in root["children"]) == [("big", 4), ("small", 6)]
    edit(project, MARKUP, kind="insert", level=2)
    edit(project, MARKUP, kind="remove", level=1)
    assert set(labels(project, MARKUP, 1)) == {"big", "small"}
    for _ in range(5):
        assert project.undo()
    assert project.policy["hierarchies"][MARKUP] == first
    assert set(labels(project, MARKUP, 1)) == {"big", SECRET, "köln"}
    edit(project, "age", kind="cuts", level=2, cuts=["40"])
    assert labels(project, "age", 2) == ("< 40", ">= 40")


def test_what_cannot_be_is_said_without_a_value(project):
    with pytest.raises(HierarchyError, match="no such level") as refused:
        edit(project, MARKUP, kind="rename", level=0, labels=[SECRET], to="x")
    assert SECRET not in str(refused.value)
    before = project.policy
    with pytest.raises(HierarchyError, match="several of level 2"):
        edit(project, "age", kind="cuts", level=1, cuts=["35"])
    assert project.policy == before


def test_values_that_a_file_lacks_are_listed(project):
    (project.folder / "private" / "h.csv").write_text("ulm;south;*\nbonn;west;*\n")
    path = hierarchies.imported(asked(project), MARKUP, "private/h.csv", quiet)
    project.change("hierarchy", with_hierarchy(project.policy, MARKUP, path))
    found = hierarchies.tree(asked(project), MARKUP, [[2, "*", 9]], "", None, quiet)
    assert (found["lacking"], "not covered" in found["fault"], SECRET in found["fault"]) == (2, True, False)
    assert [one["rows"] for one in found["root"]["children"]] == [4, 3]
    assert sorted(hierarchies.lacking(asked(project), MARKUP, quiet)) == [[SECRET, 1], ["köln", 2]]
    assert hierarchies.exported(asked(project), MARKUP, quiet) == "ulm;south;*\nbonn;west;*\n"
    renamed = edit(project, MARKUP, kind="rename", level=1, labels=["west"], to="east")
    assert isinstance(renamed, str)  # what somebody wrote is public, edited too
    (project.folder / "private" / "bad.csv").write_text(f"ulm;a;*\n{SECRET};a;x\n")
    with pytest.raises(HierarchyError, match="no single root") as refused:
        hierarchies.imported(asked(project), MARKUP, "private/bad.csv", quiet)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("column", "name", "given", "spec"),
    [
        ("age", "intervals", {"widths": "10, 20", "top": "60"}, {"intervals": [10, 20], "top": 60}),
        ("age", "intervals", {"cuts": "30, 40, 50/40"}, {"intervals": [], "cuts": [[30, 40, 50], [40]]}),
        ("zip", "redact", {"steps": "2, 4"}, {"redact": True, "steps": [2, 4]}),
        ("born", "dates", {"units": ["year", "decade"]}, {"dates": ["year", "decade"]}),
        (MARKUP, "order", {"values": "\n".join(TOWNS), "fanouts": "2"}, {"order": list(TOWNS), "fanouts": [2]}),
        (MARKUP, "flat", {}, {"flat": True}),
        (MARKUP, "learned", {"groups": 3.0}, {"learned": True, "groups": 3}),
    ],
)
def test_a_builder_is_previewed_and_written_as_a_policy(project, column, name, given, spec):
    filled = forms.filled("hierarchies", name, given, quiet)
    assert filled["faults"] == []
    found = hierarchies.preview(asked(project), column, name, filled["values"], quiet)
    assert (found["faults"], found["spec"]) == ([], spec)
    assert (found["levels"][0]["labels"], found["levels"][-1]["least"]) == (
        len(found["levels"][0]["examples"]) if column == MARKUP else 10,
        10,
    )
    project.change("hierarchy", with_hierarchy(project.policy, column, spec))
    assert len(hierarchies.tree(asked(project), column, [], "", None, quiet)["levels"]) == len(found["levels"])


@pytest.mark.parametrize(
    ("name", "given", "fault"),
    [
        ("learned", {"groups": 1.0}, "groups"),
        ("intervals", {"widths": "10, 15"}, None),
        ("order", {"values": []}, None),
    ],
)
def test_faults_of_a_form_name_its_parameter(project, name, given, fault):
    assert forms.filled("hierarchies", name, given, quiet)["faults"][0][0] == fault
    found = hierarchies.preview(asked(project), "age", "order", {"values": ["20"]}, quiet)
    assert "does not cover 9 of 10 values" in found["faults"][0]
    assert "spec" not in found


def test_cuts_are_round(tmp_path):
    assert [shown(33.333, step_of(0, 90)), shown(1234.5, step_of(0, 99_999))] == ["33", "1000"]
    assert read("10, x, 20 / 20") == [10, 20]
    assert {new_cut(18, oldest, []) for oldest in (95, 99, 103)} == {60}  # it tells of nobody how old they are


class Here:
    """Workers that do the work in this process."""

    async def run(self, task, *arguments, about="", slot=None, job=None):
        module, _, name = task.partition(".")
        return getattr({"forms": forms, "hierarchies": hierarchies}[module], name)(*arguments, quiet)


@pytest.mark.slow
def test_every_builder_has_a_form_that_makes_a_hierarchy(project):
    context = PageContext(Studio(project.folder.parent, Here()), "", Texts("en"), project, Drawn(project.step.number))

    async def visit():
        async with user_simulation(lambda: draw(context)) as user:
            await user.open("/")
            await user.should_see("[20, 40)")
            [maker] = user.find(marker="make").elements
            maker.set_value(True)
            await user.should_see(marker="builder")
            [choice] = user.find(marker="builder").elements
            assert list(choice.options) == [
                name for name in HIERARCHIES if name not in ("levels", "tree", "wide", "file", "either")
            ]
            for name in choice.options:
                choice.set_value(name)
                for parameter in HIERARCHIES[name].parameters:
                    await user.should_see(marker=f"{name} {parameter.name}")
            choice.set_value("order")
            await user.should_see(marker="order values")
            [values] = user.find(marker="order values").elements
            assert values.value.splitlines()[0] == "20"  # those of the table
            choice.set_value("intervals")
            await user.should_see(marker="intervals widths")
            user.find(marker="intervals widths").type("25")
            await user.should_see("[25, 50)")
            user.find(marker="use").click()
            await asyncio.sleep(0.1)

    asyncio.run(visit())
    assert project.policy["hierarchies"]["age"] == {"intervals": [25]}
