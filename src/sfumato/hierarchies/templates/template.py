"""Templates: hierarchies made of public facts about codes that many tables hold, the same whatever else is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from sfumato.core.exact import exact
from sfumato.core.hierarchy import Categories, Hierarchy, by_label, grow, leaves_of
from sfumato.errors import HierarchyError
from sfumato.hierarchies.intervals import Intervals

Path = Callable[[str], Sequence[str] | None]  # the labels of a value, the root left out; None where it does not fit


@dataclass(frozen=True)
class Template:
    """The labels of a code follow from the code alone.

    `name` is how a policy names it, `what` what its values are called. Whole numbers that lost their leading zeros
    get them back: up to `digits`, or, with `fill`, up to the longest of a column whose lengths differ by one. With
    `masks` a label is as long as the code, and has a star for each character that it does not show. `size` says how
    many codes a label stands for, of all the `domain` that there are, where that is known to everybody.
    `steps` is how many labels every path has: a column without codes has as many levels.
    """

    name: str
    what: str
    path: Path = field(compare=False)  # follows from the name
    hint: str
    digits: int = 0
    fill: bool = False
    masks: bool = False
    size: Callable[[str], int] | None = field(default=None, compare=False)
    domain: int = 0
    steps: int = 0
    codes: ClassVar[bool] = True  # digits are no numbers here: they have no ranges

    def paths(self, categories: Categories) -> list[Sequence[str] | None]:
        """The labels of each value, None where it does not fit."""
        texts = [text.strip() for text in leaves_of(categories)]
        width = self.digits
        if self.fill and all(map(str.isdigit, texts)):
            longest = max(map(len, texts), default=0)
            lost = all(len(text) >= longest - 1 and not text.startswith("0") for text in texts)
            width = longest if lost else 0
        return [self.path(text.zfill(width) if text.isdigit() else text) for text in texts]

    def build(self, categories: Categories) -> Hierarchy:
        """One level for each step of the path, then the root."""
        found = self.paths(categories)
        paths = [path for path in found if path is not None]
        if len(paths) < len(found):
            lost = len(found) - len(paths)
            raise HierarchyError(
                f'{lost} of {len(found)} values of "{categories.name}" are no {self.what}', hint=self.hint
            )
        steps: Iterable[Sequence[str]] = zip(*paths, strict=True)
        if not paths:  # as many as there would be
            steps = [()] * self.steps
        levels = [by_label(labels) for labels in steps]
        return replace(grow(categories.name, leaves_of(categories), levels), codes=True)

    def level_of(self, labels: Iterable[str | None]) -> int | None:
        """The highest level at which labels may stand that are codes as well as groups of them, as J45 is of J45.1;
        None where one of them is no code.

        Which of both a row had is not told by its label, so nothing else may tell it.

        >>> from sfumato.hierarchies.templates.icd10 import icd10
        >>> icd10().level_of(["J45", "E11"]), icd10().level_of(["J45", "E11.7"]), icd10().level_of(["J40-J47"])
        (1, 0, None)
        """
        paths = {label: self.path(label) for label in labels if label is not None}
        if None in paths.values():
            return None
        alike = [[step == label for step in path or ()] + [False] for label, path in paths.items()]
        return min((steps.index(False) for steps in alike), default=0)

    def describe(self) -> str:
        """Its name."""
        return self.name


@dataclass(frozen=True)
class NumberTemplate:
    """Intervals that suit numbers of one kind, all of which lie from `least` to `most`."""

    name: str
    what: str
    intervals: Intervals
    least: float
    most: float

    def build(self, categories: Categories) -> Hierarchy:
        """The hierarchy of the intervals, if all numbers lie where they can."""
        built = self.intervals.build(categories)
        lost = sum(not self.least <= exact(text) <= self.most for text in built.leaves)
        if lost:
            raise HierarchyError(
                f'{lost} of {len(built.leaves)} values of "{categories.name}" are no {self.what}',
                allowed=f"{self.least:g} to {self.most:g}",
                hint="codes for missing values should be empty; otherwise take intervals",
            )
        return built

    def describe(self) -> str:
        """Its name."""
        return self.name
