"""The path of mu-Argus: column after column is recoded, the one that breaks most unsafe combinations per loss."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.cells import Cells, roll_up
from sfumato.core.keys import first_of
from sfumato.core.labels import Labels, at_level
from sfumato.core.lattice import lattice
from sfumato.core.microdata import Attribute
from sfumato.core.parameters import OneOf, Whole, check_fields, settle
from sfumato.core.protocols import Search
from sfumato.errors import Infeasible, PolicyError
from sfumato.losses import LM, LabelLoss
from sfumato.search.problem import Partition, Problem, Solution, judge, nothing_found, project, same_print
from sfumato.search.suppression.cells import with_blank
from sfumato.search.suppression.local import Blanks


class Recodings:
    """The greedy path of global recodings: unsafe combinations are counted per set of columns and levels, once."""

    def __init__(self, problem: Problem, size: int | str | None) -> None:
        space = lattice(problem.attributes, problem.levels)
        self.problem, self.node, self.greatest = problem, list(space.least), space.greatest
        self.loss = problem.policy.loss if problem.policy.loss.by_label else LM()
        everything = tuple(range(len(problem.attributes)))
        widths = range(1, min(size, len(everything)) + 1) if isinstance(size, int) else range(0)
        self.small = [chosen for width in widths for chosen in combinations(everything, width)]
        self.whole = [everything]
        self.known: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self.cells: dict[tuple[int, ...], Cells] = {everything: problem.cells}
        self.label_loss = [_label_losses(self.loss, a, problem.rows) for a in problem.attributes]
        self.weights = np.array([self.loss.weight(a) for a in problem.attributes])
        self.checks = 0

    def path(self) -> list[list[int]]:
        """The nodes of the path, up to one without any unsafe combination."""
        nodes = [self.node]
        while self.unsafe(self.whole[0], self.node) and self.advance():
            nodes.append(self.node)
            self.problem.progress("recoding", sum(self.node) / max(sum(self.greatest), 1))
        if any(c.monotonicity != "superset" or c.needs for c in self.problem.policy.require):
            while self.advance():  # other criteria may hold further up only
                nodes.append(self.node)
        return nodes

    def unsafe(self, columns: tuple[int, ...], node: list[int]) -> int:
        """How many combinations of labels in the columns fewer rows share than are asked for."""
        key = columns, tuple(node[c] for c in columns)
        if key not in self.known:
            self.checks += 1
            if columns not in self.cells:
                self.cells[columns] = project(self.problem.cells, columns)
            tables = [self.problem.attributes[c].ladder.of[level] for c, level in zip(*key, strict=True)]
            size = roll_up(self.cells[columns], tables, range(len(columns))).size
            self.known[key] = int((size < self.problem.policy.least_size).sum())
        return self.known[key]

    def loss_of(self, node: list[int]) -> float:
        """The loss of the labels of a node."""
        x = np.array([losses[level] for losses, level in zip(self.label_loss, node, strict=True)])
        return float(self.loss.combine(x, self.weights))

    def bound(self, node: list[int]) -> float:
        """A loss that a node cannot be below, whatever cells are blanked."""
        return self.loss_of(node) if self.problem.policy.loss.by_label else 0.0

    def advance(self) -> bool:
        """Recode the column that breaks most unsafe combinations per loss; says whether there was one left.

        Combinations of a few columns count first, then the whole one, then the column with the most labels goes."""
        free = [a for a, (level, top) in enumerate(zip(self.node, self.greatest, strict=True)) if level < top]
        if not free:
            return False
        here = self.loss_of(self.node)
        chosen = max(free, key=lambda a: (len(self.problem.attributes[a].ladder.text[self.node[a]]), -a))
        for sets in (self.small, self.whole):
            broken = {a: sum(self._broken(columns, a) for columns in sets if a in columns) for a in free}
            if max(broken.values()) > 0:
                cost = {a: max(self.loss_of(self._raised(a)) - here, 1e-12) for a in free}
                chosen = max(free, key=lambda a: (broken[a] / cost[a], -a))
                break
        self.node = self._raised(chosen)
        return True

    def _raised(self, a: int) -> list[int]:
        return [level + (i == a) for i, level in enumerate(self.node)]

    def _broken(self, columns: tuple[int, ...], a: int) -> int:
        return self.unsafe(columns, self.node) - self.unsafe(columns, self._raised(a))


def _label_losses(loss: LabelLoss, attribute: Attribute, rows: int) -> np.ndarray:
    """The loss of a column at each level, with nothing suppressed."""
    levels = [at_level(attribute, level) for level in range(attribute.ladder.levels)]
    own, count = loss.own(attribute), attribute.categories.count
    return np.array([((loss.cost(labels)[labels.of] - own) * count).sum() / rows for labels in levels])


MOST_COLUMNS = 62  # combinations are bits of one word
PATIENCE = 4  # steps back after the best one


@dataclass(frozen=True)
class MuArgus(Search):
    """Recode columns while that breaks unsafe combinations cheaply, then blank single cells (AG_CS, heuristic).

    A combination of up to `size` quasi-identifiers is unsafe where fewer than k rows share its values. The column whose
    next level breaks most of them per loss is recoded, again and again; at each step, what is left is broken by
    blanking cells, few per row (`weigh="cells"`) or few bits per row (`weigh="entropy"`), and the step of least loss
    is taken. Blank cells are released as missing values.

    The method of the paper protects combinations of up to `size` columns only, so that a row may still stand out by
    all of them. Here cells are blanked on until the classes over all quasi-identifiers have k rows, a blank being a
    value of its own; `size="all"` looks at the whole combination only. Criteria other than k-anonymity are checked at
    the end, and rows that violate them suppressed within the limit. Levels bound the recoding, not the blanking.

    `size`: the most columns of a combination that is looked at, or "all". `weigh`: what blanking a row costs, its cells
    or their entropy.
    """

    code: ClassVar[str] = "AG_CS"
    guarantee: ClassVar[str] = "heuristic"
    size: Annotated[int | str | None, OneOf(("all",), Whole())] = 3
    weigh: Annotated[str, OneOf(("cells", "entropy"))] = "cells"

    def __post_init__(self) -> None:
        check_fields(self, "mu-argus")
        settle(self, size="all" if self.size is None else self.size)

    def __call__(self, problem: Problem) -> Solution:
        """Follow the greedy path of recodings, blank cells at each step, and take the step of least loss."""
        began = time.perf_counter()
        _refuse(problem)
        recoding = Recodings(problem, self.size)
        path = recoding.path()
        best, steps, closest = self._best_step(problem, path, recoding)
        if best is None:
            raise _unsolved(problem, closest)
        seconds = time.perf_counter() - began
        return Solution(best.partition(), best.verdict, best.kept, False, recoding.checks + steps, seconds)

    def _best_step(self, problem: Problem, path: list[list[int]], recoding: Recodings) -> tuple[_Step | None, int, int]:
        """The step of least loss, how many were tried, and the fewest rows suppressed.

        The path is walked back from its most general node: there, few cells are left to blank."""
        best: _Step | None = None
        tried, worse, closest = 0, 0, problem.rows
        for node in reversed(path):
            if worse == PATIENCE:
                break
            if best is not None and recoding.bound(node) > best.verdict.loss:
                continue  # recoding alone loses more
            step = _Step(problem, node, self)
            tried += 1
            closest = min(closest, step.verdict.suppressed)
            if step.verdict.satisfied and (best is None or step.verdict.loss <= best.verdict.loss):
                best, worse = step, 0
            elif best is not None:
                worse += 1
            problem.progress("suppressing cells", tried / len(path))
        return best, tried, closest


def _refuse(problem: Problem) -> None:
    """What cells cannot be blanked for."""
    if len(problem.sets) > 1:
        raise PolicyError(
            "mu-argus takes one quasi-identifier set",
            got=f"{len(problem.sets)} sets",
            hint="blanking a cell for one set would break classes of another; give all columns as one set",
        )
    if problem.policy.loss.by_level:
        raise PolicyError(
            "the loss height is defined for level vectors only", got="search mu-argus", hint="use lm, ncp or precision"
        )
    if len(problem.attributes) > MOST_COLUMNS:
        raise PolicyError(
            "mu-argus: too many quasi-identifiers", got=len(problem.attributes), allowed=f"at most {MOST_COLUMNS}"
        )


class _Step:
    """One node of the path with its cells blanked."""

    def __init__(self, problem: Problem, node: list[int], search: MuArgus) -> None:
        self.problem = problem
        self.levels = [at_level(a, level) for a, level in zip(problem.attributes, node, strict=True)]
        classes = roll_up(problem.cells, [labels.of for labels in self.levels], range(len(node)))
        self.class_of_cell = classes.class_of_cell
        first = first_of(self.class_of_cell, len(classes.size))
        self.label = np.stack([at.of[problem.cells.codes[i, first]] for i, at in enumerate(self.levels)], axis=1)
        prints = [same_print(labels) for labels in self.levels]
        blank = np.array([_blank_print(labels, number) for labels, number in zip(self.levels, prints, strict=True)])
        codes = np.stack([number[self.label[:, i]] for i, number in enumerate(prints)], axis=1)
        blanks = Blanks(codes, classes.size, blank, problem.policy.least_size)
        if isinstance(search.size, int):
            blanks.break_combinations(min(search.size, len(node)), search.weigh == "entropy")
        blanks.merge_small(problem.limit)
        self.gone = (blanks.state == blank) & (codes != blank)
        self.blanked = int((self.gone.sum(axis=1) * classes.size).sum())
        columns = [(labels, labels.of[self.class_of_cell]) for labels in self._labels()]
        self.kept, self.verdict, _ = judge(problem, columns)

    def _labels(self) -> list[Labels]:
        """The labels of each column per class: those of its level, and one that says nothing."""
        shown = [with_blank(labels, bool(self.gone[:, i].any())) for i, labels in enumerate(self.levels)]
        blank = [np.where(self.gone[:, i], len(a.lo) - 1, self.label[:, i]) for i, a in enumerate(shown)]
        return [replace(labels, of=of.astype(np.int32)) for labels, of in zip(shown, blank, strict=True)]

    def partition(self) -> Partition:
        """The recoding. Learned sets print the values of kept cells only: others must not show."""
        labels = {}
        for i, (attribute, found) in enumerate(zip(self.problem.attributes, self._labels(), strict=True)):
            shown = self.kept & ~self.gone[self.class_of_cell, i]
            labels[attribute.name] = _only_shown(
                found, found.of[self.class_of_cell[shown]], self.problem.cells.codes[i, shown]
            )
        return Partition(self.class_of_cell, labels)


def _blank_print(labels: Labels, number: np.ndarray) -> int:
    """The number of labels that print as missing, or a new one."""
    missing = [n for n, text in zip(number.tolist(), labels.text, strict=True) if not text]
    return int(missing[0]) if missing else int(number.max()) + 1


def _only_shown(labels: Labels, label: np.ndarray, code: np.ndarray) -> Labels:
    """Sets of a learned hierarchy, named by the values that are released under them; `label` and `code` per cell."""
    attribute = labels.attribute
    if attribute.hierarchy is not None or attribute.categories.ordered or attribute.categories.sequence == "codes":
        return labels
    text = list(labels.text)
    values: dict[int, list[str | None]] = {}
    for pair in np.unique(label.astype(np.int64) * len(attribute.categories) + code).tolist():
        of, value = divmod(pair, len(attribute.categories))
        values.setdefault(of, []).append(attribute.categories.text[value])
    for of, members in values.items():
        if not labels.star[of]:
            text[of] = attribute.categories.set_text(members)
    return replace(labels, named=tuple(text))


def _unsolved(problem: Problem, closest: int) -> Infeasible:
    """Blanking cells always gives classes of k rows, so it is another criterion that fails."""
    models = ", ".join(c.model for c in problem.policy.require)
    what = f"mu-argus makes classes of {problem.policy.least_size} rows, and at no step they satisfied {models}"
    hint = 'allow more suppression, ask for less, or use search="optimal" or "mondrian", which look for them'
    return nothing_found(problem, what, closest, hint)
