"""Sensitive, but not protected: a column that no criterion looks at is told, costed, or accepted in writing."""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import PolicyError
from sfumato.measures.attacks.classes import view
from sfumato.measures.suggestion import NEAR, suggest_criterion
from sfumato.report.sections.headline import title
from tests.fuzz import FUZZ

Run = Callable[..., tuple[int, str, str]]
FOUR = ("homogeneity", "background knowledge", "skewness", "negative disclosure")
ASKED = ["--quasi", "age,sex,zip", "--k", "10", "--search", "mondrian"]


def patients(rows: int = 2000, seed: int = 7) -> pl.DataFrame:
    """People of whom one in twenty had a stroke, the old more often; as skewed as a real register."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, rows)
    stroke = rng.random(rows) < 1 / (1 + np.exp(-(age - 110) / 14))
    return pl.DataFrame(
        {
            "age": age,
            "sex": np.where(rng.random(rows) < 0.5, "F", "M"),
            "zip": [f"{80331 + int(code):05d}" for code in rng.integers(0, 40, rows)],
            "stroke": np.where(stroke, "yes", "no"),
        }
    )


def released(table: pl.DataFrame | None = None, **more: Any) -> sf.Release:
    asked: dict[str, Any] = {"quasi": ["age", "sex", "zip"], "sensitive": ["stroke"], "require": sf.KAnonymity(10)}
    return sf.anonymize(patients() if table is None else table, **(asked | {"search": "mondrian"} | more))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    patients().write_csv(tmp_path / "patients.csv")

    def command(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


def advantage(attack: tuple[float, float, float]) -> float:
    _, after, baseline = attack
    return (after - baseline) / (1 - baseline) if baseline < 1 else 0.0


# The warning.


def test_a_sensitive_column_that_nothing_protects_is_warned_about() -> None:
    accepts = r'nothing protects "stroke": .* sf.suggest\(release\) names one, unprotected=\["stroke"\] accepts that'
    with pytest.warns(sf.UnprotectedWarning, match=accepts):
        release = released()
    homogeneity = release.reach.worst_on("stroke")
    assert homogeneity is not None
    assert homogeneity["name"] == "homogeneity"
    assert homogeneity["success"] > 0.5 > homogeneity["baseline"] == 0
    assert title(release.reach) == "The promise holds, but nothing protects stroke"
    assert "nothing protects stroke" in repr(release)


@pytest.mark.slow
@pytest.mark.parametrize("more", [{"unprotected": ["stroke"]}, {"unprotected": ["stroke"], "sensitive": []}])
def test_it_can_be_accepted_in_writing(more: dict[str, Any], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.UnprotectedWarning)
        release = released(**more)
    assert release.roles.sensitive == ("stroke",)
    assert title(release.reach) == "The promise holds, but nothing protects stroke"  # it is accepted, not gone
    release.save(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["policy"]["unprotected"] == ["stroke"]
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "The policy accepts that." in page
    assert "--unprotected stroke" in page  # the line that makes it again
    assert "Suggested" not in page


def test_what_a_criterion_protects_is_not_unprotected() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.UnprotectedWarning)
        assert released(require=[sf.KAnonymity(10), sf.TCloseness("stroke", 0.5)]).reach.unprotected == ()
    with pytest.raises(sf.errors.SfumatoError, match='"stroke", which a criterion protects'):
        released(unprotected=["stroke"], require=[sf.KAnonymity(5), sf.DistinctLDiversity("stroke", 2)])


def test_tables_that_are_not_in_memory_are_warned_about_too(tmp_path: Path) -> None:
    patients().write_parquet(tmp_path / "in.parquet")
    asked: dict[str, Any] = {"quasi": ["age", "sex", "zip"], "require": sf.KAnonymity(10), "search": "mondrian"}
    store = sf.scan(tmp_path / "in.parquet")
    with pytest.warns(sf.UnprotectedWarning):
        sf.anonymize(store, sensitive=["stroke"], to=tmp_path / "one", **asked)
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.UnprotectedWarning)
        kept = sf.anonymize(store, unprotected=["stroke"], to=tmp_path / "two", **asked)
    assert kept.manifest["policy"]["unprotected"] == ["stroke"]
    assert "nothing protects stroke" in repr(kept)
    (one,), (here,) = sf.suggest(kept), sf.suggest(released(unprotected=["stroke"]))
    assert (one.shell, one.touched, one.rows, one.attacks) == (here.shell, here.touched, here.rows, here.attacks)
    page = (tmp_path / "one" / "report.html").read_text("utf-8")
    assert " is sensitive, and no promise is about it. Homogeneity of " in re.sub(r"<[^>]+>", "", page)
    assert ": the weakest promise that brings these attacks near guessing." in page
    with pytest.raises(PolicyError, match="what a criterion costs cannot be measured on an out-of-core table"):
        sf.suggest(kept, cost=True)


# The suggestion.


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return released(unprotected=["stroke"])


def test_the_suggestion_needs_no_search(release: sf.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.verbs.suggest.anonymize", lambda *given, **more: pytest.fail("searched"))
    (one,) = sf.suggest(release)
    assert one.cost is None
    assert one.column == "stroke"
    assert set(one.attacks) == set(FOUR)
    assert all(advantage(attack) <= NEAR + 1e-12 for attack in one.attacks.values())


@pytest.mark.slow
def test_nothing_weaker_would_do() -> None:
    """By brute force: of all candidates that protect, none leaves more classes as they are."""
    from sfumato.measures.suggestion import _candidates

    release = released(patients(400), unprotected=["stroke"])
    quasi = ["age", "sex", "zip"]
    found = suggest_criterion([view(release.table, quasi, "stroke")])
    assert found is not None
    fewest = release.table.height
    whole = release.table["stroke"].value_counts()
    prior = dict(zip(whole["stroke"], whole["count"] / release.table.height, strict=True))
    groups = release.table.partition_by(quasi)
    for criterion in _candidates("stroke"):
        holds = [sf.verify(g, quasi=quasi, require=criterion).holds for g in groups] if criterion.model[0] != "t" else [
            sum(abs(prior[v] - (g["stroke"] == v).sum() / g.height) for v in prior) / 2 <= criterion.t + 1e-12
            for g in groups
        ]  # fmt: skip
        kept = [g for g, fine in zip(groups, holds, strict=True) if fine]
        rows = sum(g.height for g in kept)
        alike = sum(g.height for g in kept if g["stroke"].n_unique() == 1)
        skewed = sum(
            g.height for g in kept if any((g["stroke"] == v).sum() / g.height - p > 0.25 for v, p in prior.items())
        )
        lacking = sum(g.height for g in kept if any(p >= 0.1 and v not in g["stroke"] for v, p in prior.items()))
        if sf.verify(release.table.with_columns(age=pl.lit("*"), sex=pl.lit("*"), zip=pl.lit("*")),
                     quasi=quasi, require=criterion).holds and max(alike, skewed, lacking) <= NEAR * rows:  # fmt: skip
            fewest = min(fewest, release.table.height - rows)
    assert found.touched == fewest


def test_the_homogeneity_before_and_after(release: sf.Release) -> None:
    (one,) = sf.suggest(release, cost=True)
    assert one.cost is not None
    before, after, guessing = one.cost.attacks["homogeneity"]
    assert before > 0.5
    assert after == guessing == 0
    assert one.cost.loss[1] > one.cost.loss[0]
    again = released(require=[sf.KAnonymity(10), one.criterion])
    assert again.manifest["solution"]["loss"] == one.cost.loss[1]  # as the release tells it
    assert sf.attack(again.table, quasi=["age", "sex", "zip"], sensitive=["stroke"])["homogeneity"]["success"] == 0
    assert again.reach.unprotected == ()


@pytest.mark.parametrize("seed", range(4 * FUZZ))
def test_what_is_suggested_is_feasible_and_helps(seed: int) -> None:
    """Columns of two to forty values, even and skewed, of their own or following the age."""
    rng = np.random.default_rng(seed)
    values, rows = int(rng.integers(2, 40)), 600
    share = rng.dirichlet(np.full(values, float(rng.choice([0.1, 0.5, 5.0]))))
    age = rng.integers(20, 80, rows)
    code = rng.choice(values, rows, p=share)
    code = np.where(rng.random(rows) < 0.3 * (seed % 2), age * values // 81, code)
    table = {"age": age, "sex": rng.choice(["F", "M"], rows), "ill": [f"d{c}" for c in code]}
    asked: dict[str, Any] = {"quasi": ["age", "sex"], "search": "mondrian"}
    before = sf.anonymize(table, unprotected=["ill"], require=sf.KAnonymity(5), **asked)
    if before.table["ill"].n_unique() == 1:
        return
    (one,) = sf.suggest(before)
    after = sf.anonymize(table, require=[sf.KAnonymity(5), one.criterion], **asked)
    was, now = (sf.attack(made.table, quasi=["age", "sex"], sensitive=["ill"]) for made in (before, after))
    for name in ("homogeneity", "background-knowledge", "skewness", "negative-disclosure"):
        if now[name]["baseline"] < 1:
            limit = max(NEAR, was[name]["advantage"])  # never worse than it was
            assert now[name]["advantage"] <= limit + 1e-12, name


def test_columns_that_were_released_whatever_they_look_like() -> None:
    table = patients(600).with_columns(bmi=pl.Series(np.arange(600) % 71))
    asked: dict[str, Any] = {"quasi": ["age", "sex", "zip"], "unprotected": ["stroke"], "rest": "release"}
    release = sf.anonymize(table, **asked, require=sf.KAnonymity(5), search="mondrian")
    (one,) = sf.suggest(release, cost=True)
    assert one.cost is not None


def test_a_protected_release_needs_none() -> None:
    assert sf.suggest(released(require=[sf.KAnonymity(10), sf.DistinctLDiversity("stroke", 2)])) == ()
    with pytest.raises(PolicyError, match="suggest looks at a release"):
        sf.suggest(patients())


# What a newcomer types.


@pytest.mark.slow
def test_the_shell_says_so(run: Run) -> None:
    code, out, err = run("anonymize", "patients.csv", *ASKED, "--sensitive", "stroke", "-o", "out")
    assert code == 0
    assert 'note: nothing protects "stroke": no criterion looks at it. --suggest names one' in err
    assert "--unprotected stroke accepts that" in err
    assert "sf." not in err
    assert "The promise holds, but nothing protects stroke" in out
    assert "not protected: stroke is sensitive, and no promise is about it. Homogeneity of stroke" in out
    suggested = next(line for line in out.splitlines() if "--require" in line).split("'")[1]
    code, out, err = run("anonymize", "patients.csv", *ASKED, "--require", suggested, "-o", "again")
    assert code == 0
    assert "nothing protects" not in out + err
    assert run("verify", "again")[0] == 0


@pytest.mark.slow
def test_the_shell_tells_what_it_would_cost(run: Run) -> None:
    code, out, _ = run("anonymize", "patients.csv", *ASKED, "--sensitive", "stroke", "-o", "out", "--suggest")
    assert code == 0
    assert "suggested: --require '" in out
    assert "homogeneity of stroke: " in out
    assert " would become 0%, guessing 0%" in out
    code, out, _ = run("anonymize", "patients.csv", *ASKED, "--sensitive", "stroke", "-o", "two", "--suggest", "--json")
    (one,) = json.loads(out)["suggested"]
    assert one["require"]["attribute"] == "stroke"
    assert one["cost"]["loss"][1] > one["cost"]["loss"][0]


@pytest.mark.slow
def test_the_shell_and_the_policy_file_accept_it(run: Run, tmp_path: Path) -> None:
    code, out, err = run("anonymize", "patients.csv", *ASKED, "--unprotected", "stroke", "-o", "out")
    assert code == 0
    assert "nothing protects" not in err
    assert "The policy accepts that." in out
    policy = """
    [input]
    path = "patients.csv"
    [roles]
    quasi = ["age", "sex", "zip"]
    unprotected = ["stroke"]
    [[require]]
    model = "k-anonymity"
    k = 10
    [search]
    method = "mondrian"
    [hierarchies]
    zip = { learned = true, digits = "postcodes" }
    [output]
    path = "policy"
    """
    (tmp_path / "policy.toml").write_text(policy)
    code, _, err = run("anonymize", "policy.toml")
    assert (code, err) == (0, "")
    code, _, err = run("anonymize", "policy.toml", "--require", "distinct-l-diversity stroke 2", "-o", "three")
    assert code == 2
    assert 'protects the column "stroke", which is named as unprotected' in err


@pytest.mark.slow
def test_an_initial_policy_protects_what_is_sensitive(run: Run, tmp_path: Path) -> None:
    patients().rename({"stroke": "diagnosis"}).write_csv(tmp_path / "ill.csv")
    assert run("inspect", "ill.csv", "--init", "ill.toml")[0] == 0
    policy = tomllib.loads((tmp_path / "ill.toml").read_text())
    (one,) = [entry for entry in policy["require"] if entry.get("attribute") == "diagnosis"]
    assert one["model"] in ("entropy-l-diversity", "recursive-cl-diversity", "t-closeness")
    code, _, err = run("anonymize", "ill.toml", "--search", "mondrian", "--json")
    assert code == 0, err
    attacks = sf.attack(tmp_path / "ill-release")
    for name in ("homogeneity", "background-knowledge", "skewness", "negative-disclosure"):
        assert attacks[name]["advantage"] <= NEAR, name


def test_a_warning_that_is_told_again_by_its_text_says_the_same():
    told = str(sf.UnprotectedWarning(["disease"]))
    assert str(sf.UnprotectedWarning(told)) == told
