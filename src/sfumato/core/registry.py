"""Variant: one row of a table of variants (criteria, losses, searches, ...)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import PolicyError, did_you_mean


@dataclass(frozen=True)
class Variant:
    """A class, an example of it that stands in lists and tests, and the paper it comes from."""

    make: Callable[..., Any]
    example: Any
    cite: str
    words: str = ""  # what a report calls it, where its name alone would not do

    @property
    def summary(self) -> str:
        """First line of the class's docstring."""
        return (self.make.__doc__ or "").strip().split("\n")[0]


def variant(table: Mapping[str, Variant], what: str, spec: Any) -> Any:
    """A value of the table from its name, or a value of one of its classes as it is."""
    if not isinstance(spec, str):
        if type(spec) not in [entry.make for entry in table.values()]:
            raise PolicyError(f"not a {what}", got=type(spec).__name__, allowed=", ".join(table))
        return spec
    if spec not in table:
        raise PolicyError(f"unknown {what}", got=repr(spec), allowed=", ".join(table), hint=did_you_mean(spec, table))
    return table[spec].make()


def name_of(table: Mapping[str, Variant], value: Any) -> str:
    """The table name of a value."""
    return next(name for name, entry in table.items() if entry.make is type(value))
