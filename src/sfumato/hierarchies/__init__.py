"""Hierarchies: one builder per file. A builder gives a recipe, and the recipe builds once the values are known."""

from __future__ import annotations

from sfumato.core.hierarchy import Recipe
from sfumato.core.registry import Registry, Variant
from sfumato.hierarchies.dates import dates
from sfumato.hierarchies.file import file
from sfumato.hierarchies.flat import flat
from sfumato.hierarchies.intervals import intervals
from sfumato.hierarchies.learned import learned
from sfumato.hierarchies.levels import levels
from sfumato.hierarchies.order import order
from sfumato.hierarchies.redact import redact
from sfumato.hierarchies.spec import parse
from sfumato.hierarchies.tree import tree
from sfumato.hierarchies.wide import wide

__all__ = [
    "HIERARCHIES",
    "dates",
    "file",
    "flat",
    "intervals",
    "learned",
    "levels",
    "order",
    "parse",
    "redact",
    "tree",
    "wide",
]

_OURS: dict[str, Variant[Recipe]] = {
    "intervals": Variant(intervals, example=intervals(5, 10, 20), cite=""),
    "redact": Variant(redact, example=redact("right"), cite=""),
    "dates": Variant(dates, example=dates("month", "year", "decade"), cite=""),
    "levels": Variant(levels, example=levels("*"), cite=""),
    "order": Variant(order, example=order(["low", "mid", "high", "top"], fanouts=[2, 2]), cite=""),
    "tree": Variant(tree, example=tree([("flu", "lung"), ("asthma", "lung"), ("lung", "*"), ("ulcer", "*")]), cite=""),
    "wide": Variant(wide, example=wide([("flu", "lung", "*"), ("ulcer", "stomach", "*")]), cite=""),
    "file": Variant(file, example=file("disease.csv"), cite=""),
    "flat": Variant(flat, example=flat(), cite=""),
    "learned": Variant(learned, example=learned(), cite=""),
}
HIERARCHIES = Registry("hierarchies", "hierarchy", (Recipe,), _OURS)
