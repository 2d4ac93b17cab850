"""Small generated releases of every kind, the same for the same seed: each test of leaks attacks this list.

A new kind of release plugs in as one more entry of `KINDS`, or of the lists beside it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.search import SEARCHES

AGES, TOWNS, ZIPS = range(20, 32), ("Aix", "Bonn", "Cork", "Delft"), ("476", "4767", "4790", "51", "5102")
DISEASES = ("flu", "cold", "ulcer", "HIV")
DAYS = tuple(f"{year}-0{month}-11" for year in (1980, 1981, 1992) for month in (1, 6))
VALUES: dict[str, tuple[Any, ...]] = {
    "age": tuple(AGES),
    "town": TOWNS,
    "zip": ZIPS,
    "born": DAYS,
    "disease": DISEASES,
}

QUICK = {
    "annealing": sf.Annealing(seconds=None, evaluations=100),
    "genetic": sf.Genetic(seconds=None, evaluations=300, population=20),
}
# others: tests/release/test_sampled.py, tests/search/fragments
PROVEN = [name for name, one in SEARCHES.items() if not one.example.private and not one.example.fragments]
KINDS: dict[str, Any] = {name: QUICK.get(name, name) for name in PROVEN} | {
    "mondrian, labels": sf.Mondrian(labels="hierarchy"),
    "mondrian, random": sf.Mondrian(dimension="random", seed=3),
    "blanked, wildcard": sf.MinimalSuppression(rule="wildcard"),
    "iterated, ranges": sf.Iterated(labels="ranges"),
}
LOSSES: tuple[Any, ...] = ("lm", "ncp", "discernibility", "c-avg", "precision", "height", "non-uniform-entropy")
LOSSES += (sf.LM(leaves="hierarchy"), sf.LM(aggregate="geometric"), sf.NCP(aggregate="maximum"))
TREE = sf.tree([("flu", "lung"), ("cold", "lung"), ("ulcer", "other"), ("HIV", "other"), ("lung", "*"), ("other", "*")])
COUNTRIES = sf.wide([("Aix", "FR", "EU"), ("Bonn", "DE", "EU"), ("Cork", "IE", "EU"), ("Delft", "NL", "EU")])
TWO_WAYS = sf.either(
    COUNTRIES, sf.wide([("Aix", "south", "*"), ("Bonn", "north", "*"), ("Cork", "north", "*"), ("Delft", "north", "*")])
)
HIERARCHIES: tuple[dict[str, Any], ...] = (
    {},
    {"age": "intervals:2,4,8", "town": COUNTRIES, "zip": "redact:right", "born": "dates:month,year"},
    {"age": "learned", "town": "flat", "zip": "redact:left"},
    {"age": "redact:1", "zip": "redact:2,4"},
    {"age": sf.either("intervals:2,4", "intervals:3"), "town": TWO_WAYS, "zip": "either:redact:right or redact:left"},
)
CRITERIA: tuple[tuple[Any, ...], ...] = (
    (),
    (),
    (sf.DistinctLDiversity("disease", 2),),
    (sf.EntropyLDiversity("disease", 1.5),),
    (sf.TCloseness("disease", 0.5),),
    (sf.TCloseness("disease", 0.5, "hierarchical"),),
    (sf.BetaLikeness("disease", 2),),
    (sf.DeltaDisclosure("disease", 2, "skipped"),),
    (sf.AlphaK(0.7, 2, "disease"),),
    (sf.AverageRisk(0.5),),
)


@dataclass(frozen=True, eq=False)
class Case:
    """A table and what is asked of it; `stored` out of core."""

    name: str
    table: pl.DataFrame
    asked: Mapping[str, Any]
    stored: bool = False

    def made(self) -> Made | None:
        """The release, or None where there is none."""
        with warnings.catch_warnings(), TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            try:
                if self.stored:
                    return self._stored(Path(folder))
                release = sf.anonymize(self.table, **self.asked)
                return Made(release.table, published(release.manifest), release)
            except SfumatoError:
                return None

    def _stored(self, folder: Path) -> Made:
        self.table.write_parquet(folder / "in.parquet")
        release = sf.anonymize(sf.scan(folder / "in.parquet"), to=folder / "out", **self.asked)
        manifest = json.loads((folder / "out" / "manifest.json").read_text("utf-8"))
        return Made(pl.read_parquet(folder / "out" / "data.parquet"), published(manifest), release)

    def with_cell(self, row: int, column: str, value: Any) -> Case:
        """The same where one cell has another value."""
        cells = self.table.get_column(column).to_list()
        cells[row] = value
        changed = pl.Series(column, cells, dtype=self.table.schema[column])
        return replace(self, table=self.table.with_columns(changed))


@dataclass(frozen=True, eq=False)
class Made:
    """The released rows, what is published beside them, and the release itself."""

    rows: pl.DataFrame
    document: str
    release: Any

    @property
    def key(self) -> list[Any]:
        """The released rows, whatever their order, with their types."""
        text = self.rows.with_columns(pl.all().cast(pl.String))
        return [list(self.rows.schema.items()), sorted(map(str, text.rows()))]


def published(manifest: Mapping[str, Any]) -> str:
    """A manifest without what is keyed, or names the file."""
    told = {**manifest, "input": {**manifest["input"], "fingerprint": None}}
    told["data"] = {key: told["data"][key] for key in ("rows", "columns")}
    del told["files"]
    return json.dumps(told, sort_keys=True)


def cases(seed: int, count: int, **fixed: Any) -> Iterator[Case]:
    """So many tables and policies; `fixed` is asked of every one."""
    rng = np.random.default_rng(seed)
    names = list(KINDS)

    def one_of(among: Any) -> Any:
        return among[int(rng.integers(len(among)))]

    for number in range(count):
        name = names[number % len(names)]
        rows = int(rng.integers(8, 15))
        quasi = sorted(rng.choice(["age", "town", "zip", "born"], size=int(rng.integers(1, 4)), replace=False).tolist())
        columns = {}
        for column in [*quasi, "disease"]:
            some = rng.choice(len(VALUES[column]), size=int(rng.integers(2, 5)))
            columns[column] = [VALUES[column][i] for i in rng.choice(some, size=rows)]
            if rng.random() < 0.5:  # somebody unlike the others
                columns[column][0] = one_of(VALUES[column])
            if rng.random() < 0.1:
                columns[column][1] = None
        trees = {column: tree for column, tree in one_of(HIERARCHIES).items() if column in quasi}
        asked = {
            "quasi": quasi,
            "sensitive": ["disease"],
            "require": [sf.KAnonymity(int(rng.integers(2, 4))), *one_of(CRITERIA)],
            "search": KINDS[name],
            "loss": one_of(LOSSES),
            "suppression": one_of([0, 1, 2, 0.3]),
            "hierarchies": trees | {"disease": TREE},
        }
        yield Case(name, pl.DataFrame(columns), asked | fixed)
