"""Private microaggregation: how much one row changes, by brute force over all neighbours, and what that is worth."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import BudgetSpent, ColumnError, PolicyError
from sfumato.masking import dp_microaggregation as module
from sfumato.masking.dp_microaggregation import mean_noise_scale, on_grid, ordered_groups, sum_sensitivity

PAY = {"pay": (0, 100_000)}


def wages(rows: int = 2000, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"pay": np.exp(10 + 0.4 * rng.standard_normal(rows)).round(2)})


def worst(points: list[tuple[int, ...]], rows: int, k: int) -> tuple[int, int]:
    """Over all tables of some points and all that differ in one row: how far the sums of a column move together, and
    how many rows of a group change."""
    sums, groups = {}, {}
    for table in itertools.combinations_with_replacement(points, rows):
        grid = np.array(table)
        of = ordered_groups(grid, k)
        sums[table] = np.array([np.bincount(of, weights=column) for column in grid.T])
        groups[table] = [Counter(one for one, g in zip(table, of, strict=True) if g == i) for i in range(of.max() + 1)]
    moved, exchanged = 0, 0
    for table in sums:
        for i, point in itertools.product(range(rows), points):
            other = tuple(sorted((*table[:i], *table[i + 1 :], point)))
            moved = max(moved, int(np.abs(sums[table] - sums[other]).sum(axis=1).max()))
            exchanged = max(
                exchanged, *(sum((a - b).values()) for a, b in zip(groups[table], groups[other], strict=True))
            )
    return moved, exchanged


@pytest.mark.parametrize("rows", [4, 5])
def test_one_column_moves_by_the_bounds_and_no_more(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(module, "STEPS", 4)
    moved, exchanged = worst([(x,) for x in range(5)], rows, 2)
    assert moved == sum_sensitivity(rows // 2, 1) == 4
    assert exchanged == 1


def test_of_two_columns_each_group_changes_by_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", 2)
    moved, exchanged = worst(list(itertools.product(range(3), repeat=2)), 4, 2)
    assert exchanged == 1
    assert 2 < moved <= sum_sensitivity(2, 2) == 4  # more than one column alone would


def test_noise_is_that_of_the_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, Decimal]] = []

    def noted(values: list[int], sensitivity: int, epsilon: Decimal) -> Any:
        asked.append((len(values), sensitivity, epsilon))
        return type("Noisy", (), {"values": tuple(values)})

    monkeypatch.setattr(module, "laplace", noted)
    table = wages(1000).with_columns(age=pl.Series(np.arange(1000) % 70 + 18))
    sf.mask(table.select("pay"), sf.DPMicroaggregation(k=30, epsilon=0.5, bounds=PAY))
    sf.mask(table, sf.DPMicroaggregation(k=30, epsilon=1, bounds={**PAY, "age": (0, 120)}))
    half, steps = Decimal("0.5"), module.STEPS
    assert asked == [(33, steps, half), (33, 33 * steps, half), (33, 33 * steps, half)]


def test_parts_of_epsilon_add_up_to_it() -> None:
    step = sf.DPMicroaggregation(epsilon=1, bounds={"a": (0, 1), "b": (0, 1), "c": (0, 1)})
    assert sum(step.shares) == 1
    assert len({*step.shares}) == 2


def test_values_beyond_the_bounds_are_moved_to_them() -> None:
    x = np.array([[-5.0], [0.0], [50.0], [1e9]])
    assert on_grid(x, [(0, 100)])[:, 0].tolist() == [0, 0, module.STEPS // 2, module.STEPS]


def census(shared: Path) -> pl.DataFrame:
    return sf.read(shared / "data/sdc/CASCrefmicrodata.csv")


@pytest.mark.slow
def test_it_loses_less_than_noise_on_each_row(shared: Path) -> None:
    """One column of the Census table, 1,080 rows, at epsilon 1, beside Laplace noise on each row."""
    x = census(shared)["TAXINC"].cast(pl.Float64)
    ends = (0.0, 200_000.0)
    kept = np.clip(x.to_numpy(), *ends)
    rng = np.random.default_rng(5)
    plain = np.clip(kept + rng.laplace(0, ends[1], len(kept)), *ends)
    table, found = pl.DataFrame({"TAXINC": x}), {}
    for k in (1, 10, 33, 100):
        step = sf.DPMicroaggregation(k=k, bounds={"TAXINC": ends})
        found[k] = np.mean([_error(sf.mask(table, step), kept) for _ in range(3)])
    assert found[33] < 0.02 * np.sum((plain - kept) ** 2)
    assert found[100] < found[10] < found[1]
    assert mean_noise_scale(ends, 1, 1080, 33, 1) == pytest.approx(ends[1] / 33)


def _error(release: Any, before: np.ndarray) -> float:
    made = release.table.to_series().to_numpy()
    return float(np.sum((made - before[release.rows]) ** 2))


def test_its_folder_says_what_it_promises_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "laplace", lambda values, *_: type("N", (), {"values": (10**9,) * len(values)}))
    folders = []
    for i, table in enumerate((wages(300, 1), wages(300, 2))):  # neighbours have as many rows
        made = sf.mask(table, sf.DPMicroaggregation(k=20, bounds=PAY))
        made.save(tmp_path / str(i))
        folders.append({file.name: file.read_bytes() for file in sorted((tmp_path / str(i)).iterdir())})
    assert folders[0] == folders[1]
    said = json.loads(folders[0]["manifest.json"])
    assert said["privacy"]["neighbours"] == "replace"
    assert (said["seed"], said["input"]["rows"], said["input"]["fingerprint"]) == (None, None, None)
    found = sf.verify(tmp_path / "0")
    assert found.outcome == "by construction"
    assert "differentially private by construction" in folders[0]["report.html"].decode()


def test_an_account_pays_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account, step = sf.dp.Account(tmp_path / "l.sqlite", epsilon=1), sf.DPMicroaggregation(k=20, bounds=PAY)
    for refused in ({"pay": [1.0, None] * 100}, {"pay": [1.0] * 19}):  # by what is in it, before anything is charged
        with pytest.raises((ColumnError, PolicyError), match=r"missing values|larger than the table"):
            sf.mask(refused, step, account=account)
    sf.mask(wages(200), step, account=account)
    monkeypatch.setattr(module, "laplace", lambda *_: pytest.fail("drawn without a budget"))
    with pytest.raises(BudgetSpent):
        sf.mask(wages(200), step, account=account)
    with pytest.raises(PolicyError, match="no step is private"):
        sf.mask(wages(200), sf.Rounding(base=10), account=account)


@pytest.mark.parametrize(
    ("steps", "more", "said"),
    [
        ([sf.DPMicroaggregation(bounds=PAY), sf.Rounding(base=10)], {}, "takes no other steps"),
        ([sf.DPMicroaggregation(bounds=PAY)], {"seed": 3}, "no seed"),
        ([sf.DPMicroaggregation(bounds=PAY)], {"k": 3, "quasi": ["pay"]}, "are not promised beside it"),
        ([sf.DPMicroaggregation(bounds=PAY)], {"order": "random"}, "order has no meaning"),
        ([sf.DPMicroaggregation(k=500, bounds=PAY)], {}, "k is larger than the table"),
    ],
)
def test_what_would_break_the_promise_is_refused(steps: list[Any], more: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        sf.mask(wages(100), steps, **more)


def test_other_columns_and_missing_values_are_refused() -> None:
    step = sf.DPMicroaggregation(bounds=PAY)
    table = wages(100).with_columns(shift=pl.lit("a"))
    with pytest.raises(PolicyError, match='"shift" would be released as it was'):
        sf.mask(table, step)
    with pytest.raises(ColumnError, match="missing values"):
        sf.mask(wages(100).with_columns(pay=pl.when(pl.col("pay") > 20_000).then("pay")), step)
    with pytest.raises(PolicyError, match="a private step makes a table by itself"):
        sf.anonymize(table, quasi=["shift"], k=2, mask=[step])


@pytest.mark.parametrize(
    "given", [{"bounds": {}}, {"bounds": {"pay": 3}}, {"bounds": {"pay": (5, 5)}}, {"bounds": {"pay": (9, 1)}}, {},
              {"bounds": PAY, "columns": "age"}, {"bounds": PAY, "by": "age"}, {"bounds": PAY, "epsilon": 0}]
)  # fmt: skip
def test_nonsense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        sf.DPMicroaggregation(**given)
