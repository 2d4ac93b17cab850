"""The answers of two neighbouring tables after some steps: the noise, what was drawn, and how likely it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.studio.lessons.kinds import Told


@dataclass(frozen=True)
class AnswersSeen:
    """The true answers with and without the person, the scale of the noise, and the answers drawn so far."""

    person: str = ""
    true: tuple[int, int] | None = None
    epsilon: float | None = None
    scale: float | None = None
    drawn: tuple[int, ...] = ()
    ratio: tuple[float, float, float] | None = None  # probabilities with and without, and the bound


def answers_seen(events: Sequence[Told]) -> AnswersSeen:
    """The densities as they stand after some events."""
    found = AnswersSeen()
    seen = dict(vars(found))
    for event in events:
        kind = event["kind"]
        seen["ratio"] = None
        if kind == "neighbours-set":
            seen["person"] = event["person"]
        elif kind == "answers-compared":
            seen["true"] = event["with_person"], event["without"]
        elif kind == "noise-scaled":
            seen |= {"epsilon": event["epsilon"], "scale": event["scale"]}
        elif kind == "answer-drawn":
            seen["drawn"] = (*seen["drawn"], event["answer"])
        elif kind == "ratio-taken":
            seen["ratio"] = event["likely_with"], event["likely_without"], event["bound"]
    return AnswersSeen(**seen)
