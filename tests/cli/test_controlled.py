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


def test_amounts_with_decimal_commas_are_told_exactly_and_attacked(asked, tmp_path, capsys) -> None:
    wages = ["100,10", "0,20", "3000,30", "7,70", "12,01", "0,07", "91,90", "64,05", "1,11"]
    lines = [f"{i};{'ns'[i % 2]};{wage}" for i, wage in enumerate(wages)]
    (tmp_path / "data.csv").write_text("\n".join(["row;region;wage €", *lines]) + "\n", encoding="utf-8")
    (tmp_path / "policy.toml").write_text(CONTROL.replace('"wage"', '"wage €"'), encoding="utf-8")
    assert asked('sum "wage €" where region = n') == 0
    assert capsys.readouterr().out == "3,205.42\n"
    assert main(["attack", "queries", "queries.json", "--data", "data.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["linear-system"]["exposed"] == []
    assert asked("sum wage € where region = n") == 2
    assert 'a name with spaces stands in quotes: sum "wage €"' in capsys.readouterr().err
    assert asked('sum "wage €" where town = n') == 2
    assert 'queries may not use "town"; allowed: row, region, wage €' in capsys.readouterr().err


def test_a_person_column_has_no_place_in_control(asked, tmp_path, capsys) -> None:
    (tmp_path / "policy.toml").write_text(CONTROL + 'person = "row"\n')
    assert asked("count") == 2
    told = capsys.readouterr().err
    assert 'unknown key "person"; the keys are controls' in told
    assert "roles" not in told


def test_notes_of_other_threads_are_told_at_once(capsys) -> None:
    from threading import Thread

    from sfumato.cli.console import notes_at_once
    from sfumato.engines.files.forms import ReadWarning
    from sfumato.errors import warn

    with notes_at_once():
        thread = Thread(target=warn, args=(ReadWarning("numbers are read with a decimal comma"),))
        thread.start()
        thread.join()
        assert capsys.readouterr().err == "note: numbers are read with a decimal comma\n"
