"""Redaction: characters masked from the right or the left, one by one as in 47677, 4767*, 476**, ..., or in steps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, ClassVar

from sfumato.core.hierarchy import Categories, Hierarchy, by_label, grow, leaves_of
from sfumato.core.label_grammar import STAR
from sfumato.core.parameters import OneOf, PlainText, Written, whole_number
from sfumato.errors import HierarchyError, PolicyError

SIDES = ("right", "left")
SIDE = OneOf(SIDES)
MOST_CHARACTERS = 400_000_000  # of labels in all levels together
GROW = "each step masks more characters than the one before, as in 2, 4"


@dataclass(frozen=True)
class Redact:
    """Level i masks i characters; shorter values are first filled up to the longest on the masked side.

    With `steps` level i masks `steps[i - 1]` characters of each value as long as it is: what a value becomes depends on
    no other one.
    """

    side: str = "right"
    char: str = "*"
    steps: tuple[int, ...] = ()
    codes: ClassVar[bool] = True  # digits are no numbers here: they have no ranges

    def __post_init__(self) -> None:
        SIDE(self.side, "side of redact")
        if not isinstance(self.char, str) or len(self.char) != 1:
            raise PolicyError("char of redact must be one character", got=repr(self.char))
        for step in self.steps:
            whole_number(step, "a step of redact")
        if any(coarse <= fine for fine, coarse in pairwise(self.steps)):
            raise PolicyError("steps of redact must grow", got=", ".join(map(str, self.steps)), hint=GROW)

    def build(self, categories: Categories) -> Hierarchy:
        """One level per step, or as many as the longest value has characters; the last one prints as `*`."""
        leaves = leaves_of(categories)
        longest = max(map(len, leaves), default=0)
        if len(leaves) * longest * (len(self.steps) or longest) > MOST_CHARACTERS:
            raise HierarchyError(
                f'"{categories.name}" has {len(leaves)} values of up to {longest} characters, too many to redact',
                hint="group the values in a hierarchy file, or leave the hierarchy out to have one learned",
            )
        right = self.side == "right"
        if self.steps:
            masks = [by_label([self._masked(text, step) for text in leaves]) for step in self.steps]
            return replace(grow(categories.name, leaves, masks), codes=True)
        filled = [text.ljust(longest, self.char) if right else text.rjust(longest, self.char) for text in leaves]
        levels = []
        for masked in range(1, longest):
            mask = self.char * masked
            levels.append(by_label([text[:-masked] + mask if right else mask + text[masked:] for text in filled]))
        return replace(grow(categories.name, leaves, levels), codes=True)

    def level_of(self, labels: Collection[str | None]) -> int | None:
        """How many characters, or steps, are masked in labels; None in `*` alone where values of any length are masked.

        >>> redact("right").level_of(["47***", "12***"]), redact("right").level_of(["*"])
        (3, None)
        >>> redact(steps=[2, 4]).level_of(["476**", "**"]), redact(steps=[2, 4]).level_of(["*"])
        (1, 3)
        """
        shown = {label: label.rstrip(self.char) if self.side == "right" else label.lstrip(self.char)
                 for label in labels if label is not None}  # fmt: skip
        if self.steps:
            least = min((len(label) - len(left) for label, left in shown.items()), default=0)
            return len(self.steps) + 1 if set(shown) == {STAR} else bisect_right(self.steps, least)
        longest = max(map(len, shown), default=0)
        left = [len(left) for label, left in shown.items() if len(label) == longest]
        return None if set(shown) == {STAR} else longest - max(left, default=0)

    def prints(self, labels: Iterable[str]) -> bool:
        """Whether labels can be its own: masked on its side alone.

        >>> redact("left").prints(["**677", "47602"]), redact("right").prints(["**677", "47602"])
        (True, False)
        """
        right = self.side == "right"
        return all(self.char not in (label.rstrip(self.char) if right else label.lstrip(self.char)) for label in labels)

    def _masked(self, text: str, step: int) -> str:
        """A value with so many characters masked; the values that have no more of them are one group."""
        if len(text) <= step:
            return self.char * max(step, 2)  # never the root's one sign
        return text[:-step] + self.char * step if self.side == "right" else self.char * step + text[step:]

    def describe(self) -> str:
        """A few words for the manifest."""
        steps = f" by {', '.join(map(str, self.steps))}" if self.steps else ""
        return f"redact {self.side}{steps}" + ("" if self.char == "*" else f" with {self.char}")


def redact(
    side: Annotated[str, SIDE] = "right",
    char: Annotated[str, PlainText()] = "*",
    steps: Annotated[int | Sequence[int], Written("list")] = (),
) -> Redact:
    """Mask characters one by one: 47677, 4767*, 476**, ..., *.

    `side` is where masking starts, right or left. Values of different lengths are filled with `char` on that side up to
    the longest one: beside 47677, the value 12 reads 12***, then 12***, 12***, 1****, *. Characters are Unicode code
    points. Level i is a function of level i-1, so the levels are nested whatever the values hold.

    With `steps` each level masks as many characters as its step says, with 2 and 4: 47677, 476**, 4****, *. Nothing is
    filled up then; a value with no more characters than the step becomes a mask of them all, 12 and 7 both `**`.

    `side`: where masking starts. `char`: the sign of a masked character. `steps`: how many characters each level masks.

    >>> redact("left").describe(), redact(steps=[2, 4]).describe()
    ('redact left', 'redact right by 2, 4')
    """
    return Redact(side, char, tuple(steps) if isinstance(steps, Sequence) and not isinstance(steps, str) else (steps,))
