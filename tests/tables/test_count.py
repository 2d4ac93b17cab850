"""Tables are counted as by hand: totals at every level, holdings of one contributor added up first, exact sums."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, HierarchyError, PolicyError

TOWNS = {
    "Rome": ["Italy", "Europe"],
    "Bari": ["Italy", "Europe"],
    "Oslo": ["Norway", "Europe"],
    "Kyoto": ["Japan", "Asia"],
}
WIDE = sf.wide([(town, *above, "*") for town, above in TOWNS.items()])


def rows(seed: int, size: int = 60) -> list[dict[str, object]]:
    rng = random.Random(seed)
    return [
        {
            "town": rng.choice([*TOWNS, None] if seed % 2 else list(TOWNS)), "sex": rng.choice("fm"),
            "pay": rng.choice([0.1, 0.2, 1, 7.25, -3]), "firm": rng.randrange(9), "asked": rng.random() < 0.1,
        }
        for _ in range(size)
    ]  # fmt: skip


def above(town: str | None) -> list[str]:
    return ["(missing)", "*"] if town is None else [town, *TOWNS[town], "*"]


@pytest.mark.parametrize("seed", range(4))
def test_every_cell_is_as_by_hand(seed: int) -> None:
    data = rows(seed)
    table = sf.tabulate(
        pl.DataFrame(data),
        by=["town", "sex"],
        value="pay",
        contributor="firm",
        request="asked",
        hierarchies={"town": WIDE},
    )
    count: Counter[tuple[str, str]] = Counter()
    held: dict[tuple[str, str], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    asked: dict[tuple[str, str], set[int]] = defaultdict(set)
    for row in data:
        for cell in itertools.product(above(row["town"]), [row["sex"], "*"]):
            count[cell] += 1
            held[cell][row["firm"]] += row["pay"]
            if row["asked"]:
                asked[cell].add(row["firm"])
    for place, (town, sex, value, rows_in, people) in enumerate(table.data.iter_rows()):
        firms = held.get((town, sex), {})
        assert rows_in == count[town, sex]
        assert people == len(firms)
        assert value == pytest.approx(sum(firms.values()), abs=1e-9)
        at = np.unravel_index(place, table.shape)
        largest = sorted(map(abs, firms.values()), reverse=True)[:3]
        assert table.largest[at].tolist() == pytest.approx([*largest, 0, 0, 0][:3])
        assert table.gross[at] == pytest.approx(sum(map(abs, firms.values())))
        assert table.requests[at] == len(asked.get((town, sex), ()))
    assert len(table.data) == len(table.dimensions[0]) * 3


def test_without_contributors_every_row_is_one() -> None:
    table = sf.tabulate({"a": ["x"] * 3 + ["y"], "pay": [5, 5, 1, 2]}, by=["a"], value="pay", largest=4)
    assert table.largest[1].tolist() == [5, 5, 1, 0]
    assert table.contributors.tolist() == [4, 3, 1]


def test_sums_are_exact_to_the_last_digit() -> None:
    table = sf.tabulate({"a": ["x"] * 10, "pay": [0.1] * 10}, by=["a"], value="pay")
    assert table.data["value"].to_list() == [1.0, 1.0]
    assert table.value.tolist() == [1.0, 1.0]


def test_a_file_is_counted_where_it_lies(tmp_path: Path) -> None:
    frame = pl.DataFrame(rows(0)).select("town", "sex", "pay", "firm")
    frame.write_parquet(tmp_path / "in.parquet")
    frame.write_csv(tmp_path / "in.csv")
    asked = {"by": ["town", "sex"], "value": "pay", "contributor": "firm", "hierarchies": {"town": WIDE}}
    here = sf.tabulate(frame, **asked)
    for there in (sf.scan(tmp_path / "in.parquet"), sf.scan(tmp_path / "in.csv"), tmp_path / "in.csv"):
        other = sf.tabulate(there, **asked)
        assert other.data.equals(here.data)
        assert (other.largest == here.largest).all()


def test_weights_add_up_and_rows_are_counted_beside() -> None:
    table = sf.tabulate({"a": ["x", "x", "y"], "w": [1.5, 2, 10]}, by=["a"], weight="w")
    assert table.data.rows() == [("*", 13.5, 3, 3), ("x", 3.5, 2, 2), ("y", 10.0, 1, 1)]


def test_a_label_on_two_levels_of_a_branch_is_one_cell() -> None:
    tree = sf.wide([("Rome", "Italy", "*"), ("Oslo", "Oslo", "*")])
    table = sf.tabulate({"town": ["Rome", "Oslo"]}, by=["town"], hierarchies={"town": tree})
    assert table.data["town"].to_list() == ["*", "Italy", "Rome", "Oslo"]


def test_what_cannot_be_counted_is_said_without_values() -> None:
    data = {"a": ["x", "y"], "pay": [1.0, None], "firm": [1, None], "word": ["secret", "hidden"]}
    for asked, error, words in (
        ({"by": ["a"], "value": "pay"}, ColumnError, '"pay" has no number in 1 row'),
        ({"by": ["a"], "contributor": "firm"}, ColumnError, '"firm" does not say in 1 row'),
        ({"by": ["a"], "value": "word"}, ColumnError, '"word"'),
        ({"by": ["a", "b"]}, ColumnError, '"b"'),
        ({"by": []}, PolicyError, "by must be a set of columns"),
        ({"by": ["a"], "value": "a"}, PolicyError, "counted by"),
        ({"by": ["a"], "largest": 1}, PolicyError, "largest"),
    ):
        with pytest.raises(error, match=words) as told:
            sf.tabulate(data, **asked)
        assert "secret" not in str(told.value)
    with pytest.raises(ColumnError, match='column "value" of its own'):
        sf.tabulate({"value": [1]}, by=["value"])
    with pytest.raises(HierarchyError, match="stand for two different cells"):
        sf.tabulate({"a": ["x", "*"]}, by=["a"])
    with pytest.raises(HierarchyError, match="1 of 2 values"):
        sf.tabulate({"a": ["x", "q"]}, by=["a"], hierarchies={"a": sf.wide([("x", "*")])})
    with pytest.raises(PolicyError, match="too many cells"):
        sf.tabulate({n: range(200) for n in "abc"}, by=["a", "b", "c"])


def test_the_sum_of_keys_is_that_of_the_rows_in_every_table() -> None:
    data = {"id": range(40), "a": ["x", "y"] * 20, "b": ["u", "v", "v", "v"] * 10}
    one = sf.tabulate(data, by=["a"], record="id").keys
    both = sf.tabulate(data, by=["a", "b"], record="id").keys
    assert (both[:, 0] == one).all()
    assert (both[0, 1] + both[0, 2] == both[0, 0]).all()
