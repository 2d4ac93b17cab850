"""Inspection: what a table looks like before anything is done to it, without quoting a value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.hierarchy import leaves_of
from sfumato.core.microdata import encode
from sfumato.core.roles import POINTS, RECORDS, Roles, digits_of, suggest_together, why_of_name
from sfumato.core.wording import Described, count, number, percent
from sfumato.engines.tables import engine_of
from sfumato.errors import EmptyTable
from sfumato.hierarchies.learned import DOUBLED, FEW_WEEKS, MOST_CODES, have_gaps, widths_of
from sfumato.hierarchies.templates.fitting import fitting
from sfumato.hierarchies.words import word_order
from sfumato.release.people import OFTEN
from sfumato.release.request import LOOKED_AT

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Categories

FIGURES = re.compile(r"(?:over )?\d[\d.]*% of the rows")
PEOPLE_REPEAT = "several rows share a value: named as person, people are counted and not rows"
MOST_PAIRED = 10  # columns tried in pairs: 45 counts at most, the columns with most values first


@dataclass(frozen=True)
class ColumnReport:
    """One column: what it holds, how much it tells apart, and what is suggested for it."""

    name: str
    kind: str
    distinct: int
    missing: int
    unique: float  # share of rows whose value no other row has
    role: str
    why: str
    hierarchy: dict[str, Any] | None  # as in a policy file; quasi-identifying columns only


@dataclass(frozen=True)
class Uniqueness:
    """How many rows a set of columns singles out."""

    columns: tuple[str, ...]
    rows: int
    share: float


@dataclass(frozen=True, repr=False)
class Inspection(Described):
    """The columns of a table, and which combinations of the suggested quasi-identifiers single people out."""

    most_facts: ClassVar[int] = 60  # every column is to be judged
    rows: int
    columns: tuple[ColumnReport, ...]
    risks: tuple[Uniqueness, ...]  # each quasi-identifier alone, then pairs, then all together; riskiest first in each

    @property
    def roles(self) -> Roles:
        """The suggested roles."""
        named = {role: tuple(c.name for c in self.columns if c.role == role) for role in _LISTED}
        weight = next((c.name for c in self.columns if c.role == "weight"), None)
        quasi = named.pop("quasi")
        sets = (quasi,) if quasi else ()
        return Roles(named["identifying"], sets, named["sensitive"], named["insensitive"], weight)

    @property
    def reasons(self) -> dict[str, str]:
        """Why columns have their roles where their names do not say so, without figures: for a report to publish."""
        numeric = ("integer", "decimal")
        bare = {c.name: FIGURES.sub("many rows", c.why) for c in self.columns}
        return {c.name: bare[c.name] for c in self.columns if not why_of_name(c.name, c.role, c.kind in numeric)}

    def suggest(self) -> dict[str, Any]:
        """The suggested roles and hierarchies as keywords of `anonymize`: a start to judge, not a judgement."""
        roles = {role: list(names) for role, names in self.roles.named() if names and role != "weight"}
        weight = {"weight": self.roles.weight} if self.roles.weight else {}
        return {**roles, **weight, "hierarchies": {c.name: c.hierarchy for c in self.columns if c.hierarchy}}

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """What singles people out, then each column: what it holds, and the suggested role with its reason."""
        title = f"{count(self.rows, 'row')}, {count(len(self.columns), 'column')}"
        worst = self.risks[-1:] if len(self.risks) > 1 else self.risks
        facts = [("alone by " + ", ".join(r.columns), f"{count(r.rows, 'row')}, {percent(r.share)}") for r in worst]
        for c in self.columns:
            held = f"{c.kind}, {count(c.distinct, 'value')}" + (f", {number(c.missing)} missing" if c.missing else "")
            facts.append((c.name, f"{c.role}: {c.why} ({held})"))
        return title, facts

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


_LISTED = ("identifying", "quasi", "sensitive", "insensitive")


def inspect(data: Any) -> Inspection:
    """Columns, suggested roles and hierarchies, and the share of sample uniques of the suggested quasi-identifiers.

    `data` is any table that `anonymize` takes; of one that is out of core, a sample is inspected. What comes back shows
    itself without a value of the table, and its `suggest()` gives keywords for `anonymize`.

    >>> import sfumato as sf
    >>> table = {"age": [30, 30, 41], "sex": ["f", "m", "f"], "disease": ["flu", "flu", "flu"]}
    >>> found = sf.inspect(table)
    >>> found.risks[-1].rows, found.roles.quasi, found.roles.sensitive
    (3, (('age', 'sex'),), ('disease',))
    >>> sf.anonymize(table, **found.suggest(), k=3).table.columns  # doctest: +SKIP
    ['age', 'sex', 'disease']
    """
    frame = data if isinstance(data, pl.DataFrame) else engine_of(data).sample(LOOKED_AT)
    if not frame.height:
        raise EmptyTable("the table has no rows to inspect")
    columns: list[ColumnReport] = []
    codes: dict[str, np.ndarray] = {}
    alone: list[Uniqueness] = []
    for suggestion in suggest_together(frame):
        categories, code = encode(frame.get_column(suggestion.column))
        unique = int((categories.count == 1).sum())
        quasi, why = suggestion.role == "quasi", suggestion.why
        if why in (POINTS, RECORDS) and len(categories) > 1 and unique < (1 - OFTEN) * frame.height:
            why = f"{why}; {PEOPLE_REPEAT}"
        if quasi:
            codes[suggestion.column] = code
            alone.append(Uniqueness((suggestion.column,), unique, unique / frame.height))
        columns.append(
            ColumnReport(
                suggestion.column,
                categories.kind,
                len(categories) - categories.missing,
                int(categories.count[-1]) if categories.missing else 0,
                unique / frame.height,
                suggestion.role,
                why,
                suggest_hierarchy(categories) if quasi else None,
            )
        )
    return Inspection(frame.height, tuple(columns), tuple(_risks(codes, alone, frame.height)))


def suggest_hierarchy(categories: Categories) -> dict[str, Any]:
    """A hierarchy for a column, as it stands in a policy file: a template where one fits its name and values."""
    if (found := fitting(categories)) is not None:
        return found
    if categories.kind in ("date", "datetime"):
        return _dates(categories)
    known = [text for text in categories.text if text is not None]
    lengths = {len(text) for text in known}
    digits = all(map(str.isdecimal, known)) and min(lengths, default=0) >= 4 and len(lengths) == 1
    named = digits_of(categories.name)
    if categories.kind == "integer" and len(lengths) > 1 and named == "postcodes":
        return {"learned": True, "digits": named}  # some have lost a leading zero
    postal = named == "postcodes" or (digits and _leading_zero(categories))
    if len(categories) > 10 and max(lengths, default=0) <= 12 and postal:
        return {"redact": "right"}
    if categories.kind == "integer" and (named != "numbers" or have_gaps(categories)):
        return {"learned": True, "digits": named} if len(known) > MOST_CODES else {"flat": True}
    if categories.ordered and len(categories) > 10 and (widths := widths_of(categories)[-DOUBLED:]):
        steps = [factor * Fraction(10) ** power for factor, power in widths]
        return {"intervals": [int(step) if step.denominator == 1 else float(step) for step in steps]}
    several = len(categories) > 10 or (categories.kind == "text" and word_order(leaves_of(categories)) is not None)
    return {"learned": True} if several else {"flat": True}


def _leading_zero(categories: Categories) -> bool:
    """A number that keeps leading zeros is a code, not a quantity."""
    return any(text is not None and text.startswith("0") for text in categories.text)


def _span(categories: Categories) -> float:
    """Greatest minus least position; in days for dates and times, not finite where a value is not."""
    if categories.position is None or len(categories) == categories.missing:
        return 0.0
    known = categories.position[: len(categories) - categories.missing]
    span = float(known.max() - known.min())
    return span / 86_400 if categories.kind == "datetime" else span


def _dates(categories: Categories) -> dict[str, Any]:
    """Units of the calendar that suit how far apart dates or times lie."""
    span, clock = _span(categories), categories.kind == "datetime"
    if span <= FEW_WEEKS:
        return {"dates": ["hour", "day", "week"] if clock else ["week"]}
    if span <= 3 * 365:
        return {"dates": ["month", "quarter", "year"]}
    return {"dates": ["month", "year", "5 years", "decade", *(["20 years"] if span > 30 * 365 else [])]}


def _risks(codes: Mapping[str, np.ndarray], alone: list[Uniqueness], rows: int) -> list[Uniqueness]:
    """Sample uniques of each column alone, of pairs, and of all together."""
    frame = pl.DataFrame(dict(codes))
    richest = sorted(codes, key=lambda name: (-int(codes[name].max()), name))[:MOST_PAIRED]
    paired = [name for name in codes if name in richest]
    pairs = [_unique(frame, pair, rows) for pair in combinations(paired, 2)] if len(codes) > 2 else []
    whole = [_unique(frame, tuple(codes), rows)] if len(codes) > 1 else []
    return [*sorted(alone, key=_riskiest), *sorted(pairs, key=_riskiest), *whole]


def _unique(frame: pl.DataFrame, columns: Sequence[str], rows: int) -> Uniqueness:
    rows_of = "".join(columns) + "_"  # longer than any of them, so the name is free
    alone = int(frame.group_by(list(columns)).agg(pl.len().alias(rows_of)).get_column(rows_of).eq(1).sum())
    return Uniqueness(tuple(columns), alone, alone / rows)


def _riskiest(risk: Uniqueness) -> tuple[int, tuple[str, ...]]:
    return -risk.rows, risk.columns
