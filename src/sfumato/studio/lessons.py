"""Lessons: an algorithm replayed on a small table. The picture at a step is a function of the events up to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Told = Mapping[str, Any]  # an event as plain values, with its kind and sentence

# Per search, for each line of its pseudo-code the kinds of events that it tells; the lines are texts of `lessons`.
LINES: dict[str, tuple[tuple[str, ...], ...]] = {
    "samarati": (("window-set",), (), ("height-opened",), (), ("node-tried",), ("height-accepted",),
                 ("height-exhausted",), ("result-found",), ("final-check",), ("rows-suppressed",)),
    "incognito": ((), ("subset-opened",), (), ("node-marked",), ("node-dropped",), ("node-tried",),
                  ("subsets-joined",), ("result-found",), ("rows-suppressed",)),
    "ola": ((), (), ("node-tried",), ("tagged-up",), ("best-found",), ("tagged-down",), (), ("result-found",),
            ("rows-suppressed",)),
    "optimal": ((), (), ("node-pruned",), ("node-tried",), ("tagged-down",), ("best-found",), (), ("result-found",),
                ("rows-suppressed",)),
    "datafly": ((), ("rows-left",), (), (), ("column-generalised",), ("rows-suppressed",)),
    "mondrian": ((), ("region-opened",), ("column-chosen",), ("median-found", "children-found"), ("cut-allowed",),
                 ("cut-refused",), ("regions-made",), ("class-closed",), ("labels-given",)),
    "top-down": ((), ("seeds-chosen",), (), ("record-assigned",), ("halves-refused",), ("class-closed",),
                 ("group-left",), ("group-repaired",), ("leftover-placed", "classes-joined"), ("labels-given",)),
    "k-member": (("seed-chosen",), (), ("record-added",), ("class-closed",), (), ("leftover-placed",),
                 ("classes-joined",), ("labels-given",)),
    "mdav": ((), ("centroid-taken",), ("farthest-from-centroid",), ("farthest-from-record",), ("group-formed",),
             ("rest-grouped",), ("class-closed", "leftover-placed", "classes-joined"), ("labels-given",)),
}  # fmt: skip
OVER_LEVELS = {"samarati", "incognito", "ola", "optimal", "datafly"}  # searches that choose a level per column
QUESTIONS = {  # what is asked before a step is shown: the field of the event that answers
    "height-opened": "height",
    "column-chosen": "column",
    "column-generalised": "column",
    "node-tried": "satisfied",
    "cut-allowed": "",
    "cut-refused": "",
}


@dataclass(frozen=True)
class LessonTable:
    """A small table, and how its columns get coarser, as a policy file says it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    quasi: tuple[str, ...]
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    k: int = 2


PATIENTS = (
    ("47677", 29, "F", "heart disease"), ("47602", 22, "F", "heart disease"), ("47678", 27, "M", "heart disease"),
    ("47905", 43, "F", "flu"), ("47909", 52, "M", "heart disease"), ("47906", 47, "M", "cancer"),
    ("47605", 30, "M", "heart disease"), ("47673", 36, "M", "cancer"), ("47607", 32, "F", "cancer"),
)  # fmt: skip
PLANE = ((25, 20), (27, 22), (31, 25), (33, 24), (38, 40), (41, 44), (44, 41), (47, 60), (52, 63), (55, 58), (61, 30),
         (66, 28))  # fmt: skip
JOBS = (("cat1", 1975, "4350", "HIV"), ("cat1", 1955, "4350", "HIV"), ("cat1", 1955, "5432", "flu"),
        ("cat1", 1955, "5432", "fever"), ("cat2", 1975, "4350", "flu"), ("cat2", 1975, "4350", "fever"))  # fmt: skip
TABLES = {
    "plane": LessonTable(("age", "income"), PLANE, ("age", "income"),
                         {"age": {"intervals": [10, 20, 40]}, "income": {"intervals": [10, 20, 40]}}, 3),
    "patients": LessonTable(("zipcode", "age", "sex", "disease"), PATIENTS, ("zipcode", "age", "sex"),
                            {"zipcode": {"redact": "right"}, "age": {"intervals": [10, 20, 40]},
                             "sex": {"flat": True}}),
    "jobs": LessonTable(("job", "birth", "postcode", "illness"), JOBS, ("job", "birth", "postcode"),
                        {"job": {"flat": True}, "birth": {"flat": True}, "postcode": {"redact": "right"}}),
}  # fmt: skip


def line_of(search: str, kind: str) -> int | None:
    """The line of the pseudo-code that a kind of event belongs to."""
    return next((i for i, kinds in enumerate(LINES.get(search, ())) if kind in kinds), None)


def counters(events: Sequence[Told]) -> dict[str, int]:
    """How often each kind of step was taken so far."""
    return dict(Counter(event["kind"] for event in events))


# Level vectors: the state of each node, by its levels

TRIED = {True: "satisfied", False: "violated"}


