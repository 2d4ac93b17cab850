"""Alternatives: the best over all combinations of hierarchies, worked by hand and against every node of each."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import HierarchyError, Infeasible, PolicyError
from sfumato.measures.utility.information_loss import information_loss
from sfumato.search.alternatives import search_alternatives
from tests.hierarchies.test_builder_either import masked
from tests.search.lattices import every, posed


def edges(*zips: str) -> list[tuple[str, str]]:
    """Every ZIP to both of its masks, 91412 to 9141* and 914*2."""
    up = {z: (z[:4] + "*", z[:3] + "*" + z[4]) for z in zips}
    inner = dict.fromkeys(mask for masks in up.values() for mask in masks)
    return [(z, mask) for z, masks in up.items() for mask in masks] + [(m, "914**") for m in inner] + [("914**", "*")]


RIGHT = ["91412", "91413", "91422", "91424"]  # 9141* and 9142* have two people each; 914*3 and 914*4 one
MIDDLE = ["91421", "91431", "91422", "91442"]  # 914*1 and 914*2 have two people each; 9143* and 9144* one
ZIP = {"zip": sf.either(edges(*RIGHT, *MIDDLE))}


def released(rows: Any, search: Any = "optimal", k: int = 2, hierarchies: Any = ZIP, **more: Any) -> sf.Release:
    table = {"zip": rows} if isinstance(rows, list) else rows
    asked = {"quasi": list(table), "k": k, "search": search, "hierarchies": hierarchies}
    return sf.anonymize(table, **(asked | more))


LOCAL = [sf.Mondrian(labels="hierarchy"), "mondrian", "top-down", "bottom-up", "k-member", "iterated", "auto"]


@pytest.mark.parametrize("search", ["samarati", "optimal", "incognito", "ola", "lightning", "datafly", "tds", *LOCAL])
def test_two_direct_generalisations_by_hand(search: Any) -> None:
    found = released(RIGHT, search)
    assert sorted(found.table["zip"]) == ["9141*", "9141*", "9142*", "9142*"]
    other = released(MIDDLE, search)
    assert sorted(other.table["zip"]) == ["914*1", "914*1", "914*2", "914*2"]
    assert sf.verify(other.table, quasi=["zip"], require=sf.KAnonymity(2)).holds
    assert found.manifest["policy"]["hierarchies"] == {"zip": "either parent in file given rows"}
    if (levels := other.manifest["solution"]["levels"]) is not None:
        assert levels == found.manifest["solution"]["levels"] == {"zip": 1}
    # of seven ZIPs 914*1 stands for two and 914*2 for three: (1/6 + 1/6 + 2/6 + 2/6) / 4
    assert other.manifest["solution"]["loss"] == pytest.approx(0.25)


def test_samarati_prefers_the_least_height_and_optimal_the_least_loss() -> None:
    """914** is two levels up from the right, ****2 four from the left; the latter tells more."""
    rows = [f"914{a}{b}" for b in "23" for a in "123"]
    both = {"zip": "either:redact:right or redact:left"}
    assert set(released(rows, "samarati", 3, both).table["zip"]) == {"914**"}
    assert set(released(rows, "optimal", 3, both).table["zip"]) == {"****2", "****3"}
    by_loss = sf.Samarati(prefer="loss", among="minimal")
    assert set(released(rows, by_loss, 3, both).table["zip"]) == {"****2", "****3"}
    by_classes = sf.Samarati(prefer="distinct", among="minimal")
    assert set(released(rows, by_classes, 3, both).table["zip"]) == {"****2", "****3"}
    assert set(released(rows, sf.Samarati(prefer="suppressed"), 3, both).table["zip"]) == {"914**"}


@pytest.mark.parametrize("seed", range(6))
def test_the_union_of_the_lattices_is_searched(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = {"zip": [f"{a}{b}{c}" for a, b, c in rng.integers(1, 4, (14, 3))], "age": rng.integers(20, 40, 14).tolist()}
    ways = {"zip": ["redact:right", "redact:left"], "age": ["intervals:5,10", "intervals:4,8", "flat"]}
    limit = int(rng.integers(0, 4))
    asked = (table, ["zip", "age"], sf.KAnonymity(2), limit, "lm")
    each = [every(posed(*asked, dict(zip(ways, some, strict=True)))) for some in itertools.product(*ways.values())]
    good = [(node, verdict) for verdicts in each for node, verdict in verdicts.items() if verdict.satisfied]
    union = posed(*asked, {name: sf.either(*several) for name, several in ways.items()})
    _, best = search_alternatives(sf.Optimal(), union)
    assert best.verdict.loss == pytest.approx(min(verdict.loss for _, verdict in good))
    assert best.optimal
    assert best.bound == pytest.approx(best.verdict.loss)
    lowest = search_alternatives(sf.Samarati(), union)[1]
    assert sum((lowest.levels or {}).values()) == min(sum(node) for node, _ in good)


@pytest.mark.parametrize("seed", range(4))
def test_every_mask_of_three_characters(seed: int) -> None:
    """Samarati masks as few characters as any of the eight masks, and optimal keeps the most classes for that loss."""
    rows = ["".join(map(str, some)) for some in np.random.default_rng(seed).integers(1, 4, (20, 3)).tolist()]
    zips = {"zip": sf.either(masked(*dict.fromkeys(rows)))}
    fits = []
    for mask in itertools.product([False, True], repeat=3):
        labels = ["".join("*" if hide else c for hide, c in zip(mask, z, strict=True)) for z in rows]
        if min(sizes := Counter(labels).values()) >= 3:
            fits.append((sum(mask), sum(n * n for n in sizes), set(labels)))
    lowest = set(released(rows, "samarati", 3, zips).table["zip"])
    assert lowest in [labels for height, _, labels in fits if height == min(fits)[0]]
    best = set(released(rows, "optimal", 3, zips, loss="discernibility").table["zip"])
    assert best in [labels for _, squares, labels in fits if squares == min(f[1] for f in fits)]


def test_alternatives_that_satisfy_nothing_are_passed_over() -> None:
    """By their last digit all four differ and may not be masked further; the rest of them is alike."""
    rows = ["11", "12", "13", "14"]
    both = {"zip": sf.either("redact:left", "redact:right")}
    found = released(rows, "optimal", 2, both, levels={"zip": (0, 1)})
    assert set(found.table["zip"]) == {"1*"}
    assert found.solution.optimal
    with pytest.raises(Infeasible):
        released(["11", "22", "33", "44"], "optimal", 2, both, levels={"zip": (0, 1)})


def test_engines_and_measures_agree(tmp_path: Path) -> None:
    table = pl.DataFrame({"zip": MIDDLE, "job": ["a"] * 4})
    table.write_parquet(tmp_path / "in.parquet")
    asked = {"quasi": ["zip", "job"], "k": 2, "search": "optimal", "hierarchies": ZIP}
    here = sf.anonymize(table, **asked)
    there = sf.anonymize(sf.scan(tmp_path / "in.parquet"), to=tmp_path / "out", **asked)
    data = pl.read_parquet(tmp_path / "out" / "data.parquet")
    assert data.select(pl.all().cast(pl.String)).sort(data.columns).equals(here.table.sort(here.table.columns))
    assert set(data["zip"]) == {"914*1", "914*2"}
    assert there.manifest["solution"] == here.manifest["solution"]
    found = sf.utility(table, here.table, rows=here.rows, hierarchies=ZIP)
    chosen = sf.utility(table, here.table, rows=here.rows, hierarchies=here.hierarchies)
    assert str(found) == str(chosen)
    assert information_loss(table, here.table, rows=here.rows, hierarchies=ZIP).value == pytest.approx(1 / 3)


def test_refuses() -> None:
    unlike = sf.either([("a", "x"), ("b", "y"), ("x", "*"), ("y", "*"), ("a", "y"), ("b", "x")])
    with pytest.raises(HierarchyError, match='alternatives of "zip" print 2 labels for other values') as told:
        released(["a", "b", "a", "b"], hierarchies={"zip": unlike})
    assert "x" not in str(told.value).replace("zip", "")
    many = {f"c{i}": ["1"] * 4 for i in range(6)}
    with pytest.raises(
        PolicyError, match="too many combinations, each of which is searched; got 64; allowed: at most 32"
    ):
        released(many, hierarchies=dict.fromkeys(many, sf.either("redact:right", "flat")))
    table = {"zip": RIGHT, "disease": ["flu", "cold"] * 2}
    with pytest.raises(PolicyError, match=r'only quasi-identifiers may have alternatives .* and "disease" is none'):
        released(table, quasi=["zip"], sensitive=["disease"], hierarchies={"disease": sf.either("redact", "flat")})


def test_a_table_in_parts_has_one_hierarchy_per_column() -> None:
    pytest.importorskip("pyspark")
    from sfumato.release.parts.search import recoding_in_parts

    found = released(RIGHT)
    with pytest.raises(PolicyError, match='in parts has one hierarchy per column, and "zip" has alternatives'):
        recoding_in_parts(found.engine, found.request)
