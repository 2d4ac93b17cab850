"""The three attackers: prosecutor, journalist, marketer. K. El Emam, Guide to the De-Identification of Personal Health
Information, CRC Press 2013, chapters 16 to 18."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import checked
from sfumato.measures.arguments import HIERARCHIES, QUASI, TABLE, THRESHOLD, WILDCARD
from sfumato.measures.risk.keys import Keys, keys_of
from sfumato.measures.table import table_of


@checked
def prosecutor(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    *,
    threshold: Annotated[float, THRESHOLD] = 0.2,
    wildcard: Annotated[bool, WILDCARD] = False,
) -> dict[str, float | int]:
    """The risk that a record is found by somebody who knows that its person is in the table: 1/n.

    n is the number of records with the same quasi-identifiers. With `wildcard`, a missing value (and "*") matches any
    value, and n counts the records that match; else it is a value of its own.

    Returns `highest`, `average` and `lowest` risk of a record; `records_at_risk`, the share of records strictly above
    the `threshold`; `at_highest` and `at_lowest`, the shares that have these risks; `smallest` and `largest`, the n of
    the riskiest and the safest record; `classes`, `rows` and the `threshold`.

    >>> found = prosecutor({"age": [30, 30, 30, 40]}, ["age"])
    >>> found["highest"], found["average"], found["records_at_risk"], found["smallest"]
    (1.0, 0.5, 1.0, 1)
    """
    keys = keys_of(table_of(df), quasi, wildcard=wildcard)
    return figures(keys, keys.size, threshold)


@checked
def journalist(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    population: Annotated[Any, TABLE] = None,
    *,
    threshold: Annotated[float, THRESHOLD] = 0.2,
    wildcard: Annotated[bool, WILDCARD] = False,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
) -> dict[str, float | int]:
    """The risk that a record is found by somebody who does not know whether its person is in the table: 1/F.

    F is the number of records of the `population`, a table that holds the sample, with the same quasi-identifiers.
    Where those of the table are labels that the population does not have, it is the records whose values they cover,
    read with the `hierarchies` where there are some. A key with fewer records there than in the sample counts those of
    the sample, so that a population that does not fit never makes a table look safe; `outside` is the share of records
    of which that is true. Without a population, the table is the population and the risk is the prosecutor's.

    Returns the keys of `prosecutor`, and `outside`.

    >>> found = journalist({"age": [30, 40]}, ["age"], {"age": [30, 30, 30, 30, 40, 40]})
    >>> found["highest"], found["average"], found["outside"]
    (0.5, 0.375, 0.0)
    """
    keys = keys_of(table_of(df), quasi, None if population is None else table_of(population), wildcard, hierarchies)
    return journalist_figures(keys, threshold)


@checked
def marketer(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    population: Annotated[Any, TABLE] = None,
    *,
    threshold: Annotated[float, THRESHOLD] = 0.2,
    wildcard: Annotated[bool, WILDCARD] = False,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
) -> dict[str, float | int]:
    """The share of records that somebody finds who links them all: the mean of 1/F over the records.

    F as for the journalist. Returns the keys of `journalist`, of which `average` is the one that matters here, and
    `expected_records`, the average times the rows.

    >>> found = marketer({"age": [30, 30, 30, 40]}, ["age"])
    >>> found["average"], found["expected_records"]
    (0.5, 2.0)
    """
    keys = keys_of(table_of(df), quasi, None if population is None else table_of(population), wildcard, hierarchies)
    return marketer_figures(keys, threshold)


def journalist_figures(keys: Keys, threshold: float) -> dict[str, float | int]:
    """The journalist's figures from counted keys."""
    outside = 0
    if keys.population is not None:
        outside = int(keys.sample[keys.in_population < keys.size].sum())
    return figures(keys, keys.population_size, threshold) | {"outside": outside / keys.rows}


def marketer_figures(keys: Keys, threshold: float) -> dict[str, float | int]:
    """The marketer's figures from counted keys."""
    found = journalist_figures(keys, threshold)
    return found | {"expected_records": found["average"] * keys.rows}


def figures(keys: Keys, size: np.ndarray, threshold: float) -> dict[str, float | int]:
    """The figures of risks 1/size, one per cell, over the rows of the sample."""
    mine = keys.sample > 0
    count, n = keys.sample[mine], size[mine]
    rows, smallest, largest = keys.rows, int(n.min()), int(n.max())
    return {
        "highest": 1 / smallest,
        "average": float((count / n).sum() / rows),
        "lowest": 1 / largest,
        "records_at_risk": int(count[n < least_size(threshold)].sum()) / rows,
        "at_highest": int(count[n == smallest].sum()) / rows,
        "at_lowest": int(count[n == largest].sum()) / rows,
        "smallest": smallest,
        "largest": largest,
        "classes": len(n),
        "rows": rows,
        "threshold": threshold,
    }


def least_size(threshold: float) -> float:
    """The least size of a class whose records are not strictly above the threshold.

    1/n > t is n < 1/t, but 1/t is rounded: a class of 1/t records is not above, within 1e-12.

    >>> least_size(0.2), least_size(1 / 3), least_size(0.3), least_size(0.0)
    (5.0, 3.0, 4.0, inf)
    """
    return float("inf") if threshold == 0 else float(np.ceil(1 / threshold * (1 - 1e-12)))
