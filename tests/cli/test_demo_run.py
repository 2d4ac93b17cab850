"""The made-up register: repeatable, skewed like a real one, diverse enough to be released."""

from __future__ import annotations

import math
import time
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.cli.register import (
    DIAGNOSES,
    FAMILIES,
    MEN,
    WOMEN,
    diagnosis_hierarchy,
    hospital_register,
    write_demo_inputs,
)
from sfumato.errors import InputError, OutputError


@pytest.fixture(scope="module")
def register() -> pl.DataFrame:
    return hospital_register()


def counts(register: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(register[column].value_counts().iter_rows())


def test_schema(register: pl.DataFrame) -> None:
    assert register.height == 20_000
    assert dict(register.schema) == {
        "name": pl.String,
        "birth_date": pl.Date,
        "postcode": pl.String,
        "sex": pl.String,
        "ward": pl.String,
        "diagnosis": pl.String,
        "cost": pl.Float64,
    }
    assert sum(register.null_count().row(0)) == 0


def test_same_seed_same_register_other_seed_another(register: pl.DataFrame) -> None:
    assert hospital_register().equals(register)
    assert not hospital_register(seed=1).equals(register)


@pytest.mark.slow
def test_a_million_rows_take_seconds() -> None:
    start = time.perf_counter()
    assert hospital_register(1_000_000).height == 1_000_000
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_small_registers(rows: int) -> None:
    assert hospital_register(rows).schema == hospital_register(5).schema
    assert hospital_register(rows).height == rows


def test_negative_rows_are_refused() -> None:
    with pytest.raises(InputError, match="rows >= 0"):
        hospital_register(-1)


def test_diagnoses_are_skewed(register: pl.DataFrame) -> None:
    found = counts(register, "diagnosis")
    assert set(found) == {d.name for d in DIAGNOSES}
    assert 30 <= len(found) <= 40
    assert 0 < min(found.values()) < 10
    assert max(found.values()) > 1_000


def test_age_pyramid_leans_to_the_old(register: pl.DataFrame) -> None:
    age = 2025 - register["birth_date"].dt.year()
    assert 60 <= float(np.median(age.to_numpy())) <= 75
    assert age.min() == 0
    assert 95 <= age.max() <= 105  # type: ignore[operator]
    assert str(register["birth_date"].max()) <= "2025-12-31"


def test_age_sex_and_ward_follow_the_diagnosis(register: pl.DataFrame) -> None:
    year = register.group_by("diagnosis").agg(pl.col("birth_date").dt.year().median())
    born = dict(year.iter_rows())
    assert born["Hip fracture"] + 40 < born["Spontaneous delivery"]
    delivery = register.filter(pl.col("diagnosis") == "Spontaneous delivery")
    assert counts(delivery, "sex").get("M", 0) == 0
    assert counts(delivery, "ward")["Obstetrics"] > 0.9 * delivery.height
    assert counts(register.filter(pl.col("diagnosis") == "Prostate cancer"), "sex").get("F", 0) == 0


def test_sexes(register: pl.DataFrame) -> None:
    found = counts(register, "sex")
    assert set(found) == {"F", "M", "X"}
    assert 20 <= found["X"] <= 200


def test_postcodes_have_leading_zeros_dense_places_and_a_tail(register: pl.DataFrame) -> None:
    found = counts(register, "postcode")
    assert all(len(code) == 5 and code.isdigit() for code in found)
    assert any(code.startswith("0") for code in found)
    assert any(not code.startswith("0") for code in found)
    assert max(found.values()) > 500
    assert min(found.values()) < 10


def test_cost_has_cents_and_a_long_tail(register: pl.DataFrame) -> None:
    cost = register["cost"].to_numpy()
    assert (cost > 0).all()
    assert np.abs(np.round(cost, 2) - cost).max() == 0
    assert cost.mean() > 1.15 * float(np.median(cost))


def test_names_are_from_the_lists(register: pl.DataFrame) -> None:
    first, family = zip(*(name.split(" ") for name in register["name"].unique()), strict=True)
    assert set(first) <= set(WOMEN + MEN)
    assert set(family) <= set(FAMILIES)
    assert not set(WOMEN) & set(MEN)


def test_hierarchy_covers_every_diagnosis_and_is_nested(register: pl.DataFrame) -> None:
    rows = diagnosis_hierarchy()
    assert len({row[0] for row in rows}) == len(rows)
    assert set(register["diagnosis"]) <= {row[0] for row in rows}
    for level in range(3):
        parent: dict[str, str] = {}
        for row in rows:
            assert parent.setdefault(row[level], row[level + 1]) == row[level + 1]
    assert {row[3] for row in rows} == {"*"}
    assert not any(";" in cell or '"' in cell for row in rows for cell in row)


def test_neighbouring_groups_are_diverse_enough(register: pl.DataFrame) -> None:
    """Groups of twenty people of one sex and like age: nearly all are entropy 3-diverse in diagnosis."""
    _, code = np.unique(register["diagnosis"].to_numpy().astype(str), return_inverse=True)
    group = code[register.with_row_index().sort("sex", "birth_date")["index"].to_numpy()].reshape(-1, 20)
    share = np.stack([(group == value).mean(axis=1) for value in range(code.max() + 1)])
    entropy = -np.sum(share * np.log(np.where(share > 0, share, 1)), axis=0)
    assert (entropy < math.log(3)).mean() < 0.01


def test_inputs_on_disk(tmp_path: Path, register: pl.DataFrame) -> None:
    policy_path = write_demo_inputs(tmp_path / "new" / "demo")
    folder = policy_path.parent
    assert {file.name for file in folder.iterdir()} == {"register.csv", "diagnosis.csv", "policy.toml"}
    read = pl.read_csv(folder / "register.csv", schema_overrides={"postcode": pl.String}, try_parse_dates=True)
    assert read.equals(register)
    lines = (folder / "diagnosis.csv").read_text(encoding="utf-8").splitlines()
    assert [tuple(line.split(";")) for line in lines] == diagnosis_hierarchy()
    policy = tomllib.loads(policy_path.read_text(encoding="utf-8"))
    named = [column for columns in policy["roles"].values() for column in columns]
    assert sorted(named) == sorted(register.columns)
    assert set(policy["hierarchies"]) <= set(register.columns)
    assert policy["require"] == [
        {"model": "k-anonymity", "k": 12},
        {"model": "entropy-l-diversity", "attribute": "diagnosis", "l": 3},
    ]


def test_inputs_are_written_twice_with_the_same_bytes(tmp_path: Path) -> None:
    first = {file.name: file.read_bytes() for file in write_demo_inputs(tmp_path, rows=50).parent.iterdir()}
    again = {file.name: file.read_bytes() for file in write_demo_inputs(tmp_path, rows=50).parent.iterdir()}
    assert first == again


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError, match="taken"):
        write_demo_inputs(tmp_path / "taken", rows=5)
