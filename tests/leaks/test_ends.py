"""The ends of ranges are steps of a grid, or values that many have: never the value of one person."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.labels import ends_of, of_ranges
from sfumato.core.microdata import encode
from sfumato.core.policy import Policy
from sfumato.core.printed import printed
from sfumato.errors import Infeasible, PolicyError
from sfumato.measures.utility import information_loss
from sfumato.release.ends import with_ends
from sfumato.release.steps import steps_of
from sfumato.search.problem import Partition, Problem, Solution, judge, make_problem
from tests.fuzz import FUZZ, slow_but

SEARCHES: dict[str, dict[str, Any]] = {
    "mondrian": {},
    "relaxed": {"search": sf.Mondrian(relaxed=True)},
    "k-member": {},
    "one-pass-k-means": {},
    "refined": {"search": sf.Refined(rounds=2)},
    "top-down": {},
    "bottom-up": {},
    "iterated": {},
    "tds": {},
    "genetic": {"search": sf.Genetic(evaluations=300)},
    "annealing": {"search": sf.Annealing(evaluations=300)},
    "k-optimize": {"search": sf.KOptimize(seconds=0.5), "loss": "discernibility"},
    "optimal": {},
    "alpha-k-local": {"require": sf.AlphaK(0.9, 4, "s")},
}
INTEGER, DECIMAL, DATE, DATETIME = "integer", "decimal", "date", "datetime"


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def columns(rng: np.random.Generator, n: int) -> dict[str, pl.Series]:
    """Columns of every kind that has an order."""
    day = np.datetime64("1930-01-01") + rng.integers(0, 30000, n)
    second = np.datetime64("2019-03-30T22:00:00", "us") + rng.integers(0, 40_000_000, n).astype("m8[s]")
    made = {
        "age": rng.integers(0, 100, n),
        "below": rng.integers(-5000, 5000, n),
        "huge": rng.integers(2**60, 2**62, n),
        "thousands": rng.integers(20, 900, n) * 1000,
        "pay": np.round(rng.lognormal(10, 1, n), 2),
        "real": rng.normal(size=n),
        "tiny": rng.normal(size=n) * 1e-290,
        "wide": rng.normal(size=n) * 10.0 ** rng.integers(-3, 30, n),
        "born": day.astype("M8[D]"),
        "at": second,
    }
    found = {name: pl.Series(name, values) for name, values in made.items()}
    found["zoned"] = found["at"].dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin").alias("zoned")
    found["text"] = found["pay"].cast(pl.String).alias("text")
    found["day"] = found["born"].cast(pl.String).alias("day")
    blank = rng.random(n) < 0.1
    found["gaps"] = pl.select(pl.when(~pl.Series(blank)).then(found["below"])).to_series().alias("gaps")
    return found


def table_of(seed: int, names: list[str], n: int = 240) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    made = columns(rng, n)
    return pl.DataFrame([made[name] for name in names]).with_columns(pl.Series("s", rng.choice(list("abcd"), n)))


def release(table: pl.DataFrame, quasi: list[str], name: str, **more: Any) -> sf.Release:
    options = {"require": sf.KAnonymity(4), "search": name} | SEARCHES[name] | {"insensitive": ["s"]} | more
    if options["require"] != sf.KAnonymity(4):
        options |= {"insensitive": []}
    found = sf.anonymize(table, quasi=quasi, **options)
    assert isinstance(found, sf.Release)
    return found


def printed_ends(made: sf.Release, name: str) -> list[tuple[str, float]]:
    """The ends that a column prints: "l" where a step begins, "h" where it is over."""
    kind = made.microdata.attribute(name).kind
    found = []
    for label in printed(made.table[name]).unique().drop_nulls().to_list():
        sides = "lh" if label.endswith("]") else "ll"  # [20, 30) ends where the next step begins
        found += list(zip(sides, ends_of(label, kind) or (), strict=False))
    return [(side, end) for side, end in found if end is not None]


def few(made: sf.Release, name: str, least: int) -> set[float]:
    """The values that fewer released rows have, as positions."""
    categories, codes = encode(made.original[name][made.rows])
    assert categories.position is not None
    count = np.bincount(codes, minlength=len(categories))
    return {float(x) for x, n in zip(categories.position, count, strict=True) if n < least}


def on_a_grid(kind: str, side: str, end: float) -> bool:
    """Whether an end is on the finest grid that is coarser than the unit of its kind, worked out otherwise."""
    if kind == INTEGER:
        whole = int(end)
        return any(whole % step == (0 if side == "l" else step - 1) for step in (5,))
    if kind == DATE:
        day = dt.date(1970, 1, 1) + dt.timedelta(days=int(end))
        return (day if side == "l" else day + dt.timedelta(days=1)).day in (1, 6, 11, 16, 21, 26)
    if kind == DATETIME:
        return end % 5 == 0 or round(end + 1e-6) % 86400 == 0
    return Fraction(repr(end)).limit_denominator(10**12) == Fraction(repr(end))


def holds(made: sf.Release, quasi: list[str]) -> None:
    """All that is promised of ends."""
    found = information_loss(made.original, made.table, quasi, rows=made.rows, loss=made.policy.loss)
    assert found.details.get("moved", 0) == 0  # every label covers the value of its row
    assert sf.verify(made.table, quasi=quasi, require=made.policy.require).holds
    for name in quasi:
        kind = made.microdata.attribute(name).kind
        rare = few(made, name, 4)
        for side, end in printed_ends(made, name):
            assert end not in rare or on_a_grid(kind, side, end), (name, side)


@pytest.mark.parametrize("name", slow_but(SEARCHES, "mondrian", "optimal"))
def test_no_end_is_the_value_of_few(name: str) -> None:
    pairs = [["age", "born"], ["below", "pay"], ["real", "at"], ["gaps", "day"], ["thousands", "text"]]
    for seed in range(FUZZ):
        for quasi in pairs[: 2 if name in ("bottom-up", "k-optimize", "refined") else None]:
            holds(release(table_of(seed, quasi), quasi, name), quasi)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["huge", "tiny", "wide", "zoned"])
def test_numbers_at_the_edge_of_what_floats_hold(column: str) -> None:
    for seed in range(FUZZ):
        made = release(table_of(seed, [column]), [column], "mondrian")
        found = information_loss(made.original, made.table, [column], rows=made.rows)
        assert found.details["moved"] == 0
        values = set(printed(made.original[column]).to_list())
        ends = [end for label in made.table[column].to_list() for end in label[1:-1].split(", ")]
        assert not values & set(ends)
        assert (
            made.solution.verdict.loss
            <= 1.05 * release(table_of(seed, [column]), [column], "mondrian", ends="exact").solution.verdict.loss
        )


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["lm", "ncp", "non-uniform-entropy", "precision", sf.LM(aggregate="geometric")])
def test_loss_rises_by_five_per_cent_at_most_or_common_values_stay(loss: Any) -> None:
    quasi = ["born", "pay", "age"]
    table = table_of(1, quasi, 600)
    made, exact = (release(table, quasi, "mondrian", loss=loss, ends=ends) for ends in ("rounded", "exact"))
    for name in quasi:
        rises = made.solution.verdict.per_attribute[name] > 1.05 * exact.solution.verdict.per_attribute[name] + 1e-12
        assert not rises or (name == "age" and all(on_a_grid(INTEGER, *end) for end in printed_ends(made, name)))
    assert made.solution.verdict.loss <= 1.06 * exact.solution.verdict.loss
    read = information_loss(made.original, made.table, quasi, rows=made.rows, loss=loss)
    assert read.value == pytest.approx(made.solution.verdict.loss, rel=1e-9)


@pytest.mark.parametrize("loss", ["discernibility", "c-avg"])
def test_losses_of_classes_pay_for_groups_that_become_one(loss: str) -> None:
    quasi = ["born", "pay"]
    table = table_of(2, quasi, 600)
    made, exact = (release(table, quasi, "mondrian", loss=loss, ends=ends) for ends in ("rounded", "exact"))
    assert made.solution.verdict.loss <= 1.05 * exact.solution.verdict.loss
    sizes = made.table.group_by(quasi).len()["len"].to_numpy()
    found = float((sizes.astype(float) ** 2).sum()) if loss == "discernibility" else 600 / len(sizes) / 4
    assert made.solution.verdict.loss == pytest.approx(found)


@pytest.mark.parametrize("name", ["mondrian", "k-member", "genetic", "tds"])
def test_exact_ends_are_the_least_and_greatest_values(name: str) -> None:
    quasi = ["below", "born"]
    made = release(table_of(3, quasi), quasi, name, ends="exact")
    assert made.manifest["policy"]["ends"] == "exact"
    for column in quasi:
        before = made.original[column][made.rows].alias("value")
        by = [column] if name in ("genetic", "tds") else quasi
        ends = (
            made.table.with_columns(before)
            .group_by(by)
            .agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
        )
        for label, low, high in zip(ends[column], printed(ends["low"]), printed(ends["high"]), strict=True):
            assert label == (low if low == high else f"[{low}, {high}]")


def test_the_oldest_person_is_not_the_end_of_the_top_range() -> None:
    ages = [*range(20, 90), 103] * 1 + [40] * 40
    made = sf.anonymize({"age": ages}, quasi=["age"], require=sf.KAnonymity(5), search="mondrian")
    assert not any("103" in label for label in made.table["age"])
    assert made.solution.verdict.per_attribute["age"] <= 1
    one = sf.anonymize({"age": ages}, quasi=["age"], require=sf.KAnonymity(len(ages)), search="mondrian")
    assert one.table["age"].unique().to_list() == ["[0, 149]"]
    assert one.solution.verdict.loss == 1.0  # no more than everything, however far the ends are


def test_a_class_of_one_value_prints_it_and_so_do_means() -> None:
    table = {"age": [37] * 5 + [41, 42, 43, 44, 47], "sex": ["f"] * 10}
    made = sf.anonymize(table, quasi=["age"], insensitive=["sex"], require=sf.KAnonymity(5), search="mondrian")
    assert "37" in made.table["age"].to_list()
    options: dict[str, Any] = {"quasi": ["age"], "insensitive": ["sex"], "require": sf.KAnonymity(5)}
    mean = [
        sf.anonymize(table, search=sf.Mondrian(labels="mean"), ends=ends, **options) for ends in ("rounded", "exact")
    ]
    assert mean[0].table.equals(mean[1].table)


SUPPRESSED = {
    "genetic": {"search": sf.Genetic(evaluations=200)},
    "annealing": {"search": sf.Annealing(evaluations=200)},
    "optimal": {"search": "optimal"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUPPRESSED)
def test_labels_tell_nothing_of_suppressed_values(name: str) -> None:
    """Whatever the suppressed person's age is, the released table is the same, wherever the search is."""
    ages = [20] * 20 + [21] * 20 + [40] * 20 + [41] * 23
    seen: dict[Any, set[str]] = {}
    for age in (90, 97, 100, 101, 103, 110, 119, 127, 150, 1031):
        table = {"age": [*ages, age]}
        made = sf.anonymize(table, quasi=["age"], require=sf.KAnonymity(15), suppression=1, **SUPPRESSED[name])
        gone = made.solution.verdict.suppressed
        exact = sf.anonymize(
            table, quasi=["age"], require=sf.KAnonymity(15), suppression=1, ends="exact", **SUPPRESSED[name]
        )
        if gone:
            seen.setdefault(tuple(sorted(exact.table["age"])), set()).add(str(made.table["age"].sort().to_list()))
    assert all(len(tables) == 1 for tables in seen.values())
    assert seen


