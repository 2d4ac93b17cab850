"""The report of a synthetic table: what its rows are stands first, and no figure of the original leaves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.core.masked import NOT_ANONYMOUS
from sfumato.core.wording import percent
from sfumato.measures.measure import wilson
from sfumato.measures.risk import copied_uniques, nearest_record
from sfumato.measures.synthetic import HOLES
from sfumato.measures.utility import marginals
from sfumato.report import report
from sfumato.report.sections.synthesis import CONSTRUCTED, DRAWN, MIXED, PARTIAL, PEOPLE, titled
from sfumato.report.sections.synthetic_measures import (
    NO_BASELINE,
    READ,
    UNKNOWN,
    _beside_chance,
    _counted,
    _judged,
    _shown,
)
from sfumato.report.translation import Missing, translated, translated_page
from sfumato.synthetic import GENERATORS

from .test_masking import text

RNG = np.random.default_rng(7)
ROWS = 300
TABLE = pl.DataFrame(
    {
        "name": [f"Anna {i}" for i in range(ROWS)],
        "age": RNG.integers(20, 70, ROWS),
        "region": RNG.choice(["north", "south"], ROWS),
        "pay": RNG.choice([10, 20, 30, 40], ROWS) * 1000,
        "disease": RNG.choice(["flu", "cold", "ulcer"], ROWS),
    }
)
KNOWN: dict[str, Any] = {"quasi": ["region", "disease"]}


IN_PART = sf.SequentialTrees(columns=["pay"])
RULED = sf.SequentialTrees(
    leaf=10, order=["region", "age"], rules=["if age < 30 then disease = flu"], smoothing="spline", proper=True
)


def drawn(generator: Any = "sequential-trees", **more: Any) -> Any:
    held = {"hold_out": 0, "rest": "release"} if getattr(generator, "changes", None) else {}
    return sf.synthesize(TABLE, generator, identifying=["name"], **{"seed": 1, **held, **more})


def page_of(release: Any) -> str:
    return report(release.manifest, release.table)


def said(page: str) -> str:
    return re.sub(r"\s+", " ", text(page)).replace("&#x27;", "'").replace("&quot;", '"')


def first_of(page: str) -> str:
    return re.sub("<.*?>", "", re.search(r"<h1[^>]*>(.*?)</h1>", page)[1]).replace("&#x27;", "'")  # type: ignore[index]


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ({}, DRAWN),
        ({"copies": "drop"}, DRAWN),
        ({"copies": "keep"}, f"{DRAWN}, but some may repeat one"),
        ({"k": 2, **KNOWN}, f"{DRAWN}, and the table keeps this promise"),
        ({"k": 2, **KNOWN, "m": 2}, f"{DRAWN}, and the table keeps this promise"),
        ({"generator": "bootstrap", "copies": "drop"}, PEOPLE),
        ({"generator": IN_PART}, PARTIAL),
        ({"generator": "mix"}, MIXED),
    ],
)
def test_the_first_sentence_says_what_the_rows_are(asked: dict[str, Any], first: str) -> None:
    page = page_of(drawn(**asked))
    assert first_of(page) == first
    assert first in said(page).partition("Release report")[0]  # the title
    assert "masked" not in said(page)
    assert NOT_ANONYMOUS in said(page)


def test_that_nobody_is_repeated_is_never_told_as_proven() -> None:
    page = page_of(drawn())
    assert f"replaced. {CONSTRUCTED}" in said(page)
    assert "checked by the owner against the original; needs the original" in said(page)
    assert "Proven" not in said(page)
    assert 'class="verdict"' not in page
    for kept in (drawn(copies="keep"), drawn(IN_PART), drawn("bootstrap", copies="drop")):
        assert CONSTRUCTED not in said(page_of(kept))
    assert "no-copies" not in [fact["fact"] for fact in drawn(copies="keep").manifest["facts"]]


def test_promises_are_proven_of_the_drawn_rows() -> None:
    page = page_of(drawn(k=2, **KNOWN))
    assert "Proven k-anonymity, k = 2, derived again from the released rows alone." in said(page)
    assert page.count('class="verdict"') == 1
    assert "Risk of the release" not in said(page)  # none of the rows is the right one
    assert "picks the right record" not in said(page)
    several = said(page_of(drawn(k=2, **KNOWN, m=2)))
    assert "copy, region" not in several
    assert "2 tables were drawn, each anew; copy says which one a row is of." in several


def test_the_figures_of_the_head() -> None:
    head = said(page_of(drawn(rows=120, m=2))).partition("About this release")[0]
    for figure in ("Rows drawn 240 in 2 tables", "Original 300 rows", "Made anew 4 of 4 columns", "Held out 10%"):
        assert figure in head
    head = said(page_of(drawn(hold_out=0))).partition("About this release")[0]
    assert "Held out none no baseline" in head
    assert "cannot tell what is copied from what chance repeats" in said(page_of(drawn(hold_out=0)))


def test_columns_are_made_anew_or_as_they_were() -> None:
    assert "pay Made anew integer drawn from the model" in said(page_of(drawn()))
    page = said(page_of(drawn(IN_PART, m=2)))
    assert "pay Made anew integer drawn from the model" in page
    assert "age Insensitive integer as it was" in page
    assert "copy Number of the copy integer says which table a row is of" in page
    alone = TABLE.select("age", "region", "disease").is_unique().sum()
    assert re.search(r"together they single out \d+\. Counted in the first table", page)
    held = said(page_of(drawn(IN_PART, hold_out=0, copies="keep", m=2)))
    assert f"together they single out {alone}." in held  # not hidden by their second row in the other table


def test_parameters_rules_and_order_are_told_in_words() -> None:
    table = TABLE.with_columns(disease=pl.when(pl.col("age") < 30).then(pl.lit("flu")).otherwise("disease"))
    page = said(page_of(sf.synthesize(table, RULED, identifying=["name"], seed=1)))
    told = page.partition("How it was drawn")[2].partition("What it leaves open")[0]
    assert "drawn from leaves of 10 rows or more" in told
    assert "Rows of a leaf, at least 10" in told
    assert "Order of the columns region , age" in told
    assert "Rules that every row keeps if age &lt; 30 then disease = flu" in told
    assert "Grown on a bootstrap sample yes" in told
    assert "complexity" not in told  # which is 0


def test_rows_of_people_are_at_risk_as_such() -> None:
    page = said(page_of(drawn("bootstrap", copies="keep", quasi=["age", "region"], sensitive=["disease"])))
    assert "Made anew 0 of 4 columns" in page
    assert "Risk of the release" in page
    assert "picks the right record at most 1 in 1 times" in page


@pytest.mark.parametrize("asked", [{"copies": "drop"}, {"copies": "keep", "m": 2, **KNOWN}, {"k": 2, **KNOWN}])
def test_the_folder_gives_the_same_bytes_and_holds_nothing_that_compares(asked: dict[str, Any], tmp_path: Path) -> None:
    made = drawn(**asked)
    made.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert main(["report", str(tmp_path / "out"), "-o", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text("utf-8") == page
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["data.csv", "manifest.json", "report.html"]
    assert not re.search(rf"\b{made.synthesis.repeated} ", said(page).replace(f"{made.table.height} ", ""))
    for word in ("Internal", "nearest", "before and after", "propensity", "Anna"):
        assert word not in said(page)
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert not {"repeated", "held_out", "first", "model"} & {*told, *told["synthesis"]}


VARIED = (IN_PART, RULED, sf.SequentialTrees(columns=["pay", "age"], rows_at_risk=0.3), sf.GaussianCopula(shrink=False))


@pytest.mark.parametrize("generator", [*(GENERATORS[name].example for name in GENERATORS), *VARIED], ids=repr)
def test_every_generator_has_italian_words(generator: Any) -> None:
    missing, does = Missing(), generator.sentence()
    name = GENERATORS.name_of(generator)
    for one in (titled({"step": name}), f"{does[0].upper()}{does[1:]}.", f"{does}.", generator.leaves):
        translated(one, "it", missing)
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"copies": "drop", "hold_out": 0},
        {"copies": "keep", "m": 2, **KNOWN},
        {"k": 2, **KNOWN, "m": 2},
        {"generator": "bootstrap", "copies": "drop", **KNOWN, "sensitive": ["age"], "require": []},
        {"generator": "bootstrap", "copies": "keep", "quasi": ["age"]},
        {"generator": IN_PART, "m": 2, "quasi": ["age", "pay"]},
        {"generator": IN_PART, "copies": "drop", "quasi": ["pay"]},
        {"generator": IN_PART, "copies": "keep"},
        {"generator": "gaussian-copula"},
        {"generator": "mix", "copies": "keep"},
    ],
)
def test_every_sentence_has_italian_words(asked: dict[str, Any]) -> None:
    missing, made = Missing(), drawn(**asked)
    translated_page(page_of(made), "it", missing)
    translated_page(report(made.manifest), "it", missing)
    for line in sf.explain(made).lines:
        for part in line:
            translated(part, "it", missing)
    assert not missing


def test_a_promise_or_a_fact_that_is_not_so_leads_the_page() -> None:
    made = drawn(k=2, **KNOWN)
    missing = Missing()
    for model, said in (
        ("k-anonymity", "the promise does not hold"),
        ("integrity", "the data are not those that the manifest describes"),
    ):
        broken = {**made.manifest, "promises": [{**made.manifest["promises"][0], "model": model, "holds": False}]}
        assert first_of(report(broken, made.table)) == f"{DRAWN}, and {said}"
        translated_page(report(broken, made.table), "it", missing)
    assert not missing


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str, Path]:
    """A release with its internal report."""
    folder = tmp_path_factory.mktemp("release")
    made = drawn(quasi=["age", "region"], sensitive=["disease"])
    made.save(folder / "out", internal_report=folder / "kept.html")
    return made, (folder / "kept.html").read_text("utf-8"), folder / "out"


@pytest.mark.slow
def test_the_internal_report_counts_copies_beside_chance(kept: tuple[Any, str, Path]) -> None:
    made, page, _ = kept
    told = said(page)
    assert "Internal: do not publish with the release" in told
    again = f"{made.synthesis.repeated} drawn rows repeated a row that stands alone in the original"
    assert f"{again}, held-out rows included; they were replaced." in told
    before = copied_uniques(made.learnt_from, made.synthesis.first, hold_out=made.hold_out)  # before redrawing
    assert before.value > before.details["hold_out"]["new"]["share"]
    assert before.sentence in told
    assert "the model repeats people." in told
    shares = (before.value, before.details["hold_out"]["new"]["share"], before.baseline)
    assert f"In all columns {' '.join(map(percent, shares))} 0%" in re.sub(r"\s+", " ", told)  # none as released
    near = before.details["near"]["share"], before.details["hold_out"]["near"]["share"]
    assert f"In all columns but one {percent(near[0])} – {percent(near[1])}" in told


@pytest.mark.parametrize(("share", "width"), [(0.002, "0.2"), (0.5, "50")])
def test_bars_of_copies_end_at_all_rows(share: float, width: str) -> None:
    shown = str(_shown({"value": share, "details": {"hold_out": {"new": {"share": share}}}}, None))
    assert re.findall(r'class="(bar|bar was)" width="([^"]*)"', shown) == [("bar", width), ("bar was", width)]


@pytest.mark.parametrize(
    ("name", "value", "interval", "baseline", "details", "mark"),
    [
        ("disco: ill", 1 / 2700, wilson(1, 2700), 0.0, {}, None),  # 0 of 300 people is as much
        ("disco: ill", 0.05, wilson(135, 2700), 0.0, {}, "Above chance"),
        ("replicated-uniques", 0.05, wilson(135, 2700), 0.04, {}, None),
        ("nearest-record", 0.95, (0.94, 0.96), 0.9, {}, "Above chance"),
        ("nearest-record", 0.905, (0.89, 0.92), 0.9, {}, None),
        ("nearest-record", 0.85, (0.84, 0.86), 0.9, {}, None),  # rows are nearer to others
        ("synthetic-membership", 0.4, (0.35, 0.45), 0.5, {}, "Below chance"),
        ("inference", 0.4, (0.37, 0.43), 0.35, {"control_interval": (0.3, 0.41)}, None),
        ("inference", 0.5, (0.47, 0.53), 0.35, {"control_interval": (0.3, 0.41)}, "Above chance"),
        ("disco", 0.05, wilson(135, 2700), None, {}, None),
        ("likely-but-absent", 0.6, None, 0.5, {}, None),
    ],
)
def test_what_is_clearly_off_chance_is_marked(
    name: str, value: float, interval: Any, baseline: float | None, details: dict[str, Any], mark: str | None
) -> None:
    """By more than the 95% interval of the difference: the rows held out are a sample, too."""
    measure = {"name": name, "value": value, "interval": interval, "baseline": baseline, "details": details}
    assert _beside_chance(measure, 300) == mark


def test_a_copy_that_chance_may_repeat_is_no_alarm() -> None:
    held = {"hold_out": {"new": {"share": 0.0, "interval": wilson(0, 300)}}}
    for copied, verdict in ((1, "No more than chance repeats."), (100, "More than chance: the model repeats people.")):
        found = {"value": copied / 2700, "interval": wilson(copied, 2700), "details": held}
        assert verdict in str(_judged(found))


def test_the_internal_report_marks_what_is_off_chance(kept: tuple[Any, str, Path]) -> None:
    made, page, _ = kept
    told = said(page[page.index('aria-labelledby="disclosure"') : page.index('aria-labelledby="attacks"')])
    near = nearest_record(made.learnt_from, made.table, hold_out=made.hold_out)
    assert near.interval is not None
    assert f"{percent(near.value)} {' to '.join(map(percent, near.interval))}" in told
    figures = re.search(r"(\d) of (\d) figures (is|are) clearly off chance", told)
    assert figures is not None
    assert 0 < int(figures[1]) <= told.count("Above chance") + told.count("Below chance")
    for off, every in ((0, 5), (1, 5), (2, 5), (1, 1)):
        missing = Missing()
        translated_page(str(_counted(off, every)), "it", missing)
        assert not missing


def test_the_internal_report_says_what_the_table_tells_and_is_good_for(kept: tuple[Any, str, Path]) -> None:
    made, page, folder = kept
    told = said(page)
    for title, does in READ.values():
        if title not in (
            "Unique rows repeated",
            "The same conclusions",
        ):  # a disease is no number, and has not two values
            assert title in told
            assert does in told
    for title in ("Singling out on all columns", "Pairs of columns", "Each column beside the original", "On others"):
        assert title in told
    far = marginals(made.learnt_from, made.table, hold_out=made.hold_out)
    assert far.sentence in told
    assert f"{100 * far.details['pairs'][1][0]:.1f}" in page.partition("Pairs of columns")[2]
    public = said((folder / "report.html").read_text("utf-8"))
    assert not any(title in public for title, _ in READ.values())
    assert far.sentence not in public
    assert "Not measured: interval-overlap:" in told
    missing = Missing()
    translated_page(page, "it", missing)
    assert not missing


@pytest.mark.slow
def test_without_rows_held_out_there_is_no_baseline() -> None:
    made = drawn(hold_out=0, m=2, copies="keep")
    page = made._internal(made.manifest)
    assert NO_BASELINE in said(page)
    assert "Measured on the first of 2 tables." in said(page)
    assert "As drawn" not in said(page).replace("As drawn, and chance As drawn Held out", "")
    assert "On others" not in said(page)
    missing = Missing()
    translated_page(page, "it", missing)
    assert not missing


@pytest.mark.slow
def test_people_who_are_told_by_their_absence_are_an_alarm() -> None:
    alarm = f'<p class="alarm"><b>U{HOLES[1:]}.</b></p>'
    away, kept = (
        sf.synthesize(TABLE.select("age", "region"), "bayes", rows=3_000, seed=1, copies=copies)
        for copies in ("redraw", "keep")
    )
    page = away._internal(away.manifest)
    assert alarm in page
    assert alarm not in kept._internal(kept.manifest)
    missing = Missing()
    translated_page(page, "it", missing)
    assert not missing


@pytest.mark.slow
def test_the_internal_report_from_the_folder_says_what_it_cannot_know(
    kept: tuple[Any, str, Path], tmp_path: Path
) -> None:
    TABLE.write_csv(tmp_path / "original.csv")
    asked = ["report", str(kept[2]), "--original", str(tmp_path / "original.csv"), "-o", str(tmp_path / "kept.html")]
    assert main(asked) == 0
    page = (tmp_path / "kept.html").read_text("utf-8")
    assert UNKNOWN in said(page)
    assert "0 (0%) occur in the synthetic table" in said(page)
    missing = Missing()
    translated_page(page, "it", missing)
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{"generator": IN_PART, "m": 2}, {"generator": "bootstrap", "copies": "keep"}])
def test_internal_reports_of_rows_of_people(asked: dict[str, Any]) -> None:
    made = drawn(**asked, quasi=["age", "region"], sensitive=["disease", "pay"])
    page = made._internal(made.manifest)
    assert "Told for sure, and right of disease" in said(page)
    missing = Missing()
    translated_page(page, "it", missing)
    assert not missing


@pytest.mark.slow
def test_the_internal_report_of_households_measures_persons(tmp_path: Path) -> None:
    homes = TABLE.with_columns(home=pl.int_range(ROWS) // 3)
    made = sf.synthesize(homes, "linked-tables household=home", identifying=["name"], seed=1, quasi=["age", "region"])
    page = made._internal(made.manifest)
    assert "by sequential trees, then their persons" in said(page)
    homes.drop("name").write_csv(tmp_path / "homes.csv")
    folder = str(made.save(tmp_path / "out"))
    assert main(["report", folder, "--original", str(tmp_path / "homes.csv"), "-o", str(tmp_path / "again.html")]) == 0
    compared = r'<section aria-labelledby="(?:disclosure|attacks|pairs|columns|heat|moments)">.*?</section>'
    for one in (page, (tmp_path / "again.html").read_text("utf-8")):
        measured = re.findall(compared, one, re.DOTALL)
        assert len(measured) == 6
        assert not [part for part in measured if "home" in part]  # new numbers, which tell nothing
    missing = Missing()
    translated_page(page, "it", missing)
    assert not missing


def test_explain_tells_what_was_drawn_and_what_that_leaves_open() -> None:
    lines = dict(sf.explain(drawn(k=2, **KNOWN, m=2)).lines)
    assert lines["What it is"].startswith(
        "a table drawn from a model of a table about people; no row is a person's row"
    )
    assert lines["By construction"].startswith("no row repeats a row that stands alone in the original")
    assert '"copy"' not in lines["Proven"]
    assert lines["Not anonymous"] == NOT_ANONYMOUS
    assert "As it was" not in lines
    lines = dict(sf.explain(drawn(IN_PART)).lines)
    assert lines["What it is"].startswith("a table about people, some values of which were drawn from a model")
    assert lines["As it was"] == '"age", "region" and "disease" stand there as before.'
    assert "can tell" in lines["Measured"]
    assert "row is a person" not in str(sf.explain(drawn("bootstrap", copies="keep")))


def test_a_notebook_is_shown_what_the_rows_are() -> None:
    title, facts = drawn(copies="keep").described()
    assert title == "Synthetic release of 300 rows"
    assert dict(facts)["rows"] == f"{DRAWN}, but some may repeat one"
    assert dict(facts)["repeats"].startswith("Rows of people may be repeated")
