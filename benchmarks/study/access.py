"""The study's access test: how long SQLite takes to find an age, and how many rows it finds, before and after."""

from __future__ import annotations

import re
import sqlite3
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.figures import timed, warm
from benchmarks.study import inputs
from benchmarks.study.figures import PLAIN
from benchmarks.study.inputs import Case, release
from sfumato.search.lattice.samarati import Samarati

TRUE = "true_age"  # the age before it was blurred, carried along to tell the rows that are really meant
TIMES = 15
PLAIN_AGE = "SELECT * FROM people WHERE age = :age"
COVERED = (  # every label that covers the age, not one of them: labels of Mondrian overlap
    "SELECT * FROM people WHERE age IN"
    " (SELECT label FROM labels WHERE low <= :age AND (:age < high OR (closed AND :age = high)))"
)
TOLD = {  # the rows that the study counts
    ("Adult", "original"): 786,
    ("Adult", "Samarati, k=10, maxsup=20"): 4085,
    ("Adult", "Mondrian, random column, k=320"): 956,
    ("Bank", "original"): 186,
    ("Bank", "Samarati as the study read it, k=10, maxsup=20"): 4520,
    ("Bank", "Mondrian with marital, random column, k=103"): 415,
}
ASKED = {  # the labels that it asks for, where others cover the age too
    ("Adult", "Mondrian, random column, k=320"): ("39", "[38, 47]", "[38, 48]"),
    ("Bank", "Mondrian with marital, random column, k=103"): ("[33, 35]",),
}
RANGE = re.compile(r"\[(?P<low>\S+), (?P<high>\S+)(?P<end>[\])])")
INFINITY = float("inf")


def bounds(label: str) -> tuple[float, float, bool]:
    """What a label covers: from, to, and whether its end belongs to it.

    >>> bounds("[35, 40)"), bounds("[37, 41]"), bounds("39"), bounds("*")
    ((35.0, 40.0, False), (37.0, 41.0, True), (39.0, 39.0, True), (-inf, inf, True))
    """
    if label == "*":
        return -INFINITY, INFINITY, True
    if found := RANGE.fullmatch(label):
        return float(found["low"]), float(found["high"]), found["end"] == "]"
    return float(label), float(label), True


def covers(label: str, age: int) -> bool:
    """Whether an age may stand behind a label."""
    low, high, closed = bounds(label)
    return low <= age < high or (closed and age == high)


def run() -> list[dict[str, Any]]:
    """Rows and milliseconds of every table of both data sets."""
    found = []
    for data, age, tables in (("Adult", 39, adult_tables()), ("Bank", 33, bank_tables())):
        for name, table in tables:
            row = {"data": data, "table": name, "age": age, **ask(table, age, name != "original")}
            told, asked = TOLD.get((data, name)), ASKED.get((data, name))
            row["asked"] = asked and table.get_column("age").is_in(asked).sum()
            counted = row["rows"] if asked is None else row["asked"]
            found.append(row | {"told": told, "agree": None if told is None else told == counted})
    return found


def adult_tables() -> Iterator[tuple[str, pl.DataFrame]]:
    """Adult, and its releases."""
    yield "original", with_truth(inputs.adult()).table
    yield "Samarati, k=10, maxsup=20", release(with_truth(inputs.adult()), Samarati(), whole=True).table
    yield from mondrian_tables(inputs.adult_numbers())
    yield "Mondrian, random column, k=320", random_table(inputs.adult_numbers(), 320, seed=20)


def bank_tables() -> Iterator[tuple[str, pl.DataFrame]]:
    """Bank, and its releases."""
    yield "original", with_truth(inputs.bank()).table
    as_read = with_truth(inputs.bank_as_read())
    yield "Samarati as the study read it, k=3", release(as_read, Samarati(), whole=True).table
    last = release(as_read, Samarati(), whole=True, k=10, maxsup=20)
    yield "Samarati as the study read it, k=10, maxsup=20", last.table
    yield "Samarati read rightly, k=3", release(with_truth(inputs.bank()), Samarati(), whole=True).table
    yield from mondrian_tables(inputs.bank_plain())
    case = inputs.bank_plain_as_read("marital")
    yield "Mondrian with marital, random column, k=103", random_table(case, 103, seed=6)


def mondrian_tables(case: Case) -> Iterator[tuple[str, pl.DataFrame]]:
    """The releases of both cuts."""
    yield "Mondrian, plain cut, k=10", release(with_truth(case), PLAIN, whole=True).table
    yield "Mondrian, balanced cut, k=10", release(with_truth(case), sf.Mondrian(), whole=True).table


def random_table(case: Case, k: int, seed: int) -> pl.DataFrame:
    """The release of a draw in which the labels that the study asks for have as many rows as it counts."""
    search = sf.Mondrian(cut="lower-median", dimension="random", categories="order", seed=seed)
    return release(with_truth(case), search, whole=True, k=k).table


def with_truth(case: Case) -> Case:
    """The case with the true age in a column of its own."""
    table = case.table.with_columns(pl.col("age").cast(pl.Int64).alias(TRUE))
    return Case(case.name, table, case.quasi, case.k, case.maxsup, case.hierarchies, case.levels)


def ask(table: pl.DataFrame, age: int, released: bool) -> dict[str, Any]:
    """Load a table into SQLite, and fetch the rows that may have an age, without and with an index."""
    ages = table.get_column("age") if released else table.get_column("age").cast(pl.Int64)
    db = sqlite3.connect(":memory:")
    load(db, "people", table.with_columns(ages))
    query = COVERED if released else PLAIN_AGE
    found: dict[str, Any] = {}
    if released:
        size = dict(ages.value_counts().iter_rows())
        db.execute("CREATE TABLE labels (label TEXT, low REAL, high REAL, closed INTEGER)")
        db.executemany("INSERT INTO labels VALUES (?, ?, ?, ?)", [(label, *bounds(label)) for label in size])
        among = [size[label] for label in size if covers(label, age)]
        found = {"labels": len(among), "largest": max(among, default=0), "exact": size.get(str(age), 0)}
    found["rows"] = len(db.execute(query, {"age": age}).fetchall())
    right = query.replace("WHERE", f"WHERE {TRUE} = :age AND", 1)
    found["right"] = len(db.execute(right, {"age": age}).fetchall())
    found["scan_ms"] = clock(db, query, age)
    db.execute("CREATE INDEX by_age ON people (age)")
    found["index_ms"] = clock(db, query, age)
    db.close()
    return found


def load(db: sqlite3.Connection, name: str, table: pl.DataFrame) -> None:
    """A frame as a table of the database."""
    db.execute(f"CREATE TABLE {name} ({', '.join(quoted(table.columns))})")
    marks = ", ".join("?" * table.width)
    db.executemany(f"INSERT INTO {name} VALUES ({marks})", table.iter_rows())


def quoted(names: Sequence[str]) -> list[str]:
    """Names as SQL writes them."""
    return ['"' + name.replace('"', '""') + '"' for name in names]


def clock(db: sqlite3.Connection, query: str, age: int) -> float:
    """Milliseconds of a query until all its rows are there, the median of several."""
    runs = warm(lambda: timed(lambda: db.execute(query, {"age": age}).fetchall()), TIMES)
    return 1000 * statistics.median(seconds for seconds, _ in runs)
