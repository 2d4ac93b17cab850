"""Private models: what they learn without noise to speak of, what they predict, and how they are kept."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError

MUCH = {"epsilon": 10**5}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    n = 4000
    age, sex, town = rng.integers(18, 91, n), rng.choice(["F", "M"], n), rng.choice(["a", "b", "c"], n)
    pay = 200 + 30 * age + 500 * (sex == "M") + rng.normal(0, 100, n)
    ill = rng.random(n) < 1 / (1 + np.exp(4 - 0.07 * age - 0.8 * (sex == "M")))
    return pl.DataFrame({"age": age, "sex": sex, "town": town, "pay": pay, "ill": ill, "who": rng.integers(0, 1500, n)})


def session_of(table: pl.DataFrame, **more: object) -> sf.dp.Session:
    return sf.dp.Session(
        table, 10**9, bounds={"age": (0, 120), "pay": (0, 5000)},
        keys={"sex": ["F", "M"], "town": ["a", "b", "c"], "ill": ["false", "true"]}, i_know=True, **more,
    )  # fmt: skip


def test_a_linear_regression_is_that_of_least_squares(people):
    found = session_of(people).linear_regression("pay", ["age", "sex", "town"], **MUCH)
    x = np.column_stack(
        [
            np.ones(people.height),
            people["age"],
            *((people[c] == v) for c, v in (("sex", "M"), ("town", "b"), ("town", "c"))),
        ]
    )
    y = people["pay"].to_numpy()
    expected = np.linalg.lstsq(x.astype(float), y, rcond=None)[0]
    assert list(found.value.coefficients) == ["intercept", "age", "sex=M", "town=b", "town=c"]
    assert list(found.value.coefficients.values()) == pytest.approx(expected.tolist(), abs=0.5)
    assert found.value.predict(people).to_numpy() == pytest.approx(x @ expected, abs=1)
    some = pl.DataFrame({"age": [40, None, 40], "sex": ["F", "F", "X"], "town": ["a"] * 3})
    assert found.value.predict(some).is_null().to_list() == [False, True, True]
    low, high = found.interval["age"]
    assert low < found.value.coefficients["age"] < high


def test_a_regression_of_nobody_is_answered_and_tells_no_interval(people):
    found = session_of(people).linear_regression("pay", ["age", "sex"], where="age > 110", epsilon=0.1)
    assert found.interval is None
    assert all(np.isfinite(value) for value in found.value.coefficients.values())
    again = session_of(people).logistic_regression("ill", ["age", "sex"], where="age > 110", epsilon=0.1)
    assert all(abs(value) < 1000 for value in again.value.coefficients.values())


@pytest.mark.parametrize("person", [None, "who"])
def test_a_logistic_regression_is_that_of_maximum_likelihood(people, person):
    unit = {"person": person, "rows_per_person": 20} if person else {}
    found = session_of(people, **unit).logistic_regression("ill", ["age", "sex"], steps=40, **MUCH).value
    x = np.column_stack([np.ones(people.height), people["age"], people["sex"] == "M"]).astype(float)
    y, beta = people["ill"].to_numpy().astype(float), np.zeros(3)
    for _ in range(20):  # Newton's method
        p = 1 / (1 + np.exp(-x @ beta))
        beta += np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]), x.T @ (y - p))
    near = 0.05 if person is None else 0.5  # the gradients of persons with several rows are shortened
    assert list(found.coefficients.values()) == pytest.approx(beta.tolist(), rel=near, abs=0.01)
    expected = 1 / (1 + np.exp(-x @ beta))
    assert found.predict(people).to_numpy() == pytest.approx(expected, abs=0.02 if person is None else 0.15)
    assert found.positive == "true"


@pytest.mark.parametrize("model", ["naive_bayes", "decision_tree"])
def test_classifiers_learn_what_there_is_to_learn(people, model):
    table = people.with_columns(
        sex=pl.when((pl.col("age") < 45) ^ (pl.col("town") == "a")).then(pl.lit("F")).otherwise(pl.lit("M"))
    )
    session = session_of(table)
    found = getattr(session, model)("sex", ["town", "age"], **MUCH)
    right = (found.value.predict(table) == table["sex"]).mean()
    assert right == (1.0 if model == "decision_tree" else pytest.approx(0.72, abs=0.08))  # an exclusive or
    missing = pl.DataFrame({"town": [None], "age": [None]}, schema={"town": pl.String, "age": pl.Int64})
    assert found.value.predict(missing)[0] in ("F", "M")
    assert getattr(session, model)("sex", ["town", "age"], **MUCH).value == found.value
    json.dumps(asdict(found.value))


def test_models_are_asked_for_as_texts_and_in_gaussian_noise(people):
    session = sf.dp.Session(
        people, 10, 1e-5, bounds={"age": (0, 120), "pay": (0, 5000)}, keys={"sex": ["F", "M"]}, accounting="zcdp"
    )
    found = session.ask("linear-regression pay features=age,sex where age > 20", rho=0.1)
    assert found.mechanism == "discrete-gaussian"
    assert found.value.coefficients["age"] == pytest.approx(30, abs=15)
    tree = session.ask({"query": "decision-tree", "target": "sex", "features": ["age", "pay"], "depth": 2}, rho=0.1)
    assert tree.mechanism == "exponential and discrete-gaussian"
    models = session.ask("linear-regression pay features=age by=sex", rho=0.1).value
    assert [one["group"] for one in models] == [{"sex": "F"}, {"sex": "M"}]
    assert models[0]["value"].predict(people).len() == people.height
    both = session.several(["decision-tree sex features=age", "count"], rho=0.1)
    assert both.value[0].predict(people).len() == people.height


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (lambda s: s.linear_regression("pay", [], epsilon=1), "some other columns as features"),
        (lambda s: s.linear_regression("pay", ["pay"], epsilon=1), "some other columns as features"),
        (lambda s: s.linear_regression("sex", ["pay"], epsilon=1), "no public bounds"),
        (lambda s: s.linear_regression("pay", ["who"], epsilon=1), "no public bounds"),
        (lambda s: s.logistic_regression("sex", ["pay"], positive="X", epsilon=1), "not the positive one"),
        (lambda s: s.naive_bayes("pay", ["age"], epsilon=1), "no public values"),
        (lambda s: s.decision_tree("sex", ["age"], depth=9, epsilon=1), "depth"),
        (lambda s: s.grouped("decision-tree sex features=age", "town", epsilon=1), "cannot be asked in groups"),
    ],
)
def test_models_that_make_no_sense_are_refused_and_charge_nothing(people, asked, says):
    session = session_of(people)
    with pytest.raises(PolicyError, match=says):
        asked(session)
    assert session.left.epsilon == 10**9
