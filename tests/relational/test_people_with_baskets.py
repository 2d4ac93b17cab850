"""People with baskets: found by nobody who knows quasi-identifiers and a few items; counted in plain Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.core.label_grammar import read_range
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.errors import ColumnError, Infeasible, PolicyError
from tests.fuzz import FUZZ

GROUPS = {"a": "ab", "b": "ab", "c": "cd", "d": "cd"}
ASKED: dict[str, Any] = {"basket": "who", "item": "item", "quasi": ["age"], "hierarchy": sf.levels(GROUPS)}


def visits(seed: int, people: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (f"p{i}", int(age), str(item))
        for i, age in enumerate(rng.integers(20, 60, people))
        for item in rng.choice(list("abcd"), rng.integers(1, 4), replace=False)
    ]
    return pl.DataFrame(rows, schema=["who", "age", "item"], orient="row")


def published(people: pl.DataFrame, items: pl.DataFrame) -> PublishedSet:
    texts = [one.select(pl.all().cast(pl.String)) for one in (people, items)]
    return PublishedSet({
        "people": PublishedTable("people", texts[0], {"who": "group", "age": "quasi"}),
        "items": PublishedTable("items", texts[1], {"who": "group", "item": "item"}),
    })  # fmt: skip


def may_be(label: str, age: int) -> bool:
    found = read_range(label)
    return int(label) == age if found is None else float(found.low) <= age <= float(found.high)


@pytest.mark.parametrize("seed", range(6 * FUZZ))
def test_whoever_knows_age_and_two_items_finds_k_people_or_none(seed: int) -> None:
    table, k, m = visits(seed, 12), 2 + seed % 2, 2
    made = sf.anonymize_baskets(table, k=k, m=m, **ASKED)
    people = dict(made.tables["people"].iter_rows())
    items: dict[int, set[str]] = {}
    for who, item in made.tables["items"].iter_rows():
        items.setdefault(who, set()).add(item)
    assert len(people) == 12
    for (_, age), rows in table.group_by("who", "age"):
        own = rows["item"].to_list()
        for size in range(m + 1):
            for known in combinations(own, size):
                fit = [
                    who
                    for who, label in people.items()
                    if may_be(label, age) and all({item, GROUPS[item], "*"} & items[who] for item in known)
                ]
                assert len(fit) >= k
    assert made.verification.outcome == "holds"


def test_the_order_of_the_input_tells_nothing() -> None:
    table = visits(3, 20)
    made = [sf.anonymize_baskets(one, k=3, m=2, **ASKED) for one in (table, table.sample(fraction=1.0, shuffle=True))]
    renamed = table.with_columns(who=pl.col("who").replace_strict({f"p{i}": f"{(i * 7) % 20:02}" for i in range(20)}))
    made.append(sf.anonymize_baskets(renamed, k=3, m=2, **ASKED))
    for name in ("people", "items"):
        assert all(one.tables[name].equals(made[0].tables[name]) for one in made)


def test_larger_classes_lose_less_of_items() -> None:
    table = visits(1, 60)
    small, large = (sf.anonymize_baskets(table, k=3, m=2, class_size=size, **ASKED) for size in (3, 20))
    assert large.solution.loss < small.solution.loss
    assert large.people_loss > small.people_loss


PEOPLE = pl.DataFrame({"who": [1, 2, 3, 4], "age": ["[20, 29]", "[20, 29]", "[30, 39]", "[30, 39]"]})
ITEMS = pl.DataFrame({"who": [1, 1, 2, 2, 3, 4], "item": ["a", "b", "a", "b", "c", "c"]})
FAULTS: dict[str, tuple[Callable[[], PublishedSet], str]] = {
    "an item of one alone": (
        lambda: published(PEOPLE, pl.concat([ITEMS, pl.DataFrame({"who": [4], "item": ["d"]})])), "set"
    ),
    "a person of another class": (
        lambda: published(PEOPLE.with_columns(age=pl.Series(["[20, 29]"] * 3 + ["[30, 39]"])),
                          ITEMS.sort("who")), "of fewer than 2"),
    "two items together": (
        lambda: published(PEOPLE, pl.DataFrame({"who": [1, 1, 2, 3, 4], "item": ["a", "b", "b", "c", "c"]})), "set"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str) -> None:
    assert sf.KKMAnonymity(2, 2).audit(published(PEOPLE, ITEMS)).holds
    made, note = FAULTS[fault]
    found = sf.KKMAnonymity(2, 2).audit(made())
    assert not found.holds
    assert found.note is not None
    assert note in found.note


@pytest.mark.parametrize(
    ("people", "items", "message"),
    [
        (PEOPLE.reverse().with_columns(who=pl.Series([1, 2, 3, 4])), ITEMS, "otherwise than in the order"),
        (PEOPLE, ITEMS.with_columns(who=pl.Series([1, 1, 2, 2, 3, 7])), "1 of nobody"),
        (PEOPLE.with_columns(who=pl.Series([1, 2, 3, 9])), ITEMS, "one after another"),
        (PEOPLE.with_columns(who=pl.Series([1, 1, 2, 3])), ITEMS, "listed twice"),
        (PEOPLE, pl.concat([ITEMS, ITEMS[:1]]), "once each"),
    ],
)
def test_numbers_that_may_tell_something_prove_nothing(people: pl.DataFrame, items: pl.DataFrame, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        sf.KKMAnonymity(2, 2).audit(published(people, items))


def test_a_further_column_is_not_covered() -> None:
    found = published(PEOPLE, ITEMS)
    more = found.tables["people"].texts.with_columns(ill=pl.lit("flu"))
    people = PublishedTable("people", more, {"who": "group", "age": "quasi", "ill": "sensitive"})
    with pytest.raises(PolicyError, match='columns that the promise does not cover: "ill"'):
        sf.KKMAnonymity(2, 2).audit(PublishedSet({"people": people, "items": found.tables["items"]}))


def test_refusals() -> None:
    table = visits(1, 12)
    twice = pl.concat([table, table[:1].with_columns(age=pl.lit(99, pl.Int64))])
    with pytest.raises(ColumnError, match="1 person has several values") as told:
        sf.anonymize_baskets(twice, k=2, m=1, **ASKED)
    assert "p0" not in str(told.value)
    with pytest.raises(Infeasible):
        sf.anonymize_baskets(table, k=13, m=1, **ASKED)
    with pytest.raises(PolicyError, match="take k and m"):
        sf.anonymize_baskets(table, h=0.5, k=2, p=1, **{**ASKED, "hierarchy": None})
    with pytest.raises(PolicyError, match="there are none"):
        sf.anonymize_baskets(table, k=2, m=1, **{**ASKED, "quasi": (), "class_size": 4})
    with pytest.raises(PolicyError, match="class_size"):
        sf.anonymize_baskets(table, k=5, m=1, class_size=2, **ASKED)


def test_shell_and_policy_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    visits(1, 30).write_csv("visits.csv")
    line = ["baskets", "visits.csv", "--basket", "who", "--item", "item", "--quasi", "age", "--k", "3", "--m", "2"]
    assert main([*line, "--class-size", "6", "-o", "out"]) == 0
    assert "30 people (quasi-identifiers lose" in capsys.readouterr().out
    assert main(["verify", "out"]) == 0
    capsys.readouterr()
    Path("policy.toml").write_text(
        '[input]\npath = "visits.csv"\n[baskets]\nbasket = "who"\nitem = "item"\nquasi = "age"\nk = 3\nm = 1\n'
        '[hierarchies]\nage = {intervals = [10, 40]}\n[output]\npath = "by-policy"\n', "utf-8"
    )  # fmt: skip
    assert main(["baskets", "policy.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["promises"][0]["model"] == "kkm-anonymity"
    people = pl.read_csv("by-policy/people.csv")
    people.with_columns(age=pl.Series(["1", *people["age"][1:]])).write_csv("by-policy/people.csv")
    assert main(["verify", "by-policy"]) == 1
