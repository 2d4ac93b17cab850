"""Every text in every language, with the same holes; and none that the studio does not show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sfumato.studio
from sfumato.studio.texts import LANGUAGES, catalogue

SOURCE = "".join(path.read_text() for path in Path(sfumato.studio.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_text(language):
    english, own = catalogue("en"), catalogue(language)
    assert sorted(own) == sorted(english)
    for name, text in own.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", english[name])), name


def test_texts_that_code_names_are_there():
    named = set(re.findall(r'texts?\(\s*"(\w+\.\w+)"', SOURCE))
    assert named, "the pattern finds none"
    assert sorted(named - set(catalogue("en"))) == []
