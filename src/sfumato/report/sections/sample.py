"""A sample, before and after: released rows, and above each a row that was made up from its labels alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any
from zlib import crc32

import polars as pl

from sfumato.core.label_grammar import STAR, Range, read_decade, read_range, read_run, read_set, says_nothing
from sfumato.core.printed import printed
from sfumato.report.manifest import Manifest, is_drawn, is_masked, look, roles_of, rows
from sfumato.report.markup import Markup, name, section, tag

ROWS, COLUMNS = 4, 8  # shown at most
LONG = 44  # letters of a label
FEW = 500  # rows in which a label that says something is looked for
DAY = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
INTRO = (
    "The rows before are invented: each was made up from the labels of the released row below it, and nothing else. "
    "They show what a row that fits can look like; whether there is such a person is not known here."
)


def sample(manifest: Manifest, released: pl.DataFrame) -> Markup | None:
    """The section of the sample; None where nothing was blurred."""
    roles = roles_of(manifest, released)
    kinds = {str(look(one, "name")): str(look(one, "kind")) for one in rows(manifest, "data", "columns")}
    shown = sorted(roles, key=lambda column: roles[column] != "quasi")[:COLUMNS]
    shown = [column for column in released.columns if column in shown]
    known = [column for column in shown if roles[column] == "quasi"]
    word = "drawn" if is_drawn(manifest) else "released"
    masked = is_masked(manifest)  # what a masked row was cannot be made up from it
    known = [] if masked else known
    if not (known or masked) or not released.height or look(manifest, "foreign"):
        return None
    many = min(ROWS, released.height)
    at = [(2 * i + 1) * released.height // (2 * many) for i in range(many)]
    labels = {column: printed(released.get_column(column).gather(at)).to_list() for column in shown}
    others = {column: _telling(released.get_column(column)) for column in known}
    body = []
    for i, place in enumerate(at):
        made = []
        for column in shown:
            if column in known:
                kind = kinds.get(column, "")
                made.append(_cell(invented(labels[column][i], kind, others[column], f"{place} {column}")))
            else:
                made.append(tag("td", "as below", class_="quiet"))
        if not masked:
            body.append(tag("tr", tag("th", "before, invented", scope="row"), *made, class_="invented"))
        after = [_cell(labels[column][i]) for column in shown]
        body.append(tag("tr", tag("th", word if masked else "after, released", scope="row"), *after))
    head = tag("tr", tag("td"), *(tag("th", name(column), scope="col") for column in shown))
    caption = tag("caption", f"{word.capitalize()} rows" if masked else "Rows before, invented, and after, released")
    table = tag("table", caption, tag("thead", head), tag("tbody", *body), class_="sample")
    rest = len(released.columns) - len(shown)
    more = tag("p", f"{rest} more columns are not shown.", class_="quiet") if rest > 1 else None
    title = f"A sample of the {word} rows" if masked else "A sample, before and after"
    told = None if masked else tag("p", INTRO)
    return section("sample", title, told, tag("div", table, class_="scroll"), more)


def _cell(label: str | None) -> Markup:
    text = "" if label is None else label
    return tag("td", tag("bdi", text if len(text) <= LONG else f"{text[: LONG - 1]}…"))


def _telling(column: pl.Series) -> list[str]:
    """Labels of a column that say something, for those that do not."""
    step = max(1, len(column) // FEW)
    found = printed(column.gather_every(step)).unique().sort().to_list()
    return [label for label in found if label is not None and not says_nothing(label)]


def invented(label: str | None, kind: str, others: Sequence[str], seed: str) -> str:
    """A value that fits a label, made up from the label; one that says nothing fits what another label allows.

    >>> invented("[30, 34]", "integer", [], "1 age"), invented("08***", "text", [], "1 zip")
    ('32', '08752')
    """
    if label is None or says_nothing(label):
        if label is None or not others:
            return "…"
        return invented(others[_draw(f"{seed} {STAR}", len(others))], kind, [], seed)
    for attempt in (_of_set, _of_day, _of_range, _of_stars):
        if (found := attempt(label, kind, seed)) is not None:
            return found
    return label


def _draw(seed: str, below: int) -> int:
    """A number below a bound, always the same for the same seed."""
    return crc32(seed.encode("utf-8", "replace")) % max(1, below)


def _of_set(label: str, kind: str, seed: str) -> str | None:
    words = read_set(label) or list(read_run(label) or ())
    return words[_draw(seed, len(words))] if words else None


def _of_range(label: str, kind: str, seed: str) -> str | None:
    found = read_decade(label) or read_range(label)
    if found is None:
        return None
    return next((value for make in (_number, _date) if (value := make(found, kind, seed)) is not None), None)


def _number(found: Range, kind: str, seed: str) -> str | None:
    ends = [None if end is None else _as(float, end) for end in (found.low, found.high)]
    if any(end is None and text is not None for end, text in zip(ends, (found.low, found.high), strict=True)):
        return None
    whole = all(end is None or end == int(end) for end in ends)
    low, high = ends
    span = abs(low or high or 1.0) / 10 + 1
    low = (high or 0.0) - span if low is None else low
    high = low + span if high is None else high
    if kind == "date" and 1000 <= low <= high <= 3000 and whole:  # years
        return _of_day(str(int(low) + _draw(seed, int(high - low) + found.right)), kind, seed)
    if whole and kind != "decimal":
        least = int(low) + (not found.left)
        return str(least + _draw(seed, int(high) - least + found.right))
    return f"{low + (high - low) * (_draw(seed, 90) + 5) / 100:.6g}"


def _date(found: Range, kind: str, seed: str) -> str | None:
    low, high = (None if end is None else _as(date.fromisoformat, end) for end in (found.low, found.high))
    if low is None or high is None:
        return None
    return (low + timedelta(_draw(seed, (high - low).days + found.right))).isoformat()


def _of_day(label: str, kind: str, seed: str) -> str | None:
    """A day of a year, a quarter or a month."""
    if kind not in ("date", "datetime"):
        return None
    if quarter := QUARTER.fullmatch(label):
        label = f"{quarter[1]}-{3 * int(quarter[2]) - 2 + _draw(seed, 3):02d}"
    found = DAY.fullmatch(label)
    if found is None or found[3]:
        return None
    month = int(found[2]) if found[2] else 1 + _draw(f"{seed} month", 12)
    return f"{found[1]}-{month:02d}-{1 + _draw(seed, 28):02d}"


def _of_stars(label: str, kind: str, seed: str) -> str | None:
    """A text for one whose letters are starred out: digits among digits, else letters."""
    if STAR not in label:
        return None
    rest = label.replace(STAR, "")
    letters = "0123456789" if not rest.strip(" -").isalpha() else "abcdefghijklmnopqrstuvwxyz"
    made = [letters[_draw(f"{seed} {i}", len(letters))] if c == STAR else c for i, c in enumerate(label)]
    return "".join(made)


def _as(make: Callable[[str], float | date], text: str) -> Any:
    try:
        return make(text)
    except ValueError:
        return None
