"""sfumato compare: lists in flags, policy files, the map folder, and Ctrl-C."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli.compare import alternatives, listed

from .conftest import SECRET, Run, policy_text

ASKED = ("--quasi", "age,zip,sex", "--identifying", "name", "--sensitive", "disease")


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "a key of the tests")


@pytest.mark.slow
def test_lists(run: Run, patients: Path, tmp_path: Path) -> None:
    ran = run("compare", patients, *ASKED, "--search", "mondrian,optimal", "--k", "2,4", "--suppression", "0,0.1",
              "-o", "map", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    asked = [(p["search"], p["suppression"], p["k"]) for p in ran.json["points"]]
    assert asked == [(s, x, k) for s in ("mondrian", "optimal") for x in (0, 0.1) for k in (2, 4)]
    assert {Path(file).name for file in ran.json["files"]} >= {"points.jsonl", "map.json", "map.svg", "map.html"}
    for path in (tmp_path / "map").iterdir():
        assert SECRET.encode() not in path.read_bytes()


@pytest.mark.slow
def test_the_usual(run: Run, patients: Path) -> None:
    ran = run("compare", patients, *ASKED)
    assert ran.code == 0, ran.err
    assert "of 6 released" in ran.out
    assert "written" not in ran.out
    assert "front" in ran.out


@pytest.mark.slow
def test_a_point_that_is_infeasible_is_told(run: Run, patients: Path) -> None:
    ran = run("compare", patients, *ASKED, "--k", "2,41", "--search", "mondrian")
    assert ran.code == 0
    assert "1 of 2 released" in ran.out
    assert "infeasible: " in ran.out
    assert run("compare", patients, *ASKED, "--k", "41", "--search", "mondrian").code == 2


@pytest.mark.slow
def test_a_policy_file_is_the_base(run: Run, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(policy_text(), encoding="utf-8")
    own = run("compare", "policy.toml", "--json").json["points"]
    assert [(p["search"], p["minimised"], p["k"], p["require"]) for p in own] == [
        ("mondrian", "ncp", None, "k-anonymity 4")
    ]
    over = run("compare", "policy.toml", "--k", "2,5", "--search", "optimal,mondrian", "--json").json["points"]
    assert [(p["search"], p["minimised"], p["k"]) for p in over] == [
        (s, "ncp", k) for s in ("optimal", "mondrian") for k in (2, 5)
    ]
    assert own[0]["suppressed"] == 0
    assert not (tmp_path / "release").exists()


def test_numbers_of_a_model_are_tried(run: Run, patients: Path) -> None:
    ran = run("compare", patients, *ASKED, "--k", "2", "--require", "distinct-l-diversity disease 1,2",
              "--search", "mondrian", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert [p["require"] for p in ran.json["points"]] == [
        "distinct-l-diversity disease 1", "distinct-l-diversity disease 2",
    ]  # fmt: skip


def test_measures(run: Run, patients: Path) -> None:
    ran = run("compare", patients, *ASKED, "--k", "4", "--search", "optimal seconds=5", "--risk", "highest",
              "--utility", "direct-comparison", "--workers", "1", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    [point] = ran.json["points"]
    assert point["parameters"] == "seconds=5"
    assert 0 < point["risk"] <= 0.25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--k", "2,three"), "--k"),
        (("--search", "mondrian,optmal"), 'did you mean "optimal"'),
        (("--loss", "lmm"), "--loss"),
        (("--risk", "hihgest"), 'did you mean "highest"'),
        (("--utility", "nothing"), "utility"),
        (("--suppression", "0,2.5"), "--suppression"),
        (("--require", "t-closeness disease"), "--require"),
        (("--workers", "0"), "workers"),
    ],
)
def test_refusals(run: Run, patients: Path, flags: tuple[str, str], told: str) -> None:
    ran = run("compare", patients, *ASKED, *flags)
    assert ran.code == 2
    assert told in ran.err


def test_ends_and_dimensions(run: Run, patients: Path) -> None:
    asked = ("--k", "4", "--search", "mondrian", "--dimensions")
    told = run("compare", patients, *ASKED, *asked)
    assert told.code == 0, told.err
    assert "nothing released 0.5000" in told.out
    assert "least score (mean of risk and loss)" in told.out
    assert "loss by quasi-identifiers" in told.out
    found = run("compare", patients, *ASKED, *asked, "--json").json
    assert [p["columns"] for p in found["dimensions"]] == [1, 2, 3]
    assert found["ends"]["nothing"] == {"risk": 0, "utility": 0, "score": 0.5}
    assert found["ends"]["everything"]["utility"] == 1
    [point] = found["points"]
    assert point["score"] == pytest.approx((point["risk"] + 1 - point["utility"]) / 2)
    refused = run("compare", patients, "--quasi", "age", "--rest", "release", "--dimensions")
    assert refused.code == 2
    assert "two or more quasi-identifiers" in refused.err


def test_another_folder_is_refused(run: Run, patients: Path) -> None:
    ran = run("compare", patients, *ASKED, "-o", ".")
    assert ran.code == 2
    assert "no part of a map" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupt_keeps_points(
    run: Run, patients: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, as_json: bool
) -> None:
    from sfumato.comparing.points import Ledger

    real = Ledger.add

    def stopping(self: Ledger, name: str, row: Any) -> None:
        real(self, name, row)
        if len(self.known) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "add", stopping)
    command = ("compare", patients, *ASKED, "-o", "map", "--workers", "1", *(["--json"] if as_json else []))
    ran = run(*command)
    assert ran.code == 130
    told = ran.json["error"]["message"] if as_json else ran.err
    assert "goes on from there" in told
    assert len((tmp_path / "map/points.jsonl").read_text().splitlines()) == 4
    monkeypatch.setattr(Ledger, "add", real)
    assert run(*command).code == 0
    assert len(json.loads((tmp_path / "map/map.json").read_text())["points"]) == 6


@pytest.mark.slow
def test_a_changed_input_is_noted(run: Run, patients: Path) -> None:
    assert run("compare", patients, *ASKED, "--k", "2", "-o", "map").code == 0
    patients.write_text(patients.read_text("utf-8").replace(",20,", ",21,", 1), encoding="utf-8")
    ran = run("compare", patients, *ASKED, "--k", "2", "-o", "map")
    assert ran.code == 0
    assert "starting anew" in ran.err


def test_lists_of_names() -> None:
    assert listed(["a,b", " c "], ()) == ["a", "b", "c"]
    assert listed(None, ()) == []
    assert listed(["optimal seconds=2,mondrian"], ["mondrian", "optimal"]) == ["optimal seconds=2", "mondrian"]
    assert alternatives([]) == [[]]
    assert alternatives(["alpha-k 0.5,0.6 2,3 disease"]) == [
        [f"alpha-k {a} {k} disease"] for a in ("0.5", "0.6") for k in (2, 3)
    ]
    assert alternatives(["alpha-k 0.5 2 disease a,b"]) == [["alpha-k 0.5 2 disease a,b"]]


@pytest.mark.slow
def test_maskings_beside_searches(run: Run, patients: Path) -> None:
    asked = (
        "--search",
        "mondrian",
        "--k",
        "4",
        "--mask",
        "rank-swapping age p={10,40}",
        "--mask",
        "pram sex; mdav k=5",
    )
    ran = run("compare", patients, *ASKED, *asked, "--json")
    assert ran.code == 0, ran.err
    assert [(p["family"], p["search"], p["parameters"]) for p in ran.json["points"]] == [
        ("recoding", "mondrian", ""),
        ("masking", "rank-swapping", "age p=10"),
        ("masking", "rank-swapping", "age p=40"),
        ("masking", "pram + mdav", "sex; k=5"),
    ]
    assert all(0 <= p["risk"] <= 1 for p in ran.json["points"])
    told = run("compare", patients, *ASKED, "--search", "none", "--mask", "rank-swapping p=10", "--risk", "average")
    assert told.code == 0, told.err
    assert "1 of 1 released" in told.out
    assert "not meaningful" in told.out
    wrong = run("compare", patients, *ASKED, "--mask", "rank-swaping p=5")
    assert wrong.code == 2
    assert "--mask: unknown step" in wrong.err
    assert 'did you mean "rank-swapping"' in wrong.err


@pytest.mark.slow
def test_generators_beside_searches(run: Run, patients: Path) -> None:
    head, *rows = patients.read_text("utf-8").splitlines()
    patients.write_text("\n".join([head, *rows, *rows]), encoding="utf-8")  # a model needs 50 rows
    trees = ("--synthesize", "sequential-trees leaf={10,20}")
    ran = run("compare", patients, *ASKED, "--search", "mondrian", "--k", "4", *trees, "--json")
    assert ran.code == 0, ran.err
    assert [(p["family"], p["search"], p["parameters"]) for p in ran.json["points"]] == [
        ("recoding", "mondrian", ""),
        ("synthesis", "sequential-trees", "leaf=10"),
        ("synthesis", "sequential-trees", "leaf=20"),
    ]
    assert all(0 <= p["risk"] <= 1 for p in ran.json["points"])
    told = run("compare", patients, *ASKED, "--search", "none", *trees, "--risk", "average")
    assert "2 of 2 released" in told.out, told.err
    assert "not meaningful where rows were drawn" in told.out
    wrong = run("compare", patients, *ASKED, "--synthesize", "sequential-tree")
    assert wrong.code == 2
    assert "--synthesize: unknown generator" in wrong.err


def test_steps_of_a_policy_file_are_a_masking(run: Run, patients: Path, tmp_path: Path) -> None:
    steps = '\n[[mask]]\nstep = "rank-swapping"\ncolumns = ["age"]\np = 20\n'
    (tmp_path / "policy.toml").write_text(policy_text() + steps, encoding="utf-8")
    ran = run("compare", "policy.toml", "--json")
    assert ran.code == 0, ran.err
    assert [p["search"] for p in ran.json["points"]] == ["mondrian", "rank-swapping"]
    refused = run("choose", "policy.toml")
    assert refused.code == 2
    assert "steps of masking" in refused.err
