"""sfumato risk: what a table gives away about the people in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import figures, options
from sfumato.cli.console import number, say, say_json, say_table
from sfumato.cli.options import ROLES, option

MEASURES = "Measures"
SHOWN = 20  # subsets told to people; machines get all


def risk(
    target: options.Targets = None,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    weight: options.Weight = None,
    household: Annotated[
        str | None, option("--household", help="Column that names the household.", panel=ROLES, shape="A")
    ] = None,
    hierarchy: options.Hierarchies = None,
    population: Annotated[
        str | None,
        option("--population", help="A file of the population, or its size.", panel=MEASURES, shape="FILE"),
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        option("--sampling-fraction", help="Share of the population in the table.", panel=MEASURES, shape="N"),
    ] = None,
    threshold: Annotated[
        float, option("--threshold", help="Records above it are at risk: 0.2 (default).", panel=MEASURES, shape="N")
    ] = 0.2,
    wildcard: Annotated[
        bool, option("--wildcard", help="A missing value (and *) matches any value.", panel=MEASURES, shape="")
    ] = False,
    suda: Annotated[
        bool, option("--suda", help="Also SUDA: how special a unique record is.", panel=MEASURES, shape="")
    ] = False,
    suda_up_to: Annotated[
        int | None,
        option("--suda-up-to", help="The same on sets of up to N columns, for wide tables.", panel=MEASURES, shape="N"),
    ] = None,
    subsets: Annotated[
        int | None,
        option("--subsets", help="Also what each set of up to N columns tells apart.", panel=MEASURES, shape="N"),
    ] = None,
    profile: Annotated[
        str | None,
        option("--profile", help="Hold it against hipaa, gdpr or clinical.", panel=MEASURES, shape="NAME"),
    ] = None,
    original: Annotated[
        Path | None,
        option("--original", help="The table behind it: interval disclosure, gdpr.", panel=MEASURES, shape="FILE"),
    ] = None,
    max_cells: options.MaxCells = None,
    output: figures.Output = None,
    overwrite: figures.Overwrite = False,
    place: options.Input = None,
    table: options.Table = None,
    stream: options.Stream = None,
    separator: options.Separator = None,
    quote: options.Quote = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    as_json: options.Json = False,
) -> int:
    """Measure what a table gives away: how easily people are found in it, and which privacy models it satisfies.

    A release folder knows its quasi-identifiers; a file needs --quasi, but for --profile hipaa.

    Several files, a pattern or a folder of files are streamed; --input and --table name a table of a database.

    Exits 1 where a profile does not hold.
    """
    import sfumato as sf
    from sfumato.cli import kept
    from sfumato.cli import options as flags
    from sfumato.cli.console import Progress, notes
    from sfumato.core import compiled as kernels

    figures.check_output(output, overwrite)
    given = figures.chosen(options.reading(separator, quote, encoding, header, sheet))
    with Progress("reading") as progress, notes() as told:
        data, roles = kept.target(target, place, table, stream, quasi or (), given)
        people = None if population is None else _population(population, given)
        before = None if original is None else figures.table(original, given, other=True)
        kernels.warn_of_compiling(progress)
        progress("measuring", None)
        found = sf.risk(
            data,
            quasi=flags.names(quasi) or roles.get("quasi"),
            sensitive=flags.joined(sensitive) or roles.get("sensitive"),
            weight=weight or roles.get("weight"),
            household=household,
            hierarchies=figures.recipes(hierarchy),
            population=people,
            sampling_fraction=sampling_fraction,
            threshold=threshold,
            wildcard=wildcard or None,
            suda=suda if suda_up_to is None else suda_up_to,
            subsets=subsets,
            profile=profile,
            original=before,
            **({} if max_cells is None else {"max_cells": max_cells}),
        )
    figures.write(found, output, overwrite)
    if as_json:
        say_json(found)
    else:
        figures.tell(told)
        for entry in found.get("sets", [found]):
            _show(entry)
            figures.tell(entry.get("notes", ()))
        if output is not None:
            say(f"written: {output}")
    return 0 if all(entry.get("profile", {}).get("holds", True) for entry in found.get("sets", [found])) else 1


def _population(text: str, given: Mapping[str, Any]) -> Any:
    """The size of the population where it is a number, else its table."""
    from sfumato.cli import options as flags

    size = flags.scalar(text.replace(",", "").replace("_", ""))
    return figures.table(Path(text), given, other=True) if isinstance(size, str) else size


def _show(found: Mapping[str, Any]) -> None:
    by = f" in {number(found['classes'])} classes by {', '.join(found['quasi'])}" if found["quasi"] else ""
    say(f"{number(found['rows'])} rows{by}")
    others = ("journalist", "marketer")
    same = all(_chances(found, who) == _chances(found, "prosecutor") for who in others if who in found)
    figures.say_measures(m for m in found["measures"] if not (same and m["name"].startswith(others)))
    if found["measures"] and same:
        say("  journalist and marketer: the same as the prosecutor; a --population table may lower them")
    if found.get("suda", {}).get("with_score"):
        say("what each column contributes to the SUDA scores:")
        shares = sorted(found["suda"]["contribution"].items(), key=lambda item: -item[1])
        say_table(["column", "share"], [[name, f"{share:.1f}%"] for name, share in shares], right=(1,))
        if rows := ", ".join(map(str, found["suda"]["most_exposed"])):  # those of a stored table have no numbers
            say(f"most exposed rows, counted from 0, the first after the header: {rows}")
    if note := found.get("interval_disclosure", {}).get("note"):
        say(f"  {note}")
    if "subsets" in found:
        _show_subsets(found["subsets"])
    if "profile" in found:
        _show_profile(found["profile"])


def _chances(found: Mapping[str, Any], attacker: str) -> tuple[float, ...]:
    of = found[attacker]  # records outside of the population count as here, which has to be told
    return of["highest"], of["average"], of["records_at_risk"], of.get("outside", 0.0)


def _show_subsets(found: list[dict[str, Any]]) -> None:
    say("what sets of columns tell apart, the most first:")
    order = sorted(found, key=lambda subset: (-subset["distinction"], subset["size"]))
    head = ["columns", "distinction", "separation", "unique rows", "key"]
    rows = [
        [
            ", ".join(subset["columns"]),
            figures.figure(subset["distinction"]),
            figures.figure(subset["separation"]),
            figures.percent(subset["uniqueness"]),
            "minimal" if subset["minimal"] else "yes" if subset["key"] else "",
        ]
        for subset in order[:SHOWN]
    ]
    say_table(head, rows, right=(1, 2, 3))
    if len(order) > SHOWN:
        say(f"and {len(order) - SHOWN} sets that tell less; --json has them all")


def _show_profile(profile: Mapping[str, Any]) -> None:
    say(f"profile {profile['name']}: {'holds' if profile['holds'] else 'FAILS'}")
    say(f"  {profile['statement']}")
    for check in profile["checks"]:
        if "limit" in check:
            verdict, limit = "holds" if check["holds"] else "FAILS", figures.figure(check["limit"])
            say(f"  {verdict}  {check['name']}: {figures.figure(check['value'])}, limit {limit}")
        else:
            say(f"  FAILS  {check['identifier']}. {check['title']}, by {check['how']}")
        say(f"         {check['sentence']}")
