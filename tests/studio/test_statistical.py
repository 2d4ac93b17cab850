"""The statistical table of a project: what a steward is told of it, its release, and its policy file in a shell."""

from __future__ import annotations

import tomllib

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Cancelled, PolicyError
from sfumato.policyfile.difference import difference
from sfumato.policyfile.file import Draft
from sfumato.policyfile.statistical import check_statistical
from sfumato.studio.pictures.cells import cell_table
from sfumato.studio.project import create
from sfumato.studio.tasks import release, statistical
from sfumato.studio.tasks.table import draft_of
from sfumato.studio.texts import Texts
from sfumato.studio.views.projects import stands_at
from tests.studio.running import browsing, choose, running

VISITS = {  # ward A has one case of HIV: that of the worked example in docs/tables
    "ward": ["A"] * 9 + ["B"] * 8 + ["C"] * 9,
    "ill": ["flu"] * 8 + ["HIV"] + ["flu"] * 4 + ["HIV"] * 4 + ["flu"] * 5 + ["HIV"] * 4,
}
POLICY = {
    "input": {"path": "visits.csv"},
    "table": {"by": ["ward", "ill"]},
    "rule": [{"rule": "minimum-frequency", "n": 3}],
}
ROWS = {"roles": {"quasi": ["ward"]}, "require": [{"model": "k-anonymity", "k": 2}]}


def quiet(message, share=None):
    pass


@pytest.fixture
def asked(tmp_path):
    pl.DataFrame(VISITS).write_csv(tmp_path / "visits.csv")

    def ask(**more):
        return {"tables": POLICY | ROWS | more, "folder": str(tmp_path)}

    return ask


def test_the_table_of_the_worked_example(asked):
    found = statistical.tried(asked(), quiet)
    told, grid = found["figures"], found["grid"]
    assert (told["hidden"], told["secondary"], told["cells"], told["narrowest"]) == (4, 3, 12, [1, 4])
    assert (told["rules"], told["optimal"], told["flags"]) == ([["Minimum frequency", 1]], True, False)
    assert told["share"] == pytest.approx(17 / 26)
    assert (grid["down"], grid["across"]) == (["ward"], "ill")
    assert [one["label"] for one in grid["columns"]] == ["*", "HIV", "flu"]
    assert [cell["value"] for cell in grid["rows"][1]["cells"]] == [9, None, None]
    assert [cell["status"] for cell in grid["rows"][1]["cells"]] == [0, 1, 2]
    assert grid["rows"][1]["cells"][1]["ends"] == (1, 4)


def test_readers_see_no_more_than_leaves(asked):
    found = statistical.tried(asked(), quiet)
    public, own = (cell_table(Texts("en"), found["grid"], owner) for owner in (False, True))
    assert public.count("cell-hidden") == 4
    assert "unsafe" not in public
    assert "protect" not in public
    assert public.count("1 to 4") == 2
    assert (own.count("cell-unsafe"), own.count("cell-protecting"), own.count("cell-hidden")) == (1, 3, 0)
    hidden = found["grid"]["rows"][1]["cells"][1]
    assert cell_table(Texts("en"), {**found["grid"], "rows": []}, False).count("<tr") == 2
    other = {**hidden, "true": 3, "status": 2}  # what the owner knows of a hidden cell changes nothing for readers
    grid = {**found["grid"], "rows": [{**found["grid"]["rows"][1], "cells": [hidden]}]}
    twin = {**grid, "rows": [{**grid["rows"][0], "cells": [other]}]}
    assert cell_table(Texts("en"), grid, False) == cell_table(Texts("en"), twin, False)


def test_labels_of_the_data_are_no_markup():
    one = {"label": "<b>", "depth": 1, "total": False, "root": False}
    cell = {"value": 3, "true": 3, "status": 0, "ends": None}
    grid = {"down": ["<i>"], "across": "<u>", "columns": [one], "rows": [{"head": [one], "cells": [cell]}]}
    shown = cell_table(Texts("it"), grid, True)
    assert shown.count("&lt;") == 4
    assert "<b>" not in shown


def test_cells_that_are_changed_say_what_they_were(asked):
    found = statistical.tried(asked(protect={"method": "deterministic-rounding", "base": 5}), quiet)
    assert "hidden" not in found["figures"]
    assert found["figures"]["changed"] > 0
    assert "was 9" in cell_table(Texts("en"), found["grid"], True)
    assert "was" not in cell_table(Texts("en"), found["grid"], False)


def test_three_columns_stand_in_two_directions(asked, tmp_path):
    pl.DataFrame(VISITS | {"sex": ["f", "m"] * 13}).write_csv(tmp_path / "visits.csv")
    grid = statistical.tried(asked(table={"by": ["sex", "ward", "ill"]}), quiet)["grid"]
    assert (grid["down"], grid["across"]) == (["sex", "ward"], "ill")
    assert len(grid["rows"]) == 3 * 4


