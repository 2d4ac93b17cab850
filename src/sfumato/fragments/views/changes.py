"""The least change that makes a set of views safe: small changes are tried by number, and by what they take away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import polars as pl

from sfumato.fragments.views.check import SAFE, UNKNOWN, ViewChange, assess
from sfumato.fragments.views.values import Dependency, TableView, condition_text
from sfumato.fragments.views.worlds import SearchBudget

MOST_STEPS = 3
MOST_TRIES = 300


@dataclass(frozen=True)
class ViewStep:
    """A change of one view, by what it takes away: distinct, without a condition, without a column, without a column of
    the association, or dropped."""

    cost: int
    view: int
    what: str
    condition: int = -1
    column: str = ""

    def applied(self, view: TableView) -> TableView | None:
        """The changed view, None where it is dropped."""
        if self.cost == 0:
            return replace(view, distinct=True)
        if self.cost == 1:
            return view.without_condition(self.condition)
        return view.without_column(self.column) if self.column else None


def steps_of(views: Sequence[TableView], association: tuple[str, str]) -> list[ViewStep]:
    """All changes of one thing."""
    found = []
    for place, view in enumerate(views):
        if not view.distinct:
            found.append(ViewStep(0, place, f'make "{view.name}" distinct'))
        for i, one in enumerate(view.conditions):
            said = condition_text([one])
            found.append(ViewStep(1, place, f'select by "{view.name}" without the condition {said}', condition=i))
        if len(view.columns) > 1:
            for name in view.columns:
                cost = 3 if name in association else 2
                found.append(ViewStep(cost, place, f'drop "{name}" of "{view.name}"', column=name))
        found.append(ViewStep(4, place, f'drop the view "{view.name}"'))
    return found


def changes_of(
    views: Sequence[TableView], association: tuple[str, str]
) -> Iterator[tuple[tuple[ViewStep, ...], tuple[TableView, ...]]]:
    """Changes of one step, then of two, and so on, each with the views that it gives."""
    steps = steps_of(views, association)
    for size in range(1, MOST_STEPS + 1):
        for chosen in sorted(combinations(steps, size), key=lambda taken: sum(one.cost for one in taken)):
            dropped = {one.view for one in chosen if one.cost == 4}
            if len({one.view for one in chosen} & dropped) + sum(one.view not in dropped for one in chosen) < size:
                continue  # a view that is dropped is changed for nothing
            given: list[TableView | None] = [*views]
            for one in sorted(chosen, key=lambda one: -one.condition):  # from the last condition, so that places hold
                view = given[one.view]
                if view is not None:
                    if one.column and len(view.columns) == 1:
                        break
                    given[one.view] = one.applied(view)
            else:
                yield chosen, tuple(view for view in given if view is not None)


def least_change(
    frame: pl.DataFrame,
    views: Sequence[TableView],
    association: tuple[str, str],
    k: int,
    dependencies: Sequence[Dependency],
    size_known: bool,
    budget: SearchBudget,
) -> ViewChange | None:
    """The first change after which the views are safe, None where no small one is found; `least` says whether all that
    were tried before are unsafe for certain."""
    certain = True
    for tried, (steps, changed) in enumerate(changes_of(views, association)):
        if tried == MOST_TRIES:
            return None
        found, _ = assess(frame, changed, association, k, dependencies, size_known, budget, whole=False)
        if found.verdict == SAFE:
            return ViewChange(tuple(one.what for one in steps), changed, certain)
        certain &= found.verdict != UNKNOWN
    return None
