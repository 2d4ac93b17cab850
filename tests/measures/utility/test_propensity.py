"""Propensity: what a correct synthesis, fresh real rows and a wrong one score."""

from __future__ import annotations

import importlib

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, MissingExtra, PolicyError
from sfumato.measures.risk.synthetic_tables import tables_of
from sfumato.measures.utility import propensity
from sfumato.measures.utility.propensity import expected_pmse
from sfumato.measures.utility.regression import Design, linear, logistic


def people(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, rows)
    job = rng.choice(["clerk", "cook", "none"], rows, p=[0.5, 0.3, 0.2])
    return pl.DataFrame({"age": age, "job": job, "pay": age * 10.0 + rng.normal(0, 50, rows)})


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return people(2000, 1)


def dense(x: np.ndarray) -> Design:
    return Design(np.repeat(np.arange(x.shape[1], dtype=np.int32)[:, None], len(x), 1), x.T.copy(), x.shape[1])


def drawn(table: pl.DataFrame, seed: int = 2) -> pl.DataFrame:
    return table[np.random.default_rng(seed).integers(table.height, size=table.height)]


def apart(table: pl.DataFrame) -> pl.DataFrame:
    """The columns without their dependence."""
    return table.with_columns(table["pay"].shuffle(3))


def test_the_expected_value_of_the_reference():
    assert expected_pmse(4, 0.5, 1000) == pytest.approx(0.000375)


@pytest.mark.slow
def test_the_closed_form_against_500_simulated_nulls():
    """Rows of the normal distribution fitted to the real rows; and fresh rows, which differ 1/(1 - c) as much."""
    rng, n = np.random.default_rng(7), 500
    ratios: dict[str, list[float]] = {"fitted": [], "fresh": []}
    y = np.repeat([0.0, 1.0], n)
    for _ in range(500):
        real = rng.standard_normal((n, 3))
        root = np.linalg.cholesky(np.cov(real.T))
        made = {
            "fitted": real.mean(axis=0) + rng.standard_normal((n, 3)) @ root.T,
            "fresh": rng.standard_normal((n, 3)),
        }
        for name, other in made.items():
            fit = logistic(dense(np.column_stack([np.ones(2 * n), np.vstack([real, other])])), y)
            assert fit.parameters == 4
            ratios[name].append(((fit.fitted - 0.5) ** 2).mean() / expected_pmse(4, 0.5, 2 * n))
    error = np.sqrt(2 / 3) / np.sqrt(500)
    assert np.mean(ratios["fitted"]) == pytest.approx(1, abs=3 * error)
    assert np.mean(ratios["fresh"]) == pytest.approx(2, abs=6 * error)
    assert np.mean(np.array(ratios["fitted"]) > 7.8147 / 3) == pytest.approx(0.05, abs=0.03)  # 95% of chi², 3 degrees


def test_a_correct_synthesis_fresh_rows_and_a_wrong_one(table):
    found = propensity(table, drawn(table), hold_out=people(2000, 4))
    assert 0.2 < found.value < 2.5
    assert found.baseline == pytest.approx(2, abs=1.6)
    assert found.details["parameters"] == 5
    assert found.details["ratio"] == found.value == found.details["pmse"] / found.details["expected"]
    assert found.details["hold_out"]["share"] == pytest.approx(found.details["share"])
    older = table.with_columns(pl.col("age") + 5)
    assert propensity(table, older).value > 20
    assert propensity(table, older, "job").value == pytest.approx(0, abs=1e-12)  # the same jobs


def test_the_hold_out_is_compared_in_the_same_proportion(table):
    found = propensity(table, drawn(table).head(500), hold_out=people(250, 4))
    assert found.details["share"] == pytest.approx(0.2)
    assert found.details["hold_out"]["share"] == pytest.approx(0.2)
    assert found.details["hold_out"]["rows"] == 1250


def test_parameters_that_repeat_others_are_not_counted(table):
    twice = table.with_columns(cents=pl.col("pay") * 100, same=pl.lit("x"))
    found, plain = propensity(twice, drawn(twice)), propensity(table, drawn(table))
    assert found.details["parameters"] == plain.details["parameters"] == 5
    assert found.value == pytest.approx(plain.value)


