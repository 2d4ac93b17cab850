"""Makes the pictures of the studio again: `python -m tools.studio_pictures`, from the root of a checkout.

A studio is started with a project that has everything: the hospital register, promises, a search, two candidates and a
signed release. Each screen is photographed into `docs/studio`. `python -m tools.studio_pictures FOLDER NAME...` puts
those of the named screens elsewhere, whole and in both languages, colour schemes and widths, to be looked at.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from PIL import Image
from tests.studio.running import Watched, browsing, running, still
from tools.pictures import CHROMIUM

from sfumato.cli.register import write_demo_inputs
from sfumato.studio.project import Project, create
from sfumato.studio.tasks import compare as candidates
from sfumato.studio.tasks import release as releases
from sfumato.studio.tasks import search as searches
from sfumato.studio.tasks import statistical
from sfumato.studio.views.search import deciding_settings

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "studio"
WIDE, NARROW = 1440, 390
LANGUAGES, SCHEMES, WIDTHS = ("en", "it"), ("light", "dark"), (WIDE, NARROW)
TALLEST = 1300  # of a picture, in pixels
NAME = "Admissions 2025"
STEPS = f"/project/{NAME}/"
OTHERS = {  # projects that protect the same table in other ways
    "Admissions masked": {"mask": [{"step": "rank-swapping", "columns": ["cost"], "p": 5}]},
    "Admissions made up": {"synthesis": {"generator": {"name": "sequential-trees"}}},
}


@dataclass(frozen=True)
class Screen:
    """A page, what is on it once everything is there, and what is done first to see it."""

    path: str
    ready: str  # a selector
    first: Callable[[Any], object] = lambda page: None


def tab(number: int) -> Callable[[Any], object]:
    """Click a tab, by its place."""
    return lambda page: page.locator(".q-tab").nth(number).click()


def owner(page: Any) -> None:
    """Show a table as its owner alone sees it."""
    page.locator(".q-btn-toggle button").last.click()


SCREENS = {
    "projects": Screen("/", ".studio-list.projects li"),
    "data": Screen(STEPS + "data", ".rows-grid td"),
    "roles": Screen(STEPS + "roles", ".roles-grid .q-select"),
    "hierarchies": Screen(STEPS + "hierarchies", ".tree-row"),
    "promises": Screen(STEPS + "promises", ".promise-card .verdict"),
    "search": Screen(STEPS + "search", ".recoded-grid"),
    "lattice": Screen(STEPS + "search", ".node-list button", tab(1)),
    "picture": Screen(STEPS + "search", ".picture-chart canvas", tab(2)),
    "compare": Screen(STEPS + "compare", ".rows-grid td"),
    "map": Screen(STEPS + "compare", ".map-point", tab(1)),
    "masking": Screen("/project/Admissions masked/search", ".step-told *"),
    "synthesis": Screen("/project/Admissions made up/search", ".step-told *"),
    "release": Screen(STEPS + "release", '.q-btn:has(.q-icon:text("outbox"))'),
    "statistical": Screen("/project/Admissions counted/statistical", ".cell-unsafe", owner),
    "teach": Screen("/teach?lesson=mondrian&table=plane&step=20", "svg.lesson"),
    "queries": Screen("/queries", ".shell"),
}


# further pictures of the docs: dark, Italian, narrow
FURTHER = {
    "dark": ("search", "en", "dark", WIDE),
    "italian": ("promises", "it", "light", WIDE),
    "narrow": ("hierarchies", "en", "light", NARROW),
}


def prepare(root: Path, rows: int) -> Project:
    """A project that stands at its release, and one that is new."""
    create(root, "Survey 2024")
    project = create(root, NAME)
    inputs = project.folder / "private" / "input"
    tables = tomllib.loads(write_demo_inputs(inputs, rows).read_text(encoding="utf-8"))
    tables["input"]["path"] = "private/input/register.csv"
    tables["hierarchies"]["diagnosis"] = {"file": "private/input/diagnosis.csv"}
    del tables["output"]["path"]
    for method, bounds in (("mondrian", {}), ("optimal", tables["levels"])):
        tables |= {"search": {"method": method, "loss": "ncp", "suppression": 0.02}, "levels": bounds}
        project.change("search", tables)
        asked = {"tables": project.policy, "folder": str(project.folder)}
        found = searches.find(asked, _silent)
        project.add_candidate(found["title"], found)
    policy = project.policy
    project.keep("search", {"asked": deciding_settings(policy), "found": found})
    for name, protection in OTHERS.items():
        table = {"path": str(inputs / "register.csv")}
        create(root, name, {"input": table, "roles": tables["roles"], "search": {"seed": 1}, **protection})
    counted = {
        "input": {"path": str(inputs / "register.csv")}, "table": {"by": ["diagnosis", "sex"]},
        "rule": [{"rule": "minimum-frequency", "n": 3}],
    }  # fmt: skip
    other = create(root, "Admissions counted", counted)
    shown = statistical.tried({"tables": other.policy, "folder": str(other.folder)}, _silent)
    other.keep("statistical", {"asked": other.policy, "found": shown})
    few = {"path": str(write_demo_inputs(inputs / "few", rows // 4).with_name("register.csv"))}
    drawn = {**asked, "tables": {**policy, "input": few, "levels": {}}}
    project.keep("map", candidates.mapped(drawn, ["mondrian", "optimal"], [5, 12, 20], [], [], _silent))
    number, folder = project.next_release()
    figures = releases.make(asked, str(folder), _silent) | {"by": releases.made_by(policy)}
    said = {"name": "Ann Example", "statement": "I have read the report of this release and approve its publication.",
            "date": "2026-01-31", "passphrase": "sesame"}  # fmt: skip
    key = Path(os.environ["XDG_CONFIG_HOME"]) / "sfumato" / "signing.pem"
    project.add_release(number, figures | releases.sign(str(folder), str(key), said, True, _silent))
    return project


def _silent(message: str, share: float | None = None) -> None:
    """Progress that nobody follows."""


@contextmanager
def studio(rows: int = 20_000) -> Iterator[str]:
    """The address of a studio with that project, whose keys and settings are its own."""
    before = {name: os.environ.get(name) for name in ("XDG_CONFIG_HOME", "SFUMATO_SHARED", "SFUMATO_ADULT")}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = f"{folder}/config"
        for name in ("SFUMATO_SHARED", "SFUMATO_ADULT"):
            os.environ.pop(name, None)
        try:
            prepare(Path(folder, "projects"), rows)
            with running(Path(folder, "projects")) as url:
                yield url
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def show(watched: Watched, url: str, name: str, language: str, scheme: str, width: int) -> None:
    """Open a screen and wait until all of it is there."""
    page, screen = watched.page, SCREENS[name]
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_extra_http_headers({"Accept-Language": language})
    page.goto(url.partition("/?")[0] + screen.path)
    page.locator(".studio-main h1").wait_for()
    screen.first(page)
    page.locator(screen.ready).first.wait_for()
    settled(page)


def settled(page: Any) -> None:
    """Wait until nothing works or moves any more."""
    page.locator(".progress-card, .q-spinner").first.wait_for(state="detached")
    page.mouse.move(0, 0)
    page.wait_for_timeout(250)
    still(page)


def photograph(page: Any, tallest: int = TALLEST) -> Image.Image:
    """A picture of the whole page, cut below `tallest`."""
    still(page)
    height = page.evaluate("Math.max(document.querySelector('.studio-main').getBoundingClientRect().bottom, 600)")
    size = page.viewport_size
    page.set_viewport_size({"width": size["width"], "height": min(int(height), tallest)})
    page.wait_for_timeout(200)
    still(page)  # charts take the width that there is
    found = Image.open(io.BytesIO(page.screenshot()))
    page.set_viewport_size(size)
    return found


def write(picture: Image.Image, path: Path) -> None:
    """Flat colours: a third of the bytes."""
    picture.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Take all pictures, or look at some."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)))
    taken = [(name, "en", "light", WIDE, PICTURES / f"{name}.png") for name in SCREENS]
    taken += [(name, *look, PICTURES / f"{name}-{suffix}.png") for suffix, (name, *look) in FURTHER.items()]
    tallest = TALLEST
    if sys.argv[1:]:
        taken, tallest = [], 5000
        for name, *look in product(sys.argv[2:] or SCREENS, LANGUAGES, SCHEMES, WIDTHS):
            taken.append((name, *look, Path(sys.argv[1], f"{'-'.join(map(str, (name, *look)))}.png")))
    with studio() as url, browsing(chromium, url) as watched:
        watched.page.set_default_timeout(120_000)
        for name, language, scheme, width, path in taken:
            show(watched, url, name, language, scheme, width)
            write(photograph(watched.page, tallest), path)
            print(path)


if __name__ == "__main__":
    main()
