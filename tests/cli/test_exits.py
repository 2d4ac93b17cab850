"""Faults: exit codes, interrupts, closed pipes, and tracebacks that do not quote values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.cli.console import clean, say_json
from sfumato.cli.exits import report
from sfumato.cli.phrases import in_flags
from sfumato.core.wording import number
from sfumato.errors import BrokenPromise, Infeasible, PolicyError, SfumatoError

MAIN = "import sys; from sfumato.cli import main; sys.exit(main())"


def shell(code: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | more, timeout=120)


@pytest.mark.parametrize(
    ("error", "code"),
    [(BrokenPromise("x"), 1), (Infeasible("x"), 2), (PolicyError("x", ["a", "b"]), 2), (ValueError("secret"), 2)],
)
def test_exit_codes(error: Exception, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(error, as_json=False) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert report(error, as_json=True) == code
    told = capsys.readouterr()
    assert told.err == ""
    assert json.loads(told.out)["error"].get("faults", []) == list(getattr(error, "faults", ()))


def test_messages_speak_of_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("age,zip\n30,1\n31,2\n")
    (tmp_path / "two.csv").write_text("age,zip\n30,1\n31\n")
    (tmp_path / "t.strange").write_text("x\n1\n")
    table = sf.read(tmp_path / "t.csv")
    store = sf.scan(tmp_path / "t.csv")
    k = sf.KAnonymity(2)

    def told(work: Callable[[], object]) -> str:
        with pytest.raises(SfumatoError) as caught:
            work()
        report(caught.value, as_json=False)
        plain = capsys.readouterr().err
        report(caught.value, as_json=True)
        assert plain == f"error: {json.loads(capsys.readouterr().out)['error']['message']}\n"
        return plain

    assert "--max-cells 1. Hint: " in told(lambda: sf.risk(store, quasi=["age"], max_cells=1))
    assert "or give more --max-cells" in told(lambda: sf.risk(store, quasi=["age"], max_cells=1))
    assert "Hint: measure one file of it, or a sample" in told(lambda: sf.attack(store, quasi=["age"]))
    assert told(lambda: sf.risk(table)).count("quasi") == 2
    assert "k-anonymity asks for classes" in told(
        lambda: sf.anonymize(table, quasi=["age", "zip"], require=sf.KAnonymity(9))
    )
    wildcard = sf.MinimalSuppression(rule="wildcard")
    hint = "use --search mondrian, --search optimal, or leave --search out"
    assert hint in told(
        lambda: sf.anonymize(store, quasi=["age", "zip"], require=k, search=wildcard, to=tmp_path / "out")
    )
    assert "give --separator or --quote for others" in told(lambda: sf.read(tmp_path / "two.csv"))
    assert 'write format = "csv" into [input]' in told(lambda: sf.read(tmp_path / "t.strange"))
    assert "from Python alone" in told(lambda: sf.Database("oracle://host/db", "t"))
    gone = told(lambda: sf.Database(tmp_path / "gone.duckdb", "t"))
    assert gone.endswith('"duckdb:///path" or "sqlite:///path"\n')


def test_flags_can_be_typed_and_keys_of_a_policy_stay() -> None:
    assert in_flags("allowed: max_cells=10,000,000. Hint") == "allowed: --max-cells 10000000. Hint"
    kept = '[search] max_cell (line 9): unknown key "max_cell"; did you mean "max_cells"?'
    assert in_flags(kept) == kept
    assert in_flags("Nobody asks for classes of at least 3") == "Nobody asks for classes of at least 3"


def test_an_unexpected_fault_names_its_place_only(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError) as caught:
        number(Unprintable())
    assert report(caught.value, as_json=False) == 2
    told = capsys.readouterr().err
    assert "this is a fault of Sfumato: RuntimeError at sfumato/core/wording.py:" in told
    assert "secret" not in told


def test_the_traceback_comes_on_demand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_DEBUG", "1")
    assert report(ValueError("secret"), as_json=False) == 2
    assert "ValueError: secret" in capsys.readouterr().err


class Unprintable:
    """Fails inside Sfumato with a message that quotes a value."""

    def __str__(self) -> str:
        raise RuntimeError("secret")


@pytest.mark.slow
def test_interrupted(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, threading; from sfumato.cli import main; import sfumato.cli.demo\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start(); sys.exit(main())"
    )
    done = shell(code, "demo", "--rows", "4000000", "-o", str(tmp_path / "out"))
    assert done.returncode == 130
    assert done.stderr == "interrupted, nothing written\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_reader_that_leaves(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",".join(f"c{i}" for i in range(500)) + "\n" + ",".join("x" * 500) + "\n")
    command = [sys.executable, "-c", MAIN, "inspect", str(tmp_path / "t.csv"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 141


@pytest.mark.slow
def test_output_that_knows_few_letters(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("größe,alter\n" + "1,2\n" * 5, encoding="utf-8")
    done = shell(MAIN, "inspect", str(tmp_path / "t.csv"), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "gr??e" in done.stdout


def test_text_that_cannot_steer_and_json_that_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert clean("a\x1b]0;x\x07\r\nb") == "a?]0;x??\nb"
    say_json({"a": float("nan"), "b": (1, 2.5, True, None), 3: Path("x")})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1, 2.5, True, None], "3": "x"}
    assert [number(v, "-") for v in (1234567, 0.25, None, "x")] == ["1,234,567", "0.25", "-", "x"]


@pytest.mark.parametrize("command", ["inspect", "anonymize", "risk", "attack", "compare", "lattice"])
def test_an_empty_name_is_not_this_folder(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "", "--quasi", "age"] if command != "inspect" else [command, ""]) == 2
    assert "a name is empty" in capsys.readouterr().err


def test_an_interrupt_that_a_library_swallows_is_one_all_the_same() -> None:
    """Rust code that asks Python for a value may drop the exception of Ctrl-C, and fail of what it did not get."""
    code = """
import os, signal, sys
from sfumato import cli

class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000): pass

def work(arguments, **more):
    Swallows()
    raise TypeError("what it did not get")

cli.command_line = lambda only: work
sys.exit(cli.main(["list"]))
"""
    ended = shell(code)
    assert ended.returncode == 130
    assert ended.stderr == "interrupted, nothing written\n"
