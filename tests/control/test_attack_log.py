"""Attacks on a log: the spec's examples, brute force with fractions, planted queries, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.control import LoggedQuery, QueryLog
from sfumato.control.attacks.evidence import LogEvidence, classes_of
from sfumato.control.attacks.regression import leverages
from sfumato.control.attacks.row_space import SumSpace, unit
from sfumato.errors import ColumnError, EmptyTable, PolicyError, ReadError
from tests.fuzz import FUZZ

from .attack_logs import PATIENTS, ask_all, database, sums


def general(c: str, t: str) -> list[str]:
    """The queries of a general tracker, and the one that it is for."""
    return [f"count where {where}" for where in (c, t, f"not {t}", f"{c} or {t}", f"({c}) or not {t}")]


def spans(matrix: Sequence[Sequence[int]], wanted: Sequence[int]) -> bool:
    """Whether a vector is in the row space, by elimination with fractions."""
    rows = [[Fraction(value) for value in row] for row in matrix]
    left = [Fraction(value) for value in wanted]
    done: list[list[Fraction]] = []
    for row in [*rows, left]:
        for other in done:
            pivot = next(i for i, value in enumerate(other) if value)
            row = [value - row[pivot] / other[pivot] * by for value, by in zip(row, other, strict=True)]
        if not any(row):
            last = True
        else:
            last = False
            done.append(row)
    return last


@pytest.mark.parametrize("seed", range(3 * FUZZ))
def test_what_is_determined_is_what_fractions_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        queries, people = int(rng.integers(1, 8)), int(rng.integers(1, 8))
        matrix = (rng.random((queries, people)) < rng.uniform(0.2, 0.8)).astype(int) - (rng.random() < 0.3)
        space = SumSpace(matrix)
        found = space.determined().tolist()
        brute = [i for i in range(people) if spans(matrix.tolist(), unit(i, people).tolist())]
        assert found == brute
        for i in brute:
            combination = space.combination(unit(i, people))
            assert combination is not None
            assert combination.weights is not None
            total = [
                sum(w * int(matrix[q, j]) for q, w in zip(combination.answers, combination.weights, strict=True))
                for j in range(people)
            ]
            assert total == unit(i, people).tolist()


def test_fractions_too_long_to_read_are_left_to_both_primes() -> None:
    matrix = (np.random.default_rng(0).random((70, 60)) < 0.5).astype(int)
    space = SumSpace(matrix)
    assert space.rank == 60
    assert space.determined().tolist() == list(range(60))
    found = space.combination(unit(3, 60))
    assert found is not None
    assert found.weights is None


def test_classes_are_those_of_equal_membership() -> None:
    rng = np.random.default_rng(1)
    sets = [np.flatnonzero(rng.random(30) < 0.4) for _ in range(4)]
    found = classes_of(30, sets)
    member = np.array([[i in chosen for chosen in sets] for i in range(30)])
    same = (member[:, None, :] == member[None, :, :]).all(axis=2)
    assert ((found[:, None] == found[None, :]) == same).all()


def test_the_tracker_of_the_spec() -> None:
    owner = database(PATIENTS, sf.QuerySetSize(3))
    told = ask_all(owner, [*general("sex = F and age = 29", "sex = F")])
    assert told == [None, 4, 6, 4, 7]
    assert 4 + 7 - 4 - 6 == 1  # there is one
    told = ask_all(owner, general("sex = F and age = 29 and ill = yes", "sex = F"))
    assert told == [None, 4, 6, 4, 7]  # and she is ill
    found = sf.attack_queries(owner)
    for name in ("general-tracker", "union-tracker", "individual-tracker"):
        assert found[name]["success"] == 1
        assert found[name]["exposed"] == [0]
    assert {one["refused"] for one in found["general-tracker"]["details"]["told"]} == {1, 6}
    with_table = sf.attack_queries(owner, PATIENTS, sensitive=["ill"])
    assert with_table["linear-system"]["exposed"] == [0]
    assert with_table["intervals"]["exposed"] == [0]


def test_a_set_that_is_too_large_is_padded_too() -> None:
    owner = database(PATIENTS, sf.QuerySetSize(3))
    c, t = "sex = F and age = 29", "age > 40"
    queries = [f"count where not ({c})", f"count where {t}", f"count where not {t}"]
    ask_all(owner, [*queries, f"count where {c} or {t}", f"count where ({c}) or not {t}"])
    assert sf.attack_queries(owner)["general-tracker"]["exposed"] == [0]


def test_the_double_tracker() -> None:
    """U holds T; neither all people nor a complement was asked."""
    pay = [float(i) for i in range(12)]
    u, t, c = {0, 1, 2, 3, 4, 5}, {1, 2, 3}, {1, 7}
    log = sums(pay, [u, c | t, t, u - (c & t)])
    refused = LoggedQuery(5, "", "sum pay where c = 1", "sum", "pay", np.array(sorted(c)), None, "too few", 1)
    log = QueryLog(log.people, log.columns, (*log.entries, refused))
    found = sf.attack_queries(log)
    assert found["double-tracker"]["details"]["told"] == [{"refused": 5, "by": [1, 2, 3, 4]}]
    assert found["general-tracker"]["success"] == found["individual-tracker"]["success"] == 0
    assert found["double-tracker"]["exposed"] == []  # two people are in it


def test_sets_that_overlap_in_two_determine_the_third_person() -> None:
    """The spec's {1, 2, 3}, {3, 4, 5} and {1, 2, 4, 5}."""
    log = sums([10, 20, 30, 40, 50], [{0, 1, 2}, {2, 3, 4}, {0, 1, 3, 4}])
    found = sf.attack_queries(log)
    assert found["linear-system"]["exposed"] == [2]
    assert found["linear-system"]["details"]["queries"] == {"2": [1, 2, 3]}
    assert found["differencing"]["exposed"] == []
    assert "30" not in json.dumps([found["linear-system"]["sentence"], found["linear-system"]["details"]])


