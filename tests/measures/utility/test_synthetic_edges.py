"""Measures of synthetic tables on odd tables: a value or a sentence, never a crash, and the same by any type."""

from __future__ import annotations

import datetime
import json
import math
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import SfumatoError
from sfumato.measures.utility import OF_SYNTHETIC, UTILITIES
from tests.fuzz import examples

pytest.importorskip("sklearn")

ROWS = 60


def real() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 50, ROWS)
    return pl.DataFrame({"x": x, "y": x * 2.0 + rng.normal(0, 3, ROWS), "disease": rng.choice(["flu", "none"], ROWS)})


def measured(name: str, one: Any, other: Any, hold_out: Any = None, **more: Any) -> Any:
    asked = {"propensity": {}, "marginals": {}, "correlations": {}} | {
        "interval-overlap": {"outcome": "y"}, "train-on-synthetic": {"target": "disease"},
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = UTILITIES[name].make(one, other, hold_out=hold_out, **(asked[name] | more))
    assert math.isnan(found.value) or found.range[0] <= found.value <= found.range[1] + 1e-12
    assert found.sentence.endswith(".")
    json.dumps(found.to_dict(), allow_nan=False)
    return found


ODD = {
    "all missing in the synthetic table": lambda t: t.with_columns(x=pl.lit(None, pl.Int64)),
    "all missing, a category": lambda t: t.with_columns(disease=pl.lit(None, pl.String)),
    "constant": lambda t: t.with_columns(x=pl.lit(7), disease=pl.lit("flu")),
    "one row": lambda t: t.head(1),
    "a class less": lambda t: t.filter(pl.col("disease") == "flu"),
    "a class more": lambda t: t.with_columns(disease=pl.lit("ache")),
    "infinite": lambda t: t.with_columns(y=pl.when(pl.int_range(ROWS) < 3).then(math.inf).otherwise(pl.col("y"))),
    "huge": lambda t: t.with_columns(y=pl.col("y") * 1e300),
}


@pytest.mark.parametrize("name", OF_SYNTHETIC)
@pytest.mark.parametrize("odd", ODD)
def test_odd_tables(name: str, odd: str) -> None:
    table = real()
    for model in ("logistic", "trees", "boosted") if name == "propensity" else ("",):
        measured(name, table, ODD[odd](table), table.head(20), **({"model": model} if model else {}))
    if odd not in ("all missing, a category", "a class more", "constant"):
        measured(name, ODD[odd](table), table, ODD[odd](table))


@pytest.mark.parametrize("name", OF_SYNTHETIC)
def test_one_row_of_each(name: str) -> None:
    one = real().head(1)
    if name == "interval-overlap":
        assert measured(name, one, one, one).value == 1 or math.isnan(measured(name, one, one, one).value)
    else:
        measured(name, one, one, one)
    for model in ("trees", "boosted"):
        measured("propensity", one, one, one, model=model)


@pytest.mark.parametrize("name", OF_SYNTHETIC)
def test_types_do_not_matter(name: str) -> None:
    table = real()
    made = table.with_columns(pl.col("x") + 3).reverse().head(50)
    plain = measured(name, table, made).value
    texts = made.with_columns(pl.col("x", "y").cast(pl.String), pl.col("disease").cast(pl.Categorical))
    floats = made.with_columns(pl.col("x").cast(pl.Float32))
    for other in (texts, floats, made.to_pandas(), made.to_arrow(), made.select(reversed(made.columns))):
        assert measured(name, table, other).value == pytest.approx(plain)
    assert measured(name, table.with_columns(pl.col("x").cast(pl.String)), texts).value == pytest.approx(plain)


def test_dates_and_booleans() -> None:
    table = real().with_columns(day=pl.lit(datetime.date(2024, 1, 1)) + pl.duration(days="x"), yes=pl.col("x") > 20)
    later = table.with_columns(pl.col("day") + pl.duration(days=100))
    assert measured("propensity", table, later).details["auc"] == 1
    assert measured("marginals", table, later, columns="day").value == pytest.approx(0.9, abs=0.05)
    for name in ("correlations", "train-on-synthetic", "interval-overlap"):
        assert measured(name, table, table).value >= 0


@pytest.mark.parametrize("name", OF_SYNTHETIC)
def test_as_many_values_as_rows(name: str) -> None:
    table = pl.concat([real()] * 6).with_columns(key=pl.int_range(6 * ROWS).cast(pl.String) + "k")
    made = table.with_columns(key=pl.int_range(6 * ROWS).cast(pl.String) + "m")
    measured(name, table, made, table.head(30))


MARK = "šecrét-"
cells = {
    "x": st.one_of(st.none(), st.floats(-1e300, 1e300), st.just(math.nan), st.just(math.inf)),
    "y": st.one_of(st.none(), st.integers(-(2**62), 2**62)),
    "disease": st.one_of(st.none(), st.just(""), st.text(max_size=2).map(MARK.__add__)),
}
tables = st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=8).map(
    lambda rows: pl.DataFrame(rows, schema={"x": pl.Float64, "y": pl.Int64, "disease": pl.String}, orient="row")
)


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(one=tables, other=tables, held=st.none() | tables)
def test_nasty_tables(one: pl.DataFrame, other: pl.DataFrame, held: pl.DataFrame | None) -> None:
    for name in OF_SYNTHETIC:
        try:
            found = measured(name, one, other, held)
        except SfumatoError as refused:
            assert MARK not in str(refused)
        else:
            assert MARK not in found.sentence
