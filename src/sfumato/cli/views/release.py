"""sfumato views release: views that are shown to be safe, as a set of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, say, say_json
from sfumato.cli.options import WRITING, option
from sfumato.cli.views.check import LIMITS
from sfumato.core.wording import count, number


def release(
    file: Annotated[Path, typer.Argument(help="A file of views (.toml).", metavar="FILE")],
    *,
    output: Annotated[Path | None, options.output("Folder of the release.", "FOLDER")] = None,
    format: Annotated[str, options.FORMAT] = "csv",
    overwrite: Annotated[bool, option("--overwrite", "Replace an earlier release.", WRITING)] = False,
    steps: Annotated[int, option("--steps", "Integer programs of the exact search: 2000.", LIMITS, "N")] = 2000,
    seconds: Annotated[float, option("--seconds", "Time of the exact search: 60.", LIMITS, "N")] = 60,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Release the views of a file as a table each, where they are shown to be safe: against the private table, and from
    the published tables alone. "sfumato verify FOLDER" does the second again.
    """
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.errors import PolicyError
    from sfumato.fragments.views.file import read_views

    if output is None:
        raise PolicyError("it is not said where the views go", hint=f"sfumato views release {file} -o out/")
    check_target(output, overwrite)
    asked = read_views(file)
    with Progress("checking"), notes():
        table = inputs.table(asked.table, reading.reader)
        found = sf.release_views(table, **asked.keywords(), steps=steps, seconds=seconds)
        found.save(output, format, overwrite=overwrite)
    (promise,) = found.verification.promises
    if as_json:
        rows = {part.name: part.frame.height for part in found.parts}
        say_json({"folder": str(output), "tables": rows, "measured": promise.measured, "bound": promise.bound})
        return 0
    say(f"{output}: {count(len(found.parts), 'table')}")
    for part in found.parts:
        say(f"  {part.name}: {count(part.frame.height, 'row')}")
    measured = "" if promise.measured is None else f" (measured: {number(promise.measured)})"
    say(f"{promise.sentence}{measured}")
    return 0
