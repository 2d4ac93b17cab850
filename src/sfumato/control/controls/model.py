"""QueryControl: what decides whether a query is answered, and what an auditor remembers of those that were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl

from sfumato.control.query import SetQuery
from sfumato.core.parameters import check_fields
from sfumato.core.registry import field_values, variant_name
from sfumato.errors import MissingExtra

SIMULATABLE, OFFLINE = "simulatable", "offline"


@dataclass(frozen=True, eq=False)
class AskedSet:
    """A query and whom it is about. People are numbered over all snapshots; `inside` says who of them is in the query
    set, `members` are the numbers of those, in the order of the rows.

    `answer` is the true answer where refusals may look at it (offline auditing), else None.
    """

    query: SetQuery
    inside: np.ndarray  # bool [people]
    members: np.ndarray  # int64 [rows of the set]
    rows: np.ndarray  # bool [rows of the snapshot]
    snapshot: int = 1
    answer: float | None = None


@dataclass(frozen=True, eq=False)
class Setting:
    """What a control knows of its database: the table that stands (`people` numbers the person of each row, of
    `everybody` who was ever in it), the columns that formulas may use (`keys`) and that are asked for (`values`),
    bounds that everybody knows, whether refusals may look at answers, and a secret that stays with the owner."""

    table: pl.DataFrame
    people: np.ndarray
    everybody: int
    keys: tuple[str, ...]
    values: tuple[str, ...]
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    auditing: str = SIMULATABLE
    secret: bytes = b""

    def numbers(self, name: str) -> np.ndarray:
        """The values of a column, in the order of people's numbers, of the first snapshot."""
        return self.table.get_column(name).cast(pl.Float64).to_numpy()


class ControlState(Protocol):
    """A control at work: it decides by what was answered before."""

    def refusal(self, asked: AskedSet) -> str | None:
        """Why a query is refused, or None."""

    def record(self, asked: AskedSet, answer: float) -> None:
        """A query was answered, with this true answer."""

    def update(self, setting: Setting) -> None:
        """A new snapshot stands."""

    def given(self, asked: AskedSet, values: np.ndarray | None, answer: float) -> float:
        """What is told in place of the answer."""


class QueryControl(Protocol):
    """A rule by which a statistical database refuses or changes answers."""

    audits: ClassVar[frozenset[str]]  # kinds of queries of which it claims that they determine nobody's value

    @property
    def carries(self) -> bool:
        """Whether it holds over snapshots."""

    @property
    def model(self) -> str:
        """Its name in the table of controls."""

    def start(self, setting: Setting) -> ControlState:
        """The control at work on a database where nothing was asked."""

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""

    def sentence(self) -> str:
        """What it says, in words."""


@dataclass(frozen=True)
class QueryModel:
    """What controls share: their parameters are the fields of a dataclass. One that remembers nothing is its own state,
    and one that only refuses changes no answer."""

    audits: ClassVar[frozenset[str]] = frozenset()

    @property
    def carries(self) -> bool:
        """Whether it holds over snapshots."""
        return True

    def __post_init__(self) -> None:
        check_fields(self, self.model)

    @property
    def model(self) -> str:
        """Its name in its table."""
        return variant_name(type(self).__name__)

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""
        return field_values(self)

    def start(self, setting: Setting) -> Any:
        """The control at work."""
        return self

    def refusal(self, asked: AskedSet) -> str | None:
        """Nothing is refused."""
        return None

    def record(self, asked: AskedSet, answer: float) -> None:
        """Nothing is remembered."""

    def update(self, setting: Setting) -> None:
        """Nothing is remembered."""

    def given(self, asked: AskedSet, values: np.ndarray | None, answer: float) -> float:
        """The answer itself."""
        return answer


def solver(module: str) -> Any:
    """A module of SciPy, which auditing by programs needs."""
    try:
        return import_module(f"scipy.{module}")
    except ImportError:
        raise MissingExtra("scipy", "ml") from None


class Auditor:
    """A state that remembers, and changes no answer."""

    def update(self, setting: Setting) -> None:
        """People keep their numbers."""

    def given(self, asked: AskedSet, values: np.ndarray | None, answer: float) -> float:
        """The answer itself."""
        return answer
