"""Odd input has its own message or its right result: lone surrogates, deep nesting, control characters, key races."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import ColumnError, HierarchyError, OutputError, PolicyError, SfumatoError
from sfumato.policyfile.dump import dump
from sfumato.policyfile.file import load
from tests.fuzz import FUZZ

LONE = "x\ud800"  # no text: half of a pair
BYTE = "x\udcff"  # how Python names a byte of a path that is no UTF-8
K = sf.KAnonymity(2)


def table(**more: Any) -> dict[str, Any]:
    return {"age": [30, 30, 41, 41], **more}


@pytest.mark.parametrize(
    "data",
    [
        table(note=[LONE, "a", "b", None]),
        table(note=[LONE, 1, "b", None]),
        pd.DataFrame({"age": [30, 30], "note": pd.Series([LONE, "a"], dtype=object)}),
        pd.DataFrame({"age": [30, 30], "note": pd.Series([LONE, 1], dtype=object)}),
        pd.DataFrame({"age": [30, 30], "note": pd.Series([LONE, "a"], dtype=pd.StringDtype("python"))}),
        pl.DataFrame({"age": [30, 30], "note": pl.Series([LONE, 1], dtype=pl.Object)}),
    ],
    ids=["dict", "mixed dict", "objects", "mixed objects", "strings", "Polars objects"],
)
def test_a_cell_that_is_no_text_is_named_by_its_column(data: Any) -> None:
    with pytest.raises(ColumnError, match='column "note" holds text that is not valid Unicode'):
        sf.anonymize(data, quasi=["age"], require=K)


def test_a_column_name_that_is_no_text_is_named_by_its_place() -> None:
    frame = pd.DataFrame([[30, 1], [30, 2]], columns=pd.Index(["age", LONE], dtype=object))
    for data in (frame, table(**{LONE: [1, 2, 3, 4]})):
        with pytest.raises(ColumnError, match="the name of column 2 is not valid Unicode"):
            sf.anonymize(data, quasi=["age"], require=K)


@pytest.mark.parametrize(
    "asked",
    [
        {"quasi": [LONE]},
        {"quasi": ["age"], "sensitive": [LONE]},
        {"quasi": ["age"], "require": {"model": "distinct-l-diversity", "attribute": LONE, "l": 2}},
        {"quasi": ["age"], "require": "k-anonymity " + LONE},
        {"quasi": ["age"], "search": LONE},
        {"quasi": ["age"], "loss": LONE},
        {"quasi": ["age"], "hierarchies": {LONE: sf.intervals(5)}},
        {"quasi": ["age"], "hierarchies": {"age": LONE}},
        {"quasi": ["age"], "levels": {LONE: 1}},
    ],
    ids=lambda asked: next(reversed(asked)),
)
def test_an_argument_that_is_no_text_is_refused_in_words_that_print(asked: dict[str, Any]) -> None:
    with pytest.raises(SfumatoError) as caught:
        sf.anonymize(table(), **{"require": K, **asked})
    str(caught.value).encode()


def test_paths_that_are_no_text(tmp_path: Path) -> None:
    release = sf.anonymize(table(), quasi=["age"], require=K)
    with pytest.raises(OutputError, match="not valid Unicode"):
        release.save(tmp_path / LONE)
    with pytest.raises(SfumatoError, match="does not exist"):
        sf.read(tmp_path / f"{LONE}.csv")
    with pytest.raises(OutputError, match="not valid Unicode"):
        release.save(tmp_path / "out", internal_report=tmp_path / LONE)
    with pytest.raises(OutputError, match="not valid Unicode"):
        sf.anonymize(table(), quasi=["age"], require=K, search="optimal").value_map().save(tmp_path / LONE)
    with pytest.raises(SfumatoError):
        sf.anonymize(table(), quasi=["age"], require=K, hierarchies={"age": sf.file(tmp_path / LONE)})
    assert list(tmp_path.iterdir()) == []


def test_a_label_that_is_no_text() -> None:
    with pytest.raises(HierarchyError, match="a label is not valid Unicode"):
        sf.anonymize(table(), quasi=["age"], require=sf.KAnonymity(4), hierarchies={"age": sf.levels(LONE)})


@pytest.mark.slow
def test_bytes_of_the_shell_that_are_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / BYTE).mkdir()
    data = os.path.join(BYTE, "t.csv")
    Path(data).write_text("age\n" + "30\n41\n" * 9)

    def run(*arguments: str) -> tuple[int, str]:
        code = main(arguments)
        return code, capsys.readouterr().err

    flags = ("--quasi", "age", "--k", "2", "-o")
    assert run("anonymize", data, *flags, os.path.join(BYTE, "out")) == (0, "")
    assert run("verify", os.path.join(BYTE, "out")) == (0, "")
    for arguments in (
        ("inspect", data, "--init", "policy.toml"),
        ("inspect", data, "--init", os.path.join(BYTE, f"{BYTE}.toml")),
        ("anonymize", f"postgresql://{BYTE}/db", "--table", "t", *flags, "out"),
    ):
        code, told = run(*arguments)
        assert code == 2
        assert "not valid Unicode" in told
        assert "fault of Sfumato" not in told
    for flag in (
        "--quasi",
        "--sensitive",
        "--k",
        "--require",
        "--search",
        "--hierarchy",
        "--separator",
        "--suppression",
    ):
        code, told = run("anonymize", data, *flags, "out", flag, BYTE)
        assert code == 2
        assert "fault of Sfumato" not in told
    assert not (tmp_path / "out").exists()


ROLES = '[roles]\nquasi = ["age"]\n'
POLICY = f'[input]\npath = "t.csv"\n{ROLES}[[require]]\nmodel = "k-anonymity"\nk = 2\n[output]\npath = "o"\n'


@pytest.mark.slow
@pytest.mark.parametrize("depth", [50, 300, 700, 950, 5_000, 100_000])
@pytest.mark.parametrize(("opens", "inside", "closes"), [("[", "", "]"), ("{a = ", "1", "}")], ids=["lists", "tables"])
@pytest.mark.parametrize(
    "place", ["[levels]\nage = ", "[roles]\nquasi = ", "[hierarchies]\nage = ", "[search]\nmethod = "]
)
def test_deep_nesting_in_a_policy_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, depth: int, opens: str, inside: str, closes: str
) -> None:
    (tmp_path / "t.csv").write_text("age\n30\n30\n")
    policy = tmp_path / "p.toml"
    policy.write_text(POLICY.replace(ROLES, "") + place + opens * depth + inside + closes * depth)
    assert main(["anonymize", str(policy)]) == 2
    told = capsys.readouterr().err
    assert "p.toml" in told
    assert "fault of Sfumato" not in told


def test_a_number_of_very_many_digits_in_a_policy_file(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(POLICY.replace("k = 2", "k = " + "9" * 5_000))
    with pytest.raises(PolicyError, match="a number has too many digits"):
        load(tmp_path / "p.toml")


CONTROL = [
    "a\x01",
    "b\x7f",
    "c\x1b[31m",
    "tab\there",
    'q"uote',
    "back\\slash",
    "line\u2028",
    "\x85x",
    "new\nline",
    "re\rturn",
    "#x",
]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_control_characters_in_names_of_a_suggested_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({"age": [i % 5 for i in range(60)]} | {name: [i % 3 for i in range(60)] for name in CONTROL})
    getattr(frame, f"write_{ending}")(f"t.{ending}")
    assert main(["inspect", f"t.{ending}", "--init", "p.toml"]) == 0
    roles = load("p.toml").tables["roles"]
    named = [name for names in roles.values() for name in (names if isinstance(names, list) else [names])]
    assert set(CONTROL) <= set(named)
    assert main(["anonymize", "p.toml"]) == 0, capsys.readouterr().err
    assert sf.verify("p-release").holds


def test_every_control_character_may_stand_in_a_comment_of_a_policy(tmp_path: Path) -> None:
    every = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]))
    (tmp_path / "p.toml").write_text(dump({"roles": {every: [every]}}, {("roles", every): f"x{every}y"}), "utf-8")
    assert load(tmp_path / "p.toml").tables == {"roles": {every: [every]}}


RACE = """
import sys, time
from sfumato.core.fingerprint import key
while time.time() < float(sys.argv[1]):
    pass
