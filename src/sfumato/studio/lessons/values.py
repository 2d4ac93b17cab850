"""The values of a class beside those of the whole table after some steps of l-diversity or t-closeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sfumato.studio.lessons.kinds import Told


@dataclass(frozen=True)
class Move:
    """Mass that is moved from one value to another, how far, and over which node of a hierarchy."""

    source: str
    target: str
    mass: float
    distance: float
    over: str


@dataclass(frozen=True)
class ValuesSeen:
    """The shares of each value in the whole table and in the class looked at, and what was found of each class.

    `measured` is as how many equally frequent values the class is varied, or what it costs so far to move its mass;
    `verdicts` has labels, rows and whether it holds, of each class so far, None where that is not known.
    """

    overall: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] | None = None
    rows: tuple[int, ...] = ()
    measured: float | None = None
    moves: tuple[Move, ...] = ()
    verdicts: tuple[tuple[str, tuple[int, ...], bool | None], ...] = ()
    holds: bool | None = None


def values_seen(events: Sequence[Told]) -> ValuesSeen:
    """The histograms as they stand after some events."""
    overall: dict[str, float] = {}
    shares: dict[str, float] | None = None
    rows: tuple[int, ...] = ()
    measured: float | None = None
    holds: bool | None = None
    moves: list[Move] = []
    verdicts: list[tuple[str, tuple[int, ...], bool | None]] = []
    for event in events:
        kind = event["kind"]
        if kind == "values-counted":
            overall = _shares(event["counts"])
        elif kind == "class-opened":
            rows, shares, measured, moves = tuple(event["rows"]), None, None, []
            verdicts.append((", ".join(label for _, label in event["labels"]), rows, None))
        elif kind == "shares-taken":
            shares = _shares(event["counts"])
        elif kind == "entropy-taken":
            measured = event["varied"]
        elif kind == "mass-moved":
            moves.append(Move(*(event[name] for name in ("source", "target", "mass", "distance", "over"))))
            measured = (measured or 0.0) + event["cost"]
        elif kind in ("diversity-tested", "closeness-tested"):
            measured = event["measured"]
            verdicts[-1] = (*verdicts[-1][:2], event["holds"])
        elif kind == "release-tested":
            rows, shares, measured, moves, holds = (), None, None, [], event["holds"]
    return ValuesSeen(overall, shares, rows, measured, tuple(moves), tuple(verdicts), holds)


def _shares(counts: Sequence[tuple[str, int]]) -> dict[str, float]:
    total = sum(count for _, count in counts)
    return {value: count / total for value, count in counts}
