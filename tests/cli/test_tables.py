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


LINKED = """
[input]
path = "regions.csv"

[[tables]]
name = "county"
by = "region"
levels = { region = 1 }
hierarchies = { region = "county.csv" }

[[tables]]
name = "size"
by = "region"
levels = { region = 1 }

[hierarchies]
region = "size.csv"

[[rule]]
rule = "minimum-frequency"
n = 5

[output]
path = "set"
"""


def test_linked_tables_together_and_one_after_the_other(run: Run, tmp_path: Path) -> None:
    people = {"A": 11, "B": 7, "I": 3, "J": 9, "K": 4}
    (tmp_path / "regions.csv").write_text("region\n" + "".join(f"{r}\n" * n for r, n in people.items()), "utf-8")
    (tmp_path / "county.csv").write_text("A,c1,*\nI,c1,*\nB,c4,*\nJ,c10,*\nK,c10,*\n", "utf-8")
    (tmp_path / "size.csv").write_text("A,big,*\nB,big,*\nI,small,*\nJ,small,*\nK,small,*\n", "utf-8")
    (tmp_path / "policy.toml").write_text(LINKED, "utf-8")
    made = run("tables", "make", "policy.toml", "--json")
    assert made.code == 0, made.err
    assert made.json["cost"]["unsafe differences of tables"] == "1"
    assert run("verify", "set").code == 0
    assert run("tables", "audit", "set", "--json").json["exposed"] == 0
    rule = ("--by", "region", "--levels", "region=1", "--rule", "minimum-frequency 5")
    for kind in ("county", "size"):
        assert run("tables", "make", "regions.csv", "--hierarchy", f"region={kind}.csv", *rule, "-o", kind).code == 0
    both = run("tables", "audit", "county", "size")
    assert both.code == 1
    assert "1 hidden cell, of which 1 can be computed" in both.out
    again = ("--hierarchy", "region=size.csv", *rule, "--with", "county", "-o", "second")
    done = run("tables", "make", "regions.csv", *again)
    assert done.code == 0, done.err
    assert run("tables", "audit", "county", "second").code == 0
    (tmp_path / "counted.csv").write_text("sex,value\n*,34\nf,20\nm,14\n", "utf-8")
    beside = ("--rule", "minimum-frequency 5", "--with", "county", "-o", "third")
    assert run("tables", "protect", "counted.csv", *beside).code == 0
    (tmp_path / "counted.csv").write_text("sex,value\n*,33\nf,20\nm,13\n", "utf-8")
    done = run("tables", "protect", "counted.csv", *beside, "--overwrite")
    assert done.code == 2
    assert "another value in each" in done.err
    assert run("tables", "make", "regions.csv", *again[:-4], "--with", "counted.csv", "-o", "x").code == 2
    (tmp_path / "policy.toml").write_text(LINKED.replace('by = "region"\n', "", 1) + "\n[table]\nby = 3\n", "utf-8")
    done = run("tables", "make", "policy.toml")
    for words in ("by is missing of table 1", "[[tables]] are several"):
        assert words in done.err
