"""Suppression where a blank is a value of its own: rows are assigned to released tuples that k rows share."""

from __future__ import annotations

import math

import numpy as np

from sfumato.kernels.suppression_exact import best_classes
from sfumato.kernels.suppression_keys import capacity_for, kept_bits, packed, sets_of_columns, weight_of
from sfumato.kernels.suppression_value import close, rehash, sweep
from sfumato.search.problem import Progress, Split
from sfumato.search.suppression_wildcard import known_bits

MOST_SETS = 1024  # sets of columns that are tried
MOST_ROWS = 15  # of a table whose partitions are all looked at
ROUNDS = 8  # of opening, joining and closing, at most
TIDY = 64  # tries after which parts are put together again
REACH = (1, 2, 2)  # columns in which what is taken apart differs from its centre, at most
NOISE = 0.5  # by which the order of the sets of columns varies, in weights of a cell
AT_ONCE = 200  # entries that are placed anew, beside those that were taken apart
STEP = 2.1  # by which the price of having no class grows


class Assignment:
    """Which rows are released as which tuple: parts of the cells, with what they show blank.

    Every row may be released as any tuple that is itself with some columns blank. As in primal-dual methods for
    placing facilities, the price that a row would pay for a class grows step by step, and a class opens as soon as the
    rows that want it pay for those it takes from others. Then classes are opened, joined and closed while that gains.
    """

    def __init__(self, codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int) -> None:
        self.codes, self.count, self.weight, self.least = codes, count, weight, least
        self.words, fields = packed(codes)
        self.missing = (1 << codes.shape[1]) - 1 & ~known_bits(codes)
        self.masks, every = sets_of_columns(weight, MOST_SETS)
        if not every:  # blanking all columns would swallow what no small set helps
            self.masks = self.masks[:-1]
        self.kept = kept_bits(fields, self.masks)
        room = int(min(count.sum(), 4 * len(codes) + 1024))
        self.state = np.zeros((room, 4), np.int64)
        entries = np.stack([np.arange(len(codes)), self.missing, count, np.full(len(codes), -1)], axis=1)
        self.state[: len(codes)] = entries
        self.keys = np.zeros((room + len(codes), self.words.shape[1]), np.int64)
        self.load = np.zeros(len(self.keys), np.int64)
        self.slots = np.full(capacity_for(len(self.keys)), -1, np.int64)
        self.used = np.array([len(codes), 0])
        self.paid = np.zeros(room)
        self.greatest = float(weight.sum()) * least * 1.01  # the price at which k rows without any value pay off
        self.scratch = np.zeros(len(self.keys), np.int64), np.zeros(len(self.keys))
        self.order = np.arange(len(self.masks))
        self.weights_of = weight_of(self.masks, weight)

    def solve(self, rounds: int, say: Progress) -> None:
        """Raise the price until all have a class, or nobody can have one; then improve."""
        self._place(np.arange(len(self._parts)), self.order)
        self._settle()
        rng = np.random.default_rng(0)
        for i in range(rounds):
            if i % TIDY == 0:
                self._tidy()
                say("improving", i / rounds)
            if not self._try_again(rng):
                break
        self._settle()

    def _place(self, take: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Give the entries that have none a class, at growing prices; the entries with the parts cut from them."""
        price = float(self.weight.min()) * 1.001
        while True:
            take = self._sweep(min(price, self.greatest), take, order)[0]
            if price > self.greatest or (self.state[take, 3] >= 0).all():
                return take
            price *= STEP

    def _settle(self) -> None:
        """Open, join and close while that gains."""
        for _ in range(ROUNDS):
            gained = self._sweep(math.inf, np.arange(self.used[0]), self.order)[1]
            rules = self.words, self.missing, self.weight, self.least, self.masks, self.kept
            if gained + close(*rules, *self._open) <= 1e-9:
                break

    def _try_again(self, rng: np.random.Generator) -> bool:
        """Take the costly classes around a row apart, and place their rows anew; keep what is no worse."""
        parts = self._parts
        costly = np.flatnonzero(self.paid[: len(parts)] > 0)
        if not len(costly):
            return False
        centre = parts[costly[rng.integers(len(costly))], 0]
        far = (self.codes[parts[:, 0]] != self.codes[centre]).sum(axis=1)
        reach = REACH[rng.integers(len(REACH))]
        broken = np.zeros(len(self.load), np.bool_)
        inner = costly[far[costly] <= reach]
        broken[parts[inner, 3]] = True
        apart = broken[parts[:, 3]] & (parts[:, 3] >= 0)
        take = np.flatnonzero(apart | (far <= reach + 1))
        if len(take) > AT_ONCE:
            take = np.union1d(np.flatnonzero(apart), take[np.argsort(far[take], kind="stable")[:AT_ONCE]])
        kept = parts[take], self.paid[take], self.load.copy(), self.used[0]
        before = self._price(take)
        self.load[broken] = 0
        parts[apart, 1], parts[apart, 3], self.paid[: len(parts)][apart] = self.missing[parts[apart, 0]], -1, 0.0
        noise = self.weights_of + rng.random(len(self.masks)) * NOISE * self.weight.min()
        done = self._place(take, np.argsort(noise, kind="stable"))
        done = self._sweep(math.inf, done, self.order)[0]
        if self._price(done) > before + 1e-9:
            self.state[take], self.paid[take], self.load[:], self.used[0] = kept
        return True

    def _price(self, take: np.ndarray) -> float:
        """What the rows of some entries pay, those that have no class the greatest price."""
        alone = self.state[take, 3] < 0
        return float(np.where(alone, self.greatest, self.paid[take]) @ self.state[take, 2])

    def _tidy(self) -> None:
        """Put the parts of a cell that are in the same class together again, and forget empty classes."""
        parts = self._parts
        live = np.unique(parts[parts[:, 3] >= 0, 3])
        of = np.where(parts[:, 3] < 0, -1, np.searchsorted(live, parts[:, 3]))
        pairs, one = np.unique(parts[:, 0] * (len(live) + 1) + of + 1, return_inverse=True)
        rows = np.bincount(one, weights=parts[:, 2]).astype(np.int64)
        first = np.unique(one, return_index=True)[1]
        self.state[: len(pairs)] = parts[first]
        self.paid[: len(pairs)] = self.paid[first]
        self.state[: len(pairs), 2] = rows
        self.state[: len(pairs), 3] = of[first]
        keys, load = self.keys[live], self.load[live]
        self.keys[: len(live)], self.load[:], self.slots[:] = keys, 0, -1
        self.load[: len(live)] = load
        self.used[:] = len(pairs), len(live)
        rehash(self.keys, self.slots, len(live))

    @property
    def _parts(self) -> np.ndarray:
        return self.state[: self.used[0]]

    @property
    def _open(self) -> tuple[np.ndarray, ...]:
        return self.state, self.paid, self.keys, self.load, self.slots, self.used

    def _sweep(self, alone: float, take: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, float]:
        """Sweep over the sets of columns in an order; the entries with the parts cut from them, and what was gained."""
        rules = self.words, self.missing, self.weight, self.least, self.masks[order], self.kept[order]
        entries = self.used[0]
        gained = float(sweep(*rules, alone, take, *self._open, *self.scratch))
        return np.append(take, np.arange(entries, self.used[0])), gained

    def classes(self) -> tuple[np.ndarray, Split]:
        """The class of each part, and the parts; rows without a class are alone."""
        parts = self._parts[np.argsort(self._parts[:, 0], kind="stable")]
        of = parts[:, 3].copy()
        lost = np.flatnonzero(of < 0)
        of[lost] = self.used[1] + np.arange(len(lost))
        _, of = np.unique(of, return_inverse=True)
        return of, Split(parts[:, 0].copy(), parts[:, 2].copy())


def all_partitions(
    codes: np.ndarray, count: np.ndarray, weight: np.ndarray, least: int
) -> tuple[np.ndarray, Split] | None:
    """The best classes of single rows, where they are few."""
    if count.sum() > MOST_ROWS:
        return None
    cell = np.repeat(np.arange(len(codes)), count)
    return best_classes(codes[cell], weight, least), Split(cell, np.ones(len(cell), np.int64))
