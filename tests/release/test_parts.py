"""A table cut into parts, without a cluster: what its workers would do is done here, one after the other."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.policy import Policy
from sfumato.core.printed import plain
from sfumato.core.progress import quiet
from sfumato.engines.protocol import COUNT
from sfumato.errors import BrokenPromise, Infeasible, PolicyError, ReadError
from sfumato.losses import LM, NCP, loss
from sfumato.measures.utility import information_loss
from sfumato.release.parts import mondrian as distributed_parts
from sfumato.release.parts.cluster import HEAVY, LEAF, Blurred, Task, blur, ends_of, packed, unpacked
from sfumato.release.parts.domain import (
    Domain,
    Stat,
    added,
    as_classes,
    full_attribute,
    line_attribute,
    on_a_line,
    places,
    positions,
    span_of,
    stats_of,
    tally,
)
from sfumato.release.parts.mondrian import Stored, merge_bad, parted, refuse_broken, spread, verdict_of
from sfumato.release.parts.tree import Cut, PartTree, branches
from sfumato.release.request import recipes_of
from sfumato.release.verify import verify_table
from sfumato.search import Automatic, Mondrian, search
from tests.fuzz import examples, slow_but

ROWS = 6000
QUASI = ["age", "height", "born", "zip", "town", "member"]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Every type, with missing values of all forms and both zeros."""
    rng = np.random.default_rng(6)
    day = datetime.date(1960, 1, 1)

    def holes(values: list[Any], hole: Any, share: float = 0.03) -> list[Any]:
        return [hole if gone else v for v, gone in zip(values, rng.random(ROWS) < share, strict=True)]

    return pl.DataFrame(
        {
            "id": np.arange(ROWS),
            "age": holes(rng.integers(20, 60, ROWS).tolist(), None),
            "height": pl.Series(
                holes(holes(rng.choice([-0.0, 0.0, 1.5, 2.25, 3.0], ROWS).tolist(), math.nan), None), dtype=pl.Float64
            ),
            "born": holes([day + datetime.timedelta(int(d)) for d in rng.integers(0, 400, ROWS)], None),
            "zip": holes(rng.choice(["7", "10", "080", "9"], ROWS).tolist(), ""),
            "town": holes(rng.choice(["A", "B, b", "C", "D"], ROWS, p=[0.7, 0.2, 0.06, 0.04]).tolist(), None),
            "member": holes((rng.random(ROWS) < 0.4).tolist(), None),
            "disease": holes(rng.choice(["flu", "cold", "ache", "none"], ROWS).tolist(), None, 0.05),
        }
    )


