"""Checks of what a measure is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import column_names, known_columns, mapping
from sfumato.core.printed import printed
from sfumato.engines.memory.table import enter
from sfumato.errors import ColumnError, PolicyError, did_you_mean
from sfumato.measures.utility.column import ComparedColumn, Times, read_column

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
        if stays or bool(old.sort().eq_missing(new.sort()).all()):
            same.append(old.alias(str(len(same))))
            others.append(new.alias(str(len(others))))
            moved += not stays
    if not same:
        return _misfits(columns())
    if not moved or (moved == 1 and len(same) > 1):
        return False
    left, right = (pl.DataFrame(series).hash_rows(seed=0).sort() for series in (same, others))
    return bool((left == right).all()) and not (moved == 1 and _fits(columns()))


def _fit(column: ComparedColumn) -> float | None:
    """Of the rows under a group, the share whose value it covers: 0 as by chance, 1 all; None where that tells nothing.

    Groups that more rows stand under than have their values are wrong in any order.
    """
    groups = (column.size > 1) & (column.size < column.values)
    under = groups[column.label]
    if under.sum() < FEWEST:
        return None
    shares = np.concatenate([[0.0], np.cumsum(column.before[column.members])])
    share = shares[column.start[1:]] - shares[column.start[:-1]]
    if (share * len(column.code) < column.count - 0.5)[groups].any():
        return None
    chance = float(share[column.label[under]].mean())
    if chance > MOST_CHANCE:
        return None
    covered = column.covered(np.arange(len(column.label)))[under].mean()
    return float((covered - chance) / (1 - chance))


def _fits(columns: Iterable[ComparedColumn]) -> bool:
    return any(fit is not None and fit >= 0.5 for fit in map(_fit, columns))


def _misfits(columns: Iterable[ComparedColumn]) -> bool:
    found = [fit for fit in map(_fit, columns) if fit is not None]
    return bool(found) and max(found) < 0.5


@dataclass(frozen=True, eq=False)
class Pair:
    """Two tables that share columns. `rows` holds the original row of each released row, where that is known.

    Rows of the original that no released row came from are suppressed. `reordered` says that the tables are equally
    long, and their columns tell that the rows are in another order. With `times` a row of the original and one of the
    release stand for so many: distinct tuples that an engine counted.
    """

    original: pl.DataFrame
    released: pl.DataFrame
    rows: np.ndarray | None
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    _columns: dict[str, ComparedColumn] = field(default_factory=dict, repr=False)
    reordered: bool = False
    times: Times = (None, None)

    @property
    def original_rows(self) -> int:
        """How many rows the original has."""
        return self.original.height if self.times[0] is None else int(self.times[0].sum())

    @property
    def released_rows(self) -> int:
        """How many rows the release has."""
        return self.released.height if self.times[1] is None else int(self.times[1].sum())

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
        if name not in self._columns:
            before, after = self.original.get_column(name), self.released.get_column(name)
            self._columns[name] = read_column(before, after, self.rows, self.hierarchies.get(name), self.times)
        return self._columns[name]

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
    blind = Pair(pair.original, pair.released, None, pair.hierarchies)  # nothing is learnt from rows yet to be matched
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
    if len(np.unique(found)) < len(found):
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
