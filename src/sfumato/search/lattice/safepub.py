"""SafePub: levels chosen by the exponential mechanism, for a sample of rows in large classes. R. Bild, K. Kuhn,
F. Prasser, SafePub: a truthful data anonymization algorithm with strong privacy guarantees, PoPETs 2018(1)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.accounting import EXACT_DOWN
from sfumato.core.cells import roll_up
from sfumato.core.lattice import Lattice
from sfumato.core.mechanisms import choose
from sfumato.core.microdata import Attribute
from sfumato.core.parameters import Whole, check_fields
from sfumato.core.protocols import Search
from sfumato.criteria.differential_privacy import DifferentialPrivacy
from sfumato.errors import PolicyError
from sfumato.search.problem import Problem, Solution, level_solution

Node = tuple[int, ...]
MOST_NODES = 4096  # of a lattice all of which is looked at
UNIT = 2**20  # a row, in the whole numbers that scores are


@dataclass(frozen=True)
class SafePub(Search):
    """Choose levels with noise, so that the choice tells hardly anything of one row (AG_TS, heuristic).

    It takes `differential-privacy`, whose `epsilon_search` pays for the choice, and hierarchies that are the same
    whatever the table holds. The score of a level vector is how many rows it is expected to release, each by how much
    it still tells: 1 at the values, 0 at the roots. All level vectors are candidates of one choice, or, with `steps`
    and where there are more than 4096, those beside the ones that were chosen before, from the roots down: so many
    choices, and one among all that were seen. The release then samples the rows.

    steps: how many choices lead down from the roots; without it, none, or as many as the hierarchies have levels.
    """

    steps: Annotated[int | None, Whole()] = None

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "heuristic"
    private: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self, "safepub")

    def __call__(self, problem: Problem) -> Solution:
        """The chosen levels on all cells; a private release samples them too."""
        began = time.perf_counter()
        node, checks = self.choose_levels(problem)
        return level_solution(problem, node, checks, began, reproducible=False)

    def choose_levels(self, problem: Problem) -> tuple[Node, int]:
        """A level vector, and how many were looked at."""
        asked = asked_privacy(problem.policy.require)
        space = public_lattice(problem.attributes, problem.levels)
        scores = LevelScores(problem, asked.k, asked.beta)
        if self.steps is None and space.size <= MOST_NODES:
            nodes = [tuple(map(int, node)) for node in space.nodes()]
            return nodes[_chosen(scores, nodes, asked.choosing)], len(nodes)
        return _walked(scores, space, self.steps or sum(space.greatest) - sum(space.least), asked.choosing)


def asked_privacy(require: Sequence[Any]) -> DifferentialPrivacy:
    """The one criterion that says how private a release is."""
    found = [c for c in require if isinstance(c, DifferentialPrivacy)]
    if len(found) != 1:
        hint = 'require "differential-privacy 1 1e-6", an epsilon and a delta'
        raise PolicyError("safepub takes one promise of differential privacy", got=f"{len(found)} of them", hint=hint)
    return found[0]


def public_lattice(attributes: Sequence[Attribute], levels: Mapping[str, tuple[int, int]]) -> Lattice:
    """The level vectors, as the hierarchies alone tell them."""
    least, greatest = [], []
    for attribute in attributes:
        assert attribute.hierarchy is not None  # which was asked for before
        height = attribute.hierarchy.height
        low, high = levels.get(attribute.name, (0, height))
        if not 0 <= low <= high <= height:
            what = f'levels of "{attribute.name}" must be a least and a greatest level'
            raise PolicyError(what, got=(low, high), allowed=f"0 to {height}")
        least.append(low)
        greatest.append(high)
    return Lattice(tuple(least), tuple(greatest))


def label_numbers(attribute: Attribute, level: int) -> np.ndarray:
    """The number of each value's label at a level: equal where they print alike; at the root all are one."""
    assert attribute.hierarchy is not None
    ladder = attribute.ladder
    if level >= attribute.hierarchy.height:
        return np.zeros(len(attribute.categories), np.int64)
    first: dict[str | None, int] = {}
    number = np.array([first.setdefault(text or None, len(first)) for text in ladder.text[level]], np.int64)
    return number[ladder.of[level]]


