"""What a synthetic release gives away: of tables of whatever columns, and of outliers planted in Adult."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import main
from sfumato.core.masked import typed
from sfumato.errors import ColumnError, Infeasible, PolicyError, UndecidedColumns
from sfumato.measures.attacks import singling_out
from sfumato.measures.risk import copied_uniques, disco, nearest_record, replicated_uniques, synthetic_membership
from sfumato.measures.risk.copied_uniques import repeats
from sfumato.synthetic import GENERATORS
from sfumato.synthetic.columns import columns_of
from sfumato.synthetic.generator import FitContext
from tests.fuzz import examples
from tests.measures.risk.test_synthetic_disclosure import KEYS, adult
from tests.report.test_synthetic import said

__all__ = ["adult"]  # a fixture

MARK = "zqxv"  # stands in every text of a table: no manifest may quote it, and a report only what is released
KINDS = (
    "whole", "real", "date", "datetime", "time", "flag", "text", "digits", "enum", "category", "constant", "empty",
    "rare", "spike",
)  # fmt: skip


def column(kind: str, rows: int, rng: np.random.Generator) -> pl.Series:
    """A column of a kind; "rare" has values of one row each beside common ones, "spike" is 0 mostly."""
    few = rng.integers(0, 4, rows)
    whole = rng.integers(-50, 50, rows)
    made: dict[str, Any] = {
        "whole": whole,
        "real": (rng.lognormal(3, 1, rows)).round(2),
        "date": [date(2020, 1, 1) + timedelta(days=7 * int(x)) for x in whole],
        "datetime": [datetime(2020, 1, 1) + timedelta(minutes=30 * int(x)) for x in whole],
        "time": [time(int(x), 15) for x in few],
        "flag": few > 2,
        "text": [f"{MARK} {'abcd'[x]}, é\n" for x in few],
        "digits": [f"0{x}" for x in few],
        "enum": pl.Series([f"{MARK}{x}" for x in few], dtype=pl.Enum([f"{MARK}{x}" for x in range(6)])),
        "category": pl.Series([f"{MARK}{x}" for x in few]).cast(pl.Categorical),
        "constant": [f"{MARK} only"] * rows,
        "empty": pl.Series([None] * rows, dtype=pl.Float64),
        "rare": [f"{MARK}{i:03}r" if i % 9 == 0 else f"{MARK} all" for i in range(rows)],
        "spike": np.where(few > 0, 0, whole),
    }
    return pl.Series(kind, made[kind], strict=False)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """Some columns of these kinds, some with missing values; some rows are there several times."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
    rows = draw(st.integers(60, 120))
    found = []
    for number, kind in enumerate(kinds):
        made = column(kind, rows, rng).alias(f"c{number} {kind}")
        if draw(st.booleans()):
            made = made.set(pl.Series(rng.random(rows) < draw(st.sampled_from([0.05, 0.5]))), None)
        found.append(made)
    table = pl.DataFrame(found)
    return table[rng.integers(0, rows // 2, rows)] if draw(st.booleans()) else table


def every_kind() -> pl.DataFrame:
    return pl.DataFrame([column(kind, 80, np.random.default_rng(1)) for kind in KINDS])


FULL = [
    name for name in GENERATORS if GENERATORS[name].example.changes is None and not GENERATORS[name].example.private
]  # private ones see public domains alone
REFUSALS = {
    "multivariate-normal": "too few rows have all values",
    "hybrid": "groups rows by their numbers, and no column has any",
    "linked-tables": "no column is one of persons",
}
PUBLIC = {  # the figures of a manifest, beside parameters
    ".data.rows", ".input.rows", ".synthesis.m", ".synthesis.hold_out", ".seed", ".format", ".facts[].step",
}  # fmt: skip
TOLD = {
    "changed", "data", "facts", "files", "format", "input", "made_by", "measured", "perturbed", "policy", "promises",
    "pseudonymous", "seed", "sfumato", "steps", "synthesis", "versions",
}  # fmt: skip


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The plain values of a document, each with where it stands."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from leaves(one, f"{path}.{key}")
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one, f"{path}[]")
    else:
        yield path, value


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    table=tables(), name=st.sampled_from(FULL), rows=st.one_of(st.none(), st.integers(1, 300)), seed=st.integers(0, 99),
    m=st.sampled_from([1, 1, 2]),
)  # fmt: skip
@example(table=every_kind(), name="sequential-trees", rows=None, seed=1, m=1)
@example(table=every_kind(), name="bayes", rows=99, seed=1, m=2)
def test_any_table_is_drawn_saved_and_verified_and_repeats_nobody(
    table: pl.DataFrame, name: str, rows: int | None, seed: int, m: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    generator = GENERATORS[name].example
    fitting = [c.name for c in columns_of(typed(table)) if c.kind in generator.kinds]
    table = table.select(fitting or [])
    if not fitting:
        return
    if generator.unit is not None:
        with pytest.raises(ColumnError, match=f'no column "{generator.unit}"'):
            sf.synthesize(table, generator, rest="release")
        table = table.with_columns((pl.int_range(pl.len()) // 2).cast(pl.String).alias(generator.unit))
    folder = tmp_path_factory.mktemp("drawn") / "out"
    asked: dict[str, Any] = {"rows": rows, "seed": seed, "m": m, "rest": "release"}
    try:
        release = sf.synthesize(table, generator, **asked)
    except Infeasible as refused:  # where all that can be drawn is somebody's
        assert "repeats people" in str(refused)
        assert sf.synthesize(table, generator, copies="keep", **asked).synthesis.repeated > 0
        return
    except ColumnError as refused:
        assert REFUSALS[name] in str(refused)
        return
    release.save(folder)
    made = release.table.drop("copy", strict=False)
    assert made.height == m * (rows or table.height)
    assert made.columns == table.columns
    own = list(release.request.compared)  # numbers of households are new
    assert not repeats(table, made, columns=own).any()
    whole = name != "hybrid" or not table.null_count().sum_horizontal().item()  # groups of rows lose all their numbers
    _same_domain(typed(table.select(own)), typed(made.select(own)), generator.bounded, whole)
    found = sf.verify(folder, original=table)
    assert found.outcome == release.verification.outcome == "nothing promised"
    assert [(fact.fact, fact.holds) for fact in found.facts] == [("no-copies", True)]
    _tells_nothing(folder, release, table)


def _same_domain(original: pl.DataFrame, made: pl.DataFrame, bounded: bool, whole: bool) -> None:
    """No value that the column could not have: a category of its own, a number on its grid and in its range, unless
    the generator says that it does not keep to these; where it keeps rows whole, none that is missing."""
    for before, after in zip(original.iter_columns(), made.iter_columns(), strict=True):
        known, drawn = before.drop_nulls(), after.drop_nulls()
        if whole and not before.null_count():
            assert not after.null_count()
        if not len(known):
            assert not len(drawn)
        elif before.dtype.is_numeric() or before.dtype.is_temporal():
            assert after.dtype == before.dtype
            if not bounded:
                continue
            if len(drawn):
                assert known.min() <= drawn.min()  # type: ignore[operator]
                assert drawn.max() <= known.max()  # type: ignore[operator]
            if before.dtype.is_float():
                assert (drawn.round(2) == drawn).all()
        else:
            assert {*drawn.cast(pl.String)} <= {*known.cast(pl.String)}


def _tells_nothing(folder: Path, release: Any, table: pl.DataFrame) -> None:
    """Data, manifest and report alone, that tell no value which is not released, and no figure about the original."""
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "manifest.json", "report.html"]
    written = (folder / "manifest.json").read_text("utf-8")
    page = said((folder / "report.html").read_text("utf-8"))
    assert MARK not in written
    there, left = ({v for c in t.iter_columns() for v in c.cast(pl.String)} for t in (table, release.table))
    assert not [value for value in there - left if value is not None and MARK in value and value.strip() in page]
    manifest = json.loads(written)
    assert {*manifest} == TOLD
    parameters = {f".steps[].{key}" for key in release.request.generator.published_parameters()}
    figures = {
        path for path, value in leaves(manifest) if isinstance(value, int | float) and value not in (True, False)
    }
    assert {path for path in figures if path not in PUBLIC} <= parameters
    again = folder.parent / "again.html"  # a report that the folder alone gives tells nothing that it does not
    assert main(["report", str(folder), "-o", str(again)]) == 0
    assert again.read_bytes() == (folder / "report.html").read_bytes()


COPYING = ("bootstrap", "mix")  # give people's values by what they are


@pytest.mark.parametrize("name", [name for name in FULL if name not in COPYING])
def test_numbers_that_most_rows_have_alone_are_not_drawn_as_they_are(name: str) -> None:
    """Whoever knows an account number, an exact income or second does not find it."""
    rng = np.random.default_rng(0)
    rows = 400
    table = pl.DataFrame(
        {
            "a": rng.integers(0, 9, rows),
            "account": rng.permutation(10**6)[:rows] + 10**9,
            "income": (rng.lognormal(10, 1, rows)).round(2),
            "at": [datetime(2020, 1, 1) + timedelta(seconds=int(x)) for x in rng.integers(0, 10**8, rows)],
        }
    )
    generator = GENERATORS[name].example
    if generator.unit is not None:
        table = table.with_columns((pl.int_range(pl.len()) // 2).cast(pl.String).alias(generator.unit))
    made = sf.synthesize(table, generator, seed=1, rest="release").data
    for column in ("account", "income", "at"):
        assert len({*made[column]} & {*table[column]}) < 0.02 * rows, column


def test_the_few_who_have_a_number_at_all_are_not_drawn_from() -> None:
    rng = np.random.default_rng(0)
    rows = 300
    few = [float(123457 + i) if i < 5 else None for i in range(rows)]
    spiked = [float(700 + i) if i < 5 else 0.0 for i in range(rows)]
    table = pl.DataFrame({"a": rng.integers(0, 9, rows), "few": few, "spiked": spiked})
    for seed in range(5):
        made = sf.synthesize(table, sf.SequentialTrees(spikes={"spiked": 0}), seed=seed, rest="release").data
        assert not made["few"].drop_nulls().len()
        assert {*made["spiked"]} == {0.0}


def test_groups_whose_people_lie_in_a_plane_are_refused() -> None:
    """Two people and the mean of three are a plane: with four known numbers of a person, the fifth was found in it."""
    x = np.random.default_rng(0).normal(size=(300, 5)).round(2)
    table = pl.DataFrame({f"x{j}": x[:, j] for j in range(5)})
    with pytest.raises(PolicyError, match="give their people away where 5 numbers"):
        sf.synthesize(table, sf.Hybrid(k=5), seed=1, rest="release")
    assert sf.synthesize(table, sf.Hybrid(k=6), seed=1, rest="release").data.height == 300


def test_columns_that_stay_as_they_were_need_a_role() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"account": rng.permutation(10**6)[:400] + 10**9, "a": rng.integers(0, 9, 400)})
    with pytest.raises(UndecidedColumns, match="account"):
        sf.synthesize(table, sf.SequentialTrees(columns=["a"]), seed=1)


def test_dropping_copies_does_not_publish_how_many_there_were(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({c: rng.integers(0, 5, 800) for c in "abcde"})
    release = sf.synthesize(table, "bayes", seed=1, copies="drop", to=tmp_path / "out", rest="release")
    assert release.data.height == 800 - release.synthesis.repeated < 800
    for file in ("manifest.json", "report.html"):
        assert not re.search(rf"\b(800|{release.synthesis.repeated})\b", (tmp_path / "out" / file).read_text("utf-8"))
    assert sf.verify(tmp_path / "out", original=table).outcome == "nothing promised"


def test_nothing_that_holds_rows_prints_them() -> None:
    table = pl.DataFrame({"age": np.arange(200) % 70, "town": [f"{MARK}{i % 30}" for i in range(200)]})
    release = sf.synthesize(table, seed=1, rest="release")
    for name in FULL:
        generator = GENERATORS[name].example
        if generator.unit is None and "category" in generator.kinds:
            assert MARK not in repr(generator.fit(table, FitContext(np.random.default_rng(1))))
    masked = sf.mask(table, ["rounding age base=10"], rest="release")
    for one in (release, release.request, release.synthesis, masked, masked.request):
        assert MARK not in repr(one)


PLANTED = 50


def with_outliers(adult: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Some of Adult, and fifty people among them whom nobody is like: each extreme in several columns."""
    people = adult[:5000]
    rng = np.random.default_rng(9)
    odd = people[rng.choice(people.height, PLANTED, replace=False)].with_columns(
        age=pl.Series([str(95 + i % 5) for i in range(PLANTED)]),
        gain=pl.Series([str(70_001 + 13 * i) for i in range(PLANTED)]),
        loss=pl.Series([str(5_001 + 7 * i) for i in range(PLANTED)]),
        hours=pl.Series([str(1 + i % 3) for i in range(PLANTED)]),
    )
    return pl.concat([people, odd]), odd


@pytest.mark.slow
def test_outliers_planted_in_adult_are_never_repeated(adult: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    table, odd = with_outliers(adult[0])
    asked: dict[str, Any] = {"rest": "release", "hold_out": 0}
    kept = sf.synthesize(table, "bootstrap", copies="keep", seed=1, **asked)
    assert repeats(odd, kept.table).sum() > PLANTED / 2  # they could be
    parts = {*odd["gain"]}
    drawn = set()
    for seed in range(20):
        made = sf.synthesize(table, "sequential-trees", seed=seed, **asked)
        assert not repeats(odd, made.table).any()
        assert not repeats(table, made.table).any()
        drawn |= {*made.table["gain"].cast(pl.String)} & parts
    assert len(drawn) > PLANTED / 2  # what they earned is in the tables, without them


@pytest.mark.slow
def test_the_bootstrap_fails_every_measure_of_disclosure(adult: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    table, _ = with_outliers(adult[0])
    release = sf.synthesize(table, "bootstrap", copies="keep", rest="release", seed=1, hold_out=0.3)
    tables = release.learnt_from, release.table
    held: dict[str, Any] = {"hold_out": release.hold_out}
    copied = copied_uniques(*tables, **held)
    assert copied.interval is not None
    assert copied.interval[0] > 5 * (copied.baseline or 0)
    for found in (
        replicated_uniques(*tables, quasi=KEYS, **held),
        disco(*tables, quasi=KEYS, target="occupation", **held),
        nearest_record(*tables, **held),
        synthetic_membership(*tables, **held),
    ):
        assert found.interval is not None
        assert found.interval[0] > (found.baseline or 0), found.name
    attack = singling_out(tables[1], tables[0], KEYS, size=6, holdout=release.hold_out, seed=1)
    assert attack.interval[0] > 3 * attack.details["control"]


ATTACKS: list[tuple[list[str] | None, int]] = [(None, 14), (KEYS, 6)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian-copula", "marginals"])
def test_singling_out_on_synthetic_adult_is_as_on_people_held_out(
    adult: tuple[pl.DataFrame, pl.DataFrame], name: str
) -> None:
    """Of three tables together, the difference is within its 95% interval."""
    for columns, size in ATTACKS:
        excess, spread = _excess(adult, name, columns, size)
        assert abs(excess) < 1.96 * spread


@pytest.mark.slow
@pytest.mark.parametrize(("leaf", "most"), [(5, (0.05, 0.11)), (20, (0.03, 0.06)), (100, (0.02, 0.03))])
def test_trees_single_out_a_little_more_the_smaller_their_leaves_are(
    adult: tuple[pl.DataFrame, pl.DataFrame], leaf: int, most: tuple[float, float]
) -> None:
    """Leaves of few rows give combinations that a few people have more often than chance would, copies drawn again or
    not (decision 0017). The bootstrap has 0.98 against 0.18."""
    for (columns, size), bound in zip(ATTACKS, most, strict=True):
        assert _excess(adult, f"sequential-trees leaf={leaf}", columns, size)[0] < bound


def _excess(
    adult: tuple[pl.DataFrame, pl.DataFrame], name: str, columns: list[str] | None, size: int
) -> tuple[float, float]:
    """How many more attacks succeed on a model of half of the rows than on the other half, and its standard error."""
    found = []
    for seed in (1, 2, 3):
        release = sf.synthesize(pl.concat(adult), name, rest="release", seed=seed, hold_out=0.5)
        held: dict[str, Any] = {"holdout": release.hold_out, "seed": 1}
        found.append(singling_out(release.table, release.learnt_from, columns, size=size, **held))
    trials = np.array([one.trials for one in found])
    assert trials.sum() >= 900
    theirs = np.average([one.success for one in found], weights=trials)
    others = np.average([one.details["control"] for one in found], weights=trials)
    return theirs - others, ((theirs * (1 - theirs) + others * (1 - others)) / trials.sum()) ** 0.5
