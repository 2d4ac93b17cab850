"""Distance-based linkage: each known person is linked to the nearest released record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Categories
from sfumato.core.label_grammar import says_nothing
from sfumato.core.microdata import encode
from sfumato.core.parameters import OneOf, checked, column_names
from sfumato.core.wording import percent, quoted
from sfumato.errors import PolicyError
from sfumato.measures.arguments import HIERARCHIES, LISTED, RELEASED, SOME_COLUMNS, TABLE
from sfumato.measures.attacks.kernels import ABSOLUTE, NAMED, NIL, SAME, SQUARED, distances
from sfumato.measures.attacks.linkage import LinkedPair, common_columns, credited, pair_of
from sfumato.measures.attacks.nearest import NearestRows
from sfumato.measures.attacks.result import MOST, Attack
from sfumato.measures.labels_cover import read_labels

METRICS = ("euclidean", "gower")


@checked
def distance_linkage(
    released: Annotated[Any, RELEASED],
    external: Annotated[Any, TABLE],
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    truth: Any = None,
    metric: Annotated[str | None, OneOf(METRICS)] = None,
    categorical: Annotated[Any, SOME_COLUMNS] = (),
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """How many people of an external table have their own record as the nearest one in the release.

    Euclidean: squared differences in units of the external column's standard deviation. Gower, for mixed columns: the
    mean over the columns of the difference as a share of the range, or of 0 for equal and 1 for other names. A range,
    mask or set of numbers counts as the mean of the external values that it covers; where a value is missing or `*` the
    column adds the same for everybody (1 or 1/2). The search is exact; of n records at the same least distance one is
    picked blindly: right with probability 1/n where the person's record is among them.

    Parameters
    ----------
    released, external
        Frames or paths: the release, and the table with the people an attacker knows.
    columns
        The columns to link on; by default all that both tables have.
    truth
        Who is who: a pair of column names (released, external), or the released row of each external row (-1: none); by
        default row i is row i where both tables have as many rows.
    metric
        "euclidean" or "gower"; by default Gower where a column holds no numbers or times.
    categorical
        Columns of numbers that are names (codes): they are equal or not.
    hierarchies
        Column to the hierarchy that explains its labels.
    most
        How many row numbers to name.

    Examples
    --------
    >>> people = {"age": [21, 25, 33, 38], "income": [10, 20, 30, 40]}
    >>> distance_linkage({"age": [22, 24, 24, 37], "income": [11, 19, 19, 42]}, people).success
    0.625

    References
    ----------
    Pagliuca, Seri, "Some results of individual ranking method on the system of enterprise accounts annual survey",
    1999; Domingo-Ferrer, Torra, "Distance-based and probabilistic record linkage", 2005; Gower, "A general coefficient
    of similarity", Biometrics 1971; Friedman, Bentley, Finkel, "An algorithm for finding best matches", 1977.
    """
    pair = pair_of(released, external, truth)
    names = common_columns(pair, columns)
    if pair.truth is None:
        hint = 'pass truth, as in truth=("id", "id"), or use deterministic linkage'
        raise PolicyError("it is not known which released row belongs to which external one", hint=hint)
    as_names = column_names(categorical, "categorical")
    axes = [_axis(pair, name, name in as_names, hierarchies) for name in names]
    mixed = any(axis.named for axis in axes)
    if metric == "euclidean" and mixed:
        those = quoted([name for name, axis in zip(names, axes, strict=True) if axis.named])
        raise PolicyError(f"columns without numbers have no Euclidean distance: {those}", hint='metric="gower"')
    gower = metric == "gower" or (metric is None and mixed)
    ours, theirs, kind, weight, blank = _space(axes, gower)
    best, ties, _ = NearestRows(ours, kind, weight, blank).find(theirs)
    own = distances(theirs, np.arange(len(theirs)), ours, np.maximum(pair.truth, 0), kind, weight, blank)
    right = (pair.truth >= 0) & (own <= best * (1 + SAME) + NIL)
    credit = np.where(right, 1.0 / ties, 0.0)
    expected = float(credit.sum())
    sentence = (
        f"Linking each of {len(credit)} people to the nearest released record by {quoted(names)}, {expected:.1f} "
        f"({percent(expected / len(credit))}) are expected to be found; guessing finds {percent(pair.baseline)}."
    )
    details = {
        "columns": list(names),
        "metric": "gower" if gower else "euclidean",
        "nearest": int(right.sum()),
        "median ties": float(np.median(ties)),
    }
    return credited("distance linkage", pair, credit, sentence, most, details=details)


@dataclass(frozen=True, eq=False)
class Axis:
    """One column on both sides as a number per row, nan where unknown; `named` where only equality counts."""

    ours: np.ndarray
    theirs: np.ndarray
    named: bool


def _axis(pair: LinkedPair, name: str, named: bool, hierarchies: Mapping[str, Any] | None) -> Axis:
    values, code = encode(pair.external.get_column(name))
    labels, label = encode(pair.released.get_column(name))
    spec = (hierarchies or {}).get(name)
    place = None if named else _positions(values)
    if place is None:
        known = len(values) - values.missing
        number = np.arange(len(values), dtype=np.float64)
        number[known:] = np.nan
        return Axis(_named(labels, values, spec)[label], number[code], True)
    return Axis(_placed(labels, values, place, spec)[label], place[code], False)


def _positions(categories: Categories) -> np.ndarray | None:
    """Where each value stands, nan for missing and infinite ones; None where the column has no order.

    A column without any value has an order: there is nothing against it.
    """
    if categories.position is None:
        return np.full(len(categories), np.nan) if len(categories) == int(categories.missing) else None
    return np.where(np.isfinite(categories.position), categories.position, np.nan)


def _placed(labels: Categories, values: Categories, place: np.ndarray, spec: Any) -> np.ndarray:
    """Where each released label stands: its own number, or the mean of the external values that it covers."""
    times = ("date", "datetime")
    plain = [None if says_nothing(text) else text for text in labels.text]
    own = encode(pl.Series(labels.name, plain, dtype=pl.String))
    alike = (own[0].kind in times) == (values.kind in times)
    if own[0].position is not None and alike and (own[0].kind == values.kind or values.kind not in times):
        return np.where(np.isfinite(own[0].position), own[0].position, np.nan)[own[1]]
    cover = read_labels(plain, values.text, spec, wildcard=True, name=labels.name)
    found = np.full(len(labels), np.nan)
    for i, (text, members) in enumerate(zip(plain, cover.members, strict=True)):
        if text is None:
            continue
        number = _number(text) if values.kind not in times else None
        some = place[members] if len(members) < len(values) else place[:0]
        some = some[~np.isnan(some)]
        found[i] = number if number is not None else some.mean() if len(some) else np.nan
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _named(labels: Categories, values: Categories, spec: Any) -> np.ndarray:
    """The external value that each released label is; a number of its own for none of them, nan for several."""
    known = values.text[: len(values) - values.missing]
    cover = read_labels(labels.text, known, spec, wildcard=True, name=labels.name)
    found = np.full(len(labels), np.nan)
    for i, (text, members) in enumerate(zip(labels.text, cover.members, strict=True)):
        if text is not None and len(members) == 1:
            found[i] = members[0]
        elif text is not None and len(members) == 0:
            found[i] = len(values) + i
    return found


def _space(axes: list[Axis], gower: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points of both sides, and per column its kind, its weight, and what an unknown value adds."""
    ours, theirs, kind = [], [], []
    for axis in axes:
        both = np.concatenate([axis.theirs, axis.ours])
        both = both[~np.isnan(both)]
        largest = float(np.abs(both).max(initial=0.0)) or 1.0  # first, or squares of huge numbers would overflow
        one, other = (axis.ours, axis.theirs) if axis.named else (axis.ours / largest, axis.theirs / largest)
        known = other[~np.isnan(other)]
        spread = 0.0
        if not axis.named and len(known):
            spread = float(np.ptp(both / largest) if gower else known.std())
        # where everybody known is alike any difference is one unit
        ours.append(one if axis.named or not spread > 0 else one / spread)
        theirs.append(other if axis.named or not spread > 0 else other / spread)
        kind.append(NAMED if axis.named else ABSOLUTE if gower else SQUARED)
    weight = np.full(len(axes), 1.0 / len(axes) if gower else 1.0)
    blank = np.full(len(axes), 0.5 / len(axes) if gower else 1.0)
    return np.stack(ours, axis=1), np.stack(theirs, axis=1), np.array(kind), weight, blank
