"""The steps that searches tell: worked by hand on the tables of the lessons, and true of every node they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.registry import variant_name
from sfumato.search import events as e
from sfumato.search.cuts.k_optimize import order_of
from sfumato.search.lattice.incognito import Incognito
from sfumato.search.problem import Problem
from tests.conformance.test_traces import REQUIRED, tables, traced
from tests.fuzz import examples
from tests.search.lattices import every, problems, prunable

ZIPS = ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"]
AGES = [29, 22, 27, 43, 52, 47, 30, 36, 32]
BANDS = {str(age): "2*" if age < 30 else "3*" if age < 40 else ">=40" for age in AGES}
PATIENTS = {
    "zipcode": sf.levels({z: f"{z[:4]}*" for z in ZIPS}, {f"{z[:4]}*": f"{z[:3]}**" for z in ZIPS}, "*"),
    "age": sf.levels(BANDS, "*"),
}


def steps(table: Any, quasi: list[str], **options: Any) -> list[e.Event]:
    told: list[e.Event] = []
    sf.anonymize(table, quasi=quasi, trace=told.append, **options)
    return told


def patients(search: Any, **options: Any) -> list[e.Event]:
    table = {"zipcode": ZIPS, "age": AGES}
    return steps(table, ["zipcode", "age"], k=3, search=search, hierarchies=PATIENTS, **options)


def at(zipcode: int, age: int) -> e.Levels:
    return ("zipcode", zipcode), ("age", age)


def test_samarati_on_the_patients() -> None:
    """Ages in bands are in classes of three with 476**, and 4790* with all ages is a class: height 3."""
    assert patients("samarati") == [
        e.WindowSet(0, 5),
        e.HeightOpened(2, 3),
        e.NodeTried(at(0, 2), 9, 0, False),
        e.NodeTried(at(1, 1), 6, 0, False),  # 4790* with >=40 alone
        e.NodeTried(at(2, 0), 9, 0, False),
        e.HeightExhausted(2),
        e.WindowSet(3, 5),
        e.HeightOpened(4, 2),
        e.NodeTried(at(2, 2), 0, 0, True),
        e.HeightAccepted(4, at(2, 2)),
        e.WindowSet(3, 4),
        e.HeightOpened(3, 3),
        e.NodeTried(at(1, 2), 0, 0, True),
        e.HeightAccepted(3, at(1, 2)),
        e.WindowSet(3, 3),
        e.ResultFound(at(1, 2), pytest.approx(0.625)),  # type: ignore[arg-type]
        e.FinalCheck(at(1, 2), 0, 0, 3, True),
    ]


def test_samarati_by_distance_vectors_on_the_patients() -> None:
    """Every patient is alone: 36 pairs, told from both sides. At (1, 1), 30 and 32 of 4760*, 27 and 29 of 4767*
    are alike, and all of 4790*."""
    told = patients(sf.Samarati(by="vectors"))
    distances = [step for step in told if isinstance(step, e.DistanceTaken)]
    assert told[:72] == distances
    apart = {(step.record.values, step.other.values): step.levels for step in distances}
    assert apart[("47677", "29"), ("47678", "27")] == at(1, 1)
    assert apart[("47677", "29"), ("47909", "52")] == at(3, 2)
    start = told.index(e.NodeTried(at(0, 2), 9, 0, False))
    counted = told[start + 1 : start + 10]
    assert [step.rows for step in counted if isinstance(step, e.TuplesCounted) and step.levels == at(1, 1)] == [
        1, 2, 2, 1, 2, 2, 3, 3, 3
    ]  # fmt: skip
    rest = [step for step in told[72:] if not isinstance(step, e.TuplesCounted)]
    assert rest == patients("samarati")
    many = {"age": list(range(101))}
    with pytest.raises(sf.errors.PolicyError, match="101 outliers times 101 cells"):
        steps(many, ["age"], k=2, search=sf.Samarati(by="vectors"))


def test_samarati_suppresses_last() -> None:
    told = patients("samarati", suppression=6)
    assert told[-3:-1] == [e.ResultFound(at(1, 1), told[-3].loss), e.FinalCheck(at(1, 1), 6, 6, 1, True)]  # type: ignore[attr-defined]
    gone = told[-1]
    assert isinstance(gone, e.RowsSuppressed)
    assert gone.rows == 6
    assert {record.values[0] for record in gone.records} == {z for z in ZIPS if not z.startswith("4790")}


def test_the_top_that_fails_is_told() -> None:
    told: list[e.Event] = []
    with pytest.raises(sf.errors.Infeasible):
        sf.anonymize({"age": AGES}, quasi=["age"], k=3, search="samarati", levels={"age": (0, 0)}, trace=told.append)
    assert isinstance(told[-1], e.FinalCheck)
    assert not told[-1].satisfied


def test_datafly_on_the_patients() -> None:
    told = patients("datafly")
    assert [type(step) for step in told] == [e.RowsLeft, *[e.ColumnGeneralised, e.RowsLeft] * 3]
    assert told[1] == e.ColumnGeneralised("zipcode", 1, (("zipcode", 9), ("age", 9)))
    assert told[3] == e.ColumnGeneralised("age", 1, (("zipcode", 3), ("age", 9)))
    assert told[5] == e.ColumnGeneralised("zipcode", 2, (("zipcode", 3), ("age", 3)))
    assert [step.failing for step in told if isinstance(step, e.RowsLeft)] == [9, 9, 6, 0]


def test_incognito_on_the_patients() -> None:
    told = patients("incognito")
    zipcode = [
        e.SubsetOpened(("zipcode",), 4),
        e.NodeTried((("zipcode", 0),), 9, 0, False),
        e.NodeTried((("zipcode", 1),), 0, 0, True, (("zipcode", 0),)),
        e.NodeMarked((("zipcode", 2),), (("zipcode", 1),)),
        e.NodeMarked((("zipcode", 3),), (("zipcode", 2),)),
    ]
    assert told[:5] == zipcode
    joined = told.index(e.SubsetsJoined(((("zipcode", "age"), 6),)))
    dropped = {step.levels: step.failed for step in told[:joined] if isinstance(step, e.NodeDropped)}
    assert dropped == {at(0, 0): at(0, 0)[1:]} | {at(0, a): at(0, a)[:1] for a in (1, 2)} | {
        at(z, 0): at(z, 0)[1:] for z in (1, 2, 3)
    }
    assert told[joined + 1 : joined + 3] == [
        e.SubsetOpened(("zipcode", "age"), 6),
        e.NodeTried(at(1, 1), 6, 0, False),  # the super-root: counted
    ]
    assert e.NodeTried(at(2, 1), 0, 0, True, at(1, 1)) in told


PLANE = {
    "age": [25, 27, 31, 33, 38, 41, 44, 47, 52, 55, 61, 66],
    "income": [20, 22, 25, 24, 40, 44, 41, 60, 63, 58, 30, 28],
}


def plane(search: Any, **options: Any) -> list[e.Event]:
    return steps(PLANE, ["age", "income"], k=3, search=search, ends="exact", **options)


def points(records: tuple[e.Record, ...]) -> set[tuple[int, int]]:
    return {(int(r.values[0] or 0), int(r.values[1] or 0)) for r in records}


def test_mondrian_on_the_plane() -> None:
    """Ranges of 41/41 and 43/43 tie, so age is cut; then income, of 24/43 against 16/41 and of 35/43 against 22/41."""
    told = plane(sf.Mondrian(cut="lower-median"))
    assert [step for step in told if isinstance(step, e.ColumnChosen | e.MedianFound | e.CutAllowed)] == [
        e.ColumnChosen("age", 1.0, (("income", 1.0, "as wide, and later"),)),
        e.MedianFound("age", "41", 5, 6),
        e.CutAllowed("age", "age <= 41", "41", (6, 6)),
        e.ColumnChosen("income", 24 / 43, (("age", 16 / 41, "narrower"),)),
        e.MedianFound("income", "24", 2, 3),
        e.CutAllowed("income", "income <= 24", "24", (3, 3)),
        e.ColumnChosen("income", 35 / 43, (("age", 22 / 41, "narrower"),)),
        e.MedianFound("income", "41", 2, 3),
        e.CutAllowed("income", "income <= 41", "41", (3, 3)),
    ]
    classes = [
        {(25, 20), (27, 22), (33, 24)},
        {(31, 25), (38, 40), (41, 44)},
        {(44, 41), (61, 30), (66, 28)},
        {(47, 60), (52, 63), (55, 58)},
    ]
    assert [points(step.records) for step in told if isinstance(step, e.ClassClosed)] == classes
    labels = [step for step in told if isinstance(step, e.LabelsGiven)]
    assert [points(step.records) for step in labels] == classes
    assert labels[0].labels == (("age", "[25, 33]"), ("income", "[20, 24]"))
    cut = [e.RegionOpened, e.ColumnChosen, e.MedianFound, e.CutAllowed, e.RegionsMade]
    halved = [*cut, *[e.RegionOpened, e.ClassClosed] * 2]
    assert [type(step) for step in told] == [*cut, *halved, *halved, *[e.LabelsGiven] * 4]


def test_mondrian_refuses_cuts() -> None:
    """Of six rows, k = 3: at most 1 or below 1 leaves a side of one or none; b is then cut into its children."""
    table = {"a": [0, 9, 9, 9, 9, 9], "b": ["x1", "x1", "x2", "y", "y", "y"]}
    tree = sf.wide([("x1", "x", "*"), ("x2", "x", "*"), ("y", "y", "*")])
    told = steps(table, ["a", "b"], k=3, search="mondrian", hierarchies={"b": tree}, ends="exact")
    assert told[1:6] == [
        e.ColumnChosen("a", 1.0, (("b", 1.0, "as wide, and later"),)),
        e.MedianFound("a", "9", 1, 6),
        e.CutRefused("a", "a < 9", "9", (1, 5), "a side has fewer than 3 rows"),
        e.ColumnChosen("b", 1.0, (("a", 1.0, "cut in vain"),)),
        e.ChildrenFound("b", "*", (("x", 3), ("y", 3))),
    ]
    assert told[6] == e.CutAllowed("b", "children of *", None, (3, 3))
    secret = table | {"s": ["p", "p", "q", "q", "q", "q"]}
    diverse = {"sensitive": ["s"], "require": sf.DistinctLDiversity("s", 2), "hierarchies": {"b": tree}}
    told = steps(secret, ["a", "b"], k=3, search="mondrian", **diverse)
    assert e.CutRefused("b", "children of *", None, (3, 3), "a side fails distinct-l-diversity") in told
    assert next(step for step in told if isinstance(step, e.ClassClosed)).why == "no cut is allowed"


def penalty(some: set[tuple[int, int]]) -> float:
    """The NCP of a class of the plane: its range over that of the table, summed over the columns."""
    ages, incomes = [age for age, _ in some], [income for _, income in some]
    return (max(ages) - min(ages)) / 41 + (max(incomes) - min(incomes)) / 43


def test_k_member_on_the_plane() -> None:
    """From (25, 20) the farthest is (66, 28) or (52, 63), by a range of one and a bit; then always what costs least."""
    told = plane("k-member", loss="ncp")
    seed, near = e.SeedChosen, e.RecordAdded
    assert [type(step) for step in told] == [*[seed, near, near, e.ClassClosed] * 4, *[e.LabelsGiven] * 4]
    left, taken = set(zip(PLANE["age"], PLANE["income"], strict=True)), set()
    for step in told[:16]:
        if isinstance(step, e.ClassClosed):
            assert points(step.records) == taken
            continue
        assert isinstance(step, e.SeedChosen | e.RecordAdded)
        [new] = points((step.record,))
        taken = points((step.last,)) if isinstance(step, e.SeedChosen) else taken
        of_all = [penalty(taken | {other}) for other in left]
        assert step.loss == pytest.approx(max(of_all) if isinstance(step, e.SeedChosen) else min(of_all), abs=1e-6)
        assert step.loss == pytest.approx(penalty(taken | {new}), abs=1e-6)
        taken = {new} if isinstance(step, e.SeedChosen) else taken | {new}
        left -= {new}
    assert not left


def test_k_member_places_what_is_left() -> None:
    """Of ten rows three classes of three: the tenth goes where it costs least. Three equal rows are a class at once."""
    table = {"age": [1, 2, 3, 21, 22, 23, 31, 32, 33, 24, 50, 50, 50]}
    told = steps(table, ["age"], k=3, search="k-member", ends="exact")
    assert isinstance(told[0], e.ClassClosed)
    assert told[0].why == "they have the same values"
    assert told[0].records == (e.Record(told[0].records[0].number, ("50",), 3),)
    [left] = [step for step in told if isinstance(step, e.LeftoverPlaced)]
    assert len(left.joins) == 3
    final = [{r.values for r in step.records} for step in told if isinstance(step, e.LabelsGiven)]
    assert {left.record.values, *(r.values for r in left.joins)} in final


def test_top_down_on_the_plane() -> None:
    told = plane(sf.TopDown(seed=3), loss="ncp")
    halves: list[set[tuple[int, int]]] = []
    for step in told:
        if isinstance(step, e.SeedsChosen):
            halves = [points((step.first,)), points((step.second,))]
            assert step.loss == pytest.approx(penalty(halves[0] | halves[1]), abs=1e-6)
        if isinstance(step, e.RecordAssigned):
            new = points((step.record,))
            grows = [penalty(half | new) - penalty(half) for half in halves]
            assert step.grows == pytest.approx(grows, abs=1e-6)
            assert grows[step.half] <= grows[1 - step.half] + 1e-6
            halves[step.half] |= new
    assert isinstance(told[0], e.SeedsChosen)
    assert [points(step.records) for step in told if isinstance(step, e.LabelsGiven)]


def test_top_down_repairs_small_groups() -> None:
    """Two rows far off are a group of their own, which is below three: it borrows a row, or joins another."""
    told = steps({"age": [1, 2, 3, 4, 5, 6, 7, 90, 91]}, ["age"], k=3, search="top-down", ends="exact")
    small = [step for step in told if isinstance(step, e.GroupLeft)]
    repairs = [step for step in told if isinstance(step, e.GroupRepaired)]
    assert ("90",) in {r.values for r in small[-1].records}
    assert [step.records for step in repairs] == [step.records for step in small]
    for step in repairs:
        assert set(step.moved) <= set(step.other if step.borrows else step.records)
        assert len(step.records) < 3


def test_mdav_on_the_plane() -> None:
    """Nine rows are left after the first two groups but for three: 12 >= 3k, 6 >= 2k, and the rest."""
    told = plane("mdav")
    first = [e.CentroidTaken, e.FarthestFromCentroid, e.FarthestFromRecord, e.GroupFormed, e.GroupFormed]
    second = [e.CentroidTaken, e.FarthestFromCentroid, e.GroupFormed, e.RestGrouped]
    assert [type(step) for step in told] == [*first, *second, *[e.LabelsGiven] * 4]
    x = np.array([PLANE["age"], PLANE["income"]], float).T
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    mean, r, s, around_r, around_s = told[:5]
    assert isinstance(mean, e.CentroidTaken)
    assert dict(mean.means) == pytest.approx({"age": x[:, 0].mean(), "income": x[:, 1].mean()})
    assert isinstance(r, e.FarthestFromCentroid)
    assert isinstance(s, e.FarthestFromRecord)
    far = np.linalg.norm(scaled, axis=1)
    at_r = int(np.argmax(far))
    assert (points((r.record,)), r.distance) == ({tuple(x[at_r])}, pytest.approx(far.max()))
    from_r = np.linalg.norm(scaled - scaled[at_r], axis=1)
    at_s = int(np.argmax(from_r))
    assert (points((s.record,)), s.distance) == ({tuple(x[at_s])}, pytest.approx(from_r.max()))
    assert isinstance(around_r, e.GroupFormed)
    assert isinstance(around_s, e.GroupFormed)
    assert points(around_r.records) == {tuple(x[i]) for i in np.argsort(from_r)[:3]}
    from_s = np.linalg.norm(scaled - scaled[at_s], axis=1)
    assert points(around_s.records) == {tuple(x[i]) for i in np.argsort(from_s)[:3]}


def test_k_optimize_on_the_plane() -> None:
    """From 33, 44 and 55 on there are three ages each: 9 + 81, then 9 + 9 + 36, then four times 9, which is the bound:
    twelve rows in classes of at least three cost at least 12 * 3."""
    told = plane(sf.KOptimize(start="root"), loss="discernibility")
    path = ("age", "33"), ("age", "44"), ("age", "55")
    opened = [step for step in told if isinstance(step, e.SplitsOpened)]
    assert [(step.splits, step.cost) for step in opened] == [
        ((), 144), (path[:1], 90), (path[:2], 54), (path, 36)
    ]  # fmt: skip
    assert opened[0].more == 22
    assert told[:3] == [opened[0], e.LeastCostFound((), 144), e.BoundTaken((), 36, 144)]
    assert isinstance(told[3], e.SplitsDropped)
    ends = {("age", "27"), ("age", "31"), ("age", "61"), ("age", "66")}
    ends |= {("income", "22"), ("income", "24"), ("income", "60"), ("income", "63")}
    assert set(told[3].suppressing) == ends  # fewer than three rows would be on one side
    assert told[4] == e.SplitsReordered((), ("age", "33"), 1)
    assert told[-5:] == [*(e.SubtreePruned(path[:i], 36, 36, 0) for i in (3, 2, 1, 0)), e.SplitsChosen(path, 36)]


def test_k_optimize_tells_the_descents_and_the_suppressed_rows() -> None:
    """Ten alike and one apart: to suppress the one costs 11, to keep it in the class 121 - 100 = 21."""
    told = steps({"a": [1] * 10 + [2]}, ["a"], k=2, search="k-optimize", loss="discernibility", suppression=1)
    assert e.DescentEnded((("a", "2"),), 111) in told
    assert told[-2:] == [e.SplitsChosen((("a", "2"),), 111), e.RowsSuppressed((e.Record(1, ("2",)),), 1)]


def test_k_optimize_tells_true_costs() -> None:
    """Every node's cost is that of its splits, no less than its bound, and the last best one is the result."""

    @settings(max_examples=examples(60), deadline=None)
    @given(tables([[]], ["discernibility"]))
    def check(problem: Problem) -> None:
        _, told = traced(sf.KOptimize(start="root"), problem)
        best = [step for step in told if isinstance(step, e.LeastCostFound)]
        assert [step.cost for step in best] == sorted({step.cost for step in best}, reverse=True)
        for step in told:
            if isinstance(step, e.SplitsOpened):
                assert step.cost == cost_of_splits(problem, step.splits)
            if isinstance(step, e.BoundTaken):
                assert step.bound <= cost_of_splits(problem, step.splits)
            if isinstance(step, e.SubtreePruned):
                assert (step.best is None) == (step.suppressed > problem.limit)
        if told:
            assert isinstance(told[-1], e.SplitsChosen | e.RowsSuppressed)
            assert best[-1].cost == next(step.cost for step in told if isinstance(step, e.SplitsChosen))

    check()


