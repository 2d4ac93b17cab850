"""Incognito: the paper's patients, every subset against every node judged alone, and agreement with the others."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.lattice import lattice
from sfumato.search.lattice import incognito as module
from sfumato.search.lattice.incognito import Incognito, incognito
from sfumato.search.lattice.kernels import group_room, roll
from sfumato.search.lattice.minimal import minimal_nodes
from sfumato.search.lattice.ola import ola
from sfumato.search.lattice.samarati import Samarati
from sfumato.search.problem import Problem
from tests.conformance.test_anonymize_then_verify import CALM, smallest_class, tables
from tests.fuzz import examples
from tests.search.lattices import every, minimal, nine, posed, problems, prunable, refused, study

PATIENTS = {
    "birthdate": ["1/21/76", "4/13/86", "2/28/76", "1/21/76", "4/13/86", "2/28/76"],
    "sex": ["Male", "Female", "Male", "Male", "Female", "Female"],
    "zipcode": ["53715", "53715", "53703", "53703", "53706", "53706"],
    "disease": ["Flu", "Hepatitis", "Brochitis", "Broken Arm", "Sprained Ankle", "Hang Nail"],
}
TREES = {
    "birthdate": sf.flat(),
    "sex": sf.levels("Person"),
    "zipcode": sf.wide([(z, f"{z[:4]}*", f"{z[:3]}**") for z in ("53703", "53706", "53715")]),
}
B, S, Z = "birthdate", "sex", "zipcode"


def patients(k: int = 2, suppression: int = 0) -> Problem:
    return posed(PATIENTS, [B, S, Z], sf.KAnonymity(k), suppression, "lm", TREES)


def test_the_patients_of_the_paper() -> None:
    """Each column alone is 2-anonymous. Of sex and zipcode <S0,Z0> and <S0,Z1> single people out; <S1,Z0> does not, and
    with it all that generalise it."""
    found = incognito(patients())
    satisfying = {columns: [tuple(v) for v in s.satisfying.tolist()] for columns, s in found.subsets.items()}
    assert satisfying == {
        (B,): [(0,), (1,)],
        (S,): [(0,), (1,)],
        (Z,): [(0,), (1,), (2,)],
        (B, S): [(0, 1), (1, 0), (1, 1)],
        (B, Z): [(0, 2), (1, 0), (1, 1), (1, 2)],
        (S, Z): [(0, 2), (1, 0), (1, 1), (1, 2)],
        (B, S, Z): [(0, 1, 2), (1, 0, 2), (1, 1, 0), (1, 1, 1), (1, 1, 2)],
    }
    assert found.subsets[S, Z].minimal == ((0, 2), (1, 0))
    assert found.whole.minimal == ((0, 1, 2), (1, 0, 2), (1, 1, 0))
    # counted of (S, Z): S0 Z0, S1 Z0, S0 Z1, S0 Z2; of all three, after the join, only the three minimal ones
    assert found.subsets[S, Z].checks == 4
    assert found.whole.checks == 3
    assert found.checks == sum(s.checks for s in found.subsets.values())


def test_dangerous_combinations_of_the_patients() -> None:
    found = incognito(patients())
    assert [s.columns for s in found.dangerous] == [(B, S), (B, Z), (S, Z)]
    assert [s.columns for s in found.subsets.values() if s.safe] == [(B,), (S,), (Z,)]
    alone = incognito(patients(3))
    assert [s.columns for s in alone.dangerous] == [(B,), (Z,)]
    assert alone.whole.minimal == ((1, 0, 2),)


@pytest.mark.parametrize(("k", "suppression"), [(2, 0), (2, 2), (3, 0), (3, 2), (4, 3), (6, 0), (7, 0)])
def test_patients_against_every_node(k: int, suppression: int) -> None:
    check_subsets(patients(k, suppression))


def check_subsets(problem: Problem) -> None:
    """Every subset of the columns, as a problem of its own, judged node by node."""
    found = incognito(problem)
    names = tuple(a.name for a in problem.attributes)
    sizes = range(1, len(names) + 1)
    assert list(found.subsets) == [s for size in sizes for s in itertools.combinations(names, size)]
    tops = {a.name: (a.ladder.height, a.ladder.height) for a in problem.attributes}
    whole = lattice(problem.attributes, problem.levels)
    own = {name: (low, high) for name, low, high in zip(names, whole.least, whole.greatest, strict=True)}
    for columns, subset in found.subsets.items():
        # a column at its root says nothing, so the subset is a part of the whole lattice
        part = Problem(
            problem.attributes,
            problem.cells,
            problem.policy,
            problem.rows,
            tops | {name: own[name] for name in columns},
        )
        places = [names.index(name) for name in columns]
        good = [tuple(node[i] for i in places) for node, verdict in every(part).items() if verdict.satisfied]
        assert sorted(map(tuple, subset.satisfying.tolist())) == sorted(good)


@settings(max_examples=examples(100))
@given(problems())
def test_every_subset_is_told_right(problem: Problem) -> None:
    """Also with several quasi-identifier sets, level bounds, and, where nothing is suppressed, any criteria."""
    if not prunable(problem):
        refused(Incognito(), problem, "incognito")
        refused(incognito, problem, "incognito")
        return
    check_subsets(problem)


@settings(max_examples=examples(120))
@given(problems())
def test_agreement(problem: Problem) -> None:
    """Incognito's minimal set is OLA's and that enumerated, its choice the optimum; its least height is Samarati's."""
    if not prunable(problem):
        return
    wanted = minimal(every(problem))
    assert list(incognito(problem).whole.minimal) == wanted
    assert [n.levels for n in minimal_nodes(problem).nodes] == wanted
    assert [n.levels for n in ola(problem).nodes] == wanted
    if not wanted:
        with pytest.raises(sf.errors.Infeasible) as caught:
            Incognito()(problem)
        assert caught.value.closest["suppressed"] > problem.limit or problem.limit >= problem.rows
        return
    solution, optimum = Incognito()(problem), sf.Optimal()(problem)
    assert solution.levels == optimum.levels
    assert solution.verdict == optimum.verdict
    assert solution.optimal
    lowest = Samarati()(problem).levels or {}
    assert sum(lowest.values()) == min(map(sum, wanted))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suppression", "satisfying", "least", "checks"), [(0.0, 87, 27, 3538), (0.04, 4452, 987, 19136)]
)
def test_nine_columns(suppression: float, satisfying: int, least: int, checks: int, shared: Path) -> None:
    problem = nine(shared, suppression)
    found = incognito(problem)
    assert len(found.subsets) == 511
    assert len(found.whole.satisfying) == satisfying
    assert len(found.whole.minimal) == least
    assert found.checks == checks
    assert (minimal_nodes(problem).satisfied == found.whole.good.ravel()).all()
    assert Incognito()(problem).levels == sf.Optimal()(problem).levels


