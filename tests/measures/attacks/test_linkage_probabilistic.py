"""Probabilistic linkage: small tables, the two thresholds, and the two ends of protection."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.measures.attacks.linkage.probabilistic import probabilistic_linkage
from sfumato.measures.attacks.result import Attack


def people(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    return pl.DataFrame(
        {
            "birth year": rng.integers(1940, 2000, n),
            "zip": [f"{z:03d}" for z in rng.integers(0, 40, n)],
            "job": rng.choice(list("abcdefgh"), n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def noisy(table: pl.DataFrame, share: float) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return table.with_columns(
        pl.Series(name, np.where(rng.random(table.height) < share, rng.permutation(v := table[name].to_numpy()), v))
        for name in table.columns
    )


@pytest.fixture(scope="module")
def perturbed() -> Attack:
    table = people()
    return probabilistic_linkage(noisy(table, 0.1), table)


def test_four_rows() -> None:
    table = {"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]}
    # whatever the weights are, agreeing on both columns is best; row 3 has lost its age and shares its sex with row 1
    attack = probabilistic_linkage({"age": ["20", "30", "40", "*"], "sex": ["f", "m", "f", "m"]}, table)
    assert attack.success == pytest.approx(1)
    assert attack.baseline == 0.25


def test_a_copy_is_found() -> None:
    table = people().unique(maintain_order=True)
    attack = probabilistic_linkage(table, table)
    assert attack.success == pytest.approx(1)
    assert attack.details["links"] == table.height
    assert attack.details["precision"] == pytest.approx(1)
    assert attack.details["recall"] == pytest.approx(1)


def test_a_blank_table_is_at_its_baseline() -> None:
    table = people()
    for blank in ("*", None):
        nothing = pl.DataFrame({name: pl.Series([blank] * table.height, dtype=pl.String) for name in table.columns})
        attack = probabilistic_linkage(nothing, table)
        assert attack.success == pytest.approx(attack.baseline)
        assert attack.details["links"] == 0
        assert attack.details["non-links"] == table.height


def test_a_perturbed_table(perturbed: Attack) -> None:
    assert 0.5 < perturbed.success < 1
    details = perturbed.details
    assert details["links"] + details["review"] + details["non-links"] == 300
    assert details["links"] > 0
    assert details["precision"] > perturbed.success  # links are surer than the rest
    assert details["recall"] <= perturbed.success
    assert all(0 <= row < 300 for row in perturbed.exposed)
    assert perturbed.exposed


def test_it_repeats_with_its_seed(perturbed: Attack) -> None:
    table = people()
    again = probabilistic_linkage(noisy(table, 0.1), table)
    assert again.to_dict() == perturbed.to_dict()


def test_thresholds_and_unknown_truth(perturbed: Attack) -> None:
    table = people()
    attack = probabilistic_linkage(noisy(table, 0.1), table, truth="unknown", upper=1.0, lower=0.0)
    assert attack.details["review"] >= perturbed.details["links"]
    assert attack.details["non-links"] <= perturbed.details["non-links"]
    assert "precision" not in attack.details
    assert 0.3 < attack.success <= 1


def test_values_agree_with_the_labels_that_cover_them() -> None:
    table = people(120)
    release = table.with_columns(
        pl.Series("birth year", [f"[{y // 10 * 10}, {y // 10 * 10 + 10})" for y in table["birth year"]]),
        pl.Series("zip", [z[:2] + "*" for z in table["zip"]]),
    )
    attack = probabilistic_linkage(release, table)
    assert attack.success > 20 * attack.baseline
    assert attack.details["compared"] == table.columns


def fits(label: str, value: str) -> bool:
    if label.startswith("["):
        low, high = map(int, label[1:-1].split(", "))
        return low <= int(value) <= high
    return value in label[1:-1].split(", ") if label.startswith("{") else label == value


def linked(release: pl.DataFrame, table: pl.DataFrame, attack: Attack) -> list[float]:
    """The chance of each person to be found with the weights that an attack says it used, pair by pair."""
    m, u, n = attack.details["m"], attack.details["u"], release.height
    credit = []
    for i, person in enumerate(table.rows(named=True)):
        weights = []
        for record in release.rows(named=True):
            total = 0.0
            for name in m:
                label, value = record[name], str(person[name])
                known = [other for other in release[name] if other not in (None, "*")]
                if label in (None, "*"):
                    continue
                of_value = max(sum(fits(other, value) for other in known) / len(known), 1 / n)
                if fits(label, value):
                    total += max(math.log2(m[name] / of_value), 0.0)
                else:
                    total += math.log2((1 - m[name]) / (1 - u[name]))
            weights.append(total)
        best = [row for row, weight in enumerate(weights) if weight > max(weights) - 1e-9]
        credit.append(1 / len(best) if i in best else 0.0)
    return credit


def blurred(table: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Ranges of several widths, sets, values drawn anew and values that are gone."""
    frame = table.cast(pl.String)
    ages, wide = table["age"], rng.integers(0, 4, table.height) * 3
    towns = [
        str(t) if rng.random() < 0.7 else f"{{{t}, {o}}}"
        for t, o in zip(table["town"], table["town"].reverse(), strict=True)
    ]
    jobs = [str(rng.choice(list("abcd"))) if rng.random() < 0.15 else j for j in table["job"]]
    gone = rng.random((3, table.height)) < 0.1
    return frame.with_columns(
        pl.Series("age", ["*" if g else f"[{a - w}, {a + w}]" for a, w, g in zip(ages, wide, gone[0], strict=True)]),
        pl.Series("town", [None if g else t for t, g in zip(towns, gone[1], strict=True)]),
        pl.Series("job", ["*" if g else j for j, g in zip(jobs, gone[2], strict=True)]),
    )


