"""Several tables from the shell: taken apart, verified, explained, signed, compared."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.release.fragmented import rejoined
from tests.cli.conftest import Run

pytestmark = pytest.mark.slow

ASKED = ("--quasi", "age,zip,sex", "--identifying", "name", "--sensitive", "disease", "--search", "anatomy seed=1")
TWO = ("--require", "distinct-l-diversity disease 2", "--suppression", "0.5")


def test_taken_apart_and_verified(run: Run, patients: Path, tmp_path: Path) -> None:
    done = run("anonymize", patients, *ASKED, *TWO, "-o", "out")
    assert done.code == 0, done.err
    assert "2 tables: quasi with" in done.out
    assert "holds  frequency-l-diversity (attribute=disease, l=2)" in done.out
    assert "sfumato verify out" in done.out
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "quasi.csv",
        "sensitive.csv",
        "manifest.json",
        "report.html",
    }
    assert "disease" not in (tmp_path / "out" / "quasi.csv").read_text().splitlines()[0]
    told = run("verify", "out")
    assert (told.code, "every promise holds" in told.out) == (0, True)
    assert "It leaves open: Rows stand as they are" in " ".join(run("explain", "out").out.split())
    refused = run("risk", "out")
    assert (refused.code, "holds several tables" in refused.err) == (2, True)
    assert run("risk", "out/quasi.csv", "--quasi", "age,zip,sex").code == 0
    lines = (tmp_path / "out" / "sensitive.csv").read_text().splitlines()
    (tmp_path / "out" / "sensitive.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert run("verify", "out").code == 1


def test_a_report_of_several_tables_is_made_again(run: Run, tmp_path: Path) -> None:
    rows = range(24)
    table = pl.DataFrame({"born": [date(1950 + i % 9, 1 + i % 12, 3) for i in rows], "pay": [i % 7 + 0.5 for i in rows],
                          "age": [None if i == 5 else 20 + i for i in rows],
                          "disease": [("flu", "cold", "ulcer")[i % 3] for i in rows]})  # fmt: skip
    asked = {"quasi": ["born", "pay", "age"], "sensitive": ["disease"], "require": "distinct-l-diversity disease 2"}
    for search in ("anatomy", "slicing"):
        for format in ("csv", "parquet", "xlsx"):
            name = f"{search}-{format}"
            sf.anonymize(table, search=search, **asked).save(tmp_path / name, format=format)
            page = (tmp_path / name / "report.html").read_text("utf-8")
            done = run("report", name)
            assert done.code == 0, done.err
            assert (tmp_path / name / "report.html").read_text("utf-8") == page, name
    assert run("report", "anatomy-csv", "--language", "it", "-o", "it.html").code == 0
    assert '<html lang="it">' in (tmp_path / "it.html").read_text("utf-8")
    assert "the release of one table" in run("report", "anatomy-csv", "--original", "it.html", "-o", "no.html").err
    data = tmp_path / "anatomy-csv" / "sensitive.csv"
    data.write_text("\n".join(data.read_text("utf-8").splitlines()[:-1]) + "\n", encoding="utf-8")
    assert run("report", "anatomy-csv", "-o", "broken.html").code == 1
    assert "NOT KEPT" in (tmp_path / "broken.html").read_text("utf-8")


def test_sliced_and_verified(run: Run, patients: Path, tmp_path: Path) -> None:
    asked = [*ASKED[:-1], "slicing c=2 alpha=1 seed=1"]
    done = run("anonymize", patients, *asked, *TWO, "-o", "out")
    assert done.code == 0, done.err
    assert "2 tables: slice_1 with" in done.out
    assert "holds  l-diverse-slicing (attribute=disease, l=2)" in done.out
    assert run("verify", "out").code == 0
    assert run("anonymize", patients, *asked, *TWO, "-o", "again").code == 0
    assert (tmp_path / "out" / "sensitive.csv").read_bytes() == (tmp_path / "again" / "sensitive.csv").read_bytes()
    lines = (tmp_path / "out" / "sensitive.csv").read_text().splitlines()
    (tmp_path / "out" / "sensitive.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    assert run("verify", "out").code == 1
    assert "alpha leaves no column" in run("anonymize", patients, *ASKED[:-1], "slicing alpha=4", *TWO, "-o", "no").err


def test_as_json_by_a_policy_file_and_the_same_again(run: Run, patients: Path, tmp_path: Path) -> None:
    policy = f"""
