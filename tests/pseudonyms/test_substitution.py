"""Substitution: one substitute for a text in every table and process, from the lists of a country."""

from __future__ import annotations

import hmac
import random
import sys
from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import MissingExtra, PolicyError
from sfumato.pseudonyms import Substitution
from sfumato.pseudonyms.substitution import LISTS, texts_of_country
from tests.pseudonyms.conftest import Apply

NAMES = pl.DataFrame({"surname": ["Brambilla", "Esposito", None, "Brambilla"], "born": ["Esposito", "x", "y", "z"]})


def test_a_text_has_one_substitute_in_every_table_and_process(apply: Apply, key: Path) -> None:
    step = Substitution("surname", kind="last_name", country="it_IT", key=key)
    made = apply(step, NAMES).columns["surname"].to_list()
    assert made[0] == made[3]
    assert made[2] is None
    assert set(made) - {None} <= set(texts_of_country("last_name", "it_IT"))
    random.seed(1)  # Faker's own state does not matter
    again = apply(Substitution("born", kind="last_name", country="it_IT", key=key), NAMES).columns["born"]
    assert again[0] == made[1]
    names = texts_of_country("last_name", "it_IT")
    digest = hmac.digest(step.key_of("surname"), b"Brambilla", "sha256")
    assert made[0] == names[int.from_bytes(digest[:8], "big") % len(names)]


def test_substitutes_are_spread_over_the_list(apply: Apply, key: Path) -> None:
    many = pl.DataFrame({"x": [f"person {i}" for i in range(5000)]})
    made = apply(Substitution("x", country="en_US", key=key), many).columns["x"]
    assert made.n_unique() > 980  # of 1000
    both = apply(Substitution("x", kind="name", country="en_US", key=key), many).columns["x"]
    assert both.n_unique() > 4800
    assert both.str.count_matches(" ").min() == 1


@pytest.mark.parametrize("kind", LISTS)
def test_lists_are_sorted_and_long(kind: str) -> None:
    texts = texts_of_country(kind, {"street": "pl_PL", "job": "fr_FR"}.get(kind, "it_IT"))
    assert len(texts) >= 100
    assert texts.to_list() == sorted(set(texts))


def test_what_is_refused(apply: Apply, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolicyError, match=r"unknown kind of substitution.*last_name"):
        Substitution("surname", kind="lastname")
    with pytest.raises(PolicyError, match="a language and a country"):
        Substitution("surname", country="../it")
    with pytest.raises(PolicyError, match=r"no list.*Hint: did you mean.*it_IT"):
        apply(Substitution("surname", country="it_IR", key=key), NAMES)
    with pytest.raises(PolicyError, match=r'no list of "street".*another country or kind'):
        apply(Substitution("surname", kind="street", country="it_IT", key=key), NAMES)
    monkeypatch.setitem(sys.modules, "faker.providers.person", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[pseudonyms\]"):
        apply(Substitution("surname", key=key), NAMES)
