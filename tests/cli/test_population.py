"""The shell counts a population: flags, policy file, and what is proven with its table."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from .conftest import Run

pytestmark = pytest.mark.slow

POLICY = """
[input]
path = "ill.csv"
[roles]
quasi = ["age", "zip"]
[population]
path = "voters.csv"
stream = true
[[require]]
model = "delta-presence"
low = 0.5
high = 0.75
[[require]]
model = "k-map"
k = 2
[search]
method = "spalm"
[hierarchies]
age = "redact:right"
zip = "flat"
[output]
path = "made"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ages = [21, 22, 23, 24, 25, 31, 32, 33, 34]
    people = pl.DataFrame({"age": ages, "zip": ["A", "A", "A", "B", "B", "A", "A", "A", "A"]})
    people.write_csv(tmp_path / "voters.csv")
    people[[0, 1, 3, 5, 6, 7]].write_csv(tmp_path / "ill.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_flags(run: Run, folder: Path) -> None:
    ask = ("--quasi", "age,zip", "--hierarchy", "age=redact:right", "--hierarchy", "zip=flat", "--search", "spalm")
    asked = ("--require", "delta-presence 0.5 0.75", "--population", "voters.csv")
    done = run("anonymize", "ill.csv", *ask, *asked, "-o", "out")
    assert done.code == 0, done.out
    alone = run("verify", "out")
    assert "stated  delta-presence" in alone.out
    assert "every promise holds" not in alone.out
    assert "every promise holds" in run("verify", "out", "--population", "voters.csv").out
    assert run("verify", "out", "--population", "ill.csv").code == 1
    table = run("verify", "out/data.csv", "--quasi", "age,zip", *asked)
    assert table.code == 0, table.out
    strict = ("--require", "delta-presence 0.5 0.6", "--population", "voters.csv")
    assert run("verify", "out/data.csv", "--quasi", "age,zip", *strict).code == 1
    explained = run("explain", "out").out
    assert "Stated, not proven" in explained


def test_policy_file(run: Run, folder: Path) -> None:
    assert run("anonymize", "policy.toml").code == 0
    found = run("verify", "made", "--population", "voters.csv", "--json").json
    assert [(one["model"], one["holds"]) for one in found["promises"][1:]] == [
        ("delta-presence", True),
        ("k-map", True),
    ]
    (folder / "voters.csv").write_text("age,zip\n21,A\n")
    refused = run("anonymize", "policy.toml", "-o", "again")
    assert refused.code == 2
    assert "the population lacks people of the table: 5 rows of 6" in refused.out + refused.err


def test_a_model_without_its_population_says_which_flag_names_it(run: Run, folder: Path) -> None:
    refused = run("anonymize", "ill.csv", "--quasi", "age,zip", "--require", "delta-presence 0 0.75", "-o", "out")
    assert refused.code == 2
    assert "name its table with --population" in refused.out + refused.err


def test_a_distribution_on_the_command_line(run: Run, folder: Path) -> None:
    asked = "confident-delta-presence distribution=voters.csv size=200 low=0 high=0.5 confidence=0.9"
    done = run("anonymize", "ill.csv", "--quasi", "age,zip", "--require", asked, "-o", "out")
    assert done.code == 0, done.out + done.err
