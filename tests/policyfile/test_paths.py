"""Paths of a policy: every table that can name a file is known, and what leads out of a folder is found."""

from __future__ import annotations

import sfumato as sf
from sfumato.policyfile.file import check, load
from sfumato.policyfile.paths import BUILDERS, absolute, leading_out, with_paths

POLICY = {
    "input": {"path": ["a.csv", "b.csv"]},
    "roles": {"quasi": ["age"]},
    "hierarchies": {
        "age": {"intervals": [5]}, "zip": "zip.csv", "job": "tree:job.txt", "icd": "icd10",
        "ward": {"file": "ward.csv"}, "town": "towns", "age2": "cuts:18,65", "sex": {"f": "any", "m": "any"},
        "area": {"either": ["redact:right", "file:area.csv"]}, "land": "either:redact:left or land.csv",
    },
    "require": [{"model": "released-distance", "reference": "last.csv"}],
    "mask": [
        {"step": "keyed-tokens", "key": "study.key", "columns": ["id"]},
        {"step": "generalisation", "columns": {"job": 1}, "hierarchies": {"job": "own.csv"}},
        {"step": "pram", "columns": ["sex"], "matrix": "matrix.csv"},
        {"step": "pram", "columns": ["job"], "matrix": {"baker": {"cook": 1}, "cook": {"baker": 1}}},
    ],
    "search": {"method": "auto", "account": {"ledger": "ledger.sqlite", "epsilon": 1}},
    "output": {"path": "out", "internal_report": "own.html"},
}  # fmt: skip


def test_every_path_is_found_and_nothing_else():
    seen = []
    same = with_paths(POLICY, lambda path: seen.append(path) or path)
    assert same == POLICY
    assert seen == ["a.csv", "b.csv", "zip.csv", "job.txt", "ward.csv", "towns", "area.csv", "land.csv", "last.csv",
                    "study.key", "matrix.csv", "own.csv", "ledger.sqlite", "out", "own.html"]  # fmt: skip


def test_absolute_paths_mean_the_same_from_everywhere(tmp_path):
    found = absolute({"input": {"path": "in/a.csv"}, "hierarchies": {"zip": "tree:zip.csv"}}, tmp_path)
    assert found == {"input": {"path": f"{tmp_path}/in/a.csv"}, "hierarchies": {"zip": f"tree:{tmp_path}/zip.csv"}}
    assert absolute({"input": {"path": "postgresql://h/d"}}, tmp_path)["input"]["path"] == "postgresql://h/d"


def test_what_leads_out_of_a_folder(tmp_path):
    assert leading_out(POLICY, tmp_path) == []
    (tmp_path / "link").symlink_to("/etc")
    for path in ("/etc/passwd", "../other/a.csv", "link/passwd", "~/a.csv", "postgresql://h/d", "sqlite:///x.db"):
        assert leading_out({"input": {"path": path}}, tmp_path) == [path]
        assert leading_out({"input": {"path": ["in.csv", path]}}, tmp_path) == [path]
        assert leading_out({"output": {"path": path}}, tmp_path) == [path]
        assert "://" in path or leading_out({"mask": [{"step": "pram", "matrix": path}]}, tmp_path) == [path]
    for spec in ("file:/etc/passwd", "/etc/passwd", {"either": "/etc/passwd"}, "either:redact:left or /etc/passwd"):
        assert leading_out({"hierarchies": {"zip": spec}}, tmp_path) == ["/etc/passwd"]
        step = {"step": "generalisation", "columns": {"zip": 1}, "hierarchies": {"zip": spec}}
        assert leading_out({"mask": [step]}, tmp_path) == ["/etc/passwd"]


def test_builders_are_known_by_name():
    assert set(BUILDERS) == set(sf.HIERARCHIES._rows)


def test_hierarchies_of_a_step_start_at_the_folder_of_the_policy(tmp_path, monkeypatch):
    (tmp_path / "jobs.csv").write_text("baker;food;*\ncook;food;*\nclerk;office;*\n")
    (tmp_path / "policy.toml").write_text(
        '[input]\npath = "in.csv"\n[roles]\ninsensitive = ["job"]\n[output]\npath = "out"\n[[mask]]\n'
        'step = "generalisation"\ncolumns = { job = 1 }\nhierarchies = { job = "jobs.csv" }\n'
    )
    monkeypatch.chdir("/")
    policy = check(load(tmp_path / "policy.toml"), ["job"], made_by="masking")
    found = sf.mask({"job": ["baker", "cook", "clerk"] * 2}, **policy.masking())
    assert sorted({*found.data["job"]}) == ["food", "office"]
