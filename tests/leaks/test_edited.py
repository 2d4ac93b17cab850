"""Hierarchies that were made from the table and then edited tell no more of suppressed rows than learned ones."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.microdata import microdata
from tests.leaks.releases import published

TOWNS = [town for town in ("ulm", "bonn", "kiel", "jena", "gera", "köln") for _ in range(10)]
ZIPS = [code for code in ("47677", "47678", "4790", "12", "51021", "51022") for _ in range(10)]
AGES = [age for age in (21, 22, 34, 35, 47, 58) for _ in range(10)]
MADE: dict[str, tuple[list[Any], tuple[Any, ...], Any]] = {  # values, those of the suppressed person, the recipe
    "learned": (TOWNS, ("bonnSECRET", "a", "zzz"), sf.learned()),
    "redact": (ZIPS, ("12345678", "123456"), sf.redact("right")),
    "redact left": (ZIPS, ("12345678", "123456"), sf.redact("left", char="#")),
    "intervals": (AGES, (23, 59, 101), sf.intervals(10, 20)),
    "flat": (TOWNS, ("bonnSECRET", "a"), sf.flat()),
}


def table_of(values: list[Any], last: Any) -> pl.DataFrame:
    """One person more, who stands alone by the second column, and is suppressed."""
    return pl.DataFrame({"q": [*values, last], "r": ["u"] * 30 + ["v"] * 30 + ["zz"]})


def edited(table: pl.DataFrame, recipe: Any) -> sf.Hierarchy:
    """The hierarchy of the table with a level more and a group renamed, as the studio edits it."""
    micro = microdata(table, {"q": "quasi", "r": "quasi"}, {"q": recipe}).attribute("q")
    tree = recipe.build(micro.categories)
    changed = sf.hierarchies.insert_level(tree, 1)
    changed = sf.hierarchies.rename_label(changed, changed.height, "*", "any")
    return replace(changed, learned=True)  # its leaves are those of the table


def release(table: pl.DataFrame, hierarchy: Any, level: int, k: int = 5, **more: Any) -> tuple[list[str], str]:
    """The released labels, and what is published beside them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sf.anonymize(
            table, quasi=["q", "r"], require=sf.KAnonymity(k), suppression=1, hierarchies={"q": hierarchy},
            **({"search": "optimal", "levels": {"r": 0, "q": level}} | more),
        )  # fmt: skip
    assert found.solution.verdict.suppressed == 1
    policy = {**found.manifest["policy"], "levels": None}  # of a longer code there are more, which its owner names
    return sorted(found.table["q"].cast(pl.String)), published({**found.manifest, "policy": policy})


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_nothing_published_tells_the_value_of_a_suppressed_row(name: str, tmp_path: Path) -> None:
    values, last, recipe = MADE[name]
    trees = [edited(table_of(values, one), recipe) for one in last]
    for level in range(1, min(tree.height for tree in trees)):
        seen = set()
        for one, tree in zip(last, trees, strict=True):
            table, spare = table_of(values, one), tree.height - min(other.height for other in trees)
            own = release(table, tree, level + spare)  # a longer code has more levels, all of them below
            sf.write_wide(tree, tmp_path / "q.csv")
            assert release(table, {"file": str(tmp_path / "q.csv"), "learned": True}, level + spare)[0] == own[0]
            assert "SECRET" not in "".join(own[0]) + own[1]
            seen.add(json.dumps(own))
        assert len(seen) == 1


def test_labels_of_value_cuts_list_released_values_alone() -> None:
    table = table_of(TOWNS, "bonnSECRET")
    search = sf.Genetic(evaluations=200)
    labels, document = release(table, edited(table, sf.learned()), 0, 15, search=search, levels=None)
    assert "SECRET" not in "".join(labels) + document
    assert any(label.startswith("{") for label in labels)


def test_an_order_of_the_table_lists_released_values_alone() -> None:
    table = table_of(TOWNS, "bonnSECRET")
    values = ["ulm", "bonn", "bonnSECRET", "kiel", "jena", "gera", "köln"]
    labels, document = release(table, {"order": values, "learned": True}, 2)
    assert "SECRET" not in "".join(labels) + document
    assert set(labels) == {"{ulm, bonn, kiel}", "{jena, gera, köln}"}
    given, _ = release(table, {"order": values}, 2)  # whoever writes an order has published it
    assert "{ulm, bonn, bonnSECRET, kiel}" in given


def test_a_file_that_somebody_wrote_is_printed_as_it_is_written() -> None:
    rows = [(town, "{ulm, bonn, bonnSECRET}" if town[0] in "ub" else "other", "*") for town in sorted({*TOWNS})]
    labels, document = release(table_of(TOWNS, "ulm"), sf.wide([*rows, ("bonnSECRET", rows[0][1], "*")]), 1)
    assert set(labels) == {"{ulm, bonn, bonnSECRET}", "other"}
    assert json.loads(document)["solution"]["levels"] == {"q": 1, "r": 0}


def test_names_that_people_give_stay_and_cost_nobody_knows_what() -> None:
    table = table_of(TOWNS, "bonnSECRET")
    tree = edited(table, sf.flat())
    tree = sf.hierarchies.merge_groups(tree, 1, ["ulm", "bonn", "bonnSECRET"], "south")
    tree = sf.hierarchies.merge_groups(tree, 1, ["kiel", "jena", "gera", "köln"], "north")
    labels, document = release(table, tree, 1)
    assert set(labels) == {"south", "north"}
    assert json.loads(document)["solution"]["loss_per_attribute"]["q"] is None


def test_distances_along_an_edited_hierarchy_publish_released_values_alone() -> None:
    table = pl.DataFrame({"r": ["u"] * 30 + ["v"] * 30 + ["zz"], "s": [*TOWNS[::2], *TOWNS[::2], "bonnSECRET"]})
    tree = sf.order(["ulm", "bonn", "bonnSECRET", "kiel", "jena", "gera", "köln"], learned=True)
    found = sf.anonymize(
        table, quasi=["r"], require=[sf.KAnonymity(5), sf.TCloseness("s", 0.9, "hierarchical")], suppression=1,
        search="optimal", hierarchies={"s": tree}, levels={"r": 0},
    )  # fmt: skip
    assert found.solution.verdict.suppressed == 1
    assert found.verification.holds
    assert "SECRET" not in json.dumps(found.manifest)


def test_a_list_of_values_follows_an_edit() -> None:
    tree = sf.order(["a", "b", "c", "d"]).build(
        microdata(pl.DataFrame({"q": list("abcd")}), {"q": "quasi"}, {}).schema[0].categories
    )
    moved = sf.hierarchies.move_group(tree, 0, "b", "{c, d}")
    assert moved.labels[1] == ("a", "{b, c, d}")
    assert sf.hierarchies.merge_groups(moved, 1, ["a", "{b, c, d}"], "a").labels[1] == ("a",)
