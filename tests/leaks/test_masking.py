"""What a masked release gives away beside its values: not the seed's numbers, not the order, not the key."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.release.facts import check_public
from sfumato.testing.maskers import people as households
from tests.fuzz import examples

TABLE = households()
RANDOM = [
    "additive-noise income,tax", "correlated-noise income,tax", "restricted-noise income,tax", "romm income,tax",
    "multiplicative-noise income,tax", "pram sex invariant=true", "rank-swapping income p=20",
    "rounding income base=100 random=true", "shuffling income,tax", "sampling fraction=0.5",
]  # fmt: skip
KEYED = ["keyed-tokens home", "substitution job kind=last_name country=it_IT"]
FIXED = [
    "rounding income base=100",
    "top-bottom-coding income top=95 kind=percentile",
    "global-recoding income groups=5",
]


def mask(table: pl.DataFrame, *steps: str, **asked: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sf.mask(table, list(steps), **{"rest": "release", "seed": 5, "weight": "weight"} | asked)


@pytest.mark.parametrize("step", RANDOM)
def test_the_published_seed_and_the_original_make_nothing_again_without_the_key(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {}
    for key in ("owner", "somebody else"):
        monkeypatch.setenv("SFUMATO_KEY", key)
        made[key] = mask(TABLE, step).table
    assert not made["owner"].equals(made["somebody else"])


@pytest.mark.parametrize("step", KEYED)
def test_pseudonyms_follow_the_key(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faker")
    column = step.split()[1]
    made = {}
    for key in ("owner", "somebody else"):
        monkeypatch.setenv("SFUMATO_KEY", key)
        made[key] = {*mask(TABLE, step).table.get_column(column).drop_nulls().cast(pl.String)}
    assert made["owner"] != made["somebody else"]


@pytest.mark.parametrize("step", FIXED)
def test_the_order_of_the_input_leaves_no_trace(step: str) -> None:
    other = TABLE[np.random.default_rng(2).permutation(TABLE.height)]
    first, second = mask(TABLE, step), mask(other, step)
    assert first.table.equals(second.table)
    told = [{k: v for k, v in one.manifest.items() if k != "input"} for one in (first, second)]
    assert told[0] == told[1]


def test_the_manifest_has_no_key_matrix_or_vault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "9f1c-the-owners-secret")
    vault = tmp_path / "private" / "study.vault"
    vault.parent.mkdir(mode=0o700)
    steps = [
        sf.Pram("sex", matrix={"F": {"F": 0.8123, "M": 0.1877}, "M": {"F": 0.3, "M": 0.7}}),
        sf.RandomTokens("home", vault=str(vault)),
        sf.KeyedTokens("job"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = sf.mask(TABLE, steps, rest="release", seed=5)
    release.save(tmp_path / "out")
    said = "".join(file.read_text("utf-8") for file in (tmp_path / "out").iterdir())
    for secret in ("9f1c-the-owners-secret", "0.8123", "study.vault", str(tmp_path)):
        assert secret not in said


tables = st.integers(12, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.one_of(st.integers(-500, 500), st.none()), min_size=n, max_size=n),
        st.lists(st.floats(-1e4, 1e4, allow_nan=False).map(lambda x: round(x, 2)), min_size=n, max_size=n),
        st.lists(st.sampled_from(["a", "b", "c", None, "é,\n"]), min_size=n, max_size=n),
    )
)
STEPS = [
    "rounding x base=7", "rounding y base=0.5 random=true", "additive-noise y", "rank-swapping y p=30", "mdav y k=3",
    "pram c p=0.7", "pram c invariant=true", "romm x,y", "restricted-noise x,y", "shuffling y", "resampling y",
    "sampling fraction=0.5", "top-bottom-coding y top=90 kind=percentile", "global-recoding x groups=3",
    "swapping y keys=c", "lossy-compression y", "multiplicative-noise y", "outlier-noise y", "correlated-noise x,y",
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(values=tables, steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_mask_save_verify_and_a_changed_cell(
    values: Any, steps: list[str], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is masked is written, read back and verified; or refused in our words."""
    table = pl.DataFrame(dict(zip("xyc", values, strict=True)), schema={"x": pl.Int64, "y": pl.Float64, "c": pl.String})
    folder = tmp_path_factory.mktemp("masked") / "out"
    try:
        release = mask(table, *steps, seed=seed, weight=None)
    except SfumatoError as refused:
        assert "fault of" not in str(refused), refused
        return
    release.save(folder)
    found = sf.verify(folder, original=table)
    assert found.outcome == "nothing promised"
    untold = {*release.changed} == {*"xyc"}  # no column is left to tell rows apart, so ranks cannot be checked
    assert [f for f in found.facts if f.holds is not (None if untold and f.fact == "ranks" else True)] == []
    again = mask(table, *steps, seed=seed, weight=None)
    assert again.table.equals(release.table)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    points = [fact for fact in manifest["facts"] if fact["fact"] == "points" and "base" in fact["parameters"]]
    for fact in points:
        name = fact["columns"][0]
        other = release.table.with_columns(pl.col(name) + 0.31 * fact["parameters"]["base"])
        if release.table.get_column(name).drop_nulls().len():
            assert not check_public(other, None, fact).holds


@pytest.mark.parametrize("step", ["additive-noise income", "multiplicative-noise income", "correlated-noise income"])
def test_more_and_less_noise_under_one_seed_do_not_give_the_original(step: str) -> None:
    made = [
        mask(TABLE.with_row_index("at"), f"{step} share={share}", row_key=["at"]).table.sort("at")["income"].to_numpy()
        for share in (0.4, 0.2)
    ]
    x = TABLE["income"].to_numpy()
    left = [np.corrcoef(y - x, other - x)[0, 1] for y, other in [made]]
    assert abs(left[0]) < 0.5
