"""Public hierarchies: the labels of a value follow from the value alone, whatever else the table holds."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.microdata import encode
from sfumato.hierarchies.spec import parse, public

NUMBERS = [3, 17, 18, 25, 40, 61, 90]
POSTCODES = ["01067", "01069", "10115", "80331"]
CASES: dict[str, tuple[Any, list[Any]]] = {
    "intervals": ("intervals:5,10,20", NUMBERS),
    "top and bottom": ({"intervals": [10], "bottom": 18, "top": 60}, NUMBERS),
    "cuts": ("cuts:18,40,65/40", NUMBERS),
    "age": ("age", NUMBERS),
    "redacted by steps": ("redact:2,4", ["47677", "12", "476", "9"]),
    "dates": ("dates:month,year", ["2024-02-29", "2023-12-01", "2024-03-01"]),
    "postcodes": ("postcode:de", POSTCODES),
    "order": ({"order": ["low", "mid", "high"]}, ["low", "high", "mid"]),
    "levels": ({"a": "x", "b": "x", "c": "y"}, ["a", "b", "c"]),
    "tree": (sf.tree([("a", "x"), ("b", "x"), ("c", "y"), ("x", "*"), ("y", "*")]), ["a", "b", "c"]),
    "wide": (sf.wide([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")]), ["a", "b", "c"]),
    "icd10": ("icd10", ["J45.1", "E11", "J40"]),
    "flat": ("flat", ["a", "b", "c"]),
}
OTHERS = ["learned", "redact:right", "prefix:2", "dates:day,month"]


def paths(recipe: Any, values: list[Any]) -> tuple[int, dict[str, tuple[str, ...]]]:
    built = recipe.build(encode(pl.Series("x", values))[0])
    return built.height, {leaf: built.path(i) for i, leaf in enumerate(built.leaves)}


@pytest.mark.parametrize("name", CASES)
def test_labels_do_not_depend_on_other_values(name: str) -> None:
    spec, values = CASES[name]
    recipe, rng = parse(spec), random.Random(name)
    assert public(recipe, pl.Series(values).dtype)
    height, every = paths(recipe, values)
    for _ in range(10):
        some = rng.sample(values, rng.randint(1, len(values)))
        other, found = paths(recipe, some)
        assert other == height
        assert all(every[leaf] == path for leaf, path in found.items() if leaf in every)


@pytest.mark.parametrize("spec", OTHERS)
def test_others_are_not_public(spec: str) -> None:
    assert not public(parse(spec), pl.String())
    assert not public(None, pl.String())
