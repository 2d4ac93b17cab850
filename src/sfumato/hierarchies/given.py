"""Given: a hierarchy that is there already, checked against the column."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.categories import Categories
from sfumato.errors import HierarchyError
from sfumato.hierarchy import Hierarchy, leaves_of


@dataclass(frozen=True)
class Given:
    """A hierarchy built before."""

    hierarchy: Hierarchy

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
        return f"hierarchy given, {self.hierarchy.height} levels above the values"
