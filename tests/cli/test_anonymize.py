"""sfumato anonymize: by a policy file and by flags, to a release that verifies, or to a refusal that writes nothing."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from .conftest import Run, policy_text

pytestmark = pytest.mark.slow

FLAGS = ("--quasi", "age,zip,sex", "--identifying", "name", "--unprotected", "disease", "--k", "4")


def manifest(folder: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads((folder / "manifest.json").read_text())
    return found


def test_flags(run: Run, patients: Path, tmp_path: Path) -> None:
    done = run("anonymize", patients, *FLAGS, "--loss", "ncp", "--suppression", "2", "-o", "out")
    assert done.code == 0, done.err
    for part in (
        "of 40 rows released",
        "suppressed",
        "method refined",
        "picked because",
        "runner-up iterated",
        "ncp",
        "k-anonymity (k=4)",
        "Measured",
        "sfumato verify out",
    ):
        assert part in done.out
    assert all(f"out/{name}" in done.out for name in ("data.csv", "manifest.json", "report.html"))
    policy = manifest(tmp_path / "out")["policy"]
    assert policy["suppression"] == 2
    assert policy["quasi"] == [["age", "zip", "sex"]]
    assert "name" not in (tmp_path / "out" / "data.csv").read_text().splitlines()[0]
    assert run("verify", "out").code == 0


def test_a_k_for_each_set_of_columns(run: Run, patients: Path, tmp_path: Path) -> None:
    asked = ("--require", "k-anonymity 8 quasi=age,zip", "--require", "k-anonymity k=4 quasi=zip,sex")
    given = ("--identifying", "name", "--unprotected", "disease")
    for i, more in enumerate(([], ["--quasi", "age,zip,sex"])):
        done = run("anonymize", patients, *more, *given, *asked, "-o", f"out{i}")
        assert done.code == 0, done.err
        assert "holds  k-anonymity (k=8) on age, zip" in done.out
        assert "holds  k-anonymity (k=4) on zip, sex" in done.out
        policy = manifest(tmp_path / f"out{i}")["policy"]
        assert policy["require"][0] == {"model": "k-anonymity", "k": 8, "quasi": ["age", "zip"]}
        assert "k-anonymity (k=4) on zip, sex" in run("verify", f"out{i}").out
        page = (tmp_path / f"out{i}" / "report.html").read_text()
        assert "k-anonymity, k = 8 over age, zip" in page
    told = run("verify", "out0/data.csv", *asked)
    assert (told.code, "k-anonymity (k=8) on age, zip" in told.out) == (0, True)
    assert run("report", "out0/data.csv", *asked, "-o", "other.html").code == 0
    assert run("verify", "out0/data.csv", "--require", "k-anonymity 30 quasi=age,zip", "--quasi", "age,zip").code == 1
    done = run("anonymize", patients, "--quasi", "age,sex", *given, *asked, "-o", "none")
    assert (done.code, 'is for the column "zip", which is not quasi-identifying' in done.err) == (2, True)


def test_how_far_refined_still_improves(run: Run, patients: Path) -> None:
    asked = run("anonymize", patients, *FLAGS, "--search", "refined rounds=8", "-o", "out")
    assert re.search(r"the second half of its rounds lowered the loss by [0-9.]+%", asked.out), asked
    assert "second half" not in run("anonymize", patients, *FLAGS, "-o", "other").out


def test_a_column_that_is_quasi_identifying_and_sensitive(run: Run, patients: Path, tmp_path: Path) -> None:
    given = ("--quasi", "age,disease", "--identifying", "name", "--insensitive", "zip,sex", "--sensitive", "disease")
    asked = ("--k", "2", "--require", "distinct-l-diversity disease 2")
    done = run("anonymize", patients, *given, *asked, "-o", "out")
    assert done.code == 0, done.err
    assert "holds  k-anonymity (k=2) on age, disease" in done.out
    assert "holds  distinct-l-diversity (attribute=disease, l=2) on age" in done.out
    assert run("verify", "out").code == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Quasi-identifying and sensitive" in page
    assert "quasi=age" in page  # in the command that makes it again
    told = run("verify", "out/data.csv", "--quasi", "age,disease", "--sensitive", "disease", *asked)
    assert (told.code, "distinct-l-diversity (attribute=disease, l=2) on age" in told.out) == (0, True)
    for verb in ("risk", "attack", "report"):
        assert run(verb, "out").code == 0
    done = run("anonymize", patients, *given[:-2], *asked, "-o", "none")
    assert (done.code, 'the column "disease", which must then be sensitive' in done.err) == (2, True)


def test_labels(run: Run, patients: Path, tmp_path: Path) -> None:
    for i, flags in enumerate((["--labels", "hierarchy"], ["--search", "mondrian labels=hierarchy"])):
        assert run("anonymize", patients, *FLAGS, *flags, "-o", f"out{i}").code == 0
        assert manifest(tmp_path / f"out{i}")["policy"]["search"]["labels"] == "hierarchy"
    done = run("anonymize", patients, *FLAGS, "--search", "optimal", "--labels", "hierarchy", "-o", "none")
    assert (done.code, "labels" in done.err) == (2, True)


def test_every_flag(run: Run, patients: Path, tmp_path: Path) -> None:
    (tmp_path / "disease.csv").write_text("flu;lung;*\nasthma;lung;*\ncold;nose;*\nulcer;stomach;*\n")
    text = patients.read_text().replace(",", ";")
    body = "".join(f"{line};{i}\n" for i, line in enumerate(text.splitlines()[1:], 1))
    (tmp_path / "bare.csv").write_text(body, encoding="utf-16")
    columns = pl.read_csv((tmp_path / "bare.csv").read_text("utf-16").encode(), separator=";", has_header=False).columns
    names = [f"column_{i}" for i in range(1, len(columns) + 1)]
    done = run(
        "anonymize", "bare.csv", "--separator", ";", "--encoding", "utf-16", "--no-header", "--quote", '"',
        "--identifying", names[0], "--quasi", f"{names[1]},{names[2]}", "--quasi", f"{names[1]}, {names[3]}",
        "--sensitive", names[4], "--weight", names[5],
        "--k", "2", "--require", f"distinct-l-diversity {names[4]} 2",
        "--require", f"t-closeness {names[4]} 0.9 hierarchical", "--hierarchy", f"{names[4]}=disease.csv",
        "--hierarchy", f"{names[1]}=intervals:5,10,20", "--levels", f"{names[1]}=1:2",
        "--search", "optimal nodes=100000", "--loss", "lm aggregate=geometric leaves=hierarchy",
        "--seed", "3", "--order", "random", "--format", "parquet", "--overwrite", "-o", "out", "--json",
    )  # fmt: skip
    assert done.code == 0, done.out
    found = done.json
    assert found["rows"] + found["suppressed"] == 40
    assert found["search"]["name"] == "optimal"
    assert found["loss"]["aggregate"] == "geometric"
    assert found["files"][0].endswith("data.parquet")
    assert len(found["promises"]) == 6
    assert all(promise["holds"] for promise in found["promises"])
    told = manifest(tmp_path / "out")
    assert told["seed"] == 3
    assert told["policy"]["levels"] == {names[1]: [1, 2]}
    assert told["policy"]["quasi"] == [[names[1], names[2]], [names[1], names[3]]]
    weights = pl.read_parquet(tmp_path / "out" / "data.parquet")[names[5]]
    assert weights.to_list() != sorted(weights.to_list(), key=str)
    assert told["data"]["order"] == "random"


def test_names_with_commas(run: Run, tmp_path: Path) -> None:
    rows = "".join(f"{i % 3},{i % 2}\n" for i in range(12))
    (tmp_path / "t.csv").write_text('"a,b",c\n' + rows)
    done = run("anonymize", "t.csv", "--quasi", '"a,b",c', "--hierarchy", '"a,b"=flat', "--k", "2", "-o", "out")
    assert done.code == 0, done.err
    assert manifest(tmp_path / "out")["policy"]["quasi"] == [["a,b", "c"]]


def test_policy_file_and_flags_over_it(run: Run, patients: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    patients.rename(folder / "patients.csv")
    require = '[[require]]\nmodel = "distinct-l-diversity"\nattribute = "disease"\nl = 2\n'
    (folder / "policy.toml").write_text(policy_text() + require)
    assert run("anonymize", "deep/policy.toml").code == 0
    assert manifest(folder / "release")["policy"]["require"] == [
        {"model": "k-anonymity", "k": 4},
        {"model": "distinct-l-diversity", "attribute": "disease", "l": 2},
    ]
    done = run(
        "anonymize",
        "deep/policy.toml",
        "--k",
        "8",
        "--quasi",
        "age,sex",
        "--insensitive",
        "zip",
        "-o",
        "here",
        "--loss",
        "lm",
        "--json",
    )
    assert done.code == 0, done.out
    policy = manifest(tmp_path / "here")["policy"]
    assert policy["quasi"] == [["age", "sex"]]
    assert policy["require"] == [
        {"model": "distinct-l-diversity", "attribute": "disease", "l": 2},
        {"model": "k-anonymity", "k": 8},
    ]
    assert done.json["loss"]["name"] == "lm"
    assert policy["hierarchies"] == {"age": "intervals 5, 10"}


def test_the_same_run_twice_gives_the_same_bytes(run: Run, patients: Path, tmp_path: Path) -> None:
    assert run("anonymize", patients, *FLAGS, "-o", "one").code == 0
    assert run("anonymize", patients, *FLAGS, "-o", "two").code == 0
    for name in ("data.csv", "manifest.json", "report.html"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_columns_that_nobody_decided_on_are_refused_in_the_words_of_the_shell(run: Run, patients: Path) -> None:
    asked = ("anonymize", patients, "--quasi", "age,zip", "--hierarchy", "zip=learned", "--k", "4", "-o", "out")
    done = run(*asked)
    assert done.code == 2
    assert done.err.startswith("error: 3 columns have no role, and may tell who somebody is:")
    for line in ('- "name": the name says', '- "sex": the name says', '- "disease": the name says'):
        assert line in done.err
    assert "--insensitive name,sex,disease releases these, --rest release all" in done.err
    assert not Path("out").exists()
    found = run(*asked, "--json").json["error"]
    assert (found["type"], len(found["faults"])) == ("UndecidedColumns", 3)
    assert not any(word in done.err + found["message"] for word in ("insensitive=", "rest=", "[roles]"))
    assert "note:" not in run(*asked, "--identifying", "name", "--insensitive", "sex", "--unprotected", "disease").err
    assert "note:" not in run(*asked, "--rest", "release", "--overwrite").err
    assert '"age","zip","sex"' not in Path("out/data.csv").read_text()
    assert "name" in Path("out/data.csv").read_text()
    done = run(*asked, "--rest", "drop")
    assert done.code == 2
    assert "--rest: must be 'refuse' or 'release'" in done.err


def test_columns_that_a_policy_file_leaves_undecided(run: Run, patients: Path) -> None:
    text = policy_text(identifying="", sensitive="")
    Path("policy.toml").write_text(text)
    done = run("anonymize", "policy.toml")
    assert done.code == 2
    assert "in [roles], name each in identifying (dropped)" in done.err
    assert 'insensitive = ["name", "disease"] releases these, rest = "release" all columns' in done.err
    assert "--insensitive" not in done.err
    Path("policy.toml").write_text(text.replace("[roles]", '[roles]\nrest = "release"'))
    assert run("anonymize", "policy.toml").code == 0
    assert manifest(Path("release"))["policy"]["rest"] == "release"
    assert run("anonymize", "policy.toml", "--rest", "refuse", "-o", "other").code == 2


def test_names_in_the_hint_can_be_pasted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('age,"e-mail, work","it\'s a name"\n' + "30,a@b.org,x\n" * 6)
    done = run("anonymize", "t.csv", "--quasi", "age", "--k", "3", "-o", "out")
    words = shlex.split(done.err.split("(released as it is): ")[1].split(" releases these")[0])
    assert words == ["--insensitive", '"e-mail, work",it\'s a name']
    assert run("anonymize", "t.csv", "--quasi", "age", "--k", "3", "-o", "out", *words).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--quasi", "agee", "--k", "4"), ["--quasi", "agee", 'did you mean "age"?']),
        (("--quasi", "age", "--k", "0"), ["--k", "got 0"]),
        (("--quasi", "age", "--k", "41", "--rest", "release"), ["41", "40"]),
        (("--quasi", "age"), ["--k or --require", "no privacy model"]),
        (("--k", "4"), ["--quasi", "no column is named"]),
        (
            ("--quasi", "age,disease", "--unprotected", "disease", "--k", "4"),
            ['"disease" has 2 roles: quasi and sensitive'],
        ),
        (("--quasi", "age", "--require", "entropy-l-diversty disease 3"), ["--require", "entropy-l-diversity"]),
        (("--quasi", "age", "--require", "entropy-l-diversity disease"), ["--require", "needs l"]),
        (("--quasi", "age", "--require", "entropy-l-diversity age 3"), ["--require", "must then be sensitive"]),
        (("--quasi", "age", "--require", "k-anonymity 'x"), ["--require", "quote"]),
        (("--quasi", "age", "--k", "4", "--loss", "nop"), ["--loss", 'did you mean "ncp"?']),
        (("--quasi", "age", "--k", "4", "--loss", "lm agregate=sum"), ["--loss", 'did you mean "aggregate"?']),
        (("--quasi", "age", "--k", "4", "--search", "optimul"), ["--search", 'did you mean "optimal"?']),
        (("--quasi", "age", "--k", "4", "--search", "optimal 1 2 3"), ["--search", "too many values"]),
        (("--quasi", "age", "--k", "4", "--search", ""), ["--search"]),
        (("--quasi", "age", "--k", "4", "--suppression", "1.5"), ["--suppression", "1.5"]),
        (("--quasi", "age", "--k", "4", "--suppression", "few"), ["--suppression", "share"]),
        (("--quasi", "age", "--k", "4", "--hierarchy", "age"), ["--hierarchy", "column=value"]),
        (
            ("--quasi", "age", "--k", "4", "--hierarchy", "age=interval:5"),
            ["--hierarchy age", 'did you mean "intervals"?'],
        ),
        (("--quasi", "age", "--k", "4", "--hierarchy", "ages=flat"), ["--hierarchy ages", 'did you mean "age"?']),
        (("--quasi", "age", "--k", "4", "--levels", "age=x:y"), ["--levels age", "whole numbers"]),
        (("--quasi", "age", "--k", "4", "--format", "pdf"), ["--format", "parquet"]),
        (("--quasi", "age", "--k", "4", "--weight", "name", "--rest", "release"), ["name", "above 0"]),
        (("--quasi", "age", "--k", "4", "--separator", "ab"), ["--separator", "one character"]),
        (("--quasi", "age", "--require", "distinct-l-diversity disease 5", "--rest", "release"), ["rows"]),
    ],
)
def test_refusals_exit_2_and_write_nothing(
    run: Run, patients: Path, tmp_path: Path, arguments: tuple[str, ...], words: list[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = run("anonymize", patients, *arguments, "-o", "out")
    assert done.code == 2, done.out
    assert done.out == ""
    assert all(word in done.err for word in words), done.err
    assert "Traceback" not in done.err
    done = run("anonymize", patients, *arguments, "-o", "out", "--json")
    assert done.code == 2
    assert all(word in done.json["error"]["message"] for word in words)
    assert sorted(tmp_path.rglob("*")) == before


def test_faults_of_flags_are_told_together(run: Run, patients: Path) -> None:
    done = run("anonymize", patients, "--quasi", "agee", "--k", "0", "--loss", "nop", "--json")
    assert done.code == 2
    assert [fault.split(":")[0] for fault in done.json["error"]["faults"]] == ["-o", "--quasi", "--k", "--loss"]


def test_a_policy_with_three_faults(run: Run, patients: Path, tmp_path: Path) -> None:
    text = policy_text(k="k = 0", loss='loss = "nop"', quasi='quasi = ["age", "zop"]')
    (tmp_path / "policy.toml").write_text(text)
    done = run("anonymize", "policy.toml")
    assert done.code == 2
    assert "3 faults" in done.err
    for part in ("[roles] quasi (line 5)", "[[require]] 1", "[search] loss (line 14)"):
        assert part in done.err
    assert not (tmp_path / "release").exists()


def test_output_that_exists(run: Run, patients: Path, tmp_path: Path) -> None:
    assert run("anonymize", patients, *FLAGS, "-o", "out").code == 0
    before = (tmp_path / "out" / "data.csv").read_bytes()
    done = run("anonymize", patients, *FLAGS, "--k", "8", "-o", "out")
    assert (done.code, done.out) == (2, "")
    assert "exists" in done.err
    assert (tmp_path / "out" / "data.csv").read_bytes() == before
    assert run("anonymize", patients, *FLAGS, "--k", "8", "-o", "out", "--overwrite").code == 0
    assert manifest(tmp_path / "out")["policy"]["require"] == [{"model": "k-anonymity", "k": 8}]
    (tmp_path / "out" / "mine.txt").write_text("x")
    assert run("anonymize", patients, *FLAGS, "-o", "out", "--overwrite").code == 2
    assert (tmp_path / "out" / "mine.txt").exists()


@pytest.mark.parametrize("text", ["", "name,age\n", "a,a\n1,2\n"])
def test_tables_that_are_none(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    done = run("anonymize", "t.csv", "--quasi", "age", "--k", "1", "-o", "out")
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert "fault of Sfumato" not in done.err


def test_files_that_are_not_there(run: Run) -> None:
    assert "does not exist" in run("anonymize", "none.csv", "--quasi", "a", "--k", "2", "-o", "out").err
    assert "cannot be read" in run("anonymize", "none.toml").err


def test_column_names_cannot_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\x1b[31m,b\n" + "1,2\n" * 4)
    done = run("anonymize", "t.csv", "--quasi", "zzz", "--k", "2", "-o", "out")
    assert done.code == 2
    assert "\x1b" not in done.err
