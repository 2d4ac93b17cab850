"""The grammar of labels: how sets and ranges of values print, and how labels are read, ours and those of others.

It knows texts alone, neither cells nor kernels, so that what searches and what verifies may both use it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

STAR = "*"  # a label that says nothing
LONGEST_SET = 8  # longer sets print as first..last
LONGEST_LIST = 150  # characters of a set that names all its values; longer ones say nothing
WHOLE = r"[+-]?[0-9]+"
DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
NUMBER = re.compile(rf"(?:{DECIMAL}|[+-]?inf)\Z")
BRACKETS = re.compile(r"([\[\](])\s*([^,;]+?)\s*[,;]\s*([^,;]+?)\s*([\])\[])\Z")  # [20, 30), ]20; 30]
BETWEEN = re.compile(r"(\S+?)\s*(?:-|–|—|\.\.|:|~)\s*(\S+)\Z|(\S+)\s+(?:to|bis|-|–)\s+(\S+)\Z")  # 20-29, 20 to 29
BEYOND = re.compile(r"(<=|>=|<|>|≤|≥)\s*(\S+(?: [0-9]{2}:\S+)?)\Z")  # >= 40, < 2020-03-01 09:00
ABOVE = re.compile(r"(\S+)\s*\+\Z")  # 90+
QUOTED = re.compile(r"\s*(?:'([^']*)'|\"([^\"]*)\")\s*(?:,|\Z)")  # 'a', "b"
SEPARATORS = (",", ";", "|", "~")  # of sets that other tools print without braces
DECADE = re.compile(r"([0-9]{3}0)s\Z")


class Range(NamedTuple):
    """The ends of a range as they print, None for an open one, and whether they belong to it."""

    low: str | None
    high: str | None
    left: bool = True
    right: bool = True


def range_text(low: str | None, high: str | None, closed: bool = True) -> str:
    """A range as it prints; `closed` says whether its upper end belongs.

    >>> range_text("20", "29"), range_text("20", "30", closed=False), range_text(None, "20"), range_text("30", None)
    ('[20, 29]', '[20, 30)', '< 20', '>= 30')
    """
    if low is None:
        return STAR if high is None else f"< {high}"
    return f">= {low}" if high is None else f"[{low}, {high}{']' if closed else ')'}"


def set_text(values: Sequence[str | None], all_named: bool = False) -> str:
    """A set of values as it prints: a value alone, `{a, b}`, or `first..last` where it is long.

    >>> set_text(["a"]), set_text(["a", "b"]), set_text("abcdefghij"), set_text("abcdefghij", all_named=True)
    ('a', '{a, b}', 'a..j', '{a, b, c, d, e, f, g, h, i, j}')
    """
    words = [value for value in values if value is not None]
    if len(words) == 1:
        return words[0]
    return listed(words) if all_named or len(words) <= LONGEST_SET else run_text(words[0], words[-1])


def listed(words: Sequence[str | None]) -> str:
    """A set of values that are all named."""
    return "{" + ", ".join(map(str, words)) + "}"


def run_text(first: str | None, last: str | None) -> str:
    """A set of values in their order, by the first and the last."""
    return f"{first}..{last}"


def says_nothing(label: str | None) -> bool:
    """Whether a label is missing, or stars alone."""
    return label is None or not label.strip(STAR)


def read_range(label: str) -> Range | None:
    """The range that a label writes in one of the usual ways; None where it writes none.

    >>> read_range("[20, 30)"), read_range("20-29"), read_range("90+"), read_range("1e-3")
    (Range(low='20', high='30', left=True, right=False), Range(low='20', high='29', left=True, right=True), \
Range(low='90', high=None, left=True, right=True), None)
    """
    if NUMBER.match(label):
        return None
    if match := BRACKETS.match(label):
        return Range(match[2], match[3], match[1] == "[", match[4] == "]")
    if match := BEYOND.match(label):
        closed = match[1] in ("<=", ">=", "≤", "≥")
        low, high = (None, match[2]) if match[1][0] in "<≤" else (match[2], None)
        return Range(low, high, closed, closed)
    if match := ABOVE.match(label):
        return Range(match[1], None)
    if match := BETWEEN.match(label):
        return Range(match[1] or match[3], match[2] or match[4])
    return None


def read_decade(label: str) -> Range | None:
    """The years of a decade, 1970s."""
    match = DECADE.match(label)
    return None if match is None else Range(match[1], str(int(match[1]) + 10), True, False)


def read_printed(label: str | None) -> Range | None:
    """The range that `range_text` printed; None for all other labels.

    >>> read_printed(">= 30"), read_printed("30+")
    (Range(low='30', high=None, left=True, right=True), None)
    """
    found = read_range(label or "")
    return found if found is not None and range_text(found.low, found.high, found.right) == label else None


def read_set(label: str) -> list[str] | None:
    """The words of a set, or of a list as Python prints it; a value that holds a comma is several. None for others.

    >>> read_set("{a, b}"), read_set("['a', 'b']"), read_set("a"), read_set("[1, 2]")
    (['a', 'b'], ['a', 'b'], None, None)
    """
    ends = label[:1] + label[-1:]
    if ends in ("{}", "[]", "()") and (words := _quoted(label[1:-1])):
        return words
    return label[1:-1].split(", " if ", " in label else ",") if ends == "{}" else None


def _quoted(text: str) -> list[str]:
    """Words between quotation marks and commas; empty where something else stands there."""
    words, at = [], 0
    while at < len(text):
        match = QUOTED.match(text, at)
        if match is None:
            return []
        words.append(match[1] if match[2] is None else match[2])
        at = match.end()
    return words


def split_bare(label: str) -> dict[str, list[str]]:
    """The parts of a label by each sign that sets without braces are printed with; whether it is one, its words tell.

    >>> split_bare("a, b|c"), split_bare("a,"), split_bare("a")
    ({',': ['a', 'b|c'], '|': ['a, b', 'c']}, {}, {})
    """
    found = {sign: [part.strip() for part in label.split(sign)] for sign in SEPARATORS if sign in label}
    return {sign: parts for sign, parts in found.items() if all(parts)}


def read_run(label: str) -> tuple[str, str] | None:
    """The first and the last value of `first..last`; None where one is missing."""
    first, _, last = label.partition("..")
    return (first, last) if first and last else None
