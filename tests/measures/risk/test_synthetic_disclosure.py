"""What a synthetic table tells of single people: repU, DiSCO, nearest records, membership; with Adult, attacked."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.measure import wilson
from sfumato.measures.risk import (
    RISKS,
    copied_uniques,
    disco,
    likely_but_absent,
    nearest_record,
    repeats,
    replicated_uniques,
    synthetic_membership,
)
from sfumato.measures.risk.synthetic_membership import area
from sfumato.measures.risk.synthetic_tables import tables_of
from sfumato.measures.source import source_of
from sfumato.measures.synthetic import HOLES, synthetic_summary
from tests.fuzz import FUZZ, examples

REAL = {"age": [30, 30, 41, 52, 60], "ill": ["flu", "flu", "no", "no", "flu"]}
DRAWN = {"age": [41, 30, 52, 52, 60], "ill": ["no", "flu", "no", "flu", "no"]}
OTHERS = {"age": [41, 30, 70, 60], "ill": ["flu", "flu", "no", "no"]}


def test_replicated_uniques_by_hand():
    # unique ages: 41 52 60; in the synthetic table 41 30 60; 70 would be unique in the original, but is not drawn
    found = replicated_uniques(REAL, DRAWN, ["age"], hold_out=OTHERS)
    assert (found.value, found.baseline, found.interval) == (2 / 5, 0, wilson(2, 5))
    assert found.details == {"quasi": ["age"], "rows": 5, "unique": 3, "replicated": 2, "unique_synthetic": 3}
    assert replicated_uniques(REAL, {"age": [70]}, ["age"], hold_out={"age": [70, 41]}).baseline == 0.5
    assert replicated_uniques(REAL, DRAWN, ["age"]).sentence == (
        "2 of 5 real records (40%) are unique on the quasi-identifiers both in the original and in the synthetic table."
    )


def test_disco_by_hand():
    # 30 30: flu for sure, and right; 41: no for sure, and right; 52: two values; 60: no for sure, and wrong
    found = disco(REAL, DRAWN, ["age"], "ill", hold_out=OTHERS)
    assert (found.value, found.interval) == (3 / 5, wilson(3, 5))
    assert found.baseline == 2 / 4  # 30 flu and 60 no are right, 41 flu is wrong, 70 is not there
    told = {key: found.details[key] for key in ("disclosed", "original", "met", "certain")}
    assert told == {"disclosed": 3, "original": 1, "met": 5, "certain": 4}
    assert found.details["dominant"]["ill"] == [
        {"value": "flu", "disclosed": 2, "rows": 3},
        {"value": "no", "disclosed": 1, "rows": 2},
    ]
    assert found.details["dominant"]["age"][0] == {"value": "30", "disclosed": 2, "rows": 2}
    for value in ("flu", "30", "41"):
        assert value not in found.sentence.replace("of 5", "")


def test_nearest_record_by_hand():
    # range of the real ages: 20 to 90. 21: near 20; 45: as near to 40 as to 50; 55: near 50, held out; 90: held out
    real, others = {"age": [20, 40, 60, 80]}, {"age": [30, 50, 70, 90]}
    found = nearest_record(real, {"age": [21, 45, 54, 90]}, hold_out=others)
    assert (found.value, found.baseline) == (1.5 / 4, 0.5)
    assert found.details["looked_at"] == 4
    assert found.details["at_zero"] == {"original": 0, "hold_out": 0.25}
    assert found.details["distance"]["original"] == pytest.approx(5.5 / 70)  # 1 5 6 10
    # tied rows count as often as they are there: three rows of the original, one held out
    tied = nearest_record({"a": ["x"] * 3}, {"a": ["x", "y"]}, hold_out={"a": ["x"]})
    assert tied.value == tied.baseline == 0.75
    with pytest.raises(PolicyError, match="none are given"):
        nearest_record(real, real)


def test_membership_by_hand():
    real, others = {"age": [20, 40, 60, 80]}, {"age": [30, 50, 70, 90]}
    found = synthetic_membership(real, {"age": [20, 40, 60, 88]}, hold_out=others)
    assert found.value == 15 / 16  # distances 0 0 0 8 and 10 10 10 2: three of four win against all, 80 against three
    assert synthetic_membership(real, others, hold_out=others).value == 0
    assert "so few that it tells, too" in synthetic_membership(real, others, hold_out=others).sentence
    assert synthetic_membership(real, {"age": [1]}, hold_out=real).value == 0.5


def test_area_and_its_interval():
    # DeLong: wins of members 1, 0.75, 0.25; of the others 1 - wins 0.5, 5/6
    value, (low, high) = area(np.array([5.0, 3.0, 1.0]), np.array([3.0, 0.0]))
    assert value == pytest.approx((1 + 0.75 + 0.5) / 3)
    spread = np.var([1, 0.75, 0.5], ddof=1) / 3 + np.var([0.5, 1], ddof=1) / 2
    assert low == pytest.approx(max(0.0, value - 1.959964 * math.sqrt(spread)), abs=1e-6)
    assert high == 1
    assert area(np.arange(5.0) + 9, np.arange(5.0)) == (1, wilson(5, 5))
    assert area(np.zeros(9), np.zeros(9)) == (0.5, (0.5, 0.5))


@pytest.mark.slow
def test_the_interval_covers_a_true_area():
    rng, met = np.random.default_rng(3), 0
    for _ in range(400):
        low, high = area(rng.normal(0.5, 1, 80), rng.normal(0, 1, 40))[1]
        met += low <= 0.6382 <= high  # Phi(0.5 / sqrt(2))
    assert 0.91 <= met / 400 <= 0.98


def test_likely_but_absent_by_hand():
    # unique people: (1, 1), absent with two rows that differ in one column; (2, 2), absent with one; (4, 4), there.
    # nobody's: (1, 2) twice, each there without the other; (3, 1), once, and two rows differ from it in one column
    real, others = {"a": [1, 2, 9, 9], "b": [1, 2, 9, 9]}, {"a": [4], "b": [4]}
    drawn = {"a": [1, 1, 3, 4, 3], "b": [2, 2, 1, 4, 1]}
    found = likely_but_absent(real, drawn, hold_out=others)
    assert found.details["people"] == 3
    assert found.details["absent"] == {"people": 2 / 3, "nobodys": 0}
    assert found.value == (1 + 1 + 0.5) / 3
    once = likely_but_absent(real, {"a": [1, 1, 3, 4], "b": [2, 2, 1, 4]}, hold_out=others)
    assert once.details["absent"] == {"people": 2 / 3, "nobodys": 1 / 3}
    # (1, 1): 3 near, above all; (2, 2): 2 near, above (3, 1), which has none; (4, 4): below (3, 1)
    assert once.value == pytest.approx((1 + 1 + (0.5 + 0.5 + 0) / 3) / 3)
    assert likely_but_absent(real, real).details["nobodys"] == 0
    assert math.isnan(likely_but_absent(real, real).value)


@settings(max_examples=examples(300))
@given(*[st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12)] * 3)
def test_likely_but_absent_equals_plain_counts(real, drawn, others):
    everybody, made = Counter(real + others), Counter(drawn)

    def near(row):
        return sum(sum(a != b for a, b in zip(row, one, strict=True)) == 1 for one in drawn)

    people = [-1 if row in made else near(row) for row, n in everybody.items() if n == 1]
    nobodys = [-1 if made[row] > 1 else near(row) for row in drawn if row not in everybody]
    tables = [pl.DataFrame(rows, schema=["a", "b", "c"], orient="row") for rows in (real, drawn, others)]
    found = likely_but_absent(tables[0], tables[1], hold_out=tables[2])
    if not people or not nobodys:
        assert math.isnan(found.value)
        return
    wins = [(a > b) + (a == b) / 2 for a in people for b in nobodys]
    assert found.value == pytest.approx(np.mean(wins))
    assert found.interval[0] <= found.value <= found.interval[1]


def test_people_who_were_kept_away_are_told_by_their_absence():
    """Of a table of two columns a hundred rows are drawn per row: whatever is absent then is a person's."""
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"age": rng.integers(20, 60, 400), "ward": rng.integers(0, 10, 400)})
    drawn = pl.DataFrame({"age": rng.integers(20, 60, 60_000), "ward": rng.integers(0, 10, 60_000)})
    real, others = rows[:360], rows[360:]
    away = drawn.filter(~pl.Series(repeats(rows, drawn)))
    found = likely_but_absent(real, away, hold_out=others)
    assert (found.value, found.interval[0] > 0.95) == (1, True)
    assert found.details["absent"] == {"people": 1, "nobodys": 0}
    notes = synthetic_summary(real, away, hold_out=others, parts=["disclosure"])["notes"]
    assert HOLES in notes
    for some in (drawn, drawn[:600]):  # nobody was kept away
        found = likely_but_absent(real, some, hold_out=others)
        assert found.interval[0] <= 0.5 <= found.interval[1]
        assert HOLES not in synthetic_summary(real, some, hold_out=others, parts=["disclosure"])["notes"]


