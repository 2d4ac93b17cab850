"""Every generator through the conformance suite; and the suite finds those that do not keep their contract."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.synthetic import GENERATORS
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel
from sfumato.testing import check_generator, parametrize_with_checks, registered
from sfumato.testing.generators import assert_pairs_kept, chain, drawn
from sfumato.testing.generators import mixed_table as table

__all__ = ["assert_pairs_kept", "chain", "table"]  # for tests of single generators


@parametrize_with_checks(*(variant.example for variant in GENERATORS.values()))
def test_generators(check: Any) -> None:
    check()


def digests() -> dict[str, str]:
    """A text that tells the bytes of what each of them draws."""
    found = {name: drawn(variant.example) for name, variant in GENERATORS.items() if not variant.example.private}
    return {
        name: hashlib.sha256(
            frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).write_ndjson().encode()
        ).hexdigest()
        for name, frame in found.items()
    }


@cache
def elsewhere() -> dict[str, str]:
    """What another process draws."""
    code = "import json; from tests.conformance.test_generators import digests; print(json.dumps(digests()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


@pytest.mark.slow
def test_the_seed_decides_in_any_process() -> None:
    assert digests() == elsewhere()


@dataclass(frozen=True)
class Sorted(SyntheticGenerator):
    """Rows of the table in its order, with what is declared wrongly by its fault.

    fault: what it gets wrong.
    """

    fault: str = "order"

    @property
    def leaves(self) -> str:
        return "Everything."

    def sentence(self) -> str:
        return "the rows of the table"

    def fit(self, table: pl.DataFrame, context: FitContext) -> SortedModel:
        return SortedModel(table, self.fault)


@dataclass(frozen=True, eq=False)
class SortedModel(FittedModel):
    table: pl.DataFrame
    fault: str

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        chosen = rng.integers(0, self.table.height, rows)
        made = self.table[np.sort(chosen) if self.fault == "order" else chosen]
        if self.fault == "schema":
            return made.with_columns(pl.col(pl.UInt8).cast(pl.Int64))
        if self.fault == "rows":
            return made[1:]
        if self.fault == "missing":
            return made.with_columns(pl.all().fill_null(strategy="forward").fill_null(strategy="backward"))
        if self.fault == "domain" and "age" in made.columns:
            return made.with_columns(pl.col("age") + pl.lit(90, pl.UInt8))
        if self.fault == "pairs":
            return made.with_columns(pl.first().shuffle(int(rng.integers(2**32))))
        return made


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("order", "rows come in the order of the table"),
        ("schema", "columns or types are others"),
        ("rows", "not 240 rows"),
        ("missing", "0 values are missing"),
        ("domain", "a number out of range"),
        ("pairs", "is not kept"),
    ],
)
def test_the_suite_finds_what_a_generator_gets_wrong(fault: str, says: str) -> None:
    with registered(Sorted, Sorted()), pytest.raises(AssertionError, match=says):
        check_generator(Sorted(fault))


def test_a_generator_of_ones_own_draws_by_its_name() -> None:
    import sfumato as sf

    with registered(Sorted, Sorted()):
        table = {"age": [31, 42, 58, 42] * 25, "ill": ["no", "no", "yes", "yes"] * 25}
        found = sf.synthesize(table, "sorted fault=none", rows=20, seed=1)
        assert found.manifest["steps"][0]["step"] == "sorted"