@pytest.mark.slow
@pytest.mark.parametrize("criterion", [sf.EntropyLDiversity("occupation", 3), sf.TCloseness("occupation", 0.3)])
def test_the_extended_form(criterion: Any, shared: Path) -> None:
    """Closed under merging: taken where nothing may be suppressed."""
    problem = nine(shared, 0, criterion)
    keep = {a.name: (a.ladder.height, a.ladder.height) for a in problem.attributes[5:]}
    small = Problem(problem.attributes, problem.cells, problem.policy, problem.rows, keep)
    found = incognito(small)
    assert found.whole.good.ravel().tolist() == [verdict.satisfied for verdict in every(small).values()]
    refused(incognito, nine(shared, 0.04, criterion), "incognito")


def test_the_study(shared: Path) -> None:
    found = incognito(study(shared))
    assert int(found.whole.good.sum()) == 20
    assert len(found.whole.minimal) == 6


def test_too_many_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LISTED", 34)
    with pytest.raises(sf.errors.PolicyError, match=r"35 level vectors of 3 columns.*at most 34"):
        Incognito()(patients())
    monkeypatch.setattr(module, "LISTED", 35)
    assert Incognito()(patients()).optimal


def test_keys_wider_than_a_word_stay_exact() -> None:
    """Six columns of 5,000 labels have 1.6e22 keys, more than 64 bits tell apart."""
    rng = np.random.default_rng(3)
    distinct = rng.integers(0, 5000, (6, 4000)).astype(np.int32)
    fused = np.concatenate([distinct, distinct[:, :1000]], axis=1)
    maps = np.tile(np.arange(5000, dtype=np.int32), 6)
    at, size = np.arange(6) * 5000, np.full(6, 5000)
    codes, rows = roll(fused, np.ones(5000, np.int64), maps, at, size, *group_room(5000))
    expected, count = np.unique(fused, axis=1, return_counts=True)
    order = np.lexsort(codes[::-1])
    assert (codes[:, order] == expected).all()
    assert (rows[order] == count).all()


def test_many_wide_columns() -> None:
    """The same through the search: pairs of equal rows over six columns of 600 values each satisfy as they are."""
    rng = np.random.default_rng(5)
    half = {f"q{i}": [f"v{v}" for v in rng.permutation(600)] for i in range(6)}
    table = {name: values * 2 for name, values in half.items()}
    flat = {name: sf.flat() for name in table}
    assert incognito(posed(table, list(table), sf.KAnonymity(2), 0, "lm", flat)).whole.minimal == ((0,) * 6,)
    table["q5"] = half["q5"] + half["q5"][1:] + half["q5"][:1]
    found = incognito(posed(table, list(table), sf.KAnonymity(2), 0, "lm", flat))
    assert found.whole.minimal == ((0, 0, 0, 0, 0, 1), (1, 1, 1, 1, 1, 0))
    assert [s.columns for s in found.dangerous] == [(f"q{i}", "q5") for i in range(5)]


@settings(max_examples=examples(100), suppress_health_check=CALM)
@given(tables(), st.integers(1, 4), st.sampled_from([0, 1, 0.3]))
def test_nasty_tables(table: dict[str, list[Any]], k: int, suppression: float) -> None:
    names = [name for name in table if name.startswith("q")]
    drop = [name for name in table if name == "unique"]
    try:
        release = sf.anonymize(
            table, quasi=names, identifying=drop, rest="release", require=sf.KAnonymity(k), search=Incognito(),
            suppression=suppression,
        )  # fmt: skip
    except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert smallest_class(release.table, names) >= k