SYNTHETIC = {name: variant for name, variant in RISKS.items() if "synthetic" in variant.example}
EDGES = {
    "constant": ({"a": [1] * 4, "b": ["x"] * 4}, {"a": [1] * 9, "b": ["x"] * 9}, {"a": [1] * 2, "b": ["x"] * 2}),
    "missing": ({"a": [None, None], "b": [None, math.nan]}, {"a": [None], "b": [None]}, {"a": [""], "b": [1.0]}),
    "one row": ({"a": [1], "b": ["secret"]}, {"a": [2], "b": ["secret"]}, {"a": [3], "b": ["z"]}),
    "more drawn": ({"a": [1, 2], "b": ["x", "y"]}, {"a": [1, 2] * 20, "b": ["x"] * 40}, {"a": [2], "b": ["y"]}),
    "other types": ({"a": [1, 2], "b": ["1", "2"]}, {"a": ["1.0", "x"], "b": [1.5, 2]}, {"a": [1.5], "b": ["x"]}),
    "dates": (
        {"a": [date(2020, 1, 1), None], "b": [True, False]},
        {"a": ["2020-01-01", "never"], "b": [1, 0]},
        {"a": [date(2021, 1, 1)], "b": ["true"]},
    ),
    "huge": (
        {"a": [1e308, -1e308], "b": [2**62, 1]},
        {"a": [math.inf, 0.0], "b": [-(2**62), 1]},
        {"a": [1.0], "b": [7]},
    ),
}


