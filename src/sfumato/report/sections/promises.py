"""Promise by promise: what was promised and measured; how large the classes are, and how risky."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.protocols import AGAINST_POPULATION
from sfumato.core.wording import apart, count, number, one_in, percent
from sfumato.criteria import CRITERIA
from sfumato.report.charts.svg import bar, bins, histogram, mark
from sfumato.report.manifest import (
    Manifest,
    by_people,
    constructed,
    fewest_people,
    is_synthetic,
    look,
    measured,
    model,
    of_set,
    promises,
    quasi,
    rows,
    table,
)
from sfumato.report.markup import Markup, facts, join, names, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.sections.attacks import attackers


def promised(manifest: Manifest) -> Markup:
    """The section of promises."""
    several = len(quasi(manifest)) > 1
    items = [_item(promise, several) for promise in promises(manifest)]
    items += [_of_people(promise, several) for promise in by_people(manifest)]
    built = [_built(promise) for promise in constructed(manifest)]
    if built and not items:
        told = tag("p", BUILT, class_="quiet")
        return section("promises", "Promise by promise", told, tag("ol", *built, class_="promises"))
    if not items:
        return section("promises", "Promise by promise", tag("p", "The policy of this release asks for nothing."))
    what = "model" if is_synthetic(manifest) else "search"
    intro = f"Measured on the released rows alone, by code that shares nothing with the {what}."
    return section(
        "promises", "Promise by promise", tag("p", intro, f" {BUILT}" if built else None, class_="quiet"),
        tag("ol", *items, *built, class_="promises"),
    )  # fmt: skip


BUILT = "What holds by construction follows from how the table was made: the released rows alone cannot prove it."


def _built(promise: Manifest) -> Markup:
    """A promise that holds by construction, never as proven."""
    word = tag("span", "By construction", class_="verdict")
    told = tag("p", promise["sentence"]) if promise.get("sentence") else None
    return tag("li", tag("header", tag("h3", model(promise)), word), told, class_="built")


OF_PEOPLE = "The released rows do not tell whose they are: its owner has shown this against the original."


OF_POPULATION = "Whoever has the table of the population can show it again; the released rows alone do not tell."


def _of_people(promise: Manifest, several: bool) -> Markup:
    """A promise that counts people, never as proven."""
    if promise.get("how") == AGAINST_POPULATION:
        return _item(promise, several, "Shown against the population", OF_POPULATION)
    return _item(promise, several, "Shown against the original", OF_PEOPLE)


def _item(promise: Manifest, several: bool, said: str = "Holds", how: str | None = None) -> Markup:
    holds = bool(promise.get("holds"))
    word = tag("span", mark(holds) if how is None else None, said if holds else "Does not hold", class_="verdict")
    measured, bound = apart(promise.get("measured"), promise.get("bound"))
    name = str(promise.get("model"))
    side = f"{CRITERIA[name].example.side} ".lstrip() if name in CRITERIA else ""
    columns = rows(promise, "quasi")
    pairs = [
        ("Measured", measured if promise.get("measured") is not None else None),
        ("Promised", side + bound if promise.get("bound") is not None else None),
    ]
    return tag(
        "li",
        tag("header", tag("h3", model(promise)), word),
        tag("p", promise["sentence"]) if promise.get("sentence") else None,
        facts(pairs),
        tag("p", "For those who know ", names(columns), ".", class_="quiet") if several and columns else None,
        tag("p", how, class_="quiet") if how is not None else None,
        _reference(promise),
        tag("p", "Note: ", promise["note"], class_="quiet") if promise.get("note") else None,
        class_="broken" if not holds else None if how is None else "built",
    )


def _reference(promise: Manifest) -> Markup | None:
    """The distribution from outside that the classes are compared with, where there is one."""
    given = [(value, n) for value, n in table(promise, "parameters", "reference").items() if isinstance(n, int | float)]
    total = sum(n for _, n in given)
    if not total > 0:
        return None
    lines = [
        (tag("bdi", value), percent(n / total)) if value else ("missing", percent(n / total)) for value, n in given
    ]
    more = f" Values beyond the first {LISTED} are in the manifest." if len(lines) > LISTED else ""
    title = "The reference, given from outside"
    listing = html_table(("Value", "Share"), lines[:LISTED], title)
    return tag("details", tag("summary", title), listing, tag("p", more.strip(), class_="quiet") if more else None)


LISTED = 100  # values of a reference
_WIDTHS = {"wide": 704, "narrow": 350}


def sizes(manifest: Manifest) -> Markup:
    """The section of class sizes, one part per set of quasi-identifiers."""
    intro = "A class is all records that look alike to somebody who knows the quasi-identifying columns."
    parts = [_part(manifest, i, _sizes(manifest, entry, i)) for i, entry in enumerate(measured(manifest), 1)]
    return section("classes", "Class sizes", tag("p", intro), *(parts or [_nothing()]))


def risks(manifest: Manifest, before: Sequence[Manifest] = ()) -> Markup:
    """The section of risk, one part per set of quasi-identifiers; `before` are the classes of the original."""
    was = {tuple(rows(entry, "quasi")): entry for entry in before}
    parts = [
        _part(manifest, i, _risk(manifest, entry, was.get(tuple(of_set(manifest, entry)))))
        for i, entry in enumerate(measured(manifest), 1)
    ]
    note = (
        "The risk of a record is one divided by the size of its class. A missing value counts as a value of its own, "
        "which never makes a risk look smaller than it is."
    )
    if look(manifest, "policy", "wildcard"):
        note += (
            " The promises of this release are about another reading, in which a missing value matches any value: to "
            "an attacker who has to count every record that may fit, the risk is lower than it stands here."
        )
    if (people := fewest_people(manifest)) is not None:
        note += (
            " Several records may be of one person: of people, or households where these are counted, the smallest "
            f"class has {number(people)}, so that the highest risk of one is {percent(1 / people)}."
        )
    parts = [*parts, tag("p", note, class_="quiet")] if parts else [_nothing()]
    return section("risk", "Risk before and after" if before else "Risk of the release", *parts)


def _part(manifest: Manifest, number_: int, content: Markup) -> Markup:
    entries = measured(manifest)
    if len(entries) < 2:
        return content
    return join([tag("h3", f"Set {number_}: ", names(of_set(manifest, entries[number_ - 1]))), content])


def _nothing() -> Markup:
    return tag("p", "Nothing was measured.", class_="quiet")


def _sizes(manifest: Manifest, entry: Manifest, number_: int) -> Markup:
    shown = facts(
        (term, number(entry[key]))
        for term, key in (
            ("Classes", "classes"),
            ("Smallest", "smallest"),
            ("Median", "median"),
            ("Average", "average"),
            ("Largest", "largest"),
        )
        if entry.get(key) is not None
    )
    counted = _histogram(entry)
    if not counted:
        return shown
    bound = least_size(manifest, entry)
    binned = bins(counted, bound)
    total, low, high = sum(counted.values()), min(counted), max(counted)
    title = f"Class sizes, set {number_}" if len(measured(manifest)) > 1 else "Class sizes"
    told = f"{count(total, 'class', 'classes')} of {number(low)} to {count(high, 'record')}."
    if bound is not None:
        below = sum(classes for size, classes in counted.items() if size < bound)
        told += f" {count(below, 'class', 'classes')} below the promised {number(bound)}."
    charts = [
        tag("div", histogram(binned, title, told, f"sizes-{number_}-{kind}", bound, width), class_=kind)
        for kind, width in _WIDTHS.items()
    ]
    listed = [(binned.label(i), number(classes)) for i, classes in enumerate(binned.count) if classes]
    listing = html_table(("Records in the class", "Classes"), listed, "Classes by size")
    return join([shown, tag("figure", *charts), tag("details", tag("summary", "The chart in numbers"), listing)])


def _histogram(entry: Manifest) -> dict[int, int]:
    """Sizes as whole numbers: JSON has them as text."""
    pairs = ((size, classes) for size, classes in table(entry, "sizes").items() if size.isdecimal())
    return {int(size): int(classes) for size, classes in pairs if isinstance(classes, int | float) and classes > 0}


def least_size(manifest: Manifest, entry: Manifest) -> int | None:
    """The least class size promised for a set of quasi-identifiers: the largest k."""
    columns = set(of_set(manifest, entry))
    found: list[int] = []
    for promise in promises(manifest):
        k, named = look(promise, "parameters", "k"), {str(column) for column in rows(promise, "quasi")}
        if isinstance(k, int) and (not named or not columns or named == columns):
            found.append(k)
    return max(found, default=None)


def _risk(manifest: Manifest, entry: Manifest, before: Manifest | None = None) -> Markup:
    risk: Any = entry.get("risk")
    if not isinstance(risk, Mapping):
        return _nothing()
    highest, average = risk.get("highest"), risk.get("average")
    columns = of_set(manifest, entry)
    who = join(["An attacker who knows the ", names(columns) if columns else "quasi-identifiers", " of one person "])
    told = None
    if highest is not None:
        at_most = f"has at most a {one_in(highest)} chance of picking the right record."
        if highest >= 1:
            at_most = "can in some cases be certain of picking the right record."
        mean = f" Over all records the chance is {one_in(average)} on average." if average is not None else ""
        told = tag("p", who, at_most + mean)
    shown = facts([("Highest", percent(highest)), ("Average", percent(average))])
    above = sorted((float(key), value) for key, value in table(risk, "records_above").items() if value is not None)
    lines = [(f"above {percent(limit)}", bar(share), percent(share)) for limit, share in above]
    scale = tag("span", tag("span", "0%"), tag("span", "100%"), class_="scale")
    listing = html_table(("Risk", scale, "Records"), lines, "Share of records at risk", "shares") if lines else None
    found = attackers(entry, before)
    return join([told, shown if found is None else None, found, listing])
