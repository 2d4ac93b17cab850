"""Individual risk with survey weights, and households."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.risk import household, individual
from sfumato.measures.risk.kernels import individual_risks

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def exactly(f, p):
    """r_1 = q ln(1/p), r_{f+1} = q (1/f - r_f), in digits enough that nothing is lost."""
    with localcontext() as context:
        context.prec = 60 + int(f * abs(math.log10(p / (1 - p)))) + f
        p = Decimal(p)
        q = p / (1 - p)
        r = -q * p.ln()
        for n in range(1, f):
            r = q * (1 / Decimal(n) - r)
        return float(r)


def test_four_rows_by_hand():
    # age 30: f=1, F=4, p=1/4, q=1/3, risk q ln 4. age 40: f=2, F=4, p=1/2, q=1, risk 1 - ln 2. age 50: F=f=1, risk 1
    table = {"age": [30, 40, 40, 50], "w": [4, 1, 3, 1]}
    found = individual(table, ["age"], "w")
    assert found.columns == ["f", "F", "risk"]
    assert found["f"].to_list() == [1, 2, 2, 1]
    assert found["F"].to_list() == [4, 4, 4, 1]
    assert found["risk"].to_list() == pytest.approx([math.log(4) / 3, 1 - math.log(2), 1 - math.log(2), 1], abs=1e-15)


def test_a_household_by_hand():
    # risks 1/2 1/2 1/2 1/2; households of 1, 2 and 1
    found = household({"age": [30, 30, 40, 40], "home": ["x", "y", "y", "z"]}, ["age"], None, "home")
    assert found["household_risk"].to_list() == pytest.approx([0.5, 0.75, 0.75, 0.5], abs=1e-15)
    assert found.columns == ["f", "F", "risk", "household_risk"]


def test_a_household_with_somebody_who_is_certain():
    found = household({"age": [30, 40, 40, 40], "home": [1, 1, 2, None]}, ["age"], None, "home")
    assert found["household_risk"].to_list() == pytest.approx([1, 1, 1 / 3, 1 / 3])


def test_records_without_a_household_live_alone():
    found = household({"age": [1, 1, 1, 1], "home": [None, None, 7, 7]}, ["age"], None, "home")
    assert found["household_risk"].to_list() == pytest.approx([1 / 4, 1 / 4, 7 / 16, 7 / 16])


@pytest.mark.slow
@pytest.mark.parametrize("f", [1, 2, 3, 7, 22, 23, 24, 25, 60, 300])
@pytest.mark.parametrize("p", [1e-9, 1e-3, 0.02, 0.3, 0.4999, 0.5, 0.6, 0.99, 1 - 1e-9])
def test_it_is_exact_for_every_f(f, p):
    assert individual_risks(np.array([f]), np.array([p]))[0] == pytest.approx(exactly(f, p), rel=2e-14)


def test_a_large_f_is_near_its_approximation():
    for f, p in ((10**4, 0.01), (10**6, 0.5), (10**9, 1e-3)):
        approximate = p / (f - (1 - p))
        assert individual_risks(np.array([f]), np.array([p]))[0] == pytest.approx(approximate, rel=3 / f)


@given(st.integers(1, 10**6), st.floats(1e-12, 1.0))
def test_it_is_a_share_and_falls_with_f(f, p):
    one, more = individual_risks(np.array([f, f + 1]), np.array([p, p]))
    assert 0 < more < one <= 1 / f
    assert p / f <= one * (1 + 1e-12)


def test_weights_below_one_are_a_full_count():
    assert individual({"a": [1, 1], "w": [0.5, 0.5]}, ["a"], "w")["risk"].to_list() == [0.5, 0.5]


def test_francdat_as_sdcmicro_has_it(shared):
    told = pl.read_csv(shared / "oracles/a_francdat.csv")
    found = individual(shared / "data/sdc/francdat.csv", ["Key1", "Key2", "Key3", "Key4"], "w")
    assert found["f"].to_list() == told["fk"].to_list()
    assert found["F"].to_list() == pytest.approx(told["Fk"].to_list(), abs=1e-12)
    assert found["risk"].to_list() == pytest.approx(told["rk_exact"].to_list(), abs=1e-12)


def test_testdata_as_sdcmicro_has_it(shared):
    told = pl.read_csv(shared / "oracles/a_testdata_7.csv")
    table = pl.read_csv(shared / "data/sdc/testdata.csv", infer_schema_length=None)
    found = household(table, KEYS, "sampling_weight", "ori_hid", wildcard=True)
    assert found["f"].to_list() == told["fk"].to_list()
    assert found["F"].to_list() == pytest.approx(told["Fk"].to_list(), abs=1e-9)
    finite = told["rk_exact"].is_not_null()
    assert finite.sum() == table.height - 176
    wanted = told["rk_exact"].filter(finite).to_list()
    assert found["risk"].filter(finite).to_list() == pytest.approx(wanted, rel=1e-9)
    sums = json.loads((shared / "oracles/sdc.json").read_text())["exact_check"]["a_testdata_7"]
    assert found["risk"].sum() == pytest.approx(sums["exact_sum_true_2F1"], abs=1e-9)
    assert found["household_risk"].sum() == pytest.approx(51.799591464, abs=1e-8)


def test_refusals():
    table = {"a": [1, 2], "w": [1.0, None], "v": ["x", "y"], "u": [1.0, 0.0]}
    for weight in ("w", "v", "u"):
        with pytest.raises(ColumnError, match="above 0"):
            individual(table, ["a"], weight)
    with pytest.raises(ColumnError, match="no column"):
        individual(table, ["a"], "weight")
    with pytest.raises(PolicyError, match="name of a column"):
        individual(table, ["a"], None)
    with pytest.raises(ColumnError, match="no column"):
        household(table, ["a"], None, "home")


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(*[st.sampled_from(["a", "b", "*", None])] * 2, st.floats(0.5, 100)),
        min_size=1,
        max_size=10,
    )
)
def test_wildcards_sum_the_weights_of_what_matches(rows):
    table = pl.DataFrame(rows, schema={"q": pl.String, "r": pl.String, "w": pl.Float64}, orient="row")
    keys = [tuple(None if v == "*" else v for v in row[:2]) for row in rows]

    def match(one, other):
        return all(x is None or y is None or x == y for x, y in zip(one, other, strict=True))

    found = individual(table, ["q", "r"], "w", wildcard=True)
    assert found["f"].to_list() == [sum(match(a, b) for b in keys) for a in keys]
    wanted = [sum(row[2] for row, b in zip(rows, keys, strict=True) if match(a, b)) for a in keys]
    assert found["F"].to_list() == pytest.approx(wanted)


@pytest.mark.parametrize("age", [["ü", "ü", None], [2**63 - 1, 2**63 - 1, None], [float("nan"), 0.0, -0.0]])
def test_nasty_keys(age):
    found = household({"age": age, "w": [1.5, 2, 3], "home": ["x", None, ""]}, ["age"], "w", "home")
    assert sorted(found["f"].to_list()) == [1, 2, 2]
    assert found["household_risk"].to_list() == pytest.approx(found["risk"].to_list())