def cost_of_splits(problem: Problem, splits: e.Splits) -> int:
    """Class sizes squared, or the rows of the table for each of a class below k."""
    sizes: dict[tuple[int, ...], int] = {}
    cells = problem.cells
    parts = []
    for a, attribute in enumerate(problem.attributes):
        order = order_of(attribute)
        begins = [text for name, text in splits if name == attribute.name]
        part = np.cumsum([attribute.categories.text[code] in begins for code in order])
        parts.append(part[np.argsort(order)][cells.codes[a]])
    for i, rows in enumerate(cells.count.tolist()):
        key = tuple(int(part[i]) for part in parts)
        sizes[key] = sizes.get(key, 0) + rows
    return sum(n * n if n >= problem.policy.k else n * problem.rows for n in sizes.values())


@pytest.mark.parametrize("search", ["top-down", "mdav"])
def test_classes_that_fail_join_others(search: str) -> None:
    table = {"age": [1, 2, 3, 51, 52, 53], "s": ["p", "p", "p", "q", "q", "q"]}
    diverse = {"sensitive": ["s"], "require": sf.DistinctLDiversity("s", 2)}
    told = steps(table, ["age"], k=3, search=search, **diverse)
    joined = [step for step in told if isinstance(step, e.ClassesJoined)]
    assert [len(step.records) + len(step.joins) for step in joined] == [6]


