"""Redaction: characters masked one by one from the right or the left, as in 47677, 4767*, 476**, ..."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

from sfumato.core.hierarchy import Categories, Hierarchy, by_label, grow, leaves_of
from sfumato.core.label_grammar import STAR
from sfumato.core.parameters import one_of
from sfumato.errors import HierarchyError, PolicyError

SIDES = ("right", "left")
MOST_CHARACTERS = 400_000_000  # of labels in all levels together


@dataclass(frozen=True)
class Redact:
    """Level i masks i characters; shorter values are first filled up to the longest on the masked side."""

    side: str = "right"
    char: str = "*"
    codes: ClassVar[bool] = True  # digits are no numbers here: they have no ranges

    def __post_init__(self) -> None:
        one_of(self.side, "side of redact", SIDES)
        if not isinstance(self.char, str) or len(self.char) != 1:
            raise PolicyError("char of redact must be one character", got=repr(self.char))

    def build(self, categories: Categories) -> Hierarchy:
        """As many levels as the longest value has characters; the last one prints as `*`."""
        leaves = leaves_of(categories)
        longest = max(map(len, leaves), default=0)
        if len(leaves) * longest**2 > MOST_CHARACTERS:
            raise HierarchyError(
                f'"{categories.name}" has {len(leaves)} values of up to {longest} characters, too many to redact',
                hint="group the values in a hierarchy file, or leave the hierarchy out to have one learned",
            )
        right = self.side == "right"
        filled = [text.ljust(longest, self.char) if right else text.rjust(longest, self.char) for text in leaves]
        levels = []
        for masked in range(1, longest):
            mask = self.char * masked
            levels.append(by_label([text[:-masked] + mask if right else mask + text[masked:] for text in filled]))
        return replace(grow(categories.name, leaves, levels), codes=True)

    def level_of(self, labels: Collection[str | None]) -> int | None:
        """How many characters are masked in labels; None in `*` alone, for which values of any length are masked.

        >>> redact("right").level_of(["47***", "12***"]), redact("right").level_of(["*"])
        (3, None)
        """
        longest = max((len(label or "") for label in labels), default=0)
        full = [label for label in labels if label is not None and len(label) == longest]
        left = [label.rstrip(self.char) if self.side == "right" else label.lstrip(self.char) for label in full]
        return None if set(labels) == {STAR} else longest - max(map(len, left), default=0)

    def describe(self) -> str:
        """A few words for the manifest."""
        return f"redact {self.side}" + ("" if self.char == "*" else f" with {self.char}")


def redact(side: str = "right", char: str = "*") -> Redact:
    """Mask characters one by one: 47677, 4767*, 476**, ..., *.

    `side` is where masking starts, right or left. Values of different lengths are filled with `char` on that side up to
    the longest one: beside 47677, the value 12 reads 12***, then 12***, 12***, 1****, *. Characters are Unicode code
    points. Level i is a function of level i-1, so the levels are nested whatever the values hold.

    >>> redact("left").describe()
    'redact left'
    """
    return Redact(side, char)
