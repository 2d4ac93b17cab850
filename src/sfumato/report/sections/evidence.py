"""What the released rows show, and with the original beside them what was lost and what is still at risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import known_columns
from sfumato.core.printed import as_text, categories, label_counts, printed, printed_frame
from sfumato.core.wording import number
from sfumato.errors import SfumatoError
from sfumato.losses import LOSSES
from sfumato.measures.reach import Reach
from sfumato.measures.utility import Pair, pair_of, utility_summary
from sfumato.measures.utility.column import ComparedColumn
from sfumato.release.manifest import COPY
from sfumato.release.verify import class_sizes
from sfumato.report.charts.axis import LARGEST, ChartAxis, axis_of, axis_of_points, ends
from sfumato.report.manifest import Manifest, called, quasi, roles_of
from sfumato.report.markup import Markup, join, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.sections.attacks import attacks_with_original

COLUMNS, LABELS = 40, 5_000  # columns drawn, and labels of a column up to which it may be an axis of the heat map
MANY = 20_000  # rows looked at to see whether a column has a value per row
PAIRS = 1 << 20  # pairs of two columns that are counted by their numbers
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
    roles = {name: role for name, role in roles.items() if role != COPY}
    shown = list(roles)[:COLUMNS]
    shapes = tuple(_shape(released.get_column(name), roles[name]) for name in shown)
    left_out = [f"{len(roles) - len(shown)} more columns are not drawn."] if len(roles) > len(shown) else []
    pair = axes(shapes)
    heat = None if pair is None else _heat(released, *pair)
    return Evidence(shapes, heat, reach.attacks, (*left_out, *reach.left_out))


def counted(column: pl.Series) -> tuple[pl.Series, np.ndarray]:
    """The distinct printed values of a column (missing as null) and the rows of each, most rows first, then by text."""
    found = label_counts(column).sort(["rows", "label"], descending=[True, False], nulls_last=True)
    return found.get_column("label"), found.get_column("rows").to_numpy()


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
    column = column if (few := column.head(MANY).n_unique() < MANY // 4) else as_text(column)
    if few or not (column.dtype == pl.String or column.dtype.is_numeric()):
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
    if not known or (secret is None and len(known) < 2):  # of what was drawn from a model, any column will do
        known += sorted((shape for shape in fit if shape.role == "synthetic"), key=_telling)
    if secret is not None and known:
        return secret.name, known[0].name
    return (known[0].name, known[1].name) if secret is None and len(known) > 1 else None


def _telling(shape: ColumnShape) -> tuple[bool, float]:
    """Columns with many groups of even size first."""
    share = shape.released[shape.released > 0] / max(shape.released.sum(), 1.0)
    groups = round(float(np.exp(-(share * np.log(share)).sum())), 6)
    return shape.axis is not None and shape.axis.spread, -groups


def _heat(released: pl.DataFrame, down: str, across: str) -> Heat | None:
    counts = _pairs(released.get_column(down), released.get_column(across))
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


def _pairs(a: pl.Series, b: pl.Series) -> pl.DataFrame:
    """The distinct pairs of printed values of two columns, and in "n" how many rows have each."""
    first, second = categories(a), categories(b)
    if first is not None and second is not None and (len(first) + 1) * (len(second) + 1) <= PAIRS:
        width = len(second) + 1
        place, other = (c.to_physical().cast(pl.Int64).fill_null(len(words)) for c, words in ((a, first), (b, second)))
        rows = np.bincount((place * width + other).to_numpy(), None, (len(first) + 1) * width)
        at = np.flatnonzero(rows)
        words = [w.extend_constant(None, 1).gather(i) for w, i in zip((first, second), divmod(at, width), strict=True)]
        return pl.DataFrame({"a": words[0], "b": words[1], "n": rows[at]})
    counts = pl.DataFrame({"a": a, "b": b}).group_by("a", "b").agg(n=pl.len())  # some of these print alike
    counts = printed_frame(counts.select("a", "b")).with_columns(counts.get_column("n"))
    return counts.group_by("a", "b").agg(pl.col("n").sum())


MEASURED = 200_000  # rows up to which utility is measured
COVERED = 20_000_000  # values times labels up to which a heat map is spread
STEPS = (1, 2, 3, 5, 10, 20, 50)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What the original adds to the evidence."""

    shown: Evidence  # distributions, heat map and attacks, with the original
    before: tuple[Mapping[str, Any], ...]  # the classes of the original, one entry per set of quasi-identifiers
    measures: tuple[Mapping[str, Any], ...]  # of utility
    suppressed: tuple[tuple[str, int, int], ...]  # size of the class before, rows, suppressed rows
    left_out: tuple[str, ...]
    least: int  # values of fewer original records are not named