[input]
path = "{patients}"
[roles]
identifying = ["name"]
quasi = ["age", "zip", "sex"]
sensitive = ["disease"]
[[require]]
model = "entropy-l-diversity"
attribute = "disease"
l = 1.5
[search]
method = "anatomy"
seed = 3
suppression = 0.5
[output]
path = "one"
"""
    (tmp_path / "policy.toml").write_text(policy)
    done = run("anonymize", "policy.toml", "--json")
    assert done.json["tables"].keys() == {"quasi", "sensitive"}
    assert done.json["promises"][0]["how"] == "proven"
    assert run("anonymize", "policy.toml", "-o", "two").code == 0
    for name in ("quasi.csv", "sensitive.csv", "manifest.json", "report.html"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--k", "3"), "cannot keep k-anonymity"),
        (("--require", "distinct-l-diversity disease 40"), "ask for l ="),
        ((*TWO, "--numbers", "bounds"), "another form of labels"),
        ((*TWO, "--internal-report", "mine.html"), "compares rows with the original"),
    ],
)
def test_what_makes_no_sense_writes_nothing(
    run: Run, patients: Path, tmp_path: Path, more: tuple[str], said: str
) -> None:
    done = run("anonymize", patients, *ASKED, *more, "-o", "out")
    assert (done.code, said in done.err) == (2, True), done.err
    assert not (tmp_path / "out").exists()


def test_slicing_in_a_policy_file(run: Run, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(f"""
[input]
path = "{patients}"
[roles]
identifying = ["name"]
quasi = ["age", "zip", "sex"]
sensitive = ["disease"]
[[require]]
model = "distinct-l-diversity"
attribute = "disease"
l = 2
[search]
method = "slicing"
c = 3
alpha = 1
seed = 3
suppression = 0.5
[output]
path = "one"
""")
    assert run("anonymize", "policy.toml", "--json").json["tables"].keys() == {"slice_1", "slice_2", "sensitive"}


def test_signed(run: Run, patients: Path) -> None:
    pytest.importorskip("cryptography")
    assert run("anonymize", patients, *ASKED, *TWO, "-o", "out").code == 0
    sf.new_key("steward.pem", passphrase=None)
    assert sf.sign("out", key="steward.pem", name="Ann").valid
    assert sf.verify("out").signature.valid  # type: ignore[union-attr]
    Path("out", "quasi.csv").write_text("group\n1\n")
    assert sf.verify("out").signature.valid is False  # type: ignore[union-attr]


def test_compared_as_readers_put_it_together() -> None:
    table = pl.DataFrame({"age": range(20, 60), "sex": ["F", "M"] * 20, "disease": ["a", "b", "c", "a", "d"] * 8})
    asked = {"quasi": ["age", "sex"], "sensitive": ["disease"], "require": "distinct-l-diversity disease 2"}
    found = sf.compare(table, search=["anatomy", "mondrian"], **asked)
    one, other = (found.filter(pl.col("search") == name).to_dicts()[0] for name in ("anatomy", "mondrian"))
    assert (one["status"], one["risk"], one["suppressed"]) == ("done", 1.0, 0)  # each row stands as it is
    assert other["risk"] < 1
    release = sf.anonymize(table, search=sf.Anatomy(seed=1), **asked)
    assert "It stops" in str(sf.explain(release))
    again = rejoined(release, 1)
    assert again.select("age", "sex").sort("age").equals(table.select("age", "sex"))
    assert again["disease"].sort().equals(table["disease"].sort())
    both = again.with_columns(group=release.tables["quasi"]["group"]).group_by("group", "disease").len("count")
    counted = release.tables["sensitive"].with_columns(pl.col("count").cast(pl.UInt32))
    assert both.sort("group", "disease").equals(counted.sort("group", "disease"))
