"""Texts of the studio: one file per language, a table per view; labels of parameters have files of their own."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = {"en": "English", "it": "Italiano"}
FORMS = re.compile(r"\((\w+): ([^|()]*)\|([^|()]*)\)")  # of a word: of one, and of several


@cache
def catalogue(language: str) -> dict[str, str]:
    """All texts of a language by "view.name"."""
    tables = tomllib.loads(files(__name__).joinpath(f"{language}.toml").read_text(encoding="utf-8"))
    return {f"{table}.{name}": text for table, texts in tables.items() for name, text in texts.items()}


@cache
def parameters(language: str) -> dict[str, str]:
    """Labels of parameters by name, or by "variant.name"; none in English, which shows the names."""
    file = files(__name__).joinpath("parameters", f"{language}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def preferred(header: str) -> str:
    """The language that a browser asks for first, of those there are.

    >>> preferred("it-IT,it;q=0.9,en;q=0.8"), preferred("fr")
    ('it', 'en')
    """
    asked = (part.split(";")[0].strip()[:2].lower() for part in header.split(","))
    return next((name for name in asked if name in LANGUAGES), "en")


class Texts:
    """The texts of one language: `texts("data.rows", count=3)`."""

    def __init__(self, language: str) -> None:
        self.language = language if language in LANGUAGES else "en"

    def __call__(self, name: str, /, **values: Any) -> str:
        """A text by its name, with values in its holes, and words in the form that goes with a number of them.

        >>> Texts("en")("roles.left", count=1)[:25], Texts("it")("roles.left", count=2)[:25]
        ('1 column has no role yet.', '2 colonne non hanno ancor')
        """
        text = FORMS.sub(lambda form: form[2 if str(values[form[1]]) == "1" else 3], catalogue(self.language)[name])
        return text.format(**values)

    def parameter(self, variant: str, name: str) -> str:
        """The label of a parameter of a variant: its name in words, where it was not translated.

        >>> Texts("it").parameter("mdav", "columns"), Texts("en").parameter("t-closeness", "class_attribute")
        ('colonne', 'class attribute')
        """
        known = parameters(self.language)
        return known.get(f"{variant}.{name}") or known.get(name) or name.replace("_", " ")

    def said(self, text: str) -> str:
        """A sentence of the library, such as a message or the words of a criterion, as far as it was translated; of
        a message with several faults each by itself."""
        from sfumato.report.translation import translated

        lines = [re.fullmatch(r"([ -]*)(.*)", line) for line in text.split("\n")]
        return "\n".join(line[1] + translated(line[2], self.language) for line in lines if line)

    def number(self, value: Any) -> str:
        """A number as the language writes it."""
        from sfumato.core.wording import number

        return self.said(number(value))

    def percent(self, share: float) -> str:
        """A share as the language writes it."""
        from sfumato.core.wording import percent

        return self.said(percent(share))
