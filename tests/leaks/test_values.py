"""What must not come along with a release: values of suppressed rows, in labels, buffers, types or the manifest."""

from __future__ import annotations

import io
import json
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import errors

SECRET = "SECRET_SECRET_SECRET"


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        yield


def suppress_last(data: Any, **more: Any) -> sf.Release:
    options = {
        "quasi": ["q"],
        "rest": "release",
        "require": sf.KAnonymity(2),
        "search": "optimal",
        "suppression": 1,
        "levels": {"q": 0},
    }
    return sf.anonymize(data, **(options | more))


def ipc(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


def test_text_buffers_hold_the_kept_rows_alone() -> None:
    frame = pl.DataFrame({"q": [1] * 4 + [2], "s": ["flu and other things"] * 4 + [SECRET]})
    assert SECRET.encode() not in ipc(suppress_last(frame).data)
    larger = pl.DataFrame({"q": [1] * 5, "s": ["flu and other things"] * 4 + [SECRET]})
    assert SECRET.encode() not in ipc(sf.anonymize(larger[:4], quasi=["q"], require=sf.KAnonymity(2)).data)
    labels = pl.DataFrame({"q": ["a long label of kept rows"] * 4 + [SECRET]})
    assert SECRET.encode() not in ipc(suppress_last(labels).data)


def test_enumerations_hold_the_kept_values_alone() -> None:
    kinds = pl.Series("s", ["a", "a", "b", "b", SECRET], dtype=pl.Enum(["a", "b", SECRET]))
    release = suppress_last(pl.DataFrame([pl.Series("q", [1, 1, 1, 1, 2]), kinds]))
    assert SECRET not in release.table.schema["s"].categories.to_list()
    assert SECRET not in release.data.schema["s"].categories.to_list()


@pytest.mark.parametrize("hierarchies", [None, {"q": "learned"}, {"q": sf.learned()}])
def test_learned_sets_name_kept_values_alone(hierarchies: Any) -> None:
    towns = ["a"] * 10 + ["b"] * 10 + ["bSECRET"] + [x for x in "cdef" for _ in range(10)]
    table = {"q": towns, "r": ["u"] * 20 + ["zz"] + ["u"] * 40}
    options = {"quasi": ["q", "r"], "require": sf.KAnonymity(11), "levels": {"r": 0}, "hierarchies": hierarchies}
    release = suppress_last(table, **options)
    assert release.solution.verdict.suppressed == 1
    assert not any("SECRET" in (label or "") for label in release.table["q"])
    assert not any("SECRET" in (label or "") for label in release.value_map().columns["q"].values())


@pytest.mark.slow
@pytest.mark.parametrize("side", ["right", "left"])
def test_masks_are_as_long_as_the_longest_kept_value(side: str) -> None:
    kept = ["47677"] * 3 + ["47678"] * 3 + ["12"] * 3
    options = {"require": sf.KAnonymity(3), "hierarchies": {"q": f"redact:{side}"}}
    alone = [suppress_last({"q": kept}, levels={"q": (i, i)}, suppression=0, **options) for i in range(5)]
    for level in range(5):  # beside a longer value that is suppressed, all is as if it had never been there
        release = suppress_last({"q": [*kept, "12345678"]}, levels={"q": (level, level)}, **options)
        assert release.solution.verdict.suppressed == 1
        same = alone[max(0, level - 3)]
        assert release.table.equals(same.table)
        assert release.manifest["solution"]["levels"] == same.manifest["solution"]["levels"]


def test_masks_in_steps_depend_on_no_other_value() -> None:
    kept = ["47677"] * 3 + ["47678"] * 3 + ["12"] * 3
    options = {"require": sf.KAnonymity(3), "levels": {"q": (1, 1)}, "hierarchies": {"q": "redact:3,4"}}
    alone = suppress_last({"q": kept}, suppression=0, **options)
    assert set(alone.table["q"]) == {"47***", "***"}
    release = suppress_last({"q": [*kept, "12345678"]}, **options)
    assert release.solution.verdict.suppressed == 1
    assert release.table.equals(alone.table)
    assert release.manifest["solution"]["levels"] == alone.manifest["solution"]["levels"] == {"q": 1}


def test_the_type_of_a_column_is_that_of_its_kept_rows() -> None:
    towns = sf.wide([("1", "1", "*"), ("2", "2", "*"), ("3", "34", "*"), ("4", "34", "*")])
    options = {"hierarchies": {"q": towns}, "levels": {"q": (1, 1)}, "suppression": 1, "require": sf.KAnonymity(2)}
    for last in (3, 4, 2):  # 3 and 4 share a label with another value, which no kept row has
        release = suppress_last({"q": [1] * 4 + [2] * 4 + [last]}, **options)
        assert release.table.schema["q"] == pl.Int64
        assert release.manifest["data"]["columns"][0]["kind"] == "integer"


def test_the_kind_of_a_column_is_that_of_its_kept_rows() -> None:
    release = suppress_last({"q": ["1"] * 4 + ["2"] * 4 + ["unknown"]})
    assert release.solution.verdict.suppressed == 1
    assert release.manifest["data"]["columns"][0]["kind"] == "integer"


def test_learned_levels_are_not_counted() -> None:
    """How many levels a learned hierarchy has tells how many values there were."""
    towns = [town for town in "abcdefgh" for _ in range(4)]
    for last in ("a", "z"):
        table = {"q": [*towns, last], "r": ["u"] * 32 + ["zz"]}
        release = suppress_last(table, quasi=["q", "r"], levels={"r": 0, "q": 1})
        assert release.manifest["solution"]["levels"] == {"q": None, "r": 0}


def test_learned_cuts_are_no_values_of_suppressed_rows_alone() -> None:
    numbers = [10.0] * 20 + [57.31] * 30 + [57.32] * 30 + [90.0] * 20
    table = {"q": numbers, "r": ["x"] * 20 + [f"u{i}" for i in range(60)] + ["x"] * 20}
    options = {"quasi": ["q", "r"], "require": sf.KAnonymity(5), "suppression": 0.6, "levels": {"r": 0, "q": 1}}
    release = suppress_last(table, **options)
    assert release.solution.verdict.suppressed == 60
    assert not any("57.3" in label for label in release.table["q"])
    assert release.table["q"].n_unique() == 2


def test_the_manifest_has_no_distribution_that_nobody_needs() -> None:
    table = {"q": [1] * 4 + [2] * 4 + [3, 4], "s": ["flu", "cold"] * 4 + ["RARE1", "RARE2"]}
    for more in ([sf.DistinctLDiversity("s", 2)], [sf.TCloseness("s", 0.9)]):
        release = suppress_last(table, require=[sf.KAnonymity(2), *more], suppression=2)
        assert release.solution.verdict.suppressed == 2
        assert "RARE" not in json.dumps(release.manifest)


def test_the_value_map_is_the_recoding_of_the_release() -> None:
    towns = ["a"] * 10 + ["b"] * 10 + ["c"] + ["d"] * 10 + ["e"] * 10
    table = {"q": towns, "r": ["u"] * 20 + ["zz"] + ["u"] * 20}
    release = suppress_last(table, quasi=["q", "r"], require=sf.KAnonymity(5), levels={"r": 0, "q": 1})
    applied = pl.DataFrame(release.value_map().apply(table))
    assert set(release.table["q"]) <= set(applied["q"])


def test_objects_leave_as_the_text_they_were_read_as() -> None:
    frame = pd.DataFrame({"q": ["a"] * 6, "s": np.array([1, 1.0, True] * 2, dtype=object)})
    release = sf.anonymize(frame, quasi=["q"], require=[sf.KAnonymity(2), sf.DistinctLDiversity("s", 3)])
    assert release.data.groupby("q")["s"].nunique().tolist() == [3]
    amounts = pd.DataFrame({"q": ["a"] * 2, "s": [Decimal("1.0"), Decimal("1.00")]})
    assert sf.anonymize(amounts, quasi=["q"], require="distinct-l-diversity s 2").data["s"].nunique() == 2


def test_no_value_in_messages_of_other_digits() -> None:
    release = sf.anonymize({"q": ["\u0663", "\u0664"] * 2}, quasi=["q"], require=sf.KAnonymity(2))
    assert release.verification.holds


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_floats_of_any_width(dtype: pl.DataType, tmp_path: Any) -> None:
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "s": pl.Series([0.1, 0.2, 0.1, 0.2], dtype=dtype)})
    require = [sf.KAnonymity(2), sf.TCloseness("s", 0.5), sf.DistinctLDiversity("s", 2)]
    assert sf.verify(sf.anonymize(frame, quasi=["q"], require=require).save(tmp_path / "out")).holds
    ages = pl.DataFrame({"q": pl.Series([0.1, 0.2, 0.7, 0.8], dtype=dtype)})
    options: dict[str, Any] = {"quasi": ["q"], "require": sf.KAnonymity(2), "labels": "ranges"}
    assert sf.anonymize(ages, ends="exact", **options).table["q"][0] == "[0.1, 0.2]"
    assert sf.anonymize(ages, **options).table["q"][0] == "[0, 0.5]"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["count", "n", "size", "class", "value", "len", "*", "q0", "^.*$"])
