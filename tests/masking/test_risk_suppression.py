"""Suppression by risk: the fewest cells against brute force, importance, combinations, weights, refusals."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato import measures
from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.risk_suppression import RiskSuppression
from sfumato.release.facts import as_dict, check_public
from sfumato.verbs.steps import masker, parse
from tests.masking.conftest import Apply

KEYS = ["a", "b", "c"]


def table(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    draw = {name: rng.integers(0, 3 + i, rows) for i, name in enumerate(KEYS)}
    return pl.DataFrame(draw).with_columns(pl.when(pl.lit(pl.Series(rng.random(rows) < 0.9))).then(pl.col("a")))


def matching(rows: np.ndarray, one: np.ndarray) -> int:
    return int(((rows == one) | np.isnan(rows) | np.isnan(one)).all(axis=1).sum())


def cells(frame: pl.DataFrame) -> np.ndarray:
    return frame.select(pl.col(KEYS).cast(pl.Float64)).fill_null(np.nan).to_numpy()


@pytest.mark.parametrize("sets", [None, [2], [["a", "b"], ["a", "c"]]])
@pytest.mark.parametrize("seed", range(3))
def test_each_row_loses_the_fewest_cells_of_its_own(apply: Apply, seed: int, sets: Any) -> None:
    frame, k = table(25, seed), 3
    change = apply(RiskSuppression(KEYS, k=k, combinations=sets), frame)
    before, after = cells(frame), cells(change.columns)
    kept = ~np.isnan(after)
    assert (before[kept] == after[kept]).all()
    asked = [KEYS] if sets is None else [*combinations(KEYS, 2)] if sets == [2] else sets
    inside = [[KEYS.index(name) for name in one] for one in asked]
    for row, made in zip(before, after, strict=True):
        known, least = np.flatnonzero(~np.isnan(row)), []
        for size in range(len(known) + 1):
            for blank in combinations(known, size):
                shown = row.copy()
                shown[list(blank)] = np.nan
                if all(matching(before[:, one], shown[one]) >= k for one in inside):
                    least.append(size)
        assert (np.isnan(made) & ~np.isnan(row)).sum() == min(least)
    for fact in change.facts:
        assert check_public(change.columns, None, as_dict(fact, 0)).holds
    assert not all(check_public(frame, None, as_dict(fact, 0)).holds for fact in change.facts)


@pytest.mark.parametrize("sets", [None, [2]])
def test_no_cell_can_be_given_back_alone(apply: Apply, sets: Any) -> None:
    frame = table(40, 5)
    own = apply(RiskSuppression(KEYS, k=3, combinations=sets), frame).columns
    change = apply(RiskSuppression(KEYS, k=3, combinations=sets, matches="release"), frame)
    gone = np.isnan(cells(change.columns)) & ~np.isnan(cells(frame))
    assert 0 < gone.sum() < (np.isnan(cells(own)) & ~np.isnan(cells(frame))).sum()
    facts = [as_dict(fact, 0) for fact in change.facts]
    assert all(check_public(change.columns, None, fact).holds for fact in facts)
    for row, column in np.argwhere(gone).tolist():
        name = KEYS[column]
        back = change.columns.with_columns(
            pl.when(pl.int_range(pl.len()) == row).then(frame[name]).otherwise(pl.col(name)).alias(name)
        )
        assert not all(check_public(back, None, fact).holds for fact in facts)


def test_one_cell_where_one_suffices(apply: Apply) -> None:
    """A row is unique with either of three others through one column: that goes, however important, and no other."""
    frame = pl.DataFrame({"a": [1, 1, 1, 1, 9], "b": [1, 1, 2, 2, 1], "c": [1, 1, 2, 2, 1], "d": [1, 1, 2, 2, 1]})
    step = RiskSuppression(["a", "b", "c", "d"], k=2, importance=["a", "b", "c", "d"], combinations=[2])
    made = apply(step, frame).columns
    assert made.row(4) == (None, 1, 1, 1)
    assert made.null_count().row(0) == (1, 0, 0, 0)


def test_less_important_columns_go_first(apply: Apply) -> None:
    frame = pl.DataFrame({"age": [30, 30, 31, 31, 30], "sex": ["f", "f", "m", "m", "m"]})
    for importance, lost in ((["age", "sex"], "sex"), (["sex", "age"], "age"), ({"sex": 2, "age": 1}, "sex")):
        made = apply(RiskSuppression(["age", "sex"], k=2, importance=importance), frame).columns
        assert made.null_count().to_dicts() == [{"age": int(lost == "age"), "sex": int(lost == "sex")}]
        assert made.schema == frame.schema


def test_risk_by_weights(apply: Apply) -> None:
    frame = table(300, 1).with_columns(w=pl.Series(np.random.default_rng(2).uniform(1, 9, 300)))
    weights = frame["w"].to_numpy()
    for matches in ("table", "release"):
        step = RiskSuppression(KEYS, threshold=0.02, matches=matches)
        made = apply(step, frame, weights=weights, weight="w")
        [fact] = (as_dict(fact, 0) for fact in made.facts)
        assert not check_public(frame, None, fact).holds
        assert check_public(made.columns.with_columns(frame["w"]), None, fact).holds
        assert not check_public(made.columns.with_columns(frame["w"] / 2), None, fact).holds
        for some, most in ((frame, 1.0), (made.columns.with_columns(frame["w"]), 0.02 + 1e-9)):
            risk = measures.risk.individual(some, KEYS, "w", wildcard=True)["risk"].max()
            assert (risk > 0.02) == (some is frame)
            assert risk <= most


@pytest.mark.parametrize("threshold", [0.3, 0.11, 0.03, 0.004])
@pytest.mark.parametrize("mean", [1.2, 3.0, 50.0])
def test_the_fact_of_risk_agrees_with_the_measure(threshold: float, mean: float) -> None:
    weights = np.random.default_rng(3).uniform(1, 2 * mean, 200)
    frame = table(200, 4).with_columns(w=pl.Series(weights))
    risk = measures.risk.individual(frame, KEYS, "w", wildcard=True)["risk"].to_numpy()
    fact = {"fact": "risk", "columns": [*KEYS, "w"], "parameters": {"threshold": threshold, "weight": "w"}}
    found, above = check_public(frame, None, fact), int((risk > threshold).sum())
    assert (found.note or "0 row").replace("rows", "row").startswith(f"{above} row")
    assert found.holds == (above == 0)


def test_risk_without_weights_is_one_in_k(apply: Apply) -> None:
    frame = table(50, 2)
    found = [apply(parse(f"risk-suppression a,b,c {how}"), frame) for how in ("k=4", "threshold=0.25")]
    assert found[0].columns.equals(found[1].columns)
    assert found[0].facts == found[1].facts


def test_strata_are_safe_by_themselves(run: Any) -> None:
    frame = table(60, 3).with_columns(by=pl.Series(["x", "y"] * 30))
    found = run(frame, RiskSuppression(KEYS, k=3, by="by"))
    [(_, fact)] = found.facts
    for _, part in found.table.group_by("by"):
        assert check_public(part, None, as_dict(fact, 0)).holds


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give k or a threshold"),
        ({"k": 2, "threshold": 0.1}, "give k or a threshold"),
        ({"k": 1}, "k is out of range"),
        ({"k": 2, "columns": []}, "needs the key columns"),
        ({"k": 2, "columns": [f"c{i}" for i in range(13)]}, "too many keys"),
        ({"k": 2, "matches": "rows"}, "unknown matches"),
        ({"k": 2, "combinations": [["a", "z"]]}, 'no keys; got "z"'),
        ({"k": 2, "combinations": [4]}, "combinations is out of range"),
        ({"k": 2, "combinations": []}, "1 combination at least"),
    ],
)
def test_bad_parameters_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        masker("risk-suppression", **{"columns": KEYS, **given})


def test_importance_is_of_keys_and_rows_are_enough(apply: Apply) -> None:
    with pytest.raises(ColumnError, match='"z"'):
        RiskSuppression(KEYS, k=2, importance={"z": 1})
    with pytest.raises(PolicyError, match="too few rows; got 2 rows"):
        apply(RiskSuppression(KEYS, k=3), table(2, 1))
    step = masker("risk-suppression", columns=KEYS, k=2, importance=["c", "a"], combinations=[1, ["a", "b"]])
    assert masker("risk-suppression", **step.parameters()) == step
