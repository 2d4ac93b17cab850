"""Samples of rows or of households: simple, systematic, stratified (Cochran, Sampling Techniques, 1977)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact, MaskStep
from sfumato.core.parameters import Column, ColumnNames, OneOf, Real, Share, Written, whole_number
from sfumato.core.printed import printed
from sfumato.core.wording import count, number, quoted
from sfumato.engines.order import numbered
from sfumato.errors import ColumnError

METHODS = ("simple", "systematic")


@dataclass(frozen=True)
class Sampling(MaskStep):
    """Release a sample of the rows, or of whole households, and scale survey weights to what they added up to.

    size: how many rows, or {value of the stratum: how many} with one column in `by`. fraction: or the share of them.
    Strata in `by` take their share of the size, by largest remainders. method: "simple", by chance; "systematic", every
    n-th row from a start by chance, in the order of the columns `order`, else of the table. household: a column whose
    equal values are units that stay whole; size then counts households. total: what the weights shall add up to; their
    sum in the table where it is left out.
    """

    size: Annotated[Any, Written()] = None
    fraction: Annotated[Any, Share(above=True)] = None
    method: Annotated[str, OneOf(METHODS)] = "simple"
    household: Annotated[Any, Column()] = None
    order: Annotated[Any, ColumnNames()] = ()
    total: Annotated[Any, Real(0, above=True)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns:
            hint = "leave the columns out; strata are named by=, households household="
            raise self.refuse("it takes whole rows, no columns", got=quoted(self.columns), hint=hint)
        if (self.size is None) == (self.fraction is None):
            raise self.refuse("give the size of the sample or its fraction", allowed="size=1000 or fraction=0.1")
        if isinstance(self.size, Mapping):
            if len(self.by) != 1:
                hint = "give the column of the strata, as in by=region"
                raise self.refuse(
                    "sizes of strata need one column of strata", got=count(len(self.by), "column"), hint=hint
                )
            each = {str(k): whole_number(n, f"{self.name}: size of a stratum", 0) for k, n in self.size.items()}
            if not sum(each.values()):
                raise self.refuse("the sizes of the strata are all 0")
            self.settle(size=each)
        elif self.size is not None:
            self.settle(size=whole_number(self.size, f"{self.name}: size"))
        if self.order and self.method != "systematic":
            raise self.refuse("an order is for systematic samples", got=f"method {self.method}")

    kinds = ()
    perturbs = False
    own_strata = True
    leaves = "Whoever is known to be in the sample is as exposed as before, and so is who stands out in the population."

    @property
    def secret(self) -> tuple[str, ...]:
        """Sizes of strata name values that nobody in the sample may have."""
        return ("size",) if isinstance(self.size, Mapping) else ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of households and of the order."""
        return (*self.order, *([] if self.household is None else [self.household]))

    def sentence(self) -> str:
        """What it does."""
        units = "rows" if self.household is None else "households"
        if isinstance(self.size, Mapping):
            many = f"a stated number of {units} of each stratum by {quoted(self.by)}"
        else:
            much = f"{number(100 * self.fraction)} percent" if self.size is None else number(self.size)
            many = f"{much} of the {units}" + (f", in proportion by {quoted(self.by)}" if self.by else "")
        return f"a {self.method} sample is released: {many}"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """The rows of the sample, with their weights."""
        table, weight = context.table, context.weight
        if self.total is not None and weight is None:
            raise self.refuse("a total is for survey weights, and no column of weights is given")
        unit, first = self._units(table)
        stratum = numbered(table, list(self.by)) if self.by else np.zeros(table.height, np.int64)
        if self.household is not None and bool((stratum != stratum[first][unit]).any()):
            what = f"households of {quoted([self.household])} stand in several strata of {quoted(self.by)}"
            raise self.refuse(what, hint="take strata that all members of a household share")
        chosen = self._chosen(table, stratum, first, context)
        rows = np.flatnonzero(chosen[unit])
        facts = [Fact("rows", (), {"rows": len(rows)})]
        made = pl.DataFrame()
        if weight is not None and context.weights is not None:
            scaled, total = self._scaled(context.weights, stratum, rows)
            made = pl.DataFrame({weight: scaled})
            facts.append(Fact("total", (weight,), {"total": total}))
        return Change(made, rows, tuple(facts), {"rows": len(rows)})

    def _units(self, table: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """The unit of each row, and the first row of each unit."""
        if not table.height:
            raise self.refuse("the table has no row")
        if self.household is None:
            every = np.arange(table.height)
            return every, every
        if lost := printed(table.get_column(self.household)).null_count():
            what = f'{self.name}: column "{self.household}" is missing in {count(lost, "row")}'
            raise ColumnError(what, hint="give each row a household, or sample rows")
        unit = numbered(table, [self.household])
        return unit, np.unique(unit, return_index=True)[1]

    def _chosen(self, table: pl.DataFrame, stratum: np.ndarray, first: np.ndarray, context: Context) -> np.ndarray:
        """Whether each unit is in the sample."""
        of, u = stratum[first], context.random.uniform(table.height)[first]
        sizes = np.bincount(of)
        wanted = self._allocated(table, stratum, sizes)
        if self.method == "simple":
            order = np.lexsort((u, of))
        else:
            place = numbered(table, list(self.order))[first] if self.order else first
            order = np.lexsort((first, place, of))
        rank = np.empty(len(of), np.int64)  # within the stratum
        rank[order] = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        if self.method == "simple":
            return np.asarray(rank < wanted[of])
        start = np.array([context.random.part(h).generator().integers(size) for h, size in enumerate(sizes)])
        # a unit is taken where the running sum of shares passes a whole number, all in whole numbers
        before, after = ((at * wanted[of] + start[of]) // sizes[of] for at in (rank, rank + 1))
        return np.asarray(after > before)

    def _allocated(self, table: pl.DataFrame, stratum: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """How many units each stratum gives."""
        units = int(sizes.sum())
        if isinstance(self.size, Mapping):
            named = self._named(table, stratum)
            found = np.array([self.size[name] for name in named])
            if short := [name for name, n, there in zip(named, found, sizes, strict=True) if n > there]:
                raise self.refuse("sizes are larger than their strata", got=quoted(short), hint="ask for fewer")
            return found
        wanted = self.size if self.size is not None else max(1, round(self.fraction * units))
        if wanted > units:
            what = "rows" if self.household is None else "households"
            raise self.refuse(f"the size is larger than the table: it has {units:,} {what}", got=number(wanted))
        share = sizes * (wanted / units)
        found = np.floor(share + 1e-9).astype(np.int64)
        rest = np.argsort(found - share, kind="stable")[: wanted - int(found.sum())]
        found[rest] += 1
        return found

    def _named(self, table: pl.DataFrame, stratum: np.ndarray) -> list[str]:
        """The value of each stratum, as `size` names it; the empty text is a missing one."""
        texts = printed(table.get_column(self.by[0])).fill_null("")
        found = texts.gather(np.unique(stratum, return_index=True)[1]).to_list()
        if unknown := [name for name in self.size if name not in found]:
            raise self.refuse(f'size names strata that "{self.by[0]}" does not have', got=quoted(unknown))
        if lost := len(set(found) - {*self.size}):
            strata, hint = (
                count(lost, "stratum", "strata"),
                "give a size, or 0, for each; one for missing is named by an empty text",
            )
            raise self.refuse(f'size leaves out {strata} of "{self.by[0]}"', hint=hint)
        return found

    def _scaled(self, weights: np.ndarray, stratum: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, float]:
        """The weights of the sample, which add up as in each stratum, and together to the total."""
        of, w = stratum[rows], weights[rows]
        before, after = np.bincount(stratum, weights), np.bincount(of, w, minlength=int(stratum.max()) + 1)
        scaled = w * (before[of] / after[of])
        total = float(weights.sum() if self.total is None else self.total)
        return scaled * (total / scaled.sum()), total
