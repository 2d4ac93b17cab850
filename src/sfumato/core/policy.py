"""Policy: what a release must satisfy, and what it should lose least of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.core.cells import Cells, Classes, classes_of
from sfumato.core.labels import Labels
from sfumato.core.protocols import ClassesView, Criterion, LossOfLabels
from sfumato.errors import ColumnError, PolicyError, did_you_mean

TOLERANCE = 1e-12
MOST_ROWS = 2**53  # of any table


@dataclass(frozen=True)
class ClassStatistics:
    """What class-size losses are made of."""

    rows: int
    suppressed: int
    classes: int  # before suppression
    squares: float  # sum of squared sizes before suppression
    kept_classes: int
    kept_squares: float
    k: int
    limit: int


@dataclass(frozen=True)
class Policy:
    """Criteria for every quasi-identifier set, or for the one they name, how many rows may be suppressed, and the loss
    to minimise."""

    quasi: tuple[tuple[str, ...], ...]
    require: tuple[Criterion, ...]
    suppression: float | int = 0
    loss: Any = None
    ends: str = "rounded"  # of ranges: rounded to a step, or "exact", values of the table
    tidy: bool = False  # whether a number or date has no more labels than it had values
    profile: str | None = None  # the standard that the release is held to, which changes nothing in it

    def limit(self, rows: int) -> int:
        """How many rows may be suppressed: a count as it is, a share rounded down.

        >>> Policy((("a",),), (), 0.04).limit(30162)
        1206
        """
        if isinstance(self.suppression, bool) or not isinstance(self.suppression, int | float):
            raise PolicyError(
                "suppression must be a number",
                got=type(self.suppression).__name__,
                allowed="a share 0.0 to 1.0 or a count of rows",
            )
        if isinstance(self.suppression, int):
            if self.suppression < 0:
                raise PolicyError(
                    "suppression must not be negative", got=self.suppression, allowed="a count of rows >= 0"
                )
            if self.suppression > MOST_ROWS:
                raise PolicyError("suppression is no number of rows", allowed=f"a count of rows <= {MOST_ROWS}")
            return min(self.suppression, rows)
        if not 0 <= self.suppression <= 1:
            raise PolicyError(
                "suppression as a share must lie in 0 to 1",
                got=self.suppression,
                allowed="0.0 to 1.0, or an integer count of rows",
            )
        return math.floor(self.suppression * rows + 1e-9)

    @property
    def columns(self) -> tuple[str, ...]:
        """All quasi-identifiers, each once, in the order given."""
        return tuple(dict.fromkeys(name for names in self.quasi for name in names))

    @property
    def criteria(self) -> tuple[tuple[Criterion, ...], ...]:
        """Per quasi-identifier set, the criteria that hold for it: those that name it, and those that name none."""
        return tuple(tuple(c for c in self.require if c.quasi in (None, names)) for names in self.quasi)

    @property
    def least_sizes(self) -> tuple[int, ...]:
        """Per quasi-identifier set, the size that no smaller class satisfies its criteria with."""
        return tuple(max((c.least_size for c in criteria), default=1) for criteria in self.criteria)

    @property
    def needs(self) -> tuple[str, ...]:
        """The sensitive attributes whose histograms the criteria need."""
        return tuple(dict.fromkeys(name for criterion in self.require for name in criterion.needs))

    @property
    def as_they_are(self) -> tuple[str, ...]:
        """Those of them that are released as they are; of the others, which are `both`, labels are."""
        return tuple(name for name in self.needs if name not in self.columns)

    @property
    def both(self) -> tuple[str, ...]:
        """Those of them that are quasi-identifying too."""
        return tuple(name for name in self.needs if name in self.columns)

    @property
    def least_size(self) -> int:
        """No class smaller than this satisfies all criteria."""
        return max((criterion.least_size for criterion in self.require), default=1)

    @property
    def k(self) -> int:
        """The k of the strictest criterion that has one, for C_avg; the rows it takes where k counts a population."""
        return max((min(int(k), c.least_size) for c in self.require if (k := c.parameters().get("k"))), default=1)

    @property
    def by_class(self) -> Policy:
        """The policy for a search that looks at one class at a time: each criterion about the table as a whole asks
        every class for enough rows instead. What satisfies it satisfies this policy."""
        if not table_criteria(self.require):
            return self
        criteria: tuple[Any, ...] = self.require
        return replace(self, require=tuple(c.enough if c.about_table else c for c in criteria))

    @property
    def by_size(self) -> bool:
        """Whether the criteria ask every class for rows and nothing else: for `least_size` of them."""
        return all(c.monotonicity == "superset" and not c.needs for c in self.require)


Sets = tuple[tuple[str, ...], ...]


def sets_required(given: Sets, require: Sequence[Any]) -> tuple[Sets, tuple[Any, ...]]:
    """The quasi-identifier sets of a policy, and its criteria, each with the columns of its set in the order of that.

    Where sets are given, they say which columns are quasi-identifying, and a criterion may name any set of these: it
    becomes a set of the policy. Where none is, the sets are those that criteria name. A criterion that names none holds
    for every set. A given set for which nothing holds is left out, and each of its columns must then be in another. A
    criterion about a column that is quasi-identifying itself holds for the sets without that column.

    >>> from sfumato.criteria import KAnonymity
    >>> sets_required((("age", "zip", "sex"),), [KAnonymity(9, quasi=["zip", "age"]), KAnonymity(3, quasi=["sex"])])[0]
    (('age', 'zip'), ('sex',))
    """
    columns = list(dict.fromkeys(name for names in given for name in names))
    sets: dict[frozenset[str], tuple[str, ...]] = {}
    for names in given if columns else ():
        sets.setdefault(frozenset(names), names)
    for c in require:
        for name in c.quasi or ():
            if columns and name not in columns:
                what = f'{c.model} is required over the column "{name}", which is not a quasi-identifier'
                raise ColumnError(what, allowed=", ".join(columns), hint=did_you_mean(name, columns))
        if c.quasi:
            sets.setdefault(frozenset(c.quasi), tuple(sorted(c.quasi, key=columns.index) if columns else c.quasi))
    require = [one for c in require for one in _of_labels(c, tuple(sets.values()))]
    for c in require:
        if c.quasi:
            sets.setdefault(frozenset(c.quasi), c.quasi)
    named = {frozenset(c.quasi) for c in require if c.quasi}
    if require and all(c.quasi for c in require):
        sets = {key: names for key, names in sets.items() if key in named}
    if left := [name for name in columns if not any(name in key for key in sets)]:
        what = f'nothing is required over the quasi-identifier "{left[0]}": every criterion is for other columns'
        hint = "add k-anonymity, which is for all of them, or a criterion for a set with it, or leave it out of quasi"
        raise PolicyError(what, hint=hint)
    own = tuple(replace(c, quasi=sets[frozenset(c.quasi)]) if c.quasi else c for c in require)
    return tuple(sets.values()) or given, own


def _of_labels(c: Any, sets: Sets) -> list[Any]:
    """A criterion as it is, or where its attribute is quasi-identifying, for every set, without that attribute: rows of
    one class would have one label of it."""
    own = {*c.needs} & {name for names in sets for name in names}
    if not own:
        return [c]
    name = min(own)
    if c.on_labels is None or own != {c.parameters().get("attribute")}:
        what = f'{c.model} looks at the values of "{name}", which are not released: it is a quasi-identifier'
        hint = "of such a column, what is counted are labels, without bounds or references of single values"
        allowed = "distinct-l-diversity, entropy-l-diversity, recursive-cl-diversity, alpha-k, personal-l-diversity"
        raise PolicyError(what, allowed=allowed, hint=hint)
    if name in (c.quasi or ()):
        what = f'{c.model} of "{name}" is required over a set with this column, whose classes have one label of it'
        raise PolicyError(what, hint=f'leave "{name}" out of that set')
    over = [tuple(n for n in names if n != name) for names in ([c.quasi] if c.quasi else sets)]
    if not all(over):
        what = f'{c.model} protects "{name}" from those who know the other quasi-identifiers, and there are none'
        raise PolicyError(what, hint="name others, or make it sensitive only")
    return [replace(c, quasi=names).on_labels for names in dict.fromkeys(over)]


@dataclass(frozen=True)
class Verdict:
    """What a recoding comes to."""

    satisfied: bool
    suppressed: int
    loss: float
    per_attribute: dict[str, float]


def holds(criteria: Sequence[Criterion], classes: ClassesView) -> np.ndarray:
    """Per class, whether all criteria hold."""
    good = np.ones(len(classes.size), np.bool_)
    for criterion in criteria:
        good &= criterion.holds(classes)
    return good


def table_criteria(criteria: Sequence[Any]) -> list[Any]:
    """Those of the criteria that are about the table as a whole."""
    return [criterion for criterion in criteria if criterion.about_table]


def kept_classes(criteria: Sequence[Criterion], classes: Classes) -> np.ndarray:
    """Per class, whether it stays: all criteria hold for it, and for the table of all that stay.

    Where a criterion about the table fails, the smallest classes go until it holds, all those of one size together, so
    that it does not depend on the order of the classes. The least size that stays is found by bisection: a criterion
    that holds without the classes below a size holds without those below a larger one, while any are left.
    """
    return kept_in_table(table_criteria(criteria), classes.size, holds(criteria, classes))


def kept_in_table(whole: Sequence[Any], size: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Which of the good classes stay, by criteria about the table of these."""
    if not whole or not good.any() or all(c.holds_table(size[good]) for c in whole):
        return good
    steps = np.unique(size[good])
    low, high = 0, len(steps)  # from steps[low] on it fails; at the end, no class is left
    while high - low > 1:
        middle = (low + high) // 2
        rest = size[good & (size >= steps[middle])]
        low, high = (low, middle) if all(c.holds_table(rest) for c in whole) else (middle, high)
    return good & (size >= steps[high]) if high < len(steps) else np.zeros_like(good)


