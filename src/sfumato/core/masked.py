"""What a masker is given and what it gives: a context, a change, the facts that can be checked of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.configured import Configured
from sfumato.core.hierarchy import kind_of
from sfumato.core.microdata import encode
from sfumato.core.parameters import ColumnNames, check_fields, whole_number
from sfumato.core.protocols import Masker
from sfumato.core.random_stream import RandomStream
from sfumato.core.roles import digits_of
from sfumato.core.wording import count, quoted
from sfumato.errors import ColumnError, PolicyError

TYPES = {"integer": pl.Int64(), "decimal": pl.Float64(), "date": pl.Date()}
LARGEST, LEAST = 1e150, 1e-150  # of values and of their spread: squares of others are no floats
KINDS = {"integer": "number", "decimal": "number", "date": "date", "datetime": "date"}  # others are categories
PSEUDONYMOUS = (
    "A table with pseudonyms is not anonymous: its rows are still about single people, whom its other columns, or "
    "whoever holds the key, may tell."
)
NOT_ANONYMOUS = (
    "Synthetic is not anonymous: a model that fits well repeats what is rare, and what never appears tells too."
)


@dataclass(frozen=True)
class Fact:
    """Something that can be checked of a masked table: a name of `release.facts.FACTS`, of columns, with parameters."""

    fact: str
    columns: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Change:
    """What a step made of its columns: the columns anew, of the rows that stay, with what may be told of it.

    `rows` are the rows that stay, in order; None where all do. `published` is what it tells of what it found, such as
    the bound of a top code: never what undoes it, such as an entry of a matrix, a seed or a key.
    """

    columns: pl.DataFrame
    rows: np.ndarray | None = None
    facts: tuple[Fact, ...] = ()
    published: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Context:
    """What a step may look at beside its columns: the table as it is now, its random numbers, weights, hierarchies.

    A step may give its columns, those it `needs`, and the column of weights anew.
    """

    table: pl.DataFrame
    random: RandomStream
    weight: str | None = None  # the column of survey weights
    weights: np.ndarray | None = None
    hierarchies: Mapping[str, Any] = field(default_factory=dict)  # column to recipe
    seen: Any = None  # what `look` found of all rows, where the columns are of some of them


@dataclass(frozen=True)
class MaskStep(Configured, Masker):
    """A masker with the defaults of its contract, whose parameters are the fields of its dataclass.

    Its fields are checked by what their annotations declare.

    columns: those that it changes, all that fit where none is named. by: columns whose combinations of values are
    strata, each masked for itself; by name only.
    """

    columns: Annotated[Any, ColumnNames()] = ()
    by: Annotated[Any, ColumnNames()] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self, self.name)
        if twice := sorted({name for name in self.columns if self.columns.count(name) > 1 or name in self.by}):
            raise PolicyError(f"{self.name} names {quoted(twice)} twice", hint="name each column once")


def kind_of_column(column: pl.Series) -> str:
    """What a masker takes a column for: "number", "date" or "category".

    >>> kind_of_column(pl.Series([1.5])), kind_of_column(pl.Series(["a"]))
    ('number', 'category')
    """
    return KINDS.get(kind_of(column.dtype), "category")


def typed(table: pl.DataFrame, apart: Collection[str] = ()) -> pl.DataFrame:
    """A table with columns of texts that are all numbers, or all dates, as such; codes, by name or form, stay texts,
    and so do columns `apart`.

    >>> typed(pl.DataFrame({"pay": ["10.5", "", "7"], "zip": ["20121", "00184", "1"]})).dtypes
    [Float64, String]
    """
    texts = [column for column in table.iter_columns() if column.dtype == pl.String and column.name not in apart]
    return table.with_columns(_typed(column) for column in texts if digits_of(column.name) == "numbers")


def _typed(column: pl.Series) -> pl.Series:
    kind = encode(column)[0].kind
    if kind not in TYPES:
        return column
    made = of_type(column, TYPES[kind])
    return made if made.null_count() == column.replace("", None).null_count() else column


def of_type(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Texts as numbers or dates; the empty text is missing, and so is what is none.

    >>> of_type(pl.Series(["10.5", "", "7"]), pl.Float64()).to_list()
    [10.5, None, 7.0]
    """
    known = texts.replace("", None)
    return known.str.to_date("%Y-%m-%d", strict=False) if dtype == pl.Date else known.cast(dtype, strict=False)


def numbers_of(columns: pl.DataFrame, step: MaskStep, some: bool = False) -> np.ndarray:
    """Columns of numbers as a matrix, nan where a value is missing; a column with infinite values is refused, and one
    without values, unless these are `some` of its rows only."""
    found = np.empty((columns.height, columns.width), order="F")
    for i, column in enumerate(columns.iter_columns()):
        if kind_of_column(column) != "number":
            what = f'{step.name} takes columns of numbers, and "{column.name}" is none'
            raise ColumnError(
                what,
                got=column.dtype.base_type().__name__.lower(),
                hint="give it the columns that it fits, or make it numbers",
            )
        exact = column.cast(pl.String) if column.dtype == pl.Float32 else column  # a short float is what it prints
        found[:, i] = exact.cast(pl.Float64).fill_null(np.nan).to_numpy()
        if np.isinf(found[:, i]).any():
            raise ColumnError(f'{step.name}: column "{column.name}" has infinite values')
        if (np.abs(found[:, i]) > LARGEST).any():
            raise ColumnError(f'{step.name}: column "{column.name}" has values too large to compute with')
        if not some and np.isnan(found[:, i]).all():
            raise no_value(column.name, step)
    return found


def no_value(column: str, step: MaskStep) -> ColumnError:
    """The error of a column without values."""
    return ColumnError(f'{step.name}: column "{column}" has no value in any row', hint="leave it out")


def as_numbers(columns: pl.DataFrame, matrix: np.ndarray, whole: bool = True) -> pl.DataFrame:
    """Columns of numbers from a matrix, nan for a missing value; a column of whole numbers stays one where all are,
    unless that is by chance only, as `whole` says.

    >>> as_numbers(pl.DataFrame({"age": [31, 42]}), np.array([[30.0], [np.nan]])).to_dict(as_series=False)
    {'age': [30, None]}
    """
    found = []
    for i, column in enumerate(columns.iter_columns()):
        made = pl.Series(column.name, matrix[:, i] + 0.0).fill_nan(None)  # either zero is 0.0: no sign shows
        known = matrix[~np.isnan(matrix[:, i]), i]
        fits = whole and bool((known == np.round(known)).all() and (np.abs(known) < 2**53).all())
        found.append(made.cast(pl.Int64) if fits and column.dtype.is_integer() else made)
    return pl.DataFrame(found)


def refuse_constant(matrix: np.ndarray, names: list[str], step: MaskStep) -> None:
    """Raise a ColumnError for columns that have one value only, which nothing can be done to."""
    spread = np.nanmax(matrix, axis=0) - np.nanmin(matrix, axis=0) if len(matrix) else np.zeros(len(names))
    if alike := [name for name, width in zip(names, spread, strict=True) if width < LEAST]:
        has = "has" if len(alike) == 1 else "have"
        raise ColumnError(f"{step.name}: {quoted(alike)} {has} one value only", hint="leave constant columns out")


def refuse_few(rows: int, k: int, step: MaskStep) -> None:
    """Raise a PolicyError where there are fewer rows than a group needs."""
    whole_number(k, f"{step.name}: k", 1)
    if rows < k:
        raise step.refuse("k is larger than the table, or a stratum of it", got=f"k={k} for {count(rows, 'row')}")
