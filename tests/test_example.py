"""The example package: installed beside Sfumato, its variants work by name in the shell and in Python."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "sfumato-example"
SHELL = """
import contextlib, io, json, sys
from sfumato.cli import main
for line in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
POLICY = """
[input]
path = "staff.csv"
[roles]
quasi = ["age", "zip"]
sensitive = ["salary"]
[[require]]
model = "ke-anonymity"
attribute = "salary"
k = 3
e = 1000.0
[search]
method = "mondrian"
loss = "i-loss"
[output]
path = "filed"
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in it, as pip leaves it."""
    source, target = (tmp_path_factory.mktemp(name) for name in ("source", "target"))
    shutil.copytree(EXAMPLE, source, dirs_exist_ok=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, timeout=120)
    return target


def run(folder: Path, *arguments: object, beside: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Python in a folder, with or without the package."""
    places = [str(ROOT / "src"), *([str(beside)] if beside else [])]
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=240,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
    )  # fmt: skip


def shell(folder: Path, *lines: list[str], beside: Path | None = None) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of each command, all in one process."""
    done = run(folder, "-c", SHELL, json.dumps(lines), beside=beside)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_its_own_tests(tmp_path: Path, installed: Path) -> None:
    options = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", EXAMPLE, EXAMPLE / "tests")
    done = run(tmp_path, *options, beside=installed)
    assert done.returncode == 0, done.stdout + done.stderr


def test_from_the_shell_to_verify(tmp_path: Path, installed: Path) -> None:
    rng = random.Random(1)
    rows = [f"{rng.randint(20, 60)},{rng.randint(100, 120)},{rng.randint(1, 9) * 500}" for _ in range(300)]
    (tmp_path / "staff.csv").write_text("\n".join(["age,zip,salary", *rows]) + "\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    table = ["staff.csv", "--quasi", "age,zip", "--sensitive", "salary", "--hierarchy", "age=intervals:5,10,20,40"]
    asked = ["--require", "ke-anonymity salary 3 1000", "--search", "bottom-up-generalisation", "--loss", "i-loss"]
    listed, made, verified, told, filed, misspelt = shell(
        tmp_path,
        ["list", "--json"],
        ["anonymize", *table, *asked, "-o", "out"],
        ["verify", "out"],
        ["report", "out", "-o", "again.html"],
        ["anonymize", "policy.toml"],
        ["anonymize", *table, "--require", "ke-anonimity salary 3 1000", "-o", "no"],
        beside=installed,
    )
    names = {kind: {row["name"] for row in rows} for kind, rows in json.loads(listed[1]).items()}
    assert "ke-anonymity" in names["criteria"]
    assert "i-loss" in names["losses"]
    assert "bottom-up-generalisation" in names["searches"]
    for code, _, errors in (made, verified, told, filed):
        assert code == 0, errors
    policy = json.loads((tmp_path / "out" / "manifest.json").read_text())["policy"]
    assert policy["require"] == [{"model": "ke-anonymity", "attribute": "salary", "k": 3, "e": 1000}]
    assert (policy["search"]["name"], policy["loss"]["name"]) == ("bottom-up-generalisation", "i-loss")
    assert "(k, e)-anonymity" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert (misspelt[0], 'did you mean "ke-anonymity"' in misspelt[2]) == (2, True)


def test_without_the_package_verify_refuses(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "staff.csv").write_text("age,salary\n" + "".join(f"{30 + i % 2},{i}\n" for i in range(20)))
    asked = ["--quasi", "age", "--sensitive", "salary", "--require", "ke-anonymity salary 3 5", "-o", "out"]
    [(code, _, errors)] = shell(tmp_path, ["anonymize", "staff.csv", *asked], beside=installed)
    assert code == 0, errors
    [(code, words, errors)] = shell(tmp_path, ["verify", "out"])
    assert (code, words) == (2, "")
    assert 'promises "ke-anonymity", a privacy model that is not known here' in errors
    assert "install" in errors