@pytest.mark.parametrize("given", [None, sf.intervals(170, 340, origin=3), sf.intervals(cuts=[range(1111, 9000, 333)])])
def test_steps_are_chosen_from_released_rows_alone(given: Any) -> None:
    """The same solution over other suppressed cells: ends, step and resolution stay as they are."""
    rng = np.random.default_rng(5)
    stays = np.sort(rng.integers(1000, 9000, 60))
    texts = set()
    for gone in ([1], [5000, 5001, 123456], [10**9], list(range(2000, 8000, 7))):
        numbers = np.array([*stays, *gone])
        problem = make_problem(
            pl.DataFrame({"q": numbers}),
            Policy((("q",),), (sf.KAnonymity(5),), len(gone), sf.LM()),
            {"q": given} if given else {},
            {},
        )
        value = np.array([float(x or 0) for x in problem.attributes[0].categories.text])
        cell = value[problem.cells.codes[0]]
        kept = np.isin(cell, stays)
        of = np.where(kept, np.searchsorted(stays, cell) // 6, 10 + np.arange(len(cell)))
        of = np.unique(of, return_inverse=True)[1].astype(np.int32)
        code = problem.cells.codes[0]
        lo = np.array([code[of == c].min() for c in range(of.max() + 1)])
        hi = np.array([code[of == c].max() for c in range(of.max() + 1)])
        labels = of_ranges(problem.attributes[0], lo, hi)
        verdict = replace(judge(problem, [(labels, labels.of[of])])[1], satisfied=True)
        found = with_ends(problem, Solution(Partition(of, {"q": labels}), verdict, kept, False, 0, 0.0))
        made = found.recoding.labels["q"]
        texts.add(tuple(made.text[i] for i in made.of[of[kept]]))
    assert len(texts) == 1


BANDS = {str(age): "0-17" if age < 18 else "18-64" if age < 65 else "65+" for age in range(120)}
GIVEN = {
    "cuts": sf.intervals(cuts=[[18, 65]]),
    "mapping": BANDS,
    "half-open": sf.intervals(cuts=[[18, 40, 65], [18, 65]]),
}


def register() -> pl.DataFrame:
    """Pupils, workers and pensioners, sixty of each, of all ages between 1 and 95."""
    bands = {"school": range(1, 18), "work": range(19, 65), "pension": range(66, 96)}
    rows = [(band[i % len(band)], status) for status, band in bands.items() for i in range(60)]
    return pl.DataFrame(rows, schema=["age", "status"], orient="row")


@pytest.mark.slow
@pytest.mark.parametrize("name", GIVEN)
def test_ends_are_cuts_of_a_hierarchy_that_was_given(name: str) -> None:
    """Ages 0-17, 18-64 and from 65 on, as the steward thinks of them, and not 0-19, 15-64."""
    options: dict[str, Any] = {"quasi": ["age", "status"], "require": sf.KAnonymity(50), "search": "refined"}
    options["labels"] = "ranges"
    made, exact = (
        sf.anonymize(register(), hierarchies={"age": GIVEN[name]}, ends=ends, **options)
        for ends in ("rounded", "exact")
    )
    assert set(made.table["age"]) == {"[0, 17]", "[18, 64]", "[65, 99]"}
    assert set(exact.table["age"]) == {"[1, 17]", "[19, 64]", "[66, 95]"}
    assert made.solution.verdict.loss <= 1.05 * exact.solution.verdict.loss
    read = information_loss(
        made.original, made.table, ["age", "status"], rows=made.rows, loss="lm", hierarchies={"age": GIVEN[name]}
    )
    assert read.details["moved"] == 0
    assert read.value == pytest.approx(made.solution.verdict.loss)
    assert made.verification.holds


@pytest.mark.parametrize("given", [None, sf.hierarchies.learned()])
def test_ends_are_no_cuts_of_what_was_learned(given: Any) -> None:
    made = sf.anonymize(
        register(),
        quasi=["age", "status"],
        require=sf.KAnonymity(50),
        search="refined",
        hierarchies={} if given is None else {"age": given},
    )
    assert set(made.table["age"]) == {"[0, 19]", "[15, 64]", "[65, 99]"}
    assert all(on_a_grid(INTEGER, *end) for end in printed_ends(made, "age"))


def test_cuts_out_of_core(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [*(i % 16 + 1 for i in range(60)), *(19 + i % 40 for i in range(60))]})
    table.write_parquet(tmp_path / "t.parquet")
    options: dict[str, Any] = {
        "quasi": ["age"],
        "require": sf.KAnonymity(50),
        "search": "mondrian",
        "hierarchies": {"age": sf.intervals(cuts=[[18, 60]])},
        "labels": "ranges",
    }
    made = sf.anonymize(table, **options)
    assert set(made.table["age"]) == {"[0, 17]", "[18, 59]"}
    sf.anonymize(sf.scan(tmp_path / "t.parquet"), to=tmp_path / "out", **options)
    (data,) = (tmp_path / "out").glob("data*")
    written = pl.read_parquet(data) if data.suffix == ".parquet" else pl.read_csv(data)
    assert written["age"].sort().to_list() == made.table["age"].sort().to_list()
    assert sf.verify(tmp_path / "out").holds