@pytest.mark.parametrize("seed", range(8))
def test_weights_against_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    table = pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "town": rng.choice(["Rome", "Oslo", "Bern", "Kyiv", "Riga"], n),
            "job": rng.choice(list("abcd"), n),
        }
    )
    release = blurred(table, rng)
    attack = probabilistic_linkage(release, table, truth=np.arange(n))
    assert attack.success == pytest.approx(float(np.mean(linked(release, table, attack))))
    assert all(attack.details["m"][name] >= attack.details["u"][name] - 1e-12 for name in attack.details["m"])


@pytest.mark.parametrize("people_known", [1, 2, 3, 5, 20, 120])
def test_agreement_never_counts_against_a_match(people_known: int) -> None:
    below = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = pl.DataFrame(
            {
                "age": rng.integers(20, 60, 120),
                "town": rng.choice(["Rome", "Oslo", "Bern", "Kyiv", "Riga"], 120, p=[0.8, 0.1, 0.05, 0.03, 0.02]),
                "sex": rng.choice(["f", "m"], 120),
            }
        )
        release = sf.anonymize(table, quasi=table.columns, require=[sf.KAnonymity(3)], search="mondrian")
        rows = rng.choice(120, people_known, replace=False)
        truth = np.full(120, -1)
        truth[release.rows] = np.arange(len(release.rows))
        attack = probabilistic_linkage(release.data, table[rows.tolist()], truth=truth[rows])
        assert all(attack.details["m"][name] >= u - 1e-12 for name, u in attack.details["u"].items())
        below += attack.success < attack.baseline - 1e-12
    assert below == 0


def test_an_implausible_model_says_so() -> None:
    table = people()
    worse = table.with_columns(table["job"].replace(dict(zip("abcdefgh", "bcdefgha", strict=True))))  # nobody's own
    attack = probabilistic_linkage(worse, table)
    assert attack.details["implausible"] == ["job"]
    assert attack.details["u"]["job"] <= attack.details["m"]["job"] < attack.details["m"]["zip"]
    assert 'implausible: the same person would agree on "job" less often than others do' in attack.sentence
    assert attack.success > 0.9


def test_overlapping_labels_agree_with_all_that_they_cover() -> None:
    table = {"age": [21, 25, 33, 38], "sex": ["f", "m", "f", "m"]}
    release = {"age": ["[20, 39]", "[20, 29]", "[20, 39]", "[30, 39]"], "sex": ["f", "m", "f", "m"]}
    attack = probabilistic_linkage(release, table)
    assert attack.success == pytest.approx((1 / 2 + 1 + 1 / 2 + 1) / 4)


