"""What the shell says to somebody who has a table and no roles yet."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from rich.cells import cell_len

from sfumato.cli.console import shortened

from .conftest import Run


def test_without_roles_it_says_what_to_type(run: Run, patients: Path) -> None:
    done = run("anonymize", patients.name, "--k", "4")
    assert done.code == 2
    assert done.out == ""
    lines = done.err.splitlines()
    assert [line.split()[:2] for line in lines[4:9]] == [
        ["name", "identifying"], ["age", "quasi"], ["zip", "quasi"], ["sex", "quasi"], ["disease", "sensitive"]
    ]  # fmt: skip
    assert "  sfumato inspect patients.csv --init policy.toml" in lines
    assert max(map(len, lines)) <= 80
    typed = done.err.partition("type:\n  ")[2].partition("\nto read why")[0].replace("\\\n", "")
    command = shlex.split(typed)
    assert command[:5] == ["sfumato", "anonymize", "patients.csv", "--k", "4"]
    assert run(*command[1:]).code == 0
    asked = json.loads(Path("patients-release/manifest.json").read_text())["policy"]
    assert (asked["identifying"], asked["quasi"], asked["sensitive"]) == (
        ["name"],
        [["age", "zip", "sex"]],
        ["disease"],
    )
    assert asked["hierarchies"]["age"] == "flat"


@pytest.mark.slow
def test_suggest_goes_on_as_the_command_would(run: Run, patients: Path) -> None:
    told = run("anonymize", patients.name, "--k", "4", "--json")
    assert told.code == 2
    assert told.json["error"]["type"] == "NoRoles"
    assert run(*shlex.split(told.json["error"]["command"])[1:]).code == 0
    done = run("anonymize", patients.name, "--k", "4", "--suggest", "-o", "other")
    assert done.code == 0
    assert "suggested role" in done.out
    assert "--suggest names one" not in done.out + done.err  # it just did
    made, typed = (json.loads(Path(f"{name}/manifest.json").read_text()) for name in ("other", "patients-release"))
    assert made.pop("about") == {"suggested": ["name", "age", "zip", "sex", "disease"]}
    assert made == typed
    assert "taken as they were" in Path("other/report.html").read_text("utf-8")
    done = run("anonymize", patients.name, "--k", "4", "--suggest", "-o", "third", "--language", "it", "--json")
    assert '<html lang="it">' in Path("third/report.html").read_text("utf-8")
    assert {name: of["role"] for name, of in done.json["suggested_roles"].items()}["disease"] == "sensitive"


@pytest.mark.slow
def test_roles_that_are_given_stay(run: Run, patients: Path) -> None:
    done = run(
        "anonymize", patients.name, "--sensitive", "zip", "--hierarchy", "age=intervals:5,10", "-o", "o", "--json"
    )
    command = done.json["error"]["command"]
    assert "--k 5 --identifying name --quasi age,sex --sensitive disease --hierarchy sex=flat" in command
    assert "age=flat" not in command
    done = run("anonymize", patients.name, "--sensitive", "zip", "--k", "4", "--suggest", "-o", "o", "--json")
    assert done.code == 0, done.out
    asked = json.loads(Path("o/manifest.json").read_text())["policy"]
    assert (asked["quasi"], asked["sensitive"]) == ([["age", "sex"]], ["zip", "disease"])


def test_where_nothing_can_be_suggested_the_fault_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("name,email\n" + "".join(f"Anna Smith{i},a{i}@x.org\n" for i in range(80)))
    for more in ((), ("--suggest",)):
        done = run("anonymize", "p.csv", "--k", "3", "-o", "out", *more)
        assert done.code == 2
        assert "--quasi: quasi is empty" in done.err
    assert "does not exist" in run("anonymize", "none.csv", "--k", "3").err
    (tmp_path / "q.csv").write_text("age,sex\n" + "31,F\n58,M\n" * 5)
    done = run("anonymize", "q.csv", "--k", "0", "--loss", "nop")
    assert "has 2 faults" in done.err
    assert "suggested" not in done.err
    assert "--search" in run("anonymize", "p.csv", "--search", '"', "--k", "3").err


def test_inspect_fits_a_terminal(run: Run, tmp_path: Path) -> None:
    long = [f"a_long_question_of_a_survey_number_{i}_of_sixty_with_an_end" for i in range(50)]
    wide = [f"漢字の列名がとても長い場合にはどうなりますか{i}" for i in range(9)]
    rows = [",".join(str(i * (j + 7) % (3 + j)) for j in range(60)) for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join([",".join([*long, *wide, "age"]), *rows]), encoding="utf-8")
    done = run("inspect", "t.csv")
    assert done.code == 0
    assert max(cell_len(line) for line in done.out.splitlines()) <= 80
    table = done.out.partition("why:")[0].splitlines()[3:]
    assert len(table) == 60
    assert len({line.split("   ")[0] for line in table}) == 60  # two names that are shortened alike are numbered
    assert all(name in done.out.replace("\n", "").replace(" ", "") for name in ("age", long[7]))


@pytest.mark.parametrize("text", ["a" * 40, "漢字" * 20, "é" * 9, ""])
@pytest.mark.parametrize("cells", [8, 9, 30])
def test_shortened(text: str, cells: int) -> None:
    found = shortened(text, cells)
    assert cell_len(found) <= cells
    assert found == text or (found.count("…") == 1 and cell_len(found) >= cells - 2)
