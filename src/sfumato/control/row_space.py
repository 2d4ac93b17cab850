"""RowSpace: what answered sums determine, kept in reduced row echelon form: F. Chin and G. Ozsoyoglu, "Auditing and
inference control in statistical databases", IEEE TSE 8(6), 1982.

Numbers are taken modulo the prime P, and what is said is exact over the rationals all the same. Kept rows are
independent modulo P, hence over the rationals. A row is added only if it is independent of them; of one that is not, it
is proved in whole numbers that it is a combination of them, or it is refused. So modulo P and over the rationals the
rank is the same; and if a unit vector is independent of the rows modulo P, it is so over the rationals. An accident of
the prime can only refuse what could have been answered.
"""

from __future__ import annotations

from math import isqrt, lcm

import numpy as np

from sfumato.core.compiled import kernel

P = 2**31 - 1
LARGEST = isqrt((P - 1) // 2)  # numerators and denominators that a number modulo P tells
MOST = 2**62


@kernel
def reduced(rows: np.ndarray, used: np.ndarray, out: np.ndarray) -> None:  # pragma: no cover
    """Take some rows off a row."""
    for k in used:
        for j in range(len(out)):
            out[j] += np.uint64(P) - np.uint64(rows[k, j])
    for j in range(len(out)):
        out[j] %= np.uint64(P)


@kernel
def eliminated(rows: np.ndarray, factors: np.ndarray, new: np.ndarray, nonzero: np.ndarray) -> None:  # pragma: no cover
    """Add multiples of a new row to all rows, and count what is not zero."""
    for k in range(len(factors)):
        factor = factors[k]
        if factor != 0:
            many = 0
            for j in range(len(new)):
                x = np.uint64(rows[k, j]) + factor * np.uint64(new[j])
                x = (x & np.uint64(P)) + (x >> np.uint64(31))
                x = x - np.uint64(P) if x >= np.uint64(P) else x
                rows[k, j] = x
                many += x != 0
            nonzero[k] = many


class RowSpace:
    """The row space of 0/1 vectors over classes of people, in reduced form.

    >>> space = RowSpace()
    >>> space.widen(np.array([0, 0, 0]))  # three classes, each of one person
    >>> one = np.array([1, 1, 1, 1])
    >>> space.determined(np.array([False, True, True, True]), one)
    False
    >>> space.keep()
    >>> space.determined(np.array([False, False, True, True]), one)
    True
    """

    def __init__(self) -> None:
        self.rank, self.width = 0, 1
        self._rows = np.zeros((8, 64), np.uint32)  # reduced
        self._asked = np.zeros((8, 64), np.bool_)  # the vectors that were kept, as they came
        self._made = np.zeros((8, 8), np.uint32)  # each reduced row as a combination of those
        self._pivots = np.zeros(8, np.int64)
        self._nonzero = np.zeros(8, np.int64)
        self._undo: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None

    def widen(self, parents: np.ndarray) -> None:
        """New classes, each taken from another: in every row they have its number."""
        self.forget()
        wide = self.width + len(parents)
        if wide > self._rows.shape[1]:
            more = ((0, 0), (0, max(wide, 2 * self._rows.shape[1]) - self._rows.shape[1]))
            self._rows, self._asked = np.pad(self._rows, more), np.pad(self._asked, more)
        for array in (self._rows, self._asked):
            array[: self.rank, self.width : wide] = array[: self.rank, parents]
        self._nonzero[: self.rank] += np.count_nonzero(self._rows[: self.rank, self.width : wide], axis=1)
        self.width = wide

    def determined(self, inside: np.ndarray, sizes: np.ndarray) -> bool:
        """Whether somebody's value is determined once the sum over some classes is answered too, or may be."""
        self.forget()
        rank, width = self.rank, self.width
        used = np.flatnonzero(inside[self._pivots[:rank]])
        new = inside.astype(np.uint64)
        reduced(self._rows, used, new)
        made = np.zeros(rank + 1, np.uint64)
        reduced(self._made, used, made[:rank])
        if not new.any():
            return not self._combined(inside, made[:rank])
        pivot = int(np.flatnonzero(new)[0])
        inverse = pow(int(new[pivot]), -1, P)
        new = (new * np.uint64(inverse)) % np.uint64(P)
        made[rank] = 1
        made = (made * np.uint64(inverse)) % np.uint64(P)
        factors = (np.uint64(P) - self._rows[:rank, pivot].astype(np.uint64)) % np.uint64(P)
        before = self._nonzero[:rank].copy()
        eliminated(self._rows, factors, new, self._nonzero)
        self._undo = factors, new, made, before
        self._room()
        self._rows[rank, :width], self._asked[rank, :width] = new, inside
        self._pivots[rank], self._nonzero[rank] = pivot, np.count_nonzero(new)
        alone = np.flatnonzero(self._nonzero[: rank + 1] == 1)
        columns = self._rows[alone, :width].argmax(axis=1)
        return bool((sizes[columns] == 1).any())

    def keep(self) -> None:
        """The vector that was looked at last was answered."""
        if self._undo is None:
            return
        factors, _, made, _ = self._undo
        scratch = np.zeros(self.rank, np.int64)
        eliminated(self._made, factors, made, scratch)
        self._made[self.rank, : self.rank + 1] = made
        self.rank += 1
        self._undo = None

    def forget(self) -> None:
        """It was not answered."""
        if self._undo is None:
            return
        factors, new, _, before = self._undo
        eliminated(self._rows, (np.uint64(P) - factors) % np.uint64(P), new, self._nonzero)
        self._nonzero[: self.rank] = before
        self._undo = None

    @property
    def pending(self) -> bool:
        """Whether the vector that was looked at last is new, and not kept yet."""
        return self._undo is not None

    def answered(self) -> np.ndarray:
        """The independent vectors that were kept, and that which was looked at last."""
        return self._asked[: self.rank + self.pending, : self.width]

    def _room(self) -> None:
        if self.rank < len(self._rows):
            return
        more = (0, len(self._rows))
        self._rows, self._asked = np.pad(self._rows, (more, (0, 0))), np.pad(self._asked, (more, (0, 0)))
        self._made = np.pad(self._made, (more, more))
        self._pivots, self._nonzero = np.pad(self._pivots, more), np.pad(self._nonzero, more)

    def _combined(self, inside: np.ndarray, taken: np.ndarray) -> bool:
        """Whether a vector is a combination of those that were kept, in whole numbers; `taken` has the factors,
        negative and modulo P."""
        factors = (np.uint64(P) - taken) % np.uint64(P)
        different, which = np.unique(factors, return_inverse=True)
        fractions = [rational(int(one)) for one in different]
        if None in fractions:
            return False
        common = lcm(*(one[1] for one in fractions if one is not None))
        weights = [one[0] * (common // one[1]) for one in fractions if one is not None]
        if common > MOST or sum(abs(weights[i]) for i in which) > MOST:
            return False
        total = np.zeros(self.width, np.int64)
        for k in np.flatnonzero(factors):
            total += weights[which[k]] * self._asked[k, : self.width]
        return bool((total == common * inside).all())


def rational(number: int) -> tuple[int, int] | None:
    """The fraction of small numbers that equals a number modulo P, where there is one: Wang 1981.

    >>> rational(5), rational(P - 1), rational((P + 1) // 2)
    ((5, 1), (-1, 1), (1, 2))
    """
    (r0, t0), (r1, t1) = (P, 0), (number, 1)
    while r1 > LARGEST:
        r0, t0, r1, t1 = r1, t1, r0 % r1, t0 - (r0 // r1) * t1
    if t1 < 0:
        r1, t1 = -r1, -t1
    return (r1, t1) if 0 < t1 <= LARGEST else None
