"""Information losses of any release: the measures that a search minimises, read off the labels and class sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.engines.printed import printed
from sfumato.losses import LabelLoss, loss_name
from sfumato.losses import loss as parse_loss
from sfumato.measures.measure import Measure
from sfumato.measures.utility.checks import whole
from sfumato.measures.utility.label_cost import label_costs
from sfumato.measures.utility.notes import many, moved_share, unread_words
from sfumato.measures.utility.pair import Pair, pair_of
from sfumato.policy import ClassStatistics

WORDS = {
    "lm": "of the detail of the quasi-identifiers is lost",
    "ncp": "of the range of the quasi-identifiers is lost",
    "precision": "of the way up the hierarchies is gone",
    "non-uniform-entropy": "of the information in the quasi-identifiers is lost",
}


def information_loss(
    original: Any,
    released: Any = None,
    quasi: Any = None,
    *,
    loss: Any = "lm",
    hierarchies: Mapping[str, Any] | None = None,
    rows: Sequence[int] | np.ndarray | None = None,
    key: str | None = None,
    k: int | None = None,
) -> Measure:
    """A loss of `sfumato.losses` on any pair of tables: lm, ncp, precision, height, non-uniform-entropy,
    discernibility or c-avg.

    A loss of labels averages over all original rows what the label of each costs, a suppressed row at its maximum, and
    aggregates over the quasi-identifiers. Labels are read as `measures.labels_cover` says. On a release of Sfumato it
    is the loss of its solution. Where a label stands at several levels of a hierarchy the lowest is meant.

    Parameters
    ----------
    original, released, rows, key, hierarchies
        See `pair_of`.
    quasi
        The columns to measure; those in which the release prints something else by default.
    loss
        The name of a loss, or a value such as `LM(aggregate="geometric")`.
    k
        For c-avg: the class size that was asked for; the smallest class by default.

    Examples
    --------
    >>> information_loss({"age": [20, 30, 40, 60]}, {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]}).value
    0.375
    """
    pair, asked = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies), parse_loss(loss)
    names = pair.changed() if quasi is None else pair.names(quasi, "quasi")
    name = loss_name(asked)
    if not isinstance(asked, LabelLoss):
        return _of_classes(pair, names, asked, name, k)
    n, gone = pair.original_rows, pair.suppressed
    per_column, weights = np.empty(len(names)), np.empty(len(names))
    for i, column in enumerate(map(pair.column, names)):
        attribute = column.attribute
        cost = label_costs(column, asked, pair.rows)
        own, free = asked.own(attribute), asked.suppressed(attribute)
        total = float((cost * column.count).sum()) - float((own * attribute.categories.count).sum())
        # what a suppressed row costs beyond its own is the same for every value
        most = float(cost.max()) if free is None else float(free[0] + own[0])
        per_column[i] = max(total + gone * most, 0.0) / max(n, column.released_rows)
        weights[i] = asked.weight(attribute)
    value = float(asked.combine(per_column, weights))
    read = [pair.column(c) for c in names]
    counts, unread = unread_words(read)
    moved, beside = moved_share(pair, read)
    details = {
        "per_column": dict(zip(names, per_column.tolist(), strict=True)),
        "suppressed": gone,
        "moved": moved,
        **counts,
    }
    top = sum(pair.column(c).attribute.ladder.height for c in names) if name == "height" else 1.0
    if asked.aggregate == "sum" and name != "height":
        top = float(len(names))
    if name in WORDS and asked.aggregate == "mean":
        sentence = f"{value * 100:.1f}% {WORDS[name]} (0%: as in the original, 100%: nothing is left)"
        sentence += f"; suppressed rows counted as lost: {gone}." if gone else "."
    else:
        sentence = f"The loss {name} ({asked.aggregate} over {many(len(names))}) is {value:.4g}, 0 being no loss."
    value = min(value, top) if value < top + 1e-9 else value  # sums of shares may pass 1 by their last digit
    return Measure(name, value, (0.0, float(max(top, value))), sentence + unread + beside, details=details)


def class_sizes_of(frame: pl.DataFrame, names: Sequence[str], times: np.ndarray | None) -> np.ndarray:
    """Rows per class: rows that print alike in these columns, each as often as `times` says."""
    keys = pl.DataFrame([printed(frame.get_column(name)).alias(f"q{i}") for i, name in enumerate(names)])
    rows = pl.lit(1, pl.Int64) if times is None else pl.Series(times)
    return keys.with_columns(size=rows).group_by(keys.columns).agg(pl.col("size").sum()).get_column("size").to_numpy()


def _of_classes(pair: Pair, names: Sequence[str], asked: Any, name: str, k: int | None) -> Measure:
    together = pair.on(names)
    sizes = np.sort(class_sizes_of(together.released, names, together.times[1]))
    least = int(sizes[0]) if k is None else whole("k", k, 1)
    n = max(pair.original_rows, pair.released_rows)
    squares = float((sizes.astype(np.float64) ** 2).sum())
    statistics = ClassStatistics(n, n - int(sizes.sum()), len(sizes), squares, len(sizes), squares, least, n)
    value = float(asked.value(statistics))
    details: dict[str, Any] = {"classes": len(sizes), "suppressed": pair.suppressed, "k": least}
    if name == "c-avg":
        sentence = (
            f"Records that share their quasi-identifiers come in groups {value:.4g} times as large on average as "
            f"{least}, the {'size asked for' if k else 'smallest group'}; 1 is as fine as that allows."
        )
        return Measure(name, value, (0.0, n / least), sentence, details=details)
    own = np.sort(class_sizes_of(together.original, names, together.times[0]))
    baseline = float((own.astype(np.float64) ** 2).sum())
    sentence = (
        f"On average a record has the quasi-identifiers of {value / n:.4g} of {n} records, itself counted and a "
        f"suppressed one as all of them; in the original, of {baseline / pair.original_rows:.4g}."
    )
    return Measure(name, value, (float(n), float(n) * n), sentence, baseline=baseline, details=details)
