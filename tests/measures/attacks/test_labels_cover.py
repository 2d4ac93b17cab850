"""Covers: every form of label, read against the values it may stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.hierarchy import Hierarchy
from sfumato.hierarchies import dates, intervals, redact, tree
from sfumato.measures.labels_cover import covers, read_labels

AGES = ["5", "20", "25", "30", "41", None]
DAYS = ["2023-12-31", "2024-01-01", "2024-02-29", "2024-04-01T08:30:00"]
WORDS = ["ant", "bee", "cat, wild", "dog"]


@pytest.mark.parametrize(
    ("label", "covered"),
    [
        ("*", [1, 1, 1, 1, 1, 1]),
        ("**", [1, 1, 1, 1, 1, 1]),
        (None, [0, 0, 0, 0, 0, 1]),
        ("25", [0, 0, 1, 0, 0, 0]),
        ("25.0", [0, 0, 1, 0, 0, 0]),
        ("26", [0, 0, 0, 0, 0, 0]),
        ("[20, 30)", [0, 1, 1, 0, 0, 0]),
        ("[20, 30]", [0, 1, 1, 1, 0, 0]),
        ("(20, 30]", [0, 0, 1, 1, 0, 0]),
        ("]20;30[", [0, 0, 1, 0, 0, 0]),
        ("20-29", [0, 1, 1, 0, 0, 0]),
        ("20 – 29", [0, 1, 1, 0, 0, 0]),
        ("20 to 29", [0, 1, 1, 0, 0, 0]),
        ("20..30", [0, 1, 1, 1, 0, 0]),
        ("20~29", [0, 1, 1, 0, 0, 0]),
        (">=30", [0, 0, 0, 1, 1, 0]),
        ("> 30", [0, 0, 0, 0, 1, 0]),
        ("< 20", [1, 0, 0, 0, 0, 0]),
        ("≤ 20", [1, 1, 0, 0, 0, 0]),
        ("30+", [0, 0, 0, 1, 1, 0]),
        ("2*", [0, 1, 1, 0, 0, 0]),
        ("*5", [1, 0, 1, 0, 0, 0]),
        ("{20, 41}", [0, 1, 0, 0, 1, 0]),
        ("{20-29, 41}", [0, 1, 1, 0, 1, 0]),
        ("young", [0, 0, 0, 0, 0, 0]),
    ],
)
def test_forms_over_numbers(label: str | None, covered: list[int]) -> None:
    assert covers([label], AGES)[0].astype(int).tolist() == covered


@pytest.mark.parametrize(
    ("label", "covered"),
    [
        ("2024-02", [0, 0, 1, 0]),
        ("2024-Q1", [0, 1, 1, 0]),
        ("2024", [0, 1, 1, 1]),
        ("2020s", [1, 1, 1, 1]),
        ("1990s", [0, 0, 0, 0]),
        ("2024-W01", [0, 1, 0, 0]),
        ("[2024-01-01, 2024-04-01]", [0, 1, 1, 1]),  # the last day belongs as a whole
        ("[2024-01-01, 2024-04-01)", [0, 1, 1, 0]),
        (">= 2024-02-29", [0, 0, 1, 1]),
    ],
)
def test_forms_over_dates(label: str, covered: list[int]) -> None:
    assert covers([label], DAYS)[0].astype(int).tolist() == covered


@pytest.mark.parametrize(
    ("label", "covered"),
    [
        ("{ant, cat, wild}", [1, 0, 1, 0]),  # a value may hold a comma
        ("{ant,dog}", [1, 0, 0, 1]),
        ("ant..cat", [1, 1, 0, 0]),
        ("bee..dog", [0, 1, 1, 1]),
        ("{emu}", [0, 0, 0, 0]),
    ],
)
def test_forms_over_texts(label: str, covered: list[int]) -> None:
    assert covers([label], WORDS)[0].astype(int).tolist() == covered


@pytest.mark.parametrize(
    "label", ["ant,dog", "dog, ant", "ant;dog", "ant|dog", "ant~dog", "['ant', 'dog']", "('ant','dog')"]
)
def test_sets_without_braces(label: str) -> None:
    assert covers([label], WORDS)[0].astype(int).tolist() == [1, 0, 0, 1]


def test_a_text_is_a_set_where_each_of_its_words_is_a_value() -> None:
    assert covers(["cat, wild"], WORDS)[0].tolist() == [False, False, True, False]  # which is a value
    assert covers(["a,b"], ["a", "b", "a,b"])[0].tolist() == [False, False, True]
    assert not read_labels(["ant,emu", "ant;", "emu~yak"], WORDS).read.any()
    assert covers(["1,5,9", "1~5"], ["1", "3", "5", "9"]).astype(int).tolist() == [[1, 0, 1, 1], [1, 1, 1, 0]]


def test_of_strangers_one_word_that_is_a_value_tells_a_set() -> None:
    rest = {"unread": True, "strangers": True}
    found = covers(["ant,emu", "yak,gnu", "owl"], ["ant", "bee"], **rest)
    assert found.astype(int).tolist() == [[1, 0], [0, 0], [0, 0]]
    assert covers(["ant,emu"], ["ant", "cat, wild"], **rest).all()  # a comma belongs to values: anything
    assert covers(["emu,gnu"], ["ant"], **rest).all()


@given(
    sets=st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=4),
    values=st.sets(st.sampled_from("abcdef"), min_size=1),
    sign=st.sampled_from([",", ", ", ";", "; ", "|", "~"]),
    strangers=st.booleans(),
)
def test_sets_cover_the_same_without_braces(sets: list[set[str]], values: set[str], sign: str, strangers: bool) -> None:
    """By brute force: the values named, where all words are known, or one of any set to tell that they are sets."""
    known = sorted(values)
    labels = [sign.join(sorted(words)) for words in sets]
    table = covers(labels, known, unread=strangers, strangers=strangers)
    told = strangers and any(words & values for words in sets if len(words) > 1)
    for row, words in zip(table, sets, strict=True):
        if words <= values or (told and len(words) > 1):
            assert {known[i] for i in np.flatnonzero(row)} == words & values


def test_a_decade_of_years() -> None:
    assert covers(["1970s"], ["1969", "1970", "1979", "1980"])[0].tolist() == [False, True, True, False]


def test_masks_fill_up_and_may_be_short() -> None:
    values = ["47677", "47602", "12", "476"]
    assert covers(["476**"], values)[0].tolist() == [True, True, False, True]  # as redact fills short values up
    assert covers(["12***"], values)[0].tolist() == [False, False, True, False]
    assert covers(["47*"], ["47677", "12"])[0].tolist() == [True, False]  # nothing is that short: any number
    assert covers(["4*6*7"], values)[0].tolist() == [True, False, False, False]
    assert covers(["*76*"], ["476", "3769", "76", "47677"])[0].tolist() == [True, True, True, False]


def test_labels_of_a_hierarchy_and_its_root() -> None:
    diseases = tree([("flu", "lung"), ("asthma", "lung"), ("lung", "any"), ("ulcer", "any")])
    values = ["asthma", "flu", "ulcer", None]
    table = covers(["lung", "any", "{lung, ulcer}", "flu", "heart"], values, diseases)
    assert table.astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    built = Hierarchy("d", (("flu", "cold"), ("lung",), ("*",)), np.array([[0, 1], [0, 0], [0, 0]]))
    assert covers(["lung", "cold"], ["flu"], built).tolist() == [[True], [False]]  # a leaf that is no value: read


def test_unread_text_covers_all_or_nothing() -> None:
    assert covers(["lung"], ["flu", "ulcer"]).sum() == 0
    assert covers(["lung"], ["flu", "ulcer"], unread=True).all()
    assert not covers(["7.5"], ["7", "8"], unread=True).any()  # a number is read
    assert read_labels(["lung", "flu"], ["flu"]).read.tolist() == [False, True]
    rest = {"unread": True, "strangers": True}  # of people who may be in another table
    assert covers(["lung", "flu"], ["flu"], **rest).tolist() == [[False], [True]]
    assert covers(["lung", "{a, b}"], ["flu"], **rest).sum() == 0  # a column that prints values
    assert covers(["lung", "heart", "*", "12"], ["flu"], **rest)[:, 0].tolist() == [True, True, True, False]
    assert covers([None], ["flu", None], wildcard=True).all()


def test_huge_numbers_keep_apart() -> None:
    values = ["9007199254740992", "9007199254740993", "9007199254740994"]
    label = "[9007199254740993, 9007199254740993]"
    assert covers([label], values)[0].tolist() == [False, True, False]


@pytest.mark.parametrize("recipe", [intervals(5, 10), redact("right"), redact("left")])
def test_labels_of_our_recipes_are_read_without_their_hierarchy(recipe: object) -> None:
    values = ["7", "12", "13", "25", "108"]
    with_it = recipe.build  # type: ignore[attr-defined]
    import polars as pl

    from sfumato.core.microdata import encode

    built = with_it(encode(pl.Series("n", values))[0])
    for level, names in enumerate(built.labels):
        alone = covers(names, values)
        leaf = built.locate(values)
        true = built.ancestor[level][leaf][None, :] == np.arange(len(names))[:, None]
        assert (alone | ~true).all()  # never misses a value that the label stands for


def test_dates_recipe_is_read_without_its_hierarchy() -> None:
    import polars as pl

    from sfumato.core.microdata import encode

    days = ["2023-12-31", "2024-01-01", "2024-02-29", "2031-05-05"]
    built = dates("month", "quarter", "year", "decade").build(encode(pl.Series("d", days))[0])
    for names, ancestor in zip(built.labels, built.ancestor, strict=True):
        assert np.array_equal(covers(names, days), ancestor[None, :] == np.arange(len(names))[:, None])


@given(st.lists(st.text(max_size=6), min_size=1, max_size=8, unique=True), st.lists(st.text(max_size=8), max_size=8))
def test_any_text_is_read_without_fault(values: list[str], labels: list[str]) -> None:
    table = covers([*labels, *values, "*"], values)
    assert table.shape == (len(labels) + len(values) + 1, len(values))
    assert table[-1].all()
    own = table[len(labels) : -1]
    assert all(own[i, i] for i in range(len(values)))  # a value covers itself, the empty text the missing one


def test_masks_have_the_leading_zeros_that_postcodes_lost_as_numbers() -> None:
    codes, labels = ["7", "1067", "1069", "10115", "106755", None], ["0106*", "10***", "00***", "1067"]
    found = covers(labels, codes).astype(int).tolist()
    assert found == [[0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]
    kept = covers(["0106*", "10***"], ["01067", "1067", "10115"]).astype(int).tolist()  # nothing was lost
    assert kept == [[1, 0, 0], [0, 1, 1]]
