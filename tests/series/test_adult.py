"""Adult, published again and again: what an attacker learns who knows who was in which release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf

QUASI = ["age", "sex", "race", "education"]


@pytest.mark.slow
def test_ten_releases_made_anew_pin_people_and_m_invariant_ones_pin_none(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "a key for tests")
    adult = sf.read(shared / "data/arx/adult.csv").select(*QUASI, "occupation").with_row_index("id")
    months = [adult[i * 50 : i * 50 + 500] for i in range(10)]  # a tenth leaves, and as many come
    roles: dict[str, Any] = {"quasi": QUASI, "sensitive": ["occupation"]}
    naive = [
        sf.anonymize(
            month, identifying=["id"], search="mondrian", require=[sf.DistinctLDiversity("occupation", 3)], **roles
        ).data
        for month in months
    ]
    folders, last, without = [], None, []
    for i, month in enumerate(months):
        last = sf.republish(
            last, month, m=3, state=tmp_path / "s", person="id", quasi=QUASI, sensitive="occupation", seed=i
        )
        folders.append(last.save(tmp_path / f"{i}"))
        without.append(last.turnover.pinned)
    known: dict[str, Any] = {"original": months, "person": "id", "m": 3, "trials": 2000, **roles}
    made_anew = sf.attack(releases=naive, **known)["intersection"]
    invariant = sf.attack(releases=folders, **known)["intersection"]
    by_values = made_anew["details"]["people pinned by values alone"]
    assert made_anew["success"] * 950 > by_values > 0
    assert invariant["success"] == 0
    assert invariant["details"]["fewer values than m"]["people"] == 0
    assert invariant["details"]["people above 1/m in small groups"] == 0
    assert without[0] == 0 < min(without[1:])
    assert sum(pl.read_csv(folder / "counterfeits.csv")["counterfeits"].sum() for folder in folders) > 0
