"""The attacks tried on the release: what each does, how often it succeeds, and how often guessing would."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.report.markup import Markup, join, names, section, tag
from sfumato.report.markup import name as name_
from sfumato.report.markup import table as html_table
from sfumato.report.words import count, percent

ATTACKS = {
    "homogeneity": "Finds classes in which everybody has the same sensitive value.",
    "background-knowledge": "Rules out one value that the person is known not to have.",
    "skewness": "Finds classes in which a sensitive value is much likelier than in the table.",
    "similarity": "Finds classes whose sensitive values differ but mean nearly the same.",
    "negative-disclosure": "Finds classes that lack a common sensitive value altogether.",
    "singling-out": "Describes somebody by several columns so that only one person fits.",
    "singling-out-univariate": "Describes somebody by one column so that only one person fits.",
    "linkability": "Joins two sources about the same people through the release.",
    "inference": "Guesses the sensitive value from the nearest released records.",
    "order": "Lays a list in the order of the input beside the release.",
    "deterministic-linkage": "Looks for the records that a known person can have become.",
    "distance-linkage": "Takes the nearest released record for that of a known person.",
    "probabilistic-linkage": "Weighs which columns agree with those of a known person.",
    "cluster-linkage": "Matches groups of people without a column in common.",
    "membership": "Tells whether somebody is in the table at all.",
    "intersection": "Crosses several releases about the same people.",
}

TITLES = {"singling-out-(multivariate)": "singling-out", "singling-out-(univariate)": "singling-out-univariate"}


def attacks(tried: Sequence[Mapping[str, Any]], left_out: Sequence[str], with_original: bool = False) -> Markup:
    """The section of attacks."""
    intro = (
        "Each attack is given the released table"
        + (", and where it says so the original," if with_original else " and nothing else,")
        + " and is compared with an attacker who only guesses."
    )
    notes = [tag("p", note, class_="quiet") for note in left_out]
    if not tried:
        none = "No attack was tried: no sensitive column is named." if not left_out else None
        return section("attacks", "Attacks tried", tag("p", none) if none else None, *notes)
    several = len({tuple(attack.get("quasi") or ()) for attack in tried}) > 1
    lines = [_line(attack, several) for attack in tried]
    head = ("Attack", "Succeeds", "Guessing", "95% interval")
    shown = html_table(
        head, lines, "Share of the records, or of the trials, on which an attack succeeds", "stack attacks"
    )
    reading = (
        "A success above that of guessing is not yet a breach of the promises: it is what the release tells about "
        "groups. It is for the reader to judge whether that is acceptable for this column."
    )
    return section("attacks", "Attacks tried", tag("p", intro), shown, tag("p", reading, class_="quiet"), *notes)


def described(attack: Mapping[str, Any]) -> tuple[str, str]:
    """The name of an attack as a title, and what it does."""
    name = str(attack.get("name")).replace(" ", "-")
    kind = TITLES.get(name, name)
    return kind.replace("-", " ").capitalize(), ATTACKS.get(kind, "")


def _line(attack: Mapping[str, Any], several: bool) -> list[object]:
    known = attack.get("quasi") or ()
    who = join([" For those who know ", names(list(known)), "."]) if several and known else None
    said = tag("span", attack.get("sentence") or "", who, class_="quiet said")
    column = (attack.get("details") or {}).get("column")
    of = join([" of ", name_(column)]) if column else None
    name, does = described(attack)
    title = join([tag("b", name, of), ". ", does])
    return [join([title, said]), _share(attack.get("success")), _share(attack.get("baseline")), _interval(attack)]


def _share(value: Any) -> str:
    return percent(value) if isinstance(value, int | float) and math.isfinite(value) else "–"


def _interval(attack: Mapping[str, Any]) -> Markup | str:
    ends, trials = attack.get("interval"), attack.get("trials")
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return "–"
    of = tag("span", count(trials, "trial"), class_="quiet said") if trials else None
    return join([f"{_share(ends[0])} to {_share(ends[1])}", of])
