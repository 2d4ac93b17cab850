"""An event: a step of a search, and the records that it names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.core.registry import variant_name


@dataclass(frozen=True)
class Record:
    """A row, or equal rows that stay together: its number, and its values of the quasi-identifiers as they print."""

    number: int
    values: tuple[str | None, ...]
    rows: int = 1

    def __str__(self) -> str:
        return f"({', '.join('missing' if value is None else value for value in self.values)})"


@dataclass(frozen=True)
class Event(ABC):
    """A step of a search. It holds values of the table, and never leaves with a release."""

    @property
    def kind(self) -> str:
        """Its name in plain words, such as "height-opened": the line of pseudo-code that it belongs to."""
        return variant_name(type(self).__name__)

    @abstractmethod
    def sentence(self) -> str:
        """The step in words."""


Trace = Callable[[Event], None]
