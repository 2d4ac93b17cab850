"""Domain: what the parts of a table must know of the whole, so that their codes, labels and losses are those of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells, Classes, Histogram, classes_of
from sfumato.core.hierarchy import Categories, kind_of
from sfumato.core.microdata import Attribute, Microdata, encode, microdata
from sfumato.core.policy import Policy
from sfumato.core.printed import printed
from sfumato.core.progress import Progress
from sfumato.engines.protocol import COUNT
from sfumato.engines.spark.count import SparkFrame, as_polars
from sfumato.engines.spark.types import CHANGED, functions, job
from sfumato.errors import ColumnError, PolicyError, ReadError
from sfumato.hierarchies.learned import Learned
from sfumato.losses import LM, NCP
from sfumato.release.parts.tree import Branches
from sfumato.search.problem import Problem, counted

EXACT = 2**53  # numbers below it stand apart on a line of floats


@dataclass(frozen=True, eq=False)
class DomainLine(Attribute):
    """A column with an order and no hierarchy: the values of some rows, on the line of the whole table."""

    ends: tuple[float, float] = (0.0, 0.0)

    @cached_property
    def extent(self) -> tuple[float, float]:
        """Least and greatest position in the whole table."""
        return self.ends


@dataclass(frozen=True, eq=False)
class Domain:
    """The attributes of the whole table: with all its values, or, of those in `spans`, none and its two ends alone.

    Of numbers, dates and times on a line nothing else is needed: a part prints its own values. Other columns are coded
    by the values of the whole table.
    """

    rows: int
    attributes: tuple[Attribute, ...]
    spans: Mapping[str, tuple[float, float]]

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name."""
        return next(a for a in self.attributes if a.name == name)

    @cached_property
    def code(self) -> dict[str, dict[str | None, int]]:
        """The code of each printed value, of the columns that have a dictionary."""
        found = [a for a in self.attributes if a.name not in self.spans]
        return {a.name: {text: i for i, text in enumerate(a.categories.text)} for a in found}


def on_a_line(dtype: pl.DataType, recipe: Any, loss: Any) -> bool:
    """Whether a column may do with its span: it is ordered by its type, and neither labels nor loss ask for more."""
    kind = dtype.is_numeric() or dtype == pl.Date or isinstance(dtype, pl.Datetime)
    plain = not loss.by_label or isinstance(loss, LM | NCP)
    return kind and plain and (recipe is None or (isinstance(recipe, Learned) and not recipe.codes))


def positions(values: pl.Series) -> np.ndarray:
    """Where each value of a column on a line stands, as `microdata` places it; missing ones after all others.

    >>> positions(pl.Series([3, None, -1])).tolist()
    [3.0, inf, -1.0]
    """
    if values.dtype.is_decimal():
        values = printed(values)
    elif values.dtype.is_float():
        values = values.fill_nan(None)
    place = values.to_physical().cast(pl.Float64)
    if isinstance(values.dtype, pl.Datetime):
        place = place / steps(values.dtype)
    return place.fill_null(np.inf).to_numpy()


def steps(dtype: pl.DataType) -> float:
    """Into how many steps a type parts the distance of 1 between two positions."""
    if isinstance(dtype, pl.Datetime):
        return {"ms": 1e3, "us": 1e6, "ns": 1e9}[dtype.time_unit]
    return 10.0**dtype.scale if isinstance(dtype, pl.Decimal) else 1.0


def span_of(low: float, high: float, fine: float = 1.0) -> tuple[float, float] | None:
    """The least and the greatest position, or None where floats cannot tell the values apart.

    `fine` is the number of steps between two positions that are 1 apart.
    """
    return (low, high) if max(abs(low), abs(high)) * fine < EXACT else None


def line_attribute(name: str, role: str, dtype: pl.DataType) -> Attribute:
    """What stands in a domain for a column on a line: its kind."""
    kind = "integer" if isinstance(dtype, pl.Decimal) and not dtype.scale else kind_of(dtype)
    return Attribute(name, role, Categories(name, kind, (), np.zeros(0), np.zeros(0, np.int64)))


def full_attribute(table: pl.DataFrame, name: str, role: str, recipe: Any) -> Attribute:
    """A column with all its values, from the distinct ones and how many rows have each."""
    recipes = {} if recipe is None else {name: recipe}
    return microdata(table, {name: role}, recipes, None, table.get_column(COUNT).to_numpy()).schema[0]


def places(rows: pl.DataFrame, domain: Domain, columns: Sequence[str]) -> np.ndarray:
    """Where each row stands in each column: its position on the line, or its code. [columns, rows]"""
    found = [
        positions(rows.get_column(name)) if name in domain.spans else _coded(rows.get_column(name), domain)
        for name in columns
    ]
    return np.stack(found).astype(np.float64, copy=False)


