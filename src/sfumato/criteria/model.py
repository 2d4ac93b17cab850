"""Model: what every privacy model shares, and the checks of their parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.core.parameters import ColumnSet, check_fields
from sfumato.core.protocols import PROVEN, Criterion
from sfumato.core.registry import field_values, variant_name
from sfumato.criteria.audit import Finding, Groups

Flags = NDArray[np.bool_]
Monotonicity = Literal["superset", "merge", "none"]

SIZES, SHARES, CONCENTRATED = "sizes", "shares", "concentrated"  # what a criterion looks at where people count

SMALLEST_FRACTION = 1e-12  # of a population: less than one of all people
SHOWN = 8  # entries of a mapping that the repr of a criterion shows
TOLERANCE = 1e-12  # of the search side; the released side has its own, wider one


@dataclass(frozen=True)
class Model(Criterion):
    """A privacy model with the defaults of `Criterion`, whose parameters are the fields of its dataclass.

    Its fields are checked by what their annotations declare.

    quasi: the set of quasi-identifiers that it is for, by name only; without it, it holds for every set.
    """

    quasi: Annotated[tuple[str, ...] | None, ColumnSet("quasi-identifier")] = field(
        default=None, kw_only=True, repr=False
    )

    def __post_init__(self) -> None:
        check_fields(self, self.model)

    def __repr__(self) -> str:
        """Its parameters; of those that are mostly left open the ones that were given, long ones shortened."""
        in_order = sorted(fields(self), key=lambda one: bool(one.kw_only))
        given = ((one.name, getattr(self, one.name), one.repr) for one in in_order)
        shown = (f"{name}={_short(value)}" for name, value, always in given if always or value is not None)
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def of_records(self) -> Criterion:
        """What follows of records where it holds for people: that can be shown without knowing whose each record is."""
        return self

    @property
    def model(self) -> str:
        """Its name in the table of criteria."""
        return variant_name(type(self).__name__)

    @property
    def bound(self) -> float | int:
        """What the measured value is compared with."""
        value: float | int = getattr(self, self.bounded_by)
        return value

    @property
    def needs(self) -> tuple[str, ...]:
        """The sensitive attribute among its parameters, if there is one."""
        attribute = field_values(self).get("attribute")
        return () if attribute is None else (attribute,)

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values, as in a policy file; those left open are left out."""
        found = {name: _plain(value) for name, value in field_values(self).items() if value is not None}
        own = found.pop("quasi", None)
        return found if own is None else found | {"quasi": own}

    def _settle(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the dataclasses are frozen; only their own checks may do this


def _plain(value: Any) -> Any:
    """Tuples as lists, and tuples of pairs, which were a mapping, as one."""
    if not isinstance(value, tuple):
        return value
    return dict(value) if value and isinstance(value[0], tuple) else list(value)


def _short(value: Any) -> str:
    """A value as it is written; of a mapping the first entries."""
    if not (isinstance(value, tuple) and value and isinstance(value[0], tuple)):
        return repr(value)
    entries = [f"{key!r}: {number!r}" for key, number in value[:SHOWN]]
    return "{" + ", ".join([*entries, "..."] if len(value) > SHOWN else entries) + "}"


@dataclass(frozen=True)
class Promise:
    """One criterion over one set of quasi-identifiers: what was asked, and what the worst class achieves.

    `how` says how that is known: "proven" on the released rows, or "by construction", which no rows can show.
    """

    model: str
    parameters: dict[str, Any]
    quasi: tuple[str, ...]
    holds: bool
    measured: float | int | None
    bound: float | int
    sentence: str
    note: str | None = None
    how: str = PROVEN


def examined(criterion: Any, quasi: Sequence[str], groups: Groups) -> Promise:
    """The promise as the rows keep or break it."""
    if groups.keys.height == 0:
        return broken(criterion, quasi, "the released table has no rows, and a release without rows is refused")
    return settled(broken(criterion, quasi, None), criterion.audit(groups), f"of {groups.sizes.height} classes")


def settled(promise: Promise, found: Finding, units: str) -> Promise:
    """A promise with what was found of it; `units` are what may fail, as in "3 of 12 classes fail"."""
    notes = [found.note] if found.note else []
    measured = found.measured
    if measured is not None and math.isinf(measured):  # JSON has no infinity
        measured = None
        notes.insert(0, "the measured value is infinite")
    if found.failing_classes:
        verb = "fails" if found.failing_classes == 1 else "fail"
        notes.insert(0, f"{found.failing_classes} {units} {verb}")
    return replace(promise, note="; ".join(notes) or None, holds=found.holds, measured=measured)


def broken(criterion: Any, quasi: Sequence[str], note: str | None) -> Promise:
    """The promise where nothing could be measured, which breaks it."""
    parameters, sentence = criterion.parameters(), criterion.sentence()
    bound, how = criterion.bound, criterion.how
    return Promise(criterion.model, parameters, tuple(quasi), False, None, bound, sentence, note, how)


def protected_by(require: Iterable[Any]) -> tuple[str, ...]:
    """The columns that criteria are about: a column of wishes is needed, and nothing is promised about it.

    >>> from sfumato.criteria import PersonalLDiversity
    >>> protected_by([PersonalLDiversity("disease", "own l")])
    ('disease',)
    """
    found = []
    for c in require:
        given = c.parameters()
        found += [name for name in c.needs if name != given.get("wish") or name == given.get("attribute")]
    return tuple(dict.fromkeys(found))
