"""Anatomy and slicing: their time on a million rows, and how well they answer counts, beside Mondrian with the same
promise: at most one row in l with the same value, in every class.

The workload is that of Xiao and Tao (VLDB 2006): a query asks how many rows have some values of every column, so many
values of each that a share of 5% of the rows is expected. The error is that of an answer, relative to the true one.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, figure
from benchmarks.tables import MILLION, nine, resample
from sfumato.measures.utility.pair import pair_of

GROUP = "fragments"
SENSITIVE, L = "occupation", 5
QUASI = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")
QUERIES, SELECTIVITY = 1_000, 0.05


def run() -> list[Figure]:
    """Seconds of the search and of the verb, and the median error of queries."""
    table = nine()[0].select(*QUASI, SENSITIVE)
    found = _times(resample(table, MILLION))
    for columns in (3, 5, 7):
        names = list(QUASI[:columns])
        errors = _errors(table.select(*names, SENSITIVE), names)
        title = f"{QUERIES} counts by {columns} columns and the occupation, l = {L}: median error"
        found += [figure(GROUP, f"{title}, {name}", [error], "") for name, error in errors.items()]
        for name, target in (("anatomy", 0.1), ("slicing", None)):
            times = errors[name] / errors["mondrian"]
            found.append(figure(GROUP, f"{title}, {name}, times that of mondrian", [times], "", target=target))
    return found


def _times(table: pl.DataFrame) -> list[Figure]:
    found = []
    for search, target in (("anatomy", 0.5), ("slicing", 5.0)):
        searching, whole = [], []
        for _ in range(4):
            began = time.process_time()
            release = _release(table, list(QUASI), search)
            whole.append(time.process_time() - began)
            searching.append(release.solution.seconds)
        title = f"{search}, l = {L}, {len(QUASI)} columns of a million rows"
        found += [
            figure(GROUP, f"{title}: the search, from coded columns", searching[1:], target=target),
            figure(GROUP, f"{title}: the verb, CPU seconds", whole[1:]),
        ]
    return found


def _release(table: pl.DataFrame, names: list[str], search: object) -> object:
    require = [sf.AlphaK(1 / L, L, SENSITIVE) if search == "mondrian" else sf.DistinctLDiversity(SENSITIVE, L)]
    return sf.anonymize(table, quasi=names, sensitive=[SENSITIVE], rest="release", require=require, search=search)


def _errors(table: pl.DataFrame, names: list[str]) -> dict[str, float]:
    """The median relative error of each release."""
    rng = np.random.default_rng(1)
    taken, blurred = _release(table, names, sf.Anatomy(seed=1)), _release(table, names, "mondrian")
    slices = [*_release(table, names, sf.Slicing(seed=1)).tables.values()]  # type: ignore[attr-defined]
    rows = slices[0].group_by("bucket").agg(rows=pl.len())
    quasi, values = taken.tables["quasi"], taken.tables["sensitive"]  # type: ignore[attr-defined]
    sizes = values.group_by("group").agg(size=pl.col("count").sum())
    pair = pair_of(table, blurred.table)  # type: ignore[attr-defined]
    boxes, read = pair.boxes([*names, SENSITIVE]), [pair.column(name) for name in (*names, SENSITIVE)]
    found: dict[str, list[float]] = {"anatomy": [], "slicing": [], "mondrian": []}
    share = SELECTIVITY ** (1 / (len(names) + 1))
    domains = {name: table.get_column(name).unique().sort() for name in (*names, SENSITIVE)}
    while len(found["anatomy"]) < QUERIES:
        asked = {
            name: domain.sample(max(1, round(share * len(domain))), seed=int(rng.integers(1 << 30)))
            for name, domain in domains.items()
        }
        true = table.filter(*(pl.col(name).is_in(some.implode()) for name, some in asked.items())).height
        if not true:
            continue
        matching = quasi.filter(*(pl.col(name).is_in(asked[name].implode()) for name in names)).group_by("group").len()
        mine = values.filter(pl.col(SENSITIVE).is_in(asked[SENSITIVE].implode()))
        mine = mine.group_by("group").agg(pl.col("count").sum())
        joined = matching.join(mine, on="group").join(sizes, on="group")
        estimate = joined.select((pl.col("len") * pl.col("count") / pl.col("size")).sum()).item()
        found["anatomy"].append(abs(estimate - true) / true)
        estimated, expected = rows, pl.col("rows")  # of each bucket: its rows times the share that each slice has
        for i, slice_ in enumerate(slices):
            mine = slice_.filter(*(pl.col(name).is_in(asked[name].implode()) for name in slice_.columns[1:]))
            estimated = estimated.join(mine.group_by("bucket").agg(pl.len().alias(f"of {i}")), on="bucket")
            expected = expected * pl.col(f"of {i}") / pl.col("rows")
        found["slicing"].append(abs(estimated.select(expected.sum()).item() - true) / true)
        parts = np.ones(len(boxes.box_count))
        for i, (name, column) in enumerate(zip((*names, SENSITIVE), read, strict=True)):
            texts = {str(value) for value in asked[name].to_list()}
            inside = np.array([text in texts for text in column.support])
            parts *= column.shares(inside)[boxes.boxes[i]]
        found["mondrian"].append(abs(float((parts * boxes.box_count).sum()) - true) / true)
    return {name: median(errors) for name, errors in found.items()}
