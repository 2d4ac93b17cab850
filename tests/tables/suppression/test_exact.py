"""Exact: equal to the least cost of all patterns, for every small table; honest where the time is over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from sfumato.core.progress import Progress
from sfumato.errors import Cancelled, Infeasible
from sfumato.tables.protection import ProtectionProblem
from sfumato.tables.rules import Dominance, PPercent
from sfumato.tables.suppression import Exact
from sfumato.tables.suppression import exact as module
from tests.fuzz import FUZZ
from tests.tables.suppression.tables import SPEC, amounts_of, exposed, least_cost, problem_of, table_of


def small_tables() -> Iterator[np.ndarray]:
    """Every table up to 2 x 3 with counts of 0 to 3; in an ordinary run a sample of them."""
    rng = np.random.default_rng(20)
    for rows, columns in ((1, 2), (1, 3), (2, 2), (2, 3)):
        every = list(product(range(4), repeat=rows * columns))
        chosen = every if FUZZ > 1 else [every[i] for i in rng.choice(len(every), 12, replace=False)]
        yield from (np.array(one).reshape(rows, columns) for one in chosen if any(one))


def check(problem: ProtectionProblem) -> None:
    """Compare with all patterns."""
    least = least_cost(problem)
    if least is None:
        with pytest.raises(Infeasible):
            Exact()(problem)
        return
    found = Exact()(problem)
    assert found.cost == problem.price(found.hidden) == pytest.approx(least)
    assert found.bound == pytest.approx(least)
    assert found.optimal
    assert found.reproducible
    assert not len(problem.audit(found.hidden))
    assert not (problem.forced & ~found.hidden).any()
    assert not (found.hidden & ~problem.candidate).any()


@pytest.mark.slow
@pytest.mark.parametrize("people", [False, True])
def test_every_small_table(people: bool) -> None:
    """The cost is the least of all patterns that withstand an outsider, and everybody who is alone in a cell."""
    for counts in small_tables():
        check(problem_of(table_of(counts), audit="cycles", people=people))


@pytest.mark.parametrize("seed", range(8 if FUZZ == 1 else 250 * FUZZ))
def test_random_tables(seed: int) -> None:
    """The same of larger tables, with more empty cells, and costs of their own."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 5, 2))
    counts = rng.integers(0, 7, shape) * (rng.random(shape) < 0.8)
    counts[0, 0] += 1
    table = table_of(counts)
    cost = rng.integers(1, 30, table.value.size) * 1.0 if seed % 2 else None
    problem = problem_of(table, audit="cycles", people=seed % 3 == 0, cost=cost)
    if (problem.candidate & ~problem.forced).sum() <= 15:
        check(problem)


@pytest.mark.parametrize("seed", range(2 * FUZZ))
def test_three_columns(seed: int) -> None:
    """Tables of three columns, where attackers know that counts are whole."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (2, 2, 2)) * (rng.random((2, 2, 2)) < 0.7)
    counts[0, 0, 0] += 1
    problem = problem_of(table_of(counts), audit="whole")
    if (problem.candidate & ~problem.forced).sum() <= 9:
        check(problem)


@pytest.mark.parametrize("seed", range(3 * FUZZ))
def test_sums(seed: int) -> None:
    """Sums with widths of protection of their own."""
    rule = PPercent(30) if seed % 2 else Dominance(1, 60)
    problem = problem_of(amounts_of((2, 3), seed), [rule])
    if (problem.candidate & ~problem.forced).sum() <= 9:
        check(problem)


def test_the_audits_agree() -> None:
    """Cycles of cells find what linear and integer programs find."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        problem = problem_of(table_of(rng.integers(0, 5, (3, 3))), audit="cycles", people=True)
        hidden = problem.forced | (rng.random(len(problem.value)) < 0.4) & problem.candidate
        found = problem.audit(hidden).tolist()
        assert found == exposed(problem, hidden, True, False).tolist() == exposed(problem, hidden, True, True).tolist()


def test_worked_example() -> None:
    """The 2 x 5 table of the specification: an outsider finds nothing, people find others exactly."""
    table = table_of(SPEC)
    outsider, people = problem_of(table, audit="cycles"), problem_of(table, audit="cycles", people=True)
    assert int(outsider.forced.sum()) == 7
    found = Exact()(outsider)
    assert (found.cost, found.optimal) == (0, True)
    assert (found.hidden == outsider.forced).all()
    rows, columns = np.unravel_index(people.audit(found.hidden), table.shape)
    named = {(table.dimensions[0].labels[r], table.dimensions[1].labels[c]) for r, c in zip(rows, columns, strict=True)}
    # the person in ("v00", "v01") is also the one in ("*", "v01")
    assert named == {("*", "v00"), ("v01", "v00"), ("v01", "v03"), ("v00", "v03")}
    check(people)


