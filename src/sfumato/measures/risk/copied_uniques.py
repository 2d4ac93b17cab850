"""Copied uniques: real rows that are alone in the original, and stand in the synthetic table too.

B. Nowok, G. M. Raab, C. Dibben, Providing bespoke synthetic data for the UK Longitudinal Studies, Statistical Journal
of the IAOS 33, 2017 (replicated uniques over all columns).
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.keys import number_tuples, tally
from sfumato.core.parameters import checked
from sfumato.core.wording import percent
from sfumato.measures.arguments import ORIGINAL, SOME_COLUMNS, TABLE
from sfumato.measures.measure import Measure, wilson
from sfumato.measures.risk.synthetic_tables import SyntheticTables, tables_of


def repeats(original: Any, synthetic: Any, *, columns: Any = None) -> np.ndarray:
    """Which synthetic rows are equal to a row that is unique in the original, as a mask of booleans.

    Rows are compared on `columns`, all that both tables have unless given, by value: null, NaN and the empty text are
    one, and numbers are equal whatever their type. The original here is every row that must not come back, whether the
    model saw it or not.

    >>> repeats({"age": [30, 30, 41]}, {"age": [41.0, 30.0, 50.0]}).tolist()
    [True, False, False]
    """
    if isinstance(synthetic, pl.DataFrame) and not synthetic.height:
        return np.zeros(0, np.bool_)
    tables = tables_of(original, synthetic, None, columns)
    of, real, _ = tables.counts(tables.names)
    found: np.ndarray = (real == 1)[tables.parts(of)[1]]
    return found


@checked
def copied_uniques(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    *,
    hold_out: Annotated[Any, TABLE] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    as_drawn: Any = None,
) -> Measure:
    """The share of the rows that are unique in the original that occur in the synthetic table.

    The baseline is the share of the rows of `hold_out`, real rows that the model never saw, that occur in it: what a
    good model repeats by chance. Far more than that says that the model repeats people.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it.
    hold_out
        Real rows of the same kind that the model never saw.
    columns
        The columns to compare, all that the tables share unless given.
    as_drawn
        The synthetic table before copies of real rows were taken out of it. The baseline is then taken from it, for
        rows held out were taken out, too, and what it repeats itself stands beside the value.

    Returns
    -------
    A Measure. `details`: how many rows are `unique`, and how many `copied`, of which some are `shared`: rows of the
    hold-out, too, so that they are not unique among all real rows; `near`, the unique rows that a synthetic row equals
    in all columns but one; `hold_out`: how many of its rows are copied and near, by chance, their shares and 95%
    intervals, and the share copied of those that no original row equals (`new`); `as_drawn`: the same figures before
    copies were taken out. These are figures about the original: for its owner only.

    Examples
    --------
    >>> real, drawn = {"age": [30, 30, 41, 52]}, {"age": [41, 30, 60]}
    >>> copied_uniques(real, drawn, hold_out={"age": [41, 70]}).value
    0.5
    """
    tables = tables_of(original, synthetic, hold_out, columns)
    before: Measure | None = None
    if as_drawn is not None:
        before = copied_uniques(tables.original, as_drawn, hold_out=tables.hold_out, columns=tables.names)
    of, real, drawn = tables.counts(tables.names)
    at, _, *others = tables.parts(of)
    alone = (real == 1)[at]
    copied = (drawn > 0)[at] & alone
    unique, count = int(alone.sum()), int(copied.sum())
    near = one_off(tables, of, drawn) if len(tables.names) > 1 else None
    details: dict[str, Any] = {"columns": list(tables.names), "unique": unique, "copied": count, "near": None}
    if near is not None:
        details["near"] = _share((tables.parts(near)[0] > 0) & alone, alone)
    told = "how many chance alone repeats is not known, as no real rows were held out"
    baseline, among = None, "in the original"
    there_too = f"{count:,} ({percent(count / max(unique, 1))}) occur in the synthetic table"
    for theirs in others:
        there, every = (drawn > 0)[theirs], np.ones(len(theirs), np.bool_)
        chance = _share(there, every)
        baseline = chance["share"]
        chance["new"] = _share(there & (real == 0)[theirs], (real == 0)[theirs])
        chance["near"] = None if near is None else _share(tables.parts(near)[2] > 0, every)
        details["hold_out"] = chance if before is None else before.details["hold_out"]
        details["shared"] = int(np.isin(at[copied], theirs).sum())
        among = "among those that the model was fitted on"
        if details["shared"]:
            there_too += f", {details['shared']:,} of which people held out have, too"
        if before is not None:
            baseline = before.baseline
        told = _by_chance(details["hold_out"], "do" if before is None else "did")
    if before is not None:
        details["as_drawn"] = {
            "copied": before.details["copied"],
            "share": before.value,
            "near": before.details["near"],
        }
        repeated = before.details["copied"]
        there_too += (
            f"; as drawn, before copies were taken out, {repeated:,} ({percent(repeated / max(unique, 1))}) did"
        )
    if not unique:
        sentence = "No row of the original is unique, so no unique row can be repeated."
        return Measure("copied-uniques", np.nan, (0.0, 1.0), sentence, None, baseline, details)
    sentence = f"Of the {unique:,} rows that are unique {among}, {there_too}; {told}."
    return Measure("copied-uniques", count / unique, (0.0, 1.0), sentence, wilson(count, unique), baseline, details)


def _by_chance(chance: dict[str, Any], do: str) -> str:
    """What is repeated of the rows held out."""
    told = f"of the rows that the model never saw, {percent(chance['share'])} {do} by chance"
    if chance["new"]["rows"]:
        told += f", and {percent(chance['new']['share'])} of those among them that no row it was fitted on equals"
    return told


def one_off(tables: SyntheticTables, of: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """For each row of all tables the synthetic rows that differ from it in exactly one column.

    `of` is the group of each row, `drawn` the synthetic rows of each group. Rows that agree before a column and after
    it agree in all others, so that each column needs one count of pairs of numbers.
    """
    columns = [tables.column(name) for name in tables.names]
    start = len(tables.original), len(tables.original) + len(tables.synthetic)
    after = [np.zeros(tables.rows, np.int32)]
    for column in columns[:0:-1]:
        after.append(_numbered(after[-1], column.code))
    before = np.zeros(tables.rows, np.int32)
    found = -len(columns) * drawn[of]
    for column in columns:
        groups = _numbered(before, after.pop())
        found += tally(groups[slice(*start)], int(groups.max()) + 1)[groups]
        before = _numbered(before, column.code)
    return found


def _numbered(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """One number for each pair of two numbers."""
    sizes = [np.arange(int(part.max()) + 1) for part in (one, other)]
    return number_tuples([one, other], sizes, len(one))[0]


def _share(found: np.ndarray, among: np.ndarray) -> dict[str, Any]:
    count, rows = int(found.sum()), int(among.sum())
    share = count / rows if rows else None
    return {"count": count, "rows": rows, "share": share, "interval": list(wilson(count, rows))}
