"""Tables and columns that a promise does not look at: whoever adds them to what is published keeps no promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.sets.model import examined_set
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from tests.mining.conftest import WORKED

ILL = {
    "age": [22, 25, 27, 31, 33, 34, 38, 41, 52, 55, 58, 61],
    "sex": ["F", "M"] * 6,
    "ill": ["cold", "cold", "flu", "cold", "cold", "flu", "flu", "flu", "cold", "flu", "flu", "flu"],
}
BASKETS = {"item": [["a", "b"], ["a", "b"], ["a"], ["b"], ["a", "b"], ["a", "b"]]}


def anatomy(search: Any) -> Any:
    asked: Any = {"quasi": ["age", "sex"], "sensitive": ["ill"], "require": sf.DistinctLDiversity("ill", 2)}
    return sf.anonymize({**ILL, "ill": ["cold", "flu", "gout"] * 4}, **asked, search=search)


def republished() -> Any:
    table = {**ILL, "ill": ["cold", "flu", "gout"] * 4, "who": range(12)}
    with TemporaryDirectory() as folder:
        state = f"{folder}/state.bin"
        return sf.republish(None, table, m=2, state=state, person="who", quasi=["age", "sex"], sensitive="ill")


def people_with_baskets() -> Any:
    table = {"who": [1, 2, 3, 4, 1, 2, 3, 4], "age": [1] * 8, "item": ["a"] * 4 + ["b"] * 4}
    return sf.anonymize_baskets(table, basket="who", item="item", quasi=["age"], k=2, m=2)


RELEASES: dict[str, Callable[[], Any]] = {
    "k-anonymous-patterns": lambda: sf.mine({"item": [[*one] for one in WORKED]}, item="item", k=2, support=4),
    "k-anonymous-leaves": lambda: sf.mine(ILL, target="ill", k=2),
    "leaves that are not counted": lambda: sf.mine(ILL, target="ill", k=2, counts=False),
    "pooled-counts": lambda: sf.mine(ILL, target="ill", k=2, miner="pooled-naive-bayes"),
    "km-anonymity": lambda: sf.anonymize_baskets(BASKETS, item="item", k=2, m=2),
    "hkp-coherence": lambda: sf.anonymize_baskets(BASKETS, item="item", h=1.0, k=2, p=1),
    "kkm-anonymity": people_with_baskets,
    "m-uniqueness": republished,
    "frequency-l-diversity": lambda: anatomy("anatomy"),
    "l-diverse-slicing": lambda: anatomy("slicing"),
}


@pytest.mark.parametrize("model", RELEASES)
def test_what_no_promise_looks_at_breaks_it(model: str) -> None:
    release = RELEASES[model]()
    tables = {part.name: part.published() for part in release.parts}
    promises = [promise for promise in release.promises if promise.model != "integrity"]
    assert promises
    for promise in promises:
        assert examined_set(promise, PublishedSet(tables, release.links)).holds
        for roles in ({}, {"name": "quasi", "ill": "sensitive"}):
            notes = PublishedTable("notes", pl.DataFrame({"name": ["Ann"], "ill": ["flu"]}), roles)
            assert not examined_set(promise, PublishedSet({**tables, "notes": notes}, release.links)).holds
        for name, table in tables.items():
            if promise.model == "l-diverse-slicing":
                continue  # of any columns, as long as none is in two tables
            if (promise.model, table.columns("count")) == ("frequency-l-diversity", ()):
                continue  # whose rows stand as they are
            more = replace(table, texts=table.texts.with_columns(who=pl.lit("Ann")))
            assert not examined_set(promise, PublishedSet({**tables, name: more}, release.links)).holds


def test_leaves_have_no_names_but_numbers() -> None:
    release = sf.mine(ILL, target="ill", k=2)
    tables = {part.name: part.published() for part in release.parts}
    called = {
        name: replace(table, texts=table.texts.with_columns(leaf=pl.format("Ann {}", "leaf")))
        for name, table in tables.items()
    }
    assert not examined_set(release.promises[0], PublishedSet(called)).holds
