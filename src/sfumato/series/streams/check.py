"""The checker: every class that leaves a stream is counted again, from the labels as they print and the people as they
came. It shares no code with what makes the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.errors import BrokenPromise

WHEN, PERSON, OF = "when", "person", "of"


def check_classes(
    labels: pl.DataFrame,
    person: pl.Series,
    when: pl.Series,
    values: Mapping[str, pl.Series],
    k: int,
    l: Mapping[str, int],
    window: int = 0,
    before: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Refuse rows that leave in a class without k different people, or l values of a sensitive column that are held by
    different people.

    A class is what prints alike in all columns of `labels`, among the rows that left within the `window` before a row
    did, at the row's own moment included: of `when`, the arrival at which each row left. `before` is what an earlier
    call gave: the rows that left before. The result is all rows that a later call may ask for.

    Raises
    ------
    BrokenPromise
        Where a class is too small: a fault of Sfumato. Nothing of these rows may leave then.

    Examples
    --------
    >>> two = pl.DataFrame({"age": ["[20, 30)", "[20, 30)"]})
    >>> same, now = pl.Series(["Ann", "Ann"]), pl.Series([7, 7])
    >>> check_classes(two, same, now, {}, 2, {})
    Traceback (most recent call last):
        ...
    sfumato.errors.BrokenPromise: a class that was to leave the stream has fewer people than promised
    """
    names = [f"label {i}" for i in range(labels.width)]
    held = [f"value {i}" for i in range(len(l))]
    rows = pl.DataFrame(
        [
            *(labels.to_series(i).cast(pl.String).alias(name) for i, name in enumerate(names)),
            person.alias(PERSON),
            when.cast(pl.Int64).alias(WHEN),
            *(values[column].cast(pl.String).alias(name) for name, column in zip(held, l, strict=True)),
        ]
    )
    kept = rows if before is None else pl.concat([before, rows])
    if rows.height:
        _check(rows, kept, names, held, k, list(l.values()), window)
    last = when.max()
    return kept.filter(pl.col(WHEN) >= int(last) - window) if window and isinstance(last, int) else rows.clear()


def _check(
    rows: pl.DataFrame, kept: pl.DataFrame, names: list[str], held: list[str], k: int, l: list[int], window: int
) -> None:
    moments = rows.select(*names, WHEN).unique().with_row_index(OF)
    if window:
        seen = moments.join(kept, on=names, how="inner", nulls_equal=True, suffix=" of row")
        other = pl.col(f"{WHEN} of row")
        seen = seen.filter((other <= pl.col(WHEN)) & (other >= pl.col(WHEN) - window))
    else:
        seen = moments.join(rows, on=[*names, WHEN], how="inner", nulls_equal=True)
    counted = seen.group_by(OF).agg(
        pl.col(PERSON).n_unique().alias("people"), *(pl.col(name).n_unique().alias(name) for name in held)
    )
    if counted.height < moments.height or not bool((counted.get_column("people") >= k).all()):
        raise BrokenPromise("a class that was to leave the stream has fewer people than promised")
    for name, least in zip(held, l, strict=True):
        if not bool((counted.get_column(name) >= least).all()):
            raise BrokenPromise("a class that was to leave the stream has fewer values than promised")
        _check_holders(seen, name, least)


def _check_holders(seen: pl.DataFrame, name: str, least: int) -> None:
    """Whether so many values have different holders; where each person counts with their first value or their last in
    the alphabet, surely; other classes are matched."""
    per = seen.group_by(OF, PERSON).agg(pl.col(name).min().alias("low"), pl.col(name).max().alias("high"))
    by = per.group_by(OF).agg(pl.col("low").n_unique(), pl.col("high").n_unique())
    unsure = by.filter((pl.col("low") < least) & (pl.col("high") < least)).get_column(OF)
    for of in unsure.to_list():
        pairs = seen.filter(pl.col(OF) == of).select(PERSON, name).unique()
        if matching(pairs.get_column(PERSON).to_list(), pairs.get_column(name).to_list()) < least:
            raise BrokenPromise("a class that was to leave the stream has values that too few people hold")


def matching(people: Sequence[object], values: Sequence[object]) -> int:
    """How many different values different people hold at most, each person counting for one of theirs.

    >>> matching(["Ann", "Ann", "Bob"], ["flu", "cold", "flu"]), matching(["Ann", "Ann"], ["flu", "cold"])
    (2, 1)
    """
    holders: dict[object, list[object]] = {}
    for who, value in zip(people, values, strict=True):
        holders.setdefault(value, []).append(who)
    holds: dict[object, object] = {}

    def place(value: object, tried: set[object]) -> bool:
        for who in holders[value]:
            if who not in tried:
                tried.add(who)
                if who not in holds or place(holds[who], tried):
                    holds[who] = value
                    return True
        return False

    return sum(place(value, set()) for value in holders)
