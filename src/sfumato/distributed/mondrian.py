"""Mondrian on a cluster, for tables whose cells do not fit one machine: cut into parts, blur each, verify them all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.checks import check_size, distribution, refuse_changed, trees_of
from sfumato.distributed.domain import Domain
from sfumato.distributed.part import Task
from sfumato.distributed.parts import parted
from sfumato.distributed.release import Stored, release
from sfumato.distributed.tree import Tree, branches
from sfumato.distributed.verify import distribution_on, verify_on
from sfumato.distributed.whole import domain_of
from sfumato.engines.spark_frame import SparkFrame
from sfumato.engines.spark_job import job
from sfumato.engines.store import Say
from sfumato.errors import BrokenPromise, EmptyTable, Infeasible, PolicyError
from sfumato.losses import LM, Height, LabelLoss
from sfumato.measures.verify import Verification
from sfumato.policy import ClassStatistics, Policy, Verdict
from sfumato.search import Automatic, Mondrian, search_name
from sfumato.search.problem import Choice, quiet
from sfumato.stored_search import refuse_split

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


def spread(method: Any, policy: Policy, levels: Mapping[str, Any] | None = None) -> tuple[Mondrian, Choice | None]:
    """The search that blurs a table in parts, and why, where none was named; a PolicyError where it cannot be."""
    choice = None
    if isinstance(method, Automatic):
        output = "label" if method.keep == "hierarchy-labels" else "range"
        best = Mondrian(cut="best", dimension="ncp", output=output)
        why = "there are too many different combinations of values for one machine, and it can blur them in parts"
        choice = Choice(best, why, "none: no other search works in parts")
        reasons = {
            'keep="consistent-columns"': method.keep == "consistent-columns",
            "levels": bool(levels),
            "several sets of quasi-identifiers": len(policy.quasi) > 1,
            "the loss height": isinstance(policy.loss, Height),
        }
        if wrong := [reason for reason, there in reasons.items() if there]:
            raise _too_many(f"{' and '.join(wrong)} asks for full-domain recoding")
        method = best
    if not isinstance(method, Mondrian):
        raise _too_many(f"search {search_name(method)}")
    if method.relaxed:
        refuse_split(method)
    if method.categories == "optimised":
        raise PolicyError(
            "mondrian: an order of categories by the rows of all parts is not known in any of them",
            got="categories optimised",
            allowed="hierarchy, order",
        )
    if levels:
        raise PolicyError("levels bound full-domain searches only", got="search mondrian", hint="leave levels out")
    return method, choice


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
    looks_at: Sequence[str] = (),
    recipes: Mapping[str, Any] | None = None,
    released: Sequence[str] | None = None,
    choice: Choice | None = None,
    seed: int | None = None,
    say: Say = quiet,
    part_rows: int | None = None,
) -> Distributed:
    """Blur a Spark frame in parts, store it on the cluster, and verify it there.

    Parameters
    ----------
    frame: classic or Spark Connect. It is read several times: one that gives other rows each time is found out.
    policy, search: what is asked, and how; no rows are suppressed. looks_at: columns that criteria or search look at.
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
    domain = domain_of(table, rows, policy, looks_at, recipes or {}, say)
    names = list(table.schema if released is None else released)
    schema = {name: table.schema[name] for name in names}
    most = part_rows or min(PART_ROWS, max(1, PART_VALUES // len(names)))
    task = Task(domain, policy, tuple(looks_at), search, schema, branches(Tree()), most)
    task = parted(table, task, seed or 0, say)
    say("blurring parts", None)
    stored = release(table, task)
    whole = {name: distribution(domain, name) for name in policy.needs}
    trees = trees_of(domain, policy.needs)
    found = verify_on(stored.data, policy.quasi, policy.require, whole=whole, hierarchies=trees, say=say)
    refuse_broken(found, policy, rows)
    kept = SparkFrame(stored.data)
    refuse_changed(whole, {name: distribution_on(kept, name) for name in policy.needs})
    verdict = verdict_of(stored, policy, domain, found)
    took = time.perf_counter() - began
    return Distributed(stored.data, stored.place, verdict, found, domain, whole, search, choice, stored.parts, took)


def refuse_broken(found: Verification, policy: Policy, rows: int) -> None:
    """Nothing that breaks its policy, or has other rows than the table, is handed out."""
    broken = list(dict.fromkeys(promise.model for promise in found.promises if not promise.holds))
    apart = {criterion.model for criterion in policy.by_class.require if criterion.closed == "none"}
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
    by_label = loss if isinstance(loss, LabelLoss) else LM()
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
