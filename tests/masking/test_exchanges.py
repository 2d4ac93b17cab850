"""PRAM and the swapping steps through `mask`: facts of the release, its manifest, and `verify`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main

RANDOM = np.random.default_rng(8)
TABLE = pl.DataFrame(
    {
        "town": RANDOM.choice(["Aal", "Bree", "Caen"], 300),
        "school": RANDOM.choice(["east", "west"], 300),
        "sex": RANDOM.choice(["f", "m"], 300),
        "job": RANDOM.choice(["cook", "nurse", "smith"], 300),
        "pay": RANDOM.permutation(300) * 10 + 1000,
        "tax": RANDOM.permutation(300),
    }
)
STEPS = [
    sf.Pram("job", p=0.6, invariant=True),
    sf.Swapping("tax", keys="sex", rate=0.5),
    sf.RankSwapping("pay", p=10),
    sf.RecordSwapping("town", rate=0.3, similar=["sex"], carry="school"),
]


def test_facts_hold_and_no_matrix_is_published(tmp_path: Path) -> None:
    release = sf.mask(TABLE, STEPS, insensitive=["sex", "tax"], seed=1, to=tmp_path / "out")
    facts = [(fact.fact, fact.step, fact.holds) for fact in release.facts]
    assert facts == [("marginals", n, True) for n in (1, 1, 2)] + [("ranks", 2, True)] + [("marginals", 3, True)] * 2
    assert set(release.perturbed) == {"job", "tax", "pay", "town", "school"}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    pram = manifest["steps"][0]
    assert {"p", "alpha", "matrix"} & set(pram) == set()
    assert pram["published"] == {"matrix": "invariant, two-stage", "changed": {"job": 0.28}}
    found = sf.verify(tmp_path / "out", original=TABLE)
    assert [fact.holds for fact in found.facts] == [True] * 6


@pytest.mark.parametrize(
    "step",
    ["pram job invariant=true", "rank-swapping pay p=10", "swapping tax keys=sex", "record-swapping town rate=0.2"],
)
def test_steps_as_the_shell_writes_them(step: str) -> None:
    release = sf.mask(TABLE, [step], rest="release")
    assert release.table.height == 300
    assert all(fact.holds for fact in release.facts)


POLICY = """
[input]
path = "in.csv"
[roles]
rest = "release"
weight = "weight"
[[mask]]
step = "pram"
columns = "job"
invariant = true
[mask.matrix]
cook = {cook = 0.91, nurse = 0.09}
nurse = {nurse = 1.0}
smith = {smith = 0.91, cook = 0.09}
[[mask]]
step = "record-swapping"
columns = ["town"]
rate = 0.2
similar = [["sex", "school"], ["sex"]]
[[mask]]
step = "massc"
columns = ["sex", "school"]
totals = ["pay"]
[output]
path = "out"
"""


@pytest.mark.slow
def test_a_policy_file_and_the_shell_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.with_columns(weight=pl.lit(1.5)).write_csv("in.csv")
    Path("p.toml").write_text(POLICY, "utf-8")
    assert main(["mask", "p.toml"]) == 0
    manifest = Path("out/manifest.json").read_text("utf-8")
    assert [step["step"] for step in json.loads(manifest)["steps"]] == ["pram", "record-swapping", "massc"]
    assert "0.91" not in manifest
    assert main(["verify", "out"]) == 0
    steps = ["--step", "swapping tax,pay keys=sex rate=0.5", "--step", 'record-swapping town "similar=sex,school;sex"']
    assert main(["mask", "in.csv", *steps, "--rest", "release", "-o", "out2"]) == 0
    assert main(["verify", "out2", "--original", "in.csv"]) == 0
