"""CM, the classification metric: Iyengar, Transforming data to satisfy privacy constraints, KDD 2002."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.parameters import checked, known_columns
from sfumato.core.printed import printed
from sfumato.core.wording import percent
from sfumato.measures.arguments import HIERARCHIES, KEY, ORIGINAL, QUASI, RELEASED, ROWS, TARGET
from sfumato.measures.measure import Measure, wilson
from sfumato.measures.utility.pair import pair_of


@checked
def classification_metric(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    quasi: Annotated[Any, QUASI] = None,
    *,
    target: Annotated[str, TARGET],
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """The share of rows that are suppressed, or are not of the most frequent target value of their class.

    The target is taken from the release, or from the original where the release lacks it and rows are aligned. The
    baseline is the share of rows that are not of the most frequent target value of the whole table.

    >>> classification_metric(
    ...     {"age": [1, 2, 3, 4], "ill": ["y", "y", "n", "y"]},
    ...     {"age": ["1-2", "1-2", "3-4", "3-4"], "ill": ["y", "y", "n", "y"]}, "age", target="ill").value
    0.25
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    known_columns([target], pair.original.columns, "the original")
    names = tuple(n for n in (pair.changed() if quasi is None else pair.names(quasi, "quasi")) if n != target)
    together = pair.on((*names, target))
    if target in pair.released.columns:
        truth = printed(together.released.get_column(target))
    else:
        truth = printed(pair.original.get_column(target)).gather(pair.aligned("the classification metric"))
    keys = [printed(together.released.get_column(name)).alias(f"q{i}") for i, name in enumerate(names)]
    frame = pl.DataFrame([*keys, truth.alias("target")])
    cells = frame.with_columns(n=_row_counts(together.row_counts[1])).group_by(frame.columns).agg(pl.col("n").sum())
    by = [series.name for series in keys]
    best = cells.group_by(by).agg(n=pl.col("n").max()) if by else cells.select(pl.col("n").max())
    n = pair.released_rows + pair.suppressed
    wrong = n - int(best.get_column("n").sum())
    whole = pl.DataFrame({"value": printed(together.original.get_column(target))})
    common = whole.with_columns(n=_row_counts(together.row_counts[0])).group_by("value").agg(pl.col("n").sum())
    most: Any = common.get_column("n").max()
    baseline = 1 - most / pair.original_rows
    sentence = (
        f'For {wrong} of {n} records the most frequent "{target}" of their class is not their own, or they are '
        f"suppressed: {percent(wrong / n)}, against {percent(baseline)} when guessing without any other column."
    )
    details = {"target": target, "suppressed": pair.suppressed}
    return Measure("classification-metric", wrong / n, (0.0, 1.0), sentence, wilson(wrong, n), baseline, details)


def _row_counts(row_counts: np.ndarray | None) -> pl.Expr | pl.Series:
    """How many rows each entry stands for."""
    return pl.lit(1, pl.Int64) if row_counts is None else pl.Series(row_counts)
