"""Genetic: an evolution of value cuts. Iyengar, KDD 2002, "Transforming data to satisfy privacy constraints"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.compiled import workers
from sfumato.core.parameters import Real, Whole, check_fields
from sfumato.core.protocols import Search
from sfumato.search.cuts.cuts import MOST_GAPS, Trials
from sfumato.search.cuts.kernels import BRED, MOVED, MUTATIONS, WEAKEST, breed
from sfumato.search.problem import Problem, Solution

BATCH = 64  # children made and weighed together; fixed, so that the result does not depend on the number of cores
BIAS = 1.8  # how much more often the best is chosen than the median
KNOWN = 2_000_000  # cuts remembered
RESTS = 4  # times that the population is refreshed before patience ends


@dataclass(frozen=True)
class Genetic(Search):
    """Breed cuts of the columns from the better ones of a population, with mutation (AG_TS, heuristic).

    A cut parts a column into intervals of its values, or into subtrees of its hierarchy where that was given and the
    values have no order; it is a string of bits. As in GENITOR, parents are chosen by rank and children replace the
    worst. Cuts that suppress too many rows stay in the population at a penalty, and are never returned. It stops after
    `seconds`, `evaluations`, or when `patience` children per bit brought nothing better. A column of more than `gaps`
    gaps between its values is cut at its quantiles only.

    `seconds`: when the search ends at the latest. `evaluations`: how many cuts are looked at, at most. `seed`: of the
    random numbers. `patience`: how many children per bit may bring nothing better. `gaps`: the most places where a
    column is cut. `population`: how many cuts there are at a time. `crossover`: how many children have two parents, as
    a share. `mutation`: how many are changed, as a share.
    """

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "heuristic"
    counts_labels: ClassVar[bool] = True
    seconds: Annotated[float | None, Real(0, 1e9, above=True)] = 10.0
    evaluations: Annotated[int | None, Whole()] = None
    seed: Annotated[int, Whole(0)] = 0
    population: Annotated[int, Whole(4)] = 300
    crossover: Annotated[float, Real(0, 1)] = 0.8
    mutation: Annotated[float, Real(0, 1)] = 0.6
    patience: Annotated[int, Whole()] = 2000
    gaps: Annotated[int, Whole(1, MOST_GAPS)] = 128

    def __post_init__(self) -> None:
        check_fields(self, "genetic")

    def __call__(self, problem: Problem) -> Solution:
        """Breed cuts for the problem."""
        with workers() as pool:
            trials = Trials(problem, self.gaps, pool)
            seeds = trials.start(self.seconds, self.evaluations, self.patience)
            if trials.space.bits and not trials.over():
                evolve(_Population(trials, self, seeds))
            return trials.solution()


class _Population:
    """Cuts, their losses, and the rows that each suppresses too many, as a share.

    The penalty on those rises while fewer than half of the cuts are valid and falls while more are.
    """

    def __init__(self, trials: Trials, search: Genetic, seeds: list[np.ndarray]) -> None:
        self.trials, self.search, self.moves = trials, search, trials.space.moves
        self.rng = np.random.default_rng(search.seed)
        self.mix = self.rng.integers(-(2**62), 2**62, trials.space.bits)  # the sum over set bits names a cut
        self.known: set[int] = set()
        self.people = self.strangers(min(search.population, self.trials.left))
        self.people[: len(seeds)] = seeds[: len(self.people)]
        self.new(self.people)
        self.loss, self.over = trials.weigh(self.people)
        self.strictness = 10.0

    @property
    def penalty(self) -> float:
        """What a share of rows too many adds to the loss."""
        return self.strictness * self.trials.scale

    def strangers(self, count: int) -> np.ndarray:
        """Random cuts, in turn of random levels and of random bits."""
        moves, people = self.moves, np.zeros((count, self.trials.space.bits), np.uint8)
        for i, bits in enumerate(people):
            if i % 2:
                bits[:] = self.rng.random(len(bits)) < self.rng.random()
            else:
                for a in range(len(moves.tree)):
                    mine = slice(moves.bit_at[a], moves.bit_at[a + 1])
                    bits[mine] = moves.presets[self.rng.integers(moves.preset_at[a], moves.preset_at[a + 1]), mine]
        for bit in np.flatnonzero(moves.up >= 0):  # only valid cuts remain
            people[:, bit] &= people[:, moves.up[bit]]
        return people

    def new(self, cuts: np.ndarray) -> np.ndarray:
        """The cuts that were never met, each once."""
        fresh = []
        if len(self.known) > KNOWN:
            self.known.clear()
        for i, name in enumerate((cuts @ self.mix).tolist()):
            if name not in self.known:
                self.known.add(name)
                fresh.append(i)
        return cuts[fresh]

    def generation(self) -> None:
        """Make children and let the better ones replace the worst."""
        fitness = self.loss + self.penalty * self.over
        order = np.argsort(fitness, kind="stable")
        children = np.empty((BATCH, self.people.shape[1]), np.uint8)
        draws = self.rng.random((BATCH, BRED + MUTATIONS * (1 + MOVED) + 1))
        breed(self.people, order, draws, BIAS, self.search.crossover, self.search.mutation, self.moves, children)
        self.trials.idle += BATCH
        children = self.new(children)[: self.trials.left]
        if len(children):
            self.admit(children, order[::-1], fitness)

    def admit(self, cuts: np.ndarray, worst: np.ndarray, fitness: np.ndarray) -> None:
        """Replace the worst by cuts that are better, one for one."""
        loss, over = self.trials.weigh(cuts, fitness[worst[0]], self.penalty)
        found = np.where(over < 0, np.inf, loss + self.penalty * over)
        rank = np.argsort(found, kind="stable")
        rank, gone = rank[: len(worst)], worst[: len(rank)]
        better = found[rank] < fitness[gone]
        rank, gone = rank[better], gone[better]
        self.people[gone], self.loss[gone], self.over[gone] = cuts[rank], loss[rank], over[rank]
        self.strictness *= 1.05 if (self.over == 0).mean() < 0.5 else 1 / 1.05
        self.strictness = min(max(self.strictness, WEAKEST), self.trials.problem.rows)

    def refresh(self) -> None:
        """Replace the worse half by strangers."""
        order = np.argsort(self.loss + self.penalty * self.over, kind="stable")
        order = order[len(order) // 2 :][: self.trials.left]
        self.people[order] = self.strangers(len(order))
        self.new(self.people[order])
        self.loss[order], self.over[order] = self.trials.weigh(self.people[order])


def evolve(population: _Population) -> None:
    """Generations until a limit is reached or every cut was met."""
    trials = population.trials
    cuts, rested = min(trials.space.cuts, 10 * KNOWN), 0
    while not trials.over() and len(population.known) < cuts:
        population.generation()
        trials.report("breeding")
        rested = min(rested, trials.idle)
        if trials.idle - rested > trials.patience / (RESTS + 1):
            rested = trials.idle
            population.refresh()
