"""sfumato stream: release files of rows while they arrive in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.console import say, say_json
from sfumato.cli.options import PROMISES, ROLES, SEARCH, WRITING, option, output


def stream(
    source: Annotated[Path, typer.Argument(help="The folder in which files arrive.", metavar="FOLDER")],
    *,
    target: Annotated[Path, output("The folder that batches are written to.", "FOLDER")],
    columns: options.ColumnOptions,
    identifying: Annotated[options.Texts, option("--identifying", "Columns to drop.", ROLES, "A,B")] = None,
    insensitive: Annotated[
        options.Texts, option("--insensitive", "Columns to release as they are.", ROLES, "A,B")
    ] = None,
    person: Annotated[str | None, option("--person", "Column that says whose a row is; dropped.", ROLES, "A")] = None,
    promises: options.PromiseOptions,
    delay: Annotated[int, option("--delay", "Rows that a row waits for at most, itself included.", PROMISES, "N")] = (
        10_000
    ),
    search: Annotated[str, option("--search", "castle, b-castle, fads or z-anonymity.", SEARCH, "NAME")] = "castle",
    time: Annotated[str | None, option("--time", "Column of times, for z-anonymity.", ROLES, "A")] = None,
    seed: options.Seed = None,
    ends: options.Ends = None,
    format: Annotated[str, option("--format", "csv (default) or parquet.", WRITING, "NAME")] = "csv",
    state: Annotated[
        Path | None, option("--state", "A private file to go on from, after a stop too.", WRITING, "FILE")
    ] = None,
    once: Annotated[bool, option("--once", "Stop when all files are taken.", WRITING)] = False,
    finish: Annotated[bool, option("--finish", "Stop then, and release what waits.", WRITING)] = False,
    as_json: options.Json = False,
) -> int:
    """Release files of rows while they arrive in a folder, batch by batch, no row later than a delay.

    With --state a run that was stopped or killed goes on where it was: it loses no row and releases none twice.
    """
    from sfumato.errors import PolicyError
    from sfumato.verbs.stream import stream as run

    faults: list[str] = []
    require = promises.models(faults)
    if faults:
        raise PolicyError("the promises make no sense:", faults)
    out = run(
        source, quasi=options.joined(columns.quasi) or (), sensitive=options.joined(columns.sensitive) or (),
        insensitive=options.joined(insensitive) or (), identifying=options.joined(identifying) or (), person=person,
        require=require or None, delay=delay, search=search, hierarchies=columns.recipes(), time=time, seed=seed,
        ends=ends or "rounded", to=target, state=state, once=once, finish=finish, format=format,
    )  # fmt: skip
    rows = 0
    with out:
        for frame in out:
            rows += frame.height
            if not as_json:
                say(f"released {frame.height} rows, {out.released} in all; {out.waiting} wait")
    told = {"arrived": out.arrived, "released": out.released, "suppressed": out.suppressed, "waiting": out.waiting}
    if as_json:
        say_json({**told, "folder": str(target), "released_now": rows})
    else:
        say(", ".join(f"{name} {number}" for name, number in told.items()))
    return 0
