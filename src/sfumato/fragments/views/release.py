"""Views that leave together: checked against the private table, and proven once more from what is published alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from sfumato.core.conditions import expression
from sfumato.core.fingerprint import key
from sfumato.core.masked import typed
from sfumato.core.parameters import real_number, whole_number, yes_or_no
from sfumato.core.progress import cancellable
from sfumato.core.wording import count
from sfumato.criteria.sets import ViewKAnonymity
from sfumato.criteria.sets.published import PublishedSet, TableLink
from sfumato.engines.memory.table import MemoryTable, forget_others
from sfumato.errors import Infeasible, PolicyError
from sfumato.fragments.views.check import check_views
from sfumato.fragments.views.published import plain_frame
from sfumato.fragments.views.values import TableView, association_of, dependencies_of, views_of
from sfumato.release.release_set import ReleaseSet, SetTable, in_order, make_set

MADE_BY = "views"
NAME = re.compile(r"\w[\w -]{0,99}")  # of a view that becomes a file


@cancellable
def release_views(
    table: Any,
    views: Any,
    *,
    association: Sequence[str],
    k: int,
    dependencies: Any = (),
    size_known: bool = True,
    steps: int = 2000,
    seconds: float = 60,
    progress: Any = None,
) -> ReleaseSet:
    """Publish several views of one private table, with the promise that they keep an association hidden.

    They are checked as `check_views` does, with the private table at hand, and then by other code from the published
    tables alone, as whoever reads them can: `sf.verify` of the saved folder does that again. The second proof is
    simpler, and there are safe views that it does not reach: these are refused, too.

    Parameters
    ----------
    table, views, association, k, dependencies, size_known, steps, seconds
        As of `check_views`.
    progress
        Called with a message and a share, as of every verb.

    Returns
    -------
    ReleaseSet
        Its `tables` are the views, by name; `save` writes them, with a manifest and a report.

    Raises
    ------
    Infeasible
        Where the views are not shown to be safe; `closest` is the finding.
    """
    own, linked, known = views_of(views), association_of(association), dependencies_of(dependencies)
    k, size_known = whole_number(k, "k", 2), yes_or_no(size_known, "size_known")
    real_number(seconds, "seconds", 0, above=True)
    _check_names(own)
    engine = MemoryTable(table)
    finding = check_views(
        engine.frame, own, association=linked, k=k, dependencies=known, size_known=size_known, change=False,
        steps=steps, seconds=seconds,
    )  # fmt: skip
    if not finding.safe:
        found = finding.overall
        what = f"the views are {found.verdict}, and are not released"
        got = f"{count(found.below, 'person', 'people')} below k, {number_of(found.undecided)} not decided"
        raise Infeasible(what, got=got, hint="checking them looks for the least change", closest=finding)
    parts = [_part(engine.frame, view, linked) for view in own]
    selected = {view.name: tuple(dict.fromkeys(one.column for one in view.conditions)) for view in own}
    promise = ViewKAnonymity(
        *linked,
        k,
        tuple(view.name for view in own if view.distinct),
        {name: columns for name, columns in selected.items() if columns} or None,
        [[*one.columns, one.to] for one in known],
    )
    links = [TableLink("join", one.views, one.columns) for one in finding.joins]
    _refuse_unproven(promise, parts, links, finding)
    return make_set(
        MADE_BY,
        parts,
        links,
        [promise],
        policy={
            "association": [*linked],
            "k": k,
            "views": [view.plain() for view in own],
            "dependencies": [str(one) for one in known],
        },
        method={view.name: view.where for view in own if view.where},
        before=engine.frame.height if size_known else None,
        fingerprint=engine.fingerprint(key()),
        reading=engine.reading,
    )


def number_of(people: int) -> str:
    """How many people, in a sentence."""
    return count(people, "person", "people")


def _check_names(views: Sequence[TableView]) -> None:
    names = [view.name.casefold() for view in views]
    if not all(NAME.fullmatch(view.name) for view in views) or len({*names}) < len(names):
        what = "a view that is released becomes a file, and its name one of a file"
        raise PolicyError(what, allowed="letters, digits, spaces and hyphens, which differ in more than capitals")


def _part(frame: pl.DataFrame, view: TableView, association: tuple[str, str]) -> SetTable:
    """The rows of a view, which remember nothing of those that it does not show."""
    asked = plain_frame(typed(frame.select(sorted({one.column for one in view.conditions}))))
    rows = plain_frame(frame.select(view.columns))
    if view.conditions:
        rows = rows.filter(asked.select(expression(view.conditions, asked.schema).alias("met"))["met"])
    rows = rows.unique() if view.distinct else rows
    names = [name for name, dtype in rows.schema.items() if isinstance(dtype, pl.Categorical | pl.Enum)]
    rows = forget_others(rows.with_columns(pl.col(names).cast(pl.String)))
    roles = dict.fromkeys(view.columns, "insensitive") | {association[0]: "quasi", association[1]: "sensitive"}
    return SetTable(view.name, in_order(rows), {name: roles[name] for name in view.columns})


def _refuse_unproven(
    promise: ViewKAnonymity, parts: Sequence[SetTable], links: Sequence[TableLink], finding: Any
) -> None:
    """Refuse views that are safe, as the private table shows, where what is published does not show it."""
    what = "the views are safe, and what is published of them alone does not prove it: they are not released"
    hint = (
        f'publish "{promise.identity}" of all rows, not distinct, and "{promise.attribute}" beside the columns that '
        "part the two; or take one view less"
    )
    try:
        found = promise.audit(PublishedSet({part.name: part.published() for part in parts}, links))
    except PolicyError as error:
        raise Infeasible(what, got=error.what, hint=hint, closest=finding) from None
    if not found.holds:
        got = f"{count(found.failing_classes, 'person', 'people')} without a proof"
        raise Infeasible(what, got=got, hint=hint, closest=finding)
