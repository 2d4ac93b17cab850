"""m-invariance: groups of a table that is published again, so that no series of releases tells a value apart.

Xiao and Tao, "m-Invariance: towards privacy preserving re-publication of dynamic datasets", SIGMOD 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.series.kernels import split_buckets, take_signatures


@dataclass(frozen=True, eq=False)
class Signatures:
    """Sets of sensitive values: those of set s are `values[start[s]:start[s + 1]]`, as codes, sorted; no set twice.

    A slot is one value of one set: its number is its index in `values`.
    """

    start: np.ndarray
    values: np.ndarray

    @classmethod
    def none(cls) -> Signatures:
        """No sets."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def size(self) -> np.ndarray:
        """How many values each set has."""
        return np.diff(self.start)

    @property
    def of_slot(self) -> np.ndarray:
        """The set of each slot."""
        return np.repeat(np.arange(len(self)), self.size)

    def slots(self, sets: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The slot of each pair of a set and a value, -1 where the set lacks the value."""
        if not len(self.values):
            return np.full(len(sets), -1, np.int64)
        base = int(max(self.values.max(), values.max(initial=0))) + 1
        keys, asked = self.of_slot * base + self.values, sets * base + values
        found = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return np.where(keys[found] == asked, found, -1)

    def common(self, sets: np.ndarray, others: Signatures, other_sets: np.ndarray) -> np.ndarray:
        """How many values each of some sets has in common with a set of others.

        >>> one = Signatures(np.array([0, 2]), np.array([1, 4]))
        >>> one.common(np.array([0]), Signatures(np.array([0, 2]), np.array([1, 3])), np.array([0])).tolist()
        [1]
        """
        if not len(sets):
            return np.zeros(0, np.int64)
        size = self.size[sets]
        first = np.cumsum(size) - size
        values = self.values[np.arange(size.sum()) + np.repeat(self.start[sets] - first, size)]
        return np.add.reduceat(others.slots(np.repeat(other_sets, size), values) >= 0, first, dtype=np.int64)

    def joined(self, others: Signatures) -> tuple[Signatures, np.ndarray]:
        """These and others, none twice, and the number that each of the others has among them."""
        start = np.concatenate([self.start, others.start[1:] + self.start[-1]])
        values, size = np.concatenate([self.values, others.values]), np.diff(start)
        first = np.arange(len(size))  # the first of the sets that are equal to each
        for wide in np.unique(size):
            alike = np.flatnonzero(size == wide)
            table = np.sort(values[start[alike][:, None] + np.arange(wide)], axis=1)
            values[start[alike][:, None] + np.arange(wide)] = table
            _, at, of = np.unique(table, axis=0, return_index=True, return_inverse=True)
            first[alike] = alike[at[of.reshape(-1)]]
        kept = first == np.arange(len(size))
        number = np.cumsum(kept) - 1
        found = Signatures(np.concatenate([[0], np.cumsum(size[kept])]), values[np.repeat(kept, size)])
        return found, number[first][len(self) :]


@dataclass(frozen=True, eq=False)
class InvariantGroups:
    """The rows that are published: `row` of the table, -1 for a counterfeit, its value and its group.

    Rows are ordered by group; `signature` is of each row of the table, among `signatures`.
    """

    row: np.ndarray
    value: np.ndarray
    group: np.ndarray
    signature: np.ndarray
    signatures: Signatures

    @property
    def start(self) -> np.ndarray:
        """The first row of each group."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    @property
    def counterfeits(self) -> np.ndarray:
        """How many rows of each group stand for nobody."""
        return np.add.reduceat((self.row < 0).astype(np.int64), self.start) if len(self.row) else np.zeros(0, np.int64)


def eligible(counts: np.ndarray, m: int) -> bool:
    """Whether no value has more than an m-th of the rows.

    >>> eligible(np.array([3, 2, 1]), 2), eligible(np.array([4, 2, 1]), 2)
    (True, False)
    """
    return bool(m * counts.max(initial=0) <= counts.sum())


def groups_of(
    points: np.ndarray,
    value: np.ndarray,
    signature: np.ndarray,
    signatures: Signatures,
    values: int,
    m: int,
    rng: np.random.Generator,
) -> InvariantGroups:
    """The groups of the next release.

    Division: who has a signature stays under it. Assignment: arriving people take signatures among themselves, those of
    the most frequent values first. Balancing: what a bucket lacks of a value is filled with counterfeits. Split: each
    bucket is cut into groups of one row per value that are neighbours.

    The paper fills what a bucket lacks with arriving people while there are any, and lets counterfeits have any value.
    Then a counterfeit has a value that nobody who arrived could have filled in, and tells the values of those beside
    it. Here, had the people of a signature its values in any other order, the same would be published by the same
    chance: who knows how groups are made learns no more than the signature.

    Parameters
    ----------
    points
        Where each row stands on each quasi-identifier, scaled alike.
    value
        The code of the value that each row is published with, below `values`.
    signature
        The number of each row's signature, which has its value, or -1 for who arrives.
    signatures
        The sets that were used so far.
    values
        How many values there are; counterfeits have any of them.
    m
        The fewest values of a new signature.
    rng
        What is drawn by chance is drawn from it, and must stay secret.
    """
    units, slots, every = _assigned(value, signature, signatures, values, m, rng)
    return _split(points, units, slots, every, rng, len(value))


def signatures_of(value: np.ndarray, values: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, Signatures]:
    """The signatures of people who all arrive, as `groups_of` gives them; the number of each row's among them."""
    nobody = np.full(len(value), -1)
    units, slots, every = _assigned(value, nobody, Signatures.none(), values, m, rng)
    real = units >= 0
    found = np.empty(len(value), np.int64)
    found[units[real]] = every.of_slot[slots[real]]
    return found, every


def _assigned(
    value: np.ndarray, signature: np.ndarray, signatures: Signatures, values: int, m: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, Signatures]:
    """Division, assignment and balancing: rows, -1 for counterfeits, the slot of each, and all signatures."""
    stays, arrives = np.flatnonzero(signature >= 0), np.flatnonzero(signature < 0)
    # assignment: who arrives is drawn by chance among those of their value
    arrives = rng.permutation(arrives)
    arrives = arrives[np.argsort(value[arrives], kind="stable")]
    start, taken, often = _new_signatures(np.bincount(value[arrives], minlength=values), m, rng)
    new = Signatures(start, taken) if len(start) else Signatures.none()
    every, number = signatures.joined(new)
    entry = every.slots(np.repeat(number, new.size), taken)
    order = np.argsort(taken, kind="stable")
    of_arrivals = np.repeat(entry[order], often[order])
    # division: the sets that were there keep their numbers, so their slots too
    of_people = np.concatenate([every.slots(signature[stays], value[stays]), of_arrivals])
    # balancing
    there = np.bincount(of_people, minlength=len(every.values))
    height = np.maximum.reduceat(there, every.start[:-1]) if len(every) else np.zeros(0, np.int64)
    lacking = np.repeat(height, every.size) - there
    units = np.concatenate([stays, arrives, np.full(int(lacking.sum()), -1)])
    return units, np.concatenate([of_people, np.repeat(np.arange(len(lacking)), lacking)]), every


def _new_signatures(counts: np.ndarray, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signatures for people who arrive, as `take_signatures` gives them: their start, values, and people of each value.

    While the most frequent value has more than an m-th of those that are left, everybody with one of the m most
    frequent values stands under these: had anybody another value of their signature, it would be made just so.
    """
    order = rng.permutation(len(counts))
    order = order[np.argsort(-counts[order], kind="stable")]
    sizes, done = list[int](), 0
    while not eligible(counts[order[done:]], m):
        if len(counts) - done >= m:
            sizes.append(m)
        else:  # too few values are left for a signature of their own
            sizes[-1] += len(counts) - done
        done = sum(sizes)
    left = counts.copy()
    left[order[:done]] = 0
    start, taken, often = take_signatures(left, rng.permutation(len(counts)), m)
    first = order[:done]
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64), start[1:] + done])
    return starts, np.concatenate([first, taken]), np.concatenate([counts[first], np.repeat(often, np.diff(start))])


def _split(
    points: np.ndarray, units: np.ndarray, slots: np.ndarray, every: Signatures, rng: np.random.Generator, rows: int
) -> InvariantGroups:
    """Cut each bucket into groups; a counterfeit stands where somebody of its bucket, drawn by chance, stands."""
    order = rng.permutation(len(units))
    order = order[np.argsort(slots[order], kind="stable")]
    units, slots = units[order], slots[order]
    of_slot = every.of_slot
    signature = np.full(rows, -1, np.int64)
    real = units >= 0
    signature[units[real]] = of_slot[slots[real]]
    bucket, at, many = np.unique(of_slot[slots], return_index=True, return_counts=True)
    width = every.size[bucket]
    height = many // width
    of_unit = np.repeat(np.arange(len(bucket)), many)
    people = np.bincount(of_unit[real], minlength=len(bucket))
    stand_in = units.copy()
    lone = of_unit[~real]
    drawn = (np.cumsum(people) - people)[lone] + (rng.random(len(lone)) * people[lone]).astype(np.int64)
    stand_in[~real] = units[real][drawn]
    places = np.arange(len(units))
    split_buckets(places, points[stand_in], at, width, height)
    # the i-th unit of every value of a bucket is in its i-th group
    nth = (np.arange(len(units)) - at[of_unit]) % height[of_unit]
    group = (np.cumsum(height) - height)[of_unit] + nth
    order = np.argsort(group, kind="stable")
    return InvariantGroups(units[places][order], every.values[slots][order], group[order], signature, every)
