"""Releases as the workers make them: the bytes of the shell, what verify says, and a signature."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import polars as pl
import pytest

from sfumato.errors import PolicyError, SfumatoError
from sfumato.policyfile.protection import made_by
from sfumato.studio.downloads import release_files
from sfumato.studio.project import create
from sfumato.studio.tasks import release
from sfumato.studio.tasks.search import find
from sfumato.studio.views.release import worded

POLICY = {
    "input": {"path": "private/in.csv"},
    "roles": {"quasi": ["age", "zip"], "sensitive": ["disease"], "identifying": ["name"]},
    "hierarchies": {"zip": {"redact": "right"}},
    "require": [{"model": "k-anonymity", "k": 2}, {"model": "distinct-l-diversity", "attribute": "disease", "l": 2}],
    "search": {"method": "mondrian", "loss": "ncp"},
}


def quiet(message, share=None):
    pass


@pytest.fixture
def project(tmp_path):
    found = create(tmp_path, "p", POLICY)
    pl.DataFrame(
        {
            "name": [f"n{i}" for i in range(40)],
            "age": [20 + i % 17 for i in range(40)],
            "zip": [f"{80410 + i % 7}" for i in range(40)],
            "disease": [("flu", "cold", "gout")[i % 3] for i in range(40)],
        }
    ).write_csv(found.folder / "private" / "in.csv")
    return found


def asked(project):
    return {"tables": project.policy, "folder": str(project.folder)}


@pytest.mark.slow
def test_the_exported_policy_gives_the_same_bytes_in_the_shell(project, tmp_path):
    _, folder = project.next_release()
    found = release.make(asked(project), str(folder), quiet)
    assert found["outcome"] == "holds"
    policy = tmp_path / "elsewhere" / "policy.toml"
    policy.parent.mkdir()
    policy.write_text(project.exported(project.policy))
    subprocess.run(
        [sys.executable, "-m", "sfumato", "anonymize", "policy.toml", "-o", "out"], cwd=policy.parent, check=True
    )
    for name in ("data.csv", "manifest.json", "report.html"):
        assert (policy.parent / "out" / name).read_bytes() == (folder / name).read_bytes(), name


def test_a_release_is_planned_made_and_signed(project, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    plan = release.planned(asked(project), quiet)
    assert plan["columns"] == {"name": "identifying", "age": "quasi", "zip": "quasi", "disease": "sensitive"}
    assert [one["model"] for one in plan["promises"]] == ["k-anonymity", "distinct-l-diversity"]
    _, folder = project.next_release()
    made = release.make(asked(project), str(folder), quiet)
    assert {one["how"] for one in made["promises"]} == {"proven"}
    assert made["signature"] is None
    assert made["notes"] == []
    said = {"name": "Ann", "statement": "I approve.", "date": "2026-11-18", "passphrase": "sesame"}
    signed = release.sign(str(folder), str(tmp_path / "keys" / "signing.pem"), said, True, quiet)
    assert (signed["signature"]["valid"], signed["signature"]["known"], signed["signature"]["name"]) == (
        True,
        True,
        "Ann",
    )
    with pytest.raises(PolicyError, match="does not open the key"):
        release.sign(str(folder), str(tmp_path / "keys" / "signing.pem"), said | {"passphrase": "x"}, True, quiet)
    (folder / "report.html").write_text("changed")
    assert release.verified(str(folder), quiet)["outcome"] == "broken"


def test_faults_of_a_policy_are_told_all_at_once(project):
    project.change(
        "roles", {**POLICY, "roles": {"quasi": ["age", "town"]}, "require": [{"model": "k-anonymty", "k": 2}]}
    )
    with pytest.raises(SfumatoError) as raised:
        release.planned(asked(project), quiet)
    assert "town" in str(raised.value)
    assert "k-anonymty" in str(raised.value)


def test_masked_and_synthetic_policies_are_run_by_their_verbs():
    steps = [{"step": "rounding"}]
    assert [made_by(tables) for tables in (POLICY, {"mask": steps}, {"synthesis": {"rows": 10}})] == [
        "recoding", "masking", "synthesis",
    ]  # fmt: skip
    assert made_by({**POLICY, "mask": steps}) == "recoding"  # steps around a search
    assert made_by({**POLICY, "mask": steps, "search": {"seed": 7}}) == "masking"  # rows that keep promises


def test_changes_are_worded_in_both_languages():
    from sfumato.policyfile.difference import difference
    from sfumato.studio.context import PageContext
    from sfumato.studio.texts import Texts

    after = {**POLICY, "roles": {"quasi": ["age"], "insensitive": ["zip"]}, "require": POLICY["require"][:1]}
    own = {name: PageContext(None, "", Texts(name)) for name in ("en", "it")}
    said = {name: [worded(own[name], one) for one in difference(POLICY, after)] for name in own}
    assert "zip: quasi-identifying became insensitive" in said["en"]
    assert "name: identifying became no role" in said["en"]
    assert "distinct-l-diversity disease: gone, was l = 2" in said["en"]
    assert "zip: da quasi-identificativa a non sensibile" in said["it"]


@pytest.mark.parametrize("kind", ["sqlite", "streamed"])
def test_tables_that_are_not_in_memory_are_released_too(project, kind):
    frame = pl.read_csv(project.folder / "private" / "in.csv", infer_schema=False)
    if kind == "sqlite":
        with sqlite3.connect(project.folder / "private" / "x.sqlite") as db:
            db.execute("CREATE TABLE people (name TEXT, age TEXT, zip TEXT, disease TEXT)")
            db.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", frame.rows())
        table = {"path": "private/x.sqlite", "table": "people"}
    else:
        table = {"path": "private/in.csv", "stream": True}
    project.change("table", {**POLICY, "input": table, "search": {"method": "optimal"}})
    assert release.planned(asked(project), quiet)["columns"]["name"] == "identifying"
    _, folder = project.next_release()
    assert release.make(asked(project), str(folder), quiet)["outcome"] == "holds"


def test_what_the_library_notes_is_shown_and_not_logged(project, recwarn):
    project.change("require", {**POLICY, "require": POLICY["require"][:1]})
    _, folder = project.next_release()
    [note] = release.make(asked(project), str(folder), quiet)["notes"]
    assert 'nothing protects "disease"' in note
    assert [str(one.message) for one in recwarn if "disease" in str(one.message)] == []


def test_two_tables_of_an_imported_policy(project):
    """Anatomy is released, verified and taken away; pages of figures say that they have none."""
    folder = project.next_release()[1]
    tables = {**POLICY, "require": POLICY["require"][1:], "search": {"method": "anatomy"}, "hierarchies": {}}
    given = {"tables": tables, "folder": str(project.folder)}
    plan = release.planned(given, quiet)
    assert plan["columns"] == {
        "name": "identifying",
        "age": "insensitive",
        "zip": "insensitive",
        "disease": "sensitive",
    }
    assert plan["steps"] == [release.APART]
    found = release.make(given, str(folder), quiet)
    assert found["outcome"] == "holds"
    assert {name for name, _ in release_files(folder)} >= {"quasi.csv", "sensitive.csv", "manifest.json"}
    with pytest.raises(PolicyError, match="several tables"):
        find(given, quiet)
