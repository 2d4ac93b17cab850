"""A small table of patients, and the command line as a function."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.cli import main

HEADER = "name,age,zip,sex,disease"
SECRET = "Xaverine"  # stands in every name: no message may quote it


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str | Path) -> Ran:
        code = main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        assert SECRET not in told.out + told.err
        return Ran(code, told.out, told.err)

    return command


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """Forty patients."""
    diseases = ("flu", "ulcer", "asthma", "cold")
    rows = [f"{SECRET} {i},{20 + i % 10},{80331 + i % 4},{'fm'[i % 2]},{diseases[i // 10]}" for i in range(40)]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def policy_text(**more: str) -> str:
    """A policy for the patients; a keyword replaces a line that starts with it."""
    lines = [
        "[input]",
        'path = "patients.csv"',
        "[roles]",
        'identifying = ["name"]',
        'quasi = ["age", "zip", "sex"]',
        'sensitive = ["disease"]',
        "[hierarchies]",
        "age = { intervals = [5, 10] }",
        "[[require]]",
        'model = "k-anonymity"',
        "k = 4",
        "[search]",
        'method = "mondrian"',
        'loss = "ncp"',
        "[output]",
        'path = "release"',
    ]
    heads = [line.split(" ")[0] for line in lines]
    return "\n".join(more.get(head, line) for head, line in zip(heads, lines, strict=True)) + "\n"


def admissions(rows: int = 600) -> pl.DataFrame:
    """Admissions, of which those with a name hold what no message may quote."""
    numbers = range(rows)
    return pl.DataFrame(
        {
            "name": [f"{SECRET} {i}" for i in numbers],
            "age": [20 + i * i * 31 % 53 for i in numbers],
            "zip": [str(80331 + i * 17 % 101 % 7) for i in numbers],
            "sex": ["fm"[i % 2] for i in numbers],
            "disease": [("flu", "ulcer", "asthma", "cold")[i * 3 % 11 % 4] for i in numbers],
        }
    )


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Admissions in three Parquet files of a folder."""
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        admissions()[i * 200 : (i + 1) * 200].write_parquet(folder / f"{i}.parquet")
    return folder
