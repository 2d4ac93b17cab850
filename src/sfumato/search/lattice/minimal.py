"""All k-minimal generalisations: level vectors that satisfy while no smaller one does. Samarati, TKDE 2001."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.core.compiled import workers
from sfumato.core.lattice import Lattice, Node, lattice
from sfumato.core.progress import Progress, quiet
from sfumato.errors import PolicyError
from sfumato.search.lattice.incognito import minimal_of
from sfumato.search.lattice.state import LatticeState
from sfumato.search.problem import Problem

MOST = 1 << 20  # nodes of a lattice that is enumerated
BATCH = 256  # nodes checked together
UNKNOWN, SATISFIED, VIOLATED = 0, 1, -1
Satisfies = Callable[[np.ndarray], np.ndarray]  # levels above the least, int64 [nodes, attributes], to bool per node


@dataclass(frozen=True)
class MinimalNode:
    """A level vector with its height, the rows it suppresses, its loss, and the classes it keeps."""

    levels: Node
    height: int
    suppressed: int
    loss: float
    classes: int


@dataclass(frozen=True, eq=False)
class Minimal:
    """The k-minimal generalisations, and what is known of every node of the lattice.

    Arrays have an entry per node, in lexicographic order: whether it satisfies, whether that was found by a check (the
    others are pruned: known from a node above or below), and for those checked the rows suppressed, the loss (infinite
    where it does not satisfy) and the classes kept.
    """

    columns: tuple[str, ...]
    lattice: Lattice
    nodes: tuple[MinimalNode, ...]  # in lexicographic order
    satisfied: np.ndarray
    checked: np.ndarray
    suppressed: np.ndarray
    loss: np.ndarray
    classes: np.ndarray
    checks: int

    @property
    def best(self) -> MinimalNode | None:
        """The k-minimal node of least loss; ties go to the lower, then the lexicographically smaller one."""
        return min(self.nodes, key=lambda n: (round(n.loss, 12), n.height, n.levels), default=None)

    def status(self) -> list[str]:
        """Per node: satisfied, violated, or pruned where no check was needed."""
        words = np.where(self.checked, np.where(self.satisfied, "satisfied", "violated"), "pruned")
        found: list[str] = words.tolist()
        return found


class KnownNodes:
    """What a search knows of each node of a lattice that is written down."""

    def __init__(self, walk: LatticeState) -> None:
        refuse_large(walk.lattice)
        self.walk, walk.in_full = walk, True
        self.shape, count = walk.lattice.shape, walk.lattice.size
        self.tag = np.zeros(self.shape, np.int8)
        self.checked = np.zeros(count, np.bool_)
        self.suppressed, self.loss = np.zeros(count, np.int64), np.full(count, np.inf)
        self.classes = np.zeros(count, np.int64)

    def check(self, steps: np.ndarray) -> np.ndarray:
        """Check nodes, given as levels above the least; whether each satisfies."""
        found = self.walk.examine(steps + self.walk.least)
        number = steps @ self.walk.stride
        self.checked[number] = True
        self.suppressed[number], self.loss[number] = found.suppressed, found.loss
        self.classes[number] = found.classes
        return found.good

    def minimal(self) -> Minimal:
        """The k-minimal nodes, once every node is tagged."""
        walk, good = self.walk, self.tag == SATISFIED
        numbers = np.flatnonzero(minimal_of(upward(good)))
        vectors = np.stack(np.unravel_index(numbers, self.shape), axis=1) + walk.least
        nodes = tuple(
            MinimalNode(tuple(v), sum(v), int(self.suppressed[i]), float(self.loss[i]), int(self.classes[i]))
            for i, v in zip(numbers, vectors.tolist(), strict=True)
        )
        columns, known = tuple(a.name for a in walk.attributes), (self.suppressed, self.loss, self.classes)
        return Minimal(columns, walk.lattice, nodes, good.ravel(), self.checked, *known, walk.checks)


def minimal_nodes(problem: Problem) -> Minimal:
    """Every k-minimal generalisation, with its suppression and loss.

    Heights are visited by bisection, and nodes that a checked one above or below decides are not checked. Where the
    criteria do not allow that (those closed under merging only, with suppression), every node is.

    Raises
    ------
    PolicyError: the lattice has more than 1,048,576 nodes.

    References
    ----------
    P. Samarati, Protecting respondents' identities in microdata release, TKDE 13(6), 2001.
    """
    with workers() as pool:
        walk = LatticeState(problem, lattice(problem.attributes, problem.levels), pool)
        ledger = KnownNodes(walk)
        ledger.tag = decide(walk.lattice, ledger.check, walk.monotone, problem.progress)
    return ledger.minimal()


def all_losses(problem: Problem, found: Minimal) -> np.ndarray:
    """The loss of every node that satisfies, infinite of the others: those that were pruned are checked as well."""
    loss = found.loss.copy()
    left = np.flatnonzero(found.satisfied & ~found.checked)
    with workers() as pool:
        walk = LatticeState(problem, found.lattice, pool)
        walk.in_full = True
        for at in range(0, len(left), BATCH):
            some = left[at : at + BATCH]
            steps = np.stack(np.unravel_index(some, found.lattice.shape), axis=1)
            loss[some] = walk.examine(steps + walk.least).loss
            problem.progress("measuring the losses", at / len(left))
    return loss


def decide(whole: Lattice, test: Satisfies, monotone: bool = True, progress: Progress = quiet) -> np.ndarray:
    """Tag every node of a lattice SATISFIED or VIOLATED by a test that, if monotone, passes on to generalisations."""
    height = heights(whole)
    tag = np.zeros(whole.shape, np.int8)
    top = int(height.max())
    for visited, h in enumerate(bisection(top)):
        here = np.flatnonzero((height.ravel() == h) & (tag.ravel() == UNKNOWN))
        for at in range(0, len(here), BATCH):
            numbers = here[at : at + BATCH]
            good = test(np.stack(np.unravel_index(numbers, whole.shape), axis=1))
            tag.ravel()[numbers] = np.where(good, SATISFIED, VIOLATED)
            progress("enumerating the lattice", visited / (top + 1))
        if monotone:
            tag[upward(tag == SATISFIED)] = SATISFIED
            tag[downward(tag == VIOLATED)] = VIOLATED
    return tag


def refuse_large(whole: Lattice) -> None:
    """Refuse a lattice that is too large to enumerate."""
    if whole.size > MOST:
        raise PolicyError(
            "the lattice is too large to enumerate",
            got=f"{whole.size} nodes",
            allowed=f"at most {MOST}",
            hint='bound the levels, take fewer columns, or use search="optimal"',
        )


def heights(whole: Lattice) -> np.ndarray:
    """The height of every node above the least, as an array over the lattice."""
    found: np.ndarray = sum(np.ix_(*(np.arange(levels) for levels in whole.shape)), np.zeros((), np.int64))
    return found


def bisection(top: int) -> list[int]:
    """The numbers 0 to top, each after a middle that splits those left.

    >>> bisection(4)
    [2, 0, 3, 1, 4]
    """
    order, open_ = [], deque([(0, top)])
    while open_:
        low, high = open_.popleft()
        if low <= high:
            middle = (low + high) // 2
            order.append(middle)
            open_ += [(low, middle - 1), (middle + 1, high)]
    return order


def upward(mask: np.ndarray) -> np.ndarray:
    """The nodes of an array over a lattice that are, or generalise, a true one."""
    for axis in range(mask.ndim):
        mask = np.logical_or.accumulate(mask, axis=axis)
    return mask


def downward(mask: np.ndarray) -> np.ndarray:
    """The nodes that are, or are generalised by, a true one."""
    return np.flip(upward(np.flip(mask)))
