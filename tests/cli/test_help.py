"""Help, version, arguments that make no sense, and the documentation of all of it."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli import command_line, main

DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
COMMAND: Any = command_line()
COMMANDS: dict[str, Any] = {}  # those of groups by both names, such as "dp ledger"
for _name, _command in COMMAND.commands.items():
    COMMANDS |= {f"{_name} {own}": one for own, one in getattr(_command, "commands", {"": _command}).items()}
COMMANDS = {name.strip(): command for name, command in COMMANDS.items()}


def test_the_commands() -> None:
    assert list(COMMANDS) == [
        "demo",
        "inspect",
        "anonymize",
        "mask",
        "synth",
        "stream",
        "pseudonyms",
        "baskets",
        "fragment",
        "mine",
        "republish",
        "verify",
        "sign",
        "report",
        "explain",
        "risk",
        "utility",
        "attack",
        "compare",
        "choose",
        "query",
        "lattice",
        "studio",
        "list",
        "dp ledger",
        "dp marginals",
        "dp collect",
        "dp bounds",
        "views check",
        "views release",
        "tables make",
        "tables protect",
        "tables audit",
    ]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_and_option_is_documented(name: str) -> None:
    _, _, section = DOCS.partition(f"\n## sfumato {name}\n")
    assert section, f"docs/cli.md has no section on {name}"
    assert f"sfumato {name}" in section.partition("\n## ")[0]
    for parameter in COMMANDS[name].params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            if option.startswith("-"):
                # options for reading are described once, with anonymize
                assert f"`{option}`" in DOCS, f"{name} {option}"


@pytest.mark.parametrize("option", [o for p in COMMAND.params for o in p.opts])
def test_every_option_of_the_root_is_documented(option: str) -> None:
    assert f"sfumato {option}" in DOCS or f"`{option}`" in DOCS


@pytest.mark.slow
@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_of_every_command(name: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), flag]) == 0
    out = capsys.readouterr().out
    assert f"sfumato {name}" in out
    assert "--json" in out


BRACKETED = re.compile(r"\[\S+?\]+")


@pytest.mark.slow
def test_no_help_text_loses_a_word_in_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    found = 0
    for name, command in COMMANDS.items():
        texts = [command.callback.__doc__, *(getattr(one, "help", None) or "" for one in command.params)]
        words = {word for text in texts for word in BRACKETED.findall(text.replace("\\[", "["))}
        if words:
            assert main([*name.split(), "--help"]) == 0
            out = capsys.readouterr().out
            assert [word for word in words if word not in out] == [], name
            assert "\\[" not in out
        found += len(words)
    assert found, "no help text has a word in brackets: the test tests nothing"


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_help_of_the_root(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMAND.commands)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    import sfumato

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"sfumato {sfumato.__version__}\n"


@pytest.mark.slow
def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from sfumato.cli import main; code = main(['--help']); "
        "heavy = {'polars', 'numba', 'numpy', 'pydantic', 'narwhals'} & set(sys.modules); "
        "print(sorted(heavy)); sys.exit(code)"
    )
    times: dict[str, list[float]] = {}
    for _ in range(5):  # processor time: the wall clock would count the tests that run beside this one
        for what in (
            code,
            "import typer.rich_utils; print([])",
        ):  # what any help needs
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([sys.executable, "-c", what], capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            times.setdefault(what, []).append(used)
            assert done.returncode == 0, done.stderr
            assert done.stdout.splitlines()[-1] == "[]"
    ours, floor = (min(one) for one in times.values())
    assert ours < max(0.4, 2.5 * floor)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["anonymise"], ["anonymize"]),
        (["anonymize"], ["FILE"]),
        (["anonymize", "x.csv", "--kk", "3"], ["--kk"]),
        (["anonymize", "x.csv", "--k", "three"], ["--k"]),
        (["list", "nothing"], ["criteria"]),
        (["utility", "x.csv"], ["RELEASED"]),
        (["risk", "x.csv", "--threshold", "high"], ["--threshold"]),
        (["demo", "--rows", "0"], ["--rows"]),
    ],
)
def test_arguments_that_make_no_sense(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert "--help" in told.err
    assert all(word in told.err for word in words)
    assert main([*arguments, "--json"]) == 2
    told = capsys.readouterr()
    assert told.err == ""
    error = json.loads(told.out)["error"]
    assert error["type"] == "UsageError"
    assert all(word in error["message"] for word in words)
