"""The page around the sections, one self-contained file without script; and the same as PDF, by Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

from sfumato.errors import OutputError
from sfumato.measures.reach import Reach
from sfumato.measures.standards.finding import Profile
from sfumato.report.manifest import Manifest, look
from sfumato.report.markup import Markup, join, tag
from sfumato.report.sections.headline import head, title
from sfumato.report.sections.standards import HeldTo

INTERNAL = "Internal: do not publish with the release"


def report_page(
    manifest: Manifest,
    reach: Reach,
    sections: Iterable[Markup | None],
    made_from: str,
    internal: bool = False,
    standards: Sequence[Profile] = (),
    standard: HeldTo | None = None,
) -> str:
    """The whole page."""
    style = style_of("page.css", "evidence.css") + _running(manifest, internal)
    called = f"{title(reach, standard, manifest)}: {'internal ' if internal else ''}release report"
    made = tag("footer", f"Made by Sfumato {look(manifest, 'sfumato') or ''}".rstrip(), f" from {made_from}.")
    warning = None
    if internal:
        why = "It compares the release with the original, and such a comparison is a disclosure itself."
        warning = tag("aside", tag("strong", f"{INTERNAL}."), " ", why, class_="internal")
    body = [warning, head(manifest, reach, standards, standard), tag("main", join(sections, "\n")), made]
    return html(f"{INTERNAL}. {called}" if internal else called, style, body)


def html(title: str, style: str, body: Iterable[Markup | None]) -> str:
    """A page of HTML, light and dark, that takes nothing from another host."""
    about = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    ]
    whole = tag("html", tag("head", join(about, "\n")), tag("body", join(body, "\n")), lang="en")
    return f"<!doctype html>\n{whole}\n"


def style_of(*names: str) -> str:
    """Some of the style sheets, one after the other."""
    return "".join(files("sfumato.report").joinpath(name).read_text(encoding="utf-8") + "\n" for name in names)


def _running(manifest: Manifest, internal: bool) -> str:
    """What stands on every printed page: its number, the file it is about, and the warning."""
    digest = str(look(manifest, "data", "sha256") or "")
    said = f"SHA-256 {digest[:16]}…" if re.fullmatch("[0-9a-f]{64}", digest) else ""
    small = "font: 7.5pt sans-serif; color: #6a635b;"
    parts = [f'@bottom-left {{ content: "{said}"; {small} }}']
    parts.append(f'@bottom-right {{ content: counter(page) " of " counter(pages); {small} }}')
    if internal:
        parts.append(f'@top-center {{ content: "{INTERNAL}"; font: 8pt sans-serif; color: #9c3324; }}')
    return f"@page {{ {' '.join(parts)} }}"


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
QUIET = (
    "--headless",
    "--no-sandbox",  # a page of our own, without scripts, read from a folder of our own
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-pdf-header-footer",
)
SECONDS = 120


def browser() -> str:
    """The browser that prints, or an error that says what to install: worth a call before the work."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise OutputError(
            "a PDF needs Chromium, which is not on this machine",
            allowed="chromium, google-chrome or microsoft-edge on the PATH",
            hint="install chromium, or leave out --pdf and print report.html in any browser",
        )
    return found


def pdf_of(page: str) -> bytes:
    """A page of HTML as PDF; what lies on disk meanwhile is in a folder that only the owner can open."""
    program = browser()
    with tempfile.TemporaryDirectory(prefix="sfumato-") as name:
        folder = Path(name)
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_text(page, encoding="utf-8")
        places = [f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={target}", source.as_uri()]
        try:
            subprocess.run([program, *QUIET, *places], capture_output=True, timeout=SECONDS, check=True)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise OutputError("Chromium could not print the report", got=type(error).__name__) from None