def test_trees_see_what_main_effects_do_not(table):
    pytest.importorskip("sklearn")
    right, wrong = (propensity(table, s, model="trees", seed=1) for s in (drawn(table), apart(table)))
    assert 0.6 < right.value < 1.6
    assert wrong.value > 3 > propensity(table, apart(table)).value
    assert wrong.details["permutations"] == 20


@pytest.mark.slow
def test_boosted(table):
    pytest.importorskip("sklearn")
    wrong = propensity(table, apart(table), model="boosted", hold_out=people(2000, 4))
    assert wrong.value > 0.8 > wrong.baseline
    assert wrong.interval[0] < wrong.value < wrong.interval[1]
    assert propensity(table, table, model="boosted").value < 0.45  # each row is repeated with the other label
    assert propensity(table, apart(table), model="boosted").to_dict() == (
        propensity(table, apart(table), model="boosted").to_dict()
    )


def test_regressions_beside_others(table):
    x = np.column_stack([np.ones(table.height), table["age"].to_numpy() / 10, table["pay"].to_numpy() / 100])
    y = (table["job"] == "cook").to_numpy().astype(np.float64)
    fit = logistic(dense(np.column_stack([x, x[:, 1] * 2])), y)
    assert np.isnan(fit.estimate[3])
    score = x.T @ (y - fit.fitted)
    assert np.abs(score).max() < 1e-3  # the likelihood is at its top
    weight = fit.fitted * (1 - fit.fitted)
    assert fit.covariance[:3, :3] == pytest.approx(np.linalg.inv((x * weight[:, None]).T @ x))
    least = linear(dense(x[:, :2]), x[:, 2])
    assert least.estimate == pytest.approx(np.linalg.lstsq(x[:, :2], x[:, 2])[0])


def test_rows_that_are_told_apart_without_error():
    found = propensity({"a": list(range(50))}, {"a": list(range(100, 150))})
    assert found.details["pmse"] == pytest.approx(0.25, abs=1e-3)
    assert found.details["auc"] == 1


def test_most_rows_are_drawn_and_said(table):
    found = propensity(table, drawn(table), most=300)
    assert found.details["rows"] == 600
    assert "drawn at random" in found.sentence
    assert "drawn at random" not in propensity(table, drawn(table)).sentence


@pytest.mark.slow
def test_a_sample_is_judged_as_the_whole():
    """The synthesis does not know which real rows are sampled, so that more than the closed form is expected."""
    table = people(20_000, 6)
    ratios = [propensity(table, drawn(table, seed), most=400, seed=seed).value for seed in range(60)]
    assert np.mean(ratios) == pytest.approx(1, abs=3 * np.sqrt(2 / 4 / 60))  # without the share sampled it would be 2
    assert expected_pmse(4, 0.5, 1000, 0.0) == pytest.approx(2 * expected_pmse(4, 0.5, 1000))


def test_tables_that_are_coded_already(table):
    tables = tables_of(table, drawn(table), people(100, 9))
    assert propensity(tables).baseline is not None
    assert propensity(tables, columns="age").details["columns"] == ["age"]
    with pytest.raises(ColumnError, match="no column"):
        propensity(tables, columns="agee")


def test_refusals(table, monkeypatch):
    for wrong in ({"model": "svm"}, {"permutations": 0}, {"seed": -1}, {"most": 1}, {"columns": []}):
        with pytest.raises(PolicyError):
            propensity(table, table, **wrong)
    with pytest.raises(PolicyError, match="one table"):
        propensity(table)
    with pytest.raises(ColumnError, match="share no column"):
        propensity(table, {"other": [1]})

    def absent(name, *more):
        raise ImportError(name)

    monkeypatch.setattr(importlib.import_module("sfumato.measures.utility.learning"), "import_module", absent)
    with pytest.raises(MissingExtra, match=r"sfumato\[ml\]"):
        propensity(table, table, model="boosted")
    assert propensity(table, table).value == pytest.approx(0, abs=1e-12)
