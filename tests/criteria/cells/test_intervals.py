"""Intervals of hidden cells equal those over all tables of whole numbers that fit; worked examples; odd tables."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.criteria.cells import linear, polytope
from sfumato.criteria.cells.equations import hidden_equations
from sfumato.criteria.cells.intervals import has_whole_vertices, outsider_ranges
from sfumato.criteria.cells.published import PublishedCells
from sfumato.errors import PolicyError
from tests.criteria.cells.enumerated import fitting_tables, flat, nested, numbered, random_table
from tests.fuzz import FUZZ

SHAPES = {
    "one": (numbered("a", 4),),
    "tree": (nested("a", 2, 3),),
    "2x3": (numbered("a", 2), numbered("b", 3)),
    "3x3": (numbered("a", 3), numbered("b", 3)),
    "2x2x2": (numbered("a", 2), numbered("b", 2), numbered("c", 2)),
    "2x(2,2)": (numbered("a", 2), nested("b", 2, 2)),
    "(2,1)x(1,2)": (nested("a", 2, 1), nested("b", 1, 2)),
    "2x2x(1,2)": (numbered("a", 2), numbered("b", 2), nested("c", 1, 2)),
}


def check(published: PublishedCells, true: np.ndarray | None) -> bool:
    """Compare with enumeration, where that can be done."""
    expected = fitting_tables(published)
    if expected is None:
        return False
    found = outsider_ranges(published, true=true)
    assert found.exact
    assert found.low.tolist() == expected[0][published.hidden_cells].tolist()
    assert found.high.tolist() == expected[1][published.hidden_cells].tolist()
    return True


@pytest.mark.parametrize("name", SHAPES)
def test_enumeration(name: str) -> None:
    rng = np.random.default_rng(len(name))
    done = 0
    for i in range(25 * FUZZ):
        published, true = random_table(SHAPES[name], rng, share=rng.uniform(0.2, 0.9))
        done += check(published, true if i % 2 else None)
    assert done > 10


def test_known_bounds() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        published, true = random_table(SHAPES["2x3"], rng, share=0.7)
        if not (true[published.hidden] >= 1).all():
            continue
        upper = np.where(rng.random(true.shape) < 0.5, np.inf, true + rng.integers(0, 3, true.shape))
        check(PublishedCells(published.dimensions, published.values, least=1, upper=upper), true)


@pytest.mark.parametrize("library", ["highspy", "scipy"])
def test_solvers_agree(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if library == "highspy":
        pytest.importorskip("highspy")
    else:
        monkeypatch.setattr(linear, "linear_model", linear._ScipyModel)
        monkeypatch.setattr("sfumato.criteria.cells.polytope.linear_model", linear._ScipyModel)
    rng = np.random.default_rng(2)
    for name in ("3x3", "2x2x2", "(2,1)x(1,2)"):
        for _ in range(8):
            check(*random_table(SHAPES[name], rng, share=0.6))


def test_many_cells_in_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polytope, "LARGE", 0)
    rng = np.random.default_rng(7)
    for name in ("3x3", "2x2x2", "(2,1)x(1,2)"):
        for _ in range(10):
            check(*random_table(SHAPES[name], rng, share=0.6))


@pytest.mark.parametrize("name", ["3x3", "2x2x2"])
def test_intervals_are_never_too_wide_when_time_is_over(name: str) -> None:
    rng = np.random.default_rng(9)
    early = 0
    for _ in range(20):
        published, true = random_table(SHAPES[name], rng, share=0.6)
        exact, found = outsider_ranges(published), outsider_ranges(published, true=true, seconds=0)
        assert (found.low >= exact.low).all()
        assert (found.high <= exact.high).all()
        early += not found.exact
    assert early


def test_vertices_need_not_be_whole() -> None:
    assert has_whole_vertices(PublishedCells(SHAPES["2x(2,2)"], np.zeros((3, 7))))
    assert not has_whole_vertices(PublishedCells(SHAPES["(2,1)x(1,2)"], np.zeros((6, 6))))
    assert not has_whole_vertices(PublishedCells(SHAPES["2x2x2"], np.zeros((3, 3, 3))))


def test_magnitudes() -> None:
    true = np.array([[1000.5, 600.25, 400.25], [300.0, 200.0, 100.0], [700.5, 400.25, 300.25]])
    dimensions = (flat("a", "x", "y"), flat("b", "u", "v"))
    values = true.copy()
    values[1:, 1:] = np.nan
    found = outsider_ranges(PublishedCells(dimensions, values, whole=False))
    assert np.allclose(found.low, [0, 0, 300.25, 100.25], atol=1e-4)
    assert np.allclose(found.high, [300, 300, 600.25, 400.25], atol=1e-4)
    values[1, 1] = 200.0
    found = outsider_ranges(PublishedCells(dimensions, values, whole=False))
    assert (found.high - found.low <= found.near).all()
    assert np.allclose(found.low, [100, 400.25, 300.25])


def test_large_magnitudes_are_determined() -> None:
    rng = np.random.default_rng(3)
    leaves = rng.lognormal(8, 4, (6, 7))
    true = np.vstack((leaves.sum(0), leaves))
    true = np.hstack((true.sum(1, keepdims=True), true))
    values = true.copy()
    values[2:4, 2:5] = values[3:6, 5] = np.nan  # a block, and a column that is determined with it
    values[5, 5] = true[5, 5]
    values[4, 5] = np.nan
    found = outsider_ranges(PublishedCells((numbered("a", 6), numbered("b", 7)), values, whole=False))
    point = true.reshape(-1)[found.published.hidden_cells]
    assert (found.low <= point + found.near).all()
    assert (found.high >= point - found.near).all()


def test_negative_magnitudes_have_no_end() -> None:
    dimensions = (numbered("a", 3),)
    values = np.array([5.0, np.nan, np.nan, 1.0])
    found = outsider_ranges(PublishedCells(dimensions, values, whole=False, least=-np.inf))
    assert found.low.tolist() == [-np.inf] * 2
    assert found.high.tolist() == [np.inf] * 2
    values[2] = 3.0
    found = outsider_ranges(PublishedCells(dimensions, values, whole=False, least=-np.inf))
    assert found.low.tolist() == found.high.tolist() == [1.0]


def test_no_values_fit() -> None:
    dimensions = (flat("a", "x", "y"), flat("b", "u", "v"))
    values = np.array([[10.0, 4, 6], [3, np.nan, np.nan], [6, np.nan, np.nan]])
    with pytest.raises(PolicyError, match="not the sum of their parts"):
        outsider_ranges(PublishedCells(dimensions, values))
    values[0] = [9, 4, 5]
    upper = np.full((3, 3), 1.0)
    with pytest.raises(PolicyError, match="no values of the hidden cells fit"):
        outsider_ranges(PublishedCells(dimensions, values, upper=upper))
    with pytest.raises(PolicyError, match="no values of the hidden cells fit"):
        outsider_ranges(PublishedCells(dimensions, values, least=2, upper=np.full((3, 3), 1.0)))


def test_no_whole_numbers_fit() -> None:
    dimensions = tuple(numbered(name, 2) for name in "abc")
    values = np.full((3, 3, 3), np.nan)
    values[0, 1:, 1:] = values[1:, 0, 1:] = values[1:, 1:, 0] = 1
    values[0, 0, 1:] = values[0, 1:, 0] = values[1:, 0, 0] = 2
    values[0, 0, 0] = 4
    published = PublishedCells(dimensions, values)
    found = outsider_ranges(published)  # two tables fit, one the complement of the other
    assert (found.low == 0).all()
    assert (found.high == 1).all()
    half = np.moveaxis(values, 0, 0).copy()
    half[1, 1, 1] = 0
    assert (
        outsider_ranges(PublishedCells(dimensions, half)).high == outsider_ranges(PublishedCells(dimensions, half)).low
    ).all()


def test_equations() -> None:
    dimensions = (flat("a", "x", "y"), flat("b", "u", "v"))
    values = np.full((3, 3), np.nan)
    found = hidden_equations(PublishedCells(dimensions, values))
    assert len(found.right) == 6
    assert found.residual(np.array([10, 4, 6, 3, 1, 2, 7, 3, 4.0])) == 0
    assert found.residual(np.array([10, 4, 6, 3, 1, 2, 7, 3, 5.0])) == 1
    values[:] = [[10, 4, 6], [3, np.nan, np.nan], [7, np.nan, np.nan]]
    found = hidden_equations(PublishedCells(dimensions, values))
    assert sorted(found.right.tolist()) == [3, 4, 6, 7]
    assert found.is_network
    assert len(found.split()) == 1
    assert not hidden_equations(
        PublishedCells(dimensions, np.ones((3, 3)) * [[4], [2], [2]] * [1, 0.5, 0.5])
    ).right.size
