"""Variant: one row of a table of variants (criteria, losses, searches, ...)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Variant:
    """A class, an example of it that stands in lists and tests, and the paper it comes from."""

    make: Callable[..., Any]
    example: Any
    cite: str

    @property
    def summary(self) -> str:
        """First line of the class's docstring."""
        return (self.make.__doc__ or "").strip().split("\n")[0]
