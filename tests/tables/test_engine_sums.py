"""The same table on every engine: sums, contributors and largest contributions are those of rows in memory."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.protocol import SumsAsked
from sfumato.engines.tables import engine_of
from sfumato.errors import ColumnError, PolicyError
from tests.conformance.engines import ENGINES, Make, memory, param

TOWNS = {"Rome": ["Italy", "Europe"], "Bari": ["Italy", "Europe"], "Oslo": ["Norway", "Europe"], "Kyōto": ["J", "Asia"]}
TREE = sf.wide([(town, *above, "*") for town, above in TOWNS.items()])
ASKED: dict[str, dict[str, Any]] = {
    "rows": {},
    "people": {"contributor": "firm"},
    "sums": {"value": "pay", "largest": 4},
    "holdings": {"value": "pay", "contributor": "firm", "request": "asked"},
    "weights": {"weight": "w", "contributor": "firm", "request": "asked"},
    "weighted sums": {"value": "pay", "weight": "w", "request": "asked"},
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = random.Random(4)
    return pl.DataFrame(
        {
            "town": [rng.choice([*TOWNS, None]) for _ in range(400)], "sex": [rng.choice("fm") for _ in range(400)],
            "pay": [rng.choice([0.1, 0.25, 7.125, -3.5, 12.0, 40.01]) for _ in range(400)],
            "w": [rng.choice([1.5, 2.0, 10.25]) for _ in range(400)], "firm": [rng.randrange(60) for _ in range(400)],
            "asked": [int(rng.random() < 0.1) for _ in range(400)], "age": [rng.randrange(3) * 10 for _ in range(400)],
        }
    )  # fmt: skip


SUMMED = [
    param(name, asked, slow=asked not in ("holdings", "sums") or name == "csv")
    for name in ENGINES
    for asked in (("holdings", "weighted sums") if "spark" in name else ASKED)
    if name != "memory" and (name != "spark-cluster")
]


@pytest.mark.parametrize(("make", "asked"), SUMMED)
def test_every_engine_adds_up_the_same(
    make: Make, asked: str, table: pl.DataFrame, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    data = make(table, tmp_path, request).data
    given = {"by": ["town", "sex", "age"], "hierarchies": {"town": TREE}, **ASKED[asked]}
    with engine_of(data).sums(SumsAsked(("town",))) as sums:
        assert sums is not None  # it was not counted in memory
    here, there = sf.tabulate(memory(table, tmp_path, request).data, **given), sf.tabulate(data, **given)
    assert there.data.equals(here.data)
    for name in ("count", "value", "contributors", "largest", "gross", "requests"):
        one, other = getattr(here, name), getattr(there, name)
        assert (one is None) == (other is None)
        assert one is None or np.array_equal(one, other), name
    assert (there.decimals, there.negative, there.measured) == (here.decimals, here.negative, here.measured)


@pytest.mark.parametrize("make", [param("duckdb"), param("sqlite", slow=True), param("postgresql", slow=True)])
def test_engines_refuse_what_memory_refuses(
    make: Make, table: pl.DataFrame, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    odd = table.with_columns(
        pay=pl.when(pl.int_range(400) == 7).then(None).otherwise("pay"), w=-pl.col("w"),
        firm=pl.when(pl.int_range(400) < 2).then(None).otherwise("firm"), asked=pl.col("asked") * 2,
    )  # fmt: skip
    data = make(odd, tmp_path, request).data
    for asked, words in (
        ({"value": "pay"}, '"pay" has no number in 1 row'),
        ({"contributor": "firm"}, '"firm" does not say in 2 rows'),
        ({"weight": "w"}, "below zero"),
        ({"request": "asked"}, "who asked for confidentiality"),
    ):
        for where in (data, odd):
            with pytest.raises(ColumnError, match=words):
                sf.tabulate(where, by=["sex"], **asked)
    with pytest.raises(PolicyError, match="too many different combinations"):
        sf.tabulate(data, by=["town", "sex", "age"], max_cells=5)


def test_contributors_stay_in_the_engine(table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that comes from DuckDB has more rows than there are cells, however many contributors there are."""
    from sfumato.engines.sql.link import DuckLink

    many = pl.concat([table] * 50).with_columns(firm=pl.int_range(20_000) // 2)
    many.write_parquet(tmp_path / "many.parquet")
    most, frames = [], DuckLink.frames

    def seen(self: Any, query: str) -> Any:
        for frame in frames(self, query):
            most.append(frame.height)
            yield frame

    monkeypatch.setattr(DuckLink, "frames", seen)
    found = sf.tabulate(sf.scan(tmp_path / "many.parquet"), by=["town", "sex"], value="pay", contributor="firm",
                        hierarchies={"town": TREE})  # fmt: skip
    assert found.contributors[0, 0] == 10_000
    assert max(most) <= found.value.size
    assert replace(found).value[0, 0] == pytest.approx(50 * float(table["pay"].sum()))
