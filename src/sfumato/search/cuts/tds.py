"""Top-down specialisation. Fung, Wang and Yu, ICDE 2005."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.cells import Classes, classes_of, roll_up
from sfumato.core.labels import Labels, of_nodes, of_ranges
from sfumato.core.microdata import Attribute
from sfumato.core.parameters import Column, check_fields
from sfumato.core.policy import kept_classes
from sfumato.core.protocols import Search
from sfumato.errors import Infeasible, PolicyError
from sfumato.losses import LM
from sfumato.search.cuts.kernels import split_sizes
from sfumato.search.problem import Columns, Problem, Solution, judge


@dataclass(frozen=True)
class TDS(Search):
    """From the roots down, specialise the label that gains most information per anonymity lost (AG_, heuristic).

    A label of a hierarchy is replaced by its children; an interval of an ordered column without a given hierarchy is
    cut in two on the fly. The score is gain / (anonymity lost + 1): with a class attribute the gain is the information
    gained about it, without one the loss of the labels that is saved; anonymity is the size of the smallest class. Only
    specialisations after which every class satisfies the policy are made; nothing is suppressed.

    `class_attribute`: the column that labels shall still tell of.
    """

    code: ClassVar[str] = "AG_"
    guarantee: ClassVar[str] = "heuristic"
    class_attribute: Annotated[str | None, Column()] = None

    def __post_init__(self) -> None:
        check_fields(self, "tds")

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns whose histograms it looks at."""
        return () if self.class_attribute is None else (self.class_attribute,)

    def __call__(self, problem: Problem) -> Solution:
        """Specialise until nothing valid is left."""
        began = time.perf_counter()
        cut = _Cut(problem, self.class_attribute)
        while (best := cut.best()) is not None:
            cut.specialise(best)
            problem.progress("specialising", None)
        labels = {a.name: cut.labels(i) for i, a in enumerate(problem.attributes)}
        seconds = time.perf_counter() - began
        columns = [
            (labels[a.name], labels[a.name].of[problem.cells.codes[i]]) for i, a in enumerate(problem.attributes)
        ]
        kept, verdict, _ = judge(problem, columns)
        return Solution(Columns(labels), verdict, kept, False, cut.checks, seconds)


@dataclass(frozen=True, eq=False)
class _Block:
    """A label of the cut and how it would be split: the codes it covers, the child of each code, and the score."""

    attribute: int
    codes: np.ndarray
    level: int  # of the hierarchy; -1 for an interval
    child: np.ndarray  # per code of the column; meaningful for `codes`
    children: int
    gain: float = 0.0
    least: int = 0  # the smallest class after the split
    outside: int = 0  # the smallest class that the split does not touch
    stale: bool = True


