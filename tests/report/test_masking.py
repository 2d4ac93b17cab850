"""The report of a masked table: what it is stands first, and facts are never told as promises."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.core.masked import PSEUDONYMOUS
from sfumato.core.wording import number
from sfumato.masking import MASKERS
from sfumato.report import report
from sfumato.report.sections.masking import TITLES
from sfumato.report.translation import Missing, translated, translated_page

RNG = np.random.default_rng(7)
ROWS = 240
TABLE = pl.DataFrame(
    {
        "name": [f"Anna {i}" for i in range(ROWS)],
        "age": RNG.integers(20, 70, ROWS),
        "region": RNG.choice(["north", "south"], ROWS),
        "pay": np.round(RNG.lognormal(10, 0.5, ROWS)).astype(int),
        "disease": RNG.choice(["flu", "cold", "ulcer"], ROWS),
    }
)
ASKED: dict[str, Any] = {"identifying": ["name"], "sensitive": ["disease"], "seed": 1}
NOTHING = "This table was masked; nothing is promised of the people in it"


def perturbed(**more: Any) -> sf.Release:
    steps = [sf.RankSwapping("pay", p=5), sf.Pram("region", p=0.8), sf.Rounding("age", base=10)]
    return sf.mask(TABLE, steps, quasi=["age", "region"], **ASKED, **more)


def coarser(**more: Any) -> sf.Release:
    steps = [sf.GlobalRecoding("age", groups=3), sf.TopBottomCoding("pay", top=95, kind="percentile")]
    return sf.mask(TABLE, steps, quasi=["age", "region"], **ASKED, **more)


def text(page: str) -> str:
    """A page without its style and tags."""
    return re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.S))


def page_of(release: sf.Release, **more: Any) -> str:
    return report({**release.manifest, **more}, release.table)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (perturbed, NOTHING),
        (lambda: coarser(k=5), "This table was masked and keeps this promise"),
        (
            lambda: coarser(require=["k-anonymity 5", "distinct-l-diversity disease 2"]),
            "This table was masked and keeps these promises",
        ),
    ],
)
def test_the_first_sentence_says_what_it_is(make: Any, said: str) -> None:
    page = page_of(make())
    assert re.search(r"<h1[^>]*>(.*?)(?:<|$)", page)[1] == said  # type: ignore[index]
    assert f"<title>{said}" in page


def test_a_recoding_says_that_it_is_proven() -> None:
    made = sf.anonymize(TABLE.drop("pay"), quasi=["age", "region"], identifying=["name"], unprotected=["disease"], k=5)
    page = report(made.manifest, made.table)
    assert page.index('class="kind">This table was recoded') < page.index("<h1")
    broken = {**made.manifest, "promises": [{**made.manifest["promises"][0], "holds": False}]}
    assert "This table was recoded" not in report(broken, made.table)


def test_steps_with_what_they_leave_open_and_facts_without_a_word_of_promises() -> None:
    page = page_of(perturbed())
    said = text(page)
    assert "Values exchange with others from the next 5 percent of ranks." in said
    assert "Most values stay true: a combination of many columns may still point to one person." in said
    assert "checked by the owner against the original; needs the original" in said
    assert "checked on the released rows" in said
    assert not re.search(r"\bholds?\b(?! all)", said, re.I)  # "data.csv holds all records" is of the file
    assert 'class="verdict"' not in page
    assert 'class="mark"' not in page


def test_class_risk_is_told_of_what_is_not_perturbed_only() -> None:
    said = text(page_of(perturbed()))
    assert "for perturbed columns the risk by classes of equal rows is not meaningful" in said
    assert "Risk of the release" not in said
    assert "singles out" not in said.partition("What the steps did")[0].partition("Not perturbed")[0]
    said = text(page_of(coarser()))
    assert "Risk of the release" in said
    assert "not meaningful" not in said
    said = text(
        page_of(sf.mask(TABLE, [sf.Rounding("age", base=25)], quasi=["age", "region"], rest="release", k=5, **ASKED))
    )
    assert "the classes are those of the released values, as the promises count them" in said


def test_marks_of_the_columns_and_the_sentence_of_pseudonyms() -> None:
    said = re.sub(r"\s+", " ", text(page_of(perturbed(), pseudonymous=PSEUDONYMOUS)))
    assert "pay Masked integer perturbed by step 1" in said
    assert "disease Sensitive text as it was" in said
    assert "name Identifying removed" in said
    assert said.count(PSEUDONYMOUS) == 2  # in the headline, and beside the signature
    assert "changed by step 2, not perturbed" in text(page_of(coarser()))
    assert PSEUDONYMOUS not in text(page_of(perturbed()))


@pytest.mark.parametrize("make", [perturbed, lambda: coarser(k=5)])
def test_the_folder_gives_the_same_bytes(make: Any, tmp_path: Path) -> None:
    make().save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_bytes()
    assert main(["report", str(tmp_path / "out"), "-o", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_bytes() == page


def test_a_fact_that_is_not_so_leads_the_page(tmp_path: Path) -> None:
    folder = perturbed().save(tmp_path / "out")
    data = folder / "data.csv"
    data.write_text(re.sub(r"^20,", "21,", data.read_text("utf-8"), count=1, flags=re.M), "utf-8")
    assert main(["report", str(folder), "-o", str(tmp_path / "again.html")]) == 1
    said = text((tmp_path / "again.html").read_text("utf-8"))
    assert "This table was masked, and the data are not those that the manifest describes" in said
    assert "Not so:" in said
    made = perturbed()
    other = made.table.with_columns(age=pl.col("age") + 1)
    assert "This table was masked, and is not what its steps say" in report(made.manifest, other)


def test_nothing_of_the_original_is_in_it(tmp_path: Path) -> None:
    made = coarser()
    page = text(page_of(made))
    gone = [value for value in TABLE["pay"].to_list() if value not in set(made.table["pay"])]
    assert gone
    assert not any(re.search(rf"\b{value}\b", page.replace(",", "")) for value in gone)
    assert "Anna" not in page


def test_without_the_rows_facts_are_not_checked() -> None:
    said = text(report(perturbed().manifest))
    assert "the rows were not looked at" in said
    assert "checked on the released rows" not in said.partition("State")[2]


@pytest.mark.slow
@pytest.mark.parametrize("make", [perturbed, lambda: coarser(k=5)])
def test_every_sentence_has_italian_words(make: Any) -> None:
    missing, made = Missing(), make()
    translated_page(page_of(made, pseudonymous=PSEUDONYMOUS), "it", missing)
    translated_page(report(made.manifest), "it", missing)
    translated_page(report(made.manifest, made.table.with_columns(age=pl.lit("99"))), "it", missing)
    assert not missing


@pytest.mark.parametrize("name", MASKERS)
def test_every_step_has_italian_words(name: str) -> None:
    step, missing = MASKERS[name].example, Missing()
    does = step.sentence()
    for said in (TITLES.get(name, name.replace("-", " ").capitalize()), f"{does[0].upper()}{does[1:]}.", step.leaves):
        translated(said, "it", missing)
    assert not missing


@pytest.mark.slow
def test_the_internal_report_measures_by_distance(tmp_path: Path) -> None:
    made = perturbed()
    made.save(tmp_path / "out", internal_report=tmp_path / "kept.html")
    page = (tmp_path / "kept.html").read_text("utf-8")
    said = re.sub(r"\s+", " ", text(page))
    assert "Internal: do not publish" in said
    for part in (
        "Distance linkage",
        "Inference",
        "Interval disclosure",
        "Mean before",
        "Correlations, those that moved",
    ):
        assert part in said
    assert "Homogeneity" not in said
    assert "Loss metric" not in said  # it would not count what is perturbed
    share = re.search(r"What changed per column.*?pay masked.*?(The same shares as before|another group)", said)
    assert share
    assert share[1] == "The same shares as before"  # of values that were swapped
    mean = TABLE["pay"].mean()
    assert f"pay {number(mean)} {number(mean)}" in said
    missing = Missing()
    translated_page(page, "it", missing)
    assert not missing


@pytest.mark.slow
def test_the_internal_report_from_the_folder_says_what_it_cannot_know(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "original.csv")
    perturbed().save(tmp_path / "out")
    asked = ["report", str(tmp_path / "out"), "--original", str(tmp_path / "original.csv")]
    assert main([*asked, "-o", str(tmp_path / "kept.html")]) == 0
    said = text((tmp_path / "kept.html").read_text("utf-8"))
    assert "Linkage was not tried: it is not known which original row each released row came from." in said
    assert "Means and standard deviations" in said


def test_a_release_of_an_earlier_format_has_a_report(tmp_path: Path) -> None:
    folder = Path(__file__).parents[1] / "release" / "manifests" / "format_2" / "masked"
    shutil.copytree(folder, tmp_path / "out")
    assert main(["report", str(tmp_path / "out")]) == 0
    said = text((tmp_path / "out" / "report.html").read_text("utf-8"))
    assert "This table was masked and keeps this promise" in said


@pytest.mark.slow
def test_a_recoding_that_was_masked_too(tmp_path: Path) -> None:
    steps = [sf.RankSwapping("pay", p=10), ("after", sf.Pram("disease", p=0.9))]
    asked: dict[str, Any] = {"quasi": ["age", "region"], "identifying": ["name"], "insensitive": ["pay", "disease"]}
    made = sf.anonymize(TABLE, k=5, mask=steps, seed=1, **asked)
    made.save(tmp_path / "out", internal_report=tmp_path / "kept.html")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    said = re.sub(r"\s+", " ", text(page))
    assert "This table was recoded, and masked too; what it promises of the people in it is proven" in said
    assert "What the steps did" in said
    assert "pay and disease have other values than they had" in said
    assert "pay Insensitive integer perturbed by step 1" in said
    assert "singles out" not in said.partition("About this release")[0]  # what was perturbed is nobody's value
    assert main(["report", str(tmp_path / "out"), "-o", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text("utf-8") == page
    missing = Missing()
    translated_page(page, "it", missing)
    translated_page((tmp_path / "kept.html").read_text("utf-8"), "it", missing)
    assert not missing
