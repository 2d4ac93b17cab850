"""sfumato inspect: what it says about a table, and a policy file that runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest

from sfumato.core.microdata import encode
from sfumato.errors import EmptyTable
from sfumato.verbs.inspect import inspect, suggest_hierarchy

from .conftest import Run


def test_columns_and_risks(run: Run, patients: Path) -> None:
    done = run("inspect", patients)
    assert done.code == 0
    assert "40 rows, 5 columns" in done.out
    found = run("inspect", patients, "--json").json
    columns = {column["name"]: column for column in found["columns"]}
    assert {name: c["role"] for name, c in columns.items()} == {
        "name": "identifying", "age": "quasi", "zip": "quasi", "sex": "quasi", "disease": "sensitive",
    }  # fmt: skip
    assert columns["name"]["unique"] == 1.0
    assert columns["age"] | {"why": ""} == {
        "name": "age", "kind": "integer", "distinct": 10, "missing": 0, "unique": 0.0, "role": "quasi", "why": "",
        "hierarchy": columns["age"]["hierarchy"],
    }  # fmt: skip
    assert [risk["columns"] for risk in found["risks"]][-1] == ["age", "zip", "sex"]
    assert len(found["risks"]) == 3 + 3 + 1


def test_no_value_is_shown(run: Run, patients: Path) -> None:
    done = run("inspect", patients, "--init", "policy.toml")
    shown = done.out + Path("policy.toml").read_text()
    for value in ("80331", "asthma", "ulcer", "29"):
        assert value not in shown


def test_uniqueness_by_hand() -> None:
    frame = pl.DataFrame({"age": [30, 30, 30, 41], "sex": ["f", "f", "m", "f"], "zip": ["1", "2", "1", "1"]})
    risks = {risk.columns: (risk.rows, risk.share) for risk in inspect(frame).risks}
    assert risks == {
        ("age",): (1, 0.25), ("sex",): (1, 0.25), ("zip",): (1, 0.25),
        ("age", "sex"): (2, 0.5), ("age", "zip"): (2, 0.5), ("sex", "zip"): (4 - 2, 0.5),
        ("age", "sex", "zip"): (4, 1.0),
    }  # fmt: skip


def test_missing_values_and_empty_tables() -> None:
    report = inspect(pl.DataFrame({"age": ["30", None, ""]})).columns[0]
    assert (report.distinct, report.missing) == (1, 2)
    with pytest.raises(EmptyTable):
        inspect(pl.DataFrame({"age": []}))


@pytest.mark.parametrize(
    ("name", "values", "spec"),
    [
        ("age", list(range(17, 91)), {"age": True}),
        ("age", [str(v) for v in range(17, 91)], {"age": True}),
        ("age", list(range(17, 991)), {"intervals": [100, 200, 400, 800]}),
        ("months", list(range(17, 91)), {"intervals": [5, 10, 20, 40]}),
        ("height", [i / 100 for i in range(150, 200)], {"intervals": [0.05, 0.1, 0.2, 0.4]}),
        ("zip", [str(10_000 + 7 * i) for i in range(50)], {"postcode": "us"}),
        ("PLZ", [1067 + 700 * i for i in range(50)], {"postcode": "de"}),
        ("plz", [str(1010 + 7 * i) for i in range(50)], {"postcode": "de"}),
        ("postal_code", [f"{i:06d}" for i in range(50)], {"redact": "right"}),
        ("home", ["J45.1", "J45.0", "I10.0", "E11.7", "F32.1"], {"icd10": True}),
        ("home", ["ITC41", "ITC42", "DE212", "DE300", "FR101"], {"nuts": True}),
        ("code", ["ITC41", "ITC42", "DE212", "XX300", "FR101"], {"flat": True}),
        ("Herkunftsland", ["Italien", "Türkei", "Syrien"], {"countries": True}),
        ("team", ["IT", "DE", "FR", "ES", "AT"], {"flat": True}),
        ("country", ["IT", "DE", "FR"], {"countries": True}),
        ("isco08", [2512, 110, 5120], {"isco": True}),
        ("address", ["10.0.0.1", "10.0.0.2"], {"ip": True}),
        ("AGS", [f"{i:02d}162000" for i in range(1, 16)], {"prefix": [5, 2]}),
        ("lat", [47 + i / 100 for i in range(50)], {"coordinates": True}),
        ("c", [f"{i:05d}" for i in range(50)], {"redact": "right"}),
        (
            "born",
            [f"19{i:02d}-03-01" for i in range(50)],
            {"dates": ["month", "year", "5 years", "decade", "20 years"]},
        ),
        ("day", [f"2025-{m:02d}-01" for m in range(1, 13)], {"dates": ["month", "quarter", "year"]}),
        ("sex", ["f", "m"], {"flat": True}),
        ("occupation", list(range(1, 40)), {"flat": True}),
        ("answer", [*range(1, 8), 97, 98, 99, 77, 88] * 30, {"flat": True}),
        ("bands", [*range(1000, 20_000, 1000)] * 30, {"intervals": [1000, 2000, 4000, 8000]}),
        ("pain", ["none", "mild", "severe"], {"learned": True}),
        ("job", [chr(97 + i) for i in range(20)], {"learned": True}),
        ("age", [7] * 20, {"flat": True}),
    ],
)
def test_suggested_hierarchies_build(name: str, values: list[object], spec: dict[str, object]) -> None:
    import sfumato.hierarchies

    categories, _ = encode(pl.Series(name, values))
    assert suggest_hierarchy(categories) == spec
    hierarchy = sfumato.hierarchies.parse(spec).build(categories)
    assert len(hierarchy.labels[-1]) == 1


def test_init_writes_a_policy_that_runs(run: Run, patients: Path, tmp_path: Path) -> None:
    done = run("inspect", patients, "--init", "policies/policy.toml")
    assert done.code == 0, done.err
    text = (tmp_path / "policies" / "policy.toml").read_text()
    assert tomllib.loads(text)["input"]["path"] == "../patients.csv"
    assert text.count("#") > 5
    assert tomllib.loads(text)["about"] == {"purpose": ""}  # every name here says why
    done = run("anonymize", "policies/policy.toml", "--json")
    assert done.code == 0, done.out
    assert {promise["model"] for promise in done.json["promises"]} == {"k-anonymity", "entropy-l-diversity"}
    assert (tmp_path / "policies" / "policy-release" / "report.html").exists()


def test_init_keeps_the_options_for_reading(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("30|f\n31|m\n" * 10)
    assert run("inspect", "t.csv", "--no-header", "--separator", "|", "--init", "p.toml").code == 0
    tables = tomllib.loads((tmp_path / "p.toml").read_text())
    assert tables["input"] == {"path": "t.csv", "separator": "|", "header": False}


def test_init_writes_no_policy_that_could_not_run(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"Anna Smith{i},a{i}@x.org\n" for i in range(80))
    (tmp_path / "people.csv").write_text("name,email\n" + rows, encoding="utf-8")
    ended = run("inspect", str(tmp_path / "people.csv"), "--init", str(tmp_path / "policy.toml"))
    assert ended.code == 2
    assert "no column looks quasi-identifying" in ended.err
    assert not (tmp_path / "policy.toml").exists()


def test_init_does_not_replace_a_file_unasked(run: Run, patients: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("mine")
    done = run("inspect", patients, "--init", policy)
    assert done.code == 2
    assert "--overwrite" in done.err
    assert policy.read_text() == "mine"
    assert run("inspect", patients, "--init", policy, "--overwrite").code == 0
    assert "k-anonymity" in policy.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("file", ["arx/adult.csv", "bank/bank.csv", "sdc/testdata.csv", "sdc/ten_records.csv"])
def test_init_runs_on_tables_of_others(run: Run, shared: Path, file: str) -> None:
    assert run("inspect", shared / "data" / file, "--init", "policy.toml").code == 0
    done = run("anonymize", "policy.toml", "--json")
    assert done.code == 0, done.out
    assert all(promise["holds"] for promise in done.json["promises"])


def test_reasons_for_the_report_tell_no_figures() -> None:
    frame = pl.DataFrame({"age": [i % 9 for i in range(200)], "code": [f"{i}-x" for i in range(150)] + ["a"] * 50})
    found = inspect(frame)
    assert "%" in found.columns[1].why
    assert set(found.reasons) == {"code"}
    assert not any(letter.isdigit() for letter in found.reasons["code"])
