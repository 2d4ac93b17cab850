"""Explicit levels: which label stands for which, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from sfumato.core.exact import printed
from sfumato.core.hierarchy import Categories, Hierarchy, by_label, grow, leaves_of
from sfumato.core.parameters import Written
from sfumato.errors import HierarchyError, PolicyError

Step = str | dict[str, str]


@dataclass(frozen=True)
class ExplicitLevels:
    """One step per level: a mapping of the labels below to new ones, or one label for all."""

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        faults = [] if self.steps else ["levels takes at least one label or mapping"]
        below: set[str] | None = None
        for level, step in enumerate(self.steps, start=1):
            above = {step} if isinstance(step, str) else set(step.values())
            if not above:
                faults.append(f"level {level}: the mapping is empty")
            if "" in above:
                faults.append(f"level {level}: a label is empty")
            if below is not None and not isinstance(step, str) and (lost := len(below - set(step))):
                faults.append(
                    f"level {level}: {lost} of {len(below)} labels of level {level - 1} are mapped to nothing"
                )
            below = above
        if faults:
            raise PolicyError("these levels make no hierarchy", faults)

    def build(self, categories: Categories) -> Hierarchy:
        """The levels as given, and a root `*` above them where the last one has several labels."""
        first, leaves = self.steps[0], leaves_of(categories)
        if not isinstance(first, str):
            lost = sum(text not in first for text in leaves)
            if lost:
                raise HierarchyError(f'levels do not cover {lost} of {len(leaves)} values of "{categories.name}"')
            leaves = tuple(first)
        labels, levels = list(leaves), []
        for step in self.steps:
            labels = [step] * len(labels) if isinstance(step, str) else [step[label] for label in labels]
            levels.append(by_label(labels))
        if len(levels[-1][1]) == 1:
            return grow(categories.name, leaves, levels[:-1], root=labels[0])
        return grow(categories.name, leaves, levels)

    def describe(self) -> str:
        """A few words for the manifest."""
        return f"levels given, {len(self.steps)} above the values"


def levels(*steps: Annotated[object, Written("mapping")]) -> ExplicitLevels:
    """Levels given one by one: a mapping of the labels of the level below to new ones, or one label for all.

    `steps`: the levels, from the finest on.

    The first mapping lists all values. A root `*` is added where the last level has several labels.

    >>> levels({"flu": "lung", "asthma": "lung", "ulcer": "stomach"}, "*").describe()
    'levels given, 2 above the values'
    """
    if len(steps) == 1 and isinstance(steps[0], list | tuple):
        steps = tuple(steps[0])
    kept: list[Step] = []
    faults = []
    for level, step in enumerate(steps, start=1):
        if isinstance(step, str):
            kept.append(step)
        elif isinstance(step, Mapping):
            kept.append({printed(key): printed(label) for key, label in step.items()})
            if None in step or None in step.values():
                faults.append(f"level {level}: a value or label is None")
            if any(isinstance(label, list | tuple | set | Mapping) for label in step.values()):
                faults.append(f"level {level}: a label must be one value, not a list; give a mapping for each level")
            if len(kept[-1]) < len(step):
                faults.append(f"level {level}: two keys print the same")
        else:
            faults.append(f"level {level} must be a label or a mapping; got {type(step).__name__}")
    if faults:
        raise PolicyError("these levels make no hierarchy", faults)
    return ExplicitLevels(tuple(kept))
