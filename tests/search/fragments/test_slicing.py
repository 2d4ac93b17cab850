"""Slicing: the table of the paper, all worlds of small tables, the paper's measure, planted faults."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.fragmented import rejoined
from sfumato.release.release_set import in_order
from tests.fuzz import examples
from tests.search.fragments.test_anatomy import rewritten

Row = tuple[Any, ...]
Bucket = list[list[Row]]  # the rows of each slice
COLUMNS = ("a", "b", "s")
MANY = 3000  # worlds that are looked at
PAPER = pl.DataFrame({
    "age": [22, 22, 33, 52, 54, 60, 60, 64],
    "sex": ["M", "F", "F", "F", "M", "M", "M", "F"],
    "zip": ["z47906", "z47906", "z47905", "z47905", "z47302", "z47302", "z47304", "z47304"],
    "disease": ["dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia", "gastritis"],
})  # fmt: skip


def sliced(rows: list[Row], l: int = 2, columns: tuple[str, ...] = COLUMNS, **asked: Any) -> Any:
    table = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    asked = {"search": sf.Slicing(seed=1), "require": sf.DistinctLDiversity(columns[-1], l), **asked}
    return sf.anonymize(table, quasi=columns[:-1], sensitive=[columns[-1]], **asked)


def buckets(found: Any) -> tuple[list[str], list[Bucket]]:
    """The columns, slice by slice, and for each bucket the rows of each slice."""
    made: dict[Any, Bucket] = {}
    names = [name for part in found.parts for name in part.frame.columns[1:]]
    for i, part in enumerate(found.parts):
        for bucket, *row in part.frame.iter_rows():
            made.setdefault(bucket, [[] for _ in found.parts])[i].append(tuple(row))
    return names, list(made.values())


def worlds(made: list[Bucket]) -> Iterator[list[list[Row]]]:
    """Every way that the rows of the slices of each bucket may belong together, each as often as the others."""
    ways = [
        [[sum(row, ()) for row in zip(first, *others, strict=True)] for others in itertools.product(*(
            itertools.permutations(rest) for rest in more))]
        for first, *more in made
    ]  # fmt: skip
    yield from (list(world) for world in itertools.product(*ways))


def chance(made: list[Bucket], names: list[str], person: dict[str, Any]) -> dict[Any, Fraction]:
    """The paper's chance of each sensitive value for a person: p(t,s), the sum over matching buckets."""
    found, whole = Counter[Any](), Fraction(0)
    at = 0
    for bucket in made:
        at, weight, held = 0, Fraction(1), bucket[-1]
        for rows in bucket:
            mine = tuple(person.get(name) for name in names[at : at + len(rows[0])])
            at += len(rows[0])
            if rows is held:
                place = names[at - len(rows[0]) : at].index("s")
                alike = [row for row in rows if row[:place] + row[place + 1 :] == mine[:place] + mine[place + 1 :]]
                weight *= Fraction(len(alike), len(rows))
                values = Counter(row[place] for row in alike)
            else:
                weight *= Fraction(rows.count(mine), len(rows))
        whole += weight
        if weight:
            for value, n in values.items():
                found[value] += weight * Fraction(n, values.total())
    return {value: p / whole for value, p in found.items()}


def test_the_table_of_the_paper() -> None:
    found = sf.anonymize(
        PAPER, quasi=["age", "sex", "zip"], sensitive=["disease"],
        require=sf.DistinctLDiversity("disease", 2), search=sf.Slicing(c=2, alpha=1, seed=1),
    )  # fmt: skip
    assert list(found.tables) == ["slice_1", "sensitive"]
    assert found.tables["slice_1"].columns == ["bucket", "age", "sex", "zip"]
    assert found.manifest["method"]["buckets"] == 4
    assert found.verification.holds
    for frame in found.tables.values():
        assert frame.equals(in_order(frame))
    assert (
        found.tables["slice_1"]
        .drop("bucket")
        .sort("age", "sex", "zip")
        .equals(PAPER.drop("disease").sort("age", "sex", "zip"))
    )


