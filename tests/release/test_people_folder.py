"""What a folder says of people: stated to those who have its rows alone, shown again to who has the original."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError, ReadError
from sfumato.report import report
from sfumato.report.translation import Missing, translated_page

RNG = np.random.default_rng(5)
N = 200
TABLE = pl.DataFrame(
    {
        "patient": [f"zq{i:04d}w" for i in RNG.integers(0, 50, N)],
        "age": RNG.integers(20, 80, N),
        "ill": RNG.choice(list("abcdef"), N),
    }
)
HIERARCHY = {"age": sf.intervals(5, 10, 20)}


@pytest.fixture(scope="module", params=[0.0, 0.1])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    release = made(suppression=request.param)
    return release.save(tmp_path_factory.mktemp("people") / "out")


def made(**more: Any) -> Any:
    asked = {"quasi": ["age"], "person": "patient", "k": 4, "search": "optimal", "hierarchies": HIERARCHY, **more}
    return sf.anonymize(TABLE, require=[sf.AlphaK(0.7, 1, "ill")], **asked)


def test_rows_alone_prove_what_follows_for_rows_and_state_the_rest(folder: Path) -> None:
    found = sf.verify(folder)
    assert found.outcome == "stated"
    assert not found.holds
    hows = [(one.model, one.how, one.holds) for one in found.promises]
    assert hows == [
        ("integrity", "proven", True),
        ("k-anonymity", "proven", True),  # (alpha, k) says nothing of records
        ("k-anonymity", "stated", True),
        ("alpha-k", "stated", True),
    ]
    assert "stated, not proven: Counted in people" in str(found)


def test_who_has_the_original_sees_it_shown(folder: Path) -> None:
    found = sf.verify(folder, original=TABLE, person="patient")
    assert found.outcome == "holds"
    assert [one.how for one in found.promises[-2:]] == ["against the original"] * 2
    said = json.loads((folder / "manifest.json").read_text("utf-8"))["people"]["promises"]
    assert [one.measured for one in found.promises[-2:]] == pytest.approx([one["measured"] for one in said])


def test_another_original_does_not_pass(folder: Path) -> None:
    fewer = TABLE.with_columns(patient=pl.lit("one"))
    assert sf.verify(folder, original=fewer, person="patient").outcome == "broken"
    assert sf.verify(folder, original=TABLE.head(150), person="patient").outcome == "broken"


def test_no_person_is_named_in_what_leaves(folder: Path) -> None:
    for file in folder.iterdir():
        text = file.read_bytes().decode("utf-8", "ignore")
        assert "zq0" not in text, file.name
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert set(said["people"]["counted"][0]) == {"unit", "column", "people", "smallest", "released"}
    assert "patient" not in [column["name"] for column in said["data"]["columns"]]
    assert said["policy"]["identifying"] == ["patient"]


def test_what_is_told_of_people_is_told_of_released_rows() -> None:
    release = made(suppression=0.1)
    kept = TABLE["patient"].gather(release.rows)
    assert release.manifest["people"]["counted"][0]["people"] == kept.n_unique()


def test_how_many_rows_somebody_has_is_for_the_owner_alone(folder: Path) -> None:
    release = made()
    assert release.people[0]["most_rows"] == TABLE["patient"].value_counts()["count"].max()
    for file in folder.iterdir():
        assert b"most_rows" not in file.read_bytes(), file.name


def test_a_manifest_that_claims_too_many_people_is_refuted(folder: Path, tmp_path: Path) -> None:
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "data.csv").write_bytes((folder / "data.csv").read_bytes())
    smallest = said["measured"][0]["smallest"]
    said["people"]["promises"][0]["parameters"]["k"] = smallest + 1  # more people than rows
    (copy / "manifest.json").write_text(json.dumps(said), "utf-8")
    found = sf.verify(copy)
    assert found.outcome == "broken"
    assert found.promises[-2].note == "the rows contradict what is stated"
    for wrong in ({"model": "t-closeness"}, {"parameters": {"k": 3}}, {"quasi": []}):
        broken = json.loads((folder / "manifest.json").read_text("utf-8"))
        broken["people"]["promises"][0] |= wrong
        (copy / "manifest.json").write_text(json.dumps(broken), "utf-8")
        with pytest.raises(ReadError, match=r"people\.promises\.0"):
            sf.verify(copy)


def test_a_folder_says_itself_whom_it_counts(folder: Path) -> None:
    with pytest.raises(PolicyError, match="does not tell whose its rows are"):
        sf.verify(folder, person="patient")


def test_ambiguous_labels_are_not_shown_and_not_broken(tmp_path: Path) -> None:
    table = TABLE.with_columns(sex=pl.Series(RNG.choice(["F", "M"], N)))
    release = sf.anonymize(table, quasi=["age", "sex"], person="patient", k=4, rest="release", search="auto")
    out = release.save(tmp_path / "out")
    found = sf.verify(out, original=table, person="patient")
    assert found.outcome in ("holds", "stated")
    for one in found.promises[-1:]:
        assert one.measured is None or one.measured <= release.verification.promises[0].measured


def test_pseudonyms_that_leave_show_it_themselves(tmp_path: Path) -> None:
    tokens = sf.RandomTokens("patient", vault=str(tmp_path / "study.vault"))
    release = made(mask=[tokens], suppression=0.1)
    assert release.manifest["people"]["counted"][0]["released"] is True
    out = release.save(tmp_path / "out")
    assert "zq0" not in (out / "data.csv").read_text("utf-8")
    found = sf.verify(out)
    assert found.outcome == "holds"
    assert [one.how for one in found.promises[-2:]] == ["proven"] * 2
    assert found.promises[-1].note is not None
    assert "pseudonyms" in found.promises[-1].note
    assert found.promises[-2].measured == release.verification.promises[0].measured


@pytest.mark.slow
def test_the_report_says_it_in_italian() -> None:
    release, missing = made(), Missing()
    translated_page(report(release.manifest, release.entries, release.reach, release.standards), "it", missing)
    assert missing == []


def test_risks_and_standards_are_not_those_of_rows() -> None:
    release = made(profile="clinical")
    people = release.manifest["people"]["counted"][0]["smallest"]
    assert people < release.verification.classes[0]["smallest"]
    assert [one.name for one in release.standards] in ([], ["hipaa"])  # the clinical thresholds count rows
    text = str(sf.explain(release))
    assert "People are counted, and not records: a person may have several." in text
    assert f"at most 1 in {people} times" in text or f"({100 / people:.3g}%)" in text


def test_a_manifest_alone_cannot_show_people(folder: Path) -> None:
    with pytest.raises(PolicyError, match="people are shown of the folder"):
        sf.verify(pl.read_csv(folder / "data.csv"), manifest=folder, person="patient")


def test_a_fitted_anonymizer_counts_people_in_each_batch() -> None:
    coarse = sf.Anonymizer(quasi=["age"], insensitive=["ill"], person="patient", k=4, unseen="generalise").fit(TABLE)
    batch = TABLE.head(60)
    found = coarse.transform(batch)
    assert "patient" not in found.columns
    assert found.height <= 60
