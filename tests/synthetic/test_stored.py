"""Synthetic tables of out-of-core ones: drawn from a model of a sample or of counts, compared with all rows."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, Infeasible, PolicyError
from sfumato.measures.risk.copied_uniques import repeats
from sfumato.synthetic import stored as drawing
from tests.conformance.engines import Make, csv, param, parquet

ROWS = 1200
RNG = np.random.default_rng(3)
TABLE = pl.DataFrame(
    {
        "name": [f"P{i:05}" for i in range(ROWS)],
        "age": RNG.integers(18, 40, ROWS),
        "ward": RNG.choice(["a", "b", "c"], ROWS),
        "since": [date(2020, 1, 1) + timedelta(days=int(d)) for d in RNG.integers(0, 30, ROWS)],
        "stay": [None if i % 11 == 0 else x for i, x in enumerate((RNG.integers(1, 9, ROWS) / 4).tolist())],
        "code": RNG.integers(100, 103, ROWS).astype(str),
    }
)
ASKED: dict[str, Any] = {"identifying": ["name"], "seed": 4}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "0123456789abcdef" * 2)
    monkeypatch.setattr(drawing, "BLOCK", 500)


def drawn(make: Make, folder: Path, request: Any, generator: Any, **more: Any) -> tuple[Any, pl.DataFrame]:
    held = make(TABLE, folder, request)
    to = sf.Folder(folder / "drawn", format="csv" if make is csv else None)
    release = sf.synthesize(held.data, generator, to=to, **{**ASKED, **more})
    return release, pl.read_csv(release.data, try_parse_dates=True) if make is csv else sf.read(release.data)


ENGINES = ("parquet", "csv", "duckdb", "sqlite", "postgresql", "spark")


@pytest.mark.slow
@pytest.mark.parametrize("make", [param(name, slow=name in ("csv", "duckdb", "sqlite")) for name in ENGINES])
@pytest.mark.parametrize("generator", ["sequential-trees", "bayes", "marginals"])
def test_engines_draw_what_repeats_nobody(
    make: Make, generator: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    counted = generator != "sequential-trees"
    sample = {} if counted else {"sample": 700}
    release, made = drawn(make, tmp_path, request, generator, **sample)
    assert made.shape == (ROWS, 5)
    assert not repeats(TABLE, made).any()
    assert release.synthesis.repeated > 0
    for name in made.columns:
        assert {*made[name].cast(pl.String)} <= {*TABLE[name].cast(made[name].dtype).cast(pl.String)}
    assert abs(made["age"].mean() - TABLE["age"].mean()) < 0.7
    told = json.loads((tmp_path / "drawn/manifest.json").read_text())
    assert told["input"]["rows"] == ROWS
    own = {"fitted_to": "counts"} if counted else {"fitted_to": "sample", "sample": 700}
    assert told["synthesis"] == {
        "copies": "redraw", "m": 1, "hold_out": 0.0 if counted else 0.1, "partial": False,
        "copies_people": False, "mixes_people": False, **own,
    }  # fmt: skip
    page = (tmp_path / "drawn/report.html").read_text()
    assert ("counts of all rows" if counted else "a sample of 700 rows") in page
    assert [(fact.fact, fact.holds) for fact in release.facts] == [("no-copies", True)]
    assert sf.verify(tmp_path / "drawn", original=TABLE).facts[0].holds is True
    if make is parquet:
        again = sf.synthesize(sf.scan(f"{tmp_path}/in-*.parquet"), generator, to=tmp_path / "b", **ASKED, **sample)
        assert Path(again.data).read_bytes() == Path(release.data).read_bytes()


def test_a_sample_is_drawn_from_all_over_and_rows_are_compared_with_all(tmp_path: Path, request: Any) -> None:
    """A row that stands alone in the sample may be common, and is kept; one that is alone among all rows is not."""
    release, made = drawn(parquet, tmp_path, request, "bootstrap", sample=600, hold_out=0, rows=200)
    fitted = release.learnt_from
    assert (fitted.height, fitted.columns) == (600, TABLE.columns[1:])
    place = TABLE.with_row_index("row").join(fitted, on=fitted.columns, how="semi", nulls_equal=True)["row"]
    assert place.to_list()[0] < 50
    assert place.to_list()[-1] > ROWS - 50
    assert not repeats(TABLE, made).any()
    assert repeats(fitted, made).any()
    other = sf.synthesize(
        sf.scan(f"{tmp_path}/in-*.parquet"), sample=600, rows=9, to=tmp_path / "o", **{**ASKED, "seed": 5}
    )
    assert not other.learnt_from.equals(fitted)


@pytest.mark.slow
def test_copies_are_dropped_or_kept_as_asked(tmp_path: Path, request: Any) -> None:
    kept, made = drawn(parquet, tmp_path, request, "bootstrap", copies="keep", rows=1300, sample=900)
    assert (made.height, repeats(TABLE, made).any(), kept.facts) == (1300, True, ())
    scanned = sf.scan(f"{tmp_path}/in-*.parquet")
    dropped = sf.synthesize(scanned, "bootstrap", copies="drop", to=tmp_path / "d", sample=900, **ASKED)
    made = sf.read(dropped.data)
    assert made.height == ROWS - dropped.synthesis.repeated < ROWS
    assert not repeats(TABLE, made).any()
    TABLE.with_columns(number=pl.int_range(ROWS)).write_parquet(tmp_path / "alone.parquet")
    with pytest.raises(Infeasible, match="repeats people"):
        sf.synthesize(sf.scan(tmp_path / "alone.parquet"), "bootstrap", to=tmp_path / "n", rest="release", **ASKED)
    assert not (tmp_path / "n").exists()


@pytest.mark.slow
def test_several_copies_and_promises(tmp_path: Path, request: Any) -> None:
    asked: dict[str, Any] = {"m": 2, "rows": 700, "quasi": ["ward"], "k": 5, "sample": 800}
    release, made = drawn(csv, tmp_path, request, "sequential-trees", **asked)
    assert made.columns[0] == "copy"
    assert made["copy"].to_list() == [1] * 700 + [2] * 700
    assert sf.verify(tmp_path / "drawn").holds
    assert release.manifest["promises"][0]["measured"] >= 5
    with pytest.raises(Infeasible, match="k-anonymity"):
        sf.synthesize(sf.scan(tmp_path / "in.csv"), to=tmp_path / "x", **{**ASKED, **asked, "k": 600})


def test_counts_of_too_many_values_are_refused_with_what_to_do(tmp_path: Path, request: Any) -> None:
    with pytest.raises(PolicyError, match="state how many rows to learn from"):
        drawn(parquet, tmp_path, request, "bayes", max_cells=50)
    release, _ = drawn(parquet, tmp_path, request, "bayes", max_cells=50, sample=600)
    assert release.manifest["synthesis"]["sample"] == 600
    assert release.hold_out.height == 60


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"sample": 49}, "sample"),
        ({"generator": sf.SequentialTrees(columns=["age"])}, "are out-of-core"),
        ({"to": None}, "has to be named"),
        ({"order": "backwards"}, "order"),
        ({"rows": 0}, "rows"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], says: str, tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(PolicyError, match=says):
        sf.synthesize(sf.scan(tmp_path / "in.parquet"), **{"to": tmp_path / "out", **ASKED, **asked})
    assert not (tmp_path / "out").exists()
    with pytest.raises(PolicyError, match="in memory"):
        sf.synthesize(TABLE, sample=100, **ASKED)


def test_lists_are_refused_and_not_left_out(tmp_path: Path) -> None:
    TABLE.with_columns(visits=pl.concat_list("age", "age")).write_parquet(tmp_path / "in.parquet")
    with pytest.raises(ColumnError, match="visits"):
        sf.synthesize(sf.scan(tmp_path / "in.parquet"), to=tmp_path / "out", **ASKED)
