"""Candidates side by side, and points of the map that become candidates."""

from __future__ import annotations

import json

import polars as pl
import pytest

from sfumato.studio.project import create
from sfumato.studio.tasks import compare
from tests.studio.running import browsing, running

POLICY = {
    "input": {"path": "private/in.csv"},
    "roles": {"quasi": ["age", "zip"], "sensitive": ["disease"], "identifying": ["name"]},
    "hierarchies": {"zip": {"redact": "right"}},
    "require": [{"model": "k-anonymity", "k": 2}, {"model": "distinct-l-diversity", "attribute": "disease", "l": 2}],
    "search": {"method": "mondrian", "loss": "ncp"},
}


def quiet(message, share=None):
    pass


@pytest.fixture
def project(tmp_path):
    found = create(tmp_path, "p", POLICY)
    pl.DataFrame(
        {
            "name": [f"n{i}" for i in range(200)],
            "age": [20 + i * 7 % 57 for i in range(200)],
            "zip": [f"{80410 + i % 37}" for i in range(200)],
            "disease": [("<b>gout</b>", "cold", "flu")[i % 3] for i in range(200)],
        }
    ).write_csv(found.folder / "private" / "in.csv")
    return found


@pytest.mark.slow
def test_each_point_of_a_map_is_a_policy_that_gives_its_figures(project):
    asked = {"tables": project.policy, "folder": str(project.folder)}
    found = compare.mapped(asked, ["mondrian", "optimal"], [5, 3], ["rank-swapping p=15"], ["sequential-trees"], quiet)
    assert [(one["family"], one["search"], one["k"]) for one in found["points"]] == [
        ("recoding", "mondrian", 3),
        ("recoding", "mondrian", 5),
        ("recoding", "optimal", 3),
        ("recoding", "optimal", 5),
        ("masking", "rank-swapping", None),
        ("synthesis", "sequential-trees", None),
    ]
    assert any(one["pareto"] for one in found["points"])
    json.dumps(found)
    for one in found["points"]:
        own = {"tables": one["policy"], "folder": str(project.folder)}
        measured = compare.measured(own, quiet)
        assert (measured["by"], measured["search"]) == (one["family"], one["search"])
        if one["k"]:
            assert measured["suppressed"] == one["suppressed"]
            assert measured["smallest"] >= one["k"]
            assert measured["attackers"]["prosecutor"] == 1 / measured["smallest"]
        else:
            assert set(measured["attackers"].values()) == {None}
        spread = compare.distribution(own, "age", quiet)
        assert sum(spread["before"]) == pytest.approx(1)
        assert sum(spread["after"]) == pytest.approx(1)


def test_two_columns_and_rows_before_and_after(project):
    asked = {"tables": project.policy, "folder": str(project.folder)}
    found = compare.heat(asked, "age", "disease", quiet)
    assert found["down"] == ["<b>gout</b>", "cold", "flu"]
    for which in ("before", "after"):
        assert [sum(row) for row in found[which]] == pytest.approx([67 / 200, 67 / 200, 66 / 200])
    for row in compare.some_rows(asked, 5, quiet)["rows"]:
        number = row["number"] - 1
        assert row["before"] == [
            str(20 + number * 7 % 57),
            f"{80410 + number % 37}",
            ("<b>gout</b>", "cold", "flu")[number % 3],
        ]
        assert row["after"][2] == row["before"][2]  # a row came from where it says


@pytest.mark.browser
def test_candidates_are_compared_and_taken_from_the_map(chromium, project):
    with running(project.folder.parent) as url, browsing(chromium, url) as watched:
        page = watched.page
        page.set_default_timeout(60_000)  # the first run compiles
        page.goto(url.partition("/?")[0] + "/project/p/compare")
        page.get_by_role("button", name="Add the policy as it is").click()
        page.locator(".gauge").nth(2).wait_for()
        page.locator(".both-bars").wait_for()
        page.get_by_role("tab", name="Map").click()
        page.get_by_label("Values of k").fill("3, 20")
        page.get_by_role("button", name="Draw the map").click()
        page.locator(".map-point").nth(3).wait_for()
        page.locator(".map-point.pareto").first.wait_for()
        assert watched.accessible() == []
        page.locator(".map-point").nth(3).click()
        page.get_by_role("button", name="Keep as a candidate").click()
        page.locator(".gauge").nth(5).wait_for()
        page.locator(".both-bars").nth(1).wait_for()
        page.locator(".changed-cell").first.wait_for()
        page.get_by_text("<b>gout</b>").first.wait_for()
        assert watched.accessible() == []
        page.get_by_role("button", name="Dark or light").click()
        page.locator("body.body--dark").wait_for()
        page.set_viewport_size({"width": 390, "height": 800})
        assert watched.accessible() == []
        page.get_by_role("tab", name="Map").click()
        page.locator(".map-point").first.wait_for()
        assert watched.accessible() == []
        page.get_by_role("tab", name="Candidates").click()
        page.get_by_role("button", name="Take this policy: optimal k=20").click()
        page.get_by_text("is now that of optimal k=20").wait_for()
        assert watched.faults == []
    assert project.policy["search"]["method"] == "optimal"
    assert project.policy["require"][0] == {"model": "k-anonymity", "k": 20}
    assert project.undo()
    assert project.policy == POLICY