@pytest.mark.parametrize("search", [sf.OLA(), sf.Optimal(), sf.Samarati(), Incognito()])
def test_what_is_told_of_a_node_is_true(search: Any) -> None:
    @settings(max_examples=examples(60), deadline=None)
    @given(problems(st.sampled_from(REQUIRED)))
    def check(problem: Problem) -> None:
        if not prunable(problem) and not isinstance(search, sf.Optimal):
            return
        verdicts = every(problem)
        width = len(problem.attributes)
        for event in traced(search, problem)[1]:
            levels = getattr(event, "levels", ())
            if len(levels) != width:
                continue
            verdict = verdicts[tuple(level for _, level in levels)]
            others = [verdicts[tuple(level for _, level in node)] for node in getattr(event, "nodes", ())]
            match event:
                case e.NodeTried() | e.FinalCheck():
                    assert (event.failing, event.satisfied) == (verdict.suppressed, verdict.satisfied)
                case e.TaggedUp():
                    assert all(other.satisfied for other in [verdict, *others])
                case e.TaggedDown():
                    assert not any(other.satisfied for other in [verdict, *others])
                case e.NodeMarked() | e.HeightAccepted():
                    assert verdict.satisfied
                case e.NodeDropped():
                    assert not verdict.satisfied
                case e.NodePruned():
                    assert event.best < event.bound <= verdict.loss + 1e-9
                case e.BestFound() | e.ResultFound():
                    assert verdict.satisfied
                    assert event.loss == pytest.approx(verdict.loss)

    check()


