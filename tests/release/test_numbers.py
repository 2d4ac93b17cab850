"""Numbers that stay numbers: bounds, middles and drawn values, each with what verify makes of it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.bytes import sha256
from sfumato.engines.numbers import FORMS, bounds_of, canonical, forms_written
from sfumato.errors import ColumnError, PolicyError, ReadError

ASKED: dict[str, Any] = {"quasi": ["age", "paid", "born", "town"], "k": 4, "sensitive": ["ill"], "unprotected": ["ill"]}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    born = np.datetime64("1950-01-01") + rng.integers(0, 365 * 50, 300).astype("m8[D]")
    return pl.DataFrame(
        {
            "age": pl.Series(rng.integers(18, 80, 300)).set(pl.Series(np.arange(300) % 50 == 0), None),
            "paid": np.round(rng.gamma(2, 700, 300), 2),
            "born": pl.Series(born.astype("M8[D]")),
            "town": rng.choice(["Rome", "Oslo"], 300),
            "ill": rng.choice(["flu", "cold", "ulcer"], 300),
        }
    )


@pytest.fixture(scope="module")
def made(table: pl.DataFrame) -> dict[str, sf.Release]:
    return {form: sf.anonymize(table, **ASKED, numbers=form) for form in FORMS}


def test_the_columns_of_each_form(made: dict[str, sf.Release]) -> None:
    columns = {form: made[form].data.columns for form in FORMS}
    assert columns["text"] == columns["midpoint"] == ["age", "paid", "born", "town", "ill"]
    assert columns["bounds"] == ["age_low", "age_high", "paid_low", "paid_high", "born_low", "born_high", "town", "ill"]
    assert columns["draw"][:3] == ["age", "age_low", "age_high"]
    kinds = made["draw"].data.schema
    assert (kinds["age"], kinds["paid"], kinds["born_high"]) == (pl.Int64, pl.Float64, pl.Date)
    assert made["midpoint"].data["born"].dtype == pl.Date


def test_bounds_hold_the_values_and_form_the_classes(table: pl.DataFrame, made: dict[str, sf.Release]) -> None:
    for form in ("bounds", "draw"):
        data, rows = made[form].data, made[form].rows
        assert rows is not None
        for name in ("age", "paid", "born"):
            original, low, high = table[name].gather(rows), data[f"{name}_low"], data[f"{name}_high"]
            assert ((original >= low) & (original <= high)).fill_null(True).all()
        ends = [f"{name}_{end}" for name in ("age", "paid", "born") for end in ("low", "high")]
        assert data.group_by([*ends, "town"]).len()["len"].min() >= 4
        assert sf.verify(data, quasi=[*ends, "town"], require=sf.KAnonymity(4)).holds


def test_drawn_values_lie_anywhere_between_their_bounds(made: dict[str, sf.Release]) -> None:
    data = made["draw"].data.drop_nulls("age_low").filter(pl.col("age_low") < pl.col("age_high"))
    assert (data["age"] >= data["age_low"]).all()
    assert (data["age"] <= data["age_high"]).all()
    place = (data["age"] - data["age_low"]) / (data["age_high"] - data["age_low"])
    assert place.n_unique() > 5
    assert 0.3 < place.mean() < 0.7  # type: ignore[operator]


def test_a_middle_is_in_the_middle(made: dict[str, sf.Release]) -> None:
    half, ends = made["midpoint"].data, made["bounds"].data
    assert made["midpoint"].verification.holds
    middles = ((ends["age_low"] + ends["age_high"]) / 2).drop_nulls().unique()
    assert set(half["age"].drop_nulls().unique()) == set(middles)
    assert half.group_by(["age", "paid", "born", "town"]).len()["len"].min() >= 4
    assert made["midpoint"].manifest["solution"]["loss"] is None  # a middle does not tell how wide its class is


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx"])
def test_every_form_is_verified_from_its_file(
    made: dict[str, sf.Release], form: str, format: str, tmp_path: Path
) -> None:
    place = made[form].save(tmp_path / "out", format=format)
    assert sf.verify(place).holds
    assert sf.risk(place)["prosecutor"]["highest"] <= 0.25
    if format == "csv":
        back = pd.read_csv(place / "data.csv")
        assert list(back.columns) == made[form].data.columns
        assert form == "text" or back.filter(like="age").dtypes.map(pd.api.types.is_numeric_dtype).all()
        assert len(str(sf.explain(place)).splitlines()) > 4


@pytest.mark.parametrize("form", ["bounds", "draw"])
def test_what_was_changed_is_found_out(made: dict[str, sf.Release], form: str, tmp_path: Path) -> None:
    place = made[form].save(tmp_path / "out", format="csv")
    file = place / "data.csv"
    frame = pl.read_csv(file, infer_schema=False)
    changed = frame.with_columns(age_high=pl.when(pl.int_range(pl.len()) == 9).then(pl.lit("99")).otherwise("age_high"))
    changed.write_csv(file)
    assert not sf.verify(place).holds
    frame.drop("age_low").write_csv(file)
    assert not sf.verify(place).holds


def test_a_value_outside_of_its_bounds_is_a_fault(made: dict[str, sf.Release]) -> None:
    release, data = made["draw"], made["draw"].data
    forms = forms_written(release.manifest["data"]["numbers"])
    assert forms.faults(data) == []
    assert forms.faults(data.with_columns(age=pl.lit(200))) == ['values of "age" lie outside of their bounds']
    assert forms.read(data).equals(release.table)


def test_an_infinite_value_is_drawn_as_itself() -> None:
    forms = forms_written({"x": {"form": "draw", "kind": "decimal"}})
    written = forms.write(pl.DataFrame({"x": ["inf", "-inf", "[2, 4)"]}))
    assert written["x"].to_list()[:2] == [float("inf"), float("-inf")]
    assert not forms.faults(written)


def test_one_seed_one_draw(table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "0" * 64)
    one, same, other = (sf.anonymize(table, **ASKED, numbers="draw", seed=seed).data for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


def test_some_columns_only(table: pl.DataFrame) -> None:
    data = sf.anonymize(table, **ASKED, numbers={"age": "bounds"}).data
    assert [*data.columns] == ["age_low", "age_high", "paid", "born", "town", "ill"]
    pandas = sf.anonymize(table.to_pandas(), **ASKED, numbers={"age": "bounds"}).data
    assert list(pandas.columns) == list(data.columns)


def test_what_cannot_be_written_so_is_refused(table: pl.DataFrame) -> None:
    def asked(**more: Any) -> None:
        sf.anonymize(table, **(ASKED | more))

    with pytest.raises(PolicyError, match=r"unknown form of numbers.*allowed: text, bounds, midpoint, draw"):
        asked(numbers="bound")
    with pytest.raises(ColumnError, match='the labels of "town" are no ranges'):
        asked(numbers={"town": "bounds"})
    with pytest.raises(ColumnError, match='the column "ill", which is no quasi-identifier'):
        asked(numbers={"ill": "bounds"})
    names = {"adult": {str(age): "minor" if age < 40 else "adult" for age in range(18, 80)}}
    with pytest.raises(ColumnError, match='the labels of "age" are no ranges'):
        asked(numbers={"age": "bounds"}, hierarchies={"age": sf.levels(names["adult"])})
    with pytest.raises(ColumnError, match='a column "age_low", which the table has'):
        sf.anonymize(table.with_columns(age_low=pl.lit(1)), **ASKED, rest="release", numbers="bounds")
    with pytest.raises(ReadError, match="a form of numbers that is unknown"):
        forms_written({"age": {"form": "pickle", "kind": "integer"}})


@pytest.fixture
def streamed(table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release of a file with drawn values, which is verified as a stream."""
    table.write_csv(tmp_path / "t.csv")
    monkeypatch.setattr("sfumato.release.folder.LARGE", 0)
    folder = sf.Folder(tmp_path / "out", format="csv")
    return sf.anonymize(sf.scan(tmp_path / "t.csv"), **ASKED, numbers="draw", search="mondrian", to=folder).path  # type: ignore[return-value]


