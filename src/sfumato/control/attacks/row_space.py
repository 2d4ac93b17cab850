"""Row space: which sums follow from sums that were answered. Chin and Ozsoyoglu, IEEE TSE 1982.

Elimination runs modulo two primes, on random mixtures of the columns, a few more than there are rows; what it finds is
proven by a combination of rationals whose product with the answered sets is multiplied out in whole numbers. Where a
fraction is too long to be read off (above 10^9), it stands if both primes agree: they would have to divide the same
minor of the matrix by chance, both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

PRIMES = (2147483647, 2147483629)
MODULUS = math.prod(PRIMES)
SPARE = 8  # columns more than rows: what is no sum of rows looks like one with a chance of 2^-240
BLOCK = 64  # rows that are eliminated together
LONGEST = math.isqrt(MODULUS // 2)  # numerator and denominator that a residue still tells apart


@dataclass(frozen=True)
class Combination:
    """The answers, by position, whose weighted sum is the one looked for; no weights where these are too long."""

    answers: tuple[int, ...]
    weights: tuple[Fraction, ...] | None


@dataclass(frozen=True)
class Reduced:
    """A matrix times `mixed`, modulo a prime, in reduced row echelon form: `form` is `steps` times that."""

    prime: int
    mixed: np.ndarray
    form: np.ndarray
    steps: np.ndarray
    pivots: np.ndarray

    def coordinates(self, wanted: np.ndarray) -> np.ndarray | None:
        """Weights of the rows of the matrix whose sum is `wanted`; None where there are none."""
        used = np.flatnonzero(wanted)
        left = (np.asarray(wanted)[used] @ self.mixed[used]) % self.prime
        factors = left[self.pivots]
        if ((left - product(factors[None, :], self.form, self.prime)[0]) % self.prime).any():
            return None
        return product(factors[None, :], self.steps, self.prime)[0]

    def units(self) -> np.ndarray:
        """The numbers of the columns of the matrix whose unit vector is a sum of its rows, ascending."""
        rest = np.setdiff1d(np.arange(self.form.shape[1]), self.pivots)
        made = product(self.mixed[:, self.pivots], self.form[:, rest], self.prime)
        return np.flatnonzero((made == self.mixed[:, rest]).all(axis=1))


def product(left: np.ndarray, right: np.ndarray, prime: int) -> np.ndarray:
    """A product of matrices modulo a prime below 2^31, in halves whose products floats hold exactly."""
    (a, b), (c, d) = ([part.astype(float) for part in (one >> 16, one & 0xFFFF)] for one in (left, right))
    found = np.zeros((left.shape[0], right.shape[1]), np.int64)
    high = (a @ c, a @ d + b @ c) if a.any() else (b @ c,)  # sets are zeros and ones
    for part in (*high, b @ d):
        found = ((found << 16) + part.astype(np.int64) % prime) % prime
    return found


def reduce_rows(matrix: np.ndarray, prime: int) -> Reduced:
    """The reduced row echelon form of a matrix modulo a prime, rows that come first used first."""
    rows, columns = matrix.shape
    rng = np.random.default_rng(prime)
    wide = columns > rows + SPARE
    mixed = rng.integers(0, prime, (columns, rows + SPARE)) if wide else np.eye(columns, dtype=np.int64)
    work = np.hstack([product(matrix % prime, mixed, prime), np.eye(rows, dtype=np.int64)])
    columns = mixed.shape[1]
    form, pivots = np.zeros((0, work.shape[1]), np.int64), np.zeros(0, np.intp)
    for start in range(0, rows, BLOCK):
        block = work[start : start + BLOCK]
        block = (block - product(block[:, pivots], form, prime)) % prime
        new, own = _eliminated(block, columns, prime)
        form = (form - product(form[:, own], new, prime)) % prime
        form, pivots = np.vstack([form, new]), np.concatenate([pivots, own])
    return Reduced(prime, mixed, form[:, :columns], form[:, columns:], pivots)


def _eliminated(block: np.ndarray, columns: int, prime: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a block that are new, each with a column that is 1 in it and 0 in the others, and these columns."""
    used: list[int] = []
    pivots: list[int] = []
    for row in range(len(block)):
        left = np.flatnonzero(block[row, :columns])
        if not len(left):
            continue
        pivot = int(left[0])
        block[row] = block[row] * pow(int(block[row, pivot]), -1, prime) % prime
        others = np.flatnonzero(block[:, pivot])
        others = others[others != row]
        block[others] = (block[others] - block[others, pivot][:, None] * block[row] % prime) % prime
        used.append(row)
        pivots.append(pivot)
    return block[used], np.array(pivots, np.intp)


class SumSpace:
    """The sums that follow from answered ones: `matrix` has a row per answer and a column per unknown."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = np.asarray(matrix, np.int64)
        _, first = np.unique(self.matrix, axis=0, return_index=True)
        self._distinct = np.sort(first)  # what is asked again tells nothing new

    @cached_property
    def _first(self) -> Reduced:
        return reduce_rows(self.matrix[self._distinct], PRIMES[0])

    @cached_property
    def _second(self) -> Reduced:
        return reduce_rows(self.matrix[self._distinct], PRIMES[1])

    @property
    def rank(self) -> int:
        """How many answers do not follow from others."""
        return len(self._first.pivots)

    def determined(self) -> np.ndarray:
        """The numbers of the unknowns that the answers determine, ascending."""
        found = self._first.units()
        return np.intersect1d(found, self._second.units()) if len(found) else found

    def combination(self, wanted: np.ndarray) -> Combination | None:
        """How `wanted` follows from the answers; None where it does not.

        >>> import numpy as np
        >>> space = SumSpace(np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 1, 0, 1, 1]]))
        >>> found = space.combination(np.array([0, 0, 1, 0, 0]))
        >>> found.answers, [str(weight) for weight in found.weights]
        ((0, 1, 2), ['1/2', '1/2', '-1/2'])
        """
        first = self._first.coordinates(wanted)
        second = None if first is None else self._second.coordinates(wanted)
        if first is None or second is None:
            return None
        weights = [rational(int(x), int(y)) for x, y in zip(first, second, strict=True) if x or y]
        used = self._distinct[np.flatnonzero(first | second)]
        answers = tuple(int(i) for i in used)
        if None in weights:
            return Combination(answers, None)
        fractions = tuple(weight for weight in weights if weight is not None)
        common = math.lcm(*(weight.denominator for weight in fractions))
        left = np.array([int(weight * common) for weight in fractions], object)
        proven = left @ self.matrix[used].astype(object) if len(used) else np.zeros(len(wanted), np.int64)
        return Combination(answers, fractions if (proven == common * np.asarray(wanted, object)).all() else None)


def unit(number: int, length: int) -> np.ndarray:
    """The vector that is 1 for one unknown."""
    found = np.zeros(length, np.int64)
    found[number] = 1
    return found


def rational(first: int, second: int) -> Fraction | None:
    """The fraction with a short numerator and denominator that has these residues. Wang, SYMSAC 1981.

    >>> rational(*((-3 * pow(7, -1, prime)) % prime for prime in PRIMES))
    Fraction(-3, 7)
    """
    p, q = PRIMES
    residue = first + p * ((second - first) * pow(p, -1, q) % q)
    before, now, older, newer = MODULUS, residue, 0, 1
    while now > LONGEST:
        quotient = before // now
        before, now = now, before - quotient * now
        older, newer = newer, older - quotient * newer
    return Fraction(now, newer) if 0 < abs(newer) <= LONGEST and math.gcd(now, newer) == 1 else None
