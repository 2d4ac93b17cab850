"""Differential privacy in a manifest: stated as by construction, never as proven, and found where it contradicts
itself."""

from __future__ import annotations

import json
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.core.accounting import PrivacyCost
from sfumato.errors import ReadError
from sfumato.release.privacy import privacy_faults, privacy_promise, privacy_section

COST = PrivacyCost(Decimal(1), Decimal("1e-9"), Decimal("0.0149"))
PARTS = [{"what": "counts", "mechanism": "discrete-gaussian", "times": 2, "rho": "0.0149"}]
SAID = privacy_section(COST, PARTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that states it is private: nothing here can tell."""
    table = {"age": [31, 42, 58, 42] * 25, "ill": ["no", "no", "yes", "yes"] * 25}
    path = tmp_path_factory.mktemp("private") / "out"
    sf.synthesize(table, "bootstrap", rows=20, seed=1, copies="keep", rest="release", to=path)
    write(path, privacy=SAID, promises=[json.loads(json.dumps(asdict(privacy_promise(SAID))))], input=None)
    return path


def write(folder: Path, **changed: Any) -> None:
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | changed), "utf-8")


def test_it_is_stated_by_construction_and_never_proven(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = sf.verify(folder)
    assert found.outcome == "by construction"
    assert not found.holds
    assert found.promises[-1].how == "by construction"
    assert main(["verify", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "what is promised holds by construction, and cannot be proven from the rows" in told
    assert "  by construction  differential-privacy (epsilon=1, delta=0.000000001)" in told
    assert "  holds" not in told
    page = folder.parent / "page.html"
    assert main(["report", str(folder), "-o", str(page)]) == 0
    written = page.read_text("utf-8")
    assert "and is differentially private by construction" in written
    assert "Synthetic is not anonymous" not in written
    assert "roven of the released rows" not in written
    assert str(sf.explain(folder)).count("at most 2.718 times as likely") == 1


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"rho": "0.5"}, "its rho gives no such epsilon and delta"),
        ({"epsilon": "0.1"}, "its rho gives no such epsilon and delta"),
        ({"rho": "0.0148"}, "its parts cost more than it says"),
        ({"epsilon": "none"}, "what it says of its privacy are no numbers"),
        ({"epsilon": "NaN"}, "what it says of its privacy are no numbers"),
        ({"delta": "1"}, "its epsilon or delta is out of range"),
        ({"unit": "household"}, "what it protects is not known here"),
    ],
)
def test_what_contradicts_itself_does_not_hold(changed: dict[str, str], fault: str) -> None:
    assert privacy_faults(SAID) == []
    assert privacy_faults(SAID | changed) == [fault]
    assert not privacy_promise(SAID | changed).holds


def test_a_pure_release_adds_up_epsilons() -> None:
    parts = [{"what": "counts", "mechanism": "geometric", "times": 1, "epsilon": "0.5"}] * 2
    said = privacy_section(PrivacyCost(Decimal(1)), parts)
    assert privacy_faults(said) == []
    assert privacy_faults(said | {"epsilon": "0.9"}) == ["its parts cost more than it says"]


@pytest.mark.parametrize(
    "told", [{"input": {"rows": 100}}, {"input": {"rows": None, "fingerprint": "x"}}, {"solution": {"suppressed": 1}}]
)
def test_a_private_release_tells_nothing_of_the_original(folder: Path, told: dict[str, Any]) -> None:
    before = json.loads((folder / "manifest.json").read_text("utf-8"))
    try:
        write(folder, **told)
        with pytest.raises(ReadError, match="tells of the original"):
            sf.verify(folder)
    finally:
        write(folder, **{"solution": None, "input": None} | before)


def test_no_other_promise_is_taken_for_one_by_construction(folder: Path) -> None:
    claim = asdict(privacy_promise(SAID))
    before = json.loads((folder / "manifest.json").read_text("utf-8"))
    try:
        write(folder, promises=[claim | {"parameters": {"epsilon": "0.5", "delta": "0"}}])
        assert sf.verify(folder).outcome == "broken"
        write(folder, promises=[claim], privacy=None)
        with pytest.raises(ReadError, match="privacy is missing"):
            sf.verify(folder)
        own = {"model": "k-anonymity", "parameters": {"k": 50}, "quasi": ["age"], "policy": {"quasi": [["age"]]}}
        policy = before["policy"] | {"quasi": [["age"]]}
        write(folder, promises=[claim | own], privacy=SAID, policy=policy, measured=[])
        assert sf.verify(folder).outcome == "broken"
    finally:
        write(folder, **before)
