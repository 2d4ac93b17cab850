"""sfumato risk: what a table gives away about the people in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, publish, refuse_existing, say, say_measures, say_table, tell
from sfumato.cli.options import MEASURES, option
from sfumato.core.wording import number, percent, scalar

SHOWN = 20  # subsets told to people; machines get all


def risk(
    target: options.Targets = None,
    *,
    columns: options.ColumnOptions,
    weight: Annotated[str | None, options.WEIGHT] = None,
    household: options.Household = None,
    person: options.Person = None,
    population: Annotated[
        str | None, option("--population", "A file of the population, or its size.", MEASURES, "FILE")
    ] = None,
    sampling_fraction: Annotated[
        float | None, option("--sampling-fraction", "Share of the population in the table.", MEASURES, "N")
    ] = None,
    threshold: Annotated[
        float, option("--threshold", "Records above it are at risk: 0.2 (default).", MEASURES, "N")
    ] = 0.2,
    wildcard: Annotated[bool, option("--wildcard", "A missing value (and *) matches any value.", MEASURES)] = False,
    suda: Annotated[bool, option("--suda", "Also SUDA: how special a unique record is.", MEASURES)] = False,
    suda_up_to: Annotated[
        int | None, option("--suda-up-to", "The same on sets of up to N columns, for wide tables.", MEASURES, "N")
    ] = None,
    subsets: Annotated[
        int | None, option("--subsets", "Also what each set of up to N columns tells apart.", MEASURES, "N")
    ] = None,
    profile: Annotated[
        str | None, option("--profile", "Hold it against hipaa, gdpr or clinical.", MEASURES, "NAME")
    ] = None,
    original: Annotated[
        Path | None,
        option("--original", "The table behind it, to compare with.", MEASURES, "FILE"),
    ] = None,
    drawn: options.SyntheticOptions,
    max_cells: options.MaxCells = None,
    document: options.DocumentOptions,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Measure what a table gives away: how easily people are found in it, and which privacy models it satisfies.

    A release folder knows its quasi-identifiers; a file needs --quasi, but for --profile hipaa.

    Several files, a pattern or a folder of files are streamed; --input and --table name a table of a database.

    Exits 1 where a profile does not hold.
    """
    import sfumato as sf
    from sfumato.core import compiled as kernels

    refuse_existing(document.output, document.overwrite)
    with Progress("reading") as progress, notes() as told:
        data, roles = inputs.target(target, reading, columns.quasi or ())
        people = None if population is None else _population(population, reading.reader)
        before = inputs.table(original, reading.reader)
        kernels.warn_of_compiling(progress)
        found = sf.risk(
            data,
            quasi=options.names(columns.quasi) or roles.get("quasi"),
            sensitive=options.joined(columns.sensitive) or roles.get("sensitive"),
            weight=weight or roles.get("weight"),
            household=household,
            person=person,
            hierarchies=columns.recipes(),
            population=people,
            sampling_fraction=sampling_fraction,
            threshold=threshold,
            wildcard=wildcard or None,
            suda=suda if suda_up_to is None else suda_up_to,
            subsets=subsets,
            profile=profile,
            original=before,
            synthetic=drawn.synthetic,
            holdout=inputs.table(drawn.holdout, reading.reader),
            progress=progress,
            **options.most(max_cells),
        )
    entries = found.get("sets", [found])
    publish(found, document, told, as_json, lambda: _show_sets(entries))
    return 0 if all(entry.get("profile", {}).get("holds", True) for entry in entries) else 1


def _show_sets(entries: list[Mapping[str, Any]]) -> None:
    for entry in entries:
        _show(entry)
        tell(entry.get("notes", ()))


def _population(text: str, given: Mapping[str, Any]) -> Any:
    """The size of the population where it is a number, else its table."""
    size = scalar(text.replace(",", "").replace("_", ""))
    return inputs.table(Path(text), given) if isinstance(size, str) else size


def _show(found: Mapping[str, Any]) -> None:
    by = f" in {number(found['classes'])} classes by {', '.join(found['quasi'])}" if "classes" in found else ""
    say(f"{number(found['rows'])} rows{by}")
    others = ("journalist", "marketer")
    same = all(_chances(found, who) == _chances(found, "prosecutor") for who in others if who in found)
    say_measures(m for m in found["measures"] if not (same and m["name"].startswith(others)))
    if "prosecutor" in found and same:
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
            number(subset["distinction"]),
            number(subset["separation"]),
            percent(subset["uniqueness"]),
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
            verdict, limit = "holds" if check["holds"] else "FAILS", number(check["limit"])
            say(f"  {verdict}  {check['name']}: {number(check['value'])}, limit {limit}")
        else:
            say(f"  FAILS  {check['identifier']}. {check['title']}, by {check['how']}")
        say(f"         {check['sentence']}")
