"""anonymize_baskets and `sfumato baskets`: kinds of input, what leaves, verify from the files, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import ColumnError, EmptyTable, HierarchyError, Infeasible, PolicyError, SfumatoError
from tests.relational.conftest import WORKED, supports

LISTS = {"bought": [sorted(basket) for basket in WORKED]}
ROWS = pl.DataFrame(
    {
        "customer": [f"Ann {i}" for i, basket in enumerate(WORKED) for _ in basket],
        "product": [item for basket in WORKED for item in sorted(basket)],
        "price": range(sum(map(len, WORKED))),
    }
)
EDGES = sf.tree([("a", "AB"), ("b", "AB"), ("c", "C"), ("d", "C"), ("AB", "*"), ("C", "*")])
ASKED: dict[str, Any] = {"basket": "customer", "item": "product", "k": 2, "m": 2, "hierarchy": EDGES}
LEFT = [
    (1, "C"), (1, "a"), (2, "C"), (2, "a"), (3, "C"), (3, "a"), (3, "b"), (4, "C"), (4, "a"), (4, "b"),
    (5, "C"), (5, "b"), (6, "a"), (6, "b"),
]  # fmt: skip


def pairs(release: Any, item: str) -> list[tuple[int, str]]:
    frame = release.parts[0].frame
    return list(zip(frame[frame.columns[0]].to_list(), frame[item].to_list(), strict=True))


def test_what_leaves(tmp_path: Path) -> None:
    """Two items that become one group in a basket are there once; ids, prices and the order of the input are gone."""
    release = sf.anonymize_baskets(ROWS, **ASKED)
    assert pairs(release, "product") == LEFT
    assert release.data.columns == ["customer", "product"]
    folder = release.save(tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == ["baskets.csv", "manifest.json", "report.html"]
    text = "".join(path.read_text("utf-8") for path in folder.iterdir())
    assert "Ann" not in text
    assert "price" not in text
    found = sf.verify(folder)
    assert found.outcome == "holds"
    assert found.promises[1].measured == 3
    shuffled = sf.anonymize_baskets(ROWS.sample(fraction=1, shuffle=True, seed=3), **ASKED)
    again = shuffled.save(tmp_path / "again")
    assert (folder / "baskets.csv").read_bytes() == (again / "baskets.csv").read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        LISTS,
        pl.DataFrame(LISTS),
        pl.DataFrame(LISTS).lazy(),
        pd.DataFrame(LISTS),
        pa.table(LISTS),
        {"bought": [{*basket} for basket in WORKED] + [set(), None]},
        {"bought": [(*basket, *basket) for basket in WORKED]},
    ],
    ids=["dict", "polars", "lazy", "pandas", "arrow", "sets", "twice"],
)
def test_lists_of_items(data: Any) -> None:
    release = sf.anonymize_baskets(data, item="bought", k=2, m=2, hierarchy=EDGES)
    assert pairs(release, "bought") == LEFT
    kinds = {dict: dict, pd.DataFrame: pd.DataFrame, pa.Table: pa.Table}
    assert type(release.data) is kinds.get(type(data), pl.DataFrame)


def test_lists_of_one_person_are_one_basket() -> None:
    two = {"who": ["x", "x", "y"], "bought": [["a"], ["b"], ["a", "b"]]}
    release = sf.anonymize_baskets(two, basket="who", item="bought", k=2, m=2)
    assert pairs(release, "bought") == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "xlsx"])
def test_every_format_is_verified(format: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    drawn = pl.DataFrame({"who": rng.integers(0, 60, 400), "what": rng.integers(0, 9, 400)})
    release = sf.anonymize_baskets(drawn, basket="who", item="what", k=3, m=2, hierarchy=sf.intervals(3))
    folder = release.save(tmp_path / "out", format)
    assert sf.verify(folder).outcome == "holds"


def rewritten(folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> sf.measures.Any:
    """Change the table of a release, and the manifest so that it fits, and verify."""
    from sfumato.engines.files.bytes import sha256, write_table
    from sfumato.release.release_set import in_order

    frame = in_order(change(pl.read_csv(folder / "baskets.csv", schema_overrides={"product": pl.String})))
    write_table(frame, folder / "baskets.csv", "csv")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"][0]["sha256"] = sha256(folder / "baskets.csv")
    manifest["tables"][0]["rows"] = frame.height
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return sf.verify(folder)


FAULTS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "a basket dropped": lambda table: table.filter(pl.col("customer") != 4),
    "an item as it was": lambda table: table.with_columns(
        pl.when(customer=1, product="C").then(pl.lit("d")).otherwise("product").alias("product")
    ),
    "numbered otherwise": lambda table: table.with_columns(customer=7 - pl.col("customer")),
    "its own numbers": lambda table: table.with_columns(customer=pl.col("customer") * 10),
    "a number that is none": lambda table: table.with_columns(customer=pl.format("Ann {}", "customer")),
    "an item missing": lambda table: pl.concat([table, pl.DataFrame({"customer": [6], "product": [None]},
                                                                    schema=table.schema)]),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str, tmp_path: Path) -> None:
    folder = sf.anonymize_baskets(ROWS, **ASKED).save(tmp_path / "out")
    assert rewritten(folder, lambda table: table).outcome == "holds"
    found = rewritten(folder, FAULTS[fault])
    assert found.outcome == "broken"
    assert not found.promises[1].holds
    assert found.promises[0].holds  # integrity: whoever changed it changed the manifest, too


def numbered_anew(table: pl.DataFrame) -> pl.DataFrame:
    """The same baskets, numbered as a release is."""
    baskets = sorted(sorted(group["product"]) for group in table.partition_by("customer"))
    return pl.DataFrame([(i, item) for i, basket in enumerate(baskets, 1) for item in basket],
                        schema=table.columns, orient="row")  # fmt: skip


@pytest.mark.parametrize("fault", ["a basket dropped", "an item as it was"])
def test_faults_are_found_though_numbers_tell_nothing(fault: str, tmp_path: Path) -> None:
    folder = sf.anonymize_baskets(ROWS, **ASKED).save(tmp_path / "out")
    found = rewritten(folder, lambda table: numbered_anew(FAULTS[fault](table)))
    note = {"a basket dropped": "claims 3, the tables say 2", "an item as it was": "are in fewer than 2 baskets"}
    assert found.outcome == "broken"
    assert note[fault] in str(found.promises[1].note)


def test_coherence(tmp_path: Path) -> None:
    release = sf.anonymize_baskets(LISTS, item="bought", h=0.6, k=2, p=2, private=["c"])
    left = [frozenset(group["bought"]) for group in release.parts[0].frame.partition_by("basket")]
    assert {"c"} <= set().union(*left)
    counts = supports([basket - {"c"} for basket in left], 2)
    assert min(counts.values()) >= 2
    for known in counts:
        assert sum("c" in basket for basket in left if {*known} <= basket) <= 0.6 * counts[known]
    assert sf.verify(release.save(tmp_path / "out")).outcome == "holds"
    assert sf.anonymize_baskets(LISTS, item="bought", h=1, k=1, p=2).solution.loss == 0


def test_data_that_are_refused() -> None:
    many = ROWS.with_columns(
        product=pl.when(pl.col("price") < 2).then(None).otherwise("product"),
        nobody=pl.when(pl.col("price") < 3).then(None).otherwise("customer"),
    )
    with pytest.raises(ColumnError, match='2 rows of "product" have no item'):
        sf.anonymize_baskets(many, **ASKED)
    with pytest.raises(ColumnError, match='3 rows of "nobody" name no basket'):
        sf.anonymize_baskets(many, **ASKED | {"basket": "nobody"})
    with pytest.raises(HierarchyError) as error:
        sf.anonymize_baskets(ROWS, **ASKED | {"hierarchy": sf.tree([("a", "*"), ("b", "*")])})
    assert '2 of 4 values of "product" are not covered' in str(error.value)
    with pytest.raises(Infeasible, match="k = 7 needs as many baskets"):
        sf.anonymize_baskets(ROWS, **ASKED | {"k": 7})
    with pytest.raises(EmptyTable):
        sf.anonymize_baskets({"bought": [[], None, []]}, item="bought", k=2, m=2)
    with pytest.raises(ColumnError, match="several items in some rows"):
        sf.anonymize_baskets({"bought": [["a"], "b"]}, item="bought", k=2, m=2)
    with pytest.raises(ColumnError, match='did you mean "product"'):
        sf.anonymize_baskets(ROWS, **ASKED | {"item": "produkt"})
    with pytest.raises(ColumnError, match="of baskets and of items"):
        sf.anonymize_baskets(ROWS, **ASKED | {"basket": "product"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 0}, "k is out of range"),
        ({"m": 0}, "m is out of range"),
        ({"m": 1.5}, "m is out of range"),
        ({"m": None}, "baskets take k and m"),
        ({"private": ["a"]}, "got k, m, private"),
        ({"h": 0.5}, "got h, k, m"),
        ({"m": None, "h": 2, "p": 1}, "h is out of range"),
        ({"m": None, "h": 0.5, "p": 1, "private": ["x", "a"], "hierarchy": None}, "1 of 2 private items"),
        ({"m": None, "h": 0.5, "p": 1}, "leave hierarchy out"),
        ({"search": "mole-suppression"}, "keeps hkp-coherence, and km-anonymity is asked for"),
        ({"search": "aprioro"}, 'did you mean "apriori"'),
        ({"basket": None}, "whose items they are"),
    ],
)
def test_wishes_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as error:
        sf.anonymize_baskets(ROWS, **ASKED | given)
    assert message in str(error.value)


@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx"])
def test_odd_items(format: str, tmp_path: Path) -> None:
    """Formulas, quotes, line breaks and letters of other scripts come back as they left."""
    odd = ["=1+1", "+x", '"', "a,b", "two\nlines", "'", "é", "\U0001f34e", "10", "9", "*", "NaN"]
    bought = {"basket": [odd[i:] for i in range(len(odd))] * 2}
    release = sf.anonymize_baskets(bought, item="basket", k=2, m=3)
    assert set(release.data["basket"]) == set(odd)
    assert list(release.data) == ["number", "basket"]
    assert sf.verify(release.save(tmp_path / "out", format)).outcome == "holds"
    unnamed = sf.Hierarchy("item", (("a", "b"), ("",)), np.array([[0, 1], [0, 0]], np.int32))
    with pytest.raises(HierarchyError, match="is empty"):
        sf.anonymize_baskets({"item": [["a", "b"]]}, item="item", k=1, m=1, hierarchy=unnamed)


def test_a_large_m_is_fine() -> None:
    release = sf.anonymize_baskets(ROWS, **ASKED | {"m": 40})
    assert min(supports([frozenset(g["product"]) for g in release.data.partition_by("customer")], 4).values()) >= 2
    assert release.verification.outcome == "holds"


def test_labels_that_stand_for_two_groups_are_told_apart() -> None:
    """A group is called as an item is: released, they must not be one."""
    wide = sf.wide([("tea", "drink", "*"), ("drink", "drink", "*"), ("ham", "food", "*"), ("egg", "food", "*")])
    bought = {"item": [["tea", "drink"], ["tea"], ["ham"], ["egg"], ["drink"], ["drink", "egg"]]}
    release = sf.anonymize_baskets(bought, item="item", k=2, m=1, hierarchy=wide)
    assert set(release.data["item"]) == {"tea", "drink", "food"}
    rare = sf.anonymize_baskets(bought, item="item", k=3, m=1, hierarchy=wide)
    assert set(rare.data["item"]) == {"drink (2)", "food"}


def test_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("sales.csv")
    Path("items.csv").write_text("a,AB\nb,AB\nc,C\nd,C\nAB,*\nC,*\n", "utf-8")
    line = ["baskets", "sales.csv", "--basket", "customer", "--item", "product", "--k", "2"]
    assert main([*line, "--m", "2", "--hierarchy", "items.csv", "-o", "out"]) == 0
    out = capsys.readouterr().out
    assert "6 baskets released, loss (NCP) 17.9%" in out
    assert "holds  km-anonymity (k=2, m=2)" in out
    assert main(["verify", "out"]) == 0
    assert "every promise holds" in capsys.readouterr().out
    assert main([*line, "--h", "0.6", "--p", "2", "--private", "c", "-o", "coherent", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [promise["model"] for promise in found["promises"]] == ["hkp-coherence"]
    assert main([*line, "--m", "2", "-o", "out"]) == 2
    assert main(line) == 2
    assert "path is missing; name a folder, or give -o" in capsys.readouterr().err
    assert main([*line, "--m", "2", "--search", "optimal-cut max_cuts=1", "-o", "other"]) == 2
    assert not Path("other").exists()


POLICY = """
[input]
path = "sales.csv"
[baskets]
basket = "customer"
item = "product"
k = 2
m = 2
hierarchy = "items.csv"
[output]
path = "out"
"""


def test_policy_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths of the file start at its folder; flags are laid over it; all faults are told at once."""
    ROWS.write_csv(tmp_path / "sales.csv")
    (tmp_path / "items.csv").write_text("a,AB\nb,AB\nc,C\nd,C\nAB,*\nC,*\n", "utf-8")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY, "utf-8")
    assert main(["baskets", str(policy)]) == 0
    assert sf.verify(tmp_path / "out").promises[1].parameters == {"k": 2, "m": 2}
    assert main(["baskets", str(policy), "--k", "3", "-o", str(tmp_path / "other")]) == 0
    assert sf.verify(tmp_path / "other").promises[1].parameters == {"k": 3, "m": 2}
    capsys.readouterr()
    policy.write_text(POLICY.replace("k = 2", "kk = 2\nm = 0\n[roles]\n#").replace('item = "product"\n', ""), "utf-8")
    assert main(["baskets", str(policy)]) == 2
    told = capsys.readouterr().err
    for fault in ('unknown key "kk"', 'unknown table "roles"', "item is missing", "greater than or equal to 1"):
        assert fault in told


def test_messages_hold_no_items(tmp_path: Path) -> None:
    secret = ROWS.with_columns(product=pl.format("Xaverine {}", "product"))
    for given in ({"k": 9}, {"hierarchy": EDGES}, {"m": None, "h": 0.1, "p": 2, "private": ["Xaverine z"]}):
        with pytest.raises(SfumatoError) as error:
            sf.anonymize_baskets(secret, **ASKED | {"hierarchy": None} | given)
        assert "Xaverine" not in str(error.value)
