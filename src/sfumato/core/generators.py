"""The contracts of a generator of synthetic tables, and of the model that it learns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from sfumato.errors import PolicyError

if TYPE_CHECKING:
    from sfumato.synthetic.generator import FitContext


class SyntheticModel(Protocol):
    """What a generator learnt of a table: a value, and private data. `synthetic.model.FittedModel` has the defaults."""

    spent: tuple[Any, ...] = ()  # what was drawn with noise, and for what: of a private model

    @abstractmethod
    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """New rows, with the columns and types of the table."""

    def exchange(self, drawn: pl.DataFrame, original: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
        """Drawn rows of which fewer repeat a row that is unique in the original, by exchanging values between rows that
        are as likely to have them; as they are where the model knows of none."""
        return drawn

    def draw_units(self, sizes: np.ndarray, rng: np.random.Generator) -> pl.DataFrame:
        """New rows that belong together, so many each: of a generator that has a `unit`."""
        raise PolicyError(f"{type(self).__name__} draws rows that stand alone")

    @abstractmethod
    def save(self, path: str | Path) -> Path:
        """Write it into a file that its owner alone may read."""


class Generator(Protocol):
    """A way to make new rows: a frozen value. `synthetic.generator.SyntheticGenerator` has the defaults."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of columns that it takes: "number", "category"."""
        return ("number", "category")

    @property
    def pairs(self) -> bool:
        """Whether it keeps how any two columns go together."""
        return True

    @property
    def bounded(self) -> bool:
        """Whether numbers stay within the range of their column, and on its grid."""
        return True

    @property
    def secret(self) -> tuple[str, ...]:
        """The parameters that are not published."""
        return ()

    def published_parameters(self) -> dict[str, Any]:
        """Its parameters as a manifest tells them: without those that are secret."""
        return {name: value for name, value in self.parameters().items() if name not in self.secret}

    @property
    def private(self) -> bool:
        """Whether what it learns is differentially private."""
        return False

    @property
    def changes(self) -> tuple[str, ...] | None:
        """The columns that it makes anew, where the others stay those of real people; None where it makes all."""
        return None

    @property
    def rows_at_risk(self) -> float | None:
        """The risk above which a row is made anew, where the other rows stay those of real people; None for all."""
        return None

    @property
    def unit(self) -> str | None:
        """The column that says which rows belong together, such as those of a household, and that has new values: they
        are held out, drawn and drawn again together, and rows are compared without it. None where rows stand alone."""
        return None

    @property
    def proper(self) -> bool:
        """Whether what it learns is drawn by chance, too: each of several copies is then of a model of its own."""
        return False

    @property
    def copies_people(self) -> bool:
        """Whether each row that it gives is a row of the table as it is."""
        return False

    @property
    def mixes_people(self) -> bool:
        """Whether each row that it gives is a row of the table in part: near to that of one person."""
        return False

    @property
    def leaves(self) -> str:
        """What it does not protect from, in a sentence."""
        return ""

    @property
    def fits_counts(self) -> bool:
        """Whether counts are all that it learns from: of an out-of-core table it then learns by `fit_counts`."""
        return False

    @abstractmethod
    def fit(self, table: pl.DataFrame, context: FitContext) -> SyntheticModel:
        """Learn from the rows of a table."""

    def fit_counts(
        self, count: Callable[[Sequence[str]], pl.DataFrame], columns: Mapping[str, pl.DataType], context: FitContext
    ) -> SyntheticModel:
        """Learn from counts: `count` gives the distinct tuples of some columns, and how many rows have each; `columns`
        are their types. Asked of a generator that `fits_counts`."""
        raise PolicyError(f"{type(self).__name__} learns from rows, not from counts")

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values, as in a policy file: the class makes an equal value of them."""

    @abstractmethod
    def sentence(self) -> str:
        """How the rows were made, in words."""
