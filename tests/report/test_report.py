"""The report: complete, escaped, self-contained, well-formed, the same for the same manifest."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.registry import Variant
from sfumato.report import report
from sfumato.report.charts.svg import bar, bins, histogram, mark

QUASI = ["birth_date", "postcode", "sex", "ward"]
MANIFEST: dict[str, Any] = {
    "sfumato": "0.1.0",
    "format": 1,
    "data": {
        "file": "data.csv",
        "format": "csv",
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "rows": 19_988,
        "guarded": True,
        "separator": ",",
        "columns": [
            {"name": "birth_date", "role": "quasi", "kind": "date"},
            {"name": "postcode", "role": "quasi", "kind": "text"},
            {"name": "sex", "role": "quasi", "kind": "text"},
            {"name": "ward", "role": "quasi", "kind": "text"},
            {"name": "diagnosis", "role": "sensitive", "kind": "text"},
            {"name": "cost", "role": "insensitive", "kind": "decimal"},
        ],
    },
    "policy": {
        "identifying": ["name"],
        "quasi": [QUASI],
        "sensitive": ["diagnosis"],
        "insensitive": ["cost"],
        "require": [
            {"model": "k-anonymity", "k": 10},
            {"model": "entropy-l-diversity", "attribute": "diagnosis", "l": 3},
            {"model": "t-closeness", "attribute": "diagnosis", "t": 0.9, "distance": "equal"},
        ],
        "suppression": 0.02,
        "loss": {"name": "ncp"},
        "search": {"name": "mondrian"},
        "hierarchies": {
            "birth_date": "dates month, year, decade",
            "postcode": "redact right",
            "sex": "levels given, 1 above the values",
            "diagnosis": "file diagnosis.csv",
        },
        "levels": {},
    },
    "seed": None,
    "input": {"rows": 20_000, "fingerprint": "hmac-sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f55"},
    "versions": {"python": "3.11.7", "numpy": "2.4.0", "polars": "2.1.0", "numba": "0.68.0"},
    "solution": {
        "recoding": "partition",
        "levels": None,
        "optimal": False,
        "reproducible": True,
        "suppressed": 12,
        "suppression_limit": 400,
        "loss": 0.0648,
        "loss_per_attribute": {"birth_date": 0.0701, "postcode": 0.0473, "sex": 0.0314, "ward": 0.1106},
    },
    "promises": [
        {
            "model": "k-anonymity",
            "parameters": {"k": 10},
            "quasi": QUASI,
            "holds": True,
            "measured": 10,
            "bound": 10,
            "sentence": "Every record shares its quasi-identifiers with at least 9 others.",
            "note": None,
        },
        {
            "model": "entropy-l-diversity",
            "parameters": {"attribute": "diagnosis", "l": 3},
            "quasi": QUASI,
            "holds": True,
            "measured": 3.012345678901,
            "bound": 3,
            "sentence": 'In every group of records that look alike, "diagnosis" is at least as varied as 3 values.',
            "note": None,
        },
        {
            "model": "t-closeness",
            "parameters": {"attribute": "diagnosis", "t": 0.9, "distance": "equal"},
            "quasi": QUASI,
            "holds": True,
            "measured": 0.8123,
            "bound": 0.9,
            "sentence": 'In every group of records that look alike, "diagnosis" is spread almost as in the whole.',
            "note": "compared with the released rows, as the distribution before suppression is not given",
        },
    ],
    "measured": [
        {
            "quasi": QUASI,
            "classes": 1337,
            "smallest": 10,
            "median": 13,
            "average": 14.95,
            "largest": 205,
            "sizes": {"10": 228, "11": 203, "12": 181, "13": 152, "14": 131, "15": 109, "16": 88, "17": 71, "18": 58,
                      "19": 49, "20": 12, "21": 11, "22": 8, "24": 9, "25": 4, "27": 5, "31": 4, "38": 5, "44": 4,
                      "52": 2, "77": 1, "120": 1, "205": 1},
            "risk": {"highest": 0.1, "average": 0.0669, "records_above": {"0.05": 0.71, "0.1": 0.0, "0.2": 0.0}},
        }
    ],
    "whole": {"diagnosis": {"Heart failure": 1292, "Pneumonia": 1077}},
}  # fmt: skip

VOID = {"meta", "br", "hr"}


class Outline(HTMLParser):
    """Reads a page: refuses tags that do not balance, keeps elements, ids, headings and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({key for key, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        raise AssertionError(f"<{tag}/> is no HTML")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text += data

    def names(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    def ids(self) -> list[str | None]:
        return [attrs["id"] for _, attrs in self.elements if "id" in attrs]


@pytest.fixture
def manifest() -> dict[str, Any]:
    return copy.deepcopy(MANIFEST)


def two_sets(manifest: dict[str, Any]) -> dict[str, Any]:
    manifest["policy"]["quasi"] = [QUASI, ["sex", "ward"]]
    second = copy.deepcopy(manifest["measured"][0]) | {
        "quasi": ["sex", "ward"],
        "smallest": 7,
        "sizes": {"7": 2, "900": 3, "40000": 1},
        "risk": {"highest": 1 / 7, "average": 0.002, "records_above": {"0.05": 0.0003, "0.1": 0.0003, "0.2": 0.0}},
    }
    manifest["measured"].append(second)
    manifest["promises"].append(manifest["promises"][0] | {"quasi": ["sex", "ward"], "holds": False, "measured": 7})
    return manifest


def test_sections_are_present_in_a_well_formed_page(manifest: dict[str, Any]) -> None:
    page = report(manifest)
    assert page.startswith('<!doctype html>\n<html lang="en">')
    outline = Outline(page)
    expected = ["promises", "classes", "risk", "loss", "suppression", "roles", "method", "reproduction"]
    assert [found for found in outline.ids() if found in expected] == expected
    assert len(outline.ids()) == len(set(outline.ids()))
    assert [tag for tag, _ in outline.elements].count("h1") == 1


def test_the_first_figures(manifest: dict[str, Any]) -> None:
    text = Outline(report(manifest)).text
    assert "All 3 promises hold" in text
    for said in (
        "data.csv holds 19,988 of 20,000 records.",
        "finds at least 10 records that fit.",
        "Rows suppressed12400 allowed",
        "Smallest class10",
        "Highest risk10%1 in 10",
        "Information lost0.0648",
    ):
        assert said in text


def test_risk_in_words_and_numbers(manifest: dict[str, Any]) -> None:
    text = Outline(report(manifest)).text
    assert (
        "An attacker who knows the birth_date, postcode, sex and ward of one person has at most a 1 in 10 chance of "
        "picking the right record."
    ) in text
    assert re.search(r"above 5%\s*71%\s*above 10%\s*0%\s*above 20%\s*0%", text)


def test_the_three_attackers(manifest: dict[str, Any]) -> None:
    text = re.sub(r"\s+", " ", Outline(report(manifest)).text)
    assert "Prosecutorknows that one person is in the table10%" in text
    assert "counted as the prosecutor10%" in text
    assert "about 1,337 records–" in text  # as many right links as there are classes in the histogram
    manifest["measured"][0]["sizes"] = {"2": 1, "4": 2, "15": 1, "75": 1}
    text = re.sub(r"\s+", " ", Outline(report(manifest)).text)
    assert "in the table50%5%25%10%10%2%" in text


def test_the_wildcard_reading_is_told(manifest: dict[str, Any]) -> None:
    assert "another reading" not in report(manifest)
    manifest["policy"]["wildcard"] = True
    assert "another reading" in report(manifest)


def test_a_unique_record_is_called_certain(manifest: dict[str, Any]) -> None:
    manifest["measured"][0] |= {"smallest": 1, "risk": {"highest": 1.0, "average": 0.5, "records_above": {}}}
    text = Outline(report(manifest)).text
    assert "can in some cases be certain" in text
    assert "at times only one record" in text


def test_promises_have_a_mark_and_a_word(manifest: dict[str, Any]) -> None:
    page = report(manifest)
    assert page.count('class="verdict"') == 4  # and that of the standard that class sizes tell about
    assert page.count(f'<span class="verdict">{mark(True)}Holds</span>') == 3
    assert "Does not hold" not in page
    text = Outline(page).text
    for said in (
        "Every record shares its quasi-identifiers with at least 9 others.",
        "Measured3.012Promisedat least 3",
    ):
        assert said in text
    assert "Promisedat most 0.9" in text
    assert "Note: compared with the released rows" in text


def test_a_broken_promise_leads_the_page(manifest: dict[str, Any]) -> None:
    manifest["promises"][1] |= {"holds": False, "measured": 2.99997}
    page = report(manifest)
    text = Outline(page).text
    assert "1 of 3 promises does not hold" in text
    assert "Broken: Entropy l-diversity of diagnosis, l = 3. Do not publish this table." in text
    assert page.count(f"{mark(False)}Does not hold") == 1
    assert "Measured2.99997Promisedat least 3" in text


def test_reproduction_and_method(manifest: dict[str, Any]) -> None:
    text = Outline(report(manifest)).text
    for said in (
        manifest["data"]["sha256"],
        manifest["input"]["fingerprint"],
        "python 3.11.7, numpy 2.4.0, polars 2.1.0, numba 0.68.0",
        "Seednone",
        "The same input, policy and seed give the same bytes.",
        "Mondrian",
        "normalised certainty penalty (NCP)",
        "2% of the rows",
        "postcoderedact right",
    ):
        assert said in text
    assert "Level chosen" not in text


def test_a_variant_of_a_stranger_is_named_by_its_own_words(
    manifest: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Swap:
        """Exchange neighbours until nobody stands out (_, heuristic)."""

    class CloseNeighbours(sf.KAnonymity):
        """Every record has neighbours."""

    monkeypatch.setitem(sf.SEARCHES._rows, "near-swap", Variant(Swap, example=Swap(), cite=""))
    monkeypatch.setitem(sf.CRITERIA._rows, "close-neighbours", Variant(CloseNeighbours, CloseNeighbours(3), cite=""))
    monkeypatch.setitem(sf.LOSSES._rows, "far-walk", Variant(Swap, example=Swap(), cite=""))
    manifest["policy"] |= {"search": {"name": "near-swap"}, "loss": {"name": "far-walk"}}
    manifest["promises"][0]["model"] = "close-neighbours"
    page = report(manifest)
    for words in ("Near swap: exchange neighbours until nobody stands out<", "Close neighbours, k = 10", ">far walk<"):
        assert words in page
    assert "at least 10" in page


def test_every_criterion_says_on_which_side_of_its_bound_it_is_kept() -> None:
    assert {variant.example.side for variant in sf.CRITERIA.values()} == {"at least", "at most", "below"}


def test_levels_of_a_level_vector(manifest: dict[str, Any]) -> None:
    levels = {"birth_date": 2, "postcode": 3, "sex": 0, "ward": 1}
    manifest["solution"] |= {"recoding": "levels", "levels": levels, "optimal": True, "reproducible": False}
    manifest["policy"]["levels"] = {"birth_date": [1, 3]}
    manifest["seed"] = 7
    text = Outline(report(manifest)).text
    assert "birth_datedates month, year, decade1 to 32" in text
    assert "postcodeQuasi-identifyingtextgeneralised to level 3" in text
    assert "sexQuasi-identifyingtextas it was" in text
    assert "another run may give another release" in text
    assert "Seed7" in text


def test_roles_and_loss(manifest: dict[str, Any]) -> None:
    page = report(manifest)
    text = Outline(page).text
    for said in (
        "nameIdentifyingremoved",
        "diagnosisSensitivetextas it was; protected by 2 promises",
        "costInsensitivedecimal",
    ):
        assert said in text
    assert '<rect class="bar" width="11.06" height="10">' in page
    assert "12 rows could not be hidden among others and are left out." in text
    assert "0.06%" in text


def test_several_sets_have_sections_of_their_own(manifest: dict[str, Any]) -> None:
    outline = Outline(report(two_sets(manifest)))
    assert outline.text.count("Set 1: birth_date, postcode, sex and ward") == 2
    assert outline.text.count("Set 2: sex and ward") == 2
    assert "sexQuasi-identifying, sets 1 and 2" in outline.text
    assert "Smallest class7" in outline.text
    assert "Highest risk14.3%1 in 7" in outline.text
    assert len(outline.ids()) == len(set(outline.ids()))
    assert {"sizes-1-wide-title", "sizes-2-narrow-desc"} <= set(outline.ids())


NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></title><svg onload=alert(1)>",
    "Größe № 漢字 🩺",
    "\u202eright to left",
    "a" * 5_000,
    "nul\x00bell\x07lone\ud800",
    "&amp; & 'quoted'",
]


def named(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    """A manifest in which every text that came from a user is `name`."""
    users = [*QUASI, "diagnosis", "cost", "name", "data.csv", "redact right", "k-anonymity", "mondrian", "ncp"]
    swap = dict.fromkeys(users, name)

    def visit(value: Any) -> Any:
        if isinstance(value, dict):
            return {key if key == "name" else swap.get(key, key): visit(item) for key, item in value.items()}
        if isinstance(value, list):
            return [visit(item) for item in value]
        return swap.get(value, value) if isinstance(value, str) else value

    found: dict[str, Any] = visit(manifest)
    for promise in found["promises"]:
        promise["sentence"] = promise["note"] = name
    found["solution"]["levels"] = {name: 1}
    found["seed"] = name
    found["versions"] = {name: name}
    found["whole"] = {name: {name: 1}}
    return found


@pytest.mark.parametrize("name", NASTY)
def test_everything_is_escaped(manifest: dict[str, Any], name: str) -> None:
    plain = Outline(report(named(manifest, "plain")))
    page = report(named(manifest, name))
    outline = Outline(page)
    assert [tag for tag, _ in outline.elements] == [tag for tag, _ in plain.elements]  # the name adds no element
    assert [sorted(attrs) for _, attrs in outline.elements] == [sorted(attrs) for _, attrs in plain.elements]
    assert not {"script", "img"} & outline.names()
    assert not any(key.startswith("on") for _, attrs in outline.elements for key in attrs)
    assert page.encode("utf-8")
    assert re.sub("[\x00-\x1f\ud800]", "\ufffd", name) in outline.text


def test_a_column_without_a_name(manifest: dict[str, Any]) -> None:
    assert "All 3 promises hold" in Outline(report(named(manifest, ""))).text


def test_nothing_is_fetched(manifest: dict[str, Any]) -> None:
    page = report(two_sets(manifest))
    assert "http" not in page
    assert "//" not in page
    assert not re.search(r"url\(|@import|@font-face|<script|javascript:", page)
    fetching = {"src", "href", "srcset", "data", "poster", "action", "xlink:href"}
    assert not any(fetching & set(attrs) for _, attrs in Outline(page).elements)


def test_the_same_manifest_gives_the_same_bytes(manifest: dict[str, Any]) -> None:
    before = copy.deepcopy(manifest)
    first = report(manifest)
    assert first == report(json.loads(json.dumps(manifest)))
    assert manifest == before


def test_sixty_columns(manifest: dict[str, Any]) -> None:
    columns = [f"column number {i}" for i in range(60)]
    manifest["policy"]["quasi"] = [columns]
    manifest["measured"][0]["quasi"] = columns
    manifest["data"]["columns"] = [{"name": column, "role": "quasi", "kind": "integer"} for column in columns]
    manifest["solution"]["loss_per_attribute"] = {column: i / 60 for i, column in enumerate(columns)}
    page = report(manifest)
    assert "column number 7 and 52 more of one person" in Outline(page).text
    assert page.count('<svg viewBox="0 0 100 10"') == 63


def test_levels_whole_and_other_parts_may_be_null(manifest: dict[str, Any]) -> None:
    assert manifest["solution"]["levels"] is None
    manifest["whole"] = None
    assert "frequencies of" not in Outline(report(manifest)).text


@pytest.mark.parametrize("part", sorted(MANIFEST))
@pytest.mark.parametrize("gone", ["null", "missing"])
def test_any_part_may_be_absent(manifest: dict[str, Any], part: str, gone: str) -> None:
    if gone == "null":
        manifest[part] = None
    else:
        del manifest[part]
    outline = Outline(report(manifest))
    assert "reproduction" in outline.ids()
    assert "None" not in outline.text


def nulls(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in steps for found in [(*path, key), *nulls(item, (*path, key))]]


@pytest.mark.slow
@pytest.mark.parametrize("path", nulls(MANIFEST), ids=lambda path: ".".join(map(str, path)))
def test_any_field_may_be_null(manifest: dict[str, Any], path: tuple[Any, ...]) -> None:
    parent: Any = manifest
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = None
    assert "None" not in Outline(report(manifest)).text


def test_an_empty_manifest_promises_nothing() -> None:
    text = Outline(report({})).text
    assert "Nothing was promised" in text
    assert "The released table is described by its manifest." in text
    assert "None" not in text


def test_verdicts_read_well(manifest: dict[str, Any]) -> None:
    promises = manifest["promises"]
    manifest["data"]["columns"].pop()  # without a column that no promise covers
    assert "<h1>Both promises hold</h1>" in report(manifest | {"promises": promises[:2]})
    assert (
        "The promise holds, but nothing protects diagnosis"
        in Outline(report(manifest | {"promises": promises[:1]})).text
    )


# Bins and charts.


def test_one_bar_per_size_where_they_fit() -> None:
    found = bins({10: 5, 11: 3, 14: 1}, bound=10)
    assert found.edges == (10, 11, 12, 13, 14, 15)
    assert found.count == (5, 3, 0, 0, 1)
    assert not found.growing
    assert not found.open


def test_a_thin_tail_is_gathered_in_the_last_bar() -> None:
    found = bins(dict.fromkeys(range(10, 20), 100) | {500: 2, 9000: 1}, bound=10)
    assert found.open
    assert not found.growing
    assert found.count[:10] == (100,) * 10
    assert found.count[-1] == 3
    assert found.label(len(found.count) - 1).endswith("and more")


def test_a_heavy_tail_gets_growing_steps() -> None:
    found = bins({10 * 2**i: 2 ** (14 - i) for i in range(15)}, bound=10)
    assert found.growing
    assert found.edges[0] == 10
    assert list(found.edges) == sorted(set(found.edges))
    assert len(found.count) <= 30


@pytest.mark.parametrize("bound", [None, 1, 3, 10, 64, 100_000])
@pytest.mark.parametrize(
    "sizes",
    [
        {1: 1},
        {7: 3},
        {1: 1, 1_000_000_000: 1},
        {3: 5, 64: 5, 65: 1},
        dict.fromkeys(range(5, 4000, 3), 1),
        {5: 10_000, 6: 1, 90: 1},
    ],
)
def test_bins_lose_no_class(sizes: dict[int, int], bound: int | None) -> None:
    found = bins(sizes, bound)
    assert sum(found.count) == sum(sizes.values())
    assert list(found.edges) == sorted(set(found.edges))
    assert found.edges[0] >= 1
    assert len(found.count) <= 40
    for i, classes in enumerate(found.count):
        assert classes == sum(n for size, n in sizes.items() if found.edges[i] <= size < found.edges[i + 1])
    if bound is not None and min(sizes) <= bound <= max(sizes):
        assert bound in found.edges  # so that no bar mixes kept and broken


def test_histogram_marks_what_lies_below_the_bound() -> None:
    chart = histogram(bins({7: 2, 10: 4, 12: 1}, 10), "Class sizes", "Three sizes.", "x", bound=10)
    assert chart.count('class="bar low"') == 1
    assert chart.count('class="bar"') == 2
    assert '<title id="x-title">Class sizes</title><desc id="x-desc">Three sizes.</desc>' in chart
    assert "promised: 10 or more" in chart
    Outline(chart)


def test_axis_labels_do_not_overlap() -> None:
    for sizes in (
        dict.fromkeys(range(10, 20), 100) | {500: 2},
        {10 * 2**i: 2 ** (14 - i) for i in range(15)},
        {8: 1},
    ):
        for width in (704, 350):
            chart = histogram(bins(sizes, 8), "t", "d", "x", 8, width)
            labels = re.findall(r'<text x="([\d.]+)" y="211" text-anchor="(\w+)">([^<]+)</text>', chart)
            assert labels
            spans = [
                (float(x) - (len(said) * 7 if anchor == "end" else len(said) * 3.5), len(said) * 7)
                for x, anchor, said in labels
            ]
            assert all(a + length <= b for (a, length), (b, _) in pairwise(spans))
            assert spans[-1][0] + spans[-1][1] <= width + 1


@pytest.mark.parametrize(("share", "length"), [(0.0, None), (0.25, "25"), (1.0, "100"), (7.0, "100"), (-1.0, None)])
def test_bars_stay_on_their_track(share: float, length: str | None) -> None:
    found = re.findall(r'class="bar" width="([\d.]+)"', bar(share))
    assert found == ([length] if length else [])
