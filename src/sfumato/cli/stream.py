"""sfumato stream: release files of rows while they arrive in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, say, say_json, tell
from sfumato.cli.options import PROMISES, ROLES, SEARCH, WRITING, option, output
from sfumato.core.wording import count, number


def stream(
    source: Annotated[
        Path, typer.Argument(help="The folder in which files arrive, or a policy file.", metavar="FOLDER")
    ],
    *,
    target: Annotated[Path | None, output("The folder that batches are written to.", "FOLDER")] = None,
    columns: options.ColumnOptions,
    identifying: Annotated[options.Texts, option("--identifying", "Columns to drop.", ROLES, "A,B")] = None,
    insensitive: Annotated[
        options.Texts, option("--insensitive", "Columns to release as they are.", ROLES, "A,B")
    ] = None,
    unprotected: Annotated[
        options.Texts, option("--unprotected", "Sensitive columns that nothing protects, on purpose.", ROLES, "A,B")
    ] = None,
    person: Annotated[str | None, options.person(ROLES)] = None,
    promises: options.PromiseOptions,
    delay: Annotated[
        int | None, option("--delay", "Rows that a row waits for at most, itself included: 10000.", PROMISES, "N")
    ] = None,
    search: Annotated[
        str | None, option("--search", "castle (default), b-castle, fads or z-anonymity.", SEARCH, "NAME")
    ] = None,
    time: Annotated[str | None, option("--time", "Column of times, for z-anonymity.", ROLES, "A")] = None,
    seed: options.Seed = None,
    ends: options.Ends = None,
    format: Annotated[str | None, option("--format", "csv (default) or parquet.", WRITING, "NAME")] = None,
    state: Annotated[
        Path | None, option("--state", "A private file to go on from, after a stop too.", WRITING, "FILE")
    ] = None,
    language: options.Language = None,
    once: Annotated[bool, option("--once", "Stop when all files are taken.", WRITING)] = False,
    finish: Annotated[bool, option("--finish", "Stop then, and release what waits.", WRITING)] = False,
    as_json: options.Json = False,
) -> int:
    """Release files of rows while they arrive in a folder, batch by batch, no row later than a delay.

    With --state a run that was stopped or killed goes on where it was: it loses no row and releases none twice. In a
    policy file the same stands in [stream], with the columns in [roles].
    """
    from sfumato.core.compiled import warn_of_compiling
    from sfumato.policyfile.stream import check_stream
    from sfumato.verbs.stream import stream as run

    faults: list[str] = []
    require = promises.models(faults)
    own = {"delay": delay, "search": search, "state": None if state is None else str(state.absolute()),
           "ends": ends, "seed": seed, "once": once or None, "finish": finish or None}  # fmt: skip
    given: dict[tuple[str | int, ...], Any] = {("stream", name): value for name, value in own.items()}
    given |= columns.keys(faults)
    given |= {
        ("roles", "quasi"): options.joined(columns.quasi),
        ("roles", "identifying"): options.joined(identifying),
        ("roles", "insensitive"): options.joined(insensitive),
        ("roles", "unprotected"): options.joined(unprotected),
        ("roles", "person"): person,
        ("roles", "time"): time,
        ("output", "path"): None if target is None else str(target.absolute()),
        ("output", "format"): format,
        ("about", "language"): language,
    }
    named = inputs.NamedSource(source, ()) if source.suffix == ".toml" else inputs.NamedSource(None, (str(source),))
    policy = check_stream(options.draft(named, given, require, faults))
    target, rows, batches = policy.keywords["to"], 0, 0
    known: set[str] = set()
    warn_of_compiling(Progress("waiting"), "series/streams/window")
    try:
        with notes() as told:
            out = run(policy.source, **policy.keywords)
        _note(told, known, as_json)
        with out:
            while True:
                with notes() as told:
                    frame = next(out, None)
                _note(told, known, as_json)
                if frame is None:
                    break
                rows, batches = rows + frame.height, batches + 1
                if not as_json:
                    left = f"released {count(frame.height, 'row')}, {number(out.released)} in all"
                    say(f"{left}; {number(out.waiting)} wait")
    except KeyboardInterrupt:
        raise SystemExit(_interrupted(target, batches, policy.keywords.get("state") is not None, as_json)) from None
    done = {"arrived": out.arrived, "released": out.released, "suppressed": out.suppressed, "waiting": out.waiting}
    if as_json:
        say_json({**done, "folder": str(target), "released_now": rows})
    else:
        say(", ".join(f"{name} {number(rows)}" for name, rows in done.items()))
    return 0


def _note(told: list[str], known: set[str], as_json: bool) -> None:
    """Tell notes once."""
    new = [one for one in told if one not in known]
    known.update(new)
    if not as_json:
        tell(new)


def _interrupted(target: Any, batches: int, has_state: bool, as_json: bool) -> int:
    """What an interrupted run left, and how to go on."""
    from sfumato.cli.exits import interrupted

    message = f"interrupted; this run wrote {count(batches, 'batch', 'batches')} to {target}"
    if has_state:
        message += ", and the same command goes on from there"
    else:
        message += "; rows that wait are not released: with --state the same command would go on from there"
    return interrupted(message, as_json)