def pose_part(
    rows: pl.DataFrame,
    domain: Domain,
    policy: Policy,
    histogram_columns: tuple[str, ...],
    row_counts: np.ndarray | None = None,
) -> tuple[Microdata, Problem, np.ndarray]:
    """Some rows of the table as codes and as a problem of their own in the domain of the whole; the cell of each row.

    With `row_counts` a row counts so often.
    """
    schema: list[Attribute] = []
    codes: dict[str, np.ndarray] = {}
    for attribute in domain.attributes:
        series = rows.get_column(attribute.name)
        if attribute.name in domain.spans:
            own, codes[attribute.name] = encode(series)
            ends = domain.spans[attribute.name]
            line = DomainLine(attribute.name, attribute.role, own, None, attribute.learner, learns=False, ends=ends)
            schema.append(line)
        else:
            codes[attribute.name] = _coded(series, domain)
            schema.append(attribute)
    micro = Microdata(rows.height, tuple(schema), codes, None, row_counts)
    cells, cell_of_row = counted(micro, policy.columns, histogram_columns)
    known = {
        name: replace(h, overall=domain.attribute(name).categories.count)  # of the whole table, not of these rows
        for name, h in cells.histograms.items()
    }
    total = rows.height if row_counts is None else int(row_counts.sum())
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    return micro, Problem(attributes, replace(cells, histograms=known), policy, total), cell_of_row


def _coded(series: pl.Series, domain: Domain) -> np.ndarray:
    """The code of each value in the whole table."""
    own, codes = encode(series)
    code = domain.code[series.name]
    table = np.array([code.get(text, -1) for text in own.text], dtype=np.int32)
    if (table < 0).any():
        raise ReadError(CHANGED)
    return table[codes]


MAX_VALUES = 1_000_000  # of a column whose values are sent to every worker
STEPPED = 50_000  # values of a number or date that steps are learned from


def domain_of(
    table: SparkFrame,
    rows: int,
    policy: Policy,
    histogram_columns: Sequence[str],
    recipes: Mapping[str, Any],
    report_progress: Progress,
    labels: str = "given",
) -> Domain:
    """The domain of the quasi-identifiers and of the columns that criteria look at.

    Numbers, dates and times without a hierarchy may have any number of values, others up to `MAX_VALUES`. With `labels`
    "hierarchy" the former stand on steps that are learned, where they have at most `STEPPED` values.
    """
    report_progress("counting values", None)
    lines = [name for name in policy.columns if on_a_line(table.schema[name], recipes.get(name), policy.loss)]
    stepped = {} if labels != "hierarchy" else {name: _few_values(table, name) for name in lines}
    lines = [name for name in lines if stepped.get(name) is None]
    spans = {name: span for name, span in _spans(table, lines).items() if span is not None}
    attributes = []
    for name in dict.fromkeys((*policy.columns, *histogram_columns)):
        role = "quasi" if name in policy.columns else "sensitive"
        if name in spans:
            attributes.append(line_attribute(name, role, table.schema[name]))
            continue
        try:
            counted = stepped.get(name)
            counted = table.count([name], MAX_VALUES) if counted is None else counted
        except PolicyError:
            raise PolicyError(
                f'column "{name}" has too many different values to be sent to every worker',
                got=f"more than {MAX_VALUES:,}",
                allowed="any number only of a quasi-identifier of numbers, dates or times without a hierarchy, "
                "with the loss lm, ncp, discernibility or c-avg",
                hint="coarsen the column, or give it a type with an order",
            ) from None
        if counted.get_column(name).drop_nulls().is_empty():
            raise ColumnError(f'column "{name}" is empty: it has no value in any row', hint="leave it out")
        made = full_attribute(counted, name, role, recipes.get(name))
        alone = made.categories.ordered or made.categories.sequence == "codes"  # other texts are alike by other columns
        attributes.append(replace(made, learns=alone))
    return Domain(rows, tuple(attributes), spans)


def _few_values(table: SparkFrame, name: str) -> pl.DataFrame | None:
    """The values of a column and how many rows have each; None where they are too many to learn steps from."""
    try:
        return table.count([name], STEPPED)
    except PolicyError:
        return None


def _spans(table: SparkFrame, names: Sequence[str]) -> dict[str, tuple[float, float] | None]:
    """The span of each column on a line; None where floats cannot tell its values apart."""
    if not names:
        return {}
    F = functions(table.rows)
    ends = [(name, F.min(table.plain(name)), F.max(table.plain(name))) for name in names]
    asked = [c.alias(f"{end}{i}") for i, (_, *both) in enumerate(ends) for end, c in zip("lh", both, strict=True)]
    with job(table.spark, "the cluster could not read the table"):
        found = as_polars(
            table.rows.agg(*asked).toArrow(),
            {f"{end} {name}": table.schema[name] for name in names for end in ("least", "greatest")},
        )
    spans: dict[str, tuple[float, float] | None] = {}
    for name in names:
        low, high = (float(positions(found.get_column(f"{end} {name}"))[0]) for end in ("least", "greatest"))
        there = np.isfinite([low, high]).all()  # not where it is empty
        spans[name] = span_of(low, high, steps(table.schema[name])) if there else None
    return spans


