"""Results do not depend on the engine: one body, the same rows, classes, losses, promises and risks on every one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.printed import printed_frame
from sfumato.engines.tables import engine_of
from tests.conformance.engines import ENGINES, Make, memory, param

ROWS = 600
K = sf.KAnonymity(5)
ROLES: dict[str, Any] = {"identifying": ["name"], "insensitive": ["wage"], "sensitive": ["disease"], "rest": "release"}
POLICIES: dict[str, dict[str, Any]] = {
    "levels": {
        "require": K,
        "search": "optimal",
        "suppression": 0.05,
        "hierarchies": {"age": "intervals:5,10,20", "zip": "either:redact or redact:left"},
    },
    "levels without suppression": {"require": K, "search": "datafly", "hierarchies": {"zip": "redact:2,4"}},
    "values": {
        "require": K,
        "search": "k-optimize",
        "loss": "discernibility",
        "suppression": 0.02,
        "columns": ("age", "sex"),
    },
    "partition": {"require": K, "search": "mondrian"},
    "relaxed": {
        "require": [K, sf.DistinctLDiversity("disease", 2)],
        "search": sf.Mondrian(cut="best", dimension="ncp"),
    },
    "diverse": {
        "require": [sf.EntropyLDiversity("disease", 2), sf.TCloseness("disease", 0.3)],
        "search": "optimal",
        "loss": "ncp",
    },
    "two sets": {"require": K, "search": "optimal", "suppression": 0.1, "quasi": [["age", "sex"], ["zip", "height"]]},
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Types that every engine has: whole numbers, fractions, text; missing values in each."""
    rng = np.random.default_rng(61)

    def holes(values: np.ndarray) -> list[Any]:
        return [None if gone else v for v, gone in zip(values.tolist(), rng.random(ROWS) < 0.03, strict=True)]

    towns = np.array(["080 01", "080 02", "1'0", 'q"t', "Åé", "; --"])
    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(ROWS)],
            "age": holes(rng.integers(20, 60, ROWS)),
            "sex": rng.choice(["F", "M"], ROWS),
            "zip": holes(rng.choice(towns, ROWS)),
            "height": holes(rng.choice([-0.5, 0.0, 1.25, 1.75], ROWS)),
            "disease": holes(rng.choice(["flu", "cold", "ache"], ROWS)),
            "wage": holes(rng.integers(1, 2**40, ROWS)),
        }
    )


def asked(policy: str) -> dict[str, Any]:
    found = {"quasi": ["age", "sex", "zip", "height"], **ROLES, **POLICIES[policy]}
    columns = found.pop("columns", None)
    return found if columns is None else found | {"quasi": list(columns)}


def without_place(release: Any) -> dict[str, Any]:
    """A manifest without what may differ: where the data are, and the fingerprint of how they were stored."""
    found = dict(release.manifest)
    found["data"] = {key: found["data"][key] for key in ("rows", "columns", "order")}
    found["files"] = []
    return found | {"input": found["input"]["rows"]}


