"""Query workload error: LeFevre, DeWitt, Ramakrishnan, Workload-aware anonymization, KDD 2006; Xiao, Tao, VLDB 2006."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import OneOf, Share, Whole, checked, yes_or_no
from sfumato.core.wording import count, percent
from sfumato.measures.arguments import COUNT, HIERARCHIES, KEY, ORIGINAL, RELEASED, ROWS, SEED, SOME_COLUMNS
from sfumato.measures.measure import Measure
from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import pair_of

STATISTICS = ("median", "mean")


@checked
def query_error(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    queries: Annotated[int, Whole(help="how many queries are drawn")] = 200,
    dimension: Annotated[int, COUNT] = 2,
    sanity: Annotated[float, Share(above=True)] = 0.01,
    statistic: Annotated[str, OneOf(STATISTICS, help="how errors are summed up")] = "median",
    scaled: bool = False,
    seed: Annotated[int, SEED] = 0,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """The median relative error of random range-count queries, or the mean of them. No alignment is needed.

    A query asks how many records lie in a range of each of up to `dimension` columns: from one random value to another
    in the order of the column, both ends included (categories in the order of their text). Suppressed rows count for
    nothing, or where counts are `scaled`, as those of a sample are, for as much as the others; a released row for the
    share of its labels' values inside. The error is abs(estimate - count) over the
    larger of the count and `sanity` times the rows. The interval is that of the median, by order statistics, or of the
    mean; the value of a release without rows is at most 1. The baseline is the error of a release that hides every
    value. The mean also hears of columns that few queries ask about.

    >>> table = {"age": [20] * 30 + list(range(21, 31))}
    >>> query_error(table, table).value, query_error(table, {"age": ["*"] * 40}).value > 0.1
    (0.0, True)
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    names = pair.changed() if columns is None else pair.names(columns)
    found = pair.boxes(names)
    rng = np.random.default_rng(seed)
    read = [pair.column(name) for name in names]
    order = [_order(column) for column in read]
    n = pair.original_rows
    weight = n / max(pair.released_rows, 1) if yes_or_no(scaled, "scaled") else 1.0
    errors, counts, hidden = np.empty(queries), np.empty(queries), np.empty(queries)
    for i in range(queries):
        chosen = rng.choice(len(names), size=rng.integers(1, min(dimension, len(names)) + 1), replace=False)
        inside, share, blind = np.ones(len(found.cell_count), np.bool_), np.ones(len(found.box_count)), 1.0
        for c in chosen:
            mask = _range(read[c], order[c], rng)
            inside &= mask[found.cells[c]]
            share *= read[c].shares(mask)[found.boxes[c]]
            blind *= float(mask[: read[c].values].mean())
        counts[i] = found.cell_count[inside].sum()
        least = max(counts[i], sanity * n)
        errors[i] = abs(weight * (share * found.box_count).sum() - counts[i]) / least
        hidden[i] = abs(blind * n - counts[i]) / least
    errors.sort()
    typical = np.median if statistic == "median" else np.mean
    value, baseline = float(typical(errors)), float(typical(hidden))
    half = 1.96 * math.sqrt(queries) / 2
    low, high = max(math.floor(queries / 2 - half), 0), min(math.ceil(queries / 2 + half), queries - 1)
    off = f"at most {percent(value)} off in half of the answers"
    interval = (float(errors[low]), float(errors[high]))
    if statistic == "mean":
        half = 1.96 * float(errors.std()) / math.sqrt(queries)
        off, interval = f"{percent(value)} off on average", (max(value - half, 0.0), value + half)
    sentence = (
        f"Asked {queries} times how many records lie in random ranges of up to {count(dimension, 'column')}, the "
        f"release is {off}; one that hides every value, "
        f"{percent(baseline)} (counts below {percent(sanity)} of the records are measured against that)."
    )
    details = {
        "mean": float(errors.mean()), "upper_decile": float(np.quantile(errors, 0.9)), "queries": queries,
        "columns": list(names), "percent": 100 * min(value, 1.0), "mean_count": float(counts.mean()),
    }  # fmt: skip
    most = max(1.0, weight * pair.released_rows / n) / sanity
    return Measure("query-error", value, (0.0, most), sentence, interval, baseline, details)


def _order(column: ComparedColumn) -> np.ndarray:
    """The rank of each value of the support: by place where ordered, new and missing values last."""
    if column.place is None:
        return np.arange(len(column.support))
    found = np.empty(len(column.support), np.int64)
    found[np.argsort(column.place, kind="stable")] = np.arange(len(column.support))
    return found


def _range(column: ComparedColumn, rank: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The values between two random original ones."""
    ends = rank[rng.integers(0, column.values, size=2)]
    return (rank >= ends.min()) & (rank <= ends.max())
