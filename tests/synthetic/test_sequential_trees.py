"""Sequential trees keep how columns go together, and the rules, formulas, missing values and groups they are given."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.risk.copied_uniques import repeats
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.sequential_trees import SequentialTrees
from tests.synthetic.test_rules import people


def context(**more: Any) -> FitContext:
    return FitContext(np.random.default_rng(1), **more)


def drawn(
    table: pl.DataFrame, rows: int | None = None, *, given: FitContext | None = None, **asked: Any
) -> pl.DataFrame:
    model = SequentialTrees(**asked).fit(table, given or context())
    return model.draw(rows or table.height, np.random.default_rng(2))


@cache
def mixed() -> pl.DataFrame:
    """A skewed amount with many zeros that depends on a category and an age, missing more often for the old."""
    chance = np.random.default_rng(3)
    n = 6000
    job = chance.choice(["nurse", "clerk", "pilot", "baker"], n)
    age = chance.integers(16, 90, n)
    level = {"nurse": 7.0, "clerk": 6.0, "pilot": 9.0, "baker": 5.0}
    pay = np.exp(np.vectorize(level.get)(job) + 0.01 * age + 0.3 * chance.standard_normal(n)).round(2)
    pay = np.where(chance.uniform(size=n) < 0.4, 0.0, pay)
    gone = chance.uniform(size=n) < np.where(age > 60, 0.5, 0.05)
    return pl.DataFrame({"pay": pl.Series(pay).set(pl.Series(gone), None), "age": age, "job": job})


def test_missing_values_spikes_and_levels_stay_with_what_they_depend_on():
    for smoothing in (None, "spline", "kernel"):
        made = drawn(mixed(), 20_000, smoothing=smoothing)
        for frame in (mixed(), made):
            assert abs(frame.filter(pl.col("age") > 60)["pay"].is_null().mean() - 0.5) < 0.04
            assert abs(frame.filter(pl.col("age") <= 60)["pay"].is_null().mean() - 0.05) < 0.02
            assert abs((frame["pay"].drop_nulls() == 0).mean() - 0.4) < 0.03
        middle = [
            frame.filter(pl.col("pay") > 0).group_by("job").agg(pl.col("pay").log().mean(), pl.len()).sort("job")
            for frame in (mixed(), made)
        ]
        assert np.abs(middle[0]["pay"] - middle[1]["pay"]).max() < 0.06, smoothing


@pytest.mark.parametrize("smoothing", ["spline", "kernel"])
def test_smoothed_numbers_are_new_ones_on_the_grid_and_others_are_drawn(smoothing):
    made = drawn(mixed(), smoothing={"pay": smoothing})
    old = mixed()["pay"].drop_nulls()
    positive = made["pay"].drop_nulls().filter(made["pay"].drop_nulls() > 0)
    assert positive.is_in(old.implode()).mean() < 0.06
    assert (positive.round(2) == positive).all()
    assert drawn(mixed(), smoothing="none")["pay"].drop_nulls().is_in(old.implode()).all()
    spread = [mixed().filter(pl.col("pay") > 0)["pay"].log().std(), positive.log().std()]
    assert abs(spread[0] / spread[1] - 1) < 0.06


def test_numbers_are_smoothed_where_they_could_tell_a_person():
    smooth = {one.column.name: one.smoothing for one in SequentialTrees().fit(mixed(), context()).trees}
    assert smooth == {"job": None, "age": None, "pay": "spline"}
    assert drawn(mixed())["pay"].equals(drawn(mixed(), smoothing={"pay": "spline"})["pay"])


def test_a_stated_spike_is_drawn_first():
    model = SequentialTrees(spikes={"pay": 0}).fit(mixed(), context())
    assert [len(one.stages) for one in model.trees if one.column.name == "pay"] == [2]
    groups = next(one for one in model.trees if one.column.name == "pay").stages[0].donors
    assert np.unique(groups).tolist() == [0, 1, 2]  # missing, other numbers, 0


def test_columns_of_few_values_are_visited_first_unless_an_order_is_given():
    def order(**asked: Any) -> list[str]:
        return [one.column.name for one in SequentialTrees(**asked).fit(mixed(), context()).trees]

    assert order() == ["job", "age", "pay"]
    assert order(order=["pay"]) == ["pay", "job", "age"]
    assert order(passive={"age": "pay / 100"}) == ["job", "pay", "age"]


def test_a_leaf_has_as_many_rows_as_asked():
    for leaf in (5, 40):
        tree = SequentialTrees(leaf=leaf).fit(mixed().drop_nulls(), context()).trees[-1].stages[-1].tree
        assert tree.size[tree.feature < 0].min() >= leaf
    small = SequentialTrees(complexity=0.01).fit(mixed(), context()).trees[-1].stages[-1].tree
    assert len(small.size) < 20


def test_rules_hold_in_every_row_and_others_are_drawn_from_other_rows():
    rules = [
        "if age < 16 then married = no",
        "if age < 16 and sex in (F, M) then pay = 0",
        "if age >= 16 and married = missing then pay = missing",
    ]
    for smoothing in (None, "spline"):
        made = drawn(people(), 20_000, rules=rules, smoothing=smoothing)
        assert made.filter(pl.col("age") < 16)["married"].unique().to_list() == ["no"]
        assert made.filter((pl.col("age") < 16) & pl.col("sex").is_in(["F", "M"]))["pay"].unique().to_list() == [0]
        assert made.filter(pl.col("married").is_null())["pay"].null_count() == made["married"].null_count() > 0
    shares = [(frame.filter(pl.col("age") > 15)["married"] == "no").mean() for frame in (people(), made)]
    assert abs(shares[0] - shares[1]) < 0.03


def test_passive_columns_are_exactly_what_the_formula_gives():
    chance = np.random.default_rng(4)
    height, weight = chance.normal(1.7, 0.1, 900).round(2), chance.normal(70, 12, 900).round(1)
    table = pl.DataFrame({"bmi": (weight / height**2).round(1), "height": height, "weight": weight})
    table = table.with_columns(twice=(pl.col("height") * 100 + 3).round().cast(pl.Int16))
    formulas = {"bmi": "weight / (height * height)", "twice": "height * 100 + 3"}
    made = drawn(table, 5000, passive=formulas, smoothing="kernel")
    assert made["bmi"].to_list() == np.round(made["weight"] / made["height"].to_numpy() ** 2, 1).tolist()
    assert made["twice"].to_list() == np.round(made["height"].to_numpy() * 100 + 3).tolist()
    assert made.schema == table.schema


def test_a_category_of_many_levels_neither_hangs_nor_is_lost():
    chance = np.random.default_rng(5)
    town = chance.integers(0, 2000, 20_000)
    table = pl.DataFrame(
        {"town": [f"{t:04d}" for t in town], "region": town // 500, "pay": town + chance.normal(0, 50, 20_000)}
    )
    SequentialTrees().fit(table[:500], context())
    begun = time.process_time()
    made = drawn(table)
    assert time.process_time() - begun < 5
    assert made["town"].n_unique() > 1200
    assert (made["town"].cast(pl.Int64) // 500 == made["region"]).mean() > 0.99
    assert np.corrcoef(made["town"].cast(pl.Int64), made["pay"])[0, 1] > 0.97


def test_levels_are_drawn_inside_the_groups_of_a_hierarchy():
    chance = np.random.default_rng(6)
    zone = chance.integers(0, 9, 3000)
    code = [f"{z}{i:02d}" for z, i in zip(zone, chance.integers(0, 30, 3000), strict=True)]
    table = pl.DataFrame({"code": code, "zone": zone})
    model = SequentialTrees().fit(table, context(hierarchies={"code": sf.redact("right")}))
    group, level = next(one for one in model.trees if one.column.name == "code").stages
    starts = level.tree.start[: int(group.donors.max()) + 1]
    assert len(starts) == table["code"].str.slice(0, 2).n_unique()
    made = model.draw(3000, np.random.default_rng(1))
    assert (made["code"].str.slice(0, 1).cast(pl.Int64) == made["zone"]).mean() > 0.99
    top = drawn(table, given=context(hierarchies={"code": sf.redact("right")}), nested={"code": 2})
    assert top["code"].is_in(table["code"].unique().implode()).all()


def test_some_columns_are_made_anew_in_their_rows():
    made = drawn(mixed(), columns=["pay"])
    assert made.drop("pay").equals(mixed().drop("pay"))
    assert not made["pay"].equals(mixed()["pay"])
    risky = np.arange(6000) < 300
    made = drawn(mixed(), columns=["pay"], given=context(at_risk=risky))
    assert made[300:].equals(mixed()[300:])
    assert not made[:300]["pay"].equals(mixed()[:300]["pay"])
    assert SequentialTrees(columns=["pay"]).changes == ("pay",)
    with pytest.raises(PolicyError, match="rows that it had"):
        SequentialTrees(columns=["pay"]).fit(mixed(), context()).draw(10, np.random.default_rng(1))


def test_rows_at_risk_keep_their_own_distribution():
    """Those at risk are paid ten times as much: what they get is drawn by that."""
    chance = np.random.default_rng(7)
    risky = chance.uniform(size=4000) < 0.1
    pay = np.where(risky, 1000.0, 100.0) + chance.normal(0, 10, 4000).round(1)
    table = pl.DataFrame({"sex": chance.choice(["F", "M"], 4000), "pay": pay})
    made = drawn(table, columns=["pay"], given=context(at_risk=risky))
    assert abs(made.filter(pl.Series(risky))["pay"].mean() - 1000) < 5


def test_wide_tables_use_the_columns_that_matter():
    chance = np.random.default_rng(8)
    table = pl.DataFrame({f"x{i}": chance.integers(0, 5, 3000) for i in range(20)})
    table = table.with_columns(y=pl.col("x3") * 10 + pl.Series(chance.integers(0, 9, 3000)))
    model = SequentialTrees(predictors=2).fit(table, context())
    assert all(len(one.stages[-1].predictors) <= 2 for one in model.trees)
    names = [one.column.name for one in model.trees]
    assert names.index("x3") in model.trees[-1].stages[-1].predictors
    made = model.draw(3000, np.random.default_rng(1))
    assert (made["y"] // 10 - made["x3"]).abs().max() <= 0


def test_a_bootstrap_sample_is_grown_on_by_the_random_numbers_given():
    proper = SequentialTrees(proper=True)
    one, again = (proper.fit(mixed(), context()).draw(50, np.random.default_rng(2)) for _ in range(2))
    other = proper.fit(mixed(), FitContext(np.random.default_rng(9))).draw(50, np.random.default_rng(2))
    assert one.equals(again)
    assert not one.equals(other)


def test_threads_change_nothing(monkeypatch):
    one = drawn(mixed())
    monkeypatch.setenv("SFUMATO_THREADS", "1")
    assert one.equals(drawn(mixed()))


def test_odd_columns_come_back():
    """All missing, one value only, one value and missing, more numbers than codes."""
    n = 70_000
    chance = np.random.default_rng(10)
    x = chance.standard_normal(n)
    table = pl.DataFrame(
        {
            "no": pl.Series([None] * n, dtype=pl.Float64),
            "none": pl.Series([None] * n, dtype=pl.String),
            "one": ["x"] * n,
            "some": pl.Series(np.where(chance.uniform(size=n) < 0.5, 7.0, np.nan)).fill_nan(None),
            "x": x,
            "y": x + 0.01 * chance.standard_normal(n),
        }
    )
    made = drawn(table, 2000, smoothing={"no": "kernel", "some": "spline"})
    assert made.schema == table.schema
    assert made["no"].null_count() == made["none"].null_count() == 2000
    assert made["one"].unique().to_list() == ["x"]
    assert abs(made["some"].null_count() / 2000 - 0.5) < 0.05
    assert np.corrcoef(made["x"], made["y"])[0, 1] > 0.999


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({"order": ["agee"]}, ColumnError, 'order names a column that is absent.*did you mean "age"'),
        ({"order": ["pay", "pay"]}, PolicyError, "twice"),
        ({"order": ["married", "age"], "rules": "if age < 16 then married = no"}, PolicyError,
         '"married" is visited before "age"'),
        ({"order": ["pay"], "passive": {"pay": "age * 2"}}, PolicyError, '"pay" is visited before "age"'),
        ({"passive": {"pay": "age * 2", "age": "pay / 2"}}, PolicyError, "in a circle"),
        ({"passive": {"sex": "age * 2"}}, ColumnError, "no column of numbers"),
        ({"passive": {"pay": "agee * 2"}}, ColumnError, "absent"),
        ({"smoothing": "cubic"}, PolicyError, "smoothing"),
        ({"smoothing": {"sex": "kernel"}}, ColumnError, "no column of numbers"),
        ({"leaf": 0}, PolicyError, "leaf"),
        ({"columns": ["age"], "rules": "if age < 16 then married = no"}, PolicyError, "among the columns"),
        ({"nested": ["sex"]}, ColumnError, "no hierarchy"),
        ({"rows_at_risk": 0.2}, PolicyError, "rows at risk"),
        ({"rules": "if age < 40 then married = no"}, PolicyError, "rows of the table do not"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(asked, error, says):
    with pytest.raises(error, match=says):
        SequentialTrees(**asked).fit(people(), context())


def test_few_rows_and_identifiers_are_refused():
    named = people().with_columns(nick=pl.Series([f"n{i}" for i in range(people().height)]))
    with pytest.raises(ColumnError, match='"nick" has as many values as rows: it is probably an identifier'):
        sf.synthesize(named, rest="release", seed=1)
    with pytest.raises(PolicyError, match="more rows"):
        sf.synthesize(people()[:49], seed=1)
    assert sf.synthesize(named, identifying=["nick"], rest="release", seed=1).data.columns == people().columns


def test_rows_that_repeat_a_person_exchange_values_and_columns_stay_as_they_are():
    chance = np.random.default_rng(11)
    n = 3000
    school = chance.integers(1, 9, n)
    table = pl.DataFrame(
        {
            "school": [f"level {s}" for s in school],
            "years": school * 2,
            "sex": chance.choice(["F", "M"], n),
            "age": chance.integers(18, 80, n),
            "hours": pl.Series(10 * school - chance.integers(0, 30, n)).set(
                pl.Series(chance.uniform(size=n) < 0.1), None
            ),
        }
    )
    model = SequentialTrees(leaf=5).fit(table, context())
    rng = np.random.default_rng(2)
    drawn = model.draw(n, rng)
    made = model.exchange(drawn, table, rng)
    assert repeats(table, drawn).sum() > 1000
    assert repeats(table, made).sum() < 300
    assert all(made[name].sort().equals(drawn[name].sort()) for name in table.columns)
    assert (made["school"].str.slice(6).cast(pl.Int64) * 2 == made["years"]).all()
    for one in ("school", "sex"):
        means = [frame.group_by(one).agg(pl.col("hours", "age").mean()).sort(one).drop(one) for frame in (table, made)]
        assert (means[0] - means[1]).select(pl.all().abs().max()).max_horizontal().item() < 2
    assert model.exchange(drawn, table[:0], rng).equals(drawn)


def test_columns_of_rules_and_formulas_are_not_exchanged():
    rng = np.random.default_rng(2)
    asked = {"rules": "if age < 16 then married = no", "passive": {"pay": "age * 10"}, "smoothing": "none"}
    model = SequentialTrees(**asked).fit(people(), context())
    drawn = model.draw(2000, rng)
    made = model.exchange(drawn, drawn.unique(), rng)
    assert made.select("age", "married", "pay").equals(drawn.select("age", "married", "pay"))
    assert not made.equals(drawn)
    partial = SequentialTrees(columns=["sex"]).fit(people(), context())
    assert partial.exchange(people(), people(), rng).equals(people())
