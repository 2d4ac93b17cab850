"""Explicit order: consecutive values in groups of given fan-outs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.exact import printed
from sfumato.core.hierarchy import Categories, Hierarchy, grow, leaves_of
from sfumato.core.label_grammar import set_text
from sfumato.core.parameters import Written, YesNo, yes_or_no
from sfumato.errors import HierarchyError, PolicyError


@dataclass(frozen=True)
class Order:
    """Values in a given order; level i joins groups of `fanouts[i - 1]` consecutive nodes of the level below. What is
    `learned` has the values of the table: labels name none that only suppressed rows have."""

    values: tuple[str, ...]
    fanouts: tuple[int, ...]
    learned: bool = False

    def __post_init__(self) -> None:
        faults = []
        twice = sum(count > 1 for count in Counter(self.values).values())
        if twice:
            faults.append(f"{twice} values stand twice in order")
        if not self.values:
            faults.append("order needs values")
        if any(isinstance(f, bool) or not isinstance(f, int) or f < 2 for f in self.fanouts):
            faults.append("every fan-out must be an integer of at least 2")
        if faults:
            raise PolicyError("this order makes no hierarchy", faults)

    def build(self, categories: Categories) -> Hierarchy:
        """One level per fan-out; the level that holds all values is the root and prints as `*`."""
        known, values = set(self.values), leaves_of(categories)
        lost = sum(text not in known for text in values)
        if lost:
            raise HierarchyError(f'order does not cover {lost} of {len(values)} values of "{categories.name}"')
        levels, width = [], 1
        for fanout in self.fanouts:
            width *= fanout
            if width >= len(self.values):
                break
            runs = [self.values[i : i + width] for i in range(0, len(self.values), width)]
            levels.append((np.arange(len(self.values)) // width, [set_text(run) for run in runs]))
        return grow(categories.name, self.values, levels, learned=self.learned)

    def describe(self) -> str:
        """A few words for the manifest."""
        values = "the values of the table" if self.learned else f"{len(self.values)} values"
        return f"order of {values}, fan-outs {', '.join(map(str, self.fanouts))}"


def orders_of(
    given: Mapping[str, Any] | None, hierarchies: Mapping[str, Any] | None = None
) -> dict[str, tuple[str, ...]]:
    """The order of the values of each column that has one: a list of them, or an `order` among the hierarchies.

    >>> orders_of({"size": ["S", "M", "L"]}, {"pay": order(["low", "high"]), "age": "intervals:5"})
    {'pay': ('low', 'high'), 'size': ('S', 'M', 'L')}
    """
    from sfumato.hierarchies.spec import parse

    found = {}
    for name, spec in (hierarchies or {}).items():
        recipe = spec if isinstance(spec, Hierarchy | Order) or spec is None else parse(spec)
        if isinstance(recipe, Order):
            found[name] = recipe.values
    return found | {name: order(values).values for name, values in (given or {}).items()}


def order_of_column(
    column: pl.Series, given: tuple[str, ...] | None, hierarchies: Mapping[str, Any]
) -> tuple[str, ...] | None:
    """The order of the values of a column: as given, else that of an `order` among the hierarchies, or of its type.

    >>> order_of_column(pl.Series("size", ["M"], pl.Enum(["S", "M", "L"])), None, {})
    ('S', 'M', 'L')
    """
    stated = given or orders_of(None, {name: spec for name, spec in hierarchies.items() if name == column.name})
    if isinstance(stated, tuple):
        return stated
    dtype = column.dtype
    return stated.get(column.name) or (tuple(dtype.categories) if isinstance(dtype, pl.Enum) else None)


def ranks_in(values: Sequence[str], texts: Sequence[str | None], name: str) -> np.ndarray:
    """The place of each text in an order, nan where it is missing; texts that the order lacks are an error."""
    place = {value: float(i) for i, value in enumerate(values)}
    lost = sum(text is not None and text not in place for text in texts)
    if lost:
        raise HierarchyError(f'order does not cover {lost} of {len(texts)} values of "{name}"')
    return np.array([np.nan if text is None else place[text] for text in texts])


def order(
    values: Annotated[Iterable[object], Written("list")],
    fanouts: Annotated[Iterable[int] | None, Written("list")] = None,
    learned: Annotated[bool, YesNo()] = False,
) -> Order:
    """Values in a given order, consecutive ones grouped by fan-outs.

    `values`: the values, the least first. `fanouts`: how many nodes of a level go into one of the next, from the bottom
    up; the last group may be smaller. Without fan-outs two nodes make one, level by level. `learned`: whether the
    values were read off the table, so that groups list those alone that are released. Groups print as `{low, mid}`,
    those of more than eight values as `first..last`.

    >>> order(["low", "mid", "high", "top"], fanouts=[2, 2]).describe()
    'order of 4 values, fan-outs 2, 2'
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise PolicyError("order takes a list of values", got=type(values).__name__)
    values = list(values)
    if None in values:
        raise PolicyError("order takes values, not None: missing values have a place of their own")
    if fanouts is not None and (isinstance(fanouts, str) or not isinstance(fanouts, Iterable)):
        raise PolicyError("fanouts of order must be a list of integers", got=type(fanouts).__name__)
    listed = tuple(map(printed, values))
    steps = [2] * max(1, (len(listed) - 1).bit_length()) if fanouts is None else fanouts
    return Order(listed, tuple(steps), yes_or_no(learned, "learned of order"))
