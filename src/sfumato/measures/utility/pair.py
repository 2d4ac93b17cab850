"""Pair: an original and a release, by rows or by counts, and what a reader must know of how they were read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import count_cells
from sfumato.core.hierarchy import Categories
from sfumato.core.keys import first_of
from sfumato.core.microdata import encode, microdata
from sfumato.core.parameters import column_names, known_columns, mapping
from sfumato.core.printed import printed
from sfumato.core.progress import check_cancelled
from sfumato.core.wording import percent, quoted
from sfumato.engines.memory.table import MemoryTable, enter
from sfumato.errors import ColumnError, PolicyError, did_you_mean
from sfumato.hierarchies import parse
from sfumato.measures.table import LOAD, Table, TupleCounts
from sfumato.measures.utility.column import ComparedColumn, Encoded, RowCounts, read_column

MOST_CHANCE = 0.9  # groups that cover more than this of any row tell nothing
FEWEST = 4  # rows under groups


def reordered(
    before: pl.DataFrame, after: pl.DataFrame, columns: Callable[[], Iterable[ComparedColumn]] = list
) -> bool:
    """Whether rows that were not changed otherwise stand in another order, or labels do so that do not fit their rows.

    Columns that have the same values, in another order, are rows in another order where their values moved together,
    as far as all columns with the same values tell. One such column alone is swapped where any other stayed in its
    place. Without a column that has the same values, the labels of `columns` tell: those of groups, where most of them
    do not cover the value of their row beyond what chance does. A column with noise tells nothing.

    >>> table = pl.DataFrame({"age": [20, 30, 40], "sex": ["f", "m", "m"]})
    >>> reordered(table, table.reverse()), reordered(table, table.with_columns(pl.col("age").reverse()))
    (True, False)
    """
    same: list[pl.Series] = []
    others: list[pl.Series] = []
    moved = 0
    for name in (name for name in before.columns if name in after.columns):
        old, new = printed(before.get_column(name)), printed(after.get_column(name))
        if old.n_unique() < 2:
            continue
        stays = bool(old.eq_missing(new).all())
        if stays or (_alike(old, new) and bool(old.sort().eq_missing(new.sort()).all())):
            same.append(old.alias(str(len(same))))
            others.append(new.alias(str(len(others))))
            moved += not stays
    if not same:
        return _misfits(columns())
    if not moved or (moved == 1 and len(same) > 1):
        return False
    left, right = (pl.DataFrame(series).hash_rows(seed=0).sort() for series in (same, others))
    return bool((left == right).all()) and not (moved == 1 and _fits(columns()))


def _alike(one: pl.Series, other: pl.Series) -> bool:
    """Whether two columns may have the same values, by the sum of their hashes."""
    sums = [int(series.hash().to_numpy().sum()) for series in (one, other)]  # wraps, which does no harm
    return sums[0] == sums[1]


def _fit(column: ComparedColumn) -> float | None:
    """Of the rows under a group, the share whose value it covers: 0 as by chance, 1 all; None where that tells nothing.

    Groups that more rows stand under than have their values are wrong in any order.
    """
    groups = (column.size > 1) & (column.size < column.values)
    under = column.count[groups].sum()
    if under < FEWEST:
        return None
    shares = np.concatenate([[0.0], np.cumsum(column.before[column.members])])
    share = shares[column.start[1:]] - shares[column.start[:-1]]
    if (share * len(column.code) < column.count - 0.5)[groups].any():
        return None
    chance = float((share * column.count)[groups].sum() / under)
    if chance > MOST_CHANCE:
        return None
    met = column.meetings(np.arange(len(column.label)))
    covered = met.count[met.covered & groups[met.label]].sum() / under
    return float((covered - chance) / (1 - chance))


def _fits(columns: Iterable[ComparedColumn]) -> bool:
    return any(fit is not None and fit >= 0.5 for fit in map(_fit, columns))


def _misfits(columns: Iterable[ComparedColumn]) -> bool:
    found = [fit for fit in map(_fit, columns) if fit is not None]
    return bool(found) and max(found) < 0.5


@dataclass(frozen=True, eq=False)
class Boxes:
    """Distinct original cells and distinct released label tuples, over the same columns."""

    cells: np.ndarray  # int [columns, cells]: codes
    cell_count: np.ndarray
    first: np.ndarray  # an original row of each cell
    boxes: np.ndarray  # int [columns, boxes]: label numbers
    box_count: np.ndarray


@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables that share columns. `rows` holds the original row of each released row, where that is known.

    Rows of the original that no released row came from are suppressed. `reordered` says that the tables are equally
    long, and their columns tell that the rows are in another order. With `row_counts` a row of the original and one of
    the release stand for so many: distinct tuples that an engine counted.
    """

    original: pl.DataFrame
    released: pl.DataFrame
    rows: np.ndarray | None
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    _columns: dict[str, ComparedColumn] = field(default_factory=dict, repr=False)
    reordered: bool = False
    row_counts: RowCounts = (None, None)
    _encoded: dict[tuple[str, bool, bool], Encoded] = field(default_factory=dict, repr=False)
    _boxes: dict[tuple[str, ...], Boxes] = field(default_factory=dict, repr=False)

    @property
    def original_rows(self) -> int:
        """How many rows the original has."""
        return self.original.height if self.row_counts[0] is None else int(self.row_counts[0].sum())

    @property
    def released_rows(self) -> int:
        """How many rows the release has."""
        return self.released.height if self.row_counts[1] is None else int(self.row_counts[1].sum())

    @property
    def suppressed(self) -> int:
        """How many rows of the original the release lacks."""
        return max(self.original_rows - self.released_rows, 0)

    def on(self, names: Sequence[str]) -> Pair:
        """The pair with these columns together in its rows: itself, where it has the rows."""
        return self

    def holds(self, names: Sequence[str]) -> bool:
        """Whether these columns can be looked at together."""
        return True

    @property
    def shared(self) -> tuple[str, ...]:
        """The columns that both tables have, in the order of the original."""
        there = set(self.released.columns)
        return tuple(name for name in self.original.columns if name in there)

    def column(self, name: str) -> ComparedColumn:
        """What the release says in a column, read once."""
        check_cancelled()
        if name not in self._columns:
            self._columns[name] = self._read(name, self.hierarchies.get(name))
        return self._columns[name]

    def _read(self, name: str, hierarchy: Any, standing: Categories | None = None) -> ComparedColumn:
        before, after = self.original.get_column(name), self.released.get_column(name)
        return read_column(
            before, after, self.rows, hierarchy, self.row_counts, standing,
            lambda series, as_text: self.encoded(name, series is after, as_text),
        )  # fmt: skip

    def encoded(self, name: str, released: bool, as_text: bool = False) -> Encoded:
        """A column of one of the tables, encoded once."""
        key = name, released, as_text
        if key not in self._encoded:
            self._encoded[key] = encode((self.released if released else self.original).get_column(name), as_text)
        return self._encoded[key]

    def boxes(self, names: Sequence[str]) -> Boxes:
        """The cells of the original and the boxes of the release, counted once."""
        key = tuple(names)
        if key not in self._boxes:
            together = self.on(names)
            columns, (before, after) = [together.column(name) for name in names], together.row_counts
            cells, of = count_cells(names, [c.code for c in columns], [c.values for c in columns], before)
            labels = [c.label.astype(np.int32) for c in columns]
            boxes, _ = count_cells(names, labels, [len(c.text) for c in columns], after)
            self._boxes[key] = Boxes(cells.codes, cells.count, first_of(of, len(cells)), boxes.codes, boxes.count)
        return self._boxes[key]

    def arranged(self, names: Sequence[str]) -> list[ComparedColumn]:
        """The columns with texts in the order that hierarchies of them are learned in, where it is none of text."""
        recipes = {name: parse(self.hierarchies[name]) for name in names if self.hierarchies.get(name) is not None}
        found, roles = self.boxes(names), dict.fromkeys(names, "quasi")
        schema = microdata(self.original.select(names)[found.first], roles, recipes, row_counts=found.cell_count).schema
        return [
            self.column(a.name)
            if a.categories.sequence in ("text", "codes") and self.column(a.name).stands_as(a.categories)
            else self._read(a.name, recipes.get(a.name), a.categories)
            for a in schema
        ]

    def names(self, given: Any, what: str = "columns") -> tuple[str, ...]:
        """Names of shared columns, checked; all shared ones for None."""
        if given is None:
            return self.shared
        names = tuple(dict.fromkeys(column_names(given, what)))
        known_columns(names, self.original.columns, "the original")
        known_columns(names, self.released.columns, "the release")
        if not names:
            raise PolicyError(f"{what} is empty", allowed="one column or more")
        return names

    def changed(self) -> tuple[str, ...]:
        """The shared columns in which the release prints something else; all shared ones where there is none."""
        found = tuple(
            name for name in self.shared if self.column(name).changed or self.column(name).moved(self.rows) > 0
        )
        return found or self.shared

    def aligned(self, what: str) -> np.ndarray:
        """The original row of each released row, or an error that says how to give it."""
        if self.rows is None:
            raise PolicyError(
                f"{what} compares row by row, and it is not known which row came from which",
                got="rows in another order"
                if self.reordered
                else f"{self.original.height} original and {self.released.height} released rows",
                hint="give rows (the original row number of each released row), or key (a column in both)",
            )
        return self.rows


