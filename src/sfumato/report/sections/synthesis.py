"""What a synthetic table is, how it was drawn, and what it repeats, as far as that may be published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.masked import NOT_ANONYMOUS
from sfumato.core.wording import count, is_real, number, parameter, percent
from sfumato.release.manifest import COPY
from sfumato.report.manifest import Manifest, constructed, is_drawn, look, measured, of_set, promises, rows, table
from sfumato.report.markup import Markup, facts, join, name, names, section, tag

DRAWN = "This table was drawn from a model; no row is a person's row"
PARTIAL = "The rows of this table are those of people; some values were drawn from a model"
PEOPLE = "This table was drawn from the rows of people; every row is a person's row"
MIXED = "Each row of this table is a person's row, mixed with one drawn from a model"
MAY_REPEAT = "but some may repeat one"
CONSTRUCTED = (
    "That is so by construction, and was checked by the owner against the original; the released rows alone cannot "
    "prove it."
)
RECUR = "A row that several people have in common may stand in the table."
COPIES = {
    "redraw": "No row repeats a row that stands alone in the original: rows that did were replaced.",
    "drop": "No row repeats a row that stands alone in the original: rows that did were left out.",
    "keep": "Rows of people may be repeated: what was drawn was kept, whoever has such a row.",
}
COPIES_OF_PEOPLE = {
    "redraw": "Rows that stand alone in the original were replaced; all others are as several people have them.",
    "drop": "Rows that stand alone in the original were left out; all others are as several people have them.",
    "keep": "Every row repeats a row of the original.",
}
COPIES_IN_PART = {
    "redraw": "Rows made anew that still repeated a row that stands alone in the original were drawn again, where "
    "other values could be had.",
    "drop": "Rows made anew that still repeated a row that stands alone in the original were left out.",
    "keep": "Rows may have stayed as they were.",
}
NOT_AT_RISK = "All other rows, those that were not at risk, are as people have them."
HOW_MANY = {
    "redraw": "Not published: how many rows were replaced is for the owner.",
    "drop": "Where it is known how many rows were drawn, the number of rows that are left tells how many were not.",
}
WHY = (
    "A model that fits well gives rows that people have, by chance or because it learnt them by heart. Somebody who "
    "finds their own row, or that of another, cannot tell which."
)
OF_PEOPLE = "The rows are those of people: whoever knows what was not made anew of somebody may find their row."
NO_HOLD_OUT = "No row was held out: the measures of the owner cannot tell what is copied from what chance repeats."
PRIVATE = "No row was held out or compared: what is in this folder is made of noisy counts, and of nothing else."
BY_COUNTS = "The model was learnt from counts of all rows of the original, so that none could be held out."
PARAMETERS = {
    "leaf": "Rows of a leaf, at least",
    "complexity": "Gain of a split, at least",
    "predictors": "Columns a tree is grown on, at most",
    "smoothing": "Smoothing of numbers",
    "spikes": "Values drawn by themselves",
    "proper": "Grown on a bootstrap sample",
    "rows_at_risk": "Risk from which on rows are made anew",
    "degree": "Columns that one depends on, at most",
    "alpha": "Rows that smooth a count",
    "k": "Rows of a group, at least",
    "share": "Share of a person's value",
    "generator": "Mixed with rows of",
    "bins": "Groups of numbers, at most",
    "inside": "Numbers of a group",
    "max_cells": "Cells of a table, at most",
    "shrink": "Shrunk correlations",
    "exact": "Exact moments",
    "order": "Order of the columns",
    "nested": "Drawn group by group",
    "passive": "Computed from others",
    "household": "Column of households",
    "household_columns": "Columns of households",
    "margins": "Tables of counts",
    "zeros": "What no row may be",
    "rules": "Rules that every row keeps",
    "epsilon": "Epsilon",
    "delta": "Delta",
    "bounds": "Bounds, stated from outside",
    "keys": "Possible values, stated from outside",
    "missing": "Columns that may lack a value",
    "theta": "Rows of a cell beside its noise, at least",
}
TITLES = {"mst": "MST", "aim": "AIM", "priv-bayes": "PrivBayes"}  # as the literature writes them
OWN = ("step", "columns", "does", "leaves", "perturbs", "published")  # of a step; the rest are parameters


def said_of_rows(manifest: Manifest) -> str:
    """The first sentence of a report: what its rows are.

    >>> said_of_rows({"made_by": "synthesis", "synthesis": {"copies": "keep"}})
    "This table was drawn from a model; no row is a person's row, but some may repeat one"
    """
    for of, what in (("copies_people", PEOPLE), ("mixes_people", MIXED), ("partial", PARTIAL)):
        if look(manifest, "synthesis", of):
            return what
    return f"{DRAWN}, {MAY_REPEAT}" if look(manifest, "synthesis", "copies") == "keep" else DRAWN


def said_of_copies(manifest: Manifest) -> str:
    """What the rows repeat, as far as that may be published: no count of them."""
    told = COPIES_IN_PART if look(manifest, "synthesis", "partial") else COPIES
    told = COPIES_OF_PEOPLE if look(manifest, "synthesis", "copies_people") else told
    said = told.get(str(look(manifest, "synthesis", "copies")), COPIES["keep"])
    at_risk = any(look(step, "rows_at_risk") is not None for step in rows(manifest, "steps"))
    return f"{said} {NOT_AT_RISK}" if at_risk else said


def is_constructed(manifest: Manifest) -> bool:
    """Whether that no row repeats one that stands alone is so by construction."""
    own = any(look(manifest, "synthesis", of) for of in ("partial", "copies_people"))
    return not own and look(manifest, "synthesis", "copies") in ("redraw", "drop")


def left_open(manifest: Manifest) -> list[str]:
    """What the generator leaves open, beside what every synthetic table does."""
    said = dict.fromkeys(str(look(step, "leaves")) for step in rows(manifest, "steps") if look(step, "leaves"))
    return [one for one in said if one != NOT_ANONYMOUS]


def synthetic_lines(manifest: Manifest) -> list[tuple[str, str]]:
    """What the headline says first, a term and a sentence each."""
    said = said_of_copies(manifest)
    repeats = ("By construction", f"{said} {CONSTRUCTED}") if is_constructed(manifest) else ("Repeats", said)
    found = [repeats] if constructed(manifest) else [("Not anonymous", NOT_ANONYMOUS), repeats]
    return found + [("Left open", one) for one in left_open(manifest)]


def lead(manifest: Manifest) -> Markup:
    """How many rows there are, and of how many they were learnt."""
    released, before = look(manifest, "data", "rows"), look(manifest, "input", "rows")
    m = int(look(manifest, "synthesis", "m") or 1)
    held = f"holds {count(released, 'record')}" if m == 1 else f"holds {number(m)} tables, {count(released, 'record')}"
    of = "" if before is None else f", made from an original of {count(before, 'record')}"
    file = tag("bdi", look(manifest, "data", "file") or "The released table")
    parts: list[object] = [file, f" {held if released is not None else 'is described by its manifest'}{of}."]
    worst = min(measured(manifest), key=lambda entry: look(entry, "smallest") or 0, default={})
    smallest, columns = look(worst, "smallest"), [one for one in of_set(manifest, worst) if one != COPY or m == 1]
    if smallest and columns and promises(manifest):
        alike = f"at least {number(smallest)} of its records are alike"
        parts += [" By ", names(columns), f", {alike if smallest > 1 else 'some records stand alone'}."]
    return join(parts)


def figures(manifest: Manifest) -> list[tuple[str, str, str | None]]:
    """The first figures: a term, a value and a note each."""
    released, before = look(manifest, "data", "rows"), look(manifest, "input", "rows")
    columns, m = rows(manifest, "data", "columns"), int(look(manifest, "synthesis", "m") or 1)
    own = [column for column in columns if look(column, "role") != COPY]
    changed = sum(bool(look(column, "changed")) for column in own)
    kept = [one for one in promises(manifest) if one.get("model") != "integrity"] + constructed(manifest)
    held = look(manifest, "synthesis", "hold_out")
    return [
        (
            "Rows drawn" if is_drawn(manifest) else "Rows released",
            number(released),
            f"in {m} tables" if m > 1 else None,
        ),
        *([] if before is None and constructed(manifest) else [("Original", number(before), "rows")]),
        ("Made anew", number(changed), f"of {count(len(own), 'column')}"),
        *(
            []
            if constructed(manifest)
            else [
                ("Held out", percent(held) if held else "none", f"of the {_seen(manifest)}" if held else "no baseline")
            ]
        ),
        ("Promises", number(len(kept)) if kept else "none", "of the drawn rows" if kept else "about people"),
    ]


def titled(step: Any) -> str:
    """The name of a generator as a title."""
    name = str(look(step, "step") or "generator")
    return TITLES.get(name) or name.replace("-", " ").capitalize()


def drawing(manifest: Manifest) -> Markup:
    """The section of how it was drawn: the generator, its parameters, and what it leaves open."""
    items = []
    for step in rows(manifest, "steps"):
        columns, does = rows(step, "columns"), str(look(step, "does") or "")
        some = columns and look(manifest, "synthesis", "partial")
        given = {key: value for key, value in table(step).items() if key not in OWN and value}
        known = [key for key in (*PARAMETERS, *given) if key in given]
        items.append(
            tag(
                "li",
                tag("header", tag("h3", titled(step)), tag("span", names(columns), class_="quiet") if some else None),
                tag("p", f"{does[:1].upper()}{does[1:]}.") if does else None,
                facts([(PARAMETERS.get(key) or tag("code", key), _told(given[key])) for key in dict.fromkeys(known)])
                if known
                else None,
                tag("p", tag("b", "What it leaves open:"), " ", str(look(step, "leaves")), class_="quiet")
                if look(step, "leaves")
                else None,
            )
        )
    m = int(look(manifest, "synthesis", "m") or 1)
    several = (
        tag("p", f"{number(m)} tables were drawn, each anew; ", name(COPY), " says which one a row is of. Analyse each "
            "by itself and combine the estimates: rows of several tables are not more people.")
        if m > 1
        else None
    )  # fmt: skip
    return section("drawing", "How it was drawn", tag("ul", *items, class_="steps plain"), _learnt(manifest), several)


def _seen(manifest: Manifest) -> str:
    """What the model was given rows of."""
    return "original" if look(manifest, "synthesis", "sample") is None else "sample"


def _learnt(manifest: Manifest) -> Markup | None:
    """What of an out-of-core table the model was learnt from."""
    if look(manifest, "synthesis", "fitted_to") == "counts":
        return tag("p", BY_COUNTS)
    if (sample := look(manifest, "synthesis", "sample")) is None:
        return None
    return tag("p", f"The model was learnt from a sample of {count(sample, 'row')} of the original, drawn by chance.")


def _told(value: Any) -> Markup:
    """The value of a parameter."""
    if isinstance(value, Mapping):
        return join([tag("span", name(key), " ", _told(one), class_="line") for key, one in value.items()])
    if isinstance(value, Sequence) and not isinstance(value, str):
        own = [_told(one) for one in value]
        lines = any(not isinstance(one, str) or " " in one for one in value if not isinstance(one, int | float))
        return join([tag("span", one, class_="line") for one in own]) if lines else join(own, ", ")
    if is_real(value):
        return join([number(value)])
    return join([parameter(value)]) if isinstance(value, bool) else tag("bdi", value)


def repeating(manifest: Manifest) -> Markup:
    """The section of what it repeats, and of the rows that were held out."""
    held = look(manifest, "synthesis", "hold_out")
    told = PRIVATE if constructed(manifest) else NO_HOLD_OUT
    if held:
        told = (
            f"{percent(held)} of the {_seen(manifest)} rows were held out: the model never saw them, so that what it "
            "repeats of them is chance. The owner measures by them."
        )
    pairs = [
        ("Rows of people", said_of_copies(manifest)),
        ("How that is known", CONSTRUCTED if is_constructed(manifest) else None),
        ("Rows of several people", RECUR if is_constructed(manifest) else None),
        ("Held-out rows", told),
        ("How many", HOW_MANY.get(str(look(manifest, "synthesis", "copies")))),
    ]
    return section(
        "repeats", "What it repeats", tag("p", WHY if is_drawn(manifest) else OF_PEOPLE), facts(pairs, "record")
    )