def comparison(
    manifest: Manifest,
    released: pl.DataFrame,
    original: pl.DataFrame,
    public: Evidence,
    *,
    rows: np.ndarray | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    least: int = 5,
) -> Comparison:
    """Everything that the internal report compares.

    Parameters
    ----------
    released, original: the two tables; only columns that both have are looked at.
    public: the evidence of the release alone.
    rows: the original row of each released row, where known.
    hierarchies: column to hierarchy, to read released labels by.
    least: values of fewer original records are not named.
    """
    both = [name for name in released.columns if name in original.columns]
    needed = [name for names in quasi(manifest) for name in names]
    known_columns(needed, released.columns, "the release")
    known_columns(needed, original.columns, "the original")
    known = {name: tree for name, tree in (hierarchies or {}).items() if name in both}
    before = pl.DataFrame({name: original.get_column(name) for name in both})
    pair = Pair(before, released, None, known)  # equally long tables need not be in the same order
    if rows is not None:
        pair = pair_of(before, released, rows=rows, hierarchies=known)
    sets = [names for names in quasi(manifest) if names]
    roles = {name: role for name, role in roles_of(manifest, released).items() if name in both}
    shapes, heat = drawn_beside(pair, roles, public, least)
    secrets = [name for name, role in roles.items() if role == "sensitive"]
    attacks, untried = attacks_with_original(pair, sets, secrets, known)
    measures, unmeasured = _measures(pair, sets[0] if sets else [], least)
    return Comparison(
        Evidence(shapes, heat, (*public.attacks, *attacks), (*public.left_out, *untried)),
        tuple(class_sizes(original, names) for names in sets),
        measures,
        _suppressed(pair, sets[0]) if sets else (),
        unmeasured,
        least,
    )


def drawn_beside(
    pair: Pair, roles: Mapping[str, str], public: Evidence, least: int
) -> tuple[tuple[ColumnShape, ...], Heat | None]:
    """The distributions of columns before and after, and the contingency table of the two that the release shows."""
    shapes = tuple(_shape_beside(pair.column(name), role, least) for name, role in list(roles.items())[:COLUMNS])
    chosen = axes([shape for shape in public.shapes if shape.name in roles])
    return shapes, None if chosen is None else _heat_beside(pair.column(chosen[0]), pair.column(chosen[1]), least)


def _shape_beside(column: ComparedColumn, role: str, least: int) -> ColumnShape:
    """The shares of the values before and after, in the groups of the original."""
    labels, count = _ranked(column)
    axis = axis_of(labels, count, ends(labels), least=least, binned=True)
    if axis is None:
        return ColumnShape(column.name, role, len(column.text), None, np.empty(0))
    where = axis.weights(pl.Series(column.support, dtype=pl.String))
    after = (column.after @ where) * len(column.label)
    return ColumnShape(column.name, role, len(column.text), axis, after, (column.before @ where) * len(column.code))


def _ranked(column: ComparedColumn) -> tuple[pl.Series, np.ndarray]:
    """The values of the original and the rows of each, most rows first, then by text."""
    categories = column.attribute.categories
    order = sorted(range(column.values), key=lambda i: (-int(categories.count[i]), categories.text[i] or ""))
    return pl.Series([categories.text[i] for i in order], dtype=pl.String), categories.count[order]


