"""Projects from policy files and from other projects, examples, and other names."""

from __future__ import annotations

import tomllib

import pytest

from sfumato.errors import OutputError, PolicyError, ReadError
from sfumato.studio.imports import free_name, import_path, import_policy, parsed_policy
from sfumato.studio.project import create, find, projects, rename
from sfumato.studio.tasks import data
from sfumato.studio.tasks import projects as examples
from sfumato.studio.views.projects import adult_file, stands_at

TEXT = """[input]
path = "in.csv"
[roles]
quasi = ["age"]
[hierarchies]
zip = "zip.csv"
[output]
path = "out"
format = "parquet"
"""


def quiet(message, share=None):
    pass


def test_a_policy_file_becomes_a_project_that_means_the_same(tmp_path):
    file = tmp_path / "study" / "policy.toml"
    file.parent.mkdir()
    file.write_text(TEXT)
    found = import_path(tmp_path / "root", file)
    assert found.name == "study"
    assert found.policy == {
        "input": {"path": str(tmp_path / "study" / "in.csv")},
        "roles": {"quasi": ["age"]},
        "hierarchies": {"zip": str(tmp_path / "study" / "zip.csv")},
        "output": {"format": "parquet"},  # where releases go, the project knows
    }
    assert import_path(tmp_path / "root", file).name == "study 2"
    assert import_policy(tmp_path / "root", "<b>x", parsed_policy(TEXT)).policy["input"] == {"path": "in.csv"}


@pytest.mark.parametrize("text", ["not toml", "a = 1", "[input]\nday = 2024-01-01", "[input]\npath = " + "[" * 5000])
def test_what_is_no_policy_is_refused_without_a_word_of_it(text):
    with pytest.raises(PolicyError, match="no policy file"):
        parsed_policy(text)


def test_a_project_is_copied_with_its_steps_and_files(tmp_path):
    own = create(tmp_path / "there", "Ward 3", {"roles": {"quasi": ["age"]}})
    own.change("roles", {"roles": {"quasi": ["age", "sex"]}})
    (own.folder / "private" / "in.csv").write_text("age,sex\n")
    (own.folder / "private" / "link").symlink_to("/etc/passwd")
    copy = import_path(tmp_path / "here", own.folder)
    assert (copy.name, copy.policy) == ("Ward 3", own.policy)
    assert (copy.folder / "private" / "in.csv").is_file()
    assert not (copy.folder / "private" / "link").exists()
    assert copy.undo()
    assert own.policy == {"roles": {"quasi": ["age", "sex"]}}  # untouched
    with pytest.raises(ReadError, match="no project"):
        import_path(tmp_path / "here", tmp_path)
    with pytest.raises(ReadError, match="cannot be read"):
        import_path(tmp_path / "here", tmp_path / "none.toml")


def test_a_project_is_renamed(tmp_path):
    create(tmp_path, "old", {"roles": {"quasi": ["age"]}})
    create(tmp_path, "other")
    assert rename(tmp_path, "old", "new").policy == {"roles": {"quasi": ["age"]}}
    assert {path.name for path in projects(tmp_path)} == {"new", "other"}
    with pytest.raises(ReadError, match="no such project"):
        find(tmp_path, "old")
    with pytest.raises(OutputError, match="already"):
        rename(tmp_path, "new", "other")
    with pytest.raises(PolicyError, match="no name of a project"):
        rename(tmp_path, "new", "../x")


@pytest.mark.parametrize("wanted", ["../../etc", "<script>", "", "...", "x" * 300, "Ward: 3/4"])
def test_names_are_made_fit(tmp_path, wanted):
    assert create(tmp_path, free_name(tmp_path, wanted)).folder.parent == tmp_path


def test_the_step_a_project_waits_for(tmp_path):
    project = create(tmp_path, "p")
    assert stands_at(project) == "data"
    project.change("table", {"input": {"path": "a.csv"}})
    assert stands_at(project) == "roles"
    decided = {"input": {"path": "a.csv"}, "roles": {"quasi": ["age"]}}
    project.change("roles", decided)
    assert stands_at(project) == "promises"
    for protection in ({"require": [{"model": "k-anonymity", "k": 2}]}, {"mask": [{"step": "rounding"}]}):
        project.change("protection", decided | protection)
        assert stands_at(project) == "release"


def test_examples_can_be_read(tmp_path, monkeypatch):
    project = create(tmp_path, "p")
    table = examples.register(str(project.folder), quiet)
    assert table == {"path": "private/input/register.csv"}
    monkeypatch.delenv("SFUMATO_SHARED", raising=False)
    monkeypatch.delenv("SFUMATO_ADULT", raising=False)
    assert adult_file() is None
    source = tmp_path / "adult.data"
    line = (
        "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K\n"
    )
    source.write_text(line * 3)
    monkeypatch.setenv("SFUMATO_ADULT", str(source))
    assert adult_file() == source
    asked = {
        "tables": {"input": examples.adult(str(project.folder), str(source), quiet)},
        "folder": str(project.folder),
    }
    job, age = data.columns(asked, ["occupation", "age"], quiet)
    assert (job["missing"], age["kind"]) == (3, "integer")
    assert tomllib.loads(project.exported(asked["tables"]))["input"]["header"] is False
