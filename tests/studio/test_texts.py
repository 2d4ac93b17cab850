"""Every text in every language, with the same holes; and none that the studio does not show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sfumato.studio
from sfumato.studio.tasks import forms
from sfumato.studio.texts import LANGUAGES, Texts, catalogue, parameters
from sfumato.studio.views.synthesis import ACCOUNT, DRAWN

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


KINDS = ("criteria", "searches", "losses", "steps", "generators", "hierarchies", "rules", "protections")


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"en"}))
def test_every_parameter_of_a_form_has_a_label_in_every_language(language):
    variants = [(name, one["parameters"]) for kind in KINDS for name, one in forms.variants(kind, None).items()]
    shown = {(name, parameter["name"]) for name, found in variants for parameter in found}
    shown |= {("synthesize", name) for name in (*DRAWN, "sample")} | {("account", name) for name in ACCOUNT}
    known = parameters(language)
    assert [f"{of}.{name}" for of, name in sorted(shown) if name not in known and f"{of}.{name}" not in known] == []
    assert sorted({*known} - {name for _, name in shown} - {f"{of}.{name}" for of, name in shown}) == []
    text = Texts(language)
    for variant in sorted({of for of, _ in shown}):  # or two fields of a form could not be told apart
        labels = [text.parameter(variant, name) for of, name in sorted(shown) if of == variant]
        assert len(labels) == len(set(labels)), variant


def test_english_shows_the_names_of_parameters_as_they_are():
    assert parameters("en") == {}
    assert Texts("en").parameter("k-map", "sampling_fraction") == "sampling fraction"
    assert Texts("it").parameter("a-model-of-a-package", "own_name") == "own name"
