"""What is known of level vectors after some steps: their state, the levels now, and the distances of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.studio.lessons.kinds import Told

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


@dataclass(frozen=True)
class DistancesSeen:
    """The matrix of distance vectors: outliers against distinct tuples, and the vector that is tried.

    `tuples` are the values and the rows of each by its number; `vectors` the distances known so far; `counted` the
    rows that lie within the vector tried, of each outlier; `verdict` whether it satisfies, as soon as that is known.
    """

    columns: tuple[str, ...]
    outliers: tuple[int, ...]
    tuples: Mapping[int, tuple[tuple[str, ...], tuple[int, ...]]]
    vectors: Mapping[tuple[int, int], tuple[int, ...]]
    current: tuple[int, int] | None
    tried: tuple[int, ...] | None
    counted: Mapping[int, tuple[int, bool]]
    verdict: bool | None
    best: tuple[int, ...] | None


def distances_seen(events: Sequence[Told], columns: Sequence[str], every: Sequence[Told]) -> DistancesSeen:
    """The matrix as it stands after some of the events; its rows and columns are those that `every` event names."""
    names = tuple(columns)
    tuples: dict[int, tuple[tuple[str, ...], tuple[int, ...]]] = {}
    outliers: dict[int, None] = {}
    for event in every:
        if event["kind"] in ("distance-taken", "tuples-counted"):
            outliers[event["record"]["number"]] = None
            for record in (event["record"], event.get("other", event["record"])):
                tuples[record["number"]] = (tuple(map(str, record["values"])), tuple(record["at"]))
    vectors: dict[tuple[int, int], tuple[int, ...]] = {}
    counted: dict[int, tuple[int, bool]] = {}
    current = tried = best = verdict = None
    for event in events:
        kind, levels = event["kind"], dict(event.get("levels") or ())
        vector = tuple(levels[name] for name in names) if levels else None
        current = None
        if kind == "distance-taken" and vector is not None:
            current = event["record"]["number"], event["other"]["number"]
            vectors[current] = vector
        elif kind == "tuples-counted":
            if vector != tried or verdict is not None:
                counted, verdict = {}, None
            tried = vector
            counted[event["record"]["number"]] = (event["rows"], event["rows"] >= event["k"])
        elif kind in ("node-tried", "final-check"):
            counted = counted if vector == tried else {}
            tried, verdict = vector, event["satisfied"]
        elif kind in ("height-accepted", "result-found"):
            best = vector
    ranked = dict(sorted(tuples.items(), key=lambda one: one[1][1]))  # as the table has them
    seen = tuple(number for number in ranked if number in outliers)
    return DistancesSeen(names, seen, ranked, vectors, current, tried, counted, verdict, best)
