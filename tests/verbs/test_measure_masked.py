"""risk, attack, utility, explain, suggest, sign and verify on a masked release and on its folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import PolicyError
from sfumato.report.translation import Missing, translated

RNG = np.random.default_rng(7)
ROWS = 200
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 70, ROWS),
        "region": RNG.choice(["north", "south"], ROWS),
        "pay": np.round(RNG.lognormal(10, 0.5, ROWS)).astype(int),
        "disease": RNG.choice(["flu", "cold", "ulcer"], ROWS),
    }
)
NOTE = 'the risk by classes of equal rows is not meaningful, for "age" was perturbed'


def masked(**more: Any) -> sf.Release:
    steps = [sf.RankSwapping(["age", "pay"], p=10), sf.Pram("disease", p=0.9)]
    return sf.mask(TABLE, steps, seed=2, **({"quasi": ["age", "region"], "sensitive": ["disease"]} | more))


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return masked()


@pytest.fixture(scope="module")
def folder(release: sf.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("masked")
    TABLE.write_csv(place / "original.csv")
    return release.save(place / "out")


def test_class_risk_is_marked_and_distances_are_given(release: sf.Release) -> None:
    found = sf.risk(release)
    assert found["notes"] == [NOTE]
    assert 0 < found["distance_linkage"]["success"] < 1
    assert {"age", "pay"} <= set(found["interval_disclosure"]["columns"])
    told = {measure["name"]: measure["value"] for measure in found["measures"]}
    assert told["distance-linkage"] == found["distance_linkage"]["success"]
    coarse = sf.mask(TABLE, [sf.GlobalRecoding("age", groups=3)], quasi=["age"], rest="release", insensitive=["pay"])
    assert not sf.risk(coarse).get("notes")


@pytest.mark.slow
def test_classes_that_a_promise_counts_are_told_as_such() -> None:
    asked: dict[str, Any] = {
        "quasi": ["age"],
        "sensitive": ["disease"],
        "rest": "release",
        "insensitive": ["pay"],
        "k": 5,
    }
    kept = sf.mask(TABLE, [sf.Rounding("age", base=50)], **asked)
    said = ['"age" was perturbed: the classes are those of the released values, as the promises count them']
    assert sf.risk(kept)["notes"] == said
    assert "homogeneity" in sf.attack(kept)
    asked["unprotected"] = asked.pop("sensitive")
    both = sf.anonymize(TABLE, mask=[sf.Rounding("age", base=10)], **asked)
    assert sf.risk(both)["notes"] == said


def test_more_noise_is_harder_to_link() -> None:
    steps = [[sf.RankSwapping(p=p)] for p in (1, 40)]
    near, far = (sf.risk(sf.mask(TABLE, step, rest="release", insensitive=["pay"], seed=1)) for step in steps)
    assert near["quasi"] == []
    assert near["distance_linkage"]["success"] > 2 * far["distance_linkage"]["success"]
    assert any("no quasi-identifiers" in note for note in near["notes"])


def test_the_folder_says_the_same_of_classes_and_knows_no_distances(folder: Path, capsys: Any) -> None:
    found = sf.risk(folder)
    assert found["notes"] == [NOTE]
    assert "distance_linkage" not in found
    assert main(["risk", str(folder)]) == 0
    assert "not meaningful" in capsys.readouterr().err
    found = sf.risk(folder, original=TABLE)
    assert "it is not known which released row" in found["interval_disclosure"]["note"]


@pytest.mark.slow
def test_attacks_on_classes_are_skipped_and_the_nearest_record_is_looked_for(release: sf.Release, folder: Path) -> None:
    found = sf.attack(release)
    assert {"distance-linkage", "inference", "linkability"} <= set(found)
    assert "homogeneity" not in found
    assert "was perturbed" in found.skipped["homogeneity"] or "were perturbed" in found.skipped["homogeneity"]
    with pytest.raises(PolicyError, match="classes say nothing of perturbed columns"):
        sf.attack(folder)
    assert "inference" in sf.attack(folder, original=TABLE)
    assert "distance-linkage" in sf.attack(masked(quasi=[], sensitive=[], insensitive=["pay"], rest="release"))


def test_utility_of_the_release_and_of_the_folder(release: sf.Release, folder: Path, capsys: Any) -> None:
    found = sf.utility(release)
    assert found["rows"]["aligned"]
    assert found["numbers"]["mean-squared-error"]["means"] == pytest.approx(0)
    assert any("do not hold their original value" in note for note in found["notes"])
    assert not sf.utility(TABLE, folder)["rows"]["aligned"]
    assert main(["utility", str(folder.parent / "original.csv"), str(folder)]) == 0
    assert "another order" in capsys.readouterr().err


def test_the_explanation_fits_a_masked_release(release: sf.Release, folder: Path, capsys: Any) -> None:
    said = dict(sf.explain(release).lines)
    assert said["Step 1"] == '"age" and "pay". Values exchange with others from the next 10 percent of ranks.'
    assert said["Promised"] == "nothing of the people in it."
    assert said["Checked"] == "4 facts by the owner against the original. They promise nothing of people."
    assert said["As it was"] == '"region" stands there as before.'
    assert "Blurred" not in said
    assert str(sf.explain(folder)) == str(sf.explain(release)).replace("FOLDER", str(folder))
    assert main(["explain", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"] is False
    kept = sf.mask(TABLE, [sf.Rounding("age", base=50)], quasi=["age"], rest="release", insensitive=["pay"], k=5)
    for made in (release, kept):
        missing = Missing()
        for term, sentence in sf.explain(made).lines:
            translated(term, "it", missing)
            translated(sentence, "it", missing)
        assert not missing
    assert "Proven" in dict(sf.explain(kept).lines)
    assert "1 fact of the steps on the released rows" in dict(sf.explain(kept).lines)["Checked"]


def test_nothing_is_suggested_and_all_is_verified_and_signed(release: sf.Release, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="a masked table has none"):
        sf.suggest(release)
    assert {fact.holds for fact in sf.verify(folder, original=TABLE).facts} == {True}
    assert {fact.holds for fact in sf.verify(folder).facts} == {None}
    other = TABLE.with_columns(pay=pl.col("pay") + 1)
    assert sf.verify(folder, original=other).outcome == "broken"
    sf.new_key(tmp_path / "key.pem", passphrase=None)
    shutil.copytree(folder, tmp_path / "out")
    sf.sign(tmp_path / "out", key=tmp_path / "key.pem", name="Ann")
    signature = sf.verify(tmp_path / "out").signature
    assert signature is not None
    assert signature.valid
    assert "masked by rank-swapping, pram" in repr(release)
    assert "nothing" in release._repr_html_()