def test_any_column_name(name: str, tmp_path: Any) -> None:
    frame = pl.DataFrame({"q": [1, 1, 2, 2], name: ["a", "b"] * 2, "other": [1, 2, 3, 4]})
    require = [sf.KAnonymity(2), sf.TCloseness(name, 0.5), sf.DistinctLDiversity(name, 2)]
    assert sf.verify(sf.anonymize(frame, quasi=["q"], require=require).save(tmp_path / "out")).holds


@pytest.mark.slow
def test_many_quasi_identifiers() -> None:
    wide = {f"c{i}": list(range(40)) for i in range(30)}
    found = sf.anonymize(wide, quasi=list(wide), require=sf.KAnonymity(2), search=sf.Optimal(seconds=1))
    assert found.verification.holds
    flat = {f"c{i}": [1, 1, 1] for i in range(40)}
    assert sf.anonymize(flat, quasi=list(flat), require=sf.KAnonymity(2), search="optimal").solution.optimal


MOMENTS = ["2024-01-01T00:00:00.000000001", "2024-01-01 00:00:00.000000002"]


@pytest.mark.parametrize("values", [["9", "20", "100", "inf"], MOMENTS])
def test_search_and_verify_order_values_alike(values: list[str]) -> None:
    half = len(values) // 2
    table = {"q": [1] * 4 + [2] * 4, "s": values[:half] * (4 // half) + values[half:] * (4 // half)}
    require = [sf.KAnonymity(4), sf.TCloseness("s", 0.5, "ordered")]
    assert sf.anonymize(table, quasi=["q"], require=require).verification.holds


WRONG: list[dict[str, Any]] = [
    {"quasi": None},
    {"quasi": 1.5},
    {"quasi": {"q", "s"}},
    {"quasi": [["q"], 1.5]},
    {"quasi": []},
    {"quasi": [[]]},
    {"identifying": 1.5},
    {"sensitive": [None]},
    {"require": None},
    {"require": 3},
    {"require": [3]},
    {"hierarchies": ["q"]},
    {"hierarchies": {"q": 3}},
    {"levels": [1]},
    {"levels": {"q": None}},
    {"levels": {"q": (1,)}},
    {"progress": 3},
    {"seed": "x"},
    {"weight": 3},
    {"suppression": None},
    {"suppression": "1"},
    {"search": 3},
    {"loss": 3},
    {"loss": sf.LM(weights={"qq": 1})},
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{next(iter(w))}={type(next(iter(w.values()))).__name__}")
def test_wrong_arguments_are_told(wrong: dict[str, Any]) -> None:
    options = {"quasi": ["q"], "require": sf.KAnonymity(1)}
    with pytest.raises(errors.SfumatoError):
        sf.anonymize({"q": [1, 2], "s": ["a", "b"]}, **(options | wrong))


@pytest.mark.parametrize("path", [None, 1, "a\0b", "x" * 5000])
def test_wrong_paths_are_told(path: Any) -> None:
    release = sf.anonymize({"q": [1, 2]}, quasi=["q"], require=sf.KAnonymity(1))
    with pytest.raises(errors.SfumatoError):
        release.save(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.LM(weights=[1]),
        lambda: sf.LM(weights={"q": None}),
        lambda: sf.Optimal(seconds="x"),
        lambda: sf.Optimal(nodes=2.5),
        lambda: sf.Optimal(seconds=float("inf")),
    ],
)
def test_wrong_parameters_are_told(make: Any) -> None:
    with pytest.raises(errors.PolicyError):
        make()


def test_numpy_numbers_are_numbers(tmp_path: Any) -> None:
    release = sf.anonymize(
        {"q": [1, 2]}, quasi=["q"], require=sf.KAnonymity(1), seed=np.int64(3), loss=sf.LM(weights={"q": np.int64(2)})
    )
    assert sf.verify(release.save(tmp_path / "out")).holds


def test_foreign_frames_that_cannot_be_read_are_told() -> None:
    with pytest.raises(errors.InputError):
        sf.anonymize({"q": ["\ud800", "a"]}, quasi=["q"], require=sf.KAnonymity(1))
    wide = pa.table({"q": [1, 2], "d": pa.array([Decimal(1), Decimal(2)], type=pa.decimal256(50, 2))})
    with pytest.raises(errors.ColumnError, match="d"):
        sf.anonymize(wide, quasi=["q"], require=sf.KAnonymity(1))
    nothing = pa.table({"q": [1, 2], "d": pa.nulls(2)})
    assert sf.anonymize(nothing, quasi=["q"], require=sf.KAnonymity(1)).data.num_rows == 2


def test_leaves_of_other_kinds_stand_after_the_numbers() -> None:
    tree = sf.wide([(str(i), "n", "*") for i in range(1, 11)] + [("unknown", "u", "*")])
    options = {"quasi": ["q"], "require": sf.KAnonymity(4), "hierarchies": {"q": tree}}
    found = sf.anonymize({"q": ["1", "10"] * 3, "r": ["a"] * 6}, loss=sf.LM(leaves="hierarchy"), **options)
    assert found.solution.verdict.loss == pytest.approx(0.9)


def test_blurred_integers_beyond_floats_cost_something() -> None:
    table = {"q": [2**60 + i for i in range(4)]}
    found = sf.anonymize(table, quasi=["q"], require=sf.KAnonymity(2), ends="exact", labels="ranges")
    assert found.solution.verdict.loss == pytest.approx(1 / 3)


def test_a_constant_column_costs_nothing() -> None:
    for value in (1, "a"):
        found = sf.anonymize(
            {"q": [value] * 3, "r": [1, 2, 3]},
            quasi=["q", "r"],
            require=sf.KAnonymity(3),
            search="optimal",
            levels={"q": 1},
        )
        assert found.solution.verdict.per_attribute["q"] == 0


def test_the_limit_on_nodes_is_kept() -> None:
    table = {c: list(range(16)) for c in "abcd"}
    assert (
        sf.anonymize(table, quasi=list("abcd"), require=sf.KAnonymity(2), search=sf.Optimal(nodes=3)).solution.checks
        == 3
    )


@pytest.mark.parametrize("stored", [False, True])
def test_missing_values_of_a_protected_column_are_one_value_in_parquet_too(stored: bool, tmp_path: Path) -> None:
    """NaN and null print alike and count as one value: what is released must not tell them apart."""
    table = pl.DataFrame({"q": ["a", "b"] * 20, "s": [float("nan"), None] * 10 + [1.0, -0.0] * 10})
    table.write_parquet(tmp_path / "in.parquet")
    release = sf.anonymize(
        sf.scan(tmp_path / "in.parquet") if stored else table,
        quasi=["q"], sensitive=["s"], require=["distinct-l-diversity s 2"], k=5, search="optimal",
        to=sf.Folder(tmp_path / "out", "parquet"),
    )  # fmt: skip
    assert release.verification.holds
    found = pl.read_parquet(tmp_path / "out" / "data.parquet")["s"]
    assert found.is_nan().sum() == 0
    assert found.null_count() == 20
    assert not np.signbit(found.drop_nulls().to_numpy()).any()