def changed(place: Path, **columns: Any) -> str:
    """What verify says of integrity where the data are others, and their hash in the manifest is too."""
    file, manifest = place / "data.csv", place / "manifest.json"
    told = sha256(file)
    pl.read_csv(file, infer_schema=False).with_columns(**columns).write_csv(file)
    manifest.write_text(manifest.read_text("utf-8").replace(told, sha256(file)), "utf-8")
    return sf.verify(place).promises[0].note or ""


def test_what_was_changed_is_found_out_in_a_stream(streamed: Path) -> None:
    first = pl.int_range(pl.len()) == 0
    assert sf.verify(streamed).holds
    assert changed(streamed) == ""
    assert changed(streamed, age=pl.when(first).then(pl.lit("200")).otherwise("age")) == (
        'values of "age" lie outside of their bounds'
    )
    note = changed(streamed, age_low=pl.when(first).then(pl.lit("0")).otherwise("age_low"))
    assert "its class sizes are not those of the manifest" in note
    assert "not in canonical order" in note


def test_a_table_elsewhere_is_verified_as_it_was_written(streamed: Path) -> None:
    data = pl.read_csv(streamed / "data.csv")
    assert sf.verify(data, manifest=streamed).holds
    drawn = sf.verify(data.with_columns(age=pl.lit(200)), manifest=streamed)
    assert drawn.promises[0].note == 'values of "age" lie outside of their bounds'
    note = sf.verify(data.drop("age_low"), manifest=streamed).promises[0].note or ""
    assert note.startswith('it lacks "age_low", which numbers were written to')
    data.with_columns(age=pl.lit(200)).write_parquet(streamed.parent / "elsewhere.parquet")
    elsewhere = sf.verify(sf.scan(streamed.parent / "elsewhere.parquet"), manifest=streamed)
    assert elsewhere.promises[0].note == 'values of "age" lie outside of their bounds'


