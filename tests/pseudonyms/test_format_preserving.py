"""Format-preserving pseudonyms: form and separators stay, the owner turns them back, small domains are refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import ColumnError, MissingExtra, PolicyError
from sfumato.pseudonyms import FormatPreserving
from sfumato.pseudonyms.key_file import add_generation
from sfumato.release.facts import as_dict, check_public
from tests.pseudonyms.conftest import Apply

TABLE = pl.DataFrame(
    {
        "ssn": ["078-05-1120", "219-09-9999", None, "078-05-1120"],
        "number": [123456, 1234567890, 999999, 123456],
        "plate": ["ab123cd", "zz999zz", "ab123cd", "zz998zz"],
    }
)


def test_form_and_separators_stay(apply: Apply, key: Path) -> None:
    step = FormatPreserving("ssn", key=key, keep="-")
    change = apply(step, TABLE)
    made = change.columns["ssn"]
    assert made[0] == made[3] != TABLE["ssn"][0]
    assert made[2] is None
    assert made.drop_nulls().str.contains(r"^\d{3}-\d{2}-\d{4}$").all()
    assert step.reverse(change.columns)["ssn"].to_list() == TABLE["ssn"].to_list()
    fact = as_dict(change.facts[0], 0)
    assert check_public(change.columns, None, fact).holds
    assert not check_public(pl.DataFrame({"ssn": ["078-05-112x"]}), None, fact).holds


def test_numbers_become_texts_of_the_same_length(apply: Apply, key: Path) -> None:
    step = FormatPreserving("number", key=key)
    change = apply(step, TABLE)
    assert change.columns["number"].str.len_chars().to_list() == [6, 10, 6, 6]
    assert change.facts == ()  # there are two lengths
    assert step.reverse(change.columns)["number"].to_list() == ["123456", "1234567890", "999999", "123456"]


@pytest.mark.parametrize(
    "step",
    [
        FormatPreserving("x", radix=36),
        FormatPreserving("x", radix=36, letters="upper"),
        FormatPreserving("x", radix=26, keep="0123456789 "),
        FormatPreserving("x", radix=62, keep=" "),
        FormatPreserving("x", radix=5, letters="αβγδε", keep="-"),
    ],
)
def test_alphabets(apply: Apply, key: Path, step: FormatPreserving) -> None:
    step = FormatPreserving(**{**step.parameters(), "key": key})
    texts = [step.alphabet[i:] + (step.keep and step.keep[-1]) + 3 * step.alphabet[:4] for i in range(5)]
    change = apply(step, pl.DataFrame({"x": texts}))
    assert change.columns["x"].n_unique() == 5
    assert not set(change.columns["x"]) & set(texts)
    assert step.reverse(change.columns)["x"].to_list() == texts


def test_a_column_without_values_stays_so(apply: Apply, key: Path) -> None:
    frame = pl.DataFrame({"x": pl.Series([None, None], dtype=pl.String)})
    assert apply(FormatPreserving("x", key=key), frame).columns["x"].to_list() == [None, None]


def test_generations_and_domains_are_apart(apply: Apply, key: Path) -> None:
    first = apply(FormatPreserving("plate", radix=36, key=key), TABLE).columns["plate"]
    other = apply(FormatPreserving("plate", radix=36, key=key, domain="car"), TABLE).columns["plate"]
    add_generation(key)
    second = apply(FormatPreserving("plate", radix=36, key=key), TABLE).columns["plate"]
    assert not set(first) & set(other) | set(first) & set(second)
    old = FormatPreserving("plate", radix=36, key=key, generation=1)
    assert old.reverse(first.to_frame())["plate"].to_list() == TABLE["plate"].to_list()


def test_what_is_refused(apply: Apply, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ColumnError, match=r"characters that are none of its 10 letters.*keep") as caught:
        apply(FormatPreserving("ssn", key=key), TABLE)
    assert "078" not in str(caught.value)
    with pytest.raises(ColumnError, match=r"too short: all could be tried; got 5 letters of 10"):
        apply(FormatPreserving("x", key=key), pl.DataFrame({"x": [12345, 123456]}))
    with pytest.raises(PolicyError, match=r"letters do not fit the radix; got 3 letters; allowed: 4 different"):
        FormatPreserving("x", radix=4, letters="abca")
    with pytest.raises(PolicyError, match="kept and encrypted"):
        FormatPreserving("x", keep="-1")
    with pytest.raises(PolicyError, match="radix is out of range"):
        FormatPreserving("x", radix=1)
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives.ciphers", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[pseudonyms\]"):
        apply(FormatPreserving("number", key=key), TABLE)