def pair_of(
    original: Any,
    released: Any = None,
    *,
    rows: Sequence[int] | np.ndarray | None = None,
    key: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> Pair:
    """A pair of tables; a Pair stays as it is.

    Parameters
    ----------
    original, released
        Frames or paths. They are aligned by row order where they are equally long, unless columns with the same values,
        or labels that do not cover the values of their rows, tell that the rows are in another order.
    rows
        The original row number (from 0) of each released row.
    key
        A column in both tables that names each record once.
    hierarchies
        Column to hierarchy, recipe or file, to read the labels of the release by.

    Examples
    --------
    >>> pair_of({"age": [30, 41, 52]}, {"age": ["< 45", "< 45"]}, rows=[0, 1]).suppressed
    1
    """
    if isinstance(original, Pair):
        return original
    if released is None:
        raise PolicyError("a utility measure needs the original and the release", got="one table")
    before, after = enter(original)[0], enter(released)[0]
    given = mapping(hierarchies, "hierarchies", before.columns, "the original")
    found = Pair(before, after, _aligned(before, after, rows, key), given)
    if not found.shared:
        raise ColumnError("the original and the release share no column")
    if rows is None and key is None and found.rows is not None and _moved(found):
        return Pair(before, after, None, given, reordered=True)
    return found


def _moved(pair: Pair) -> bool:
    """Whether columns tell that rows of equally long tables are in another order."""
    # nothing is learnt from rows yet to be matched
    blind = Pair(pair.original, pair.released, None, pair.hierarchies, _encoded=pair._encoded)
    return reordered(pair.original, pair.released, lambda: [blind.column(name) for name in pair.shared])


def _aligned(before: pl.DataFrame, after: pl.DataFrame, rows: Any, key: str | None) -> np.ndarray | None:
    if rows is not None and key is not None:
        raise PolicyError("rows and key both say which row came from which", hint="give one of them")
    if key is not None:
        return _by_key(before, after, key)
    if rows is None:
        return np.arange(before.height) if before.height == after.height else None
    try:
        found = np.asarray(rows)
        whole = found.ndim == 1 and found.dtype.kind in "iu"
    except (ValueError, TypeError):
        whole = False
    if not whole or len(found) != after.height:
        raise PolicyError(
            "rows must hold the original row number of each released row",
            got=f"{len(found)} entries" if whole else type(rows).__name__,
            allowed=f"{after.height} whole numbers",
        )
    found = found.astype(np.int64)
    if len(found) and (found.min() < 0 or found.max() >= before.height):
        raise PolicyError("rows holds a number that is no row of the original", allowed=f"0 to {before.height - 1}")
    if len(found) and np.bincount(found).max() > 1:
        raise PolicyError("rows names a row of the original twice")
    return found


def _by_key(before: pl.DataFrame, after: pl.DataFrame, key: str) -> np.ndarray:
    for table, where in ((before, "original"), (after, "release")):
        if key not in table.columns:
            raise ColumnError(f'the {where} has no key column "{key}"', hint=did_you_mean(key, table.columns))
        text = printed(table.get_column(key))
        if text.null_count() or text.n_unique() < len(text):
            raise ColumnError(f'the key column "{key}" of the {where} is missing or the same in some rows')
    left = pl.DataFrame({"key": printed(after.get_column(key))})
    right = pl.DataFrame({"key": printed(before.get_column(key))}).with_row_index("row")
    place = left.join(right, on="key", how="left", maintain_order="left").get_column("row")
    if place.null_count():
        unknown = place.null_count()
        raise ColumnError(f'{unknown} rows of the release have a key in column "{key}" that the original does not have')
    return place.cast(pl.Int64).to_numpy()


@dataclass(frozen=True, eq=False)
class CountedPair(Pair):
    """A pair whose tables are asked for distinct tuples of the columns that a measure looks at. It has no rows.

    Columns with `too_many` different values are not looked at.
    """

    before: TupleCounts = field(kw_only=True)
    after: TupleCounts = field(kw_only=True)
    too_many: tuple[str, ...] = field(kw_only=True, default=())

    @property
    def original_rows(self) -> int:
        """How many rows the original has."""
        return self.before.rows

    @property
    def released_rows(self) -> int:
        """How many rows the release has."""
        return self.after.rows

    @property
    def shared(self) -> tuple[str, ...]:
        """The columns that both tables have, in the order of the original, without those of too many values."""
        return tuple(name for name in super().shared if name not in self.too_many)

    def on(self, names: Sequence[str]) -> Pair:
        """The distinct tuples of these columns, of those of them that a table has."""
        one, often = self.before.entries([name for name in names if name in self.before.columns])
        other, stands = self.after.entries([name for name in names if name in self.after.columns])
        return Pair(one, other, None, self.hierarchies, row_counts=(often, stands))

    def holds(self, names: Sequence[str]) -> bool:
        """Whether these columns can be counted together; they then are."""
        return not names or (self.before.holds(names) and self.after.holds(names))

    def column(self, name: str) -> ComparedColumn:
        """What the release says in a column, read once."""
        check_cancelled()
        if name not in self._columns:
            self._columns[name] = self.on([name]).column(name)
        return self._columns[name]

    def arranged(self, names: Sequence[str]) -> list[ComparedColumn]:
        """The same, from the tuples of these columns where they can be counted together."""
        return self.on(names).arranged(names) if self.holds(names) else [self.column(name) for name in names]

    def aligned(self, what: str) -> np.ndarray:
        """Refused: nothing is known of rows."""
        raise PolicyError(f"{what} compares row by row, which an out-of-core table does not allow", hint=LOAD)


def counted_pair(
    original: Table, released: Table, hierarchies: Mapping[str, Any], needed: Sequence[str] = ()
) -> CountedPair:
    """A pair of tables by counts. A column that is `needed` may not have too many values.

    >>> counted_pair(pl.DataFrame({"age": [30, 41]}), pl.DataFrame({"age": ["*"]}), {}).suppressed
    1
    """
    before, after = (TupleCounts(MemoryTable(t)) if isinstance(t, pl.DataFrame) else t for t in (original, released))
    mapping(hierarchies, "hierarchies", before.columns, "the original")
    shared = [name for name in before.columns if name in after.columns]
    if not shared:
        raise ColumnError("the original and the release share no column")
    together = [name for name in needed if name in shared]
    if together:  # one count answers for each of them
        before.entries(together)
        after.entries(together)
    small = [name for name in shared if before.holds([name]) and after.holds([name])]
    one, other = pl.DataFrame(schema=before.schema), pl.DataFrame(schema=after.schema)
    too_many = tuple(name for name in shared if name not in small)
    return CountedPair(one, other, None, hierarchies, before=before, after=after, too_many=too_many)


TELL = "their hierarchies would tell"
REORDERED = (
    "it is not known which released row came from which original row, for they seem to be in another order: what "
    "compares row by row is left out. A key, a column in both tables, would tell"
)


def notes_of(pair: Pair) -> list[str]:
    """A sentence on each thing that the figures alone do not say; column names, never cell values."""
    columns = [pair.column(name) for name in pair.shared]
    found = [REORDERED] if pair.reordered else []
    if names := [column.name for column in columns if column.unread]:
        found.append(f"labels of {quoted(names)} could not be read and count as no information: {TELL}")
    if names := [column.name for column in columns if column.strange]:
        found.append(
            f"values of {quoted(names)} that the original does not have could not be read either and count as wrong "
            f"ones: {TELL}"
        )
    if names := [column.name for column in columns if column.learnt]:
        found.append(
            f"labels of {quoted(names)} could not be read and are taken for groups of the values that their rows have "
            f"in the original: {TELL}"
        )
    shares = {column.name: column.moved(pair.rows) for column in columns}
    if any(shares.values()):
        least = "" if pair.rows is not None else "at least "
        each = ", ".join(f'"{name}" ({least}{percent(share)})' for name, share in shares.items() if share)
        found.append(
            f"released cells that do not hold their original value, exactly or among others: {each}. Losses of detail, "
            "such as lm and ncp, do not count that; direct-comparison, errors of numbers and query-error do"
        )
    return found


def moved_share(pair: Pair, columns: Iterable[ComparedColumn]) -> tuple[float, str]:
    """The share of cells that do not cover their original value, and a sentence where there are some."""
    shares = [column.moved(pair.rows) for column in columns]
    share = sum(shares) / len(shares) if shares else 0.0
    if not share:
        return 0.0, ""
    least = "" if pair.rows is not None else "at least "
    return share, (
        f" Besides, {least}{percent(share)} of the released cells do not hold their original value, exactly or among "
        "others (noise, swaps, mistakes): this measure does not count that."
    )


def unread_words(columns: Iterable[ComparedColumn]) -> tuple[dict[str, int], str]:
    """How many labels could not be read, by what they count as, and sentences where there are some."""
    read = list(columns)
    counts = {
        "unread_labels": sum(column.unread for column in read),
        "learnt_labels": sum(column.learnt for column in read),
        "strange_labels": sum(column.strange for column in read),
    }
    lost, learnt = counts["unread_labels"] + counts["strange_labels"], counts["learnt_labels"]
    words = f" Labels that could not be read and count as no information: {lost}." if lost else ""
    if learnt:
        words += f" Labels that could not be read and are taken for groups of what their rows had: {learnt}."
    return counts, words
