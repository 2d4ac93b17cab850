"""The report of a stream: what is promised of its rows, how long they wait, what was suppressed, and what labels lose.

All of it comes from the manifest and the published files: nothing of a suppressed row enters it but their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.protocols import BY_CONSTRUCTION, PROVEN, STATED
from sfumato.core.wording import count, number, percent
from sfumato.criteria import CRITERIA
from sfumato.criteria.model import Promise
from sfumato.engines.files.read import read
from sfumato.errors import InputError
from sfumato.losses.released import released_column
from sfumato.report.manifest import spoken, titled
from sfumato.report.markup import Markup, facts, name, section, table, tag, text
from sfumato.report.page import html, style_of
from sfumato.report.release_set import kept, method_section, promise_section, rows_section
from sfumato.report.sections.about import lines
from sfumato.report.translation import translated_page

KNOWN = {
    PROVEN: "Proven from the published files alone; sfumato verify does it again.",
    STATED: "Stated by the owner: people were counted as each batch left, and the published files do not show them.",
    BY_CONSTRUCTION: "Holds by construction: it follows from how rows leave, and no file shows it.",
}
LEFT_OPEN = (
    "When each row left tells about when it came. Somebody who came more than once is in several classes, which "
    "together tell more than each."
)
ROWS = "Rows are counted, and not people: somebody with several rows counts as several."
Z_LEFT_OPEN = (
    "Values are passed on one by one: rows that pass are no classes, and their other columns stand as they are."
)


def stream_report(
    manifest: Mapping[str, Any],
    promises: Sequence[Promise],
    first: pl.DataFrame | None,
    labels: Mapping[str, tuple[pl.DataFrame, int]] | None,
) -> str:
    """The page of HTML, in the language that the manifest asks for.

    Parameters
    ----------
    promises: what holds of the files. first: the first of them. labels: what `labels_of` gives, once the stream is
        finished.
    """
    told = [asdict(promise) for promise in (*promises, _delay(manifest))]
    files, rows = manifest["files"], sum(one["rows"] for one in manifest["files"])
    called = f"A stream of {count(rows, 'row')}"
    opened = [Z_LEFT_OPEN if manifest["k"] is None else LEFT_OPEN]
    opened += [ROWS] if manifest["counts"] == "rows" else []
    role = {one: which for which in ("quasi", "sensitive", "insensitive") for one in manifest[which]}
    body = [
        tag(
            "header",
            tag("h1", kept(told)),
            tag("p", f"{called} in {count(len(files), 'file')}, released while they came. ", _state(manifest)),
            *(tag("p", tag("strong", "Not covered: "), one) for one in opened),
        ),
        tag(
            "main",
            _balance(manifest, rows),
            *(promise_section(_title(one), one, KNOWN) for one in told),
            section("about", "About this release", facts(lines(manifest), "record")),
            method_section(_as_set(manifest)),
            None if labels is None else _losses(labels),
            None
            if first is None
            else rows_section(
                {
                    "name": files[0]["file"],
                    "columns": [{"name": column, "role": role.get(column, "insensitive")} for column in first.columns],
                },
                first,
            ),
        ),
        tag("footer", f"Made by Sfumato {manifest['sfumato']} from the manifest and the files."),
    ]
    return translated_page(
        html(f"{called}: release report", style_of("page.css", "evidence.css"), body), spoken(manifest)
    )


def first_rows(folder: Path, manifest: Mapping[str, Any]) -> pl.DataFrame | None:
    """The first file as it prints; None where there is none, or it is elsewhere by now."""
    place = folder / manifest["files"][0]["file"] if manifest["files"] else None
    try:
        return None if place is None or not place.is_file() else read(place, verbatim=True)
    except InputError:  # verify says what is wrong with it
        return None


def labels_of(folder: Path, manifest: Mapping[str, Any]) -> dict[str, tuple[pl.DataFrame, int]]:
    """For each quasi-identifying column its labels, each with how many rows of all files have it, and all rows."""
    names, found = list(manifest["quasi"]), dict[str, pl.DataFrame]()
    for one in manifest["files"]:
        rows = read(folder / one["file"], verbatim=True)
        for column in names:
            here = rows.select(pl.col(column).cast(pl.String).alias("label")).group_by("label").agg(rows=pl.len())
            both = pl.concat([found[column], here]) if column in found else here
            found[column] = both.group_by("label").agg(pl.col("rows").sum())
    return {column: (one.sort("label"), int(one.get_column("rows").sum())) for column, one in found.items()}


def _delay(manifest: Mapping[str, Any]) -> Promise:
    delay = manifest["delay"]
    sentence = f"No row waits longer than until {count(delay, 'row')} have come, itself among them."
    if manifest["k"] is None:
        sentence = "No row waits: its value is passed on with the batch in which it came, or dropped."
    return Promise("delay", {}, (), True, None, delay, sentence, how=BY_CONSTRUCTION)


def _title(promise: Mapping[str, Any]) -> str:
    title = titled(CRITERIA, promise["model"])
    return f"{title} of people" if promise["parameters"].get("counts") == "people" else title


def _state(manifest: Mapping[str, Any]) -> str:
    return "It is finished." if manifest["finished"] else "It goes on: this is told of the files that there are by now."


def _balance(manifest: Mapping[str, Any], rows: int) -> Markup:
    """What left, and what did not: told at the end alone, since before it would tell when."""
    figures: list[tuple[object, object]] = [("Files", number(len(manifest["files"]))), ("Rows released", number(rows))]
    note = "How many rows were suppressed is told when the stream is finished: before, it would tell when."
    if manifest["finished"]:
        gone = manifest["suppressed"]
        figures.append(("Rows suppressed", number(gone)))
        figures.append(("Share suppressed", percent(gone / (rows + gone)) if rows + gone else None))
        note = "Rows that could not be placed in time are suppressed. Nothing but their number is told of them."
    return section("left", "What left", facts(figures, "figures"), tag("p", note, class_="quiet"))


def _as_set(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """How the stream was released, as tables that are published together say it."""
    given = (f"{key}={value}" for key, value in manifest["search"].items() if key != "name" and value is not None)
    method = {
        "search": tag("code", " ".join([manifest["search"]["name"], *given])),
        "delay": manifest["delay"],
        "counts": text(manifest["counts"]),
        "ends of ranges": text(manifest["ends"]),
    }
    return {"policy": manifest, "method": method, "input": {"rows": None}}


def _losses(labels: Mapping[str, tuple[pl.DataFrame, int]]) -> Markup | None:
    """How coarse labels are, by the labels themselves."""
    rows = []
    for column, (counted, every) in labels.items():
        found = released_column(counted["label"], counted["rows"], None, None, False)
        share, weight = found.range_share(), found.rows / every
        wide = None if share is None else float(np.dot(share, weight))
        blank = float(np.dot(found.star, weight))
        rows.append([name(column), number(len(found.label)), "" if wide is None else percent(wide), percent(blank)])
    if not rows:
        return None
    head = ["column", "labels", "width of ranges", "nothing said"]
    note = (
        "The width of a range is its share of all that the ranges of the column cover, on average over rows. "
        "A row whose label is * says nothing."
    )
    return section("loss", "What labels lose", table(head, rows, "Loss by column", "figured"), tag("p", note))
