"""Marginal tables: what they count, what one unit changes, what they agree on, and what a folder of them tells."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import main
from sfumato.core.mechanisms import Noisy
from sfumato.dp.consistency import NoisyTable, consistent
from sfumato.engines.files.bytes import sha256
from sfumato.errors import BudgetSpent, ColumnError, OutputError, PolicyError, ReadError
from tests.fuzz import examples

KEYS = {"sex": ["F", "M"], "town": ["a", "b", "c"], "ill": ["y", "n"]}
BOUNDS = {"age": (0, 100)}
BINS = {"age": [0, 18, 65, 100]}
TOWNS = {"a": "north", "b": "north", "c": "south"}
WIDE = BOUNDS | {"who": (0, 9)}
PUBLIC: dict[str, Any] = {"keys": KEYS, "bounds": BOUNDS, "bins": BINS}
MARGINS = [["sex"], ["sex", "age"], ["age", "town"], ["ill"]]


def table_of(seed: int, n: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    maybe = lambda values: [None if rng.random() < 0.1 else value for value in values]  # noqa: E731
    return pl.DataFrame(
        {
            "who": rng.integers(0, max(n // 3, 1), n),
            "sex": maybe(rng.choice(["F", "M", "X"], n, p=[0.5, 0.45, 0.05]).tolist()),
            "age": maybe(rng.integers(-5, 120, n).tolist()),
            "town": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "ill": rng.choice(["y", "n"], n, p=[0.2, 0.8]),
        },
        schema_overrides={"sex": pl.String, "age": pl.Int64},
    )


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], float, Decimal]]:
    """Noise that is none, and what it was asked for."""
    asked: list[tuple[list[int], float, Decimal]] = []

    def plain(values: Any, sensitivity: float, cost: Decimal) -> Noisy:
        asked.append((list(values), sensitivity, cost))
        return Noisy(tuple(values), 1.0, "none")

    monkeypatch.setattr("sfumato.dp.noise.laplace", plain)
    monkeypatch.setattr("sfumato.dp.noise.gaussian", plain)
    return asked


def counted(table: pl.DataFrame, names: list[str]) -> dict[tuple[str, ...], int]:
    """The rows that every column has a public value of, counted in another way."""
    low = pl.col("age") < 18
    bins = pl.when(low).then(pl.lit("[0, 18)")).when(pl.col("age") < 65).then(pl.lit("[18, 65)"))
    bins = bins.otherwise(pl.lit("[65, 100)")).alias("age")
    rows = table.filter(pl.col("sex").is_in(["F", "M"]), pl.col("age").is_not_null()).with_columns(bins)
    return {tuple(row[:-1]): row[-1] for row in rows.group_by(names).len().iter_rows()}


def test_without_noise_tables_are_the_exact_ones(exact: Any) -> None:
    table = table_of(1, 500)
    found = sf.dp.release_marginals(table, MARGINS, 1, hierarchies={"town": sf.wide(towns())}, **PUBLIC)
    assert list(found.tables) == ["sex", "sex,age", "age,town", "age,town:1", "ill"]
    for names in MARGINS:
        there = {tuple(row[:-1]): row[-1] for row in found.tables[",".join(names)].iter_rows() if row[-1]}
        assert there == counted(table, names)
    towns_above = found.tables["age,town:1"].group_by("town").agg(pl.col("count").sum()).sort("town")["count"].to_list()
    by_town = counted(table, ["town"])
    assert towns_above == [by_town["a",] + by_town["b",], by_town["c",]]


def towns() -> list[list[str]]:
    return [[town, region, "*"] for town, region in TOWNS.items()]


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(
    seed=st.integers(0, 2**32), n=st.integers(2, 12), rows=st.integers(1, 3), by_person=st.booleans(),
    replace=st.booleans(), gauss=st.booleans(),
)  # fmt: skip
def test_one_unit_changes_no_more_than_is_paid_for(seed, n, rows, by_person, replace, gauss):
    """Brute force over neighbouring tables: what is noised, its sensitivity, and the costs of all tables together."""
    asked: list[Any] = []

    def plain(values: Any, sensitivity: float, cost: Decimal) -> Noisy:
        asked.append((np.array(values), sensitivity, cost))
        return Noisy(tuple(values), 1.0, "none")

    table = table_of(seed, n)
    gone = table.filter(pl.col("who") != table["who"][0]) if by_person else table[1:]
    if replace:
        other = table_of(seed + 1, n).with_columns(who=pl.lit(99, pl.Int64))
        gone = pl.concat([gone, other if by_person else other[:1]])
    assume(gone.height)  # there is no table without rows
    unit: dict[str, Any] = {"person": "who", "rows_per_person": rows} if by_person else {}
    unit["neighbours"] = "replace" if replace else "add-remove"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("laplace", "gaussian"):
            patch.setattr(f"sfumato.dp.noise.{name}", plain)
        found = [
            sf.dp.release_marginals(
                frame, MARGINS, 1, 1e-6 if gauss else 0, hierarchies={"town": sf.wide(towns())}, **unit, **PUBLIC
            )
            for frame in (table, gone)
        ]
    half = len(asked) // 2
    spent = sum(cost for _, _, cost in asked[:half])
    assert spent <= (found[0].cost.rho if gauss else found[0].cost.epsilon)
    for (one, sensitivity, _), (two, _, _) in zip(asked[:half], asked[half:], strict=True):
        assert (np.linalg.norm(one - two) if gauss else np.abs(one - two).sum()) <= sensitivity + 1e-9


@settings(max_examples=examples(200), deadline=None)
@given(seed=st.integers(0, 2**32), whole=st.booleans(), spread=st.sampled_from([1.0, 20.0, 500.0]))
def test_noisy_tables_agree_and_are_nowhere_negative(seed, whole, spread):
    rng = np.random.default_rng(seed)
    sizes = {"a": 2, "b": 3, "c": 6, "d": 4}
    levels = [np.arange(6), np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])]
    asked = [("a",), ("b", "a"), ("c", "b"), ("d",)]
    tables = []
    for names in asked:
        for level in levels if "c" in names else levels[:1]:
            groups = tuple(level if name == "c" else np.arange(sizes[name]) for name in names)
            shape = [int(of.max()) + 1 for of in groups]
            values = rng.poisson(30, shape) + rng.normal(0, spread, shape)
            tables.append(NoisyTable(names, groups, values, spread**2))
    found = consistent(tables, whole)
    near = 0 if whole else 1e-6 * (1 + found[0].sum())
    for one in found:
        assert one.min() >= 0
        assert abs(one.sum() - found[0].sum()) <= near
        assert one.dtype == (np.int64 if whole else np.float64)
    a, ba, cb, cb1, cb2, _ = found
    assert np.abs(ba.sum(0) - a).max() <= near
    assert np.abs(ba.sum(1) - cb.sum(0)).max() <= near
    for level, coarse in zip(levels[1:], (cb1, cb2), strict=True):
        above = np.zeros(coarse.shape)
        np.add.at(above, level, cb)
        assert np.abs(above - coarse).max() <= near


def test_where_nothing_is_negative_it_is_plain_least_squares():
    rng = np.random.default_rng(3)
    region = np.array([0, 0, 0, 1])
    truth = rng.uniform(500, 900, (3, 4))
    groups = [
        (np.arange(3), np.arange(4)),
        (np.arange(3), region),
    ]
    noise = [
        truth + rng.normal(0, 9, (3, 4)),
        np.stack([truth[:, :3].sum(1), truth[:, 3]], 1) + rng.normal(0, 3, (3, 2)),
    ]
    tables = [NoisyTable(("a", "b"), of, own, var) for of, own, var in zip(groups, noise, (81.0, 9.0), strict=True)]
    real = consistent(tables, whole=False)
    # the same by the normal equations, with the total as it is
    design = np.vstack([np.eye(12) / 9, np.kron(np.eye(3), np.eye(2)[region].T) / 3, 1e4 * np.ones(12)])
    aims = np.concatenate([noise[0].ravel() / 9, noise[1].ravel() / 3, [1e4 * real[0].sum()]])
    best = np.linalg.lstsq(design, aims, rcond=None)[0].reshape(3, 4)
    assert np.abs(real[0] - best).max() < 0.1
    assert np.abs(consistent(tables)[0] - best).max() < 2


def test_agreement_lowers_the_error():
    rng = np.random.default_rng(4)
    errors = []
    for _ in range(20):
        truth = rng.poisson(rng.gamma(0.3, 30, (8, 16)))
        sets = [truth, truth.sum(1), truth.reshape(8, 4, 4).sum(2)]
        groups = [(np.arange(8), np.arange(16)), (np.arange(8),), (np.arange(8), np.arange(16) // 4)]
        noisy = [one + rng.normal(0, 10, one.shape) for one in sets]
        columns = [("a", "b"), ("a",), ("a", "b")]
        tables = [NoisyTable(c, of, v, 100.0) for c, of, v in zip(columns, groups, noisy, strict=True)]
        found = consistent(tables)
        errors.append(
            [[np.square(a - t).mean(), np.square(v - t).mean()] for a, v, t in zip(found, noisy, sets, strict=True)]
        )
    after, before = np.mean(errors, 0).T
    assert (after < 0.9 * before).all()


def test_the_folder_tells_nothing_but_noisy_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def constant(values: Any, sensitivity: float, cost: Decimal) -> Noisy:
        return Noisy(tuple(range(len(values))), 2.5, "constant")

    monkeypatch.setattr("sfumato.dp.noise.gaussian", constant)
    one, other = table_of(5, 300), table_of(6, 40).with_columns(sex=pl.lit("F"))
    for name, table in (("one", one), ("other", other)):
        sf.dp.release_marginals(
            table, MARGINS, 1, 1e-6, hierarchies={"town": sf.wide(towns())}, person="who", **PUBLIC
        ).save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 7
    assert files == sorted(path.name for path in (tmp_path / "other").iterdir())
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes(), file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = sf.dp.release_marginals(table_of(7, 400), MARGINS, 1, hierarchies={"town": sf.wide(towns())}, **PUBLIC)
    return found.save(tmp_path / "out")


def test_verify_knows_the_folder(folder: Path) -> None:
    found = sf.verify(folder)
    assert found.outcome == "by construction"
    assert [fact.fact for fact in found.facts] == ["non-negative", "whole", "totals", "agreement", "additivity"]
    assert all(fact.holds for fact in found.facts)
    privacy = json.loads((folder / "manifest.json").read_text())["privacy"]
    assert privacy["epsilon"] == "1"
    assert sum(Decimal(part["epsilon"]) for part in privacy["accounting"]) == 1


def changed(folder: Path, file: str, line: int, count: str) -> None:
    """A folder with another count, and a manifest that knows of it."""
    lines = (folder / file).read_text().splitlines()
    lines[line] = f"{lines[line].rpartition(',')[0]},{count}"
    (folder / file).write_text("\n".join(lines) + "\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    next(one for one in manifest["files"] if one["file"] == file)["sha256"] = sha256(folder / file)
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("file", "count", "facts"),
    [
        ("sex.csv", "-1", {"non-negative", "totals", "agreement"}),
        ("age_town_1.csv", "7777", {"totals", "agreement", "additivity"}),
        ("ill.csv", "0.5", {"whole", "totals"}),
    ],
)
def test_tables_that_disagree_are_found(folder: Path, file: str, count: str, facts: set[str]) -> None:
    changed(folder, file, 1, count)
    found = sf.verify(folder)
    assert found.outcome == "broken"
    assert {fact.fact for fact in found.facts if not fact.holds} == facts
    assert found.promises[0].holds


def test_what_is_not_as_written_is_found(folder: Path) -> None:
    with (folder / "ill.csv").open("a") as file:
        file.write("y,3\n")
    found = sf.verify(folder)
    assert found.outcome == "broken"
    assert found.promises[0].note == (
        "the sha256 of ill.csv is another; ill.csv does not have a count for each combination of its values"
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["privacy"]["epsilon"] = "0.1"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert not sf.verify(folder).promises[1].holds
    manifest["tables"][0]["levels"] = [4]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReadError, match="a level that values do not have"):
        sf.verify(folder)
    (folder / "ill.csv").unlink()
    with pytest.raises(ReadError):
        sf.verify(folder)


@pytest.mark.parametrize("name", ["../ill.csv", "no.csv", "a\0b", "x" * 5000, "link.csv"])
def test_tables_lie_in_the_folder(folder: Path, name: str) -> None:
    (folder.parent / "ill.csv").write_bytes((folder / "ill.csv").read_bytes())
    (folder / "link.csv").symlink_to(folder.parent / "ill.csv")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][-1]["file"] = manifest["tables"][-1]["file"] = name
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReadError, match="not in the folder"):
        sf.verify(folder)


def test_a_folder_of_tables_is_signed_and_replaced_and_is_no_table_of_rows(folder: Path, tmp_path: Path) -> None:
    sf.new_key(tmp_path / "key.pem", passphrase=None)
    assert sf.sign(folder, key=tmp_path / "key.pem", name="Ann").valid
    with pytest.raises(ReadError, match="tables of counts, not rows"):
        sf.risk(folder)
    found = sf.dp.release_marginals(table_of(8, 50), [["ill"]], 1, **PUBLIC)
    with pytest.raises(OutputError, match="exists"):
        found.save(folder)
    found.save(folder, "parquet", overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["ill.parquet", "manifest.json", "report.html"]
    assert sf.verify(folder).outcome == "by construction"


def test_it_is_charged_before_noise_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = sf.dp.Account(tmp_path / "l.sqlite", 1)
    table = table_of(9, 50)
    sf.dp.release_marginals(table, [["ill"]], 0.6, account=account, **PUBLIC)

    def never(*_: Any) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("sfumato.dp.noise.laplace", never)
    with pytest.raises(BudgetSpent):
        sf.dp.release_marginals(table, [["ill"]], 0.6, account=account, **PUBLIC)
    with pytest.raises(AssertionError, match="drawn"):
        sf.dp.release_marginals(table, [["ill"]], 0.4, account=account, **PUBLIC)
    with sf.dp.Session(table, 1, ledger=tmp_path / "l.sqlite") as session:
        assert session.left.epsilon == 0


def test_rows_out_of_core_are_counted_alike(exact: Any, tmp_path: Path) -> None:
    table = table_of(10, 200)
    table.write_parquet(tmp_path / "t.parquet")
    both = [
        sf.dp.release_marginals(data, MARGINS, 1, person="who", rows_per_person=2, **PUBLIC).tables
        for data in (table, sf.scan(tmp_path / "t.parquet"))
    ]
    assert all(frame.equals(both[1][name]) for name, frame in both[0].items())


def test_a_rho_is_told_as_an_epsilon() -> None:
    found = sf.dp.release_marginals(table_of(11, 50), [["ill"], ["sex"]], rho="0.02", delta=1e-6, **PUBLIC)
    assert found.mechanism == "discrete-gaussian"
    assert found.scale == pytest.approx(np.sqrt(1 / (2 * 0.01)))
    assert 0.89 < found.cost.epsilon < 0.9
    assert found.privacy["rho"] == "0.02"


@pytest.mark.parametrize(
    ("error", "match", "margins", "more"),
    [
        (PolicyError, "margins must be", "sex", {"epsilon": 1}),
        (PolicyError, "margins must be", [], {"epsilon": 1}),
        (PolicyError, "asked for twice", [["sex", "ill"], ["ill", "sex"]], {"epsilon": 1}),
        (ColumnError, "no column", [["sox"]], {"epsilon": 1}),
        (PolicyError, "no public values", [["who"]], {"epsilon": 1}),
        (PolicyError, "an epsilon, or a rho", [["sex"]], {}),
        (PolicyError, "an epsilon, or a rho", [["sex"]], {"epsilon": 1, "rho": 1}),
        (PolicyError, "a rho needs a delta", [["sex"]], {"rho": 1}),
        (PolicyError, "protects nobody", [["sex"]], {"epsilon": 21}),
        (PolicyError, "out of range", [["sex"]], {"epsilon": 0}),
        (PolicyError, "no Gaussian noise is so large", [["sex"]], {"epsilon": "1e-9", "delta": "1e-12"}),
        (PolicyError, "delta is out of range", [["sex"]], {"epsilon": 1, "delta": 1}),
        (ColumnError, "the margins has no column", [["sex"]], {"epsilon": 1, "hierarchies": {"town": sf.flat()}}),
        (PolicyError, "too many cells", [["who", "age"]], {"epsilon": 1, "bins": 2**11, "bounds": WIDE}),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(error: Any, match: str, margins: Any, more: dict[str, Any]) -> None:
    with pytest.raises(error, match=match):
        sf.dp.release_marginals(table_of(12, 20), margins, **(PUBLIC | more))


def test_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table_of(13, 200).write_csv("data.csv")
    Path("towns.csv").write_text("".join(f"{','.join(row)}\n" for row in towns()))
    asked = [
        "dp", "marginals", "data.csv", "--margin", "ill", "--margin", "age,town", "--bounds", "age=0:100", "--keys",
        "town=a,b,c", "--keys", "ill=y,n", "--bins", "age=0,18,65,100", "--hierarchy", "town=towns.csv", "--epsilon",
        "0.6", "--ledger", "l.sqlite", "--budget", "1",
    ]  # fmt: skip
    assert main([*asked, "-o", "out"]) == 0
    assert capsys.readouterr().out.startswith("out: 3 tables, epsilon 0.6\n  ill: 2 cells\n")
    assert main(["verify", "out"]) == 0
    assert "checked: All tables have the same total." in capsys.readouterr().out
    assert main(["report", "out", "-o", "r.html"]) == 2
    assert "tables of counts, not rows" in capsys.readouterr().err
    assert main([*asked, "-o", "other"]) == 2  # of a spent budget
    assert "nothing was charged" in capsys.readouterr().err
    assert not Path("other").exists()


@pytest.mark.parametrize("epsilon", ["0.000000000001", "0.00001", "20"])
def test_tables_agree_whatever_the_noise(epsilon: str, tmp_path: Path) -> None:
    found = sf.dp.release_marginals(
        table_of(15, 300), MARGINS, epsilon, hierarchies={"town": sf.wide(towns())}, **PUBLIC
    )
    found.save(tmp_path / "out")  # which verifies


def test_every_pair_of_margins_can_be_asked_for() -> None:
    names = ["sex", "town", "ill", "age"]
    found = sf.dp.release_marginals(
        table_of(14, 500), [list(pair) for pair in combinations(names, 2)], 2, 1e-6, **PUBLIC
    )
    totals = {frame["count"].sum() for frame in found.tables.values()}
    assert len(totals) == 1
