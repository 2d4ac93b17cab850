"""Engine: a table where it lives, in memory or not. It owes two things: one GROUP BY and one map."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import polars as pl

from sfumato.core.printed import forms_of, mixed, refuse_unprintable
from sfumato.core.progress import Progress
from sfumato.core.wording import quoted
from sfumato.engines.numbers import NumberForms, NumberWriter
from sfumato.engines.order import ORDERS, RowOrder
from sfumato.errors import ColumnError, OutputError, PolicyError, ReadError, TooManyCells

RESERVED_PREFIX = "sfumato: "  # column names that start so are ours
COUNT = RESERVED_PREFIX + "rows"  # the column of counts
LABEL = RESERVED_PREFIX + "label of "  # stands before a column's name where its label stands beside its value
PIECE = RESERVED_PREFIX + "piece"  # the column of pieces, where rows of a tuple go to several classes
FETCHING = "reading row keys"


@dataclass(frozen=True, eq=False)
class Plan:
    """What a search decided, as frames that any engine can join.

    `columns` are released, in this order. `maps` gives a column's label per value: the column, and `LABEL + column`.
    `cells` gives the labels per tuple of `keys`; rows whose tuple is not in it are left out. `suppressed_keys` are
    tuples of `keys` whose rows are left out. With `dealt`, rows of some tuples have different labels: it has the
    `PIECE` of each of these rows, by `keys` and `row_key`, other rows have piece 0, and `cells` has a tuple per piece.
    Columns that are `unchanged` keep values and type; `values` has all values of some of them. Values are matched in
    their plain form (see `plain`), and a missing value matches a missing value. Rows are released in `order`, as many
    as `rows` where that is known. For rows in memory, `taken` are those that stay and `labels` their columns. `numbers`
    says what is not written as labels.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    maps: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    cells: pl.DataFrame | None = None
    suppressed_keys: pl.DataFrame | None = None
    values: Mapping[str, pl.Series] = field(default_factory=dict)
    row_key: tuple[str, ...] = ()
    dealt: pl.DataFrame | None = None
    order: RowOrder = field(default_factory=RowOrder)
    rows: int | None = None
    taken: np.ndarray | None = None
    labels: Mapping[str, pl.Series] = field(default_factory=dict)
    numbers: NumberForms = field(default_factory=NumberForms)

    @property
    def cell_keys(self) -> tuple[str, ...]:
        """The columns that tell `cells` apart."""
        return self.keys if self.dealt is None else (*self.keys, PIECE)

    def number_labels(self) -> dict[str, pl.Series]:
        """The labels of the columns that other columns are written in the place of, as any engine can join these."""
        labelled = {name: frame.get_column(LABEL + name) for name, frame in self.maps.items()}
        for column in () if self.cells is None else self.cells.iter_columns():
            if column.name.startswith(LABEL):
                labelled[column.name.removeprefix(LABEL)] = column
        return {name: labelled[name] for name in self.columns if name in self.numbers.form and name in labelled}

    def number_writer(self) -> NumberWriter | None:
        """What writes numbers in the place of labels; None where all labels are written as they are."""
        return NumberWriter(self.numbers, self.number_labels()) if self.numbers.form else None


@dataclass(frozen=True)
class SumsAsked:
    """What a table is asked to add up: rows by columns, or amounts, of whom, with how many of the largest."""

    by: tuple[str, ...]
    value: str | None = None
    weight: str | None = None
    contributor: str | None = None
    request: str | None = None
    largest: int = 3


@dataclass(frozen=True)
class AmountFacts:
    """One look at all amounts before they are added up: how many rows lack one, their greatest sum by absolute value,
    the least, after how many digits all are whole (None: after none that were tried), how many rows do not say whose
    they are, and how many have no yes or no where somebody may have asked for confidentiality."""

    lost: int
    gross: float
    least: float
    least_weight: float
    decimals: int | None
    nobody: int
    unclear: int


