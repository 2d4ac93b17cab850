"""Translation of finished text: a catalogue from English sentences to those of another language, and numbers.

What a reader sees is written in English, once. A catalogue, `words/it.toml`, has a line per sentence. What varies in it
stands in braces: `{x}` is translated in turn, `{X}` is one piece of data, `{X_}` are words that stay as they are, and
`{W_}` is one such word. Data are texts in double quotes, and what a page sets apart as `bdi` or `code`. Numbers are
written as the language writes them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from html import escape, unescape
from importlib.resources import files

from sfumato.core.parameters import one_of

LANGUAGES = ("en", "it")
DATA, END = "\ue000", "\ue001"  # around the number of a piece of data inside a sentence
HOLE = re.compile(r"\{(\w+)\}")
QUOTED = re.compile(r'"[^"]*"')
NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,])|(?<![\w.,])\d+\.\d+(?:e[+-]\d+)?(?!\.?\d|\w|\()")
LETTER = re.compile(r"[^\W\d_]")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\ue000])")
LIST = re.compile(rf"{DATA}\d+{END}(?:, {DATA}\d+{END})* and (?:{DATA}\d+{END}|\d+ more)")
# what a hole takes: a word, words that stay, one piece of data, or what is translated in turn
HOLES = {r"W+_": r"([\w.+-]+)", r"[A-Z]+_": rf"([^{DATA}{END}]+?)", r"[A-Z]+": rf"({DATA}\d+{END})", r".*": "(.+?)"}
LONGEST = 4_000  # letters of a sentence
Patterns = list[tuple[re.Pattern[str], list[str], str]]
SWAPPED = str.maketrans(",.", ".,")


def language_of(language: object) -> str:
    """The name of a language that there is a catalogue of."""
    return one_of(language, "language", LANGUAGES)


class Missing(list[str]):
    """Texts that no catalogue has."""


def translated(text: str, language: str, missing: Missing | None = None) -> str:
    """A text in another language; what the catalogue does not have stays English, and is noted in `missing`.

    >>> translated("12 records", "it"), translated("1,234.5", "it"), translated('"12 records"', "it")
    ('12 record', '1.234,5', '"12 records"')
    """
    if language == "en":
        return text
    data: list[str] = []
    return _restored(_paragraph(_set_apart(text, data), language, missing), data)


def translated_page(page: str, language: str, missing: Missing | None = None) -> str:
    """A page of HTML in another language."""
    if language == "en":
        return page
    page = page.replace('<html lang="en">', f'<html lang="{language}">', 1)
    return "".join(_pieces(re.split(r"(<[^>]*>)", page), language, missing))


INLINE = ("bdi", "code")
ATTRIBUTE = re.compile(r'(?<= data-head=")[^"]*(?=")')
CONTENT = re.compile(r'(?<=content: )"[^"]*"|(?<=counter\(page\) )"[^"]*"')


def _pieces(parts: list[str], language: str, missing: Missing | None) -> Iterator[str]:
    """The parts of a page, tags and texts in turn: a run of texts and of data set apart is one paragraph."""
    text, data, i = "", list[str](), 0
    while i < len(parts):
        part = parts[i]
        name = re.match(r"<([a-z]\w*)", part)
        if name and name[1] in INLINE:
            end = parts.index(f"</{name[1]}>", i)
            data.append("".join(parts[i : end + 1]))
            text += f"{DATA}{len(data) - 1}{END}"
            i = end + 1
            continue
        if not part.startswith("<"):
            text += _set_apart(unescape(part), data, escape)
            i += 1
            continue
        yield _restored(escape(_spaced(text, language, missing)), data)
        text, data = "", []
        if part in ("<style>", "<pre>"):
            end = parts.index(part.replace("<", "</"), i)
            inside, i = "".join(parts[i:end]), end
            style = part == "<style>"
            yield CONTENT.sub(lambda m: f'"{_spaced(m[0][1:-1], language, missing)}"', inside) if style else inside
            continue
        yield ATTRIBUTE.sub(lambda m: escape(translated(unescape(m[0]), language, missing)), part)
        i += 1
    yield _restored(escape(_spaced(text, language, missing)), data)


def _set_apart(text: str, data: list[str], as_text: Callable[[str], str] = str) -> str:
    """A text in which what is quoted has a number in its place."""

    def keep(found: re.Match[str]) -> str:
        data.append(as_text(found[0]))
        return f"{DATA}{len(data) - 1}{END}"

    return QUOTED.sub(keep, re.sub(f"[{DATA}{END}]", "", text))


def _restored(text: str, data: list[str]) -> str:
    return re.sub(f"{DATA}(\\d+){END}", lambda found: data[int(found[1])], text)


def _spaced(text: str, language: str, missing: Missing | None) -> str:
    """The same with the blanks around it as they were."""
    bare = text.strip()
    left = text[: len(text) - len(text.lstrip())]
    return f"{left}{_paragraph(bare, language, missing)}{text[len(text.rstrip()) :]}" if bare else text


def _paragraph(text: str, language: str, missing: Missing | None) -> str:
    """A paragraph whole, or sentence by sentence."""
    if (found := _sentence(text, language)) is not None:
        return found
    said = []
    for sentence in SENTENCE.split(text):
        found = _sentence(sentence, language)
        if found is None and missing is not None:
            missing.append(re.sub(f"{DATA}\\d+{END}", "{X}", sentence))
        said.append(_numbers(sentence) if found is None else found)
    return " ".join(said)


@lru_cache(10_000)
def _sentence(text: str, language: str) -> str | None:
    """A sentence, or a part of one; None where the catalogue has no line for it."""
    exact, patterns, after = _catalogue(language)
    if text in exact:
        return exact[text]
    joint, more = f" {exact['and']} ", f" {exact['more']}"
    text = LIST.sub(lambda found: found[0].replace(" and ", joint).replace(" more", more), text)
    if not LETTER.search(re.sub(rf"{DATA}\d+{END}(?:{joint}(?:\d+{more})?)?|(?<=\d)e[+-]\d+", "", text)):
        return _numbers(text)
    for pattern, holes, into in patterns.get(text[:1], patterns[""]) if len(text) <= LONGEST else ():
        if found := pattern.fullmatch(text):
            parts = dict(zip(holes, found.groups(), strict=True))
            done = {name: part if name.isupper() else _sentence(part, language) for name, part in parts.items()}
            if all(part is not None for part in done.values()):
                said = into.format(**done)
                for pattern, elided in after:
                    said = pattern.sub(elided, said)
                return said
    return None


def _numbers(text: str) -> str:
    return NUMBER.sub(lambda found: found[0].translate(SWAPPED), text)


@cache
def _catalogue(language: str) -> tuple[dict[str, str], dict[str, Patterns], list[tuple[re.Pattern[str], str]]]:
    """Sentences without holes; the others as patterns, most words first, by the letter that they begin with ("" where a
    hole is there, which is also in each of the others); and what is elided where words meet."""
    source = tomllib.loads(files("sfumato.report").joinpath(f"words/{language}.toml").read_text(encoding="utf-8"))
    lines: dict[str, str] = source["words"]
    exact = {english: there for english, there in lines.items() if not HOLE.search(english)}
    patterns: list[tuple[str, tuple[re.Pattern[str], list[str], str]]] = []
    for english in sorted((line for line in lines if line not in exact), key=lambda line: -len(HOLE.sub("", line))):
        parts = HOLE.split(english)
        holes = [next(HOLES[kind] for kind in HOLES if re.fullmatch(kind, name)) for name in parts[1::2]]
        bare = "".join(f"{re.escape(words)}{hole}" for words, hole in zip(parts[::2], [*holes, ""], strict=True))
        patterns.append((parts[0][:1], (re.compile(bare, re.DOTALL), parts[1::2], lines[english])))
    letters = {letter for letter, _ in patterns} | {""}
    by_letter = {own: [one for letter, one in patterns if letter in ("", own)] for own in letters}
    return exact, by_letter, [(re.compile(before), after) for before, after in source["elided"].items()]