class _Cut:
    """The current cut: blocks per attribute, and the classes they make of the cells."""

    def __init__(self, problem: Problem, class_attribute: str | None) -> None:
        self.problem, self.cells = problem, problem.cells
        self.least_size = problem.policy.least_size
        self.by_size = problem.policy.by_size
        loss = problem.policy.loss
        self.loss = loss if loss.by_label else LM()
        self.histogram = None if class_attribute is None else self.cells.histograms.get(class_attribute)
        if class_attribute is not None and self.histogram is None:
            raise PolicyError(f'tds: there is no histogram of the class attribute "{class_attribute}"')
        self.block = [np.zeros(len(a.categories), np.int32) for a in problem.attributes]  # per code
        self.bounds = [self._bounds(a) for a in problem.attributes]
        self.blocks: list[dict[int, _Block]] = [{} for _ in problem.attributes]
        self.level = [np.zeros(len(a.categories), np.int64) for a in problem.attributes]
        for i, attribute in enumerate(problem.attributes):
            self._start(i, attribute)
        tables = [block.astype(np.int64) for block in self.block]
        self.classes: Classes = roll_up(self.cells, tables, range(len(tables)))
        self.checks = 1
        if not kept_classes(problem.policy.require, self.classes).all():
            raise Infeasible(
                "the most general table does not satisfy the policy",
                got=f"{problem.rows} rows in {len(self.classes.size)} classes",
                hint="ask for less, or let the columns generalise further; tds suppresses nothing",
                closest={"suppressed": problem.rows},
            )

    def _bounds(self, attribute: Attribute) -> tuple[int, int]:
        """Least and greatest level; intervals have none."""
        if on_the_fly(attribute):
            if attribute.name in self.problem.levels:
                raise PolicyError(
                    f'tds cuts "{attribute.name}" on the fly, so it has no levels', hint="give it a hierarchy"
                )
            return 0, 0
        return self.problem.levels.get(attribute.name, (0, attribute.ladder.height))

    def _start(self, i: int, attribute: Attribute) -> None:
        codes = np.arange(len(attribute.categories))
        if on_the_fly(attribute):
            self._add(i, codes, -1)
            return
        top = self.bounds[i][1]
        for label in np.unique(attribute.ladder.of[top]):
            self._add(i, codes[attribute.ladder.of[top] == label], top)

    def _add(self, i: int, codes: np.ndarray, level: int) -> None:
        """A new block, lowered as far as it stays one label, with the split that it would take."""
        attribute, number = self.problem.attributes[i], len(self.blocks[i])
        self.block[i][codes] = number
        child = np.zeros(len(attribute.categories), np.int32)
        if level < 0:
            self.blocks[i][number] = _Block(i, codes, -1, child, 1)  # its cut depends on the rows: see `_score`
            return
        of, least = attribute.ladder.of, self.bounds[i][0]
        while level > least and len(np.unique(of[level - 1, codes])) == 1:
            level -= 1
        self.level[i][codes] = level
        children = 1
        if level > least:
            labels, child[codes] = np.unique(of[level - 1, codes], return_inverse=True)
            children = len(labels)
        self.blocks[i][number] = _Block(i, codes, level, child, children)

    def best(self) -> _Block | None:
        """The block of the highest score whose split every class survives; blocks that fail now fail for good."""
        while True:
            candidates = []
            for i, blocks in enumerate(self.blocks):
                for number, block in list(blocks.items()):
                    if block.stale:
                        block = self._score(block, number)
                        blocks[number] = block
                    if block.children > 1:
                        after = min(block.least, block.outside) if block.outside else block.least
                        lost = int(self.classes.size.min()) - after
                        candidates.append((block.gain / (max(lost, 0) + 1), -i, -number, block))
            if not candidates:
                return None
            *_, negative, block = max(candidates, key=lambda c: c[:3])
            self.checks += 1
            if self._valid(block):
                return block
            self.blocks[block.attribute][-negative] = replace(block, children=1)

    def _rows(self, block: _Block, number: int) -> np.ndarray:
        """The cells under a block."""
        return np.flatnonzero(self.block[block.attribute][self.cells.codes[block.attribute]] == number)

    def _score(self, block: _Block, number: int) -> _Block:
        """Gain and anonymity of the split of a block."""
        fresh = replace(block, stale=False)
        if len(block.codes) < 2 or (block.level >= 0 and block.children < 2):
            return replace(fresh, children=1)
        cells, i = self._rows(block, number), block.attribute
        counts = self._class_counts(i, cells)
        if block.level < 0:
            cut = self._cut_point(block, counts)
            if cut is None:
                return replace(fresh, children=1)
            child = (np.arange(len(block.child)) >= cut).astype(np.int32)
            fresh = replace(fresh, child=child, children=2)
        first = np.full(len(self.classes.size), -1, np.int64)
        least, _ = split_sizes(
            cells, self.classes.class_of_cell, self.cells.codes[i], fresh.child, fresh.children, self.cells.count, first
        )
        inside = np.zeros(len(self.classes.size), np.bool_)
        inside[self.classes.class_of_cell[cells]] = True
        outside = self.classes.size[~inside]
        if least < self.least_size:
            return replace(fresh, children=1)  # it never becomes valid: classes only get smaller
        gain = self._information(fresh, counts) if self.histogram is not None else self._saved(fresh)
        return replace(fresh, gain=gain, least=int(least), outside=int(outside.min()) if len(outside) else 0)

    def _class_counts(self, i: int, cells: np.ndarray) -> np.ndarray:
        """Rows per code and class value among some cells; without a class attribute, rows per code."""
        width = len(self.problem.attributes[i].categories)
        code = self.cells.codes[i, cells]
        h = self.histogram
        if h is None:
            return np.bincount(code, weights=self.cells.count[cells], minlength=width)[:, None]
        run = h.start[cells + 1] - h.start[cells]
        entry = np.arange(run.sum()) - np.repeat(np.cumsum(run) - run, run) + np.repeat(h.start[cells], run)
        key = np.repeat(code.astype(np.int64), run) * len(h.overall) + h.value[entry]
        return np.bincount(key, weights=h.count[entry], minlength=width * len(h.overall)).reshape(width, -1)

    def _cut_point(self, block: _Block, counts: np.ndarray) -> int | None:
        """The first code of the right side: missing values apart first, then the best gain, or the middle row."""
        categories = self.problem.attributes[block.attribute].categories
        low, high = int(block.codes[0]), int(block.codes[-1])
        if categories.missing and high == len(categories) - 1:
            return high
        left = np.cumsum(counts[low : high + 1], axis=0)[:-1]
        right = counts[low : high + 1].sum(axis=0) - left
        n, m = left.sum(axis=1), right.sum(axis=1)
        allowed = np.flatnonzero((n >= self.least_size) & (m >= self.least_size))
        if not len(allowed):
            return None
        if self.histogram is None:
            score = -np.abs(n - m)
        else:
            score = -(_entropy(left) * n + _entropy(right) * m)
        return low + 1 + int(allowed[np.argmax(score[allowed])])

    def _information(self, block: _Block, counts: np.ndarray) -> float:
        """Bits gained about the class attribute by the split, per row of the block."""
        parts = np.stack(
            [counts[block.codes[block.child[block.codes] == c]].sum(axis=0) for c in range(block.children)]
        )
        rows = parts.sum(axis=1)
        whole = parts.sum(axis=0)
        return float(_entropy(whole[None, :])[0] - (_entropy(parts) * rows).sum() / rows.sum())

    def _saved(self, block: _Block) -> float:
        """Loss of labels that the split saves, over all rows."""
        attribute = self.problem.attributes[block.attribute]
        count = attribute.categories.count[block.codes]
        before = self._cost(attribute, block.codes, block.level, np.zeros(len(block.codes), np.int64))
        after = self._cost(attribute, block.codes, block.level - 1, block.child[block.codes])
        return float(((before - after) * count).sum() / self.problem.rows)

    def _cost(self, attribute: Attribute, codes: np.ndarray, level: int, part: np.ndarray) -> np.ndarray:
        """Cost of each code where the codes are labelled by parts, or by their node of a level."""
        if level >= 0 and not on_the_fly(attribute):
            labels = of_nodes(attribute, np.full(len(codes), level), attribute.ladder.of[level, codes])
        else:
            low = np.array([codes[part == p].min() for p in part])
            high = np.array([codes[part == p].max() for p in part])
            labels = of_ranges(attribute, low, high)
        return self.loss.cost(labels)[labels.of]

    def _split(self, block: _Block) -> tuple[np.ndarray, int]:
        """The class of each cell after the split."""
        number = next(n for n, b in self.blocks[block.attribute].items() if b is block)
        code = self.cells.codes[block.attribute]
        here = self.block[block.attribute][code] == number
        key = self.classes.class_of_cell.astype(np.int64) * block.children + np.where(here, block.child[code], 0)
        _, of = np.unique(key, return_inverse=True)
        return of.astype(np.int32), int(of.max()) + 1

    def _valid(self, block: _Block) -> bool:
        """Whether every class, and the table of them, satisfies the policy after the split."""
        if self.by_size:
            return block.least >= self.least_size
        return bool(kept_classes(self.problem.policy.require, classes_of(self.cells, *self._split(block))).all())

    def specialise(self, block: _Block) -> None:
        """Make the split."""
        i = block.attribute
        self.classes = classes_of(self.cells, *self._split(block))
        number = next(n for n, b in self.blocks[i].items() if b is block)
        self.blocks[i][number] = replace(block, children=1, codes=block.codes[:0], stale=False)
        for c in range(block.children):
            codes = block.codes[block.child[block.codes] == c]
            self._add(i, codes, block.level if block.level < 0 else block.level - 1)
        for blocks in self.blocks:  # classes have changed: what was known of other splits has too
            for other, known in blocks.items():
                if known.children > 1 or known.level < 0:
                    blocks[other] = replace(known, stale=known.stale or known.children > 1)

    def labels(self, i: int) -> Labels:
        """The labels of a column: the nodes or intervals of its blocks, per code."""
        attribute = self.problem.attributes[i]
        codes = np.arange(len(attribute.categories))
        if not on_the_fly(attribute):
            return of_nodes(attribute, self.level[i], attribute.ladder.of[self.level[i], codes])
        low, high = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
        for number in np.unique(self.block[i]):
            mine = codes[self.block[i] == number]
            low[mine], high[mine] = mine[0], mine[-1]
        return of_ranges(attribute, low, high)


def on_the_fly(attribute: Attribute) -> bool:
    """Whether a column is cut into intervals: it is ordered and was given no hierarchy."""
    return attribute.categories.ordered and attribute.hierarchy is None


def _entropy(counts: np.ndarray) -> np.ndarray:
    """Entropy in bits of each row of counts."""
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    share = counts / total
    return -(share * np.log2(np.where(share > 0, share, 1))).sum(axis=1)
