"""What a release is about, in its owner's words: dataset, controller, purpose, and why each column has its role.

It stands in the manifest, and so in the report, and a signature covers it. It is published with the release.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Any

from sfumato.errors import PolicyError, did_you_mean
from sfumato.report.translation import LANGUAGES

TEXTS = ("dataset", "controller", "purpose", "recipient", "legal_basis", "attacker")
DATES = ("date", "review_date")
KEYS = (*TEXTS, *DATES, "language", "columns", "suggested")
LONGEST = 600  # letters of a text
TURNING = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # what turns the direction of text


def about_of(given: Any, columns: Collection[str] | None = None) -> dict[str, Any]:
    """The checked words; a PolicyError with all faults. `columns` are those of the table, where they are known.

    >>> about_of({"dataset": " Admissions  2025 ", "date": "2026-03-01"})
    {'dataset': 'Admissions 2025', 'date': '2026-03-01'}
    """
    found, faults = checked_about(given, columns)
    if faults:
        raise PolicyError("about makes no sense:", [f"{key}: {fault}" if key else fault for key, fault in faults])
    return found


def checked_about(given: Any, columns: Collection[str] | None = None) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """What is right, and what is wrong, each fault with its key."""
    if given is None:
        return {}, []
    if not isinstance(given, Mapping):
        return {}, [("", f"must be a table of texts; got {type(given).__name__}")]
    faults: list[tuple[str, str]] = []
    found: dict[str, Any] = {}
    for key in given:
        if key not in KEYS:
            hint = did_you_mean(str(key), KEYS) or f"the keys are {', '.join(KEYS)}"
            faults.append((str(key), f'unknown key "{key}"; {hint}'))
    for key in (key for key in KEYS if given.get(key) is not None):
        value, fault = _value(key, given[key]) if key not in COLUMNS else COLUMNS[key](given[key], columns)
        if fault is not None:
            faults.append((key, fault))
        elif value:
            found[key] = value
    return found, faults


def _value(key: str, value: Any) -> tuple[Any, str | None]:
    if key in DATES:
        text = value.isoformat() if type(value) is date else value
        try:
            if isinstance(text, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
                return date.fromisoformat(text).isoformat(), None
        except ValueError:
            pass
        return None, "must be a date, as in 2026-03-01"
    if key == "language":
        return (value, None) if value in LANGUAGES else (None, f"must be one of {', '.join(LANGUAGES)}")
    return _text(value)


def _text(value: Any) -> tuple[Any, str | None]:
    """A text as one paragraph, without letters that steer anything."""
    if not isinstance(value, str):
        return None, f"must be a text; got {type(value).__name__}"
    text = " ".join(value.split())
    if len(text) > LONGEST:
        return None, f"must have at most {LONGEST} letters; got {len(text)}"
    if any(unicodedata.category(letter) in ("Cc", "Cs", "Co") or letter in TURNING for letter in text):
        return None, "must be plain text: it holds a control character"
    return text, None


def _columns(value: Any, columns: Collection[str] | None) -> tuple[Any, str | None]:
    """Why columns have their roles."""
    if not isinstance(value, Mapping):
        return None, "must be a table of columns, each with its reason"
    found = {}
    for name, reason in value.items():
        text, fault = _text(reason)
        if fault is not None or (fault := _unknown([name], columns)) is not None:
            return None, f'"{name}" {fault}' if text is None else fault
        found[str(name)] = text
    return found, None


def _suggested(value: Any, columns: Collection[str] | None) -> tuple[Any, str | None]:
    """Columns whose roles were suggested, and not judged by anybody."""
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        return None, "must be a list of columns"
    return list(value), _unknown(value, columns)


def _unknown(names: Sequence[Any], columns: Collection[str] | None) -> str | None:
    for name in names if columns is not None else ():
        if name not in (columns or ()):
            hint = did_you_mean(str(name), columns or ())
            return f'names a column "{name}" that the table does not have' + (f"; {hint}" if hint else "")
    return None


COLUMNS: dict[str, Callable[[Any, Collection[str] | None], tuple[Any, str | None]]] = {
    "columns": _columns,
    "suggested": _suggested,
}
