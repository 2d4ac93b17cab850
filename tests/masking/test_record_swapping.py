"""Record swapping: who is swapped and with whom, whole households, what is kept, refusals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.record_swapping import NoPartnerWarning, RecordSwapping, _exchange
from sfumato.release.facts import as_dict, check_private
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply

HOUSEHOLDS = 3000
RANDOM = np.random.default_rng(2)
SIZE = RANDOM.integers(1, 5, HOUSEHOLDS)
HOME = np.repeat(np.arange(HOUSEHOLDS), SIZE)
COUNTY = RANDOM.integers(0, 12, HOUSEHOLDS)[HOME]
TABLE = pl.DataFrame(
    {
        "home": HOME,
        "state": COUNTY // 4,
        "county": COUNTY % 4,  # numbered anew in each state
        "station": COUNTY * 10 + HOME % 3,
        "owner": RANDOM.choice(["yes", "no"], HOUSEHOLDS)[HOME],
        "age": RANDOM.integers(0, 90, len(HOME)) // 10,
        "job": np.where(RANDOM.random(len(HOME)) < 0.004, "rare", "usual"),
        "row": np.arange(len(HOME)),
    }
)
STEP = RecordSwapping(
    ["state", "county"], household="home", risk="job", k=5, rate=0.1, similar=["owner"], carry="station"
)


def test_households_stay_whole_and_partners_are_alike(apply: Apply) -> None:
    change = apply(STEP, TABLE)
    released = TABLE.with_columns(change.columns)
    homes = released.group_by("home", maintain_order=True).agg(pl.col("state", "county", "station").n_unique())
    assert homes.select(pl.col("state", "county", "station").max()).row(0) == (1, 1, 1)
    moved = (TABLE["county"] != released["county"]) | (TABLE["state"] != released["state"])
    share = TABLE.filter(moved)["home"].n_unique() / HOUSEHOLDS
    assert 0.08 < share <= 0.101
    assert change.published == {"swapped": round(share, 2)}
    assert [fact.columns for fact in change.facts] == [
        ("state", "county", "station"),
        ("state", "county", "station", "owner"),
    ]
    changed = change.columns.columns
    assert all(check_private(TABLE, released, as_dict(fact, 0), changed).holds for fact in change.facts)
    bad = released.with_columns(state=pl.when(pl.col("row") == 0).then((pl.col("state") + 1) % 3).otherwise("state"))
    assert not any(check_private(TABLE, bad, as_dict(fact, 0), changed).holds for fact in change.facts)
    people = [frame.group_by("state", "county", "owner").len().sort(pl.all()) for frame in (TABLE, released)]
    assert people[0].equals(people[1])


def test_households_at_risk_leave_their_area(apply: Apply) -> None:
    made = apply(RecordSwapping(["state", "county"], household="home", risk="job", k=20, rate=0), TABLE).columns
    rare = TABLE.filter(pl.len().over("state", "county", "job") < 20)["home"].unique()
    risky = TABLE["home"].is_in(rare.implode())
    gone = (made["state"] != TABLE["state"]) | (made["county"] != TABLE["county"])
    assert 10 < len(rare) < 100
    assert (gone | ~risky).all()
    alone = TABLE.filter(pl.len().over("state", "job") < 20)["home"].unique()
    left_state = TABLE.filter(made["state"] != TABLE["state"])["home"].unique()
    assert set(alone) <= set(left_state)


def test_the_rate_holds_in_each_area(apply: Apply) -> None:
    made = apply(RecordSwapping(["state", "county"], household="home", rate=0.2), TABLE).columns
    gone = (made["state"] != TABLE["state"]) | (made["county"] != TABLE["county"])
    first = TABLE.with_columns(gone=gone).unique("home")
    shares = first.group_by("state", "county").agg(pl.col("gone").mean())["gone"]
    assert all(0.1 < share < 0.3 for share in shares)
    assert 0.19 < first["gone"].mean() <= 0.2  # type: ignore[operator]


def test_profiles_are_tried_in_order(apply: Apply) -> None:
    frame = pl.DataFrame({"area": [1, 1, 2, 2], "a": ["x", "y", "x", "z"], "b": [1, 2, 1, 2], "risk": [1, 2, 3, 4]})
    step = parse('record-swapping area risk=risk k=2 rate=0 "similar=a,b;b"')
    assert step.similar == (("a", "b"), ("b",))  # type: ignore[attr-defined]
    for seed in range(5):
        change = apply(step, frame, seed)
        assert change.columns["area"].to_list() == [2, 2, 1, 1]
    assert change.facts[1].columns == ("area", "b")
    with pytest.warns(NoPartnerWarning, match="2 households at risk found no partner"):
        assert apply(RecordSwapping("area", risk="risk", k=2, rate=0, similar=["a"]), frame).columns["area"][1] == 1
    with pytest.raises(PolicyError, match="no household found a partner"), warnings.catch_warnings():
        apply(RecordSwapping("area", rate=1, similar=["risk"]), frame)


def test_partners_are_drawn_evenly() -> None:
    area, profile, often = np.array([0, 1, 1, 2, 0, 3, 3]), np.array([5, 5, 5, 5, 5, 5, 4]), np.zeros(7)
    random = np.random.default_rng(1)
    for _ in range(400):
        partner = np.arange(7)
        _exchange(np.array([0]), profile, area, partner, np.full(4, 7), 7, random)
        often[partner[0]] += 1
    assert often[[0, 4, 6]].tolist() == [0, 0, 0]  # itself, in the same area, of another profile
    assert often[[1, 2, 3, 5]].min() > 75


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({}, "columns of the areas"),
        ({"columns": "a", "rate": 0}, "nothing says which"),
        ({"columns": "a", "risk": "a"}, "something else too"),
        ({"columns": "a", "carry": "a"}, "something else too"),
        ({"columns": "a", "rate": 2}, "rate is out of range"),
        ({"columns": "a", "k": 0}, "k is out of range"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters: dict[str, Any], match: str) -> None:
    with pytest.raises(PolicyError, match=match):
        RecordSwapping(**parameters)


def test_columns_of_people_are_no_columns_of_households(apply: Apply) -> None:
    with pytest.raises(ColumnError, match='"age" differs between rows of a household'):
        apply(RecordSwapping("state", household="home", similar=["age"]), TABLE)
    with pytest.raises(ColumnError, match="missing in some rows"):
        apply(RecordSwapping("a", household="h"), pl.DataFrame({"a": [1, 2], "h": [1, None]}))
    with pytest.raises(PolicyError, match="one area only"):
        apply(RecordSwapping("a", rate=0.5), pl.DataFrame({"a": [1, 1, 1]}))
