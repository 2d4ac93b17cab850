"""Facts of a manifest that anybody may have written: what makes no sense is refused, what is not so is not checked."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ReadError
from sfumato.release.facts import check_private, check_public

TABLE = pl.DataFrame({"pay": [10.0, 20.0, 20.0, 30.0], "sex": ["f", "f", "m", "m"], "w": [1.0, 2.0, 3.0, 4.0]})


def public(fact: str, columns: list[str], table: pl.DataFrame = TABLE, **parameters: Any) -> bool | None:
    return check_public(table, None, {"fact": fact, "columns": columns, "parameters": parameters}).holds


@pytest.mark.parametrize(
    ("fact", "columns", "parameters", "fault"),
    [
        ("points", ["pay"], {}, "it lacks base or points"),
        ("points", ["pay"], {"base": None}, "base"),
        ("points", ["pay"], {"base": 0}, "base"),
        ("points", ["pay"], {"base": True}, "base"),
        ("points", ["pay"], {"points": []}, "points"),
        ("points", ["pay"], {"points": [[1]]}, "points"),
        ("between", ["pay"], {}, "it lacks low or high"),
        ("between", ["pay"], {"low": "x"}, "low"),
        ("among", ["sex"], {"values": "fm"}, "values"),
        ("among", ["sex"], {"values": [None]}, "values"),
        ("shape", ["sex"], {"letters": "fm"}, "it lacks length"),
        ("shape", ["sex"], {"letters": "", "length": 1}, "letters"),
        ("groups", ["sex"], {"k": "x"}, "k"),
        ("groups", ["sex"], {"k": 1e308}, "k"),
        ("groups", ["sex"], {"k": 10**90}, "k"),
        ("groups", ["sex", "sex"], {"k": 2}, "columns"),
        ("matches", [], {"k": 2}, "columns"),
        ("matches", [f"c{i}" for i in range(70)], {"k": 2}, "columns"),
        ("risk", ["sex", "w"], {"threshold": 0.5}, "it lacks weight"),
        ("risk", ["sex", "w"], {"threshold": -1, "weight": "w"}, "threshold"),
        ("total", ["w"], {"total": "nan"}, "total"),
        ("total", [], {"total": 7}, "columns"),
        ("rows", ["sex"], {"rows": 4}, "columns"),
        ("rows", [], {"rows": 0.5}, "rows"),
        ("means", ["pay"], {"tolerance": 1e300}, "tolerance"),
        ("covariances", ["pay"], {"tolerance": 1e300}, "tolerance"),
        ("marginals", [], {}, "columns"),
        ("ranks", ["pay"], {"percent": None}, "percent"),
    ],
)
def test_a_fact_that_makes_no_sense_is_refused(
    tmp_path: Path, fact: str, columns: list[str], parameters: dict[str, Any], fault: str
) -> None:
    sf.mask(TABLE, sf.Rounding("pay", base=5), rest="release").save(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["facts"] = [{"fact": fact, "columns": columns, "parameters": parameters, "step": 0}]
    path.write_text(json.dumps(manifest))
    with pytest.raises(ReadError, match=f"makes no sense.*{fault}"):
        sf.verify(tmp_path / "out", original=TABLE)


def test_facts_of_columns_that_are_not_there_are_not_so() -> None:
    assert public("points", ["nope"], base=5) is False
    assert public("risk", ["w"], threshold=0.5, weight="w") is False
    assert public("risk", ["sex"], threshold=0.5, weight="w") is False
    found = {"fact": "means", "columns": ["pay"], "parameters": {"weight": "nope"}}
    assert check_private(TABLE, TABLE, found, []).holds is False


def test_values_beside_the_points_and_beyond_the_bounds_are_seen() -> None:
    table = pl.DataFrame({"pay": [12345.678912, 1e-10], "far": [1.0000000001, 3e9 + 1]})
    assert public("points", ["pay"], table.head(1), base=1e-5) is False
    assert public("points", ["pay"], table.tail(1), base=1e-9) is False
    assert public("between", ["far"], table.head(1), high=1) is False
    assert public("between", ["far"], table, high=3e9) is False
    assert public("points", ["pay"], pl.DataFrame({"pay": [0.1 * 3, 0.1 * 7, 0.0, -12345.6]}), base=0.1) is True


def test_rows_that_lack_some_values_are_groups_too() -> None:
    table = pl.DataFrame({"a": [1, 1, None, None], "b": [2, 2, 3, 4]})
    assert public("groups", ["a", "b"], table, k=2) is False  # the last two have no other row with their values
    assert public("groups", ["a", "b"], table.with_columns(b=pl.Series([2, 2, 3, 3])), k=2) is True
    assert public("groups", ["a", "b"], table.with_columns(b=pl.Series([2, 2, None, None])), k=3) is False
    assert public("groups", ["a", "b"], table.with_columns(b=pl.Series([2, 2, None, None])), k=2) is True


def test_more_rows_than_the_input_are_no_release(tmp_path: Path) -> None:
    sf.mask(TABLE, sf.Rounding("pay", base=5), rest="release").save(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["input"]["rows"] = 3
    path.write_text(json.dumps(manifest))
    found = sf.verify(tmp_path / "out")
    assert found.outcome == "broken"
    assert "more rows than the input" in str(found.promises[0].note)


def marginals(before: list[Any], after: list[Any], **more: Any) -> bool | None:
    stated = {"fact": "marginals", "columns": ["x"], "parameters": {}}
    return check_private(pl.DataFrame({"x": before}), pl.DataFrame({"x": after}), stated, ["x"], **more).holds


def test_private_facts_compare_whole_numbers_and_texts_exactly() -> None:
    assert marginals([2**53, 1], [2**53 + 1, 1]) is False
    assert marginals(["9007199254740993", "1"], [2**53 + 1, 1]) is True
    assert marginals(["007", "7"], ["7", "007"]) is True
    assert marginals(["007", "8"], ["7", "8"]) is False
    assert marginals(["1.0", "1.00"], ["1.0", "1.0"]) is True, "a file of text may hold numbers"
    assert marginals(["1.0", "1.00"], ["1.0", "1.0"], texts={"x"}) is False
    assert marginals([12.5, 3.0], ["12.50", "+3"], texts={"x"}) is True, "the original has numbers"


def test_ranks_of_whole_numbers_are_exact() -> None:
    """Neighbours beyond 2^53 that are one float are two ranks."""
    low = 2**53
    before = pl.DataFrame({"x": [low, low + 1, low + 2, low + 3], "id": ["a", "b", "c", "d"]})
    after = before.with_columns(x=pl.Series([low + 1, low, low + 3, low + 2]))
    stated = {"fact": "ranks", "columns": ["x"], "parameters": {"percent": 20}}
    assert check_private(before, after, stated, ["x"]).holds is False
    assert check_private(before, after, {**stated, "parameters": {"percent": 25}}, ["x"]).holds is True


@pytest.mark.parametrize("fact", ["means", "covariances", "ranks"])
def test_facts_of_numbers_are_not_so_of_texts(fact: str) -> None:
    stated = {"fact": fact, "columns": ["sex"], "parameters": {"percent": 5} if fact == "ranks" else {}}
    found = check_private(TABLE, TABLE.reverse(), stated, ["sex"])
    assert (found.holds, found.note) == (False, '"sex" has values that are no numbers')


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_codes_of_a_release_folder_are_compared_letter_by_letter(tmp_path: Path, name: str) -> None:
    table = pl.DataFrame({"icd": ["1.0", "1.00", "2.5"] * 20, "pay": [f"{i}.50" for i in range(60)]})
    steps = [sf.Swapping("icd", rate=0.5), sf.RankSwapping("pay", p=20)]
    release = sf.mask(table, steps, rest="release", seed=1)
    release.save(tmp_path / "out", format=name.removeprefix("data."))
    assert [fact.holds for fact in sf.verify(tmp_path / "out", original=table).facts] == [True, True, None]
    other = table.with_columns(icd=pl.col("icd").replace("1.00", "1.0"))
    assert [fact.holds for fact in sf.verify(tmp_path / "out", original=other).facts] == [False, True, None]
