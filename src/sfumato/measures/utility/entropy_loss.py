"""Entropy-based information loss: P. Kooiman, L. Willenborg, J. Gouweleeuw, PRAM, Statistics Netherlands 1998."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import checked
from sfumato.core.wording import count, percent
from sfumato.errors import ColumnError, PolicyError, did_you_mean
from sfumato.measures.arguments import HIERARCHIES, KEY, ORIGINAL, RELEASED, ROWS, SOME_COLUMNS
from sfumato.measures.measure import Measure
from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import Pair, moved_share, pair_of


@checked
def entropy_loss(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    transition: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """The bits about the original value that its released one leaves open, over the bits of m equally frequent values.

    Per column, the mean over released rows of H(V | V' = v'), over log2 m, m the number of original values; the value
    is the mean over the columns, in 0..1. With `transition` (column to value to released value to probability)
    P(V | V') follows from Bayes' rule with the shares of the original; without, it is counted from the pair itself, row
    by row, which is then H(V | V') and is low by itself where released values are rare; labels that could not be read
    leave everything open.

    >>> swap = {"sex": {"f": {"f": 0.8, "m": 0.2}, "m": {"f": 0.2, "m": 0.8}}}
    >>> table = {"sex": ["f", "m", "f", "m"]}
    >>> round(entropy_loss(table, table, transition=swap).value, 4), entropy_loss(table, table).value
    (0.7219, 0.0)
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    if transition is not None and not isinstance(transition, Mapping):
        raise PolicyError("transition must map columns to matrices", got=type(transition).__name__)
    names = pair.names(list(transition) if transition is not None and columns is None else columns)
    per_column, bits = {}, {}
    for name in names:
        column = pair.column(name)
        if transition is None:
            found = _counted(column, pair.aligned("entropy-based loss without a transition matrix"))
        else:
            if name not in transition:
                hint = did_you_mean(name, transition)
                raise ColumnError(f'there is no transition matrix for column "{name}"', hint=hint)
            found = _by_matrix(pair, column, transition[name])
        bits[name] = found
        per_column[name] = min(found / math.log2(column.values), 1.0) if column.values > 1 else 0.0
    value = float(np.mean(list(per_column.values())))
    moved, beside = moved_share(pair, map(pair.column, names))
    sentence = (
        f"Who sees a released value of {count(len(names), 'column')} still lacks {percent(value)} of what there is to "
        f"know about the original one, on average (0%: it is certain, 100%: nothing is known).{beside}"
    )
    details = {"per_column": per_column, "bits": bits, "percent": 100 * value, "moved": moved}
    return Measure("entropy-loss", value, (0.0, 1.0), sentence, details=details)


def _counted(column: ComparedColumn, of: np.ndarray) -> float:
    """H(V | V') in bits, from the pairs of original and released values."""
    met = column.meetings(of)
    n, label, count = len(of), met.label, met.count
    opaque = np.isin(label, column.opaque)  # who cannot read a label learns nothing from it
    bits = np.where(opaque, math.log2(column.values), -np.log2(count / column.count[label]))
    return max(0.0, float((count / n * bits).sum()))


def _by_matrix(pair: Pair, column: ComparedColumn, matrix: Mapping[str, Mapping[str, float]]) -> float:
    """The mean of H(V | V' = v') over the released rows, by the transition matrix."""
    text, name = column.attribute.categories.text, column.name
    share = column.attribute.categories.count / len(column.code)
    place = {word: i for i, word in enumerate(column.text)}
    joint = np.zeros((len(text), len(column.text)))
    for i, word in enumerate(text):
        row = matrix.get("" if word is None else word)
        if row is None:
            raise PolicyError(f'the transition matrix of "{name}" has no row for {_lacking(text, matrix)} values')
        chances = list(row.values())
        if any(not 0 <= p <= 1 for p in chances) or not math.isclose(sum(chances), 1.0, abs_tol=1e-9):
            raise PolicyError(f'a row of the transition matrix of "{name}" does not add up to 1')
        for to, chance in row.items():
            at = place.get(to or None)
            if at is not None:
                joint[i, at] = share[i] * chance
    whole = joint.sum(axis=0)
    if (whole[column.count > 0] == 0).any():
        raise PolicyError(f'the transition matrix of "{name}" never gives some of the released values')
    given = joint / np.where(whole > 0, whole, 1.0)
    logs = np.log2(np.where(given > 0, given, 1.0))
    entropy = -(given * logs).sum(axis=0)
    return float((entropy * column.count).sum() / column.count.sum())


def _lacking(text: Sequence[str | None], matrix: Mapping[str, Any]) -> str:
    lacking = sum(("" if word is None else word) not in matrix for word in text)
    return f"{lacking} of the {len(text)} original"
