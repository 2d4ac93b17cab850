"""sfumato mask: by flags, by a policy file, with all its faults at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.cli import main

STEPS = ("--step", "rank-swapping income p=10", "--step", "pram sex invariant=true")
POLICY = """
[input]
path = "data.csv"
[roles]
identifying = ["name"]
quasi = ["age"]
insensitive = ["sex"]
[[require]]
model = "k-anonymity"
k = 3
[[mask]]
step = "rounding"
columns = ["age"]
base = 20
[[mask]]
step = "rounding"
columns = "income"
base = 100
[output]
path = "out"
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = range(60)
    table = pl.DataFrame({
        "name": [f"Ann {i}" for i in rows], "age": [20 + i % 40 for i in rows],
        "income": [f"{1000 + 37.5 * (i % 50):.2f}" for i in rows], "sex": ["F", "M"] * 30,
    })  # fmt: skip
    table.write_csv(tmp_path / "data.csv")
    return tmp_path


def test_flags_mask_and_verify(data: Path, run: Any) -> None:
    done = run("mask", "data.csv", *STEPS, "--identifying", "name", "--insensitive", "age", "-o", "out")
    assert done.code == 0, done.err
    assert "nothing is promised of the people in it" in done.out
    done = run("verify", "out", "--original", "data.csv")
    assert done.code == 0
    assert "not checked" not in done.out
    assert "no value moved by more than 10 percent" in done.out
    made = pl.read_csv(data / "out" / "data.csv", infer_schema_length=0)
    before = pl.read_csv(data / "data.csv", infer_schema_length=0)
    assert made.columns == ["age", "income", "sex"]
    assert sorted(made["income"].cast(float)) == sorted(before["income"].cast(float))


def test_a_private_fact_is_found_out_by_another_original(data: Path, run: Any) -> None:
    flags = ("--identifying", "name", "--insensitive", "age,sex")
    assert run("mask", "data.csv", "--step", "rank-swapping income p=5", *flags, "-o", "out").code == 0
    other = pl.read_csv(data / "data.csv").with_columns(pl.col("income").reverse())
    other.write_csv(data / "other.csv")
    done = run("verify", "out", "--original", "other.csv")
    assert done.code == 1
    assert "NOT SO" in done.out
    assert "a fact that it states is not so" in done.out


def test_a_policy_file_masks_and_promises(data: Path, run: Any) -> None:
    (data / "p.toml").write_text(POLICY, "utf-8")
    done = run("mask", "p.toml", "--json")
    assert done.code == 0, done.err
    assert done.json["outcome"] == "holds"
    assert [step["step"] for step in done.json["steps"]] == ["rounding", "rounding"]
    assert run("verify", "out").code == 0


def test_all_faults_of_a_file_at_once(data: Path, run: Any) -> None:
    bad = POLICY.replace("base = 20", "bass = 20").replace('"income"', '"inc"').replace("k = 3", "k = 0")
    (data / "p.toml").write_text(
        bad + "\n[search]\nmethod = 'optimal'\n[[mask]]\nwhen = 'later'\nstep='rounding'", "utf-8"
    )
    done = run("mask", "p.toml")
    assert done.code == 2
    for fault in (
        'unknown key "bass"; did you mean "base"?', 'no column "inc"; did you mean "income"?', "k is out of range",
        "masking has none", "must be before or after the search",
    ):  # fmt: skip
        assert fault in done.err
    assert not (data / "out").exists()


def test_what_is_missing_is_asked_for(data: Path, run: Any) -> None:
    done = run("mask", "data.csv")
    assert done.code == 2
    assert "no step is given" in done.err
    done = run("mask", "data.csv", *STEPS, "-o", "out")
    assert done.code == 2
    assert '"name"' in done.err


def test_files_are_streamed_to_the_same_rows(data: Path, run: Any) -> None:
    asked = ("--step", "additive-noise income", "--step", "pram sex", "--identifying", "name", "--row-key", "name")
    for more in (("--stream", "-o", "streamed"), ("--no-stream", "-o", "held")):
        done = run("mask", "data.csv", *asked, "--insensitive", "age", "--seed", "5", "--format", "csv", *more)
        assert done.code == 0, done.err
        assert "60 of 60 rows released" in done.out
    assert (data / "streamed" / "data.csv").read_bytes() == (data / "held" / "data.csv").read_bytes()
    assert run("verify", "streamed").code == 0


def test_a_policy_names_the_row_key(data: Path, run: Any) -> None:
    policy = POLICY.replace('insensitive = ["sex"]', 'insensitive = ["sex"]\nrow_key = ["name"]').replace(
        'path = "data.csv"', 'path = "data.csv"\nstream = true'
    )
    (data / "policy.toml").write_text(policy)
    assert run("mask", "policy.toml").code == 0
    (data / "policy.toml").write_text(policy.replace('row_key = ["name"]', 'row_key = ["nome"]'))
    done = run("mask", "policy.toml", "-o", "other")
    assert 'the table has no column "nome"' in done.err


@pytest.mark.slow
def test_what_cannot_be_streamed_is_refused(data: Path, run: Any) -> None:
    asked = ("--identifying", "name", "--insensitive", "age,sex", "-o", "out", "--stream")
    done = run("mask", "data.csv", "--step", "rank-swapping income p=10", *asked)
    assert "rank-swapping needs all rows at once" in done.err
    done = run("mask", "data.csv", "--step", "rounding income base=10", "--internal-report", "x.html", *asked)
    assert "an out-of-core original cannot be compared with" in done.err
    done = run("mask", "data.csv", "--step", "additive-noise income", "--row-key", "sex", *asked)
    assert 'the row key "sex" does not tell all rows apart' in done.err
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(data / "x.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT * FROM 'data.csv'")
    source = ("mask", "x.duckdb", "--table", "people", "--identifying", "name", "--insensitive", "age,sex")
    done = run(*source, "--step", "additive-noise income", "-o", "out")
    assert "additive-noise draws a number for each row" in done.err
    assert "--row-key id" in done.err
    (data / "policy.toml").write_text(
        POLICY.replace("data.csv", 'x.duckdb"\ntable = "people').replace('path = "out"', 'table = "kept"')
    )
    assert "a masked table is released into a folder of files" in run("mask", "policy.toml").err


def test_a_private_step_is_charged_to_a_ledger(tmp_path, capsys):
    pl.DataFrame({"cost": [float(i) for i in range(60)]}).write_csv(tmp_path / "in.csv")
    step = ["--step", "dp-microaggregation k=20 epsilon=1 bounds=cost:0|60"]
    charged = ["--ledger", str(tmp_path / "l.sqlite"), "--budget", "1.5"]
    assert main(["mask", str(tmp_path / "in.csv"), *step, *charged, "-o", str(tmp_path / "out")]) == 0
    assert "by construction" in capsys.readouterr().out
    assert main(["mask", str(tmp_path / "in.csv"), *step, *charged, "-o", str(tmp_path / "two")]) == 2
    assert "nothing was charged" in capsys.readouterr().err
    assert not (tmp_path / "two").exists()
