"""A mix of original and synthetic values, record by record; Dandekar, Domingo-Ferrer and Sebé, "LHS-based hybrid
microdata vs rank swapping and microaggregation for numeric microdata protection", 2002."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.forms import make_variant
from sfumato.core.generators import Generator, SyntheticModel
from sfumato.core.parameters import Real, Written
from sfumato.core.registry import variant_name
from sfumato.core.wording import percent
from sfumato.measures.attacks.kernels import ABSOLUTE, NAMED
from sfumato.measures.attacks.nearest import NearestRows
from sfumato.synthetic.columns import SyntheticColumn, columns_of, decoded, encoded
from sfumato.synthetic.gaussian_copula import GaussianCopula
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel

MOST = 0.99


@dataclass(frozen=True)
class Mix(SyntheticGenerator):
    """Each row of the table mixed with the nearest row that another generator draws.

    A number is `share` times that of the person, and the rest that of the drawn row; a category, and a number that one
    of them lacks, is the person's with probability `share`. The `generator` is a value, its name, or a mapping with its
    `name` and parameters; a Gaussian copula unless given.

    share: how much of a row is the person's. generator: what draws the other rows.
    """

    share: Annotated[Any, Real(0, MOST)] = 0.5
    generator: Annotated[Any, Written("variant", "generators")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(share=float(self.share), generator=self._inner())
        if isinstance(self.generator, Mix) or self.generator.changes is not None:
            raise self.refuse("the generator must make all columns anew", got=self.generator.sentence())

    def _inner(self) -> Generator:
        if self.generator is None or isinstance(self.generator, SyntheticGenerator):
            return self.generator or GaussianCopula()
        from sfumato.synthetic import GENERATORS

        if not isinstance(self.generator, Mapping):
            return GENERATORS.value(self.generator)
        more = {str(key): value for key, value in self.generator.items() if key != "name"}
        made: Generator = make_variant(GENERATORS, "generator", str(self.generator.get("name")), more)
        return made

    def parameters(self) -> dict[str, Any]:
        """Its share, and the generator with its parameters."""
        inner = {"name": variant_name(type(self.generator).__name__), **self.generator.parameters()}
        return {"share": self.share, "generator": inner}

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of the generator."""
        return self.generator.kinds

    @property
    def pairs(self) -> bool:
        """What is mixed is drawn together."""
        return False

    @property
    def bounded(self) -> bool:
        """As the generator."""
        return self.generator.bounded

    @property
    def secret(self) -> tuple[str, ...]:
        """As of the generator."""
        return ("generator",) if self.generator.secret else ()

    @property
    def mixes_people(self) -> bool:
        """Always, but for a share of nothing."""
        return bool(self.share)

    @property
    def leaves(self) -> str:
        """What it does not protect from."""
        return (
            f"{percent(self.share)} of each value is a person's, and each row is near that of a person: whoever knows "
            "some of their values may find it. It is no fully synthetic table."
        )

    def sentence(self) -> str:
        """How the rows were made."""
        return f"rows of the table, {percent(self.share)} of each mixed with the nearest of {self.generator.sentence()}"

    def fit(self, table: pl.DataFrame, context: FitContext) -> MixModel:
        """Fit the generator, and keep the rows."""
        return MixModel(columns_of(table), table, self.generator.fit(table, context), self.share)


@dataclass(frozen=True, eq=False, repr=False)
class MixModel(FittedModel):
    """The rows of a table, and a model of it."""

    parts: ClassVar[tuple[type, ...]] = (SyntheticColumn,)

    columns: tuple[SyntheticColumn, ...]
    table: pl.DataFrame
    model: SyntheticModel
    share: float

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Rows of the table in some order, each mixed with the nearest one that is drawn."""
        some = np.concatenate([rng.permutation(self.table.height) for _ in range(-(-rows // self.table.height))])[:rows]
        own = [x[some] for x in encoded(self.table, self.columns)]
        drawn = encoded(self.model.draw(rows, rng), self.columns)
        near = self._nearest(own, drawn)
        found = []
        for column, x, y in zip(self.columns, own, (y[near] for y in drawn), strict=True):
            kept = np.where(rng.random(rows) < self.share, x, y)
            found.append(kept)
            if column.is_number:
                mixed = self.share * x + (1 - self.share) * y
                found[-1] = np.where(np.isnan(mixed), kept, mixed)
        return decoded(self.columns, found)

    def _nearest(self, own: list[np.ndarray], drawn: list[np.ndarray]) -> np.ndarray:
        """The drawn row that is nearest to each own one, numbers in their standard deviations."""
        named = np.array([not column.is_number for column in self.columns])
        asked, points = (
            np.column_stack([np.where(x < 0, np.nan, x) if code else x for x, code in zip(one, named, strict=True)])
            for one in (own, drawn)
        )
        weight = np.array([1.0 if code else _weight(x) for x, code in zip(own, named, strict=True)])
        kind = np.where(named, NAMED, ABSOLUTE)
        return NearestRows(points, kind, weight, np.ones(len(kind))).find(asked)[2]


def _weight(x: np.ndarray) -> float:
    """One over the standard deviation of numbers."""
    known = x[~np.isnan(x)]
    spread = float(known.std()) if len(known) else 0.0
    return 1 / spread if spread > 0 else 1.0
