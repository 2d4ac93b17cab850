"""sfumato query ask --control: exact answers of a file, refused across calls."""

from __future__ import annotations

import json

import pytest

from sfumato.cli import main
from sfumato.control import read_log

CONTROL = """
[control]
controls = ["sum-auditing"]
values = ["wage"]
keys = ["row", "region"]
"""


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(
        "row,region,wage\n" + "".join(f"{i},{'ns'[i % 2]},{100 + i}.5\n" for i in range(9))
    )
    (tmp_path / "policy.toml").write_text(CONTROL)

    def ask(query: str, *more: str) -> int:
        return main(["query", "ask", "data.csv", query, "--control", "policy.toml", "--log", "queries.json", *more])

    return ask


def test_calls_remember_each_other(asked, capsys) -> None:
    assert asked("sum wage where region = n") == 0
    assert capsys.readouterr().out == "522.5\n"
    assert asked("sum wage where region = n and row > 0", "--analyst", "bob") == 2
    assert "could be computed" in capsys.readouterr().err
    assert asked("count", "--json") == 0
    assert json.loads(capsys.readouterr().out)["value"] == 9
    assert [(one.user, one.answer) for one in read_log("queries.json").entries] == [
        ("owner", 522.5), ("bob", None), ("owner", 9),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("control", "why"),
    [
        ("", "there is no control"),
        ('[control]\nvalues = ["wage"]', "controls is missing"),
        ('[control]\ncontrols = ["query-set-size"]', "query-set-size needs k"),
        ('[control]\ncontrols = "sum-auditing"', "keys is missing"),
        ("[control]\ncontrols = []", "there is no control; name some"),
        ('[control]\ncontrols = "sum-auditing"\n[grants]', 'unknown table "grants"'),
        ("[control]\ncontrols = [{k = 3}]", "a control has a name"),
    ],
    ids=["none", "missing", "k", "keys", "empty", "table", "name"],
)
def test_faults(asked, control, why, tmp_path, capsys) -> None:
    (tmp_path / "policy.toml").write_text(control)
    assert asked("count") == 2
    assert why in capsys.readouterr().err


def test_it_needs_a_log_and_asks(asked, capsys) -> None:
    assert main(["query", "ask", "data.csv", "count", "--control", "policy.toml"]) == 2
    assert "--log" in capsys.readouterr().err
    assert main(["query", "cost", "data.csv", "count", "--control", "policy.toml"]) == 2
    assert "exact answers have none" in capsys.readouterr().err
