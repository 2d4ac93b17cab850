"""Columns as codes: what kind of values they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.conditions import typed_value
from sfumato.core.fingerprint import fingerprint
from sfumato.core.microdata import encode
from sfumato.core.printed import coded
from sfumato.errors import PolicyError


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["01067", "80331"], "text"), (["007", None], "text"), (["0", "10"], "integer"), (["0.5", "01"], "decimal")],
)
def test_whole_numbers_with_a_leading_zero_are_codes(values: list[str | None], kind: str) -> None:
    assert encode(pl.Series("plz", values))[0].kind == kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["inf", "2.5", "-1"], "decimal"),
        (["+inf", None, "10"], "decimal"),
        (["10", "ten"], "text"),
        (["1", "?", "3"], "text"),
        (["+", "2020-01-31"], "text"),
        (["2020-01-31", "1999-12-31"], "date"),
        (["2020-01-31T10:00", "1999-12-31 09:30:00"], "datetime"),
        (["true", "false"], "boolean"),
        (["true", "inf"], "text"),
        (["١", "٢"], "text"),
    ],
)
def test_the_kind_of_texts(values: list[str | None], kind: str) -> None:
    series = pl.Series("x", values)
    assert encode(series)[0].kind == kind
    assert encode(series, coded=coded(series))[0].kind == kind


def test_codes_are_never_blurred_to_ranges() -> None:
    zips = ["01067", "01069", "04109", "80331"] * 5
    for table, hierarchies in (({"plz": zips}, None), ({"plz": [int(z) + 10000 for z in zips]}, {"plz": "redact"})):
        for search in ("mondrian", "auto"):
            release = sf.anonymize(table, quasi=["plz"], k=8, search=search, hierarchies=hierarchies)
            assert not release.table.get_column("plz").str.contains(r"[\[<>]").any()


def test_texts_held_as_numbers_encode_as_texts_do() -> None:
    rng = np.random.default_rng(1)
    for words in (
        ["b", "a", None],
        ["10", "9", "1e1", None],
        ["10", "9"],
        ["", "x", "a"],
        ["2020-01-02", "2019-05-06"],
    ):
        column = pl.Series("s", [words[i] for i in rng.integers(0, len(words), 200)], dtype=pl.String)
        for as_text in (False, True):
            (plain, codes), (held, same) = encode(column, as_text), encode(column, as_text, coded(column))
            assert (plain.text, plain.kind, plain.count.tolist()) == (held.text, held.kind, held.count.tolist())
            assert codes.tolist() == same.tolist()


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["51000", "47120", "47999", "47110"])])
def test_codes_are_codes_whatever_the_type_of_their_texts(kind: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    age, zipped = rng.integers(30, 36, 200), rng.choice(["47110", "47120", "47999", "51000"], 200)
    table = pl.DataFrame({"age": age, "zip": zipped})
    asked: Any = {"quasi": ["age", "zip"], "require": sf.KAnonymity(20), "search": "mondrian"}
    expected = sf.anonymize(table, **asked).solution.verdict
    held = table.with_columns(pl.col("zip").cast(kind))
    held.write_parquet(tmp_path / "t.parquet")
    assert sf.anonymize(held, **asked).solution.verdict == expected
    assert sf.anonymize(sf.scan(tmp_path / "t.parquet"), **asked, to=tmp_path / "o").solution.verdict == expected


def test_the_fingerprint_of_texts_held_as_numbers_is_theirs() -> None:
    words = ["a", 'say "x"', None, "", "b,c", "d\ne"]
    rng = np.random.default_rng(1)
    table = pl.DataFrame({f"c{i}": [words[j] for j in rng.integers(0, 6, 99)] for i in range(4)})
    table = table.with_columns(pl.Series("real", rng.normal(size=99)), pl.Series('"n', rng.integers(0, 9, 99)))
    held = table.with_columns(coded(column) for column in table.iter_columns())
    assert fingerprint(held, b"key") == fingerprint(table, b"key") == fingerprint(table.rechunk(), b"key")
    assert fingerprint(held.head(0), b"key") == fingerprint(table.head(0), b"key") != fingerprint(table, b"key")


@pytest.mark.parametrize(("dtype", "text"), [(pl.Int64(), "٣"), (pl.Float64(), "٣.5"), (pl.Int64(), "３")])
def test_a_filter_takes_the_digits_of_numbers_alone(dtype: pl.DataType, text: str) -> None:
    assert typed_value("+3", "age", dtype) == 3
    with pytest.raises(PolicyError, match='"age" is compared with what is not a number'):
        typed_value(text, "age", dtype)
