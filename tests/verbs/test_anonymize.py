"""The verbs as a user calls them: kinds of frames, roles, sets, levels, shuffling, saving, and every refusal."""

from __future__ import annotations

import datetime
import json
import stat
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import errors
from tests.rows import as_they_came

PEOPLE = {
    "name": ["Ann", "Bob", "Cem", "Dora", "Eli", "Fay", "Gus", "Hana"],
    "age": [31, 32, 33, 34, 58, 59, 60, 61],
    "zip": ["10115", "10117", "10119", "10115", "20095", "20097", "20099", "20095"],
    "sex": ["F", "M", "M", "F", "M", "F", "M", "F"],
    "disease": ["flu", "flu", "asthma", "ulcer", "flu", "asthma", "ulcer", "ulcer"],
    "cost": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5],
}
ROLES = {"identifying": ["name"], "quasi": ["age", "zip", "sex"], "sensitive": ["disease"], "insensitive": ["cost"]}


def release(data: Any = PEOPLE, **more: Any) -> sf.Release:
    return sf.anonymize(data, **(ROLES | {"require": [sf.KAnonymity(2)]} | more))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "lazy", "arrow"])
def test_the_same_kind_comes_out(kind: str) -> None:
    make = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "arrow": pa.table}
    data = make[kind](PEOPLE)
    out = release(data).data
    assert type(out) is type(data)
    table = pl.DataFrame(out.collect() if kind == "lazy" else out) if kind != "arrow" else pl.from_arrow(out)
    assert table.columns == ["age", "zip", "sex", "disease", "cost"]
    assert sorted(table.select("disease", "cost").rows()) == sorted(zip(PEOPLE["disease"], PEOPLE["cost"], strict=True))
    assert sf.verify(out, quasi=ROLES["quasi"], require=sf.KAnonymity(2)).holds


def test_a_pandas_index_does_not_leave() -> None:
    frame = pd.DataFrame(PEOPLE).set_index("name")  # a column like any other, and dropped by its role
    out = release(frame, identifying=["name"]).data
    assert list(out.index) == list(range(8))
    assert "name" not in out.columns


