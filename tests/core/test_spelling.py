"""Values that differ only in their spelling: warned about, and one value where they are named in `normalise`."""

from __future__ import annotations

import unicodedata
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import main
from sfumato.core.spelling import folded
from sfumato.errors import Infeasible, PolicyError
from tests.fuzz import examples

SPELLINGS = ["flu", "Flu", "FLU ", " flu", "fl\u00adu", "ｆｌｕ", "flu\u00a0", "f\u200blu"]
L2 = [sf.KAnonymity(2), sf.DistinctLDiversity("disease", 2)]


def fold(*values: str) -> list[str]:
    return pl.Series("x", values).to_frame().select(folded(pl.col("x"))).to_series().to_list()


def patients(diseases: list[Any]) -> dict[str, Any]:
    return {"age": [30 + i // 2 for i in range(len(diseases))], "disease": diseases}


def quietly(*arguments: Any, **more: Any) -> sf.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.SpellingWarning)
        return sf.anonymize(*arguments, **more)


def test_what_has_one_meaning() -> None:
    assert set(fold(*SPELLINGS)) == {"flu"}
    assert len(set(fold("é", "e\u0301", "É", "E\u0301"))) == 1
    assert len(set(fold("grade  2", "Grade 2", "grade\t2", "grade\u30002"))) == 1
    assert len(set(fold("1", "1.0", "1.", "1.00", " 1 "))) == 1
    assert len(set(fold("1.5", "1.50"))) == 1
    assert len(set(fold("1", "01", "10", "1.01", "-1", "flu 1"))) == 6  # a code may have zeros in front


@settings(max_examples=examples(1000))
@given(st.text())
def test_a_folded_text_is_its_own_fold(text: str) -> None:
    (once,) = fold(text)
    assert fold(once) == [once]
    assert fold(unicodedata.normalize("NFD", text), unicodedata.normalize("NFKC", text)) == [once, once]


def test_a_warning_names_the_column_and_how_many_but_no_value() -> None:
    with pytest.warns(sf.SpellingWarning) as caught:
        sf.anonymize(patients(["flu", "Flu", "cold", "cold "]), quasi=["age"], sensitive=["disease"], require=L2)
    (told,) = [str(w.message) for w in caught]
    assert '"disease" (2 would merge into others)' in told
    assert "flu" not in told.lower()
    assert "cold" not in told.lower()


@pytest.mark.parametrize("diseases", [["a", "b", "1", "10"], [1, 1, 2, 3], [1.0, 2.0, 3.5, 4.0], [True, False] * 2])
def test_no_warning_without_cause(diseases: list[Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.SpellingWarning)
        sf.anonymize(patients(diseases), quasi=["age"], sensitive=["disease"], require=sf.KAnonymity(2))


def test_one_disease_in_two_spellings_is_not_diverse() -> None:
    table = patients(["flu", "Flu "] * 2 + ["FLU", "flu"] * 2)
    assert quietly(table, quasi=["age"], require=L2).verification.holds  # by the letter
    with pytest.raises(Infeasible):
        sf.anonymize(table, quasi=["age"], require=L2, normalise=True)


@pytest.mark.slow
@pytest.mark.parametrize("normalise", [True, ["disease"], ("disease",), "disease"])
def test_released_in_the_spelling_that_is_most_frequent_in_the_release(tmp_path: Path, normalise: Any) -> None:
    table = patients(["Flu", "cold", "Flu", "Cold", "flu", "COLD", "FLU ", "cold"])
    release = sf.anonymize(table, quasi=["age"], require=L2, normalise=normalise)
    assert set(release.table["disease"]) == {"Flu", "cold"}
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds
    assert release.manifest["policy"]["normalise"] == ["disease"]
    assert "in one spelling" in (tmp_path / "out" / "report.html").read_text()


def test_the_spelling_tells_nothing_about_suppressed_rows() -> None:
    """Whatever spelling a suppressed row has, the release is the same."""
    seen = set()
    for gone in ("Flu", "flu", "FLU"):
        table = {"age": [30, 30, 30, 30, 99], "disease": ["flu", "cold", "Flu", "cold", gone]}
        release = sf.anonymize(
            table, quasi=["age"], require=L2, normalise=True, suppression=1, search="tuple-suppression"
        )
        assert release.solution.verdict.suppressed == 1
        seen.add(tuple(sorted(release.table["disease"])))
    assert seen == {("Flu", "Flu", "cold", "cold")}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda d: pl.LazyFrame(d)])
def test_every_kind_of_frame_comes_back_in_one_spelling(make: Any) -> None:
    release = sf.anonymize(make(patients(["Flu", "cold", "FLU", "Cold", None, "cold"])), quasi=["age"], require=L2[:1],
                           sensitive=["disease"], normalise=True)  # fmt: skip
    found = release.data.collect() if isinstance(release.data, pl.LazyFrame) else release.data
    values = {None if value is None or value != value else value for value in list(_column(found))}
    assert values == {"FLU", "cold", None}


def _column(frame: Any) -> list[Any]:
    column = frame["disease"]
    return column.to_pylist() if isinstance(frame, pa.Table) else column.to_list()


def test_a_category_column_and_a_column_of_numbers() -> None:
    table = pl.DataFrame(patients(["Flu", "cold", "FLU", "Cold"])).with_columns(
        pl.col("disease").cast(pl.Categorical), stage=pl.Series([1, 2, 1, 2])
    )
    release = sf.anonymize(table, quasi=["age"], sensitive=["disease", "stage"], require=L2, normalise=True)
    assert set(release.table["disease"]) == {"FLU", "Cold"}
    assert release.table["stage"].dtype == pl.Int64


