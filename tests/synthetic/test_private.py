"""Private generators: nothing of the table leaves but what was paid for; domains are public, budgets exact."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.core.accounting import PrivacyCost, gaussian_rho
from sfumato.core.mechanisms import Noisy
from sfumato.errors import BudgetSpent, ColumnError, PolicyError
from sfumato.synthetic import GENERATORS
from sfumato.synthetic.aim import set_score, set_weights
from sfumato.synthetic.domain import DomainTable, domain_column
from sfumato.synthetic.fitting import CliqueTree, NoisyMargin, cliques_of
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.mst import score
from sfumato.synthetic.priv_bayes import SENSITIVITY, dependence
from sfumato.synthetic.private import Spending, shares
from tests.fuzz import FUZZ, slow_but

NAMES = [name for name, variant in GENERATORS.items() if variant.example.private]
ROWS = 3000
DOMAIN: dict[str, Any] = {
    "bounds": {"age": (0, 120), "pay": (0.0, 5000.0)},
    "keys": {"sex": ["F", "M"], "ill": ["no", "flu", "ulcer"]},
    "missing": ["pay"],
    "bins": 6,
}


def people(rows: int = ROWS, seed: int = 0) -> pl.DataFrame:
    """Ages, pay that rises with them, and an illness that goes with both."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    pay = np.where(rng.random(rows) < 0.1, np.nan, (40 * age + 300 * rng.standard_normal(rows)).round(2))
    ill = np.where(rng.random(rows) < age / 100, rng.choice(["flu", "ulcer"], rows), "no")
    return pl.DataFrame({"age": age, "pay": pay, "sex": rng.choice(["F", "M"], rows), "ill": ill})


def made(name: str, **more: Any) -> Any:
    small = {"max_cells": 300} if name == "aim" else {}
    return GENERATORS[name].make(**({"epsilon": 1} | small | DOMAIN | more))


