"""Standards: a table held against HIPAA's Safe Harbor, the terms of the GDPR, and the threshold of clinical data."""

from __future__ import annotations

from typing import Any

import polars as pl

from sfumato.core.parameters import one_of
from sfumato.core.printed import printed
from sfumato.core.roles import name_runs
from sfumato.engines.memory.table import enter
from sfumato.measures.standards.clinical import clinical
from sfumato.measures.standards.finding import Check, Objection, Profile
from sfumato.measures.standards.gdpr import gdpr
from sfumato.measures.standards.hipaa import BIRTH_YEARS, BIRTHS, hipaa
from sfumato.measures.standards.values import installed

__all__ = [
    "PROFILES",
    "Check",
    "Objection",
    "Profile",
    "clinical",
    "gdpr",
    "hipaa",
    "profile",
    "profile_named",
    "safe_harbor",
]

PROFILES = ("hipaa", "gdpr", "clinical")


def profile(
    name: str, data: Any, quasi: Any = (), sensitive: Any = (), *, wildcard: bool = False, **options: Any
) -> Profile:
    """A table held against a standard: "hipaa", "gdpr" or "clinical".

    Parameters
    ----------
    name
        The standard.
    data
        The released table.
    quasi, sensitive
        Its quasi-identifying and sensitive columns; Safe Harbor looks at all columns and needs neither.
    wildcard
        Whether a missing value (and "*") matches any value; to Safe Harbor it makes no difference.
    options
        Those of `hipaa` (year), `gdpr` (original, holdout, hierarchies, limit, trials, seed) or `clinical` (limit).

    Examples
    --------
    >>> found = profile("hipaa", {"zip": ["130**", "148**"], "age": ["40-49", ">= 90"]})
    >>> found.holds, found.checks
    (True, ())
    """
    if profile_named(name) == "hipaa":
        return safe_harbor(data, **options)
    if name == "gdpr":
        return gdpr(data, quasi, sensitive, wildcard=wildcard, **options)
    return clinical(data, quasi, wildcard=wildcard, **options)


def profile_named(name: Any) -> str:
    """The name of a profile, or a PolicyError with those there are."""
    return one_of(name, "profile", PROFILES)


def safe_harbor(data: Any, *, year: int | None = None) -> Profile:
    """A release held against HIPAA's Safe Harbor: it holds where none of the eighteen identifiers is found."""
    frame = enter(data)[0]
    found = hipaa(frame, year=year)
    columns = list(dict.fromkeys(finding.column for finding in found))
    if found:
        numbers = sorted({finding.identifier for finding in found})
        listed = ", ".join(f'"{column}"' for column in columns)
        verdict = (
            f"{len(numbers)} of the eighteen identifiers (number {', '.join(map(str, numbers))}) stand in the table, "
            f"in {listed}: it does not meet Safe Harbor"
        )
    else:
        verdict = f"none of the eighteen identifiers was found in the {frame.width} columns"
    statement = (
        f"Of 45 CFR 164.514(b)(2)(i), {verdict}. Columns were looked at by their names and by the form of their "
        "values. Not recognisable by value are names of people and of places, licence plates and licence numbers, "
        "biometric identifiers, faces in images, and what free text tells in words: a column of these whose name does "
        "not say so goes unnoticed. So do ages, dates that a program counts in days or seconds, and ZIP codes or "
        "coordinates among other numbers, where no name says what they are. Safe Harbor also asks that nobody who "
        "releases the table has actual knowledge that it could identify a person, which no check can tell."
    )
    unread = [name for name in frame.columns if _tells_birth(frame, name)] if year is None else []
    if unread:
        listed = ", ".join(f'"{column}"' for column in unread)
        statement += (
            f" Whether {listed} tells ages over 89 was not examined: it takes the year that the table is about."
        )
    if not installed():
        statement += " Check digits were not examined: python-stdnum is not installed."
    return Profile("hipaa", not found, found, statement, {"rows": frame.height, "year": year, "not examined": unread})


def _tells_birth(frame: pl.DataFrame, name: str) -> bool:
    """Whether a column has years of birth: its name says so, or it says birth and its values start with a year."""
    words = name_runs(name)
    if words & BIRTH_YEARS or not words & BIRTHS:
        return bool(words & BIRTH_YEARS)
    return bool(printed(frame.get_column(name)).str.contains(r"^\D{0,3}(?:1[89]|20)\d[0-9*x#]").any())
