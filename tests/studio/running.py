"""A studio that runs in a process of its own, and a browser that looks at it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

AXE = Path(__file__).parent / "axe" / "axe.min.js"
FLAGS = [
    f"--{flag}"
    for flag in (
        "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync",
    )
]  # fmt: skip


@contextmanager
def running(projects: Path, *flags: str) -> Iterator[str]:
    """The address of a studio, with its token."""
    command = [sys.executable, "-m", "sfumato", "studio", "--no-open", "--projects", str(projects), *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"https?://\S+", line)
        assert found, line
        try:
            yield found[0]
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()  # so that the test fails, and does not wait for ever
                raise


@dataclass
class Watched:
    """A page, and what it said and asked for that it should not."""

    page: Any
    faults: list[str] = field(default_factory=list)

    def accessible(self, rest: int = 150) -> list[str]:
        """Serious faults that axe-core finds, after so many milliseconds."""
        self.page.mouse.move(0, 0)
        self.page.wait_for_timeout(rest)
        still(self.page)  # half-way through a transition colours are others
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in serious]


@contextmanager
def browsing(chromium: str, url: str, **more: Any) -> Iterator[Watched]:
    """A page at an address; requests to other hosts, errors and messages on the console are noted as faults."""
    from playwright.sync_api import sync_playwright

    host = re.match(r"https?://[^/]+", url)[0]  # type: ignore[index]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        context = browser.new_context(
            **{"viewport": {"width": 1440, "height": 900}, "accept_downloads": True, **more}
        )  # which may open further tabs
        page = context.new_page()
        watched = Watched(page)
        page.on("console", lambda m: watched.faults.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: watched.faults.append(str(error)))
        page.on(
            "request",
            lambda r: watched.faults.append(r.url) if not r.url.startswith((host, "data:", "blob:")) else None,
        )
        page.goto(url)
        yield watched
        browser.close()


# Whether nothing moves that ends: charts have grown, and colours are those that they become. A spinner goes on.
STILL = """() => [...document.querySelectorAll('.nicegui-echart')].every(one => {
  const chart = getElement(+one.id.slice(1))?.chart;
  return chart && chart.getZr().animation.isFinished();
}) && document.getAnimations().every(one =>
  one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)"""


def still(page: Any) -> None:
    """Wait until nothing moves."""
    page.wait_for_function(STILL)


def place(locator: Any) -> Any:
    """Where something is, once it stays there: what is drawn later may move it."""
    last, now = None, locator.bounding_box()
    while now is None or now != last:
        locator.page.wait_for_timeout(150)
        last, now = now, locator.bounding_box()
    return now


def choose(page: Any, label: str, option: str) -> None:
    """Take an option of a select, in a page that is in front: one behind another draws no list."""
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def counted(page: Any, found: Any, number: int) -> None:
    """Wait until there are so many of something, a selector or a locator."""
    from playwright.sync_api import expect

    there = page.locator(found) if isinstance(found, str) else found
    expect(there).to_have_count(number, timeout=60_000)


def until(page: Any, holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds that no page tells."""
    for _ in range(int(seconds * 10)):
        if holds():
            return
        page.wait_for_timeout(100)
    assert holds()
