"""Values of the room: baskets as columns of bits, itemsets that many of them have, and the channels between these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl

from sfumato.core.compiled import kernel
from sfumato.core.printed import printed
from sfumato.core.progress import Progress, quiet, stoppable

WORD = 64


@dataclass(frozen=True, eq=False)
class Transactions:
    """Baskets by item: bit i of `bits[item]` says whether basket i has the item.

    Of two items of one attribute, as of a column of a table, a basket has one at most; an attribute of -1 is none.
    """

    bits: np.ndarray  # uint64 [items, words]
    height: int
    texts: tuple[str, ...]
    attribute: np.ndarray  # int32

    @staticmethod
    def of(
        basket: np.ndarray, item: np.ndarray, height: int, texts: tuple[str, ...], attribute: np.ndarray | None = None
    ) -> Transactions:
        """Pairs of a basket and an item, each a code from 0.

        >>> found = Transactions.of(np.array([0, 0, 1]), np.array([0, 1, 1]), 2, ("a", "b"))
        >>> found.support.tolist()
        [1, 2]
        """
        bits = np.zeros((len(texts), -(-height // WORD)), np.uint64)
        np.bitwise_or.at(bits, (item, basket // WORD), np.uint64(1) << (basket % WORD).astype(np.uint64))
        none = np.full(len(texts), -1, np.int32)
        return Transactions(bits, height, texts, none if attribute is None else attribute.astype(np.int32))

    @cached_property
    def support(self) -> np.ndarray:
        """How many baskets have each item."""
        return np.bitwise_count(self.bits).sum(axis=1, dtype=np.int64)

    @cached_property
    def everyone(self) -> np.ndarray:
        """The bits of all baskets."""
        found = np.full(self.bits.shape[1], ~np.uint64(0))
        if self.height % WORD:
            found[-1] = (np.uint64(1) << np.uint64(self.height % WORD)) - np.uint64(1)
        return found

    def only(self, items: np.ndarray) -> Transactions:
        """The same baskets with some of the items."""
        texts = tuple(self.texts[item] for item in items.tolist())
        return Transactions(self.bits[items], self.height, texts, self.attribute[items])

    def having(self, items: np.ndarray) -> np.ndarray:
        """The bits of the baskets that have all of some items."""
        return np.bitwise_and.reduce(self.bits[items], axis=0) & self.everyone if len(items) else self.everyone

    def matching(self, present: np.ndarray, absent: np.ndarray) -> np.ndarray:
        """The bits of the baskets that have all of some items, and none of others."""
        return self.having(present) & ~np.bitwise_or.reduce(self.bits[absent], axis=0, initial=np.uint64(0))

    def with_baskets(self, several: np.ndarray, often: np.ndarray) -> Transactions:
        """With more baskets: a row of item codes for each kind, which ends in -1, and how many of it there are."""
        kind = np.repeat(np.arange(len(often)), often)
        added = len(kind)
        new, place = np.nonzero(several[kind] >= 0)
        owner, item = np.nonzero(self.table())
        return Transactions.of(
            np.concatenate([owner, new + self.height]), np.concatenate([item, several[kind][new, place]]),
            self.height + added, self.texts, self.attribute,
        )  # fmt: skip

    def table(self) -> np.ndarray:
        """A row for each basket, with a column for each item: whether it is there."""
        return np.unpackbits(self.bits.view(np.uint8), axis=1, bitorder="little")[:, : self.height].T.astype(bool)

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many items each basket has."""
        return self.table().sum(axis=1, dtype=np.int64)

    def rows(self, baskets: np.ndarray) -> np.ndarray:
        """The same table of some baskets."""
        bit = (baskets % WORD).astype(np.uint64)
        return (self.bits[:, baskets // WORD] >> bit & np.uint64(1)).T.astype(bool)

    def without(self, items: np.ndarray, baskets: np.ndarray) -> Transactions:
        """Without some items in some baskets."""
        gone = np.zeros(self.bits.shape[1], np.uint64)
        np.bitwise_or.at(gone, baskets // WORD, np.uint64(1) << (baskets % WORD).astype(np.uint64))
        bits = self.bits.copy()
        bits[items] &= ~gone
        found = replace(self, bits=bits)
        found.__dict__["sizes"] = self.sizes.copy()
        found.sizes[baskets] -= self.rows(baskets)[:, items].sum(axis=1)
        return found

    def take_out(self, items: np.ndarray, baskets: np.ndarray) -> None:
        """The same in place, of a copy that nobody else has."""
        self.sizes[baskets] -= self.rows(baskets)[:, items].sum(axis=1)
        bit = np.uint64(1) << (baskets % WORD).astype(np.uint64)
        for word, gone in zip((baskets // WORD).tolist(), bit, strict=True):
            self.bits[items, word] &= ~gone
        self.__dict__.pop("support", None)

    def copy(self) -> Transactions:
        """A copy that may be changed."""
        found = replace(self, bits=self.bits.copy())
        found.__dict__["sizes"] = self.sizes.copy()
        return found


def places(bits: np.ndarray) -> np.ndarray:
    """Which bits are set."""
    words = np.flatnonzero(bits)  # of a few baskets most have none
    word, bit = np.unpackbits(bits[words].view(np.uint8), bitorder="little").view(np.bool_).reshape(-1, WORD).nonzero()
    return words[word] * WORD + bit


@dataclass(frozen=True, eq=False)
class Itemsets:
    """Itemsets, none of which lacks a part: the empty one first, then by size, and by their codes.

    `sets` has a row of ascending codes each, which ends in -1; `facet[i, j]` is itemset i without its j-th item.
    """

    sets: np.ndarray  # int32 [itemsets, longest]
    size: np.ndarray  # int64
    support: np.ndarray  # int64
    facet: np.ndarray  # int32, as `sets`

    def __len__(self) -> int:
        return len(self.size)

    def items(self, place: int) -> np.ndarray:
        """The codes of an itemset."""
        return self.sets[place, : self.size[place]]

    def only_empty(self) -> Itemsets:
        """Of these the empty one alone."""
        return Itemsets(self.sets[:1], self.size[:1], self.support[:1], self.facet[:1])

    def named(self, texts: Sequence[str]) -> dict[frozenset[str], int]:
        """The support of each by the texts of its items; the empty one is left out."""
        rows = zip(self.sets.tolist(), self.size.tolist(), self.support.tolist(), strict=True)
        return {frozenset(texts[code] for code in row[:size]): often for row, size, often in rows if size}


@dataclass(frozen=True, eq=False)
class Channels:
    """Inference channels: baskets that have all items of itemset `present` and none of the others of itemset `whole`
    are `people`, fewer than k and not none."""

    present: np.ndarray
    whole: np.ndarray
    people: np.ndarray

    def __len__(self) -> int:
        return len(self.people)


def inference_channels(itemsets: Itemsets, k: int) -> Channels:
    """Every inference channel between two of these itemsets."""
    found = stoppable(_channels, itemsets.size, itemsets.facet, itemsets.support, k)
    return Channels(*found)


@kernel
def patterns(
    place: int, size: int, facet: np.ndarray, support: np.ndarray, part: np.ndarray, found: np.ndarray
) -> None:
    """For each part of an itemset, by the bits of its items: its place in `part`, and in `found` how many baskets have
    all of it and none of the rest of the itemset, by inclusion and exclusion."""
    full = (1 << size) - 1
    part[full] = place
    for mask in range(full - 1, -1, -1):
        low = 0
        while mask >> low & 1:
            low += 1
        part[mask] = facet[part[mask | 1 << low], low]  # all items before that one are there
    for mask in range(full + 1):
        found[mask] = support[part[mask]]
    for bit in range(size):
        for mask in range(full + 1):
            if not mask >> bit & 1:
                found[mask] -= found[mask | 1 << bit]


@kernel
def _channels(
    size: np.ndarray, facet: np.ndarray, support: np.ndarray, k: int, stop: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    part = np.empty(1 << size.max(), np.int64)
    found = np.empty(1 << size.max(), np.int64)
    many = 0
    present, whole, people = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    for place in range(len(size)):
        if stop[0]:
            break
        patterns(place, size[place], facet, support, part, found)
        for mask in range(1 << size[place]):
            if 0 < found[mask] < k:
                if many == len(people):
                    present = np.concatenate((present, present))
                    whole = np.concatenate((whole, whole))
                    people = np.concatenate((people, people))
                present[many], whole[many], people[many] = part[mask], place, found[mask]
                many += 1
    return present[:many], whole[:many], people[:many]


@dataclass(frozen=True, eq=False)
class MiningProblem:
    """What a miner is given: baskets, or a table of one row per person: k people for a pattern,
    l different values for a leaf, at least. `table` has the columns to mine; of baskets it is None."""

    k: int
    l: int = 1
    baskets: Transactions | None = None
    table: pl.DataFrame | None = None
    report_progress: Progress = quiet

    def transactions(self) -> Transactions:
        """The baskets, or a basket for each row of the table: of an item for each of its values."""
        if self.baskets is not None:
            return self.baskets
        assert self.table is not None
        texts: list[str] = []
        owners, codes, kinds = [], [], []
        for kind, column in enumerate(self.table.iter_columns()):
            values = printed(column)
            known = values.drop_nulls().unique().sort()
            code = values.cast(pl.Enum(known)).to_physical().cast(pl.Int64)
            there = np.flatnonzero(code.is_not_null().to_numpy())
            owners.append(there)
            codes.append(code.drop_nulls().to_numpy() + len(texts))
            texts += [f"{column.name}={value}" for value in known]
            kinds += [kind] * len(known)
        return Transactions.of(
            np.concatenate(owners), np.concatenate(codes), self.table.height, tuple(texts), np.array(kinds, np.int32)
        )


@dataclass(frozen=True, eq=False)
class MinedTables:
    """What a miner made: the tables that leave, the role of each of their columns, the promise about them, how they
    were made, in words that may be published, and what only the owner may know."""

    frames: Mapping[str, pl.DataFrame]
    roles: Mapping[str, Mapping[str, str]]
    promise: Any
    method: Mapping[str, Any]
    solution: Any


class Miner(Protocol):
    """What makes tables of what it learns of people."""

    @property
    def of(self) -> str:
        """What it learns: "patterns" or "classes"."""

    def __call__(self, problem: MiningProblem) -> MinedTables:
        """The tables."""
