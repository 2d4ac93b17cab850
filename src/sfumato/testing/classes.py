"""Equivalence classes made by hand, in the shape in which a search hands them to a criterion, and as released rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato.criteria.audit import Groups, in_order
from sfumato.hierarchies import flat, intervals, wide

Values = Sequence[str | None]
Tree = Mapping[str | None, Sequence[str | None]]  # a value to its labels, from itself to the root

WORDS: Tree = {
    "a": ["a", "x", "u", "*"],
    "b": ["b", "x", "u", "*"],
    "c": ["c", "y", "u", "*"],
    "d": ["d", "z", "v", "*"],
    "e": ["e", "x", "v", "*"],  # the label x again, under another parent: another node
    "f": ["f", "f", "f", "*"],  # a branch with one child at every level
    None: [None, None, None, "*"],
}
NUMBERS: Tree = {n: [n, f"{int(n) // 10}0s", "*"] for n in ("1", "2", "9", "10", "15", "40", "41")}
FEW: Tree = {n: [n, "*"] for n in ("1", "2", "3")}  # numbers that are fewer than the values of other columns


@dataclass(eq=False)
class HandMadeHistogram:
    """A `HistogramView`."""

    start: np.ndarray
    value: np.ndarray
    count: np.ndarray
    overall: np.ndarray
    text: tuple[str | None, ...]
    ancestor: np.ndarray | None


@dataclass(eq=False)
class HandMadeClasses:
    """A `ClassesView` in which every attribute has the same values."""

    size: np.ndarray
    only: HandMadeHistogram
    attributes: Sequence[str] = ("s",)

    def histogram(self, attribute: str) -> HandMadeHistogram:
        """The histogram of any of the attributes."""
        assert attribute in self.attributes, f'it reads a histogram of "{attribute}", which it does not declare to need'
        return self.only


def search_side(
    classes: Sequence[Values], suppressed: Values = (), tree: Tree | None = None, attributes: Sequence[str] = ("s",)
) -> HandMadeClasses:
    """Classes of printed values; `suppressed` rows count in the whole table only; `tree` maps a value to its labels.

    >>> search_side([["x", "x"], ["y"]]).size.tolist()
    [2, 1]
    """
    rows = [value for one in classes for value in one]
    text = in_order([*rows, *suppressed])
    code = {value: i for i, value in enumerate(text)}
    counts = [sorted((code[value], n) for value, n in Counter(one).items()) for one in classes]
    ancestor = None
    if tree is not None:
        labels = [list(tree[value]) for value in text]
        paths = [[tuple(row[level:]) for row in labels] for level in range(len(labels[0]))]
        known = [{path: i for i, path in enumerate(dict.fromkeys(line))} for line in paths]
        ancestor = np.array([[k[p] for p in line] for k, line in zip(known, paths, strict=True)], dtype=np.int32)
    histogram = HandMadeHistogram(
        np.cumsum([0, *(len(count) for count in counts)], dtype=np.int64),
        np.array([value for count in counts for value, _ in count], dtype=np.int32),
        np.array([n for count in counts for _, n in count], dtype=np.int64),
        np.bincount([code[value] for value in [*rows, *suppressed]], minlength=len(text)).astype(np.int64),
        tuple(text),
        ancestor,
    )
    return HandMadeClasses(np.array([len(one) for one in classes], dtype=np.int64), histogram, attributes)


def released_side(
    classes: Sequence[Values], suppressed: Values = (), tree: Tree | None = None, attributes: Sequence[str] = ("s",)
) -> Groups:
    """The same classes as released rows."""
    keys = pl.DataFrame({"q": [str(i) for i, one in enumerate(classes) for _ in one]})
    rows = [value for one in classes for value in one]
    whole = dict(Counter([*rows, *suppressed]))
    texts = {name: pl.Series(name, rows, dtype=pl.String) for name in attributes}
    paths = [] if tree is None else [[str(label) for label in row] for value, row in tree.items() if value is not None]
    hierarchies = {} if tree is None else dict.fromkeys(attributes, paths)
    return Groups(keys, texts, dict.fromkeys(attributes, whole), hierarchies)


def draw_classes(rng: random.Random, tree: Tree, least: int) -> list[list[str | None]]:
    """Some classes of some values each: few and many, even and skewed, smaller and larger than `least`."""
    values = rng.sample(list(tree), rng.randint(1, len(tree)))
    some = rng.choice([1, 2, 6])
    sizes = [rng.choice([1, 2, least, rng.randint(1, 8), rng.randint(1, least + 8)]) for _ in range(some)]
    return [rng.choices(values, [rng.choice([1, 1, 5]) for _ in values], k=size) for size in sizes]


COLUMNS: dict[str, Sequence[Any]] = {"a": ("p1", "p2", "q1", "q2", "q3"), "b": range(8), "c": ("m", "n")}
SECRETS = ("flu", "asthma", "ulcer")
TREES = {
    "a": wide([(v, v[0], "*") for v in COLUMNS["a"]]),
    "b": intervals(2, 4, 8),
    "c": flat(),
}


def small_tables(seed: object, many: int) -> list[pl.DataFrame]:
    """Tables of 8 to 40 rows with quasi-identifiers a, b, c and a sensitive column s.

    >>> small_tables(1, 2)[0].columns
    ['a', 'b', 'c', 's']
    """
    rng, found = random.Random(seed if isinstance(seed, int) else str(seed)), []
    for _ in range(many):
        n = rng.randint(8, 40)
        columns = {**COLUMNS, "s": SECRETS}
        found.append(pl.DataFrame({name: [rng.choice(values) for _ in range(n)] for name, values in columns.items()}))
    return found
