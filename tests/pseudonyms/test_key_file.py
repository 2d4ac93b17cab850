"""Key files: the owner's alone, outside releases, with every generation."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from sfumato.errors import OutputError, PolicyError, ReadError
from sfumato.pseudonyms.key_file import add_generation, new, read, secret_of


def test_a_new_key_file_is_its_owners_alone(tmp_path: Path) -> None:
    file = new(tmp_path / "study.key")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert read(file.path) == file
    assert file.keys[0].hex() not in repr(file)
    with pytest.raises(OutputError, match="exists"):
        new(file.path)


def test_a_key_file_that_others_can_read_is_refused(key: Path) -> None:
    key.chmod(0o640)
    with pytest.raises(ReadError, match=r"can be read by others.*chmod 600"):
        read(key)


def test_a_key_is_no_part_of_a_release(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(OutputError, match="must not be published"):
        new(tmp_path / "inside" / "study.key")


def test_a_link_to_a_key_file_stays_one(key: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(key)
    assert add_generation(tmp_path / "link").keys == read(key).keys
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("{}")
    key.rename(tmp_path / "out" / "study.key")
    (tmp_path / "other").symlink_to(tmp_path / "out" / "study.key")
    with pytest.raises(OutputError, match="must not be published"):
        read(tmp_path / "other")


def test_old_generations_stay(key: Path) -> None:
    first = read(key)
    second = add_generation(key)
    assert second.keys[0] == first.keys[0]
    assert second.keys[1] != first.keys[0]
    assert read(key).key() == second.key(2) == second.keys[1]
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    with pytest.raises(PolicyError, match=r"generation; got 3; allowed: 1 to 2"):
        second.key(3)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"sfumato": "key of pseudonyms", "generations": []}', json.dumps({"generations": [1]})]
)
def test_other_files_are_no_key_files(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.touch(0o600)
    file.write_text(text)
    with pytest.raises(ReadError):
        read(file)
    with pytest.raises(ReadError, match="there is no key file"):
        read(tmp_path / "absent")


def test_secrets_differ_by_purpose_domain_and_generation(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_generation(key)
    asked = [("a", "b"), ("a", "c"), ("c", "b"), ('a", "b', "")]
    found = {secret_of(str(key), number, *one) for number in (1, 2) for one in asked}
    assert len(found) == 8
    monkeypatch.setenv("SFUMATO_KEY", "owner")
    assert secret_of(None, None, "a", "b") == secret_of(None, None, "a", "b") not in found
