"""sfumato query and sfumato dp: private answers, what they cost, and the ledger."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli import main


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("age,sex\n" + "\n".join(f"{20 + i % 50},{'FM'[i % 2]}" for i in range(300)))

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return run


BUDGET = ("--budget", "1", "--ledger", "l.sqlite")


def test_answers_costs_and_what_is_left(ask: Any) -> None:
    asked = ("query", "ask", "data.csv", "mean age where sex = F", "--epsilon", "0.4", "--bounds", "age=0:120", *BUDGET)
    code, out, _ = ask(*asked)
    assert code == 0
    assert "with 95% probability" in out
    assert "geometric noise, cost epsilon 0.4; left: epsilon 0.6" in out
    assert "answered before, for nothing; left: epsilon 0.6" in ask(*asked)[1]
    code, out, _ = ask("query", "cost", "data.csv", "histogram sex", "--epsilon", "0.5", "--keys", "sex=F,M", *BUDGET)
    assert "would cost epsilon 0.5; noise of scale 2 on 2 numbers" in out
    code, out, _ = ask(
        "query", "ask", "data.csv", "histogram sex", "--epsilon", "0.5", "--keys", "sex=F,M", *BUDGET, "--json"
    )
    found = json.loads(out)
    assert [row["sex"] for row in found["value"]] == ["F", "M"]
    assert found["left"] == "0.1"
    code, _, err = ask("query", "ask", "data.csv", "count", "--epsilon", "0.2", *BUDGET)
    assert code == 2
    assert "nothing was charged" in err
    assert ask("query", "budget", "data.csv", *BUDGET)[1] == "left: epsilon 0.1\n"


def test_bounds_models_and_lists(ask: Any) -> None:
    code, out, _ = ask("dp", "bounds", "data.csv", "age", "--epsilon", "0.5", *BUDGET)
    assert code == 0
    assert "age between 16 and 128: --bounds age=16:128\n" in out
    assert "geometric noise, cost epsilon 0.5; left: epsilon 0.5" in out
    assert json.loads(ask("dp", "bounds", "data.csv", "age", "--epsilon", "0.5", *BUDGET, "--json")[1])["again"]
    public = ("--bounds", "age=16:128", "--keys", "sex=F,M", "--epsilon", "0.1", *BUDGET)
    assert json.loads(ask("query", "ask", "data.csv", "top sex k=2", *public)[1].splitlines()[0]) in (
        ["F", "M"],
        ["M", "F"],
    )
    model = json.loads(ask("query", "ask", "data.csv", "linear-regression age features=sex", *public, "--json")[1])
    assert list(model["value"]["coefficients"]) == ["intercept", "sex=M"]
    assert '"class"' in ask("query", "ask", "data.csv", "decision-tree sex features=age depth=1", *public)[1]
    code, _, err = ask("dp", "bounds", "data.csv", "age")
    assert code == 2
    assert "needs --epsilon" in err


def test_the_ledger_is_shown_checked_and_exported(ask: Any) -> None:
    ask("query", "ask", "data.csv", "count", "--epsilon", "0.25", "--analyst", "ann", *BUDGET)
    code, out, _ = ask("dp", "ledger", "show", "l.sqlite")
    assert code == 0
    assert "the ledger of table: 4 rows" in out
    assert "ann" in out
    assert ask("dp", "ledger", "verify", "l.sqlite")[:2] == (0, "4 rows, as written\n")
    states = [row["state"] for row in json.loads(ask("dp", "ledger", "export", "l.sqlite")[1])]
    assert states == ["registered", "reserved", "committed", "answered"]
    db = sqlite3.connect("l.sqlite")
    db.executescript("DROP TRIGGER never_changed; UPDATE ledger_entries SET epsilon = '0.1' WHERE number = 2")
    code, out, _ = ask("dp", "ledger", "verify", "l.sqlite")
    assert (code, out) == (1, "the ledger was changed: row 2 is not the one that was written\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ask", "data.csv"), "ask needs the data, a question"),
        (("ask", "data.csv", "mode age", "--epsilon", "1", *BUDGET), "unknown query"),
        (("ask", "data.csv", "mean age,sex", "--epsilon", "1", *BUDGET), "mean is of 1 column"),
        (("ask", "data.csv", "mean age", "--epsilon", "1", "--bounds", "age=0", *BUDGET), "must be LOW:HIGH"),
        (("ask", "data.csv", "mean age", "--epsilon", "1", *BUDGET), "no public bounds"),
        (("ask", "data.csv", "mean age", "--epsilon", "1", "--bounds", "age=9:3", *BUDGET), "reversed"),
    ],
)
def test_what_makes_no_sense_is_refused(ask: Any, arguments: tuple[str, ...], says: str) -> None:
    code, _, err = ask("query", *arguments)
    assert code == 2
    assert says in err
    assert ask("dp", "ledger", "verify", "data.csv")[0] == 2
