"""A table whose cells do not fit one machine, blurred in parts on its cluster, and verified there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.core.microdata import Microdata
from sfumato.core.wording import quoted
from sfumato.engines.protocol import COUNT, Engine, Plan
from sfumato.engines.spark.count import SparkFrame
from sfumato.engines.spark.table import SparkTable
from sfumato.engines.spark.write import SparkKept
from sfumato.errors import PolicyError
from sfumato.hierarchies.either import Either
from sfumato.losses.released import ReleasedColumn
from sfumato.release.destination import StagedOutput
from sfumato.release.manifest import Shown
from sfumato.release.parts.mondrian import Distributed, distribute, spread
from sfumato.release.parts.verify import MAX_VALUES, verify_on
from sfumato.release.recoded import Recoding, paths_of, shown_columns
from sfumato.release.request import Request, publishable
from sfumato.release.verify import Audit, Verification, verify_table
from sfumato.search.problem import Partition, Solution


def recoding_in_parts(engine: Engine, request: Request) -> Recoding:
    """Cut the table into parts, and have each blurred by a worker; all of them are verified together."""
    if request.numbers != "text":
        what, got = "numbers and dates must be written as text", "a table with more cells than max_cells, made in parts"
        raise PolicyError(what, got=got, hint="leave out numbers, or allow more max_cells")
    if several := [name for name, recipe in request.recipes.items() if isinstance(recipe, Either)]:
        what = f"a table that is made in parts has one hierarchy per column, and {quoted(several)} has alternatives"
        raise PolicyError(what, hint="give one of them, or allow more max_cells")
    cluster: Any = engine
    mondrian, choice = spread(request.search, request.policy, request.levels)
    found = distribute(
        cluster.frame,
        request.policy,
        mondrian,
        histogram_columns=request.histogram_columns,
        recipes=request.recipes,
        released=request.released,
        choice=choice,
        seed=request.seed,
        report_progress=request.report_progress,
    )
    request = replace(request, policy=replace(request.policy, tidy=found.tidy))
    rows, columns = found.domain.rows, request.released
    nothing = Partition(np.zeros(0, np.int32), {})
    solution = Solution(nothing, found.verdict, np.zeros(0, np.bool_), False, 0, found.seconds, choice=choice)
    return Recoding(
        request=replace(request, search=found.search),
        engine=SparkTable(found.data),
        plan=Plan(columns, (), columns, order=request.row_order, rows=rows),
        solution=solution,
        microdata=Microdata(rows, found.domain.attributes, {}),
        cell_codes=np.zeros((len(request.policy.columns), 0), np.int32),
        overall=found.whole,
        spelled={},
        staged=StagedOutput(SparkKept(found.data, found.place), lambda: found.place, lambda: found.data),
        shown=_shown(found, request),
        verification=found.verification,
    )


def verified_in_parts(
    found: Recoding, staged: StagedOutput, overall: Mapping[str, Mapping[str, int]], hierarchies: Mapping[str, Any]
) -> Verification:
    """What the written parts say; a frame that stays on the cluster has been verified there."""
    assert found.verification is not None
    if staged is found.staged:
        return found.verification
    policy, written = found.request.policy, staged.written
    parts: Any = written
    if parts.text:
        counted = written.count(found.request.counted_by, found.request.report_progress)
        often, entries = counted.get_column(COUNT), counted.drop(COUNT)
        return verify_table(
            entries, policy.quasi, policy.require, row_counts=often, whole=overall, hierarchies=hierarchies
        )
    return verify_on(parts.frame, policy.quasi, policy.require, whole=overall, hierarchies=hierarchies)


def _shown(found: Distributed, request: Request) -> Shown:
    """What the released rows show, counted on the cluster; a column with too many labels is left out.

    No row was suppressed, so the distributions that verify needs may be published.
    """
    table, policy = SparkFrame(found.data), request.policy
    columns: dict[str, ReleasedColumn] = {}
    for name in dict.fromkeys((*policy.columns, *policy.needs)):
        try:
            counts = table.count([name], MAX_VALUES)
        except PolicyError:
            continue
        entries, often = counts.select(name), counts.get_column(COUNT)
        columns |= shown_columns(entries, often, policy, request.recipes, found.domain.attributes)
    sizes = found.verification.classes[0]["sizes"]
    if len(policy.quasi) > 1:
        sizes = verify_on(found.data, [policy.columns], ()).classes[0]["sizes"]
    audit = Audit(found.verification)  # no row was suppressed: the whole table is the released rows
    counted = {int(size): n for size, n in sizes.items()}
    types = {name: request.schema[name] for name in request.released}
    whole = publishable(policy, found.whole, 0)
    return Shown(types, columns, counted, audit, 0, whole, paths_of(policy, request.recipes, columns))
