"""Makes the pictures of the docs again: `python -m tools.pictures`, from the root of a checkout.

The pages make them: their own blocks run in a folder of their own, as the tests run them, and what they draw is copied
into `docs/images`; the picture of the README is the report of `sfumato demo`. Photographs of a report need Chromium and
are left as they are where there is none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --hide-scrollbars"
)

DEMO = "demo"  # no page: the release of `sfumato demo`
# The page, what its blocks make, and the picture.
DRAWINGS = (
    ("tutorial.md", "map/map.svg", "tutorial-map.svg"),
    ("gallery.md", "lattice.svg", "lattice.svg"),
    ("gallery.md", "map/map.svg", "map.svg"),
    ("gallery.md", "choice/choice.svg", "choice.svg"),
)
# The page, the report, its section (the head where it is empty), the height in pixels, and the picture.
PHOTOGRAPHS = (
    (DEMO, "out/demo/report.html", "", 810, "report.png"),
    ("tutorial.md", "release-5/report.html", "", 850, "tutorial-report.png"),
    ("tutorial.md", "release-5/report.html", "columns", 1270, "tutorial-columns.png"),
    ("synthetic/walkthrough.md", "release/report.html", "", 700, "synthetic-report.png"),
    ("synthetic/walkthrough.md", "ours.html", "disclosure", 1830, "synthetic-disclosure.png"),
    ("gallery.md", "out/report.html", "classes", 620, "report-classes.png"),
    ("gallery.md", "out/report.html", "risk", 690, "report-risk.png"),
    ("gallery.md", "out/report.html", "kinds", 790, "report-kinds.png"),
    ("gallery.md", "out/report.html", "heat", 760, "report-heat.png"),
    ("gallery.md", "out/report.html", "loss", 560, "report-loss.png"),
)


def draw(page: str, folder: Path) -> None:
    """Run the blocks of a page of the docs in a folder."""
    if page == DEMO:
        command = [Path(sys.executable).with_name("sfumato"), "demo", "-o", "out/demo"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return
    from tests.conftest import OWNERS_KEY
    from tests.docs.test_docs import blocks, run

    config = folder.with_name(f"{folder.name}.config")  # what is drawn by chance is as on the page
    (config / "sfumato").mkdir(parents=True)
    (config / "sfumato" / "key").write_text(OWNERS_KEY, "ascii")
    os.environ["XDG_CONFIG_HOME"] = str(config)
    here = Path.cwd()
    os.environ["COLUMNS"] = "80"
    os.chdir(folder)
    try:
        names: dict[str, object] = {"__name__": "__main__"}
        for block in blocks((ROOT / "docs" / page).read_text("utf-8")):
            run(block, page, names)
    finally:
        os.chdir(here)


def section(report: str, name: str) -> str:
    """A report with one of its sections alone."""
    if not name:
        return report
    head, body = report.split("<body", 1)
    [found] = re.findall(rf'<section aria-labelledby="{name}">.*?</section>', body, re.DOTALL)
    opening = re.match(r"[^>]*>\s*(?:<(?:main|article|div)[^>]*>\s*)*", body)
    assert opening is not None
    return f"{head}<body{opening[0]}{found}</body></html>"


def photograph(report: Path, name: str, height: int, picture: Path) -> None:
    """A picture of a report, or of a section of it, 1280 pixels wide."""
    from PIL import Image

    chromium = next(filter(None, map(shutil.which, CHROMIUM)))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(section(report.read_text("utf-8"), name), "utf-8")
        size = f"--window-size=1280,{height}"
        command = [chromium, *FLAGS.split(), f"--screenshot={picture}", size, page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
    Image.open(picture).quantize(64).save(picture, optimize=True)  # flat colours: a third of the bytes


def main() -> None:
    """Draw all pages and copy their pictures."""
    with tempfile.TemporaryDirectory() as folder:
        for page in sorted({page for page, *_ in DRAWINGS + PHOTOGRAPHS}):
            Path(folder, page).mkdir(parents=True)
            draw(page, Path(folder, page))
        for page, made, name in DRAWINGS:
            shutil.copy(Path(folder, page, made), IMAGES / name)
        if not any(map(shutil.which, CHROMIUM)):
            sys.exit("Chromium is not installed: photographs of reports stay as they are")
        for page, made, part, height, name in PHOTOGRAPHS:
            photograph(Path(folder, page, made), part, height, IMAGES / name)


if __name__ == "__main__":
    main()