def test_a_spelling_that_a_criterion_names_is_the_one() -> None:
    table = {"age": [30] * 8, "disease": ["hiv", "hiv", "hiv", "HIV", "cold", "cold", "flu", "Flu"]}
    alpha = sf.AlphaK(0.5, 2, "disease", values=("HIV",))
    release = sf.anonymize(table, quasi=["age"], require=alpha, normalise=True)
    assert sorted(set(release.table["disease"])) == ["Flu", "HIV", "cold"]
    with pytest.raises(Infeasible):
        sf.anonymize(table, quasi=["age"], require=sf.AlphaK(0.4, 2, "disease", values=("HIV",)), normalise=True)


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.2, 0.35])
def test_distances_are_to_the_distribution_of_merged_values(tmp_path: Path, t: float) -> None:
    draw = np.random.default_rng(5)
    table = {"age": draw.integers(20, 60, 200), "disease": draw.choice(["Flu", "flu", "cold", "COLD ", "gout"], 200)}
    near = sf.TCloseness("disease", t)
    release = sf.anonymize(table, quasi=["age"], require=[sf.KAnonymity(3), near], normalise=True, suppression=0.05)
    assert len(set(release.table["disease"])) == 3
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds


def test_what_cannot_be_normalised_is_refused_by_name(tmp_path: Path) -> None:
    table = patients(["Flu", "cold", "FLU", "Cold"])
    asked: dict[str, Any] = {"quasi": ["age"], "sensitive": ["disease"], "require": L2}
    with pytest.raises(PolicyError, match='"age" that is not sensitive'):
        sf.anonymize(table, normalise=["age"], **asked)
    with pytest.raises(PolicyError, match="True or list columns"):
        sf.anonymize(table, normalise=3, **asked)
    with pytest.raises(PolicyError, match="has a hierarchy"):
        sf.anonymize(table, normalise=["disease"], hierarchies={"disease": sf.flat()}, **asked)
    ordered = sf.TCloseness("disease", 0.5, distance="ordered")
    with pytest.raises(PolicyError, match="order of its spelling"):
        sf.anonymize(table, normalise=True, **asked | {"require": ordered})
    pl.DataFrame(table).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(PolicyError, match="out-of-core table cannot be brought to one spelling"):
        sf.anonymize(sf.scan(tmp_path / "t.parquet"), normalise=True, to=tmp_path / "out", **asked)
    with pytest.warns(sf.SpellingWarning, match='"disease"'):
        sf.anonymize(sf.scan(tmp_path / "t.parquet"), to=tmp_path / "out", **asked)


@pytest.mark.slow
def test_in_the_shell_and_in_a_policy_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(patients(["Flu", "cold", "FLU", "Cold", "Flu", "cold"])).write_csv("t.csv")
    flags = ["anonymize", "t.csv", "--quasi", "age", "--require", "distinct-l-diversity disease 2", "--k", "2"]
    assert main([*flags, "-o", "plain"]) == 0
    assert '"disease" (2 would merge into others)' in capsys.readouterr().err
    for i, columns in enumerate(("disease", "*")):
        assert main([*flags, "--normalise", columns, "-o", f"out{i}"]) == 0
        assert "merge" not in capsys.readouterr().err
        assert set(sf.read(f"out{i}/data.csv")["disease"]) == {"Flu", "cold"}
    assert main([*flags, "--normalise", "age", "-o", "never"]) == 2
    assert '"age" that is not sensitive' in capsys.readouterr().err
    roles = '[input]\npath = "t.csv"\n[roles]\nquasi = ["age"]\nsensitive = ["disease"]\n'
    rest = '[[require]]\nmodel = "k-anonymity"\nk = 2\n[output]\n'
    for i, written in enumerate(("true", '["disease"]')):
        Path("p.toml").write_text(f'{roles}normalise = {written}\n{rest}path = "policy{i}"\n')
        assert main(["anonymize", "p.toml"]) == 0, capsys.readouterr().err
        assert set(sf.read(f"policy{i}/data.csv")["disease"]) == {"Flu", "cold"}
    Path("p.toml").write_text(f'{roles}normalise = 3\n{rest}path = "never"\n')
    assert main(["anonymize", "p.toml"]) == 2
    assert "[roles] normalise" in capsys.readouterr().err


@pytest.mark.slow
def test_compared_in_one_spelling_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = patients(["flu", "Flu "] * 2 + ["FLU", "flu"] * 2)
    asked: dict[str, Any] = {"quasi": ["age"], "search": "mondrian", "k": 2, "require": L2[1:]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.SpellingWarning)
        assert sf.compare(table, **asked)["status"].to_list() == ["done"]
    assert sf.compare(table, normalise=True, **asked)["status"].to_list() == ["infeasible"]
    pl.DataFrame(table).write_csv("t.csv")
    flags = ["compare", "t.csv", "--quasi", "age", "--k", "2", "--require", "distinct-l-diversity disease 2"]
    assert main([*flags, "--search", "mondrian", "-o", "plain"]) == 0
    assert main([*flags, "--search", "mondrian", "--normalise", "*", "-o", "map"]) == 2  # no point is feasible
    assert "infeasible" in Path("map/map.json").read_text()