def test_columns_beside_the_sensitive_one() -> None:
    """The disease depends on the ward, and each ward has two: the ward may stand beside it."""
    rows = [(str(i), "x" if i % 4 < 2 else "y", "abcd"[i % 4]) for i in range(32)]
    found = sliced(rows, search=sf.Slicing(c=2, alpha=2, seed=1))
    assert found.tables["sensitive"].columns == ["bucket", "b", "s"]
    assert found.verification.promises[0].measured == 2
    with pytest.raises(sf.errors.Infeasible, match="take a smaller alpha"):
        sliced(rows, 3, search=sf.Slicing(c=2, alpha=2))
    assert sliced(rows, 3).tables["sensitive"].columns == ["bucket", "s"]  # where alpha is not said, it leaves


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(*map(st.sampled_from, ("xyz", "uv", "ijk"))), min_size=2, max_size=6),
    st.sampled_from([(2, None), (2, 1), (3, None), (2, 2)]),
)
def test_in_all_worlds_that_fit_nobody_has_a_value_too_often(rows: list[Row], shape: tuple[int, int | None]) -> None:
    """For those who know one person's other values, those of everybody, and the bucket."""
    c, alpha = shape
    try:
        found = sliced(rows, search=sf.Slicing(c=c, alpha=alpha, seed=1))
    except sf.errors.Infeasible:
        return
    names, made = buckets(found)
    if prod(len(one[0]) ** 2 for one in made) > 600 and c == 3:
        return  # of few people, not of many worlds
    every = list(itertools.islice(worlds(made), MANY + 1))
    if len(every) > MANY:
        return
    order = [names.index(name) for name in COLUMNS]
    truth = Counter(row[:2] for row in rows)
    having: dict[Any, Counter[Any]] = {}
    fits = False
    for world in every:
        people = [tuple(row[i] for i in order) for bucket in world for row in bucket]
        fits |= Counter(people) == Counter(rows)
        known = Counter(row[:2] for row in people) == truth
        for i, bucket in enumerate(world):
            for row in (tuple(row[j] for j in order) for row in bucket):
                for what in ((row[:2],), (row[:2], i), *([(row[:2], "all"), (row[:2], "all", i)] if known else [])):
                    having.setdefault(what, Counter())[row[2]] += 1
    assert fits
    for counted in having.values():
        assert Fraction(max(counted.values()), counted.total()) <= Fraction(1, 2)
    for row in rows:
        assert max(chance(made, names, dict(zip("ab", row[:2], strict=True))).values()) <= Fraction(1, 2)


def test_the_average_over_matching_buckets_is_not_enough() -> None:
    """Both of the first bucket have flu. As the paper averages, a half at most; whoever knows who is in the table sees
    that nobody is (1, 2) and (2, 1) at once, so that the two are there, and what they have. It is not released."""
    first: Bucket = [[("1",), ("2",)], [("1",), ("2",)], [("flu",), ("flu",)]]
    other: Bucket = [[("1",), ("2",), ("3",)], [("2",), ("3",), ("1",)], [("cold",), ("ulcer",), ("gout",)]]
    made = [first, other, other, other]
    people = [("1", "1"), ("2", "2"), *([("1", "2"), ("2", "3"), ("3", "1")] * 3)]
    for a, b in people:
        assert max(chance(made, ["a", "b", "s"], {"a": a, "b": b}).values()) <= Fraction(1, 2)
    truth = Counter(people)
    fitting = [world for world in worlds(made[:2]) if not Counter(row[:2] for row in world[0]) - truth]
    assert {tuple(sorted(world[0])) for world in fitting} == {(("1", "1", "flu"), ("2", "2", "flu"))}
    from sfumato.criteria.sets import LDiverseSlicing
    from sfumato.criteria.sets.model import examined_set
    from sfumato.criteria.sets.published import PublishedSet, PublishedTable

    tables = {}
    for i, name in enumerate(COLUMNS):
        rows = [(str(b), *row) for b, bucket in enumerate(made) for row in bucket[i]]
        texts = pl.DataFrame(rows, schema=["bucket", name], orient="row")
        tables[name] = PublishedTable(name, texts, {"bucket": "group", name: "sensitive" if name == "s" else "quasi"})
    assert not examined_set(LDiverseSlicing("s", 2), PublishedSet(tables)).holds


