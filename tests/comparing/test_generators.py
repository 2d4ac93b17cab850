"""Generators in sf.compare: beside searches and maskings, on the axes that say something of rows drawn from a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.comparing.drawing import Mark, Text
from sfumato.comparing.lines import lines_of
from sfumato.comparing.page import chart, page
from sfumato.comparing.points import ChangedPoint, plan
from sfumato.errors import PolicyError
from sfumato.synthetic import GENERATORS
from sfumato.synthetic.bootstrap import BootstrapModel
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.verbs.compare import generator_forms, generators_of
from sfumato.verbs.steps import named_in
from tests.comparing.test_maskings import TOWNS, compared, own_key, people

__all__ = ["own_key", "people"]  # fixtures
TREES = "sequential-trees leaf={5,50}"


@pytest.mark.slow
def test_a_point_is_a_generator(people: pl.DataFrame) -> None:
    given = [TREES, sf.GaussianCopula(), sf.SequentialTrees(leaf=5), "bootstrap"]
    found = compared(people, "rank-swapping p=10", k=5, synthesize=given)
    assert found.select("family", "search", "parameters", "suppressed", "status").rows() == [
        ("recoding", "mondrian", "", 0, "done"),
        ("masking", "rank-swapping", "p=10", 0, "done"),
        ("synthesis", "sequential-trees", "leaf=5", None, "done"),  # once, though it is asked for twice
        ("synthesis", "sequential-trees", "leaf=50", None, "done"),
        ("synthesis", "gaussian-copula", "", None, "done"),
        ("synthesis", "bootstrap", "", None, "infeasible"),
    ]
    assert "repeats people" in found["reason"][5]
    assert found["risk"].null_count() == found["utility"].null_count() == 1


def test_figures_are_those_of_the_same_release(people: pl.DataFrame) -> None:
    """By hand, of a release by sf.synthesize with the same seed: ranks of distances, and the mean error of counts."""
    [row] = compared(people, (), search=[], synthesize="sequential-trees", seed=7).to_dicts()
    release = sf.synthesize(people, "sequential-trees", rest="release", seed=7)
    quasi = ["age", "pay", "town"]
    real, held, drawn = (table.select(quasi) for table in (release.learnt_from, release.hold_out, release.table))
    near = [_nearest(rows, drawn, people) for rows in (real, held)]
    wins = (near[0][:, None] < near[1]).mean() + (near[0][:, None] == near[1]).mean() / 2
    assert row["risk"] == pytest.approx(abs(2 * wins - 1), abs=0.01)  # sums of shares tie or not
    asked = sf.measures.utility.query_error(people, release.table, [*quasi, "illness"], statistic="mean", seed=7)
    assert asked.baseline is not None
    assert row["utility"] == pytest.approx(1 - asked.value / asked.baseline)


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        (["sequential-trees"], [""]),  # nobody asked for a leaf
        ([sf.SequentialTrees()], [""]),
        (["sequential-trees leaf=20"], ["leaf=20"]),  # named, though it is usual
        ([{"name": "sequential-trees", "leaf": 20}], ["leaf=20"]),
        (["sequential-trees leaf={5,20}"], ["leaf=5", "leaf=20"]),
        ([sf.SequentialTrees(), sf.SequentialTrees(leaf=5)], ["leaf=20", "leaf=5"]),  # they differ in it
        ([sf.SequentialTrees(), sf.SequentialTrees(smoothing="spline")], ["", "smoothing=spline"]),
        (["linked-tables household=home leaf={5,20}"], ["household=home leaf=5", "household=home leaf=20"]),
    ],
)
def test_points_are_labelled_by_what_was_asked_for_or_differs(given: list[Any], labels: list[str]) -> None:
    told = [named_in(form) for form in generator_forms(given)]
    points = [ChangedPoint("synthesis", (one,), told=own) for one, own in zip(generators_of(given), told, strict=True)]
    assert [point.words()["parameters"] for point in plan([], "lm", (), 0, None, points).points] == labels


def test_households_are_compared(people: pl.DataFrame) -> None:
    homes = people.with_columns(home=pl.int_range(people.height) // 2)
    given = ["linked-tables household=home leaf={10,30}"]
    found = compared(homes, (), search=[], synthesize=given, insensitive=["home"])
    assert found["parameters"].to_list() == ["household=home leaf=10", "household=home leaf=30"]
    assert found["status"].to_list() == ["done", "done"]
    assert found["risk"].is_between(0, 1).all()
    assert found["utility"].is_between(0, 1).all()


def _nearest(rows: pl.DataFrame, drawn: pl.DataFrame, people: pl.DataFrame) -> np.ndarray:
    """The least Gower distance of each row to a drawn one; numbers over their range in all tables."""
    apart = np.zeros((rows.height, drawn.height))
    for name in ("age", "pay"):
        x, y = rows[name].to_numpy(), drawn[name].to_numpy()
        apart += np.abs(x[:, None] - y) / (people[name].max() - people[name].min())  # type: ignore[operator]
    apart += rows["town"].to_numpy()[:, None] != drawn["town"].to_numpy()
    return np.round(apart.min(axis=1), 9)


@dataclass(frozen=True)
class NearRows(SyntheticGenerator):
    """The rows of the table, a little off."""

    far: float = 0.001

    def fit(self, table: pl.DataFrame, context: FitContext) -> NearRowsModel:
        """Keep the rows."""
        return NearRowsModel(table, self.far)

    def sentence(self) -> str:
        """How the rows were made."""
        return "rows of the table, a little off"


@dataclass(frozen=True, eq=False)
class NearRowsModel(BootstrapModel):
    """The rows of a table, and how far off they are."""

    far: float

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Rows of the table, each as often, a little off."""
        made = self.table[np.arange(rows) % self.table.height]
        return made.with_columns(column + rng.normal(0, self.far, rows) for column in made.iter_columns())