def test_the_docs_know_every_kind_of_event() -> None:
    page = (Path(__file__).parents[2] / "docs/searches.md").read_text("utf-8")
    for name, one in sf.SEARCHES.items():
        kinds = ", ".join(variant_name(kind.__name__) for kind in one.example.traces)
        assert not kinds or (f"[`{name}`](#" in page and f" | {kinds} |" in page), name
    told = {kind for one in sf.SEARCHES.values() for kind in one.example.traces} | {*sf.Samarati(by="vectors").traces}
    every = {kind for kind in vars(e).values() if isinstance(kind, type) and issubclass(kind, e.Event)}
    assert told == every - {e.Event}


def test_a_trace_that_cannot_be() -> None:
    refused = sf.errors.PolicyError
    table = {"age": AGES}
    with pytest.raises(refused, match="trace must be a function of an event; got list"):
        sf.anonymize(table, quasi=["age"], k=3, trace=[])  # type: ignore[arg-type]
    with pytest.raises(refused, match=r"lightning does not tell its steps; allowed: samarati, .*datafly"):
        sf.anonymize(table, quasi=["age"], k=3, search="lightning", trace=print)
    with pytest.raises(refused, match="optimal does not tell its steps with these parameters"):
        sf.anonymize(table, quasi=["age"], k=3, search=sf.Optimal(nodes=3), trace=print)
    with pytest.raises(refused, match="small tables only; got 5001 rows of 1 quasi-identifiers, 5001 values"):
        sf.anonymize({"age": [1] * 5001}, quasi=["age"], k=3, search="datafly", trace=print)
    either = {"age": sf.either(sf.intervals(10), sf.intervals(20))}
    with pytest.raises(refused, match='one hierarchy per column, and "age" has alternatives'):
        sf.anonymize(table, quasi=["age"], k=3, search="datafly", hierarchies=either, trace=print)
    wide = {f"c{i}": ["a", "b"] for i in range(13)}
    with pytest.raises(refused, match="small lattices only; got 8192 level vectors"):
        sf.anonymize(wide, quasi=list(wide), k=2, search="optimal", trace=print)


def test_a_large_tree_of_splits_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.search.cuts.traced.MOST_NODES", 6)
    with pytest.raises(sf.errors.PolicyError, match="small trees only; got more than 6 nodes"):
        plane(sf.KOptimize(start="root"), loss="discernibility")


def test_an_out_of_core_table_tells_no_steps(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text("age\n1\n1\n")
    with pytest.raises(sf.errors.PolicyError, match="tables in memory only"):
        sf.anonymize(
            sf.scan(tmp_path / "a.csv"), quasi=["age"], k=2, search="datafly", to=tmp_path / "out", trace=print
        )
