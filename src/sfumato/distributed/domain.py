"""Domain: what the parts of a table must know of the whole, so that their codes, labels and losses are those of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.categories import Categories, kind_of
from sfumato.engines.printed import printed
from sfumato.engines.spark_job import CHANGED
from sfumato.engines.store import COUNT
from sfumato.errors import ReadError
from sfumato.hierarchies.learned import Learned
from sfumato.losses import LM, NCP, LabelLoss
from sfumato.microdata import Attribute, Microdata, encode, microdata
from sfumato.policy import Policy
from sfumato.search.pose import counted
from sfumato.search.problem import Problem

EXACT = 2**53  # numbers below it stand apart on a line of floats


@dataclass(frozen=True, eq=False)
class Line(Attribute):
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
    plain = not isinstance(loss, LabelLoss) or isinstance(loss, LM | NCP)
    return kind and plain and (recipe is None or isinstance(recipe, Learned))


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
    rows: pl.DataFrame, domain: Domain, policy: Policy, looks_at: tuple[str, ...], times: np.ndarray | None = None
) -> tuple[Microdata, Problem, np.ndarray]:
    """Some rows of the table as codes and as a problem of their own in the domain of the whole; the cell of each row.

    With `times` a row counts so often.
    """
    schema: list[Attribute] = []
    codes: dict[str, np.ndarray] = {}
    for attribute in domain.attributes:
        series = rows.get_column(attribute.name)
        if attribute.name in domain.spans:
            own, codes[attribute.name] = encode(series)
            ends = domain.spans[attribute.name]
            schema.append(Line(attribute.name, attribute.role, own, None, attribute.learner, ends=ends))
        else:
            codes[attribute.name] = _coded(series, domain)
            schema.append(attribute)
    micro = Microdata(rows.height, tuple(schema), codes, None, times)
    cells, of_row = counted(micro, policy.columns, looks_at)
    known = {
        name: replace(h, whole=domain.attribute(name).categories.count)  # of the whole table, not of these rows
        for name, h in cells.histograms.items()
    }
    total = rows.height if times is None else int(times.sum())
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    return micro, Problem(attributes, replace(cells, histograms=known), policy, total), of_row


def _coded(series: pl.Series, domain: Domain) -> np.ndarray:
    """The code of each value in the whole table."""
    own, codes = encode(series)
    code = domain.code[series.name]
    table = np.array([code.get(text, -1) for text in own.text], dtype=np.int32)
    if (table < 0).any():
        raise ReadError(CHANGED)
    return table[codes]
