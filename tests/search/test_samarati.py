"""Samarati: worked by hand, as the study has it, tables against distance vectors, and never an unchecked top."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.search.lattice import samarati as module
from sfumato.search.lattice.samarati import AMONG, METHODS, PREFERENCES, Samarati
from sfumato.search.problem import Problem
from tests.conformance.test_anonymize_then_verify import CALM, smallest_class, tables
from tests.fuzz import examples
from tests.search.lattices import bank, every, five, minimal, nine, posed, problems, prunable, refused, study


def chosen(problem: Problem, **options: Any) -> tuple[int, ...]:
    return tuple((Samarati(**options)(problem).levels or {}).values())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("limit", "prefer", "node"),
    [
        # see test_minimal.py for the rows alone at each node
        (0, "first", (1, 2)),  # heights 1 and 2 fail, the top is validated
        (2, "first", (1, 0)),  # at height 1 (0,1) suppresses 3, (1,0) one; height 0 fails
        (3, "first", (0, 1)),  # both vectors of height 1 satisfy: the first
        (3, "height", (0, 1)),
        (3, "relative-height", (0, 1)),  # half the way up ZIP, against all of race
        (3, "suppressed", (1, 0)),  # one row against three
        (3, "distinct", (1, 0)),  # 02138 and 02139 against asian 0213* alone
        (3, "loss", (1, 0)),
    ],
)
def test_race_and_zip(method: str, limit: int, prefer: str, node: tuple[int, int]) -> None:
    assert chosen(five(2, limit), by=method, prefer=prefer) == node


def test_preferences_among_all_minimal_vectors() -> None:
    """Two rows may go: (0,2) and (1,0) are minimal, of heights 2 and 1, both at relative height 1."""
    problem = five(2, 2)
    assert chosen(problem, prefer="first", among="minimal") == (0, 2)
    assert chosen(problem, prefer="height", among="minimal") == (1, 0)
    assert chosen(problem, prefer="relative-height", among="minimal") == (1, 0)
    assert chosen(problem, prefer="suppressed", among="minimal") == (1, 0)


@pytest.mark.parametrize("method", METHODS)
def test_adult(method: str, shared: Path) -> None:
    problem = study(shared)
    solution = Samarati(by=method)(problem)
    assert tuple((solution.levels or {}).values()) == (1, 0, 1, 2)
    assert solution.verdict.suppressed == 7
    assert solution.verdict.loss == pytest.approx(2.0554451968758, abs=1e-9)
    assert int(problem.cells.count[solution.kept].sum()) == 30155
    assert chosen(problem, by=method, prefer="loss", among="minimal") == (4, 0, 0, 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("rows", "levels", "prefer", "node", "suppressed", "kept", "loss"),
    [
        (slice(1, None), {"job": (0, 0)}, "first", (3, 0), 6, 4514, 0.2893336015017),
        (slice(None), None, "first", (0, 3), 8, 4513, 1.0017695200177),
        (slice(None), None, "loss", (3, 0), 6, 4515, 0.2893332797115),
    ],
)
def test_bank(
    method: str,
    rows: slice,
    levels: Any,
    prefer: str,
    node: tuple[int, int],
    suppressed: int,
    kept: int,
    loss: float,
    shared: Path,
) -> None:
    problem = bank(shared, 3, rows, levels)
    solution = Samarati(by=method, prefer=prefer)(problem)
    assert tuple((solution.levels or {}).values()) == node
    assert solution.verdict.suppressed == suppressed
    assert problem.rows - suppressed == kept
    assert solution.verdict.loss == pytest.approx(loss, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_the_top_is_validated(method: str, shared: Path) -> None:
    """Where job is not generalised, the top of Bank has a class of 38 and one more row than may go from k = 39 on."""
    unread = slice(1, None), {"job": (0, 0)}
    assert chosen(bank(shared, 38, *unread), by=method) == (4, 0)
    with pytest.raises(sf.errors.Infeasible, match="at least 38 of 4520 rows") as caught:
        Samarati(by=method)(bank(shared, 39, *unread))
    assert caught.value.closest == {"levels": {"age": 4, "job": 0}, "suppressed": 38}


@settings(max_examples=examples(120))
@given(problems(), st.sampled_from(PREFERENCES), st.sampled_from(AMONG))
def test_the_height_is_the_least(problem: Problem, prefer: str, among: str) -> None:
    search = Samarati(prefer=prefer, among=among)
    if not prunable(problem):
        refused(search, problem, "samarati")
        return
    verdicts = every(problem)
    wanted = minimal(verdicts)
    if not wanted:
        with pytest.raises(sf.errors.Infeasible):
            search(problem)
        return
    solution = search(problem)
    node = tuple((solution.levels or {}).values())
    lowest = [n for n in wanted if sum(n) == min(map(sum, wanted))]
    compared = lowest if among == "height" else wanted
    assert node in compared
    if prefer == "first":
        assert node == compared[0]
    if prefer in ("suppressed", "loss"):
        value = {n: getattr(verdicts[n], prefer) for n in compared}
        assert value[node] == pytest.approx(min(value.values()), abs=1e-9)
    if prefer == "relative-height":
        tops = [max(a.ladder.height, 1) for a in problem.attributes]
        far = {n: sum(level / top for level, top in zip(n, tops, strict=True)) for n in compared}
        assert far[node] == pytest.approx(min(far.values()), abs=1e-9)
    assert solution.verdict == verdicts[node]
    assert sf.Optimal()(problem).verdict.loss <= solution.verdict.loss + 1e-9


@settings(max_examples=examples(120))
@given(problems(st.just([])), st.sampled_from(PREFERENCES), st.sampled_from(AMONG))
def test_vectors_answer_as_tables(problem: Problem, prefer: str, among: str) -> None:
    vectors = Samarati(by="vectors", prefer=prefer, among=among)
    if len(problem.sets) > 1:
        with pytest.raises(sf.errors.PolicyError, match="k-anonymity on one quasi-identifier set"):
            vectors(problem)
        return
    try:
        expected = Samarati(prefer=prefer, among=among)(problem)
    except sf.errors.Infeasible as none:
        with pytest.raises(sf.errors.Infeasible) as caught:
            vectors(problem)
        assert str(caught.value) == str(none)
        return
    found = vectors(problem)
    assert found.levels == expected.levels
    assert found.verdict == expected.verdict


def test_vectors_refuse_what_they_cannot_count(shared: Path) -> None:
    table = {"a": list("xxyy"), "s": list("pqpq")}
    diverse = posed(table, ["a"], [sf.KAnonymity(2), sf.DistinctLDiversity("s", 2)])
    with pytest.raises(sf.errors.PolicyError, match=r'distinct-l-diversity on 1 sets.*Hint: use by="tables"'):
        Samarati(by="vectors")(diverse)
    with pytest.raises(sf.errors.PolicyError, match=r"18739 outliers times 19502 cells; allowed: at most 67108864"):
        Samarati(by="vectors")(nine(shared, 0.04))


def test_a_lattice_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.search.lattice import minimal as listing

    monkeypatch.setattr(listing, "MOST", 5)
    with pytest.raises(sf.errors.PolicyError, match="too large to enumerate; got 6 nodes"):
        Samarati()(five(2, 0))
    assert module.MOST_PAIRS == 67108864


@pytest.mark.parametrize("name", ["by", "prefer", "among"])
def test_parameters_that_make_no_sense(name: str) -> None:
    with pytest.raises(sf.errors.PolicyError, match=f"unknown {name} of samarati; got 'odd'"):
        Samarati(**{name: "odd"})


@settings(max_examples=examples(150), suppress_health_check=CALM)
@given(tables(), st.integers(1, 4), st.sampled_from([0, 1, 0.3]), st.sampled_from(METHODS))
def test_nasty_tables(table: dict[str, list[Any]], k: int, suppression: float, method: str) -> None:
    names = [name for name in table if name.startswith("q")]
    drop = [name for name in table if name == "unique"]
    try:
        release = sf.anonymize(
            table, quasi=names, identifying=drop, rest="release", require=sf.KAnonymity(k),
            search=Samarati(by=method), suppression=suppression,
        )  # fmt: skip
    except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert smallest_class(release.table, names) >= k
