"""Linkage without common columns: tables worked by hand and the two ends of protection."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.attacks.linkage.clusters import _assign, cluster_linkage


def people(n: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {"income": rng.lognormal(10, 1, n), "age": rng.integers(18, 90, n), "job": rng.choice(["a", "b", "c"], n)}
    )


def test_four_rows() -> None:
    # one group: who earns most pays most
    attack = cluster_linkage({"rent": [5, 6, 7, 20]}, {"income": [10, 20, 30, 90]})
    assert attack.success == 1
    assert attack.baseline == 0.25
    # the two smallest rents are equal: one of them is picked
    assert cluster_linkage({"rent": [5, 5, 7, 20]}, {"income": [10, 20, 30, 90]}).success == pytest.approx(0.75)
    # swapped ranks link the wrong ones
    assert cluster_linkage({"rent": [6, 5, 7, 20]}, {"income": [10, 20, 30, 90]}).success == pytest.approx(0.5)


def test_two_groups() -> None:
    attack = cluster_linkage({"rent": [5, 6, 7, 90, 95]}, {"income": [1, 2, 3, 30, 31]}, groups=2)
    assert attack.details["matched groups"] == 2
    assert attack.success == 1


def test_a_copy_is_found_and_a_blank_table_is_not() -> None:
    table = people()
    renamed = table.rename({name: f"{name}2" for name in table.columns})
    assert cluster_linkage(renamed, table).success > 0.99
    for blank in ("*", None):
        nothing = pl.DataFrame({"y": pl.Series([blank] * table.height, dtype=pl.String)})
        attack = cluster_linkage(nothing, table)
        assert attack.success == pytest.approx(attack.baseline)


def test_the_order_of_the_rows_does_not_matter() -> None:
    table = people()
    order = np.random.default_rng(1).permutation(table.height)
    back = np.argsort(order)
    assert cluster_linkage(table[order.tolist()], table, truth=back).success == pytest.approx(
        cluster_linkage(table, table).success
    )


def test_related_columns_tell_more_than_guessing() -> None:
    table, rng = people(), np.random.default_rng(2)
    release = pl.DataFrame({"rent": table["income"].to_numpy() * rng.lognormal(0, 0.02, table.height)})
    attack = cluster_linkage(release, table, external_columns=["income"])
    assert attack.interval[0] > attack.baseline
    other = pl.DataFrame({"rent": rng.permutation(release["rent"].to_numpy())})
    assert cluster_linkage(other, table, external_columns=["income"]).success < attack.success / 5


def test_identifiers_are_not_looked_at() -> None:
    table = people(60).with_columns(id=pl.Series(range(60)))
    release = people(60)[::-1].select("income").with_columns(key=pl.Series(range(59, -1, -1)))
    attack = cluster_linkage(release, table, external_columns=["income"], truth=("key", "id"))
    assert attack.details["released columns"] == ["income"]
    assert attack.success == 1


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
def test_groups_are_assigned_at_the_least_cost(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(shape))
    for _ in range(20):
        theirs, ours = rng.random((shape[0], 3)), rng.random((shape[1], 3))
        cost = np.abs(theirs[:, None] - ours[None]).sum(axis=2)
        partner = _assign(theirs, ours)
        found = sum(cost[i, j] for i, j in enumerate(partner) if j >= 0)
        table = cost if shape[0] <= shape[1] else cost.T
        best = min(
            sum(table[i, j] for i, j in enumerate(chosen))
            for chosen in permutations(range(table.shape[1]), table.shape[0])
        )
        assert found == pytest.approx(best)
        assert len({j for j in partner.tolist() if j >= 0}) == min(shape)


@pytest.mark.parametrize(
    "column",
    [[1], [1, 1], [2**63 - 1, 0], [float("nan"), None, 1.0], ["ß", "*", ""], [1e308, -1e308, 0], ["x", 1, None]],
)
def test_nasty_columns(column: list) -> None:
    attack = cluster_linkage({"a": column}, {"b": column})
    assert 1 / len(column) - 1e-9 <= attack.success <= 1


def test_refusals() -> None:
    with pytest.raises(PolicyError, match="not known which"):
        cluster_linkage({"a": [1]}, {"b": [1, 2]})
    with pytest.raises(PolicyError, match="groups"):
        cluster_linkage({"a": [1]}, {"b": [1]}, groups=0)
    with pytest.raises(ColumnError, match='the release has no column "c"'):
        cluster_linkage({"a": [1]}, {"b": [1]}, released_columns=["c"])
    with pytest.raises(PolicyError, match="column at least"):
        cluster_linkage({"id": [1]}, {"id": [1], "b": [2]}, truth=("id", "id"))


@pytest.mark.parametrize("sizes", [(40, 40, 40), (20, 70, 30), (60, 30, 15)])
def test_three_groups_far_apart_are_three(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1, 2], sizes)
    n = len(group)
    income, spent = group * 100 + rng.normal(0, 3, n), group * 40 + rng.normal(0, 1, n)
    rooms, cars = group * 10 + rng.normal(0, 0.3, n), group * 5 + rng.normal(0, 0.2, n)
    found = cluster_linkage({"income": income, "spent": spent}, {"rooms": rooms, "cars": cars})
    assert (found.details["released groups"], found.details["external groups"]) == (3, 3)
    assert found.success > found.baseline
    assert cluster_linkage({"income": income}, {"cars": cars}, groups=2).details["released groups"] == 2


def test_data_without_groups_have_no_clear_ones() -> None:
    rng = np.random.default_rng(1)
    table = {"a": rng.normal(size=120), "b": rng.uniform(size=120)}
    assert cluster_linkage(table, {"c": rng.normal(size=120)}).details["released groups"] == 2
