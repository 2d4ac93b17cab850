"""The table of a population that a criterion counts beside the released one: all people whom somebody knows of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfumato.core.parameters import Declared, is_text
from sfumato.errors import PolicyError

UNNAMED = "population"  # what a table without a file is called in a manifest
MEMBERSHIP = "\0member"  # of the people of a population, whether they are in the released table:
MEMBER, OTHER = "1", "0"


@dataclass(frozen=True, eq=False)
class KnownPopulation:
    """A table of a population, as it was given: a frame, a scan, a database, or the path of a file.

    Two are equal where they have the name of one file, or are the same table. `weight` is a column that says how many
    people a row stands for. Where people are `drawn`, the table is the distribution that they are drawn from, or
    `data` maps columns to the shares of their values.

    >>> KnownPopulation("register/voters.csv").name
    'voters.csv'
    """

    data: Any
    weight: str | None = None
    drawn: bool = False

    @property
    def name(self) -> str:
        """What may be published of where it is: the name of its file alone."""
        return Path(self.data).name if isinstance(self.data, str | Path) else UNNAMED

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownPopulation):
            return NotImplemented
        if (self.weight, self.drawn) != (other.weight, other.drawn):
            return False
        paths = isinstance(self.data, str | Path) and isinstance(other.data, str | Path)
        return Path(self.data) == Path(other.data) if paths else self.data is other.data

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True)
class PopulationTable(Declared):
    """The table of a population."""

    type: ClassVar[str] = "path"

    def __call__(self, value: Any, what: str) -> KnownPopulation:
        if isinstance(value, KnownPopulation):
            return value
        named = isinstance(value, str)
        if (named and not (value and is_text(value))) or value is None or isinstance(value, bool | int | float):
            raise PolicyError(f"{what} must be the table of a population", got=type(value).__name__, allowed=ALLOWED)
        return KnownPopulation(value)


ALLOWED = "the path of a file, a frame, sf.scan, or a Database"
