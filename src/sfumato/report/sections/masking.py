"""What the steps of a masked table did, what they do not protect from, and the facts that can be checked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.wording import number, percent
from sfumato.measures.table import TupleCounts
from sfumato.release.facts import check_public, is_private, unchecked
from sfumato.report.manifest import (
    Manifest,
    is_drawn,
    is_synthetic,
    look,
    measured,
    perturbed,
    quasi,
    rows,
    veiled,
)
from sfumato.report.markup import Markup, facts, join, name, names, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.sections.promises import risks, sizes

if TYPE_CHECKING:
    from sfumato.measures.utility import Pair
    from sfumato.report.sections.evidence import Evidence

ACRONYMS = {
    "pram": "PRAM",
    "romm": "ROMM",
    "massc": "MASSC",
    "mdav": "MDAV",
    "vmdav": "V-MDAV",
    "tfrp": "TFRP",
    "mhm": "MHM",
}
TITLES = {
    "top-bottom-coding": "Top and bottom coding",
    "dp-microaggregation": "Differentially private microaggregation",
    **ACRONYMS,
}
DISTANCES = ("distance linkage", "linkability", "inference")  # attacks that do not ask for equal values
SPLIT = "linkability"  # which takes all columns, whatever is known
READING = (
    "What lies above guessing is what the masked rows still give away. It is for the reader to judge whether that is "
    "acceptable."
)
CORRELATIONS = 12  # that are shown
OWNER = "checked by the owner against the original; needs the original"
NOTHING_DRAWN = "Nothing is stated of the drawn rows that can be checked afterwards."
DRAWN_FACTS = (
    "A fact says something of how the rows were drawn. It promises nothing of people. Some are checked on the released "
    "rows, by anybody; others compare with the original, which only its owner has."
)
ANEW = "A drawn record that stands alone may be nobody's, and one that stood alone may have come back."
CHANCE = "After perturbation a record that stands alone may be a new one, and one that stood alone may have vanished."


def as_checked(manifest: Manifest, released: pl.DataFrame | TupleCounts | None) -> dict[str, Any]:
    """A manifest whose public facts are checked on the released rows, or counts of them, without class sizes that say
    nothing."""
    found = []
    for fact in rows(manifest, "facts"):
        if is_private(fact):
            found.append(unchecked(fact, OWNER))
        elif released is None:
            found.append(unchecked(fact, "the rows were not looked at"))
        elif isinstance(released, TupleCounts):
            entries, often = released.entries(fact["columns"])
            found.append(check_public(entries, pl.Series(often), fact))
        else:
            found.append(check_public(released, None, fact))
    told = [one for one in measured(manifest) if not {*rows(one, "quasi")} & {*veiled(manifest)}]
    return {**manifest, "facts": [asdict(one) for one in found], "measured": told}


def steps(manifest: Manifest) -> Markup:
    """The section of the steps, in their order."""
    items = []
    for step in rows(manifest, "steps"):
        columns, does = rows(step, "columns"), str(look(step, "does") or "")
        published = look(step, "published")
        told = (
            facts((str(key).replace("_", " "), _told(value)) for key, value in published.items()) if published else None
        )
        kind = str(look(step, "step") or "step")
        title = TITLES.get(kind, kind.replace("-", " ").capitalize())
        items.append(
            tag(
                "li",
                tag("header", tag("h3", title), tag("span", names(columns), class_="quiet") if columns else None),
                tag("p", f"{does[:1].upper()}{does[1:]}.") if does else None,
                told,
                tag("p", tag("b", "What it leaves open:"), " ", str(look(step, "leaves")), class_="quiet")
                if look(step, "leaves")
                else None,
            )
        )
    intro = "One after the other, in this order. What each of them leaves open is no fault: it is what to judge."
    key = rows(manifest, "policy", "row_key")
    drawn = tag("p", "Random numbers of a row are drawn by ", names(key), ", under a secret key.") if key else None
    return section("steps", "What the steps did", tag("p", intro), tag("ol", *items, class_="steps"), drawn)


def _told(value: Any) -> Markup:
    """What a step tells of what it found."""
    if isinstance(value, Mapping):
        return join([join([name(key), " ", _told(one)]) for key, one in value.items()], "; ")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return join([_told(one) for one in value], ", ")
    return join([value if isinstance(value, str) else number(value)])


def checked(manifest: Manifest) -> Markup:
    """The section of facts, in words that are never those of a promise."""
    synthetic = is_synthetic(manifest)
    title = "Facts of the drawing" if synthetic else "Facts of the steps"
    found = rows(manifest, "facts")
    if not found:
        none = NOTHING_DRAWN if synthetic else "These steps state nothing that can be checked afterwards."
        return section("facts", title, tag("p", none))
    intro = (
        "A fact says that a step did what it says it did. It promises nothing of the people in the table. Some are "
        "checked on the released rows, by anybody; others compare with the original, which only its owner has."
    )
    steps_ = [[] if synthetic else [number(int(look(fact, "step") or 0) + 1)] for fact in found]
    lines = [(str(look(fact, "sentence")), *of, _state(fact)) for fact, of in zip(found, steps_, strict=True)]
    head = ("Fact", "State") if synthetic else ("Fact", "Step", "State")
    shown = html_table(head, lines, f"{title}, and whether they were checked", "stack checked")
    return section("facts", title, tag("p", DRAWN_FACTS if synthetic else intro), shown)


def _state(fact: Manifest) -> Markup:
    """Whether a fact was checked: a word, and no mark of a promise."""
    holds, note = look(fact, "holds"), look(fact, "note")
    if holds is None:
        return tag("span", str(note), class_="quiet")
    if not holds:
        return tag("span", tag("b", "Not so: "), str(note), class_="alarm")
    return tag("span", "checked on the released rows")


def class_risk(manifest: Manifest) -> list[Markup]:
    """Class sizes and risk where they mean something, and a sentence on columns of which they do not."""
    known = dict.fromkeys(column for names_ in quasi(manifest) for column in names_)
    if not known:
        return []
    blind = [column for column in perturbed(manifest) if column in known]
    parts = [sizes(manifest), *([] if is_drawn(manifest) else [risks(manifest)])] if measured(manifest) else []
    if not blind:
        return parts
    how, why, columns = "perturbed", CHANCE, "perturbed columns"
    if is_synthetic(manifest):
        how, why, columns = "made anew", ANEW, "columns made anew"
    what = f" was {how}" if len(blind) == 1 else f" were {how}"
    if set(blind) & {*veiled(manifest)}:
        told = f"{what}: for {columns} the risk by classes of equal rows is not meaningful. {why}"
    else:
        told = f"{what}: the classes are those of the released values, as the promises count them. {why}"
    return [*parts, section("perturbed", f"Class risk and {columns}", tag("p", names(blind), told))]


def known_sets(manifest: Manifest) -> list[list[str]]:
    """What somebody who links may know: the quasi-identifiers, and what steps changed, but for pseudonyms."""
    tokens = {
        str(column)
        for step in rows(manifest, "steps")
        if look(manifest, "pseudonymous") and not look(step, "perturbs")
        for column in rows(step, "columns")
    }
    changed = [str(column) for column in rows(manifest, "changed") if column not in tokens]
    return [
        *(one for one in quasi(manifest) if one),
        *([changed] if changed and changed not in quasi(manifest) else []),
    ]


def beside_original(
    manifest: Manifest, released: pl.DataFrame, original: pl.DataFrame, public: Evidence, *, rows: Any = None,
    hierarchies: Mapping[str, Any] | None = None, least: int,
) -> tuple[list[Markup | None], tuple[Mapping[str, Any], ...]]:  # fmt: skip
    """The sections that compare with the original, and the attacks tried: distances stand where classes did."""
    from sfumato.losses import LOSSES
    from sfumato.measures.utility import Pair, pair_of
    from sfumato.report.sections.attacks import attacks
    from sfumato.report.sections.columns import heat_map, shapes
    from sfumato.report.sections.evidence import benefit, comparison

    sets = [[name for name in one if name in original.columns] for one in known_sets(manifest)]
    asked = {**manifest, "policy": {**manifest["policy"], "quasi": [one for one in sets if one]}}
    found = comparison(asked, released, original, public, rows=rows, hierarchies=hierarchies, least=least)
    pair = pair_of(original, released, rows=rows) if rows is not None else Pair(original, released, None, {})
    kept = [measure for measure in found.measures if not perturbed(manifest) or measure["name"] not in LOSSES]
    shown, tried = found.shown, found.shown.attacks
    if perturbed(manifest):  # what asks for equal values, or for labels that cover them, tells nothing
        few = [one for kind in DISTANCES for one in tried if one["name"] == kind]
        told = {(one["name"], "" if one["name"] == SPLIT else one["sentence"]): one for one in reversed(few)}
        tried = tuple(reversed(told.values()))
    parts = [
        attacks(tried, shown.left_out, with_original=True, reading=READING),
        intervals(manifest, pair),
        shapes(shown.shapes, found.least),
        heat_map(shown.heat, found.least),
        moments(pair),
        benefit(kept, found.left_out),
    ]
    return parts, tried


def intervals(manifest: Manifest, pair: Pair) -> Markup | None:
    """The section of interval disclosure: how often the original value lies near the released one."""
    from sfumato.measures.risk.interval_window import interval_figures

    names_ = [str(name) for name in rows(manifest, "changed") if name in pair.original.columns]
    if pair.rows is None or not names_:
        return None
    found = interval_figures(pair.original[pair.rows.tolist()], pair.released, names_)
    lines = [
        (name(column), *(percent(of[key], "–") for key in ("rank", "rank_baseline", "sd", "sd_baseline")))
        for column, of in found["columns"].items()
    ]
    if not lines:
        return None
    by_rank, by_sd = (
        f"Within {number(found['rank'])}% of the ranks",
        f"Within {number(found['sd'])} standard deviations",
    )
    intro = (
        "The share of original values that lie near the released value of their row. Beside it that of the released "
        "value of somebody else: what is above that is what the masking still tells."
    )
    head = ("Column", by_rank, "Of somebody else", by_sd, "Of somebody else")
    shown = html_table(head, lines, "Original values near the released ones", "stack figured")
    return section("intervals", "Interval disclosure", tag("p", intro), shown)


def moments(pair: Pair) -> Markup | None:
    """The section of means, standard deviations and correlations, before and after."""
    from sfumato.errors import ColumnError
    from sfumato.measures.utility.numeric_error import correlation, mean, numbers_of, spread

    try:
        found = numbers_of(pair)
    except ColumnError:  # no column of numbers
        return None
    if min(found.rows) < 2:
        return None
    means, spreads = ([of(x, None) for x in (found.before, found.after)] for of in (mean, spread))
    lines = [
        (name(column), *(number(float(of[i])) for of in (*means, *spreads))) for i, column in enumerate(found.names)
    ]
    head = ("Column", "Mean before", "After", "Standard deviation before", "After")
    parts = [html_table(head, lines, "Means and standard deviations", "stack figured")]
    before, after = (correlation(x, None) for x in (found.before, found.after))
    pairs = [(i, j) for i in range(len(found.names)) for j in range(i)]
    pairs.sort(key=lambda at: -abs(float(after[at] - before[at])))
    if pairs:
        moved = [
            (names([found.names[j], found.names[i]]), f"{before[i, j]:.3f}", f"{after[i, j]:.3f}")
            for i, j in pairs[:CORRELATIONS]
        ]
        title = "Correlations, those that moved most first"
        parts.append(html_table(("Columns", "Before", "After"), moved, title, "stack figured"))
    return section("moments", "Means, spreads and correlations", *parts)
