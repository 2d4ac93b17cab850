"""The picture of a partition: two columns as a plane, rows as points, a class as the rectangle around its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.printed import printed
from sfumato.errors import PolicyError
from sfumato.studio.tasks.trial import released

POINTS = 1_500  # rows that are drawn
CLASSES = 250  # classes that are drawn
NAMED = 300  # categories whose names are written
PAST = 0.35  # how far a point stands beside its category at most


def partition(asked: Mapping[str, Any], x: str, y: str, progress: Any) -> dict[str, Any]:
    """Some rows as points, before; the classes that they are in, and the rows that were left out, after."""
    release = released(asked, progress)
    if not release.in_memory:
        raise PolicyError("a picture needs the table in memory", hint="draw it of a sample, as a project of its own")
    original, table = release.original, release.table
    axes = {"x": _axis(release, original, x), "y": _axis(release, original, y)}
    places = pl.DataFrame({axis: one.pop("place") for axis, one in axes.items()})
    keys = [printed(table.get_column(name)).alias(f"q{i}") for i, name in enumerate(release.policy.columns)]
    rows = np.asarray(release.rows)
    inside = places[rows].with_columns(keys)
    some = np.unique(np.linspace(0, len(rows) - 1, min(POINTS, len(rows))).astype(np.int64))
    names = [key.name for key in keys]
    classes = inside.group_by(names, maintain_order=True).agg(
        pl.len().alias("rows"),
        *(pl.col(a).min().alias(f"{a}0") for a in "xy"),
        *(pl.col(a).max().alias(f"{a}1") for a in "xy"),
    )
    drawn = classes[np.unique(np.linspace(0, classes.height - 1, min(CLASSES, classes.height)).astype(np.int64))]
    gone = np.setdiff1d(np.arange(original.height), rows)
    left_out = gone[np.linspace(0, len(gone) - 1, min(POINTS // 5, len(gone))).astype(np.int64)] if len(gone) else gone
    return {
        **axes,
        "points": _points(places[rows[some]], axes),
        "left_out": _points(places[left_out], axes),
        "classes": _rectangles(drawn, axes),
        "rows": original.height,
        "class_count": classes.height,
    }


def _axis(release: Any, original: pl.DataFrame, name: str) -> dict[str, Any]:
    """The place of each row along a column: its number, its day, or the place of its value among the values."""
    column = original.get_column(name)
    if column.dtype == pl.String:  # as a file that is read verbatim has numbers and dates; codes such as 007 are none
        numbers = column.cast(pl.Float64, strict=False)
        days = column.str.to_date("%Y-%m-%d", strict=False)
        if days.null_count() == column.null_count():
            column = days
        elif numbers.null_count() == column.null_count() and not column.str.contains("^0[0-9]").any():
            column = numbers
    if column.dtype.is_numeric():
        return {"name": name, "type": "value", "categories": [], "place": column.cast(pl.Float64)}
    if column.dtype in (pl.Date, pl.Datetime):
        return {"name": name, "type": "time", "categories": [], "place": column.dt.epoch("ms").cast(pl.Float64)}
    texts = release.microdata.attribute(name).categories.text
    code = {text or "": i for i, text in enumerate(texts)}
    place = printed(column).fill_null("").replace_strict(code, default=None, return_dtype=pl.Float64)
    shown = [text or "" for text in texts] if len(texts) <= NAMED else [""] * len(texts)
    return {"name": name, "type": "category", "categories": shown, "place": place}


def _points(places: pl.DataFrame, axes: Mapping[str, Any]) -> list[list[float | None]]:
    """Points, those of a category beside it by turns, so that they do not hide each other."""
    turn = (np.arange(places.height) * 0.618034) % 1 * 2 - 1
    beside = {"x": turn, "y": (np.arange(places.height) * 0.7548777) % 1 * 2 - 1}
    moved = [
        pl.Series(places.get_column(a) + (beside[a] * PAST if axes[a]["type"] == "category" else 0)).round(4)
        for a in "xy"
    ]
    return [[a, b] for a, b in zip(*(one.to_list() for one in moved), strict=True)]


def _rectangles(drawn: pl.DataFrame, axes: Mapping[str, Any]) -> list[list[float | None]]:
    """Per class: x from, y from, x to, y to, rows."""
    half = {a: 0.45 if axes[a]["type"] == "category" else 0.0 for a in "xy"}
    ends = [pl.col(f"{a}{end}") + (half[a] if end else -half[a]) for end in (0, 1) for a in "xy"]
    return [list(row) for row in drawn.select(*ends, "rows").rows()]
