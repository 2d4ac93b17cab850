"""l-diversity, class by class: the entropy of its values, and as how many equally frequent ones it is varied."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.core.wording import count, number
from sfumato.criteria import EntropyLDiversity
from sfumato.search.events.event import Event
from sfumato.studio.lessons.steps.classes import ClassesOfTable, ReleaseTested, ValuesCounted


@dataclass(frozen=True)
class EntropyTaken(Event):
    """The entropy of a class, and as how many equally frequent values that is."""

    entropy: float
    varied: float

    def sentence(self) -> str:
        """The step in words."""
        values = count(self.varied, "equally frequent value")
        return f"The entropy is {number(self.entropy)}: the class is as varied as {values}."


@dataclass(frozen=True)
class DiversityTested(Event):
    """Whether a class is varied enough."""

    measured: float
    asked: float
    holds: bool

    def sentence(self) -> str:
        """The step in words."""
        own, l = number(self.measured), number(self.asked)
        if self.holds:
            return f"{own} is at least {l}: the class is {l}-diverse by entropy."
        return f"{own} is below {l}: the class is not {l}-diverse by entropy."


def steps(seen: ClassesOfTable, l: float) -> list[Event]:
    """The lesson; what is measured, and whether it holds, says the criterion's own audit."""
    criterion = EntropyLDiversity(seen.column, l)
    told: list[Event] = [ValuesCounted(seen.column, seen.counts(range(len(seen.values))))]
    for labels, rows in seen.classes.items():
        found = criterion.audit(seen.groups(rows))
        varied = float(found.measured or 0)
        told += seen.opened(labels, rows)
        told += [EntropyTaken(abs(math.log(varied)), varied), DiversityTested(varied, l, found.holds)]
    whole = criterion.audit(seen.groups())
    return [*told, ReleaseTested(len(seen.classes), whole.failing_classes, whole.holds)]
