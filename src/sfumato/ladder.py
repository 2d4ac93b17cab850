"""Ladder: a hierarchy standing on the values that occur in a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.categories import Categories
from sfumato.errors import HierarchyError
from sfumato.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Ladder:
    """Level by level, which label each value of a column stands under.

    `of[level, code]` is a label number; `text[level][label]` its print (None for missing values, which are a value of
    their own below the root); `leaves[level][label]` how many leaves of the hierarchy lie under it, also those absent
    from the table. The last level has one label.
    """

    of: np.ndarray  # int32 [levels, codes]
    text: tuple[tuple[str | None, ...], ...]
    leaves: tuple[np.ndarray, ...]  # int64 per label

    @property
    def levels(self) -> int:
        """Number of levels, the values themselves included."""
        return len(self.of)

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.of) - 1

    @property
    def domain(self) -> int:
        """Number of leaves, also those absent from the table."""
        return int(self.leaves[-1][0])


def climb(hierarchy: Hierarchy, categories: Categories) -> Ladder:
    """Stand a hierarchy on the values of a column."""
    place = {label: i for i, label in enumerate(hierarchy.labels[0])}
    known = len(categories) - categories.missing
    leaf = np.array([place.get(v, -1) if v is not None else -1 for v in categories.text[:known]], dtype=np.int64)
    if (leaf < 0).any():
        raise HierarchyError(
            f'the hierarchy of "{categories.name}" lacks {int((leaf < 0).sum())} of the {known} values of the column',
            hint="add them to the hierarchy, or leave it out to have one learned",
        )
    blank = place.get("", -1)  # a file may say where missing values belong
    add_missing = categories.missing and blank < 0
    of, text, leaves = [], [], []
    for ancestor, labels in zip(hierarchy.ancestor, hierarchy.labels, strict=True):
        under = np.bincount(ancestor, minlength=len(labels))
        here = ancestor[leaf] if not categories.missing or blank < 0 else ancestor[np.append(leaf, blank)]
        present, number = np.unique(here, return_inverse=True)
        names: list[str | None] = [labels[i] for i in present]
        count = under[present]
        if add_missing:
            number, names, count = np.append(number, len(names)), [*names, None], np.append(count, 1)
        of.append(number.astype(np.int32))
        text.append(tuple(names))
        leaves.append(count.astype(np.int64))
    if categories.missing and not add_missing:
        text[0] = tuple(None if name == "" else name for name in text[0])
    if add_missing and known and len(of) > 1:  # the root takes the missing values in
        of[-1], text[-1], leaves[-1] = (
            np.zeros(len(categories), np.int32),
            (text[-1][0],),
            leaves[-1].sum(keepdims=True),
        )
    elif len(text[-1]) > 1:
        of.append(np.zeros(len(categories), np.int32))
        text.append(("*",))
        leaves.append(leaves[-1].sum(keepdims=True))
    return Ladder(np.stack(of), tuple(text), tuple(leaves))