def test_what_cannot_be_protected_is_said_with_the_cells_in_the_way(asked):
    keep = [{"ward": "A"}, {"ward": "B", "ill": "HIV"}, {"ward": "C", "ill": "HIV"}]
    with pytest.raises(PolicyError, match="are unsafe"):
        statistical.tried(asked(protect={"publish": keep}), quiet)
    keep = [{"ward": ["B", "C"]}, {"ward": "*"}]
    found = statistical.tried(asked(protect={"method": "exact", "publish": keep}), quiet)["infeasible"]
    assert "cannot be protected" in found["what"]
    assert found["cells"]
    assert all(len(labels) == 2 for labels in found["cells"])


@pytest.mark.parametrize(("more", "fault"), [
    ({"rule": [{"rule": "requests"}]}, "who asked for confidentiality"),
    ({"protect": {"method": "cell-key"}}, "which record each row is"),
    ({"rule": [{"rule": "minimum-frequency", "n": 1}]}, "out of range"),
])  # fmt: skip
def test_faults_are_told_in_words_of_the_page(asked, more, fault):
    with pytest.raises(PolicyError, match=fault) as error:
        statistical.tried(asked(**more), quiet)
    assert "tabulate" not in str(error.value)


def test_a_run_is_cancelled_by_its_progress(asked):
    def stop(message, share=None):
        raise Cancelled

    with pytest.raises(Cancelled):
        statistical.tried(asked(), stop)


def test_a_release_is_what_was_tried_and_verifies(asked, tmp_path):
    found = statistical.tried(asked(), quiet)
    figures = statistical.make(asked(), str(tmp_path / "out"), quiet)
    assert figures["outcome"] == "stated"
    assert all(one["holds"] for one in figures["promises"])
    assert sf.audit_table(tmp_path / "out").exposed == 0
    said = {"name": "Ann", "statement": "Approved.", "date": "2026-01-31", "passphrase": "sesame"}
    signed = release.sign(str(tmp_path / "out"), str(tmp_path / "key.pem"), said, False, quiet)
    assert (signed["signature"]["valid"], signed["signature"]["name"]) == (True, "Ann")
    written = pl.read_csv(tmp_path / "out" / "cells.csv")
    assert written["value"].null_count() == found["figures"]["hidden"]


def test_the_state_is_two_policy_files_that_a_shell_takes(tmp_path):
    pl.DataFrame(VISITS).write_csv(tmp_path / "visits.csv")
    project = create(tmp_path / "projects", "p", {**POLICY, **ROWS, "input": {"path": str(tmp_path / "visits.csv")}})
    table = tomllib.loads((project.folder / "table.toml").read_text())
    assert sorted(table) == ["input", "rule", "table"]
    draft = Draft({**table, "output": {"path": "out"}}, project.folder, "table.toml")
    assert check_statistical(draft).counting == {"by": ["ward", "ill"]}
    assert sorted(tomllib.loads((project.folder / "policy.toml").read_text())) == ["input", "require", "roles"]
    assert sorted(draft_of({"tables": project.policy, "folder": "."}).tables) == ["input", "require", "roles"]
    assert stands_at(project) == "release"
    project.add_release(1, {"by": "table"})
    project.add_release(2, {"by": "recoding"})
    assert [sorted(one["policy"]) for one in project.releases()] == [sorted(table), ["input", "require", "roles"]]
    project.change("rows", {name: one for name, one in project.policy.items() if name not in ROWS})
    assert stands_at(project) == "statistical"
    project.change("table", {name: one for name, one in project.policy.items() if name not in ("table", "rule")})
    assert not (project.folder / "table.toml").exists()


def test_a_changed_rule_is_told_between_releases():
    [change] = difference(POLICY, POLICY | {"rule": [{"rule": "minimum-frequency", "n": 5}]})
    assert (change.name, change.before, change.after) == ("minimum-frequency", "n = 3", "n = 5")


@pytest.mark.browser
def test_a_table_is_made_in_a_browser(chromium, tmp_path):
    pl.DataFrame(VISITS).write_csv(tmp_path / "visits.csv")
    create(tmp_path / "projects", "p", {"input": {"path": str(tmp_path / "visits.csv")}})
    with running(tmp_path / "projects") as url, browsing(chromium, url) as watched:
        page = watched.page
        page.set_default_timeout(120_000)
        page.goto(url.partition("/?")[0] + "/project/p/statistical")
        page.get_by_label("Counted by").click()
        page.get_by_role("option", name="ward").click()
        page.get_by_role("option", name="ill").click()
        page.keyboard.press("Escape")
        page.get_by_text('Rows are counted by "ward" and "ill"').wait_for()
        page.get_by_role("button", name="Try it").click()
        page.get_by_text("4 of 12 cells are hidden: 1 that is unsafe (Minimum frequency: 1 cell)").wait_for()
        assert page.locator("td.cell-hidden").count() == 4
        assert watched.accessible() == []
        page.get_by_role("button", name="As only you see it").click()
        page.locator("td.cell-unsafe").wait_for()
        page.set_viewport_size({"width": 420, "height": 900})
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        choose(page, "Method", "Hypercube cell suppression")
        page.get_by_text("The settings changed since").wait_for()
        page.get_by_role("button", name="Try it").click()
        page.get_by_role("button", name="Make the release").click()
        page.wait_for_url("**/release")
        page.get_by_text("Release 1").first.wait_for()
        assert watched.faults == []
    assert sf.audit_table(tmp_path / "projects" / "p" / "releases" / "1").exposed == 0
