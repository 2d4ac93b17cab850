"""The lessons: what each draws, what it asks for, and which steps each line of its pseudo-code tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.studio.lessons.tables import LessonTable

Told = Mapping[str, Any]  # an event as plain values, with its kind and sentence
OWN = "own"  # a table that is pasted


@dataclass(frozen=True)
class NumberField:
    """A number that a lesson asks for."""

    least: float
    most: float
    default: float
    whole: bool = False


FIELDS = {
    "k": NumberField(1, 100, 2, whole=True),
    "suppression": NumberField(0, 100, 0, whole=True),
    "l": NumberField(1, 100, 2),
    "t": NumberField(0, 1, 0.3),
    "least": NumberField(1, 100, 2, whole=True),
    "epsilon": NumberField(0.01, 10, 1),
}


@dataclass(frozen=True)
class LessonKind:
    """A lesson: its picture, for each line of its pseudo-code the kinds of events that it tells, and what it asks for.

    A lesson on a search has its name, its parameters where they are not the usual ones, and a loss. The others have
    steps of their own, in a file of `steps`, and are about one column of sensitive values.
    """

    picture: str
    lines: tuple[tuple[str, ...], ...]
    search: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    loss: str = "lm"
    fields: tuple[str, ...] = ("k", "suppression")
    tables: tuple[str, ...] = ("plane", "patients", "salaries", "jobs")

    @property
    def over_levels(self) -> bool:
        """Whether it chooses a level per column."""
        return self.picture in ("lattice", "bars", "matrix")


OF_VALUES = ("patients", "salaries", "jobs", "views")
DECIDED = ("height-accepted",), ("height-exhausted",), ("result-found",), ("final-check",), ("rows-suppressed",)
LESSONS = {
    "samarati": LessonKind("lattice", (
        ("window-set",), (), ("height-opened",), (), ("node-tried",), *DECIDED), "samarati"),
    "samarati-vectors": LessonKind("matrix", (
        (), ("distance-taken",), ("window-set",), ("height-opened",), (), ("tuples-counted",), ("node-tried",),
        *DECIDED), "samarati", {"by": "vectors"}),
    "incognito": LessonKind("lattice", (
        (), ("subset-opened",), (), ("node-marked",), ("node-dropped",), ("node-tried",), ("subsets-joined",),
        ("result-found",), ("rows-suppressed",)), "incognito"),
    "ola": LessonKind("lattice", (
        (), (), ("node-tried",), ("tagged-up",), ("best-found",), ("tagged-down",), (), ("result-found",),
        ("rows-suppressed",)), "ola"),
    "optimal": LessonKind("lattice", (
        (), (), ("node-pruned",), ("node-tried",), ("tagged-down",), ("best-found",), (), ("result-found",),
        ("rows-suppressed",)), "optimal"),
    "datafly": LessonKind("bars", (
        (), ("rows-left",), (), (), ("column-generalised",), ("rows-suppressed",)), "datafly"),
    "k-optimize": LessonKind("tree", (
        (), ("splits-opened",), ("least-cost-found",), ("bound-taken",), ("splits-dropped",), ("subtree-pruned",),
        ("splits-reordered",), (), ("splits-chosen",), ("rows-suppressed",)), "k-optimize", {"start": "root"},
        "discernibility"),
    "mondrian": LessonKind("plane", (
        (), ("region-opened",), ("column-chosen",), ("median-found", "children-found"), ("cut-allowed",),
        ("cut-refused",), ("regions-made",), ("class-closed",), ("labels-given",)), "mondrian"),
    "top-down": LessonKind("plane", (
        (), ("seeds-chosen",), (), ("record-assigned",), ("halves-refused",), ("class-closed",), ("group-left",),
        ("group-repaired",), ("leftover-placed", "classes-joined"), ("labels-given",)), "top-down"),
    "k-member": LessonKind("plane", (
        ("seed-chosen",), (), ("record-added",), ("class-closed",), (), ("leftover-placed",), ("classes-joined",),
        ("labels-given",)), "k-member"),
    "mdav": LessonKind("plane", (
        (), ("centroid-taken",), ("farthest-from-centroid",), ("farthest-from-record",), ("group-formed",),
        ("rest-grouped",), ("class-closed", "leftover-placed", "classes-joined"), ("labels-given",)), "mdav"),
    "l-diversity": LessonKind("classes", (
        ("values-counted",), (), ("class-opened",), ("shares-taken",), ("entropy-taken",), (), ("diversity-tested",),
        ("release-tested",)), fields=("l",), tables=OF_VALUES),
    "t-closeness": LessonKind("classes", (
        ("values-counted",), (), ("class-opened",), ("shares-taken",), (), ("mass-moved",), ("closeness-tested",),
        ("release-tested",)), fields=("t",), tables=OF_VALUES),
    "tracker": LessonKind("circles", (
        ("control-set",), ("count-refused",), ("tracker-rejected", "tracker-missing"), ("tracker-chosen",),
        ("query-answered",), ("everybody-counted",), ("person-counted",), (), ("value-tested",), ("noise-added",)),
        fields=("least",), tables=("patients", "salaries", "jobs")),
    "laplace": LessonKind("densities", (
        ("neighbours-set",), ("answers-compared",), ("noise-scaled",), (), ("answer-drawn",), ("ratio-taken",),
        ("costs-added",)), fields=("epsilon",), tables=OF_VALUES),
}  # fmt: skip


def line_of(lesson: str, kind: str) -> int | None:
    """The line of the pseudo-code that a kind of event belongs to."""
    return next((i for i, kinds in enumerate(LESSONS[lesson].lines) if kind in kinds), None)


def counters(events: Sequence[Told]) -> dict[str, int]:
    """How often each kind of step was taken so far."""
    return dict(Counter(event["kind"] for event in events))


def parameters(lesson: str, table: LessonTable, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What a lesson is given: what was asked as far as it makes sense, else what it has by default.

    >>> from sfumato.studio.lessons.tables import TABLES
    >>> parameters("l-diversity", TABLES["patients"], {"l": "3", "column": "no"})
    {'l': 3.0, 'column': 'disease'}
    """
    kind, found = LESSONS[lesson], dict[str, Any]()
    for name in kind.fields:
        own = FIELDS[name]
        default = table.k if name == "k" else own.default
        value = min(max(_number(asked.get(name), default), own.least), own.most)
        found[name] = int(value) if own.whole else value
    if not kind.search:
        wanted = asked.get("column")
        found["column"] = wanted if wanted in table.sensitive else table.sensitive[0] if table.sensitive else ""
    return found


def _number(text: Any, default: float) -> float:
    try:
        found = float(text)
    except (TypeError, ValueError):
        return default
    return found if abs(found) < 1e9 else default