Case = tuple[Any, list[float], Callable[[str, float], bool]]  # a hierarchy, its cuts, and whether an end is one


def hierarchies_of(rng: np.random.Generator, kind: str) -> list[Case]:
    """Hierarchies of random widths and cuts; days are told in days since 1970."""
    if kind == DATE:

        def first(side: str, end: float) -> dt.date:
            return dt.date(1970, 1, 1) + dt.timedelta(days=int(end) + (side == "h"))

        years = [float((dt.date(1970 + i, 1, 1) - dt.date(1970, 1, 1)).days) for i in range(10)]
        return [
            (sf.dates("week"), [4.0 + 7 * i for i in range(8)], lambda side, end: first(side, end).weekday() == 0),
            (sf.dates("month", "year"), years, lambda side, end: first(side, end).day == 1),
        ]
    whole = int(kind == INTEGER)
    width, origin = int(rng.integers(7, 23)), int(rng.integers(0, 7))
    cuts = np.cumsum(rng.integers(7, 23, 7)).tolist()
    return [
        (
            sf.intervals(width, 2 * width, origin=origin),
            [float(origin + i * width) for i in range(8)],
            lambda side, end: (end + (side == "h") * whole - origin) % width == 0,
        ),
        (sf.intervals(cuts=[cuts, cuts[1::2]]), cuts, lambda side, end: end + (side == "h") * whole in cuts),
    ]