ROWS = 0  # the item that counts rows; from 1 the extents of the columns, after those the histograms
RECORD = {
    "leaf": pl.Int32,
    "item": pl.Int32,
    "value": pl.Int64,
    "count": pl.Int64,
    "low": pl.Float64,
    "high": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Stat:
    """What is known of a leaf: its rows, the least and greatest place in each column, and the sensitive values."""

    rows: int
    low: np.ndarray
    high: np.ndarray
    values: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)  # codes ascending, and counts

    def __add__(self, other: Stat) -> Stat:
        values = {}
        for name, (code, count) in self.values.items():
            more, row_counts = other.values[name]
            both, of = np.unique(np.concatenate([code, more]), return_inverse=True)
            values[name] = both, np.bincount(of, weights=np.concatenate([count, row_counts])).astype(np.int64)
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Stat(self.rows + other.rows, low, high, values)


def nothing(columns: int, histogram_columns: Iterable[str]) -> Stat:
    """A leaf without rows."""
    none = np.zeros(0, np.int64)
    return Stat(0, np.full(columns, np.inf), np.full(columns, -np.inf), dict.fromkeys(histogram_columns, (none, none)))


def tally(
    rows: pl.DataFrame,
    domain: Domain,
    branches: Branches,
    columns: Sequence[str],
    histogram_columns: Sequence[str],
    wanted: np.ndarray,
) -> pl.DataFrame:
    """What some rows add to the leaves that are wanted, as records to be added up."""
    where = places(rows, domain, columns)
    leaf = branches.leaf(where)
    stay = wanted[leaf]
    if not stay.all():
        rows, where, leaf = rows.filter(pl.Series(stay)), where[:, stay], leaf[stay]
    parts = [_record(leaf, ROWS)]
    parts += [_record(leaf, 1 + i, place=place) for i, place in enumerate(where)]
    if histogram_columns:
        codes = places(rows, domain, histogram_columns).astype(np.int64)
        parts += [_record(leaf, 1 + len(columns) + i, value=code) for i, code in enumerate(codes)]
    return added(pl.concat(parts))


def _record(
    leaf: np.ndarray, item: int, value: np.ndarray | None = None, place: np.ndarray | None = None
) -> pl.DataFrame:
    made = pl.DataFrame({"leaf": leaf})
    made = made.with_columns(
        pl.lit(item).alias("item"),
        pl.lit(0).alias("value") if value is None else pl.Series("value", value),
        pl.lit(1).alias("count"),
        pl.lit(None).alias("low") if place is None else pl.Series("low", place),
        pl.lit(None).alias("high") if place is None else pl.Series("high", place),
    )
    return added(made.cast(RECORD))  # type: ignore[arg-type]


def added(records: pl.DataFrame) -> pl.DataFrame:
    """Records of one leaf, item and value as one."""
    sums = pl.col("count").sum(), pl.col("low").min(), pl.col("high").max()
    return records.group_by("leaf", "item", "value").agg(*sums)


def stats_of(records: pl.DataFrame, columns: Sequence[str], histogram_columns: Sequence[str]) -> dict[int, Stat]:
    """The leaves from the records of all rows."""
    found = {}
    ordered = records.sort("leaf", "item", "value")
    for (leaf,), own in ordered.group_by("leaf", maintain_order=True):
        of = {int(item): part for (item,), part in own.group_by("item", maintain_order=True)}
        extents = [of[1 + i] for i in range(len(columns))]
        first = 1 + len(columns)
        values = {
            name: (of[first + i]["value"].to_numpy(), of[first + i]["count"].to_numpy())
            for i, name in enumerate(histogram_columns)
        }
        low, high = (np.array([part[end][0] for part in extents]) for end in ("low", "high"))
        found[int(leaf)] = Stat(int(of[ROWS]["count"][0]), low, high, values)
    return found


def as_classes(stats: Sequence[Stat], domain: Domain, histogram_columns: Sequence[str]) -> Classes:
    """Leaves as the classes that criteria are asked about."""
    histograms = {}
    for name in histogram_columns:
        attribute = domain.attribute(name)
        runs = [stat.values[name] for stat in stats]
        start = np.concatenate([[0], np.cumsum([len(code) for code, _ in runs])]).astype(np.int64)
        ancestor = None if attribute.hierarchy is None else attribute.ladder.of
        histograms[name] = Histogram(
            start,
            np.concatenate([code for code, _ in runs]).astype(np.int32),
            np.concatenate([count for _, count in runs]).astype(np.int64),
            attribute.categories.count,
            attribute.categories.text,
            ancestor,
        )
    count = np.array([stat.rows for stat in stats], dtype=np.int64)
    cells = Cells((), np.zeros((0, len(stats)), np.int32), count, (), histograms)
    return classes_of(cells, np.arange(len(stats), dtype=np.int32), len(stats))


def whole_stat(domain: Domain, columns: Sequence[str], histogram_columns: Sequence[str]) -> Stat:
    """The whole table as one leaf; what its extents are is not asked."""
    values = {}
    for name in histogram_columns:
        count = domain.attribute(name).categories.count
        values[name] = np.flatnonzero(count), count[count > 0]
    return Stat(domain.rows, np.full(len(columns), -np.inf), np.full(len(columns), np.inf), values)
