"""The three attackers: what each knows, and how often each finds a record, from the sizes of the classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sfumato.core.wording import count, percent
from sfumato.errors import SfumatoError
from sfumato.measures.utility import Pair
from sfumato.report.manifest import Manifest, table
from sfumato.report.markup import Markup, join, names, section, tag
from sfumato.report.markup import name as name_
from sfumato.report.markup import table as html_table

THRESHOLDS = ((0.05, 20), (0.09, 12), (0.2, 5), (0.33, 4))  # a risk, and the least class whose records are not above
ATTACKERS = {
    "Prosecutor": "knows that one person is in the table",
    "Journalist": "does not know it; without a register of the population, counted as the prosecutor",
    "Marketer": "links every record, and counts how many links are right",
}


def attackers(entry: Manifest, before: Manifest | None = None) -> Markup | None:
    """The table of attackers for one set of quasi-identifiers; `before` are the classes of the original."""
    stages = [("", _figures(entry))] if before is None else [("before", _figures(before)), ("after", _figures(entry))]
    if any(found is None for _, found in stages):
        return None
    lines: list[list[object]] = []
    for who, knows in ATTACKERS.items():
        for i, (stage, found) in enumerate(stages):
            assert found is not None
            links = f"about {count(found['expected'], 'record')}" if who == "Marketer" else None
            said = ", ".join(filter(None, [knows if i == 0 else None, links]))
            lines.append([join([tag("b", who, tag("span", f" {stage}", class_="stage") if stage else None), said])])
            lines[-1] += _cells(who, found)
    head = ["Attacker", "Highest", "Average", *(f"Above {percent(limit)}" for limit, _ in THRESHOLDS)]
    return html_table(head, lines, "Risk by attacker, and the share of records above a risk", "stack figured")


def _cells(who: str, found: Mapping[str, Any]) -> list[str]:
    if who == "Marketer":
        return ["–", percent(found["average"]), *("–" for _ in THRESHOLDS)]
    return [percent(found["highest"]), percent(found["average"]), *(percent(share) for share in found["above"])]


def _figures(entry: Manifest) -> dict[str, Any] | None:
    """The figures that follow from how many classes there are of each size."""
    sizes = {int(size): n for size, n in table(entry, "sizes").items() if size.isdecimal() and isinstance(n, int)}
    rows = sum(size * n for size, n in sizes.items())
    if not rows:
        return None
    classes = sum(sizes.values())
    above = [sum(size * n for size, n in sizes.items() if size < least) / rows for _, least in THRESHOLDS]
    return {"highest": 1 / min(sizes), "average": classes / rows, "expected": classes, "above": above}


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


READING = (
    "A success above that of guessing is not yet a breach of the promises: it is what the release tells about "
    "groups. It is for the reader to judge whether that is acceptable for this column."
)


def attacks(
    tried: Sequence[Mapping[str, Any]], left_out: Sequence[str], with_original: bool = False, reading: str = READING
) -> Markup:
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
    return [join([title, said]), _share(attack.get("success")), _share(attack.get("baseline")), interval_of(attack)]


def _share(value: Any) -> str:
    return percent(value) if isinstance(value, int | float) and math.isfinite(value) else "–"


def interval_of(attack: Mapping[str, Any]) -> Markup | str:
    """The interval of an attack, and how many trials it is of."""
    ends, trials = attack.get("interval"), attack.get("trials")
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return "–"
    of = tag("span", count(trials, "trial"), class_="quiet said") if trials else None
    return join([f"{_share(ends[0])} to {_share(ends[1])}", of])


LINKED = 20_000  # people who are looked for in the release
LINKAGE = ("deterministic_linkage", "distance_linkage")
Found = list[Mapping[str, Any]]


def attacks_with_original(
    pair: Pair, sets: Sequence[Sequence[str]], secrets: Sequence[str], hierarchies: Mapping[str, Any]
) -> tuple[Found, list[str]]:
    """What the attacks achieve for each set of quasi-identifiers, and what was left out."""
    found: Found = []
    people = _people(pair)
    for quasi in sets:
        tried = _tried(partial(_three, pair, quasi, [name for name in secrets if name not in quasi], hierarchies))
        for attack in LINKAGE if pair.rows is not None else ():
            tried += _tried(partial(_linked, attack, pair, people, quasi, hierarchies))
        found += [{**attack, "quasi": list(quasi)} for attack in tried]
    if pair.rows is None:
        return found, ["Linkage was not tried: it is not known which original row each released row came from."]
    if len(people) < pair.released.height:
        return found, [f"Linkage was tried for {len(people):,} people, drawn at random with a fixed seed."]
    return found, []


def _tried(attack: Callable[[], Found]) -> Found:
    """An attack that these tables do not allow is left out."""
    try:
        return attack()
    except (SfumatoError, ImportError, AttributeError):
        return []


def _three(pair: Pair, names: Sequence[str], secrets: Sequence[str], hierarchies: Mapping[str, Any]) -> Found:
    """Singling out, linkability, inference."""
    from sfumato.measures.attacks import attack_summary
    from sfumato.measures.attacks.summary import ON_CLASSES

    given: dict[str, Any] = {
        "quasi": names,
        "sensitive": secrets,
        "original": pair.original,
        "hierarchies": hierarchies,
    }
    every = attack_summary(pair.released, **given, most=0)
    return [attack for name, attack in every.items() if name.partition(":")[0] not in ON_CLASSES]


def _people(pair: Pair) -> np.ndarray:
    """The released rows whose people are looked for."""
    every = np.arange(pair.released.height)
    return every if len(every) <= LINKED else np.sort(np.random.default_rng(0).choice(every, LINKED, replace=False))


def _linked(attack: str, pair: Pair, people: np.ndarray, names: Sequence[str], hierarchies: Mapping[str, Any]) -> Found:
    from sfumato.measures import attacks

    assert pair.rows is not None
    known = {column: tree for column, tree in hierarchies.items() if column in names}
    given: dict[str, Any] = {"columns": list(names), "truth": people.tolist(), "hierarchies": known, "most": 0}
    return [getattr(attacks, attack)(pair.released, pair.original[pair.rows[people]], **given).to_dict()]
