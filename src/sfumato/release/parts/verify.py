"""Findings on some of the classes of a table, and how those of all of them are put together."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from sfumato import errors
from sfumato.core.printed import printed_frame
from sfumato.core.progress import Progress
from sfumato.criteria.audit import Counts, Finding, Groups, Wide
from sfumato.criteria.model import Promise, examined
from sfumato.engines.protocol import COUNT
from sfumato.engines.spark.count import SparkFrame, as_polars
from sfumato.engines.spark.types import functions, job
from sfumato.errors import ColumnError, PolicyError, SfumatoError, did_you_mean
from sfumato.release.verify import Verification, for_set, sets_checked, summary, where_apart, wide_of


def findings(
    counted: pl.DataFrame,
    names: Sequence[str],
    needed: Sequence[str],
    require: Sequence[Any],
    given: Mapping[str, Counts],
    hierarchies: Mapping[str, Wide],
) -> dict[str, Any]:
    """What some classes say, each of them whole: how many there are of each size, and a finding per criterion.

    `counted` is as `verify_counts` takes it. There is no finding on a promise about the table as a whole.
    """
    texts = {name: counted.get_column(name) for name in needed}
    groups = Groups(counted.select(names), texts, given, hierarchies, counted.get_column(COUNT))
    sizes = groups.sizes.get_column("size").value_counts(name="classes").sort("size")
    found = [None if criterion.about_table else asdict(criterion.audit(groups)) for criterion in require]
    return {"sizes": [list(row) for row in sizes.iter_rows()], "findings": found}


def all_sizes(told: Sequence[Mapping[str, Any]]) -> pl.Series:
    """The size of every class, ascending."""
    pairs = np.array([pair for found in told for pair in found["sizes"]], dtype=np.int64).reshape(-1, 2)
    size, of = np.unique(pairs[:, 0], return_inverse=True)
    count = np.bincount(of, weights=pairs[:, 1], minlength=len(size)).astype(np.int64)
    return pl.Series("size", np.repeat(size, count), dtype=pl.Int64)


def joined(
    told: Sequence[Mapping[str, Any]],
    sizes: pl.Series,
    names: Sequence[str],
    require: Sequence[Any],
    released: Mapping[str, Counts],
    given: Mapping[str, Counts],
    hierarchies: Mapping[str, Wide],
) -> list[Promise]:
    """The promises, from what all classes say. `released` are the distributions of the released rows."""
    groups: Any = SimpleNamespace(keys=SimpleNamespace(height=len(sizes)), sizes=SimpleNamespace(height=len(sizes)))
    promises = []
    for i, criterion in enumerate(require):
        if criterion.about_table:
            finding = _of_table(criterion, sizes)
        else:
            finding = _worst(criterion, [Finding(**found["findings"][i]) for found in told])
            if len(sizes):
                finding = replace(finding, note=_note(criterion, sizes, released, given, hierarchies))
        promises.append(examined(_Found(criterion, finding), names, groups))
    return promises


class _Found:
    """A criterion whose audit is done."""

    def __init__(self, criterion: Any, finding: Finding) -> None:
        self._criterion, self._finding = criterion, finding

    def audit(self, groups: Any) -> Finding:
        """What was found."""
        return self._finding

    def __getattr__(self, name: str) -> Any:
        return getattr(self._criterion, name)


def _of_table(criterion: Any, sizes: pl.Series) -> Finding:
    if not len(sizes):
        return Finding(False, None, criterion.bound, 0)
    table = pl.DataFrame({"class": np.arange(len(sizes), dtype=np.uint32), "size": sizes})
    found: Finding = criterion.audit(SimpleNamespace(sizes=table))
    return found


def _worst(criterion: Any, found: Sequence[Finding]) -> Finding:
    """All hold where each does; what is measured is the worst."""
    worst = min if criterion.side == "at least" else max
    measured = [one.measured for one in found if one.measured is not None]
    failing = sum(one.failing_classes for one in found)
    return Finding(all(one.holds for one in found), worst(measured, default=None), criterion.bound, failing)


def _note(
    criterion: Any,
    sizes: pl.Series,
    released: Mapping[str, Counts],
    given: Mapping[str, Counts],
    hierarchies: Mapping[str, Wide],
) -> str | None:
    """What an audit notes: it speaks of the smallest class and of the released values, and a table of two classes, one
    of that size and one with all values, has the same of both."""
    smallest = int(sizes[0])
    texts: dict[str, pl.Series] = {}
    times = [smallest, int(sizes.sum())]
    for name in criterion.needs:
        values = [value or None for value in released[name]]
        times = [smallest, *released[name].values()]
        texts[name] = pl.Series([values[0], *values], dtype=pl.String)
    keys = pl.DataFrame({"class": ["smallest"] + ["all"] * (len(times) - 1)})
    own = {name: given[name] for name in criterion.needs if name in given}
    found: Finding = criterion.audit(Groups(keys, texts, own, hierarchies, pl.Series(times)))
    return found.note


BUCKET = 1_000_000  # rows whose classes are audited together, about
MAX_VALUES = 1_000_000  # different values of a sensitive attribute
INSTALLED = "the workers need this version of Sfumato: is it in the Python that PYSPARK_PYTHON names there?"


def verify_on(
    frame: Any,
    quasi: Sequence[Sequence[str]],
    require: Sequence[Any],
    *,
    whole: Mapping[str, Counts] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    report_progress: Progress | None = None,
    bucket: int = BUCKET,
) -> Verification:
    """The same as `verify_table`, of a Spark frame whose classes need not fit one machine.

    The rows are counted by their quasi-identifiers and the sensitive attributes; the classes are dealt to buckets by a
    hash of their quasi-identifiers, and a worker audits each bucket. Distances compare with the distribution of all
    released rows where `whole` has none.

    >>> verify_on(spark.read.parquet("out/"), [["age", "zip"]], [KAnonymity(10)]).holds  # doctest: +SKIP
    True
    """
    table = SparkFrame(frame)
    if report_progress is not None:
        report_progress("verifying", None)
    needed = list(dict.fromkeys(name for criterion in require for name in criterion.needs))
    for name in (*(name for names in sets_checked(quasi, require) for name in names), *needed):
        if name not in table.schema:
            raise ColumnError(f'the table has no column "{name}"', hint=did_you_mean(name, table.schema))
    released = {name: distribution_on(table, name) for name in needed}
    own = dict(whole or {})
    paths = {name: wide_of(tree) for name, tree in (hierarchies or {}).items()}
    promises: list[Promise] = []
    classes, rows = [], 0
    sets = sets_checked(quasi, require)
    known = {name for names in sets for name in names}
    for names in sets:
        mine = for_set(require, names)
        looked_at = [name for name in needed if any(name in criterion.needs for criterion in mine)]
        told = _audited(table, list(names), looked_at, mine, {**released, **own}, paths, bucket)
        sizes = all_sizes(told)
        rows = int(sizes.sum())
        classes.append(summary(sizes, names))
        kept = joined(told, sizes, names, mine, released, own, paths)
        blurred = [{n: [value or None for value in released[n]] for n in c.needs if n in known} for c in mine]
        promises += [where_apart(*one) for one in zip(kept, blurred, strict=True)]
    return Verification(rows, tuple(promises), tuple(classes))


def _audited(
    table: SparkFrame,
    names: list[str],
    needed: list[str],
    require: Sequence[Any],
    given: Mapping[str, Counts],
    hierarchies: Mapping[str, Wide],
    bucket: int,
) -> list[dict[str, Any]]:
    """Count the classes on the cluster and audit them in buckets: what each bucket says."""
    F = functions(table.rows)
    columns = list(dict.fromkeys((*names, *needed)))
    types = {name: table.schema[name] for name in columns} | {COUNT: pl.Int64()}
    sent = pickle.dumps((names, needed, tuple(require), dict(given), hierarchies), protocol=5)

    def audit(part: Any) -> Any:
        import pyarrow as pa

        counted = as_polars(part.drop_columns(["bucket"]), types)
        text = printed_frame(counted.drop(COUNT)).with_columns(counted.get_column(COUNT))
        try:
            told = findings(text, *pickle.loads(sent))
        except SfumatoError as error:
            told = {"error": [type(error).__name__, error.what, error.hint]}
        return pa.table({"found": [json.dumps(told)]})

    with job(table.spark, "the cluster could not verify the release", hint=INSTALLED):
        buckets = max(1, math.ceil(table.rows.count() / bucket))
        level = table.rows.select(*(table.plain(name) for name in columns))
        counted = level.groupBy(*level.columns).agg(F.count(F.lit(1)).alias("n"))
        keys = [table.place[name] for name in names]
        dealt = counted.withColumn("bucket", F.pmod(F.xxhash64(*keys), F.lit(buckets)))
        said = dealt.groupBy("bucket").applyInArrow(audit, "found string").toArrow().column(0).to_pylist()
    found = [json.loads(text) for text in said]
    for told in found:
        if "error" in told:
            kind, what, hint = told["error"]
            raise getattr(errors, kind, PolicyError)(what, hint=hint)
    return found


def distribution_on(table: SparkFrame, name: str) -> dict[str, int]:
    """Printed value to rows; the empty text stands for missing."""
    try:
        counted = table.count([name], MAX_VALUES)
    except PolicyError:
        raise PolicyError(
            f'column "{name}" has too many different values for its distribution to be sent to every worker',
            got=f"more than {MAX_VALUES:,}",
        ) from None
    text = printed_frame(counted.select(name)).get_column(name)
    return {value or "": n for value, n in zip(text.to_list(), counted[COUNT].to_list(), strict=True)}
