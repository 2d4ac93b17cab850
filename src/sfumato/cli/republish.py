"""sfumato republish: the next release of a table that changes, m-invariant with those before."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import inputs, options
from sfumato.cli.anonymize import say_promises
from sfumato.cli.console import Progress, notes, say, say_command, say_json, say_written, tell
from sfumato.cli.options import PROMISES, ROLES, WRITING, option
from sfumato.core.wording import count, number, quoted

if TYPE_CHECKING:
    from sfumato.series.republish import Republished

STATE = "State"


def republish(
    sources: Annotated[
        options.Texts,
        typer.Argument(help="The folder of the release before, but for the first; then the table.", metavar="FILE"),
    ] = None,
    *,
    state: Annotated[
        Path | None, option("--state", "Remembers signatures; the first release makes it.", STATE, "FILE")
    ] = None,
    key: Annotated[
        Path | None, option("--key", "A file whose bytes are the key; yours if not given.", STATE, "FILE")
    ] = None,
    m: Annotated[int | None, option("--m", "Different values of a group; as before, else 3.", PROMISES, "N")] = None,
    person: Annotated[str | None, options.person(ROLES)] = None,
    columns: options.ColumnOptions,
    changed: Annotated[
        str | None, option("--changed", "Of people with a new value: keep (default) the old one, leave.", ROLES, "NAME")
    ] = None,
    values: Annotated[
        options.Texts, option("--values", "Sensitive values that counterfeits may have, too.", ROLES, "A,B")
    ] = None,
    seed: options.Seed = None,
    output: Annotated[Path | None, options.output("Folder of the release.", "FOLDER")] = None,
    format: Annotated[str | None, options.FORMAT] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace an earlier release.", WRITING)] = False,
    reading: options.MemoryReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Publish a table again after people arrived and left, so that all releases together pin nobody's value.

    The first release takes the table alone, with --person, --quasi and --sensitive; those after it the folder of the
    release before, then the whole table as it is now.

    The --state is encrypted with your secret key, belongs to the latest release, and must never be published.

    Numbers of who came and went are printed for you, and not published.
    """
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.errors import PolicyError
    from sfumato.series.state import place_of

    before, table = _sources(sources)
    if state is None or output is None:
        lacking = [flag for flag, value in (("--state", state), ("-o", output)) if value is None]
        hint = "sfumato republish before/ table.csv -o next/ --state state.bin"
        raise PolicyError(f"{quoted(lacking)} must be given", hint=hint)
    with Progress("reading") as progress, notes() as told:
        check_target(output, overwrite)
        place_of(state, output)
        file = inputs.in_memory("republish", [table], reading)
        found = sf.republish(
            before,
            inputs.table(file, reading.reader),
            m=m,
            state=state,
            person=person,
            quasi=options.joined(columns.quasi),
            sensitive=_one(options.joined(columns.sensitive)),
            hierarchies=columns.recipes(),
            changed=changed or "keep",
            values=options.joined(values) or (),
            key=key,
            seed=seed,
            progress=progress,
        )
        progress("writing", None)
        folder = found.save(output, format, overwrite)
    files = sorted(str(path) for path in folder.iterdir())
    if as_json:
        say_json(_document(found, folder, files, told))
        return 0
    tell(told)
    _show(found)
    say_written(files)
    say_command("verify it with", shlex.join(["sfumato", "verify", str(folder)]))
    return 0


def _sources(given: options.Texts) -> tuple[str | None, str]:
    from sfumato.errors import PolicyError

    if not given or len(given) > 2:
        hint = "sfumato republish before/ table.csv ..., or the table alone for the first release"
        raise PolicyError("the release before and the table must be named", got=f"{len(given or ())} paths", hint=hint)
    return (None, given[0]) if len(given) == 1 else (given[0], given[1])


def _one(given: list[str] | None) -> Any:
    return given[0] if given is not None and len(given) == 1 else given


def _document(found: Republished, folder: Path, files: list[str], told: list[str]) -> dict[str, Any]:
    return {
        "outcome": found.verification.outcome,
        "turnover": asdict(found.turnover),
        "promises": found.manifest["promises"],
        "left_out": list(found.left_out),
        "seed": found.manifest["seed"],
        "folder": str(folder),
        "files": files,
        "notes": told,
    }


def _show(found: Republished) -> None:
    """Who came and went, and what is promised."""
    t = found.turnover
    people = f"{count(t.people, 'person', 'people')} in {count(t.groups, 'group')}"
    say(f"release {number(t.number)}: {people}, with {count(t.counterfeits, 'counterfeit')}")
    came = (
        f"{number(t.stayed)} stayed, {number(t.arrived)} arrived, {number(t.returned)} returned, {number(t.left)} left"
    )
    say(f"  {came}; {number(t.changed)} with another value than before")
    if t.stayed or t.returned:
        m = found.manifest["policy"]["require"][0]["m"]
        pinned, few = f"pin {number(t.pinned)} to one value", f"leave fewer than {m} for {number(t.exposed)}"
        say(f"  made without a memory, it would {pinned}, and {few}")
    if found.left_out:
        say(f"  not published: {quoted(found.left_out)}")
    say_promises(found.manifest["promises"])
