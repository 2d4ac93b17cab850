"""Faults: exit codes, interrupts, closed pipes, and tracebacks that do not quote values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.cli.console import clean, number, say_json
from sfumato.cli.faults import report
from sfumato.errors import BrokenPromise, Infeasible, PolicyError

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


def test_an_unexpected_fault_names_its_place_only(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError) as caught:
        number(Unprintable())
    assert report(caught.value, as_json=False) == 2
    told = capsys.readouterr().err
    assert "this is a fault of Sfumato: RuntimeError at sfumato/cli/console.py:" in told
    assert "secret" not in told


def test_the_traceback_comes_on_demand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_DEBUG", "1")
    assert report(ValueError("secret"), as_json=False) == 2
    assert "ValueError: secret" in capsys.readouterr().err


class Unprintable:
    """Fails inside Sfumato with a message that quotes a value."""

    def __str__(self) -> str:
        raise RuntimeError("secret")


def test_interrupted(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, threading; from sfumato.cli import main; import sfumato.demo\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start(); sys.exit(main())"
    )
    done = shell(code, "demo", "--rows", "4000000", "-o", str(tmp_path / "out"))
    assert done.returncode == 130
    assert done.stderr == "interrupted, nothing written\n"
    assert list(tmp_path.iterdir()) == []


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


def test_output_that_knows_few_letters(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("größe,alter\n" + "1,2\n" * 5, encoding="utf-8")
    done = shell(MAIN, "inspect", str(tmp_path / "t.csv"), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "gr??e" in done.stdout


def test_text_that_cannot_steer_and_json_that_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert clean("a\x1b]0;x\x07\r\nb") == "a?]0;x??\nb"
    say_json({"a": float("nan"), "b": (1, 2.5, True, None), 3: Path("x")})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1, 2.5, True, None], "3": "x"}
    assert [number(v) for v in (1234567, 0.25, None, "x")] == ["1,234,567", "0.25", "-", "x"]
