"""Hierarchies edited in a real browser, by mouse and by keyboard, undone, and released."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.studio.project import create
from tests.studio.running import browsing, counted, place, running

pytestmark = pytest.mark.browser


def project_in(root):
    project = create(root, "towns")
    towns = ["Ulm", "Bonn", "Köln", "Trier"]
    table = pl.DataFrame({"age": [20 + i % 50 for i in range(400)], "town": [towns[i % 4] for i in range(400)]})
    table.write_csv(project.folder / "private" / "t.csv")
    project.change(
        "table",
        {
            "input": {"path": "private/t.csv"},
            "roles": {"quasi": ["town", "age"]},
            "hierarchies": {"age": {"intervals": [10, 20]}, "town": {"flat": True}},
            "levels": {"town": [1, 1]},
            "require": [{"model": "k-anonymity", "k": 2}],
            "search": {"method": "optimal"},
        },
    )
    return project


def test_a_hierarchy_is_edited_by_mouse_and_keyboard_and_released(chromium, tmp_path):
    project = project_in(tmp_path)
    with running(tmp_path) as url, browsing(chromium, url) as watched:
        page = watched.page
        page.set_default_timeout(60_000)  # the first run compiles
        page.goto(f"{url.partition('/?')[0]}/project/towns/hierarchies")

        def node(name):
            return page.get_by_role("treeitem").filter(has=page.get_by_text(name, exact=True))

        # by mouse: two values become a group, undone and done again
        node("Bonn").click()
        node("Köln").click()
        page.get_by_text("2 selected, level 0").wait_for()
        page.get_by_label("Name", exact=True).fill("Rhine")
        page.get_by_role("button", name="Make a group of them").click()
        node("Rhine").wait_for()
        page.get_by_role("button", name="Undo").click()
        node("Rhine").wait_for(state="detached")
        page.get_by_role("button", name="Redo").click()
        node("Rhine").wait_for()
        assert watched.accessible() == []

        # by keyboard alone: the two other groups are merged, then the new one is renamed
        page.get_by_label("Find a value or a group").focus()
        page.keyboard.press("Tab")
        for key in ("Home", "End", "Space", "ArrowUp", "Space"):
            page.keyboard.press(key)
        page.get_by_text("2 selected, level 1").wait_for()
        counted(page, "[role=treeitem][aria-selected=true]", 2)
        for _ in range(2):  # over "Clear" to the name
            page.keyboard.press("Tab")
        page.wait_for_function("document.activeElement.tagName === 'INPUT'")
        page.keyboard.type("elsewhere")
        page.keyboard.press("Enter")
        node("elsewhere").wait_for()
        page.wait_for_function("document.activeElement.innerText.startsWith('elsewhere')")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("F2")
        page.wait_for_function("document.activeElement.tagName === 'INPUT'")
        page.keyboard.press("Control+A")
        page.keyboard.type("other towns")
        page.keyboard.press("Enter")
        node("other towns").wait_for()

        # a cut that crosses a group is refused beside the tree; one that is dragged to its place is taken
        page.get_by_role("tab", name="age").click()
        node("[20, 40)").wait_for()
        page.get_by_role("button", name="Cut points of level 2").click()
        cut = page.get_by_role("slider", name="Cut 1")
        page.get_by_label("Cut points, with commas").fill("45")
        page.wait_for_function("document.querySelectorAll('.cut').length === 1")
        page.get_by_role("button", name="Set the cuts").click()
        page.get_by_role("alert").get_by_text("would lie in several of level 2").wait_for()
        page.get_by_role("button", name="Cut points of level 2").click()
        page.get_by_label("Cut points, with commas").fill("45")
        page.wait_for_function("document.querySelectorAll('.cut').length === 1")
        cut.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("document.querySelector('.cut').dataset.value === '46'")
        box, rail = place(cut), place(page.locator(".cuts"))
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(rail["x"] + rail["width"] * 30 / 49, box["y"] + 20, steps=4)
        page.mouse.up()
        page.wait_for_function("document.querySelector('.cut').dataset.value === '50'")
        assert watched.accessible() == []
        page.get_by_role("button", name="Set the cuts").click()
        node(">= 50").wait_for()

        page.get_by_role("link", name="Release").click()
        page.get_by_role("button", name="Make the release").click()
        page.get_by_text("every promise holds").first.wait_for()
        assert watched.faults == []
    assert set(project.policy["hierarchies"]) == {"age", "town"}
    for spec in project.policy["hierarchies"].values():
        assert spec["learned"]  # made from the table, and edited
        assert spec["file"].startswith("hierarchies/")
    folder = project.folder / "releases" / "1"
    assert sf.verify(folder).holds
    [data] = folder.glob("*.csv")
    assert set(pl.read_csv(data)["town"]) == {"Rhine", "other towns"}
