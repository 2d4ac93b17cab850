"""sfumato tables protect: protect a table that was counted elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes
from sfumato.cli.options import ROLES, option
from sfumato.cli.tables.make import (
    Beside,
    Coalition,
    Cost,
    Flags,
    Format,
    Method,
    Output,
    Overwrite,
    Rules,
    Zeros,
    protecting,
    with_rules,
    writing,
)
from sfumato.cli.tables.show import show_table


def protect(
    target: Annotated[Path, typer.Argument(help="The table, a cell per line with all totals.", metavar="FILE")],
    *,
    by: Annotated[
        options.Texts, option("--by", "Columns that cells are counted by; all unless given.", ROLES, "A,B")
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        option("--hierarchy", "Subtotals of a column, as town=towns.csv; repeatable.", ROLES, "A=SPEC"),
    ] = None,
    rule: Rules = None,
    method: Method = None,
    cost: Cost = None,
    zeros: Zeros = None,
    coalition: Coalition = None,
    flags: Flags = None,
    beside: Beside = None,
    output: Output = None,
    format: Format = None,
    overwrite: Overwrite = False,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Protect a table that was counted elsewhere: a column for each of its dimensions, "value", every cell once, totals
    under the label "*". A column "contributors" says how many a cell has, "largest_1", "largest_2" how large their
    contributions are, where rules look at them.
    """
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.policyfile.statistical import check_statistical

    faults: list[str] = []
    given = options.hierarchies(hierarchy, faults) | protecting(method, cost, zeros, coalition, flags, beside, faults)
    given |= {("table", "by"): options.joined(by) or ["*"]} | writing(output, format, overwrite)
    data = inputs.named([str(target)], reading)
    draft = with_rules(options.draft(data, given, (), faults), rule)
    kept = draft.tables.pop("hierarchies", {})
    policy = check_statistical(draft)
    check_target(policy.output, policy.overwrite)
    with Progress("reading") as progress, notes() as told:
        frame = inputs.table(target, reading.reader)
        counted = sf.read_table(frame, by=options.joined(by), hierarchies=kept)
        safe = sf.protect(counted, **policy.protecting, progress=progress)
        safe.save(policy.output, policy.format, overwrite=policy.overwrite)
    show_table(safe, output or policy.output, told, as_json)
    return 0
