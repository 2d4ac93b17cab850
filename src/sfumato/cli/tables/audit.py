"""sfumato tables audit: what can be computed of the hidden cells of a published table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, say, say_json, say_table
from sfumato.cli.options import ROLES, option
from sfumato.core.wording import count, number

SHOWN = 20


def audit(
    targets: Annotated[list[Path], typer.Argument(help="Published tables, or folders of releases.", metavar="FILE...")],
    *,
    by: Annotated[
        options.Texts, option("--by", "Columns that cells are counted by; all unless given.", ROLES, "A,B")
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        option("--hierarchy", "Subtotals of a column, as town=towns.csv; repeatable.", ROLES, "A=SPEC"),
    ] = None,
    least: Annotated[float, option("--least", "What hidden cells are known to be at least: 0.", ROLES, "N")] = 0,
    n: Annotated[
        int | None, option("--n", "Of several tables: people that a difference of them is of at least.", ROLES, "N")
    ] = None,
    sums: Annotated[bool, option("--sums", "Cells are sums, and need be no natural numbers.", ROLES)] = False,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Say what whoever has a published table can compute of its hidden cells: a table of any tool, with a column for
    each dimension, "value", empty where hidden, every cell, totals under the label "*". Of several tables: what whoever
    holds all of them can compute, cells that are the same in two tables being one. Exit code 1 where a hidden cell can
    be computed.
    """
    import sfumato as sf

    faults: list[str] = []
    trees = {str(path[1]): spec for path, spec in options.hierarchies(hierarchy, faults).items()}
    if faults:
        raise sf.errors.PolicyError("the command line has faults:", faults)
    with Progress("auditing") as progress, notes():
        tables = [one if one.is_dir() else inputs.table(one, reading.reader) for one in targets]
        if len(tables) == 1 and targets[0].is_dir():
            found = sf.audit_table(tables[0], progress=progress)
        else:
            found = sf.audit_table(
                tables[0] if len(tables) == 1 else tables, by=options.joined(by), hierarchies=trees, least=least,
                whole=False if sums else None, n=n, progress=progress,
            )  # fmt: skip
    rows = found.intervals.to_dicts()
    if as_json:
        say_json({"hidden": len(rows), "exposed": found.exposed, "intervals": rows})
        return 1 if found.exposed else 0
    say(f"{count(len(rows), 'hidden cell')}, of which {number(found.exposed)} can be computed")
    shown = sorted(rows, key=lambda row: row["high"] - row["low"])[:SHOWN]
    names = [name for name in found.intervals.columns if name not in ("low", "high", "attacker", "exposed")]
    say_table(
        [*names, "least", "greatest"],
        [[*(r[n] or "" for n in names), number(r["low"]), number(r["high"])] for r in shown],
    )
    if len(rows) > SHOWN:
        say(f"and {number(len(rows) - SHOWN)} more; --json lists them all")
    return 1 if found.exposed else 0
