"""Flat hierarchy: a value, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.categories import Categories
from sfumato.hierarchy import Hierarchy, grow, leaves_of


@dataclass(frozen=True)
class Flat:
    """Every value generalises to `*` at once."""

    def build(self, categories: Categories) -> Hierarchy:
        """The hierarchy of height one over the values."""
        return grow(categories.name, leaves_of(categories), [])

    def describe(self) -> str:
        """A few words for the manifest."""
        return "flat"


def flat() -> Flat:
    """Every value generalises to `*` at once.

    >>> flat().describe()
    'flat'
    """
    return Flat()
