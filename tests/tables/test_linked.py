"""Linked tables: the counties and size classes of the specification, protected one after the other and together."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.cells.linked import LinkedTable, link_tables, linked_cells
from sfumato.criteria.cells.published import PublishedCells
from sfumato.errors import HierarchyError, PolicyError, SfumatoError
from sfumato.tables.linked import joint_table
from tests.fuzz import FUZZ

REGIONS = {"A": 11, "B": 7, "I": 3, "J": 9, "K": 4}
COUNTY = sf.wide([("A", "c1", "*"), ("I", "c1", "*"), ("B", "c4", "*"), ("J", "c10", "*"), ("K", "c10", "*")])
SIZE = sf.wide([("A", "big", "*"), ("B", "big", "*"), ("I", "small", "*"), ("J", "small", "*"), ("K", "small", "*")])
PEOPLE = {"region": [region for region, size in REGIONS.items() for _ in range(size)]}
RULE = sf.MinimumFrequency(5)


def counted(tree: Any, **asked: Any) -> Any:
    return sf.tabulate(PEOPLE, by=["region"], hierarchies={"region": tree}, levels={"region": 1}, **asked)


@pytest.fixture(scope="module")
def county() -> Any:
    return counted(COUNTY)


@pytest.fixture(scope="module")
def size() -> Any:
    return counted(SIZE)


@pytest.fixture(scope="module")
def both(county: Any, size: Any) -> Any:
    return sf.TableSet({"county": county, "size": size})


@pytest.fixture(scope="module")
def safe(both: Any) -> Any:
    return sf.protect(both, rules=RULE)


def test_levels_say_what_is_published(county: Any) -> None:
    assert county.data["region"].to_list() == ["*", "c1", "c4", "c10"]
    assert county.value.tolist() == [34, 14, 7, 13]
    assert county.finer.value.size == 9
    deep = sf.wide([("Rome", "Lazio", "Italy", "*"), ("Oslo", "Oslo", "Norway", "*")])
    rows = {"town": ["Rome", "Oslo"]}
    for level, labels in enumerate((
        ["*", "Italy", "Lazio", "Rome", "Norway", "Oslo"], ["*", "Italy", "Lazio", "Norway", "Oslo"],
        ["*", "Italy", "Norway"], ["*"],
    )):  # fmt: skip
        found = sf.tabulate(rows, by=["town"], hierarchies={"town": deep}, levels={"town": level})
        assert found.data["town"].to_list() == labels
    for levels, words in (({"town": 4}, "the level"), ({"twn": 1}, "twn"), ({"town": -1}, "the level")):
        with pytest.raises(SfumatoError, match=words):
            sf.tabulate(rows, by=["town"], hierarchies={"town": deep}, levels=levels)


def test_values_that_only_the_data_tell_do_not_leave(tmp_path: Path) -> None:
    rows = {"age": [20] * 6 + [101] + [33] * 8 + [62] * 7, "sex": ["f", "m"] * 11}
    asked: dict[str, Any] = {"hierarchies": {"age": "intervals:20,60"}, "levels": {"age": 1}}
    one = sf.tabulate(rows, by=["age"], **asked)
    other = sf.tabulate(rows, by=["age", "sex"], **asked)
    made = sf.protect(sf.TableSet([one, other]), rules=sf.MinimumFrequency(3))
    assert made.audit().exposed == 0
    alone = sf.protect(one, rules=sf.MinimumFrequency(3))
    for release, name in ((made, "set"), (alone, "alone")):
        folder = release.save(tmp_path / name)
        assert sf.verify(folder).outcome == "stated"
        assert not any("101" in path.read_text("utf-8") for path in folder.iterdir())
    wide = sf.tabulate(rows, by=["age"], hierarchies={"age": "intervals:30"}, levels={"age": 1})
    with pytest.raises(HierarchyError, match="do not leave with a table"):
        sf.protect(sf.TableSet([one, wide]), rules=sf.MinimumFrequency(3))


def test_cells_of_the_same_regions_are_one_cell(both: Any) -> None:
    joint = joint_table(both)
    cells = {
        (name, label): int(cell[i])
        for name, (one, cell) in zip(joint.names, joint.members, strict=True)
        for i, label in enumerate(one.dimensions[0].labels)
    }
    assert cells["county", "*"] == cells["size", "*"]
    assert len({*cells.values()}) == 6  # the total, three counties, two classes
    made_of = {label for grid in joint.grids for label in grid.dimensions[0].labels}
    assert made_of == {"*", "c1", "c4", "c10", "big", "small", "A", "I", "B", "J + K"}
    assert joint.value.size == 8  # J + K is county 10, B is county 4: the same cells
    assert sorted(joint.value[joint.unseen].tolist()) == [3, 11]


def test_one_after_the_other_with_common_cells_carried_over_is_unsafe(
    county: Any, size: Any, both: Any, tmp_path: Path
) -> None:
    alone = [sf.protect(one, rules=RULE) for one in (county, size)]
    for one in alone:  # nothing is unsafe in either: the total, which both have, is published in both
        assert one.audit().exposed == 0
        assert set(one.data["status"]) == {"published"}
    value = {one["region"]: one["value"] for table in alone for one in table.data.to_dicts()}
    assert value["c1"] - (value["big"] - value["c4"]) == REGIONS["I"] == 3  # fewer than five
    joint = joint_table(both)
    links = link_tables([LinkedTable.of(*own) for own in linked(county, size)])
    cells = [
        PublishedCells.of(frame, table.published())
        for table, (_, frame, *_) in zip(links.tables, linked(county, size), strict=True)
    ]
    everything = linked_cells(links, cells, whole=True)
    from sfumato.criteria.sets.linked_hidden_cells import few_in_differences

    assert len(few_in_differences(everything, 5)) == 1
    assert joint.unseen.sum() == 2
    folders = [one.save(tmp_path / str(i)) for i, one in enumerate(alone)]
    found = sf.audit_table(folders)
    assert found.exposed == 1
    assert found.intervals.select("region", "low", "high").rows() == [("I", 3, 3)]


def linked(*tables: Any) -> list[tuple[str, pl.DataFrame, list[str], dict[str, Any]]]:
    """Tables as they would be published without protection."""
    found = []
    for i, one in enumerate(tables):
        full = one.finer.dimensions[0]
        edges = {label: full.labels[p] for label, p in zip(full.labels[1:], full.parent[1:], strict=True)}
        found.append((f"t{i}", one.data.select("region", "value"), ["region"], {"region": edges}))
    return found


def test_a_set_is_safe_and_its_folder_proves_it(safe: Any, tmp_path: Path) -> None:
    assert safe.audit().exposed == 0
    assert list(safe.data) == ["county", "size"]
    found = {row["region"]: row for one in safe.data.values() for row in one.to_dicts()}
    assert found["c4"]["value"] is None or found["c1"]["value"] is None or found["big"]["value"] is None
    region = safe.audit().intervals.filter(pl.col("region") == "I").to_dicts()
    assert region[0]["high"] - region[0]["low"] >= 2
    folder = safe.save(tmp_path / "out")
    names = ["county.csv", "county.sdmx.csv", "manifest.json", "report.html", "size.csv", "size.sdmx.csv"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert sf.verify(folder).outcome == "stated"
    assert sf.audit_table(folder).exposed == 0
    for one in ("county", "size"):
        hidden = {row["region"] for row in safe.data[one].to_dicts() if row["value"] is None}
        lines = (folder / f"{one}.sdmx.csv").read_text("utf-8").splitlines()[1:]
        assert {line.split(",")[1] for line in lines if ",M,C" in line} == hidden
        report = (folder / "report.html").read_text("utf-8")
        assert "primary" not in report
        assert "<bdi>3</bdi>" not in report


def test_a_hole_between_tables_breaks_the_folder(safe: Any, tmp_path: Path) -> None:
    from sfumato.engines.files.bytes import sha256

    folder = safe.save(tmp_path / "out")
    true = {row["region"]: row["value"] for one in safe.source.members for row in one[0].data.to_dicts()}
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    for number, name in enumerate(("county", "size")):
        lines = (folder / f"{name}.csv").read_text("utf-8").splitlines()
        full = [
            f"{line.split(',')[0]},{true[line.split(',')[0]]},published" if ",hidden" in line else line
            for line in lines
        ]
        (folder / f"{name}.csv").write_text("\n".join(full) + "\n", "utf-8")
        manifest["files"][number]["sha256"] = sha256(folder / f"{name}.csv")
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    notes = {p.model: p.note for p in sf.verify(folder).promises if not p.holds}
    assert "1 difference of fewer than 5 people" in notes["linked-hidden-cells"]


def test_files_that_changed_places_break_the_folder(safe: Any, tmp_path: Path) -> None:
    folder = safe.save(tmp_path / "out")
    one, other = (folder / f"{name}.csv" for name in ("county", "size"))
    text = one.read_text()
    one.write_text(other.read_text())
    other.write_text(text)
    assert sf.verify(folder).outcome == "broken"


def test_both_folders_tell_no_less_than_one(county: Any, tmp_path: Path) -> None:
    rows = {"region": PEOPLE["region"], "sex": ["f", "f", "m"] * 20}
    rows["sex"] = rows["sex"][: len(rows["region"])]
    first = sf.protect(sf.tabulate(rows, by=["region", "sex"]), rules=RULE).save(tmp_path / "first")
    second = sf.protect(county, rules=RULE).save(tmp_path / "second")
    alone, both = (sf.audit_table(one).intervals for one in (first, [first, second]))
    beside = both.filter(table="1: cells").join(alone, on=["region", "sex"], suffix="_alone")
    assert beside.height == alone.height > 0
    assert (beside["low"] >= beside["low_alone"]).all()  # a hidden count is no empty one in either
    assert (beside["high"] <= beside["high_alone"]).all()


def test_the_next_table_is_made_consistent_with_the_one_before(county: Any, size: Any, tmp_path: Path) -> None:
    first = sf.protect(county, rules=RULE).save(tmp_path / "first")
    made = sf.protect(size, rules=RULE, beside=first)
    assert made.audit().exposed == 0
    assert made.data.columns == ["region", "value", "status"]
    assert made.data["value"].null_count() == 2  # big and small, or region I is their difference
    second = made.save(tmp_path / "second")
    assert sf.verify(second).outcome == "stated"
    assert sf.audit_table([first, second]).exposed == 0
    link = json.loads((second / "manifest.json").read_text("utf-8"))["links"]
    assert [one["kind"] for one in link] == ["earlier release"]
    with pytest.raises(PolicyError, match="itself made beside another"):
        sf.protect(counted(SIZE), rules=RULE, beside=second)
    assert sf.protect(counted(SIZE), rules=RULE, beside=[first, second]).data.equals(made.data)


WARDS = {"ward": list("AAAAABBBBBCCCCC" * 3), "ill": (["flu"] * 14 + ["HIV"]) * 3, "sex": ["f", "m", "f", "m", "m"] * 9}


def test_what_was_hidden_before_stays_hidden(tmp_path: Path) -> None:
    rng = random.Random(8)
    rows = {
        "a": [rng.choice("uvwx") for _ in range(120)], "b": [rng.choice("pqrst") for _ in range(120)],
        "c": [rng.choice("klm") for _ in range(120)],
    }  # fmt: skip
    rule = sf.MinimumFrequency(6)
    one = sf.protect(sf.tabulate(rows, by=["a", "b"]), rules=rule)
    folder = one.save(tmp_path / "one")
    other = sf.protect(sf.tabulate(rows, by=["b", "c"]), rules=rule, beside=folder)
    assert other.audit().exposed == 0
    saved = other.save(tmp_path / "two")
    assert sf.audit_table([folder, saved]).exposed == 0
    first = {(row[1],): row[2] for row in one.data.rows() if row[0] == "*"}
    second = {(row[0],): row[2] for row in other.data.rows() if row[1] == "*"}
    assert first == second  # the same cells have the same status


def test_earlier_tables_that_cannot_be_linked_are_refused(county: Any, size: Any, tmp_path: Path) -> None:
    folder = sf.protect(county, rules=RULE).save(tmp_path / "first")
    (tmp_path / "plain.csv").write_text("region,value\n*,3\nA,3\n", "utf-8")
    rounded = sf.protect(county, rules=RULE, method="deterministic-rounding").save(tmp_path / "round")
    rows = sf.anonymize({"age": [1, 1, 2, 2]}, quasi=["age"], require=sf.KAnonymity(2)).save(tmp_path / "rows")
    for beside, words in (
        (tmp_path / "plain.csv", "an earlier table is not protected"), (rounded, "hides no cell"),
        (county, "the folder of a release"),
        (rows, "no statistical table"), (tmp_path / "nowhere", "not protected"),
    ):  # fmt: skip
        with pytest.raises(PolicyError, match=words):
            sf.protect(size, rules=RULE, beside=beside)
    with pytest.raises(PolicyError, match="published in an earlier release"):
        sf.protect(county, rules=sf.MinimumFrequency(8), beside=folder)
    other = {"region": [*PEOPLE["region"], "A"]}
    more = sf.tabulate(other, by=["region"], hierarchies={"region": SIZE}, levels={"region": 1})
    with pytest.raises(PolicyError, match="another value in each"):
        sf.protect(more, rules=RULE, beside=folder)
    text = (folder / "cells.csv").read_text("utf-8")
    (folder / "cells.csv").write_text(text.replace("c4,7", "c4,8"), "utf-8")
    with pytest.raises(PolicyError, match="was changed"):
        sf.protect(size, rules=RULE, beside=folder)


def test_what_is_no_set_is_said(county: Any) -> None:
    sums = sf.tabulate(PEOPLE | {"pay": [1] * 34}, by=["region"], value="pay")
    towns = sf.tabulate({"region": ["A", "Z"]}, by=["region"])
    for tables, words in (
        ([], "a set has tables"), ([county, 3], "a set has tables"), ({"a/b": county}, "a name that a file can have"),
        ([county, sums], "count, or add up, the same"),
    ):  # fmt: skip
        with pytest.raises(PolicyError, match=words):
            sf.TableSet(tables)
    with pytest.raises(HierarchyError, match='"region" has other values'):
        sf.protect(sf.TableSet([county, towns]), rules=RULE)
    twice = {"region": PEOPLE["region"] * 2}
    more = sf.tabulate(twice, by=["region"], hierarchies={"region": SIZE}, levels={"region": 1})
    with pytest.raises(PolicyError, match="another value in each"):
        sf.protect(sf.TableSet([county, more]), rules=RULE)
    for method in ("network-flow", "cell-key", "controlled-rounding"):
        with pytest.raises(PolicyError, match="protects one table by itself"):
            sf.protect(sf.TableSet([county]), rules=RULE, method=method)


def enumerated(tables: list[Any], made: Any, rows: int) -> dict[tuple[str, ...], set[int]]:
    """The values that each hidden cell has over all people by column that give what is published: by counting them all.

    Cells are named by table and labels.
    """
    columns = [*dict.fromkeys(name for one in tables for name in one.by)]
    leaves = {name: [t for one in tables if name in one.by for t in one.dimensions[one.by.index(name)].labels[1:]]
              for name in columns}  # fmt: skip
    base = [*itertools.product(*({*leaves[name]} for name in columns))]
    shown = {}
    for name, one in zip(made.source.names, tables, strict=True):
        for row in made.data[name].rows():
            shown[(name, *row[: len(one.by)])] = row[len(one.by)]
    held = {
        cell: [
            i for i, person in enumerate(base)
            if all(label in ("*", person[columns.index(c)]) for c, label in zip(one.by, cell[1:], strict=True))
        ]
        for name, one in zip(made.source.names, tables, strict=True) for cell in shown if cell[0] == name
    }  # fmt: skip
    found: dict[tuple[str, ...], set[int]] = {cell: set() for cell, value in shown.items() if value is None}
    least = made.known.least

    def fill(at: int, left: int, counts: list[int]) -> None:
        if at == len(base) - 1:
            every = [*counts, left]
            sums = {cell: sum(every[i] for i in parts) for cell, parts in held.items()}
            if all(sums[c] == v if v is not None else sums[c] >= least for c, v in shown.items()):
                for cell, values in found.items():
                    values.add(sums[cell])
            return
        for one in range(left + 1):
            fill(at + 1, left - one, [*counts, one])

    fill(0, rows, [])
    return found


@pytest.mark.parametrize("seed", range(6 * FUZZ))
def test_the_audit_of_a_set_is_all_people_that_fit(seed: int) -> None:
    rng = random.Random(seed)
    names = [["a", "b"], ["b", "c"], ["a", "c"]]
    by = names[: 2 + seed % 2]
    rows = {name: [rng.choice("xy") for _ in range(7)] for name in "abc"}
    for name in "abc":
        rows[name][:2] = ["x", "y"]
    tables = [sf.tabulate(rows, by=one) for one in by]
    made = sf.protect(sf.TableSet(tables), rules=sf.MinimumFrequency(2), zeros="hide", coalition=0)
    audit = made.audit().intervals
    people = range(7, 8)
    if made.data["table-1"]["value"][0] is None:  # nobody says how many people there are
        ends = audit.row(
            by_predicate=(pl.col("table") == "table-1") & (pl.col("a") == "*") & (pl.col("b") == "*"), named=True
        )
        people = range(int(ends["high"]) + 2)
    every = [enumerated(tables, made, number) for number in people]
    found = {cell: set[int]().union(*(one[cell] for one in every)) for cell in every[0]}
    for row in audit.to_dicts():
        cell = (row["table"], *(row[c] for c in tables[made.source.names.index(row["table"])].by))
        if row["high"] < np.inf:
            assert (row["low"], row["high"]) == (min(found[cell]), max(found[cell]))


@pytest.mark.parametrize("method", ["exact", "modular", "hypercube"])
@pytest.mark.parametrize("seed", range(2 * FUZZ))
def test_random_sets_are_safe_by_every_method(method: str, seed: int) -> None:
    rng = random.Random(seed)
    towns = [f"t{i}" for i in range(8)]
    trees = [sf.wide([(town, f"{kind}{rng.randrange(3)}", "*") for town in towns]) for kind in "rs"]
    rows = {
        "town": [*towns, *(rng.choice(towns) for _ in range(120))], "sex": [rng.choice("fm") for _ in range(128)],
        "age": [rng.choice("ymo") for _ in range(128)],
    }  # fmt: skip
    asked = [
        {"by": ["town", "sex"], "hierarchies": {"town": trees[0]}, "levels": {"town": 1}},
        {"by": ["town"], "hierarchies": {"town": trees[1]}, "levels": {"town": 1}},
        {"by": ["sex", "age"]},
    ]
    tables = sf.TableSet([sf.tabulate(rows, **one) for one in asked])
    try:
        made = sf.protect(tables, rules=sf.MinimumFrequency(4), method=method)
    except sf.errors.Infeasible:
        return
    assert made.audit().exposed == 0
    assert made.verification.outcome == "stated"
