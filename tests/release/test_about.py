"""What a release is about: checked, kept in the manifest, covered by the signature, and read by the report."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import PolicyError
from sfumato.release.about import about_of

TABLE = {"age": [31, 32, 58, 59] * 5, "sex": ["F", "F", "M", "M"] * 5, "disease": ["flu", "cold", "flu", "ulcer"] * 5}
ASKED: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": ["disease"], "k": 5, "unprotected": ["disease"]}
ABOUT = {
    "dataset": "Admissions <b>2025</b>",
    "controller": "General Hospital",
    "purpose": "Research on  length\nof stay",
    "recipient": "University",
    "legal_basis": "Art. 9(2)(j) GDPR",
    "date": dt.date(2026, 3, 1),
    "review_date": "2027-03-01",
    "attacker": "neighbours know age and sex",
    "columns": {"disease": "nobody should learn it"},
}


def test_it_stands_in_the_manifest_and_in_the_report(tmp_path: Path) -> None:
    release = sf.anonymize(TABLE, **ASKED, about=ABOUT)
    folder = release.save(tmp_path / "out")
    about = json.loads((folder / "manifest.json").read_text())["about"]
    assert about == ABOUT | {"date": "2026-03-01", "purpose": "Research on length of stay"}
    page = (folder / "report.html").read_text("utf-8")
    for said in (
        "Admissions &lt;b&gt;2025&lt;/b&gt;",
        "General Hospital",
        "neighbours know age and sex",
        "nobody should learn it",
    ):
        assert f"<bdi>{said}</bdi>" in page
    assert "<b>2025</b>" not in page
    assert sf.verify(folder).holds
    assert main(["report", str(folder)]) == 0
    assert (folder / "report.html").read_text("utf-8") == page


def test_without_it_there_are_lines_to_fill_in(tmp_path: Path) -> None:
    release = sf.anonymize(TABLE, **ASKED)
    assert "about" not in release.manifest
    page = (release.save(tmp_path / "out") / "report.html").read_text("utf-8")
    section = page[page.index('id="about"') : page.index('id="promises"')]
    assert section.count('class="fill"') == 8  # seven lines, and why this attacker


def test_a_signature_covers_it(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    folder = sf.anonymize(TABLE, **ASKED, about=ABOUT).save(tmp_path / "out")
    sf.new_key(tmp_path / "a.pem", passphrase=None)
    sf.sign(folder, key=tmp_path / "a.pem", name="Ann", passphrase=None)
    text = (folder / "manifest.json").read_text("utf-8")
    (folder / "manifest.json").write_text(text.replace("General Hospital", "Other Hospital"), "utf-8")
    found = sf.verify(folder)
    assert not found.holds
    assert found.signature is not None
    assert found.signature.valid is False


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"datset": "x"}, 'unknown key "datset"; did you mean "dataset"'),
        ({"dataset": 3}, "dataset: must be a text; got int"),
        ({"purpose": "x" * 601}, "purpose: must have at most 600 letters; got 601"),
        ({"purpose": "a\x1b[31m"}, "purpose: must be plain text"),
        ({"purpose": "a\u202egnp"}, "purpose: must be plain text"),
        ({"date": "1.3.2026"}, "date: must be a date, as in 2026-03-01"),
        ({"review_date": "2026-02-30"}, "review_date: must be a date"),
        ({"language": "fr"}, "language: must be one of en, it"),
        ({"columns": ["age"]}, "columns: must be a table of columns"),
        ({"columns": {"agee": "x"}}, 'names a column "agee" that the table does not have; did you mean "age"'),
        ({"columns": {"age": 1}}, '"age" must be a text; got int'),
        ({"suggested": "age"}, "suggested: must be a list of columns"),
        ("x", "must be a table of texts; got str"),
    ],
)
def test_refused(given: Any, fault: str) -> None:
    with pytest.raises(PolicyError) as caught:
        about_of(given, ["age", "sex"])
    assert fault in str(caught.value)


@pytest.mark.slow
def test_a_policy_file_says_it_and_its_faults_have_lines(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "t.csv").write_text("age,sex\n" + "31,F\n58,M\n" * 5)
    policy = tmp_path / "p.toml"
    lines = ["[input]", 'path = "t.csv"', "[roles]", 'quasi = ["age", "sex"]', "[[require]]", 'model = "k-anonymity"',
             "k = 5", "[output]", 'path = "out"', "[about]", 'dataset = "Visits"', "date = 2026-03-01",
             'language = "it"',
             "[about.columns]", 'age = "neighbours know it"']  # fmt: skip
    policy.write_text("\n".join(lines))
    assert main(["anonymize", str(policy)]) == 0
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["about"] == {
        "dataset": "Visits", "date": "2026-03-01", "language": "it", "columns": {"age": "neighbours know it"},
    }  # fmt: skip
    assert '<html lang="it">' in (tmp_path / "out" / "report.html").read_text("utf-8")
    policy.write_text("\n".join(lines).replace("date = 2026-03-01", "date = 3").replace('age = "', 'agee = "'))
    capsys.readouterr()
    assert main(["anonymize", str(policy)]) == 2
    told = capsys.readouterr().err
    assert "[about] date (line 12): must be a date" in told
    assert '[about] columns (line 14): names a column "agee" that the table does not have' in told
