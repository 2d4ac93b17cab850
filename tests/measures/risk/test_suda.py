"""SUDA2 and minimum unsafe combinations: oracles, tables worked by hand, and every set of columns tried one by one."""

from __future__ import annotations

import inspect
import json
from itertools import combinations
from math import comb, factorial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.risk.suda import suda, suda_attributes, suda_risk
from sfumato.measures.risk.unsafe import minimum_unsafe, unsafe_share
from tests.fuzz import examples

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


@pytest.fixture(scope="module")
def testdata(shared: Path) -> pl.DataFrame:
    return pl.read_csv(shared / "data/sdc/testdata.csv")


def by_hand(rows: list[tuple], up_to: int | None = None, wildcard: bool = False) -> list[list[tuple[int, ...]]]:
    """Per row its minimal sample uniques, by comparing all pairs of rows on all sets of columns."""
    columns = len(rows[0])

    def open_(value: object) -> bool:
        return wildcard and value in (None, "*")

    def alike(a: object, b: object) -> bool:
        return a == b or open_(a) or open_(b)

    found = []
    for i, row in enumerate(rows):
        minimal: list[tuple[int, ...]] = []
        for s in range(1, (up_to or columns) + 1):
            for chosen in combinations(range(columns), s):
                if any(set(m) <= set(chosen) for m in minimal) or any(open_(row[c]) for c in chosen):
                    continue
                if not any(j != i and all(alike(row[c], other[c]) for c in chosen) for j, other in enumerate(rows)):
                    minimal.append(chosen)
        found.append(minimal)
    return found


def test_four_rows() -> None:
    # f A x twice; m A x: the only m; f A y: the only y
    table = pl.DataFrame({"sex": ["f", "f", "m", "f"], "town": ["A"] * 4, "job": ["x", "x", "x", "y"]})
    result = suda(table, ["sex", "town", "job"], sampling_fraction=0.5)
    assert result["score"].to_list() == [0, 0, 2, 2]
    # P = 2 records in pairs, f = 1/2, equal scores: S^Q sum S^-Q = 2, so DIS = 1/(1 + 2/2)
    assert result["dis"].to_list() == pytest.approx([0, 0, 0.5, 0.5])
    assert result["sex_contribution"].to_list() == [0, 0, 1, 0]
    assert result["job_contribution"].to_list() == [0, 0, 0, 1]
    assert suda_attributes(table, ["sex", "town", "job"]).rows() == [("sex", 50), ("town", 0), ("job", 50)]
    assert minimum_unsafe(table, table.columns).rows() == [(0, 0), (0, 0), (1, 1), (1, 1)]


def test_four_rows_of_two_columns_each() -> None:
    table = {"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]}
    assert suda(table, ["a", "b"])["score"].to_list() == [1] * 4  # one minimal unique of both columns: 0!
    assert minimum_unsafe(table, ["a", "b"])["size"].to_list() == [2] * 4
    assert minimum_unsafe(table, ["a", "b"], up_to=1)["size"].to_list() == [0] * 4
    assert suda(table, ["a", "b"], original_scores=False)["score"].to_list() == [0] * 4
    assert suda(table, ["a", "b"])["dis"].to_list() == [1] * 4  # no pairs: every unique is taken to be one


def test_ten_records(shared: Path) -> None:
    table = pl.read_csv(shared / "data/sdc/ten_records.csv")
    assert suda(table, table.columns)["score"].to_list() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


def test_the_oracle_row_by_row(testdata: pl.DataFrame, shared: Path) -> None:
    expected = pl.read_csv(shared / "oracles/b_testdata_7.csv", infer_schema_length=None).cast(pl.Float64)
    result = suda(testdata, KEYS, sampling_fraction=0.01)
    assert result["score"].to_list() == expected["score"].to_list()
    assert np.allclose(result["dis"], expected["dis"], atol=1e-7, rtol=0)  # single precision there
    for name in KEYS:
        assert np.allclose(result[f"{name}_contribution"], expected[f"{name}_contribution"], atol=1e-9)
    true = json.loads((shared / "oracles/sdc.json").read_text())["exact_check"]["b_testdata_7"]["sum_dis_true"]
    assert result["dis"].sum() == pytest.approx(true, abs=1e-9)


@pytest.mark.parametrize(("case", "original"), [("testdata_7", True), ("testdata_7_ihsn", False)])
def test_the_oracle_in_sums(testdata: pl.DataFrame, shared: Path, case: str, original: bool) -> None:
    expected = json.loads((shared / "oracles/sdc.json").read_text())["suda2"][case]
    result = suda(testdata, KEYS, expected["DisFraction"], original_scores=original)
    assert (result["score"] > 0).sum() == expected["n_score_gt0"]
    assert result["score"].sum() == pytest.approx(expected["sum_score"], abs=1e-9)
    assert result["score"].max() == pytest.approx(expected["max_score"], abs=1e-9)
    assert result["dis"].sum() == pytest.approx(expected["sum_dis"], abs=1e-5)
    assert result["dis"].max() == pytest.approx(expected["max_dis"], abs=1e-6)
    share = suda_attributes(testdata, KEYS, original_scores=original)
    for entry, (name, percent) in zip(expected["attribute_contributions"], share.rows(), strict=True):
        assert name == entry["variable"]
        assert percent == pytest.approx(entry["contribution"], abs=1e-9)


cells = st.sampled_from(["a", "b", "ß", None, "*"])


@settings(max_examples=examples(80))
@given(data=st.data(), width=st.integers(1, 5), wildcard=st.booleans(), original=st.booleans())
def test_against_all_pairs(data: st.DataObject, width: int, wildcard: bool, original: bool) -> None:
    rows = data.draw(st.lists(st.tuples(*[cells] * width), min_size=1, max_size=9))
    up_to = data.draw(st.none() | st.integers(1, width))
    names = [f"c{i}" for i in range(width)]
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    minimal = by_hand(rows, up_to, wildcard)

    def weight(s: int) -> float:
        return factorial(width - s) if original else (2 ** (width - s) - 1) / comb(width, s)

    result = suda(table, names, up_to=up_to, wildcard=wildcard, original_scores=original)
    score = [sum(weight(len(m)) for m in one) for one in minimal]
    assert result["score"].to_list() == pytest.approx(score)
    for i, name in enumerate(names):
        part = [sum(weight(len(m)) for m in one if i in m) for one in minimal]
        share = [p / s if s else 0 for p, s in zip(part, score, strict=True)]
        assert result[f"{name}_contribution"].to_list() == pytest.approx(share)
    assert ((result["dis"] > 0) == (result["score"] > 0)).all()
    unsafe = minimum_unsafe(table, names, up_to, wildcard=wildcard)
    assert unsafe["size"].to_list() == [min(map(len, one), default=0) for one in minimal]
    assert unsafe["combinations"].to_list() == [len(one) for one in minimal]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [7, 9])
