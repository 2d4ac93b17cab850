"""Annealing: simulated annealing of value cuts. Winkler 2002, "Using simulated annealing for k-anonymity"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.compiled import threads, workers
from sfumato.core.parameters import Real, Whole, check_fields
from sfumato.core.protocols import Search
from sfumato.search.cuts.cuts import MOST_GAPS, WORTH_A_THREAD, Trials
from sfumato.search.cuts.kernels import MOVED, anneal, room, take
from sfumato.search.problem import Problem, Solution

CHAINS = 2  # run side by side, also on one core, so that the result does not depend on the number of cores
LONGEST = 16  # walks, in units of the first ones
MILD = 0.1  # the heat of the walk from the best cut, as a share of the other's
COOLED = 1e-3  # the last temperature, as a share of the first
A_WHILE = 8_000_000  # cells looked at between two looks at the clock


@dataclass(frozen=True)
class Annealing(Search):
    """Change a cut of the columns at random, and for the worse ever less often (AG_TS, heuristic).

    A cut parts a column into intervals of its values, or into subtrees of its hierarchy where that was given and the
    values have no order. A step splits, merges, shifts a border, does two of these at once, or gives a column one level
    of its hierarchy. The temperature falls geometrically from `heat` times the best loss within `steps` steps per bit;
    then two more walks start, a cooler one from the best cut and one from the most general, twice as long each time.
    Cuts that suppress too many rows are passed through at a penalty, and never returned. It stops after `seconds`,
    `evaluations`, or when `patience` steps per bit brought nothing better. A column of more than `gaps` gaps between
    its values is cut at quantiles only.

    `seconds`: when the search ends at the latest. `evaluations`: how many cuts are looked at, at most. `seed`: of the
    random numbers. `patience`: how many steps per bit may bring nothing better. `gaps`: the most places where a column
    is cut. `heat`: the first temperature, as a share of the loss. `steps`: steps per bit until it has cooled.
    """

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "heuristic"
    counts_labels: ClassVar[bool] = True
    seconds: Annotated[float | None, Real(0, 1e9, above=True)] = 10.0
    evaluations: Annotated[int | None, Whole()] = None
    seed: Annotated[int, Whole(0)] = 0
    heat: Annotated[float, Real(0, above=True)] = 0.1
    steps: Annotated[int, Whole()] = 25
    patience: Annotated[int, Whole()] = 2000
    gaps: Annotated[int, Whole(1, MOST_GAPS)] = 128

    def __post_init__(self) -> None:
        check_fields(self, "annealing")

    def __call__(self, problem: Problem) -> Solution:
        """Anneal cuts for the problem."""
        with workers() as pool:
            trials = Trials(problem, self.gaps, pool)
            trials.start(self.seconds, self.evaluations, self.patience)
            rngs = np.random.default_rng(self.seed).spawn(CHAINS)
            steps = self.steps * trials.space.bits
            while steps and not trials.over():
                loss, best = trials.best[-1] if trials.best else (trials.scale, trials.space.top)
                heat = self.heat * loss * COOLED ** (np.arange(steps) / steps)
                steps = min(2 * steps, LONGEST * self.steps * trials.space.bits)
                starts = [best, *[trials.space.top] * (CHAINS - 1)]
                heats = [heat * MILD, *[heat] * (CHAINS - 1)]
                cool([_Chain(trials, *one) for one in zip(starts, heats, rngs, strict=True)])
            return trials.solution()


class _Chain:
    """One walk through the cuts, from hot to cold."""

    def __init__(self, trials: Trials, start: np.ndarray, heat: np.ndarray, rng: np.random.Generator) -> None:
        self.trials, self.heat, self.rng = trials, heat, rng
        self.bits, self.trial, self.best = start.copy(), start.copy(), start.copy()
        loss, over = trials.weigh(start[None, :])
        self.state = np.array([loss[0], over[0], 10.0, 0.0, loss[0] if over[0] == 0 else np.inf, trials.scale, 0.0])
        self.work, self.found = room(trials.shape, trials.sheet), np.zeros(5)
        self.done = self.weighed = 0
        self.nearest = trials.problem.rows

    def walk(self, steps: int, most: int) -> None:
        """Go some steps, weighing at most so many cuts."""
        trials = self.trials
        heat = self.heat[self.done : self.done + steps]
        draws = self.rng.random((len(heat), MOVED + 1))
        step, self.weighed = 0, 0
        walk = self.bits, self.trial, self.state, self.best
        world = trials.shape, trials.sheet, self.work, trials.space.moves
        while step < len(heat) and self.weighed < most:
            step, weighed, asked = anneal(
                *walk, step, draws, heat, most - self.weighed, not trials.exact, *world, self.found
            )
            self.weighed += weighed
            if asked:
                if trials.late():
                    break
                value, suppressed = trials.settle(self.trial, self.state[6], self.found, self.work)
                self.nearest = min(self.nearest, suppressed)
                take(*walk, value, max(suppressed - trials.limit, 0) / trials.problem.rows)
        self.done += len(heat)


def cool(chains: list[_Chain]) -> None:
    """Walk the chains side by side until they are cold or a limit is reached."""
    trials, left = chains[0].trials, len(chains[0].heat)
    cells = len(trials.sheet.count)
    steps = min(max(A_WHILE // cells, 1), left)
    worth = cells * steps >= WORTH_A_THREAD and threads() > 1
    while left > 0 and not trials.over():
        most = [(trials.left + i) // len(chains) for i in range(len(chains))]
        others = []
        if worth:
            others = [trials.pool.submit(c.walk, steps, m) for c, m in zip(chains[1:], most[1:], strict=True)]
        for chain, m in list(zip(chains, most, strict=True))[: len(chains) - len(others)]:
            chain.walk(steps, m)
        for other in others:
            other.result()
        left -= steps
        trials.idle += steps * len(chains)
        for chain in chains:
            trials.checks += chain.weighed
            trials.closest = min(trials.closest, chain.nearest)
            if chain.state[4] < np.inf:
                trials.offer(chain.best, float(chain.state[4]))
        trials.report("annealing")
