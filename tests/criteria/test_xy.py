"""(X,Y)-anonymity and (X,Y)-linkability, by hand and beside the models that they are with a certain Y."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.bytes import sha256
from sfumato.errors import Infeasible, PolicyError

VISITS = {"age": ["30s"] * 5 + ["40s"] * 4, "patient": ["Ann"] * 5 + ["Bob", "Cid", "Cid", "Dan"]}


def measured(require: object, **more: object) -> float | None:
    return sf.verify(VISITS, quasi=["age"], require=require, **more).promises[0].measured


def test_by_hand() -> None:
    assert measured(sf.XYAnonymity("patient", 2)) == 1
    assert measured(sf.XYLinkability("patient", 0.5)) == 1
    forties = {name: values[5:] for name, values in VISITS.items()}
    found = sf.verify(forties, quasi=["age"], require=[sf.XYAnonymity("patient", 3), sf.XYLinkability("patient", 0.5)])
    assert [(one.measured, one.holds) for one in found.promises] == [(3, True), (0.5, True)]
    assert not sf.verify(forties, quasi=["age"], require=sf.XYAnonymity("patient", 4)).holds
    assert not sf.verify(forties, quasi=["age"], require=sf.XYLinkability("patient", 0.49)).holds


def test_with_the_column_of_people_it_is_k_anonymity_of_people() -> None:
    assert measured(sf.XYAnonymity("patient", 2)) == measured(sf.KAnonymity(2), person="patient")


def test_with_a_key_of_the_rows_it_is_k_anonymity() -> None:
    table = {**VISITS, "row": list(range(9))}
    found = sf.verify(table, quasi=["age"], require=[sf.XYAnonymity("row", 4), sf.KAnonymity(4)]).promises
    assert found[0].measured == found[1].measured == 4


def test_a_search_keeps_both() -> None:
    table = {"age": [30, 31, 32, 33, 50, 51, 52, 53] * 3, "ill": ["flu", "cold", "flu"] * 8}
    asked = [sf.XYAnonymity("ill", 2), sf.XYLinkability("ill", 0.7)]
    for search in ("optimal", "mondrian"):
        release = sf.anonymize(table, quasi=["age"], require=asked, search=search)
        classes: dict[str, list[str]] = {}
        for age, ill in release.table.select("age", "ill").rows():
            classes.setdefault(age, []).append(ill)
        assert all(len(set(one)) >= 2 for one in classes.values())
        assert all(max(map(one.count, one)) <= 0.7 * len(one) for one in classes.values())


def test_sizes_and_words() -> None:
    assert (sf.XYAnonymity("y", 4).least_size, sf.XYLinkability("y", 0.1).least_size) == (4, 10)
    assert sf.XYLinkability("y", 0.3).least_size == 4
    assert sf.XYAnonymity("y", 1).sentence().endswith('at least 1 value of "y".')
    for wrong in (lambda: sf.XYAnonymity("y", 0), lambda: sf.XYLinkability("y", 0), lambda: sf.XYLinkability("y", 1.1)):
        with pytest.raises(PolicyError):
            wrong()


def inside(value: int | str, label: str) -> bool:
    """Whether a value is one that a label says, read without the library."""
    if label == "*" or str(value) == label:
        return True
    if label.startswith("["):
        low, high = label.strip("[]()").split(", ")
        return int(low) <= int(value) <= int(high) - label.endswith(")")
    return str(value) in label.strip("{}").split(", ")


def worlds(known: Sequence[tuple[Any, ...]], labels: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, ...]]:
    """Every way in which the released rows may be those of records of which X is known: a row of each."""
    fits = [[j for j, row in enumerate(labels) if all(map(inside, one, row))] for one in known]

    def deal(i: int, taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if i == len(known):
            yield taken
            return
        for j in fits[i]:
            if j not in taken:
                yield from deal(i + 1, (*taken, j))

    return deal(0, ())


def linked(table: pl.DataFrame, released: pl.DataFrame, x: Sequence[str]) -> tuple[int, float]:
    """What who knows X of all records finds in all worlds: the fewest values of Y that a record may have, and the
    largest share of the worlds in which it has the same."""
    labels = released.select(pl.col(x).cast(pl.String)).rows()
    y = released.get_column("y").to_list()
    seen: list[Counter[Any]] = [Counter() for _ in range(table.height)]
    for world in worlds(table.select(x).rows(), labels):
        for record, row in zip(seen, world, strict=True):
            record[y[row]] += 1
    return min(map(len, seen)), max(max(one.values()) / one.total() for one in seen)


def small(rng: random.Random) -> pl.DataFrame:
    """Up to eight records; several may be of one Y, as those of a patient are."""
    n = rng.randint(4, 7)
    columns = {"a": [rng.randint(1, 6) for _ in range(n)], "b": [rng.choice("123") for _ in range(n)]}
    return pl.DataFrame({**columns, "y": [rng.choice("PQRS") for _ in range(n)]})


BOTH, A, B = ["a", "b"], ["a"], ["b"]
SETS = ((BOTH, BOTH), (BOTH, A), (A, B), (B, BOTH))


@pytest.mark.slow
@pytest.mark.parametrize("search", ["optimal", "mondrian"])
def test_in_all_worlds_that_fit_what_is_published_both_hold(search: str) -> None:
    """Each criterion over a set X of its own: who knows X of everybody, and no more."""
    rng, made = random.Random(search), 0
    trees = {"a": sf.intervals(2, 4), "b": sf.flat()} if search == "optimal" else None
    for _ in range(60):
        table, k, h = small(rng), rng.choice([2, 3]), rng.choice([0.4, 0.5, 0.7])
        one, other = SETS[0] if search == "mondrian" else rng.choice(SETS)
        require = [sf.XYAnonymity("y", k, quasi=one), sf.XYLinkability("y", h, quasi=other)]
        try:
            release = sf.anonymize(
                table, quasi=["a", "b"], require=require, search=search, hierarchies=trees, ends="exact"
            )
        except Infeasible:
            continue
        made += 1
        assert linked(table, release.table, one)[0] >= k, (table, release.table)
        assert linked(table, release.table, other)[1] <= h + 1e-9, (table, release.table)
        assert [promise.holds for promise in release.verification.promises] == [True, True]
    assert made > 10


@pytest.mark.parametrize("fault", ["exchanged", "repeated"])
def test_a_planted_fault_is_found_in_the_worlds_and_in_the_folder(fault: str, tmp_path: Path) -> None:
    """Values of two classes exchanged, so that each has one twice; or one of a class put in place of others."""
    table = pl.DataFrame({"a": [1, 2, 1, 2, 3, 4, 3, 4], "b": ["1"] * 8, "y": list("PQRSPQRS")})
    require = [sf.XYAnonymity("y", 3), sf.XYLinkability("y", 0.25)]
    release = sf.anonymize(table, quasi=["a", "b"], require=require, search="optimal",
                           hierarchies={"a": sf.intervals(2, origin=1), "b": sf.flat()})  # fmt: skip
    assert linked(table, release.table, ["a", "b"]) == (4, 0.25)
    classes = release.table.get_column("a").to_list()
    y = release.table.get_column("y").to_list()
    first = [i for i, label in enumerate(classes) if label == classes[0]]
    rest = [i for i in range(8) if i not in first]
    if fault == "exchanged":
        i, j = first[0], next(j for j in rest if y[j] != y[first[0]])
        y[i], y[j] = y[j], y[i]
    else:
        y[first[1]] = y[first[2]] = y[first[0]]
    wrong = release.table.with_columns(y=pl.Series(y))
    fewest, largest = linked(table, wrong, ["a", "b"])
    assert largest > 0.25
    assert (fewest < 3) == (fault == "repeated")
    folder = release.save(tmp_path / "out")
    data = folder / "data.csv"
    wrong.sort(wrong.columns).write_csv(data)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"][0]["sha256"] = sha256(data)
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    found = {promise.model: promise.holds for promise in sf.verify(folder).promises}
    assert not found["xy-linkability"]
    assert not found[
        "xy-anonymity"
    ]  # with 3 values left the promise is kept, and the 4 that the manifest claims are not
