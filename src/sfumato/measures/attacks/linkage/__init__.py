"""What the linkage attacks share: who is who in the two tables, and how a guess among candidates is credited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import column_names, known_columns
from sfumato.core.printed import printed
from sfumato.engines.memory.table import enter
from sfumato.errors import PolicyError
from sfumato.measures.attacks.result import Attack
from sfumato.measures.measure import wilson

UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Supposed:
    """Who is who as nobody told but the order of the rows suggests: the released row of each external one."""

    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class LinkedPair:
    """A released and an external table, and the released row of each external record (-1: it has none), if known."""

    released: pl.DataFrame
    external: pl.DataFrame
    truth: np.ndarray | None  # int64 per external row
    supposed: bool = False  # whether the truth is only what the order of the rows suggests

    @property
    def present(self) -> int:
        """How many external records are in the release; all where that is not known."""
        return self.external.height if self.truth is None else int((self.truth >= 0).sum())

    @property
    def baseline(self) -> float:
        """What picking a released row blindly for each external record gets right."""
        return self.present / self.external.height / self.released.height


def pair_of(released: Any, external: Any, truth: Any) -> LinkedPair:
    """The two tables and who is who.

    `truth` is a pair of column names, the released and the external one, whose values tell it (a value that stands
    several times on the released side is an error); or for each external row its released row, -1 for none; or
    "unknown". By default row i is row i where both tables have as many rows, and not known otherwise.
    """
    ours, theirs = enter(released)[0], enter(external)[0]
    if truth is None:
        known = np.arange(ours.height) if ours.height == theirs.height else None
        return LinkedPair(ours, theirs, known, known is not None)
    if isinstance(truth, Supposed):
        return replace(pair_of(ours, theirs, truth.rows), supposed=True)
    if isinstance(truth, str) and truth == UNKNOWN:
        return LinkedPair(ours, theirs, None)
    if isinstance(truth, tuple | list) and len(truth) == 2 and all(isinstance(name, str) for name in truth):
        known_columns([truth[0]], ours.columns, "the release")
        known_columns([truth[1]], theirs.columns, "the external table")
        return LinkedPair(ours, theirs, _by_value(ours.get_column(truth[0]), theirs.get_column(truth[1])))
    row = np.asarray(truth)
    if row.shape != (theirs.height,) or row.dtype.kind not in "iu":
        allowed = 'a pair of column names, a released row number per external row (-1: none), or "unknown"'
        raise PolicyError("truth does not tell who is who", got=type(truth).__name__, allowed=allowed)
    if len(row) and (row.min() < -1 or row.max() >= ours.height):
        raise PolicyError("truth names rows that the release does not have", allowed=f"-1 to {ours.height - 1}")
    return LinkedPair(ours, theirs, row.astype(np.int64))


def _by_value(ours: pl.Series, theirs: pl.Series) -> np.ndarray:
    row = pl.DataFrame({"id": printed(ours), "row": np.arange(len(ours))}).drop_nulls()
    if row.get_column("id").is_duplicated().any():
        what = f'the column "{ours.name}" of the release does not tell who is who: values stand several times'
        raise PolicyError(what)
    left = pl.DataFrame({"id": printed(theirs), "at": np.arange(len(theirs))})
    joined = left.join(row, on="id", how="left", maintain_order="left")
    return joined.get_column("row").fill_null(-1).to_numpy().astype(np.int64)


def common_columns(pair: LinkedPair, columns: Any) -> tuple[str, ...]:
    """The columns to link on: those given, or all that both tables have."""
    if columns is None:
        names = tuple(name for name in pair.released.columns if name in pair.external.columns)
    else:
        names = tuple(dict.fromkeys(column_names(columns, "columns")))
        known_columns(names, pair.released.columns, "the release")
        known_columns(names, pair.external.columns, "the external table")
    if not names:
        raise PolicyError("there is no column to link on", hint="clusters links tables without common columns")
    return names


def credited(
    name: str,
    pair: LinkedPair,
    credit: np.ndarray,
    sentence: str,
    most: int,
    *,
    rows: np.ndarray | None = None,
    seed: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> Attack:
    """The attack from the probability that each external record was linked correctly.

    `rows` are the released rows of the external records, -1 where not known; by default those of the truth.
    """
    trials = len(credit)
    expected = float(credit.sum())
    success = expected / trials
    released = pair.truth if rows is None else rows
    if rows is not None and not (rows >= 0).any():  # nobody has a single candidate: name the people instead
        released = None
    more = dict(details or {})
    order = np.argsort(-credit, kind="stable")
    if released is None:
        exposed, of = order[credit[order] > 0][:most], "external"
    else:
        hit = order[(credit[order] > 0) & (released[order] >= 0)][:most]
        exposed, of = released[hit], "released"
        more["external rows"] = [int(row) for row in hit]
    more |= {"expected links": expected, "external": trials, "released": pair.released.height, "present": pair.present}
    return Attack(
        name,
        success,
        pair.baseline,
        wilson(round(expected), trials),
        trials,
        tuple(int(row) for row in exposed),
        sentence,
        seed,
        of,
        more,
    )


def chunks(n: int, parts: int) -> Sequence[tuple[int, int]]:
    """Start and stop of so many parts of n."""
    edges = np.linspace(0, n, min(parts, n) + 1).astype(np.int64).tolist()
    return list(pairwise(edges))
