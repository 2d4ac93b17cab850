"""Finding and Profile: what a standard objects to in a table, and its verdict as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.measures.measure import Measure


@dataclass(frozen=True)
class Objection:
    """An identifier in a column: its number among the eighteen, how it was found, and in what share of the rows.

    `how` is "name" (the name of the column says so), "value" (its values do) or "name and value".
    """

    column: str
    identifier: int
    title: str
    how: str
    share: float
    sentence: str

    @property
    def holds(self) -> bool:
        """Never: a finding is an objection."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json."""
        return {
            "column": self.column,
            "identifier": self.identifier,
            "title": self.title,
            "how": self.how,
            "share": self.share,
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class Check:
    """A measure held against a limit."""

    measure: Measure
    limit: float
    holds: bool

    @property
    def sentence(self) -> str:
        """That of the measure, and the verdict."""
        return f"{self.measure.sentence} {'Within' if self.holds else 'Above'} the limit of {self.limit:g}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json."""
        return {**self.measure.to_dict(), "limit": self.limit, "holds": self.holds}


@dataclass(frozen=True)
class Profile:
    """The verdict of a standard on a table: whether it holds, each check or finding, and a statement to sign.

    `examined` lists what the standard asks about and could be looked at; what is missing there keeps it from holding.
    """

    name: str
    holds: bool
    checks: tuple[Check | Objection, ...]
    statement: str
    details: Mapping[str, Any] = field(default_factory=dict)
    examined: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json."""
        return {
            "name": self.name,
            "holds": self.holds,
            "examined": list(self.examined),
            "checks": [check.to_dict() for check in self.checks],
            "statement": self.statement,
            "details": dict(self.details),
        }
