"""Progress: on a terminal, after a second; the line about compiling at once and everywhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

WORK = (
    "import time; from sfumato.cli.console import Progress\n"
    "with Progress('reading') as progress:\n"
    "    {first}\n"
    "    time.sleep({seconds}); progress('searching the lattice', 0.5); time.sleep({seconds} / 4)\n"
)


def on_a_terminal(code: str) -> str:
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        told = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the terminal is closed when the process ends
                break
            if not part:
                break
            told += part
        assert process.wait(timeout=60) == 0
    os.close(ours)
    return told.decode()


@pytest.mark.slow
def test_long_work_shows_on_a_terminal() -> None:
    assert "searching the lattice" in on_a_terminal(WORK.format(seconds=1.6, first="pass"))


def test_short_work_does_not() -> None:
    assert on_a_terminal(WORK.format(seconds=0.1, first="pass")) == ""


@pytest.mark.slow
def test_without_a_terminal_only_compiling_is_told() -> None:
    code = WORK.format(seconds=1.2, first="progress('compiling kernels', None); progress('compiling kernels', None)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "compiling kernels\n")