def test_more_columns_than_a_word_holds(columns: int) -> None:
    rng = np.random.default_rng(columns)
    rows = [tuple(row) for row in rng.integers(0, 3, (40, columns)).tolist()]
    names = [f"c{i}" for i in range(columns)]
    table = pl.DataFrame(rows, schema=names, orient="row")
    for up_to in (None, 3):
        minimal = by_hand(rows, up_to)
        expected = [sum(factorial(columns - len(m)) for m in one) for one in minimal]
        assert suda(table, names, up_to=up_to)["score"].to_list() == expected


@pytest.mark.slow
def test_many_columns_of_small_sets() -> None:
    rng = np.random.default_rng(0)
    rows = [tuple(row) for row in rng.integers(0, 6, (30, 45)).tolist()]
    table = pl.DataFrame(rows, schema=[f"c{i}" for i in range(45)], orient="row")
    unsafe = minimum_unsafe(table, table.columns, up_to=2)
    assert unsafe["combinations"].to_list() == [len(one) for one in by_hand(rows, 2)]
    wide = pl.DataFrame({f"c{i}": [1, 2] for i in range(70)})
    with pytest.raises(PolicyError, match="too many sets"):
        minimum_unsafe(wide, wide.columns, up_to=1)


@pytest.mark.slow
def test_a_column_of_many_values() -> None:
    table = {"id": [*range(1000), 0, 0], "sex": ["f", "m"] * 501}
    size = minimum_unsafe(table, ["sex", "id"])["size"].to_list()
    # id 0 stands in rows 0, 1000 and 1001, the last of them the only m
    assert size == [0, *[1] * 999, 0, 2]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"a": [1], "b": ["x"]}, [2.0]),  # one row is unique on each column
        ({"a": [1], "b": ["x"], "c": [None]}, [6.0]),
        ({"a": [1, 1, 1], "b": ["x", "x", "x"]}, [0.0, 0.0, 0.0]),
        ({"a": [2**63 - 1, 2**63 - 2], "b": [0, 0]}, [1.0, 1.0]),  # floats could not tell them apart
        ({"a": [float("nan"), None, 0.0, -0.0]}, [0.0] * 4),
        ({"a": [1, "1", None, 2.5]}, [0.0, 0.0, 1.0, 1.0]),  # what prints alike is alike
    ],
)
def test_nasty_tables(table: dict[str, list], expected: list[float]) -> None:
    assert suda(table, list(table))["score"].to_list() == expected


def test_a_missing_value_may_match_anything() -> None:
    table = {"a": ["x", None, "y", "z"], "b": [1, 1, 1, 2]}
    assert suda(table, ["a", "b"])["score"].to_list() == [1, 1, 1, 2]
    # the missing one matches x, y and z on a, and x and y on both: only z stays alone, on b
    assert suda(table, ["a", "b"], wildcard=True)["score"].to_list() == [0, 0, 0, 1]


def test_rows_and_columns_in_another_order_have_the_same_scores(testdata: pl.DataFrame) -> None:
    order = np.random.default_rng(3).permutation(testdata.height).tolist()
    one = suda(testdata, KEYS)
    assert suda(testdata[order], KEYS).equals(one[order])
    other = suda(testdata, KEYS[::-1]).select(one.columns)
    assert np.allclose(other.to_numpy(), one.to_numpy(), atol=1e-12)


def test_summaries(testdata: pl.DataFrame) -> None:
    measure = suda_risk(testdata, KEYS, 0.01)
    assert measure.value == pytest.approx(9.831092653657434 / 4580)
    assert measure.details["with_score"] == 157
    top = suda(testdata, KEYS, 0.01)["dis"].arg_max()
    assert measure.details["most_exposed"][0] == top
    share = unsafe_share(testdata, KEYS)
    assert share.value == pytest.approx(157 / 4580)
    assert sum(share.details["records_by_size"].values()) == 157
    assert unsafe_share({"a": [1, 1]}, ["a"]).value == 0


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"a": [1, 2, 3], "b": [1, 1, 2]}
    with pytest.raises(ColumnError, match='"aa"'):
        suda(table, ["aa"])
    with pytest.raises(PolicyError, match="sampling_fraction"):
        suda(table, ["a"], 0)
    with pytest.raises(PolicyError, match="up_to"):
        minimum_unsafe(table, ["a"], 0)
    monkeypatch.setitem(inspect.unwrap(suda).__globals__, "MOST_BYTES", 10)
    with pytest.raises(PolicyError, match=r"up_to=3 .suda=3 of sf\.risk, --suda-up-to 3"):
        suda(table, ["a", "b"])