@dataclass(frozen=True)
class NodesSeen:
    """What is known of the level vectors of some columns: satisfied, violated, pruned, best, and the one looked at."""

    columns: tuple[str, ...]
    state: Mapping[tuple[int, ...], str]
    current: tuple[int, ...] | None
    best: tuple[int, ...] | None


def nodes_seen(events: Sequence[Told], columns: Sequence[str]) -> NodesSeen:
    """The lattice as it stands after some events; of the columns that the last opened set has."""
    shown = tuple(columns)
    state: dict[tuple[int, ...], str] = {}
    current = best = None
    for event in events:
        kind = event["kind"]
        if kind == "subset-opened":
            shown, state, current, best = tuple(event["columns"]), {}, None, None
            continue
        levels = dict(event.get("levels") or ())
        if set(levels) != set(shown):
            continue
        node = tuple(levels[name] for name in shown)
        current = node
        if kind in ("node-tried", "final-check"):
            state[node] = TRIED[event["satisfied"]]
        elif kind == "node-marked":
            state[node] = "tagged"
        elif kind in ("node-dropped", "node-pruned"):
            state[node] = "pruned"
        elif kind in ("tagged-up", "tagged-down"):
            for other in event["nodes"]:
                own = dict(other)
                state[tuple(own[name] for name in shown)] = "tagged" if kind == "tagged-up" else "ruled-out"
        if kind in ("best-found", "height-accepted", "result-found"):
            best = node
    return NodesSeen(shown, state, current, best)


def levels_now(events: Sequence[Told], columns: Sequence[str]) -> dict[str, int]:
    """The level of each column in the table that is looked at now."""
    found = dict.fromkeys(columns, 0)
    for event in events:
        if event["kind"] == "column-generalised":
            found[event["column"]] = event["level"]
        elif event.get("levels"):
            found |= dict(event["levels"])
    return found


# Records in a plane: which are grouped, and which are looked at


@dataclass(frozen=True)
class GroupsSeen:
    """Groups of records so far, those looked at now, single records with a letter, and a cut or a mean."""

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
            marks = {event["record"]["number"]: "r"}
        elif kind == "farthest-from-record":
            marks[event["record"]["number"]] = "s"
        elif kind == "seed-chosen":
            current, marks = [[event["record"]["number"]]], {event["record"]["number"]: "1"}
        elif kind == "record-added" and current:
            current[0].append(event["record"]["number"])
        elif kind == "seeds-chosen":
            first, second = event["first"]["number"], event["second"]["number"]
            current, marks = [[first], [second]], {first: "1", second: "2"}
        elif kind == "record-assigned" and len(current) == 2:
            current[event["half"]].append(event["record"]["number"])
        elif kind in ("leftover-placed", "classes-joined"):
            joined = _numbers(event["joins"])
            own = (event["record"]["number"],) if "record" in event else numbers
            groups = [group for group in groups if set(group) != set(joined) and set(group) != set(own)]
            groups.append((*joined, *own))
            current, marks = [], dict.fromkeys(own, "+")
        elif kind == "group-left":
            current, marks = [list(numbers)], {}
        elif kind == "group-repaired":
            marks = {record["number"]: "+" for record in event["moved"]}
        elif kind == "labels-given":
            groups = [group for group in groups if not set(group) & set(numbers)]
            groups.append(numbers)
            current, marks, cut, middle = [list(numbers)], {}, None, {}
    return GroupsSeen(tuple(groups), tuple(map(tuple, current)), marks, cut, middle)


def _numbers(records: Sequence[Told]) -> tuple[int, ...]:
    return tuple(record["number"] for record in records)


# Exercises: what comes next


@dataclass(frozen=True)
class Exercise:
    """A question about the next step; the answer is what the library does there."""

    text: str  # of `exercises`
    choices: tuple[Any, ...]
    answer: Any


def exercise(search: str, events: Sequence[Told], at: int) -> Exercise | None:
    """A question before the step `at`: about what it decides where it decides something, else which line comes next."""
    if at >= len(events):
        return None
    kind = events[at]["kind"]
    wanted = QUESTIONS.get(kind)
    if wanted is None:
        named = [i for i, kinds in enumerate(LINES.get(search, ())) if kinds]
        answer = line_of(search, kind)
        return None if answer is None else Exercise("line", tuple(i + 1 for i in named), answer + 1)
    if kind in ("cut-allowed", "cut-refused"):
        return Exercise("cut", (True, False), kind == "cut-allowed")
    if kind == "node-tried":
        return Exercise("satisfied", (True, False), events[at]["satisfied"])
    if kind == "height-opened":
        low, high = next(
            ((one["low"], one["high"]) for one in reversed(events[:at]) if one["kind"] == "window-set"), (0, 0)
        )
        return Exercise("height", tuple(range(low, high + 1)), events[at]["height"])
    own = events[at]
    names = [own["column"], *(other[0] for other in own.get("others", ()))]
    names += [name for name, _ in own.get("distinct", ()) if name not in names]
    return Exercise("column", tuple(sorted(names)), own["column"])
