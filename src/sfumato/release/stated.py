"""Promises that count people, as a manifest states them: the released rows do not tell whose each of them is.

Whoever has the rows alone sees what follows for rows, and that the rest is stated. Where a column of people leaves
under pseudonyms, one for each, the rows show it. The owner, who has the original, can have it shown again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.printed import printed, told_apart
from sfumato.core.protocols import AGAINST_ORIGINAL, PROVEN, STATED
from sfumato.criteria.model import Promise, broken
from sfumato.release.covering import CLASS, ROW, covered_pairs
from sfumato.release.manifest import Manifest, counted
from sfumato.release.people import PeopleColumn, people_groups, promise_of, whose, worded

if TYPE_CHECKING:
    from sfumato.release.verify import Released

NOTE = "stated by the owner, who knows whose each row is; not proven from the released rows"
BY_TOKENS = "by the pseudonyms that are released, one for each person as the manifest says"
UNFIT = "the original does not fit the release: fewer of its rows are covered by the labels than were released"
UNSURE = "stated by the owner; which rows of the original have which labels cannot be told, so that it is not shown"


def stated(
    manifest: Manifest,
    released: Released,
    original: pl.DataFrame | None = None,
    columns: Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> list[Promise]:
    """What a manifest promises of people: shown on released pseudonyms, or on the original where that is given with the
    `columns` that say whose its rows are, by their kind; else stated, which only rows that contradict it refute."""
    found: list[Promise] = []
    for c, names, unit, claim in counted(manifest):
        column, leaves = PeopleColumn(unit.unit, unit.column), unit.released
        said = {"measured": claim.measured, **worded(c, column)}
        lacking = [n for n in (*names, *c.needs, *([unit.column] if leaves else [])) if n not in released.columns]
        if lacking:
            found.append(replace(broken(c, names, f'the data lack "{lacking[0]}"'), **said))
        elif leaves:
            rows, _ = released.entries(list(dict.fromkeys((*names, *c.needs, unit.column))))
            codes = whose(rows.get_column(unit.column), column)
            groups = people_groups(rows, names, c.needs, codes)
            shown = promise_of(c, names, groups, column, PROVEN)
            found.append(replace(shown, note="; ".join(filter(None, (BY_TOKENS, shown.note)))))
        elif original is not None and unit.unit in (columns or {}):
            own = PeopleColumn(unit.unit, (columns or {})[unit.unit])
            shown = _shown(c, names, released, original, own, manifest, hierarchies or {})
            found.append(replace(shown, **worded(c, column)))
        else:
            fails = not claim.holds or not _possible(c, names, released)
            note = "the rows contradict what is stated" if fails else NOTE
            found.append(replace(broken(c, names, note), holds=not fails, how=STATED, **said))
    return found


def _possible(c: Any, names: Sequence[str], released: Released) -> bool:
    """Whether classes have rows enough for so many people."""
    sizes = released.grouped(names, ())(()).sizes["size"]
    return len(sizes) > 0 and int(sizes.min()) >= c.least_size  # type: ignore[arg-type]


def _shown(
    c: Any,
    names: Sequence[str],
    released: Released,
    original: pl.DataFrame,
    unit: PeopleColumn,
    manifest: Manifest,
    hierarchies: Mapping[str, Any],
) -> Promise:
    """The promise on the rows of the original that the labels of each class cover.

    Where a class covers as many rows as it has, these are its rows, whoever they were dealt by; rows are told apart by
    their other columns, too, as far as these were released as they are. Where it covers more, the rest was suppressed
    or lies in another class: of its people no fewer are there than the fewest who have so many of those rows, and no
    fewer than those whose rows no other class covers, if none was suppressed. What that does not show is stated still.
    """
    for name in (*names, *c.needs, unit.column):
        if name not in original.columns:
            return replace(broken(c, names, f'the original lacks "{name}"'), how=AGAINST_ORIGINAL)
    codes = whose(original.get_column(unit.column), unit)
    blurred = {*manifest.changed, *(name for of in manifest.policy.quasi for name in of), *names}
    beside = [n for n in released.columns if n in original.columns and n not in blurred]
    rows, often = released.entries([*names, *beside])
    if any(not told_apart(column).equals(printed(column)) for column in rows.select(names).iter_columns()):
        return replace(broken(c, names, UNSURE), holds=True, how=STATED)  # classes print alike that readers tell apart
    keys = pl.DataFrame([printed(rows.get_column(name)) for name in names])
    classes = keys.unique().sort(list(names))
    of = keys.join(classes.with_row_index(CLASS), on=list(names), how="left", nulls_equal=True, maintain_order="left")
    counted = pl.Series(SIZE, np.ones(rows.height, np.int64) if often is None else often.to_numpy())
    known = pl.DataFrame([*(printed(rows.get_column(n)) for n in beside), of.get_column(CLASS), counted])
    covered = covered_pairs(classes, original, names, hierarchies)
    row = covered[ROW].to_numpy()
    others = [printed(original.get_column(n)).gather(row) for n in beside]
    may_be = pl.DataFrame([*others, covered.get_column(CLASS), covered.get_column(ROW)])
    there = known.group_by([CLASS, *beside]).agg(pl.col(SIZE).sum())
    fits = there.join(may_be, on=[CLASS, *beside], nulls_equal=True, how="inner")
    exact = fits.group_by([CLASS, *beside]).agg(pl.col(SIZE).first(), n=pl.len())
    apart = exact.height == there.height and exact["n"].equals(exact[SIZE].cast(exact["n"].dtype), check_names=False)
    if apart and fits[ROW].n_unique() == fits.height:
        place, row_of = fits[CLASS].to_numpy(), fits[ROW].to_numpy()
        labels = [classes.get_column(name).gather(place) for name in names]
        these = pl.DataFrame([*labels, *(original.get_column(name).gather(row_of) for name in c.needs)])
        return promise_of(c, names, people_groups(these, names, c.needs, codes[row_of]), unit, AGAINST_ORIGINAL)
    size = known.group_by(CLASS).agg(pl.col(SIZE).sum()).sort(CLASS)[SIZE].to_numpy()
    class_of, row_of = covered[CLASS].to_numpy(), covered[ROW].to_numpy()
    if (np.bincount(class_of, minlength=len(size)) < size).any():
        return replace(broken(c, names, UNFIT), how=AGAINST_ORIGINAL)
    least = 0
    if not c.needs:
        gone = None if manifest.solution is None else manifest.solution.suppressed
        classes_of_row = np.bincount(row_of, minlength=original.height)
        least = min(
            _fewest(codes[mine], int(size[i]), codes[mine[classes_of_row[mine] == 1]] if gone == 0 else codes[:0])
            for i, mine in enumerate(_rows_of(class_of, row_of, len(size)))
        )
    if least and least >= c.least_size:
        return replace(broken(c, names, None), holds=True, measured=least, how=AGAINST_ORIGINAL)
    return replace(broken(c, names, UNSURE), holds=True, how=STATED)


SIZE = "\0size"  # beside columns of a table


def _rows_of(class_of: np.ndarray, row_of: np.ndarray, classes: int) -> Iterator[np.ndarray]:
    """The rows that each class covers."""
    order = np.argsort(class_of, kind="stable")
    ends = np.searchsorted(class_of[order], np.arange(classes + 1))
    for start, end in pairwise(ends.tolist()):
        yield row_of[order[start:end]]


def _fewest(people: np.ndarray, rows: int, surely: np.ndarray) -> int:
    """No fewer people have so many of these rows; those of `surely` are among them.

    >>> _fewest(np.array([1, 1, 1, 2, 3]), 4, np.array([2, 3])), _fewest(np.array([1, 1, 1, 2, 3]), 3, np.array([]))
    (2, 1)
    """
    most = np.sort(np.unique(people, return_counts=True)[1])[::-1]
    return max(int(np.searchsorted(np.cumsum(most), rows)) + 1, len(np.unique(surely)))
