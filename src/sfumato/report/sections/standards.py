"""The release held against the standards: Safe Harbor, clinical data, the three terms of the GDPR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.core.printed import printed_frame
from sfumato.core.wording import percent
from sfumato.errors import SfumatoError
from sfumato.measures.standards.finding import Check, Profile
from sfumato.report.charts.svg import mark
from sfumato.report.manifest import Manifest, counted, look, measured, of_set, quasi, roles_of, rows
from sfumato.report.markup import Markup, section, tag, text
from sfumato.report.markup import name as name_
from sfumato.report.markup import table as html_table

if TYPE_CHECKING:
    import polars as pl

TITLES = {"hipaa": "HIPAA Safe Harbor", "clinical": "Clinical data (EMA, Health Canada)", "gdpr": "GDPR"}
HELD = 2_000_000  # rows times columns up to which a table is held against the standards
STATED = 20_000_000  # and against the one that the release is held to
WIDE = 300  # columns up to which it is: each is searched for every kind of identifier
MORE = (
    f"A table of up to {HELD:,} cells and {WIDE} columns is held against them here; "
    "for this one, sfumato risk --profile does it."
)


THIS = "the standard that this release is held to"
NOT_LOOKED_AT = f"that takes the rows in memory, and of them at most {STATED:,} cells and {WIDE} columns"


@dataclass(frozen=True)
class HeldTo:
    """The standard that a release is held to, and its verdict; None where it was not looked at."""

    name: str
    verdict: Profile | None

    @property
    def title(self) -> str:
        """The standard by its full name."""
        return TITLES[self.name]

    @property
    def missing(self) -> tuple[str, ...]:
        """What the standard asks about and could not be examined."""
        from sfumato.measures.standards.gdpr import CRITERIA

        asked = CRITERIA if self.name == "gdpr" else ()
        return tuple(what for what in asked if self.verdict is not None and what not in self.verdict.examined)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json."""
        return {"name": self.name, "holds": None} if self.verdict is None else self.verdict.to_dict()


def held_to(manifest: Manifest, found: Sequence[Profile]) -> HeldTo | None:
    """The standard that a manifest says its release is held to, with its verdict among those found."""
    name = look(manifest, "policy", "profile")
    if name not in TITLES:
        return None
    return HeldTo(str(name), next((one for one in found if one.name == name), None))


def profiles(
    manifest: Manifest, released: pl.DataFrame | None, original: pl.DataFrame | None = None
) -> tuple[Profile, ...]:
    """What each standard says of a released table; of several sets of quasi-identifiers, the first that fails.

    First stands the one that the release is held to. Without the rows it is what the class sizes say.
    """
    from sfumato.measures.standards import profile

    if counted(manifest):  # all but HIPAA count rows, and several may be one person's
        whole = {key: value for key, value in manifest.items() if key != "people"}
        return tuple(one for one in profiles(whole, released, original) if one.name == "hipaa")
    if released is None or not released.height:
        return from_counts(manifest)
    stated, cells = look(manifest, "policy", "profile"), released.height * released.width
    fit = [name for name in TITLES if cells <= (STATED if name == stated else HELD) and released.width <= WIDE]
    if not fit:
        return from_counts(manifest) if stated == "clinical" else ()
    table = printed_frame(released)  # the same for rows in memory and those read back from their file
    roles, wildcard = roles_of(manifest, released), look(manifest, "policy", "wildcard") is True
    sets = [names for found in quasi(manifest) if (names := [name for name in found if name in roles])]
    guarded = {name for name, role in roles.items() if role == "sensitive"} | {*rows(manifest, "policy", "sensitive")}
    found = []
    for standard in sorted(fit, key=lambda name: name != stated):
        verdicts = []
        for names in sets if standard != "hipaa" else [[]]:
            secrets = [name for name in roles if name in guarded and name not in names]
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
            released = round(classes / average)  # the average risk is classes per row
            found.append(from_sizes(of_set(manifest, entry), released, int(least), int(classes), float(average)))
    return (min(found, key=lambda one: one.holds),) if found else ()


def standards(found: Sequence[Profile], held: HeldTo | None = None, with_original: bool = False) -> Markup:
    """The section of standards."""
    unseen = None
    if held is not None and held.verdict is None:
        unseen = tag("p", f"{held.title}, {THIS}, was not looked at: {NOT_LOOKED_AT}.", class_="alarm")
    if not found:
        return section("standards", "Standards", unseen or tag("p", MORE, class_="quiet"))
    told = "by carrying out the attacks on the original" if with_original else "on the released rows alone"
    which = "a standard" if held is None else "another than the one that this release is held to"
    intro = f"Each measured {told}, beside its limit. Whether {which} applies is for whoever releases the table to say."
    items = [_item(one, held is not None and one.name == held.name) for one in found]
    shown = [unseen, tag("p", intro, class_="quiet"), tag("ol", *items, class_="promises")]
    seen = {one.name for one in found} | ({held.name} if held is not None else set())
    rest = [TITLES[name] for name in TITLES if name not in seen]
    if rest:
        shown.append(tag("p", f"{' and '.join(rest)}: not looked at, for that takes the rows.", class_="quiet"))
    return section("standards", "Standards", *shown)


def in_short(found: Sequence[Profile], held: HeldTo | None = None) -> Markup:
    """Which standards are met, in a line, but for the one that a release is held to."""
    seen = {one.name: "met" if one.holds else "not met" for one in found}
    names = [name for name in dict.fromkeys((*seen, *TITLES)) if held is None or name != held.name]
    said = [f"{TITLES[name]} {seen.get(name, 'not looked at')}" for name in names]
    return text(f"{'; '.join(said)}. The figures stand below, beside their limits.")


def _item(found: Profile, stated: bool) -> Markup:
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
        tag("p", f"{THIS[:1].upper()}{THIS[1:]}.") if stated else None,
        shown,
        tag("ul", *listed, class_="findings") if listed else None,
        tag("details", tag("summary", "The statement"), tag("p", found.statement)),
        class_=None if found.holds else "broken",
    )
