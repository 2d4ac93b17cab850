"""Numbers: what ranges of numbers and dates are written as: two bounds, their middle, or a value drawn between them.

Inside, a released table has labels; these are the columns that stand in their place in frames and files, and how the
labels are read off them again, so that classes are those of the written columns alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.label_grammar import STAR, range_text
from sfumato.core.printed import printed
from sfumato.errors import ColumnError, ReadError
from sfumato.hierarchies.bounds import cuts_of

FORMS = ("text", "bounds", "midpoint", "draw")
TYPES: dict[str, Any] = {"integer": pl.Int64, "decimal": pl.Float64, "date": pl.Date, "datetime": pl.Datetime("us")}
LAST = "T23:59:59.999999"  # of a day that belongs as a whole


@dataclass(frozen=True)
class NumberForms:
    """The columns that are not written as labels: `form` and `kind` of each, and the seed of what is drawn."""

    form: Mapping[str, str] = field(default_factory=dict)
    kind: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0

    def describe(self) -> dict[str, dict[str, str]]:
        """What the manifest says: of each column its form and its kind."""
        return {name: {"form": form, "kind": self.kind[name]} for name, form in self.form.items()}

    def names(self, name: str) -> tuple[str, ...]:
        """The columns that stand in the place of one."""
        form, ends = self.form.get(name), (f"{name}_low", f"{name}_high")
        return {"bounds": ends, "draw": (name, *ends)}.get(form or "", (name,))

    def counted(self, name: str) -> tuple[str, ...]:
        """Those of them that its label is read off: not what is drawn."""
        return self.names(name)[-2:]

    def some(self, names: Iterable[str]) -> NumberForms:
        """The forms of some columns, as they are read off what is counted."""
        form = {name: "bounds" if self.form[name] == "draw" else self.form[name] for name in names if name in self.form}
        return NumberForms(form, {name: self.kind[name] for name in form})

    def columns(self, name: str, labels: pl.Series) -> pl.DataFrame:
        """Each different label of a column, and in "0", "1" what is written in its place beside what is drawn."""
        label = printed(labels).drop_nulls().unique().sort().alias("label")
        if self.form[name] == "midpoint":
            return pl.DataFrame([label, _middles(label, self.kind[name]).alias("0")])
        low, high = bounds_of(label, self.kind[name])
        return pl.DataFrame([label, low.alias("0"), high.alias("1")])

    def write(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table of labels as it is written; a middle is its own label."""
        others = (name for name, form in self.form.items() if form != "midpoint")
        return NumberWriter(self, {name: table.get_column(name) for name in others})(table)

    def read(self, table: pl.DataFrame) -> pl.DataFrame:
        """The labels of a table as it was written; printed values will do."""
        if not self.form:
            return table
        there = {name: self.names(name) for name in self.form}
        if lacks := [n for names in there.values() for n in names if n not in table.columns]:
            raise ReadError("columns that numbers were written to are not there: " + ", ".join(lacks))
        own = {name: of for of, names in there.items() for name in names}
        found: list[pl.Series] = []
        for column in table.iter_columns():
            of = own.get(column.name)
            if of is None or self.form[of] == "midpoint":
                found.append(column)
            elif column.name == there[of][-1]:
                found.append(_labels(of, *(printed(table.get_column(name)) for name in there[of][-2:])))
        return pl.DataFrame(found)

    def faults(self, table: pl.DataFrame) -> list[str]:
        """What is wrong with a table as it was written: values that were not drawn within their bounds."""
        wrong = []
        for name in (name for name, form in self.form.items() if form == "draw"):
            if any(column not in table.columns for column in self.names(name)):
                continue  # which is told when it is read
            value, low, high = (_typed(printed(table.get_column(n)), self.kind[name]) for n in self.names(name))
            outside = ((value < low) | (value > high)).fill_null(False) | (
                value.is_null() != (low.is_null() & high.is_null())
            )
            if outside.any():
                wrong.append(f'values of "{name}" lie outside of their bounds')
        return wrong