def _heat_beside(down: ComparedColumn, across: ComparedColumn, least: int) -> Heat | None:
    sides, labelled, valued = [], [], []
    for column, most in zip((down, across), SIDE, strict=True):
        if len(column.members) > COVERED or column.values > LABELS * 20 or len(column.text) > LABELS:
            return None
        labels, count = _ranked(column)
        axis = axis_of(labels, count, ends(labels), most, max(least, len(column.code) // 200), True)
        if axis is None:
            return None
        where = axis.weights(pl.Series(column.support, dtype=pl.String))
        of = np.repeat(np.arange(len(column.text)), column.size)
        spread = (
            np.stack([np.bincount(of, group[column.members], len(column.text)) for group in where.T], axis=1)
            / np.maximum(column.size, 1)[:, None]
        )
        sides.append(axis.groups)
        labelled.append(spread)
        valued.append(where[: column.values])
    before = valued[0].T @ _counts(down.code, across.code, down.values, across.values) @ valued[1]
    after = labelled[0].T @ _counts(down.label, across.label, len(down.text), len(across.text)) @ labelled[1]
    return Heat(down.name, across.name, sides[0], sides[1], after, before)


def _counts(one: np.ndarray, other: np.ndarray, rows: int, columns: int) -> np.ndarray:
    key = one.astype(np.int64) * columns + other
    return np.bincount(key, minlength=rows * columns).reshape(rows, columns).astype(np.float64)


def _measures(pair: Pair, names: Sequence[str], least: int) -> tuple[tuple[Mapping[str, Any], ...], tuple[str, ...]]:
    if pair.original.height > MEASURED:
        return (), (f"Utility is measured here on up to {MEASURED:,} rows; this table has more.",)
    try:
        found = utility_summary(pair, quasi=list(names) or None, k=least)
    except SfumatoError as error:
        return (), (f"Utility could not be measured: {error.what}.",)
    return tuple(found["measures"]), ()


def _suppressed(pair: Pair, names: Sequence[str]) -> tuple[tuple[str, int, int], ...]:
    """How many rows of the original lay in classes of each size, and how many of those are suppressed."""
    if pair.rows is None:
        return ()
    keys = pl.DataFrame([printed(pair.original.get_column(name)).alias(f"q{i}") for i, name in enumerate(names)])
    size = keys.select(pl.len().over(keys.columns)).to_series().to_numpy()
    gone = np.ones(pair.original.height, np.bool_)
    gone[pair.rows] = False
    step = np.searchsorted(STEPS, size, side="right") - 1
    every, away = np.bincount(step, minlength=len(STEPS)), np.bincount(step[gone], minlength=len(STEPS))
    titles = [str(a) if b == a + 1 else f"{a} to {b - 1}" for a, b in pairwise(STEPS)]
    titles.append(f"{STEPS[-1]} and more")
    return tuple((title, int(n), int(m)) for title, n, m in zip(titles, every, away, strict=True) if n)


def benefit(measures: Sequence[Mapping[str, Any]], left_out: Sequence[str]) -> Markup:
    """The section of utility."""
    lines = [
        (join([tag("b", _title(measure)), tag("span", measure.get("sentence") or "", class_="quiet said")]),
         number(measure["value"]), _range(measure.get("range")))
        for measure in measures if measure.get("value") is not None
    ]  # fmt: skip
    notes = [tag("p", note, class_="quiet") for note in left_out]
    intro = "How far the release is from the original, by the measures of the literature; 0 is as it was unless said."
    shown = (
        html_table(("Measure", "Value", "Range"), lines, "Utility of the release", "stack attacks") if lines else None
    )
    return section("utility", "What it is still good for", tag("p", intro) if lines else None, shown, *notes)


def _title(measure: Mapping[str, Any]) -> str:
    title = called(LOSSES, str(measure.get("name") or ""))
    return title[:1].upper() + title[1:]


def _range(ends: Any) -> str:
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return "–"
    low, high = ("unbounded" if end is None else number(end) for end in ends)
    return f"{low} to {high}" if high != "unbounded" else f"{low} and up"