def close(found: Any, expected: Any) -> None:
    """Two trees of plain values that differ by rounding only."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            close(found[key], value)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for mine, other in zip(found, expected, strict=True):
            close(mine, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)
    else:
        assert found == expected


# Spark Connect and the cluster run what the local session runs, so one policy is enough there, and one look at risks
FEW = ("partition",)
# the others differ from these in the search alone, which knows no engine, and a release takes Spark ten seconds
SPARK = ("levels", "values", "partition", "diverse", "two sets")
PAIRS = [
    param(name, policy, slow=policy not in FEW)
    for name in ENGINES
    for policy in (FEW if "spark-" in name else SPARK if name == "spark" else POLICIES)
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "policy"), PAIRS)
def test_a_release_is_the_same_on_every_engine(
    make: Make, policy: str, table: pl.DataFrame, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    engine = make(table, tmp_path, request)
    here = memory(table if engine.table is None else engine.table, tmp_path, request)
    expected, found = here.anonymize(**asked(policy)), engine.anonymize(**asked(policy))
    assert engine.rows(found) == here.rows(expected)
    assert found.solution.verdict == expected.solution.verdict
    assert without_place(found) == without_place(expected)


# searches that give rows with equal values different labels, and the columns whose tuples are counted
DEALT: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "default": (
        {"require": [sf.KAnonymity(20), sf.DistinctLDiversity("disease", 2)]},
        ("sex", "zip", "height", "disease"),
    ),
    "refined": ({"require": sf.KAnonymity(6), "search": "refined"}, ("age", "sex", "zip")),
    "k-member": ({"require": sf.KAnonymity(9), "search": "k-member"}, ("sex", "zip", "height")),
    "relaxed": ({"require": sf.KAnonymity(7), "search": sf.Mondrian(relaxed=True)}, ("age", "sex", "height")),
    "greedy": ({"require": sf.KAnonymity(6), "search": "greedy-suppression"}, ("age", "sex", "zip")),
}
KEYED = [
    param(name, policy, slow=policy != "default" or name not in ("parquet", "duckdb"))
    for name in ENGINES
    for policy in (("default",) if name == "spark" else DEALT)
    if "spark-" not in name and name != "memory"
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "policy"), KEYED)
def test_rows_with_equal_values_are_dealt_alike_on_every_engine(
    make: Make, policy: str, table: pl.DataFrame, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """By a row key of two columns, one of which is released: as many rows of each tuple, at the same loss."""
    table = table.with_columns(visit=pl.int_range(ROWS) % 7, name="p" + (pl.int_range(ROWS) // 7).cast(pl.String))
    engine = make(table, tmp_path, request)
    here = memory(table if engine.table is None else engine.table, tmp_path, request)
    given, counted = DEALT[policy]
    given = {**ROLES, "quasi": [name for name in counted if name != "disease"], **given, "row_key": ["visit", "name"]}
    expected, found = here.anonymize(**given), engine.anonymize(**given)
    assert found.solution.verdict == expected.solution.verdict
    partition = found.solution.recoding
    goes = pl.DataFrame({"cell": partition.split.cell, "class": partition.class_of_cell}).unique()
    assert goes.get_column("cell").n_unique() < goes.height

    def rows(of: Any, release: Any, *columns: str) -> list[tuple[str, ...]]:
        return sorted(printed_frame(of.read(release).select(columns)).fill_null("").rows())

    assert rows(engine, found, *counted) == rows(here, expected, *counted)
    assert rows(engine, found, "visit", "wage") == rows(here, expected, "visit", "wage")
    told = without_place(found)
    assert told["policy"].pop("row_key") == ["visit", "name"]
    assert told == without_place(expected)


QUICK = ("memory", "parquet", "csv", "duckdb")
SOME = [param(name, slow=name not in QUICK) for name in ENGINES if "spark-" not in name]


@pytest.mark.slow
@pytest.mark.parametrize("make", SOME)
def test_rows_that_lack_a_value_are_left_out_on_every_engine(
    make: Make, table: pl.DataFrame, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a quasi-identifier, and of a column that is not even counted."""
    monkeypatch.setenv("SFUMATO_KEY", "a key of more than enough letters to be one")
    table = table.with_columns(zip=pl.col("zip").fill_null(""))
    engine = make(table, tmp_path, request)
    here = memory(table if engine.table is None else engine.table, tmp_path, request)
    given = asked("partition") | {"drop_missing": ["zip", "height", "wage"]}
    with pytest.warns(sf.ReadWarning, match=r'rows are left out for a missing value in "zip", "height" and "wage"'):
        expected, found = here.anonymize(**given), engine.anonymize(**given)
    assert engine.rows(found) == here.rows(expected)
    assert without_place(found) == without_place(expected)
    told = found.manifest["input"]["reading"]["drop_missing"]
    assert told == expected.manifest["input"]["reading"]["drop_missing"]
    assert told["rows"] == ROWS - expected.manifest["input"]["rows"] > 0
    secret = b"a key of more than enough letters to be one"
    assert engine_of(engine.data).fingerprint(secret) == found.manifest["input"]["fingerprint"]


FORMED = [
    param(name, form, policy, slow=name not in QUICK or (form, policy) != ("bounds", "partition"))
    for name in ENGINES
    for form in ("bounds", "midpoint", "draw")
    for policy in ("partition", "levels")
    if "spark-" not in name
    and name != "memory"
    and (name != "spark" or (form, policy) in (("bounds", "levels"), ("midpoint", "partition"), ("draw", "levels")))
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "form", "policy"), FORMED)
def test_numbers_are_written_alike_on_every_engine(
    make: Make,
    form: str,
    policy: str,
    table: pl.DataFrame,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "a key of more than enough letters to be one")
    day = pl.date(1960, 1, 1) + pl.duration(days=pl.int_range(pl.len()) * 37 % 9000)
    table = table.with_columns(born=day.cast(pl.String) if "sqlite" in request.node.name else day)
    engine = make(table, tmp_path, request)
    if form == "draw" and not isinstance(engine.to, Path | sf.Folder):
        with pytest.raises(sf.errors.PolicyError, match="values cannot be drawn for a release that stays where"):
            engine.anonymize(**asked(policy), numbers=form)
        if engine.to is None:  # Spark, which writes files itself
            return
        engine = replace(engine, to=tmp_path / "out", read=lambda release: pl.read_parquet(release.data))
    given = asked(policy) | {"numbers": form, "seed": 5}
    given["quasi"] = ["born", "sex", "height", "age"]
    given["hierarchies"] = {"age": "intervals:5,10,20"} if policy == "levels" else {}
    before = table if engine.table is None else engine.table
    expected, found = sf.anonymize(before, **given), engine.anonymize(**given)
    assert engine.rows(found) == sorted(printed_frame(expected.data).fill_null("").rows())
    assert found.manifest["data"]["numbers"] == expected.manifest["data"]["numbers"]
    assert without_place(found) == without_place(expected)
    assert found.reach.to_dict() == expected.reach.to_dict()
    assert sf.risk(found)["prosecutor"] == sf.risk(expected)["prosecutor"]
    if isinstance(engine.to, sf.Table):
        assert sf.verify(sf.Database(engine.data.source, "kept"), manifest=tmp_path / "out").holds
        assert sf.verify(engine.read(found), manifest=tmp_path / "out").holds
    else:
        folder = tmp_path / "out"
        if engine.to is None:
            found.save(folder)
        monkeypatch.setattr("sfumato.release.folder.LARGE", 0)  # counted as a stream
        assert sf.verify(folder).holds
        assert sf.risk(folder)["prosecutor"]["highest"] <= 0.2
        assert len(str(sf.explain(folder)).splitlines()) > 4
    if engine.to is None or isinstance(engine.to, sf.Table):
        found.save(tmp_path / "copy", format="csv")
        assert sf.verify(tmp_path / "copy").holds


