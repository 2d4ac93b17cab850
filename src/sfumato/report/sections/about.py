"""What the release is about, in its owner's words, and the attacker assumed; lines to fill in where nothing is said."""

from __future__ import annotations

from sfumato.report.manifest import Manifest, is_drawn, look, quasi
from sfumato.report.markup import Markup, facts, join, names, section, tag

LINES = {
    "dataset": "Dataset",
    "controller": "Controller",
    "purpose": "Purpose",
    "recipient": "Recipient",
    "legal_basis": "Legal basis",
    "date": "Date",
    "review_date": "To be reviewed on",
}
LONGEST = 600  # letters of a text
WORST_CASE = (
    "That this person is in the table is taken as known: the worst case, for somebody who does not know it finds no "
    "more."
)
NOBODY = "No record is that of this person: what there is to learn is learnt from records alike."


def said(manifest: Manifest, *path: str) -> Markup | None:
    """What the owner wrote, or None."""
    found = look(manifest, "about", *path)
    return tag("bdi", found[:LONGEST]) if isinstance(found, str) and found else None


def blank() -> Markup:
    """A line to be filled in by hand."""
    return tag("span", class_="fill")


def lines(manifest: Manifest) -> list[tuple[object, object]]:
    """What the owner wrote of it, with lines to fill in for the rest."""
    return [(term, said(manifest, key) or blank()) for key, term in LINES.items()]


def about(manifest: Manifest) -> Markup:
    """The section of what the release is about."""
    pairs = lines(manifest)
    sets = [one for one in quasi(manifest) if one]
    if sets:
        known = join([names(one) for one in sets], ", or the ")
        who = join(["Somebody who knows the ", known, " of one person, and no other column. "])
        pairs.append(("Attacker assumed", join([who, NOBODY if is_drawn(manifest) else WORST_CASE])))
        pairs.append(("Why this attacker", said(manifest, "attacker") or blank()))
    return section("about", "About this release", facts(pairs, "record"))
