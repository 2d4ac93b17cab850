"""Verify a release folder from its files alone, whole and tampered with."""

from __future__ import annotations

import json

import polars as pl
import pytest

from sfumato.criteria import CRITERIA
from sfumato.engines.files.bytes import sha256, write_table
from sfumato.errors import ReadError
from sfumato.release.folder import verify_folder
from sfumato.release.verify import class_sizes, verify_table

TABLE = pl.DataFrame(
    {
        "age": ["[20, 30)"] * 4 + ["[30, 40)"] * 4,
        "sex": ["f", "f", None, None, "m", "m", "m", "m"],
        "disease": ["flu", "=cold", "flu", "HIV", "flu", "=cold", "HIV", None],
        "cost": [10, 20, -30, 40, 50, 60, 70, 80],
    }
)
SETS = [["age", "sex"], ["age"]]
TREE = [["flu", "lung", "*"], ["=cold", "lung", "*"], ["HIV", "blood", "*"]]
REQUIRE = [
    {"model": "k-anonymity", "k": 2},
    {"model": "distinct-l-diversity", "attribute": "disease", "l": 2},
    {"model": "t-closeness", "attribute": "disease", "t": 0.9, "distance": "hierarchical"},
]
WHOLE = {"disease": {"flu": 3, "=cold": 2, "HIV": 3, "": 2}}  # two rows were suppressed


@pytest.fixture(params=["csv", "parquet"])
def release(request, tmp_path):
    """A folder, and a function that writes it with changes to its manifest."""
    folder = tmp_path / "out"
    folder.mkdir()
    file = folder / f"data.{request.param}"

    def write(table=TABLE, require=REQUIRE, whole=WHOLE, change=None):
        write_table(table, file, request.param)
        made = [CRITERIA[r["model"]].make(**{k: v for k, v in r.items() if k != "model"}) for r in require]
        found = verify_table(TABLE, SETS, made, whole=whole, hierarchies={"disease": TREE})
        manifest = {
            "sfumato": "0.1.0",
            "format": 1,
            "data": {
                "file": file.name,
                "format": request.param,
                "sha256": sha256(file),
                "rows": table.height,
                "guarded": True,
                "separator": ",",
                "columns": [{"name": name, "role": "quasi", "kind": "text"} for name in table.columns],
            },
            "policy": {"identifying": ["name"], "quasi": SETS, "sensitive": ["disease"], "require": require},
            "input": {"rows": 10, "fingerprint": "hmac-sha256:0"},
            "promises": [
                {"model": p.model, "parameters": p.parameters, "quasi": list(p.quasi), "holds": p.holds}
                | {"measured": p.measured, "bound": p.bound, "sentence": p.sentence, "note": p.note}
                for p in found.promises
            ],
            "measured": [class_sizes(TABLE, names) for names in SETS],
            "whole": whole,
            "sensitive_hierarchies": {"disease": TREE},
        }
        if change:
            change(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return folder

    write.folder, write.file, write.format = folder, file, request.param
    return write


def notes(found):
    return [p.note for p in found.promises if not p.holds]


def test_an_untouched_release_holds(release):
    found = verify_folder(release())
    assert notes(found) == []
    assert found.holds
    assert found.rows == 8
    assert [(p.model, p.quasi) for p in found.promises] == [
        ("integrity", ()),
        *((r["model"], tuple(names)) for names in SETS for r in REQUIRE),
    ]
    assert found.promises[1].measured == 2
    assert found.promises[4].measured == 4
    assert [entry["smallest"] for entry in found.classes] == [2, 4]
    assert verify_folder(str(release.folder)) == found


def test_the_distribution_in_the_manifest_is_used_and_its_absence_told(release):
    given = verify_folder(release()).promises[3]
    assert given.note is None
    open_ = verify_folder(release(whole=None))
    assert open_.holds
    assert "in the released rows" in open_.promises[3].note
    assert open_.promises[3].measured != given.measured


def test_a_claim_about_a_distribution_that_is_not_published_is_a_contradiction(release):
    # what is claimed must follow from what is published: else it tells of the rows that are not
    found = verify_folder(release(change=lambda m: m.update(whole=None)))
    assert not found.holds
    assert "the manifest claims" in next(p.note for p in found.promises if not p.holds)


def test_changed_bytes_are_told(release):
    release()
    changed = TABLE.with_columns(age=pl.Series(["[20, 30)"] * 3 + ["[30, 40)"] * 5))
    write_table(changed, release.file, release.format)
    found = verify_folder(release.folder)
    assert not found.holds
    assert not found.promises[0].holds
    assert "sha256" in found.promises[0].note
    assert "class sizes" in found.promises[0].note
    assert (found.promises[1].model, found.promises[1].holds, found.promises[1].measured) == ("k-anonymity", False, 1)


def test_bytes_that_are_no_table_any_more_are_told(release):
    release()
    release.file.write_bytes(b'"\x00\xff\xfe' * 7)
    found = verify_folder(release.folder)
    assert not found.holds
    assert "sha256" in found.promises[0].note
    assert not any(p.holds for p in found.promises)


def test_a_manifest_that_was_fitted_to_a_tampered_file_is_refuted(release):
    changed = TABLE.with_columns(age=pl.Series(["[20, 30)"] * 3 + ["[30, 40)"] * 5))
    found = verify_folder(release(table=changed))
    assert not found.holds
    k = found.promises[1]
    assert (k.holds, k.measured) == (False, 1)
    assert k.note.startswith("the manifest claims 2, the rows say 1")


def test_a_promise_that_is_false_is_refuted(release):
    def promise_more(manifest):
        manifest["policy"]["require"][0]["k"] = 3
        manifest["promises"] = []

    found = verify_folder(release(change=promise_more, require=[dict(r) for r in REQUIRE]))
    assert [(p.model, p.holds) for p in found.promises][:2] == [("integrity", True), ("k-anonymity", False)]
    assert found.promises[1].note == "2 of 3 classes fail"


def test_a_promise_beside_the_policy_is_checked_too(release):
    def promise_more(manifest):
        manifest["promises"].append({"model": "k-anonymity", "parameters": {"k": 5}, "quasi": ["sex"], "measured": 5})

    found = verify_folder(release(change=promise_more))
    assert not found.holds
    assert (found.promises[-1].quasi, found.promises[-1].measured, found.promises[-1].holds) == (("sex",), 2, False)


def test_a_claimed_measure_that_is_better_than_the_rows_is_refuted(release):
    found = verify_folder(release(change=lambda m: m["promises"][0].update(measured=9)))
    assert notes(found) == ["the manifest claims 9, the rows say 2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m["data"].update(rows=9), "it has 8 rows, the manifest says 9"),
        (lambda m: m["data"]["columns"].pop(), 'it adds "cost"'),
        (lambda m: m["data"]["columns"].append({"name": "zip"}), 'it lacks "zip"'),
        (lambda m: m["data"]["columns"].reverse(), "another order"),
        (lambda m: m["policy"].update(identifying=["cost"]), 'identifying columns: "cost"'),
        (lambda m: m["data"].update(sha256="0" * 64), "sha256"),
        (lambda m: m["measured"][0].update(smallest=4), '"smallest"'),
        (lambda m: m["whole"]["disease"].update(flu=2), 'distribution of "disease"'),
        (lambda m: m["input"].update(rows=11), 'distribution of "disease"'),
    ],
)
def test_what_the_manifest_says_of_the_file_must_be_true(release, change, says):
    found = verify_folder(release(whole={"disease": dict(WHOLE["disease"])}, change=change))
    assert not found.holds
    assert not found.promises[0].holds
    assert says in found.promises[0].note


