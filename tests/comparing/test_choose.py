"""sf.choose: the k of each threshold and attacker, the knee, the suggestion, and the page."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.comparing.choosing import choice, choice_page, knee, loss_chart, needed
from sfumato.comparing.drawing import Text, svg
from sfumato.errors import PolicyError, SfumatoError

TOWNS = ("Xanadu", "Xenia", "Xylo")


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "a key of the tests")


@pytest.fixture
def people() -> pl.DataFrame:
    return pl.DataFrame({"age": [20 + (7 * i) % 40 for i in range(60)], "town": [TOWNS[i % 3] for i in range(60)]})


def made_up(losses: dict[int, float], limit: float | None = None, attacker: str = "prosecutor", **more: Any) -> Any:
    """A choice of made-up releases of 1,000 rows, each in classes of exactly k."""
    points = [
        {"k": k, "utility": 1 - loss, "suppressed": 0, "classes": 1000 // k, "risk": 1 / k, "status": "done",
         "reason": None} for k, loss in losses.items()
    ]  # fmt: skip
    about = {"rows": 1000, "quasi": ["age"], "search": "made-up", "measure": "lm", "population": None,
             "sampling_fraction": None, "require": "", "suppression": 0.0}  # fmt: skip
    return choice(about | more, points, limit, attacker)


CONVEX = {2: 0.0, 4: 0.01, 8: 0.03, 16: 0.1, 32: 0.4}


def test_knee_by_hand() -> None:
    # chord from (log 2, 0) to (log 32, 0.4): at 4 0.1 - 0.01, at 8 0.2 - 0.03, at 16 0.3 - 0.1 = 0.2, the farthest
    assert knee(list(CONVEX), list(CONVEX.values())) == 16
    assert knee([2, 4, 8], [0.0, 0.1, 0.2]) is None  # straight
    assert knee([2, 4, 8], [0.0, 0.3, 0.4]) is None  # bends the other way
    assert knee([2, 4, 8], [0.1, 0.1, 0.1]) is None
    assert knee([2, 4], [0.0, 0.1]) is None
    assert knee([], []) is None


def test_thresholds_are_those_in_use() -> None:
    found = made_up(CONVEX)["thresholds"]
    assert [one["prosecutor"] for one in found] == [3, 5, 11, 12, 20]
    assert [one["journalist"] for one in found] == [3, 5, 11, 12, 20]  # no population is known
    assert [one["marketer"] for one in found] == [4, 8, 16, 16, 32]  # the least that was tried, 1/k on average
    assert needed(0.05, 1.0)["journalist"] <= 20


def test_a_population_helps_against_those_who_do_not_know_who_is_in_it() -> None:
    found = made_up(CONVEX, population=10_000, sampling_fraction=0.1)
    last = found["thresholds"][-1]
    assert (last["prosecutor"], last["journalist"]) == (20, sf.KMap(20, 0.1).least_size)
    assert found["points"][0]["marketer"] == pytest.approx(0.05)  # a tenth of 1/2
    assert last["marketer"] == 2


@pytest.mark.parametrize(
    ("limit", "attacker", "suggested", "told"),
    [
        (None, "prosecutor", 16, "No limit is given: the highest risk is 1 in 16"),
        (0.25, "prosecutor", 4, "within 25%. The knee is at 16: up to there more protection costs less"),
        (0.05, "prosecutor", 20, "beyond the knee at 16"),
        (0.0625, "prosecutor", 16, "The least k"),
        (0.01, "marketer", None, "No k that was tried"),
        (0.0001, "prosecutor", None, "It takes a k of 10,000, and the table has 1,000 rows"),
    ],
)
def test_suggestions(limit: float | None, attacker: str, suggested: int | None, told: str) -> None:
    found = made_up(CONVEX, limit, attacker)
    assert found["suggested"] == suggested
    assert told in found["why"]
    assert told in repr(found)
    scene = loss_chart(found, 350, heading=False)
    labels = [item.words for item in scene.items if isinstance(item, Text) and item.kind == "label"]
    assert ("knee, suggested" if suggested == 16 else "knee") in labels
    assert ET.fromstring(svg(scene, "choice")) is not None


def test_without_knee_and_limit_nothing_is_suggested() -> None:
    found = made_up({2: 0.1, 4: 0.2, 8: 0.3})
    assert (found["suggested"], found["knee"]) == (None, None)
    assert "No k is suggested" in choice_page(found, "0")


@pytest.mark.slow
def test_figures_are_those_of_the_releases(people: pl.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asked: dict[str, Any] = {"quasi": ["age", "town"], "search": "mondrian"}
    found = sf.choose(people, **asked, k=[6, 2, 61], limit=0.2, output=tmp_path / "out")
    assert [(row["k"], row["status"]) for row in found["points"]] == [(2, "done"), (6, "done"), (61, "infeasible")]
    for row in found["points"][:2]:
        released = sf.anonymize(people, **asked, k=row["k"])
        sizes = released.table.group_by("age", "town").len()["len"]
        assert row["highest"] == 1 / sizes.min()  # type: ignore[operator]
        assert row["average"] == pytest.approx(len(sizes) / 60)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"choice.json", "choice.html", "choice.svg", "choice.png", "map.html", "points.jsonl"}
    assert json.loads((tmp_path / "out/choice.json").read_text()) == found
    page = (tmp_path / "out/choice.html").read_text()
    assert "<script" not in page
    assert not any(town in page for town in TOWNS)
    assert sf.choose(people, **asked, k=[6, 2, 61], limit=0.2, output=tmp_path / "out") == found  # goes on from there


def test_the_k_of_the_limit_is_tried(people: pl.DataFrame) -> None:
    found = sf.choose(people, quasi=["age"], insensitive=["town"], search="mondrian", limit=0.07, suppression=0.1)
    assert [row["k"] for row in found["points"]] == [2, 3, 5, 8, 11, 12, 15, 20, 30, 50]
    assert found["thresholds"][0]["prosecutor"] == 15


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"attacker": "burglar"}, "attacker"),
        ({"attacker": "journalist"}, "takes the size of the population"),
        ({"population": 59}, "population"),
        ({"k": [0]}, "k"),
        ({"quasi": [["age"], ["town"]]}, "one set of quasi-identifiers"),
        ({"search": ["mondrian", "optimal"]}, "one search"),
        ({"require": [sf.KAnonymity(3)]}, "KAnonymity"),
    ],
)
def test_refusals(people: pl.DataFrame, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        sf.choose(people, **{"quasi": ["age", "town"], **asked})


def test_nothing_in_the_page_is_markup_of_others() -> None:
    page = choice_page(made_up(CONVEX, quasi=["<b>age</b>"]), "0")
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_an_unknown_column_is_told(people: pl.DataFrame) -> None:
    with pytest.raises(SfumatoError, match="agee"):
        sf.choose(people, quasi=["agee"])
