"""People of a population, counted through the labels of a release, against a plain count."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.measures.labels_cover import covers
from sfumato.measures.risk import journalist, unique_in_population
from tests.fuzz import examples

LABELS = ["*", "2*", "20-29", "[21, 32)", ">= 30", "{21, 33}", "25", "no label", None]
ages = st.lists(st.sampled_from(["21", "25", "29", "30", "33", "41", None]), min_size=1, max_size=12)


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.booleans())
def test_against_a_plain_count(data, wildcard):
    one, other = data.draw(st.lists(st.tuples(*[st.sampled_from(LABELS)] * 2), min_size=1, max_size=8)), data.draw(ages)
    also = data.draw(st.lists(st.sampled_from(["30", "21", None]), min_size=len(other), max_size=len(other)))
    released = {"a": [a for a, _ in one], "b": [b for _, b in one]}
    people = {"a": other, "b": also}
    released, people = (pl.DataFrame(t, schema={"a": pl.String, "b": pl.String}) for t in (released, people))
    fits = {}
    for c in "ab":
        labels, values = released[c].unique().to_list(), people[c].unique().to_list()
        table = covers(labels, values, wildcard=wildcard)
        table |= wildcard & np.array([v is None for v in values])  # an unknown value of a person fits any label
        fits[c] = {(label, v): bool(table[i, j]) for i, label in enumerate(labels) for j, v in enumerate(values)}
    alike = [sum(x == y for y in one) for x in one]
    if wildcard:
        free = (None, "*")
        meet = lambda x, y: all(p == q or p in free or q in free for p, q in zip(x, y, strict=True))  # noqa: E731
        alike = [sum(meet(x, y) for y in one) for x in one]
    there = [sum(fits["a"][a, x] and fits["b"][b, y] for x, y in people.iter_rows()) for a, b in one]
    found = journalist(released, ["a", "b"], people, wildcard=wildcard)
    assert found["average"] == pytest.approx(sum(1 / max(m, n) for m, n in zip(alike, there, strict=True)) / len(one))
    assert found["outside"] == pytest.approx(sum(n < m for m, n in zip(alike, there, strict=True)) / len(one))


def test_a_population_in_the_same_form_is_counted_by_equal_keys():
    found = journalist({"age": ["2*", "3*"]}, ["age"], {"age": ["2*", "2*", "3*", "3*", "3*"]})
    assert (found["highest"], found["lowest"]) == (1 / 2, 1 / 3)


def test_labels_that_cannot_be_read_make_nothing_look_safe():
    found = journalist({"job": ["care"]}, ["job"], {"job": ["nurse", "cook"]})
    assert (found["highest"], found["outside"]) == (1, 1)


def test_a_value_outside_of_the_population_changes_nothing_for_the_others():
    people = {"age": ["20", "20", "30", "x"]}
    few, more = (unique_in_population({"age": ages}, ["age"], people) for ages in (["20"], ["20", "y"]))
    assert few["pu"] == more["pu"] == 0.5


def test_uniques_of_a_raw_population():
    found = unique_in_population({"age": ["20-29", "3*"]}, ["age"], {"age": [21, 25, 33, 50]})
    assert (found["population_uniques"], found["both"], found["pu_given_su"]) == (1, 1, 0.5)