@pytest.mark.parametrize("tables", list(EDGES.values()), ids=list(EDGES))
@pytest.mark.parametrize("name", list(SYNTHETIC))
def test_edges(name, tables):
    make, example = SYNTHETIC[name].make, SYNTHETIC[name].example
    asked = {key: {"quasi": ["a"], "target": "b"}[key] for key in ("quasi", "target") if key in example}
    found = make(tables[0], tables[1], hold_out=tables[2], **asked)
    assert (found.name, found.range) == (name, (0.0, 1.0))
    assert math.isnan(found.value) or 0 <= found.value <= 1
    assert found.baseline is not None
    assert found.interval is None or found.interval[0] <= found.value <= found.interval[1]
    assert found.sentence.endswith(".")
    assert "secret" not in found.sentence
    json.dumps(found.to_dict(), allow_nan=False)
    again = make(tables_of(*tables), **asked)
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize("name", list(SYNTHETIC))
def test_columns_that_are_not_there(name):
    asked = {"quasi": ["a"]} if "quasi" in SYNTHETIC[name].example else {"columns": ["a"]}
    asked |= {"target": "b"} if "target" in SYNTHETIC[name].example else {}
    with pytest.raises(ColumnError, match="the synthetic table"):
        SYNTHETIC[name].make({"a": [1], "b": [1]}, {"b": [1]}, hold_out={"a": [1], "b": [1]}, **asked)


def test_questions_that_have_no_answer():
    with pytest.raises(PolicyError, match="no quasi-identifying"):
        replicated_uniques(REAL, DRAWN)
    with pytest.raises(PolicyError, match="target"):
        disco(REAL, DRAWN, ["age"])
    with pytest.raises(PolicyError, match="none of the keys"):
        disco(REAL, DRAWN, ["age"], "age")
    with pytest.raises(ColumnError, match="ail"):
        disco(REAL, DRAWN, ["age"], "ail")


