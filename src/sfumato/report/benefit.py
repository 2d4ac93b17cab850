"""What the release is still good for: the measures of utility, in the internal report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.report.markup import Markup, join, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.words import number


def benefit(measures: Sequence[Mapping[str, Any]], left_out: Sequence[str]) -> Markup:
    """The section of utility."""
    lines = [
        (join([tag("b", _title(measure)), tag("span", measure.get("sentence") or "", class_="quiet said")]),
         number(measure["value"]), _range(measure.get("range")))
        for measure in measures if measure.get("value") is not None
    ]  # fmt: skip
    notes = [tag("p", note, class_="quiet") for note in left_out]
    intro = "How far the release is from the original, by the measures of the literature; 0 is as it was unless said."
    shown = (
        html_table(("Measure", "Value", "Range"), lines, "Utility of the release", "stack attacks") if lines else None
    )
    return section("utility", "What it is still good for", tag("p", intro) if lines else None, shown, *notes)


def _title(measure: Mapping[str, Any]) -> str:
    title = str(measure.get("name") or "").replace("-", " ")
    return title.upper() if title in ("lm", "ncp") else title[:1].upper() + title[1:]


def _range(ends: Any) -> str:
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return "–"
    low, high = ("unbounded" if end is None else number(end) for end in ends)
    return f"{low} to {high}" if high != "unbounded" else f"{low} and up"
