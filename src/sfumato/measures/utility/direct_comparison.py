"""Direct comparison: J. Domingo-Ferrer, V. Torra, Disclosure control methods and information loss, 2001."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from sfumato.core.parameters import OneOf, checked, mapping
from sfumato.core.wording import count, percent, quoted
from sfumato.hierarchies.order import orders_of, ranks_in
from sfumato.measures.arguments import HIERARCHIES, KEY, ORIGINAL, RELEASED, ROWS, SOME_COLUMNS
from sfumato.measures.attacks.matching import gather
from sfumato.measures.measure import Measure
from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import pair_of

OVER = ("m - 1", "m")


@checked
def direct_comparison(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    distance: Annotated[str, OneOf(("equal", "ranked"), help="how far apart two values are")] = "equal",
    order: Mapping[str, Any] | None = None,
    over: Annotated[str, OneOf(OVER, help="what ranks are divided by")] = "m - 1",
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """The mean distance of a released cell from the original one, in 0..1.

    "equal": 0 where they are equal, 1 where not. "ranked": the difference of their ranks among the m distinct original
    values in order, over m - 1, so that the first and the last are at distance 1, or `over` m, as some texts have it.
    Numbers and dates have an order, and texts that which `order` gives them, or an `order` among the hierarchies: all
    categories, the least first, m of them. Columns without one are compared by "equal", and the sentence names them.
    A label that covers several values is each of them with the same chance, so that it is off by 1 - 1/M where the
    value is one of its M. Rows that both tables have are compared; a value that the original lacks is at distance 1, or
    where `order` has it, at that of its rank. The baseline is a release that hides every value.

    >>> direct_comparison({"sex": ["f", "m", "m", "m"]}, {"sex": ["f", "f", "m", "*"]}).value
    0.375
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    names, of = pair.names(columns), pair.aligned("direct comparison")
    orders = orders_of(mapping(order, "order", names), {n: h for n, h in pair.hierarchies.items() if n in names})
    ranked = {name: _ranks(pair.column(name), orders.get(name)) for name in names} if distance == "ranked" else {}
    scale = {name: max(ranks.m - (over == OVER[0]), 1) for name, ranks in ranked.items() if ranks is not None}
    means = [_mean_distance(pair.column(name), of, ranked.get(name), scale.get(name, 1)) for name in names]
    per_column = dict(zip(names, means, strict=True))
    value = float(np.mean(means))
    baseline = float(np.mean([_hidden(pair.column(n), of, ranked.get(n), scale.get(n, 1)) for n in names]))
    sentence = (
        f"Compared cell by cell, values of {count(len(names), 'column')} are on average {percent(value)} off (0%: all "
        f"as before, 100%: as far off as can be); with every value hidden it would be {percent(baseline)}."
    )
    details: dict[str, Any] = {"per_column": per_column, "distance": distance, "percent": 100 * value}
    if ranked:
        unordered = [name for name, ranks in ranked.items() if ranks is None]
        details |= {"over": over, "categories": {n: r.m for n, r in ranked.items() if r is not None}}
        details["without order"] = unordered
        sentence += f" Ranks are divided by {over}, m being the number of categories." if scale else ""
        sentence += f" {quoted(unordered)} had no order and counted as equal or not." if unordered else ""
    return Measure("direct-comparison", value, (0.0, 1.0), sentence, baseline=baseline, details=details)


class Ranks(NamedTuple):
    """The place of each value of a column, nan for missing, and the number of categories."""

    place: np.ndarray
    m: int


def _ranks(column: ComparedColumn, order: tuple[str, ...] | None) -> Ranks | None:
    """The ranks of the values that the original has, then of those that only the release has; None without order."""
    if order is not None:
        return Ranks(ranks_in(order, column.support, column.name), len(order))
    if not column.attribute.categories.ordered:
        return None
    place = np.full(len(column.support), np.nan)
    place[: column.values] = np.arange(column.values)
    return Ranks(place, column.values)


def _hidden(column: ComparedColumn, of: np.ndarray, ranks: Ranks | None, scale: int) -> float:
    """The mean distance where every label covers every value."""
    m = column.values
    if ranks is None or m < 2:
        return 1 - 1 / m
    place = ranks.place[:m]
    known = np.sort(place[~np.isnan(place)])
    below = np.concatenate([[0.0], np.cumsum(known)])
    at = np.searchsorted(known, place)
    total = place * (2 * at - len(known)) - 2 * below[at] + below[-1]
    far = np.where(np.isnan(place), m - 1, total / scale + m - len(known))  # what has no place is 0 or 1 away
    return float(far[column.code[of]].mean() / m)


def _mean_distance(column: ComparedColumn, of: np.ndarray, ranks: Ranks | None, scale: int) -> float:
    """The expected distance of a label's values from the original value, on average over the released rows."""
    met = column.meetings(of)
    code, label, n = met.code, met.label, max(len(of), 1)
    if ranks is None or column.values < 2:
        return float((1 - met.covered / np.maximum(column.size[label], 1)) @ met.count / n)
    width = column.size[label]
    owner = np.repeat(np.arange(len(code)), width)
    members = gather(column.start, column.members, label)
    far = np.abs(ranks.place[members] - ranks.place[code][owner]) / scale
    far = np.where(np.isnan(far), members != code[owner], np.minimum(far, 1.0))  # what has no place is 0 or 1 away
    return float(np.bincount(owner, far, len(code)) / np.maximum(width, 1) @ met.count / n)
