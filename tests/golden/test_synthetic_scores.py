"""The scores of real rows of Adult, which those of synthetic rows are read beside."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


@pytest.mark.slow
def test_real_rows_score_as_stated(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    monkeypatch.setenv("SFUMATO_SHARED", str(shared))
    synthesis = importlib.import_module("benchmarks.synthesis")
    train, hold_out = synthesis.adult()
    assert (train.shape, hold_out.shape) == ((22_621, 14), (7_541, 14))
    found = synthesis.score(train, hold_out, hold_out)
    assert found["pairs"] == pytest.approx(0.0225, abs=1e-4)
    assert found["triples"] == pytest.approx(0.0433, abs=1e-4)
    assert found["boosted_auc"] == pytest.approx(0.501, abs=0.01)
    assert found["pmse_ratio"] == pytest.approx(2.2, abs=0.1)
    assert found["copied_uniques"] == pytest.approx(0.030, abs=1e-3)
    learnt = synthesis.train_on_synthetic(train, train, target="income", hold_out=hold_out).details["original"]
    assert learnt == {"accuracy": pytest.approx(0.8690, abs=5e-4), "auc": pytest.approx(0.9272, abs=5e-4)}
