"""Texts without a hierarchy: the order of their words, of their codes, or of how alike their rows are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.microdata import Microdata, microdata
from sfumato.hierarchies.similar import similar_order
from sfumato.hierarchies.words import codes_of, prefix_levels, scales, word_order
from sfumato.measures.labels_cover import covers

JOBS = ["baker", "clerk", "driver", "lawyer", "miner", "nurse"]


def workers(rows: int = 600) -> pl.DataFrame:
    """Bakers, drivers and miners earn little and live in x; the others earn much and live in y."""
    rng = np.random.default_rng(7)
    job = rng.integers(0, 6, rows)
    low = np.isin(job, [0, 2, 4])
    pay = np.where(low, rng.integers(10, 30, rows), rng.integers(60, 90, rows))
    return pl.DataFrame({"job": [JOBS[i] for i in job], "pay": pay, "town": np.where(low, "x", "y")})


def encoded(table: pl.DataFrame, row_counts: np.ndarray | None = None) -> Microdata:
    return microdata(table, dict.fromkeys(("job", "pay", "town"), "quasi"), {}, row_counts=row_counts)


@pytest.mark.parametrize(
    "words",
    [
        ["none", "mild", "moderate", "severe"],
        ["niedrig", "mittel", "hoch", "sehr hoch"],
        ["Basso", "Medio", "Alto"],
        ["XS", "S", "M", "L", "XL", "XXL"],
        ["Jan", "Feb", "March", "April", "Dec"],
        ["Montag", "Dienstag", "Mittwoch", "Sonntag"],
        ["lunedì", "martedì", "mercoledì"],
        ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
        ["stimme überhaupt nicht zu", "teils/teils", "stimme zu", "stimme voll und ganz zu"],
        ["never", "sometimes", "always"],
        ["A", "A-", "B+", "B", "C"],
        ["sehr gut", "gut", "befriedigend", "mangelhaft"],
        ["Preschool", "1st-4th", "9th", "HS-grad", "Some-college", "Bachelors", "Masters", "Doctorate"],
        ["Hauptschule", "Realschule", "Abitur", "Bachelor"],
        ["licenza media", "diploma", "laurea"],
        ["<20", "20-29", "30-39", "100-110", "120+"],
        ["20 to 29", "30 to 39", "65 and over"],
        ["low", "medium", "high", "unknown"],
    ],
)
def test_words_with_an_order(words: list[str]) -> None:
    texts = sorted(words)
    order = word_order(texts)
    assert order is not None
    assert [texts[i] for i in order] == words


@pytest.mark.parametrize(
    "words",
    [
        ["bus", "car", "tram"],
        ["low", "high"],
        ["low", "high", "blue", "medium"],
        ["a", "b", "c"],
        ["no", "yes", "maybe"],
    ],
)
def test_other_words(words: list[str]) -> None:
    assert word_order(sorted(words)) is None


def test_every_word_has_one_rank_in_its_scale() -> None:
    assert all(len(scale) == len({*scale}) and max(scale.values()) >= 2 for scale in scales())
    assert all(word == word.strip() and word.isascii() for scale in scales() for word in scale)


def are_codes(texts: list[str], count: list[int] | None = None, digits: str = "numbers") -> bool:
    return codes_of(texts, count or [1] * len(texts), digits) is not None


def test_codes() -> None:
    assert are_codes([f"{i:05d}" for i in range(0, 90_000, 777)])
    assert are_codes([f"J{i}.1" for i in range(10, 30)])
    assert not are_codes([f"A{i}" for i in range(5)])  # few
    assert not are_codes([f"house {i:02d}" for i in range(30)])
    assert not are_codes([f"{'ab'[i % 2]}{'12x'[i % 3]}{i:03d}" for i in range(30)])  # of no one pattern
    assert not are_codes([f"{i:02d}.05.2020" for i in range(1, 31)])


@pytest.mark.parametrize("odd", ["unknown", "1", "12.05.2020", "Z"])
def test_a_few_odd_values_are_no_sign_in_the_labels_of_all_others(odd: str) -> None:
    texts, count = [*(f"{i:05d}" for i in range(0, 90_000, 777)), odd], [10] * 116 + [1]
    assert codes_of(texts, count) == texts
    assert not are_codes(texts, [1] * 116 + [20])  # a share of the rows that suppression seldom hides
    plain, with_odd = prefix_levels(texts[:-1], count[:-1], 256), prefix_levels(texts, count, 256)
    assert [labels[:-1] for labels in with_odd] == plain
    assert all(len(labels[-1]) == len(odd) for labels in with_odd)


def test_diagnoses_are_told_by_most_rows() -> None:
    texts, count = [*(f"{c}{i}.{i % 7}" for c in "ADHJ" for i in range(10, 20)), "none"], [10] * 40 + [1]
    assert prefix_levels(texts, count, 256)[-1][:-1] == prefix_levels(texts[:-1], count[:-1], 256)[-1]
    assert {"A1******", "D1******", "H1******", "J1******"} < {*prefix_levels(texts, count, 256)[-1]}


def test_postcodes_that_were_numbers_mix_no_digits() -> None:
    texts = ["501", "1067", "1069", "2139", *(str(10_000 + 900 * i) for i in range(20)), "1234567890"]
    count = [9] * (len(texts) - 1) + [1]
    found = codes_of(texts, count, "postcodes")
    assert found is not None
    assert found[:5] == ["00501", "01067", "01069", "02139", "10000"]
    labels = prefix_levels(found, count, 256)[-1]
    assert labels[:5] == ["0****", "0****", "0****", "0****", "1****"]
    assert labels[-1] == "1*********"
    assert codes_of(texts, count) is None  # numbers of several lengths: no prefix of theirs says anything
    many = [str(i) for i in range(7, 3000, 7)]
    assert codes_of(many, [1] * len(many), "codes") == many
    assert {"7", "7*", "7**", "1***"} <= {*prefix_levels(many, [1] * len(many), 256)[-1]}


def test_similar_values_stand_together() -> None:
    job = encoded(workers()).attribute("job")
    assert job.categories.sequence == "similar"
    halves = {frozenset(job.categories.text[:3]), frozenset(job.categories.text[3:])}
    assert halves == {frozenset(["baker", "driver", "miner"]), frozenset(["clerk", "lawyer", "nurse"])}
    assert set(job.ladder.text[-2]) >= {"{" + ", ".join(str(t) for t in job.categories.text[:3]) + "}"}


def test_the_order_depends_on_counts_alone() -> None:
    table = workers()
    one = encoded(table)
    shuffled = encoded(table.sample(fraction=1.0, shuffle=True, seed=3))
    counted = table.group_by(table.columns).len()
    weighed = encoded(counted, counted.get_column("len").to_numpy())
    for other in (shuffled, weighed):
        assert other.attribute("job").categories.text == one.attribute("job").categories.text
    text = one.attribute("job").categories.text
    assert [text[i] for i in one.codes["job"]] == table.get_column("job").to_list()


def test_the_most_frequent_value_stands_at_an_end() -> None:
    codes = np.repeat([0, 1, 2, 3], [10, 10, 500, 10])
    found = similar_order(codes, 4, [(np.arange(len(codes)) % 3, 3)])
    assert found[0] == 2
    assert sorted(found.tolist()) == [0, 1, 2, 3]


def test_sensitive_columns_tell_nothing() -> None:
    table = workers()
    roles = {"job": "quasi", "town": "quasi", "pay": "sensitive"}
    one = microdata(table, roles, {}).attribute("job").categories.text
    other = table.with_columns(pl.col("pay").shuffle(seed=1))
    assert microdata(other, roles, {}).attribute("job").categories.text == one


def test_alone_or_with_too_many_values_a_column_keeps_the_order_of_text() -> None:
    alone = microdata(workers().select("job"), {"job": "quasi"}, {}).attribute("job")
    assert alone.categories.sequence == "text"
    assert alone.categories.text == tuple(JOBS)
    assert alone.ladder.height == 1
    many = pl.DataFrame({"street": [f"the {i} street" for i in range(300)], "n": range(300)})
    assert microdata(many, dict.fromkeys(many.columns, "quasi"), {}).attribute("street").categories.sequence == "text"


@pytest.mark.parametrize("search", ["optimal", "mondrian", "k-member", "mu-argus"])
def test_labels_of_a_release_name_what_they_cover(search: str) -> None:
    table = workers(300).with_columns(job=pl.when(pl.int_range(pl.len()) < 2).then(pl.lit("pope")).otherwise("job"))
    release = sf.anonymize(table, quasi=["job", "pay", "town"], k=20, suppression=0.05, search=search)
    assert release.verification.holds
    labels = release.table.get_column("job").unique().drop_nulls().to_list()
    assert not any(".." in label for label in labels)
    shown = covers(labels, [*JOBS, "pope"])
    assert shown.any(axis=1).all()
    for label, row in zip(labels, shown, strict=True):
        assert label == "*" or row.sum() == label.count(", ") + 1
