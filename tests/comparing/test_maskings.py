"""Maskings in sf.compare: beside searches, on axes that mean the same for both, in the map and in the ledger."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.comparing.axes import pareto
from sfumato.comparing.drawing import Mark, Text
from sfumato.comparing.lines import lines_of
from sfumato.comparing.page import chart, page
from sfumato.errors import PolicyError
from sfumato.measures.attacks.linkage.windows import window_linkage

QUASI = ["age", "pay", "town"]
TOWNS = ("Xanadu", "Xenia", "Xylo")


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "a key of the tests")


@pytest.fixture
def people() -> pl.DataFrame:
    """Two hundred people; pay goes with age, and illness with neither."""
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, 200)
    return pl.DataFrame(
        {
            "age": age,
            "pay": 1000 + 40 * age + rng.integers(0, 300, 200),
            "town": rng.choice(TOWNS, 200),
            "illness": rng.choice(["flu", "ulcer"], 200),
            "hours": rng.integers(10, 60, 200),
        }
    )


def compared(people: pl.DataFrame, mask: Any, **more: Any) -> pl.DataFrame:
    asked: dict[str, Any] = {"quasi": QUASI, "sensitive": ["illness"], "insensitive": ["hours"], "search": "mondrian"}
    return sf.compare(people, **asked | {"k": [2, 10], "mask": mask} | more)


def test_a_point_is_a_list_of_steps(people: pl.DataFrame) -> None:
    mask = [
        [sf.RankSwapping(p=5)], sf.RankSwapping(p=30), ["mdav k=5"],
        "additive-noise pay share={0.2,0.5}; rounding base=5", [sf.RankSwapping(p=5)],
    ]  # fmt: skip
    found = compared(people, mask)
    assert found.select("family", "search", "parameters", "k").rows() == [
        ("recoding", "mondrian", "", 2),
        ("recoding", "mondrian", "", 10),
        ("masking", "rank-swapping", "p=5", None),  # once, though it is asked for twice
        ("masking", "rank-swapping", "p=30", None),
        ("masking", "mdav", "k=5", None),
        ("masking", "additive-noise + rounding", "pay share=0.2; base=5", None),
        ("masking", "additive-noise + rounding", "pay share=0.5; base=5", None),
    ]
    assert set(found["status"]) == {"done"}
    assert found["pareto"].to_list() == pareto(found["utility"].to_list(), found["risk"].to_list())
    assert found["risk"][2] > found["risk"][3]  # more swapping, fewer found
    assert found["utility"][2] > found["utility"][3]  # and pay no longer goes with age


def moved(column: pl.Series, old: float, new: float) -> int:
    """The least number of ranks between two values of a column."""
    low, high = sorted((old, new))
    return 0 if low == high else int(((column > low) & (column < high)).sum()) + 1


@pytest.mark.slow
def test_figures_are_those_of_the_same_release(people: pl.DataFrame) -> None:
    """By hand, of a release by sf.mask with the same seed: records within the windows, and the mean error of counts."""
    [row] = compared(people, "rank-swapping p=10", search=[], seed=7).to_dicts()
    release = sf.mask(people, [sf.RankSwapping(["age", "pay"], p=10)], rest="release", seed=7)
    truth = np.empty(200, np.int64)
    truth[release.rows] = np.arange(200)
    linked = sf.measures.attacks.distance_linkage(release.table, people, QUASI, truth=truth)
    found = 0.0
    for person, own in zip(people.to_dicts(), truth, strict=True):
        near = [all(moved(people[c], person[c], c_j) <= 20 for c, c_j in zip(("age", "pay"), values, strict=True))
                and town == person["town"] for *values, town in release.table.select(QUASI).iter_rows()]  # fmt: skip
        found += near[own] / sum(near)
    assert found / 200 > linked.success
    assert row["risk"] == pytest.approx(found / 200)
    asked = sf.measures.utility.query_error(
        people, release.table, [*QUASI, "illness"], statistic="mean", seed=7, rows=release.rows
    )
    assert asked.baseline is not None
    assert row["utility"] == pytest.approx(1 - asked.value / asked.baseline)
    assert release.table["hours"].sort().equals(people["hours"].sort())  # no quasi-identifier: not touched
    again, other = (compared(people, "rank-swapping p=10", search=[], seed=s)["risk"][0] for s in (7, 8))
    assert (again, again == other) == (row["risk"], False)


def test_linkage_of_a_recoding_is_at_most_its_average_risk(people: pl.DataFrame) -> None:
    both = compared(people, "rank-swapping p=10")
    alone = compared(people, (), risk="average", utility="query-error statistic=mean")
    search = both.filter(pl.col("family") == "recoding")
    for linked, average in zip(search["risk"], alone["risk"], strict=True):
        assert 0.95 * average < linked <= average  # labels of neighbours share an end here and there
    assert search["utility"].to_list() == alone["utility"].to_list()
    assert compared(people, ())["utility"].to_list() != alone["utility"].to_list()  # without maskers, lm


@pytest.mark.parametrize(
    ("risk", "utility", "empty"),
    [
        ("average", None, ["risk"]),
        ("homogeneity", "lm", ["risk", "utility"]),
        (None, "classification-metric", ["utility"]),
    ],
)
def test_what_counts_classes_is_not_meaningful(people: pl.DataFrame, risk: Any, utility: Any, empty: list[str]) -> None:
    found = compared(people, ["rank-swapping p=10", "global-recoding groups=3"], k=2, risk=risk, utility=utility)
    recoded, swapped, grouped = found.to_dicts()
    assert [name for name in ("risk", "utility") if swapped[name] is None] == empty
    assert swapped["status"] == "done"
    assert "not meaningful where values of quasi-identifiers were changed" in swapped["reason"]
    assert not swapped["pareto"]
    for row in (recoded, grouped):  # labels that are true have classes
        assert (row["risk"] is None, row["utility"] is None, row["reason"]) == (False, False, None)


def test_a_masking_that_fails_is_a_row(people: pl.DataFrame) -> None:
    found = compared(people, ["mdav k=500", "rounding ages base=10", "pram town", "rank-swapping town p=5"], k=2)
    assert found["status"].to_list() == ["done", "refused", "refused", "done", "refused"]
    assert "k is larger than the table" in found["reason"][1]
    assert 'did you mean "age"' in found["reason"][2]
    assert "have no order" in found["reason"][4]
    assert not any(town in str(found.to_dicts()) for town in TOWNS)


def test_a_sample_counts_for_the_whole(people: pl.DataFrame) -> None:
    [row] = compared(people, "sampling fraction=0.5", search=()).to_dicts()
    assert row["suppressed"] == 100
    assert row["risk"] == pytest.approx(0.5, abs=0.02)  # who is in it is found, but for people who are alike
    assert row["utility"] > 0.5


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"mask": "rank-swaping p=5"}, 'did you mean "rank-swapping"'),
        ({"mask": [[]]}, "no step is given"),
        ({"mask": "rank-swapping p={5,105}"}, "p"),
        ({"mask": sf.RankSwapping(p=5), "dimensions": True}, "take no mask"),
        ({"mask": "random-tokens town vault=v"}, "gives pseudonyms"),
        ({"mask": (), "search": []}, "search is empty"),
        ({"mask": "rounding", "risk": "linkage metric=gower"}, "no option"),
    ],
)
def test_what_makes_no_sense_is_refused(people: pl.DataFrame, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        compared(people, **asked)


@pytest.mark.slow
def test_a_second_run_knows_steps_and_seed(
    people: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, int]] = []
    real = sf.mask

    def counting(data: Any, steps: Any, **asked: Any) -> Any:
        made.append((str(steps[0].p), asked["seed"]))
        return real(data, steps, **asked)

    monkeypatch.setattr("sfumato.verbs.compare.mask_table", counting)
    first = compared(people, "rank-swapping p={5,10}", search=[], output=tmp_path / "map")
    assert sorted(made) == [("10", 0), ("5", 0)]
    again = compared(people, "rank-swapping p={5,10}", search=[], output=tmp_path / "map")
    assert len(made) == 2
    assert again.equals(first)
    compared(people, "rank-swapping p={5,20}", search=[], output=tmp_path / "map")
    assert made[2:] == [("20", 0)]
    compared(people, "rank-swapping p=5", search=[], seed=1, output=tmp_path / "map")
    assert made[3:] == [("5", 1)]


@pytest.mark.slow
def test_the_map_shows_two_families(people: pl.DataFrame, tmp_path: Path) -> None:
    mask = ["rank-swapping p={30,5}", "mdav k=5", "pram; rank-swapping p=10", "mdav k=500; rounding base=10"]
    compared(people, mask, output=tmp_path / "map")
    document = json.loads((tmp_path / "map/map.json").read_text())
    lines = lines_of(document)
    assert [(line.name, line.family, line.labels) for line in lines][:3] == [
        ("mondrian", "recoding", ("2", "10")), ("rank-swapping", "masking", ("p 5", "p 30")),
        ("mdav, k=5", "masking", ("",)),
    ]  # fmt: skip
    for width in (350, 920):
        scene = chart(document, width)
        marks = [item for item in scene.items if isinstance(item, Mark) and item.told]
        assert [mark.hollow for mark in marks] == [False] * 2 + [True] * 4
        assert len({(mark.shape, mark.colour) for mark in marks}) == 4
        assert all(0 <= mark.at[0] <= width for mark in marks)
        words = [item.words for item in scene.items if isinstance(item, Text)]
        assert {"Recoded:", "Masked:", "rank-swapping"} <= set(words)
        assert not any("500" in text for text in words)  # what could not be released has no mark
    html = page(document)
    assert "Hollow marks are maskings" in html
    assert "k is larger than the table" in html
    assert ET.fromstring((tmp_path / "map/map.svg").read_text()) is not None
    for path in (tmp_path / "map").iterdir():
        assert not any(town in path.read_bytes().decode("latin-1") for town in TOWNS), path.name


def test_points_that_differ_in_more_than_a_number_are_not_joined(people: pl.DataFrame, tmp_path: Path) -> None:
    mask = [sf.RankSwapping(p=5), sf.RankSwapping(p=9, top=2), sf.RankSwapping("age", p=5)]
    compared(people, mask, search=[], output=tmp_path / "map")
    first, second = lines_of(json.loads((tmp_path / "map/map.json").read_text()))
    assert (first.joined, first.labels) == (False, ("p 5 top 0", "p 9 top 2"))
    assert second.name == "rank-swapping, age p=5"


@pytest.mark.slow
def test_whoever_knows_how_far_ranks_were_swapped_finds_more_people() -> None:
    """Nin, Herranz and Torra 2008: each column is swapped by itself, so few rows are near enough in all of them."""
    rng = np.random.default_rng(3)
    table = pl.DataFrame({f"x{i}": rng.lognormal(8, 1, 400).round(2) for i in range(5)})
    asked: dict[str, Any] = {"quasi": table.columns, "k": [400], "mask": "rank-swapping p=12", "seed": 1}
    found, near = (sf.compare(table, **asked, risk=risk)["risk"][-1] for risk in ("linkage", "distance-linkage"))
    assert near < 0.5
    assert found > 1.5 * near


def test_missing_values_and_columns_that_stay_narrow_the_windows() -> None:
    table = pl.DataFrame({"pay": ["10", "", "30", "40"], "sex": ["f", "f", "m", "m"]})
    swapped = table.with_columns(pay=pl.Series(["10", "", "40", "30"]))
    truth = np.arange(4)
    assert window_linkage(swapped, table, truth, {"pay": 34}, []) == pytest.approx((1 / 2 + 1 + 1 / 3 + 1 / 2) / 4)
    assert window_linkage(swapped, table, truth, {"pay": 34}, ["sex"]) == pytest.approx((1 + 1 + 1 / 2 + 1 / 2) / 4)
    assert window_linkage(swapped, table, truth, {"pay": 1}, []) == pytest.approx(1 / 4 * 2)
