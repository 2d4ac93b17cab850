"""The report of marginal tables: what is promised of them, how they were made, and their counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from sfumato.core.printed import printed
from sfumato.core.wording import count, number
from sfumato.report.markup import Markup, join, name, table, tag
from sfumato.report.page import html, style_of

SHOWN = 100  # cells of a table


def marginals_report(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> str:
    """The page of HTML: all it says comes from the manifest and the tables, so it may be published with them."""
    called = f"{count(len(tables), 'private table')}: release report"
    privacy, (promise,) = manifest["privacy"], manifest["promises"]
    rho = f", rho {privacy['rho']}" if "rho" in privacy else ""
    cost = f"epsilon {privacy['epsilon']}, delta {privacy['delta']}{rho}"
    noise = manifest["noise"]
    how = (
        f"Each count had {noise['mechanism']} noise of scale {number(noise['scale'])}. "
        f"Then the tables were made to agree, by {manifest['consistency']}: "
        "no count is negative, and all totals are equal."
    )
    body = [
        tag("header", tag("h1", called), tag("p", promise["sentence"]), tag("p", f"By construction: {cost}.")),
        tag("main", tag("p", how), _parts(privacy), *(_counts(*one) for one in tables.items())),
        tag("footer", f"Made by Sfumato {manifest['sfumato']} from the manifest and the tables."),
    ]
    return html(called, style_of("page.css", "evidence.css"), body)


def _parts(privacy: Mapping[str, Any]) -> Markup:
    rows = [
        [part["what"], part["mechanism"], number(part["times"]), part.get("rho") or part.get("epsilon")]
        for part in privacy["accounting"]
    ]
    spent = "rho" if "rho" in privacy else "epsilon"
    return tag(
        "section",
        tag("h2", "What it cost"),
        table(["of", "noise", "numbers", spent], rows, "What each table cost", "counted"),
    )


def _counts(title: str, frame: pl.DataFrame) -> Markup:
    columns = frame.columns
    head = [*(name(column) for column in columns[:-1]), "count"]
    first = frame.head(SHOWN)
    texts = [printed(first.get_column(column)).fill_null("").to_list() for column in columns[:-1]]
    counts = [number(value) for value in first.get_column(columns[-1]).to_list()]
    left = frame.height - first.height
    more = tag("p", f"and {number(left)} more in its file") if left else None
    found = table(head, [list(row) for row in zip(*texts, counts, strict=True)], "Counts", "counted")
    return tag("section", tag("h2", name(title)), join([found, more]))