@pytest.mark.slow
def test_many_columns_are_learnt_in_turns() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({f"c{i}": rng.integers(0, 3, 200) for i in range(20)})
    attack = probabilistic_linkage(noisy(table, 0.1), table)
    assert len(attack.details["m"]) == 20
    assert min(attack.details["m"].values()) > 0.75
    assert attack.success > 0.9


def test_some_people_stand_for_all() -> None:
    table = people()
    attack = probabilistic_linkage(table, table, max_pairs=20 * 300)
    assert attack.trials == 20
    rows = attack.details["external rows"]
    assert list(attack.exposed) == rows  # row i is row i
    assert attack.success == pytest.approx(1, abs=0.1)
    assert probabilistic_linkage(table, table, max_pairs=1).trials == 1


def test_pairs_that_agree_on_nothing_are_guessed() -> None:
    table = people()
    attack = probabilistic_linkage(table.with_columns(sex=pl.lit("x"), job=pl.lit("y")), table, ["sex", "job"])
    assert attack.success == pytest.approx(attack.baseline)


@pytest.mark.parametrize("column", [[1, 2], [None, 1], ["ß", "x"], [2**63 - 1, 2**63 - 2]])
def test_nasty_columns(column: list) -> None:
    attack = probabilistic_linkage({"a": column}, {"a": column})
    assert 0.5 - 1e-9 <= attack.success <= 1 + 1e-9


def test_refusals() -> None:
    with pytest.raises(PolicyError, match="lower <= upper"):
        probabilistic_linkage({"a": [1]}, {"a": [1]}, upper=0.2, lower=0.5)


@pytest.mark.parametrize(("given", "words"), [({"upper": "x"}, "upper .* got 'x'"), ({"lower": -1}, "lower .* got -1")])
def test_thresholds_are_shares(given: dict[str, object], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        probabilistic_linkage(people(20), people(20), **given)  # type: ignore[arg-type]


@pytest.mark.slow
def test_weights_are_those_of_splink() -> None:
    splink, duckdb = pytest.importorskip("splink"), pytest.importorskip("duckdb")
    import splink.comparison_library as compare

    table = people(60)
    release = noisy(table, 0.2)
    attack = probabilistic_linkage(release, table)
    m, u, names = attack.details["m"], attack.details["u"], list(attack.details["m"])
    columns = {name: f"c{i}" for i, name in enumerate(names)}
    base = duckdb.connect(":memory:")
    api = splink.DuckDBAPI(connection=base)
    frames = [f.cast(pl.String).rename(columns).with_row_index("unique_id") for f in (table, release)]
    tables = [
        api.register(frame.to_arrow(), dataset_display_name=name, table_name=name)
        for name, frame in zip(("external", "released"), frames, strict=True)
    ]
    settings = splink.SettingsCreator(
        link_type="link_only",
        comparisons=[
            compare.ExactMatch(columns[n]).configure(m_probabilities=[m[n], 1 - m[n]], u_probabilities=[u[n], 1 - u[n]])
            for n in names
        ],
        blocking_rules_to_generate_predictions=["1=1"],
        probability_two_random_records_match=1 / 60,
    )
    pairs = splink.Linker(tables, settings, log_level="CRITICAL").inference.predict()
    found = base.sql(f"select unique_id_l, unique_id_r, match_weight from {pairs.physical_name}").pl()
    assert found.height == 3600
    prior = math.log2(1 / 59)
    for e, r, weight in found.rows():
        known, record = frames[0].row(e, named=True), frames[1].row(r, named=True)
        ours = sum(
            math.log2(m[n] / u[n] if known[c] == record[c] else (1 - m[n]) / (1 - u[n])) for n, c in columns.items()
        )
        assert weight == pytest.approx(prior + ours)


def test_one_person_known_is_found() -> None:
    table = people().unique(["birth year", "zip", "job", "sex"], maintain_order=True)
    for row in range(5):
        attack = probabilistic_linkage(table, table[row : row + 1], truth=[row])
        assert attack.success == 1
        assert attack.details["compared"] == table.columns
