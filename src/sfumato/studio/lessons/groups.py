"""Rows in a plane after some steps: which are grouped, and which are looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sfumato.studio.lessons.kinds import Told


@dataclass(frozen=True)
class GroupsSeen:
    """Groups of rows so far, those looked at now, single rows with a letter, and a cut or a mean."""

    groups: tuple[tuple[int, ...], ...]
    current: tuple[tuple[int, ...], ...]
    marks: Mapping[int, str]
    cut: tuple[str, str] | None = None  # column and value
    middle: Mapping[str, float] = field(default_factory=dict)


def groups_seen(events: Sequence[Told]) -> GroupsSeen:
    """The plane as it stands after some events."""
    groups: list[tuple[int, ...]] = []
    current: list[list[int]] = []
    marks: dict[int, str] = {}
    cut, middle = None, {}
    for event in events:
        kind, numbers = event["kind"], _numbers(event.get("records", ()))
        if kind == "region-opened":
            current, cut, marks = [list(numbers)], None, {}
        elif kind in ("median-found", "cut-allowed", "cut-refused"):
            cut = (event["column"], event.get("median", event.get("value")))
        elif kind == "regions-made":
            current = [list(_numbers(region)) for region in event["regions"]]
        elif kind in ("class-closed", "rest-grouped", "group-formed"):
            groups = [group for group in groups if not set(group) <= set(numbers)]
            groups.append(numbers)
            current, cut = [], None
        elif kind == "centroid-taken":
            middle, marks = dict(event["means"]), {}
        elif kind == "farthest-from-centroid":
            marks = _marked(event["record"], "r")
        elif kind == "farthest-from-record":
            marks |= _marked(event["record"], "s")
        elif kind == "seed-chosen":
            current, marks = [[*event["record"]["at"]]], _marked(event["record"], "1")
        elif kind == "record-added" and current:
            current[0] += event["record"]["at"]
        elif kind == "seeds-chosen":
            current = [[*event[seed]["at"]] for seed in ("first", "second")]
            marks = _marked(event["first"], "1") | _marked(event["second"], "2")
        elif kind == "record-assigned" and len(current) == 2:
            current[event["half"]] += event["record"]["at"]
        elif kind in ("leftover-placed", "classes-joined"):
            joined = _numbers(event["joins"])
            own = _numbers([event["record"]]) if "record" in event else numbers
            groups = [group for group in groups if set(group) != set(joined) and set(group) != set(own)]
            groups.append((*joined, *own))
            current, marks = [], dict.fromkeys(own, "+")
        elif kind == "group-left":
            current, marks = [list(numbers)], {}
        elif kind == "group-repaired":
            marks = dict.fromkeys(_numbers(event["moved"]), "+")
        elif kind == "labels-given":
            groups = [group for group in groups if not set(group) & set(numbers)]
            groups.append(numbers)
            current, marks, cut, middle = [list(numbers)], {}, None, {}
    return GroupsSeen(tuple(groups), tuple(map(tuple, current)), marks, cut, middle)


def labels_given(events: Sequence[Told]) -> dict[int, dict[str, str]]:
    """What each row prints in each column, as far as it was told."""
    return {
        row: {column: str(label) for column, label in event["labels"]}
        for event in events
        if event["kind"] == "labels-given"
        for row in _numbers(event["records"])
    }


def _numbers(records: Sequence[Told]) -> tuple[int, ...]:
    """The rows that records stand for."""
    return tuple(row for record in records for row in record["at"])


def _marked(record: Told, letter: str) -> dict[int, str]:
    return dict.fromkeys(record["at"], letter)
