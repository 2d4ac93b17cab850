"""Refined microaggregation: groups that lose less and less, by simulated annealing (Kirkpatrick, Gelatt and Vecchi,
Optimization by simulated annealing, 1983) and paths through near groups (Hansen and Mukherjee 2003)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.compiled import threads
from sfumato.core.parameters import OneOf, Real, Whole
from sfumato.core.progress import stoppable
from sfumato.search.microaggregation.aggregated import AggregateSearch
from sfumato.search.microaggregation.annealing import anneal, neighbours
from sfumato.search.microaggregation.groups import dense, grouped, means
from sfumato.search.microaggregation.mdav import MDAV
from sfumato.search.microaggregation.mhm import MHM
from sfumato.search.microaggregation.tfrp import TFRP
from sfumato.search.microaggregation.v_mdav import VMDAV

STARTS = {"mdav": MDAV, "vmdav": VMDAV, "tfrp": TFRP, "mhm": MHM}
BLOCK = 20_000  # rows; of larger tables, blocks are refined by themselves
ROUNDS = 10_000  # where neither rounds nor seconds are given,
WORK = 250_000_000  # and no more steps in a block, times columns
HOT, COLD = 3.0, 1e-3  # times the loss of a row: the heat falls from one to the other
NEAR = 20, 64  # rows near a row, whose groups it may join: twice the size of a group, within these
STAGES = 100  # at each of which the heat falls
DEALT, MOST_DEALT = 0.3, 0.05  # the share of steps that deal groups anew, over k squared: what that costs grows so


@dataclass(frozen=True)
class RefinedMicroaggregation(AggregateSearch):
    """Improve the groups of another microaggregation by annealing, until time or rounds end (CG_, heuristic).

    Rows move to other groups and are swapped; groups near each other are merged, put in an order of near rows, and cut
    where that loses least. At first a change may lose more, less and less often. No group has more than 2k - 1 rows,
    and the groups never lose more than those they start from: "mdav", "vmdav", "tfrp" or "mhm". In a round each row is
    tried once: `rounds` of them, or as many as there are `seconds` for; with neither, 10,000, or fewer in a large
    table. Tables of more than 20,000 rows are cut into blocks.

    start: the microaggregation to improve on. rounds: how often each row is tried at most. seconds: when it ends at the
    latest. seed: of the random numbers.
    """

    start: Annotated[str, OneOf(tuple(STARTS))] = "mdav"
    rounds: Annotated[int | None, Whole()] = None
    seconds: Annotated[float | None, Real(0, 1e9, above=True)] = None
    seed: Annotated[int, Whole(0)] = 0

    @property
    def reproducible(self) -> bool:
        """Whether it gives the same groups again: not where time decides."""
        return self.seconds is None

    def groups(self, x: np.ndarray, k: int) -> np.ndarray:
        """The group of each row."""
        start = STARTS[self.start]()
        blocks = 1 << max(0, int(np.ceil(np.log2(max(len(x), 1) / BLOCK))))
        share = min(threads(), blocks) / blocks  # of the seconds, that a block has
        return grouped(x, k, lambda rows, k: self.improved(rows, start.groups(rows, k), k, share), BLOCK)

    def improved(self, x: np.ndarray, groups: np.ndarray, k: int, share: float = 1.0) -> np.ndarray:
        """Groups of k to 2k - 1 rows that lose no more than the ones given, of at least k rows each."""
        began = time.perf_counter()
        x, of = np.ascontiguousarray(x, np.float64), _split(x, groups, k)
        first = best = lost(x, of)
        n = len(x)
        if n < 2 * k or best <= 0:
            return of
        near = np.empty((n, min(n - 1, int(np.clip(2 * k, *NEAR)))), np.int64)
        stoppable(neighbours, x, near)
        rounds, seconds = self.rounds, None if self.seconds is None else self.seconds * share
        if rounds is None:
            rounds = max(1, min(ROUNDS, WORK // x.size)) if seconds is None else None
        dealing = min(MOST_DEALT, DEALT / k**2)
        found, stage, spent = of.copy(), 0, 0.0
        while spent < 1.0:
            heat = first / n * HOT * (COLD / HOT) ** spent
            steps = 10 * n if rounds is None else max(1, n * rounds // STAGES)
            stoppable(anneal, x, found, k, near, steps, heat, dealing, self.seed * 1_000_003 + stage)
            stage += 1
            by_time = 0.0 if seconds is None else (time.perf_counter() - began) / seconds
            spent = max(by_time, 0.0 if rounds is None else stage / STAGES)
        stoppable(anneal, x, found, k, near, 50 * n, 0.0, dealing, self.seed * 1_000_003 + stage)
        return found if lost(x, found) < best else of


def lost(x: np.ndarray, groups: np.ndarray) -> float:
    """What groups lose: the sum of the squared distances of their rows from their means."""
    inside = x - means(x, groups)[groups]
    return float((inside * inside).sum())


def _split(x: np.ndarray, groups: np.ndarray, k: int) -> np.ndarray:
    """The groups, those of 2k rows or more split."""
    of = dense(groups)
    size = np.bincount(of)
    for g in np.flatnonzero(size >= 2 * k):
        rows = np.flatnonzero(of == g)
        part = MDAV().groups(x[rows], k)
        of[rows] = np.where(part == 0, g, of.max() + part)
    return of