def test_rows_that_are_nearly_peoples_stand_where_linkage_would_have_them() -> None:
    rng = np.random.default_rng(5)
    table = pl.DataFrame({name: rng.normal(size=600) for name in "abcd"})
    GENERATORS.add("near-rows", sf.Variant(NearRows, example=NearRows()))
    try:
        given = ["near-rows far={0.001,9}", "gaussian-copula"]
        found = sf.compare(table, quasi=list("abcd"), search=[], synthesize=given, seed=3)
    finally:
        GENERATORS.remove("near-rows")
    assert found["risk"][0] > 0.95
    assert found["risk"][1] < 0.25
    assert found["risk"][2] < 0.25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("risk", "utility", "empty"),
    [
        ("average", None, ["risk"]),
        ("distance-linkage", "lm", ["risk", "utility"]),
        ("homogeneity", "direct-comparison", ["risk", "utility"]),
        ("singling-out", "contingency", []),
        ("inference", "numeric-error on=means", []),
    ],
)
def test_what_needs_classes_or_rows_is_empty(people: pl.DataFrame, risk: Any, utility: Any, empty: list[str]) -> None:
    found = compared(people, (), k=5, synthesize="sequential-trees", risk=risk, utility=utility)
    recoded, drawn = found.to_dicts()
    assert [name for name in ("risk", "utility") if drawn[name] is None] == empty
    assert drawn["status"] == "done"
    assert (drawn["reason"] or "").count("not meaningful where rows were drawn from a model") == len(empty)
    assert None not in (recoded["risk"], recoded["utility"])


@pytest.mark.parametrize("risk", ["copied-uniques", "replicated-uniques", "disco"])
def test_what_a_model_repeats_says_nothing_of_a_recoding(people: pl.DataFrame, risk: str) -> None:
    found = compared(people, (), k=5, synthesize="sequential-trees", risk=risk, extremes=True)
    recoded, drawn, everything, _ = found.to_dicts()
    assert (recoded["risk"], recoded["pareto"]) == (None, False)
    assert "no model drew the rows" in recoded["reason"]
    assert 0 <= drawn["risk"] < 0.2
    assert everything["risk"] > 0.9  # nearly all of these people are alone, and are all repeated


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"synthesize": "sequencial-trees"}, 'did you mean "sequential-trees"'),
        ({"synthesize": "sequential-trees leaf={5,x}"}, "leaf"),
        ({"synthesize": 5}, "not a generator"),
        ({"synthesize": "bootstrap", "dimensions": True}, "no generator"),
        ({"synthesize": (), "search": []}, "search is empty"),
    ],
)
def test_what_makes_no_sense_is_refused(people: pl.DataFrame, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        compared(people, (), **asked)


@pytest.mark.slow
def test_the_map_shows_three_families_and_says_what_linkage_is(people: pl.DataFrame, tmp_path: Path) -> None:
    compared(people, "rank-swapping p=10", k=5, synthesize=[TREES, "bootstrap"], output=tmp_path / "map")
    document = json.loads((tmp_path / "map/map.json").read_text())
    lines = [(line.name, line.family, line.labels, line.joined) for line in lines_of(document)]
    assert lines[2] == ("sequential-trees", "synthesis", ("leaf 5", "leaf 50"), True)
    for width in (350, 920):
        scene = chart(document, width)
        marks = [item for item in scene.items if isinstance(item, Mark) and item.told]
        assert [(mark.hollow, mark.dotted) for mark in marks] == [(False, False), (True, False), *[(True, True)] * 2]
        assert {"Recoded:", "Masked:", "Synthetic:"} <= {item.words for item in scene.items if isinstance(item, Text)}
    html = page(document)
    assert "Marks with a dot are synthetic tables" in html
    assert "nobody is found by linkage" in html
    assert "of its search or masking or fitting and drawing" in html
    again = compared(people, "rank-swapping p=10", k=5, synthesize=[TREES, "bootstrap"], output=tmp_path / "map")
    assert again["risk"].to_list() == [point["risk"] for point in document["points"]]
    for path in (tmp_path / "map").iterdir():
        assert not any(town in path.read_bytes().decode("latin-1") for town in TOWNS), path.name
