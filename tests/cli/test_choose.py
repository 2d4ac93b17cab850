"""sfumato choose: thresholds, attackers and the knee in the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import SECRET, Run, policy_text

ASKED = ("--quasi", "age,zip,sex", "--identifying", "name", "--sensitive", "disease", "--search", "mondrian")


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "a key of the tests")


@pytest.mark.slow
def test_the_usual(run: Run, patients: Path, tmp_path: Path) -> None:
    ran = run("choose", patients, *ASKED, "--limit", "0.25", "--k", "2,4,8,41", "--population", "4000", "-o", "out")
    assert ran.code == 0, ran.err
    shown = ran.out.partition("written:")[0]
    assert max(map(len, shown.splitlines())) <= 80
    assert "published clinical data" in shown
    assert "suggested: k" in shown
    assert "infeasible" in shown
    for path in (tmp_path / "out").iterdir():
        assert SECRET.encode() not in path.read_bytes()
    assert (tmp_path / "out/choice.html").exists()


def test_json_and_a_policy_file(run: Run, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(policy_text(), encoding="utf-8")
    found = run("choose", "policy.toml", "--k", "2,5", "--attacker", "marketer", "--limit", "0.3", "--json").json
    assert [row["k"] for row in found["points"]] == [2, 5]  # that of the policy is left out
    assert found["search"] == "mondrian"
    assert found["measure"] == "ncp"
    assert found["thresholds"][0]["use"] == "your limit"
    assert found["suggested"] == found["thresholds"][0]["marketer"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--k", "2,three"), "--k"),
        (("--limit", "2"), "limit"),
        (("--attacker", "journalist"), "give --population, or leave --attacker out"),
        (("--attacker", "marketeer"), 'did you mean "marketer"'),
        (("--population", "3"), "population"),
    ],
)
def test_refusals(run: Run, patients: Path, flags: tuple[str, str], told: str) -> None:
    ran = run("choose", patients, *ASKED, *flags)
    assert ran.code == 2
    assert told in ran.err
