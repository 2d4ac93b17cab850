"""The report in Italian: every sentence, whatever the policy, and nothing of the data."""

from __future__ import annotations

import copy
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.core.roles import _role_of_name
from sfumato.criteria import CRITERIA
from sfumato.criteria.sets import SET_PROMISES
from sfumato.hierarchies import parse
from sfumato.losses import LOSSES
from sfumato.report import internal_report, report
from sfumato.report.files import of_table
from sfumato.report.manifest import called, model
from sfumato.report.page import QUIET, browser
from sfumato.report.release_set import set_report
from sfumato.report.sections.attacks import ATTACKS, described
from sfumato.report.sections.method import ENDS, ORDERS, RECODINGS, _search
from sfumato.report.translation import Missing, translated, translated_page
from sfumato.search import SEARCHES
from sfumato.search.suppression.minimal import PROVEN

from .test_report import MANIFEST, Outline, two_sets

ROWS = range(120)
TABLE = pl.DataFrame(
    {
        "name": [f"Anna {i}" for i in ROWS],
        "age": [20 + i * 31 % 53 for i in ROWS],
        "born": [f"19{40 + i % 60}-0{1 + i % 9}-1{i % 9}" for i in ROWS],
        "zip": [str(80331 + i % 7) for i in ROWS],
        "role": ["Holds" if i % 2 else "Removed" for i in ROWS],
        "disease": [("flu", "ulcer", "asthma", "cold")[i * 3 % 11 % 4] for i in ROWS],
        "cost": [100.5 + 7 * i for i in ROWS],
    }
)
ASKED: dict[str, Any] = {"identifying": ["name"], "quasi": ["age", "born", "zip", "role"], "k": 4, "suppression": 0.2}
DRAWN = {"sensitive": ["disease"], "insensitive": ["cost"], "require": ["entropy-l-diversity disease 1.5"]}


HIERARCHY_SPECS = (
    "intervals:5,10", "dates:day,month,quarter,year,decade", "redact:right", "redact:left", "redact:2,4",
    "redact:left,1,char=#", "either:redact:right or redact:left or flat", "flat", "learned",
    "learned:groups=20", "learned:digits=codes", "learned:groups=20,digits=postcodes",
    "order:low,mid,high", "levels:*",
)  # fmt: skip
READING = {
    "dates": {"born": "dmy"},
    "years_up_to": {"born": 2026},
    "numbers": {"cost": "a point between thousands, a decimal comma and a unit or percent sign"},
    "missing": ["*"],
    "value_labels": ["sex", "ward"],
    "skip": 2,
    "drop_missing": {"rows": 3, "columns": ["age"]},
}


