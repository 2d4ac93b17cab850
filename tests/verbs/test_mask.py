"""mask: a release without promises, with promises, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.engines.files.table import FileTable
from sfumato.errors import ColumnError, Infeasible, PolicyError, UndecidedColumns
from sfumato.release.facts import check_public
from sfumato.verbs.steps import parse

TABLE = {
    "pay": [1810, 2490, 2510, 1700, 2110, 1999] * 4,
    "age": [31, 32, 58, 59, 33, 57] * 4,
    "shift": ["early", "late"] * 12,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("masked") / "out"
    sf.mask(TABLE, [sf.Rounding("pay", base=500)], insensitive=["age"], seed=5, to=place)
    return place


def test_a_masked_release_promises_nothing_and_states_facts(folder: Path, capsys: Any) -> None:
    found = sf.verify(folder)
    assert found.outcome == "nothing promised"
    assert not found.holds
    assert [(fact.fact, fact.holds, fact.private) for fact in found.facts] == [("points", True, False)]
    assert main(["verify", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "nothing is promised" in said
    assert "holds" not in said
    assert "multiples of 500" in said


def test_a_changed_cell_breaks_integrity_and_the_fact(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for file in folder.iterdir():
        (tmp_path / "out" / file.name).write_bytes(file.read_bytes())
    data = tmp_path / "out" / "data.csv"
    data.write_text(data.read_text("utf-8").replace("2000", "2001", 1), "utf-8")
    found = sf.verify(tmp_path / "out")
    assert found.outcome == "broken"
    assert [fact.holds for fact in found.facts] == [False]


def test_the_manifest_says_what_made_it_and_no_key(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert manifest["format"] == 2
    assert manifest["made_by"] == "masking"
    assert [one["file"] for one in manifest["files"]] == ["data.csv"]
    assert manifest["seed"] == 5
    assert manifest["steps"][0]["step"] == "rounding"
    assert manifest["promises"] == []


def test_criteria_hold_of_the_masked_rows_or_nothing_is_released() -> None:
    steps = [sf.Rounding("age", base=30), sf.Rounding("pay", base=500)]
    release = sf.mask(TABLE, steps, quasi=["age"], k=8)
    assert release.verification.holds
    assert release.manifest["promises"][0]["model"] == "k-anonymity"
    with pytest.raises(Infeasible, match="k-anonymity measures"):
        sf.mask(TABLE, [sf.Rounding("pay", base=500)], quasi=["age"], k=8)


def test_rows_leave_in_canonical_order_and_come_back_as_the_kind_that_came() -> None:
    frame = pd.DataFrame(TABLE, index=range(100, 124))
    release = sf.mask(frame, [sf.Rounding("pay", base=500)], insensitive=["age"], seed=1)
    assert isinstance(release.data, pd.DataFrame)
    assert release.table.equals(release.table.sort(release.table.columns))
    assert release.table["pay"].dtype == pl.Int64
    with pytest.warns(sf.RowOrderWarning):
        same = sf.mask(TABLE, [sf.Rounding("pay", base=500)], insensitive=["age"], order="input").data
    assert same["shift"] == TABLE["shift"]


def test_a_seed_repeats_a_release_and_no_seed_does_not() -> None:
    step, asked = [sf.Rounding("pay", base=500, random=True)], {"insensitive": ["age"]}
    first, again, other = (sf.mask(TABLE, step, seed=seed, **asked).data for seed in (1, 1, 2))
    assert first == again != other
    assert sf.mask(TABLE, step, **asked).manifest["seed"] != sf.mask(TABLE, step, **asked).manifest["seed"]


def test_who_looks_like_a_person_is_dropped_or_refused() -> None:
    table = {**TABLE, "e-mail": [f"p{i}@example.org" for i in range(24)], "ssn": list(range(24))}
    with pytest.raises(UndecidedColumns, match="e-mail"):
        sf.mask(table, [sf.Rounding("pay")], insensitive=["age", "ssn"])
    with pytest.raises(UndecidedColumns, match="ssn"):  # a step took it, and that is not enough
        sf.mask(table, [sf.Rounding()], identifying=["e-mail"])
    released = sf.mask(table, [sf.Rounding()], identifying=["e-mail", "ssn"])
    assert released.table.columns == ["pay", "age", "shift"]


def test_bad_requests() -> None:
    with pytest.raises(PolicyError, match="no step"):
        sf.mask(TABLE, [])
    with pytest.raises(PolicyError, match="unknown step"):
        sf.mask(TABLE, ["roundin pay base=3"])
    with pytest.raises(ColumnError, match='no column "pai"'):
        sf.mask(TABLE, ["rounding pai base=3"], rest="release")
    with pytest.raises(PolicyError, match="unknown parameter"):
        sf.mask(TABLE, ["rounding pay bass=3"])


def test_facts_are_those_of_the_released_rows() -> None:
    release = sf.mask(TABLE, ["rounding pay base=500"], insensitive=["age"])
    fact = release.manifest["facts"][0]
    assert check_public(release.table, None, fact).holds
    assert not check_public(pl.DataFrame(TABLE), None, fact).holds


def test_the_number_of_rows_is_checked_in_the_folder(tmp_path: Path) -> None:
    sf.mask(TABLE, [sf.Sampling(size=9)], rest="release", insensitive=["age"], to=tmp_path / "out")
    assert [(fact.fact, fact.holds) for fact in sf.verify(tmp_path / "out").facts] == [("rows", True)]


def test_a_masker_of_ones_own_can_be_registered() -> None:
    from dataclasses import dataclass

    from sfumato.core.masked import Change, Context, MaskStep

    @dataclass(frozen=True)
    class Doubled(MaskStep):
        """Double numbers."""

        kinds = ("number",)

        def sentence(self) -> str:
            return "numbers are doubled"

        def apply(self, columns: pl.DataFrame, context: Context) -> Change:
            return Change(columns * 2)

    sf.register("doubled", Doubled, example=Doubled())
    try:
        assert sf.mask({"pay": [1, 2]}, ["doubled pay"], order="canonical").data == {"pay": [2, 4]}
    finally:
        sf.MASKERS.remove("doubled")


@pytest.mark.parametrize(
    ("values", "dtype", "shown"),
    [
        ([0.0, -0.0], pl.Float64, {"0.0"}),
        ([float("nan"), None, 1.0], pl.Float64, {"None", "1.0"}),
        (["", None, "a"], pl.String, {"None", "a"}),
        (["", None, "a"], pl.Enum(["", "a"]), {"None", "a"}),
        (["", None, "a"], pl.Categorical, {"None", "a"}),
    ],
)
def test_what_promises_count_as_one_value_is_one_in_the_file_too(
    tmp_path: Path, values: list[Any], dtype: Any, shown: set[str]
) -> None:
    table = pl.DataFrame({"age": pl.Series(values * 6, dtype=dtype), "pay": range(6 * len(values))})
    release = sf.mask(table, sf.Rounding("pay", base=5), quasi=["age"], k=6, rest="release")
    release.save(tmp_path / "out", "parquet")
    for column in (release.data["age"], pl.read_parquet(tmp_path / "out" / "data.parquet")["age"]):
        assert set(map(str, column)) == shown
    assert sf.verify(tmp_path / "out").holds


def test_a_zero_does_not_show_the_sign_of_what_was_there() -> None:
    table = {"change": [-0.5 + i / 100 for i in range(100)]}
    release = sf.mask(table, sf.TopBottomCoding("change", top=-0.0, bottom=-0.4))
    assert set(map(str, release.data["change"])) >= {"0.0"}
    assert "-0.0" not in set(map(str, release.data["change"]))


def test_a_file_that_is_masked_tells_no_more_apart_either(tmp_path: Path) -> None:
    pl.DataFrame({"age": [0.0, -0.0, float("nan"), None] * 6, "pay": range(24)}).write_parquet(tmp_path / "t.parquet")
    to = sf.Folder(tmp_path / "out", "parquet")
    sf.mask(FileTable(tmp_path / "t.parquet"), sf.Rounding("pay", base=5), quasi=["age"], k=12, rest="release", to=to)
    assert set(map(str, pl.read_parquet(tmp_path / "out" / "data.parquet")["age"])) == {"0.0", "None"}


@pytest.mark.parametrize("name", ["additive-noise", "correlated-noise", "outlier-noise", "restricted-noise"])
def test_noise_beyond_all_measure_is_refused(name: str) -> None:
    with pytest.raises(PolicyError, match="share is out of range"):
        parse(f"{name} pay share=1e308")


def test_parameters_may_be_numbers_of_numpy() -> None:
    step = sf.Pram("sex", band=np.int64(1), p=np.float64(0.9))
    assert step.parameters() == {"columns": ["sex"], "p": 0.9, "band": 1, "invariant": False, "together": False}


def test_ranks_of_rows_that_nothing_tells_apart_are_not_said_to_be_checked() -> None:
    table = {"pay": [10, 20, 30, 40] * 5}
    assert [fact.holds for fact in sf.mask(table, ["rank-swapping pay p=20"], seed=1).facts] == [True, None]
    told = {**table, "no": list(range(20))}
    assert [fact.holds for fact in sf.mask(told, ["rank-swapping pay p=20"], insensitive=["no"], seed=1).facts] == [
        True,
        True,
    ]


def test_quasi_identifiers_that_are_not_the_first_columns_order_the_rows(tmp_path: Path) -> None:
    table = {"stay": [1, 2, 3, 1] * 5, "age": list(range(20, 40)), "ward": ["a", "b"] * 10}
    sf.mask(table, [sf.Rounding("age", base=5)], quasi=["ward", "age"], insensitive=["stay"]).save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").outcome == "nothing promised"
