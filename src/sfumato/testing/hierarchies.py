"""Checks of the recipe of a hierarchy: it builds a tree over the values, the same each time, and its description tells
none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from sfumato.core.hierarchy import Hierarchy, bind_hierarchy
from sfumato.core.microdata import encode, reads_codes
from sfumato.errors import HierarchyError, SfumatoError

WORDS = ("ashgrove", "ashlington", "birchwell", "birkenfold", "cedarholm", "cedarmouth")
NUMBERS = ("1", "2", "17", "18", "40", "65", "90")
DATES = ("2019-03-31", "2019-04-01", "2020-02-29", "2021-12-24", "2024-01-01")
CODES = ("10115", "10117", "20095", "80331", "80333")
TELLING = 5  # letters of a value that no description has by chance


def check_hierarchy(recipe: Any, values: Sequence[Any] | None = None) -> None:
    """Whether the recipe of a hierarchy keeps its contract on the values of a column; without any, on those of some
    made-up columns, of which it must take one."""
    for check in HIERARCHY_CHECKS:
        check(recipe, values)


def check_hierarchy_builds(recipe: Any, values: Sequence[Any] | None = None) -> None:
    """It makes a tree over all values: a `Hierarchy`, which is refused where it is not nested, or has no root."""
    for column in columns_for(recipe, values):
        categories, _ = encode(column, reads_codes(column, recipe))
        tree = recipe.build(categories)
        assert isinstance(tree, Hierarchy), f"build gives a {type(tree).__name__}, and no Hierarchy"
        try:
            bind_hierarchy(replace(tree), categories)
        except HierarchyError as error:
            raise AssertionError(str(error)) from None


def check_hierarchy_repeats(recipe: Any, values: Sequence[Any] | None = None) -> None:
    """The same values give the same hierarchy."""
    for column in columns_for(recipe, values):
        one, other = (recipe.build(encode(column, reads_codes(column, recipe))[0]) for _ in range(2))
        assert one.labels == other.labels, "the same values give other labels"
        assert (one.ancestor == other.ancestor).all(), "the same values give another tree"


def check_hierarchy_description(recipe: Any, values: Sequence[Any] | None = None) -> None:
    """Its description stands in a manifest: a few words, the same before and after, none of them a value."""
    for column in columns_for(recipe, values):
        before = recipe.describe()
        recipe.build(encode(column, reads_codes(column, recipe))[0])
        assert isinstance(before, str), "describe gives no text"
        assert before, "describe gives no words"
        assert recipe.describe() == before, "its description depends on the values"
        told = [str(value) for value in column if len(str(value)) >= TELLING and str(value) in before]
        assert not told, f"its description tells values of the column: {', '.join(told)}"


HIERARCHY_CHECKS = (check_hierarchy_builds, check_hierarchy_repeats, check_hierarchy_description)


def columns_for(recipe: Any, values: Sequence[Any] | None) -> list[pl.Series]:
    """A column of the values; or the made-up columns that the recipe takes."""
    if values is not None:
        return [pl.Series("value", list(values))]
    columns = [pl.Series("value", list(one)) for one in (WORDS, NUMBERS, DATES, CODES)]
    found, refused = [], []
    for column in columns:
        try:
            recipe.build(encode(column, reads_codes(column, recipe))[0])
        except SfumatoError as error:
            refused.append(str(error))
        else:
            found.append(column)
    assert found, f"it takes none of the made-up columns, so give it values of its own: {refused[0]}"
    return found
