"""sfumato verify: which promises hold, from the released file alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.anonymize import say_promises
from sfumato.cli.console import number, say, say_json
from sfumato.cli.options import PROMISES, option

if TYPE_CHECKING:
    from sfumato.policy_file import PolicyFile


def verify(
    target: Annotated[Path, typer.Argument(help="The folder of a release, or any data file.", metavar="TARGET")],
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    hierarchy: options.Hierarchies = None,
    k: options.K = None,
    require: options.Require = None,
    wildcard: Annotated[
        bool,
        option(
            "--wildcard", help="A missing value matches any value (k and distinct l only).", panel=PROMISES, shape=""
        ),
    ] = False,
    separator: options.Separator = None,
    quote: options.Quote = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    as_json: options.Json = False,
) -> int:
    """Check promises from released rows alone: a release folder, or a file of any tool with --quasi and --k.

    Exits 0 where every promise holds and 1 where one does not.
    """
    import sfumato as sf
    from sfumato.cli import flags
    from sfumato.cli.progress import Progress
    from sfumato.errors import PolicyError, ReadError

    if not target.exists():
        raise ReadError(f"{target} does not exist", allowed="the folder of a release, or a data file")
    faults: list[str] = []
    models = flags.models(k, require or (), faults)
    with Progress("verifying"):
        if target.is_dir():
            flag = {
                "--quasi": quasi,
                "--sensitive": sensitive,
                "--hierarchy": hierarchy,
                "--k": k,
                "--require": require,
                "--wildcard": wildcard,
            }
            asked = [name for name, value in flag.items() if value]
            if asked:
                hint = "name the data file inside to ask other questions of it"
                raise PolicyError(f"a release folder says itself what to verify; got {', '.join(asked)}", hint=hint)
            found = sf.verify(target)
        else:
            reader = options.reading(separator, quote, encoding, header, sheet)
            given: dict[tuple[str | int, ...], Any] = {**reader, ("roles", "quasi"): flags.names(quasi)}
            given["roles", "sensitive"] = flags.joined(sensitive)
            given |= flags.hierarchies(hierarchy, faults)
            given["output", "path"] = "."  # nothing is written
            frame, policy = _checked(flags.draft(target, given, models, faults))
            found = sf.verify(
                frame,
                quasi=[list(names) for names in policy.roles.quasi],
                require=list(policy.require),
                hierarchies=policy.hierarchies or None,
                wildcard=wildcard,
            )
    if as_json:
        say_json(asdict(found))
    else:
        verdict = "every promise holds" if found.holds else "a promise does not hold"
        say(f"{number(found.rows)} rows: {verdict}")
        say_promises([asdict(promise) for promise in found.promises])
    return 0 if found.holds else 1


def _checked(draft: Any) -> tuple[Any, PolicyFile]:
    """The table and the checked questions to it."""
    import sfumato as sf
    from sfumato.errors import InputError
    from sfumato.policy_file import check

    source = draft.source()
    frame, unread = None, None
    try:
        frame = sf.read(source[0], **source[1]) if source else None
    except InputError as error:
        unread = error
    return frame, check(draft, None if frame is None else frame.columns, unread)
