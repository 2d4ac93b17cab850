"""sfumato tables make: count rows by some columns, with all totals, and release the protected table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes
from sfumato.cli.options import PROMISES, ROLES, SEARCH, WRITING, option
from sfumato.cli.tables.show import show_table

Rules = Annotated[
    list[str] | None,
    option(
        "--rule", 'Rule for unsafe cells, as "minimum-frequency 3" or "p-percent 10"; repeatable.', PROMISES, "RULE"
    ),
]
Method = Annotated[
    str | None, option("--method", 'How to protect: exact (default), modular, "cell-key variance=2".', SEARCH, "NAME")
]
Cost = Annotated[
    str | None, option("--cost", "What hiding a cell costs: value (default), log-value, rows or cells.", SEARCH, "NAME")
]
Zeros = Annotated[str | None, option("--zeros", "Empty cells: publish (default) or hide.", SEARCH, "WHAT")]
Coalition = Annotated[
    int | None, option("--coalition", "Contributors together who learn nothing more: 1.", PROMISES, "N")
]
Flags = Annotated[
    bool | None,
    typer.Option("--flags/--no-flags", help="Publish which cells are unsafe; hides more.", rich_help_panel=WRITING),
]
Beside = Annotated[
    list[Path] | None,
    option(
        "--with", "Folder of an earlier table of the same data, which is then known; repeatable.", PROMISES, "FOLDER"
    ),
]
Output = Annotated[Path | None, options.output("The folder of the release, which is made.", "FOLDER")]
Format = Annotated[str | None, option("--format", "csv (default), tsv, parquet or xlsx.", WRITING, "NAME")]
Overwrite = Annotated[bool, option("--overwrite", "Replace an earlier release.", WRITING)]


def make(
    source: options.Files = None,
    *,
    by: Annotated[options.Texts, option("--by", "Columns that cells are counted by.", ROLES, "A,B")] = None,
    value: Annotated[
        str | None, option("--value", "Column to add up; without it rows are counted.", ROLES, "A")
    ] = None,
    weight: Annotated[str | None, option("--weight", "Column of weights.", ROLES, "A")] = None,
    contributor: Annotated[
        str | None, option("--contributor", "Column that says whose each row is, as a firm.", ROLES, "A")
    ] = None,
    request: Annotated[
        str | None, option("--request", "Column that says who asked for confidentiality.", ROLES, "A")
    ] = None,
    record: Annotated[
        str | None, option("--record", "Column that numbers the rows, for cell keys.", ROLES, "A")
    ] = None,
    largest: Annotated[
        int | None, option("--largest", "Largest contributions kept for rules: 3.", PROMISES, "N")
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        option("--hierarchy", "Subtotals of a column, as town=towns.csv; repeatable.", ROLES, "A=SPEC"),
    ] = None,
    levels: Annotated[
        list[str] | None,
        option("--levels", "Finest level of a hierarchy that is published, as town=1: 0.", ROLES, "A=N"),
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
    """Count rows, or add up a column, by some columns with all totals; hide or change what gives somebody away, and
    release the table once an audit of its own found no hidden cell that can be computed.

    In a policy file the same stands in [table], [[rule]] and [protect]; several [[tables]] are protected together.
    """
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.policyfile.statistical import check_statistical

    faults: list[str] = []
    counting = {
        "by": options.joined(by), "value": value, "weight": weight, "contributor": contributor, "request": request,
        "record": record, "largest": largest, "levels": _levels(levels, faults),
    }  # fmt: skip
    given: dict[tuple[str | int, ...], Any] = {
        ("table", name): one for name, one in counting.items() if one is not None
    }
    given |= options.hierarchies(hierarchy, faults)
    given |= protecting(method, cost, zeros, coalition, flags, beside, faults)
    given |= writing(output, format, overwrite)
    data = inputs.named(source, reading, policies=True)
    draft = with_rules(options.draft(data, given, (), faults), rule)
    policy = check_statistical(draft)
    check_target(policy.output, policy.overwrite)
    with Progress("reading") as progress, notes() as told:
        found = inputs.opened(policy.source)
        if found.unread is not None:
            raise found.unread
        asked = policy.several or {"": policy.counting}
        tables = {name: sf.tabulate(found.data, **one, progress=progress) for name, one in asked.items()}
        table = sf.TableSet(tables) if policy.several else tables[""]
        safe = sf.protect(table, **policy.protecting, progress=progress)
        safe.save(policy.output, policy.format, overwrite=policy.overwrite)
    show_table(safe, output or policy.output, told, as_json)
    return 0


def protecting(
    method: str | None, cost: str | None, zeros: str | None, coalition: int | None, flags: bool | None,
    beside: list[Path] | None, faults: list[str],
) -> dict[tuple[str | int, ...], Any]:  # fmt: skip
    """What flags say of the protection, as keys of a policy file."""
    from sfumato.tables import PROTECTIONS

    own = options.named(method, "method", PROTECTIONS, "--method", faults) or {}
    own |= {"cost": cost, "zeros": zeros, "coalition": coalition, "flags": flags}
    own["beside"] = [str(one.absolute()) for one in beside] if beside else None
    return {("protect", name): one for name, one in own.items() if one is not None}


def _levels(texts: list[str] | None, faults: list[str]) -> dict[str, Any] | None:
    """The levels of --levels column=number; what is no number is told when the policy is checked."""
    found = options.pairs(texts, "--levels", faults)
    return {name: int(text) if text.isdecimal() else text for name, text in found.items()} or None


def writing(output: Path | None, format: str | None, overwrite: bool) -> dict[tuple[str | int, ...], Any]:
    """Where flags say that the release goes, as keys of a policy file."""
    out = {"path": None if output is None else str(output.absolute()), "format": format, "overwrite": overwrite or None}
    return {("output", name): one for name, one in out.items()}


def with_rules(draft: Any, rules: list[str] | None) -> Any:
    """The draft with the rules of flags in place of those of a file of the same name."""
    from dataclasses import replace

    from sfumato.tables import CELL_RULES

    faults: list[str] = []
    own = [
        one for text in rules or () if (one := options.named(text, "rule", CELL_RULES, "--rule", faults)) is not None
    ]
    written = draft.tables.get("rule", [])
    if isinstance(written, list):
        names = {one["rule"] for one in own}
        written = [one for one in written if not isinstance(one, dict) or one.get("rule") not in names]
        if own or written:
            draft = replace(draft, tables={**draft.tables, "rule": [*written, *own]})
    return replace(draft, faults=(*draft.faults, *faults))