ROWS = st.lists(st.tuples(st.sampled_from([0, 1, 4, None]), st.sampled_from(["x", "y", None])), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=40)
@example([(1, "y")], [(0, None), (None, "x")], [(1, "x")])  # real rows that all have one number
@given(ROWS, ROWS, ROWS)
def test_equal_to_plain_counts(real, drawn, others):
    schema = {"n": pl.Int64, "c": pl.String}
    tables = [pl.DataFrame(rows, schema=schema, orient="row") for rows in (real, drawn, others)]
    keys, targets = [row[0] for row in real], {}
    for n, c in drawn:
        targets.setdefault(n, set()).add(c)
    once = [k for k in keys if keys.count(k) == 1 and [n for n, _ in drawn].count(k) == 1]
    assert replicated_uniques(*tables[:2], ["n"]).value == len(once) / len(real)
    assert disco(*tables[:2], ["n"], "c").value == sum(targets.get(n) == {c} for n, c in real) / len(real)

    known = [n for n, _ in real + others if n is not None]
    span = (max(known) - min(known) if known else 0) or 1.0

    def place(n):
        return 0.5 if n is None else min(max((n - min(known, default=0)) / span, -1), 2)

    def far(one, other):
        blank = (one[0] is None) != (other[0] is None)
        return ((1 if blank else abs(place(one[0]) - place(other[0]))) + (one[1] != other[1])) / 2

    def nearest(row, rows):
        distances = [far(row, other) for other in rows]
        return min(distances), sum(d <= min(distances) + 1e-12 for d in distances)

    credit = []
    for row in drawn:
        (near, ties), (away, tied) = nearest(row, real), nearest(row, others)
        credit.append(ties / (ties + tied) if abs(near - away) < 1e-12 else float(near < away))
    assert nearest_record(tables[0], tables[1], hold_out=tables[2]).value == pytest.approx(np.mean(credit))
    mine, theirs = ([nearest(row, drawn)[0] for row in rows] for rows in (real, others))
    pairs = [1.0 if b - a > 1e-12 else 0.5 if abs(a - b) <= 1e-12 else 0.0 for a in mine for b in theirs]
    assert synthetic_membership(tables[0], tables[1], hold_out=tables[2]).value == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("seed", range(3 * FUZZ))
def test_distances_that_rounding_tells_apart_are_ties(seed):
    rng = np.random.default_rng(seed)
    real, drawn, others = (rng.integers(0, 11, (rows, 7)) for rows in (60, 40, 50))
    tables = [{f"c{i}": table[:, i] for i in range(7)} for table in (real, drawn, others)]
    both = np.vstack([real, others])
    span = [Fraction(int(high - low)) for low, high in zip(both.min(0), both.max(0), strict=True)]

    def nearest(row):
        return min(sum(abs(int(a) - int(b)) / s for a, b, s in zip(row, one, span, strict=True)) for one in drawn)

    mine, theirs = [nearest(row) for row in real], [nearest(row) for row in others]
    wins = sum(Fraction(1 + (a < b) - (a > b), 2) for a in mine for b in theirs)
    found = synthetic_membership(tables[0], tables[1], hold_out=tables[2]).value
    assert found == pytest.approx(float(wins / (len(mine) * len(theirs))), abs=1e-12)


def test_a_missing_number_is_as_far_from_every_number():
    real, others = {"x": [0.0, 10.0]}, {"x": [5.0, 4.9]}
    assert synthetic_membership(real, {"x": [None] * 2}, hold_out=others).value == 0.5
    assert nearest_record(real, {"x": [None] * 2}, hold_out=others).details["distance"] == {
        "original": 1,
        "hold_out": 1,
    }


def test_tables_show_no_row():
    tables = tables_of({"a": ["secret"]}, {"a": ["secret"]}, {"a": ["secret"]})
    assert (
        "secret"
        not in f"{tables!r} {tables.column('a')!r} {MODULE.Space.of(tables)!r} {source_of({'a': ['secret']})!r}"
    )
    assert "'a'" in repr(tables)


MODULE = sys.modules["sfumato.measures.risk.nearest_record"]


def test_a_sample_is_stated_and_repeats(monkeypatch):
    rng = np.random.default_rng(0)
    real, drawn, others = ({"a": rng.normal(size=300), "b": rng.normal(size=300)} for _ in range(3))
    whole = nearest_record(real, drawn, hold_out=others)
    assert whole.details["looked_at"] == 300
    monkeypatch.setattr(MODULE, "MOST", 100)
    some = nearest_record(real, drawn, hold_out=others, seed=1)
    assert some.details["looked_at"] == 100
    assert "100 of 300 synthetic rows were looked at" in some.sentence
    assert some == nearest_record(real, drawn, hold_out=others, seed=1)
    assert some.value != nearest_record(real, drawn, hold_out=others, seed=2).value
    assert synthetic_membership(real, drawn, hold_out=others).details["rows"] == {"original": 100, "hold_out": 100}
    monkeypatch.setattr(MODULE, "WORK", 1)
    monkeypatch.setattr(MODULE, "FEWEST", 10)
    assert nearest_record(real, drawn, hold_out=others).details["looked_at"] == 10


