"""Keyed tokens: one per text in every table, none without the key."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import polars as pl
import pytest

from sfumato.core.masked import PSEUDONYMOUS
from sfumato.errors import ColumnError, PolicyError
from sfumato.pseudonyms import PSEUDONYMS, KeyedTokens
from sfumato.pseudonyms.key_file import add_generation, digests
from sfumato.pseudonyms.keyed_tokens import LETTERS
from sfumato.release.facts import as_dict, check_public
from tests.pseudonyms.conftest import Apply

TABLE = pl.DataFrame({"patient": ["1017", "1018", None, "1017"], "doctor": ["1017", "1018", "1019", "1020"]})


def test_equal_texts_have_equal_tokens_in_every_table(apply: Apply, key: Path) -> None:
    step = KeyedTokens("patient", key=key)
    change = apply(step, TABLE)
    tokens = change.columns["patient"].to_list()
    assert tokens[0] == tokens[3] != tokens[1]
    assert tokens[2] is None
    for others in ([1018, 1017], [1018.0, 1017.0, None], pl.Series(["1018", "1017"], dtype=pl.Categorical)):
        again = apply(step, pl.DataFrame({"patient": others})).columns["patient"].to_list()
        assert again[:2] == [tokens[1], tokens[0]]


def test_their_shape_is_a_public_fact(apply: Apply, key: Path) -> None:
    change = apply(KeyedTokens("patient", key=key, length=12), TABLE)
    fact = as_dict(change.facts[0], 0)
    assert check_public(change.columns, None, fact).holds
    assert not check_public(TABLE, None, fact).holds


def test_tokens_of_two_domains_cannot_be_joined_but_on_purpose(apply: Apply, key: Path) -> None:
    apart = apply(KeyedTokens(["patient", "doctor"], key=key), TABLE).columns
    assert not set(apart["patient"].drop_nulls()) & set(apart["doctor"])
    joined = apply(KeyedTokens(["patient", "doctor"], key=key, domain="person"), TABLE).columns
    assert joined["patient"][0] == joined["doctor"][0]


def test_a_dictionary_needs_the_key(apply: Apply, key: Path) -> None:
    """Everybody can try all numbers of four digits: without the key none of the tokens is found."""
    tokens = set(apply(KeyedTokens("patient", key=key), TABLE).columns["patient"].drop_nulls())
    numbers = [str(i) for i in range(10_000)]
    plain = [hashlib.sha256(text.encode()).digest() for text in numbers]
    guessed = [digests(secret, numbers) for secret in (b"", b"patient", bytes(32))]
    for rows in (plain, *guessed):
        assert not tokens & {"".join(LETTERS[byte & 31] for byte in row[:16]) for row in rows}
    add_generation(key)
    assert not tokens & set(apply(KeyedTokens("patient", key=key), TABLE).columns["patient"].drop_nulls())
    assert tokens == set(apply(KeyedTokens("patient", key=key, generation=1), TABLE).columns["patient"].drop_nulls())


def test_digests_are_those_of_the_standard_library() -> None:
    for secret in (b"k", bytes(64), bytes(100)):
        [row] = digests(secret, ["Straße"])
        assert row.tobytes() == hmac.digest(secret, "Straße".encode(), "sha256")
    assert digests(b"k", []).shape == (0, 32)


def test_a_column_without_values_stays_so(apply: Apply, key: Path) -> None:
    empty = apply(KeyedTokens("patient", key=key), pl.DataFrame({"patient": pl.Series([None, None], dtype=pl.String)}))
    assert empty.columns["patient"].to_list() == [None, None]


def test_what_is_refused(apply: Apply, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolicyError, match="its columns are not named"):
        KeyedTokens()
    with pytest.raises(PolicyError, match=r"length is out of range; got 4"):
        KeyedTokens("patient", length=4)
    with pytest.raises(PolicyError, match="domain must be a name"):
        KeyedTokens("patient", domain="")
    with pytest.raises(PolicyError, match="has no generations"):
        KeyedTokens("patient", generation=2)
    with pytest.raises(ColumnError, match="not whole"):
        apply(KeyedTokens("x", key=key), pl.DataFrame({"x": [0.5]}))
    monkeypatch.setattr("sfumato.pseudonyms.keyed_tokens.digests", lambda _, texts: digests(b"", ["one"] * len(texts)))
    with pytest.raises(PolicyError, match=r'two texts of column "patient" have one token.*larger length') as caught:
        apply(KeyedTokens("patient", key=key), TABLE)
    assert "1017" not in str(caught.value)


def test_neither_the_key_nor_its_place_is_published(apply: Apply, key: Path) -> None:
    step = KeyedTokens("patient", key=key)
    assert step.parameters()["key"] == str(key)
    change = apply(step, TABLE)
    told = f"{step.published_parameters()} {step.sentence()} {change.facts} {change.published}"
    assert "study.key" not in told
    assert key.read_text().split('"')[-2] not in told
    assert KeyedTokens(**step.parameters()) == step


@pytest.mark.parametrize("name", PSEUDONYMS)
def test_every_pseudonym_says_that_it_is_one(name: str) -> None:
    example = PSEUDONYMS[name].example
    assert example.pseudonymous
    assert example.leaves
    assert example.sentence()
    assert PSEUDONYMS.faults(name, PSEUDONYMS[name]) == []
    assert "not anonymous" in PSEUDONYMOUS