def expected_rows(k: int, beta: float) -> tuple[np.ndarray, int]:
    """How many of n rows are expected to be released, for n from 0 on, in whole numbers of `UNIT` a row; and by how
    much each further row adds to that beyond the last n.

    X rows of n are sampled, each with probability beta, and released where they are k at least. A further row adds
    beta (P[X >= k] + k P[X = k - 1]) to the expectation.

    >>> table, slope = expected_rows(2, 0.5)
    >>> (table[:4] / UNIT).tolist(), slope / UNIT
    ([0.0, 0.0, 0.5, 1.125], 0.5)
    """
    n = np.arange(math.ceil((k + 12 * math.sqrt(k) + 60) / beta))
    factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, len(n) + 1)))])
    some = n >= k - 1
    logs = factorial[n[some]] - factorial[k - 1] - factorial[n[some] - k + 1]
    logs += (k - 1) * math.log(beta) + (n[some] - k + 1) * math.log1p(-beta)
    just = np.zeros(len(n))
    just[some] = np.exp(logs)
    enough = beta * np.concatenate([[0.0], np.cumsum(just)[:-1]])
    steps = np.rint(UNIT * beta * (enough + k * just)).astype(np.int64)
    return np.concatenate([[0], np.cumsum(steps)]), round(UNIT * beta)


class LevelScores:
    """The score of each level vector, in whole numbers, and by how much one row changes it at most.

    A row more makes one class of a level vector larger by one, which adds at most the largest step of
    `expected_rows` to its sum, and never takes any away. The sum is weighed by how far the levels are below the
    roots, a share of 0 to 1 that follows from the hierarchies alone, and rounded down.
    """

    def __init__(self, problem: Problem, k: int, beta: float) -> None:
        self.cells, self.attributes = problem.cells, problem.attributes
        self.table, self.slope = expected_rows(k, beta)
        self.sensitivity = max(int(np.diff(self.table).max()), self.slope)
        self.heights = [a.hierarchy.height if a.hierarchy is not None else 0 for a in self.attributes]
        self.common = math.lcm(*(height or 1 for height in self.heights))
        self.found: dict[Node, int] = {}
        self._numbers: dict[tuple[int, int], np.ndarray] = {}

    def __call__(self, node: Node) -> int:
        """The score of a level vector."""
        if node not in self.found:
            labels = [self._labels(i, level) for i, level in enumerate(node)]
            size = roll_up(self.cells, labels, range(len(node))).size
            last = len(self.table) - 1
            rows = int(self.table[np.minimum(size, last)].sum()) + self.slope * int(np.maximum(size - last, 0).sum())
            above = zip(self.heights, node, strict=True)
            weight = sum((height - level) * self.common // height for height, level in above if height)
            self.found[node] = rows * weight // (len(node) * self.common)
        return self.found[node]

    def _labels(self, i: int, level: int) -> np.ndarray:
        if (i, level) not in self._numbers:
            self._numbers[i, level] = label_numbers(self.attributes[i], level)
        return self._numbers[i, level]


def _chosen(scores: LevelScores, nodes: Sequence[Node], epsilon: Decimal) -> int:
    """The number of one of some level vectors, better scores likelier: a row more moves no score down."""
    return choose([float(scores(node)) for node in nodes], float(scores.sensitivity), epsilon, monotonic=True)


def _walked(scores: LevelScores, space: Lattice, steps: int, epsilon: Decimal) -> tuple[Node, int]:
    """Down from the roots: each step goes on from a level vector beside those of before, and one of all is chosen."""
    share = EXACT_DOWN.divide(epsilon, Decimal(steps + 1))
    pivot = space.greatest
    seen, beside = {pivot}, list[Node]()
    for _ in range(steps):
        below = [(*pivot[:i], level - 1, *pivot[i + 1 :]) for i, level in enumerate(pivot) if level > space.least[i]]
        beside += [node for node in below if node not in seen]
        seen.update(below)
        if not beside:
            break
        pivot = beside.pop(_chosen(scores, beside, share))
    nodes = sorted(seen)
    return nodes[_chosen(scores, nodes, share)], len(nodes)
