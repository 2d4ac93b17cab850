"""Tables of counts are fitted to 1e-9 without the table of all columns, zeros stay, and contradictions are named."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from sfumato.core.progress import quiet
from sfumato.engines.tables import engine_of
from sfumato.errors import ColumnError, PolicyError, TooManyCells
from sfumato.synthetic.fitting import CliqueTree, Margin, cliques_of
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.marginals import Marginals
from tests.conformance.test_generators import assert_pairs_kept, chain, table


def context() -> FitContext:
    return FitContext(np.random.default_rng(1))


def drawn(frame: pl.DataFrame, rows: int = 20_000, **options: object) -> pl.DataFrame:
    return Marginals(**options).fit(frame, context()).draw(rows, np.random.default_rng(2))


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    chance = np.random.default_rng(3)
    age = chance.integers(0, 90, 3000)
    married = np.where(age < 16, "no", chance.choice(["yes", "no"], 3000))
    return pl.DataFrame({"age": age, "married": married, "town": chance.choice(["Oslo", "Rome", "Bern"], 3000)})


def counted(x: np.ndarray, which: tuple[int, ...], sizes: list[int]) -> np.ndarray:
    cells = np.zeros([sizes[c] for c in which])
    np.add.at(cells, tuple(x[:, c] for c in which), 1 / len(x))
    return cells


@pytest.mark.parametrize("seed", range(12))
def test_margins_are_met_and_the_distribution_is_that_of_the_whole_table(seed):
    """Random sets of columns of sparse tables, against the same fitting over the table of all columns."""
    chance = np.random.default_rng(seed)
    n, columns = int(chance.choice([15, 60, 400])), int(chance.integers(3, 6))
    sizes = chance.integers(2, 5, columns).tolist()
    x = chance.integers(0, 100, (n, columns)) % np.array(sizes)
    x[:, 1] = (x[:, 0] + x[:, 1] * (chance.random(n) < 0.3)) % sizes[1]
    pairs = list(combinations(range(columns), 2))
    sets = pairs if seed % 2 else [pairs[i] for i in chance.permutation(len(pairs))[:columns].tolist()]
    margins = [Margin(which, counted(x, which, sizes)) for which in sets]
    tree = CliqueTree.of(cliques_of(columns, sets, sizes), sizes, lambda which: np.ones([sizes[c] for c in which]))
    assert tree.fit(margins, lambda turn: None, lambda which: counted(x, which, sizes) > 0)
    assert max(tree.errors(margins)) < 1e-9
    whole = np.full(sizes, 1 / np.prod(sizes))
    for _ in range(300):
        for margin in margins:
            now = whole.sum(axis=tuple(c for c in range(columns) if c not in margin.columns), keepdims=True)
            target = margin.shares.reshape(now.shape)
            whole = whole * np.divide(target, now, out=np.zeros_like(now), where=now > 0)
    for clique, cells in zip(tree.cliques, tree.tables, strict=True):
        own = whole.sum(axis=tuple(c for c in range(columns) if c not in clique))
        assert np.abs(own - cells).max() < 2e-3  # where cells tend to zero, plain fitting takes for ever


def test_all_pairs_of_a_chain_are_kept():
    assert Marginals("pairs").pairs
    model = Marginals("pairs").fit(chain(), context())
    assert model.error < 1e-9
    assert_pairs_kept(chain(), model.draw(100_000, np.random.default_rng(3)))
    assert_pairs_kept(chain(), drawn(chain(), 100_000))  # the strongest pairs are those of the chain


def test_named_margins_are_kept_and_others_not(people):
    frame = people.with_columns(twin=pl.col("town"))
    made = drawn(frame, margins=[["town", "married"], ["town", "age"]], bins=10)
    assert set(made.columns) == set(frame.columns)
    before, after = (f.filter(pl.col("town") == "Oslo")["age"].mean() for f in (frame, made))
    assert abs(before - after) < 1.5
    assert 0.25 < (made["twin"] == made["town"]).mean() < 0.42


def test_impossible_combinations_are_never_drawn(people):
    """Bins are cut where a condition tells numbers apart."""
    free = drawn(people, margins=[["age", "town"], ["married"]], bins=7)
    rule = (pl.col("age") < 16) & (pl.col("married") == "yes")
    assert free.filter(rule).height > 1000
    made = drawn(people, margins=[["age", "town"], ["married"]], zeros="age < 16 and married = yes", bins=7)
    assert made.filter(rule).height == 0
    assert abs((made["married"] == "yes").mean() - (people["married"] == "yes").mean()) < 0.02
    frame = pl.DataFrame({"town": ["Oslo"], "married": ["yes"]})
    without = people.filter((pl.col("town") != "Oslo") | (pl.col("married") != "yes"))
    made = drawn(without, margins=[["town"], ["married"]], zeros=frame)
    assert made.join(frame, on=["town", "married"], how="semi").height == 0


def test_own_tables_of_counts_are_met(people):
    own = pl.DataFrame({"town": ["Oslo", "Rome", "Bern"], "married": ["yes", "no", "no"], "count": [5, 3, 2]})
    generator = Marginals([own, ["town", "age"]], bins=5)
    said = r"\(married, town\) and \(age, town\) contradict each other: they count .town. differently"
    with pytest.raises(PolicyError, match=said):
        generator.fit(people, context())
    made = Marginals([own]).fit(people, context())
    assert made.error < 1e-9
    rows = made.draw(20_000, np.random.default_rng(1))
    assert {*rows.select("town", "married").unique().rows()} == {("Oslo", "yes"), ("Rome", "no"), ("Bern", "no")}
    assert abs((rows["town"] == "Oslo").mean() - 0.5) < 0.02
    assert generator.secret == ("margins",)
    assert "margins" not in generator.published_parameters()
    assert Marginals(**generator.parameters()) == generator


def test_own_tables_of_numbers_and_missing_values():
    frame = pl.DataFrame({"n": [1, 2, 3, 4, None] * 20, "t": ["a", "b", None, "a", "b"] * 20})
    own = pl.DataFrame({"n": [2, 3, None], "count": [1, 1, 2]})
    made = drawn(frame, margins=[own], bins=2)
    assert {*made["n"].unique().to_list()} == {2, 3, None}
    assert abs(made["n"].null_count() / made.height - 0.5) < 0.02
    with pytest.raises(ColumnError, match='values of "n" that the table does not have'):
        drawn(frame, margins=[pl.DataFrame({"n": [9], "count": [1]})])
    with pytest.raises(ColumnError, match='no values of the type of "n"'):
        drawn(frame, margins=[pl.DataFrame({"n": ["x"], "count": [1]})])


def test_margins_that_no_table_has_are_named():
    """Each two agree, and all three cannot: a equals b, b equals c, and a is never c."""
    frame = pl.DataFrame({"a": ["0", "1"] * 20, "b": ["0", "1"] * 20, "c": ["1", "0"] * 20})
    same, other = ("0", "1"), ("1", "0")
    own = [
        pl.DataFrame({x: same, y: same if agree else other, "count": [1, 1]})
        for x, y, agree in (("a", "b", True), ("b", "c", True), ("a", "c", False))
    ]
    with pytest.raises(PolicyError, match=r"leave no mass|given the others"):
        drawn(frame, margins=own)
    near = [
        pl.DataFrame({x: same + same, y: same + other, "count": [9, 9, 1, 1] if agree else [1, 1, 9, 9]})
        for x, y, agree in (("a", "b", True), ("b", "c", True), ("a", "c", False))
    ]
    said = r"the margins of \(\w, \w\) and \(\w, \w\) contradict each other, given the others"
    with pytest.raises(PolicyError, match=said):
        drawn(frame, margins=near)


def test_structural_zeros_that_leave_no_mass_are_refused(people):
    with pytest.raises(PolicyError, match=r"met by \d,?\d* rows of the table"):
        drawn(people, zeros=["married = yes", "married = no"])
    own = pl.DataFrame({"married": ["yes", "no"], "count": [1, 1]})
    with pytest.raises(PolicyError, match='leave no mass for "married"'):
        drawn(people, margins=[own], zeros=["married = yes"])
    with pytest.raises(PolicyError, match="leave no mass"):
        drawn(people, margins=[own], zeros=["married = yes", "married = no"])


def test_a_table_that_is_too_large_is_refused_and_a_tree_of_pairs_is_not():
    chance = np.random.default_rng(5)
    first = chance.integers(0, 9, 500)
    frame = pl.DataFrame({f"c{i}": ((first + chance.integers(0, 2, 500)) % 9).astype(str) for i in range(30)})
    with pytest.raises(TooManyCells, match='join "c0", "c1"'):
        drawn(frame, margins="pairs")
    sets = [[f"c{i}", f"c{i + 1}"] for i in range(29)]
    made = drawn(frame, margins=sets)
    for one in sets[::7]:
        before, after = (f.group_by(one).len().with_columns(pl.col("len") / f.height) for f in (frame, made))
        both = before.join(after, on=one, how="full").fill_null(0.0)
        assert (both["len"] - both["len_right"]).abs().max() < 0.02


def test_counts_of_an_engine_give_the_same_model():
    margins = [["town", "ill"], ["ill", "age"], ["age", "town"]]
    options = {"margins": margins, "zeros": ["age < 19 and code = x"], "bins": 5}
    zeros = table().filter((pl.col("age") >= 19) | (pl.col("code") != "x"))
    engine = engine_of(zeros)
    given = Marginals(**options).fit_counts(lambda names: engine.count(names, quiet, 10**6), zeros.schema, context())
    own = Marginals(**options).fit(zeros, context())
    assert given.draw(300, np.random.default_rng(5)).equals(own.draw(300, np.random.default_rng(5)))


def test_odd_columns_and_parameters(people):
    frame = pl.DataFrame([{"no": None, "one": "x"}] * 9, {"no": pl.Float64, "one": pl.String})
    assert drawn(frame, 5).rows() == drawn(frame, 5, margins="pairs").rows() == [(None, "x")] * 5
    wrong: list[tuple[dict[str, object], str]] = [
        ({"margins": "tripels"}, "must be a list"),
        ({"margins": [["age", "age"]]}, "a set of columns"),
        ({"margins": [["age"], ["age"]]}, "two margins are of"),
        ({"margins": [["wage"]]}, 'no column "wage"'),
        ({"margins": [pl.DataFrame({"age": [1]})]}, "no column of counts"),
        ({"margins": [pl.DataFrame({"age": [1], "count": [0]})]}, "counts nothing"),
        ({"margins": [pl.DataFrame({"age": [1], "count": [-1]})]}, "a count is out of range"),
        ({"zeros": ["age is 3"]}, "no condition"),
        ({"zeros": ["wage = 3"]}, 'no column "wage"'),
        ({"bins": 1}, "bins"),
        ({"max_cells": 0}, "max_cells"),
    ]
    for options, message in wrong:
        with pytest.raises((PolicyError, ColumnError), match=message):
            drawn(people, **options)
