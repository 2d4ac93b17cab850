"""Digits: names that say codes, names that say amounts, and what becomes of whole numbers under either."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.phrases import in_flags
from sfumato.core.hierarchy import HierarchyNote
from sfumato.core.roles import digits_of
from sfumato.errors import PolicyError

ZIPS = [501, 1234, 1235, 2139, 10001, 10002, 33101, 60601, 60602, 90210, 90211]


def people(rows: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame({"zip": rng.choice(ZIPS, rows), "age": rng.integers(18, 90, rows)})


@pytest.mark.parametrize(
    ("digits", "names"),
    [
        ("postcodes", "zip ZIP_Code homePostcode PLZ cap cap_residenza code_postal Postleitzahl"),
        ("codes", "diagnosis_code icd9 NACE isco08 telefon phone_number Kanton sex job_type marital-status"),
        (
            "numbers",
            "age income year_of_birth zip_population market_cap capital lines_of_code encoded typed phone_calls",
        ),
        ("numbers", "zipper postage hours height barcodescanned county_count jobs x"),
    ],
)
def test_whole_words_of_names_decide(digits: str, names: str) -> None:
    assert {name: digits_of(name) for name in names.split()} == dict.fromkeys(names.split(), digits)


@pytest.mark.parametrize("form", ["polars", "text", "pandas"])
def test_postcodes_that_are_numbers_are_blurred_by_their_digits(form: str) -> None:
    table = people()
    given = {"polars": table, "text": table.cast({"zip": pl.String}), "pandas": table.to_pandas()}[form]
    with pytest.warns(HierarchyNote, match='codes in "zip", as its name says') as caught:
        release = sf.anonymize(given, quasi=["zip", "age"], k=5, levels={"zip": (1, 1)}, search="optimal")
    assert not any(word in str(one.message) for one in caught for word in map(str, ZIPS))
    labels = set(release.table.get_column("zip").cast(pl.String))
    assert labels <= {*map(str, ZIPS), "0****", "1****", "3****", "6****", "9****", "*"} | {
        f"{z:05d}"[:4] + "*" for z in ZIPS
    }
    assert "0****" in labels
    assert release.manifest["policy"]["hierarchies"] == {"zip": "learned, digits as postcodes"}


def test_codes_that_pandas_made_floating_point() -> None:
    table = people().to_pandas()
    table.loc[:20, ["zip", "age"]] = np.nan
    with pytest.warns(HierarchyNote, match="codes"):
        release = sf.anonymize(table, quasi=["zip", "age"], k=5, levels={"zip": (1, 1)}, search="optimal")
    assert {None, "0****"} <= set(release.table.get_column("zip"))
    assert not release.table.get_column("zip").str.contains(".0", literal=True).any()
    assert isinstance(release.data, pd.DataFrame)


@pytest.mark.parametrize("recipe", [None, "postcode:us"])
@pytest.mark.filterwarnings("ignore")
def test_the_loss_of_postcodes_without_their_zeros_is_that_of_postcodes(recipe: str | None) -> None:
    given = {} if recipe is None else {"zip": recipe}
    table = people()
    bare, whole = (
        sf.anonymize(one, quasi=["zip", "age"], k=5, search="mondrian", labels="hierarchy", hierarchies=given).manifest
        for one in (table, table.with_columns(pl.col("zip").cast(pl.String).str.zfill(5)))
    )
    assert bare["solution"]["loss_per_attribute"] == whole["solution"]["loss_per_attribute"]
    assert bare["solution"]["loss"] > 0


def test_a_hierarchy_that_is_written_undoes_it(recwarn: pytest.WarningsRecorder) -> None:
    release = sf.anonymize(
        people(), quasi=["zip", "age"], k=5, levels={"zip": (1, 1)}, search="optimal", hierarchies={"zip": "learned"}
    )
    assert release.table.get_column("zip").str.contains(r"^\[").any()
    assert not [one for one in recwarn if one.category is HierarchyNote]


def test_amounts_and_texts_are_as_they_were(recwarn: pytest.WarningsRecorder) -> None:
    table = people().with_columns(pl.col("zip").cast(pl.String).str.zfill(5), pl.col("age").alias("code_length"))
    sf.anonymize(table, quasi=["zip", "code_length"], insensitive=["age"], k=5, search="optimal")
    sf.anonymize(people().with_columns(pl.col("zip") / 7), quasi=["zip"], insensitive=["age"], k=2, search="optimal")
    assert not [one for one in recwarn if one.category is HierarchyNote]


def test_gaps_are_told_and_decide_nothing() -> None:
    answers = pl.Series("answer", [1, 2, 3, 8, 99] * 80)
    table = people().with_columns(answers).drop("zip")
    with pytest.warns(HierarchyNote, match='gaps in "answer", as codes do') as caught:
        release = sf.anonymize(table, quasi=["answer", "age"], k=5, search="optimal", levels={"answer": (1, 1)})
    assert release.table.get_column("answer").str.contains(r"^\[").any()
    said = in_flags(str(next(one.message for one in caught if one.category is HierarchyNote)))
    assert said.endswith('--hierarchy "answer=flat" takes them for codes')


def test_out_of_core_tables_decide_the_same(tmp_path: Path) -> None:
    table = people()
    table.write_parquet(tmp_path / "people.parquet")
    asked = {"quasi": ["zip", "age"], "k": 5, "search": "optimal"}
    with pytest.warns(HierarchyNote, match="codes"):
        streamed = sf.anonymize(sf.scan(tmp_path / "people.parquet"), **asked, to=tmp_path / "out")
    with pytest.warns(HierarchyNote, match="codes"):
        here = sf.anonymize(table, **asked)
    there = pl.read_parquet(sorted((tmp_path / "out").glob("**/*.parquet")))
    assert sorted(there.rows()) == sorted(here.table.rows())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert streamed.verification.holds
    assert manifest["policy"]["hierarchies"] == {"zip": "learned, digits as postcodes"}


def test_utility_reads_the_labels_of_codes() -> None:
    table = people()
    with pytest.warns(HierarchyNote):
        release = sf.anonymize(table, quasi=["zip", "age"], k=5, search="mondrian", labels="ranges")
    assert 0 < sf.utility(release)["loss"]["ncp"] < 1


def test_the_short_form_and_a_wrong_word() -> None:
    assert sf.hierarchies.parse("learned:digits=codes") == sf.learned(digits="codes")
    assert sf.hierarchies.parse({"learned": True, "digits": "postcodes"}).describe() == "learned, digits as postcodes"
    with pytest.raises(PolicyError, match="unknown digits of learned; got 'roman'; allowed: numbers, codes, postcodes"):
        sf.learned(digits="roman")


def test_inspect_suggests_what_anonymize_does() -> None:
    found = sf.inspect(pd.DataFrame({"postal": people()["zip"], "plz_dichte": people()["age"]}))
    assert found.columns[0].hierarchy == {"learned": True, "digits": "postcodes"}


def test_codes_with_decimals_are_told() -> None:
    table = pl.DataFrame({"zip": [1067.0, 1069.0, 80331.0, 80333.0] * 5, "age": [30.5, 40.5] * 10})
    with pytest.warns(HierarchyNote, match='decimals in "zip": they are not taken for codes, though its name says so'):
        sf.anonymize(table, quasi=["zip", "age"], k=5)
