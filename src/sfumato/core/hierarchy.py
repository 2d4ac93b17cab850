"""Categories: the distinct values of one column, in code order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.label_grammar import set_text
from sfumato.errors import HierarchyError, OutputError, PolicyError

SEQUENCES = ("text", "codes", "words", "similar")  # of text; with prefixes; a scale of words; the other columns
KINDS = ("text", "integer", "decimal", "date", "datetime", "boolean")


@dataclass(frozen=True)
class Categories:
    """The distinct values of a column: code i stands for `text[i]`.

    Codes follow the sorted values: by number or time where the column is ordered, by text, or as `sequence` says,
    otherwise.
    A missing value is a value of its own, always the last code, with `text` None and `position` NaN.
    """

    name: str
    kind: str  # one of KINDS
    text: tuple[str | None, ...]  # printed form of each value
    position: np.ndarray | None  # float64 per code where ordered (dates in days, datetimes in seconds)
    count: np.ndarray  # int64 rows per code
    sequence: str = "text"  # what the order of texts follows: one of SEQUENCES

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers, dates or times (also when they came as text)."""
        return self.position is not None

    @property
    def missing(self) -> bool:
        """Whether the last code stands for missing values."""
        return bool(self.text) and self.text[-1] is None

    def set_text(self, values: Sequence[str | None]) -> str | None:
        """How a set of values that follow each other prints: by all of them where their order is none of text."""
        return values[0] if len(values) == 1 else set_text(values, all_named=self.sequence in ("words", "similar"))

    def __len__(self) -> int:
        return len(self.text)


def kind_of(dtype: pl.DataType) -> str:
    """The kind of a column by its type alone.

    >>> kind_of(pl.Int8())
    'integer'
    """
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "decimal"
    names = {pl.Boolean: "boolean", pl.Date: "date", pl.Datetime: "datetime"}
    return names.get(dtype.base_type(), "text")


LONE = re.compile("[\ud800-\udfff]")  # half of a pair, which is no letter
DELIMITERS = (";", "\t", "|", ",")  # in the order of preference when a file is sniffed

Codes = npt.NDArray[np.int32]
Groups = tuple[npt.NDArray[np.integer], Sequence[str]]  # group of each leaf, name of each group


class HierarchyNote(UserWarning):
    """Something about a hierarchy that is worth knowing and no fault, such as a padded tree."""


@runtime_checkable
class Recipe(Protocol):
    """How to make a hierarchy for a column once its values are known."""

    def build(self, categories: Categories) -> Hierarchy:
        """The hierarchy over (at least) the values of `categories`."""

    def describe(self) -> str:
        """A few words for the manifest, free of values of the table."""


