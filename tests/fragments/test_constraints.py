"""Confidentiality constraints: fewest fragments by brute force, all worlds of loose associations, planted faults."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.fragments.constraints.fewest import allowed, fewest_fragments
from sfumato.fragments.constraints.loose import loose_groups
from sfumato.release.release_set import in_order
from tests.fuzz import examples, slow_but
from tests.search.fragments.test_anatomy import rewritten

PEOPLE = {
    "name": ["Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gus", "Hal"],
    "ssn": [f"s{i}" for i in range(8)],
    "birth": [1960 + i for i in range(8)],
    "zip": [f"z{i}" for i in range(8)],
    "disease": ["flu", "gout", "cold", "ulcer"] * 2,
}
ASKED: Any = {"constraints": [["name", "disease"], ["zip", "birth"], ["ssn"]], "seed": 1}


def partitions(names: Sequence[str]) -> Iterator[list[list[str]]]:
    if not names:
        yield []
        return
    first, *others = names
    for rest in partitions(others):
        yield [[first], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [first, *rest[i]], *rest[i + 1 :]]


@settings(max_examples=examples(80))
@given(st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=2, max_size=3), max_size=8))
def test_the_fewest_fragments_are_those_of_brute_force(given_sets: list[frozenset[str]]) -> None:
    sets = [one for one in given_sets if not any(other < one for other in given_sets)]
    found, proven = fewest_fragments("abcdef", [sorted(one) for one in sets])
    fewest = min(len(one) for one in partitions("abcdef") if all(allowed(part, sets) for part in one))
    assert proven
    assert len(found) == fewest
    assert sorted(name for one in found for name in one) == list("abcdef")
    assert all(allowed(one, sets) for one in found)
    for one, other in itertools.combinations(found, 2):
        assert not allowed([*one, *other], sets)


def test_fewer_than_greedily_and_greedily_beyond_twenty_columns() -> None:
    """A cycle of even length with a chord structure that greedy colours badly: a crown graph in an unkind order."""
    sides = [f"u{i}" for i in range(4)], [f"v{i}" for i in range(4)]
    columns = [name for pair in zip(*sides, strict=True) for name in pair]
    crown = [[sides[0][i], sides[1][j]] for i in range(4) for j in range(4) if i != j]
    found, proven = fewest_fragments(columns, crown)
    assert (len(found), proven) == (2, True)
    many = [f"c{i}" for i in range(24)]
    found, proven = fewest_fragments(many, [list(pair) for pair in itertools.combinations(many, 2)])
    assert (len(found), proven) == (24, False)
    table = {name: [1, 2] for name in many}
    release = sf.fragment(table, constraints=[list(pair) for pair in itertools.combinations(many, 2)])
    assert release.manifest["method"]["fewest"] is False


def test_columns_that_must_not_be_seen_together_are_not() -> None:
    found = sf.fragment(pl.DataFrame(PEOPLE), **ASKED)
    assert [part.frame.columns for part in found.parts] == [["name", "birth"], ["zip", "disease"]]
    assert found.verification.outcome == "holds"
    assert [(link.kind, link.columns) for link in found.links] == [("same people", ())]  # nothing joins them
    for frame in found.tables.values():
        assert frame.equals(in_order(frame))


def test_every_world_is_published_alike() -> None:
    """Whatever rows of the fragments belong together, the tables are the same: nothing joins them."""
    table = pl.DataFrame(PEOPLE)
    found = sf.fragment(table, **ASKED)
    mine = found.parts[1].frame.columns
    rng = np.random.default_rng(1)
    for _ in range(5):
        other = table.with_columns(table.select(mine)[rng.permutation(8)]).sample(fraction=1, shuffle=True, seed=3)
        again = sf.fragment(other, **ASKED)
        assert all(again.tables[name].equals(found.tables[name]) for name in found.tables)


def in_worlds(found: Any, here: int, values: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Counter[Any]]]:
    """For each row of a fragment, how often it has each value of the other, over all ways that rows may belong together
    that fit the groups."""
    sides = [part.frame for part in found.parts if part.name != "association" and part.frame.columns[0][:6] == "group_"]
    pairs = found.tables["association"]
    pairs = pairs if isinstance(pairs, pl.DataFrame) else pl.DataFrame(pairs)
    names = [side.columns[0] for side in sides]
    told = Counter(pairs.select(names[here], names[1 - here]).rows())
    ours, theirs = sides[here], sides[1 - here]
    one, other = ours[names[here]].to_list(), theirs[names[1 - here]].to_list()
    held = theirs.select(values).rows()
    counted = [Counter[Any]() for _ in one]
    worlds = 0
    for world in itertools.permutations(range(len(one))):
        if Counter(zip(one, (other[j] for j in world), strict=True)) == told:
            worlds += 1
            for i, j in enumerate(world):
                counted[i][held[j]] += 1
    assert worlds
    yield from zip(ours.rows(), counted, strict=True)


@pytest.mark.parametrize(("k", "rows"), slow_but([(2, 6), (3, 6), ([2, 2], 8), (2, 7), (2, 5)], (2, 6), (3, 6), (2, 5)))
def test_in_all_worlds_nobody_has_an_associated_value_too_often(k: Any, rows: int) -> None:
    table = pl.DataFrame({name: values[:rows] for name, values in PEOPLE.items()})
    least = k if isinstance(k, int) else k[0] * k[1]
    found = sf.fragment(table, **ASKED, k=k)
    assert found.verification.outcome == "holds"
    for here in (0, 1):
        there = found.parts[1 - here].frame.columns[1:]
        for values in ([name] for name in there):
            for _, counted in in_worlds(found, here, values):
                assert max(Fraction(n, counted.total()) for n in counted.values()) <= Fraction(1, least)
                assert len(counted) >= least
    measured = found.verification.promises[1].measured
    assert measured is not None
    assert measured >= least


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("uvwxyz")), min_size=4, max_size=40),
    st.sampled_from([2, 3, 4, [2, 2], [3, 2]]),
)
def test_what_is_grouped_is_loose_or_refused(rows: list[tuple[str, str]], k: Any) -> None:
    table = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    asked = {"constraints": [["a", "b"]], "k": k, "seed": 1}
    try:
        found = sf.fragment(table, **asked)
    except sf.errors.Infeasible as no:
        assert no.closest["suppressed"] > 0
        return
    pairs = found.tables["association"]
    assert not pairs.is_duplicated().any()
    for part in found.parts[:2]:  # no two of a group are alike, nor of all that a group is associated with
        assert not part.frame.is_duplicated().any()
        other = next(one for one in found.parts[:2] if one is not part).frame
        joined = pairs.join(other, on=other.columns[0]).unique([part.frame.columns[0], *other.columns])
        assert not joined.select(part.frame.columns[0], other.columns[1]).is_duplicated().any()
    assert Counter(a for a, _ in rows) == Counter(found.tables["fragment_1"].to_series(1))


def test_rows_that_no_group_takes_are_suppressed_where_that_is_allowed() -> None:
    table = pl.DataFrame({"a": [f"{i}" for i in range(9)], "b": ["x"] * 5 + ["y", "z", "u", "v"]})
    with pytest.raises(sf.errors.Infeasible, match="no k above 1 is possible") as no:
        sf.fragment(table, constraints=[["a", "b"]], k=2, seed=1)
    assert no.value.closest == {"suppressed": 1, "k": 1}
    found = sf.fragment(table, constraints=[["a", "b"]], k=2, suppression=1, seed=1)
    assert [part.frame.height for part in found.parts] == [8, 8, 8]
    assert found.manifest["method"]["suppressed"] == 1


def test_neither_numbers_nor_places_tell_the_order_of_the_input() -> None:
    table = pl.DataFrame({"a": range(400), "b": [f"{(7 * i) % 40:02}" for i in range(400)]})
    asked: Any = {"constraints": [["a", "b"]], "k": 4}
    one = sf.fragment(table, **asked, seed=1)
    turned = sf.fragment(table.reverse(), **asked, seed=1)
    other = sf.fragment(table, **asked, seed=2)
    for name in one.tables:
        assert one.tables[name].equals(turned.tables[name])
        assert one.tables[name].equals(in_order(one.tables[name]))
    assert not one.tables["association"].equals(other.tables["association"])
    first = one.tables["fragment_1"]
    assert abs(first.select(pl.corr("group_1", "a")).item()) < 0.2


@pytest.mark.slow
def test_planted_faults_are_found(tmp_path: Path) -> None:
    found = sf.fragment(pl.DataFrame(PEOPLE), **ASKED, k=4)
    first, second, pairs = (part.frame for part in found.parts)
    group = first.columns[0]
    twice = pl.concat([pairs.head(7), pairs.head(1)])
    other = pairs[group][-1]
    moved = first.with_row_index().with_columns(
        pl.when(pl.col("index") == 0).then(pl.lit(other, first[group].dtype)).otherwise(group).alias(group)
    )
    same = second.with_columns(disease=pl.lit("flu")) if "disease" in second.columns else second
    faults = {
        "a group pair twice": ("association", in_order(twice)),
        "a pair dropped": ("association", pairs.head(7)),
        "a row in another group": ("fragment_1", in_order(moved.drop("index"))),
        "one value everywhere": ("fragment_2", in_order(same)),
        "the order of the input": ("fragment_2", second.reverse()),
    }
    for what, (name, frame) in faults.items():
        folder = tmp_path / what.replace(" ", "_")
        found.save(folder)
        assert sf.verify(folder).holds
        rewritten(folder, name, frame)
        assert sf.verify(folder).outcome == "broken", what


def test_encrypted_columns_are_turned_back_with_the_key(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    key = tmp_path / "study.key"
    sf.pseudonyms.new(key)
    table = pl.DataFrame({**PEOPLE, "ssn": ["s1", "s1", None, "", "long and longer", "s2", "s3", "s4"]})
    found = sf.fragment(table, **ASKED, singletons="encrypt", key=str(key))
    [part] = [one for one in found.parts if "ssn" in one.frame.columns]
    assert part.roles["ssn"] == "encrypted"
    cells = part.frame["ssn"]
    assert cells.n_unique() == 8
    assert cells.str.len_chars().n_unique() == 1
    back = sf.pseudonyms.unseal(cells, "ssn", str(key))
    assert Counter(back) == Counter(text or None for text in table["ssn"])  # an empty text is missing
    assert sf.verify(found.save(tmp_path / "out")).holds
    clear = part.frame.with_columns(ssn=pl.Series(back))
    rewritten(tmp_path / "out", part.name, in_order(clear))
    assert sf.verify(tmp_path / "out").outcome == "broken"
    with pytest.raises(sf.errors.PolicyError, match="not encrypted with this key"):
        sf.pseudonyms.unseal(["sAAAA"], "ssn", str(key))
    with pytest.raises(sf.errors.PolicyError, match="key is for encrypted"):
        sf.fragment(table, **ASKED, key=str(key))


@pytest.mark.parametrize(
    ("constraints", "said"),
    [
        ([["name", "disease"], ["name", "disease", "zip"]], "includes that on .*the larger one is redundant"),
        ([["ssn"], ["ssn", "zip"]], "the larger one is redundant"),
        ([["name", "zip"], ["zip", "name"]], "given twice"),
        ([["name", "nme"]], 'has no "nme"; did you mean "name"'),
        ([["name", "zip", "name"]], "stands in it twice"),
        ([[]], "no list of columns"),
        ([["", ""]], "1 fault:\n  - constraints.0: the name of a column is empty$"),
        ([], "must list sets"),
        ("name", "must list sets"),
        ([[name] for name in PEOPLE], "none can be seen"),
    ],
)
def test_constraints_that_make_no_sense(constraints: Any, said: str) -> None:
    with pytest.raises(sf.errors.PolicyError, match=said):
        sf.fragment(PEOPLE, constraints=constraints, rest="release")


def test_all_faults_are_said_at_once_and_no_value() -> None:
    with pytest.raises(sf.errors.PolicyError) as no:
        sf.fragment(PEOPLE, constraints=[["name", "x"], ["zip", "zip"], ["ssn"], ["ssn", "birth"]])
    assert "3 faults" in str(no.value)
    assert "Ann" not in str(no.value)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"k": 1}, "k must be"),
        ({"k": [0, 3]}, "k must be"),
        ({"k": "two"}, "k must be"),
        ({"between": ["name", "zip"]}, "give k"),
        ({"k": 2, "between": ["name"]}, "a column of each of two fragments"),
        ({"k": 2, "constraints": [["ssn"]], "rest": "release"}, "it is not said which"),
        ({"singletons": "keep"}, "singletons"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(sf.errors.PolicyError, match=said):
        sf.fragment(PEOPLE, **{**ASKED, **asked})


def test_columns_without_a_constraint_are_decided() -> None:
    with pytest.raises(sf.errors.UndecidedColumns, match="ssn"):
        sf.fragment(PEOPLE, constraints=[["name", "disease"]])
    found = sf.fragment(PEOPLE, constraints=[["name", "disease"]], insensitive=["ssn", "birth", "zip"])
    assert found.manifest["policy"]["insensitive"] == ["ssn", "birth", "zip"]
    three = sf.fragment(PEOPLE, constraints=[*itertools.combinations(["name", "zip", "birth"], 2), ["disease", "zip"],
                                             ["ssn"]], k=2, between=["zip", "name"], seed=1)  # fmt: skip
    assert len(three.parts) == 4
    with pytest.raises(sf.errors.PolicyError, match="not said which"):
        sf.fragment(PEOPLE, constraints=[*itertools.combinations(["name", "zip", "birth"], 2), ["ssn"]], k=2,
                    insensitive=["disease"])  # fmt: skip


def test_groups_of_many_rows() -> None:
    rng = np.random.default_rng(1)
    ours, theirs = np.arange(5003)[:, None], rng.integers(0, 30, (5003, 1))
    found = loose_groups(ours, theirs, (3, 4), np.random.default_rng(1))
    assert found.unplaced == 0
    pairs = np.stack([found.first, found.second])
    assert len(np.unique(pairs, axis=1).T) == 5003
    assert np.bincount(found.first).min() == 3
    assert np.bincount(found.second).min() == 4


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3)])
def test_larger_groups_do_not_tell_who_has_a_rare_value(sizes: tuple[int, int]) -> None:
    """Whoever guesses that a name in a group larger than asked has the rare value of such a group is seldom right."""
    k, right, told = sizes[0] * sizes[1], 0, 0
    theirs = np.array([*np.arange(8 * k) % (4 * k), 4 * k])
    for seed in range(150):
        rng = np.random.default_rng(seed)
        dealt = rng.permutation(theirs)
        found = loose_groups(np.arange(len(dealt))[:, None], dealt[:, None], sizes, rng)
        first, second = (np.bincount(side)[side] for side in (found.first, found.second))
        rare = int(np.flatnonzero(dealt == 4 * k)[0])
        if second[rare] > sizes[1]:
            near = {*found.first[found.second == found.second[rare]]}
            larger = [i for i in range(len(dealt)) if first[i] > sizes[0] and found.first[i] in near]
            told += 1
            right += bool(larger) and larger[int(rng.integers(len(larger)))] == rare
    assert right <= told / k + 3 * (told / k) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([0, 1, 2, 3, 4], [0, 0, 1, 2, 3]),
        ([0, 0, 1, 1, 2], [0, 0, 1, 2, 2]),
        ([0, 0, 1, 1, 2, 3], [0, 0, 0, 1, 1, 2]),
    ],
)
def test_all_worlds_weighed_by_the_draw(ours: list[int], theirs: list[int]) -> None:
    """Of every table that fits the groups, as often as it is drawn into them: who knows the program learns no more."""
    weights: dict[Any, Counter[tuple[int, ...]]] = defaultdict(Counter)
    worlds = sorted({*itertools.permutations(theirs)})
    for seed, world in enumerate(worlds * (5000 // len(worlds))):
        found = loose_groups(np.array(ours)[:, None], np.array(world)[:, None], (1, 2), np.random.default_rng(seed))
        if found.unplaced:
            continue  # refused
        values = {b: sorted(world[i] for i in np.flatnonzero(found.second == b)) for b in {*found.second.tolist()}}
        shown = ((own, tuple(values[b])) for own, b in zip(ours, found.second.tolist(), strict=True))
        weights[tuple(sorted(shown))][world] += 1
    for drawn in weights.values():
        total = drawn.total()
        for name in {*ours}:
            own = [i for i, one in enumerate(ours) if one == name]
            values = Counter(world[i] for world, n in drawn.items() for i in own for _ in range(n))
            assert max(values.values()) / total / len(own) <= 0.5 + 2.5 * total**-0.5


def test_rows_that_make_no_blocks_are_drawn_without_looking_at_them() -> None:
    gone: Counter[int] = Counter()
    for seed in range(400):
        rows = np.arange(7)[:, None]
        found = loose_groups(rows, rows, (2, 2), np.random.default_rng(seed))
        assert found.unplaced == 1
        gone.update(np.flatnonzero(found.first < 0).tolist())
    assert min(gone[i] for i in range(7)) > 30


def test_what_suppressed_rows_tell_is_said() -> None:
    table = {"a": [f"{i}" for i in range(9)], "b": ["x"] * 5 + ["y", "z", "u", "v"]}
    asked: Any = {"constraints": [["a", "b"]], "suppression": 1, "seed": 1}
    with pytest.warns(sf.SuppressionWarning, match='1 row of 9 is suppressed for too frequent values of "a" and "b"'):
        sf.fragment(table, **asked, k=2)
    with warnings.catch_warnings():  # drawn without looking at it
        warnings.simplefilter("error")
        five = {name: [f"{name} {i}" for i in range(5)] for name in PEOPLE}  # whichever of them is drawn
        found = sf.fragment(five, **{**ASKED, "k": [2, 2]}, suppression=1)
    assert found.manifest["method"]["suppressed"] == 1