class Cluster:
    """A table in memory that is asked what a cluster is asked."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame, self.asked = frame, 0

    def sampled(self, table: Any, columns: Sequence[str], unit: int, seed: int) -> pl.DataFrame:
        return self.frame.select(columns)[np.flatnonzero(np.arange(self.frame.height) % unit == 0)]

    def counted_leaves(self, table: Any, task: Task, wanted: Sequence[int]) -> pl.DataFrame:
        self.asked += 1
        mask = np.zeros(len(task.branches.column), np.bool_)
        mask[list(wanted)] = True
        own = unpacked(packed(task))
        batches = [
            tally(rows, own.domain, own.branches, own.policy.columns, own.histogram_columns, mask)
            for rows in self.frame.iter_slices(700)
        ]
        return added(pl.concat(batches))

    def leaf(self, task: Task) -> np.ndarray:
        return task.branches.leaf(places(self.frame, task.domain, task.policy.columns))

    def heavy_sample(self, table: Any, task: Task, wanted: Sequence[int], unit: int, seed: int) -> pl.DataFrame:
        names = list(dict.fromkeys((*task.policy.columns, *task.histogram_columns)))
        rows = self.frame.select(names).with_columns(pl.Series(LEAF, self.leaf(task)))
        cells = rows.group_by(rows.columns, maintain_order=True).agg(pl.len().cast(pl.Int64).alias(COUNT))
        n = pl.col(COUNT)
        cells = cells.filter(pl.col(LEAF).is_in(list(wanted)))
        kept = cells.filter((n >= HEAVY * unit) | (pl.int_range(pl.len()) % unit == 0))
        return kept.with_columns(pl.when(n >= HEAVY * unit).then(n // unit).otherwise(n).alias(COUNT))

    def ends(self, table: Any, task: Task, wanted: Sequence[int]) -> dict[int, pl.DataFrame]:
        leaf = self.leaf(task)
        found = {}
        for one in wanted:
            at = np.flatnonzero(leaf == one)
            found[one] = self.frame[at][ends_of(task, self.frame[at], leaf[at])]
        return found


def domain_in(frame: pl.DataFrame, policy: Policy, histogram_columns: Sequence[str], recipes: dict[str, Any]) -> Domain:
    """As `domain_of` has it from a cluster."""
    attributes, spans = [], {}
    for name in (*policy.columns, *histogram_columns):
        role = "quasi" if name in policy.columns else "sensitive"
        if role == "quasi" and on_a_line(frame.schema[name], recipes.get(name), policy.loss):
            known = positions(frame.get_column(name))
            span = span_of(known.min(), known[np.isfinite(known)].max())
            assert span is not None
            spans[name] = span
            attributes.append(line_attribute(name, role, frame.schema[name]))
        else:
            values = frame.select(plain(name, frame.schema[name])).group_by(name).agg(pl.len().alias(COUNT))
            attributes.append(full_attribute(values, name, role, recipes.get(name)))
    return Domain(frame.height, tuple(attributes), spans)


class Run:
    """A table blurred in parts."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        frame: pl.DataFrame,
        quasi: Sequence[str],
        require: Sequence[Any],
        most: int,
        method: Mondrian,
        by: Any = None,
        hierarchies: dict[str, Any] | None = None,
        sample: int | None = None,
        ends: str = "exact",
    ) -> None:
        self.cluster = Cluster(frame)
        for name in ("sampled", "counted_leaves", "heavy_sample", "ends"):
            monkeypatch.setattr(distributed_parts, name, getattr(self.cluster, name))
        if sample is not None:
            monkeypatch.setattr(distributed_parts, "SAMPLE", (sample, sample))
            monkeypatch.setattr(distributed_parts, "AGAIN", sample)
        recipes = recipes_of(frame, hierarchies, quasi)
        self.policy = Policy((tuple(quasi),), tuple(require), 0, by or LM(), ends)
        histogram_columns = tuple(dict.fromkeys((*self.policy.needs, *method.needs)))
        domain = domain_in(frame, self.policy, histogram_columns, recipes)
        task = Task(domain, self.policy, histogram_columns, method, dict(frame.schema), branches(PartTree()), most)
        table: Any = None
        self.task = parted(table, task, 0, quiet)
        leaf = self.cluster.leaf(self.task)
        self.parts: list[Blurred] = []
        pieces = []
        for one in np.unique(leaf):
            at = np.flatnonzero(leaf == one)
            step = most if one in self.task.solid else len(at)
            for start in range(0, len(at), step):
                rows = frame[at[start : start + step]]
                found = blur(self.task, int(one), rows)
                self.parts.append(found)
                pieces.append(rows.with_columns(**found.labels))
        self.table = pl.concat(pieces).sort("id")
        cost = np.array([part.cost for part in self.parts]).sum(axis=0)
        trees = {name: h for name in self.policy.needs if (h := domain.attribute(name).hierarchy) is not None}
        whole = {
            name: {t or "": int(n) for t, n in zip(c.text, c.count, strict=True)}
            for name in self.policy.needs
            for c in [domain.attribute(name).categories]
        }
        self.verification = verify_table(
            self.table, self.policy.quasi, self.policy.require, whole=whole, hierarchies=trees
        )
        self.verdict = verdict_of(Stored(None, {}, cost, len(self.parts)), self.policy, domain, self.verification)
        self.largest = max(part.rows for part in self.parts)


