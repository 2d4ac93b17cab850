"""The domain of a Spark table: the values of its columns, or their span, counted on the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.distributed.domain import Domain, full_attribute, line_attribute, on_a_line, positions, span_of, steps
from sfumato.engines.spark_frame import SparkFrame, as_polars
from sfumato.engines.spark_job import job
from sfumato.engines.spark_types import functions
from sfumato.engines.store import Say
from sfumato.errors import ColumnError, PolicyError
from sfumato.policy import Policy

MAX_VALUES = 1_000_000  # of a column whose values are sent to every worker


def domain_of(
    table: SparkFrame, rows: int, policy: Policy, looks_at: Sequence[str], recipes: Mapping[str, Any], say: Say
) -> Domain:
    """The domain of the quasi-identifiers and of the columns that criteria look at.

    Numbers, dates and times without a hierarchy may have any number of values, others up to `MAX_VALUES`.
    """
    say("counting values", None)
    lines = [name for name in policy.columns if on_a_line(table.schema[name], recipes.get(name), policy.loss)]
    spans = {name: span for name, span in _spans(table, lines).items() if span is not None}
    attributes = []
    for name in dict.fromkeys((*policy.columns, *looks_at)):
        role = "quasi" if name in policy.columns else "sensitive"
        if name in spans:
            attributes.append(line_attribute(name, role, table.schema[name]))
            continue
        try:
            counted = table.count([name], MAX_VALUES)
        except PolicyError:
            raise PolicyError(
                f'column "{name}" has too many different values to be sent to every worker',
                got=f"more than {MAX_VALUES:,}",
                allowed="any number only of a quasi-identifier of numbers, dates or times without a hierarchy, "
                "with the loss lm, ncp, discernibility or c-avg",
                hint="coarsen the column, or give it a type with an order",
            ) from None
        if counted.get_column(name).drop_nulls().is_empty():
            raise ColumnError(f'column "{name}" is empty: it has no value in any row', hint="leave it out")
        attributes.append(full_attribute(counted, name, role, recipes.get(name)))
    return Domain(rows, tuple(attributes), spans)


def _spans(table: SparkFrame, names: Sequence[str]) -> dict[str, tuple[float, float] | None]:
    """The span of each column on a line; None where floats cannot tell its values apart."""
    if not names:
        return {}
    F = functions(table.rows)
    ends = [(name, F.min(table.plain(name)), F.max(table.plain(name))) for name in names]
    asked = [c.alias(f"{end}{i}") for i, (_, *both) in enumerate(ends) for end, c in zip("lh", both, strict=True)]
    with job(table.spark, "the cluster could not read the table"):
        found = as_polars(
            table.rows.agg(*asked).toArrow(),
            {f"{end} {name}": table.schema[name] for name in names for end in ("least", "greatest")},
        )
    spans: dict[str, tuple[float, float] | None] = {}
    for name in names:
        low, high = (float(positions(found.get_column(f"{end} {name}"))[0]) for end in ("least", "greatest"))
        there = np.isfinite([low, high]).all()  # not where it is empty
        spans[name] = span_of(low, high, steps(table.schema[name])) if there else None
    return spans