def test_a_column_that_is_gone_breaks_the_promises_that_need_it(release):
    found = verify_folder(release(table=TABLE.drop("sex", "disease")))
    broken = {(p.model, p.quasi): p.note for p in found.promises if not p.holds}
    assert broken["k-anonymity", ("age", "sex")] == 'the data file lacks "sex"'
    assert broken["distinct-l-diversity", ("age",)] == 'the data file lacks "disease"'
    assert ("k-anonymity", ("age",)) not in broken


def test_a_hierarchical_promise_without_its_hierarchy_is_not_believed(release):
    found = verify_folder(release(change=lambda m: m.pop("sensitive_hierarchies")))
    assert not found.holds
    assert [p.model for p in found.promises if not p.holds] == ["t-closeness"] * 2
    assert "needs a hierarchy" in notes(found)[0]


def test_a_release_without_rows_is_refuted(release):
    found = verify_folder(release(table=TABLE.clear(), change=lambda m: m.update(promises=[])))
    assert not found.holds
    assert "no rows" in found.promises[1].note


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["../secret.csv", "/etc/hostname", "", ".", "link", "no.csv", "sub/../../secret.csv", "a\x00b"]
)
def test_the_data_file_stays_inside_the_folder(release, name):
    secret = release.folder.parent / "secret.csv"
    secret.write_text("age\n1\n")
    (release.folder / "link").symlink_to(secret)
    with pytest.raises(ReadError, match="is not in the folder"):
        verify_folder(release(change=lambda m: m["data"].update(file=name)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "JSON"),
        ("{", "JSON"),
        ("[]", "no manifest"),
        ("{}", "policy"),
        ("null", "no manifest"),
        ('{"format": 1, "data": 3, "policy": {}}', "data"),
        ("\x00\x01", "JSON"),
    ],
)
def test_a_malformed_manifest(tmp_path, text, says):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ReadError, match=says):
        verify_folder(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.update(format=3), "got 3"),
        (lambda m: m["data"].update(rows="8"), "data.rows"),
        (lambda m: m["data"].pop("sha256"), "data.sha256"),
        (lambda m: m["policy"].update(quasi=[]), "policy.quasi"),
        (lambda m: m["policy"].update(require=[{"model": "k-anonimity", "k": 2}]), "policy.require.0"),
        (lambda m: m["policy"].update(require=[{"k": 2}]), "policy.require.0"),
        (lambda m: m["policy"].update(require=[{"model": "k-anonymity", "k": 0}]), "k is out of range"),
        (lambda m: m["promises"][0].update(parameters={}), "promises.0"),
        (lambda m: m["promises"][0].update(parameters={"name": 3, "k": 2}), "promises.0"),
    ],
)
def test_a_manifest_that_makes_no_sense(release, change, says):
    with pytest.raises(ReadError, match=says):
        verify_folder(release(change=change))


def test_faults_of_the_manifest_name_no_values(release):
    with pytest.raises(ReadError, match=r"whole\.disease") as error:
        verify_folder(release(change=lambda m: m.update(whole={"disease": {"gonorrhoea": "x"}})))
    assert "gonorrhoea" not in str(error.value)


def test_no_release_at_all(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ReadError, match=r"no manifest\.json"):
            verify_folder(path)