NAMES = ["age", "workclass", "weight", "education", "years", "marital", "occupation", "relationship", "race", "sex"]
NAMES += ["gain", "loss", "hours", "country", "income"]
KEYS = ["age", "education", "marital", "race", "sex", "country"]


@pytest.fixture(scope="module")
def adult(shared: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that a model may see, and the hold-out: rows without "?", split as the figures of the docs are."""
    text = pl.read_csv(shared / "data/adult/adult.data", has_header=False, new_columns=NAMES, infer_schema=False)
    rows = text.select(pl.all().str.strip_chars()).drop_nulls().filter(~pl.any_horizontal(pl.all() == "?"))
    rows = rows.drop("weight")
    rows = rows[np.random.default_rng(20261115).permutation(rows.height)]
    return rows[:22_621], rows[22_621:]


@pytest.mark.slow
def test_copies_of_adult_fail_every_measure(adult):
    real, others = adult
    copies = real.sample(real.height, with_replacement=True, seed=1)
    tables = tables_of(real, copies, others)
    copied = copied_uniques(tables)
    assert copied.details["unique"] == 19_325
    assert (copied.value > 0.6, copied.baseline < 0.13) == (True, True)
    assert copied.details["hold_out"]["new"]["count"] == 0
    unique = replicated_uniques(tables, quasi=KEYS)
    assert (unique.value > 0.05, unique.baseline) == (True, 0)
    told = disco(tables, quasi=KEYS, target="occupation")
    assert told.value > 4 * told.baseline
    near = nearest_record(tables)
    assert near.baseline == pytest.approx(0.75, abs=1e-4)
    assert near.interval[0] > 0.95
    assert near.details["looked_at"] == 22_621
    assert synthetic_membership(tables).interval[0] > 0.75
    assert repeats(real, copies).mean() > 0.8


@pytest.mark.slow
def test_other_people_of_adult_stay_at_the_chance_level(adult):
    real, others = adult
    tables = tables_of(real, others[::2], others[1::2])
    copied = copied_uniques(tables)
    chance = copied.details["hold_out"]["new"]["interval"]
    assert chance[0] <= copied.value <= chance[1]
    assert copied.value < copied.baseline
    assert copied_uniques(real, others).value == pytest.approx(0.030, abs=5e-4)
    for measure in (nearest_record, synthetic_membership, likely_but_absent):
        found = measure(tables)
        assert found.interval[0] <= found.baseline <= found.interval[1], measure
    for measure, asked in ((replicated_uniques, {}), (disco, {"target": "occupation"})):
        found = measure(tables, quasi=KEYS, **asked)
        assert abs(found.value - found.baseline) < 0.01, measure


def test_what_was_taken_away_betrays_adult(adult):
    # of four columns many people share a row; those who are alone are missed the more, the more rows are drawn
    real, others = (table.select("age", "education", "marital", "sex") for table in adult)
    everybody = pl.concat([real, others])
    areas = []
    for times in (1, 20):
        drawn = everybody.sample(times * real.height, with_replacement=True, seed=2)
        columns = [column.shuffle(seed=1) if column.name == "age" else column for column in drawn.iter_columns()]
        drawn = pl.DataFrame(columns)
        kept = likely_but_absent(real, drawn, hold_out=others)
        areas.append(likely_but_absent(real, drawn.filter(~pl.Series(repeats(everybody, drawn))), hold_out=others))
        assert areas[-1].value > kept.value + 0.1
    assert areas[1].value > areas[0].value
    assert areas[1].details["absent"]["people"] == 1


@pytest.mark.slow
def test_many_rows_are_compared_by_a_sample(adult):
    real, drawn = (adult[0].sample(200_000, with_replacement=True, seed=seed) for seed in (1, 2))
    noise = np.random.default_rng(0).integers(0, 90, (2, 200_000)).astype(str)
    real, drawn = real.with_columns(hours=noise[0]), drawn.with_columns(hours=noise[1])
    tables = tables_of(real, drawn, adult[1])
    assert nearest_record(tables).details["looked_at"] == 25_000
    assert copied_uniques(tables).details["unique"] > 0
    assert synthetic_membership(tables).details["rows"] == {"original": 25_000, "hold_out": 7_541}
