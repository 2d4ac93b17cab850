"""From promises to a candidate in a real browser: a promise typed, a search cancelled, the lattice, a picture."""

from __future__ import annotations

import tomllib

import polars as pl
import pytest

from sfumato.cli.register import write_demo_inputs
from sfumato.studio.project import create, opened
from tests.studio.running import browsing, choose, counted, place, running, still, until

pytestmark = pytest.mark.browser


@pytest.fixture
def project(tmp_path):
    found = create(tmp_path, "Register")
    tables = tomllib.loads(write_demo_inputs(found.folder / "private" / "input").read_text())
    tables["input"]["path"] = "private/input/register.csv"
    tables["hierarchies"]["diagnosis"] = {"file": "private/input/diagnosis.csv"}
    tables["search"] = {"method": "genetic", "suppression": 0.02, "seconds": 300}
    found.change("example", {key: tables[key] for key in ("input", "roles", "hierarchies", "require", "search")})
    return found


def test_from_promises_to_a_candidate(chromium, tmp_path, project):
    with running(tmp_path) as url, browsing(chromium, url) as watched:
        page = watched.page
        page.set_default_timeout(60_000)  # the first run compiles
        page.goto(f"{url.split('/?')[0]}/project/Register/promises")

        page.get_by_text("Whoever looks for a person in it").get_by_text("at least 12 rows").wait_for()
        assert watched.accessible() == []
        k = page.get_by_label("k", exact=True)
        k.fill("0")
        page.get_by_text("k is out of range").wait_for()
        assert opened(project.folder).policy["require"][0]["k"] == 12
        k.fill("20")
        page.get_by_text("at least 20 rows").wait_for()
        assert page.evaluate("document.activeElement.value") == "20"  # the page was not drawn again under the cursor
        page.get_by_text("promised: at least 20").wait_for()
        choose(page, "Promise", "t-closeness")
        page.get_by_role("button", name="Add it").click()
        page.get_by_role("button", name="Remove this promise: t-closeness").click()
        page.get_by_role("button", name="Remove this promise: t-closeness").wait_for(state="detached")
        page.get_by_role("button", name="Remove this promise: entropy-l-diversity").click()
        page.get_by_role("button", name="Remove this promise: entropy-l-diversity").wait_for(state="detached")
        until(page, lambda: opened(project.folder).policy["require"] == [{"model": "k-anonymity", "k": 20}])

        page.get_by_role("link", name="Search").click()
        page.get_by_role("button", name="Search", exact=True).click()
        page.locator(".progress-card").get_by_text("2 s").wait_for()
        page.locator(".progress-card").get_by_text("Best so far: loss 0.").wait_for()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("Cancelled.").wait_for()
        page.locator(".progress-card").wait_for(state="detached")
        assert opened(project.folder).kept("search") is None

        choose(page, "Method", "Optimal")
        page.get_by_text("The level vector of least loss among all").wait_for()
        page.get_by_role("button", name="Search", exact=True).click()
        page.get_by_text("No other recoding of this kind loses less").wait_for()
        assert watched.accessible() == []
        page.get_by_role("button", name="Keep as a candidate").click()
        page.get_by_text("Kept: Optimal").wait_for()

        page.get_by_role("tab", name="Lattice").click()
        page.locator(".node-list button").first.click()
        page.locator(".facts").get_by_text("Rows left out").wait_for()
        page.get_by_text("chosen", exact=True).nth(1).wait_for()
        still(page)
        box = place(page.locator(".lattice-chart"))
        bottom = page.locator(".lattice-chart").evaluate(
            "one => getElement(+one.id.slice(1)).chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, [0, 0])"
        )
        page.mouse.click(box["x"] + bottom[0], box["y"] + bottom[1])  # nothing blurred, at the bottom
        page.locator(".facts").get_by_text("20,000 of 20,000").wait_for()
        page.get_by_text("None of the rows that were looked at").wait_for()
        page.locator(".node-list button").first.click()
        page.get_by_text("Some rows as these levels would release them").wait_for()
        counted(page, ".rows-grid tbody tr", 8)
        page.get_by_role("button", name="loss", exact=True).click()
        page.locator(".lattice-legend").get_by_text("Loss:").wait_for()
        box = place(page.locator(".lattice-chart"))
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.wheel(0, -600)
        assert watched.accessible() == []
        page.get_by_role("tab", name="Picture").click()
        page.locator(".picture-chart canvas").nth(1).wait_for()
        assert watched.accessible() == []
        assert watched.faults == []
    [kept] = opened(project.folder).candidates()
    assert (kept["name"], kept["policy"]["search"]["method"]) == ("Optimal", "optimal")
    assert kept["figures"]["smallest"] >= 20


