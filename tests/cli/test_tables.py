"""sfumato tables: counted, protected, audited, from flags and from a policy file; refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.slow

ROWS = "ward,ill,cost\n" + "".join(
    f"{ward},{ill},{10 + i}\n"
    for ward, ills in (("A", "ffffffffh"), ("B", "ffffhhhh"), ("C", "fffffhhhh"))
    for i, ill in enumerate(ills)
)
RULE = ("--rule", "minimum-frequency 3")
POLICY = """
[input]
path = "visits.csv"

[table]
by = ["ward", "ill"]

[[rule]]
rule = "minimum-frequency"
n = 3

[output]
path = "file"
"""


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text(ROWS, "utf-8")
    return tmp_path / "visits.csv"


def test_made_verified_explained_and_audited(run: Run, visits: Path, tmp_path: Path) -> None:
    done = run("tables", "make", visits, "--by", "ward,ill", *RULE, "-o", "out")
    assert done.code == 0, done.err
    assert "holds  hidden-cells" in done.out
    assert "hidden: 4" in done.out
    assert run("verify", "out").code == 0
    assert "It leaves open" in run("explain", "out").out
    found = run("tables", "audit", "out", "--json")
    assert found.code == 0
    assert (found.json["hidden"], found.json["exposed"]) == (4, 0)
    text = (tmp_path / "out" / "cells.csv").read_text("utf-8").replace("B,f,,hidden", "B,f,4,published")
    (tmp_path / "hole.csv").write_text(text, "utf-8")
    found = run("tables", "audit", "hole.csv")
    assert found.code == 1
    assert "can be computed" in found.out
    (tmp_path / "out" / "cells.csv").write_text(text, "utf-8")
    assert run("verify", "out").code == 1


def test_a_policy_file_gives_the_same_bytes(run: Run, visits: Path, tmp_path: Path) -> None:
    assert run("tables", "make", visits, "--by", "ward,ill", *RULE, "-o", "flags", "--json").code == 0
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    assert run("tables", "make", "policy.toml").code == 0
    for name in ("cells.csv", "cells.sdmx.csv", "manifest.json", "report.html"):
        assert (tmp_path / "flags" / name).read_bytes() == (tmp_path / "file" / name).read_bytes()
    made = run("tables", "make", "policy.toml", "--method", "controlled-rounding base=3", "-o", "round")
    assert made.code == 0, made.err
    assert "by construction" in made.out


def test_sums_of_a_file_and_a_table_that_was_counted(run: Run, visits: Path, tmp_path: Path) -> None:
    done = run("tables", "make", visits, "--by", "ward", "--value", "cost", "--rule", "p-percent 50", "-o", "sums")
    assert done.code == 0, done.err
    (tmp_path / "counted.csv").write_text("ward,value\n*,20\nA,2\nB,9\nC,9\n", "utf-8")
    done = run("tables", "protect", "counted.csv", *RULE, "-o", "counted", "--json")
    assert done.code == 0, done.err
    assert done.json["cost"]["unsafe"] == "1"
    assert run("tables", "audit", "counted").code == 0


def test_faults_are_told_together(run: Run, visits: Path, tmp_path: Path) -> None:
    done = run("tables", "make", visits, "--rule", "minimum-frequenzy 3", "--method", "exakt")
    assert done.code == 2
    for words in ('did you mean "minimum-frequency"', 'did you mean "exact"', "by is missing", "path is missing"):
        assert words in done.err
    (tmp_path / "policy.toml").write_text(POLICY + "\n[protekt]\nmethod = 1\n", "utf-8")
    assert 'did you mean "protect"' in run("tables", "make", "policy.toml").err
    (tmp_path / "counted.csv").write_text("ward,value\n*,21\nA,2\nB,9\nC,9\n", "utf-8")
    done = run("tables", "protect", "counted.csv", *RULE, "-o", "out")
    assert done.code == 2
    assert 'the first along "ward", in row 1' in done.err
    assert run("tables", "audit", "visits.csv").code == 2
