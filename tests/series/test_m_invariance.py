"""m-invariant groups: by hand, by all worlds, and by chance."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.label_grammar import read_range
from sfumato.errors import BrokenPromise, ColumnError, EmptyTable, Infeasible
from sfumato.series import release as making
from sfumato.series.kernels import take_signatures
from sfumato.series.m_invariance import Signatures, eligible, groups_of
from sfumato.series.release import next_release
from sfumato.series.state import Secret
from tests.fuzz import FUZZ, examples
from tests.series.worlds import shares, shares_by_labels

SECRET = Secret(b"a key that nobody else has")


class Series:
    """Releases of one table after another, and what the strongest attacker knows of each: everybody's group."""

    def __init__(self, m, **options):
        self.m, self.options = m, options
        self.state, self.history, self.published, self.turnovers, self.shown = None, [], [], [], {}
        self.by_labels = []

    def publish(self, people, seed=None):
        """The next release of a table: person to (age, value)."""
        frame = pl.DataFrame(
            {"id": list(people), "age": [a for a, _ in people.values()], "disease": [v for _, v in people.values()]}
        )
        made, self.state, turnover = next_release(
            frame, "id", ["age"], "disease", self.m, self.state, SECRET, seed=seed, **self.options
        )
        self.published.append(made.tables)
        self.turnovers.append(turnover)
        self.learn(people)
        return made.tables

    def learn(self, people):
        """Who is in which group, with the values it publishes."""
        data = self.published[-1]["data"]
        values = {group: frozenset(of) for group, of in data.group_by("group").agg("disease").iter_rows()}
        number = self.state.number
        hashes = SECRET.people(pl.Series(list(people)))
        known = hashes.with_columns(person=pl.Series(list(people))).join(self.state.people, on=["low", "high"])
        of = {p: g for p, g, last in known.select("person", "group", "last").iter_rows() if last == number}
        for group, signature in values.items():
            self.history.append((frozenset(p for p, g in of.items() if g == group), signature))
        labels = dict(data.select("group", "age").unique().iter_rows())
        counterfeits = dict(self.published[-1]["counterfeits"].iter_rows())
        covers = {p: [g for g, label in labels.items() if _covers(label, people[p][0])] for p in of}
        room = {g: len(signature) - counterfeits[g] for g, signature in values.items()}
        self.by_labels.append((covers, room, values))
        self.shown |= {p: people[p][1] for p in of if p not in self.shown}

    def worst(self):
        """The greatest share of a value of anybody."""
        return max(share for of in shares(self.history).values() for share in of.values())

    def check(self):
        """Every release alone is m-unique, nobody's signature changes, nobody's value is likelier than 1/m."""
        for tables in self.published:
            by = (
                tables["data"]
                .group_by("group")
                .agg(rows=pl.len(), values=pl.col("disease").n_unique(), labels=pl.col("age").n_unique())
            )
            assert (by["rows"] >= self.m).all()
            assert (by["rows"] == by["values"]).all()
            assert (by["labels"] == 1).all()
            both = by.join(tables["counterfeits"], on="group", how="full")
            assert both.null_count().sum_horizontal().sum() == 0
            assert (both["counterfeits"] < both["rows"]).all()
        found = shares(self.history)
        assert set(found) == set(self.shown)
        for person, of in found.items():
            assert self.shown[person] in of  # what is so, is possible
            assert len(of) >= self.m
            assert max(of.values()) <= Fraction(1, self.m)


def _covers(label, age):
    found = read_range(label)
    return int(label) == age if found is None else float(found.low) <= age <= float(found.high)


FIRST = {"Ann": (30, "flu"), "Bob": (32, "ulcer")}


def test_ann_stays_under_her_signature_when_bob_leaves_and_cid_arrives():
    series = Series(2)
    series.publish(FIRST)
    tables = series.publish({"Ann": (30, "flu"), "Cid": (41, "cold")})
    series.check()
    of_ann = tables["data"].filter(pl.col("age") == "[30, 34]")  # her own age is nowhere
    assert sorted(of_ann["disease"]) == ["flu", "ulcer"]  # one of them stands for nobody
    counts = dict(tables["counterfeits"].iter_rows())
    assert counts[of_ann["group"][0]] == 1
    assert shares(series.history)["Ann"] == {"flu": Fraction(1, 2), "ulcer": Fraction(1, 2)}


def test_the_naive_release_tells_that_ann_has_the_flu():
    naive = [
        (frozenset({"Ann", "Bob"}), frozenset({"flu", "ulcer"})),
        (frozenset({"Ann", "Cid"}), frozenset({"flu", "cold"})),
    ]
    assert shares(naive)["Ann"] == {"flu": 1}


