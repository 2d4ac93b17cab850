"""The report of a release: one self-contained HTML file, made from the manifest and from nothing else."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from sfumato.report.classes import risks, sizes
from sfumato.report.columns import losses, roles
from sfumato.report.markup import Markup, join, tag
from sfumato.report.method import method
from sfumato.report.promises import promised
from sfumato.report.record import reproduction, suppression
from sfumato.report.summary import head, verdict

__all__ = ["report"]

_SECTIONS = (promised, sizes, risks, losses, suppression, roles, method, reproduction)


def report(manifest: dict[str, Any]) -> str:
    """The report of a release as a page of HTML, without script and without anything from another host.

    All it says comes from the manifest, so that whatever may be published there may be published here; the same
    manifest gives the same bytes. Parts that are null or missing are left out.

    Parameters
    ----------
    manifest: the content of `manifest.json`.

    Example
    -------
    >>> report({"promises": []}).startswith("<!doctype html>")
    True
    """
    style = Markup(files("sfumato.report").joinpath("page.css").read_text(encoding="utf-8"))
    title = f"{verdict(manifest)}: release report"
    about = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", style),
    ]
    made = tag(
        "footer", f"Made by Sfumato {manifest.get('sfumato') or ''}".rstrip(), " from manifest.json and nothing else."
    )
    body = [head(manifest), tag("main", join([part(manifest) for part in _SECTIONS], "\n")), made]
    page = tag("html", tag("head", join(about, "\n")), tag("body", join(body, "\n")), lang="en")
    return f"<!doctype html>\n{page}\n"