def near_cuts(rng: np.random.Generator, kind: str, cuts: list[float]) -> pl.DataFrame:
    """Between each two cuts about 18 rows, a few of which are of the next group."""
    group = np.repeat(np.arange(len(cuts) - 1), 18)
    low, high = np.array(cuts)[group], np.array(cuts)[group + 1]
    number = low + (high - low) * rng.beta(0.5, 0.5, len(group))
    group = np.where(rng.random(len(group)) < 0.02 * rng.integers(0, 2), (group + 1) % (len(cuts) - 1), group)
    made = {
        INTEGER: np.floor(number).astype(int),
        DECIMAL: np.round(number, 2),
        DATE: np.floor(number).astype("M8[D]"),
    }
    return pl.DataFrame({"x": made[kind], "g": group.astype(str)})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mondrian", "k-member", "genetic", "refined"])
@pytest.mark.parametrize("kind", [INTEGER, DECIMAL, DATE])
def test_every_end_is_of_a_grid_a_cut_or_common(name: str, kind: str) -> None:
    cut = 0
    for seed in range(2 * FUZZ):
        rng = np.random.default_rng(seed)
        for given, cuts, is_cut in hierarchies_of(rng, kind):
            table = near_cuts(rng, kind, cuts)
            options: dict[str, Any] = {"require": sf.KAnonymity(12), "hierarchies": {"x": given}, "suppression": 0.05}
            options |= {} if name == "genetic" else {"labels": "ranges"}
            made, exact = (release(table, ["x", "g"], name, ends=ends, **options) for ends in ("rounded", "exact"))
            read = information_loss(
                made.original, made.table, ["x", "g"], rows=made.rows, loss="lm", hierarchies={"x": given}
            )
            assert read.details.get("moved", 0) == 0
            assert read.value == pytest.approx(made.solution.verdict.loss)
            assert sf.verify(made.table, quasi=["x", "g"], require=made.policy.require).holds
            rare, ends = few(made, "x", 12), printed_ends(made, "x")
            assert all(on_a_grid(kind, *end) or is_cut(*end) for end in ends if end[1] in rare)
            cut += sum(is_cut(*end) for end in ends) == len(ends) > 0
            before, after = (r.solution.verdict.per_attribute["x"] for r in (exact, made))
            if after > 1.05 * before + 1e-12:  # no step is cheap: the finest, which is one of the grid
                assert all(on_a_grid(kind, *end) for end in ends if end[1] in rare)
    assert cut or name != "refined"


