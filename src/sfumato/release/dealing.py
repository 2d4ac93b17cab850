"""Rows with equal values in different classes, out of core: dealt by a stated row key, in an order that is secret.

A search sees cells, and may cut one into pieces that go to different classes. Of an out-of-core table, a pass
reads the row keys of such cells alone. Whose row goes to which piece follows from the key and the owner's secret:
whoever knows the keys of all rows, and in which order they were given, learns nothing of their classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import polars as pl

from sfumato.core.fingerprint import fingerprint, secret_seed
from sfumato.core.fingerprint import key as owners_key
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress
from sfumato.core.wording import quoted
from sfumato.engines.order import arrangement, numbered
from sfumato.engines.protocol import COUNT, LABEL, PIECE, Engine, Plan
from sfumato.errors import ColumnError, PolicyError, ReadError
from sfumato.release.request import HINT
from sfumato.search import Mondrian, search_name
from sfumato.search.problem import CellSplit, Choice, Partition, Solution, deal

KEYED = 'state the columns that tell rows apart, as in row_key=["id"]'


@dataclass(frozen=True, eq=False)
class Pieces:
    """Counted tuples, some of them cut: piece p is `count[p]` rows of tuple `entry[p]`, and goes where piece `first[p]`
    of the search goes. Tuples ascend. `number[p]` is 0 for a tuple that is whole, else it counts from 1."""

    entry: np.ndarray
    count: np.ndarray
    first: np.ndarray
    number: np.ndarray

    def entries(self, counted: pl.DataFrame) -> pl.DataFrame:
        """The counted tuples, one for each piece."""
        cut = counted[self.entry]
        return cut.with_columns(pl.Series(COUNT, self.count), pl.Series(PIECE, self.number))

    def microdata(self, micro: Microdata) -> Microdata:
        """The same of their codes."""
        return replace(micro, codes={n: c[self.entry] for n, c in micro.codes.items()}, row_counts=self.count)


def pieces_of(cell_of_entry: np.ndarray, solution: Solution) -> Pieces:
    """The pieces that a search cut cells into; what goes to one class of a cell is one piece.

    >>> labels, kept = {}, np.array([True] * 4)
    >>> split = CellSplit(np.array([0, 0, 1, 1]), np.array([1, 1, 2, 3]))
    >>> from sfumato.core.policy import Verdict
    >>> cut = Solution(Partition(np.array([5, 5, 5, 6]), {}, split), Verdict(True, 0, 0.0, {}), kept, False, 0, 0.0)
    >>> found = pieces_of(np.array([1, 0]), cut)
    >>> found.entry.tolist(), found.count.tolist(), found.number.tolist()
    ([0, 0, 1], [2, 3, 2], [1, 2, 0])
    """
    assert isinstance(solution.recoding, Partition)
    split, classes = solution.recoding.split, solution.recoding.class_of_cell.astype(np.int64)
    assert split is not None
    entry = np.empty(len(cell_of_entry), np.int64)
    entry[cell_of_entry] = np.arange(len(cell_of_entry))  # a cell is one tuple: see `counted(..., jointly=True)`
    goes = (entry[split.cell] * (int(classes.max()) + 1) + classes) * 2 + solution.kept
    _, first, piece = np.unique(goes, return_index=True, return_inverse=True)
    count = np.bincount(piece, weights=split.count).astype(np.int64)
    entry = entry[split.cell[first]]
    begins = np.flatnonzero(np.diff(entry, prepend=-1))
    size = np.diff(begins, append=len(entry))
    number = np.where(np.repeat(size, size) > 1, np.arange(len(entry)) - np.repeat(begins, size) + 1, 0)
    return Pieces(entry, count, first, number.astype(np.int32))


def dealt(
    engine: Engine,
    plan: Plan,
    pieces: Pieces,
    counted: pl.DataFrame,
    kept: np.ndarray,
    row_key: Sequence[str],
    seed: int | None,
    report_progress: Progress,
) -> Plan:
    """The plan with a piece for each row of the tuples that are cut, found by its row key; `kept` are those pieces of
    the search that stay."""
    keys = tuple(name for name in plan.keys if name != PIECE)
    key = tuple(name for name in row_key if name not in keys)  # others are equal in all rows of a tuple
    cut = (pieces.number > 0) & np.isin(pieces.entry, pieces.entry[kept[pieces.first]])
    if not cut.any():
        assert plan.cells is not None
        return replace(plan, keys=keys, cells=plan.cells.drop(PIECE))
    if not key:
        raise _same(row_key)
    if (secret := owners_key()) is None:  # a deal by chance would differ each time, and classes of two deals intersect
        what = "rows are dealt to classes by a secret of the owner, and there is none"
        raise PolicyError(what, hint=f"set SFUMATO_KEY, or {HINT}")
    entry, cell = np.unique(pieces.entry[cut], return_inverse=True)
    tuples = counted.select(keys)[entry]
    number = LABEL + keys[0]  # the number of a tuple, in the place of a label
    reads = Plan(
        (keys[0], *key), keys, key, cells=tuples.with_columns(pl.int_range(len(entry)).cast(pl.String).alias(number)),
        rows=int(pieces.count[cut].sum()),
    )  # fmt: skip
    rows = engine.fetch(reads, report_progress)
    place = rows.get_column(keys[0]).cast(pl.String).cast(pl.Int64).to_numpy()
    known = rows.select(key)
    if lacking := [name for name in key if known.get_column(name).null_count()]:
        hint = "state columns that every row has a value of"
        raise ColumnError(f"the row key has missing values in {quoted(lacking)}", hint=hint)
    split = CellSplit(cell, pieces.count[cut])
    if not np.array_equal(np.bincount(place, minlength=len(entry)), np.bincount(cell, weights=split.count)):
        raise ReadError("the table was changed while it was read", hint="run it again")
    order = numbered(known, key)
    if pl.DataFrame({"tuple": place, "key": order}).is_duplicated().any():
        raise _same(row_key)
    found = pl.concat([tuples[place], known], how="horizontal")
    mark = fingerprint(found[arrangement(found, found.columns)], secret)  # so that no other table is dealt alike
    drawn = np.random.default_rng(secret_seed(seed or 0, f"deal {mark}")).permutation(int(order.max()) + 1)
    piece = pieces.number[cut][deal(place, split, drawn[order])]
    return replace(plan, keys=keys, row_key=key, dealt=found.with_columns(pl.Series(PIECE, piece)))


def _same(row_key: Sequence[str]) -> ColumnError:
    what = f"the row key {quoted(row_key)} does not tell rows apart that have equal values in what is counted"
    return ColumnError(what, hint="state columns of which no two rows have the same values")


def refuse_split(method: Any, hint: str = f"{KEYED}, {HINT}") -> NoReturn:
    """Raise a PolicyError for a search that cuts cells."""
    raise PolicyError(
        f"{search_name(method)} gives rows with equal values different labels, "
        "and the rows of an out-of-core table have no order to deal them in",
        hint=hint,
    )


def whole_cells(choice: Choice, labels: str) -> Choice:
    """What was picked, or Mondrian where that gives rows with equal values different labels."""
    if not choice.search.splits:
        return choice
    mondrian = Mondrian(cut="best", dimension="ncp", labels=labels)
    why = "rows with equal values get equal labels, as an out-of-core table without a row key needs"
    return Choice(mondrian, why, "optimal: one label per value of a column in all rows, more loss")