def check(criteria: Sequence[Sequence[Criterion]], cells: Cells, groupings: Sequence[Classes]) -> np.ndarray:
    """Which cells are kept: those whose class stays in every quasi-identifier set, each with its criteria.

    With several sets a suppressed row shrinks classes of the others, so the check runs to a fixpoint.
    """
    first = groupings[0]
    kept: np.ndarray = kept_classes(criteria[0], first)[first.class_of_cell]
    if len(groupings) == 1:
        return kept
    changed = True
    while changed and kept.any():
        changed = False
        for own, grouping in zip(criteria, groupings, strict=True):
            rest = np.flatnonzero(kept)
            present, of = np.unique(grouping.class_of_cell[rest], return_inverse=True)
            good = kept_classes(own, classes_of(cells.take(rest), of.astype(np.int32), len(present)))
            if not good.all():
                kept[rest[~good[of]]] = False
                changed = True
                if not kept.any():
                    break
    return kept


def label_losses(
    loss: LossOfLabels,
    columns: Sequence[tuple[Labels, np.ndarray, np.ndarray]],
    count: np.ndarray,
    kept: np.ndarray,
    rows: int,
) -> np.ndarray:
    """The loss of each column: `columns` holds its labels, and per cell the number of its label and its code."""
    x = np.empty(len(columns))
    for i, (labels, label, code) in enumerate(columns):
        cost = loss.cost(labels)[label] - loss.own(labels.attribute)[code]
        gone = loss.suppressed(labels.attribute)
        x[i] = (np.where(kept, cost, cost if gone is None else gone[code]) * count).sum() / rows
    return x


def class_statistics(policy: Policy, size: np.ndarray, kept: np.ndarray, rows: int) -> ClassStatistics:
    """Statistics of class sizes, `kept` per class."""
    stay = size[kept]
    squared = size.astype(np.float64) ** 2
    return ClassStatistics(
        rows,
        rows - int(stay.sum()),
        len(size),
        float(squared.sum()),
        len(stay),
        float(squared[kept].sum()),
        policy.k,
        policy.limit(rows),
    )
