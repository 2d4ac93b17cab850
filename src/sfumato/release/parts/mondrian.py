"""Cut a Spark table into parts that fit one worker and satisfy the policy, by samples and exact counts in turn."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import polars as pl

from sfumato import errors
from sfumato.core.labels import of_nodes
from sfumato.core.microdata import Attribute
from sfumato.core.policy import ClassStatistics, Policy, Verdict, holds
from sfumato.core.progress import Progress, quiet
from sfumato.engines.order import RowOrder, sorted_by
from sfumato.engines.protocol import COUNT, LABEL, Plan
from sfumato.engines.spark.count import SparkFrame, as_polars
from sfumato.engines.spark.recode import dealt_and_sorted, mapped
from sfumato.engines.spark.types import CHANGED, functions, job
from sfumato.engines.spark.write import checkpointed
from sfumato.errors import BrokenPromise, EmptyTable, Infeasible, OutputError, PolicyError, ReadError, SfumatoError
from sfumato.losses import LM
from sfumato.release.dealing import refuse_split
from sfumato.release.few import few_labels
from sfumato.release.parts.cluster import (
    LEAF,
    Task,
    blur,
    counted_leaves,
    dealt,
    ends,
    heavy_sample,
    packed,
    sampled,
    seen_by,
    unpacked,
)
from sfumato.release.parts.domain import Domain, Stat, as_classes, domain_of, nothing, pose_part, stats_of, whole_stat
from sfumato.release.parts.tree import PartTree, Sample, branches, grow, settle
from sfumato.release.parts.verify import INSTALLED, distribution_on, verify_on
from sfumato.release.request import HINT, check_size, distribution, hierarchies_of, refuse_changed
from sfumato.release.verify import Verification
from sfumato.search import Automatic, Mondrian, search_name
from sfumato.search.problem import Choice, Problem, along_hierarchy, check_root

SAMPLE = 200_000, 2_000_000  # rows that the first cuts are made by, at least and at most
PER_PART = 2_000  # rows of a sample for each part
ROOM = 0.8  # a part that is estimated to be so full may be full
AGAIN = 50_000  # rows of a sample of a part that is cut again
ROUNDS = 12  # of cutting again what is too large


def parted(table: SparkFrame, task: Task, seed: int, report_progress: Progress) -> Task:
    """The task with its tree: leaves that satisfy the policy, of at most `task.most` rows but for those in `solid`."""
    columns, histogram_columns, domain, most = task.policy.columns, task.histogram_columns, task.domain, task.most
    tree, solid = PartTree(), set[int]()
    stats = {0: whole_stat(domain, columns, histogram_columns)}
    root = as_classes([stats[0]], domain, histogram_columns)
    check_root(Problem((), root.cells, task.policy, domain.rows))
    if domain.rows <= most:
        return replace(task, branches=branches(tree))
    report_progress("cutting a sample", None)
    _first_cuts(table, task, tree, seed)
    for turn in range(ROUNDS):
        report_progress("counting parts", turn / ROUNDS)
        leaves = tree.leaves()
        fresh = [leaf for leaf in leaves if leaf not in stats]
        found = stats_of(
            counted_leaves(table, replace(task, branches=branches(tree)), fresh), columns, histogram_columns
        )
        stats |= {leaf: found.get(leaf) or nothing(len(columns), histogram_columns) for leaf in fresh}
        if sum(stats[leaf].rows for leaf in leaves) != domain.rows:
            raise ReadError(CHANGED)
        merge_bad(tree, stats, task)
        large = [leaf for leaf in tree.leaves() if stats[leaf].rows > most and leaf not in solid]
        if large and turn < ROUNDS - 1:
            large = _cut_again(table, replace(task, branches=branches(tree)), tree, stats, large, seed + turn)
            solid |= set(large)
            continue
        solid |= set(large)
        break
    return _with_solid(table, replace(task, branches=branches(tree)), sorted(solid & set(tree.leaves())))


def merge_bad(tree: PartTree, stats: dict[int, Stat], task: Task) -> None:
    """Take back cuts that leave a leaf that breaks the policy, or that cut nothing off; `stats` gets all nodes."""
    require = task.policy.by_class.require
    for node in reversed(range(len(tree.cuts))):
        if node not in stats and (kids := tree.kids(node)):
            stats[node] = reduce(add, (stats[kid] for kid in kids))

    def good(leaves: Iterable[int]) -> list[bool]:
        asked = list(leaves)
        own = [stats[leaf] for leaf in asked]
        fine = holds(require, as_classes(own, task.domain, task.histogram_columns))
        less = [leaf == 0 or stat.rows < stats[tree.parent[leaf]].rows for leaf, stat in zip(asked, own, strict=True)]
        return [not stat.rows or (bool(f) and s) for stat, f, s in zip(own, fine, less, strict=True)]

    settle(tree, good)


def _first_cuts(table: SparkFrame, task: Task, tree: PartTree, seed: int) -> None:
    """Cut the whole table by a sample of its rows."""
    rows, most = task.domain.rows, task.most
    wanted = int(np.clip(PER_PART * rows / (ROOM * most), *SAMPLE))
    unit = max(1, rows // wanted)
    some = sampled(table, seen_by(task), unit, seed)
    if some.height:
        _, problem, _ = pose_part(some, task.domain, task.policy, task.histogram_columns)
        sample = Sample(problem, task.search, unit, task.domain.spans)
        grow(tree, 0, sample, np.arange(len(problem.cells)), int(most * ROOM))


def _cut_again(
    table: SparkFrame, task: Task, tree: PartTree, stats: dict[int, Stat], large: list[int], seed: int
) -> list[int]:
    """Cut leaves that are too large by a sample of their own; those that have no cut."""
    rows = sum(stats[leaf].rows for leaf in large)
    unit = max(1, math.ceil(rows / len(large) / AGAIN))
    some = heavy_sample(table, task, large, unit, seed)
    stuck = []
    for leaf in large:
        own = some.filter(pl.col(LEAF) == leaf)
        cells = np.zeros(0, np.int64)
        if own.height:
            row_counts = own.get_column(COUNT).to_numpy()
            _, problem, _ = pose_part(own, task.domain, task.policy, task.histogram_columns, row_counts)
            cells = np.arange(len(problem.cells))
            sample = Sample(problem, task.search, unit, task.domain.spans)
            extent = stats[leaf].low, stats[leaf].high
        if not len(cells) or not grow(tree, leaf, sample, cells, int(task.most * ROOM), extent):
            stuck.append(leaf)
    return stuck


def _with_solid(table: SparkFrame, task: Task, solid: list[int]) -> Task:
    """The task with the least and greatest values of the leaves that are one class."""
    if not solid:
        return task
    if task.search.labels in ("mean", "median"):
        raise PolicyError(
            "rows that cannot be cut apart are too many for one worker, and their mean or median is not known",
            got=f"labels {task.search.labels}",
            allowed="given, ranges",
            hint="use other labels, or allow more rows in a part",
        )
    return replace(task, solid=ends(table, task, solid))


REPORT = "report"  # beside the released rows: what a part says about itself, in a row without any values


@dataclass(frozen=True, eq=False)
class Stored:
    """The released frame, where it is stored, what its rows lose in each column, and how many parts it was made in."""

    data: Any
    place: dict[str, Any]
    cost: np.ndarray
    parts: int


def release(table: SparkFrame, task: Task) -> Stored:
    """Blur every part where it is sent to, and store the rows; raises what a part raised."""
    F = functions(table.rows)
    names = list(task.schema)
    with job(table.spark, "the cluster could not make the release", OutputError, INSTALLED):
        by = [table.place[name] for name in sorted_by(names, task.policy.columns)]
        rows, where = checkpointed(dealt_and_sorted(_blurred(table, task), by, task.domain.rows))
        said = rows.filter(F.col(REPORT).isNotNull()).select(REPORT).toArrow().column(0).to_pylist()
    reports = sorted((json.loads(text) for text in said), key=lambda found: (found["leaf"], found["piece"]))
    for found in reports:
        if "error" in found:
            raise _raised(found)
    if sum(found["rows"] for found in reports) != task.domain.rows:
        raise ReadError(CHANGED)
    cost = np.array([found["cost"] for found in reports]).sum(axis=0)
    same = [name for name in task.policy.columns if all(name in found["plain"] for found in reports)]
    kept = rows.filter(F.col(REPORT).isNull())
    columns = []
    for name in names:
        column = F.col(table.place[name])
        if (
            name in same and table.schema[name] != pl.Duration
        ):  # nothing was blurred: it keeps its type, if it has a text
            column = column.cast(table.rows.schema[table.place[name]].dataType)
        columns.append(column.alias(table.place[name]))
    return Stored(kept.select(*columns).toDF(*names), {"format": "spark", "checkpoint": where}, cost, len(reports))


def tidied(stored: Stored, task: Task) -> Stored:
    """The release with no more labels of a number or date than it had values: those that are too many join others.

    All rows of a label get the label above it, so that classes become one or stay, and criteria that a union of
    classes keeps still hold.
    """
    kept, policy, cost = SparkFrame(stored.data), task.policy, stored.cost.copy()
    maps: dict[str, pl.DataFrame] = {}
    for i, name in enumerate(policy.columns):
        attribute = task.domain.attribute(name)
        along = attribute.categories.ordered and along_hierarchy(attribute, task.search.labels)
        if name in task.domain.spans or not along or kept.schema[name] != pl.String:
            continue
        found = fewer_labels(attribute, kept.count([name]), policy.loss if policy.loss.by_label else LM())
        if found is not None:
            maps[name], more = found
            cost[i] += more
    if not maps:
        return stored
    columns = tuple(kept.schema)
    order = RowOrder(quasi=policy.columns)
    plan = Plan(columns, (), tuple(n for n in columns if n not in maps), maps, order=order, rows=task.domain.rows)
    with job(kept.spark, "the cluster could not make the release", OutputError):
        data, where = checkpointed(mapped(kept, plan))
    return replace(stored, data=data, place={**stored.place, "checkpoint": where}, cost=cost)


def fewer_labels(attribute: Attribute, counts: pl.DataFrame, loss: Any) -> tuple[pl.DataFrame, float] | None:
    """The label that each released label of a column becomes, and what its rows lose more; None where they are few.

    `counts` has the released labels, and in `COUNT` how many rows have each.
    """
    name, ladder = attribute.name, attribute.ladder
    node: dict[str | None, tuple[int, int]] = {}
    for level, texts in enumerate(ladder.text):
        for number, text in enumerate(texts):
            node.setdefault(text, (level, number))
    at = np.array([node[text] for text in counts.get_column(name).to_list()])
    labels, often = of_nodes(attribute, at[:, 0], at[:, 1]), counts.get_column(COUNT).to_numpy()
    rows = np.bincount(labels.of, weights=often, minlength=len(labels.lo))
    few = few_labels(0, labels, rows, len(attribute.categories) - attribute.categories.missing, loss)
    if few is None:
        return None
    made = few.made
    more = ((loss.cost(made)[made.of] - loss.cost(labels)[labels.of]) * often).sum()
    now = pl.Series(LABEL + name, [made.text[i] for i in made.of], pl.String)
    return counts.select(name).with_columns(now), float(more)


def _blurred(table: SparkFrame, task: Task) -> Any:
    """The released rows and the reports, yet to be run."""
    from pyspark.sql.types import StringType, StructField, StructType

    sent, names = packed(task), list(task.schema)
    quasi = {table.place[name]: name for name in task.policy.columns}
    rows = dealt(table, task, names)
    types = {name: table.schema[name] for name in names}
    fields = [
        StructField(f.name, StringType() if f.name in quasi else f.dataType)
        for f in rows.schema.fields
        if f.name not in ("leaf", "piece")
    ]

    def work(part: Any) -> Any:
        import pyarrow as pa

        own = unpacked(sent)
        at = {name: part.column(name)[0].as_py() for name in ("leaf", "piece")}
        part = _in_utc(part.drop_columns(["leaf", "piece"]))
        try:
            found = blur(own, at["leaf"], as_polars(part, types))
        except SfumatoError as error:
            return _report(part, quasi, {**at, **_told(error)})
        columns = [
            _text(found.labels[quasi[name]]) if name in quasi else part.column(name) for name in part.column_names
        ]
        made = pa.Table.from_arrays([*columns, pa.nulls(part.num_rows, pa.string())], [*part.column_names, REPORT])
        told = {**at, "rows": found.rows, "cost": found.cost, "plain": found.plain}
        return pa.concat_tables([made, _report(part, quasi, told)])

    schema = StructType([*fields, StructField(REPORT, StringType())])
    return rows.groupBy("leaf", "piece").applyInArrow(work, schema)


def _in_utc(part: Any) -> Any:
    """The rows with their instants in the one zone that Spark takes back; it hands them out in that of the session."""
    import pyarrow as pa

    zoned = [pa.types.is_timestamp(field.type) and field.type.tz is not None for field in part.schema]
    types = [pa.timestamp("us", tz="UTC") if z else f.type for z, f in zip(zoned, part.schema, strict=True)]
    return part.cast(pa.schema(list(zip(part.column_names, types, strict=True))))


def _report(part: Any, quasi: dict[str, str], told: dict[str, Any]) -> Any:
    import pyarrow as pa

    types = [pa.string() if field.name in quasi else field.type for field in part.schema]
    columns = [pa.nulls(1, dtype) for dtype in types]
    return pa.Table.from_arrays([*columns, pa.array([json.dumps(told)])], [*part.column_names, REPORT])


def _text(labels: pl.Series) -> Any:
    import pyarrow as pa

    return labels.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())


def _told(error: SfumatoError) -> dict[str, Any]:
    """An error in words; none of ours holds a cell."""
    got, allowed = (None if x is None else str(x) for x in (error.got, error.allowed))
    return {"error": type(error).__name__, "what": error.what, "got": got, "allowed": allowed, "hint": error.hint}


def _raised(told: dict[str, Any]) -> SfumatoError:
    kind = getattr(errors, told["error"], Infeasible)
    more = {name: told[name] for name in ("got", "allowed", "hint")}
    found: SfumatoError = kind(told["what"], **more)
    return found


PART_ROWS = 500_000  # rows that a worker blurs at once, at most
PART_VALUES = 20_000_000  # values that it holds, of the columns that are released


@dataclass(frozen=True, eq=False)
class Distributed:
    """A release that was made in parts, and stays on the cluster."""

    data: Any  # the released frame
    place: dict[str, Any]  # what the manifest says of where it is
    verdict: Verdict
    verification: Verification
    domain: Domain
    whole: dict[str, dict[str, int]]  # distributions of the columns that criteria look at
    search: Mondrian
    choice: Choice | None
    parts: int
    seconds: float
    tidy: bool  # whether its labels are as `tidy` asks for


def spread(method: Any, policy: Policy, levels: Mapping[str, Any] | None = None) -> tuple[Mondrian, Choice | None]:
    """The search that blurs a table in parts, and why, where none was named; a PolicyError where it cannot be."""
    choice = None
    if isinstance(method, Automatic):
        best = Mondrian(cut="best", dimension="ncp", labels=method.labels)
        why = "there are too many different combinations of values for one machine, and it can blur them in parts"
        choice = Choice(best, why, "none: no other search works in parts")
        reasons = {
            'keep="consistent-columns"': method.keep == "consistent-columns",
            "levels": bool(levels),
            "several sets of quasi-identifiers": len(policy.quasi) > 1,
            "the loss height": policy.loss.by_level,
        }
        if wrong := [reason for reason, there in reasons.items() if there]:
            raise _too_many(f"{' and '.join(wrong)} asks for full-domain recoding")
        method = best
    if not isinstance(method, Mondrian):
        raise _too_many(f"search {search_name(method)}")
    if method.relaxed:
        refuse_split(method, HINT)
    if method.categories == "optimised":
        raise PolicyError(
            "mondrian: an order of categories by the rows of all parts is not known in any of them",
            got="categories optimised",
            allowed="hierarchy, order",
        )
    if levels:
        raise PolicyError("levels bound full-domain searches only", got="search mondrian", hint="leave levels out")
    return method, None if choice is None else replace(choice, search=method)


def _too_many(got: str) -> PolicyError:
    return PolicyError(
        "the columns have too many different combinations of values for one machine, and only mondrian blurs in parts",
        got=got,
        hint='use search="mondrian", or coarsen the columns with the most values',
    )


def distribute(
    frame: Any,
    policy: Policy,
    search: Mondrian,
    *,
    histogram_columns: Sequence[str] = (),
    recipes: Mapping[str, Any] | None = None,
    released: Sequence[str] | None = None,
    choice: Choice | None = None,
    seed: int | None = None,
    report_progress: Progress = quiet,
    part_rows: int | None = None,
) -> Distributed:
    """Blur a Spark frame in parts, store it on the cluster, and verify it there.

    Parameters
    ----------
    frame: classic or Spark Connect. It is read several times: one that gives other rows each time is found out.
    policy, search: what is asked, and how; no rows are suppressed. histogram_columns: what criteria or search look at.
    recipes: hierarchies by column. released: the columns to release, in order; all without.
    seed: of the sample that the cuts are made by: the same rows however the table is laid out.
    part_rows: the most rows that a worker holds at once; by default as many as have `PART_VALUES` values, up to
        `PART_ROWS`.

    Raises
    ------
    Infeasible: the whole table as one class breaks the policy. BrokenPromise: verify refutes the release.

    References
    ----------
    LeFevre, DeWitt and Ramakrishnan, "Workload-aware anonymization techniques for large-scale datasets", TODS 33(3),
    2008: sampled cuts until the parts fit in memory.
    """
    began = time.perf_counter()
    if part_rows is not None and (type(part_rows) is not int or part_rows < 1):
        raise PolicyError("part_rows must be a whole number above 0", got=repr(part_rows))
    table = SparkFrame(frame)
    with job(table.spark, "the cluster could not count the rows"):
        rows = int(table.rows.count())
    if not rows:
        raise EmptyTable("the table has no rows")
    check_size(policy, rows)
    domain = domain_of(table, rows, policy, histogram_columns, recipes or {}, report_progress, search.labels)
    names = list(table.schema if released is None else released)
    schema = {name: table.schema[name] for name in names}
    most = part_rows or min(PART_ROWS, max(1, PART_VALUES // len(names)))
    alone = replace(policy, tidy=False)  # a part does not know what others print
    task = Task(domain, alone, tuple(histogram_columns), search, schema, branches(PartTree()), most)
    task = parted(table, task, seed or 0, report_progress)
    report_progress("blurring parts", None)
    stored = release(table, task)
    tidy = policy.tidy and all(criterion.monotonicity != "none" for criterion in policy.require)
    stored = tidied(stored, task) if tidy else stored
    whole = {name: distribution(domain, name) for name in policy.needs}
    hierarchies = hierarchies_of(domain, policy.needs)
    found = verify_on(
        stored.data, policy.quasi, policy.require, whole=whole, hierarchies=hierarchies, report_progress=report_progress
    )
    refuse_broken(found, policy, rows)
    kept = SparkFrame(stored.data)
    refuse_changed(whole, {name: distribution_on(kept, name) for name in policy.needs})
    verdict = verdict_of(stored, policy, domain, found)
    took = time.perf_counter() - began
    neat = tidy and not any(name in domain.spans for name in policy.columns)
    return Distributed(
        stored.data, stored.place, verdict, found, domain, whole, search, choice, stored.parts, took, neat
    )


def refuse_broken(found: Verification, policy: Policy, rows: int) -> None:
    """Nothing that breaks its policy, or has other rows than the table, is handed out."""
    broken = list(dict.fromkeys(promise.model for promise in found.promises if not promise.holds))
    apart = {criterion.model for criterion in policy.by_class.require if criterion.monotonicity == "none"}
    if broken and set(broken) <= apart:
        raise Infeasible(
            f"mondrian found classes that satisfy {', '.join(broken)} one by one, but not as they print",
            hint="use hierarchies whose nodes have fewer children, or ask for less",
        )
    if broken or found.rows != rows:
        what = f"keep {', '.join(broken)}" if broken else "have the rows that it should have"
        raise BrokenPromise(f"the release does not {what}, so it is not released. This is a fault of Sfumato")


def verdict_of(stored: Stored, policy: Policy, domain: Domain, found: Verification) -> Verdict:
    """The loss of all parts together, by the definition on the whole table."""
    loss: Any = policy.loss
    by_label = loss if loss.by_label else LM()
    x = stored.cost / domain.rows
    attributes = [domain.attribute(name) for name in policy.columns]
    if by_label is loss:
        value = float(loss.combine(x, np.array([loss.weight(a) for a in attributes])))
    else:
        sizes = found.classes[0]["sizes"]
        if len(policy.quasi) > 1:
            sizes = verify_on(stored.data, [policy.columns], ()).classes[0]["sizes"]
        squares = float(sum(int(size) ** 2 * n for size, n in sizes.items()))
        classes = sum(sizes.values())
        value = float(loss.value(ClassStatistics(domain.rows, 0, classes, squares, classes, squares, policy.k, 0)))
    return Verdict(True, 0, value, {a.name: float(v) for a, v in zip(attributes, x, strict=True)})
