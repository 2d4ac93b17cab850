"""The automatic choice: which search, why, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError
from tests.rows import as_they_came

AGES = {"age": sf.intervals(5, 10, 20)}


def table(rows: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 70, rows),
            "sex": rng.choice(["f", "m"], rows),
            "zip": rng.integers(10, 40, rows),
            "ill": rng.choice(["flu", "cold", "ulcer"], rows),
        }
    )


def released(**options: Any) -> sf.Release:
    given = {"quasi": ["age", "sex", "zip"], "sensitive": ["ill"], "require": sf.KAnonymity(4), "hierarchies": AGES}
    return sf.anonymize(table(), **given | options)


def test_the_default_is_picked_and_says_so() -> None:
    found = released()
    choice = found.solution.choice
    assert isinstance(choice.search, sf.Refined)
    assert "loses least" in choice.why
    assert choice.runner_up.startswith("iterated")
    assert found.manifest["policy"]["search"]["name"] == "refined"
    assert found.manifest["policy"]["chosen"] == {"why": choice.why, "runner_up": choice.runner_up}
    assert released(search="mondrian").solution.choice is None
    assert released(search="mondrian").manifest["policy"]["chosen"] is None


@pytest.mark.slow
def test_it_loses_less_than_the_runner_up_and_than_mondrian() -> None:
    loss = {
        name: released(search=name, **({} if name == "optimal" else {"labels": "ranges"})).solution.verdict.loss
        for name in ("auto", "iterated", "mondrian", "optimal")
    }
    assert loss["auto"] == min(loss.values())
    assert loss["auto"] < released(tidy=False).solution.verdict.loss < released().solution.verdict.loss


@pytest.mark.parametrize(
    ("options", "search"),
    [
        ({"keep": "consistent-columns"}, sf.Optimal()),
        ({"levels": {"age": (1, 3)}}, sf.Optimal()),
        ({"quasi": [["age", "sex"], ["sex", "zip"]]}, sf.Optimal()),
        ({"loss": "precision"}, sf.Refined(labels="hierarchy")),
        ({"loss": "height"}, sf.Optimal()),
        ({"labels": "ranges"}, sf.Refined(labels="ranges")),
        ({"tidy": False}, sf.Refined(labels="given")),
        ({"loss": "discernibility"}, sf.Refined(labels="hierarchy")),
    ],
)
def test_what_it_picks(options: dict[str, Any], search: Any) -> None:
    found = released(**options)
    assert found.solution.choice.search == search
    assert found.verification.holds


def test_consistent_columns_have_one_label_per_value() -> None:
    there = as_they_came(released(keep="consistent-columns"))
    for name in ("age", "sex", "zip"):
        pairs = pl.DataFrame({"value": table()[name], "label": there[name].cast(pl.String)}).unique()
        assert pairs.height == pairs["value"].n_unique()


def test_hierarchy_labels_are_labels_of_the_hierarchy() -> None:
    found = released(labels="hierarchy")
    tree = AGES["age"].build(sf_categories("age"))
    assert set(found.table["age"].cast(pl.String)) <= {label for level in tree.labels for label in level}


def sf_categories(name: str) -> Any:
    from sfumato.core.microdata import encode

    return encode(table()[name])[0]


def test_rows_go_where_no_class_of_all_rows_satisfies() -> None:
    """Two rows of three values: only without some rows does every class have them alike enough."""
    frame = pl.DataFrame({"age": [1, 1, 1, 2, 2, 2], "ill": ["a", "a", "a", "b", "b", "b"]})
    found = sf.anonymize(
        frame.vstack(frame[:0]), quasi=["age"], sensitive=["ill"], require=sf.AlphaK(1.0, 3, "ill"), suppression=3
    )
    assert found.verification.holds
    frame = pl.DataFrame({"age": [*range(8), 50, 51], "ill": ["a", "b", "c", "d"] * 2 + ["a", "a"]})
    options: dict[str, Any] = {"quasi": ["age"], "sensitive": ["ill"], "require": sf.AlphaK(0.25, 4, "ill")}
    found = sf.anonymize(frame, **options, hierarchies={"age": sf.intervals(8)}, suppression=0.2)
    assert isinstance(found.solution.choice.search, sf.Optimal)
    assert "suppressed" in found.solution.choice.why
    assert found.table.height == 8


def test_many_combinations_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.search.automatic.BUDGET", 150e-6)  # 50 rows of three columns
    monkeypatch.setattr("sfumato.search.automatic.SEARCHED_WHOLE", 5)
    assert released().solution.choice.search == sf.Mondrian(cut="best", dimension="ncp", labels="hierarchy")
    monkeypatch.setattr("sfumato.search.automatic.Lightning", lambda seconds: sf.Lightning(seconds=0.3))
    assert isinstance(released(keep="consistent-columns").solution.choice.search, sf.Lightning)


def test_what_is_clustered_goes_by_rows_and_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 rows that all differ: of two columns 400 microseconds, of three 600; and those that are alike count once."""
    frame = pl.DataFrame({"a": range(200), "b": range(200), "c": range(200)})
    monkeypatch.setattr("sfumato.search.automatic.BUDGET", 450e-6)

    def picked(frame: pl.DataFrame, *quasi: str) -> Any:
        return sf.anonymize(frame.select(quasi), quasi=quasi, k=5).solution.choice

    two, three = picked(frame, "a", "b"), picked(frame, "a", "b", "c")
    assert isinstance(two.search, sf.Refined)
    assert "up to 225 rows of these columns" in two.why
    assert isinstance(three.search, sf.Mondrian)
    assert "more than 150 rows of these columns" in three.why
    assert isinstance(picked(frame.with_columns(pl.all() // 10), "a", "b", "c").search, sf.Refined)


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(PolicyError, match="keep"):
        released(keep="everything")
    with pytest.raises(PolicyError, match="automatic choice"):
        released(keep="consistent-columns", search="mondrian")


def test_labels_are_one_option_of_every_search_that_has_the_choice() -> None:
    for name in ("auto", "mondrian", "iterated", "k-member", "refined"):
        found = released(search=name, labels="hierarchy")
        assert found.search.labels == found.manifest["policy"]["search"]["labels"] == "hierarchy"
    with pytest.raises(PolicyError, match=r"labels says how a search prints .*got search Optimal"):
        released(search="optimal", labels="hierarchy")
    for wrong in ("range", "label"):
        with pytest.raises(PolicyError, match="allowed: given, ranges, hierarchy"):
            released(labels=wrong)


def test_a_saved_release_tells_the_choice(tmp_path: Path) -> None:
    folder = released().save(tmp_path / "out")
    assert json.loads((folder / "manifest.json").read_text())["policy"]["chosen"]["why"]
    assert "runner-up" in (folder / "report.html").read_text()
    assert sf.verify(folder).holds


def test_the_wildcard_rule_is_promised_and_verified_as_such(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["x", "x", "x", "y"], "b": ["1", "1", "1", "1"]})
    found = sf.anonymize(
        frame, quasi=["a", "b"], require=sf.KAnonymity(2), search=sf.MinimalSuppression(rule="wildcard")
    )
    assert found.table["a"].to_list() == ["x", "x", "x", None]
    assert found.verification.promises[0].sentence.endswith("where a missing value matches any value.")
    folder = found.save(tmp_path / "out")
    assert sf.verify(folder).holds
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    assert manifest["policy"]["wildcard"] is True
    manifest["policy"]["wildcard"] = False
    file.write_text(json.dumps(manifest))
    assert not sf.verify(folder).holds


def test_a_criterion_that_is_not_closed_under_merging_is_taken() -> None:
    frame = table().select("age", "sex", disease=pl.Series(["flu", "flu", "ulcer", "asthma"] * 50))
    asked = [sf.KAnonymity(3), sf.DeltaDisclosure("disease", 2, absent="skipped")]
    assert sf.anonymize(frame, quasi=["age", "sex"], require=asked).verification.holds