print(key())
"""


@pytest.mark.slow
def test_two_processes_that_make_the_key_have_the_same(tmp_path: Path) -> None:
    import time

    for i in range(FUZZ):
        env = {name: value for name, value in os.environ.items() if name != "SFUMATO_KEY"}
        env["XDG_CONFIG_HOME"] = str(tmp_path / str(i))
        start = str(time.time() + 1.5)
        runs = [
            subprocess.Popen([sys.executable, "-c", RACE, start], stdout=subprocess.PIPE, text=True, env=env)
            for _ in range(4)
        ]
        found = {run.communicate(timeout=60)[0].strip() for run in runs}
        assert len(found) == 1
        assert len(found.pop()) == len("b''") + 64
        assert [path.name for path in (tmp_path / str(i) / "sfumato").iterdir()] == ["key"]
        assert (tmp_path / str(i) / "sfumato" / "key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("header", [None, True])
def test_a_name_that_stands_twice_is_told_by_its_places(tmp_path: Path, header: bool | None) -> None:
    (tmp_path / "t.csv").write_text("Xaverine,kept,Xaverine,b,b\nAnn,x,1,2,3\n")
    with pytest.raises(ColumnError) as caught:
        sf.read(tmp_path / "t.csv", header=header)
    assert "columns 1 and 3, 4 and 5" in str(caught.value)
    assert "Xaverine" not in str(caught.value)


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "xlsx"])
def test_a_full_disk_leaves_nothing_and_is_told(disk: Any, capfd: pytest.CaptureFixture[str], format: str) -> None:
    folder = disk("300k")
    texts = [os.urandom(60).hex() for _ in range(8_000)]
    table = pl.DataFrame({"age": [30] * 8_000, "note": texts})
    release = sf.anonymize(table, quasi=["age"], insensitive=["note"], require=K)
    with pytest.raises(OutputError, match=f"no space left on the disk of {folder}"):
        release.save(folder / "out", format=format)
    assert list(folder.iterdir()) == []
    assert "Traceback" not in capfd.readouterr().err