def local(frame: pl.DataFrame, quasi: Sequence[str], require: Sequence[Any], method: Mondrian, **more: Any) -> Any:
    free = [name for name in frame.columns if name not in (*quasi, "disease")]
    options = {"insensitive": free, "rest": "release", "search": method, "ends": "exact"} | more
    return sf.anonymize(frame, quasi=list(quasi), require=list(require), **options)


REQUIRED = [
    [sf.KAnonymity(7)],
    [sf.KAnonymity(3), sf.EntropyLDiversity("disease", 2.5)],
    [sf.KAnonymity(3), sf.TCloseness("disease", 0.35)],
]
METHODS = [Mondrian(), Mondrian(cut="best", dimension="ncp"), Mondrian(cut="lower-median", dimension="first")]
TREE: dict[str, Any] = {"town": {"A": "x", "B, b": "x", "C": "y", "D": "y"}}


def texts(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    return frame.select(pl.col(names).cast(pl.String))


@pytest.mark.slow
@pytest.mark.parametrize("require", REQUIRED, ids=["k", "l", "t"])
@pytest.mark.parametrize("method", METHODS, ids=["plain", "best", "first"])
def test_one_part_is_what_one_machine_gives(
    monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame, require: list[Any], method: Mondrian
) -> None:
    run = Run(monkeypatch, table, QUASI, require, ROWS, method, hierarchies=TREE, ends="rounded")
    here = local(table, QUASI, require, method, hierarchies=TREE, ends="rounded")
    assert len(run.parts) == 1
    assert texts(run.table, QUASI).equals(texts(here.table.sort("id"), QUASI))
    assert run.verdict.loss == pytest.approx(here.solution.verdict.loss, rel=1e-12)
    assert run.verdict.per_attribute == pytest.approx(here.solution.verdict.per_attribute, rel=1e-12)


@pytest.mark.parametrize(
    ("sample", "method", "require"),
    [
        (None, METHODS[0], REQUIRED[0]),
        *slow_but((None, method, require) for method in METHODS for require in REQUIRED)[1:],
        *slow_but((900, method, require) for method, require in zip(METHODS, REQUIRED, strict=True)),
    ],
)
def test_parts_keep_the_promises_and_lose_as_much(
    monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame, require: list[Any], method: Mondrian, sample: int | None
) -> None:
    run = Run(monkeypatch, table, QUASI, require, 700, method, hierarchies=TREE, sample=sample)
    assert len(run.parts) > 8
    assert run.largest <= 700
    assert run.verification.holds
    assert run.table["id"].to_list() == table["id"].to_list()
    here = local(table, QUASI, require, method, hierarchies=TREE)
    share = 1e-9 if sample is None and method.dimension != "first" else 0.06
    assert run.verdict.loss == pytest.approx(here.solution.verdict.loss, rel=share)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["lm", "ncp", "discernibility", "c-avg", "non-uniform-entropy", "precision"])
