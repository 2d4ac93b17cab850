"""The two forms of the report: the public one holds the release and nothing else, the internal one is the owner's."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import main
from sfumato.cli.register import hospital_register
from sfumato.engines.files.bytes import read_back
from sfumato.errors import ColumnError, OutputError
from sfumato.report import internal_report, report
from sfumato.report.charts.axis import axis_of, ends
from sfumato.report.files import aligned, of_table
from sfumato.report.page import browser
from sfumato.report.sections.evidence import counted, evidence
from sfumato.report.sections.headline import reach_from
from sfumato.report.sections.method import command
from tests.fuzz import examples
from tests.report.test_report import Outline

pytestmark = pytest.mark.slow

QUASI = ["birth_date", "postcode", "sex", "ward"]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        yield


def hospital(rows: int = 1500, **more: Any) -> sf.Release:
    asked: dict[str, Any] = {"search": "mondrian", "require": [sf.KAnonymity(5), sf.DistinctLDiversity("diagnosis", 2)]}
    roles = {"identifying": ["name"], "quasi": QUASI, "sensitive": ["diagnosis"], "insensitive": ["cost"]}
    return sf.anonymize(hospital_register(rows), **(roles | asked | more))


def suppressing(people: list[tuple[str, str, str]], rare: list[tuple[str, str, str]]) -> sf.Release:
    """A release of `people` that leaves out the `rare` ones."""
    table = {name: [row[i] for row in people + rare] for i, name in enumerate(("town", "job", "disease"))}
    return sf.anonymize(
        table,
        quasi=["town", "job"],
        sensitive=["disease"],
        require=sf.KAnonymity(3),
        search="tuple-suppression",
        suppression=len(rare),
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[sf.Release, Path, Path]:
    """A release with both reports."""
    folder = tmp_path_factory.mktemp("made")
    release = hospital(600, suppression=0.05, search="optimal", loss="lm")
    old = os.umask(0)  # the mask of the process does not open what is the owner's
    try:
        release.save(folder / "out", internal_report=folder / "internal.html")
    finally:
        os.umask(old)
    return release, folder / "out", folder / "internal.html"


@pytest.fixture(scope="module")
def narrow() -> sf.Release:
    """A release of few columns, whose internal report is soon made."""
    table = hospital_register(300).select("sex", "ward", "diagnosis")
    return sf.anonymize(
        table, quasi=["sex", "ward"], unprotected=["diagnosis"], require=sf.KAnonymity(5), search="mondrian"
    )


def loaded(folder: Path) -> tuple[dict[str, Any], pl.DataFrame]:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    data = manifest["files"][0]
    return manifest, read_back(folder / data["file"], data["format"], data["guarded"])


# The public form.


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "xlsx"])
def test_the_public_report_follows_from_the_files_of_the_release(format: str, tmp_path: Path) -> None:
    hospital(600).save(tmp_path / "out", format=format)
    written = (tmp_path / "out" / "report.html").read_bytes()
    assert report(*loaded(tmp_path / "out")).encode() == written


@pytest.mark.parametrize("sensitive", ["cost", "number", "day", "flag"])
def test_it_follows_from_the_files_whatever_the_type(sensitive: str, tmp_path: Path) -> None:
    table = hospital_register(400).with_columns(
        number=pl.int_range(400, dtype=pl.Int64) % 7 * 1000,
        day=pl.col("birth_date").dt.truncate("1y"),
        flag=pl.col("cost") > 3000,
        gap=pl.when(pl.col("cost") > 2000).then(pl.col("cost")),
    )
    roles: dict[str, Any] = {"identifying": ["name"], "quasi": ["postcode", "sex"], "sensitive": [sensitive]}
    roles["rest"] = "release"
    sf.anonymize(table, **roles, require=sf.KAnonymity(4), search="mondrian").save(tmp_path / "out")
    assert report(*loaded(tmp_path / "out")) == (tmp_path / "out" / "report.html").read_text("utf-8")


def test_sections_of_the_public_report(made: tuple[sf.Release, Path, Path]) -> None:
    outline = Outline((made[1] / "report.html").read_text("utf-8"))
    wanted = ["promises", "classes", "risk", "attacks", "columns", "heat", "loss", "suppression", "roles", "method"]
    wanted += ["reproduction", "signature"]
    assert [found for found in outline.ids() if found in wanted] == wanted
    assert len(outline.ids()) == len(set(outline.ids()))
    assert sf.verify(made[1]).holds
    for said in ("Prosecutor", "Journalist", "Marketer", "Homogeneity of diagnosis", "I approve", "Signature"):
        assert said in outline.text
    assert "Internal" not in outline.text
    assert not {"script", "img", "link", "iframe"} & outline.names()
    assert not any(key.startswith("on") for _, attributes in outline.elements for key in attributes)


words = st.text("abcdefgh", min_size=1, max_size=3)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=4), st.integers(1, 4), st.integers(3, 6))
def test_no_value_of_a_suppressed_row_is_in_the_public_report(
    people: list[tuple[str, str, str]], rare: int, copies: int
) -> None:
    hidden = [tuple(f"HIDDEN{i}x{j}" for j in range(3)) for i in range(rare)]
    kept = [tuple(f"kept{value}" for value in row) for row in people for _ in range(copies)]
    release = suppressing(kept, hidden)  # type: ignore[arg-type]
    assert release.solution.verdict.suppressed == rare
    page = report(release.manifest, release.table)
    assert "HIDDEN" not in page
    assert "kept" in page


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_what_is_suppressed_changes_no_byte_beyond_the_manifest(data: st.DataObject) -> None:
    """The page is a function of the release: other original values of suppressed rows leave it as it is."""
    draw = data.draw(st.lists(st.tuples(words, words, words), min_size=2, max_size=2, unique=True))
    kept = [("a", "b", "c")] * 4 + [("d", "e", "f")] * 3
    pages = []
    for one in draw:
        release = suppressing(kept, [tuple("Z" + value for value in one)])  # type: ignore[list-item]
        manifest = release.manifest | {"input": {"rows": 8, "fingerprint": "same"}}
        pages.append(report(manifest, release.table))
    assert pages[0] == pages[1]


NASTY = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.sampled_from(["*", "", "<script>alert(1)</script>", "[1, 2]", "inf", "nan", "1e400", "-0", "{a, b}", "\u202e"]),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(NASTY, NASTY, st.one_of(st.none(), st.floats()), st.integers()), min_size=1, max_size=30))
def test_any_table_can_be_drawn(rows: list[tuple[Any, ...]]) -> None:
    small = [(a, b, c, d % 2**62) for a, b, c, d in rows]
    schema = {"a": pl.String, "b": pl.String, "c": pl.Float64, "d": pl.Int64}
    table = pl.DataFrame(small, schema=schema, orient="row")
    columns = [
        {"name": n, "role": r} for n, r in zip("abcd", ("quasi", "sensitive", "insensitive", "quasi"), strict=True)
    ]
    manifest = {"data": {"columns": columns}, "policy": {"quasi": [["a", "d"]]}, "promises": []}
    outline = Outline(report(manifest, table))
    assert "script" not in outline.names()
    found = evidence(manifest, table, reach_from(manifest, table))
    for shape in found.shapes:
        assert shape.axis is None or shape.released.sum() == pytest.approx(table.height)
    if found.heat is not None:
        assert found.heat.released.sum() == pytest.approx(table.height)


def test_sixty_columns_of_many_labels() -> None:
    rng = np.random.default_rng(3)
    table = pl.DataFrame({f"c{i}": rng.integers(0, 500, 800).astype(str) + "x" for i in range(60)})
    manifest = {"policy": {"quasi": [["c0"]]}, "data": {"columns": [{"name": "c0", "role": "quasi"}]}}
    text = Outline(report(manifest, table)).text
    assert "20 more columns are not drawn." in text
    assert "other" in text


def test_without_a_sensitive_column_no_attack_is_tried() -> None:
    manifest = {"policy": {"quasi": [["a", "b"]]}, "data": {"columns": [{"name": n, "role": "quasi"} for n in "ab"]}}
    table = pl.DataFrame({"a": ["x", "y"] * 4, "b": ["u", "u", "v", "v"] * 2})
    text = Outline(report(manifest, table)).text
    assert "No attack was tried" in text
    assert "Of the records with each" in text  # two quasi-identifiers make the map instead


def test_a_large_table_says_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.measures.reach.ATTACKED", 10)
    release = hospital(300)
    assert "Attacks are tried on up to 10 rows" in report(release.manifest, release.table)


# The internal form.


def test_the_internal_report_is_the_owners(made: tuple[sf.Release, Path, Path]) -> None:
    assert stat.S_IMODE(made[2].stat().st_mode) == 0o600
    assert sorted(path.name for path in made[1].iterdir()) == ["data.csv", "manifest.json", "report.html"]


def test_the_internal_report_compares(made: tuple[sf.Release, Path, Path]) -> None:
    outline = Outline(made[2].read_text("utf-8"))
    text = outline.text
    assert text.count("Internal: do not publish with the release") >= 2
    for said in (
        "Risk before and after",
        "Prosecutor before",
        "Prosecutor after",
        "What changed per column",
        "What it is still good for",
        "Singling out",
        "Inference",
        "Deterministic linkage",
        "Suppressed rows by how many records looked alike before",
    ):
        assert said in text, said
    assert not {"script", "img", "link"} & outline.names()
    assert "http" not in made[2].read_text("utf-8")


def test_the_internal_report_is_reproducible(made: tuple[sf.Release, Path, Path], tmp_path: Path) -> None:
    made[0].save(tmp_path / "again", internal_report=tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == made[2].read_bytes()
    assert (tmp_path / "again" / "report.html").read_bytes() == (made[1] / "report.html").read_bytes()


def test_identifying_columns_are_not_in_it(made: tuple[sf.Release, Path, Path]) -> None:
    page = made[2].read_text("utf-8")
    assert not any(name in page for name in made[0].original["name"].head(50))


def test_rare_original_values_are_not_named(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "town": ["Roma"] * 40 + ["Siena"] * 40 + ["RAREVILLE"] * 4,
            "age": [30, 40] * 42,
            "disease": ["flu", "cold"] * 40 + ["RAREPOX", "RAREPOX", "flu", "cold"],
        }
    )
    release = sf.anonymize(
        table, quasi=["town", "age"], sensitive=["disease"], require=sf.KAnonymity(5), search="mondrian"
    )
    release.save(tmp_path / "out", internal_report=tmp_path / "i.html")
    page = (tmp_path / "i.html").read_text("utf-8")
    assert "RAREPOX" in (tmp_path / "out" / "data.csv").read_text("utf-8")
    assert "RAREPOX" not in page
    assert "RAREVILLE" not in page
    assert "other" in page


@pytest.mark.parametrize("where", ["out/i.html", "out/deep/i.html", "link/i.html"])
def test_it_never_goes_into_the_release(where: str, narrow: sf.Release, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with pytest.raises(OutputError, match="inside a release"):
        narrow.save(tmp_path / "out", overwrite=True, internal_report=tmp_path / where)
    assert list((tmp_path / "out").iterdir()) == []


def test_nor_into_another_release(narrow: sf.Release, tmp_path: Path) -> None:
    narrow.save(tmp_path / "first")
    with pytest.raises(OutputError, match="inside a release"):
        narrow.save(tmp_path / "second", internal_report=tmp_path / "first" / "i.html")
    assert not (tmp_path / "second").exists()


def test_an_earlier_one_is_replaced_only_where_asked(narrow: sf.Release, tmp_path: Path) -> None:
    (tmp_path / "i.html").write_text("precious")
    with pytest.raises(OutputError, match="exists"):
        narrow.save(tmp_path / "out", internal_report=tmp_path / "i.html")
    assert not (tmp_path / "out").exists()
    narrow.save(tmp_path / "out", overwrite=True, internal_report=tmp_path / "i.html")
    assert "precious" not in (tmp_path / "i.html").read_text("utf-8")


def test_where_the_release_fails_no_internal_report_appears(
    narrow: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> str:
        raise RuntimeError

    monkeypatch.setattr("sfumato.release.recoded.internal_report", fail)
    with pytest.raises(RuntimeError):
        narrow.save(tmp_path / "out", internal_report=tmp_path / "i.html")
    assert list(tmp_path.iterdir()) == []


def test_rows_in_another_order_are_not_taken_for_the_same_people() -> None:
    original = hospital_register(200).select("sex", "ward", "diagnosis")
    shuffled = original.sample(fraction=1.0, shuffle=True, seed=1)
    manifest, _ = of_table(Path(__file__), shuffled, [["sex", "ward"]], ["diagnosis"])
    assert aligned(manifest, shuffled, original) is None
    assert aligned(manifest, original, original) is not None
    text = Outline(internal_report(manifest, shuffled, original)).text
    assert "Linkage was not tried" in text


def test_an_original_of_other_columns_is_refused() -> None:
    manifest, _ = of_table(Path(__file__), pl.DataFrame({"a": [1, 1]}), [["a"]])
    with pytest.raises(ColumnError, match="the original has no column"):
        internal_report(manifest, pl.DataFrame({"a": [1, 1]}), pl.DataFrame({"b": [1, 1]}))


# The line that makes the release again.


def test_the_line_makes_the_same_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hospital_register(800).write_csv("register.csv")
    asked = ["--quasi", "birth_date,postcode,sex,ward", "--identifying", "name", "--sensitive", "diagnosis"]
    asked += [
        "--insensitive",
        "cost",
        "--hierarchy",
        "birth_date=dates:month,year,decade",
        "--hierarchy",
        "postcode=either:redact:right or redact:left,1,3",
        "--k",
        "4",
    ]
    asked += [
        "--require",
        "alpha-k 0.9 3 diagnosis 'Heart failure' Stroke",
        "--suppression",
        "0.2",
        "--levels",
        "sex=0:1",
    ]
    asked += ["--search", "optimal", "--loss", "lm aggregate=geometric"]
    assert main(["anonymize", "register.csv", *asked, "-o", "one"]) == 0
    first = json.loads(Path("one/manifest.json").read_text("utf-8"))
    line, unwritten = command(first)
    assert unwritten == []
    words = shlex.split(line.replace("INPUT", "register.csv").replace("OUTPUT", "two"))
    assert words[0] == "sfumato"
    assert main(words[1:]) == 0
    second = json.loads(Path("two/manifest.json").read_text("utf-8"))
    assert second["files"] == first["files"]
    assert second["policy"] == first["policy"]


def test_names_with_commas_and_quotes_survive_the_shell() -> None:
    manifest = {"policy": {"quasi": [['street, "old"', "it's"]], "require": [{"model": "k-anonymity", "k": 2}]}}
    words = shlex.split(command(manifest)[0])
    from sfumato.cli.options import names

    assert names([words[words.index("--quasi") + 1]]) == [['street, "old"', "it's"]]


# Charts.


@pytest.mark.parametrize(
    ("labels", "low", "high"),
    [
        (["[20, 30)", "35", "*"], [20, 35, None], [29, 35, None]),
        (["[1, 2]", "]2; 5]"], [1, 3], [2, 5]),
        (["20-29", "30 - 39", "40..49"], [20, 30, 40], [29, 39, 49]),
        (["< 5", "[5, 9)", ">= 9"], [4, 5, 9], [4, 8, 9]),
        (["1970-01-02", "[1970-01-03, 1970-02-01]"], [1, 2], [1, 31]),
        (["0.5", "1.5"], [0.5, 1.5], [0.5, 1.5]),
    ],
)
def test_ends_of_labels(labels: list[str], low: list[Any], high: list[Any]) -> None:
    found = ends(pl.Series(labels))
    assert found is not None
    for given_, wanted in ((found.low, low), (found.high, high)):
        assert [None if np.isnan(value) else value for value in given_] == wanted


@pytest.mark.parametrize("labels", [["a", "1"], ["*", None], ["1e400"], ["inf"], ["476**"], ["[5, 2]"]])
def test_other_labels_have_no_ends(labels: list[Any]) -> None:
    assert ends(pl.Series(labels, dtype=pl.String)) is None


def test_ranges_are_spread_over_round_groups() -> None:
    labels = pl.Series([f"[{i}, {i + 9}]" for i in range(0, 200, 10)])
    count = np.full(20, 10)
    axis = axis_of(labels, count, ends(labels), most=5)
    assert axis is not None
    assert axis.groups == ("0 to 49", "50 to 99", "100 to 149", "150 to 199")
    assert axis.counts(labels, count).tolist() == [50, 50, 50, 50]
    assert axis.weights(labels).sum(axis=1).tolist() == [1.0] * 20


def test_few_labels_stand_for_themselves_in_order() -> None:
    labels, count = counted(pl.Series("age", ["[20, 40)", "[0, 20)", "[20, 40)", None]))
    axis = axis_of(labels, count, ends(labels))
    assert axis is not None
    assert axis.groups == ("[0, 20)", "[20, 40)", "missing")


def test_a_value_per_row_is_not_listed() -> None:
    table = pl.DataFrame({"a": ["x"] * 3000, "note": [f"note number {i}" for i in range(3000)]})
    manifest = {"policy": {"quasi": [["a"]]}}
    text = Outline(report(manifest, table)).text
    assert "Nearly every record has a value of its own" in text
    assert "note number" not in text


# Printing.


def test_without_chromium_nothing_is_begun(narrow: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.report.page.shutil.which", lambda _: None)
    with pytest.raises(OutputError, match="needs Chromium"):
        browser()
    with pytest.raises(OutputError, match="needs Chromium"):
        narrow.save(tmp_path / "out", pdf=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
@pytest.mark.usefixtures("chromium")
def test_reports_print(narrow: sf.Release, tmp_path: Path) -> None:
    narrow.save(tmp_path / "out", internal_report=tmp_path / "i.html", pdf=True)
    for file in (tmp_path / "out" / "report.pdf", tmp_path / "i.pdf"):
        content = file.read_bytes()
        assert content.startswith(b"%PDF-")
        assert re.search(rb"/MediaBox\s*\[\s*0 0 59[45](\.\d+)? 84[12]", content)  # A4
    assert stat.S_IMODE((tmp_path / "i.pdf").stat().st_mode) == 0o600
    assert sf.verify(tmp_path / "out").holds


# The command.


def test_the_command_makes_the_report_of_a_folder_again(
    made: tuple[sf.Release, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made[0].save(tmp_path / "out")
    report_ = tmp_path / "out" / "report.html"
    before = report_.read_bytes()
    report_.unlink()
    assert main(["report", str(tmp_path / "out"), "--json"]) == 0
    assert report_.read_bytes() == before
    told = json.loads(capsys.readouterr().out)
    assert told["holds"]
    assert told["files"] == [str(report_)]


def test_a_tampered_folder_is_reported_as_broken(
    narrow: sf.Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow.save(tmp_path / "out")
    data = tmp_path / "out" / "data.csv"
    data.write_text(data.read_text("utf-8").replace("Stroke", "Strokes"), encoding="utf-8")
    assert main(["report", str(tmp_path / "out"), "-o", str(tmp_path / "r.html")]) == 1
    assert "The data are not those that the manifest describes" in (tmp_path / "r.html").read_text("utf-8")
    assert "integrity" in capsys.readouterr().out


def test_the_command_reports_another_tools_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    released, original = tmp_path / "released.csv", tmp_path / "original.csv"
    released.write_text("age,zip,disease\n" + "20-29,80*,flu\n20-29,80*,cold\n30-39,81*,flu\n30-39,81*,flu\n")
    original.write_text("name,age,zip,disease\nAnnX,21,801,flu\nBobX,25,802,cold\nCatX,33,811,flu\nDanX,38,812,flu\n")
    asked = ["--quasi", "age,zip", "--sensitive", "disease"]
    assert main(["report", str(released), *asked, "-o", str(tmp_path / "r.html")]) == 0
    text = Outline((tmp_path / "r.html").read_text("utf-8")).text
    assert "Nothing was promised" in text
    assert "made by another tool" in text
    assert "2 of 4 records" in text  # homogeneity
    asked += ["--original", str(original), "--k", "3", "-o", str(tmp_path / "i.html")]
    assert main(["report", str(released), *asked]) == 1
    page = (tmp_path / "i.html").read_text("utf-8")
    assert "The promise does not hold" in page
    assert "AnnX" not in page
    assert stat.S_IMODE((tmp_path / "i.html").stat().st_mode) == 0o600
    assert "internal, do not publish" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "does not exist"),
        (["out", "--k", "3"], "says itself"),
        (["out/data.csv"], "--quasi"),
        (["out", "--original", "register.csv"], "-o FILE"),
        (["out", "--original", "register.csv", "-o", "out/i.html"], "inside a release"),
        (["out", "-o", "taken.html"], "exists"),
    ],
)
def test_the_command_refuses(
    arguments: list[str],
    said: str,
    narrow: sf.Release,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    narrow.save("out")
    narrow.original.write_csv("register.csv")
    Path("taken.html").write_text("taken")
    assert main(["report", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert Path("taken.html").read_text() == "taken"


def test_a_policy_file_asks_for_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.cli.register import write_demo_inputs

    policy = write_demo_inputs(tmp_path / "in", rows=400)
    text = policy.read_text("utf-8").replace('path = "release"', 'path = "release"\ninternal_report = "kept/i.html"')
    policy.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["anonymize", str(policy)]) == 0
    assert stat.S_IMODE((tmp_path / "in" / "kept" / "i.html").stat().st_mode) == 0o600
    assert main(["anonymize", str(policy), "-o", "two", "--internal-report", "two/i.html"]) == 2
    assert not (tmp_path / "two").exists()