@pytest.fixture
def constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanisms that give what they would give of any other table."""

    def noisy(values: Sequence[int], *_: Any) -> Noisy:
        return Noisy(tuple(20 + 7 * i % 90 for i in range(len(values))), 1.0, "constant")

    for name in ("gaussian", "laplace"):
        monkeypatch.setattr(f"sfumato.synthetic.private.{name}", noisy)
    monkeypatch.setattr("sfumato.synthetic.private.choose", lambda scores, *_, **__: len(scores) // 2)


def strange() -> pl.DataFrame:
    """Other people, and other types: whatever is not in the domain."""
    return pl.DataFrame(
        {
            "age": ["31", "-5", "1e9", "old", None, "inf"] * 9,
            "pay": [1, -70, 10**9, None, 3, 4] * 9,
            "sex": ["X", "F", None, "", "M", "F, M"] * 9,
            "ill": ["plague"] * 54,
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_folder_holds_nothing_but_what_was_paid_for(name: str, constant: None, tmp_path: Path) -> None:
    """With noise that hides everything, two tables that have nothing in common give the same bytes."""
    asked: dict[str, Any] = {"seed": 1, "quasi": ["sex", "ill"]}
    for folder, table in (("one", people()), ("other", strange()), ("alone", people()[:1])):
        release = sf.synthesize(table, made(name), **asked)
        release.save(tmp_path / folder)
        assert release.data.height == len(release.table) > 0
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["data.csv", "manifest.json", "report.html"]
    for file, folder in product(files, ("other", "alone")):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / folder / file).read_bytes(), file
    assert sf.synthesize(people(), made(name), seed=1).data.height == release.data.height  # no roles, as many rows


@pytest.mark.parametrize("name", slow_but(NAMES, "mst"))
def test_a_release_states_what_it_cost_and_no_figure_of_the_original(name: str, tmp_path: Path) -> None:
    table = people()
    release = sf.synthesize(table, made(name), seed=1, to=tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["input"] == {"rows": None, "fingerprint": None}
    said = manifest["privacy"]
    assert (said["epsilon"], said["delta"], said["unit"]) == ("1", "0.000000001", "row")
    assert Decimal(said["rho"]) == gaussian_rho(Decimal(1), Decimal("1e-9"))
    spent = sum(Decimal(part["rho"]) for part in said["accounting"])
    assert Decimal("0.97") * Decimal(said["rho"]) < spent <= Decimal(said["rho"])
    assert release.verification.outcome == sf.verify(tmp_path / "out").outcome == "by construction"
    assert abs(release.data.height - ROWS) < 500  # noisy, and as it was paid for
    assert f"{ROWS:,}" not in (tmp_path / "out" / "report.html").read_text("utf-8") or release.data.height == ROWS
    assert release.synthesis.repeated == 0
    assert "differentially private by construction" in (tmp_path / "out" / "report.html").read_text("utf-8")


@pytest.mark.parametrize("name", slow_but(NAMES, "mst"))
def test_pure_privacy_takes_no_delta(name: str, tmp_path: Path) -> None:
    release = sf.synthesize(people(), made(name, delta=0, epsilon=2), seed=1, to=tmp_path / "out")
    said = release.manifest["privacy"]
    assert (said["epsilon"], said["delta"]) == ("2", "0")
    assert "rho" not in said
    assert {part["mechanism"] for part in said["accounting"]} <= {"geometric", "noisy max"}
    assert Decimal("1.9") < sum(Decimal(part["epsilon"]) for part in said["accounting"]) <= 2
    assert sf.verify(tmp_path / "out").outcome == "by construction"


@pytest.mark.parametrize("name", slow_but(NAMES, "mst"))
def test_rows_are_like_the_original_and_more_so_with_more_budget(name: str) -> None:
    table = people(20_000)

    def error(epsilon: float) -> float:
        drawn = made(name, epsilon=epsilon, i_know=True).fit(table, FitContext(np.random.default_rng(1)))
        there = drawn.draw(20_000, np.random.default_rng(1))
        columns = made(name).domain(table.schema)
        one, two = (DomainTable.of(columns, frame) for frame in (table, there))
        pairs = [(i, j) for i in range(4) for j in range(i)]
        return float(np.mean([np.abs(one.counts(pair) - two.counts(pair)).sum() / 40_000 for pair in pairs]))

    little, some, much = (error(epsilon) for epsilon in (0.02, 1, 50))
    assert much < some < little
    assert much < 0.02
    assert some < 0.1


def test_types_are_those_of_the_domain_and_values_of_it() -> None:
    table = people().with_columns(
        pl.col("age").cast(pl.UInt8),
        pl.col("ill").cast(pl.Categorical),
        born=pl.lit("1970-05-01").str.to_date(),
        flag=pl.lit(True),
        zip=pl.lit(20121),
    )
    bounds = DOMAIN["bounds"] | {"born": ("1950-01-01", "2000-12-31")}
    asked = sf.MST(epsilon=5, bounds=bounds, keys=DOMAIN["keys"] | {"zip": ["20121", "00184"]}, missing=["pay"])
    found = sf.synthesize(table, asked, rows=500, seed=1).data
    assert found.height == 500
    types = (pl.UInt8(), pl.Float64(), pl.String(), pl.Categorical(), pl.Date(), pl.Boolean(), pl.String())
    assert tuple(found.dtypes) == types
    assert [name for name in found.columns if found[name].null_count()] == ["pay"]
    assert found["age"].max() <= 120  # type: ignore[operator]
    assert 0 <= found["pay"].min() <= found["pay"].max() <= 5000  # type: ignore[operator]
    assert {*found["zip"]} <= {"20121", "00184"}
    assert found["zip"].value_counts().sort("count")["zip"][-1] == "20121"


def test_codes_are_of_the_domain_alone() -> None:
    whole = domain_column("x", pl.Int64(), (0, 3), None, 20, False)
    assert whole.encode(pl.Series([-9, 0, 1, 2, 3, 99, None])).tolist() == [0, 0, 1, 2, 3, 3, -1]
    drawn = whole.decode(np.arange(4), np.random.default_rng(0))
    assert drawn.to_list() == [0, 1, 2, 3]
    cut = domain_column("x", pl.Float64(), (0.0, 0.0, 10.0, 20.0), None, 20, True)
    values = pl.Series([0.0, 0.1, 10.0, 20.0, 50.0, float("inf"), float("nan"), None, -1.0])
    assert cut.encode(values).tolist() == [0, 1, 2, 2, 2, 2, 3, 3, 0]
    back = cut.decode(np.array([0, 1, 2, 3] * 50), np.random.default_rng(0))
    assert cut.encode(back).tolist() == [0, 1, 2, 3] * 50
    day = domain_column("x", pl.String(), ("2020-01-01", "2020-12-31"), None, 4, True)
    days = day.decode(np.repeat(np.arange(4), 50), np.random.default_rng(0))
    assert day.encode(days).tolist() == np.repeat(np.arange(4), 50).tolist()
    assert day.encode(pl.Series(["2020-01-01", "2020-12-31T12:00:00", "never"])).tolist() == [0, 3, 4]
    keys = domain_column("x", pl.Float64(), None, [1, 2], 20, True)
    assert keys.encode(pl.Series([1.0, 2.0, 2.5])).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"epsilon": None}, "epsilon is not given"),
        ({"epsilon": 0}, "epsilon is out of range"),
        ({"epsilon": float("nan")}, "epsilon must be a number"),
        ({"epsilon": 21}, "protects nobody"),
        ({"delta": 1}, "delta is out of range"),
        ({"delta": -1}, "delta is out of range"),
        ({"bounds": {"age": 5}}, 'what is given for "age" must be a list'),
        ({"bounds": {"age": (9, 2)}}, 'bounds of "age" are reversed'),
        ({"bounds": {"age": (0, 0, 0, 5)}}, "more than twice"),
        ({"bounds": {"age": ("soon", "late")}}, "must be numbers or dates"),
        ({"bounds": {"agee": (0, 1)}}, 'no column "agee"'),
        ({"bounds": {"age": (0, 1)}, "keys": None}, '"pay", "sex", "ill" have no public domain'),
        ({"keys": {"sex": ["F", "F"]}}, "have one twice"),
        ({"keys": {"sex": ["F", None]}}, "have a missing one"),
        ({"keys": {"sex": ["F"], "age": [1]}}, "both bounds and keys"),
        ({"missing": ["nope"]}, 'no column "nope"'),
    ],
)
def test_what_makes_no_sense_is_refused(more: dict[str, Any], says: str) -> None:
    for part in ("bounds", "keys"):  # what else the columns need
        if more.get(part) and "keys" not in {*more} - {part}:
            more = more | {part: DOMAIN[part] | more[part]}
    with pytest.raises((PolicyError, ColumnError), match=says):
        sf.synthesize(people(60), made("mst", **more))


@pytest.mark.parametrize("more", [{"copies": "redraw"}, {"copies": "drop"}, {"hold_out": 0.1}])
def test_nothing_is_compared_with_the_original(more: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="compared with"):
        sf.synthesize(people(60), made("mst"), **more)
    with pytest.raises(PolicyError, match="is not private, and no account"):
        sf.synthesize(people(60), "bootstrap", account=sf.dp.Account("x.sqlite", 1))


def test_a_release_is_charged_before_noise_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = sf.dp.Account(tmp_path / "ledger.sqlite", epsilon=2, delta=2e-9)
    sf.synthesize(people(200), made("mst"), account=account, seed=1)

    def fails(*_: Any) -> None:
        raise RuntimeError("the power went out")

    monkeypatch.setattr("sfumato.synthetic.private.gaussian", fails)
    with pytest.raises(RuntimeError):
        sf.synthesize(people(200), made("mst"), account=account, seed=1)
    with pytest.raises(BudgetSpent):  # which the second was charged for, though it gave nothing
        sf.synthesize(people(200), made("mst"), account=account, seed=1)


@pytest.mark.parametrize("domain", [{"keys": {"ill": [True, False]}}, {"bounds": {"nobody": (0, 1)}}])
def test_what_is_refused_by_its_domain_is_not_charged(domain: dict[str, Any], tmp_path: Path) -> None:
    account = sf.dp.Account(tmp_path / "ledger.sqlite", epsilon=1, delta=1e-9)
    with pytest.raises((PolicyError, ColumnError), match=r"no public domain|no column"):
        sf.synthesize(people(200), sf.MST(epsilon=1, **domain), account=account)
    sf.synthesize(people(200), made("mst"), account=account)  # the whole budget is there


@pytest.mark.slow
@pytest.mark.parametrize("shell", [False, True])
def test_no_row_of_a_file_has_a_say_in_how_others_are_read(shell: bool, tmp_path: Path) -> None:
    """One number with a decimal point leaves a column of decimal commas as text, and must not matter."""
    found = []
    for odd in ("1,5", "1.5"):
        (tmp_path / "t.csv").write_text("\n".join(["x;y", *(f"{i},5;a" for i in range(300)), f"{odd};a", ""]))
        if shell:
            asked = ["--generator", "mst epsilon=20", "--bounds", "x=0:300", "--keys", "y=a,b", "--rows", "300"]
            assert main(["synth", str(tmp_path / "t.csv"), *asked, "-o", str(tmp_path / odd)]) == 0
            drawn: Any = pl.read_csv(tmp_path / odd / "data.csv")
        else:
            made = sf.MST(epsilon=20, bounds={"x": (0, 300)}, keys={"y": ["a", "b"]})
            drawn = sf.synthesize(tmp_path / "t.csv", made, rows=300).data
        found.append(drawn["x"].null_count())
    assert abs(found[0] - found[1]) < 10


def test_spending_is_exact_and_never_more_than_there_is() -> None:
    spending = Spending.of(PrivacyCost(Decimal(1), Decimal("1e-9"), Decimal("0.01")))
    for _ in range(3):
        spending.noisy(np.zeros(2, np.int64), spending.share(1.0, 3), "counts")
    assert Decimal("0.00999") < spending.spent <= Decimal("0.01")
    with pytest.raises(PolicyError, match="budget is too small"):
        spending.choose([1.0, 2.0], 1.0, Decimal("0.001"), "choices")
    assert spending.parts[0].times == 3


def test_one_row_changes_the_score_of_a_pair_by_one_at_most() -> None:
    rng, largest = np.random.default_rng(0), 0.0
    ones = [NoisyMargin((i,), np.array([3.0, 5.0, 1.0]), 1.0) for i in range(2)]
    for _ in range(300):
        counts = rng.integers(0, 4, (3, 3))
        for i, j in product(range(3), repeat=2):
            more = counts.copy()
            more[i, j] += 1
            moved = score(more, ones, (0, 1), 9.0, 2.0) - score(counts, ones, (0, 1), 9.0, 2.0)
            largest = max(largest, abs(moved))
    assert 0.9 < largest <= 1 + 1e-9


def test_a_row_adds_to_one_cell_of_each_table_and_to_no_other() -> None:
    table, columns = strange(), made("mst", missing=None).domain(strange().schema)
    for missing in (None, []):
        columns = made("mst", missing=missing).domain(table.schema)
        whole = DomainTable.of(columns, table)
        for row in range(6):
            less = DomainTable.of(columns, table[[i for i in range(table.height) if i != row]])
            for which in ((0,), (1, 2), (0, 1, 3)):
                apart = whole.counts(which) - less.counts(which)
                assert apart.min() >= 0
                assert apart.sum() == 1 if missing is None else apart.sum() <= 1


def test_shares_are_the_nearest_ones() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        noisy = rng.normal(3, 5, 6)
        found = shares(noisy)
        assert found.min() >= 0
        assert abs(found.sum() - 1) < 1e-12
        total = max(noisy.sum(), 1.0)
        for other in rng.dirichlet(np.ones(6), 20):
            assert np.abs(found * total - noisy).max() < 1e9
            assert ((found * total - noisy) ** 2).sum() <= ((other * total - noisy) ** 2).sum() + 1e-9


def test_out_of_core_tables_are_counted_where_they_are(tmp_path: Path) -> None:
    people(2000).write_parquet(tmp_path / "people.parquet")
    release = sf.synthesize(sf.scan(tmp_path / "people.parquet"), made("mst", epsilon=5), to=tmp_path / "out", seed=1)
    manifest = release.manifest
    assert manifest["input"] == {"rows": None, "fingerprint": None}
    assert abs(manifest["data"]["rows"] - 2000) < 200
    assert sf.verify(tmp_path / "out").outcome == "by construction"
    with pytest.raises(PolicyError, match="counts all rows"):
        sf.synthesize(sf.scan(tmp_path / "people.parquet"), made("mst"), to=tmp_path / "no", sample=100)


def test_one_row_changes_the_score_of_a_network_by_less_than_two() -> None:
    """Over all tables of up to 4 rows of two columns of 2 and 3 values, and many larger ones."""
    rng, largest = np.random.default_rng(0), 0.0
    small = [np.array(cells).reshape(2, 3) for cells in product(range(3), repeat=6)]
    for counts in [*small, *(rng.integers(0, 40, (2, 3)) * rng.integers(0, 2, (2, 3)) for _ in range(300))]:
        before = dependence(counts)
        for i, j in product(range(2), range(3)):
            more = counts.copy()
            more[i, j] += 1
            largest = max(largest, abs(dependence(more) - before))
    assert 1.0 <= largest < SENSITIVITY


def test_one_row_changes_the_score_of_a_table_by_its_weight_at_most() -> None:
    rng = np.random.default_rng(0)
    weights = set_weights([(0, 1), (0, 2), (1, 2), (0, 1, 2)], 3, 3)
    assert max(weights.values()) == 1
    for _ in range(200):
        counts, expected = rng.integers(0, 5, (2, 3)), rng.random((2, 3)) * 5
        more = counts.copy()
        more[rng.integers(2), rng.integers(3)] += 1
        moved = set_score(more, expected, 3.0, 0.5) - set_score(counts, expected, 3.0, 0.5)
        assert abs(moved) <= 0.5 + 1e-9


def test_margins_of_a_tree_are_those_of_the_table_that_it_stands_for() -> None:
    """Any columns, of one clique or of several, against the table of all columns, made in full."""
    rng, sizes = np.random.default_rng(0), [2, 3, 2, 4, 3]
    joined = [(0, 1), (1, 2), (2, 3), (1, 3)]
    order = cliques_of(5, joined, sizes)
    tables = {one: rng.random([sizes[c] for c in one]) for one, _ in order}
    tree = CliqueTree.of(order, sizes, lambda which: tables[which].copy())
    full = np.ones(sizes)
    for which, part in tables.items():
        full = full * part.reshape([sizes[c] if c in which else 1 for c in range(5)])
    full /= full.sum()
    for many in range(1, 5):
        for which in combinations(range(5), many):
            gone = tuple(c for c in range(5) if c not in which)
            assert np.allclose(tree.margin(which), full.sum(axis=gone), atol=1e-12), which


def test_noisy_margins_are_fitted_as_near_as_any_distribution_is() -> None:
    """Two pairs that contradict each other: no distribution on a grid of others has a smaller error."""
    rng, sizes = np.random.default_rng(1), [2, 2, 2]
    margins = [
        NoisyMargin((0, 1), np.array([[40.0, 22.0], [25.0, 11.0]]), 2.0),
        NoisyMargin((1, 2), np.array([[30.0, 20.0], [44.0, -3.0]]), 5.0),
    ]
    order = cliques_of(3, [m.columns for m in margins], sizes)
    tree = CliqueTree.of(order, sizes, lambda which: np.ones([sizes[c] for c in which]))
    tree.estimate(margins, 100.0, 5000)

    def loss(one: np.ndarray, two: np.ndarray) -> float:
        parts = zip((one, two), margins, strict=True)
        return float(sum((((100 * part - m.counts) / m.deviation) ** 2).sum() for part, m in parts))

    found = loss(tree.margin((0, 1)), tree.margin((1, 2)))
    best = min(
        loss(full.sum(axis=2), full.sum(axis=0))
        for full in (rng.dirichlet(np.full(8, 0.7)).reshape(2, 2, 2) for _ in range(3_000))
    )
    assert found <= best * 1.001


@pytest.mark.slow
def test_a_membership_attack_stays_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody knows all rows but one, which nobody is like, and how the table is made; they look for the count of that
    row in the synthetic table. Without noise they are always right: the attack works."""
    runs, epsilon = 150 * max(FUZZ, 1), 1.0
    others = pl.DataFrame({"a": ["x"] * 40, "b": ["x"] * 40})
    both = pl.concat([others, pl.DataFrame({"a": ["y"], "b": ["y"]})])
    asked = sf.MST(epsilon=epsilon, delta=0, keys={"a": ["x", "y"], "b": ["x", "y"]}, missing=[])

    def seen(table: pl.DataFrame, seed: int) -> float:
        rng = np.random.default_rng(seed)
        model = asked.fit(table, FitContext(rng))
        made = model.draw(model.rows, rng)
        return made.filter((pl.col("a") == "y") & (pl.col("b") == "y")).height

    def accuracy(times: int) -> float:
        without, with_ = (np.array([seen(table, i) for i in range(times)]) for table in (others, both))
        half = times // 2
        cuts = np.unique(np.concatenate([without, with_]))
        learnt = [((with_[:half] >= cut).mean() + (without[:half] < cut).mean()) / 2 for cut in cuts]
        cut = cuts[int(np.argmax(learnt))]
        return float(((with_[half:] >= cut).mean() + (without[half:] < cut).mean()) / 2)

    slack = np.sqrt(np.log(1e6) / runs / 2)  # Hoeffding, for an error of one in a million
    assert accuracy(runs) <= np.exp(epsilon) / (1 + np.exp(epsilon)) + slack
    monkeypatch.setattr(
        "sfumato.synthetic.private.laplace", lambda values, *_: Noisy(tuple(values), 0.0, "none at all")
    )
    assert accuracy(20) == 1.0


def test_a_row_counts_once_where_large_keys_are_alike_as_floats():
    keys = [2**60 + i for i in range(100)]
    with pytest.raises(PolicyError, match="have one twice"):
        domain_column("id", pl.Int64(), None, keys, 20, True)
    column = domain_column("id", pl.Int64(), None, [2**53 - 1, 2**53], 20, True)
    assert column.encode(pl.Series([2**53, 2**53 - 1, 5])).tolist() == [1, 0, 2]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_are_drawn_within_their_bounds_whatever_the_unit_of_the_table(unit):
    column = domain_column("t", pl.Datetime(unit), ("2020-01-01T00:00", "2020-12-31T00:00"), None, 4, False)
    drawn = column.decode(np.array([0, 1, 2, 3]), np.random.default_rng(1))
    assert set(drawn.dt.year()) == {2020}
