"""Streams: worked by hand, random arrivals, an attacker who sees all, and faults that the checker must find."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import BrokenPromise, ColumnError, PolicyError, SfumatoError
from sfumato.series.streams import run as run_module
from sfumato.series.streams.check import check_classes, matching
from sfumato.series.streams.request import parse_request
from sfumato.series.streams.state import StreamState, load_state, save_state
from sfumato.series.streams.values import Grouping
from tests.fuzz import examples

QUASI = ("age", "sex")
GROUPINGS = [
    sf.CASTLE(beta=3, mu=4),
    sf.CASTLE(beta=2, mu=2, reuse=12),
    sf.BCastle(beta=2, bound_by=1),
    sf.FADS(),
    sf.FADS(reuse=12),
]
DAY = pl.DataFrame(
    {
        "who": ["a", "b", "c", "d", "e", "f", "g", "h"],
        "age": [20, 60, 21, 61, 22, 62, 23, 63],
        "row": [0, 1, 2, 3, 4, 5, 6, 7],
    }
)


def released(frames: list[pl.DataFrame], **asked: object) -> tuple[list[pl.DataFrame], sf.Stream]:
    out = sf.stream(iter(frames), **asked)  # type: ignore[arg-type]
    return list(out), out


def one_by_one(frame: pl.DataFrame) -> list[pl.DataFrame]:
    return [frame[i : i + 1] for i in range(frame.height)]


@pytest.mark.parametrize("search", [sf.CASTLE(beta=2), sf.FADS(), sf.BCastle(beta=2)], ids=lambda s: s.name)
def test_eight_rows_by_hand(search: Grouping) -> None:
    # ages near 20 and near 60 take turns; with k=4 and a delay of 8, the first row leaves when the eighth comes, with
    # the three others near 20, and at the end the four near 60 leave together
    frames, stream = released(
        one_by_one(DAY), quasi="age", insensitive="row", person="who", require="k-anonymity 4", delay=8, search=search,
        ends="exact", seed=1,
    )  # fmt: skip
    assert [frame.rows() for frame in frames] == [
        [("[20, 23]", 0), ("[20, 23]", 2), ("[20, 23]", 4), ("[20, 23]", 6)],
        [("[60, 63]", 1), ("[60, 63]", 3), ("[60, 63]", 5), ("[60, 63]", 7)],
    ]
    assert (stream.arrived, stream.released, stream.suppressed, stream.waiting) == (8, 8, 0, 0)
    assert stream.loss == pytest.approx(3 / 43)


def test_ends_are_rounded_outward() -> None:
    frames, _ = released(
        [DAY.drop("row")], quasi="age", person="who", require="k-anonymity 4", delay=8, search="fads", seed=1,
        domains={"age": (0, 100)},
    )  # fmt: skip
    assert pl.concat(frames).get_column("age").unique().sort().to_list() == [
        "[20, 24]",
        "[60, 64]",
    ]


def test_a_person_seen_twice_counts_once() -> None:
    twice = DAY.with_columns(who=pl.Series(["a", "b", "a", "b", "a", "b", "a", "b"]))
    frames, stream = released(
        [twice], quasi="age", insensitive="row", person="who", require="k-anonymity 3", delay=4, seed=1
    )
    assert frames == []
    assert stream.suppressed == 8  # only two people are ever there


def test_reused_range_needs_its_publication_within_the_window() -> None:
    # four people near 20 leave at once; a fifth one near 20 comes alone among those near 60
    frame = pl.DataFrame({"who": list("abcdefghij"), "age": [20, 21, 22, 23, 21, 80, 90, 70, 60, 65]})
    asked = {"quasi": "age", "person": "who", "require": "k-anonymity 4", "delay": 4, "ends": "exact", "seed": 1}
    asked["domains"] = {"age": (0, 100)}
    alone, _ = released(one_by_one(frame), search=sf.CASTLE(beta=2, reuse=100), **asked)
    assert alone[0].rows() == [("[20, 23]",)] * 4
    assert [("[20, 23]",)] in [found.rows() for found in alone]
    never, _ = released(one_by_one(frame), search=sf.CASTLE(beta=2), **asked)
    assert all(found.height >= 4 for found in never)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[pl.DataFrame], int, int, int]:
    n = draw(st.integers(1, 40))
    people = draw(st.integers(1, 12))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 30, n)
    frame = pl.DataFrame(
        {
            "who": rng.integers(0, people, n),
            "age": pl.Series([None if x > 28 else int(x) for x in age], dtype=pl.Int64),
            "sex": rng.choice(["f", "m", ""], n),
            "disease": rng.choice(["flu", "cold", "ulcer"], n),
            "row": np.arange(n),
        }
    )
    k = draw(st.integers(1, 4))
    delay = draw(st.integers(k, 12))
    cuts = sorted({0, n, *draw(st.lists(st.integers(0, n), max_size=5))})
    return [frame[a:b] for a, b in pairwise(cuts)], k, draw(st.integers(1, 3)), delay


@settings(max_examples=examples(60), deadline=None)
@given(streams(), st.sampled_from(GROUPINGS), st.integers(0, 5))
def test_every_class_keeps_its_people_and_no_row_waits_too_long(
    given_stream: tuple[list[pl.DataFrame], int, int, int], search: Grouping, seed: int
) -> None:
    frames, k, l, delay = given_stream
    whole = pl.concat(frames)
    stream = sf.stream(
        iter(frames), quasi=QUASI, sensitive="disease", insensitive="row", person="who", delay=delay, seed=seed,
        require=[sf.KAnonymity(k), sf.DistinctLDiversity("disease", l)], search=search,
    )  # fmt: skip
    arrived, seen, history = 0, set[int](), []
    for found in stream:
        arrived = stream.arrived
        rows = found.get_column("row").to_list()
        assert found.equals(found.sort([*QUASI, "disease", "row"], nulls_last=True))
        assert not seen & set(rows)
        seen |= set(rows)
        known = found.join(whole.select("row", "who"), on="row")
        history.append(known)
        # an auditor who groups what left by label: without reuse in this batch alone, else in all so far
        audited = known if search.reuse == 0 else pl.concat(history)
        for rows_of_class in audited.partition_by(*QUASI):
            assert rows_of_class.get_column("who").n_unique() >= k
            assert matching(rows_of_class["who"].to_list(), rows_of_class["disease"].to_list()) >= l
        for row, age, sex in found.select("row", *QUASI).rows():  # labels are true
            original = whole.row(row, named=True)
            assert sex == "*" or (sex or "") == original["sex"]
            if age is None or original["age"] is None:
                assert age == "*" or (age is None and original["age"] is None)
            elif age != "*":
                low, _, high = age.strip("[]").partition(", ")
                assert int(low) <= original["age"] <= int(high or low)
    assert stream.waiting == 0
    assert len(seen) == stream.released
    assert stream.released + stream.suppressed == whole.height
    assert arrived <= whole.height


@settings(max_examples=examples(40), deadline=None)
@given(streams(), st.sampled_from(GROUPINGS))
def test_rows_leave_with_the_batch_that_ends_their_delay(
    given_stream: tuple[list[pl.DataFrame], int, int, int], search: Grouping
) -> None:
    frames, k, _, delay = given_stream
    single = one_by_one(pl.concat(frames))
    stream = sf.stream(
        iter(single), quasi=QUASI, insensitive=["row", "disease"], person="who", delay=delay, search=search, seed=1,
        require=f"k-anonymity {k}",
    )  # fmt: skip
    for found in stream:
        if stream.arrived < len(single):
            assert stream.arrived - found.get_column("row").min() <= delay  # of rows from it on, delay have come
            assert stream.waiting < delay


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(streams(), st.sampled_from(GROUPINGS), st.sets(st.integers(0, 6)))
def test_a_run_that_is_stored_and_restored_after_some_batches_is_as_if_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    given_stream: tuple[list[pl.DataFrame], int, int, int], search: Grouping, stops: set[int],
) -> None:  # fmt: skip
    monkeypatch.setenv("SFUMATO_KEY", "a key for tests")
    frames, k, l, delay = given_stream
    frames = [frame for frame in frames if frame.height]
    asked = parse_request(
        search, person="who", quasi=QUASI, sensitive="disease", insensitive="row", identifying=(), seed=2, time=None,
        require=[sf.KAnonymity(k), sf.DistinctLDiversity("disease", l)], delay=delay, hierarchies=None, domains=None,
        ends="exact",
    )  # fmt: skip

    def released(stops: set[int]) -> list[list[tuple[object, ...]]]:
        run, found = search.run(asked.bind(frames[0])), []
        for i, frame in enumerate(frames):
            found.append(run.take(frame))
            if i in stops:
                plain, arrays, tables = run.stored()
                save_state(tmp_path / "s", StreamState("", run=plain, arrays=arrays, tables=tables))
                state, run = load_state(tmp_path / "s"), search.run(asked.bind(frames[0]))
                assert state is not None
                assert state.run is not None
                run.restore(state.run, state.arrays, state.tables)
        found.append(run.finish())
        return [one.rows() for one in found if one is not None]

    assert released(stops) == released(set())


@pytest.mark.slow
def test_an_attacker_who_sees_all_finds_k_people_for_each_row() -> None:
    # all worlds: who may stand behind the rows of each batch, when the values of all are known but which row is whose
    rng = np.random.default_rng(3)
    for _ in range(12):
        frame = pl.DataFrame({"who": np.arange(8), "age": rng.integers(0, 9, 8), "row": np.arange(8)})
        for search in (sf.CASTLE(beta=2, mu=2), sf.FADS(), sf.BCastle(beta=2)):
            out = sf.stream(
                one_by_one(frame), quasi="age", insensitive="row", person="who", require="k-anonymity 2", delay=4,
                search=search, ends="exact", seed=1,
            )  # fmt: skip
            for found in out:
                ages = {row: frame["age"][row] for row in found["row"].to_list()}
                candidates = dict.fromkeys(ages, 0)
                labels = dict(zip(found["row"].to_list(), found["age"].to_list(), strict=True))
                for row, label in labels.items():
                    low, _, high = label.strip("[]").partition(", ")
                    candidates[row] = sum(
                        int(low) <= ages[other] <= int(high or low) and labels[other] == label for other in ages
                    )
                assert min(candidates.values()) >= 2


def test_the_checker_finds_planted_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = pl.DataFrame({"age": ["[20, 29]"] * 3})
    when = pl.Series([5, 5, 5])
    people, values = pl.Series(["a", "b", "c"]), {"d": pl.Series(["x", "y", "y"])}
    check_classes(labels, people, when, values, 3, {"d": 2})
    with pytest.raises(BrokenPromise, match="fewer people"):
        check_classes(labels, pl.Series(["a", "b", "b"]), when, values, 3, {})
    with pytest.raises(BrokenPromise, match="fewer values"):
        check_classes(labels, people, when, values, 3, {"d": 3})
    with pytest.raises(BrokenPromise, match="fewer people"):  # another moment is another publication
        check_classes(labels, people, pl.Series([5, 5, 6]), values, 3, {})
    one, same = pl.Series(["x", "y", "x", "y"]), pl.Series(["a"] * 4)
    with pytest.raises(BrokenPromise, match="few people hold"):
        check_classes(pl.DataFrame({"age": ["1"] * 4}), same, pl.Series([5] * 4), {"d": one}, 1, {"d": 2})

    def torn(*given: object) -> object:
        outlet = real(*given)
        outlet.of[: outlet.counts[0]] = np.arange(outlet.counts[0]) % max(int(outlet.counts[1]), 1)
        return outlet

    real = sf.CASTLE.advance
    monkeypatch.setattr(sf.CASTLE, "advance", torn)
    with pytest.raises(BrokenPromise):
        released([DAY] * 3, quasi="age", insensitive="row", person="who", require="k-anonymity 4", delay=8, seed=1)


def test_window_of_the_checker() -> None:
    label, now = pl.DataFrame({"age": ["1", "1"]}), pl.Series([4, 4])
    kept = check_classes(label, pl.Series(["a", "b"]), now, {}, 2, {}, 3)
    one = pl.DataFrame({"age": ["1"]})
    assert check_classes(one, pl.Series(["c"]), pl.Series([7]), {}, 2, {}, 3, kept).height == 3
    with pytest.raises(BrokenPromise):
        check_classes(one, pl.Series(["c"]), pl.Series([8]), {}, 2, {}, 3, kept)


def test_bad_input() -> None:
    fine = {"quasi": "age", "insensitive": "row", "person": "who", "require": "k-anonymity 3", "delay": 4, "seed": 1}
    with pytest.raises(PolicyError, match="shorter than it takes k rows"):
        sf.stream([DAY], **{**fine, "delay": 2})
    with pytest.raises(PolicyError, match="nothing is required"):
        sf.stream([DAY], **{**fine, "require": None})
    with pytest.raises(PolicyError, match="cannot be kept while rows arrive"):
        sf.stream([DAY], **{**fine, "require": ["k-anonymity 3", "t-closeness row 0.2"]})
    with pytest.raises(PolicyError, match="needs k-anonymity"):
        sf.stream([DAY], **{**fine, "require": ["distinct-l-diversity row 2"]})
    with pytest.raises(PolicyError, match="not released"):
        sf.stream([DAY], **{**fine, "insensitive": ["row", "who"]})
    with pytest.raises(PolicyError, match="iterator of frames"):
        sf.stream(7, **fine)
    with pytest.raises(PolicyError, match='role of "row"'):
        released([DAY], **{**fine, "insensitive": ()})
    with pytest.raises(ColumnError, match="does not say of each row whose"):
        released([DAY.with_columns(who=pl.Series([*"abcdefg", None]))], **fine)
    with pytest.raises(ColumnError, match='no column "age"'):
        released([DAY, DAY.drop("age")], **fine)
    with pytest.raises(ColumnError, match='a column "more"'):
        released([DAY, DAY.with_columns(more=1)], **fine)
    with pytest.raises(ColumnError, match="another type"):
        released([DAY, DAY.with_columns(age=pl.lit("x"))], **fine)
    with pytest.raises(ColumnError, match="another type"):
        released([DAY, DAY.with_columns(age=pl.col("age") + 0.5)], **fine)
    with pytest.raises(PolicyError, match="domain"):
        sf.stream([DAY], **fine, domains={"age": (3, 3)})


def test_parameters_of_an_algorithm_in_words() -> None:
    asked = {"quasi": "age", "insensitive": "row", "person": "who", "require": "k-anonymity 2", "delay": 4, "seed": 1}
    one, other = (released([DAY], search=search, **asked)[0] for search in ("castle beta=1", sf.CASTLE(beta=1)))
    assert [frame.rows() for frame in one] == [frame.rows() for frame in other]
    with pytest.raises(PolicyError, match="delta"):
        sf.stream([DAY], search="castle delta=2", **asked)  # type: ignore[arg-type]


def test_empty_streams() -> None:
    asked = {"quasi": "age", "insensitive": "row", "person": "who", "require": "k-anonymity 3", "delay": 9}
    assert released([], **asked)[0] == []
    assert released([DAY.clear()], **asked)[0] == []
    found, stream = released([DAY.clear(), DAY[:2]], **asked)  # two people are too few at the end, too
    assert found == []
    assert stream.suppressed == 2


def test_a_bad_batch_changes_nothing() -> None:
    frames = iter([DAY, DAY.drop("age"), DAY])
    stream = sf.stream(frames, quasi="age", insensitive="row", person="who", require="k-anonymity 4", delay=20, seed=1)
    with pytest.raises(ColumnError):
        next(stream)
    assert stream.arrived == 8
    assert sum(found.height for found in stream) == 16


def test_frames_come_back_as_they_came() -> None:
    import pandas as pd
    import pyarrow as pa

    asked = {"quasi": "age", "insensitive": "row", "person": "who", "require": "k-anonymity 4", "delay": 8}
    assert all(isinstance(one, pd.DataFrame) for one in sf.stream([DAY.to_pandas()], **asked))
    assert all(isinstance(one, pa.Table) for one in sf.stream([DAY.to_arrow()], **asked))
    with sf.stream([DAY, DAY], **asked) as stream:
        assert isinstance(next(stream), pl.DataFrame)
    assert list(stream) == []


def test_same_seed_same_bytes() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"age": rng.integers(0, 90, 400), "day": np.arange(400) % 7})
    asked = {"quasi": ["age", "day"], "require": "k-anonymity 5", "delay": 100, "seed": 4}
    one, _ = released([frame], **asked)
    other, _ = released([frame[:150], frame[150:]], **asked)
    assert pl.concat(one).sort("age", "day").equals(pl.concat(other).sort("age", "day"))


def test_hierarchies_and_dates() -> None:
    from datetime import date

    tree = {"a": "north", "b": "north", "c": "south", "d": "south", "north": "*", "south": "*"}
    frame = pl.DataFrame(
        {
            "town": ["a", "b", "c", "d"],
            "born": [date(1990, 1, 1), date(1990, 1, 3), date(1970, 5, 5), date(1970, 5, 9)],
        }
    )
    asked = {"quasi": ["town", "born"], "require": "k-anonymity 2", "delay": 4, "search": "fads", "seed": 1}
    found, _ = released([frame], hierarchies={"town": sf.tree(tree)}, ends="exact", **asked)
    assert sorted(set(pl.concat(found).rows())) == [
        ("north", "[1990-01-01, 1990-01-03]"),
        ("south", "[1970-05-05, 1970-05-09]"),
    ]
    later, _ = released([frame, frame.with_columns(town=pl.lit("e"))], hierarchies={"town": sf.tree(tree)}, **asked)
    assert pl.concat(later).get_column("town").to_list().count("e") == 4  # new, and four people have it


def test_code_of_people_never_counts_more(monkeypatch: pytest.MonkeyPatch) -> None:
    # hashes that meet make people fewer: rows are suppressed, nothing is released that should not be
    monkeypatch.setattr(run_module, "hashed", lambda column: np.zeros(len(column), np.int64))
    _, stream = released([DAY], quasi="age", insensitive="row", person="who", require="k-anonymity 2", delay=8)
    assert stream.suppressed == 8


def test_what_nothing_protects_is_said_unless_it_is_meant() -> None:
    frame = DAY.with_columns(disease=pl.lit("flu"))
    asked = {"quasi": "age", "insensitive": "row", "sensitive": "disease", "require": "k-anonymity 2", "person": "who"}
    with pytest.warns(sf.UnprotectedWarning, match='"disease"'):
        sf.stream([frame], **asked)  # type: ignore[arg-type]
    out, _ = released([frame], unprotected="disease", **asked)
    assert "disease" in out[0].columns
    with pytest.raises(SfumatoError, match="age"):
        released([frame], unprotected="age", **asked)


def could_be(covers: list[list[int]], row: int, person: int) -> bool:
    """Whether a row may be of a person: all rows then find different people whom they cover."""
    owner = {person: row}

    def place(one: int, tried: set[int]) -> bool:
        for who in covers[one]:
            if who not in tried and who != person:
                tried.add(who)
                if who not in owner or place(owner[who], tried):
                    owner[who] = one
                    return True
        return False

    return person in covers[row] and all(place(one, set()) for one in range(len(covers)) if one != row)


@pytest.mark.parametrize("search", GROUPINGS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_all_originals_that_fit_a_tiny_stream(search: Grouping, seed: int) -> None:
    """Who knows the age of all eight people, and in which batch each row left, finds k rows for each of those who have
    one, and l values."""
    rng = np.random.default_rng(seed)
    ages, diseases = rng.integers(20, 60, 8), rng.choice(["flu", "cold", "ulcer"], 8)
    table = pl.DataFrame({"who": [f"p{i}" for i in range(8)], "age": ages, "disease": diseases})
    frames, stream = released(
        one_by_one(table), quasi="age", sensitive="disease", person="who", delay=6, search=search, seed=seed,
        require=["k-anonymity 2", "distinct-l-diversity disease 2"], domains={"age": (20, 60)},
    )  # fmt: skip
    rows = [row for frame in frames for row in frame.rows()]
    assert len(rows) + stream.suppressed == 8
    ends = [[int(end) for end in label.strip("[]").split(", ")] for label, _ in rows]
    covers = [[p for p in range(8) if end[0] <= ages[p] <= end[-1]] for end in ends]
    for person in range(8):
        mine = [row for row in range(len(rows)) if could_be(covers, row, person)]
        if mine:
            assert len(mine) >= 2
            assert len({rows[row][1] for row in mine}) >= 2
    for row in range(len(rows)):  # what is so, is possible
        assert any(could_be(covers, row, person) and diseases[person] == rows[row][1] for person in range(8))
