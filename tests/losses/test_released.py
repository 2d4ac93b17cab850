"""Losses of released labels alone: worked by hand, and equal to the exact ones where nothing is hidden from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.hierarchy import Hierarchy
from sfumato.hierarchies import parse
from sfumato.losses.released import ReleasedColumn, released_loss
from sfumato.report import internal_report, report

TREE = Hierarchy("q", (("a", "b", "c"), ("ab", "c"), ("Any",)), np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]]))


def column(labels: list[str | None], **more: Any) -> ReleasedColumn:
    found = pl.Series(labels, dtype=pl.String).alias("label").value_counts(name="rows", sort=True)
    return ReleasedColumn("q", found["label"], found["rows"].to_numpy(), **more)


def loss_of(labels: list[str | None], loss: Any = None, suppressed: int = 0, **more: Any) -> float | None:
    return released_loss(loss or sf.LM(), {"q": column(labels, **more)}, {len(labels): 1}, suppressed, 1)[0]


@pytest.mark.parametrize(
    ("labels", "lm", "ncp"),
    [
        (["[20, 30]", "[40, 60]"], 0.375, 0.375),
        (["[20, 30)", "*"], 1.0, 1.0),
        (["20", "30", None], 0, 0),
        (["[2024-01-01, 2024-01-11]", "2024-01-21"], 0.25, 0.25),
        (["[2024-01-01T00:00:00, 2024-01-01T12:00:00]", "2024-01-02T00:00:00"], 0.25, 0.25),
        (["{a, b}", "c"], 0.25, 1 / 3),
        (["{a, b}", "*", "c", "c"], (0.5 + 1) / 4, (2 / 3 + 1) / 4),
        (["*", "*"], 1, 1),
        (["a", "a"], 0, 0),
        (["< 23", "[23, 40)"], None, None),
        (["a..c", "{a, b}", "c", "d"], (2 + 1) / 3 / 4, (3 + 2) / 4 / 4),  # b is seen, so three of four
        (["a..z", None, "*"], (1 / 2 + 1) / 3, (2 / 3 + 1) / 3),
        (["[20, inf]"], None, None),
    ],
)
def test_by_hand(labels: list[str | None], lm: float | None, ncp: float | None) -> None:
    assert loss_of(labels) == (lm if lm is None else pytest.approx(lm))
    assert loss_of(labels, sf.NCP()) == (ncp if ncp is None else pytest.approx(ncp))


def test_labels_of_a_written_hierarchy_count_its_leaves() -> None:
    assert loss_of(["ab", "c"], tree=TREE) == pytest.approx(0.25)
    assert loss_of(["ab", "c"], sf.NCP(), tree=TREE) == pytest.approx(1 / 3)
    assert loss_of(["Any", "a"], tree=TREE) == pytest.approx(0.5)
    assert loss_of(["ab", "a"], sf.Precision(), tree=TREE) == pytest.approx(0.25)
    assert loss_of(["ab", "ab"], sf.Height(), tree=TREE) == 1
    assert loss_of(["{a, c}", "b"], tree=TREE) == pytest.approx(0.25)
    assert loss_of(["{a, c}", "b"], sf.Precision(), tree=TREE) is None
    assert loss_of(["ab"], sf.Precision()) is None


def test_masks_of_digits_and_months_say_how_much_they_hide() -> None:
    right = parse("redact:right")
    assert loss_of(["476**", "47700"], recipe=right) == pytest.approx(99 / 100 / 2)
    assert loss_of(["476**", "*", None], recipe=right) == pytest.approx((1 + 1) / 3)
    assert loss_of(["SW1*", "SW12"], recipe=right) is None
    assert loss_of(["47*", "1234"], recipe=right) is None  # of other lengths
    assert loss_of(["**678", "47678"], recipe=parse("redact:left")) is None
    assert loss_of(["47677", "47678"], recipe=parse("redact:right")) == 0
    for recipe in (parse("postcode:de"), None):  # prefixes of codes are learned where no hierarchy is given
        assert loss_of(["4767*", "47688"], recipe=recipe) == loss_of(["4767*", "47688"], recipe=right)
    assert loss_of(["A1**", "B***"]) is None
    dates = parse("dates:month,quarter,year,decade")
    assert loss_of(["2023", "2024"], recipe=dates) == pytest.approx((364 + 365) / 730 / 2)
    assert loss_of(["2023-01", "2023-02"], recipe=dates) == pytest.approx((30 + 27) / 58 / 2)
    assert loss_of(["2023-Q1", "2023-Q2"], recipe=dates) == pytest.approx((89 + 90) / 180 / 2)
    assert loss_of(["1970s", "1980s"], recipe=dates) is not None


def test_templates_say_how_many_codes_a_label_stands_for() -> None:
    codes = parse("icd10").domain
    assert loss_of(["J40-J47", "I10.1"], recipe=parse("icd10")) == pytest.approx((80 - 1) / (codes - 1) / 2)
    assert loss_of(["I10.1", "*"], recipe=parse("icd10")) == pytest.approx(1 / 2)
    assert loss_of(["Southern Europe", "Italy"], recipe=parse("countries")) == pytest.approx((17 - 1) / 249 / 2)
    assert loss_of(["251", "2 Professionals"], recipe=parse("isco")) == pytest.approx((9 + 999) / 9999 / 2)
    assert loss_of(["D Electricity and gas", "62.01"], recipe=parse("nace")) == pytest.approx(99 / 8799 / 2)
    assert loss_of(["low (0-2)", "3"], recipe=parse("isced")) == pytest.approx(2 / 8 / 2)
    assert loss_of(["ITC", "ITC41"], recipe=parse("nuts")) == pytest.approx(99 / (1000 * 39 - 1) / 2)
    assert loss_of(["SW1A", "SW1A 1AA"], recipe=parse("postcode:uk")) is None
    assert loss_of(["< 18", ">= 90", "[18, 40)"], recipe=parse("age")) == pytest.approx((18 + 40 + 22) / 130 / 3)
    assert loss_of(["< 18", "[18, 40)"]) is None
    assert loss_of(["*", "*"], recipe=parse("ip")) == 1
    assert loss_of(["*", None], recipe=parse("postcode:uk")) == 0.5


def test_suppressed_rows_count_by_their_number_and_blanked_cells_as_lost() -> None:
    assert loss_of(["[20, 30]", "[40, 60]"], suppressed=2) == pytest.approx((0.75 + 2) / 4)
    assert loss_of(["a", None], wildcard=True) == pytest.approx(0.5)
    assert loss_of(["a", None]) == 0
    assert loss_of(["a", "b", "b"], sf.Discernibility(), suppressed=1) == 9 + 4
    assert loss_of(["a", "b"], sf.NonUniformEntropy()) is None


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["lm", "ncp", "discernibility", "c-avg", sf.LM(aggregate="geometric")])
@pytest.mark.parametrize("search", ["mondrian", "auto"])
def test_without_suppression_and_hierarchies_it_is_the_exact_loss(loss: Any, search: str) -> None:
    rng = np.random.default_rng(0)
    table = {"age": rng.integers(20, 60, 80), "town": rng.choice(list("abcdef"), 80), "wage": rng.random(80).round(2)}
    asked: dict[str, Any] = {"quasi": list(table), "require": sf.KAnonymity(4), "search": search, "loss": loss}
    release = sf.anonymize(table, **asked, ends="exact", labels="ranges")
    told, exact = release.manifest["solution"], release.solution.verdict
    assert told["loss"] == pytest.approx(exact.loss, abs=1e-9)
    assert told["loss_per_attribute"] == pytest.approx(exact.per_attribute, abs=1e-9)


@pytest.mark.slow
def test_the_report_says_why_a_loss_is_not_published() -> None:
    table = {"zip": ["SW1A", "SW1B", "EC2A", "EC2B"] * 2, "age": [20, 30, 40, 50] * 2}
    options = {"quasi": ["zip", "age"], "require": sf.KAnonymity(4), "hierarchies": {"zip": "redact:right"}}
    release = sf.anonymize(table, search="optimal", levels={"zip": (1, 1)}, **options)
    page = report(release.manifest, release.table)
    assert release.manifest["solution"]["loss"] is None
    assert "do not say how many values they stand for" in page
    assert f"{release.solution.verdict.loss:.3f}" not in page
    exact = internal_report(release.manifest, release.table, release.original, exact=release.solution.verdict)
    assert f"on the original values: {release.solution.verdict.loss:.3f}".rstrip("0") in exact
    entropy = sf.anonymize(table, loss="non-uniform-entropy", **options)
    assert "made of the frequencies of original values" in report(entropy.manifest, entropy.table)
    sizes = sf.anonymize(table, search="optimal", levels={"zip": (1, 1)}, loss="c-avg", **options)
    assert sizes.manifest["solution"]["loss"] == sizes.solution.verdict.loss
