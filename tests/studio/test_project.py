"""A project is a folder: its state, the policy that equals it, steps back and forward, and nobody else's."""

from __future__ import annotations

import sqlite3
import stat
import tomllib

import pytest

from sfumato.errors import OutputError, PolicyError, ReadError
from sfumato.studio.project import StaleState, create, delete, find, opened, projects

AGE = {"roles": {"quasi": ["age"]}}
SEX = {"roles": {"quasi": ["age", "sex"]}}


def policy_of(project):
    return tomllib.loads((project.folder / "policy.toml").read_text())


def test_the_policy_file_equals_the_state_after_every_step(tmp_path):
    project = create(tmp_path, "Ward 3")
    assert policy_of(project) == project.policy == {}
    for policy in (AGE, SEX):
        project.change("roles", policy)
        assert policy_of(project) == project.policy == policy
    assert project.undo()
    assert policy_of(project) == project.policy == AGE
    assert project.can() == (True, True)
    assert project.redo()
    assert policy_of(project) == SEX
    assert not project.redo()
    project.undo()
    project.change("roles", {"roles": {"quasi": ["ward"]}})  # another way from here: redo takes the newest
    project.undo()
    project.redo()
    assert policy_of(project) == {"roles": {"quasi": ["ward"]}}
    assert project.undo()
    assert project.undo()
    assert not project.undo()


def test_a_change_to_the_same_is_no_step(tmp_path):
    project = create(tmp_path, "p")
    first = project.change("roles", AGE)
    assert project.change("roles", AGE) == first


def test_a_stale_tab_is_told_and_changes_nothing(tmp_path):
    project, seen = create(tmp_path, "p"), []
    drawn = project.step.number
    project.listeners.add(lambda: seen.append(1))
    project.change("roles", AGE, drawn)
    with pytest.raises(StaleState, match="in another tab"):
        project.change("roles", SEX, drawn)
    assert project.policy == AGE
    assert len(seen) == 1


def test_folders_are_the_owners_alone(tmp_path):
    project = create(tmp_path / "root", "p")
    for path in (project.folder.parent, project.folder, project.folder / "private", project.folder / "releases"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((project.folder / "project.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "x" * 81, "a\nb", " a", "a ", "a."])
def test_names_lead_nowhere_else(tmp_path, name):
    with pytest.raises(PolicyError, match="no name of a project"):
        create(tmp_path, name)
    create(tmp_path, "real")
    with pytest.raises(ReadError, match="no such project"):
        find(tmp_path / "real", name)


def test_a_link_out_of_the_root_is_no_project(tmp_path):
    create(tmp_path / "ann", "hers")
    (tmp_path / "ben").mkdir()
    (tmp_path / "ben" / "link").symlink_to(tmp_path / "ann" / "hers")
    with pytest.raises(ReadError, match="no such project"):
        find(tmp_path / "ben", "link")


def test_a_name_is_taken_once_and_free_when_deleted(tmp_path):
    create(tmp_path, "p")
    with pytest.raises(OutputError, match="already"):
        create(tmp_path, "p")
    delete(tmp_path, "p")
    assert projects(tmp_path) == []
    create(tmp_path, "p").change("roles", AGE)


def test_a_project_of_a_newer_version_is_left_alone(tmp_path):
    folder = create(tmp_path, "p").folder
    with sqlite3.connect(folder / "project.sqlite") as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    from sfumato.studio import project as module

    module._open.clear()
    with pytest.raises(ReadError, match="newer Sfumato"):
        opened(folder)


def test_releases_and_candidates_are_numbered(tmp_path):
    project = create(tmp_path, "p", AGE)
    number, folder = project.next_release()
    folder.mkdir()
    project.add_release(number, {"holds": True})
    assert project.next_release()[0] == 2
    assert [one["figures"] for one in project.releases()] == [{"holds": True}]
    first = project.add_candidate("mondrian", {"loss": 0.2})
    assert project.candidates()[0] == {
        "number": first, "name": "mondrian", "step": 1, "policy": AGE, "figures": {"loss": 0.2},
    }  # fmt: skip
    project.drop_candidate(first)
    assert project.candidates() == []
    project.keep("note", "for the board")
    assert project.kept("note") == "for the board"


def test_a_disk_that_fills_leaves_the_project_as_it_was(disk):
    root = disk("300k")
    project = create(root, "p", AGE)
    filler = root / "filler"
    refused = 0
    for size in (200_000, 100_000, 50_000, 20_000, 10_000, 5_000, 2_000, 1_000) * 3:  # until nothing fits any more
        try:
            with filler.open("ab") as file:
                file.write(b"x" * size)
        except OSError:
            pass
        try:
            project.change("roles", {"roles": {"quasi": ["age", f"column {size} {refused}" + "x" * 5_000]}})
        except OutputError as error:
            refused += 1
            assert "disk" in str(error) or "space" in str(error)
    assert refused
    with pytest.raises(OutputError, match="cannot be made"):
        create(root, "q")
    assert not (root / "q").exists()
    filler.unlink()
    assert policy_of(project) == project.policy
    project.change("roles", SEX)
    assert policy_of(project) == project.policy == SEX


@pytest.mark.parametrize("content", [b"", b"garbage" * 100, "CREATE TABLE meta (key, value)", "CREATE TABLE x (y)"])
def test_what_is_no_state_of_a_project_is_told(tmp_path, content):
    folder = tmp_path / "p"
    folder.mkdir()
    if isinstance(content, bytes):
        (folder / "project.sqlite").write_bytes(content)
    else:
        with sqlite3.connect(folder / "project.sqlite") as db:
            db.execute(content)
    with pytest.raises((ReadError, OutputError), match=r'"p" cannot be used|no project of the studio'):
        opened(folder)
    assert projects(tmp_path) == [folder]  # the page lists it, with what is wrong


def test_a_link_is_not_listed(tmp_path):
    there = create(tmp_path / "there", "p").folder
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(there)
    assert projects(tmp_path / "here") == []
