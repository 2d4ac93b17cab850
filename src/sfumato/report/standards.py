"""The release held against the standards: Safe Harbor, clinical data, the three terms of the GDPR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.engines.printed import printed_frame
from sfumato.errors import SfumatoError
from sfumato.measures.standards.finding import Check, Profile
from sfumato.report.look import Manifest, look, measured, of_set, quasi, roles_of
from sfumato.report.markup import Markup, section, tag, text
from sfumato.report.markup import name as name_
from sfumato.report.markup import table as html_table
from sfumato.report.svg import mark
from sfumato.report.words import percent

if TYPE_CHECKING:
    import polars as pl

TITLES = {"hipaa": "HIPAA Safe Harbor", "clinical": "Clinical data (EMA, Health Canada)", "gdpr": "GDPR"}
HELD = 2_000_000  # rows times columns up to which a table is held against the standards
WIDE = 300  # columns up to which it is: each is searched for every kind of identifier
MORE = (
    f"A table of up to {HELD:,} cells and {WIDE} columns is held against them here; "
    "for this one, sfumato risk --profile does it."
)


def profiles(manifest: Manifest, released: pl.DataFrame, original: pl.DataFrame | None = None) -> tuple[Profile, ...]:
    """What each standard says of a released table; of several sets of quasi-identifiers, the first that fails."""
    from sfumato.measures.standards import profile

    if released.height * released.width > HELD or released.width > WIDE:
        return ()
    table = printed_frame(released)  # the same for rows in memory and those read back from their file
    roles, wildcard = roles_of(manifest, released), look(manifest, "policy", "wildcard") is True
    sets = [names for found in quasi(manifest) if (names := [name for name in found if name in roles])]
    found = []
    for standard in TITLES:
        verdicts = []
        for names in sets if standard != "hipaa" else [[]]:
            secrets = [name for name, role in roles.items() if role == "sensitive" and name not in names]
            more = {"original": original} if standard == "gdpr" and original is not None else {}
            try:
                verdicts.append(profile(standard, table, names, secrets, wildcard=wildcard, **more))
            except SfumatoError:  # such as a column that is missing throughout
                continue
        found += [min(verdicts, key=lambda verdict: verdict.holds)] if verdicts else []
    return tuple(found)


def from_counts(manifest: Manifest) -> tuple[Profile, ...]:
    """What the class sizes of a manifest say: the threshold of clinical data, of the set that is furthest from it."""
    from sfumato.measures.standards.clinical import from_sizes

    found = []
    for entry in measured(manifest):
        figures = [look(entry, "smallest"), look(entry, "classes"), look(entry, "risk", "average")]
        if all(isinstance(one, int | float) and one > 0 for one in figures):
            least, classes, average = figures
            rows = round(classes / average)  # the average risk is classes per row
            found.append(from_sizes(of_set(manifest, entry), rows, int(least), int(classes), float(average)))
    return (min(found, key=lambda one: one.holds),) if found else ()


def standards(found: Sequence[Profile], with_original: bool = False) -> Markup:
    """The section of standards."""
    if not found:
        return section("standards", "Standards", tag("p", MORE, class_="quiet"))
    told = "by carrying out the attacks on the original" if with_original else "on the released rows alone"
    intro = (
        f"Each measured {told}, beside its limit. Whether a standard applies is for whoever releases the table to say."
    )
    shown = [tag("p", intro, class_="quiet"), tag("ol", *map(_item, found), class_="promises")]
    rest = [TITLES[name] for name in TITLES if name not in {one.name for one in found}]
    if rest:
        shown.append(tag("p", f"{' and '.join(rest)}: not looked at, for that takes the rows.", class_="quiet"))
    return section("standards", "Standards", *shown)


def in_short(found: Sequence[Profile]) -> Markup:
    """Which standards are met, in a line."""
    said = [f"{TITLES[one.name]} {'met' if one.holds else 'not met'}" for one in found]
    return text(f"{'; '.join(said)}. The figures stand below, beside their limits.")


def _item(found: Profile) -> Markup:
    word = tag("span", mark(found.holds), "Met" if found.holds else "Not met", class_="verdict")
    checks = [check for check in found.checks if isinstance(check, Check)]
    objections = [check for check in found.checks if not isinstance(check, Check)]
    lines = [
        (
            check.measure.name.capitalize(),
            percent(check.measure.value),
            percent(check.limit),
            "within" if check.holds else "above",
        )
        for check in checks
    ]
    shown = (
        html_table(
            ("Risk", "Measured", "Limit", "Verdict"),
            lines,
            f"{TITLES[found.name]}: each risk and its limit",
            "stack figured checks",
        )
        if lines
        else None
    )
    listed = [
        tag("li", name_(one.column), f": {one.identifier}. {one.title}, in {percent(one.share)} of the records")
        for one in objections
    ]
    return tag(
        "li",
        tag("header", tag("h3", TITLES[found.name]), word),
        shown,
        tag("ul", *listed, class_="findings") if listed else None,
        tag("details", tag("summary", "The statement"), tag("p", found.statement)),
        class_=None if found.holds else "broken",
    )