def pages(folder: Path) -> Iterator[str]:
    """Public reports of several kinds."""
    yield report(MANIFEST)
    yield report({**MANIFEST, "input": {"rows": 20_000, "reading": READING}})
    yield report({**MANIFEST, "policy": {**MANIFEST["policy"], "row_key": ["id", "visit"]}})
    yield report(two_sets(copy.deepcopy(MANIFEST)))
    made = sf.anonymize(TABLE, **ASKED, **DRAWN, profile="clinical", about={"suggested": ["age"]})
    yield report(made.manifest, made.table)
    more: dict[str, Any] = {"unprotected": ["disease", "cost"], "order": "input", "profile": "hipaa"}
    made = sf.anonymize(
        TABLE, **ASKED, **more, search="optimal", hierarchies={"born": "dates:month,year", "zip": "prefix:2,4"}
    )
    yield report(made.manifest, made.table)
    yield report({**made.manifest, "promises": [{**made.manifest["promises"][0], "holds": False}]}, made.table)
    yield report(made.manifest)
    file = folder / "t.csv"
    TABLE.drop("name").write_csv(file)
    found, _ = of_table(file, TABLE.drop("name"), [["age", "zip"]], ["disease"], [sf.KAnonymity(2)])
    yield report(found, TABLE.drop("name"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_sentence_of_the_public_report_has_italian_words(tmp_path: Path) -> None:
    missing = Missing()
    for page in pages(tmp_path):
        there = translated_page(page, "it", missing)
        assert re.findall(r"</?\w+", there) == re.findall(r"</?\w+", page)
        assert Outline(there).ids() == Outline(page).ids()
    made_up = ("is spread almost as in the whole", "at least as varied as 3 values")  # sentences of that manifest alone
    assert [one for one in missing if not one.endswith(tuple(f"{end}." for end in made_up))] == []


VARIED: tuple[dict[str, Any], ...] = (
    {"keep": "consistent-columns"},
    {"levels": {"zip": (0, 1)}, "hierarchies": {"zip": "flat"}},
    {"quasi": [["age", "zip"], ["role"]]},
    {"loss": "precision"},
    {"search": "minimal-suppression"},
    {"search": "mondrian", "numbers": "bounds"},
    {"numbers": "draw", "seed": 1, "order": "random", "ends": "exact"},
    {"require": ["t-closeness disease 0.4"], "unprotected": [], "search": "optimal"},
    {"require": ["beta-likeness disease 2"], "unprotected": [], "search": "optimal"},
    {"require": ["alpha-k 0.9 2 disease per=flu=0.8", "distinct-l-diversity disease 2 per=flu=2"], "unprotected": []},
    {"require": ["t-closeness disease 0.9 reference=flu=1"], "unprotected": [], "search": "optimal"},
    {"require": ["distinct-l-diversity disease 2"], "unprotected": [], "profile": "gdpr", "labels": "ranges"},
    {"weight": "cost", "insensitive": ["born"], "rest": "release", "suppression": 0},
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("more", VARIED, ids=lambda more: "-".join(more))
def test_reports_of_varied_policies_have_italian_words(more: dict[str, Any]) -> None:
    asked: dict[str, Any] = {
        "identifying": ["name"], "quasi": ["age", "zip", "role"], "sensitive": ["disease"], "unprotected": ["disease"],
        "insensitive": ["born", "cost"], "k": 3, "suppression": 0.3,
    }  # fmt: skip
    made = sf.anonymize(TABLE, **(asked | more))
    missing = Missing()
    translated_page(report(made.manifest, made.table), "it", missing)
    for _, sentence in sf.explain(made).lines:
        translated(sentence, "it", missing)
    assert missing == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_sentence_of_the_internal_report_has_italian_words() -> None:
    made = sf.anonymize(TABLE, **ASKED, **DRAWN, profile="gdpr")
    page = internal_report(
        made.manifest,
        made.table,
        made.original,
        rows=made.rows,
        hierarchies=made.hierarchies,
        exact=made.solution.verdict,
    )
    missing = Missing()
    assert "Interno: da non pubblicare con il rilascio" in translated_page(page, "it", missing)
    assert missing == []


def words() -> Iterator[str]:
    """What is named in a report and comes from a table of variants."""
    for name in CRITERIA:
        parameters = CRITERIA[name].example.parameters()
        yield model({"model": name, "parameters": parameters})
        yield model({"model": name, "parameters": parameters | {"quasi": ["age", "zip"]}})
    for variant in SET_PROMISES.values():
        yield from (variant.words, variant.stops, variant.leaves, variant.example.sentence())
    yield from (called(LOSSES, name) for name in LOSSES)
    yield from (_search(name) for name in SEARCHES if SEARCHES[name].make.__module__.startswith("sfumato."))
    yield from (parse(text).describe() for text in HIERARCHY_SPECS)
    yield from (text for table in (RECODINGS, ENDS, ORDERS, ATTACKS) for text in table.values())
    yield from (described({"name": name})[0] for name in ATTACKS)
    yield from PROVEN.values()
    for name in ("ssn", "disease", "age", "id", "weight"):
        found = _role_of_name(name, name == "weight", False)
        assert found is not None
        yield found[1]


@pytest.mark.parametrize("text", list(words()))
def test_every_variant_has_italian_words(text: str) -> None:
    missing = Missing()
    translated(text, "it", missing)
    assert missing == []


@pytest.mark.filterwarnings("ignore")
def test_reports_of_several_tables_are_italian_where_the_manifest_asks_for_it() -> None:
    asked = {"quasi": ["age", "zip"], "sensitive": ["disease"], "require": sf.DistinctLDiversity("disease", 3)}
    groups = sf.levels({"flu": "A", "ulcer": "B", "asthma": "A", "cold": "A"})
    made = [
        sf.anonymize(TABLE.select("age", "zip", "disease"), **asked, search="anatomy"),
        sf.anonymize(TABLE.select("age", "zip", "disease"), **asked, search="slicing"),
        sf.fragment(TABLE.select("age", "disease"), constraints=[["age", "disease"]], k=2),
        sf.fragment(TABLE.select("age", "disease", "zip"), constraints=[["age", "disease"], ["zip"]]),
        sf.anonymize_baskets(TABLE, basket="zip", item="disease", k=2, m=2, hierarchy=groups),
        sf.mine(TABLE, basket="zip", item="disease", k=1, support=1),
        sf.mine(TABLE, features=["age"], target="disease", k=1),
        sf.mine(TABLE, features=["age"], target="zip", k=1, miner="pooled-naive-bayes"),
    ]
    missing = Missing()
    for release in made:
        frames = {part.name: part.frame for part in release.parts}
        page = set_report(release.manifest, frames)
        assert "Not covered:" in page
        assert translated_page(page, "it", missing) == set_report(
            release.manifest | {"about": {"language": "it"}}, frames
        )
        for line in sf.explain(release).lines:
            for said in line:
                translated(said, "it", missing)
    assert missing == []


@pytest.mark.slow
def test_data_stay_as_they_are_and_numbers_do_not(tmp_path: Path) -> None:
    made = sf.anonymize(TABLE, **ASKED, **DRAWN, about={"dataset": "Removed", "language": "it"})
    folder = made.save(tmp_path / "out")
    page = (folder / "report.html").read_text("utf-8")
    assert '<bdi class="name">role</bdi>' in page
    assert "<bdi>Holds</bdi>" in page  # a label that is a word of ours too
    assert "<dd><bdi>Removed</bdi></dd>" in page
    text = Outline(page).text
    assert re.search(r"\b\d+,\d+%", text)
    assert not re.search(r"\b\d+\.\d+%", text)
    assert main(["report", str(folder)]) == 0  # the language is that of the manifest
    assert (folder / "report.html").read_text("utf-8") == page
    assert main(["report", str(folder), "--language", "en", "-o", str(tmp_path / "en.html")]) == 0
    assert '<html lang="en">' in (tmp_path / "en.html").read_text("utf-8")
    assert main(["report", str(folder), "--language", "la", "-o", str(tmp_path / "la.html")]) == 2


def test_a_hostile_manifest_asks_for_no_language_that_there_is_not() -> None:
    for about in (
        {"language": "../en"},
        {"language": ["it"]},
        "it",
        [1],
        {"columns": 3, "dataset": 4, "suggested": {}},
    ):
        assert '<html lang="en">' in report({**MANIFEST, "about": about})


@pytest.mark.browser
@pytest.mark.usefixtures("chromium")
@pytest.mark.parametrize("width", [500, 1280])
def test_nothing_is_wider_than_the_window(width: int, tmp_path: Path) -> None:
    names = {
        "age": "a_rather_long_name_of_a_column_that_nobody_shortened_in_time",
        "zip": "Straßenverkehrszulassungsordnung",
    }
    table = TABLE.rename(names)
    asked = ASKED | {"quasi": [names.get(name, name) for name in ASKED["quasi"]]}
    made = sf.anonymize(table, **asked, **DRAWN, about={"language": "it", "purpose": "x" * 600})
    page = report(made.manifest, made.table)
    told = "<script>document.title = document.documentElement.scrollWidth + ' of ' + window.innerWidth</script></html>"
    (tmp_path / "r.html").write_text(page.replace("</html>", told), encoding="utf-8")
    command = [browser(), *QUIET, f"--user-data-dir={tmp_path / 'p'}", f"--window-size={width},900", "--dump-dom"]
    done = subprocess.run([*command, (tmp_path / "r.html").as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r"<title>(\d+) of (\d+)</title>", done.stdout)
    assert found is not None
    assert int(found[1]) <= int(found[2])
