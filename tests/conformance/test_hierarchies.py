"""Every hierarchy builder through the conformance suite, which finds recipes that do not keep their contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.hierarchy import Categories, Hierarchy, Recipe
from sfumato.testing import check_hierarchy, parametrize_with_checks

VALUES: dict[str, list[Any]] = {
    "order": ["low", "mid", "high", "top"],
    "tree": ["flu", "asthma", "ulcer"],
    "wide": ["flu", "ulcer"],
    "icd10": ["A15", "E11.9", "I21"],
    "countries": ["IT", "FR", "CH"],
    "nuts": ["DE111", "DE112", "FR101"],
    "isco": ["2221", "2212", "5120"],
    "nace": ["01.11", "62.01"],
    "isced": ["1", "3", "6"],
    "ip": ["10.0.0.1", "10.0.1.1", "192.168.0.1"],
    "coordinates": [46.948, 46.951, 7.447],
}


@pytest.mark.parametrize("name", sorted(set(sf.HIERARCHIES) - {"file"}))
def test_hierarchies(name: str) -> None:
    check_hierarchy(sf.HIERARCHIES[name].example, VALUES.get(name))


@parametrize_with_checks(sf.redact("right"), sf.intervals(5, 10))
def test_a_check_at_a_time(check: Any) -> None:
    check()


@dataclass(frozen=True)
class Blurting(Recipe):
    """What tells the values of the column."""

    values: tuple[str, ...] = ("ashgrove",)

    def build(self, categories: Categories) -> Hierarchy:
        return sf.flat().build(categories)

    def describe(self) -> str:
        return f"flat, as of {', '.join(self.values)}"


class Counting(Blurting):
    """Another tree each time."""

    def build(self, categories: Categories) -> Hierarchy:
        steps = self.__dict__.setdefault("steps", [])
        steps.append(1)
        return (sf.flat() if len(steps) % 2 else sf.redact("right")).build(categories)


class Partial(Blurting):
    """A tree over some of the values."""

    def build(self, categories: Categories) -> Hierarchy:
        return sf.order(["x", "y"]).build(Categories("x", "text", ("x", "y"), None, categories.count[:2]))


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (Blurting(), "tells values of the column: ashgrove"),
        (Counting(), "the same values give"),
        (Partial(), "lacks 6 of the 6 values"),
        (sf.tree([("flu", "*")]), "takes none of the made-up columns"),
    ],
)
def test_the_suite_finds_what_does_not_keep_its_contract(recipe: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_hierarchy(recipe)
