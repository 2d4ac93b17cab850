"""Whole ways through the studio in a browser: Adult by its lattice, a table of a database, a file that is dropped; two
tabs, the back button, and a reload half-way."""

from __future__ import annotations

import os
import sqlite3
import tomllib
import zipfile

import polars as pl
import pytest

from sfumato.cli import main
from tests.studio.running import browsing, choose, place, running

pytestmark = pytest.mark.browser

ROWS = 4_000  # of Adult


@pytest.fixture(scope="module")
def studio(tmp_path_factory, shared):
    """A studio that knows where Adult is, a part of it."""
    root = tmp_path_factory.mktemp("flow")
    lines = (shared / "data" / "adult" / "adult.data").read_text().splitlines(keepends=True)[:ROWS]
    (root / "adult.data").write_text("".join(lines))
    given = {"SFUMATO_ADULT": str(root / "adult.data"), "XDG_CONFIG_HOME": str(root / "config")}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        with running(root / "projects") as url:
            yield url
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@pytest.fixture(scope="module")
def browser(chromium, studio):
    with browsing(chromium, studio) as watched:
        watched.page.set_default_timeout(60_000)  # the first run compiles
        yield watched


@pytest.fixture
def page(browser, studio):
    """The first page of the studio; in the end there was no error."""
    browser.page.goto(studio.partition("?")[0])
    yield browser.page
    assert browser.faults == []


def step(page, name):
    """Go to a step of the project."""
    page.get_by_role("navigation").get_by_role("link", name=name).click()
    page.locator(".studio-step.current", has_text=name).wait_for()


def released(page, folder):
    """Make the release, and take it away with its policy; the folder that was in the zip."""
    step(page, "Release")
    page.get_by_role("button", name="Make the release").click()
    page.get_by_text("every promise holds").wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all as zip").click()
    download.value.save_as(folder / "release.zip")
    page.get_by_text("Policy file and shell line").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download policy.toml").click()
    download.value.save_as(folder / "policy.toml")
    with zipfile.ZipFile(folder / "release.zip") as archive:
        archive.extractall(folder)
    [data] = folder.glob("*/data.csv")
    return data.parent


def made_again(folder, release):
    """Check a release in the shell, and that its policy gives the same bytes there."""
    assert main(["verify", str(release)]) == 0
    assert main(["anonymize", str(folder / "policy.toml"), "-o", str(folder / "again")]) == 0
    for name in ("data.csv", "manifest.json", "report.html"):
        assert (folder / "again" / name).read_bytes() == (release / name).read_bytes(), name


def test_adult_through_its_lattice(page, tmp_path):
    page.get_by_role("button", name="Open: Adult").click()
    page.get_by_text("4,000 rows, 15 columns").wait_for()
    step(page, "Roles")
    page.get_by_text("15 columns have no role yet").wait_for()
    page.get_by_role("button", name="Take all suggestions").click()
    page.get_by_text("Every column has a role.").wait_for()
    step(page, "Search")
    choose(page, "Method", "Optimal")
    page.get_by_text("The level vector of least loss among all").wait_for()
    page.get_by_role("tab", name="Lattice").click()
    vector = page.locator(".node-list button").nth(1)
    levels = [int(level) for level in vector.inner_text().split(",")]
    vector.click()
    page.get_by_role("button", name="Take these levels").click()
    page.get_by_role("button", name="Take these levels").wait_for(state="detached")  # the page was drawn again
    release = released(page, tmp_path)
    made_again(tmp_path, release)
    policy = tomllib.loads((tmp_path / "policy.toml").read_text())
    assert [policy["levels"][name] for name in policy["roles"]["quasi"]] == [[level, level] for level in levels]


def test_a_table_of_a_database(page, tmp_path):
    with sqlite3.connect(tmp_path / "ward.sqlite") as base:
        base.execute("CREATE TABLE patients (age INTEGER, zip TEXT, disease TEXT)")
        rows = [(20 + i * 7 % 60, f"{80410 + i % 9}", ("flu", "cold", "gout")[i % 3]) for i in range(300)]
        base.executemany("INSERT INTO patients VALUES (?, ?, ?)", rows)
    page.get_by_label("Name of the project").fill(f"Ward {tmp_path.name}")  # another one where it is tried again
    page.get_by_role("button", name="Create").click()
    page.get_by_role("tab", name="Database").click()
    page.get_by_label("Address of the database, or its file").fill(str(tmp_path / "ward.sqlite"))
    page.get_by_role("button", name="List its tables").click()
    choose(page, "Table", "patients")
    page.get_by_role("button", name="Read it").last.click()
    page.get_by_text("300 rows, 3 columns").wait_for()
    step(page, "Roles")
    page.get_by_role("button", name="Take all suggestions").click()
    page.get_by_text("Every column has a role.").wait_for()
    made_again(tmp_path, released(page, tmp_path))


def test_a_file_is_dropped_and_two_tabs_see_one_project(page, tmp_path):
    pl.DataFrame({"age": [20 + i % 50 for i in range(60)], "note": ["a"] * 60}).write_csv(tmp_path / "dropped.csv")
    page.get_by_label("Name of the project").fill(f"Tabs {tmp_path.name}")
    page.get_by_label("Name of the project").press("Enter")
    area = page.locator(".drop", has_text="CSV, Excel")
    box = place(area)
    middle = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    data = {"items": [], "files": [str(tmp_path / "dropped.csv")], "dragOperationsMask": 1}
    wire = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        wire.send("Input.dispatchDragEvent", {"type": kind, **middle, "data": data})
    page.get_by_text("60 rows, 2 columns").wait_for()

    step(page, "Roles")
    other = page.context.new_page()
    other.goto(page.url)
    page.bring_to_front()
    choose(page, "Role of note", "insensitive")
    page.get_by_label("Role of age", exact=True).click()  # its list stays open, whatever is drawn
    page.get_by_text("1 column has no role yet").wait_for()
    other.get_by_text("1 column has no role yet").wait_for()  # the other tab was drawn again
    other.bring_to_front()
    choose(other, "Role of note", "sensitive")
    other.get_by_role("button", name="Undo").click()
    choose(other, "Role of age", "quasi-identifying")
    other.get_by_text("Every column has a role.").wait_for()
    page.bring_to_front()
    assert page.get_by_role("option").count() == 7
    page.keyboard.press("Escape")
    page.get_by_text("Every column has a role.").wait_for()  # now it was drawn again
    page.get_by_role("button", name="Undo").click()
    other.get_by_text("1 column has no role yet").wait_for()
    other.close()

    step(page, "Promises")
    page.go_back()
    page.get_by_text("1 column has no role yet").wait_for()
    page.go_forward()
    page.locator("h1", has_text="What you promise").wait_for()
    page.reload()
    page.get_by_role("button", name="Redo").click()
    page.get_by_text("Nothing is promised yet").wait_for()
