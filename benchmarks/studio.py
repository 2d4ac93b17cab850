"""The studio's budgets, with its server in processes of its own and a browser that looks at it, and ten users at once.

Seconds are by the clock of who waits: from the click to what it shows. Beside them stand the CPU seconds that the
server and its workers took for it, and the load of the machine.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.figures import Figure, figure
from benchmarks.load import cpu_seconds
from benchmarks.studio_user import StudioUser
from benchmarks.tables import nine, resample, shared
from sfumato.service.secret import hash_password
from sfumato.studio.project import Project, create

GROUP = "studio"
RUNS = 5
ROWS = 100_000
USERS = 10
MEGABYTE = 10**6
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
READY = 6.0  # seconds after which all workers are ready
DRAWN = """() => {
  const one = document.querySelector(".lattice-chart");
  const chart = one && getElement(+one.id.slice(1))?.chart;
  return Boolean(chart && chart.getOption()?.series?.length);
}"""
CLICK = """(number) => new Promise((done) => {
  const button = document.querySelectorAll(".node-list button")[number], began = performance.now();
  const look = () => {
    const title = document.querySelector(".lattice-split .card-title");
    if (title && title.innerText === button.innerText) done((performance.now() - began) / 1000);
    else requestAnimationFrame(look);
  };
  button.click();
  look();
})"""
FRAMES = """() => {
  window.frames_ = [];
  const frame = (at) => { window.frames_.push(at); if (window.frames_.length < 10000) requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""


@dataclass
class Running:
    """A studio that runs: its address, its process, its projects, and the page of a browser."""

    url: str
    process: int
    projects: Path
    page: Any = None

    @property
    def home(self) -> str:
        """The address without the token."""
        return self.url.split("/?")[0]

    def processes(self) -> list[int]:
        """The server and all below it."""
        found = [self.process]
        for number in found:
            for task in Path(f"/proc/{number}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        return found

    def cpu(self) -> float:
        """CPU seconds of all of them so far."""
        return sum(cpu_seconds(number) for number in self.processes())

    def memory(self) -> float:
        """GiB that they hold; what they share counts once."""
        kib = 0
        for number in self.processes():
            kib += int(re.search(r"Pss:\s+(\d+)", Path(f"/proc/{number}/smaps_rollup").read_text())[1])  # type: ignore[index]
        return kib / 2**20

    def timed(self, act: Callable[[], object]) -> tuple[float, float]:
        """Seconds until something is done, and CPU seconds of the studio."""
        before, began = self.cpu(), time.perf_counter()
        act()
        return time.perf_counter() - began, self.cpu() - before


@contextmanager
def running(folder: Path, projects: Path, *flags: str) -> Iterator[Running]:
    """A studio over a folder of projects, with compiled bytecode, as an installed one has."""
    command = [sys.executable, "-m", "sfumato", "studio", "--no-open", "--projects", str(projects), *flags]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables |= {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "SFUMATO_SHARED": str(shared())}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"https?://\S+", process.stdout.readline())
            assert found
            yield Running(found[0], process.pid, projects)
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def browsing() -> Iterator[Any]:
    """A page of a browser."""
    from playwright.sync_api import sync_playwright

    from sfumato.report.page import browser

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=FLAGS)
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(120_000)
        yield page
        chromium.close()


def run() -> list[Figure]:
    """All of them."""
    with tempfile.TemporaryDirectory(prefix="sfumato-studio-") as name:
        folder = Path(name)
        table, files = nine()
        _project(folder / "one", "Adult", table, files, "optimal")
        _project(folder / "one", "Large", resample(table, ROWS), dict(list(files.items())[:5]), "mondrian")
        _project(folder / "large", "Large", resample(table, ROWS), dict(list(files.items())[:5]), "mondrian")
        with browsing() as page:
            found = [_start(folder, page)]
            with running(folder, folder / "one") as studio:
                time.sleep(READY)
                page.goto(studio.url)
                studio.page = page
                found += [*_examples(studio), *_large(studio), *_lattice(studio)]
            with running(folder, folder / "large") as studio:
                time.sleep(READY)
                page.goto(studio.url)
                studio.page = page
                found += _memory(studio)
        return [*found, *_users(folder, table, files)]


def _project(root: Path, name: str, table: pl.DataFrame, files: dict[str, str], search: str) -> Project:
    """A project over a table, with hierarchies of some columns, which are quasi-identifiers."""
    project = create(root, name)
    (project.folder / "private" / "input").mkdir()
    table.write_csv(project.folder / "private" / "input" / "table.csv")
    for column, file in files.items():
        shutil.copyfile(file, project.folder / "hierarchies" / f"{column}.csv")
    roles = {"quasi": list(files), "insensitive": [column for column in table.columns if column not in files]}
    project.change(
        "made",
        {
            "input": {"path": "private/input/table.csv"},
            "roles": {role: names for role, names in roles.items() if names},
            "hierarchies": {column: f"hierarchies/{column}.csv" for column in files},
            "require": [{"model": "k-anonymity", "k": 5}],
            "search": {"method": search, "suppression": 0.04},
        },
    )
    return project


def _figure(name: str, runs: list[tuple[float, float]], target: float | None) -> Figure:
    """A figure of seconds, with the CPU seconds of the studio."""
    spent = sorted(cpu for _, cpu in runs)[len(runs) // 2]
    details = {"studio_cpu": round(spent, 2), "load": round(os.getloadavg()[0], 1)}
    return figure(GROUP, name, [seconds for seconds, _ in runs], target=target, **details)


def _start(folder: Path, page: Any) -> Figure:
    runs = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        with running(folder, folder / "empty") as studio:
            page.goto(studio.url)
            page.get_by_role("button", name="Open: Hospital register").wait_for()
            runs.append((time.perf_counter() - began, studio.cpu()))
    return _figure("from start to first page", runs[1:], 3.0)  # the first one compiles its bytecode


def _examples(studio: Running) -> list[Figure]:
    page, found = studio.page, []
    for name, rows in (("Hospital register", "20,000 rows"), ("Adult", "32,561 rows")):

        def load(name: str = name, rows: str = rows) -> None:
            page.get_by_role("button", name=f"Open: {name}").click()
            page.get_by_text(rows).wait_for()
            page.locator(".rows-grid td").first.wait_for()

        runs = []
        for _ in range(RUNS):
            page.goto(studio.home)
            page.get_by_role("button", name=f"Open: {name}").wait_for()
            page.wait_for_timeout(1000)
            runs.append(studio.timed(load))
        found.append(_figure(f"example loaded: {name}", runs, 1.0))
    return found


def _large(studio: Running) -> list[Figure]:
    """100,000 rows: what is seen of them, and changes of a role and of a promise."""
    page = studio.page

    def preview() -> None:
        page.goto(f"{studio.home}/project/Large/data")
        page.get_by_text("100,000 rows, 9 columns").wait_for()
        page.locator(".rows-grid td").first.wait_for()

    file = studio.projects / "Large" / "private" / "input" / "table.csv"
    previews = []
    for _ in range(RUNS):
        file.touch()  # it is read anew
        page.goto("about:blank")
        page.wait_for_timeout(1000)
        previews.append(studio.timed(preview))
    column = nine()[0].columns[-1]
    roles = []
    for role in ("sensitive", "insensitive") * (RUNS // 2 + 1):
        page.goto(f"{studio.home}/project/Large/roles")
        page.get_by_label(f"Role of {column}").click()
        page.wait_for_timeout(1500)
        option = page.get_by_role("option", name=role, exact=True)
        option.wait_for()

        def change(option: Any = option) -> None:
            option.click()
            page.get_by_role("navigation").get_by_role("link", name="Promises").click()
            page.get_by_text("promised: at least 5").wait_for()

        roles.append(studio.timed(change))
    page.goto(f"{studio.home}/project/Large/promises")
    page.get_by_text("promised: at least 5").wait_for()
    promises = []
    for k in range(6, 6 + RUNS):

        def promise(k: int = k) -> None:
            page.get_by_label("k", exact=True).fill(str(k))
            page.get_by_text(f"promised: at least {k}.").wait_for()

        page.wait_for_timeout(500)
        promises.append(studio.timed(promise))
    return [
        _figure("100,000 rows: preview", previews, 1.0),
        _figure("100,000 rows: a role changed, to new figures of the promises", roles, 1.0),
        _figure("100,000 rows: a promise changed, to new figures", promises, 1.0),
    ]


def _lattice(studio: Running) -> list[Figure]:
    """The lattice of Adult, nine attributes: 12,960 nodes."""
    page, drawings = studio.page, []
    project = Project(studio.projects / "Adult")
    for k in range(5, 5 + RUNS):  # another lattice each time
        project.change("promise", project.policy | {"require": [{"model": "k-anonymity", "k": k}]})
        page.goto(f"{studio.home}/project/Adult/search")
        tab = page.get_by_role("tab", name="Lattice")
        page.get_by_role("button", name="Search", exact=True).wait_for()
        page.wait_for_timeout(2000)

        def draw(tab: Any = tab) -> None:
            tab.click()
            page.wait_for_function(DRAWN)

        drawings.append(studio.timed(draw))
    page.locator(".node-list button").first.wait_for()
    page.wait_for_timeout(1000)
    clicks = []
    for number in range(RUNS):  # by the clock of the page: that of the driver adds a tenth of a second of its own
        before = studio.cpu()
        clicks.append((page.evaluate(CLICK, number), studio.cpu() - before))
    box = page.locator(".lattice-chart").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.evaluate(FRAMES)
    for i in range(90):
        page.mouse.wheel(0, -60 if i < 45 else 60)
        page.wait_for_timeout(16)
    frames = page.evaluate("() => window.frames_")
    each = (frames[-1] - frames[0]) / 1000 / (len(frames) - 1)
    load = round(os.getloadavg()[0], 1)
    return [
        _figure("lattice of 12,960 nodes, first drawn", drawings, 1.0),
        _figure("lattice of 12,960 nodes, click on a node", clicks, 0.3),
        figure(GROUP, "lattice of 12,960 nodes, a frame while zooming", [each], target=round(1 / 30, 4), load=load),
    ]


def _memory(studio: Running) -> list[Figure]:
    """One project of 100,000 rows, looked at on its pages, then searched."""
    page = studio.page
    for view, seen in (("data", "100,000 rows"), ("roles", "Role"), ("promises", "promised: at least 5")):
        page.goto(f"{studio.home}/project/Large/{view}")
        page.get_by_text(seen).first.wait_for()
    page.wait_for_timeout(2000)
    before = studio.memory()
    page.goto(f"{studio.home}/project/Large/search")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_text("Smallest group").wait_for()
    page.wait_for_timeout(2000)
    most = round(400 * MEGABYTE / 2**30, 3)
    said = "memory of the server and its workers, one project of 100,000 rows"
    return [
        figure(GROUP, said, [before], "GiB", target=most),
        figure(GROUP, f"{said}, after a search", [studio.memory()], "GiB", target=most),
    ]


def _users(folder: Path, table: pl.DataFrame, files: dict[str, str]) -> list[Figure]:
    """Ten users at once, each with a project of Adult: the answer that came last."""
    names = [f"user{number}" for number in range(USERS)]
    hashed = hash_password("sesame")
    (folder / "users.toml").write_text("".join(f'{name} = "{hashed}"\n' for name in names))
    for name in names:
        _project(folder / "users" / name, "Adult", table, files, "optimal")
    with running(folder, folder / "users", "--users", str(folder / "users.toml")) as studio:
        time.sleep(READY)
        return asyncio.run(_at_once(studio, names))


async def _at_once(studio: Running, names: list[str]) -> list[Figure]:
    users = [StudioUser(studio.home) for _ in names]
    await asyncio.gather(*(user.sign_in(name, "sesame") for user, name in zip(users, names, strict=True)))

    async def look(user: StudioUser) -> None:
        await user.open("/project/Adult/data")
        await user.sees("30,162 rows, 9 columns")
        await user.until(lambda: user.find(lambda one: "rows" in one.get("props", {}) and "columns" in one["props"]))

    async def promises(user: StudioUser) -> None:
        await user.open("/project/Adult/promises")
        await user.sees("promised: at least")

    async def promise(user: StudioUser, k: int) -> None:
        await user.enter("k", k)
        await user.sees(rf"promised: at least {k}\.")

    async def worst(act: Callable[[StudioUser], Awaitable[None]]) -> tuple[float, float]:
        async def one(user: StudioUser) -> float:
            began = time.perf_counter()
            await act(user)
            return time.perf_counter() - began

        before = studio.cpu()
        return max(await asyncio.gather(*map(one, users))), studio.cpu() - before

    pages, cards, changes = [], [], []
    for turn in range(RUNS):
        pages.append(await worst(look))
        cards.append(await worst(promises))
        changes.append(await worst(lambda user, k=6 + turn: promise(user, k)))  # type: ignore[misc]
    for user in users:
        await user.__aexit__(None, None, None)
    return [
        _figure("ten users at once: the page of data, the last one", pages, 2.0),
        _figure("ten users at once: the page of promises, the last one", cards, 2.0),
        _figure("ten users at once: a promise changed, the last one", changes, 2.0),
    ]