def test_input_is_not_modified() -> None:
    frame = pd.DataFrame(PEOPLE)
    before = frame.copy(deep=True)
    release(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_an_unblurred_column_keeps_its_type() -> None:
    table = {"age": [30, 30, 40, 40], "day": [datetime.date(2024, 1, 1)] * 4}
    out = sf.anonymize(pl.DataFrame(table), quasi=["age", "day"], require=sf.KAnonymity(2)).data
    assert out.schema == {"age": pl.Int64, "day": pl.Date}


def test_several_quasi_identifier_sets() -> None:
    found = release(quasi=[["age", "zip"], ["zip", "sex"]], require=[sf.KAnonymity(4)])
    assert [p.quasi for p in found.verification.promises] == [("age", "zip"), ("zip", "sex")]
    for names in (["age", "zip"], ["zip", "sex"]):
        assert found.table.group_by(names).len()["len"].min() >= 4


def test_a_criterion_may_be_for_one_set() -> None:
    asked = [sf.KAnonymity(8, quasi=["zip", "age"]), sf.KAnonymity(4, quasi=["sex"])]
    for quasi in (["age", "zip", "sex"], None):
        found = release(quasi=quasi, require=asked, unprotected=["disease"])
        told = {(frozenset(p["quasi"]), p["bound"]) for p in found.manifest["promises"]}
        assert told == {(frozenset(["age", "zip"]), 8), (frozenset(["sex"]), 4)}
        assert found.table.group_by("age", "zip").len()["len"].min() >= 8
    every = release(quasi=["age", "zip", "sex"], require=[sf.KAnonymity(2), asked[1]], unprotected=["disease"])
    told = [(p["quasi"], p["bound"]) for p in every.manifest["promises"]]
    assert told == [(("age", "zip", "sex"), 2), (("sex",), 2), (("sex",), 4)]


@pytest.mark.parametrize(
    ("quasi", "over", "says"),
    [
        (["age", "zip", "sex"], ["agee"], 'k-anonymity is required over the column "agee", .* did you mean "age"?'),
        (["age", "zip", "sex"], ["disease"], '"disease", which is not a quasi-identifier; allowed: age, zip, sex'),
        (["age", "zip", "sex"], ["age", "zip"], 'nothing is required over the quasi-identifier "sex"'),
        (None, ["agee"], 'names a column "agee" that the table does not have'),
        (None, None, "quasi is empty"),
        (["age"], [["age"], ["zip"]], "k-anonymity: quasi must be a list of column names"),
    ],
)
def test_a_set_that_makes_no_sense_is_refused(quasi: Any, over: Any, says: str) -> None:
    with pytest.raises(errors.SfumatoError, match=says):
        release(quasi=quasi, require=[sf.KAnonymity(2, quasi=over)])


BOTH = {"quasi": ["age", "zip", "sex", "disease"], "sensitive": ["disease"], "insensitive": ["cost"]}


def test_a_column_may_be_quasi_identifying_and_sensitive() -> None:
    found = release(**BOTH, require=[sf.KAnonymity(2), sf.DistinctLDiversity("disease", 2)])
    told = [(p["model"], p["quasi"]) for p in found.manifest["promises"]]
    assert told[0] == ("k-anonymity", tuple(BOTH["quasi"]))
    assert told[-1] == ("distinct-l-diversity", ("age", "zip", "sex"))
    assert found.table.group_by("age", "zip", "sex").agg(pl.col("disease").n_unique())["disease"].min() >= 2
    assert found.table.group_by(BOTH["quasi"]).len()["len"].min() >= 2
    roles = {column["name"]: column["role"] for column in found.manifest["data"]["columns"]}
    assert roles["disease"] == "quasi"
    assert found.manifest["policy"]["sensitive"] == ["disease"]
    own = {"require": [sf.KAnonymity(2), sf.PersonalLDiversity("disease", "cost", 1)], "insensitive": []}
    wishes = release({**PEOPLE, "cost": [2] * len(PEOPLE["age"])}, **BOTH | own)
    assert wishes.table.group_by("age", "zip", "sex").agg(pl.col("disease").n_unique())["disease"].min() >= 2


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"sensitive": []}, '"disease" has 2 roles: quasi and sensitive; it can have one, or be named as both'),
        ({"require": [sf.KAnonymity(2)]}, '"disease" has 2 roles: quasi and sensitive'),
        ({"require": [sf.DistinctLDiversity("disease", 2)]}, 'nothing is required over the quasi-identifier "disease"'),
        (
            {"require": [sf.KAnonymity(2), sf.TCloseness("disease", 0.4)]},
            't-closeness looks at the values of "disease"',
        ),
        (
            {"require": [sf.KAnonymity(2), sf.AlphaK(0.5, 1, "disease", ["flu"])]},
            'alpha-k looks at the values of "disease", which are not released: it is a quasi-identifier; allowed: dist',
        ),
        ({"require": [sf.KAnonymity(2), sf.DistinctLDiversity("disease", 2, quasi=["disease", "age"])]}, "one label"),
        (
            {"quasi": ["disease"], "insensitive": ["cost", "age", "zip", "sex"]},
            "from those who know the other quasi-identifiers, and there are none",
        ),
        ({"search": "mondrian"}, 'mondrian does not count labels of "disease", .*; allowed: auto, optimal'),
        ({"search": "samarati"}, "samarati does not count labels"),
        ({"normalise": ["disease"]}, 'normalise names the column "disease", which is a quasi-identifier too'),
        ({"numbers": "bounds"}, "numbers and dates must be written as text"),
    ],
)
def test_what_cannot_be_shown_of_a_column_that_is_both_is_refused(more: Any, says: str) -> None:
    asked = BOTH | {"require": [sf.KAnonymity(2), sf.DistinctLDiversity("disease", 2)]}
    with pytest.raises(errors.SfumatoError, match=says):
        release(**asked | more)


def test_several_sensitive_attributes() -> None:
    found = release(
        sensitive=["disease", "cost"],
        insensitive=[],
        require=[sf.DistinctLDiversity("disease", 2), sf.DistinctLDiversity("cost", 3)],
    )
    assert found.table.group_by("age", "zip", "sex").agg(pl.col("cost").n_unique())["cost"].min() >= 3


def test_levels_bound_the_search() -> None:
    options = {"search": "optimal", "hierarchies": {"age": sf.intervals(5, 10), "zip": sf.redact(), "sex": "flat"}}
    found = release(levels={"age": (1, 2), "zip": (2, 4), "sex": 1}, suppression=4, **options)
    assert 1 <= found.solution.levels["age"] <= 2
    assert found.solution.levels["zip"] >= 2
    assert found.solution.levels["sex"] == 1
    with pytest.raises(errors.PolicyError, match="age"):
        release(levels={"age": (2, 9)}, **options)
    with pytest.raises(errors.ColumnError, match="name"):
        release(levels={"name": (0, 1)}, **options)
    with pytest.raises(errors.PolicyError, match="full-domain"):
        release(levels={"age": (0, 1)}, search="mondrian")


