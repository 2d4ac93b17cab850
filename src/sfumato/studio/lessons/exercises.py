"""Exercises: a question about the next step. What is right is what the library does there, or is asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.studio.lessons.kinds import LESSONS, Told, line_of
from sfumato.studio.lessons.tables import LessonTable

YES_OR_NO = (True, False)


@dataclass(frozen=True)
class Exercise:
    """A question, a text of the page with its values, and what can be answered: one choice, or several.

    What is right is `answer`, which the next step tells; or None, and a task of the worker, `ask`, finds it.
    """

    text: str
    choices: tuple[Any, ...]
    answer: Any = None
    values: Mapping[str, Any] = field(default_factory=dict)
    ask: tuple[Any, ...] | None = None
    several: bool = False


def exercise(
    lesson: str, table: LessonTable, parameters: Mapping[str, Any], events: Sequence[Told], at: int
) -> Exercise | None:
    """A question before the step `at`: about what it decides where it decides something, else which line comes next."""
    if at >= len(events):
        return None
    event = events[at]
    own = _of_event(event, events[:at]) or _of_values(event, lesson, table, parameters, events[:at])
    if own is not None:
        return own
    named = [i for i, kinds in enumerate(LESSONS[lesson].lines) if kinds]
    answer = line_of(lesson, event["kind"])
    return None if answer is None else Exercise("line", tuple(i + 1 for i in named), answer + 1)


def _of_event(event: Told, before: Sequence[Told]) -> Exercise | None:
    """A question that the next step answers."""
    kind = event["kind"]
    if kind in ("cut-allowed", "cut-refused"):
        return Exercise("cut", YES_OR_NO, kind == "cut-allowed")
    if kind == "node-tried":
        return Exercise("satisfied", YES_OR_NO, event["satisfied"])
    if kind == "tuples-counted":
        record = ", ".join(map(str, event["record"]["values"]))
        return Exercise("within", YES_OR_NO, event["rows"] >= event["k"], {"record": record, "k": event["k"]})
    if kind == "height-opened":
        window = next((one for one in reversed(before) if one["kind"] == "window-set"), None)
        low, high = (0, 0) if window is None else (window["low"], window["high"])
        return Exercise("height", tuple(range(low, high + 1)), event["height"])
    if kind in ("column-chosen", "column-generalised"):
        names = {event["column"], *(other[0] for other in event.get("others", ()))}
        names |= {name for name, _ in event.get("distinct", ())}
        return Exercise("column", tuple(sorted(names)), event["column"])
    if kind in ("subtree-pruned", "splits-reordered") and event["splits"]:
        return Exercise("pruned", YES_OR_NO, kind == "subtree-pruned")
    if kind in ("query-answered", "count-refused"):
        return Exercise("permitted", YES_OR_NO, kind == "query-answered", {"what": event["what"]})
    if kind == "value-tested":
        return Exercise("has", YES_OR_NO, event["has"], {"person": event["person"], "value": event["value"]})
    if kind == "costs-added":
        each = event["epsilon"] / event["answers"]
        return Exercise("spent", tuple(round(each * n, 9) for n in range(1, event["answers"] + 2)),
                        round(event["epsilon"], 9), {"answers": event["answers"]})  # fmt: skip
    return None


def _of_values(
    event: Told, lesson: str, table: LessonTable, parameters: Mapping[str, Any], before: Sequence[Told]
) -> Exercise | None:
    """A question that is asked of the library: of its criteria, its attacks and its noise."""
    kind = event["kind"]
    if kind in ("diversity-tested", "closeness-tested"):
        rows = next(one["rows"] for one in reversed(before) if one["kind"] == "class-opened")
        return Exercise("class_holds_l" if lesson == "l-diversity" else "class_holds_t", YES_OR_NO, None, parameters,
                        ("teach.class_holds", lesson, vars(table), parameters, rows))  # fmt: skip
    if kind == "shares-taken" and table.person in before[-1]["rows"]:
        counted = next(one["counts"] for one in before if one["kind"] == "values-counted")
        ask = ("teach.values_left", vars(table), parameters["column"])
        return Exercise(
            "left", tuple(value for value, _ in counted), None, {"person": table.person_name}, ask, several=True
        )
    if kind == "ratio-taken":
        values = {"answer": event["answer"], "person": event["person"]}
        return Exercise("likelier", YES_OR_NO, None, values,
                        ("teach.likelier_with", event["answer"], *_true_and_scale(before)))  # fmt: skip
    return None


def _true_and_scale(before: Sequence[Told]) -> tuple[int, float]:
    true = next(one["with_person"] for one in before if one["kind"] == "answers-compared")
    return true, next(one["scale"] for one in before if one["kind"] == "noise-scaled")