def test_two_sets_that_differ_in_one() -> None:
    log = sums([5, 6, 7], [{0, 1, 2}, {1, 2}])
    assert sf.attack_queries(log)["differencing"]["details"]["queries"] == {"0": [1, 2]}


def test_a_maximum_that_falls() -> None:
    """max{a, b, c} = 9 and max{a, b} = 7: c has 9; and of equal minima and maxima everybody is told."""
    entries = [
        LoggedQuery(i, "", f"max pay where g = {i}", "max", "pay", np.array(rows), answer, None, 1)
        for i, rows, answer in ((1, [0, 1, 2], 9.0), (2, [0, 1], 7.0))
    ]
    log = QueryLog(5, {"pay": "value"}, tuple(entries))
    assert sf.attack_queries(log)["extremes"]["exposed"] == [2]
    least = LoggedQuery(3, "", "min pay where g = 3", "min", "pay", np.array([0, 1]), 7.0, None, 1)
    assert sf.attack_queries(QueryLog(5, log.columns, (*entries, least)))["extremes"]["exposed"] == [0, 1, 2]


def test_bounds_tell_more_than_equations() -> None:
    """Three people between 0 and 10 with a sum of 30 have 10 each, though no equation determines one."""
    log = sums([10, 10, 10, 3], [{0, 1, 2}, {0, 1, 2, 3}])
    found = sf.attack_queries(log, bounds={"pay": (0, 10)})
    assert found["intervals"]["exposed"] == [0, 1, 2, 3]
    assert found["linear-system"]["exposed"] == [3]
    assert "intervals" in sf.attack_queries(log).skipped


@pytest.mark.parametrize("seed", range(2 * FUZZ))
def test_intervals_of_counts_are_those_of_all_tables(seed: int) -> None:
    """Who is ill follows by intervals only where all 0/1 columns that fit the counts agree."""
    rng = np.random.default_rng(seed)
    people = 6
    ill = rng.random(people) < 0.4
    table = pl.DataFrame({"id": list(range(people)), "ill": ["yes" if one else "no" for one in ill]})
    sets = [np.flatnonzero(rng.random(people) < 0.5).tolist() or [0] for _ in range(3)]
    owner = database(table, sf.QueryOrder(5))
    ask_all(owner, [f"count where id in ({', '.join(map(str, chosen))}) and ill = yes" for chosen in sets])
    fitting = [
        column
        for column in np.ndindex(*[2] * people)
        if all(sum(column[i] for i in chosen) == ill[chosen].sum() for chosen in sets)
    ]
    same = {i for i in range(people) if len({column[i] for column in fitting}) == 1}
    found = sf.attack_queries(owner, table, sensitive=["ill"])
    assert set(found["linear-system"]["details"]["rows"]) <= set(found["intervals"]["details"]["rows"]) <= same


