"""sfumato pseudonyms: make a key file, give people new pseudonyms, and turn pseudonyms back."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.console import refuse_existing, say, say_json
from sfumato.cli.options import READING, WRITING, option, output

if TYPE_CHECKING:
    import polars as pl

    from sfumato.core.protocols import Masker

STEPS = "Pseudonyms"


class Action(StrEnum):
    """What is done."""

    new = "new"
    rotate = "rotate"
    reverse = "reverse"


def pseudonyms(
    action: Annotated[Action, typer.Argument(help="new, rotate or reverse.", metavar="ACTION")],
    names: Annotated[
        options.Texts, typer.Argument(help="The key file or vault; with reverse, tokens.", metavar="NAME")
    ] = None,
    *,
    step: Annotated[
        options.Texts, option("--step", 'As "format-preserving ssn key=study.key"; may be repeated.', STEPS, "STEP")
    ] = None,
    since: Annotated[
        int | None, option("--from", "The key's generation in the table; no new one is made.", STEPS, "N")
    ] = None,
    place: Annotated[Path | None, option("--input", "A table with pseudonyms.", READING, "FILE")] = None,
    target: Annotated[Path | None, output("Where the table goes; its owner alone may read it.", "FILE")] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace that file.", WRITING)] = False,
    as_json: options.Json = False,
) -> int:
    """Make a key file (new), make a new generation of a key or a vault (rotate), and turn pseudonyms back (reverse).

    With rotate, a table given by --input gets the new pseudonyms of each --step. What cannot be turned back is refused
    before anything is changed. A table with pseudonyms is not anonymous.
    """
    from sfumato.errors import PolicyError

    if place is not None and target is None:
        raise PolicyError("it is not said where the table goes", hint="-o FILE")
    if since is not None and (place is None or action is not Action.rotate):
        hint = "with reverse, the step says it: generation=1" if action is Action.reverse else "name it by --input"
        raise PolicyError("--from is about a table that rotate renews", hint=hint)
    refuse_existing(target, overwrite)
    if action is Action.reverse:
        return _reverse(list(names or ()), step, place, target, overwrite, as_json)
    if names is None or len(names) != 1:
        raise PolicyError(
            f"{action} takes one key file" + (" or vault" * (action is Action.rotate)), got=len(names or ())
        )
    if action is Action.new:
        from sfumato.pseudonyms import new

        if place is not None or step:
            raise PolicyError("new makes a key file only", hint=f"sfumato pseudonyms new {names[0]}")
        made = new(names[0])
        return _told({"key": str(made.path)}, [f"made {made.path}, which nobody else may have", LOST], as_json)
    return _rotate(names[0], step, since, place, target, overwrite, as_json)


LOST = "a lost key cannot be made again: what hangs on it cannot be turned back then"


def _rotate(
    name: str, step: list[str] | None, since: int | None, place: Path | None, target: Path | None, overwrite: bool,
    as_json: bool,
) -> int:  # fmt: skip
    from sfumato.errors import PolicyError
    from sfumato.pseudonyms.rotation import renew, reverse, reversible, rotate

    steps = _steps(step, name) if step or place else []
    for one in steps:
        used = getattr(reversible(one), "vault", None) or getattr(one, "key", None)
        if Path(str(used)).expanduser().resolve() != Path(name).expanduser().resolve():
            raise PolicyError("a step has another key or vault than the one that is rotated", hint=f"rotate {used}")
    frame = None if place is None else _read(place, steps)
    for one in steps if frame is not None else []:
        reverse(frame, one)  # what is wrong is told before anything is changed
    told: dict[str, Any] = {"file": name} if since is not None else {"file": name, "generations": rotate(name)}
    lines = [f"{name}: generation {number} of {of}" for of, number in told.get("generations", {}).items()]
    if frame is not None and target is not None:
        for one in steps:
            frame = renew(frame, one, since)
        _write(frame, target, overwrite)
        told["table"] = str(target)
        lines.append(f"written: {target}")
    return _told(told, lines, as_json)


def _reverse(
    tokens: list[str], step: list[str] | None, place: Path | None, target: Path | None, overwrite: bool, as_json: bool
) -> int:
    from sfumato.errors import PolicyError
    from sfumato.pseudonyms.rotation import reverse, table_of

    if bool(tokens) == (place is not None):
        raise PolicyError("give tokens, or a table by --input", got="both" if tokens else "neither")
    steps = _steps(step)
    if place is not None and target is not None:
        frame = _read(place, steps)
        for one in steps:
            frame = reverse(frame, one)
        _write(frame, target, overwrite)
        return _told({"table": str(target)}, [f"written: {target}, which names people"], as_json)
    if len(steps) != 1:
        raise PolicyError("tokens are those of one step", got=len(steps))
    found = table_of(tokens, steps[0])
    if target is not None:
        _write(found, target, overwrite)
        return _told({"table": str(target)}, [f"written: {target}, which names people"], as_json)
    lines = [f"{token}  {'unknown' if original is None else original}" for token, original in found.rows()]
    return _told({"originals": dict(found.rows())}, lines, as_json)


def _steps(given: list[str] | None, file: str | None = None) -> list[Masker]:
    """The steps; one without a key of its own has that of the file."""
    from dataclasses import replace

    from sfumato.errors import PolicyError
    from sfumato.verbs.steps import parse

    if not given:
        raise PolicyError("it is not said which pseudonyms", hint='--step "format-preserving ssn key=study.key"')
    found: list[Any] = [parse(text) for text in given]
    bare = [one for one in found if hasattr(one, "key") and one.key is None]
    return [replace(one, key=file) if file is not None and one in bare else one for one in found]


def _read(place: Path, steps: list[Masker]) -> pl.DataFrame:
    """A table with pseudonyms as they are written."""
    from sfumato.core.parameters import known_columns
    from sfumato.engines.files.read import read
    from sfumato.engines.guard import unguard

    frame: pl.DataFrame = read(place, verbatim=True)
    names = [name for step in steps for name in step.columns]
    known_columns(names, frame.columns)
    return frame.with_columns(unguard(frame.get_column(name)) for name in names)


def _write(frame: pl.DataFrame, target: Path, overwrite: bool) -> None:
    """A table that names people, or new pseudonyms, in a file that its owner alone may read."""
    from sfumato.core.private import private_file
    from sfumato.engines.atomic import atomic_file
    from sfumato.engines.files.bytes import FORMATS, write_table

    place = private_file(target, "a table that leads back to people")
    suffix = target.suffix.removeprefix(".").lower()
    with atomic_file(place, overwrite) as part:
        part.touch(0o600)
        write_table(frame, part, suffix if suffix in FORMATS else "csv")
        part.chmod(0o600)


def _told(document: dict[str, Any], lines: list[str], as_json: bool) -> int:
    if as_json:
        say_json(document)
    else:
        for line in lines:
            say(line)
    return 0
