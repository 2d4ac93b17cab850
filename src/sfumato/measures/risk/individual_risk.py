"""Individual risk with survey weights, and the risk of households.

R. Benedetti, L. Franconi, Statistical and technological solutions for controlled data dissemination, 1998; L. Franconi,
S. Polettini, Individual risk estimation in mu-Argus, PSD 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.microdata import encode
from sfumato.core.parameters import checked, column_name, known_columns, weights_of
from sfumato.engines.memory.table import enter
from sfumato.measures.arguments import COLUMN, QUASI, TABLE, WILDCARD
from sfumato.measures.risk.kernels import individual_risks
from sfumato.measures.risk.keys import Keys, keys_of


@checked
def individual(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    weight: Annotated[str, COLUMN],
    *,
    wildcard: Annotated[bool, WILDCARD] = False,
) -> pl.DataFrame:
    """The risk of each record of a survey: the mean of 1/F, with F people in the population who look like it.

    Of f records with the same quasi-identifiers and weights that sum to F, p = f/F: the population count is f plus a
    negative binomial, and r = p^f/f 2F1(f, f; f+1; 1-p). That is q ln(1/p) for f=1 and q - q^2 ln(1/p) for f=2 with
    q = p/(1-p), and 1/f where F = f (or less). It is evaluated to about 1e-14 for every f.

    With `wildcard`, a missing value (and "*") matches any value, in f and in F.

    Returns a frame in row order: `f`, `F`, `risk`. Its sum is the expected number of re-identifications.

    >>> individual({"age": [30, 40, 40], "w": [1.0, 2.0, 3.0]}, ["age"], "w").select("f", "F").rows()
    [(1, 1.0), (2, 5.0), (2, 5.0)]
    """
    frame = enter(df)[0]
    return frame_of(keys_of(frame, quasi, wildcard=wildcard), weights(frame, weight))


@checked
def household(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    weight: Annotated[str | None, COLUMN],
    household: Annotated[str, COLUMN],
    *,
    wildcard: Annotated[bool, WILDCARD] = False,
) -> pl.DataFrame:
    """The risk of each record and of its household: that at least one member is found, 1 - prod(1 - r).

    r is the individual risk under the survey weights; without weights (None), 1/f. A record whose household is missing
    is a household of its own.

    Returns a frame in row order: `f`, `F`, `risk`, `household_risk`.

    >>> table = {"age": [30, 30, 40, 40], "home": [1, 2, 2, 3]}
    >>> household(table, ["age"], None, "home")["household_risk"].to_list()
    [0.5, 0.75, 0.75, 0.5]
    """
    frame = enter(df)[0]
    given = np.ones(frame.height) if weight is None else weights(frame, weight)
    found = frame_of(keys_of(frame, quasi, wildcard=wildcard), given)
    return found.with_columns(household_risk=household_risks(frame, household, found["risk"].to_numpy()))


def weights(frame: pl.DataFrame, weight: Any) -> np.ndarray:
    """The survey weights of a table."""
    known_columns([column_name(weight, "weight")], frame.columns)
    found = weights_of(frame, weight)
    assert found is not None
    return found


def frame_of(keys: Keys, given: np.ndarray) -> pl.DataFrame:
    """f, F and risk per row from counted keys and weights."""
    of, population = keys.cell_of_row, keys.weighted(given)
    return pl.DataFrame({"f": keys.size[of], "F": population[of], "risk": cell_risks(keys, population)[of]})


def cell_risks(keys: Keys, population: np.ndarray) -> np.ndarray:
    """The risk of a record of each cell, from its weights' sum."""
    f = keys.size
    with np.errstate(divide="ignore", invalid="ignore"):  # a cell of the population alone has neither
        p = np.where(f > 0, np.minimum(1.0, f / population), 1.0)
    return np.asarray(individual_risks(np.maximum(f, 1), p))


def household_risks(frame: pl.DataFrame, household: Any, risk: np.ndarray) -> np.ndarray:
    """The risk of the household of each row."""
    known_columns([column_name(household, "household")], frame.columns)
    categories, home = encode(frame.get_column(household))
    if categories.missing:  # nobody knows with whom they live: each is a household of their own
        lost = np.flatnonzero(home == len(categories) - 1)
        home = home.astype(np.int64)
        home[lost] = len(categories) + np.arange(len(lost))
    with np.errstate(divide="ignore"):  # a risk of 1 makes the household's 1
        spared = np.bincount(home, weights=np.log1p(-np.minimum(risk, 1.0)))
    found: np.ndarray = -np.expm1(spared)[home]
    return found