def _two_classes(require: Any) -> tuple[Problem, Solution]:
    """Classes 21..24 and 25..28, which any step of ten prints alike; `s` is a in one and b in the other."""
    ages = [*range(21, 29), *range(50, 90, 5)]
    table = pl.DataFrame({"q": ages, "s": list("aaaabbbb") + list("ab" * 4)})
    problem = make_problem(table, Policy((("q",),), tuple(require), 0, sf.LM()), {}, {})
    of = np.array([0] * 4 + [1] * 4 + [2] * 8, np.int32)
    labels = of_ranges(problem.attributes[0], np.array([0, 4, 8]), np.array([3, 7, 15]))
    kept, verdict, _ = judge(problem, [(labels, labels.of[of])])
    return problem, Solution(Partition(of, {"q": labels}), replace(verdict, satisfied=True), kept | True, False, 0, 0.0)


def test_where_a_criterion_fails_the_step_becomes_coarser() -> None:
    class Alternating(sf.KAnonymity):
        """Holds for classes of 8 and 16 rows only: no union of satisfying classes need satisfy it."""

        monotonicity = "none"  # type: ignore[assignment]

        def holds(self, classes: Any) -> np.ndarray:
            return np.isin(classes.size, (16,))

    problem, solution = _two_classes([Alternating(4)])
    made = with_ends(problem, solution).recoding.labels["q"]
    assert set(made.text) == {"[0, 99]"}  # the one range over all, and never the exact ends

    class Never(Alternating):
        def holds(self, classes: Any) -> np.ndarray:
            return np.zeros(len(classes.size), np.bool_)

    with pytest.raises(Infeasible, match="print alike"):
        with_ends(*_two_classes([Never(4)]))


