"""SUDA2: how special a unique record is."""

from __future__ import annotations

from math import comb, factorial
from typing import Any

import numpy as np
import polars as pl

from sfumato.engines.frames import enter
from sfumato.measures.measure import Measure
from sfumato.measures.risk.asked import share
from sfumato.measures.risk.sample_uniques import Uniques, minimal_uniques


def suda(
    data: Any,
    quasi: Any,
    sampling_fraction: float = 0.1,
    *,
    up_to: int | None = None,
    wildcard: bool = False,
    original_scores: bool = True,
) -> pl.DataFrame:
    """SUDA scores, disclosure risk (DIS) and what each column contributes, per record.

    A minimal sample unique of a record is a set of columns on which it stands alone while it does not on any smaller
    set within. With M columns, one of s columns adds (M - s)! to the score: the fewer columns it takes, and the more
    such sets there are, the more special the record is. DIS = 1/(1 + P (1 - f)/f / (S^Q sum_j S_j^-Q)) estimates the
    probability that a link to a record of score S is correct, with f the sampling fraction, P the records in classes of
    two, Q = 1 + (8 - M)/20 and the sum over all records of a score; it is 0 where the score is.

    Parameters
    ----------
    data
        A frame or the path of a file.
    quasi
        The columns.
    sampling_fraction
        The share of the population that is in the table, above 0 and up to 1.
    up_to
        Look at sets of so many columns at most; all where None.
    wildcard
        Whether a missing value (and `*`) matches anything; else it is a value of its own.
    original_scores
        False weighs a minimal unique of s columns by (2^(M-s) - 1) s! (M-s)!/M! instead, which for s = M is 0.

    Returns
    -------
    One row per record: `score`, `dis`, and for each column `<name>_contribution`, the share of the score that comes
    from minimal uniques with that column.

    Examples
    --------
    >>> table = {"sex": ["f", "f", "m", "m"], "town": ["A", "A", "A", "B"]}
    >>> suda(table, ["sex", "town"])["score"].to_list()
    [0.0, 0.0, 1.0, 1.0]

    References
    ----------
    Elliot, Manning, Ford, "A computational algorithm for handling the special uniques problem", 2002; Manning, Haglin,
    Keane, "A recursive search algorithm for statistical disclosure assessment", Data Mining and Knowledge Discovery
    2008; Elliot, "Integrating file and record level disclosure risk assessment", 2002.
    """
    found, dis = _scored(enter(data)[0], quasi, sampling_fraction, up_to, wildcard, original_scores)
    part = np.divide(found.parts, found.score, out=np.zeros_like(found.parts), where=found.score > 0)
    per_cell = {"score": found.score, "dis": dis}
    per_cell |= {f"{name}_contribution": share for name, share in zip(found.names, part, strict=True)}
    return pl.DataFrame({name: values[found.of_row] for name, values in per_cell.items()})


def suda_attributes(
    data: Any, quasi: Any, *, up_to: int | None = None, wildcard: bool = False, original_scores: bool = True
) -> pl.DataFrame:
    """For each column, the percentage of all scores that comes from minimal uniques with that column.

    The percentages do not add up to 100: a minimal unique counts for each of its columns.

    >>> table = {"sex": ["f", "f", "m", "m"], "town": ["A", "A", "A", "B"]}
    >>> suda_attributes(table, ["sex", "town"]).rows()
    [('sex', 50.0), ('town', 100.0)]
    """
    found, _ = _scored(data, quasi, 1.0, up_to, wildcard, original_scores)
    total = float(found.score.sum())  # who has a score is the only row of its cell
    percent = found.parts.sum(axis=1) * (100 / total if total else 0.0)
    return pl.DataFrame({"attribute": found.names, "contribution": percent})


def suda_risk(
    data: Any, quasi: Any, sampling_fraction: float = 0.1, *, up_to: int | None = None, wildcard: bool = False
) -> Measure:
    """The mean DIS of the records: the share expected to be linked correctly by someone who tries them all.

    >>> suda_risk({"town": ["A", "A", "A"]}, ["town"]).value
    0.0
    """
    found, dis = _scored(data, quasi, sampling_fraction, up_to, wildcard, True)
    special, records = int((found.score > 0).sum()), int(found.rows.sum())
    expected = float(dis.sum())  # who has a score is the only row of its cell
    exposed: list[int] = []
    if found.of_row is not None:  # rows that are counted elsewhere have no numbers
        of_record = dis[found.of_row]
        exposed = [int(i) for i in np.argsort(-of_record, kind="stable")[:10] if of_record[i] > 0]
    some = "some of these columns" if up_to is None else f"up to {up_to} of these columns"
    sentence = (
        f"{special} of {records} records stand alone on {_listed(found.names)} or on {some}; a link to "
        f"such a record is correct with probability {dis.max():.3f} at most, and {expected / records:.5f} on average "
        f"over all, where the table holds {sampling_fraction:.4g} of the population."
    )
    details = {
        "records": records,
        "with_score": special,
        "highest_score": float(found.score.max()),
        "highest": float(dis.max()),
        "expected": expected,
        "sampling_fraction": float(sampling_fraction),
        "most_exposed": exposed,
    }
    return Measure("SUDA", expected / records, (0.0, 1.0), sentence, details=details)


def _scored(
    data: Any, quasi: Any, fraction: float, up_to: int | None, wildcard: bool, original: bool
) -> tuple[Uniques, np.ndarray]:
    fraction = share(fraction, "sampling_fraction", above_zero=True)
    found = minimal_uniques(data, quasi, up_to, wildcard, _original if original else _share)
    pairs = int(found.rows[found.size == 2].sum())
    # a cell with a score has one row, so sums over cells are sums over rows
    return found, _dis(found.score, len(found.names), pairs, fraction)


def _original(s: int, columns: int) -> float:
    return float(factorial(columns - s))


def _share(s: int, columns: int) -> float:
    return (2 ** (columns - s) - 1) / comb(columns, s)


def _dis(score: np.ndarray, columns: int, pairs: int, fraction: float) -> np.ndarray:
    """The data intrusion simulation, spread over the records by their scores."""
    dis, scored = np.zeros(len(score)), score > 0
    power = score[scored] ** (1 + (8 - columns) / 20)
    if len(power):
        dis[scored] = 1 / (1 + pairs * (1 - fraction) / fraction / (power * (1 / power).sum()))
    return dis


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names)