def test_what_cannot_be_met_offers_what_to_turn(chromium, tmp_path, project):
    policy = project.policy
    policy["require"] = [{"model": "k-anonymity", "k": 12}]
    policy["levels"] = {"birth_date": [0, 1], "cost": [0, 1]}
    policy["search"] = {"method": "optimal"}
    project.change("strict", policy)
    with (
        running(tmp_path) as url,
        browsing(chromium, url, locale="it", viewport={"width": 390, "height": 800}) as watched,
    ):
        page = watched.page
        page.set_default_timeout(60_000)
        page.goto(f"{url.split('/?')[0]}/project/Register/search")
        page.get_by_role("button", name="Cerca", exact=True).click()
        page.get_by_text("nessun vettore di livelli soddisfa la politica").wait_for()
        assert watched.accessible() == []
        page.get_by_role("button", name="Lascia omettere").click()
        page.get_by_text("Le impostazioni sono cambiate").wait_for()
        page.get_by_role("button", name="Cerca", exact=True).click()
        page.get_by_text("Gruppo più piccolo").wait_for()
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
        assert watched.faults == []
    assert opened(project.folder).policy["search"]["suppression"] > 0


def test_masking_and_made_up_rows_are_tried_and_released(chromium, tmp_path):
    found = create(tmp_path, "p")
    rows = {"age": [20 + i * 7 % 57 for i in range(120)], "pay": [1000 + i * 37 % 900 for i in range(120)]}
    pl.DataFrame({**rows, "ward": ["A", "B", "C"] * 40}).write_csv(found.folder / "private" / "t.csv")
    roles = {"quasi": ["age", "ward"], "sensitive": ["pay"]}
    found.change("table", {"input": {"path": "private/t.csv"}, "roles": roles})
    with running(tmp_path) as url, browsing(chromium, url) as watched:
        page, base = watched.page, f"{url.split('/?')[0]}/project/p"
        page.set_default_timeout(60_000)
        page.goto(f"{base}/search")
        page.get_by_role("button", name="Mask values").click()
        page.get_by_text("No step yet").wait_for()
        page.get_by_role("button", name="Add it").click()
        page.get_by_text("Values exchange with others from the next 5 percent of ranks.").wait_for()
        page.get_by_label("p", exact=True).fill("0")
        page.get_by_text("p is out of range").wait_for()
        page.get_by_label("p", exact=True).fill("30")
        page.get_by_text("Values exchange with others from the next 30 percent of ranks.").wait_for()
        page.get_by_role("button", name="Try it").click()
        page.get_by_text("Found by linkage").wait_for()
        assert watched.accessible() == []
        page.get_by_role("button", name="Keep as a candidate").click()
        page.get_by_text("Kept: rank-swapping").wait_for()
        page.get_by_role("button", name="Make rows up").click()
        page.get_by_label("Generator").wait_for()
        page.get_by_role("button", name="Try it").click()
        page.get_by_text("Unique rows copied").wait_for()
        assert watched.accessible() == []
        page.goto(f"{base}/release")
        page.get_by_text("Drawn anew").wait_for()
        page.get_by_role("button", name="Make the release").click()
        page.get_by_text("nothing is promised").first.wait_for()
        page.goto(f"{base}/compare")
        page.get_by_role("button", name="Take this policy: rank-swapping").click()
        page.get_by_text("is now that of rank-swapping").wait_for()
        page.get_by_role("button", name="Undo").click()
        page.get_by_role("link", name="Search").click()
        page.get_by_label("Generator").wait_for()
        assert watched.faults == []
    assert opened(found.folder).releases()[0]["figures"]["by"] == "synthesis"
