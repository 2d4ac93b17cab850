"""The audit finds what each attacker finds: worked examples, linked totals, and enumeration."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.criteria.cells.attackers import Attacker, contributor_attackers
from sfumato.criteria.cells.audit import audit_cells, narrowed_cells, requirement
from sfumato.criteria.cells.intervals import outsider_ranges
from sfumato.criteria.cells.published import PublishedCells, TableDimension
from sfumato.errors import PolicyError
from tests.criteria.cells.enumerated import fitting_tables, flat, nested, numbered, random_table, with_totals
from tests.fuzz import FUZZ, examples

PERSONS = np.array([[21, 2, 1, 7, 3, 8], [10, 1, 1, 7, 1, 0], [11, 1, 0, 0, 2, 8]], float)
SEVEN = [(0, 1), (0, 2), (1, 1), (1, 2), (1, 4), (2, 1), (2, 4)]


def example() -> PublishedCells:
    """The 2 x 5 table with its seven primary cells hidden."""
    values = PERSONS.copy()
    for cell in SEVEN:
        values[cell] = np.nan
    return PublishedCells((flat("row", "1", "2"), flat("column", *"ABHMW")), values)


def test_outsider_of_the_example() -> None:
    found = audit_cells(example())
    assert found.intervals.select("low", "high").unique().rows() == [(0, 3)]
    assert (found.hidden, found.exposed, found.narrowest, found.exact) == (7, 0, 3, True)
    ones = np.ones(PERSONS.shape)
    assert audit_cells(example(), true=PERSONS, below=ones, above=ones).exposed == 0
    assert audit_cells(example(), true=PERSONS, above=2 * ones).exposed == 2  # those that are 2
    assert audit_cells(example(), sliding=3 * ones).exposed == 0
    assert audit_cells(example(), sliding=4 * ones).exposed == 7


def finds(published: PublishedCells, contributors: np.ndarray, true: np.ndarray) -> dict[tuple[int, ...], set[int]]:
    """Which cells each attacker finds exactly, or knows of: by flat position."""
    ranges = outsider_ranges(published)
    need, cells = requirement(ranges, None, None, None, None), published.hidden_cells
    found = {}
    for one in contributor_attackers(published, contributors, ranges.component):
        own = {int(cells[i]) for i in one.known}
        seen = narrowed_cells(ranges, one, true.reshape(-1)[cells], need)
        found[tuple(sorted(own))] = {int(cells[i]) for which, *_ in seen for i in which}
    return found


def test_singletons_of_the_example() -> None:
    total_a, total_b, one_a, one_b, one_m, two_a, two_m = (int(np.ravel_multi_index(c, (3, 6))) for c in SEVEN)
    assert finds(example(), PERSONS.astype(int), PERSONS) == {
        (total_b, one_b): {total_a},  # the person is the only one of B, and knows it
        (one_a,): set(),
        (one_m,): {two_a, two_m},
        (two_a,): {one_m, two_m},
    }
    found = audit_cells(example(), contributors=PERSONS.astype(int))
    assert found.exposed == 4
    assert found.attackers == 4
    exposed = found.intervals.filter("exposed")
    assert exposed.select("row", "column").rows() == [("*", "A"), ("1", "M"), ("2", "A"), ("2", "M")]
    assert exposed["attacker"].unique().to_list() == ["contributor"]
    assert (exposed["low"] == exposed["high"]).all()


def test_zeros_are_found() -> None:
    published = PublishedCells((numbered("a", 3),), np.array([0, np.nan, np.nan, 0]))
    found = audit_cells(published)
    assert (found.exposed, found.narrowest) == (2, 0)
    true = np.zeros(4)
    assert audit_cells(published, true=true, above=np.ones(4)).exposed == 2
    assert audit_cells(published, true=true, below=np.ones(4)).exposed == 0  # nobody asks for less than none


def test_ones_are_found() -> None:
    values = np.array([15, 10, 3, np.nan, np.nan])
    dimensions = (numbered("a", 4),)
    assert audit_cells(PublishedCells(dimensions, values)).exposed == 0
    found = audit_cells(PublishedCells(dimensions, values, least=1))
    assert found.exposed == 2
    assert found.intervals["low"].to_list() == found.intervals["high"].to_list() == [1, 1]


def test_linked_totals() -> None:
    """Two tables of one population, safe one by one, of which a cell is the difference of two totals."""
    counties = TableDimension("county", ("*", "1", "4", "10", "A", "I", "B", "J", "K"), (-1, 0, 0, 0, 1, 1, 2, 3, 3))
    whole = with_totals((counties,), np.array([11, 3, 7, 9, 4.0]))
    hidden = np.where(np.isin(counties.labels, ["4", "1", "A", "I", "B"]), np.nan, whole)
    first = PublishedCells((counties,), hidden)
    assert audit_cells(first).exposed == 0
    linked = TableDimension("region", ("*", "big", "small", "A", "B", "I", "J", "K"), (-1, 0, 0, 1, 1, 2, 2, 2))
    values = np.array([34, 18, 16, np.nan, np.nan, np.nan, 9, 4])
    found = audit_cells(PublishedCells((linked,), values))
    assert found.intervals.filter("exposed")["region"].to_list() == ["I"]  # 16 - 9 - 4, though not in the first


@pytest.mark.slow
def test_contributors_by_enumeration() -> None:
    rng = np.random.default_rng(8)
    shapes = (
        (numbered("a", 2), numbered("b", 3)),
        (numbered("a", 3), numbered("b", 3)),
        (numbered("a", 2), numbered("b", 2), numbered("c", 2)),
        (nested("a", 2, 1), nested("b", 1, 2)),
    )
    attackers = 0
    for i in range(120 * FUZZ):
        published, true = random_table(shapes[i % 4], rng, most=2, share=0.5)
        if fitting_tables(published, most=40_000) is None:
            continue
        ranges, cells = outsider_ranges(published), published.hidden_cells
        asked = rng.integers(0, 3, (2, *true.shape)).astype(float)
        need = requirement(ranges, true, asked[0], asked[1], None) if i % 2 else requirement(ranges, *[None] * 4)
        for one in contributor_attackers(published, true.astype(int), ranges.component, coalition=2):
            attackers += 1
            known = {int(cells[k]): float(true.reshape(-1)[cells[k]]) for k in one.known}
            expected = fitting_tables(published, known)
            assert expected is not None
            low, high = expected[0][cells], expected[1][cells]
            narrow = ~need.met(low, high) & (ranges.component >= 0) & ~np.isin(np.arange(len(cells)), one.known)
            narrow &= ranges.high > ranges.low
            reached = {ranges.component[k] for k in one.known if ranges.high[k] > ranges.low[k]}
            narrow &= np.isin(ranges.component, list(reached))
            found = {}
            for which, lows, highs, exact in narrowed_cells(ranges, one, true.reshape(-1)[cells], need):
                assert exact
                found.update({int(k): (a, b) for k, a, b in zip(which, lows, highs, strict=True)})
            assert found == {int(k): (low[k], high[k]) for k in np.flatnonzero(narrow)}
    assert attackers > 80


def test_coalitions() -> None:
    values = np.array([6, np.nan, np.nan, np.nan, 1])
    true = np.array([6, 1, 2, 2, 1.0])
    published, many = PublishedCells((numbered("a", 4),), values), np.array([6, 1, 2, 2, 1])
    assert audit_cells(published, contributors=many).exposed == 0
    found = audit_cells(published, contributors=many, coalition=3)
    assert found.exposed == 2
    assert set(found.intervals.filter("exposed")["attacker"]) == {"coalition"}
    kinds = [(one.kind, one.known) for one in contributor_attackers(published, many, np.zeros(3, int), coalition=3)]
    assert kinds == [
        ("contributor", (0,)),
        ("coalition", (1,)),
        ("coalition", (2,)),
        ("coalition", (0, 1)),
        ("coalition", (0, 2)),
    ]
    with pytest.raises(PolicyError, match="too many coalitions"):
        [*contributor_attackers(published, many, np.zeros(3, int), coalition=3, most=4)]
    assert true.sum() == 12


def test_a_coalition_knows_what_its_members_make_up() -> None:
    published = PublishedCells((nested("a", 2, 2),), np.array([20, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan]))
    many = np.array([20, 2, 18, 1, 1, 9, 9])
    component = outsider_ranges(published).component
    pairs = {one.known for one in contributor_attackers(published, many, component, coalition=2)}
    assert pairs == {(2,), (3,), (0, 2, 3)}  # whoever is alone in a part, and both: the group is then known too


def test_largest_contributions() -> None:
    dimensions = (flat("a", "x", "y", "z"),)
    true, many = np.array([110.0, 60, 40, 10]), np.array([9, 3, 3, 3])
    published = PublishedCells(dimensions, np.array([110, np.nan, np.nan, 10]), whole=False)
    largest = np.array([55.0, 55, 38, 5])
    below = above = np.array([0.0, 10, 3, 0])
    assert audit_cells(published, contributors=many, true=true, below=below, above=above).exposed == 0
    found = audit_cells(published, contributors=many, true=true, below=below, above=above, largest=largest)
    assert found.exposed == 1  # that the first is 55 at least lets the second be 45 at most, which is enough
    assert found.intervals.filter("exposed")["a"].to_list() == ["x"]


def test_random_pattern_with_requirements() -> None:
    rng = np.random.default_rng(4)
    dimensions = (nested("a", 3, 3), numbered("b", 5))
    published, true = random_table(dimensions, rng, most=9, share=0.4)
    ones = np.ones(true.shape)
    found = audit_cells(published, contributors=true.astype(int), true=true, below=ones, above=ones)
    open_cells = found.intervals.filter(~pl.col("exposed"))
    values = true.reshape(-1)[published.hidden_cells][(~found.intervals["exposed"]).to_numpy()]
    assert (open_cells["high"].to_numpy() > values).all()
    assert (open_cells["low"].to_numpy() < np.maximum(values, 1e-9)).all()


def test_what_it_shows() -> None:
    found = audit_cells(example(), contributors=PERSONS.astype(int))
    assert repr(found).splitlines()[0] == "Audit of a table: not safe"
    assert "exposed to a contributor: 4 cells" in repr(found)
    empty = audit_cells(PublishedCells((numbered("a", 2),), np.array([3.0, 1, 2])))
    assert (empty.hidden, empty.exposed, empty.attackers) == (0, 0, 0)
    assert "narrowest interval: none" in repr(empty)


def test_faults() -> None:
    ones = np.ones(PERSONS.shape)
    with pytest.raises(PolicyError, match="these are not given"):
        audit_cells(example(), below=ones)
    with pytest.raises(PolicyError, match="a published value is not the true one"):
        audit_cells(example(), true=PERSONS + 1)
    with pytest.raises(PolicyError, match="whole number for each cell"):
        audit_cells(example(), contributors=ones)
    with pytest.raises(PolicyError, match="no members"):
        audit_cells(example(), contributors=PERSONS.astype(int), coalition=0)
    with pytest.raises(PolicyError, match="a negative number"):
        audit_cells(example(), true=PERSONS, below=-ones)
    with pytest.raises(PolicyError, match="does not have a number for each cell"):
        audit_cells(example(), true=PERSONS, below=np.ones(3))
    wrong = PERSONS.copy()
    wrong[1, 1] = 3
    with pytest.raises(PolicyError, match="do not add up"):
        audit_cells(example(), true=wrong)
    assert Attacker("contributor", (1,)).at_least == ()


def sums_with_shares(seed: int) -> tuple[PublishedCells, np.ndarray, np.ndarray, np.ndarray]:
    """A table of sums with some cells hidden: as published, the true values, contributors and the largest of each."""
    rng = np.random.default_rng(seed)
    dimensions = (numbered("a", 3), numbered("b", 3))
    parts = rng.integers(1, 40, (3, 3, 3)) * (rng.random((3, 3, 3)) < 0.8)
    true, many = (with_totals(dimensions, one.astype(float)) for one in (parts.sum(-1), (parts > 0).sum(-1)))
    top = np.zeros((*true.shape, 2))
    top[1:, 1:] = -np.sort(-parts, -1)[..., :2]
    values = np.where(rng.random(true.shape) < 0.6, np.nan, true)
    return PublishedCells(dimensions, values, whole=False), true, many.astype(int), top


@pytest.mark.parametrize("coalition", [1, 2])
def test_shares_are_tried_all_at_once_first(coalition: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exposed = 0
    for seed in range(examples(600)):
        published, true, many, top = sums_with_shares(seed)
        rng = np.random.default_rng(seed)
        need = rng.integers(0, 12, true.shape) * (rng.random(true.shape) < 0.4) * 1.0
        kwargs = {"true": true, "below": need, "above": need, "contributors": many, "largest": top}
        found = []
        for together in (1, 10**9):
            monkeypatch.setattr("sfumato.criteria.cells.audit.TOGETHER", together)
            found.append(audit_cells(published, coalition=coalition, **kwargs).intervals.select("exposed", "attacker"))
        assert found[0].equals(found[1])
        exposed += found[0].filter(pl.col("exposed") & (pl.col("attacker") != "outsider")).height
    assert exposed


def test_shares_by_linear_programs() -> None:
    """Each contributor with a share narrows exactly what a linear program says."""
    from scipy.optimize import linprog

    tried = 0
    for seed in range(examples(40)):
        published, true, many, top = sums_with_shares(seed)
        ranges, cells = outsider_ranges(published), published.hidden_cells
        need = requirement(ranges, true, 0 * true + 6, 0 * true + 6, None)
        one = ranges.published
        rows, right = [], []
        for axis, dimension in enumerate(one.dimensions):
            index = np.moveaxis(np.arange(true.size).reshape(true.shape), axis, 0)
            for other in range(index.shape[1]):
                line = np.zeros(true.size)
                line[index[0, other]], line[index[1 : len(dimension.labels), other]] = -1, 1
                rows.append(line[cells])
                right.append(-float(line @ np.where(one.hidden, 0, true).ravel()))
        for attacker in contributor_attackers(published, many, ranges.component, largest=top):
            if attacker.known:
                continue
            [(at, share)] = attacker.at_least
            bounds = [(share if k == at else 0, None) for k in range(len(cells))]
            found = {}
            for which, lows, highs, _ in narrowed_cells(ranges, attacker, true.reshape(-1)[cells], need):
                found.update({int(k): (lo, hi) for k, lo, hi in zip(which, lows, highs, strict=True)})
            for k in np.flatnonzero(ranges.high > ranges.low):
                ends = []
                for way in (1.0, -1.0):
                    c = np.zeros(len(cells))
                    c[k] = way
                    solved = linprog(c, A_eq=np.array(rows), b_eq=np.array(right), bounds=bounds)
                    ends.append(np.inf if solved.status == 3 else way * solved.fun)
                low, high = ends[0], ends[1]
                asked = share if k == at else 0
                value = true.reshape(-1)[cells[k]]
                met = low <= max(value - 6, asked, 0) + 1e-6 and high >= value + 6 - 1e-6
                tried += 1
                assert met == (int(k) not in found)
                if not met:
                    assert found[int(k)] == pytest.approx((low, high), abs=1e-4)
    assert tried > 50