@pytest.mark.parametrize("queries", [4, 12])
def test_the_variance_that_answers_explain_is_that_of_the_projection(queries: int) -> None:
    """Of rows by themselves, with or without classes; more and fewer answers than people."""
    rng = np.random.default_rng(queries)
    sets = [np.flatnonzero(rng.random(9) < 0.5) for _ in range(queries)]
    system = LogEvidence(sums(rng.integers(0, 9, 9), sets)).systems[0]
    member = np.array([np.isin(np.arange(9), chosen) for chosen in sets], float)
    projection = np.diag(np.linalg.pinv(member) @ member)
    of_row = (leverages(system) / system.size)[system.class_of]
    assert np.allclose(np.where(system.class_of >= 0, of_row, 0), projection)


def test_what_is_not_determined_may_be_nearly_known() -> None:
    """All sums of two people in a row: they leave one direction open, of which everybody has an equal part."""
    people = 40
    sets = [{i, i + 1} for i in range(people - 1)]
    found = sf.attack_queries(sums(range(people), sets))
    assert found["linear-system"]["exposed"] == []
    assert found["regression"]["success"] == 1
    assert sf.attack_queries(sums(range(10), sets[:9]))["regression"]["success"] == 0  # a tenth is left of everybody


def test_noise_that_is_drawn_anew_is_averaged_away() -> None:
    rng = np.random.default_rng(3)
    pay = rng.uniform(0, 100, 8)
    sets = [set(range(8)), set(range(1, 8))] * 150
    noisy = sums(pay, sets, rng.uniform(-10, 10, len(sets)))
    table = {"g": list(range(8)), "pay": pay}
    found = sf.attack_queries(noisy, table)
    assert found["averaging"]["exposed"] == [0]
    assert found["averaging"]["details"]["repeated"] == 2
    assert found["linear-system"]["exposed"] == []
    assert found["linear-system"]["details"]["fits"] is False
    fixed = sums(pay, sets, [-10, 10] * 150)  # the same error for the same set: nothing to average
    assert sf.attack_queries(fixed, table).get("averaging", {"exposed": []})["exposed"] == []


def test_a_column_is_rebuilt_from_inexact_counts() -> None:
    """With an error below half the root of n, and not with one far above it. Dinur and Nissim."""
    from sfumato.control.attacks import rebuilt_share

    secret = np.random.default_rng(0).random(100) < 0.5
    assert rebuilt_share(secret, 500, 1.0) > 0.95
    assert rebuilt_share(secret, 500, 100.0) < 0.75


def test_users_alone_and_together() -> None:
    """Neither user has both sets; together they have."""
    owner = database(PATIENTS.with_columns(pay=pl.Series(range(10))), sf.QuerySetSize(2), values=["pay"])
    ask_all(owner, ["sum pay where sex = F"], "ann")
    ask_all(owner, ["sum pay where sex = F and age > 30"], "bob")
    found = sf.attack_queries(owner)["differencing"]
    assert found["exposed"] == [0]
    assert found["details"]["by user"] == {"ann": 0, "bob": 0}


def test_two_snapshots_are_differenced() -> None:
    """Ten people come at once, one of them to the town that is asked about before and after; the others to another."""
    old = pl.DataFrame({"id": range(20), "town": ["a", "b"] * 10, "pay": [float(i) for i in range(20)]})
    town = ["a"] + ["b"] * 9
    new = pl.concat([old.tail(18), pl.DataFrame({"id": range(20, 30), "town": town, "pay": [7.0] * 10})])
    owner = database(old.filter(pl.col("id") > 1), sf.QuerySetSize(3), values=["pay"], person="id")
    ask_all(owner, ["sum pay where town = a"])
    assert owner.update(new)
    ask_all(owner, ["sum pay where town = a"])
    assert owner.log.people == 28
    found = sf.attack_queries(owner)
    assert found["snapshots"]["exposed"] == found["linear-system"]["exposed"] == [18]
    assert found["snapshots"]["details"]["queries"] == {"18": [1, 2]}
    assert found["differencing"]["exposed"] == []
    audited = database(old.filter(pl.col("id") > 1), sf.SumAuditing(), values=["pay"], keys=["town"], person="id")
    ask_all(audited, ["sum pay where town = a"])
    audited.update(new)
    assert ask_all(audited, ["sum pay where town = a"]) == [None]


def test_what_is_audited_apart_is_found_together() -> None:
    """Each user has a past of their own, and neither alone finds anybody."""
    table = PATIENTS.with_columns(pay=pl.Series(range(10)))
    owner = database(table, sf.SumAuditing(), values=["pay"], keys=["sex", "age"], users="apart")
    ask_all(owner, ["sum pay where sex = F", "sum pay where sex = M"], "ann")
    ask_all(owner, ["sum pay where sex = F and age > 30", "sum pay where sex = M"], "bob")
    found = sf.attack_queries(owner, table)["linear-system"]
    assert found["exposed"] == [0]
    assert found["details"]["by user"] == {"ann": 0, "bob": 0}


