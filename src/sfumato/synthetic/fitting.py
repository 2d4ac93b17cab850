"""Iterative proportional fitting over a tree of cliques, so that the table of all columns is never made; Deming and
Stephan, "On a least squares adjustment of a sampled frequency table", 1940; Jiroušek and Přeučil, "On the effective
implementation of the iterative proportional fitting procedure", 1995. Margins with noise by mirror descent; McKenna,
Sheldon and Miklau, "Graphical-model based estimation and inference for differential privacy", 2019."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

CHANGE = 1e-12  # of shares in a round, below which it is done
EXACT = 1e-9  # how far from its shares a margin may then be
ROUNDS = 1000
LOOKED = 100  # rounds after which cells that only shrink are looked for
SHRINKING = 0.75  # what is left of such a cell, at most, when the rounds have doubled; of others nearly all is

LEAST = -200.0  # of a logarithm of a share, relative to the largest: what is smaller stays so
SETTLED = 1e-6  # relative, of the loss in a round, below which margins with noise are fitted
HALVED, GROWTH = 40, 1.5  # how often a step is halved, and by how much the next one is tried longer

Columns = tuple[int, ...]


class NoMass(Exception):
    """A margin has counts where no mass is left; or, None, nothing is left at all."""

    def __init__(self, margin: int | None) -> None:
        self.margin = margin


@dataclass(frozen=True, eq=False, repr=False)
class Margin:
    """The shares of the combinations of some columns, which ascend, an axis each."""

    columns: Columns
    shares: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class NoisyMargin:
    """Counts of the combinations of some columns, which ascend, with noise of a standard deviation; `times` is how much
    more of it a cell has."""

    columns: Columns
    counts: np.ndarray
    deviation: float
    times: np.ndarray | float = 1.0


def cliques_of(columns: int, joined: Sequence[Columns], sizes: Sequence[int]) -> list[tuple[Columns, Columns]]:
    """Sets of columns such that columns that are joined are in one, in an order in which each set meets those before it
    within one of them: the set, and what it has in common with that one.

    By elimination of the column that joins the fewest others anew (Rose 1970).

    >>> cliques_of(4, [(0, 1), (1, 2)], [2, 2, 2, 2])
    [((1, 2), ()), ((0, 1), (1,)), ((3,), ())]
    """
    beside = [1 << v for v in range(columns)]  # neighbours, as bits
    for one in joined:
        for v in one:
            beside[v] |= sum(1 << w for w in one)
    left, found = list(range(columns)), list[frozenset[int]]()
    log = np.log(np.maximum(sizes, 1)).tolist()
    while left:
        best, least, there = left[0], (np.inf, np.inf), sum(1 << v for v in left)
        for v in left:
            mask = beside[v] & there
            near = [w for w in left if mask >> w & 1]
            cost = len(near) ** 2 - sum((beside[w] & mask).bit_count() for w in near), sum(log[w] for w in near)
            if cost < least:
                best, least = v, cost
        mask = beside[best] & there
        near = [w for w in left if mask >> w & 1]
        for w in near:
            beside[w] |= mask
        if not any(set(near) <= one for one in found):
            found.append(frozenset(near))
        left.remove(best)
    order: list[tuple[Columns, Columns]] = []
    placed: list[frozenset[int]] = []
    while found:  # the tree of the largest separators
        shared = [max((one & other for other in placed), key=len, default=frozenset()) for one in found]
        i = max(range(len(found)), key=lambda j: (len(shared[j]), j))
        order.append((tuple(sorted(found[i])), tuple(sorted(shared[i]))))
        placed.append(found.pop(i))
    return order


@dataclass(eq=False)
class CliqueTree:
    """Shares of the combinations of the columns of each clique, and of the separator to the clique it hangs on.

    Their product over that of the separators is the distribution of all columns. The shares of the clique at `focus`
    are right; others once what has changed was passed on to them.
    """

    cliques: list[Columns]
    hangs: list[int]  # the clique that each hangs on, itself for a root
    separators: list[Columns]
    tables: list[np.ndarray]
    shared: list[np.ndarray]
    focus: int = 0

    @staticmethod
    def of(
        order: Sequence[tuple[Columns, Columns]], sizes: Sequence[int], possible: Callable[[Columns], np.ndarray]
    ) -> CliqueTree:
        """All possible combinations, alike."""
        cliques, separators = [one for one, _ in order], [two for _, two in order]
        hangs = [
            next((j for j in range(i) if set(separators[i]) <= set(cliques[j])), i) if separators[i] else i
            for i in range(len(cliques))
        ]
        tables = [possible(one) for one in cliques]
        shared = [np.ones([sizes[c] for c in one]) for one in separators]
        tree = CliqueTree(cliques, hangs, separators, tables, shared)
        tree._collect()
        tree.spread()
        return tree

    def _collect(self) -> None:
        """Pass all tables on to the roots."""
        for table in self.tables:
            if not (total := table.sum()):
                raise NoMass(None)
            table /= total
        for i in range(len(self.cliques) - 1, -1, -1):
            if self.hangs[i] != i:
                self._pass(i, self.hangs[i])
        self.focus = 0

    def _sum(self, clique: int, columns: Columns) -> np.ndarray:
        gone = tuple(a for a, c in enumerate(self.cliques[clique]) if c not in columns)
        return np.asarray(self.tables[clique].sum(axis=gone))

    def _scale(self, clique: int, columns: Columns, ratio: np.ndarray) -> None:
        shape = [n if c in columns else 1 for c, n in zip(self.cliques[clique], self.tables[clique].shape, strict=True)]
        self.tables[clique] *= ratio.reshape(shape)

    def _pass(self, start: int, end: int) -> None:
        """Tell a neighbour what has changed."""
        below = start if self.hangs[start] == end else end
        new = self._sum(start, self.separators[below])
        self._scale(end, self.separators[below], _ratio(new, self.shared[below]))
        self.shared[below] = new
        if not (total := self.tables[end].sum()):
            raise NoMass(None)
        self.tables[end] /= total

    def spread(self) -> None:
        """Pass on all that has changed: to the root, and from there to all."""
        while self.hangs[self.focus] != self.focus:
            self._pass(self.focus, self.hangs[self.focus])
            self.focus = self.hangs[self.focus]
        for i in range(len(self.cliques)):
            if self.hangs[i] != i:
                self._pass(self.hangs[i], i)
        self.focus = 0

    def move(self, clique: int) -> None:
        """Pass what has changed on to a clique."""
        up, down = self.focus, [clique]
        above = [up]
        while self.hangs[above[-1]] != above[-1]:
            above.append(self.hangs[above[-1]])
        while down[-1] not in above and self.hangs[down[-1]] != down[-1]:
            down.append(self.hangs[down[-1]])
        if down[-1] in above:  # else another tree, which nothing here concerns
            path = above[: above.index(down[-1])] + down[::-1]
            for start, end in pairwise(path):
                self._pass(start, end)
        else:
            self.spread()
        self.focus = clique

    def home(self, columns: Columns) -> int:
        """A clique that has all of some columns."""
        return next(i for i, one in enumerate(self.cliques) if set(columns) <= set(one))

    def fit(
        self, margins: Sequence[Margin], report: Callable[[int], None], seen: Callable[[Columns], np.ndarray] | None
    ) -> bool:
        """Scale to each margin in turn until nothing changes; False where margins stay as far off as they were.

        `seen` tells which combinations of the columns of a clique some table with these margins has.
        """
        homes = [self.home(margin.columns) for margin in margins]
        order = sorted(range(len(margins)), key=lambda i: homes[i])
        look, half, far = LOOKED, self.tables, np.inf
        for turn in range(1, ROUNDS + 1):
            before = [table.copy() for table in self.tables]
            for i in order:
                self._fit_one(margins, i, homes[i])
            self.spread()
            change = max(float(np.abs(new - old).max()) for new, old in zip(self.tables, before, strict=True))
            if change < CHANGE:  # of margins that contradict each other, each round ends where the last one did
                return max(self.errors(margins), default=0.0) <= EXACT
            if turn == look // 2:
                half, far = [table.copy() for table in self.tables], max(self.errors(margins))
            if turn == look:
                if seen is not None:
                    self._drop_shrinking(half, seen)
                elif max(self.errors(margins)) > SHRINKING * far:
                    return False
                look *= 2
            report(turn)
        return True

    def estimate(
        self, margins: Sequence[NoisyMargin], total: float, rounds: int, potentials: list[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        """Fit to margins with noise: the distribution whose squared errors, by their precision, are least.

        Mirror descent: a step changes the potential of each margin against its error, and is taken where errors fall.
        `potentials` are those of the margins to begin with, as they were given back before, in whatever tree.
        """
        homes = [self.home(margin.columns) for margin in margins]
        found = [np.zeros(margin.counts.shape) for margin in margins] if potentials is None else list(potentials)
        weights = [(total / margin.deviation / margin.times) ** 2 for margin in margins]
        scale = max(float(np.max(weight)) for weight in weights)
        weights = [weight / scale for weight in weights]
        wanted = [margin.counts / total for margin in margins]
        self._set(margins, homes, found)
        errors = self._misfit(margins, homes, wanted)
        loss = _loss(errors, weights)
        step = 1.0
        for _ in range(rounds):
            slopes = [error * weight for error, weight in zip(errors, weights, strict=True)]
            before = [self._sum(home, margin.columns) for home, margin in zip(homes, margins, strict=True)]
            for _ in range(HALVED):
                tried = [one - step * slope for one, slope in zip(found, slopes, strict=True)]
                self._set(margins, homes, tried)
                errors_now = self._misfit(margins, homes, wanted)
                now = _loss(errors_now, weights)
                moved = [b - self._sum(home, m.columns) for b, home, m in zip(before, homes, margins, strict=True)]
                gain = sum(float((slope * move).sum()) for slope, move in zip(slopes, moved, strict=True))
                if now <= loss - 0.25 * gain:
                    break
                step /= 2
            else:
                self._set(margins, homes, found)
                break
            done = loss - now <= SETTLED * loss
            found, errors, loss = tried, errors_now, now
            step *= GROWTH
            if done:
                break
        return found

    def _set(self, margins: Sequence[NoisyMargin], homes: Sequence[int], potentials: Sequence[np.ndarray]) -> None:
        """Make the distribution anew of the potentials of margins."""
        logs = [np.zeros(table.shape) for table in self.tables]
        for margin, home, potential in zip(margins, homes, potentials, strict=True):
            columns, shape = margin.columns, self.tables[home].shape
            logs[home] += potential.reshape(
                [n if c in columns else 1 for c, n in zip(self.cliques[home], shape, strict=True)]
            )
        self.tables = [np.exp(np.maximum(one - one.max(), LEAST)) for one in logs]
        self.shared = [np.ones(one.shape) for one in self.shared]
        self._collect()
        self.spread()

    def margin(self, columns: Columns) -> np.ndarray:
        """The shares of the combinations of any columns, which ascend; those of several cliques are joined."""
        for clique, own in enumerate(self.cliques):
            if set(columns) <= set(own):
                return self._sum(clique, columns)
        return self._joined(columns)

    def _joined(self, columns: Columns) -> np.ndarray:
        """Sum the product of cliques over all other columns: each passes on what it has of the columns to the clique
        that it hangs on."""
        wanted, passed = set(columns), dict[int, list[tuple[Columns, np.ndarray]]]()
        done = list[tuple[Columns, np.ndarray]]()
        for i in range(len(self.cliques) - 1, -1, -1):
            own, table = self.cliques[i], self.tables[i]
            for more, part in passed.pop(i, []):
                own, table = _multiplied(own, table, more, part)
            if self.hangs[i] == i:
                done.append(_kept(own, table, wanted))
                continue
            separator = self.separators[i]
            own, table = _kept(own, table, wanted | set(separator))
            if set(own) <= set(separator):
                continue  # it tells nothing that the clique above does not
            own, table = _multiplied(own, table, separator, _ratio(np.ones_like(self.shared[i]), self.shared[i]))
            passed.setdefault(self.hangs[i], []).append((own, table))
        own, table = done[0]
        for more, part in done[1:]:
            own, table = _multiplied(own, table, more, part)
        own, table = _kept(own, table, wanted)
        return table.transpose([own.index(c) for c in columns])

    def _misfit(
        self, margins: Sequence[NoisyMargin], homes: Sequence[int], wanted: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        return [
            self._sum(home, margin.columns) - shares
            for margin, home, shares in zip(margins, homes, wanted, strict=True)
        ]

    def _fit_one(self, margins: Sequence[Margin], i: int, home: int) -> None:
        if self.focus != home:
            self.move(home)
        margin = margins[i]
        now = self._sum(home, margin.columns)
        if ((margin.shares > 0) & (now <= 0)).any():
            raise NoMass(i)
        self._scale(home, margin.columns, _ratio(margin.shares, now))

    def errors(self, margins: Sequence[Margin]) -> list[float]:
        """How far each margin is from what it should be, at most."""
        return [float(np.abs(self._sum(self.home(m.columns), m.columns) - m.shares).max()) for m in margins]

    def pull(self, margins: Sequence[Margin], one: int, other: int) -> float:
        """How far a margin is from what it should be when another is met."""
        self._fit_one(margins, one, self.home(margins[one].columns))
        self.spread()
        return self.errors(margins)[other]

    def _drop_shrinking(self, half: Sequence[np.ndarray], seen: Callable[[Columns], np.ndarray]) -> None:
        """Take cells for zero that halve when rounds double: they never get there, and all others wait for them. Those
        that were seen stay, so that the margins can still be met."""
        for clique, table, old in zip(self.cliques, self.tables, half, strict=True):
            table[(table < SHRINKING * old) & ~seen(clique)] = 0.0
        self._collect()
        self.spread()


def _kept(own: Columns, table: np.ndarray, columns: set[int]) -> tuple[Columns, np.ndarray]:
    """The sum of a table over all but some columns."""
    gone = tuple(a for a, c in enumerate(own) if c not in columns)
    return tuple(c for c in own if c in columns), np.asarray(table.sum(axis=gone))


def _multiplied(one: Columns, table: np.ndarray, other: Columns, part: np.ndarray) -> tuple[Columns, np.ndarray]:
    """The product of two tables, over the columns of both."""
    both = tuple(dict.fromkeys((*one, *other)))
    letters = {c: chr(97 + i) for i, c in enumerate(both)}
    texts = ["".join(letters[c] for c in which) for which in (one, other, both)]
    return both, np.einsum(f"{texts[0]},{texts[1]}->{texts[2]}", table, part)


def _loss(errors: Sequence[np.ndarray], weights: Sequence[np.ndarray | float]) -> float:
    return sum(float((error**2 * weight).sum()) for error, weight in zip(errors, weights, strict=True)) / 2


def _ratio(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.divide(new, old, out=np.zeros_like(new), where=old > 0)
