"""A page as PDF, printed by Chromium where the machine has it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from sfumato.errors import OutputError

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
