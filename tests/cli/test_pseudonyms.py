"""sfumato pseudonyms: new, rotate and reverse, for the owner of a key or a vault."""

from __future__ import annotations

import stat
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from tests.cli.conftest import Run

NUMBERS = ["078-05-1120", "219-09-9999"]
STEP = "format-preserving ssn keep=- key=study.key"


@pytest.fixture
def released(run: Run, tmp_path: Path) -> list[str]:
    """A table with pseudonyms under study.key, and what they are."""
    assert run("pseudonyms", "new", "study.key").code == 0
    frame = pl.DataFrame({"ssn": NUMBERS, "age": [31, 42]})
    with pytest.warns(sf.RowOrderWarning):
        made = sf.mask(frame, STEP, identifying=["ssn"], insensitive=["age"], order="input").data
    made.write_csv(tmp_path / "released.csv")
    return list(made["ssn"])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_makes_a_key_file(run: Run, tmp_path: Path) -> None:
    made = run("pseudonyms", "new", "study.key")
    assert made.code == 0
    assert "nobody else may have" in made.out
    assert mode(tmp_path / "study.key") == 0o600
    again = run("pseudonyms", "new", "study.key")
    assert (again.code, again.out) == (2, "")
    assert "exists" in again.err
    assert run("pseudonyms", "new", "b.key", "--json").json == {"key": "b.key"}
    assert "one key file" in run("pseudonyms", "new").err
    assert "a key file only" in run("pseudonyms", "new", "c.key", "--step", STEP).err


def test_reverse_prints_or_writes_originals(run: Run, released: list[str], tmp_path: Path) -> None:
    found = run("pseudonyms", "reverse", *released, "--step", STEP, "--json")
    assert found.json == {"originals": dict(zip(released, NUMBERS, strict=True))}
    assert run("pseudonyms", "reverse", released[0], "--step", STEP).out == f"{released[0]}  {NUMBERS[0]}\n"
    done = run("pseudonyms", "reverse", "--input", "released.csv", "--step", STEP, "-o", "named.csv")
    assert "names people" in done.out
    assert mode(tmp_path / "named.csv") == 0o600
    assert pl.read_csv(tmp_path / "named.csv")["ssn"].to_list() == NUMBERS
    assert "exists" in run("pseudonyms", "reverse", "--input", "released.csv", "--step", STEP, "-o", "named.csv").err


def test_rotate_renews_a_table(run: Run, released: list[str], tmp_path: Path) -> None:
    more = ("--input", "released.csv", "--step", "format-preserving ssn keep=-", "-o", "new.csv")
    done = run("pseudonyms", "rotate", "study.key", *more, "--json")
    assert done.json == {"file": "study.key", "generations": {"key": 2}, "table": "new.csv"}
    new = pl.read_csv(tmp_path / "new.csv")["ssn"].to_list()
    assert not set(new) & set(released)
    assert run("pseudonyms", "reverse", *new, "--step", STEP, "--json").json["originals"] == dict(
        zip(new, NUMBERS, strict=True)
    )
    old = run("pseudonyms", "reverse", *released, "--step", f"{STEP} generation=1", "--json").json["originals"]
    assert list(old.values()) == NUMBERS
    again = run("pseudonyms", "rotate", "study.key", *more, "--from", "1", "--overwrite", "--json")
    assert "generations" not in again.json
    assert pl.read_csv(tmp_path / "new.csv")["ssn"].to_list() == new


def test_a_vault_is_rotated_and_reversed(run: Run, tmp_path: Path) -> None:
    step = "random-tokens ssn vault=study.vault"
    run("pseudonyms", "new", "study.key")
    with pytest.warns(sf.RowOrderWarning):
        made = sf.mask({"ssn": NUMBERS}, step, identifying=["ssn"], order="input").data
    assert run("pseudonyms", "rotate", "study.vault").out == "study.vault: generation 2 of ssn\n"
    found = run("pseudonyms", "reverse", made["ssn"][0], "none", "--step", step).out
    assert found == f"{made['ssn'][0]}  {NUMBERS[0]}\nnone  unknown\n"


@pytest.mark.slow
def test_what_cannot_be_done_changes_nothing(run: Run, released: list[str], tmp_path: Path) -> None:
    before = (tmp_path / "study.key").read_bytes()
    table = ("--input", "released.csv", "-o", "new.csv")
    for arguments, words in (
        (("rotate", "study.key", *table, "--step", "keyed-tokens ssn"), "leads nowhere back"),
        (("rotate", "study.key", *table, "--step", "format-preserving ssn key=b.key"), "another key or vault"),
        (("rotate", "study.key", *table, "--step", "format-preserving ssn"), "none of its 10 letters"),
        (("rotate", "study.key", *table, "--step", "format-preserving nss"), "no column"),
        (("rotate", "study.key", *table), "which pseudonyms"),
        (("rotate", "study.key", "--input", "released.csv", "--step", STEP), "where the table goes"),
        (("rotate", "study.key", "--from", "1"), "name it by --input"),
        (("rotate", "released.csv"), "read by others"),
        (("reverse", released[0]), "which pseudonyms"),
        (("reverse", "--step", STEP), "give tokens, or a table"),
        (("reverse", released[0], "--step", STEP, *table), "give tokens, or a table"),
        (("reverse", released[0], "--step", "keyed-tokens ssn"), "leads nowhere back"),
        (("reverse", released[0], "--step", STEP, "--step", STEP), "those of one step"),
        (("reverse", *table, "--step", STEP, "--from", "1"), "generation=1"),
    ):
        found = run("pseudonyms", *arguments)
        assert (found.code, found.out) == (2, ""), arguments
        assert words in found.err, arguments
        assert not any(number in found.err for number in NUMBERS)
    assert (tmp_path / "study.key").read_bytes() == before
    assert not (tmp_path / "new.csv").exists()


POLICY = """
[input]
path = "data.csv"
[roles]
identifying = ["ssn"]
insensitive = ["age"]
[[mask]]
step = "format-preserving"
columns = "ssn"
keep = "-"
key = "study.key"
[output]
path = "out"
"""


@pytest.mark.slow
def test_mask_takes_keys_from_the_folder_of_a_policy_and_of_the_shell(run: Run, tmp_path: Path) -> None:
    """And neither the manifest nor what is printed names a key, a vault or an original."""
    study = tmp_path / "study"
    study.mkdir()
    pl.DataFrame({"ssn": NUMBERS * 3, "age": [31, 42] * 3}).write_csv(study / "data.csv")
    (study / "policy.toml").write_text(POLICY)
    run("pseudonyms", "new", study / "study.key")
    done = run("mask", "study/policy.toml")
    assert done.code == 0, done.err
    assert "not anonymous" in done.out
    roles = ("--identifying", "ssn", "--insensitive", "age")
    step = "random-tokens ssn vault=vaults/study.vault"
    flags = run("mask", "study/data.csv", *roles, "--step", step, "-o", "flags")
    assert flags.code == 0, flags.err
    assert mode(tmp_path / "vaults" / "study.vault") == 0o600
    files = [*(study / "out").iterdir(), *(tmp_path / "flags").iterdir()]
    told = [done.out, flags.out, *(file.read_text("utf-8") for file in files)]
    assert not any(word in text for text in told for word in ("study.key", "study.vault", *NUMBERS))
    assert run("verify", "flags").code == run("verify", study / "out").code
    (study / "study.key").chmod(0o644)
    assert "can be read by others" in run("mask", "study/policy.toml", "--overwrite").err