def test_a_mean_is_a_sum() -> None:
    owner = database(PATIENTS.with_columns(pay=pl.Series(range(10))), sf.QuerySetSize(2), values=["pay"])
    ask_all(owner, ["mean pay where sex = F", "sum pay where sex = F and age > 30"])
    assert sf.attack_queries(owner)["linear-system"]["exposed"] == [0]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"log": 3}, PolicyError, "needs the log"),
        ({"log": QueryLog(4, {})}, EmptyTable, "no query"),
        ({"data": PATIENTS}, PolicyError, "not the one"),
        ({"data": PATIENTS.head(3), "sensitive": ["il"]}, ColumnError, 'did you mean "ill"'),
        ({"sensitive": ["ill"]}, PolicyError, "with the table"),
        ({"data": {"pay": ["a", "b", "c"]}}, ColumnError, '"pay", which has no numbers'),
        ({"bounds": {"pay": (3, 1)}}, PolicyError, "upper bound"),
        ({"bounds": {"pay": 3}}, PolicyError, "lower bound"),
        ({"log": "nowhere.json"}, ReadError, "nowhere.json"),
        ({"most": -1}, PolicyError, "most"),
    ],
)
def test_what_is_refused(given: dict[str, object], error: type[Exception], said: str) -> None:
    log = given.pop("log", sums([1, 2, 3], [{0, 1}]))
    with pytest.raises(error, match=said):
        sf.attack_queries(log, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user", 1.5), ("query", None), ("kind", "median"), ("column", 7), ("answer", "9"), ("answer", float("nan")),
        ("answer", True), ("snapshot", 0), ("snapshot", 2**70), ("rows", [[3, 0]]), ("rows", [["a", 1]]),
    ],
)  # fmt: skip
def test_a_log_that_was_changed_is_refused(name: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    sums([1, 2, 3], [{0, 1}]).save(path)
    changed = json.loads(path.read_text("utf-8"))
    changed["queries"][0][name] = value
    path.write_text(json.dumps(changed), "utf-8")
    with pytest.raises(ReadError, match="changed by hand"):
        sf.attack_queries(path)


def test_a_log_with_counts_alone_says_what_is_missing() -> None:
    owner = database(PATIENTS, sf.QuerySetSize(2))
    ask_all(owner, ["count where sex = F"])
    found = sf.attack_queries(owner)
    assert found == {}
    assert "sensitive" in found.skipped["linear-system"]
    assert found.skipped["general-tracker"] == "no query was refused"


@pytest.mark.parametrize("name", sf.QUERY_ATTACKS)
def test_every_attack_runs_by_itself_and_has_its_line_on_the_page(name: str) -> None:
    pay = [3.0, 8.0, 5.0, 9.0]
    log = sums(pay, [{0, 1, 2}, {1, 2}, {0, 1, 2}, {0, 3}, {3}], [0, 0, 1, 0, 0])
    refused = LoggedQuery(6, "", "sum pay where g = 9", "sum", "pay", np.array([0]), None, "small", 1)
    most = LoggedQuery(7, "", "max pay where g = 9", "max", "pay", np.array([0, 1, 2]), 8.0, None, 2)
    log = QueryLog(4, log.columns, (*log.entries, refused, most))
    variant = sf.QUERY_ATTACKS[name]
    table = pl.DataFrame({"g": range(4), "pay": pay})
    for one in variant.make(LogEvidence(log, table, (), {"pay": (0.0, 10.0)}), **variant.example).values():
        assert one.name == name
        assert one.sentence
        assert set(one.exposed) <= {0, 1, 2, 3}
        assert {"column", "rows"} <= set(one.details)
    page = (Path(__file__).parents[2] / "docs" / "control" / "attacks.md").read_text("utf-8")
    assert f"| `{name}` |" in page


@pytest.mark.slow
def test_a_long_log_of_many_people_is_attacked_in_seconds() -> None:
    rng = np.random.default_rng(0)
    people = 20_000
    sets = [np.flatnonzero(rng.random(people) < 0.5) for _ in range(100)]
    sets += [np.setdiff1d(sets[0], [sets[0][5]])]
    found = sf.attack_queries(sums(rng.integers(0, 100, people), sets))
    assert found["linear-system"]["exposed"] == found["differencing"]["exposed"] == [int(sets[0][5])]
