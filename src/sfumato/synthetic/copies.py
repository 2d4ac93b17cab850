"""Rows that repeat a unique original row: drawn again, dropped or kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from sfumato.core.progress import check_cancelled
from sfumato.core.wording import count
from sfumato.engines.protocol import RESERVED_PREFIX
from sfumato.errors import Infeasible
from sfumato.measures.risk.copied_uniques import repeats

COPIES = ("redraw", "drop", "keep")
ROUNDS = 60  # of drawing again
FEWEST = 200  # rows of a round
SIZE, PLACE, TAKEN = (RESERVED_PREFIX + name for name in ("size", "place", "taken"))

Copied = Callable[[pl.DataFrame], np.ndarray]  # which rows repeat one that stands alone in the original


def without_copies(
    drawn: pl.DataFrame,
    copied: Copied,
    again: Callable[[int], pl.DataFrame],
    copies: str,
    exchange: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
) -> tuple[pl.DataFrame, int]:
    """Drawn rows of which none repeats a row that stands alone in the original, and how many did.

    Rows that repeat one exchange values with others, where the model can say with which, so that columns stay as they
    were drawn; what is left of them gives its place to rows that are drawn again. A model that repeats people nearly
    always has no rows to give, which is Infeasible.
    """
    found = copied(drawn)
    repeated = int(found.sum())
    if copies == "keep" or not repeated:
        return drawn, repeated
    if copies == "redraw" and exchange is not None:
        drawn = exchange(drawn)
        found = copied(drawn)
        if not found.any():
            return drawn, repeated
    kept = [drawn.filter(~found)]
    if copies == "drop" and kept[0].height:
        return kept[0], repeated
    lacking = int(found.sum())
    for _ in range(ROUNDS if copies == "redraw" else 0):
        check_cancelled()
        more = again(max(2 * lacking, FEWEST))
        fresh = more.filter(~copied(more))[:lacking]
        kept.append(fresh)
        lacking -= fresh.height
        if not lacking:
            made = pl.concat(kept)
            return made[_in_place(found, kept[0].height)], repeated
    what = f"the model repeats people: {count(lacking, 'row')} could not be drawn that are nobody's"
    raise Infeasible(what, hint="take another generator, larger leaves or smoothing; or drop copies, or keep them")


def without_copied_units(
    drawn: pl.DataFrame, copied: Copied, again: Callable[[np.ndarray], pl.DataFrame], copies: str, unit: str
) -> tuple[pl.DataFrame, int]:
    """The same where rows belong together by a column: those of a household that has such a row give their place to
    another household of the same size. `again` draws households of given sizes."""
    found = copied(drawn)
    repeated = int(found.sum())
    if copies == "keep" or not repeated:
        return drawn, repeated
    lacking = _units(drawn.filter(pl.col(unit).is_in(drawn.filter(found)[unit].implode())), unit)
    kept = [drawn.join(lacking, on=unit, how="anti", maintain_order="left")]
    if copies == "drop" and kept[0].height:
        return kept[0], repeated
    for _ in range(ROUNDS if copies == "redraw" else 0):
        check_cancelled()
        sizes = lacking[SIZE].cast(pl.Int64).to_numpy()
        more = again(np.tile(sizes, max(2, -(-FEWEST // int(sizes.sum())))))
        clean = more.filter(~pl.col(unit).is_in(more.filter(copied(more))[unit].implode()))
        old = lacking.rename({unit: TAKEN})
        taken = _units(clean, unit).join(old, on=[SIZE, PLACE], maintain_order="left").select(unit, TAKEN)
        fresh = clean.join(taken, on=unit, maintain_order="left").with_columns(pl.col(TAKEN).alias(unit))
        kept.append(fresh.select(drawn.columns))
        left = old.join(taken, on=TAKEN, how="anti", maintain_order="left").rename({TAKEN: unit})
        lacking = left.with_columns(_place())
        if not lacking.height:
            return pl.concat(kept), repeated
    what = f"the model repeats people: {count(lacking.height, 'household')} could not be drawn that are nobody's"
    raise Infeasible(what, hint="take larger leaves or smoothing; or drop copies, or keep them")


def _units(rows: pl.DataFrame, unit: str) -> pl.DataFrame:
    """The rows of each unit, and its number among those with as many."""
    return rows.group_by(unit, maintain_order=True).agg(pl.len().alias(SIZE)).with_columns(_place())


def _place() -> pl.Expr:
    return pl.int_range(pl.len()).over(SIZE).alias(PLACE)


def _in_place(found: np.ndarray, kept: int) -> np.ndarray:
    """The numbers of rows, kept ones first, new ones after, that put each new row where a copy was."""
    place = np.empty(len(found), np.int64)
    place[~found] = np.arange(kept)
    place[found] = np.arange(kept, len(found))
    return place


def redrawn_in_place(
    drawn: pl.DataFrame, original: pl.DataFrame, again: Callable[[int], pl.DataFrame], changed: np.ndarray, copies: str
) -> tuple[pl.DataFrame, int]:
    """The same of a partially synthetic table, whose rows are those of people: of the rows made anew, those that are as
    they were, or as another person's, are made anew once more. Some may have no other values to take, and stay."""
    found = repeats(original, drawn) & changed
    repeated = int(found.sum())
    if copies == "drop":
        return drawn.filter(~found), repeated
    for _ in range(ROUNDS if copies == "redraw" else 0):
        if not found.any():
            break
        check_cancelled()
        more = again(drawn.height)
        number = np.arange(drawn.height) + np.where(found, drawn.height, 0)
        drawn = pl.concat([drawn, more])[number]
        found = repeats(original, drawn) & changed
    return drawn, repeated
