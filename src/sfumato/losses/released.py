"""Losses of a release from its rows and labels alone: what may be published, for nothing of a hidden value enters it.

Domains are what the released labels show, or a hierarchy that somebody wrote; suppressed rows count by their number.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NewType

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Hierarchy, Recipe
from sfumato.core.label_grammar import DECIMAL, STAR, WHOLE, read_set
from sfumato.core.policy import ClassStatistics
from sfumato.core.printed import label_counts, printed, tuple_keys
from sfumato.hierarchies.dates import Dates, days_of
from sfumato.hierarchies.learned import Learned
from sfumato.hierarchies.redact import Redact
from sfumato.hierarchies.templates.template import NumberTemplate, Template
from sfumato.losses.lm import LM
from sfumato.losses.model import LabelLoss

Figure = NewType("Figure", float)  # a number that may be published
Losses = tuple[Figure | None, dict[str, Figure | None]]  # of a release, and of each column

EPOCH = dt.date(1970, 1, 1).toordinal()
RANGE = r"^\[(.+), (.+)[\])]$"
OPEN = r"^(?:< |>= )"  # one end is not told
FORMS = {
    "integer": f"^{WHOLE}$",
    "decimal": f"^{DECIMAL}$",
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "datetime": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}",
    "boolean": r"^(?:true|false)$",
}
TIMES = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f%:z")


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """A column as released: its distinct labels as they print, null where missing, and the rows of each.

    `recipe` is how it was generalised, `tree` its hierarchy where that was written by hand: both are public by
    themselves. `named` are labels that somebody gave to groups of a hierarchy made from the table: what they stand for
    is not. With `wildcard` a missing cell is one that was blanked.
    """

    name: str
    label: pl.Series
    rows: np.ndarray
    recipe: Recipe | None = None
    tree: Hierarchy | None = None
    wildcard: bool = False
    named: frozenset[str] = frozenset()

    @cached_property
    def star(self) -> np.ndarray:
        """The labels that say nothing."""
        blank = self.label.is_null() if self.wildcard else pl.Series([False] * len(self.label), dtype=pl.Boolean)
        return ((self.label == STAR).fill_null(False) | blank).to_numpy()

    @cached_property
    def said(self) -> np.ndarray:
        """The labels that say something: neither missing nor blanked."""
        return ~self.star & self.label.is_not_null().to_numpy()

    @cached_property
    def mask(self) -> str | None:
        """The sign that stands for characters that are not shown; None where labels are no masks."""
        if isinstance(self.recipe, Redact):
            return self.recipe.char
        if self.recipe is None or isinstance(self.recipe, Learned):  # prefixes of codes are learned too
            return STAR if self.label.filter(pl.Series(self.said)).str.ends_with(STAR).any() else None
        return STAR if isinstance(self.recipe, Template) and self.recipe.masks else None

    @property
    def _fills(self) -> bool:
        """Whether codes that lost their leading zeros as numbers have them in labels."""
        if isinstance(self.recipe, Learned):
            return self.recipe.digits == "postcodes"
        return isinstance(self.recipe, Template) and (self.recipe.digits > 0 or self.recipe.fill)

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Where each label starts and stops on a line, nan for those that say nothing; None where one is no range."""
        if not self.said.any() or (isinstance(self.recipe, Template) and not self.recipe.masks):
            return None
        text = self.label.set(pl.Series(~self.said), None)
        dated = isinstance(self.recipe, Dates)  # whose years look like numbers
        if dated and self._units is not None:
            return self._units
        if isinstance(self.recipe, NumberTemplate) and math.isfinite(self.recipe.least):  # how far open ranges reach
            text = text.str.replace("^< (.+)$", f"[{self.recipe.least:g}, $1)")
            text = text.str.replace("^>= (.+)$", f"[$1, {self.recipe.most:g}]")
        parts = text.str.extract_groups(RANGE).struct.unnest().get_columns()
        if self.mask is not None:
            parts = _masks(_filled(text) if self._fills else text, self.mask)
        for read in (_moments,) if dated else (_numbers, _moments):
            low, high = (read(part.fill_null(text)).to_numpy() for part in parts)
            if np.isfinite(low[self.said]).all() and np.isfinite(high[self.said]).all():
                return low, high
        return None

    @cached_property
    def kind(self) -> str:
        """The kind of the values that labels are about, one of `categories.KINDS`, as far as the labels tell."""
        text = self.label.filter(pl.Series(self.said)).str.replace(OPEN, "")
        parts = text.str.extract_groups(RANGE).struct.unnest().get_columns()
        every = pl.concat([part.fill_null(text) for part in parts])
        if every.is_empty() or isinstance(self.recipe, Dates):
            return "date" if isinstance(self.recipe, Dates) else "text"
        return next((kind for kind, form in FORMS.items() if every.str.contains(form).all()), "text")

    @cached_property
    def _units(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The first and the last day of labels of `hierarchies.dates`, in days since 1970; None where one is none."""
        days = [days_of(text) if said else None for text, said in zip(self.label.to_list(), self.said, strict=True)]
        if any(day is None for day, said in zip(days, self.said, strict=True) if said):
            return None
        at = np.array([(np.nan, np.nan) if day is None else [end.toordinal() - EPOCH for end in day] for day in days])
        return at[:, 0], at[:, 1]

    @cached_property
    def leaves(self) -> tuple[np.ndarray, int] | None:
        """How many values each label stands for, and how many there are; None where a label does not tell.

        Of a written hierarchy they are counted there, of a template among all codes that there are, else among the
        values that stand in labels.
        """
        if self.tree is not None:
            under = self._nodes
            return None if under is None else (under[0], len(self.tree.leaves))
        if not self.said.any():
            return np.where(self.star, 2.0, 1.0), 2  # all or nothing, however many there are
        if isinstance(self.recipe, Template) and self.recipe.size is not None:
            sizes = [self.recipe.size(text) if said else 1 for text, said in zip(self.label, self.said, strict=True)]
            return np.where(self.star, self.recipe.domain, np.array(sizes, np.float64)), self.recipe.domain
        text = self.label.set(pl.Series(~self.said), None)
        if self.named.intersection(text):
            return None
        masked = self.mask is not None and text.str.contains(self.mask, literal=True).any()
        if masked or isinstance(self.recipe, Dates | Template) or text.str.contains(rf"{OPEN}|{RANGE}").any():
            return None
        sets = text.str.extract(r"^\{(.*)\}$").str.split(", ")
        run = text.set(sets.is_not_null(), None).str.extract_groups(r"^(.+?)\.\.(.+)$").struct.unnest()
        first, last = (end.fill_null(text).set(sets.is_not_null(), None) for end in run.get_columns())
        seen = pl.concat([sets.explode(), first, last]).drop_nulls().unique().sort()  # the order of text, as in labels
        blank = int(self.label.is_null().any() and not self.wildcard)  # missing is a value
        low, high = (seen.search_sorted(end).cast(pl.Float64).to_numpy() for end in (first, last))
        number = np.where(sets.is_not_null().to_numpy(), sets.list.len().fill_null(0).to_numpy(), high - low + 1)
        domain = len(seen) + blank
        return np.where(self.star, domain, np.where(self.said, number, 1.0)), domain

    @cached_property
    def _nodes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """For each label the leaves of the written hierarchy under it, and its lowest level there."""
        assert self.tree is not None
        at: dict[str | None, tuple[int, int]] = {}
        for level, (names, line) in enumerate(zip(self.tree.labels, self.tree.ancestor, strict=True)):
            for name, count in zip(names, np.bincount(line, minlength=len(names)).tolist(), strict=True):
                at.setdefault(name, (count, level))
        every = (len(self.tree.leaves), self.tree.height)
        at[None] = every if self.wildcard else (1, 0)
        at[STAR] = every
        leaves = set(self.tree.leaves)
        found = [at.get(text) or _listed(text, leaves) for text in self.label.to_list()]
        known = np.array(found, np.float64).reshape(-1, 2)
        return (known[:, 0], known[:, 1]) if known[:, 0].all() else None

    def range_share(self) -> np.ndarray | None:
        """The share of the line that each label covers: the line runs from the least end of a label to the greatest."""
        if self.ends is None:
            return None
        low, high = self.ends
        span = high[self.said].max() - low[self.said].min()
        wide = np.nan_to_num((high - low) / span if span else low * 0, nan=0.0)
        return np.where(self.star, 1.0, wide)

    def lm(self) -> np.ndarray | None:
        """Cost of a row under each label, by LM."""
        shares = None if self.tree is not None and self.leaves is not None else self.range_share()
        if shares is not None or self.leaves is None:
            return shares
        number, domain = self.leaves
        return np.where(self.star, 1.0, (number - 1) / max(domain - 1, 1))

    def ncp(self) -> np.ndarray | None:
        """Cost of a row under each label, by NCP."""
        shares = self.range_share()
        if shares is not None or self.leaves is None:
            return shares
        number, domain = self.leaves
        return np.where(self.star, 1.0, np.where(number > 1, number / max(domain, 1), 0.0))

    def level(self) -> np.ndarray | None:
        """The level of each label in a written hierarchy."""
        found = None if self.tree is None or self._nodes is None else self._nodes[1]
        return None if found is None or np.isnan(found).any() else found


def _filled(text: pl.Series) -> pl.Series:
    """Codes with the leading zeros that make them as long as the longest label."""
    longest = text.str.len_chars().max()
    padded = text.str.zfill(longest if isinstance(longest, int) else 0)
    return padded.set((~text.str.contains(r"^[0-9]+$")).fill_null(True), None).fill_null(text)


def _masks(text: pl.Series, char: str) -> list[pl.Series]:
    """The first and the last code of each mask, 08000 and 08099 of 080**; null where a mask is none of digits."""
    digits = text.str.contains(rf"^[0-9]+{re.escape(char)}*$") & (text.str.len_chars() == text.str.len_chars().max())
    codes = text.set(~digits.fill_null(True), "no code")
    return [codes.str.replace_all(char, digit, literal=True) for digit in "09"]


def released_column(
    column: pl.Series, row_counts: pl.Series | None, recipe: Recipe | None, tree: Hierarchy | None, wildcard: bool
) -> ReleasedColumn:
    """The labels of a released column; with `row_counts` an entry stands for so many rows."""
    if row_counts is None:
        table = label_counts(column)
    else:
        table = pl.DataFrame({"label": printed(column), "rows": row_counts.cast(pl.Int64)})
        table = table.group_by("label").agg(pl.col("rows").sum())
    table = table.sort("label", nulls_last=True)
    label, count = table.get_column("label"), table.get_column("rows").to_numpy()
    return ReleasedColumn(column.name, label, count, recipe, tree, wildcard)


def class_counts(frame: pl.DataFrame, row_counts: pl.Series | None, names: Iterable[str]) -> dict[int, int]:
    """How many classes there are of each size, by these columns together."""
    of = tuple_keys([frame.get_column(name) for name in names])
    rows = pl.lit(1, pl.Int64) if row_counts is None else row_counts.cast(pl.Int64)
    sizes = of.with_columns(size=rows).group_by(of.columns).agg(pl.col("size").sum()).get_column("size")
    return dict(sizes.value_counts(name="classes").sort("size").iter_rows())


def released_loss(
    loss: Any, columns: Mapping[str, ReleasedColumn | None], sizes: Mapping[int, int], suppressed: int, k: int
) -> Losses:
    """The loss of a release and that of each column (LM where the loss is one of class sizes); None: not to be told.

    Parameters: `columns`, None for one whose labels are too many to look at; `sizes`, how many classes there are of
    each size; `suppressed`, how many rows are absent; `k`, for C_avg.

    >>> age = ReleasedColumn("age", pl.Series(["[20, 30]", "[40, 60]"]), np.array([2, 2]))
    >>> released_loss(LM(), {"age": age}, {2: 2}, 0, 2)
    (0.375, {'age': 0.375})
    """
    by_label = loss if loss.by_label else LM()
    per_column = {name: _of_column(by_label, column, suppressed) for name, column in columns.items()}
    if by_label is not loss:
        return _of_sizes(loss, sizes, suppressed, k), per_column
    weights = [(loss.weights or {}).get(name, 1.0) for name in columns]
    known = [0.0 if x is None else x for x in per_column.values()]
    if any(x is None and weight for x, weight in zip(per_column.values(), weights, strict=True)):
        return None, per_column
    return _figure(float(loss.combine(np.array(known), np.array(weights)))), per_column


def _of_column(loss: LabelLoss, column: ReleasedColumn | None, suppressed: int) -> Figure | None:
    cost = None if column is None else loss.released(column)
    if cost is None or column is None:
        return None
    if loss.by_level:
        return _figure(float(cost.max()))  # of a level vector, whose suppressed rows are free
    return _figure(float((cost * column.rows).sum() + suppressed) / float(column.rows.sum() + suppressed))


def _of_sizes(loss: Any, sizes: Mapping[int, int], suppressed: int, k: int) -> Figure:
    classes, rows = sum(sizes.values()), sum(size * n for size, n in sizes.items())
    squares = float(sum(size**2 * n for size, n in sizes.items()))
    statistics = ClassStatistics(rows + suppressed, suppressed, classes, squares, classes, squares, k, suppressed)
    return _figure(float(loss.value(statistics)))


def _figure(value: float) -> Figure:
    """To twelve digits: the last bits depend on the order of a sum."""
    return Figure(float(f"{value:.12g}"))


def _listed(label: str | None, leaves: set[str]) -> tuple[float, float]:
    """How many leaves a set such as `{a, b}` names, and nan for its level, which it has not; 0 for what is no set."""
    words = read_set(label or "") or [""]
    return (len(words) if leaves.issuperset(words) else 0), np.nan


def _numbers(text: pl.Series) -> pl.Series:
    return text.cast(pl.Float64, strict=False)


def _moments(text: pl.Series) -> pl.Series:
    """Days since 1970."""
    found = pl.Series([None] * len(text), dtype=pl.Float64)
    for form in TIMES:
        moment = text.str.to_datetime(form, strict=False, time_unit="us")
        found = found.fill_null(moment.to_physical().cast(pl.Float64) / 86_400e6)
    return found
