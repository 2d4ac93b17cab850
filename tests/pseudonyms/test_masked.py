"""Pseudonyms in a release: facts hold, the manifest has the sentence, and neither key nor place nor original."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.masked import PSEUDONYMOUS
from sfumato.errors import UndecidedColumns
from sfumato.pseudonyms.key_file import read

ROWS = 60
TABLE = pl.DataFrame(
    {
        "patient": [f"P{1000 + i // 2}" for i in range(ROWS)],
        "ssn": [f"{700000000 + 7919 * (i // 2)}" for i in range(ROWS)],
        "surname": [f"Surname {i // 2}" for i in range(ROWS)],
        "doctor": [f"D{10 + i % 7}" for i in range(ROWS)],
        "admitted": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 29), eager=True)[:ROWS],
        "ward": ["a", "b"] * (ROWS // 2),
    }
)


def test_a_release_with_every_kind_of_pseudonym(tmp_path: Path, key: Path) -> None:
    place = tmp_path / "private" / "study.vault"
    steps = [
        sf.DateShift("admitted", person="patient", low=5, high=50, key=key),
        f"keyed-tokens patient key={key}",
        {"step": "format-preserving", "columns": ["ssn"], "key": str(key)},
        sf.Substitution("surname", kind="last_name", country="it_IT", key=key),
        sf.RandomTokens("doctor", vault=place),
    ]
    roles = {"identifying": ["patient", "ssn", "surname", "doctor"], "insensitive": ["ward"]}
    release = sf.mask(TABLE, steps, **roles, to=tmp_path / "out")
    assert release.data["patient"].n_unique() == 30
    assert release.data["doctor"].n_unique() == 7
    assert {fact.fact for fact in release.facts} == {"shape"}
    assert all(fact.holds for fact in sf.verify(tmp_path / "out").facts)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["pseudonymous"] == PSEUDONYMOUS
    for file in (tmp_path / "out").iterdir():
        text = file.read_text()
        assert read(key).keys[0].hex() not in text
        assert "study.key" not in text
        assert "study.vault" not in text
        assert "P1001" not in text
        assert "Surname 1" not in text
    changed = release.data.with_columns(patient=pl.lit("P1001"))
    changed.write_csv(tmp_path / "out" / "data.csv")
    assert not all(fact.holds for fact in sf.verify(tmp_path / "out").facts)


def test_columns_that_name_people_need_pseudonyms_or_go(key: Path) -> None:
    frame = TABLE.select("surname", "ward", x=pl.int_range(pl.len()) % 5)
    with pytest.raises(UndecidedColumns, match='"surname"'):
        sf.mask(frame, sf.Rounding("x"), insensitive=["ward"])
    made = sf.mask(frame, sf.KeyedTokens("surname", key=key), insensitive=["ward", "x"])
    assert made.data.columns == ["surname", "ward", "x"]
    assert "surname" not in sf.mask(frame, sf.Rounding("x"), identifying=["surname"], insensitive=["ward"]).data.columns


def test_texts_are_taken_as_they_are_written(key: Path) -> None:
    numbers = ["+391234567", "391234567", "1e3", "1000"] * 2
    frame = pl.DataFrame({"phone": numbers, "who": numbers, "day": ["2020-01-01"] * 8})
    shift = sf.DateShift("day", person="who", low=1, high=9999, key=key)
    made = sf.mask(frame, [shift, sf.KeyedTokens(["phone", "who"], key=key)], identifying=["phone", "who"]).data
    assert [made[name].n_unique() for name in frame.columns] == [4, 4, 4]
