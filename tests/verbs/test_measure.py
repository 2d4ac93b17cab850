"""The verbs that measure: frames, files, releases and release folders; what they know, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato import errors
from sfumato.hierarchies import wide

SECRET = "Xaverine"
ROWS = 60
TABLE = pl.DataFrame(
    {
        "id": [f"{SECRET}{i}" for i in range(ROWS)],
        "age": [20 + (7 * i) % 30 for i in range(ROWS)],
        "sex": ["fm"[i % 2] for i in range(ROWS)],
        "ill": [("flu", "cold", "ulcer")[(i * i) % 3] for i in range(ROWS)],
        "cost": [100 + i for i in range(ROWS)],
    }
)
FEW = wide([["1", "*"], ["2", "*"]])
ROLES: dict[str, Any] = {"identifying": ["id"], "quasi": ["age", "sex"], "sensitive": ["ill"], "insensitive": ["cost"]}


def released(**more: Any) -> sf.Release:
    given: dict[str, Any] = {"require": sf.KAnonymity(5), "search": "mondrian", **ROLES, **more}
    return sf.anonymize(TABLE, **given)


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return released()


@pytest.fixture(scope="module")
def folder(release: sf.Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release.save(tmp_path_factory.mktemp("releases") / "out")


def plain(found: Any) -> str:
    """As JSON, which must hold no value of the table."""
    text = json.dumps(found, allow_nan=False)
    assert SECRET not in text
    assert "ulcer" not in text
    return text


def test_risk_of_a_frame_by_hand() -> None:
    found = sf.risk({"age": [30, 30, 30, 40], "ill": ["a", "b", "a", "a"]}, quasi=["age"], sensitive=["ill"])
    assert found["quasi"] == ["age"]
    assert found["prosecutor"]["highest"] == 1.0
    assert found["prosecutor"]["average"] == 0.5
    assert found["uniqueness"]["sample"] == 0.25
    assert found["achieved"]["sensitive"]["ill"]["distinct_l"] == 1
    assert "sets" not in found


def test_a_release_and_its_folder_know_their_columns(release: sf.Release, folder: Path) -> None:
    own, read = sf.risk(release), sf.risk(folder)
    assert own["quasi"] == read["quasi"] == ["age", "sex"]
    assert own["prosecutor"] == read["prosecutor"] == sf.risk(release.table, quasi=["age", "sex"])["prosecutor"]
    assert own["achieved"]["k"] >= 5
    assert list(own["achieved"]["sensitive"]) == list(read["achieved"]["sensitive"]) == ["ill"]
    assert sf.risk(str(folder), quasi="ill")["achieved"]["sensitive"] == {}  # asked about as quasi-identifying
    assert sf.risk(folder, sensitive=())["achieved"]["sensitive"] == {}
    plain(read)


@pytest.mark.slow
def test_weights_of_a_release_give_individual_risk() -> None:
    made = released(insensitive=[], weight="cost")
    assert sf.risk(made)["individual"]["highest"] < 1
    assert "individual" not in sf.risk(made.table, quasi=["age", "sex"])


def test_several_sets_give_the_one_at_most_risk() -> None:
    found = sf.risk(TABLE, quasi=[["sex"], ["age", "sex"]])
    assert found["quasi"] == ["age", "sex"]
    assert [entry["quasi"] for entry in found["sets"]] == [["sex"], ["age", "sex"]]
    assert found["prosecutor"] == found["sets"][1]["prosecutor"]


def test_suda_and_subsets_come_when_asked() -> None:
    found = sf.risk(TABLE, quasi=["age", "sex", "cost"], suda=True, subsets=2, sampling_fraction=0.5)
    assert found["suda"]["with_score"] == ROWS  # the cost alone singles everybody out
    assert found["suda"]["sampling_fraction"] == 0.5
    assert found["suda"]["contribution"]["cost"] == pytest.approx(100)
    assert found["suda"]["minimum_unsafe"]["least"] == 1
    assert [s["columns"] for s in found["subsets"] if s["minimal"]] == [["cost"]]
    assert {"SUDA", "minimum unsafe combination"} <= {m["name"] for m in found["measures"]}
    plain(found)


def test_a_profile_is_held_against_every_set() -> None:
    table = {"a": ["x"] * 12 + ["y"] * 12, "b": ["x"] * 11 + ["y"] * 13}
    assert sf.risk(table, quasi=["a"], profile="clinical")["profile"]["holds"]
    both = sf.risk(table, quasi=[["a"], ["b"]], profile="clinical")
    assert both["quasi"] == ["b"]
    assert not both["profile"]["holds"]


def test_hipaa_needs_no_quasi_identifiers() -> None:
    found = sf.risk({"email": ["a@b.org", "c@d.org"]}, profile="hipaa")
    assert not found["profile"]["holds"]
    assert found["measures"] == []
    assert sf.risk({"colour": ["red", "blue"]}, profile="hipaa")["profile"]["holds"]


@pytest.mark.slow
def test_gdpr_attacks_the_original_where_it_is_given(release: sf.Release) -> None:
    alone = sf.risk(release, profile="gdpr")["profile"]
    tried = sf.risk(release, profile="gdpr", original=TABLE)["profile"]
    assert [check["name"] for check in alone["checks"]] == ["singling out", "linkability", 'inference of "ill"']
    assert len(tried["checks"]) == 4


def test_utility_of_a_release_alone(release: sf.Release) -> None:
    found = sf.utility(release)
    assert found["rows"] == {"original": ROWS, "released": ROWS, "suppressed": 0, "aligned": True}
    assert found["quasi"] == ["age", "sex"]
    assert found["loss"]["lm"] == pytest.approx(release.solution.verdict.loss)
    assert found["notes"] == []
    assert found["loss"] == sf.utility(TABLE, release)["loss"]
    plain(found)


def test_utility_of_a_folder_in_order(release: sf.Release, tmp_path: Path) -> None:
    with pytest.warns(sf.RowOrderWarning):
        folder = released(order="input").save(tmp_path / "out")
    found = sf.utility(TABLE, folder)
    assert found["rows"]["aligned"]
    assert found["loss"]["lm"] == pytest.approx(sf.utility(release)["loss"]["lm"])
    assert found["loss"]["c-avg"] == pytest.approx(sf.utility(TABLE, folder, k=5)["loss"]["c-avg"])


@pytest.mark.slow
@pytest.mark.parametrize("order", ["canonical", "random"])
@pytest.mark.parametrize("columns", [["age", "sex", "cost"], ["age", "sex"]])
def test_a_folder_in_another_order_is_measured_by_distributions(columns: list[str], order: str, tmp_path: Path) -> None:
    table = TABLE.select(columns)
    made = sf.anonymize(
        table,
        quasi=["age", "sex"],
        insensitive=columns[2:],
        require=sf.KAnonymity(5),
        search="mondrian",
        order=order,
        seed=1,
    )
    found = sf.utility(table, made.save(tmp_path / "out"))
    assert not found["rows"]["aligned"]
    assert "another order" in found["notes"][0]
    assert found["categories"].get("direct-comparison") is None
    assert found["distributions"]["total-variation"] >= 0
    whole = sf.utility(made)  # the release itself remembers the order
    assert whole["rows"]["aligned"]
    assert whole["loss"]["lm"] == pytest.approx(found["loss"]["lm"])


def test_a_folder_with_suppressed_rows_needs_a_key(tmp_path: Path) -> None:
    table = TABLE.drop("id").with_columns(
        age=pl.when(pl.int_range(pl.len()) == 7).then(99).otherwise("age"), number=pl.int_range(pl.len())
    )
    made = sf.anonymize(
        table,
        quasi=["age", "sex"],
        insensitive=["ill", "cost", "number"],
        require=sf.KAnonymity(5),
        search="optimal",
        suppression=1,
        hierarchies={"age": sf.intervals(15, origin=20), "sex": sf.flat()},
        levels={"age": 1, "sex": 0},
    )
    assert made.table.height == ROWS - 1
    out = made.save(tmp_path / "out")
    found = sf.utility(table, out)
    assert (found["rows"]["aligned"], found["rows"]["suppressed"]) == (False, 1)
    assert f"{ROWS} original and {ROWS - 1} released" in found["notes"][0]
    by_key = sf.utility(table, out, key="number")
    assert by_key["rows"]["aligned"]
    assert by_key["notes"] == []
    assert by_key["categories"] == sf.utility(made)["categories"]


def test_another_table_than_that_of_the_release(release: sf.Release, folder: Path) -> None:
    with pytest.raises(errors.PolicyError, match="not the table"):
        sf.utility(TABLE.head(50), release)
    notes = sf.utility(TABLE.head(50), folder)["notes"]
    assert notes[0] == "the release was made of a table of 60 rows, and this one has 50"


def test_labels_that_cannot_be_read_are_told() -> None:
    table = {"job": ["cook", "baker", "nurse", "midwife"]}
    blurred = {"job": ["food", "food", "care"]}
    assert "could not be read" in sf.utility(table, blurred)["notes"][1]
    tree = {"job": {"cook": "food", "baker": "food", "nurse": "care", "midwife": "care"}}
    read = sf.utility(table, blurred, hierarchies={"job": sf.levels(tree["job"], "*")})
    assert len(read["notes"]) == 1


@pytest.mark.slow
def test_attack_names_rows_and_no_content(release: sf.Release, folder: Path) -> None:
    table = {"age": ["2*", "2*", "3*", "3*"], "ill": ["flu", "flu", "flu", "cold"]}
    found = sf.attack(table, quasi=["age"], sensitive="ill")
    assert found["homogeneity"]["exposed"] == [0, 1]
    own = sf.attack(release, trials=20)
    assert {"homogeneity", "singling-out", "linkability", "inference"} <= set(own)
    assert not {"singling-out", "linkability"} & set(sf.attack(folder))
    assert sf.attack(folder, original=TABLE, trials=20)["inference"] == own["inference"]
    plain(own)


def test_attack_on_several_sets() -> None:
    found = sf.attack(TABLE, quasi=[["age"], ["sex"]], sensitive="ill")
    assert {"homogeneity on age", "homogeneity on sex"} <= set(found)


@pytest.mark.slow
def test_an_external_table_and_who_is_who(tmp_path: Path) -> None:
    made = released(order="random", seed=4)
    voters = TABLE.select("id", "age", "sex")
    linked = sf.attack(made, voters)["deterministic-linkage"]
    plainly = sf.attack(released(), voters)["deterministic-linkage"]
    assert linked["success"] == pytest.approx(plainly["success"])  # the release knows its order
    assert linked["details"]["truth known"]
    out = made.save(tmp_path / "out")
    shuffled = sf.attack(out, TABLE)  # as many rows, in another order: nobody knows who is who
    assert not shuffled["deterministic-linkage"]["details"]["truth known"]
    assert "distance-linkage" not in shuffled
    some = sf.attack(out, voters.head(9))["deterministic-linkage"]
    assert not some["details"]["truth known"]
    plain(some)


@pytest.mark.slow
def test_an_unprotected_copy_is_linked_and_a_suppressed_one_is_not() -> None:
    people = TABLE.select("cost", "sex")
    assert sf.attack(people, people, quasi=["cost", "sex"])["deterministic-linkage"]["success"] == 1
    nothing = people.with_columns(cost=pl.lit("*"), sex=pl.lit("*"))
    blind = sf.attack(nothing, people, quasi=["cost", "sex"])["deterministic-linkage"]
    assert blind["success"] == pytest.approx(blind["baseline"])


def test_the_packages_stand_beside_the_verbs() -> None:
    assert sf.measures.risk.suda(TABLE, ["age", "sex"]).height == ROWS
    assert callable(sf.risk)
    assert callable(sf.utility)
    assert callable(sf.attack)
    assert sf.measures.standards.PROFILES == ("hipaa", "gdpr", "clinical")
    assert set(dir(sf.measures)) == {"attacks", "risk", "standards", "synthetic", "utility"}
    assert sf.measures.risk.sample_uniqueness(TABLE, ["cost"]) == sf.Measure(
        **vars(sf.measures.risk.sample_uniqueness(TABLE, ["cost"]))
    )
    with pytest.raises(AttributeError):
        _ = sf.measures.nothing


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: sf.risk(TABLE), errors.PolicyError, ["risk needs the quasi-identifiers", "--quasi"]),
        (lambda: sf.risk(TABLE, quasi=[]), errors.PolicyError, ["quasi-identifiers"]),
        (lambda: sf.risk(TABLE, quasi=["agee"]), errors.ColumnError, ['"agee"', 'did you mean "age"?']),
        (lambda: sf.risk(TABLE, quasi=["age"], sensitive=["il"]), errors.ColumnError, ['did you mean "ill"?']),
        (lambda: sf.risk(TABLE, quasi=["age"], weight="w"), errors.ColumnError, ['"w"']),
        (lambda: sf.risk(TABLE, quasi=["age"], weight="ill"), errors.ColumnError, ['"ill"', "numbers"]),
        (lambda: sf.risk(TABLE, quasi=["age"], threshold=2), errors.PolicyError, ["threshold"]),
        (lambda: sf.risk(TABLE, quasi=["age"], population=5), errors.PolicyError, ["population"]),
        (lambda: sf.risk(TABLE, quasi=["age"], profile="hippa"), errors.PolicyError, ['did you mean "hipaa"?']),
        (lambda: sf.risk(TABLE, quasi=["age"], suda=-2), errors.PolicyError, ["suda", "got -2"]),
        (lambda: sf.risk(TABLE, quasi=["age"], suda="x"), errors.PolicyError, ["suda", "got 'x'"]),
        (lambda: sf.risk(TABLE, quasi=["age"], hierarchies={"x": "flat"}), errors.ColumnError, ['"x"']),
        (lambda: sf.risk(TABLE, quasi=["age"], hierarchies=["flat"]), errors.PolicyError, ["hierarchies"]),
        (lambda: sf.risk(TABLE, quasi=["age"], subsets=0), errors.PolicyError, ["up_to", "got 0"]),
        (lambda: sf.risk("nowhere.csv", quasi=["age"]), errors.ReadError, ["nowhere.csv"]),
        (lambda: sf.utility(TABLE), errors.PolicyError, ["original and the release"]),
        (lambda: sf.utility(TABLE, {"other": [1]}), errors.ColumnError, ["share no column"]),
        (lambda: sf.utility(TABLE, TABLE, quasi=["agee"]), errors.ColumnError, ['did you mean "age"?']),
        (lambda: sf.utility(TABLE, TABLE, key="sex"), errors.ColumnError, ['"sex"']),
        (lambda: sf.utility(TABLE, TABLE, target="x"), errors.ColumnError, ['"x"']),
        (lambda: sf.attack(TABLE, quasi=["age"]), errors.PolicyError, ["no attack to try"]),
        (lambda: sf.attack(TABLE, sensitive="ill"), errors.PolicyError, ["quasi-identifiers"]),
        (lambda: sf.attack(TABLE, quasi="age", sensitive="x"), errors.ColumnError, ['"x"']),
        (lambda: sf.attack(TABLE, quasi="age", original=TABLE, trials=0), errors.PolicyError, ["trials", "got 0"]),
        (lambda: sf.attack(TABLE, quasi="age", original=TABLE, seed=-1), errors.PolicyError, ["seed", "got -1"]),
        (lambda: sf.attack(TABLE, quasi="age", sensitive="ill", most=-3), errors.PolicyError, ["most", "got -3"]),
        (lambda: sf.attack(TABLE, quasi="age", sensitive="ill", most="x"), errors.PolicyError, ["most", "got 'x'"]),
        (lambda: sf.attack(TABLE, quasi="age", sensitive="ill", releases=5), errors.PolicyError, ["releases", "int"]),
        (lambda: sf.attack(TABLE, quasi="age", sensitive="ill", releases="x.csv"), errors.PolicyError, ["releases"]),
        (lambda: sf.attack(TABLE, quasi="age", sensitive="ill", releases=TABLE), errors.PolicyError, ["releases"]),
        (lambda: sf.attack(TABLE, TABLE, quasi="age", upper="x"), errors.PolicyError, ["upper", ">= 0 and <= 1"]),
        (lambda: sf.attack(TABLE, TABLE, quasi="age", upper=0.2), errors.PolicyError, ["lower 0.5, upper 0.2"]),
        (
            lambda: sf.attack(TABLE, quasi="age", sensitive="ill", hierarchies={"ill": FEW}),
            errors.HierarchyError,
            ['"ill"'],
        ),
    ],
)
def test_questions_that_make_no_sense(call: Any, kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as told:
        call()
    assert all(word in str(told.value) for word in words), str(told.value)
    assert SECRET not in str(told.value)


def test_folders_that_are_no_release(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.ReadError, match="no manifest"):
        sf.risk(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    data = (folder / manifest["files"][0]["file"]).read_bytes()
    bad = tmp_path / "bad"
    bad.mkdir()
    for text, words in (
        ("{", "is no JSON"),
        ("[]", "no manifest of a release"),
        (json.dumps({**manifest, "policy": {}}), "no manifest of a release"),
        (json.dumps({**manifest, "files": [{**manifest["files"][0], "file": "../../data.csv"}]}), "not in the folder"),
    ):
        (bad / "manifest.json").write_text(text, "utf-8")
        (bad / "data.csv").write_bytes(data)
        with pytest.raises(errors.ReadError, match=words):
            sf.risk(bad)
    (bad / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    (bad / "data.csv").write_bytes(data.replace(b"f", b"m", 1))
    with pytest.raises(errors.ReadError, match="not the one that its manifest describes"):
        sf.attack(bad)


def tie(first: list[Any], second: list[Any], **more: Any) -> float:
    """How many people an attack on the release of the first column finds by the second."""
    found = sf.attack({"a": first}, {"a": second}, quasi=["a"], **more)["deterministic-linkage"]
    assert isinstance(found["success"], float)
    return found["success"]


@pytest.mark.slow
def test_an_external_table_in_another_order_hides_nothing(tmp_path: Path) -> None:
    people = TABLE.select("age", "sex", "cost").with_columns(pl.col("cost").cast(pl.String))
    quasi = ["age", "sex", "cost"]
    mixed = people.sample(fraction=1, shuffle=True, seed=3)
    found = sf.attack(people, mixed, quasi=quasi)
    assert found["deterministic-linkage"]["success"] == 1
    assert not found["deterministic-linkage"]["details"]["truth known"]
    assert "order does not tell who is who" in found["deterministic-linkage"]["sentence"]
    assert found["probabilistic-linkage"]["success"] > 0.5
    assert "distance-linkage" not in found
    assert "who is who" in found.skipped["distance-linkage"]
    told = sf.attack(people, mixed, quasi=quasi, truth=list(range(ROWS)))  # who says so is believed
    assert told["deterministic-linkage"]["success"] < 0.2
    with pytest.warns(sf.RowOrderWarning):
        made = sf.anonymize(people, quasi=quasi, require=sf.KAnonymity(2), search="mondrian", order="input")
    folder = made.save(tmp_path / "out")
    for one in (made, folder):
        ordered, other = (sf.attack(one, table)["deterministic-linkage"] for table in (people, mixed))
        assert ordered["details"]["truth known"]
        assert not other["details"]["truth known"]
        assert other["success"] == pytest.approx(ordered["success"])
    cloudy = {"a": [10.3, 20.7, 29.1, 41.4]}  # moved values are nobody's: the order still holds
    assert "distance-linkage" in sf.attack(cloudy, {"a": [10, 20, 30, 40]}, quasi=["a"])


@pytest.mark.slow
def test_times_with_and_without_a_zone_meet() -> None:
    zoned = ["2020-01-01T10:00:00+00:00", "2021-01-01T11:00:00+00:00"]
    plainly = ["2020-01-01T10:00:00", "2021-01-01T11:00:00"]
    elsewhere = ["2020-01-01T12:00:00+02:00", "2021-01-01T13:00:00+02:00"]
    assert tie(zoned, plainly) == tie(plainly, zoned) == tie(zoned, elsewhere) == 1
    assert tie(plainly, ["2020-01-01T09:00:00+00:00", "2021-01-01T11:00:01+00:00"]) == 0
    risky = sf.risk({"a": zoned}, quasi=["a"], population={"a": [*plainly, *plainly]})["journalist"]
    assert (risky["outside"], risky["highest"]) == (0, 0.5)


def test_the_worst_set_is_the_one_of_the_highest_risk() -> None:
    table = {"a": [i // 2 for i in range(100)], "b": [0] * 99 + [1]}
    found = sf.risk(table, quasi=[["a"], ["b"]])
    assert (found["quasi"], found["prosecutor"]["highest"]) == (["b"], 1)


def test_a_raw_population_is_counted_through_the_labels() -> None:
    released = {"age": ["20-29", "20-29", "3*", "*"], "job": ["nurse", "nurse", "{clerk, cook}", None]}
    people = {
        "age": [21, 25, 29, 33, 34, 35, 61, 28],
        "job": ["nurse", "nurse", "nurse", "clerk", "cook", "baker", None, "cook"],
    }
    found = sf.risk(released, quasi=["age", "job"], population=people)
    assert found["journalist"]["average"] == pytest.approx((2 / 3 + 1 / 2 + 1) / 4)
    assert found["journalist"]["outside"] == 0
    assert found["uniqueness"]["table"]["pu"] == 1 / 8
    tree = {"job": wide([["nurse", "care", "*"], ["clerk", "office", "*"], ["cook", "care", "*"]])}
    read = sf.measures.risk.journalist(
        {"job": ["care"]}, ["job"], {"job": ["nurse", "cook", "clerk"]}, hierarchies=tree
    )
    assert read["highest"] == 0.5


def test_a_population_of_others_is_told() -> None:
    sentences = " ".join(
        m["sentence"] for m in sf.risk({"a": ["x", "y"]}, quasi=["a"], population={"a": ["v", "w"]})["measures"]
    )
    assert "holds no record as often" in sentences
    assert "record in the population, itself" not in sentences


def test_hierarchies_that_do_not_fit() -> None:
    assert sf.attack(released(), trials=5).skipped == {
        "similarity": '"ill" holds no numbers, so it needs its hierarchy'
    }
    with pytest.raises(errors.HierarchyError, match='"age"'):  # named, not "values"
        sf.attack(TABLE, TABLE, quasi=["age"], hierarchies={"age": FEW})


def test_what_a_table_achieves_can_be_required() -> None:
    found = sf.risk(TABLE, quasi=["sex"], sensitive=["ill"])["achieved"]["require"]
    assert sf.verify(TABLE, quasi=["sex"], sensitive=["ill"], require=found).holds
    assert sf.verify(TABLE, quasi=["sex"], require={"model": "k-anonymity", "k": 30}).holds
    for bad in ({"k": 3}, [{"model": 3}], {"model": "k-anonimity", "k": 3}):
        with pytest.raises(errors.PolicyError, match="model"):
            sf.verify(TABLE, quasi=["sex"], require=bad)


def test_suda_of_wide_tables_says_how_far_it_looks() -> None:
    table = {"a": [1, 1, 2, 2, 3], "b": [1, 2, 1, 2, 3]}
    every, some = (sf.risk(table, quasi=list(table), suda=depth) for depth in (True, 1))
    assert (some["suda"]["with_score"], every["suda"]["with_score"]) == (1, 5)
    sentence = next(m["sentence"] for m in some["measures"] if m["name"] == "SUDA")
    assert "up to 1 of these columns" in sentence
    assert "where the table holds 0.1 of the population" in sentence


def test_interval_disclosure_of_moved_numbers(tmp_path: Path) -> None:
    before, after = {"pay": [10, 20, 30, 40], "sex": [*"mmff"]}, {"pay": [10, 21, 29, 60], "sex": [*"mmff"]}
    found = sf.risk(after, quasi=["sex"], sensitive=["pay"], original=before)
    assert found["interval_disclosure"]["columns"]["pay"]["sd"] == 0.75
    assert found["interval_disclosure"]["all"]["sd"] == 0.75
    told = next(m for m in found["measures"] if m["name"] == "interval disclosure of pay by sd")
    assert (told["value"], told["baseline"]) == (0.75, found["interval_disclosure"]["columns"]["pay"]["sd_baseline"])
    plain(found)
    made = released(order="random", seed=4, sensitive=["cost"], insensitive=[])
    assert sf.risk(made, original=TABLE)["interval_disclosure"]["columns"]["cost"]["rank"] == 1  # it knows its rows
    lost = sf.risk(made.save(tmp_path / "out"), original=TABLE)["interval_disclosure"]
    assert (lost["columns"], "not known which" in lost["note"]) == ({}, True)
    assert "note" in sf.risk(TABLE, quasi=["sex"], original=TABLE)["interval_disclosure"]


NASTY: dict[str, dict[str, list[Any]]] = {
    "one row": {"a": [1], "b": ["x"], "s": ["y"]},
    "all equal": {"a": [1] * 5, "b": ["x"] * 5, "s": ["y"] * 5},
    "all missing": {"a": [None] * 3, "b": [None] * 3, "s": [None] * 3},
    "nan and infinity": {"a": [float("nan"), float("inf"), 1.0, None], "b": ["x"] * 4, "s": ["y", None, "z", "y"]},
    "huge integers": {"a": [2**62, 2**62 + 1, -(2**62), 0], "b": ["x", "x", "y", "y"], "s": ["1", "2", "3", "4"]},
    "mixed types": {"a": [1, "1", 2.5, True], "b": ["*", "", " ", "\N{SNOWMAN}"], "s": ["y", "z", "y", "z"]},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(NASTY))
def test_nasty_tables_give_plain_values(name: str) -> None:
    table = NASTY[name]
    given: dict[str, Any] = {"quasi": ["a", "b"], "sensitive": ["s"]}
    risky = sf.risk(table, **given, suda=True, subsets=2, sampling_fraction=0.5)
    assert 0 < risky["prosecutor"]["average"] <= 1
    assert 0 < sf.risk(table, **given, wildcard=True)["prosecutor"]["average"] <= 1
    kept = sf.utility(table, table, quasi=["a", "b"])
    assert kept["rows"]["aligned"]
    tried = sf.attack(table, table, table, **given, trials=5)
    assert all(0 <= entry["success"] <= 1 for entry in tried.values())
    for found in (risky, kept, tried):
        json.dumps(found, allow_nan=False)