@pytest.mark.slow
@pytest.mark.parametrize("make", [param(name) for name in ENGINES if "spark-" not in name])
def test_how_far_the_promises_go_is_the_same_on_every_engine(
    make: Make, table: pl.DataFrame, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Columns that no promise covers: whole numbers, fractions and text that stand alone, with missing values."""
    spread = np.random.default_rng(62).normal(0, 60, ROWS).round(0) / 2
    table = table.with_columns(
        bmi=pl.Series(np.where(np.abs(spread) < 1, 0.0, spread)),
        note=pl.Series([f"n{i // 3 % 650}" if i % 50 else "" for i in range(ROWS)]),
    )
    engine = make(table, tmp_path, request)
    here = memory(table if engine.table is None else engine.table, tmp_path, request)
    given = asked("two sets") | {"require": [K, sf.DistinctLDiversity("disease", 2)], "unprotected": ["bmi"]}
    expected, found = here.anonymize(**given).reach, engine.anonymize(**given).reach
    assert expected.together is not None
    assert {one.columns[0] for one in expected.alone} == {"wage", "bmi", "note"}
    assert 0 < expected.together.rows <= expected.with_known.rows  # type: ignore[union-attr]
    assert {attack["details"]["column"] for attack in expected.attacks} == {"disease", "bmi"}
    assert [one.column for one in expected.suggested] == ["bmi"]
    close(found.to_dict(), expected.to_dict())
    close(found.attacks, expected.attacks)


@pytest.mark.slow
@pytest.mark.parametrize("make", [param(name) for name in ENGINES if name != "spark-cluster"])
def test_what_is_measured_is_the_same_on_every_engine(
    make: Make, table: pl.DataFrame, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    engine = make(table, tmp_path, request)
    quasi = ["age", "sex", "zip"]
    require = [K, sf.DistinctLDiversity("disease", 2), sf.TCloseness("disease", 0.2)]
    assert sf.verify(engine.data, quasi=quasi, require=require) == sf.verify(table, quasi=quasi, require=require)
    risk = {"quasi": quasi, "sensitive": ["disease"], "sampling_fraction": 0.1}
    found = sf.risk(engine.data, **risk)
    found.pop("notes", None)  # what an engine leaves out
    close(found, sf.risk(table, **risk))


@pytest.mark.slow
@pytest.mark.parametrize("make", [param(name) for name in ENGINES if "spark-" not in name])
def test_the_information_lost_is_the_same_on_every_engine(
    make: Make, table: pl.DataFrame, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    engine = make(table, tmp_path, request)
    release = engine.anonymize(**asked("partition"))
    before = table if engine.table is None else engine.table
    expected = sf.utility(before, engine.read(release), quasi=asked("partition")["quasi"])
    found = sf.utility(engine.data, release)
    assert found["loss"]["lm"] == pytest.approx(release.solution.verdict.loss, abs=1e-9)
    close(found["loss"], expected["loss"])
    close(found["distributions"], expected["distributions"])


@pytest.mark.slow
@pytest.mark.parametrize("make", [param(name) for name in ENGINES if "spark-" not in name])
def test_what_cannot_be_met_is_refused_on_every_engine(
    make: Make, table: pl.DataFrame, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    engine = make(table, tmp_path, request)
    with pytest.raises(sf.errors.Infeasible):
        engine.anonymize(quasi=["age"], require=sf.KAnonymity(ROWS + 1), **ROLES)
    with pytest.raises(sf.errors.ColumnError, match="did you mean"):
        engine.anonymize(quasi=["agee"], require=K, **ROLES)
