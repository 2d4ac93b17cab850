"""mine and `sfumato mine`: what leaves, verify from the files, rules that are hidden, tables, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import ColumnError, EmptyTable, Infeasible, PolicyError, SfumatoError
from tests.mining.conftest import WORKED, Basket, support

LISTS = {"bought": [list(basket) for basket in WORKED]}
ROWS = pl.DataFrame(
    {
        "customer": [f"Ann {i}" for i, basket in enumerate(WORKED) for _ in basket],
        "product": [item for basket in WORKED for item in basket],
    }
)
ASKED: dict[str, Any] = {"basket": "customer", "item": "product", "k": 2, "support": 4}


def people(rows: int = 400, seed: int = 0) -> pl.DataFrame:
    """A table of a few columns, one value of which is rare."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({
        "sex": rng.choice(["F", "M"], rows),
        "town": rng.choice(["x", "y", "z"], rows, p=[0.6, 0.385, 0.015]),
        "ill": rng.choice(["flu", "cold", None], rows),
    })  # fmt: skip


def supports_of(release: Any) -> dict[Basket, int]:
    frame = release.tables["itemsets"]
    return {frozenset(item for item in row[:-1] if item is not None): row[-1] for row in frame.iter_rows()}


def test_what_leaves(tmp_path: Path) -> None:
    release = sf.mine(ROWS, **ASKED)
    assert supports_of(release)[frozenset("BC")] == 6
    assert supports_of(release)[frozenset()] == 14
    assert (release.solution.channels, release.solution.added, release.solution.taken) == (1, 1, 0)
    assert release.solution.accuracy == 1
    folder = release.save(tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == [
        "itemsets.csv",
        "manifest.json",
        "report.html",
        "rules.csv",
    ]
    told = "".join(path.read_text("utf-8") for path in folder.iterdir())
    assert "Ann" not in told
    assert "channels" not in json.loads((folder / "manifest.json").read_text("utf-8"))["method"]
    assert json.loads((folder / "manifest.json").read_text("utf-8"))["input"]["rows"] is None
    found = sf.verify(folder)
    assert (found.outcome, found.promises[1].measured) == ("holds", 2)
    again = sf.mine(ROWS.sample(fraction=1, shuffle=True, seed=3), **ASKED).save(tmp_path / "again")
    for name in ("itemsets.csv", "rules.csv"):
        assert (folder / name).read_bytes() == (again / name).read_bytes()


def test_rules_are_those_of_the_published_supports() -> None:
    release = sf.mine(LISTS, item="bought", k=2, support=2, confidence=0.6)
    own, every = supports_of(release), supports_of(release)[frozenset()]
    told = set()
    for *left, then, often, confidence, lift in release.tables["rules"].iter_rows():
        first = frozenset(item for item in left if item is not None)
        told.add((first, then))
        assert often == own[first | {then}]
        assert confidence == pytest.approx(often / own[first], abs=1e-4)
        assert lift == pytest.approx(often * every / own[first] / own[frozenset([then])], abs=1e-4)
    good = {(one - {x}, x) for one in own for x in one if len(one) > 1 and own[one] >= 0.6 * own[one - {x}]}
    assert told == good


@pytest.mark.parametrize("block", ["additive", "suppressive"])
def test_named_rules_are_hidden(block: str) -> None:
    rng = np.random.default_rng(1)
    bought = [["bread"] + ["milk"] * (rng.random() < 0.7) + ["tea"] * (rng.random() < 0.4) for _ in range(200)]
    asked: dict[str, Any] = {"item": "item", "k": 3, "support": 20, "confidence": 0.6, "block": block}
    plain = sf.mine({"item": bought}, **asked)
    assert ("bread", "milk") in plain.tables["rules"].select("if 1", "then").rows()
    hidden = sf.mine({"item": bought}, **asked, hide=["bread -> milk"])
    left = hidden.tables["rules"].filter(then="milk", **{"if 1": "bread"})
    assert left["if 2"].null_count() == 0  # of bread and tea it may still follow, unless that is hidden too
    own = supports_of(hidden)
    assert own[frozenset(["bread", "milk"])] < 0.6 * own[frozenset(["bread"])]
    before = sum("milk" in basket for basket in bought)
    least = before - int(np.ceil(0.6 * 200)) + 1  # as few baskets as make it no rule
    assert hidden.solution.taken == least
    assert "milk" not in json.dumps(hidden.manifest)
    both = sf.mine({"item": bought}, **asked, hide=["bread -> milk", "tea, bread -> milk"])
    assert "milk" not in both.tables["rules"]["then"].to_list()


@pytest.mark.parametrize("seed", range(3))
def test_a_table_is_mined_by_its_values(seed: int, tmp_path: Path) -> None:
    table = people(seed=seed)
    release = sf.mine(table, k=5, support=12)
    rows = [
        frozenset(f"{name}={value}" for name, value in row.items() if value is not None) for row in table.to_dicts()
    ]
    own = supports_of(release)
    assert all(often <= support(rows, one) for one, often in own.items())
    assert own[frozenset()] == table.height
    # nobody can be found by the values that they do not have
    for first in own:
        for column in table.columns:
            after = [often for one, often in own.items() if one > first and len(one) == len(first) + 1
                     and next(iter(one - first)).startswith(f"{column}=")]  # fmt: skip
            if after and not any(item.startswith(f"{column}=") for item in first):
                left = own[first] - sum(after)
                assert left == 0 or left >= 5
    assert sf.verify(release.save(tmp_path / "out")).outcome == "holds"
    with pytest.raises(PolicyError, match="additive"):
        sf.mine(table, k=5, support=12, block="additive")


def test_both_ways() -> None:
    table = people().with_columns(age=pl.Series(np.random.default_rng(2).integers(4, 12, 400) * 5))
    release = sf.mine(table, k=5, support=12, compare=True)
    first, other = release.compared.values()
    assert first["accuracy"] == release.solution.accuracy > other["accuracy"]
    assert first["support_error"] < other["support_error"]
    baskets = sf.mine(LISTS, item="bought", k=2, support=2, compare=True)
    assert {*baskets.compared} == {"mine and anonymise", "anonymise and mine"}


def rewritten(folder: Path, name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Any:
    """Change a table of a release, and the manifest so that it fits, and verify."""
    from sfumato.engines.files.bytes import sha256, write_table
    from sfumato.release.release_set import in_order

    frame = in_order(change(pl.read_csv(folder / f"{name}.csv")))
    write_table(frame, folder / f"{name}.csv", "csv")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    for place, table in enumerate(manifest["tables"]):
        if table["name"] == name:
            manifest["files"][place]["sha256"] = sha256(folder / f"{name}.csv")
            table["rows"] = frame.height
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return sf.verify(folder)


def one_more(items: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """One support too many."""
    own = pl.concat_str("item 1", "item 2", "item 3", ignore_nulls=True) == items
    return lambda table: table.with_columns(support=pl.col("support") + own.fill_null(False).cast(pl.Int64))


@pytest.mark.parametrize("items", ["", "A", "BC", "ABC"])
def test_one_support_too_many_is_found(items: str, tmp_path: Path) -> None:
    folder = sf.mine(ROWS, **ASKED).save(tmp_path / "out")
    assert rewritten(folder, "itemsets", lambda table: table).outcome == "holds"
    found = rewritten(folder, "itemsets", one_more(items))
    assert found.outcome == "broken"
    assert found.promises[0].holds  # integrity: whoever changed it changed the manifest, too
    assert not found.promises[1].holds


def test_rules_that_tell_of_other_supports_are_found(tmp_path: Path) -> None:
    folder = sf.mine(ROWS, **ASKED).save(tmp_path / "out")
    found = rewritten(folder, "rules", lambda table: table.with_columns(confidence=pl.col("confidence") - 0.01))
    assert "figures of a rule" in str(found.promises[1].note)


@pytest.mark.parametrize(
    ("data", "asked", "error", "what"),
    [
        ({"item": []}, {"item": "item", "basket": "item2"}, SfumatoError, ""),
        ({"item": [[], []]}, {"item": "item"}, EmptyTable, "no basket has an item"),
        ({"item": [["a"], ["a"]]}, {"item": "item", "k": 3, "support": 3}, Infeasible, "k = 3 needs as many people"),
        (LISTS, {"item": "bought", "k": 5, "support": 4}, PolicyError, "support is below k"),
        (LISTS, {"item": "bought", "support": 100}, Infeasible, "no item is in 100 baskets"),
        (LISTS, {"item": "bought", "support": None}, PolicyError, "support is missing"),
        (LISTS, {"item": "sold"}, SfumatoError, ""),
        (LISTS, {"item": "bought", "hide": ["A -> X"]}, PolicyError, "an item that does not occur"),
        (LISTS, {"item": "bought", "hide": ["A, X"]}, PolicyError, "no rule"),
        (LISTS, {"item": "bought", "l": 2}, PolicyError, "leaves of a tree"),
        (LISTS, {"item": "bought", "block": "both"}, PolicyError, "unknown block"),
        (LISTS, {"item": "bought", "features": ["bought"]}, PolicyError, "no columns to learn from"),
        ({"who": [1, 1, 2], "item": ["a", None, "b"]}, {"item": "item", "basket": "who"}, ColumnError, "have no item"),
        ({"a=b": [1, 2]}, {}, ColumnError, '"="'),
        (people(), {"features": ["job"]}, ColumnError, "job"),
        (people(), {"basket": "sex"}, PolicyError, "need a column of items"),
        (people(), {"miner": "wishes"}, PolicyError, "unknown miner"),
        (people(), {"k": 0}, PolicyError, "k is out of range"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(data: Any, asked: dict[str, Any], error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what) as found:
        sf.mine(data, **({"k": 2, "support": 4} | asked))
    assert "Ann" not in str(found.value)


def test_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ROWS.write_csv(tmp_path / "sales.csv")
    own = ["--basket", "customer", "--item", "product", "--k", "2", "--support", "4"]
    out = str(tmp_path / "out")
    assert main(["mine", str(tmp_path / "sales.csv"), *own, "--compare", "-o", out]) == 0
    said = capsys.readouterr().out
    assert "1 inference channel blocked: 1 basket added" in said
    assert "anonymise and mine" in said
    assert main(["verify", out]) == 0
    capsys.readouterr()
    policy = tmp_path / "policy.toml"
    policy.write_text('[input]\npath = "sales.csv"\n[mine]\nbasket = "customer"\nitem = "product"\nk = 2\nsupport = 4\n'
                      '[output]\npath = "again"\n', "utf-8")  # fmt: skip
    assert main(["mine", str(policy), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cost"]["channels"] == 1
    assert (tmp_path / "again" / "itemsets.csv").read_bytes() == (tmp_path / "out" / "itemsets.csv").read_bytes()
    assert main(["mine", str(tmp_path / "sales.csv"), "--item", "product", "--json", "-o", out]) == 2
    policy.write_text('[input]\npath = "sales.csv"\n[mine]\nsuport = 4\n', "utf-8")
    assert main(["mine", str(policy)]) == 2
    assert "k is missing" in capsys.readouterr().err


def test_numbers_of_a_file_are_numbers(tmp_path: Path) -> None:
    """A file has texts alone: a tree of it must part ages by their order, as of the frame."""
    rng = np.random.default_rng(1)
    ages = rng.integers(18, 80, 200)
    table = pl.DataFrame({"age": ages, "sex": rng.choice(["F", "M"], 200), "zip": rng.integers(10000, 10009, 200),
                          "ill": np.where(ages > 50, "flu", "cold")})  # fmt: skip
    table.write_csv(tmp_path / "ill.csv")
    for more in ([], ["--miner", "pooled-naive-bayes"]):
        own = [str(tmp_path / "ill.csv"), "--features", "age,sex", "--target", "ill", "--k", "5", *more]
        assert main(["mine", *own, "-o", str(tmp_path / "out"), "--overwrite"]) == 0
        miner = more[-1] if more else None
        plain = sf.mine(table, features=["age", "sex"], target="ill", k=5, miner=miner)
        name = "counts" if more else "rules"
        assert pl.read_csv(tmp_path / "out" / f"{name}.csv").to_dicts() == plain.tables[name].to_dicts()
    assert "age <= 50" in sf.mine(str(tmp_path / "ill.csv"), target="ill", k=5).tables["rules"]["if 1"].to_list()
