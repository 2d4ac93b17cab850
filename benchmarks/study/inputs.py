"""The study's two tables, their quasi-identifiers and hierarchies, and the settings that its runs start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.tables import shared

COLUMNS = [
    "age", "work_class", "final_weight", "education", "education_num", "marital_status", "occupation", "relationship",
    "race", "gender", "capital_gain", "capital_loss", "hours_per_week", "native_country", "class",
]  # fmt: skip
JOBS = {
    "white-collar": ["admin.", "management"],
    "blue-collar": ["blue-collar", "housemaid", "technician", "services"],
    "self-employed": ["self-employed", "entrepreneur"],
    "other": ["unknown", "unemployed", "student", "retired"],
}
GROUPS = {"white-collar": "employed", "blue-collar": "employed", "self-employed": "employed", "other": "other"}
WIDTHS = 5, 10, 20  # of the age intervals
SUM = sf.LM(aggregate="sum")


@dataclass(frozen=True, eq=False)
class Case:
    """A table as one of the study's runs takes it."""

    name: str
    table: pl.DataFrame
    quasi: tuple[str, ...]
    k: int
    maxsup: int = 0
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)


@cache
def adult_table() -> pl.DataFrame:
    """Adult without the rows that have a `?` in any column: 30,162 rows."""
    table = sf.read(shared() / "data/adult/adult.data", header=False)
    table = table.rename(dict(zip(table.columns, COLUMNS, strict=True)))
    return table.filter(~pl.any_horizontal(pl.all() == "?"))


@cache
def bank_table() -> pl.DataFrame:
    """Bank, all of its 4,521 rows."""
    return sf.read(shared() / "data/bank/bank.csv")


def adult() -> Case:
    """Adult as the study gives it to Samarati."""
    trees = {name: str(edge_file(name)) for name in ("gender", "race", "marital_status")}
    quasi = ("age", "gender", "race", "marital_status")
    return Case("Adult", adult_table(), quasi, 10, 20, {"age": sf.intervals(*WIDTHS), **trees})


def bank() -> Case:
    """Bank with all its rows and a job hierarchy of height 3."""
    job = sf.levels({job: group for group, jobs in JOBS.items() for job in jobs}, GROUPS, "*")
    return Case("Bank", bank_table(), ("age", "job"), 3, 10, {"age": sf.intervals(*WIDTHS), "job": job})


def bank_as_read() -> Case:
    """Bank as the study's program read it: the first row lost, job never generalised."""
    right = bank()
    return Case("Bank as read", right.table[1:], right.quasi, right.k, right.maxsup, right.hierarchies, {"job": 0})


def adult_numbers(*more: str) -> Case:
    """Adult as the study gives it to Mondrian, without hierarchies."""
    return Case("Adult", adult_table(), ("age", "education_num", *more), 10)


def bank_plain() -> Case:
    """Bank as the study gives it to Mondrian: jobs in alphabetical order, without a hierarchy."""
    return Case("Bank", bank_table(), ("age", "job"), 10)


def bank_plain_as_read(*more: str) -> Case:
    """The same as the study's program read it: the first row lost."""
    return Case("Bank as read", bank_table()[1:], ("age", "job", *more), 10)


def default(case: Case) -> sf.Release:
    """What plain `sf.anonymize` releases of a case: its own search, labels and ends; promise and loss as they are."""
    table, quasi = case.table.select(case.quasi), list(case.quasi)
    asked = {"k": case.k, "suppression": case.maxsup, "loss": SUM, "hierarchies": dict(case.hierarchies)}
    return sf.anonymize(table, quasi=quasi, **asked)


def edge_file(column: str) -> Any:
    """The study's edge list of an Adult column."""
    return shared() / f"data/adult/adult_{column}.txt"


def release(case: Case, search: Any, whole: bool = False, **changes: Any) -> sf.Release:
    """A verified release of a case; `whole` takes the other columns along, `changes` replaces its settings."""
    table = case.table if whole else case.table.select(case.quasi)
    asked = {"k": case.k, "maxsup": case.maxsup, "levels": dict(case.levels)} | changes
    return sf.anonymize(
        table,
        quasi=list(case.quasi),
        insensitive=[name for name in table.columns if name not in case.quasi],
        require=sf.KAnonymity(asked["k"]),
        suppression=asked["maxsup"],
        search=search,
        loss=SUM,
        hierarchies=dict(case.hierarchies),
        levels=asked["levels"],
        ends="exact",
    )
