"""Swapping: what is exchanged, what is kept, and rows that find no partner."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import PolicyError
from sfumato.masking.swapping import Swapping
from sfumato.release.facts import as_dict, check_private
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply

ROWS = 1200
RANDOM = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "sex": RANDOM.choice(["f", "m"], ROWS),
        "age": RANDOM.integers(20, 60, ROWS),
        "pay": RANDOM.permutation(ROWS),
        "tax": RANDOM.permutation(ROWS),
    }
)


def test_pairs_are_alike_in_the_keys_and_exchange_all_columns(apply: Apply) -> None:
    change = apply(Swapping(["pay", "tax"], keys=["sex", "age"], rate=0.5), TABLE)
    released = TABLE.with_columns(change.columns)
    moved = (released["pay"] != TABLE["pay"]).to_numpy()
    assert moved.mean() == pytest.approx(0.5, abs=0.05)
    assert ((released["tax"] != TABLE["tax"]).to_numpy() == moved).all()
    row = {pay: i for i, pay in enumerate(TABLE["pay"])}
    partner = np.array([row[pay] for pay in released["pay"]])
    assert (partner[partner] == np.arange(ROWS)).all()
    assert TABLE[partner].select("sex", "age").equals(TABLE.select("sex", "age"))
    assert change.published == {"exchanged": round(moved.mean(), 2)}
    for fact in change.facts:
        assert check_private(TABLE, released, as_dict(fact, 0), ["pay", "tax"]).holds
    shuffled = TABLE.with_columns(pl.col("pay", "tax").reverse())
    held = [check_private(TABLE, shuffled, as_dict(fact, 0), ["pay", "tax"]).holds for fact in change.facts]
    assert held == [True, False]


def test_strata_are_keys_too(run: Any) -> None:
    found = run(TABLE, parse("swapping pay keys=age rate=1 by=sex"))
    assert found.facts[1][1].columns == ("pay", "age", "sex")
    for step, fact in found.facts:
        assert check_private(TABLE, found.table, as_dict(fact, step), ["pay"]).holds


def test_rows_that_stand_alone_stay(apply: Apply) -> None:
    frame = pl.DataFrame({"k": [1, 1, 2, None, None], "x": ["a", "b", "c", "d", None]})
    made = apply(Swapping("x", keys="k", rate=1), frame).columns["x"]
    assert made.to_list() == ["b", "a", "c", None, "d"]
    with pytest.raises(PolicyError, match="no two rows"):
        apply(Swapping("x", keys="x2"), frame.with_columns(x2=pl.int_range(5)))


@pytest.mark.parametrize(
    ("step", "match"),
    [
        ({}, "which columns are exchanged"),
        ({"columns": "x", "keys": "x"}, "a key too"),
        ({"columns": "x", "rate": 1.5}, "rate is out of range"),
    ],
)
def test_what_makes_no_sense_is_refused(step: dict[str, Any], match: str) -> None:
    with pytest.raises(PolicyError, match=match):
        Swapping(**step)