def test_groups_that_print_alike_are_one_class() -> None:
    ages = [str(x) for x in [*range(20, 60)] * 5]
    town = ["u", "v"] * 100
    made = sf.anonymize(
        {"age": ages, "town": town}, quasi=["age", "town"], require=sf.KAnonymity(5), search="mondrian", loss="ncp"
    )
    sizes = made.table.group_by("age", "town").len()["len"]
    assert made.verification.classes[0]["smallest"] == sizes.min()
    assert made.verification.classes[0]["classes"] == len(sizes)


def test_what_the_data_are_given_in_is_no_step() -> None:
    """Values that are all thousands, or first days of months, would be exact on such a step."""
    cases = {
        "integer": (pl.Series([1000 * x for x in range(3, 90)]), 5000.0),
        "decimal": (pl.Series([x / 4 for x in range(3, 90)]), 0.2),
        "date": (pl.Series([dt.date(1950 + x // 12, x % 12 + 1, 1) for x in range(200)]), 3 * 30.44),
        "datetime": (pl.Series([dt.datetime(2020, 1, 1) + dt.timedelta(hours=x) for x in range(400)]), 3 * 3600.0),
    }
    for kind, (series, finest) in cases.items():
        categories, codes = encode(series.alias("x"))
        assert categories.kind == kind
        assert steps_of(categories, np.unique(codes), np.unique(codes)).sizes[0] == pytest.approx(finest)


def test_ends_are_in_python_manifest_and_refused_where_unknown() -> None:
    table = {"age": [31, 32, 58, 59]}
    made = sf.anonymize(table, quasi=["age"], require=sf.KAnonymity(2))
    assert made.manifest["policy"]["ends"] == "rounded"
    with pytest.raises(PolicyError, match=r"unknown ends of ranges.*rounded, exact"):
        sf.anonymize(table, quasi=["age"], require=sf.KAnonymity(2), ends="round")


@pytest.mark.parametrize("search", ["mondrian", "optimal", "iterated", "refined", "genetic"])
def test_a_long_set_of_texts_ends_at_values_that_many_have(search: str) -> None:
    """`16.10.1961..31.10.1959` were the birth dates of two people: text that is no date to us."""
    rng = np.random.default_rng(5)
    often = np.where(np.arange(60) % 6 == 0, 10, 0.4)
    town = rng.choice([f"Town {i:03}" for i in range(60)], 600, p=often / often.sum())
    born = [f"{d:02}.{m:02}.19{y}" for d, m, y in rng.integers((1, 1, 30), (29, 13, 99), (600, 3))]
    table = pl.DataFrame({"town": town, "born": born, "sex": rng.choice(["f", "m"], 600)})
    how = sf.Genetic(seconds=None, evaluations=200) if search == "genetic" else search
    for name in ("town", "born"):
        quasi = [name, "sex"]
        made = sf.anonymize(table.select(quasi), quasi=quasi, require=sf.KAnonymity(5), search=how, suppression=0.05)
        values = table[name].gather(made.rows)
        common = set(values.value_counts(name="rows").filter(pl.col("rows") >= 5)[name])
        assert made.verification.holds
        for label, value in zip(made.table[name], values, strict=True):
            if ".." in label:
                assert set(ends := label.split("..")) <= common
                assert ends[0] <= value <= ends[1]
            else:
                assert label in ("*", value) or value in label[1:-1].split(", ")