SUM, GROSS, PEOPLE, ASKING = (RESERVED_PREFIX + one for one in ("sum", "gross", "people", "requests"))
TOP = RESERVED_PREFIX + "largest "  # stands before the rank of a contribution


class Sums(Protocol):
    """Sums that an engine computes: what one contributor has in several rows is added up first. They are whole numbers,
    in units of the last digit of an amount."""

    def facts(self, digits: int) -> AmountFacts:
        """What is to be known before anything is added up; up to so many digits are tried."""

    def add_up(self, decimals: int, most: int) -> pl.DataFrame:
        """The distinct tuples of the columns in their plain form, each with `COUNT`, `SUM`, `GROSS`, `PEOPLE`, `ASKING`
        where asked, and `TOP` with 1 and so on. More than `most` tuples are TooManyCells."""

    def totals(self, nodes: Mapping[str, pl.DataFrame | None], missing: Mapping[str, int]) -> pl.DataFrame:
        """The same of coarser cells, after `add_up`: by these columns alone, as they are or, where there is a frame, by
        the node (the second column) of each value (the first); `missing` is that of missing values."""


class StagedRelease(Protocol):
    """A released table that was written, to be counted again."""

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order, as it was written."""

    def count(self, columns: Sequence[str], report_progress: Progress, most: int = sys.maxsize) -> pl.DataFrame:
        """The distinct tuples of the printed texts of columns, and in `COUNT` how many rows have them.

        More than `most` tuples are TooManyCells.
        """

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""


class KeptRelease(StagedRelease, Protocol):
    """A released table that stays where the original lives."""

    @property
    def data(self) -> Any:
        """What its user gets: the name of a table, or a frame."""

    @property
    def place(self) -> dict[str, Any]:
        """What the manifest says about where it is: no address of a server, no user, no password."""


class Engine(Protocol):
    """A table that is counted and mapped where it lives, and what can be done with it there."""

    in_memory: ClassVar[bool] = False  # its rows are at hand, in an order
    in_parts: ClassVar[bool] = False  # it releases in parts what has too many cells for one machine, from its `frame`
    keeps: ClassVar[Literal["frame", "table"] | None] = None  # what a release can be, beside files in a folder
    orders: ClassVar[tuple[str, ...]] = ORDERS  # that a release to files can have
    draws: ClassVar[bool] = True  # values within bounds, for a release to files
    formats: ClassVar[tuple[str, ...]] = ("parquet", "csv", "tsv")  # of those files, the default first
    called: ClassVar[str] = "a table in files"
    reading: Mapping[str, Any] = MappingProxyType({})  # how a file was read, where not as written: no values

    @property
    def coded(self) -> Mapping[str, pl.Series]:
        """Columns of few texts as Enums of these, sorted, where rows are in memory."""
        return {}

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order."""

    def snapshot(self, write: bool) -> AbstractContextManager[Engine]:
        """The table as it is now, until the block ends, whatever others write meanwhile; `write`: beside a release.

        Where there is no such thing, as for files, a change is an error in whatever is asked after it.
        """

    def rows(self) -> int:
        """How many rows there are: about so many, where only a count can tell."""

    def sample(self, rows: int) -> pl.DataFrame:
        """Some rows, of all columns, from all over the table; the same ones each time. In memory, all of them."""

    def positive(self, column: str) -> bool:
        """Whether every row has a finite number above 0 in a column."""

    def missing(self, columns: Sequence[str]) -> tuple[int, int]:
        """How many rows have a missing value in one of the columns, and how many rows there are."""

    def without_missing(self, columns: Sequence[str], gone: int) -> Engine:
        """The table without the rows that have a missing value in one of the columns, `gone` of them.

        Its `reading` says so, and its fingerprint is that of all rows.
        """

    def fingerprint(self, secret: bytes | None) -> str | None:
        """A keyed fingerprint of the table, or None without a key."""

    def count(
        self, columns: Sequence[str], report_progress: Progress, most: int, work: Path | None = None
    ) -> pl.DataFrame:
        """The one GROUP BY: distinct tuples of columns in their plain form, and in `COUNT` how many rows have them.

        More than `most` tuples are TooManyCells. What an interrupted count has found so far is kept in the folder
        `work`, and taken up there.
        """

    def sums(self, asked: SumsAsked) -> AbstractContextManager[Sums | None]:
        """Sums that are computed where the table lives; None where it cannot, and tuples are counted instead."""
        return nullcontext()

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them, in their plain form, that no other row has."""

    def mixed(self, columns: Sequence[str]) -> list[str]:
        """The columns with values that count as one and can be told apart there: null and NaN, null and the empty text,
        and in files the two zeros."""
        forms: dict[str, set[str]] = {name: set() for name in columns}
        for frame in self.batches(columns):
            for column in frame.iter_columns():
                forms[column.name] |= forms_of(column)
        return [name for name, found in forms.items() if mixed(found)]

    def told_apart(self, columns: Sequence[str]) -> Engine:
        """The table with texts in these columns that are different where its readers can tell values apart."""
        what = f"{quoted(columns)}: null and NaN, null and the empty text, or both zeros can be told apart there"
        raise ColumnError(what, hint="write each of them in one form, or read the table into memory")

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows of some columns as they come, some at a time; always in the same order where the table has one."""
        raise PolicyError(
            f"the rows of {self.called} do not come one batch after the other, which masking needs",
            hint="write it to Parquet files, and mask these",
        )

    def fetch(self, plan: Plan, report_progress: Progress) -> pl.DataFrame:
        """The one map, of some rows: those that the plan releases, in memory, in any order."""
        raise ReadError(f"{self.called} has its rows at hand")

    def recode(self, plan: Plan, file: Path, format: str, report_progress: Progress) -> StagedRelease:
        """The one map: write the rows as the plan says into a file, or into a folder of parts of that name."""

    def release(
        self, plan: Plan, name: str | None, overwrite: bool, report_progress: Progress
    ) -> AbstractContextManager[KeptRelease]:
        """The one map, where the engine `keeps` releases: a table of a database by its name, or a frame.

        What is made is kept where the block ends, and gone where it raises. With `overwrite` it takes the place of a
        table of that name.
        """
        raise OutputError(f"a release of {self.called} cannot be kept there")

    def check_target(self, name: str, overwrite: bool) -> None:
        """Raise an OutputError where a release cannot be made under that name: asked before any work."""
        raise OutputError(f"a release of {self.called} cannot be kept there")

    def as_given(self, released: pl.DataFrame, rows: np.ndarray | None = None) -> Any:
        """A frame of the kind that came in, where rows are in memory; `rows` are those of the table that it shows."""
        raise ReadError(f"{self.called} has no frame to hand back")

    def kept(self, data: Any) -> Engine:
        """A release that was kept there, by its name or its frame."""
        raise OutputError(f"a release of {self.called} cannot be kept there")


def reading_without(reading: Mapping[str, Any], columns: Sequence[str], gone: int) -> dict[str, Any]:
    """How a table was read, rows left out for a missing value in one of the columns."""
    return {**reading, "drop_missing": {"columns": list(columns), "rows": gone}}


def refuse_many(found: int, most: int) -> None:
    """Raise TooManyCells where there are more different tuples than memory was given for."""
    if found > most:
        raise TooManyCells(
            "the columns have too many different combinations of values to be held in memory",
            got=f"more than {most:,}",
            allowed=f"max_cells={most:,}",
            hint="leave out or coarsen the columns with the most values, or allow more max_cells",
        )


def refuse_names(names: Iterable[str]) -> None:
    """Raise a ColumnError for names that an engine would not take for names."""
    for name in names:
        if name == "*" or (name.startswith("^") and name.endswith("$")) or name.startswith(RESERVED_PREFIX):
            raise ColumnError(f'a column is named "{name}", which has a meaning of its own here', hint="rename it")


def refuse_types(schema: Mapping[str, pl.DataType], columns: Iterable[str]) -> None:
    """Raise a ColumnError that names the columns which hold what cannot be released as text."""
    refuse_unprintable({name: schema[name] for name in columns})
