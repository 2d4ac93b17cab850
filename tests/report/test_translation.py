"""Translation: sentences with holes, data that stay, numbers, and a catalogue that fits itself."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

import pytest

from sfumato.errors import PolicyError
from sfumato.report.translation import HOLE, Missing, language_of, translated, translated_page

WORDS: dict[str, str] = tomllib.loads(files("sfumato.report").joinpath("words/it.toml").read_text("utf-8"))["words"]


@pytest.mark.parametrize(
    ("english", "italian"),
    [
        ("1,234.5", "1.234,5"),
        ("3.11.7", "3.11.7"),
        ("20,000 rows", "20.000 righe"),
        ('"age", "1,234.5" and "sex"', '"age", "1,234.5" e "sex"'),
        ('others know "rows" of a person, and nothing else that is in the table.',
         'altri conoscono "rows" di una persona, e nient\'altro di ciò che sta nella tabella.'),
        ("At most 80.5% of the records are the only ones with their quasi-identifiers.",
         "Al più l'80,5% dei record è unico per i suoi quasi-identificatori."),
    ],
)  # fmt: skip
def test_sentences(english: str, italian: str) -> None:
    missing = Missing()
    assert translated(english, "it", missing) == italian
    assert translated(english, "en") == english
    assert missing == []


def test_what_is_missing_stays_and_is_told() -> None:
    missing = Missing()
    found = translated('Nobody wrote this of "age". It is called "b".', "it", missing)
    assert found == 'Nobody wrote this of "age". Si chiama "b".'
    assert missing == ["Nobody wrote this of {X}."]


def test_a_page_keeps_its_data_and_its_tags() -> None:
    page = (
        '<html lang="en"><style>p { content: "2 rows"; }</style><p class="x">Removed</p><td data-head="Proven">'
        "<bdi>Removed</bdi></td><p><bdi>a</bdi>, <code>2 rows</code> and <bdi>&lt;Removed&gt;</bdi></p>"
        "<pre>2 rows</pre><p>others know &quot;a&amp;b&quot; of a person, and nothing else that is in the table.</p>"
        "</html>"
    )
    found = translated_page(page, "it")
    assert found.startswith('<html lang="it"><style>p { content: "2 righe"; }</style><p class="x">Tolto</p>')
    assert '<td data-head="Dimostrato"><bdi>Removed</bdi></td>' in found
    assert "<bdi>a</bdi>, <code>2 rows</code> e <bdi>&lt;Removed&gt;</bdi>" in found
    assert "<pre>2 rows</pre><p>altri conoscono &quot;a&amp;b&quot; di una persona" in found
    assert re.findall(r"</?\w+", found) == re.findall(r"</?\w+", page)
    assert translated_page(page, "en") == page


def test_private_letters_in_a_name_do_no_harm() -> None:
    assert translated('"\ue0007\ue001" and "b"', "it") == '"7" e "b"'
    assert translated("\ue0007\ue001 rows", "it") == "7 righe"


def test_a_line_fills_what_it_takes() -> None:
    for line, there in WORDS.items():
        assert sorted(HOLE.findall(line)) == sorted(HOLE.findall(there)), line
        assert there.strip() == there


def test_languages() -> None:
    assert [language_of(one) for one in ("en", "it")] == ["en", "it"]
    with pytest.raises(PolicyError, match="allowed: en, it"):
        language_of("fr")