def says_codes(recipe: object) -> bool:
    """Whether digits are no numbers in what a recipe, or no recipe, makes: one without `codes` takes them for numbers.

    >>> says_codes(None)
    False
    """
    return bool(getattr(recipe, "codes", False))


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree over the values of an attribute in which every leaf is equally deep.

    labels[level][i] is the i-th label of a level: labels[0] the leaves as they print, the last level the root alone.
    ancestor[level, leaf] is the index into labels[level] of the leaf's ancestor, so ancestor[0] counts 0, 1, 2, ...
    Leaves with the same ancestor at one level have the same ancestor at every level above (the tree is nested), and
    no label stands twice within a level, because equal labels would merge classes that the search holds apart.
    `learned` says that its groups were made from the values of a table, `codes` that digits are no numbers in it.

    >>> sex = Hierarchy("sex", (("f", "m"), ("*",)), np.array([[0, 1], [0, 0]]))
    >>> sex.height, sex.leaves, sex.label(1, 0)
    (1, ('f', 'm'), '*')
    """

    attribute: str
    labels: tuple[tuple[str, ...], ...]
    ancestor: Codes
    learned: bool = False
    codes: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(tuple(level) for level in self.labels))
        ancestor = np.array(self.ancestor, dtype=np.int32, order="C")
        ancestor.setflags(write=False)
        object.__setattr__(self, "ancestor", ancestor)
        faults = _faults(self.labels, ancestor)
        if faults:
            raise HierarchyError(f'the hierarchy of "{self.attribute}" is not a tree over its leaves', faults)

    @property
    def height(self) -> int:
        """Number of levels above the leaves."""
        return len(self.labels) - 1

    @property
    def leaves(self) -> tuple[str, ...]:
        """The leaves as they print, in order: `labels[0]`."""
        return self.labels[0]

    def label(self, level: int, leaf: int) -> str:
        """What leaf number `leaf` prints as at a level."""
        return self.labels[level][int(self.ancestor[level, leaf])]

    def path(self, leaf: int) -> tuple[str, ...]:
        """The labels of a leaf from level 0 up to the root."""
        return tuple(self.label(level, leaf) for level in range(len(self.labels)))

    def paths(self) -> list[tuple[str, ...]]:
        """The path of every leaf, in order: the rows of the wide form."""
        columns = [[names[i] for i in row] for names, row in zip(self.labels, self.ancestor.tolist(), strict=True)]
        return list(zip(*columns, strict=True))

    def locate(self, texts: Iterable[str]) -> Codes:
        """Leaf number of each printed value, -1 where the value is no leaf."""
        number = {text: i for i, text in enumerate(self.leaves)}
        return np.array([number.get(text, -1) for text in texts], dtype=np.int32)

    def restrict(self, texts: Sequence[str]) -> Hierarchy:
        """The same hierarchy over exactly these leaves, in this order.

        >>> flat = Hierarchy("sex", (("f", "m"), ("*",)), np.array([[0, 1], [0, 0]]))
        >>> flat.restrict(["m"]).labels
        (('m',), ('*',))
        """
        leaf = self.locate(texts)
        absent = int((leaf < 0).sum())
        if absent:
            raise HierarchyError(f'the hierarchy of "{self.attribute}" does not cover {absent} of {leaf.size} values')
        levels = [(self.ancestor[level, leaf], self.labels[level]) for level in range(1, self.height)]
        root = self.labels[-1][0]
        return replace(
            grow(self.attribute, texts, levels, root, self.learned) if self.height else self, codes=self.codes
        )


def _faults(labels: tuple[tuple[str, ...], ...], ancestor: Codes) -> list[str]:
    """Everything that keeps labels and ancestors from being a nested tree with one root."""
    if not labels:
        return ["there is no level"]
    if ancestor.shape != (len(labels), len(labels[0])):
        return [f"ancestor has shape {ancestor.shape}, labels ask for {(len(labels), len(labels[0]))}"]
    faults = []
    if len(labels[-1]) != 1:
        faults.append(f"no single root: the last level has {len(labels[-1])} labels")
    if not np.array_equal(ancestor[0], np.arange(len(labels[0]))):
        faults.append("level 0: a leaf is not its own ancestor")
    for level, names in enumerate(labels):
        if not all(issubclass(kind, str) for kind in set(map(type, names))):
            faults.append(f"level {level}: a label is not text")
        elif LONE.search("".join(names)):
            faults.append(f"level {level}: a label is not valid Unicode")
        elif len(set(names)) < len(names):
            faults.append(f"level {level}: {len(names) - len(set(names))} labels stand twice")
        row = ancestor[level]
        if row.size and (row.min() < 0 or row.max() >= len(names)):
            return [*faults, f"level {level}: an ancestor is outside 0..{len(names) - 1}"]
        if row.size and np.bincount(row, minlength=len(names)).min() == 0:
            faults.append(f"level {level}: a label has no leaf")
    for level in range(len(labels) - 1):
        if not np.array_equal(parents(ancestor, level)[ancestor[level]], ancestor[level + 1]):
            faults.append(f"level {level}: leaves that are equal here differ at level {level + 1} (not nested)")
    return faults


def parents(ancestor: Codes, level: int) -> Codes:
    """Parent, at the next level, of each label of a level."""
    parent = np.zeros(int(ancestor[level].max(initial=-1)) + 1, dtype=np.int32)
    parent[ancestor[level]] = ancestor[level + 1]
    return parent


def grow(
    attribute: str, leaves: Sequence[str], levels: Sequence[Groups], root: str | None = "*", learned: bool = False
) -> Hierarchy:
    """Build a hierarchy from the group of each leaf at every level between leaves and root.

    Labels are put in order of their first leaf. Different groups that would print alike get a number, so that they
    stay apart. With `root=None` the last of `levels` is the root.

    >>> grow("zip", ["1", "2", "3"], [(np.array([0, 0, 1]), ["x", "x"])]).labels
    (('1', '2', '3'), ('x', 'x (2)'), ('*',))
    """
    labels, ancestor = [tuple(leaves)], [np.arange(len(leaves))]
    for group, names in levels:
        first = np.full(len(names), len(leaves))
        first[group[::-1]] = np.arange(len(leaves))[::-1]  # the last assignment stays: the first leaf of each group
        by_leaf = np.argsort(first, kind="stable")[: int((first < len(leaves)).sum())]
        rank = np.zeros(len(names), dtype=np.int64)
        rank[by_leaf] = np.arange(len(by_leaf))
        labels.append(tuple(_apart([names[i] for i in by_leaf])))
        ancestor.append(rank[group])
    if root is not None:
        labels.append((root,))
        ancestor.append(np.zeros(len(leaves), dtype=np.int64))
    above = np.array(ancestor, dtype=np.int32).reshape(len(labels), len(leaves))
    return Hierarchy(attribute, tuple(labels), above, learned)


def by_label(labels: Sequence[str]) -> Groups:
    """Groups of leaves that share a label."""
    number: dict[str, int] = {}
    group = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int64)
    return group, list(number)


def _apart(names: Sequence[str]) -> list[str]:
    """The names, later equal ones numbered (2), (3), ... without meeting another name."""
    taken, used, turn, apart = set(names), set[str](), dict[str, int](), []
    for name in names:
        new = name
        while new in used or (new != name and new in taken):
            turn[name] = turn.get(name, 1) + 1
            new = f"{name} ({turn[name]})"
        used.add(new)
        apart.append(new)
    return apart


def leaves_of(categories: Categories) -> tuple[str, ...]:
    """The printed values of a column without the missing one, which is never a leaf of a built hierarchy."""
    known = categories.text[:-1] if categories.missing else categories.text
    return cast(tuple[str, ...], known)


def write_wide(hierarchy: Hierarchy, path: str | Path, delimiter: str = ";") -> None:
    """Write `value;level1;...;root`, one line per leaf, so that `hierarchies.file` reads the same hierarchy back.

    Raises HierarchyError where the form cannot hold the hierarchy.
    """
    root, faults = hierarchy.labels[-1][0], _unwritable(hierarchy)
    if hierarchy.height == 1 and root in hierarchy.leaves:
        faults.append("a leaf has the name of the root, which two columns would read as a value that is its own parent")
    paths = hierarchy.paths()
    if any(not label and any(row[:level]) for row in paths for level, label in enumerate(row)):
        faults.append("a label above the leaves is empty")
    _write(hierarchy, "wide", faults, paths, path, delimiter)


def write_edges(hierarchy: Hierarchy, path: str | Path, delimiter: str = ",") -> None:
    """Write one line `child,parent` per node but the root, so that `hierarchies.file` reads the same hierarchy back.

    A leaf repeated at the levels above it (padding) is written once. Raises HierarchyError where the form cannot
    hold the hierarchy: nodes are known by name alone, so a name may stand for one node only.
    """
    faults, top = _unwritable(hierarchy), hierarchy.height
    up = [parents(hierarchy.ancestor, level).tolist() for level in range(top)]
    padding: list[list[bool]] = []  # whether a node is the same as its parent: an only child of the same name
    for level, row in enumerate(up):
        children = np.bincount(row, minlength=1).tolist() if row else []
        names, above = hierarchy.labels[level], hierarchy.labels[level + 1]
        padding.append([children[p] == 1 and names[i] == above[p] for i, p in enumerate(row)])
    padding.append([False] * len(hierarchy.labels[-1]))
    bottom: list[tuple[str, str]] = []
    chain: set[tuple[int, int]] = set()  # nodes that are a leaf or its padding
    for leaf in range(len(hierarchy.leaves)):
        level, node = 0, leaf
        while padding[level][node]:
            chain.add((level, node))
            level, node = level + 1, up[level][node]
        chain.add((level, node))
        if level < top:
            bottom.append((hierarchy.labels[level][node], hierarchy.labels[level + 1][up[level][node]]))
    inner = [(level, i) for level in range(top) for i in range(len(up[level])) if (level, i) not in chain]
    edges = bottom + [(hierarchy.labels[level][i], hierarchy.labels[level + 1][up[level][i]]) for level, i in inner]
    if any(padding[level][i] for level, i in inner) or (padding[0] and all(padding[0])):
        faults.append("a level repeats the label of an inner node, which edges cannot say")
    names_written = [child for child, _ in edges] + [hierarchy.labels[-1][0]]
    twice = len(names_written) - len(set(names_written))
    if twice:
        faults.append(f"{twice} names stand for more than one node")
    if any(not parent for _, parent in edges):
        faults.append("a label above the leaves is empty")
    _write(hierarchy, "edge", faults, edges, path, delimiter)


def _unwritable(hierarchy: Hierarchy) -> list[str]:
    """What neither file form can hold."""
    root, faults = hierarchy.labels[-1][0], []
    if hierarchy.height == 0 or not hierarchy.leaves:
        faults.append("it has no leaf below the root")
    if root != root.strip() or not root:
        faults.append("the name of the root is empty or begins or ends with a space")
    return faults


def _write(
    hierarchy: Hierarchy, form: str, faults: list[str], rows: Iterable[Sequence[str]], path: str | Path, delimiter: str
) -> None:
    if len(delimiter) != 1 or delimiter in '"\r\n\ufeff ':
        raise PolicyError("the delimiter of a hierarchy file is one character", got=repr(delimiter), allowed=DELIMITERS)
    if faults:
        hint = "the wide form may hold it" if form == "edge" else None
        raise HierarchyError(
            f'the hierarchy of "{hierarchy.attribute}" does not fit the {form} form', faults, hint=hint
        )
    special = {*DELIMITERS, delimiter, '"', "\r", "\n", "\ufeff"}  # quoted, so that no other delimiter can be sniffed

    def quoted(field: str) -> str:
        return '"' + field.replace('"', '""') + '"' if special.intersection(field) else field

    text = "".join(delimiter.join(map(quoted, row)) + "\n" for row in rows)
    try:
        Path(path).write_bytes(text.encode("utf-8"))
    except (OSError, UnicodeError):
        raise OutputError(f"the hierarchy file {path} cannot be written") from None


@dataclass(frozen=True, eq=False)
class LevelMap:
    """Level by level, which label each value of a column stands under.

    `of[level, code]` is a label number; `text[level][label]` its print (None for missing values, which are a value of
    their own below the root); `leaves[level][label]` how many leaves of the hierarchy lie under it, also those absent
    from the table. The last level has one label.
    """

    of: np.ndarray  # int32 [levels, codes]
    text: tuple[tuple[str | None, ...], ...]
    leaves: tuple[np.ndarray, ...]  # int64 per label

    @property
    def levels(self) -> int:
        """Number of levels, the values themselves included."""
        return len(self.of)

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.of) - 1

    @property
    def domain(self) -> int:
        """Number of leaves, also those absent from the table."""
        return int(self.leaves[-1][0])


def bind_hierarchy(hierarchy: Hierarchy, categories: Categories) -> LevelMap:
    """Stand a hierarchy on the values of a column."""
    place = {label: i for i, label in enumerate(hierarchy.labels[0])}
    known = len(categories) - categories.missing
    leaf = np.array([place.get(v, -1) if v is not None else -1 for v in categories.text[:known]], dtype=np.int64)
    if (leaf < 0).any():
        raise HierarchyError(
            f'the hierarchy of "{categories.name}" lacks {int((leaf < 0).sum())} of the {known} values of the column',
            hint="add them to the hierarchy, or leave it out to have one learned",
        )
    blank = place.get("", -1)  # a file may say where missing values belong
    add_missing = categories.missing and blank < 0
    of, text, leaves = [], [], []
    for ancestor, labels in zip(hierarchy.ancestor, hierarchy.labels, strict=True):
        under = np.bincount(ancestor, minlength=len(labels))
        here = ancestor[leaf] if not categories.missing or blank < 0 else ancestor[np.append(leaf, blank)]
        there = np.zeros(len(labels), np.bool_)
        there[here] = True
        present, number = np.flatnonzero(there), (np.cumsum(there) - 1)[here]
        names: list[str | None] = [labels[i] for i in present]
        count = under[present]
        if add_missing:
            number, names, count = np.append(number, len(names)), [*names, None], np.append(count, 1)
        of.append(number.astype(np.int32))
        text.append(tuple(names))
        leaves.append(count.astype(np.int64))
    if categories.missing and not add_missing:
        text[0] = tuple(None if name == "" else name for name in text[0])
    if add_missing and known and len(of) > 1:  # the root takes the missing values in
        of[-1], text[-1], leaves[-1] = (
            np.zeros(len(categories), np.int32),
            (text[-1][0],),
            leaves[-1].sum(keepdims=True),
        )
    elif len(text[-1]) > 1:
        of.append(np.zeros(len(categories), np.int32))
        text.append(("*",))
        leaves.append(leaves[-1].sum(keepdims=True))
    return LevelMap(np.stack(of), tuple(text), tuple(leaves))
