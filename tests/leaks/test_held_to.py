"""The standard that a release is held to: told first, met or not, and nothing else changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.cli.register import hospital_register
from sfumato.errors import PolicyError
from sfumato.report import report
from sfumato.report.sections.headline import lines, plain, title
from sfumato.report.sections.standards import held_to

Run = Callable[..., tuple[int, str, str]]
CLINICAL = "Clinical data (EMA, Health Canada)"
RISKS = "highest risk 20%, limit 9%; average risk 12.5%, limit 9%"
NOT_MET = f"{CLINICAL}, the standard that this release is held to: {RISKS}."
ASKED: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": ["diagnosis"], "search": "mondrian"}


def people(rows: int = 600) -> pl.DataFrame:
    register = hospital_register(rows)
    age = 2025 - register["birth_date"].dt.year()
    return register.select("sex", "diagnosis").with_columns(age=age.clip(0, 88))


def released(profile: str | None, k: int = 12, **more: Any) -> sf.Release:
    require = [sf.KAnonymity(k), sf.DistinctLDiversity("diagnosis", 2)]
    found = sf.anonymize(people(), **({**ASKED, "require": require, "profile": profile} | more))
    assert isinstance(found, sf.Release)
    return found


def said(release: Any) -> tuple[str, str, str]:
    """The title, and the first line with its term."""
    held = held_to(release.manifest, release.standards)
    term, parts = lines(release.reach, held)[0]
    return title(release.reach, held), term, plain(parts)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    people().write_csv(tmp_path / "people.csv")

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


def test_it_is_met_or_not_and_by_what() -> None:
    headline, term, line = said(released("clinical"))
    assert headline == "Both promises hold"
    assert term == "Held to"
    assert line.startswith(f"{CLINICAL}, which is met: highest risk 7.1%, limit 9%; average risk ")
    headline, term, line = said(released("clinical", k=5))
    assert headline == f"Both promises hold, but the standard {CLINICAL} is not met"
    assert (term, line) == ("Not met", NOT_MET)


def test_safe_harbor_names_the_columns_that_stand_in_its_way() -> None:
    assert said(released("hipaa"))[2] == "HIPAA Safe Harbor, which is met: none of the eighteen identifiers was found."
    asked = {"quasi": ["sex"], "insensitive": ["phone", "age"]}
    table = people().with_columns(phone=pl.lit("+49 89 1234567"))
    found = sf.anonymize(table, **(ASKED | asked), require=sf.DistinctLDiversity("diagnosis", 2), profile="hipaa")
    headline, term, line = said(found)
    assert "the standard HIPAA Safe Harbor is not met" in headline
    assert term == "Not met"
    assert "phone (" in line
    assert "1234567" not in line


def test_what_could_not_be_examined_is_named() -> None:
    found = released("gdpr", sensitive=[], insensitive=["diagnosis"], require=sf.KAnonymity(12))
    assert "inference was not examined" in said(found)[2]


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["hipaa", "clinical", "gdpr"])
def test_it_stands_first_in_the_report_and_the_others_below(profile: str) -> None:
    found = released(profile)
    page = report(found.manifest, found.table, found.reach, found.standards)
    assert page == report(found.manifest, found.table)  # the folder alone gives the same
    section = page[page.index('id="standards"') :]
    names = re.findall("<h3>([^<]*)</h3>", section)[:3]
    assert sorted(names) == sorted(["HIPAA Safe Harbor", CLINICAL, "GDPR"])
    held = held_to(found.manifest, found.standards)
    assert held is not None
    assert names[0] == held.title
    assert section.count("The standard that this release is held to.") == 1
    assert ">Other standards<" in page
    assert f"{held.title} not looked at" not in page
    assert f"--profile {profile}" in page


def test_it_changes_nothing_else(tmp_path: Path) -> None:
    held, free = released("clinical", k=5), released(None, k=5)
    assert held.table.equals(free.table)
    assert held.manifest["policy"].pop("profile") == "clinical"
    assert held.manifest == free.manifest
    page = report(free.manifest, free.table)
    assert "held to" not in page
    assert ">Standards<" in page
    assert "Whether a standard applies is for whoever releases the table to say." in page


@pytest.mark.slow
def test_the_internal_report_carries_out_the_attacks_for_it(tmp_path: Path) -> None:
    released("gdpr").save(tmp_path / "out", internal_report=tmp_path / "internal.html")
    page = (tmp_path / "internal.html").read_text("utf-8")
    assert "by carrying out the attacks on the original" in page
    assert page[page.index('id="standards"') :].count("The standard that this release is held to.") == 1


def test_of_a_table_that_is_not_in_memory_the_class_sizes_tell(tmp_path: Path) -> None:
    people().write_parquet(tmp_path / "in.parquet")
    asked = ASKED | {"require": [sf.KAnonymity(12), sf.DistinctLDiversity("diagnosis", 2)]}
    store = sf.scan(tmp_path / "in.parquet")
    one, two = (sf.anonymize(store, **asked, profile=p, to=tmp_path / p) for p in ("clinical", "hipaa"))
    assert said(one) == said(released("clinical"))
    assert ">Held to<" in (tmp_path / "clinical" / "report.html").read_text("utf-8")
    assert said(two)[1:] == (
        "Not looked at",
        "HIPAA Safe Harbor, the standard that this release is held to: that takes the rows in memory, and of them at "
        "most 20,000,000 cells and 300 columns.",
    )
    page = (tmp_path / "hipaa" / "report.html").read_text("utf-8")
    assert ">Not looked at<" in page
    assert "GDPR: not looked at, for that takes the rows." in page


def test_a_large_table_is_held_to_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = import_module("sfumato.report.sections.standards")
    monkeypatch.setattr(limits, "HELD", 10)
    assert [one.name for one in released("hipaa").standards] == ["hipaa"]
    assert released(None).standards == ()
    monkeypatch.setattr(limits, "STATED", 10)
    assert [one.name for one in released("clinical").standards] == ["clinical"]  # from the class sizes
    assert said(released("gdpr"))[1] == "Not looked at"


@pytest.mark.slow
def test_the_shell_and_the_policy_file_state_it(run: Run, tmp_path: Path) -> None:
    flags = [
        "people.csv",
        "--quasi",
        "age,sex",
        "--require",
        "distinct-l-diversity diagnosis 2",
        "--search",
        "mondrian",
    ]
    code, out, _ = run("anonymize", *flags, "--k", "5", "--profile", "clinical", "-o", "one")
    assert code == 0
    assert f"Both promises hold, but the standard {CLINICAL} is not met" in out
    assert f"  not met: {NOT_MET}\n" in out
    policy = """
    [input]
    path = "people.csv"
    [roles]
    quasi = ["age", "sex"]
    [[require]]
    model = "distinct-l-diversity"
    attribute = "diagnosis"
    l = 2
    [output]
    path = "two"
    profile = "hipaa"
    """
    (tmp_path / "policy.toml").write_text(policy)
    code, out, err = run("anonymize", "policy.toml", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["profile"]["name"] == "hipaa"
    assert json.loads((tmp_path / "two" / "manifest.json").read_text())["policy"]["profile"] == "hipaa"
    assert run("verify", "two")[0] == 0
    code, _, err = run("anonymize", *flags, "--profile", "hippa", "-o", "three")
    assert code == 2
    assert "profile" in err


def test_an_unknown_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="did you mean"):
        released("hippa")
    people().write_parquet(tmp_path / "in.parquet")
    with pytest.raises(PolicyError, match="unknown profile"):
        sf.anonymize(
            sf.scan(tmp_path / "in.parquet"), quasi=["age"], require=sf.KAnonymity(2), profile=3, to=tmp_path / "out"
        )  # type: ignore[arg-type]