def test_limits_give_the_best_so_far_and_a_bound() -> None:
    exact = release(search="optimal")
    limited = release(search=sf.Optimal(nodes=1))
    assert exact.solution.optimal
    assert not limited.solution.optimal
    assert limited.solution.bound <= exact.solution.verdict.loss <= limited.solution.verdict.loss
    assert limited.verification.holds


def test_rows_in_random_order_are_the_same_rows() -> None:
    plain, mixed, again = release(), release(order="random", seed=4), release(order="random", seed=4)
    assert sorted(plain.table.rows()) == sorted(mixed.table.rows())
    assert mixed.table.equals(again.table)
    assert mixed.manifest["seed"] == 4


def test_a_column_without_a_role_that_looks_identifying_is_refused() -> None:
    with pytest.raises(sf.errors.UndecidedColumns, match='"name": the name says'):
        release(identifying=[])


def test_suppressed_values_do_not_show_in_learned_sets() -> None:
    """A value that only suppressed rows have must not appear in any label."""
    towns = ["aa"] * 9 + ["ab"] * 9 + ["ac"] + ["ba"] * 9 + ["bb"] * 9
    found = sf.anonymize(
        {"town": towns, "n": [1] * 37},
        quasi=["town"],
        insensitive=["n"],
        require=sf.KAnonymity(5),
        search="optimal",
        suppression=1,
        loss="discernibility",
    )
    assert found.solution.verdict.suppressed == 1
    assert not any("ac" in (label or "") for label in found.table["town"])


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "xlsx"])
def test_save_and_verify(format: str, tmp_path: Path) -> None:
    folder = release(require=[sf.KAnonymity(2), sf.TCloseness("disease", 0.9)]).save(tmp_path / "out", format=format)
    assert sorted(p.name for p in folder.iterdir()) == sorted([f"data.{format}", "manifest.json", "report.html"])
    assert sf.verify(folder).holds
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["policy"]["require"][0] == {"model": "k-anonymity", "k": 2}
    assert manifest["input"]["fingerprint"].startswith("hmac-sha256-columns:")
    assert "Ann" not in (folder / "manifest.json").read_text() + (folder / "report.html").read_text()


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        release(order="random", seed=1).save(tmp_path / name)
    for file in ("data.csv", "manifest.json", "report.html"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_the_key_stays_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SFUMATO_KEY", raising=False)
    first = release().manifest["input"]["fingerprint"]
    assert release().manifest["input"]["fingerprint"] == first
    key = tmp_path / "config/sfumato/key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    monkeypatch.setenv("SFUMATO_KEY", "another")
    assert release().manifest["input"]["fingerprint"] != first


def test_a_tampered_release_is_refuted(tmp_path: Path) -> None:
    folder = release().save(tmp_path / "out")
    data = (folder / "data.csv").read_text().splitlines()
    data[1] = data[1].replace(data[1].split('"')[1] if '"' in data[1] else data[1].split(",")[0], "99")
    (folder / "data.csv").write_text("\n".join(data) + "\n")
    found = sf.verify(folder)
    assert not found.holds
    assert not found.promises[0].holds


def test_formulas_are_guarded(tmp_path: Path) -> None:
    table = {"q": ["=cmd()", "=cmd()", "x", "x"], "note": ["=1+1", "+1", "@a", "ok"]}
    folder = sf.anonymize(table, quasi=["q"], insensitive=["note"], require=sf.KAnonymity(2)).save(tmp_path / "out")
    lines = (folder / "data.csv").read_text().splitlines()[1:]
    assert not any(cell.strip('"').startswith(("=", "@")) for line in lines for cell in line.split(","))
    assert sf.verify(folder).holds


def test_value_map_round_trip(tmp_path: Path) -> None:
    found = release(search="optimal", hierarchies={"age": sf.intervals(10, 20), "zip": sf.redact(), "sex": "flat"})
    path = found.value_map().save(tmp_path / "map.json")
    applied = sf.ValueMap.load(path).apply(pl.DataFrame(PEOPLE))
    for name in ROLES["quasi"]:
        assert applied[name].cast(pl.String).to_list() == as_they_came(found)[name].cast(pl.String).to_list()
    with pytest.raises(errors.ColumnError, match="zip"):
        sf.ValueMap.load(path).apply(pl.DataFrame(PEOPLE).with_columns(zip=pl.lit("99999")))
    with pytest.raises(errors.PolicyError, match="not a map"):
        release().value_map()
    with pytest.raises(errors.ReadError):
        sf.ValueMap.load(tmp_path / "nothing.json")


def test_whole_distribution_is_published_only_where_it_is_safe() -> None:
    """Nine patients less the released eight would give the suppressed one's disease away."""
    table = {"age": ["20"] * 4 + ["30"] * 4 + ["99"], "disease": ["a", "b"] * 4 + ["flu"]}
    options = {
        "quasi": ["age"],
        "require": [sf.KAnonymity(2), sf.TCloseness("disease", 0.5)],
        "search": "optimal",
        "suppression": 1,
    }
    hidden = sf.anonymize(table, levels={"age": 0}, **options)
    assert hidden.solution.verdict.suppressed == 1
    assert hidden.whole is None
    assert "flu" not in json.dumps(hidden.manifest)
    shown = sf.anonymize(table, **(options | {"suppression": 0}))
    assert shown.whole == {"disease": {"a": 4, "b": 4, "flu": 1}}


def test_t_closeness_that_cannot_be_shown_is_not_written(tmp_path: Path) -> None:
    """The four suppressed rows bring the whole table near to the class of fives; without them it is too far."""
    table = {"age": ["20"] * 12 + ["30"] * 6 + ["40"] * 4, "disease": ["a", "b"] * 6 + ["b"] * 10}
    options = {"quasi": ["age"], "require": [sf.KAnonymity(5), sf.TCloseness("disease", 0.3)], "search": "optimal"}
    found = sf.anonymize(table, suppression=4, levels={"age": 0}, **options)
    assert found.solution.verdict.suppressed == 4
    assert found.verification.promises[1].measured == pytest.approx(6 / 22)
    with pytest.raises(errors.PolicyError, match="cannot be shown from the release alone"):
        found.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


BAD = {
    "k larger than the table": ({"require": [sf.KAnonymity(9)]}, errors.Infeasible, "at least 9 rows"),
    "unknown column": ({"quasi": ["agee", "zip"]}, errors.ColumnError, 'did you mean "age"'),
    "sensitive also quasi": ({"sensitive": ["disease", "sex"]}, errors.ColumnError, '"sex" has 2 roles'),
    "criterion on a quasi-identifier": ({"require": "distinct-l-diversity sex 2"}, errors.ColumnError, "has 2 roles"),
    "nothing required": ({"require": []}, errors.PolicyError, "nothing is required"),
    "unknown search": ({"search": "mondrain"}, errors.PolicyError, 'did you mean "mondrian"'),
    "unknown loss": ({"loss": "lmm"}, errors.PolicyError, "unknown loss"),
    "suppression above one": ({"suppression": 1.5}, errors.PolicyError, "0 to 1"),
    "negative suppression": ({"suppression": -1}, errors.PolicyError, "negative"),
    "hierarchy misses a value": ({"hierarchies": {"sex": {"levels": [{"F": "x"}]}}}, errors.HierarchyError, "sex"),
    "hierarchy of an absent column": ({"hierarchies": {"sx": "flat"}}, errors.ColumnError, 'did you mean "sex"'),
    "infeasible": ({"require": "distinct-l-diversity disease 4"}, errors.Infeasible, "whole table"),
    "infeasible full-domain": (
        {"require": "distinct-l-diversity disease 4", "search": "optimal"}, errors.Infeasible, "no level vector",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_has_its_own_message(case: str) -> None:
    options, error, message = BAD[case]
    with pytest.raises(error, match=message) as caught:
        release(**options)
    text = str(caught.value)
    assert not any(value in text for value in ("Ann", "asthma", "10115"))


def test_k_below_one() -> None:
    with pytest.raises(errors.PolicyError, match="k"):
        sf.KAnonymity(0)


def test_no_rows() -> None:
    with pytest.raises(errors.EmptyTable):
        release(pl.DataFrame(PEOPLE).clear())


def test_empty_column() -> None:
    with pytest.raises(errors.ColumnError, match='"zip" is empty'):
        release(PEOPLE | {"zip": [None] * 8})


@pytest.mark.slow
def test_output_folder_exists(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    for overwrite in (False, True):
        with pytest.raises(errors.OutputError):
            release().save(tmp_path / "out", overwrite=overwrite)
    assert (tmp_path / "out" / "mine.txt").read_text() == "keep"
    folder = release().save(tmp_path / "new")
    with pytest.raises(errors.OutputError):
        release().save(folder)
    release().save(folder, overwrite=True)
    assert sf.verify(folder).holds


def test_weights() -> None:
    found = release(weight="cost", insensitive=[])
    assert found.microdata.weights.tolist() == PEOPLE["cost"]
    assert {c["name"]: c["role"] for c in found.manifest["data"]["columns"]}["cost"] == "weight"
    with pytest.raises(errors.ColumnError, match="weights"):
        release(PEOPLE | {"cost": [0.0] * 8}, weight="cost", insensitive=[])


def test_progress_is_told() -> None:
    said: list[str] = []
    release(progress=lambda message, share: said.append(message))
    assert {"searching", "recoding", "verifying"} <= set(said)


def test_infeasible_carries_the_closest() -> None:
    with pytest.raises(errors.Infeasible) as caught:
        release(require=[sf.KAnonymity(3)], search="optimal", levels={"age": 0}, hierarchies={"age": sf.intervals(10)})
    assert caught.value.closest["suppressed"] == 8


def test_warnings_are_quiet_otherwise() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(unprotected=["disease"], hierarchies={"zip": "redact:right"})


def test_missing_values_are_a_value_of_their_own() -> None:
    table = {"age": [30, 31, None, None, 33, 32], "town": ["a", "a", None, None, "", "a"]}
    out = sf.anonymize(table, quasi=["age", "town"], require=sf.KAnonymity(2)).table
    assert out["age"].null_count() == 2
    mixed = sf.anonymize({"age": [30, None, 31, 32]}, quasi=["age"], require=sf.KAnonymity(2)).table
    assert sf.verify(mixed, quasi=["age"], require=sf.KAnonymity(2)).holds
    assert "*" in mixed["age"].to_list()


def test_large_lattice_has_a_bound() -> None:
    """Too many nodes to list: the search ends at its limit with the best so far and an honest bound."""
    rng = np.random.default_rng(0)
    table = {f"c{i}": rng.integers(0, 40, 300) for i in range(14)}
    found = sf.anonymize(pl.DataFrame(table), quasi=list(table), require=sf.KAnonymity(5), search=sf.Optimal(nodes=400))
    assert not found.solution.optimal
    assert 0 <= found.solution.bound <= found.solution.verdict.loss
    assert found.verification.holds


def test_k_is_short_for_k_anonymity() -> None:
    table = {"age": [31, 32, 58, 59], "s": list("abab")}
    short = sf.anonymize(table, quasi=["age"], sensitive=["s"], k=2, require="distinct-l-diversity s 2")
    assert [c.model for c in short.policy.require] == ["k-anonymity", "distinct-l-diversity"]
    with pytest.raises(sf.errors.PolicyError, match="k"):
        sf.anonymize(table, quasi=["age"], insensitive=["s"], k=0)
    assert sf.anonymize(table, quasi=["age"], insensitive=["s"], k=2).policy.require == (sf.KAnonymity(2),)


def test_a_frame_is_released_to_a_folder(tmp_path: Path) -> None:
    table = {"age": [31, 32, 58, 59]}
    made = sf.anonymize(table, quasi=["age"], k=2, to=sf.Folder(tmp_path / "out", format="csv"))
    assert sf.verify(tmp_path / "out").holds
    assert (tmp_path / "out" / "data.csv").read_text("utf-8").count("[30, 34]") == 2
    assert made.table.height == 4
    with pytest.raises(sf.errors.OutputError, match="out"):
        sf.anonymize(table, quasi=["age"], k=2, to=tmp_path / "out")
    for wrong in (sf.Table("kept"), 3):
        with pytest.raises(sf.errors.PolicyError, match=r"where the release goes|cannot be a table"):
            sf.anonymize(table, quasi=["age"], k=2, to=wrong)
    for odd in (sf.Folder(tmp_path / "other", format=["csv"]), sf.Folder(None)):  # type: ignore[arg-type]
        with pytest.raises(sf.errors.OutputError):
            sf.anonymize(table, quasi=["age"], k=2, to=odd)
    with pytest.raises(sf.errors.OutputError, match="csvv"):
        sf.anonymize(table, quasi=["age"], k=2, to=sf.Folder(tmp_path / "other", format="csvv"))


@pytest.mark.parametrize("stored", [False, True])
def test_warnings_point_at_the_line_that_called(stored: bool, tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [31, 32, 58, 59], "disease": ["Flu", "flu", "cold", "cold"]})
    table.write_parquet(tmp_path / "in.parquet")
    data = sf.scan(tmp_path / "in.parquet") if stored else table
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sf.anonymize(data, quasi=["age"], sensitive=["disease"], k=2, order="input", to=tmp_path / "out")
        sf.verify(data, quasi=["disease"], require=sf.KAnonymity(2))
    kinds = {warning.category for warning in told}
    assert {sf.UnprotectedWarning, sf.SpellingWarning, sf.RowOrderWarning, sf.RoleWarning} <= kinds
    assert {warning.filename for warning in told} == {__file__}