@settings(max_examples=examples(150))
@given(
    st.lists(st.tuples(*map(st.sampled_from, ("xyz", "uv", "ijk"))), min_size=2, max_size=9),
    st.integers(2, 3), st.integers(0, 3), st.sampled_from([1, 2, None]),
)  # fmt: skip
def test_the_fewest_rows_are_suppressed(rows: list[Row], l: int, limit: int, alpha: int | None) -> None:
    search = sf.Slicing(c=2, alpha=alpha, seed=1)
    try:
        found = sliced(rows, l, suppression=limit, search=search)
    except (sf.errors.Infeasible, sf.errors.EmptyTable):
        found = None
    if found is not None:
        made = buckets(found)[1]
        beside = [found.parts[-1].frame.columns.index(name) - 1 for name in found.parts[-1].frame.columns[1:-1]]
        for bucket in made:
            alike: dict[Row, Counter[Any]] = {}
            for row in bucket[-1]:
                alike.setdefault(tuple(row[i] for i in beside), Counter())[row[-1]] += 1
            assert all(max(counted.values()) * l <= counted.total() for counted in alike.values())
        assert len(found.tables["sensitive"]) == len(rows) - found.solution.verdict.suppressed
        for i, part in enumerate(found.parts):
            own = Counter(tuple(row[COLUMNS.index(n)] for n in part.frame.columns[1:]) for row in rows)
            assert not Counter(row for bucket in made for row in bucket[i]) - own
    if alpha in (1, None):  # by brute force: the fewest rows that leave no value with more than one row in l
        number = list(Counter(row[2] for row in rows).values())
        ways = itertools.product(*(range(n + 1) for n in number))
        fewest = min(len(rows) - sum(stay) for stay in ways if max(stay) * l <= sum(stay))
        assert (found is not None) == (fewest <= min(limit, len(rows) - 1))
        assert found is None or found.solution.verdict.suppressed == fewest


def test_neither_numbers_nor_places_tell_the_order_of_the_input() -> None:
    rows = [(f"{i % 40:02}", "uvw"[i % 3], "abcd"[(i * 7) % 4]) for i in range(400)]
    one, turned = sliced(rows), sliced(rows[::-1])
    other = sliced(rows, search=sf.Slicing(seed=2))
    for name in one.tables:
        assert one.tables[name].equals(turned.tables[name])
        assert one.tables[name].equals(in_order(one.tables[name]))
    assert not one.tables["sensitive"].equals(other.tables["sensitive"])
    first = one.tables["slice_1"].unique("bucket").sort("bucket")
    assert first["bucket"].n_unique() > 20
    assert not first["a"].is_sorted()  # numbers of buckets do not follow what is in them


def test_other_columns_are_in_groups_too() -> None:
    table = pl.DataFrame({
        "a": [f"{i % 5}" for i in range(40)], "note": [f"n{i % 5}" for i in range(40)], "b": ["u", "v"] * 20,
        "s": ["i", "j", "k", "i", "j"] * 8,
    })  # fmt: skip
    found = sf.anonymize(
        table, quasi=["a", "b"], insensitive=["note"], sensitive=["s"],
        require="distinct-l-diversity s 2", search=sf.Slicing(c=3, alpha=1, seed=1),
    )  # fmt: skip
    assert [part.frame.columns for part in found.parts] == [["bucket", "a", "note"], ["bucket", "b"], ["bucket", "s"]]
    assert found.parts[0].roles == {"bucket": "group", "a": "quasi", "note": "insensitive"}


