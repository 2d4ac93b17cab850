"""Steps before and after a search: what is promised holds of the rows that leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import PolicyError, UndecidedColumns


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng, rows = np.random.default_rng(4), 300
    return pl.DataFrame({
        "name": [f"Ann {i}" for i in range(rows)],
        "age": rng.integers(18, 90, rows), "sex": rng.choice(["F", "M"], rows),
        "income": rng.lognormal(10, 0.5, rows).round(), "tax": rng.lognormal(8, 0.5, rows).round(),
        "disease": rng.choice(["flu", "cold", "hiv"], rows),
    })  # fmt: skip


ASKED: dict[str, Any] = {
    "identifying": ["name"], "quasi": ["age", "sex"], "sensitive": ["disease"], "k": 5,
    "require": ["distinct-l-diversity disease 2"], "seed": 3,
}  # fmt: skip
STEPS = [sf.RankSwapping("income", p=10), ("after", sf.Rounding("tax", base=100)), sf.Rounding("age", base=2)]


def test_promises_and_facts_hold_of_what_leaves(table: pl.DataFrame, tmp_path: Path) -> None:
    release = sf.anonymize(table, mask=STEPS, **ASKED)
    assert release.verification.holds
    assert [fact.fact for fact in release.verification.facts] == ["marginals", "ranks", "points"]
    assert release.manifest["made_by"] == "recoding"
    assert release.original.equals(table)
    assert release.table["income"].sort().equals(table["income"].sort())
    before = table["income"].gather(release.rows)
    assert not release.table["income"].equals(before)
    release.save(tmp_path / "out")
    assert all(fact.holds for fact in sf.verify(tmp_path / "out", original=table).facts)


def test_the_fingerprint_is_that_of_the_original(table: pl.DataFrame) -> None:
    masked = sf.anonymize(table, mask=STEPS, **ASKED)
    plain = sf.anonymize(table, insensitive=["income", "tax"], **ASKED)
    assert masked.manifest["input"]["fingerprint"] == plain.manifest["input"]["fingerprint"]


def test_suppressed_rows_take_the_facts_about_all_rows(table: pl.DataFrame) -> None:
    asked = {**ASKED, "k": 25, "suppression": 0.3, "search": "optimal"}
    release = sf.anonymize(table, mask=STEPS, **asked)
    assert release.solution.verdict.suppressed
    assert [fact.fact for fact in release.verification.facts] == ["points"]


def test_what_a_promise_is_about_is_masked_before(table: pl.DataFrame) -> None:
    carried = sf.RecordSwapping("income", carry="age")
    for step in (sf.Rounding("age", base=2), sf.Pram("disease", invariant=True), carried):
        with pytest.raises(PolicyError, match="which a promise is about"):
            sf.anonymize(table, mask=[("after", step)], insensitive=["income", "tax"], **ASKED)
    with pytest.raises(PolicyError, match="leaves rows out"):
        sf.anonymize(table, mask=[("after", sf.Sampling(fraction=0.5))], insensitive=["income", "tax"], **ASKED)
    sample = sf.anonymize(table, mask=[sf.Sampling(fraction=0.5)], insensitive=["income", "tax"], **ASKED)
    assert sample.verification.rows == 150
    with pytest.raises(PolicyError, match="time of a step"):
        sf.anonymize(table, mask=[("later", STEPS[0])], **ASKED)
    with pytest.raises(UndecidedColumns, match="name"):
        sf.anonymize(table, mask=[sf.Pram("name")], **{**ASKED, "identifying": ()}, insensitive=["income", "tax"])


@pytest.mark.slow
def test_a_policy_file_does_both(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "data.csv")
    (tmp_path / "p.toml").write_text("""
[input]
path = "data.csv"
[roles]
identifying = ["name"]
quasi = ["age", "sex"]
sensitive = ["disease"]
unprotected = ["disease"]
[[require]]
model = "k-anonymity"
k = 5
[[mask]]
step = "rank-swapping"
columns = ["income"]
p = 10
[[mask]]
step = "rounding"
columns = ["tax"]
base = 100
when = "after"
[output]
path = "out"
""", "utf-8")  # fmt: skip
    assert main(["anonymize", str(tmp_path / "p.toml")]) == 0
    assert main(["verify", str(tmp_path / "out"), "--original", str(tmp_path / "data.csv")]) == 0
    assert sf.verify(tmp_path / "out").holds


def test_an_out_of_core_table_is_refused_with_what_else_there_is(tmp_path: Path) -> None:
    pl.DataFrame({"age": [30, 30], "pay": [1, 2]}).write_parquet(tmp_path / "in.parquet")
    with pytest.raises(PolicyError, match=r"only a table in memory.*got a table in files.*Hint: read it into memory"):
        sf.anonymize(sf.scan(tmp_path / "in.parquet"), quasi=["age"], k=2, mask="rounding pay", to=tmp_path / "out")