def test_a_counterfeit_that_is_left_out_or_put_elsewhere_is_found():
    series = Series(2)
    series.publish(FIRST)
    series.publish({"Ann": (30, "flu"), "Cid": (40, "cold")})
    without = [(who, values - {"ulcer"} if who == {"Ann"} else values) for who, values in series.history]
    assert shares(without)["Ann"] == {"flu": 1}
    elsewhere = [(who, {"flu", "cold"} if who == {"Ann"} else values) for who, values in series.history]
    assert shares([(who, frozenset(of)) for who, of in elsewhere])["Ann"] == {"flu": 1}


def test_arriving_people_never_take_the_place_of_counterfeits():
    """Else the counterfeit beside Ann would be an ulcer: an arrival with flu is there, and was not put beside her."""
    of_ann = []
    for value in ("flu", "ulcer"):  # whichever Ann has, and Bob the other one
        other = "ulcer" if value == "flu" else "flu"
        series = Series(2)
        series.publish({"Ann": (30, value), "Bob": (32, other)}, seed=1)
        tables = series.publish({"Ann": (30, value), "Eve": (60, "flu"), "Fay": (61, "cold")}, seed=1)
        series.check()
        of_ann.append(tables["data"].filter(pl.col("age") == "[30, 34]")["disease"].to_list())
        assert sorted(tables["counterfeits"]["counterfeits"]) == [0, 1]
    assert of_ann == [["flu", "ulcer"]] * 2


def test_who_leaves_and_returns_stands_under_the_same_signature():
    series = Series(2)
    series.publish(FIRST | {"Cid": (60, "cold"), "Dan": (61, "flu")})
    series.publish({"Ann": (30, "flu"), "Eve": (31, "cold")})
    series.publish(FIRST | {"Cid": (60, "cold")})
    series.check()
    assert (series.turnovers[-1].returned, series.turnovers[-1].stayed, series.turnovers[-1].left) == (2, 1, 1)


@pytest.mark.parametrize(("changed", "rows"), [("keep", 2), ("leave", 1)])
def test_a_value_that_changed(changed, rows):
    series = Series(2, changed=changed)
    series.publish(FIRST)
    tables = series.publish({"Ann": (30, "cold"), "Bob": (32, "ulcer")})
    series.check()
    assert series.turnovers[-1].changed == 1
    assert series.turnovers[-1].people == rows
    assert "cold" not in tables["data"]["disease"]


def test_nobody_is_left_where_all_values_changed():
    series = Series(2, changed="leave")
    series.publish(FIRST)
    with pytest.raises(EmptyTable, match="nobody is left"):
        series.publish({"Ann": (30, "ulcer"), "Bob": (32, "flu")})


def test_counterfeits_may_have_values_that_nobody_has():
    series = Series(3, values=["gout"])
    with pytest.raises(Infeasible, match="too frequent"):
        series.publish(FIRST)
    series = Series(2, values=["gout", "gout"])
    series.publish(FIRST)
    assert sorted(series.state.values) == ["flu", "gout", "ulcer"]


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("seed", range(6 * FUZZ))
def test_all_worlds_of_small_tables(m, seed):
    """Up to 8 people over three releases, with everybody's group known and with labels alone."""
    rng = np.random.default_rng(seed)
    values, everybody = "abcd", "ABCDEFGH"
    of = {p: (int(rng.integers(20, 60)), values[i % 4]) for i, p in enumerate(everybody)}
    series = Series(m)
    series.publish({p: of[p] for p in everybody[:4]})
    for _ in range(2):
        there = [p for p in everybody if rng.random() < 0.6] or ["A"]
        series.publish({p: of[p] for p in there})
        series.check()
    if sum(len(covers) for covers, _, _ in series.by_labels) <= 13:
        assert max(shares_by_labels(series.by_labels).values()) <= Fraction(1, m)


PERSON = st.sampled_from("ABCDEFGHIJKL")


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(
    m=st.sampled_from([2, 3]),
    of=st.lists(st.sampled_from("uvwxyz"), min_size=12, max_size=12),
    steps=st.lists(st.tuples(st.sampled_from(["in", "out", "change"]), PERSON), min_size=1, max_size=12),
    together=st.integers(1, 4),
    changed=st.sampled_from(["keep", "leave"]),
)
def test_nobody_is_pinned_after_any_prefix(m, of, steps, together, changed):
    """Insertions, deletions, changes and returns, some at a time."""
    value = dict(zip("ABCDEFGHIJKL", of, strict=True))
    there = ["A", "B", "C"]
    value |= dict(zip(there, "uvw", strict=True))
    age = {p: 20 + 3 * i for i, p in enumerate(value)}
    series = Series(m, changed=changed)
    series.publish({p: (age[p], value[p]) for p in there})
    for i, (what, person) in enumerate(steps):
        if what == "in" and person not in there:
            there.append(person)
        elif what == "out" and person in there and len(there) > 1:
            there.remove(person)
        elif what == "change":
            value[person] = "uvwxyz"[("uvwxyz".index(value[person]) + 1) % 6]
        if i % together == 0:
            try:
                series.publish({p: (age[p], value[p]) for p in there})
            except EmptyTable:
                assert changed == "leave"
                return
            series.check()


