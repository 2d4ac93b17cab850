"""Few labels: a number or date has no more labels than it had values; what loses least joins the label above it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.core.label_grammar import STAR
from sfumato.core.labels import Labels, at_level, of_nodes
from sfumato.losses import LabelLoss

FEW_VALUES = 12


def few_labels(index: int, labels: Labels, rows: np.ndarray, values: int, loss: LabelLoss) -> FewLabels | None:
    """A column of labels of a hierarchy where more of them are used than it has values; None where they are not.

    `rows` are the released rows of each label, `values` how many different ones these rows had; a missing one is none,
    nor is its label one. Of columns with few values, which may be codes, the label that says nothing does not count.
    """
    used = {labels.text[i] for i in np.flatnonzero(rows > 0).tolist()}
    most = values + (values <= FEW_VALUES and STAR in used) + (None in used)
    return FewLabels(index, labels, rows, most, loss) if len(used) > most else None


@dataclass(frozen=True, eq=False)
class FewLabels:
    """The labels of a column, of which at most so many are used: the others are replaced by those above them."""

    index: int
    labels: Labels
    rows: np.ndarray  # released, per label
    most: int
    loss: LabelLoss

    def chosen(self, budget: float) -> FewLabels:
        """The column as it is: there is one way to have so many labels."""
        return self

    @property
    def coarser(self) -> FewLabels | None:
        """The column with half as many labels; None where there is one alone."""
        return replace(self, most=self.most // 2) if self.most > 1 else None

    @cached_property
    def made(self) -> Labels:
        """The labels that are left; `of` is as it was."""
        labels, ladder = self.labels, self.labels.attribute.ladder
        assert labels.fixed_level is not None
        start = np.cumsum([0, *map(len, ladder.text)])
        level_of = np.repeat(np.arange(ladder.levels), np.diff(start))
        node = start[labels.fixed_level] + ladder.of[labels.fixed_level, labels.lo]
        said = np.array([text is not None for level in ladder.text for text in level])
        rows = np.bincount(node, weights=self.rows, minlength=len(level_of)) * said
        above = np.full(len(level_of), -1)
        for level in range(ladder.height):
            above[start[level] + ladder.of[level]] = start[level + 1] + ladder.of[level + 1]
        cost = np.concatenate([self.loss.cost(at_level(labels.attribute, i)) for i in range(ladder.levels)])
        most = self.most - int(((self.rows > 0) & ~said[node]).any())
        now = _fewer(rows, above, cost, start, max(most, 1))[node]
        return of_nodes(labels.attribute, level_of[now][labels.of], (now - start[level_of[now]])[labels.of])


def _fewer(rows: np.ndarray, above: np.ndarray, cost: np.ndarray, start: np.ndarray, most: int) -> np.ndarray:
    """What takes the place of each node, so that at most so many have rows.

    Either a node joins the next one above it that has rows, or all nodes under one join it; what costs least for each
    node that goes is done first. Nodes are numbered level by level, each level from `start`.
    """
    place, rows = np.arange(len(rows)), rows.copy()
    while (spare := np.count_nonzero(rows) - most) > 0:
        used = rows > 0
        next_used, under, total, paid = above.copy(), used.astype(np.int64), rows.copy(), rows * cost
        for level in range(len(start) - 3, -1, -1):  # from the root down
            one = slice(start[level], start[level + 1])
            up = above[one]
            next_used[one] = np.where(used[up], up, next_used[up])
        next_used[start[-2] :] = -1
        for level in range(len(start) - 2):  # from the values up
            one = slice(start[level], start[level + 1])
            for sums in (under, total, paid):
                np.add.at(sums, above[one], sums[one])
        lift = np.where(used & (next_used >= 0), rows * (cost[next_used] - cost), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            join = np.where(under > 1, (total * cost - paid) / (under - 1), np.inf)
        best = int(np.argmin(join))
        if lift.min() <= join[best]:
            some = np.argsort(lift, kind="stable")[: max(1, spare // 8)]
            some = some[lift[some] <= join[best]]
            target = next_used[some]
        else:
            inside = np.arange(len(rows)) == best
            for level in range(len(start) - 3, -1, -1):
                one = slice(start[level], start[level + 1])
                inside[one] |= inside[above[one]]
            some = np.flatnonzero(inside & used & (np.arange(len(rows)) != best))
            target = np.full(len(some), best)
        moved = np.arange(len(rows))
        moved[some] = target
        for _ in start:  # a node that others join may itself join one
            moved = moved[moved]
        place = moved[place]
        rows = np.bincount(moved, weights=rows, minlength=len(rows))
    return place
