"""Persons in households: the household first, then its persons one after the other, by trees as of Reiter, "Using CART
to generate partially synthetic public use microdata", 2005; of households see Hu, Reiter and Wang, "Dirichlet process
mixture models for modeling and generating synthetic versions of nested categorical data", 2018."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, ColumnNames, OneOf, Whole, Written, known_columns
from sfumato.core.wording import count, quoted
from sfumato.engines.protocol import RESERVED_PREFIX
from sfumato.errors import ColumnError, PolicyError
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel
from sfumato.synthetic.rules import parse_rule
from sfumato.synthetic.sequential_trees import SMOOTHINGS, SequentialTrees, SequentialTreesModel

SIZE, PLACE = RESERVED_PREFIX + "size", RESERVED_PREFIX + "place"
FIRST, BEFORE = RESERVED_PREFIX + "first ", RESERVED_PREFIX + "before "  # stand before the columns of other persons
MOST = 500  # persons of a household


@dataclass(frozen=True)
class LinkedTables(SyntheticGenerator):
    """Households with their persons, one person a row: the household is drawn first, then its persons in turn.

    household: the column that says which rows are of one household. household_columns: those that are the same in all
    rows of a household; found where none is named. Sizes of households are those of the table, in another order, so
    that their distribution stays; the columns of a household are drawn given its size, those of a person given the
    household, the place of the person in it, its first person, and the one before. Rows of a household are taken as
    they come: a reference person who stands first is drawn first. Households get new numbers.

    leaf: the fewest rows of a leaf. smoothing: of numbers inside a leaf, "spline", "kernel" or "none", which draws the
    values of rows. rules: texts such as "if age < 16 then married = no", which may look at columns of the household.
    """

    household: Annotated[Any, Column()] = None
    household_columns: Annotated[Any, ColumnNames()] = ()
    leaf: Annotated[int, Whole(2)] = 20
    smoothing: Annotated[Any, OneOf(SMOOTHINGS)] = None
    rules: Annotated[Any, Written("list")] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        rules = (self.rules,) if isinstance(self.rules, str) else tuple(self.rules or ())
        self.settle(
            rules=tuple(parse_rule(text).text for text in rules),
        )

    leaves: ClassVar[str] = (
        "Values are those of people, and sizes those of households: one of a size that no other has still tells that "
        "it is in the table. Repeated rows and membership are to be measured."
    )

    @property
    def pairs(self) -> bool:
        """How columns of the same row go together is kept, as by sequential trees; rows of a household only in part."""
        return False

    @property
    def unit(self) -> str | None:
        """The column of households."""
        return None if self.household is None else str(self.household)

    def sentence(self) -> str:
        """How the rows were made."""
        return "households by sequential trees, then their persons, given the household and the persons before them"

    def fit(self, table: pl.DataFrame, context: FitContext) -> LinkedTablesModel:
        """Grow trees of households, and of persons."""
        if self.household is None:
            raise self.refuse("the column of households is not given", hint="name it as the household")
        known_columns((self.household, *self.household_columns), table.columns)
        home = table.get_column(self.household)
        if lacking := home.null_count():
            raise ColumnError(f'{self.name}: {count(lacking, "row")} of "{home.name}" name no household')
        if not (home.dtype.is_integer() or home.dtype == pl.String):
            what = f'{self.name}: "{home.name}" cannot have new numbers'
            raise ColumnError(what, got=home.dtype.base_type().__name__.lower(), allowed="whole numbers or texts")
        of = home.rank("dense").cast(pl.Int64).to_numpy() - 1
        order = np.argsort(of, kind="stable")
        rows, of = table[order].drop(home.name), of[order]
        sizes = np.bincount(of)
        if sizes.max() > MOST:
            what = f'{self.name}: a household of "{home.name}" has more persons than can be drawn one after the other'
            raise PolicyError(what, got=f"{sizes.max()}", allowed=f"{MOST}")
        start = np.cumsum(sizes) - sizes
        shared = self._shared(rows, of)
        if len(shared) == rows.width:
            raise ColumnError(f"{self.name}: no column is one of persons", hint="all are the same in each household")
        own = [name for name in rows.columns if name not in shared]
        homes = rows.with_columns(pl.Series(SIZE, sizes[of])).select(SIZE, *shared)
        place = np.arange(len(of)) - start[of]
        people = _beside(
            homes,
            place,
            _others(rows.select(own), np.where(place > 0, start[of], -1), FIRST),
            _others(rows.select(own), np.where(place > 0, np.arange(len(of)) - 1, -1), BEFORE),
        ).hstack(rows.select(own))
        return LinkedTablesModel(
            table.clear(),
            home.name,
            sizes,
            self._grown(homes[start], shared, context) if shared else None,
            self._grown(people, own, context),
        )

    def _shared(self, rows: pl.DataFrame, of: np.ndarray) -> list[str]:
        """The columns of households, which have one value in each."""
        grouped = rows.with_columns(pl.Series(SIZE, of)).group_by(SIZE)
        values = grouped.agg(pl.all().n_unique()).drop(SIZE)
        several = {name: int((values.get_column(name) > 1).sum()) for name in values.columns}
        if wrong := [name for name in self.household_columns if several[name]]:
            most = max(several[name] for name in wrong)
            what = f"{self.name}: {quoted(wrong)} differ{'s' * (len(wrong) == 1)} within {count(most, 'household')}"
            raise ColumnError(what, hint="leave it out of the columns of households")
        return [
            name for name in rows.columns if name in (self.household_columns or [n for n in several if not several[n]])
        ]

    def _grown(self, table: pl.DataFrame, drawn: Sequence[str], context: FitContext) -> SequentialTreesModel:
        """Trees of some columns given the others, without the rows."""
        rules = [text for text in self.rules if parse_rule(text).column in drawn]
        trees = SequentialTrees(columns=list(drawn), leaf=self.leaf, smoothing=self.smoothing, rules=rules)
        return replace(trees.fit(table, replace(context, at_risk=None)), kept=table.clear())


@dataclass(frozen=True, eq=False, repr=False)
class LinkedTablesModel(FittedModel):
    """Trees of households and of persons, and the sizes of households."""

    like: pl.DataFrame  # empty, with the columns of the table
    household: str
    sizes: np.ndarray
    homes: SequentialTreesModel | None
    people: SequentialTreesModel

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Households, and their persons in turn; the last household has as many as are left."""
        times = -(-rows // int(self.sizes.sum()))
        sizes = np.concatenate([rng.permutation(self.sizes) for _ in range(times)])
        upto = np.cumsum(sizes)
        many = int(np.searchsorted(upto, rows)) + 1
        return self.draw_units(sizes[:many] - np.append(np.zeros(many - 1, np.int64), upto[many - 1] - rows), rng)

    def draw_units(self, sizes: np.ndarray, rng: np.random.Generator) -> pl.DataFrame:
        """Households of these sizes, and their persons in turn."""
        homes = pl.DataFrame({SIZE: sizes})
        if self.homes is not None:
            homes = _given(self.homes, homes, rng)
        own = [name for name in self.people.names if name in self.like.columns and name not in homes.columns]
        first = last = self.like.select(own).clear()
        at, parts = np.arange(len(sizes)), []
        for place in range(int(sizes.max())):
            still = sizes[at] > place
            at = at[still]
            none = np.full(len(at), -1)
            before = np.flatnonzero(still) if place else none
            given = _beside(
                homes[at],
                np.full(len(at), place),
                _others(first, at if place else none, FIRST),
                _others(last, before, BEFORE),
            )
            last = _given(self.people, given, rng).select(own)
            first = last if place == 0 else first
            parts.append(last.with_columns(pl.Series(SIZE, at), pl.lit(place).alias(PLACE)))
        drawn = pl.concat(parts).sort(SIZE, PLACE)
        of = drawn.get_column(SIZE).to_numpy()
        made = pl.concat([homes[of].drop(SIZE), drawn.drop(SIZE, PLACE)], how="horizontal")
        return made.with_columns(self._numbers(of + 1)).select(self.like.columns)

    def _numbers(self, of: np.ndarray) -> pl.Series:
        """New numbers of households, in the type of their column."""
        dtype = self.like.schema[self.household]
        numbers = pl.Series(self.household, of)
        try:
            return numbers.cast(dtype)
        except pl.exceptions.PolarsError:
            what = f'"{self.household}" cannot hold as many numbers as there are households'
            raise PolicyError(what, hint="ask for fewer rows, or give it a wider type") from None


def _others(people: pl.DataFrame, which: np.ndarray, prefix: str) -> pl.DataFrame:
    """The columns of other persons, missing where there is none (-1)."""
    number = pl.Series(which)
    number = number.set(number < 0, None)
    return pl.DataFrame([column.gather(number).alias(prefix + column.name) for column in people.iter_columns()])


def _beside(homes: pl.DataFrame, place: np.ndarray, *others: pl.DataFrame) -> pl.DataFrame:
    """What is known of a person before any column of theirs is."""
    return pl.concat([homes.with_columns(pl.Series(PLACE, place)), *others], how="horizontal")


def _given(model: SequentialTreesModel, known: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Rows drawn given some of their columns."""
    assert model.kept is not None
    schema = model.kept.schema
    empty = pl.DataFrame({name: [None] for name in schema}, schema)[np.zeros(known.height, np.int64)]
    kept = empty.with_columns(known.select(name for name in known.columns if name in schema))
    return replace(model, kept=kept).draw(known.height, rng)