@settings(max_examples=examples(200), deadline=None)
@given(counts=st.lists(st.integers(0, 6), min_size=2, max_size=8), m=st.integers(2, 5))
def test_signatures_take_all_rows_of_an_eligible_table(counts, m):
    counts = np.array(counts)
    if not eligible(counts, m):
        return
    start, taken, often = take_signatures(counts, np.arange(len(counts)), m)
    size = np.diff(start)
    assert (size >= m).all()
    assert (often >= 1).all()
    assert (np.bincount(taken, weights=np.repeat(often, size), minlength=len(counts)) == counts).all()
    for low, high in pairwise(start):
        assert len(set(taken[low:high])) == high - low


def test_seven_rows_of_which_four_are_alike_make_no_groups_of_two():
    assert not eligible(np.array([4, 2, 1]), 2)
    assert eligible(np.array([3, 2, 1]), 2)


def test_a_value_too_frequent_among_arrivals_stands_under_one_signature():
    value = np.array([0, 0, 0, 1])  # the groups would differ if each were filled by itself: 0 is common to all
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = groups_of(np.zeros((4, 1)), value, np.full(4, -1), Signatures.none(), 3, 2, rng)
        assert len({frozenset(found.value[found.group == g].tolist()) for g in range(3)}) == 1
        assert found.counterfeits.sum() == len(found.value) - 4
        assert (found.counterfeits <= 2).all()


@pytest.mark.slow
@pytest.mark.parametrize(("m", "values", "arrivals"), [(2, 3, 3), (2, 4, 2), (3, 4, 2)])
def test_who_knows_how_groups_are_made_learns_the_signature_and_no_more(m, values, arrivals):
    """All worlds, with the chance of each to be published as it is: people who were there before have a value of their
    signature, 0 to m - 1, and others any. The attacker knows everybody's group and how many counterfeits it has."""
    times, people = 40, 2 + arrivals
    before = Signatures(np.array([0, m]), np.arange(m))
    had = np.array([0, 0] + [-1] * arrivals)
    points = np.zeros((people, 1))
    often: dict[tuple, Counter] = {}
    for world in product(*[range(m)] * 2, *[range(values)] * arrivals):
        for seed in range(times):
            rng = np.random.default_rng([seed, *world])
            found = groups_of(points, np.array(world), had, before, values, m, rng)
            seen = frozenset(
                (frozenset(found.row[g][found.row[g] >= 0].tolist()), frozenset(found.value[g].tolist()), g.sum())
                for g in (found.group == n for n in range(len(found.start)))
            )
            often.setdefault(seen, Counter()).update(enumerate(world))
    for seen, of in often.items():
        total = sum(of.values()) / people
        if total < 100:
            continue
        for (_, _), many in of.items():
            assert many / total <= 1 / m + 4 * (total * m) ** -0.5, (seen, of)


def test_equal_sets_are_one_signature():
    one = Signatures(np.array([0, 2]), np.array([1, 4]))
    every, number = one.joined(Signatures(np.array([0, 2, 5, 7]), np.array([4, 1, 3, 2, 0, 2, 3])))
    assert number.tolist() == [0, 1, 2]
    assert every.values.tolist() == [1, 4, 0, 2, 3, 2, 3]
    assert every.slots(np.array([0, 1, 2]), np.array([4, 3, 0])).tolist() == [1, 4, -1]


def test_groups_are_neighbours():
    """Two clusters far from each other, both with both values: no group has people of both."""
    ages = np.array([20, 21, 22, 23, 70, 71, 72, 73])
    points = (ages / 100)[:, None]
    value = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    found = groups_of(points, value, np.full(8, -1), Signatures.none(), 2, 2, np.random.default_rng(3))
    for group in range(4):
        assert np.ptp(ages[found.row[found.group == group]]) <= 3


def test_the_order_of_rows_makes_no_difference():
    people = {f"p{i}": (20 + i * 7 % 40, "abc"[i % 3]) for i in range(30)}
    one, other = Series(3), Series(3)
    first = one.publish(people, seed=5)
    again = other.publish(dict(reversed(people.items())), seed=5)
    assert first["data"].equals(again["data"])
    assert first["counterfeits"].equals(again["counterfeits"])
    assert not one.publish(people)["data"].equals(other.publish(people)["data"])  # without a seed by chance


