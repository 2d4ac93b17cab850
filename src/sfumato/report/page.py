"""The page around the sections: head, style, footer; one self-contained file without script."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

from sfumato.measures.reach import Reach
from sfumato.measures.standards.finding import Profile
from sfumato.report.look import Manifest, look
from sfumato.report.markup import Markup, join, tag
from sfumato.report.sections.headline import title
from sfumato.report.sections.standards import HeldTo
from sfumato.report.sections.summary import head

INTERNAL = "Internal: do not publish with the release"


def page(
    manifest: Manifest,
    reach: Reach,
    sections: Iterable[Markup | None],
    made_from: str,
    internal: bool = False,
    standards: Sequence[Profile] = (),
    standard: HeldTo | None = None,
) -> str:
    """The whole page."""
    style = Markup("\n".join([*map(_style, ("page.css", "evidence.css")), _running(manifest, internal)]))
    called = f"{title(reach, standard)}: {'internal ' if internal else ''}release report"
    about = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{INTERNAL}. {called}" if internal else called),
        tag("style", style),
    ]
    made = tag("footer", f"Made by Sfumato {look(manifest, 'sfumato') or ''}".rstrip(), f" from {made_from}.")
    warning = None
    if internal:
        why = "It compares the release with the original, and such a comparison is a disclosure itself."
        warning = tag("aside", tag("strong", f"{INTERNAL}."), " ", why, class_="internal")
    body = [warning, head(manifest, reach, standards, standard), tag("main", join(sections, "\n")), made]
    whole = tag("html", tag("head", join(about, "\n")), tag("body", join(body, "\n")), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _style(name: str) -> str:
    return files("sfumato.report").joinpath(name).read_text(encoding="utf-8")


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