def test_planted_faults_are_found(tmp_path: Path) -> None:
    rows = [(f"{i % 6}", "uv"[i % 2], "abc"[(i // 2) % 3]) for i in range(24)]
    found = sliced(rows, search=sf.Slicing(c=3, alpha=1, seed=1))
    first, second, held = found.tables["slice_1"], found.tables["slice_2"], found.tables["sensitive"]
    one, more = held["bucket"].unique().sort().to_list()[:2]
    value = held.filter(pl.col("bucket") == one)["s"][0]
    same = held.with_columns(s=pl.when(pl.col("bucket") == one).then(pl.lit(value)).otherwise("s"))
    moved = held.with_row_index().with_columns(
        bucket=pl.when(pl.col("index") == 0).then(more).otherwise("bucket")
    ).drop("index")  # fmt: skip
    faults = {
        # the rows of a slice as they stood beside the others: no permutation in one bucket
        "rows in the order of the input": ("sensitive", held.reverse()),
        "one bucket out of order": (
            "sensitive",
            pl.concat([held.filter(pl.col("bucket") == one).reverse(), held.filter(pl.col("bucket") != one)]),
        ),
        "a bucket of one value": ("sensitive", in_order(same)),
        "a row in another bucket": ("sensitive", in_order(moved)),
        "a row too many": ("slice_1", in_order(pl.concat([first, first.head(1)]))),
        "a row dropped": ("slice_2", second.head(23)),
    }
    for what, (name, frame) in faults.items():
        folder = tmp_path / what.replace(" ", "_")
        found.save(folder)
        assert sf.verify(folder).holds
        rewritten(folder, name, frame)
        assert sf.verify(folder).outcome == "broken", what


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (sf.Slicing(c=4), "more groups of columns than there are"),
        (sf.Slicing(c=3, alpha=2), "more groups of columns than there are"),
        (sf.Slicing(alpha=3), "leaves no column"),
    ],
)
def test_shapes_that_there_are_not(search: Any, said: str) -> None:
    rows = [(f"{i % 5}", "uv"[i % 2], "ijk"[i % 3]) for i in range(30)]
    with pytest.raises(sf.errors.PolicyError, match=said):
        sliced(rows, search=search)
    with pytest.raises(sf.errors.PolicyError, match="c is out of range"):
        sf.Slicing(c=1)


def test_what_it_cannot_keep_is_refused() -> None:
    rows = [(f"{i % 5}", "uv"[i % 2], "ijk"[i % 3]) for i in range(30)]
    with pytest.raises(sf.errors.PolicyError, match="cannot keep k-anonymity"):
        sliced(rows, require="k-anonymity 2")
    with pytest.raises(sf.errors.Infeasible, match="ask for l = 3"):
        sliced(rows, 4)
    with pytest.raises(sf.errors.PolicyError, match="in several tables"):
        sliced(rows, order="random")


def test_put_together_and_compared() -> None:
    rows = [(f"{i % 6}", "uv"[i % 2], "abc"[(i // 2) % 3]) for i in range(24)]
    found = sliced(rows, search=sf.Slicing(c=3, alpha=1, seed=1))
    again = rejoined(found, 1)
    assert Counter(again["s"]) == Counter(row[2] for row in rows)
    assert again["a"].equals(found.tables["slice_1"]["a"])
    whole = again.with_columns(bucket=found.tables["slice_1"]["bucket"])
    for part in found.parts:
        assert in_order(whole.select(part.frame.columns)).equals(part.frame)
    table = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    compared = sf.compare(
        table, search=["slicing", "anatomy"], quasi=["a", "b"], sensitive=["s"], require="distinct-l-diversity s 2",
        risk="linkage", utility="query-error",
    )  # fmt: skip
    assert compared["status"].to_list() == ["done", "done"]
    assert compared["risk"].null_count() == compared["utility"].null_count() == 0
    copy = pickle.loads(pickle.dumps(found))
    assert copy.tables["sensitive"].equals(found.tables["sensitive"])