def test_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the best pattern that passed the audit is given, with what is proven."""
    rng = np.random.default_rng(1)
    problem = problem_of(table_of(rng.integers(0, 12, (9, 9))))
    found = Exact(1e-9)(problem)
    assert not found.optimal
    assert not found.reproducible
    assert found.bound <= found.cost
    assert not len(problem.audit(found.hidden))
    assert Exact(100)(problem).cost <= found.cost


def test_repeats() -> None:
    """The same table has the same pattern."""
    rng = np.random.default_rng(2)
    table = table_of(rng.integers(0, 9, (6, 6)))
    one, other = (Exact()(problem_of(table)) for _ in range(2))
    assert (one.hidden == other.hidden).all()


def test_without_highspy(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy finds the same cost."""
    rng = np.random.default_rng(3)
    table = table_of(rng.integers(0, 7, (4, 4)))
    found = Exact()(problem_of(table))
    monkeypatch.setitem(__import__("sys").modules, "highspy", None)
    assert Exact()(problem_of(table)).cost == found.cost


def test_cells_in_conflict() -> None:
    """Where cells must be published, the fewest that are in the way are named by number, and no value is."""
    table = table_of([[5, 1, 7], [6, 8, 9]])  # cell (0, 1) is unsafe
    with pytest.raises(Infeasible) as caught:
        Exact()(problem_of(table, keep=[0, 1, 3, 5, 7, 8, 9, 11]))
    published = caught.value.closest["published"]
    assert published
    problem = problem_of(table)
    hidden = np.ones(12, np.bool_)
    hidden[published] = False
    assert len(problem.audit(hidden))
    for one in published:
        more = hidden.copy()
        more[one] = True
        assert not len(problem.audit(more))
    assert "must be published (in rows" in str(caught.value)
    assert caught.value.closest["empty"] == []
    for size in range(1, len(published)):  # no set of fewer is in conflict
        for fewer in combinations([0, 1, 3, 5, 7, 8, 9, 11], size):
            hidden = np.ones(12, np.bool_)
            hidden[[*fewer]] = False
            assert not len(problem.audit(hidden))


def test_empty_cells_in_conflict() -> None:
    """Empty cells are named apart, with what allows to hide them."""
    table = table_of([[1, 4, 0], [5, 0, 6], [0, 3, 4]])
    problem = problem_of(table, keep=[0, 1, 2, 3, 4, 8, 12, 15])  # all totals, and (2, 2)
    with pytest.raises(Infeasible, match=r'may not be hidden.*zeros="hide"') as caught:
        Exact()(problem)
    closest = caught.value.closest
    assert closest["published"]
    assert closest["empty"]
    together = [*closest["published"], *closest["empty"]]
    for shown in (together, *(list(set(together) - {one}) for one in together)):
        hidden = np.ones(16, np.bool_)
        hidden[shown] = False
        assert bool(len(problem.audit(hidden))) == (shown is together)


def test_no_clock_has_a_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said to be reproducible is: however slow the clock, and with whatever limit that is not reached."""
    table = table_of(np.random.default_rng(6).integers(0, 8, (5, 5)))
    one = Exact()(problem_of(table, people=True))
    assert one.reproducible
    real = module.time.monotonic
    monkeypatch.setattr(module.time, "monotonic", lambda: real() * 3)
    other = Exact(1e6)(problem_of(table, people=True))
    assert other.reproducible
    assert (one.hidden == other.hidden).all()


def test_the_best_audited_pattern_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the time is over, what is given passed the audit, and is marked as not proven to cost least; and where
    no pattern passed it, the call fails."""
    problem = problem_of(table_of(np.random.default_rng(8).integers(0, 9, (5, 5))), people=True)
    ticks, seen = iter(range(10**9)), []
    asked = problem.audit

    def audit(hidden: np.ndarray) -> np.ndarray:
        found = asked(hidden)
        if not len(found):
            seen.append(hidden.tobytes())
        return found

    for steps in (3, 100, 1000):
        seen.clear()
        monkeypatch.setattr(module.time, "monotonic", lambda: float(next(ticks)))
        found = Exact(float(steps))(replace(problem, audit=audit))
        assert found.hidden.tobytes() in seen
        assert found.bound <= found.cost + 1e-9
        assert found.reproducible <= found.optimal
    with pytest.raises(Infeasible):
        Exact(3.0)(replace(problem, audit=lambda hidden: np.flatnonzero(problem.forced)))


def test_nothing_protects() -> None:
    """A table of one cell with one person cannot be protected by hiding cells."""
    problem = problem_of(table_of([[1]]), audit="linear")
    problem = replace(problem, audit=lambda hidden: np.flatnonzero(problem.forced))
    with pytest.raises(Infeasible, match="cannot be protected, whichever others are hidden"):
        Exact()(problem)


def test_is_cancelled() -> None:
    """What progress raises ends it."""

    def stop(message: str, share: float | None) -> None:
        raise Cancelled

    heard: Progress = stop
    problem = replace(problem_of(table_of([[1, 2, 3], [4, 5, 6]])), report_progress=heard)
    with pytest.raises(Cancelled):
        Exact()(problem)


def test_nothing_unsafe() -> None:
    """Then nothing is hidden."""
    found = Exact()(problem_of(table_of([[4, 5], [6, 7]])))
    assert not found.hidden.any()
    assert found.optimal
    assert module.GAPS[-1] == 0