class NumberWriter:
    """Labels to what is written in their place, frame by frame; `labels` has those of each column that is."""

    def __init__(self, forms: NumberForms, labels: Mapping[str, pl.Series]) -> None:
        self.forms = forms
        self.tables = {name: forms.columns(name, column) for name, column in labels.items()}
        drawn = sorted(name for name in self.tables if forms.form[name] == "draw")
        # one for each column: what is drawn depends neither on how rows are cut into frames nor on other columns
        self.random = {name: np.random.default_rng([forms.seed, i]) for i, name in enumerate(drawn)}
        self.digits = {name: _digits(self.tables[name]["0"], self.tables[name]["1"]) for name in drawn}

    def schema(self, given: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Column to type as it is written."""
        labels = dict.fromkeys(self.tables, pl.String())
        return dict(self(pl.DataFrame(schema={**given, **labels})).schema)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Some rows, as they are written."""
        found: list[pl.Series] = []
        for column in frame.iter_columns():
            name = column.name
            if name not in self.tables:
                found.append(column)
                continue
            text = printed(column).alias("label").to_frame()
            each = text.join(self.tables[name], on="label", how="left", maintain_order="left").drop("label")
            if name in self.random:
                found.append(_drawn(each["0"], each["1"], self.random[name], self.digits[name]).alias(name))
            found += [made.alias(to) for made, to in zip(each.iter_columns(), self.forms.counted(name), strict=True)]
        return pl.DataFrame(found)


def number_forms(
    asked: str | Mapping[str, str], labels: Mapping[str, pl.Series], kinds: Mapping[str, str], seed: int
) -> NumberForms:
    """The forms of the columns whose labels are all numbers or ranges; what was asked for by name must be one."""
    form: dict[str, str] = {}
    for name, column in labels.items():
        wanted = asked if isinstance(asked, str) else asked.get(name, "text")
        if wanted == "text":
            continue
        if kinds[name] in TYPES and readable(column, kinds[name]):
            form[name] = wanted
        elif not isinstance(asked, str):
            raise ColumnError(f'the labels of "{name}" are no ranges of numbers or dates', got=f"numbers {wanted}",
                              hint="leave it as text")  # fmt: skip
    return NumberForms(form, {name: kinds[name] for name in form}, seed)


def forms_written(numbers: Mapping[str, Mapping[str, str]]) -> NumberForms:
    """The forms that a manifest names."""
    form = {name: str(one.get("form")) for name, one in numbers.items()}
    kind = {name: str(one.get("kind")) for name, one in numbers.items()}
    if set(form.values()) <= set(FORMS) and set(kind.values()) <= set(TYPES):
        return NumberForms(form, kind)
    raise ReadError("the manifest names a form of numbers that is unknown", allowed=", ".join(FORMS))


def readable(column: pl.Series, kind: str) -> bool:
    """Whether every label is a number or date, or a range of them, or says nothing."""
    return _read(printed(column), kind).get_column("read").all()


def canonical(column: pl.Series, kind: str, form: str) -> pl.Series:
    """The labels of a column as they are read off what is written: middles, or ranges from bound to bound."""
    low, high = bounds_of(column, kind)
    if form == "midpoint":
        return _middle(low, high).alias(column.name)
    return _labels(column.name, printed(low), printed(high))


def bounds_of(column: pl.Series, kind: str) -> tuple[pl.Series, pl.Series]:
    """The bounds of labels, with their type; missing on a side that is open, and on both where a label says nothing."""
    text = printed(column).alias("label")
    each = text.to_frame().join(_read(text, kind), on="label", how="left", maintain_order="left")
    return _typed(each.get_column("low"), kind), _typed(each.get_column("high"), kind)


def _read(text: pl.Series, kind: str) -> pl.DataFrame:
    """The different labels, their bounds as they print, and whether each could be read."""
    labels = text.drop_nulls().unique()
    value = _typed(labels, kind).is_not_null().to_list()
    rows: list[tuple[str, str | None, str | None, bool]] = []
    for label, plain in zip(labels.to_list(), value, strict=True):
        found = None if plain or label == STAR else cuts_of(label, kind)
        low, high = (label, label) if plain else (None, None)
        if found is not None:
            low, high = (None if end is None else end[1] for end in found)
            if kind == "datetime" and high is not None and len(high) == 10:
                high += LAST
        rows.append((label, low, high, plain or label == STAR or found is not None))
    schema = {"label": pl.String, "low": pl.String, "high": pl.String, "read": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _typed(text: pl.Series, kind: str) -> pl.Series:
    """Printed values with their type; missing where they have none."""
    if kind == "date":
        return text.str.to_date("%Y-%m-%d", strict=False)
    if kind == "datetime":
        full = text.str.replace(r"^(.{10})$", "${1}T00:00:00").str.replace(r"(T[0-9]{2}:[0-9]{2})$", "${1}:00")
        return full.str.replace(" ", "T", literal=True).str.to_datetime(
            "%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False
        )
    return text.str.strip_prefix("+").cast(TYPES[kind], strict=False)


def _labels(name: str, low: pl.Series, high: pl.Series) -> pl.Series:
    """The label from bound to bound."""
    pairs = pl.DataFrame({"low": low, "high": high})
    distinct = pairs.unique()
    texts = [_label(*pair) for pair in distinct.rows()]
    found = distinct.with_columns(pl.Series(name, texts, pl.String).alias("label"))
    each = pairs.join(found, on=["low", "high"], how="left", nulls_equal=True, maintain_order="left")
    return each.get_column("label").alias(name)


def _label(low: str | None, high: str | None) -> str:
    if low is None:
        return STAR if high is None else f"<= {high}"
    return low if low == high else range_text(low, high)


def _middle(low: pl.Series, high: pl.Series) -> pl.Series:
    """The middle of bounds; the one there is where the other is open."""
    first, last = low.fill_null(high).to_physical(), high.fill_null(low).to_physical()
    if low.dtype.is_temporal():
        return ((first.cast(pl.Int64) + last.cast(pl.Int64)) // 2).cast(first.dtype).cast(low.dtype)
    middle = (first.cast(pl.Float64) + last.cast(pl.Float64)) / 2
    whole = low.dtype.is_integer() and bool((middle == middle.round()).all())
    return middle.cast(pl.Int64) if whole else middle


def _middles(text: pl.Series, kind: str) -> pl.Series:
    """Printed middles with their type: those of whole numbers may have a half."""
    typed = _typed(text, kind)
    return _typed(text, "decimal") if kind == "integer" and typed.null_count() > text.null_count() else typed


def _drawn(low: pl.Series, high: pl.Series, random: np.random.Generator, digits: int) -> pl.Series:
    """A value between bounds, each as likely; the one there is where the other is open."""
    first, last = low.fill_null(high), high.fill_null(low)
    at = pl.Series(random.random(len(low)))
    if low.dtype == pl.Float64:
        drawn = (first + at * (last - first)).round(digits)
        inside = pl.when(pl.col("a") < pl.col("b")).then(pl.col("x").clip("a", "b")).otherwise("a")  # or infinite
        return pl.DataFrame({"x": drawn, "a": first, "b": last}).select(x=inside).to_series()
    start, stop = first.to_physical(), last.to_physical()
    return (start + (at * (stop - start + 1)).floor().cast(start.dtype)).cast(low.dtype)


def _digits(first: pl.Series, last: pl.Series) -> int:
    """Places behind the point: two more than the bounds have."""
    text = pl.concat([printed(first), printed(last)]).drop_nulls()
    places: Any = text.str.extract(r"\.([0-9]*[1-9])").str.len_chars().max()
    return int(places or 0) + 2
