"""The headline: a release never says that its promises hold without saying how far they go."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.cli.register import hospital_register
from sfumato.report.sections.headline import lines, plain, title

Run = Callable[..., tuple[int, str, str]]
QUASI = ["birth_date", "postcode", "sex", "ward"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


def heading(page: str) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    assert found is not None
    return re.sub(r"<[^>]+>", "", found[1])


def register(rows: int = 800, **more: Any) -> sf.Release:
    """The policy of a newcomer who thinks that a cost tells nothing."""
    asked: dict[str, Any] = {"search": "mondrian", "require": [sf.KAnonymity(10), sf.EntropyLDiversity("diagnosis", 3)]}
    roles = {"identifying": ["name"], "quasi": QUASI, "sensitive": ["diagnosis"], "insensitive": ["cost"]}
    return sf.anonymize(hospital_register(rows), **(roles | asked | more))


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return register()


def alone(release: sf.Release, *columns: str) -> int:
    """Rows that stand alone by these columns, counted one by one."""
    rows = release.table.select(columns).rows()
    return sum(rows.count(row) == 1 for row in rows)


# What is counted.


def test_the_columns_beyond_the_promise_are_counted_from_the_released_rows(release: sf.Release) -> None:
    found = release.reach
    assert found.uncovered == ("cost",)
    assert found.unprotected == ()
    assert found.together is not None
    assert found.with_known is not None
    assert found.together.rows == found.alone[0].rows == alone(release, "cost") > 700
    assert found.with_known.rows == alone(release, *QUASI, "cost")


def test_a_harmless_column_tells_with_the_quasi_identifiers() -> None:
    table = hospital_register(600).with_columns(month=pl.Series(np.arange(600) % 12)).drop("cost")
    found = sf.anonymize(
        table,
        identifying=["name"],
        quasi=QUASI,
        sensitive=["diagnosis"],
        insensitive=["month"],
        require=[sf.KAnonymity(5), sf.DistinctLDiversity("diagnosis", 2)],
        search="mondrian",
    ).reach
    assert found.alone == ()
    assert found.with_known is not None
    assert found.with_known.rows > 0
    assert (
        title(found) == f"Both promises hold, but whoever knows month too singles out {found.with_known.rows} records"
    )


def test_weights_and_sensitive_columns_without_a_promise_are_beyond_it() -> None:
    table = hospital_register(400).with_columns(weight=pl.Series(np.arange(400) + 1.5))
    found = sf.anonymize(
        table,
        identifying=["name"],
        quasi=["sex", "ward"],
        sensitive=["diagnosis", "cost"],
        insensitive=["birth_date", "postcode"],
        weight="weight",
        require=[sf.KAnonymity(5), sf.DistinctLDiversity("diagnosis", 2)],
        search="mondrian",
    ).reach
    assert set(found.uncovered) == {"weight", "birth_date", "postcode"}
    assert found.unprotected == ("cost",)
    assert found.together is not None
    assert found.together.rows == 400


def test_suppressed_rows_change_nothing() -> None:
    """The figures are those of the released rows, whoever was left out."""
    rows = {"town": ["a"] * 6 + ["b"] * 6, "cost": [1, 1, 2, 2, 3, 4, 1, 1, 2, 2, 3, 4], "ill": ["x", "y"] * 6}
    more = {"town": ["c"], "cost": [999], "ill": ["z"]}
    found = [
        sf.anonymize(
            {name: [*values, *rest[name]] for name, values in rows.items()},
            quasi=["town"],
            sensitive=["ill"],
            insensitive=["cost"],
            require=[sf.KAnonymity(3)],
            search="tuple-suppression",
            suppression=1,
        ).reach.to_dict()
        for rest in (dict.fromkeys(rows, ()), more)
    ]
    assert found[0] == found[1]


def test_the_worst_attack_has_its_baseline(release: sf.Release) -> None:
    tried = sf.attack(release.table, quasi=QUASI, sensitive=["diagnosis"])
    best = max(tried.values(), key=lambda attack: attack["advantage"])
    worst = release.reach.to_dict()["worst_attack"]
    assert (worst["name"], worst["success"], worst["baseline"]) == (best["name"], best["success"], best["baseline"])
    assert worst["success"] > worst["baseline"]


@pytest.mark.slow
def test_a_secret_that_is_quasi_identifying_is_attacked_by_all_others() -> None:
    """Over age alone it is diverse, and whoever knows age and zip finds it."""
    table = {"age": [30] * 20 + [40] * 20, "zip": (["1"] * 10 + ["2"] * 10) * 2}
    release = sf.anonymize(
        table | {"disease": (["flu"] * 10 + ["HIV"] * 10) * 2},
        quasi=["age", "zip", "disease"],
        sensitive=["disease"],
        require=[sf.KAnonymity(5), sf.DistinctLDiversity("disease", 2, quasi=["age"])],
        search="optimal",
        hierarchies={"disease": "flat", "zip": "flat"},
    )
    worst = release.reach.worst
    assert worst is not None
    assert (worst["name"], worst["success"], worst["quasi"]) == ("homogeneity", 1, ["age", "zip"])
    attacks = {name: found["success"] for name, found in sf.attack(release).items() if "homogeneity" in name}
    assert attacks == {"homogeneity on age": 0, "homogeneity on age, zip": 1}
    assert {"age", "zip"} in [set(found["quasi"]) for found in sf.risk(release)["sets"]]


def test_a_large_table_says_what_was_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.measures.reach.COUNTED", 10)
    found = register(300).reach
    assert found.together is None
    assert title(found) == "Both promises hold; they do not cover cost"
    assert "Rows that stand alone are counted on up to 20,000,000 rows and 10 cells" in plain(
        dict(lines(found))["Left out"]
    )


# Where it stands.


@pytest.mark.slow
def test_it_leads_report_terminal_and_repr(release: sf.Release, run: Run, tmp_path: Path) -> None:
    said = f"Both promises hold, but cost singles out {alone(release, 'cost')} records"
    assert title(release.reach) == said
    assert said.removeprefix("Both promises hold, but ") in repr(release)
    assert "guessing" in repr(release)
    release.save("out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert heading(page) == said
    for term in ("Proven", "Against", "Not covered", "Worst attack", "Standards"):
        assert f">{term}<" in page
    code, out, _ = run("verify", "out")
    assert code == 0
    assert f"every promise holds, but cost singles out {alone(release, 'cost')} records" in out
    assert "against: Somebody who knows the birth_date, postcode, sex and ward of a person" in out
    assert json.loads(run("verify", "out", "--json")[1])["reach"] == json.loads(json.dumps(release.reach.to_dict()))


@pytest.mark.slow
def test_the_terminal_after_anonymize(run: Run, tmp_path: Path) -> None:
    hospital_register(600).write_csv(tmp_path / "people.csv")
    flags = ["--identifying", "name", "--quasi", ",".join(QUASI), "--insensitive", "cost,diagnosis", "--k", "10"]
    code, out, _ = run("anonymize", "people.csv", *flags, "--search", "mondrian", "-o", "out")
    assert code == 0
    assert "The promise holds, but cost singles out" in out
    assert "not covered: diagnosis and cost are released as they were." in out
    code, out, _ = run("anonymize", "people.csv", *flags, "--search", "mondrian", "-o", "again", "--json")
    assert json.loads(out)["reach"]["uncovered"] == ["diagnosis", "cost"]


def test_the_search_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.release.release.reach_of", lambda *given, **more: pytest.fail("worked out too early"))
    register(200)


def test_it_is_worked_out_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sfumato.measures import reach

    calls, real = [], reach.reach_of
    monkeypatch.setattr(
        "sfumato.release.release.reach_of", lambda *given, **more: calls.append(1) or real(*given, **more)
    )
    made = register(300)
    repr(made)
    made.save(tmp_path / "out")
    repr(made)
    assert calls == [1]


def test_no_surface_quotes_a_value(release: sf.Release) -> None:
    words = repr(release) + title(release.reach) + "".join(plain(parts) for _, parts in lines(release.reach))
    words += json.dumps(release.reach.to_dict())
    for value in set(release.table["diagnosis"]) | set(release.table["ward"]) | set(map(str, release.table["cost"])):
        assert value not in words


def test_a_rewritten_role_hides_no_column(release: sf.Release, tmp_path: Path, run: Run) -> None:
    """A manifest that calls the cost quasi-identifying does not make the promise cover it."""
    release.save("out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    for column in manifest["data"]["columns"]:
        column["role"] = "quasi"
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    code, out, _ = run("verify", "out")
    assert code == 0
    assert "every promise holds, but cost singles out" in out


def streamed(tmp_path: Path, **more: Any) -> Any:
    hospital_register(600).write_parquet(tmp_path / "in.parquet")
    asked: dict[str, Any] = {
        "identifying": ["name"],
        "quasi": ["sex", "ward"],
        "sensitive": ["diagnosis"],
        "insensitive": ["cost", "birth_date", "postcode"],
        "require": [sf.KAnonymity(5), sf.DistinctLDiversity("diagnosis", 2)],
        "search": "optimal",
        "to": tmp_path / "out",
    }
    return sf.anonymize(sf.scan(tmp_path / "in.parquet"), **(asked | more))


def test_what_is_not_in_memory_is_counted_from_what_was_written(tmp_path: Path, run: Run) -> None:
    found = streamed(tmp_path)
    costs = pl.read_parquet(tmp_path / "out" / "data.parquet")["cost"]
    single = int(costs.is_unique().sum())
    said = f"cost singles out {single} records"
    assert found.reach.together.rows >= found.reach.alone[0].rows == single > 0
    assert said in repr(found)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert heading(page) == f"Both promises hold, but {said}"
    worst = found.reach.to_dict()["worst_attack"]
    assert worst["column"] == "diagnosis"
    assert "Worst attack" in page
    assert worst["sentence"].replace('"', "&quot;") in page
    assert "from counts of the released table, manifest.json and nothing else" in page
    assert said in run("verify", "out")[1]


@pytest.mark.parametrize("limit", ["ROWS", "COUNTED"])
def test_what_is_not_in_memory_says_what_was_not_counted(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"sfumato.measures.reach.{limit}", 10)
    assert "they do not cover birth_date, postcode and cost" in repr(streamed(tmp_path))
    assert "Rows that stand alone are counted on up to" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_more_values_than_memory_was_given_for_are_not_attacked(tmp_path: Path) -> None:
    more = {"sensitive": ["cost"], "insensitive": ["diagnosis", "birth_date", "postcode"], "max_cells": 100}
    with pytest.warns(sf.UnprotectedWarning):
        found = streamed(tmp_path, **more, require=sf.KAnonymity(5)).reach
    assert found.attacks == found.suggested == ()
    assert "Attacks on cost were not tried: its values in the classes are too many" in found.left_out[0]


@pytest.mark.slow
def test_a_table_that_is_gone_has_a_headline_still(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "in.duckdb")) as connection:
        connection.register("frame", hospital_register(300).to_arrow())
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    rest = {"identifying": ["name", "diagnosis", "birth_date", "postcode"], "insensitive": ["cost"]}
    store, asked = sf.Database(tmp_path / "in.duckdb", "people"), {"quasi": ["sex"], "require": sf.KAnonymity(5)}
    one, two = (sf.anonymize(store, **rest, **asked, to=sf.Table(name)) for name in ("one", "two"))
    assert "cost singles out" in repr(one)
    with duckdb.connect(str(tmp_path / "in.duckdb")) as connection:
        connection.execute("DROP TABLE two")
    assert "it does not cover ward and cost" in repr(two)
    assert "was not counted: the rows were not looked at" in two.reach.left_out[0]


# The demo.


@pytest.mark.slow
def test_the_demo_meets_safe_harbor_and_the_threshold_of_clinical_data(run: Run, tmp_path: Path) -> None:
    code, out, err = run("demo", "-o", "out/demo")
    assert code == 0, err
    assert "Both promises hold\n" in out  # every column is covered
    page = (tmp_path / "out" / "demo" / "report.html").read_text("utf-8")
    assert "held to: Clinical data (EMA, Health Canada), which is met: highest risk 8.3%, limit 9%; " in out
    assert ">Held to<" in page
    assert "HIPAA Safe Harbor met; GDPR " in page
    assert run("risk", "out/demo", "--profile", "hipaa")[0] == 0
    assert run("risk", "out/demo", "--profile", "clinical")[0] == 0
    code, out, _ = run("risk", "out/demo", "--profile", "gdpr", "--json")
    checks = json.loads(out)["profile"]["checks"]
    assert [check["name"].split(" of ")[0] for check in checks] == ["singling out", "linkability", "inference"]
    section = page[page.index('id="standards"') :]
    for check in checks:  # each figure stands beside its limit
        share = f"{100 * check['value']:.1f}".rstrip("0").rstrip(".")
        assert f'<td data-head="Measured">{share}%</td><td data-head="Limit">9%</td>' in section
    manifest = json.loads((tmp_path / "out" / "demo" / "manifest.json").read_text())
    assert manifest["policy"]["require"][0]["k"] >= 12
    released = pl.read_csv(tmp_path / "out" / "demo" / "data.csv", infer_schema=False)
    assert not released["birth_date"].str.contains("-").any()
    assert released["cost"].n_unique() < 60


def test_what_counts_allow_of_the_standards(tmp_path: Path) -> None:
    hospital_register(600).write_parquet(tmp_path / "in.parquet")
    roles = {"identifying": ["name"], "quasi": ["sex", "ward"], "sensitive": ["diagnosis"]}
    rest = {"insensitive": ["cost", "birth_date", "postcode"], "unprotected": ["diagnosis"]}
    store, asked = sf.scan(tmp_path / "in.parquet"), sf.KAnonymity(12)
    made = sf.anonymize(store, **roles, **rest, require=asked, search="optimal", to=tmp_path / "out", suppression=0.2)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Clinical data (EMA, Health Canada) met" in page
    assert "HIPAA Safe Harbor and GDPR: not looked at, for that takes the rows." in page
    found = sf.measures.standards.clinical(tmp_path / "out" / "data.parquet", ["sex", "ward"])
    assert found.statement.replace('"', "&quot;") in page
    assert made.manifest["measured"][0]["risk"]["average"] == found.checks[1].measure.value
