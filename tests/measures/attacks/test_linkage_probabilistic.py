"""Probabilistic linkage: small tables, the two thresholds, and the two ends of protection."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest

from sfumato.errors import MissingExtra, PolicyError
from sfumato.measures.attacks.linkage.probabilistic import _blocks, _lessons, _tally, probabilistic_linkage
from sfumato.measures.attacks.result import Attack

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _splink() -> None:
    pytest.importorskip("splink")


def people(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    return pl.DataFrame(
        {
            "birth year": rng.integers(1940, 2000, n),
            "zip": [f"{z:03d}" for z in rng.integers(0, 40, n)],
            "job": rng.choice(list("abcdefgh"), n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def noisy(table: pl.DataFrame, share: float) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return table.with_columns(
        pl.Series(name, np.where(rng.random(table.height) < share, rng.permutation(v := table[name].to_numpy()), v))
        for name in table.columns
    )


@pytest.fixture(scope="module")
def perturbed() -> Attack:
    table = people()
    return probabilistic_linkage(noisy(table, 0.1), table)


def test_four_rows() -> None:
    table = {"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]}
    # whatever the weights are, agreeing on both columns is best; row 3 has lost its age and shares its sex with row 1
    attack = probabilistic_linkage({"age": ["20", "30", "40", "*"], "sex": ["f", "m", "f", "m"]}, table)
    assert attack.success == pytest.approx(1)
    assert attack.baseline == 0.25


def test_a_copy_is_found() -> None:
    table = people().unique(maintain_order=True)
    attack = probabilistic_linkage(table, table)
    assert attack.success == pytest.approx(1)
    assert attack.details["links"] == table.height
    assert attack.details["precision"] == pytest.approx(1)
    assert attack.details["recall"] == pytest.approx(1)


def test_a_blank_table_is_at_its_baseline() -> None:
    table = people()
    for blank in ("*", None):
        nothing = pl.DataFrame({name: pl.Series([blank] * table.height, dtype=pl.String) for name in table.columns})
        attack = probabilistic_linkage(nothing, table)
        assert attack.success == pytest.approx(attack.baseline)
        assert attack.details["links"] == 0
        assert attack.details["non-links"] == table.height


def test_a_perturbed_table(perturbed: Attack) -> None:
    assert 0.5 < perturbed.success < 1
    details = perturbed.details
    assert details["links"] + details["review"] + details["non-links"] == 300
    assert details["links"] > 0
    assert details["precision"] > perturbed.success  # links are surer than the rest
    assert details["recall"] <= perturbed.success
    assert all(0 <= row < 300 for row in perturbed.exposed)
    assert perturbed.exposed


def test_it_repeats_with_its_seed(perturbed: Attack) -> None:
    table = people()
    again = probabilistic_linkage(noisy(table, 0.1), table)
    assert again.to_dict() == perturbed.to_dict()


def test_thresholds_and_unknown_truth(perturbed: Attack) -> None:
    table = people()
    attack = probabilistic_linkage(noisy(table, 0.1), table, truth="unknown", upper=1.0, lower=0.0)
    assert attack.details["review"] >= perturbed.details["links"]
    assert attack.details["non-links"] <= perturbed.details["non-links"]
    assert "precision" not in attack.details
    assert 0.3 < attack.success <= 1


def test_values_agree_with_the_labels_that_cover_them() -> None:
    table = people(120)
    release = table.with_columns(
        pl.Series("birth year", [f"[{y // 10 * 10}, {y // 10 * 10 + 10})" for y in table["birth year"]]),
        pl.Series("zip", [z[:2] + "*" for z in table["zip"]]),
    )
    attack = probabilistic_linkage(release, table)
    assert attack.success > 20 * attack.baseline
    assert attack.details["compared"] == table.columns


def test_blocks_keep_the_number_of_pairs() -> None:
    codes = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    tally = _tally(codes, codes)
    assert tally == {(0,): 8, (1,): 8, (0, 1): 4}  # agreeing on a alone: 2*2 + 2*2 pairs, on b as many
    assert _blocks(tally, 2, 16, 16) == ([()], 0)
    assert _blocks(tally, 2, 16, 15) == ([(0,)], 8)  # both would be 16
    assert _blocks(tally, 2, 16, 5) == ([(0, 1)], 4)
    assert _blocks(tally, 2, 17, 16) == ([(0,), (1,)], 16)


def test_every_column_is_learned_from_pairs_that_agree_on_others() -> None:
    tally = {(0,): 50, (1,): 900, (2,): 800, (0, 1): 40, (0, 2): 30, (1, 2): 60, (0, 1, 2): 20}
    assert _lessons(tally, 3, 100) == [(0,), (1, 2)]
    assert _lessons(tally, 3, 10) == [(1, 2), (0, 2), (0, 1)]
    assert _lessons({(0,): 5}, 1, 100) == [()]


def test_some_people_stand_for_all() -> None:
    table = people().select("sex", "job")
    attack = probabilistic_linkage(table, table, max_pairs=1000)
    assert 10 < attack.trials < 100
    rows = attack.details["external rows"]
    assert list(attack.exposed) == rows  # row i is row i
    classes = table.unique().height
    assert attack.success == pytest.approx(classes / 300, rel=0.5)


def test_pairs_that_agree_on_nothing_are_guessed() -> None:
    table = people()
    attack = probabilistic_linkage(table.with_columns(sex=pl.lit("x"), job=pl.lit("y")), table, ["sex", "job"])
    assert attack.success == pytest.approx(attack.baseline)


@pytest.mark.parametrize("column", [[1, 2], [None, 1], ["ß", "x"], [2**63 - 1, 2**63 - 2]])
def test_nasty_columns(column: list) -> None:
    attack = probabilistic_linkage({"a": column}, {"a": column})
    assert 0.5 - 1e-9 <= attack.success <= 1 + 1e-9


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolicyError, match="lower <= upper"):
        probabilistic_linkage({"a": [1]}, {"a": [1]}, upper=0.2, lower=0.5)
    monkeypatch.setitem(sys.modules, "splink", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[linkage\]"):
        probabilistic_linkage({"a": [1, 2]}, {"a": [1, 2]})


@pytest.mark.parametrize(("given", "words"), [({"upper": "x"}, "upper .* got 'x'"), ({"lower": -1}, "lower .* got -1")])
def test_thresholds_are_shares(given: dict[str, object], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        probabilistic_linkage(people(20), people(20), **given)  # type: ignore[arg-type]
