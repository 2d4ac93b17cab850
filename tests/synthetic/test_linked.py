"""Households and their persons: sizes stay, persons go with their household and with each other."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.risk.copied_uniques import repeats
from sfumato.synthetic.copies import without_copied_units
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.linked import LinkedTables
from sfumato.synthetic.synthesized_release import split_rows


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """A reference person, a partner of about the same age, and children who are thirty years younger."""
    chance = np.random.default_rng(1)
    parts = []
    for home in range(500):
        size = int(chance.choice([1, 2, 3, 4], p=[0.3, 0.3, 0.2, 0.2]))
        head = int(chance.integers(30, 70))
        ages = [head, head + int(chance.integers(-3, 4)), *(head - 30 + int(chance.integers(-3, 4)) for _ in range(2))]
        region = ("north", "south")[int(chance.random() < (head - 30) / 40)]
        roles = ["head", "partner", "child", "child"]
        parts += [(f"h{home}", region, role, age) for role, age in zip(roles[:size], ages[:size], strict=True)]
    return pl.DataFrame(parts, ["home", "region", "role", "age"], orient="row")


def drawn(table: pl.DataFrame, rows: int, **options: object) -> pl.DataFrame:
    given = {"household": "home"} | options
    return LinkedTables(**given).fit(table, FitContext(np.random.default_rng(1))).draw(rows, np.random.default_rng(2))


def sizes(table: pl.DataFrame) -> list[int]:
    return sorted(table.group_by("home").len()["len"].to_list())


def test_households_keep_their_sizes_and_are_one(people):
    made = drawn(people, people.height)
    assert made.schema == people.schema
    assert sizes(made) == sizes(people)
    assert (made.group_by("home").agg(pl.col("region").n_unique())["region"] == 1).all()
    assert not set(made["home"]) & set(people["home"])
    assert drawn(people, 333).height == 333
    assert drawn(people, 3 * people.height).height == 3 * people.height


def test_persons_go_with_those_before_them(people):
    made = drawn(people, people.height, household_columns=["region"])
    wide = {
        name: frame.filter(pl.col("role").is_in(["head", "partner", "child"]))
        .group_by("home", "role")
        .agg(pl.col("age").first())
        .pivot("role", index="home", values="age")
        for name, frame in (("before", people), ("after", made))
    }
    for frame in wide.values():
        assert (frame["head"] - frame["partner"]).drop_nulls().abs().mean() < 4
        assert abs((frame["head"] - frame["child"]).drop_nulls().mean() - 30) < 2
    first = made.group_by("home", maintain_order=True).agg(pl.col("role"))
    for roles in first["role"].to_list():
        assert roles == ["head", "partner", "child", "child"][: len(roles)]
    north = [f.filter(pl.col("role") == "head", pl.col("region") == "north")["age"].mean() for f in (people, made)]
    assert abs(north[0] - north[1]) < 2.5


def test_rules_look_at_the_household(people):
    ruled = people.with_columns(pl.when(pl.col("region") == "north").then(pl.lit("yes")).otherwise("role").alias("ski"))
    made = drawn(ruled, 2000, rules=["if region = north then ski = yes"])
    assert (made.filter(pl.col("region") == "north")["ski"] == "yes").all()


def test_numbers_of_households_are_new_in_their_type(people):
    coded = people.with_columns(home=pl.col("home").rank("dense").cast(pl.Int32))
    made = drawn(coded, 500)
    assert made.schema == coded.schema
    assert made["home"].n_unique() == made["home"].max()
    with pytest.raises(PolicyError, match="cannot hold as many numbers"):
        drawn(coded.head(90).with_columns(pl.col("home").rank("dense").cast(pl.UInt8)), 5000)


@pytest.mark.slow
def test_a_household_of_a_size_that_no_other_has_is_drawn_again():
    """Households are drawn again in the sizes that lack."""
    chance = np.random.default_rng(0)
    many = [*chance.integers(1, 5, 800).tolist(), 12]
    of = np.repeat(np.arange(len(many)), many)
    parts = {"age": chance.integers(0, 90, len(of)), "sex": chance.choice(["f", "m"], len(of))}
    table = pl.DataFrame({"home": of, **parts, "job": chance.choice([*"pqrs"], len(of))})
    for seed in range(2):
        made = sf.synthesize(table, LinkedTables(household="home"), seed=seed, hold_out=0, rest="release").data
        assert sizes(made) == sorted(many)


def test_what_is_no_household_is_refused(people):
    wrong = [
        (people, {"household": None}, "not given"),
        (people, {"household": "house"}, 'no column "house"'),
        (people, {"household_columns": ["age"]}, '"age" differs within'),
        (people.select("home", "region"), {}, "no column is one of persons"),
        (people.with_columns(home=pl.lit("one")), {}, "more persons than can be drawn"),
        (people.with_columns(home=pl.col("age").cast(float)), {}, "cannot have new numbers"),
        (people.with_columns(home=pl.when(pl.col("age") > 40).then("home")), {}, "name no household"),
    ]
    for table, options, message in wrong:
        with pytest.raises((ColumnError, PolicyError), match=message):
            drawn(table, 10, **options)


def test_rows_of_a_household_are_held_out_together(people):
    held, learnt = split_rows(people, 0.2, 1, "home")
    assert not set(people[held]["home"]) & set(people[learnt]["home"])
    assert people[held]["home"].n_unique() == 100
    assert len(held) + len(learnt) == people.height


def test_households_with_a_copied_row_are_drawn_again():
    original = pl.DataFrame({"age": [1, 2, 3, 3]})
    drawn = pl.DataFrame({"home": [1, 1, 2, 3, 3, 4], "age": [9, 1, 3, 8, 2, 1]})
    more = pl.DataFrame({"home": [1, 1, 2, 2, 3, 3, 4, 5], "age": [9, 2, 7, 7, 6, 6, 5, 1]})

    def copied(table: pl.DataFrame) -> np.ndarray:
        return repeats(original, table, columns=["age"])

    made, repeated = without_copied_units(drawn, copied, lambda rows: more, "redraw", "home")
    assert repeated == 3
    assert made.sort("home", "age").rows() == [(1, 7), (1, 7), (2, 3), (3, 6), (3, 6), (4, 5)]
    assert without_copied_units(drawn, copied, lambda rows: more, "drop", "home")[0].rows() == [(2, 3)]
    assert without_copied_units(drawn, copied, lambda rows: more, "keep", "home")[0].equals(drawn)


def test_a_release_of_households(people):
    release = sf.synthesize(people, LinkedTables("home"), seed=1, insensitive=people.columns)
    made = release.data
    assert sizes(made)[-1] == 4
    assert not repeats(people, made, columns=["region", "role", "age"]).any()
    assert release.manifest["synthesis"]["unit"] == "home"
    assert release.hold_out.columns == ["region", "role", "age"]
    assert np.array_equal(release.synthesis.held_out, split_rows(people, 0.1, 1, "home")[0])
    assert release.verification.outcome == "nothing promised"
