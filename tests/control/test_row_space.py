"""What sums determine, against elimination with fractions that shares nothing with it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.control import row_space
from sfumato.control.classes import QueryClasses
from sfumato.control.row_space import LARGEST, P, RowSpace, rational
from tests.fuzz import examples


def rank(rows: list[list[int]]) -> int:
    """The rank of a matrix over the rationals, by plain elimination."""
    left = [[Fraction(x) for x in row] for row in rows]
    found = 0
    for column in range(len(left[0]) if left else 0):
        at = next((i for i in range(found, len(left)) if left[i][column]), None)
        if at is None:
            continue
        left[found], left[at] = left[at], left[found]
        for i in range(found + 1, len(left)):
            factor = left[i][column] / left[found][column]
            left[i] = [a - factor * b for a, b in zip(left[i], left[found], strict=True)]
        found += 1
    return found


def determined(rows: list[list[int]], people: int) -> list[int]:
    """Who is determined by sums over these 0/1 vectors."""
    own = rank(rows) if rows else 0
    return [i for i in range(people) if rows and rank([*rows, [int(i == j) for j in range(people)]]) == own]


def auditor(people: int):
    classes, space = QueryClasses(people), RowSpace()

    def ask(inside) -> bool:
        parents, own = classes.split(np.array(inside, np.bool_))
        space.widen(parents)
        return not space.determined(own, classes.sizes)

    return ask, space


@st.composite
def queries(draw) -> list[list[int]]:
    people = draw(st.integers(1, 8))
    one = st.lists(st.integers(0, 1), min_size=people, max_size=people)
    return draw(st.lists(one, min_size=1, max_size=10))


@settings(max_examples=examples(150), deadline=None)
@given(queries())
def test_refused_exactly_where_somebody_is_determined(asked) -> None:
    ask, space = auditor(len(asked[0]))
    answered: list[list[int]] = []
    for inside in asked:
        safe = ask(inside)
        assert safe == (not determined([*answered, inside], len(inside)))
        if safe:
            space.keep()
            answered.append(inside)
    assert space.rank == (rank(answered) if answered else 0)


def test_the_sums_of_the_specification() -> None:
    ask, space = auditor(3)
    assert ask([1, 1, 1])
    space.keep()
    assert not ask([0, 1, 1])
    ask, space = auditor(5)
    for inside in ([1, 1, 1, 0, 0], [0, 0, 1, 1, 1]):
        assert ask(inside)
        space.keep()
    assert not ask([1, 1, 0, 1, 1])


@pytest.mark.parametrize("prime", [2, 3, 5])
def test_a_small_prime_refuses_more_and_never_less(prime, monkeypatch) -> None:
    """With a prime that divides many determinants, what is answered still determines nobody."""
    draws = np.random.default_rng(prime)
    monkeypatch.setattr(row_space, "reduced", _slow_reduced(prime))
    monkeypatch.setattr(row_space, "eliminated", _slow_eliminated(prime))
    monkeypatch.setattr(row_space, "P", prime)
    monkeypatch.setattr(row_space, "LARGEST", 1)
    kept = 0
    for _ in range(60):
        people = int(draws.integers(2, 8))
        ask, space = auditor(people)
        answered: list[list[int]] = []
        for _ in range(8):
            inside = draws.integers(0, 2, people).tolist()
            if ask(inside):
                space.keep()
                answered.append(inside)
        assert determined(answered, people) == []
        kept += len(answered)
    assert kept > 60


def _slow_reduced(prime: int):
    def reduced(rows, used, out) -> None:
        for k in used:
            out += prime - rows[k, : len(out)].astype(np.uint64)
        out %= prime

    return reduced


def _slow_eliminated(prime: int):
    def eliminated(rows, factors, new, nonzero) -> None:
        for k, factor in enumerate(factors):
            own = (rows[k, : len(new)].astype(np.uint64) + factor * new) % prime
            rows[k, : len(new)] = own
            nonzero[k] = np.count_nonzero(own)

    return eliminated


@given(st.integers(-LARGEST, LARGEST), st.integers(1, LARGEST))
def test_fractions_come_back(above, below) -> None:
    found = rational(above * pow(below, -1, P) % P)
    assert found is not None
    assert Fraction(*found) == Fraction(above, below)


def test_what_was_refused_leaves_nothing_behind() -> None:
    draws = np.random.default_rng(3)
    ask, space = auditor(12)
    clean, other = auditor(12)
    for _ in range(40):
        inside = draws.integers(0, 2, 12)
        safe = ask(inside)
        assert safe == clean(inside)
        if safe and draws.random() < 0.5:
            space.keep()
            other.keep()
        else:
            ask(draws.integers(0, 2, 12))  # looked at, and not answered
    assert space.rank == other.rank
