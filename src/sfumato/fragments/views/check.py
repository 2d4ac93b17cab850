"""Whether a set of views keeps an association hidden: everybody keeps k values.

Yao, Wang, Jajodia, "Checking for k-anonymity violation by views", VLDB 2005.

An association cover of a person is a set of values of which they have one in every table that the views can come from.
The views are k-anonymous where no cover has fewer than k values. Joining shows covers (`joins`), exchanging shows
tables (`swaps`); where the two do not meet, tables are searched for (`worlds`). Nothing is called safe but by tables
that exist.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import real_number, whole_number, yes_or_no
from sfumato.core.progress import cancellable
from sfumato.engines.memory.table import enter
from sfumato.errors import MissingExtra
from sfumato.fragments.views.joins import TooManyKinds, covers, is_exact, named_people, row_kinds
from sfumato.fragments.views.published import COUNT, Published, publish
from sfumato.fragments.views.swaps import possible_values
from sfumato.fragments.views.values import Dependency, TableView, association_of, dependencies_of, views_of
from sfumato.fragments.views.worlds import SearchBudget, Worlds, least_cover

SAFE, UNSAFE, UNKNOWN = "safe", "unsafe", "unknown"
UNBOUNDED = 2**62


@dataclass(frozen=True)
class Assessment:
    """What some views give away: the verdict, bounds on the least number of values that anybody keeps, how many people
    are named, how many of them are shown to keep fewer than k, and how many are undecided."""

    verdict: str
    least: int | None
    most: int | None
    people: int
    below: int
    undecided: int
    reason: str

    def plain(self) -> dict[str, Any]:
        """The assessment as plain values."""
        return {name: getattr(self, name) for name in Assessment.__dataclass_fields__}


@dataclass(frozen=True)
class JoinedViews:
    """Two views and the columns on which everybody can join them."""

    views: tuple[str, str]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ViewChange:
    """Changes that make a set of views safe, in words; the views that they give; and whether all smaller changes were
    found not to do it."""

    steps: tuple[str, ...]
    views: tuple[TableView, ...]
    least: bool


@dataclass(frozen=True)
class ViewsFinding:
    """What a set of views gives away of an association: see `check_views`."""

    association: tuple[str, str]
    k: int
    views: tuple[TableView, ...]
    dependencies: tuple[Dependency, ...]
    overall: Assessment
    alone: tuple[Assessment, ...]
    joins: tuple[JoinedViews, ...]
    change: ViewChange | None = None
    searches: int = 0
    limit_hit: bool = False
    rows: tuple[int, ...] | None = field(default=None, repr=False)

    @property
    def safe(self) -> bool:
        """Whether everybody is shown to keep k values."""
        return self.overall.verdict == SAFE

    @property
    def verdict(self) -> str:
        """safe, unsafe or unknown."""
        return self.overall.verdict

    def plain(self) -> dict[str, Any]:
        """The finding as plain values."""
        change = self.change
        told: dict[str, Any] = {
            "association": [*self.association],
            "k": self.k,
            **self.overall.plain(),
            "views": [view.plain() | own.plain() for view, own in zip(self.views, self.alone, strict=True)],
            "joins": [{"views": [*one.views], "columns": [*one.columns]} for one in self.joins],
            "dependencies": [{"from": [*one.columns], "to": one.to} for one in self.dependencies],
            "change": change
            and {"steps": [*change.steps], "views": [one.plain() for one in change.views], "least": change.least},
            "searches": self.searches,
            "limit_hit": self.limit_hit,
        }
        return told | ({} if self.rows is None else {"rows": [*self.rows]})


@dataclass(eq=False)
class Bounds:
    """Per named person, bounds on the least number of values of which one is certainly theirs."""

    people: np.ndarray
    low: np.ndarray
    high: np.ndarray
    reason: str = ""

    def assessment(self, k: int) -> Assessment:
        """What they say for k."""
        if not len(self.people):
            return Assessment(SAFE, None, None, 0, 0, 0, "nobody is named")
        below, safe = self.high < k, self.low >= k
        verdict = UNSAFE if below.any() else SAFE if safe.all() else UNKNOWN
        most = int(self.high.min(initial=UNBOUNDED))
        undecided = int((~below & ~safe).sum())
        return Assessment(
            verdict,
            int(self.low.min()),
            None if most == UNBOUNDED else most,
            len(self.people),
            int(below.sum()),
            undecided,
            self.reason if undecided else "",
        )


def assess(
    frame: pl.DataFrame,
    views: Sequence[TableView],
    association: tuple[str, str],
    k: int,
    dependencies: Sequence[Dependency],
    size_known: bool,
    budget: SearchBudget,
    whole: bool = True,
) -> tuple[Assessment, np.ndarray]:
    """What views give away, and the rows of those who are shown to keep fewer than k values. Without `whole`, the first
    of them is enough."""
    nobody = np.zeros(0, np.int64)
    for name in association:
        if not any(name in (*view.columns, *(one.column for one in view.conditions)) for view in views):
            return Assessment(SAFE, None, None, 0, 0, 0, f'no view shows "{name}", nor selects by it'), nobody
    published = publish(frame, views, association, dependencies, size_known)
    bounds = _bounds(published, k, budget, whole)
    below = bounds.people[bounds.high < k]
    rows = np.flatnonzero(np.isin(published.table[published.identity].to_numpy(), below))
    return bounds.assessment(k), rows


def _bounds(published: Published, k: int, budget: SearchBudget, whole: bool) -> Bounds:
    who = published.identity
    people = named_people(published)
    if not len(people):
        return Bounds(people, people, people)
    swapped = possible_values(published)
    bounds = Bounds(people, np.ones(len(people), np.int64), np.full(len(people), UNBOUNDED))
    _raise(bounds.low, people, swapped.group_by(who).agg(pl.len().cast(pl.Int64).alias(COUNT)), who)
    try:
        views = [*published.views, *published.differences()]
        kinds = row_kinds(published, views)
        joined = covers(published, kinds, views)
        joined = joined.filter(pl.col(who).is_in(people))
        np.minimum.at(bounds.high, np.searchsorted(people, joined[who].to_numpy()), joined[COUNT].to_numpy())
        if is_exact(published):
            kinds = row_kinds(published, published.views)
            _raise(bounds.low, people, covers(published, kinds, published.views), who)
    except TooManyKinds:
        bounds.reason = "the views join to more rows than there is room for"
        kinds = None
    alike = profiles(published, people)
    for own in alike:
        bounds.low[own], bounds.high[own] = bounds.low[own].max(), bounds.high[own].min()
    _check(bounds)
    if kinds is not None and not (not whole and (bounds.high < k).any()):
        _search(published, kinds, bounds, alike, swapped, k, budget, whole)
    return bounds


def _raise(low: np.ndarray, people: np.ndarray, told: pl.DataFrame, who: str) -> None:
    told = told.filter(pl.col(who).is_in(people))
    np.maximum.at(low, np.searchsorted(people, told[who].to_numpy()), told[COUNT].to_numpy())


def _check(bounds: Bounds) -> None:
    assert bool((bounds.low <= bounds.high).all()), "a table was found that the join rules out"


def _search(
    published: Published,
    kinds: pl.DataFrame,
    bounds: Bounds,
    alike: Sequence[np.ndarray],
    swapped: pl.DataFrame,
    k: int,
    budget: SearchBudget,
    whole: bool,
) -> None:
    """Decide by search where the join and the swaps do not: first against k, then the least number of all."""
    worlds: Worlds | None = None
    true = published.table.select(published.identity, published.value)
    for closer in (False, True):
        for own in sorted(alike, key=lambda own: (int(bounds.low[own[0]]), int(own[0]))):
            low, high = int(bounds.low[own[0]]), int(bounds.high[own[0]])
            least = int(bounds.high.min())
            wanted = min(high, least if closer else k)
            if low >= wanted or (closer and (not whole or least >= k)) or (high < k and not closer):
                continue
            if worlds is None:
                try:
                    worlds = Worlds(published, kinds)
                except MissingExtra as error:
                    bounds.reason = f"the exact search was left out: {error.what}"
                    return
                except TooManyKinds:
                    bounds.reason = "the views join to more rows than the exact search has room for"
                    return
            person = int(bounds.people[own[0]])
            mine = [frame.filter(pl.col(published.identity) == person) for frame in (true, swapped)]
            values = [one[published.value].to_list() for one in mine]
            known = [frozenset(values[0]), *(frozenset([value]) for value in values[1])]
            low, found = least_cover(worlds, person, known, wanted, budget)
            bounds.low[own] = np.maximum(bounds.low[own], low)
            bounds.high[own] = np.minimum(bounds.high[own], UNBOUNDED if found is None else found)
            _check(bounds)
            if found is None and low < wanted:
                bounds.reason = "the exact search was not finished within its limits"
            if not whole and (found or k) < k:
                return


def profiles(published: Published, people: np.ndarray) -> list[np.ndarray]:
    """Places of people whom the views show alike in all but who they are: what is possible for one is for the other."""
    who = published.identity
    told = [pl.DataFrame(schema={who: pl.Int64, "shown": pl.String})]
    for number, view in enumerate(published.views):
        if who in view.columns:
            rest = [name for name in view.columns if name != who]
            often = pl.lit(1) if view.distinct else pl.col(COUNT)
            shown = pl.concat_str([pl.lit(number), often, *map(pl.col, rest)], separator=",")
            told.append(view.rows.select(who, shown.alias("shown")))
    if who in published.classes:
        classes = pl.Series(published.classes[who][people].astype(np.str_).tolist(), dtype=pl.String)
        told.append(pl.DataFrame({who: people, "shown": "in " + classes}))
    alike = pl.concat(told).sort(who, "shown").group_by(who, maintain_order=True).agg("shown")
    alike = alike.with_columns(pl.col("shown").list.join(";"))
    place = np.searchsorted(people, alike[who].to_numpy())
    groups = alike.with_columns(pl.Series("place", place)).group_by("shown", maintain_order=True).agg("place")
    return [np.asarray(own) for own in groups["place"].to_list()]


@cancellable
def check_views(
    table: Any,
    views: Any,
    *,
    association: Sequence[str],
    k: int,
    dependencies: Any = (),
    size_known: bool = True,
    change: bool = True,
    rows: bool = False,
    steps: int = 2000,
    seconds: float = 60,
    progress: Any = None,
) -> ViewsFinding:
    """Whether views of one private table keep an association hidden, all published together.

    They do where everybody whom a view names keeps at least k values: no set of fewer than k values has one of theirs
    in every table that the views can come from (association covers of Yao, Wang, Jajodia 2005). "safe" is shown by
    such tables, "unsafe" by a cover; where neither is found within the limits the verdict is "unknown".

    Parameters
    ----------
    table
        The private table, of any kind that `sf.anonymize` takes.
    views
        What is published or is to be: `sf.TableView`, or mappings with name, columns, where, distinct.
    association
        The column of who somebody is, and the column that must not be linked to it.
    k
        How many values everybody must keep; 2 or more.
    dependencies
        Functional dependencies that the attacker knows, as {"from": ["zip"], "to": "city"}.
    size_known
        Whether the attacker knows how many rows the private table has.
    change
        Look for the least change that makes the views safe, where they are not shown to be.
    rows
        Name the rows (from 0) of those who keep fewer than k values. For the owner alone.
    steps, seconds
        Limits of the exact search: integer programs, and time, each of the check and of the search for a change.
    progress
        Called with a message and a share, as of every verb.

    Returns
    -------
    ViewsFinding
        With `safe`, `verdict`, `overall`, each view `alone`, `joins`, and `change`.

    Raises
    ------
    PolicyError, ColumnError
        For views, columns and dependencies that make no sense.

    Examples
    --------
    >>> people = {"name": ["Ann", "Eve", "Bob"], "sex": ["F", "F", "M"], "disease": ["flu", "cold", "flu"]}
    >>> views = [TableView("register", ["name", "sex"]), TableView("ward", ["sex", "disease"])]
    >>> finding = check_views(people, views, association=("name", "disease"), k=2)
    >>> finding.verdict, finding.overall.most, finding.overall.below, finding.change.steps
    ('unsafe', 1, 1, ('drop "sex" of "register"',))

    References
    ----------
    Yao, Wang, Jajodia, "Checking for k-anonymity violation by views", VLDB 2005.
    """
    from sfumato.fragments.views.changes import least_change

    own = views_of(views)
    linked = association_of(association)
    k = whole_number(k, "k", 2)
    known = dependencies_of(dependencies)
    size_known, change, rows = (
        yes_or_no(given, name) for given, name in ((size_known, "size_known"), (change, "change"), (rows, "rows"))
    )
    steps, seconds = whole_number(steps, "steps", 0), real_number(seconds, "seconds", 0, above=True)
    frame, _ = enter(table)
    publish(frame, own, linked, known)  # whatever is wrong with them is told first
    more = (linked, k, known, size_known)
    budget = SearchBudget(steps, time.monotonic() + seconds)
    overall, below = assess(frame, own, *more, budget)
    alone = tuple(assess(frame, (view,), *more, budget)[0] for view in own)
    finding = ViewsFinding(
        linked,
        k,
        own,
        known,
        overall,
        alone,
        pairs_that_join(own),
        searches=budget.used,
        limit_hit=budget.ended,
        rows=tuple(below.tolist()) if rows else None,
    )
    if finding.safe or not change:
        return finding
    changed = least_change(frame, own, *more, SearchBudget(steps, time.monotonic() + seconds))
    return replace(finding, change=changed)


def pairs_that_join(views: Sequence[TableView]) -> tuple[JoinedViews, ...]:
    """Pairs of views with common columns."""
    found = []
    for one, other in combinations(views, 2):
        common = tuple(name for name in one.columns if name in other.columns)
        if common:
            found.append(JoinedViews((one.name, other.name), common))
    return tuple(found)
