"""What remains by kind of disclosure, and safeguards beside threats."""

from __future__ import annotations

import copy
import re
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria import CRITERIA
from sfumato.measures.reach import Reach, Singled
from sfumato.report import report
from sfumato.report.sections.attacks import ATTACKS
from sfumato.report.sections.disclosure import KINDS, PROMISED, THREATS, kind_of, remaining, safeguards
from sfumato.report.translation import Missing, translated_page

K = {"model": "k-anonymity", "parameters": {"k": 4}, "holds": True}
L = {"model": "distinct-l-diversity", "parameters": {"attribute": "disease", "l": 2}, "holds": True}
MANIFEST: dict[str, Any] = {
    "data": {"rows": 100, "sha256": "0" * 64, "order": "canonical"},
    "policy": {"identifying": ["name"], "quasi": [["age"]], "sensitive": ["disease"]},
    "solution": {"recoding": "levels"},
    "measured": [{"quasi": ["age"], "smallest": 4, "risk": {"highest": 0.25, "average": 0.1}}],
}


def reach(*promises: dict[str, Any], **more: Any) -> Reach:
    asked: dict[str, Any] = {
        "rows": 100,
        "promises": promises,
        "known": (("age",),),
        "uncovered": (),
        "unprotected": (),
    }
    return Reach(**asked | {"order": "canonical"} | more)


def rows(markup: str) -> dict[str, str]:
    """The text of each row of the tables, by what it begins with in bold."""
    found = re.findall(r"<tr>(<th scope=\"row\"><b>.*?)</tr>", markup, re.DOTALL)
    return {re.findall(r"<b>(.*?)</b>", row)[0]: re.sub(r"<[^>]*>", " ", row) for row in found}


def state(manifest: dict[str, Any], held: Reach, threat: str) -> str:
    [found] = re.findall(r"Taken|In part|Open|Outside", rows(safeguards(manifest, held))[threat])
    return str(found)


def test_every_model_and_attack_has_a_kind() -> None:
    ours = {name for name in CRITERIA if CRITERIA[name].make.__module__.startswith("sfumato.")}
    assert set(PROMISED) == ours
    assert {kind_of({"name": name}) for name in ATTACKS} == set(KINDS)
    assert kind_of({"name": "homogeneity"}) == "Attribute disclosure"
    assert kind_of({"name": "linkability"}) == "Identity disclosure"


def test_what_remains_is_sorted_by_kind() -> None:
    attacks = (
        {"name": "homogeneity", "success": 0.5, "baseline": 0.1, "advantage": 0.4, "details": {"column": "disease"}},
        {"name": "skewness", "success": 0.3, "baseline": 0.0, "advantage": 0.3, "details": {"column": "disease"}},
        {"name": "order", "success": 0.0, "baseline": 0.1, "advantage": 0.0, "details": {}},
    )
    broken = {**L, "holds": False}
    found = rows(remaining(MANIFEST, reach(K, broken, attacks=attacks)))
    identity, attribute, inferential = (found[kind] for kind in KINDS)
    assert "k-anonymity, k = 4" in identity
    assert "picked at most 1 in 4 times, and 1 in 10 times on average" in identity
    assert "No attack of this kind that was tried does better" in identity
    assert re.search(r"Distinct l-diversity of disease, l = 2\s+:\s+does not hold", attribute)
    assert "Homogeneity" in attribute
    assert "Skewness" not in attribute
    assert "Skewness" in inferential
    assert "Nothing" in inferential  # nothing is promised against it


def test_columns_without_a_promise_are_told_under_their_kind() -> None:
    held = reach(K, uncovered=("cost",), unprotected=("disease",), together=Singled(("cost", "disease"), 60),
                 with_known=Singled(("cost", "disease", "age"), 70))  # fmt: skip
    found = rows(remaining(MANIFEST, held))
    assert "released as it was" in found["Identity disclosure"]
    assert "disease  is sensitive, and no promise is about it" in found["Attribute disclosure"]


def test_states_follow_from_what_is_promised() -> None:
    safe = reach(K, L)
    assert state(MANIFEST, safe, "Identification") == "Taken"
    assert state(MANIFEST, safe, "Disclosure") == "Taken"
    assert state(MANIFEST, safe, "Blackmail") == "Taken"
    assert state(MANIFEST, safe, "Exclusion") == "Open"
    assert state(MANIFEST, safe, "Surveillance") == "Outside"
    assert state(MANIFEST, reach({**K, "holds": False}, L), "Identification") == "Open"
    assert state(MANIFEST, reach(), "Aggregation") == "Open"
    singled = reach(K, L, uncovered=("cost",), with_known=Singled(("cost", "age"), 7))
    assert state(MANIFEST, singled, "Aggregation") == "In part"
    bare = reach(K, unprotected=("disease",))
    assert state(MANIFEST, bare, "Disclosure") == state(MANIFEST, bare, "Exposure") == "Open"
    gains = reach(K, L, attacks=({"name": "skewness", "advantage": 0.1, "details": {}},))
    assert state(MANIFEST, gains, "Disclosure") == "In part"
    assert state(MANIFEST, reach(K, L, order="input"), "Increased accessibility") == "Open"


@pytest.mark.parametrize(
    ("change", "threat", "before", "after"),
    [
        ({"about": {"purpose": "research"}}, "Secondary use", "Open", "In part"),
        ({"about": {"controller": "the clinic"}}, "Exclusion", "Open", "In part"),
        ({"about": {"recipient": "a partner"}}, "Breach of confidentiality", "Open", "In part"),
        ({"data": {"rows": 100}}, "Insecurity", "In part", "Open"),
        ({"policy": {"quasi": [["age"]], "sensitive": ["disease"]}}, "Appropriation", "Taken", "In part"),
        ({"data": {"numbers": {"age": {"form": "draw"}}}}, "Distortion", "Taken", "In part"),
        ({"foreign": True}, "Distortion", "Taken", "Open"),
    ],
)
def test_states_follow_from_the_manifest(change: dict[str, Any], threat: str, before: str, after: str) -> None:
    assert state(MANIFEST, reach(K, L), threat) == before
    assert state({**copy.deepcopy(MANIFEST), **change}, reach(K, L), threat) == after


@pytest.mark.slow
def test_both_stand_in_a_report_and_in_italian() -> None:
    table = pl.DataFrame({"age": [20 + i % 9 for i in range(60)], "ill": ["a", "b", "c"] * 20})
    made = sf.anonymize(
        table, quasi=["age"], sensitive=["ill"], k=4, require=[sf.DistinctLDiversity("ill", 2)],
        about={"purpose": "<b>research</b>", "controller": "clinic", "recipient": "all"},
    )  # fmt: skip
    assert {kind_of(one) for one in made.reach.attacks if one["details"].get("column")} == set(KINDS) - {
        "Identity disclosure"
    }  # those on a sensitive column are after its values
    page = report(made.manifest, made.table)
    assert all(f"<b>{threat}</b>" in page for threats in THREATS.values() for threat in threats)
    assert "Stated purpose: <bdi>&lt;b&gt;research" in page
    missing = Missing()
    there = translated_page(page, "it", missing)
    assert missing == []
    assert "Divulgazione dell&#x27;identità" in there
    assert "Scopo dichiarato: <bdi>" in there
