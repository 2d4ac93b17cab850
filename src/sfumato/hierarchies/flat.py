"""Flat hierarchy: a value, or nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.core.hierarchy import Categories, Hierarchy, grow, leaves_of
from sfumato.errors import HierarchyError


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


@dataclass(frozen=True)
class Given:
    """A hierarchy built before."""

    hierarchy: Hierarchy

    @property
    def codes(self) -> bool:
        """Whether digits are no numbers in it."""
        return self.hierarchy.codes

    @property
    def learned(self) -> bool:
        """Whether it was made from a table."""
        return self.hierarchy.learned

    def build(self, categories: Categories) -> Hierarchy:
        """The hierarchy under the name of the column, if it covers all values."""
        values = leaves_of(categories)
        lost = int((self.hierarchy.locate(values) < 0).sum())
        if lost:
            raise HierarchyError(
                f'the hierarchy given for "{categories.name}" does not cover {lost} of {len(values)} values'
            )
        return replace(self.hierarchy, attribute=categories.name)

    def describe(self) -> str:
        """A few words for the manifest."""
        levels = "made from the table" if self.learned else f"{self.hierarchy.height} levels above the values"
        return f"hierarchy given, {levels}"