def test_a_row_in_the_wrong_group_is_never_released(monkeypatch):
    """A fault planted in the split: a unit of another value comes into a group."""
    sound = making.groups_of

    def faulty(*given):
        found = sound(*given)
        found.value[:2] = found.value[0]
        return found

    monkeypatch.setattr(making, "groups_of", faulty)
    with pytest.raises(BrokenPromise, match="not m-invariant"):
        Series(2).publish(FIRST)


def test_a_signature_that_changes_is_never_released(monkeypatch):
    series = Series(2)
    series.publish(FIRST)
    sound = making.groups_of

    def forgets(points, value, signature, *given):
        return sound(points, value, np.full_like(signature, -1), *given)

    monkeypatch.setattr(making, "groups_of", forgets)
    with pytest.raises(BrokenPromise):
        series.publish({"Ann": (30, "flu"), "Cid": (60, "cold")})


def test_ends_are_not_the_values_of_few_people():
    ages = np.random.default_rng(1).integers(18, 90, 400)
    born = pl.date_range(pl.date(1950, 1, 1), pl.date(1950, 1, 1) + pl.duration(days=399), eager=True)
    frame = pl.DataFrame(
        {"id": range(400), "age": ages, "paid": ages / 7, "born": born, "disease": ["a", "b", "c", "d"] * 100}
    )
    made, _, _ = next_release(frame, "id", ["age", "paid", "born"], "disease", 2, None, SECRET)
    for name in ("age", "paid", "born"):
        rare = {str(v) for v, often in frame[name].value_counts().iter_rows() if often < 2}
        for label in made.tables["data"][name].unique():
            ends = read_range(label)
            found = [ends.low, ends.high] if ends else [label]
            assert name == "born" or not rare & set(found)
    assert {label[8:11] for label in made.tables["data"]["born"]} <= {f"-{day:02}" for day in range(1, 31, 5)}


def _frame(**columns):
    return pl.DataFrame({"id": ["a", "b", "c"], "age": [1, 2, 3], "disease": ["x", "y", "z"]} | columns)


@pytest.mark.parametrize(
    ("frame", "error", "match"),
    [
        (_frame(id=["a", "b", None]), ColumnError, '1 row of "id" name nobody'),
        (_frame(id=["a", "b", "a"]), ColumnError, "has a row already"),
        (_frame(disease=["x", "", "z"]), ColumnError, "no value"),
        (_frame(disease=["x", "x", "z"]), Infeasible, "too frequent"),
        (_frame(disease=["x", "x", "x"]), Infeasible, "cannot be made"),
        (_frame().clear(), EmptyTable, "no rows"),
    ],
)
def test_tables_that_cannot_be_published(frame, error, match):
    with pytest.raises(error, match=match) as caught:
        next_release(frame, "id", ["age"], "disease", 2, None, SECRET)
    assert not any(f'"{value}"' in str(caught.value) for value in ("a", "b", "x"))


def test_no_smaller_m_than_two_is_advised():
    with pytest.raises(Infeasible, match="too frequent") as caught:
        next_release(_frame(disease=["x", "x", "z"]), "id", ["age"], "disease", 2, None, SECRET)
    assert "at most 1" not in str(caught.value)


def test_ids_of_another_kind_are_refused_for_nobody_would_be_known_again():
    frame = _frame(id=[1, 2, 3])
    _, state, _ = next_release(frame, "id", ["age"], "disease", 2, None, SECRET)
    for ids in ([1.0, 2.0, 3.0], ["1", "2", "3"]):
        with pytest.raises(ColumnError, match="another kind"):
            next_release(frame.with_columns(id=pl.Series(ids)), "id", ["age"], "disease", 2, state, SECRET)


def test_one_value_too_frequent_among_many_that_might_be():
    value = np.full(100_000, 7)
    nobody = np.full(len(value), -1)
    points, rng = np.zeros((len(value), 1)), np.random.default_rng(1)
    found = groups_of(points, value, nobody, Signatures.none(), 2000, 3, rng)
    assert (found.counterfeits == 2).all()
    assert len(np.unique(found.value)) == 3


def test_a_column_called_group_is_refused():
    with pytest.raises(ColumnError, match="group"):
        next_release(_frame().rename({"age": "group"}), "id", ["group"], "disease", 2, None, SECRET)


def test_hierarchies_print_the_lowest_node_above_a_group():
    from sfumato.hierarchies import tree

    region = tree({"a": "north", "b": "north", "c": "south", "d": "south", "north": "*", "south": "*"})
    frame = pl.DataFrame({"id": range(4), "place": ["a", "b", "c", "d"], "disease": ["x", "y", "x", "y"]})
    made, _, _ = next_release(frame, "id", ["place"], "disease", 2, None, SECRET, recipes={"place": region})
    assert sorted(made.tables["data"]["place"].to_list()) == ["north", "north", "south", "south"]
