"""Evidence: what the released table itself shows, for the public report; nothing else is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.printed import printed
from sfumato.measures.reach import Reach
from sfumato.report.charts.axis import LARGEST, ChartAxis, axis_of, axis_of_points, ends
from sfumato.report.look import Manifest, roles_of

COLUMNS, LABELS = 40, 5_000  # columns drawn, and labels of a column up to which it may be an axis of the heat map
MANY = 20_000  # rows looked at to see whether a column has a value per row
SIDE = (12, 8)  # rows and columns of the heat map at most


@dataclass(frozen=True, eq=False)
class ColumnShape:
    """The distribution of one column: its groups, the rows of the release in each, and those of the original."""

    name: str
    role: str
    labels: int
    axis: ChartAxis | None
    released: np.ndarray
    original: np.ndarray | None = None  # comparisons only

    @property
    def groups(self) -> tuple[str, ...]:
        return () if self.axis is None else self.axis.groups


@dataclass(frozen=True, eq=False)
class Heat:
    """A contingency table of two columns, as rows per cell."""

    down: str
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    released: np.ndarray
    original: np.ndarray | None = None  # comparisons only


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a table shows: distributions, a contingency table, attacks, and what was left out."""

    shapes: tuple[ColumnShape, ...]
    heat: Heat | None
    attacks: tuple[Mapping[str, Any], ...]
    left_out: tuple[str, ...] = ()


def evidence(manifest: Manifest, released: pl.DataFrame, reach: Reach) -> Evidence:
    """The evidence of a released table, whose columns the manifest names; the attacks are those of its reach.

    The same for the table in memory and for the one read back from its file: values count by their printed form.
    """
    roles = roles_of(manifest, released)
    shown = list(roles)[:COLUMNS]
    shapes = tuple(_shape(released.get_column(name), roles[name]) for name in shown)
    left_out = [f"{len(roles) - len(shown)} more columns are not drawn."] if len(roles) > len(shown) else []
    pair = axes(shapes)
    heat = None if pair is None else _heat(released, *pair)
    return Evidence(shapes, heat, reach.attacks, (*left_out, *reach.left_out))


def counted(column: pl.Series) -> tuple[pl.Series, np.ndarray]:
    """The distinct printed values of a column (missing as null) and the rows of each, most rows first, then by text."""
    found = column.alias("label").value_counts(name="rows")
    found = found.with_columns(printed(found.get_column("label")))
    if not column.dtype.is_integer():  # several values may print alike: both zeros, all that is missing
        found = found.group_by("label").agg(pl.col("rows").sum())
    found = found.sort(["rows", "label"], descending=[True, False], nulls_last=True)
    return found.get_column("label"), found.get_column("rows").cast(pl.Int64).to_numpy()


def _shape(column: pl.Series, role: str) -> ColumnShape:
    direct = _numbers(column)
    if direct is not None:
        axis, released = axis_of_points(direct.drop_nulls().to_numpy(), direct.null_count())
        return ColumnShape(column.name, role, direct.n_unique(), axis, released)
    labels, count = counted(column)
    known = ends(labels)
    found = axis_of(labels, count, known)
    return ColumnShape(
        column.name, role, len(labels), found, found.counts(labels, count, known) if found else np.empty(0)
    )


def _numbers(column: pl.Series) -> pl.Series | None:
    """The numbers of a column with so many of them that counting each takes time; else None."""
    if column.head(MANY).n_unique() < MANY // 4 or not (column.dtype == pl.String or column.dtype.is_numeric()):
        return None
    text = column.str.strip_chars() if column.dtype == pl.String else column
    value = text.cast(pl.Float64, strict=False).fill_nan(None)
    empty = (text == "").sum() if column.dtype == pl.String else column.is_nan().sum() if column.dtype.is_float() else 0
    unread = value.null_count() - column.null_count() - empty
    fits = unread == 0 and value.null_count() < len(value) and bool((value.abs() <= LARGEST).all())
    return value if fits else None


def axes(shapes: Sequence[ColumnShape]) -> tuple[str, str] | None:
    """The columns of the heat map: the sensitive one with the quasi-identifier that tells most apart, or two of those.

    A column of ranges that are spread tells less for sure, so others come first.
    """
    fit = [shape for shape in shapes if shape.axis is not None and 1 < shape.labels <= LABELS]
    known = sorted((shape for shape in fit if shape.role == "quasi"), key=_telling)
    secret = next((shape for shape in fit if shape.role == "sensitive"), None)
    if secret is not None and known:
        return secret.name, known[0].name
    return (known[0].name, known[1].name) if secret is None and len(known) > 1 else None


def _telling(shape: ColumnShape) -> tuple[bool, float]:
    """Columns with many groups of even size first."""
    share = shape.released[shape.released > 0] / max(shape.released.sum(), 1.0)
    groups = round(float(np.exp(-(share * np.log(share)).sum())), 6)
    return shape.axis is not None and shape.axis.spread, -groups


def _heat(released: pl.DataFrame, down: str, across: str) -> Heat | None:
    cells = pl.DataFrame({"a": printed(released.get_column(down)), "b": printed(released.get_column(across))})
    counts = cells.group_by("a", "b").agg(n=pl.len())
    sides, weights, codes = [], [], []
    for key, most in zip(("a", "b"), SIDE, strict=True):
        whole = counts.group_by(key).agg(pl.col("n").sum()).sort(["n", key], descending=[True, False], nulls_last=True)
        labels = whole.get_column(key)
        count = whole.get_column("n").cast(pl.Int64).to_numpy()
        axis = axis_of(labels, count, ends(labels), most, least=released.height // 200)  # a thin column shows chance
        if axis is None:
            return None
        place = pl.DataFrame({key: labels, "at": np.arange(len(labels))})
        codes.append(counts.join(place, on=key, how="left", nulls_equal=True, maintain_order="left")["at"].to_numpy())
        sides.append(axis.groups)
        weights.append(axis.weights(labels))
    dense = np.zeros((len(weights[0]), len(weights[1])))
    dense[codes[0], codes[1]] = counts.get_column("n").to_numpy()
    return Heat(down, across, sides[0], sides[1], weights[0].T @ dense @ weights[1])