@pytest.mark.parametrize("form", ["bounds", "midpoint", "draw"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numbers_that_are_not_blurred_are_written_so_too(form: str, ending: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [30, 41, None] * 5, "sex": ["f", "m", "m"] * 5})
    getattr(table, f"write_{ending}")(tmp_path / f"t.{ending}")
    given: dict[str, Any] = {"quasi": ["sex", "age"], "k": 5, "search": "mondrian", "numbers": form}
    release = sf.anonymize(sf.scan(tmp_path / f"t.{ending}"), **given, to=tmp_path / "out")
    assert pl.read_parquet(release.data).equals(sf.anonymize(table, **given).data)
    assert sf.verify(tmp_path / "out").holds


def test_a_stream_in_the_order_of_the_input_is_drawn_in_that_order(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "0" * 64)
    table.write_parquet(tmp_path / "t.parquet", row_group_size=50)
    given = ASKED | {"numbers": "draw", "search": "mondrian", "seed": 4, "order": "input"}
    with pytest.warns(sf.RowOrderWarning):
        release = sf.anonymize(sf.scan(tmp_path / "t.parquet"), **given, to=tmp_path / "out")
    with pytest.warns(sf.RowOrderWarning):
        expected = sf.anonymize(table, **given)
    assert pl.read_parquet(release.data).equals(expected.data)


def test_times_with_a_zone_stay_text() -> None:
    start = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
    table = pl.DataFrame({"at": [start + dt.timedelta(minutes=7 * i) for i in range(60)], "age": [30, 40] * 30})
    data = sf.anonymize(table, quasi=["at", "age"], k=5, numbers="bounds").data
    assert data.columns == ["at", "age_low", "age_high"]


@pytest.mark.parametrize(
    ("kind", "label", "low", "high"),
    [
        ("integer", "[30, 35)", 30, 34),
        ("integer", "< 18", None, 17),
        ("integer", "90+", 90, None),
        ("integer", "*", None, None),
        ("decimal", "[1.5, 2)", 1.5, 2.0),
        ("date", "1966", dt.date(1966, 1, 1), dt.date(1966, 12, 31)),
        ("date", "1960s", dt.date(1960, 1, 1), dt.date(1969, 12, 31)),
        ("datetime", "2024-02-13", dt.datetime(2024, 2, 13), dt.datetime(2024, 2, 13)),
        ("datetime", "2024-02", dt.datetime(2024, 2, 1), dt.datetime(2024, 2, 29, 23, 59, 59, 999999)),
    ],
)
def test_bounds_of_labels(kind: str, label: str, low: Any, high: Any) -> None:
    found = bounds_of(pl.Series("x", [label]), kind)
    assert (found[0][0], found[1][0]) == (low, high)
    again = canonical(pl.Series("x", [label]), kind, "bounds")
    assert [end[0] for end in bounds_of(again, kind)] == [low, high]
