"""Random tokens: the vault is private, grows over tables, leads back, and is written whole or not at all."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import OutputError, PolicyError, ReadError
from sfumato.pseudonyms import RandomTokens, vault
from sfumato.release.facts import as_dict, check_public
from tests.pseudonyms.conftest import Apply

TABLE = pl.DataFrame({"patient": ["1017", "1018", None, "1017"], "doctor": ["1017", "1018", "1019", "1020"]})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "vaults" / "study.vault"


def test_a_person_keeps_the_token_in_every_table(apply: Apply, place: Path) -> None:
    step = RandomTokens("patient", vault=place)
    change = apply(step, TABLE)
    first = change.columns["patient"].to_list()
    assert first[0] == first[3] != first[1]
    assert first[2] is None
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    second = apply(step, pl.DataFrame({"patient": [1019, 1018]})).columns["patient"].to_list()
    assert second[1] == first[1]
    assert second[0] not in first
    fact = as_dict(change.facts[0], 0)
    assert check_public(change.columns, None, fact).holds
    assert not check_public(TABLE, None, fact).holds


def test_the_vault_leads_back_within_a_domain(apply: Apply, place: Path) -> None:
    step = RandomTokens(["patient", "doctor"], vault=place)
    made = apply(step, TABLE).columns
    assert not set(made["patient"].drop_nulls()) & set(made["doctor"])
    assert step.reverse(made).equals(TABLE)
    crossed = pl.DataFrame({"patient": made["doctor"], "doctor": made["patient"]})
    assert step.reverse(crossed).null_count().row(0) == (4, 4)


def test_another_vault_has_other_tokens(apply: Apply, place: Path, tmp_path: Path) -> None:
    one, two = (apply(RandomTokens("doctor", vault=p), TABLE).columns["doctor"] for p in (place, tmp_path / "b.vault"))
    assert not set(one) & set(two)


def test_a_rotation_gives_new_tokens_and_keeps_the_old(apply: Apply, place: Path) -> None:
    step = RandomTokens("patient", vault=place)
    old = apply(step, TABLE).columns
    assert vault.add_generation(place) == {"patient": 2}
    new = apply(step, TABLE).columns
    assert not set(old["patient"].drop_nulls()) & set(new["patient"].drop_nulls())
    assert step.reverse(old).equals(step.reverse(new))
    with pytest.raises(PolicyError, match=r"lacks a domain; got doctor; allowed: patient"):
        vault.add_generation(place, ["doctor"])


def test_a_run_that_fails_leaves_the_vault_as_it_was(
    apply: Apply, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(RandomTokens("patient", vault=place), TABLE)
    before = sqlite3.connect(place).execute("select * from pseudonyms").fetchall()
    monkeypatch.setattr(vault, "DRAWS", 1)
    monkeypatch.setattr(vault.secrets, "token_bytes", bytes)  # all tokens are one
    with pytest.raises(PolicyError, match="no tokens of this length left"):
        apply(RandomTokens("doctor", vault=place), TABLE)
    assert sqlite3.connect(place).execute("select * from pseudonyms").fetchall() == before


def test_tokens_that_are_taken_are_drawn_again(apply: Apply, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([bytes(4 * 8), bytes(3 * 8), bytes(range(3 * 8))])
    monkeypatch.setattr(vault.secrets, "token_bytes", lambda size: next(drawn))
    made = apply(RandomTokens("doctor", vault=place, length=8), TABLE).columns["doctor"]
    assert made.n_unique() == 4
    assert made[0] == "aaaaaaaa"


def test_what_is_refused(apply: Apply, place: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="the vault is not named"):
        RandomTokens("patient")
    step = RandomTokens("patient", vault=place)
    with pytest.raises(ReadError, match="there is no vault"):
        step.reverse(TABLE)
    apply(step, TABLE)
    with pytest.raises(PolicyError, match=r"another length; got length=20; allowed: length=16"):
        apply(RandomTokens("patient", vault=place, length=20), TABLE)
    place.chmod(0o644)
    with pytest.raises(ReadError, match="can be read by others"):
        apply(step, TABLE)
    for text in ("not a vault, but a text that is long enough to have a header of a file" * 9, ""):
        other = tmp_path / f"other{len(text)}"
        other.touch(0o600)
        other.write_text(text)
        with pytest.raises(ReadError, match="is no vault"):
            RandomTokens("patient", vault=other).reverse(TABLE)
    foreign = tmp_path / "foreign.db"
    foreign.touch(0o600)
    with sqlite3.connect(foreign) as connection:
        connection.execute("create table t (x)")
    with pytest.raises(ReadError, match="is no vault"):
        apply(RandomTokens("patient", vault=foreign), TABLE)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("{}")
    with pytest.raises(OutputError, match="a vault must not be published"):
        apply(RandomTokens("patient", vault=tmp_path / "out" / "vault"), TABLE)


def test_the_place_of_the_vault_is_not_published(place: Path) -> None:
    step = RandomTokens("patient", vault=place)
    assert "vault" not in step.published_parameters()
    assert RandomTokens(**step.parameters()) == step
