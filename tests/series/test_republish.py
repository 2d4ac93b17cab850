"""Releases one after the other: state, folders, what is refused, and what a killed run leaves."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato import errors
from sfumato.series import republish as making
from sfumato.series import state as states
from sfumato.series.values import Turnover

JANUARY = {"id": ["Ann", "Bob"], "age": [30, 32], "disease": ["flu", "ulcer"]}
FEBRUARY = {"id": ["Ann", "Cid"], "age": [30, 40], "disease": ["flu", "cold"]}
MARCH = {"id": ["Ann", "Cid", "Bob"], "age": [30, 40, 32], "disease": ["flu", "cold", "ulcer"]}
ROLES = {"person": "id", "quasi": ["age"], "sensitive": "disease", "m": 2}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_KEY", "a key of these tests")
    return tmp_path


def _first(**more):
    found = sf.republish(None, JANUARY, state="s.bin", **ROLES, **more)
    found.save("a")
    return found


def test_a_series_by_folders(place):
    _first()
    second = sf.republish("a", FEBRUARY, state="s.bin")
    second.save("b")
    told = {"stayed": 1, "returned": 0, "arrived": 1, "left": 1, "changed": 0}
    assert second.turnover == Turnover(
        number=2, people=2, groups=2, counterfeits=2, pinned=1, exposed=1, **told
    )  # Ann, if made anew
    found = sf.verify("b")
    assert found.outcome == "holds"
    assert [(p.model, p.how) for p in found.promises][1:] == [
        ("m-uniqueness", "proven"),
        ("m-invariance", "by construction"),
    ]
    third = sf.republish("b", MARCH, state="s.bin")
    third.save("c", format="parquet")
    assert third.turnover.returned == 1
    assert sf.verify("c").outcome == "holds"
    links = json.loads((place / "c" / "manifest.json").read_text())["links"]
    assert links[-1]["sha256"] == states.manifest_hash(place / "b")


def test_a_series_by_objects_is_saved_in_turn(place):
    first = sf.republish(None, JANUARY, state="s.bin", **ROLES)
    second = sf.republish(first, pl.DataFrame(FEBRUARY), state="s.bin")
    assert isinstance(second.tables["data"], pl.DataFrame)
    assert isinstance(first.tables["data"], dict)
    with pytest.raises(errors.OutputError, match="belongs to another release"):
        second.save("b")
    assert not (place / "b").exists()
    first.save("a")
    second.save("b")
    other = sf.republish(first, MARCH, state="s.bin")
    with pytest.raises(errors.OutputError, match="belongs to another release"):
        other.save("c")  # the first release has been followed by the second already
    first_again = states.read(place / "s.bin", states.secret_from(None))
    assert first_again.number == 2


def test_a_release_may_be_saved_in_two_formats(place):
    first = _first()
    first.save("p", format="parquet")
    assert sf.republish("a", FEBRUARY, state="s.bin").turnover == sf.republish("p", FEBRUARY, state="s.bin").turnover


def test_the_state_is_the_owners_alone_and_tells_nobody_anything(place):
    _first()
    assert stat.S_IMODE((place / "s.bin").stat().st_mode) == 0o600
    content = (place / "s.bin").read_bytes()
    for word in (b"Ann", b"flu", b"ulcer", b"disease", b"age"):
        assert word not in content
    assert sorted(p.name for p in place.iterdir()) == ["a", "s.bin"]
    (place / "s.bin").chmod(0o644)
    with pytest.raises(errors.ReadError, match="read by others"):
        sf.republish("a", FEBRUARY, state="s.bin")


def test_no_id_and_no_key_in_what_leaves(place):
    _first()
    sf.republish("a", FEBRUARY, state="s.bin").save("b")
    for file in (place / "b").iterdir():
        text = file.read_bytes()
        assert b"Ann" not in text
        assert b"a key of these tests" not in text
    assert "id" not in sf.republish("b", MARCH, state="s.bin").tables["data"]


def test_a_copy_has_no_key(place):
    copy = pickle.loads(pickle.dumps(_first()))
    assert copy.kept is None
    assert b"a key of these tests" not in pickle.dumps(copy)
    with pytest.raises(errors.OutputError, match="copy"):
        copy.save("c")
    with pytest.raises(errors.PolicyError, match="copy"):
        sf.republish(copy, FEBRUARY, state="s.bin")


def test_the_same_seed_and_table_make_the_same_bytes(place):
    for name in ("one", "two"):
        sf.republish(None, JANUARY, state=f"{name}.bin", seed=7, **ROLES).save(name)
    for file in (place / "one").iterdir():
        assert file.read_bytes() == (place / "two" / file.name).read_bytes()


def test_columns_without_a_role_stay_at_home(place):
    found = sf.republish(None, JANUARY | {"note": ["x", "y"]}, state="s.bin", **ROLES)
    assert found.left_out == ("note",)
    assert list(found.tables["data"]) == ["group", "age", "disease"]


def _changed_file(place):
    file = place / "a" / "data.csv"
    file.write_text(file.read_text().replace("flu", "gout"))


def _changed_manifest(place):
    file = place / "a" / "manifest.json"
    file.write_text(file.read_text().replace('"groups": 1', '"groups": 2'))


def _cut_state(place):
    (place / "s.bin").write_bytes((place / "s.bin").read_bytes()[:-1])


def _flipped_state(place):
    content = bytearray((place / "s.bin").read_bytes())
    content[60] ^= 1
    (place / "s.bin").write_bytes(content)


def _no_state(place):
    (place / "s.bin").write_bytes(b"id,age")
    (place / "s.bin").chmod(0o600)


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        (_changed_file, "not the file that its manifest describes"),
        (_changed_manifest, "does not belong to the release"),
        (_cut_state, "changed or cut short"),
        (_flipped_state, "changed or cut short"),
        (_no_state, "is no state of releases"),
        (lambda place: (place / "s.bin").unlink(), "there is no state"),
        (lambda place: shutil.rmtree(place / "a"), "is not a release"),
        (lambda place: os.environ.__setitem__("SFUMATO_KEY", "another"), "another key"),
    ],
)
def test_what_does_not_fit_is_refused(place, monkeypatch, fault, match):
    monkeypatch.setenv("SFUMATO_KEY", "a key of these tests")  # and put back
    _first()
    fault(place)
    with pytest.raises(errors.ReadError, match=match):
        sf.republish("a", FEBRUARY, state="s.bin")


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"m": 3}, errors.PolicyError, "m is another"),
        ({"m": 1}, errors.PolicyError, "m is out of range"),
        ({"quasi": ["zip"]}, errors.PolicyError, "the columns are others"),
        ({"person": "name"}, errors.PolicyError, "the columns are others"),
        ({"sensitive": "age"}, errors.PolicyError, "the columns are others"),
        ({"changed": "drop"}, errors.PolicyError, "changed"),
        ({"values": "gout"}, errors.PolicyError, "values must be a list"),
        ({"state": "a/s.bin"}, errors.OutputError, "is a release"),
    ],
)
def test_parameters_that_make_no_sense(place, given, error, match):
    _first()
    with pytest.raises(error, match=match):
        sf.republish("a", FEBRUARY, **{"state": "s.bin", **given})


def test_tables_of_another_schema_are_refused(place):
    _first()
    with pytest.raises(errors.ColumnError, match="disease"):
        sf.republish("a", {"id": ["Ann"], "age": [30]}, state="s.bin")
    with pytest.raises(errors.PolicyError, match="first release needs"):
        sf.republish(None, JANUARY, state="t.bin", person="id")
    with pytest.raises(errors.PolicyError, match="different columns"):
        sf.republish(None, JANUARY, state="t.bin", person="id", quasi=["age", "disease"], sensitive="disease")
    with pytest.raises(errors.PolicyError, match="previous must be"):
        sf.republish(JANUARY, FEBRUARY, state="s.bin")
    with pytest.raises(errors.OutputError, match="belongs to release 1"):
        sf.republish(None, FEBRUARY, state="s.bin", **ROLES)


def test_columns_of_another_kind_are_refused(place):
    _first()
    old = states.read(place / "s.bin", states.secret_from(None))
    for name, values in (("age", ["30", "forty"]), ("disease", [1, 2])):
        with pytest.raises(errors.ColumnError, match=f'"{name}" is of another kind than in the release before') as told:
            sf.republish("a", {**FEBRUARY, name: values}, state="s.bin")
        assert "forty" not in str(told.value)
    whole = sf.republish("a", {**FEBRUARY, "age": [30.0, 40.5]}, state="s.bin")  # numbers all the same
    assert whole.kept.state.kinds == {"age": "decimal", "disease": "text"}
    missing = sf.republish("a", {**FEBRUARY, "age": [None, None]}, state="s.bin")
    assert missing.kept.state.kinds == old.kinds == {"age": "integer", "disease": "text"}
    states.write(place / "s.bin", replace(old, kinds={}), states.secret_from(None))  # as earlier states were
    assert sf.republish("a", {**FEBRUARY, "age": ["30", "forty"]}, state="s.bin").turnover.number == 2


def test_the_state_never_stands_in_the_release(place):
    found = sf.republish(None, JANUARY, state="a/s.bin", **ROLES)
    with pytest.raises(errors.OutputError, match="must not be"):
        found.save("a")
    assert not (place / "a" / "manifest.json").exists()


def test_the_key_may_be_a_file(place):
    key = place / "study.key"
    key.touch(0o600)
    key.write_text("0123456789abcdef")
    _first(key="study.key")
    with pytest.raises(errors.ReadError, match="another key"):
        sf.republish("a", FEBRUARY, state="s.bin")
    assert sf.republish("a", FEBRUARY, state="s.bin", key="study.key").turnover.stayed == 1
    key.write_text("short")
    with pytest.raises(errors.ReadError, match="too short"):
        sf.republish("a", FEBRUARY, state="s.bin", key="study.key")


def test_a_write_that_fails_leaves_state_and_folder(place, monkeypatch):
    _first()
    second = sf.republish("a", FEBRUARY, state="s.bin")

    def full(*given):
        raise OSError(28, "No space left on device")

    before = (place / "s.bin").read_bytes()
    monkeypatch.setattr("sfumato.release.release_set.write_table", full)
    with pytest.raises(errors.OutputError):
        second.save("b")
    assert (place / "s.bin").read_bytes() == before
    monkeypatch.undo()
    monkeypatch.chdir(place)
    monkeypatch.setenv("SFUMATO_KEY", "a key of these tests")
    sf.republish("a", FEBRUARY, state="s.bin").save("b")
    assert sf.republish("b", MARCH, state="s.bin").turnover.number == 3
    assert sorted(p.name for p in place.iterdir()) == ["a", "b", "s.bin"]


class Killed(BaseException):
    """The run ends here."""


@pytest.mark.slow
@pytest.mark.parametrize("step", range(4))
def test_a_run_that_ends_between_its_steps_leaves_a_series_that_goes_on(place, monkeypatch, step):
    """The pending state, the folder, the new state, and what is cleared away: ended before each."""
    _first()
    second = sf.republish("a", FEBRUARY, state="s.bin")
    with monkeypatch.context() as broken:
        if step in (0, 2):
            write, calls = states.write, []

            def dies(*given):
                calls.append(given)
                if len(calls) == (1 if step == 0 else 2):
                    raise Killed
                write(*given)

            broken.setattr(making.states, "write", dies)
        elif step == 1:
            broken.setattr("sfumato.release.release_set.write_manifest", _die)
        else:
            broken.setattr(making, "suppress", _die)
        with pytest.raises(Killed):
            second.save("b")
    if step < 2:
        assert not (place / "b").exists()
        sf.republish("a", FEBRUARY, state="s.bin").save("b")  # again, as if nothing had been
    else:
        with pytest.raises(errors.ReadError, match="does not belong"):
            sf.republish("a", FEBRUARY, state="s.bin")  # the release is in place: nothing else may follow the first
    third = sf.republish("b", MARCH, state="s.bin")
    assert (third.turnover.number, third.turnover.returned) == (3, 1)
    third.save("c")
    assert not states.beside(place / "s.bin").exists()


def _die(*given):
    raise Killed


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.02, 0.1, 0.2, 0.4])
def test_a_run_that_is_killed_by_the_system(place, after):
    """Whenever it is killed, the folder and the state of either release fit."""
    _first()
    work = textwrap.dedent(
        f"""
        import sfumato as sf, sys
        second = sf.republish("a", {FEBRUARY!r}, state="s.bin")
        print("ready", flush=True)
        second.save("b")
        """
    )
    run = subprocess.Popen([sys.executable, "-c", work], stdout=subprocess.PIPE, cwd=place, env=dict(os.environ))
    assert run.stdout.readline() == b"ready\n"
    try:
        run.wait(after)
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGKILL)
        run.wait()
    if not (place / "b" / "manifest.json").exists():
        sf.republish("a", FEBRUARY, state="s.bin").save("b")
    assert sf.republish("b", MARCH, state="s.bin").turnover.number == 3


def test_two_runs_at_once_are_refused(place):
    _first()
    second = sf.republish("a", FEBRUARY, state="s.bin")
    with states.alone(place / "s.bin"), pytest.raises(errors.OutputError, match="another run"):
        second.save("b")
    second.save("b")


def test_states_come_back_as_they_were(place):
    kept = _first().kept
    found = states.unpack(states.pack(kept.state, kept.secret), kept.secret, kept.place)
    assert found.people.equals(kept.state.people)
    assert found.signatures.values.tolist() == kept.state.signatures.values.tolist()
    assert (found.serial, found.values, found.m) == (kept.state.serial, kept.state.values, 2)
    assert "Ann" not in repr(kept.state)
    assert "key" not in repr(kept.secret)


def test_counts_that_are_other_than_the_method_says_are_found(place):
    _first()
    sf.republish("a", FEBRUARY, state="s.bin").save("b")
    assert sf.verify("b").outcome == "holds"
    said = json.loads(Path("b/manifest.json").read_text())
    said["method"]["counterfeits"] += 1
    Path("b/manifest.json").write_text(json.dumps(said))
    found = sf.verify("b")
    assert found.outcome == "broken"
    assert "counterfeits than the method says" in found.promises[0].note


def test_a_stray_file_is_told(place):
    _first()
    assert "hold" not in (sf.verify("a").caveat or "").replace("whoever has", "")
    Path("a/names.csv").write_text("who\nAnn\n")
    assert "no part of the release: names.csv" in sf.verify("a").caveat
