"""mu-Argus style: global recoding, then local suppression of unsafe combinations. Hundepool and Willenborg, 1996."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.cells import roll_up
from sfumato.errors import Infeasible, PolicyError
from sfumato.labels import Labels, at_level, set_text
from sfumato.losses import Height
from sfumato.search.argus_path import Recodings
from sfumato.search.local_suppression import Blanks
from sfumato.search.problem import Partition, Problem, Solution, judge, same_print

MOST_COLUMNS = 62  # combinations are bits of one word
PATIENCE = 4  # steps back after the best one


@dataclass(frozen=True)
class MuArgus:
    """Recode columns while that breaks unsafe combinations cheaply, then blank single cells (AG_CS, heuristic).

    A combination of up to `size` quasi-identifiers is unsafe where fewer than k rows share its values. The column whose
    next level breaks most of them per loss is recoded, again and again; at each step, what is left is broken by
    blanking cells, few per row (`weigh="cells"`) or few bits per row (`weigh="entropy"`), and the step of least loss
    is taken. Blank cells are released as missing values.

    The method of the paper protects combinations of up to `size` columns only, so that a row may still stand out by
    all of them. Here cells are blanked on until the classes over all quasi-identifiers have k rows, a blank being a
    value of its own; `size="all"` looks at the whole combination only. Criteria other than k-anonymity are checked at
    the end, and rows that violate them suppressed within the limit. Levels bound the recoding, not the blanking.
    """

    code: ClassVar[str] = "AG_CS"
    guarantee: ClassVar[str] = "heuristic"
    size: int | str | None = 3
    weigh: str = "cells"

    def __post_init__(self) -> None:
        if self.size is None:
            object.__setattr__(self, "size", "all")
        whole = isinstance(self.size, int) and not isinstance(self.size, bool) and self.size >= 1
        if self.size != "all" and not whole:
            raise PolicyError(
                "mu-argus: size must be a number of columns", got=repr(self.size), allowed='1, 2, ... or "all"'
            )
        if self.weigh not in ("cells", "entropy"):
            raise PolicyError("mu-argus: unknown weigh", got=repr(self.weigh), allowed="cells, entropy")

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
    if isinstance(problem.policy.loss, Height):
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
        self.of_cell = classes.of_cell
        first = np.empty(len(classes.size), np.int64)
        first[self.of_cell[::-1]] = np.arange(len(problem.cells) - 1, -1, -1)
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
        columns = [(labels, labels.of[self.of_cell]) for labels in self._labels()]
        self.kept, self.verdict, _ = judge(problem, columns)

    def _labels(self) -> list[Labels]:
        """The labels of each column per class: those of its level, and one that says nothing."""
        return [_with_blank(labels, self.label[:, i], self.gone[:, i]) for i, labels in enumerate(self.levels)]

    def partition(self) -> Partition:
        """The recoding. Learned sets print the values of kept cells only: others must not show."""
        labels = {}
        for i, (attribute, found) in enumerate(zip(self.problem.attributes, self._labels(), strict=True)):
            shown = self.kept & ~self.gone[self.of_cell, i]
            labels[attribute.name] = _only_shown(
                found, found.of[self.of_cell[shown]], self.problem.cells.codes[i, shown]
            )
        return Partition(self.of_cell, labels)


def _blank_print(labels: Labels, number: np.ndarray) -> int:
    """The number of labels that print as missing, or a new one."""
    missing = [n for n, text in zip(number.tolist(), labels.text, strict=True) if not text]
    return int(missing[0]) if missing else int(number.max()) + 1


def _with_blank(labels: Labels, of: np.ndarray, gone: np.ndarray) -> Labels:
    """Labels per class, with one more that covers everything and prints as missing where cells are gone."""
    if not gone.any():
        return replace(labels, of=of)
    attribute, count = labels.attribute, len(labels.lo)
    values = len(attribute.categories)
    level = np.full(count, 0) if labels.fixed_level is None else labels.fixed_level
    return Labels(
        attribute,
        np.where(gone, count, of).astype(np.int32),
        np.append(labels.lo, 0),
        np.append(labels.hi, values - 1),
        np.append(labels.covered, attribute.categories.count.sum()),
        np.append(labels.leaves, values),
        np.append(labels.file_leaves, labels.file_domain),
        labels.file_domain,
        np.append(level, attribute.ladder.height),
        np.append(labels.star, True),
        (*labels.text, None),
    )


def _only_shown(labels: Labels, label: np.ndarray, code: np.ndarray) -> Labels:
    """Sets of a learned hierarchy, named by the values that are released under them; `label` and `code` per cell."""
    attribute = labels.attribute
    if attribute.hierarchy is not None or attribute.categories.ordered:
        return labels
    text = list(labels.text)
    values: dict[int, list[str | None]] = {}
    for pair in np.unique(label.astype(np.int64) * len(attribute.categories) + code).tolist():
        of, value = divmod(pair, len(attribute.categories))
        values.setdefault(of, []).append(attribute.categories.text[value])
    for of, members in values.items():
        if not labels.star[of]:
            text[of] = members[0] if len(members) == 1 else set_text(members)
    return replace(labels, named=tuple(text))


def _unsolved(problem: Problem, closest: int) -> Infeasible:
    """Blanking cells always gives classes of k rows, so it is another criterion that fails."""
    models = ", ".join(c.model for c in problem.policy.require)
    return Infeasible(
        f"mu-argus makes classes of {problem.policy.least_size} rows, and at no step they satisfied {models}",
        got=f"the nearest found would suppress at least {closest} of {problem.rows} rows",
        allowed=f"at most {min(problem.limit, problem.rows - 1)}",
        hint='allow more suppression, ask for less, or use search="optimal" or "mondrian", which look for them',
        closest={"suppressed": closest},
    )