def test_the_loss_is_that_of_the_whole_table(monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame, by: str) -> None:
    run = Run(monkeypatch, table, QUASI, [sf.KAnonymity(5)], 700, Mondrian(), loss(by), TREE)
    here = local(table, QUASI, [sf.KAnonymity(5)], Mondrian(), hierarchies=TREE, loss=by)
    assert len(run.parts) > 8
    # the sample has all rows: the cuts are the same
    assert texts(run.table, QUASI).equals(texts(here.table.sort("id"), QUASI))
    assert run.verdict.loss == pytest.approx(here.solution.verdict.loss, rel=1e-12)
    assert run.verdict.per_attribute == pytest.approx(here.solution.verdict.per_attribute, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        Mondrian(categories="order"),
        Mondrian(labels="mean"),
        Mondrian(labels="given"),
        Mondrian(dimension="gain", class_attribute="disease", labels="ranges"),
        Mondrian(
            cut="best",
            dimension="workload",
            labels="ranges",
            queries=[{"age": (30, 40)}, {"town": "A", "born": (None, "1960-05-01")}],
        ),
    ],
    ids=lambda m: f"{m.categories}-{m.labels}-{m.dimension}",
)
def test_every_kind_of_cut(monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame, method: Mondrian) -> None:
    trees = TREE | {"age": "intervals:5,10,20"}
    run = Run(monkeypatch, table, QUASI, [sf.KAnonymity(5)], 900, method, hierarchies=trees, sample=1500)
    assert run.verification.holds
    assert run.largest <= 900
    here = local(table, QUASI, [sf.KAnonymity(5)], method, hierarchies=trees)
    assert run.verdict.loss == pytest.approx(here.solution.verdict.loss, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("most", [700, 90])
def test_parts_round_their_ends(monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame, most: int) -> None:
    """Each by a step of its own, and what they lose together is read from the labels alone."""
    made, exact = (
        Run(monkeypatch, table, ["age", "born"], [sf.KAnonymity(5)], most, Mondrian(), sample=900, ends=ends)
        for ends in ("rounded", "exact")
    )
    assert made.verification.holds
    assert made.verdict.loss <= 1.3 * exact.verdict.loss  # classes are narrower than ten days
    found = information_loss(table, made.table, ["age", "born"], rows=np.arange(ROWS))
    assert found.details["moved"] == 0
    assert found.value == pytest.approx(made.verdict.loss, rel=1e-9)
    rare = {str(day) for day, n in table["born"].value_counts().rows() if n < 5}
    ends = {end for label in made.table["born"].drop_nulls() for end in label.strip("[]").split(", ") if ", " in label}
    assert {int(end[-2:]) % 5 for end in ends & rare if int(end[-2:]) < 26} <= {0, 1}


def test_every_label_covers_its_value(monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame) -> None:
    run = Run(monkeypatch, table, ["age", "born", "town"], [sf.KAnonymity(20)], 500, Mondrian(), sample=600)
    for before, label in zip(table["age"], run.table["age"], strict=True):
        if label is None or before is None:
            assert label in (None, "*")
        elif label != "*":
            low, _, high = label.strip("[]").partition(", ")
            assert int(low) <= before <= int(high or low)
    for before, label in zip(table["born"], run.table["born"], strict=True):
        if before is not None and label != "*":
            low, _, high = label.strip("[]").partition(", ")
            assert low <= str(before) <= (high or low)
    for before, label in zip(table["town"], run.table["town"], strict=True):
        assert label == "*" or (before is None and label is None) or before in label


def test_rows_that_no_cut_tells_apart_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    heavy = pl.DataFrame({"a": [5.0] * 3000, "b": ["x"] * 3000})
    light = pl.DataFrame({"a": [float(i % 50) for i in range(900)], "b": [str(i % 7) for i in range(900)]})
    frame = pl.concat([heavy, light]).with_row_index("id")
    run = Run(monkeypatch, frame, ["a", "b"], [sf.KAnonymity(10)], 1000, Mondrian(), sample=400)
    assert run.task.solid
    assert run.verification.holds
    assert run.largest <= 1000
    alone = run.table.filter(pl.col("a") == "5.0", pl.col("b") == "x")
    assert alone.height >= 3000  # the many are not blurred for the sake of a few
    here = local(frame, ["a", "b"], [sf.KAnonymity(10)], Mondrian())
    assert run.verdict.loss <= here.solution.verdict.loss * 1.3 + 1e-3
    again = sf.utility(frame, run.table, quasi=["a", "b"], queries=0)
    assert again["loss"]["lm"] == pytest.approx(run.verdict.loss, rel=1e-9)


def test_labels_name_what_other_parts_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set covers the values between its first and its last, also where no row of the part has them."""
    rare = {0: "z", 1: "z"}  # in each hundred rows; y only in the last
    b = ["y" if i > 1990 else rare.get(i % 100, "x") for i in range(2000)]
    frame = pl.DataFrame({"a": [i // 100 for i in range(2000)], "b": b}).with_row_index("id")
    run = Run(monkeypatch, frame, ["a", "b"], [sf.KAnonymity(70)], 500, Mondrian())
    assert len(run.parts) > 3
    assert set(run.table["b"]) == {"{x, y, z}"}
    again = sf.utility(frame, run.table, quasi=["a", "b"], queries=0)
    assert again["loss"]["lm"] == pytest.approx(run.verdict.loss, rel=1e-9)


def test_a_solid_leaf_has_no_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"a": [5.0] * 3000 + [6.0] * 3}).with_row_index("id")
    with pytest.raises(PolicyError, match="mean"):
        Run(monkeypatch, frame, ["a"], [sf.KAnonymity(10)], 1000, Mondrian(labels="mean"))


def test_the_label_of_a_solid_leaf_covers_what_could_not_be_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"a": [5] * 3000 + [9] * 3 + [2] * 4, "b": ["x"] * 3006 + [None]}).with_row_index("id")
    run = Run(monkeypatch, frame, ["a", "b"], [sf.KAnonymity(10)], 1000, Mondrian(), sample=100)
    assert run.table["a"].unique().to_list() == ["[2, 9]"]
    assert run.table["b"].unique().to_list() == ["*"]
    assert run.verdict.per_attribute == {"a": 1.0, "b": 1.0}


def test_a_policy_that_the_whole_table_breaks_is_infeasible(
    monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame
) -> None:
    with pytest.raises(Infeasible, match="entropy-l-diversity"):
        Run(monkeypatch, table, ["age"], [sf.EntropyLDiversity("disease", 9)], 700, Mondrian())


def test_promises_about_the_table_hold_class_by_class(monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame) -> None:
    require = [sf.AverageRisk(0.05), sf.PopulationUniqueness(0.01, 0.1)]
    run = Run(monkeypatch, table, QUASI, require, 700, Mondrian())
    assert run.verification.holds
    assert run.verification.classes[0]["smallest"] >= 20


def test_rows_that_come_and_go_are_found_out(monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame) -> None:
    lost = Cluster.counted_leaves

    def counted(self: Cluster, table: Any, task: Task, wanted: Sequence[int]) -> pl.DataFrame:
        found = lost(self, table, task, wanted)
        return found.with_columns(pl.when(pl.col("item") == 0).then(pl.col("count") - 1).otherwise(pl.col("count")))

    monkeypatch.setattr(Cluster, "counted_leaves", counted)
    with pytest.raises(ReadError, match="changed while it was read"):
        Run(monkeypatch, table, ["age"], [sf.KAnonymity(5)], 700, Mondrian())
    domain = domain_in(table, Policy((("town",),), (sf.KAnonymity(2),), 0, LM()), (), {})
    with pytest.raises(ReadError, match="changed while it was read") as caught:
        places(pl.DataFrame({"town": ["A", "elsewhere"]}), domain, ["town"])
    assert "elsewhere" not in str(caught.value)


def test_what_breaks_its_promise_is_not_handed_out(table: pl.DataFrame) -> None:
    policy = Policy((("age",),), (sf.KAnonymity(4000),), 0, LM())
    found = verify_table(table, policy.quasi, policy.require)
    with pytest.raises(BrokenPromise, match="k-anonymity"):
        refuse_broken(found, policy, ROWS)
    fine = Policy((("age",),), (sf.KAnonymity(1),), 0, LM())
    with pytest.raises(BrokenPromise, match="rows"):
        refuse_broken(verify_table(table, fine.quasi, fine.require), fine, ROWS + 1)


@pytest.mark.parametrize(
    ("method", "quasi", "levels", "match"),
    [
        (search("optimal"), ("a",), {}, "search optimal"),
        (Automatic(keep="consistent-columns"), ("a",), {}, "consistent-columns"),
        (Automatic(), ("a",), {"a": (0, 1)}, "levels"),
        (Mondrian(relaxed=True), ("a",), {}, "different labels"),
        (Mondrian(), ("a",), {"a": (0, 1)}, "levels"),
        (Mondrian(categories="optimised"), ("a",), {}, "optimised"),
    ],
    ids=["optimal", "keep", "auto-levels", "relaxed", "levels", "optimised"],
)
def test_searches_that_do_not_work_in_parts(method: Any, quasi: tuple[str, ...], levels: Any, match: str) -> None:
    with pytest.raises(PolicyError, match=match):
        spread(method, Policy((quasi,), (sf.KAnonymity(2),), 0, LM()), levels)


def test_auto_is_mondrian_with_its_reason() -> None:
    policy = Policy((("a",),), (sf.KAnonymity(2),), 0, LM())
    method, choice = spread(Automatic(labels="hierarchy"), policy)
    assert method == Mondrian(cut="best", dimension="ncp", labels="hierarchy")
    assert choice is not None
    assert "parts" in choice.why
    assert spread(Mondrian(), policy) == (Mondrian(), None)


def test_which_columns_need_no_dictionary() -> None:
    assert on_a_line(pl.Float64(), None, LM())
    assert on_a_line(pl.Datetime("us"), None, NCP())
    assert on_a_line(pl.Decimal(10, 2), None, loss("c-avg"))
    assert not on_a_line(pl.String(), None, LM())
    assert not on_a_line(pl.Boolean(), None, LM())
    assert not on_a_line(pl.Float64(), None, loss("non-uniform-entropy"))
    assert not on_a_line(pl.Int64(), sf.intervals(5), LM())
    assert span_of(-2.0, 5.0) == (-2.0, 5.0)
    assert span_of(0.0, 2.0**53) is None
    assert span_of(-math.inf, 1.0) is None


# the tree alone

cut_of = st.tuples(st.integers(0, 2), st.floats(-5, 5), st.lists(st.integers(0, 2), min_size=8, max_size=8))


@st.composite
def trees(draw: st.DrawFn) -> PartTree:
    """A tree over two lines and a column of eight codes."""
    tree = PartTree()
    for column, at, side in draw(st.lists(cut_of, max_size=12)):
        leaf = draw(st.sampled_from(tree.leaves()))
        tree.split(leaf, Cut(column, 3, side=np.array(side, np.int32)) if column == 2 else Cut(column, 2, at))
    return tree


@st.composite
def points(draw: st.DrawFn) -> np.ndarray:
    n = draw(st.integers(1, 60))
    line = st.floats(-6, 6) | st.just(math.inf)
    rows = draw(st.lists(st.tuples(line, line, st.integers(0, 7)), min_size=n, max_size=n))
    return np.array(rows, dtype=np.float64).T


def walk(tree: PartTree, place: np.ndarray) -> int:
    """The leaf of one row, step by step."""
    node = 0
    while (cut := tree.cuts[node]) is not None:
        value = place[cut.column]
        node = tree.kids(node)[int(value >= cut.at) if cut.side is None else int(cut.side[int(value)])]
    return node


@given(trees(), points())
@settings(max_examples=examples(60))
def test_every_row_has_one_leaf(tree: PartTree, rows: np.ndarray) -> None:
    leaf = branches(tree).leaf(rows)
    assert set(leaf.tolist()) <= set(tree.leaves())
    assert leaf.tolist() == [walk(tree, rows[:, i]) for i in range(rows.shape[1])]


@given(trees(), points(), st.integers(1, 12), st.integers(1, 3))
@settings(max_examples=examples(80))
def test_what_is_left_of_a_tree_satisfies_the_policy(tree: PartTree, rows: np.ndarray, k: int, l: int) -> None:
    n = rows.shape[1]
    value = np.arange(n) % 3
    counted = full_attribute(
        pl.DataFrame({"s": ["a", "b", "c"], COUNT: np.bincount(value, minlength=3)}), "s", "s", None
    )
    require = (sf.KAnonymity(min(k, n)), sf.DistinctLDiversity("s", min(l, len(set(value.tolist())))))
    domain = Domain(n, (counted,), {})
    policy = Policy((("x", "y", "z"),), require, 0, LM())
    task = Task(domain, policy, ("s",), Mondrian(), {}, branches(tree), n)
    stats = {leaf: _stat(rows, value, branches(tree).leaf(rows) == leaf) for leaf in tree.leaves()}
    cuts = len(tree.leaves())
    merge_bad(tree, stats, task)
    assert len(tree.leaves()) <= cuts
    leaf = branches(tree).leaf(rows)
    assert set(leaf.tolist()) <= set(tree.leaves())
    for one in tree.leaves():
        own = leaf == one
        assert stats[one].rows == own.sum()
        if own.any():
            assert own.sum() >= require[0].k
            assert len(set(value[own].tolist())) >= require[1].l
    for node, refused in tree.passed.items():
        assert sum(refused.values()) >= 1
        assert node in range(len(tree.cuts))


def _stat(rows: np.ndarray, value: np.ndarray, own: np.ndarray) -> Stat:
    code, count = np.unique(value[own], return_counts=True)
    place = rows[:, own] if own.any() else np.array([[math.inf], [math.inf], [math.inf]])
    return Stat(int(own.sum()), place.min(axis=1), place.max(axis=1), {"s": (code, count)})


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=40), st.integers(1, 39))
def test_stats_add_up(rows: list[tuple[int, int]], cut: int) -> None:
    place = np.array([p for p, _ in rows], dtype=np.float64)[None, :].repeat(3, axis=0)
    value = np.array([v for _, v in rows])
    first = np.arange(len(rows)) < cut
    parts = [_stat(place, value, own) for own in (first, ~first) if own.any()]
    total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    whole = _stat(place, value, np.ones(len(rows), np.bool_))
    assert total.rows == whole.rows
    assert (total.low == whole.low).all()
    assert (total.high == whole.high).all()
    for one, other in zip(total.values["s"], whole.values["s"], strict=True):
        assert one.tolist() == other.tolist()


def test_counts_of_leaves_are_exact(table: pl.DataFrame) -> None:
    policy = Policy((("age", "town"),), (sf.DistinctLDiversity("disease", 2),), 0, LM())
    domain = domain_in(table, policy, ("disease",), {})
    tree = PartTree()
    tree.split(tree.split(0, Cut(0, 2, 40.0))[1], Cut(1, 2, side=np.array([0, 1, 0, 1, 1], np.int32)))
    flat = branches(tree)
    wanted = np.ones(5, np.bool_)
    records = added(
        pl.concat([tally(part, domain, flat, policy.columns, ("disease",), wanted) for part in table.iter_slices(900)])
    )
    stats = stats_of(records, policy.columns, ("disease",))
    young = table.filter(pl.col("age") < 40)
    assert stats[1].rows == young.height
    assert (stats[1].low[0], stats[1].high[0]) == (young["age"].min(), young["age"].max())
    assert stats[4].high[0] == math.inf  # missing values stand after all others
    assert sorted(stats) == [1, 3, 4]
    assert sum(stat.rows for stat in stats.values()) == ROWS
    found = as_classes([stats[1]], domain, ("disease",)).histogram("disease")
    assert found.count.tolist() == young.group_by("disease").len().sort("disease", nulls_last=True)["len"].to_list()
    assert found.overall.sum() == ROWS
