"""The studio in a real browser: from an empty folder to a release that verify confirms."""

from __future__ import annotations

import re

import pytest

import sfumato as sf
from sfumato.studio.lessons import LESSONS
from tests.studio.running import browsing, choose, running, still

pytestmark = pytest.mark.browser


def test_from_the_example_to_a_release(chromium, tmp_path):
    with running(tmp_path) as url, browsing(chromium, url) as watched:
        page = watched.page
        page.set_default_timeout(240_000)  # the first run compiles
        page.get_by_role("button", name="Open: Hospital register").click()
        page.get_by_text("20,000 rows, 7 columns").wait_for()
        assert "token" not in page.url
        assert watched.accessible() == []
        page.get_by_role("link", name="Roles").click()
        page.get_by_text("7 columns have no role yet").wait_for()
        assert watched.accessible() == []
        page.get_by_role("button", name="Take all suggestions").click()
        page.get_by_text("Every column has a role.").wait_for()
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("7 columns have no role yet").wait_for()
        page.get_by_role("button", name="Redo").click()
        page.get_by_text("Every column has a role.").wait_for()
        page.get_by_role("link", name="Release").click()
        page.get_by_role("button", name="Make the release").click()
        page.get_by_text("every promise holds").wait_for()
        assert watched.accessible() == []
        assert watched.faults == []
    [project] = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert sf.verify(project / "releases" / "1").holds


def test_every_lesson_is_stepped_to_its_end_and_back(chromium, tmp_path):
    with running(tmp_path) as url, browsing(chromium, url) as watched:
        page = watched.page
        page.set_default_timeout(240_000)  # the first run compiles
        home = url.partition("/?")[0]
        for name, kind in LESSONS.items():
            page.goto(f"{home}/teach?lesson={name}&table={kind.tables[-1]}&step=2")
            page.get_by_text("Step 2 of").wait_for()
            still(page)
            second = page.locator("svg.lesson").inner_html()
            page.get_by_role("button", name="One step on").click()
            page.get_by_text("Step 3 of").wait_for()
            page.get_by_role("button", name="One step back").click()
            page.get_by_text("Step 2 of").wait_for()
            page.wait_for_function("second => document.querySelector('svg.lesson')?.innerHTML === second", arg=second)
            page.get_by_role("button", name="Last step").click()
            page.get_by_text(re.compile(r"Step (\d+) of \1$")).wait_for()
        page.goto(f"{home}/teach?lesson=l-diversity&table=patients&l=2&step=2")
        page.get_by_text("A class of 3 rows prints").wait_for()
        page.get_by_role("button", name="Predict the next step").click()
        page.get_by_text("Which values remain for Bob?").wait_for()
        page.get_by_role("checkbox", name="flu").click()
        page.get_by_role("button", name="Check").click()
        page.get_by_text("No: heart disease.").wait_for()
        page.get_by_role("checkbox", name="flu").click()
        page.get_by_role("checkbox", name="heart disease").click()
        page.get_by_role("button", name="Check").click()
        page.get_by_text("Right.").wait_for()
        assert watched.accessible() == []
        choose(page, "Table", "Your own table")
        page.get_by_role("textbox", name="Paste a table").fill("age,ill\n1,x\n1,y\n2,x\n2,x\n")
        page.get_by_role("textbox", name="Quasi-identifiers").fill("age")
        page.get_by_role("button", name="Start").click()
        page.get_by_text("Step 0 of 10").wait_for()
        page.get_by_role("button", name="Last step").click()
        page.get_by_text("1 class of 2 breaks the promise").wait_for()
        assert watched.faults == []
