"""inspect, from Python: what it shows of itself, and what it gives to anonymize."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError
from sfumato.release.people import RepeatedPersonWarning

TABLE: dict[str, Any] = {
    "name": [f"Ann {i}" for i in range(40)],
    "age": [20 + i % 20 for i in range(40)],
    "sex": ["female", "male"] * 20,
    "weight": [1.5, 2.5] * 20,
    "disease": ["flu", "flu", "asthma", None] * 10,
}
ROLES = {"identifying": ["name"], "quasi": ["age", "sex"], "sensitive": ["disease"], "weight": "weight"}


def test_every_kind_of_table_is_inspected_alike(tmp_path: Path) -> None:
    frame = pl.DataFrame(TABLE)
    frame.write_parquet(tmp_path / "people.parquet")
    found = sf.inspect(TABLE)
    for data in (frame, frame.lazy(), frame.to_arrow(), tmp_path / "people.parquet", sf.scan(tmp_path / "*.parquet")):
        assert sf.inspect(data) == found
    assert sf.inspect(pd.DataFrame(TABLE).set_index("name")) == found
    with pytest.raises(InputError, match="this is no table"):
        sf.inspect(7)


def test_it_shows_every_column_and_no_value() -> None:
    found = sf.inspect(TABLE)
    for text in (repr(found), found._repr_html_()):
        assert "40 rows, 5 columns" in text
        assert "alone by age, sex" in text
        assert all(name in text for name in TABLE)
        assert "text, 2 values, 10 missing" in text
        assert not any(value in text for value in ("Ann 1", "asthma", "female", "39"))
    wide = sf.inspect({f"column{i}": ["a", "b"] for i in range(30)})
    assert repr(wide).count("\n") >= 30


def test_a_share_is_never_rounded_to_all_and_stays_with_its_owner() -> None:
    numbers = pl.DataFrame({"x": [0.5 + max(i, 1) for i in range(20_001)], "y": [i % 7 for i in range(20_001)]})
    found = sf.inspect(numbers)
    assert found.columns[0].why.startswith("over 99.99% of the rows have a value of their own")
    assert found.reasons["x"].startswith("many rows have a value of their own")
    assert not any(character.isdigit() for why in found.reasons.values() for character in why)


def test_what_is_suggested_is_asked_for() -> None:
    asked = sf.inspect(TABLE).suggest()
    assert asked == ROLES | {"hierarchies": asked["hierarchies"]}
    assert set(asked["hierarchies"]) == {"age", "sex"}
    release = sf.anonymize(TABLE, **asked, require=[sf.KAnonymity(4), sf.DistinctLDiversity("disease", 2)])
    assert release.verification.holds
    assert release.roles == sf.inspect(TABLE).roles


def test_people_of_several_rows_are_told_by_what_names_them() -> None:
    rows = range(300)
    visits = {
        "patient_id": [f"P{i // 3}" for i in rows],
        "amount": [60 + i % 150 / 10 for i in rows],
        "age": [9] * 300,
    }
    why = {column.name: column.why for column in sf.inspect(visits).columns if column.role == "identifying"}
    assert [name for name, reason in why.items() if "people are counted" in reason] == ["patient_id"]
    with pytest.warns(RepeatedPersonWarning, match="patient_id") as told:
        sf.anonymize(visits, identifying=["patient_id", "amount"], quasi=["age"], k=5)
    assert "amount" not in str(told[0].message)


def test_a_warning_of_repeats_names_a_few_columns():
    numbers = {f"id{i}": [f"P{row // (i + 2)}" for row in range(300)] for i in range(9)}
    with pytest.warns(RepeatedPersonWarning, match='"id2" .* and 6 more') as told:
        sf.anonymize(numbers | {"age": [9] * 300}, identifying=list(numbers), quasi=["age"], k=5)
    assert '"id3"' not in str(told[0].message)
