"""sfumato explain: what was done to a table and what remains, for a lay reader."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, say_json, say_wrapped


def explain(
    target: Annotated[Path, typer.Argument(help="The folder of a release.", metavar="FOLDER")],
    *,
    language: options.Language = None,
    place: options.PlaceOptions,
    as_json: options.Json = False,
) -> int:
    """Tell a lay reader in about ten lines what was done to a table, what is promised of it, and what remains.

    All of it comes from the manifest and the released rows. What is proven was derived again from the rows.

    Of a release that is a table, --input names the database; without it nothing is called proven.

    Exits 1 where a promise does not hold.
    """
    from sfumato.errors import ReadError
    from sfumato.verbs.explain import explain_folder

    if not target.is_dir():
        raise ReadError(f"{target} is no folder", allowed="the folder of a release")
    with Progress("explaining"):
        elsewhere = inputs.table_name(target) is not None and not place.place
        rows = None if elsewhere else inputs.rows_of(target, place)
        found, verified = explain_folder(target, language, None if rows is target else rows)
    if as_json:
        say_json(found.to_dict() | {"holds": None if verified is None else verified.holds})
    else:
        for term, sentence in found.lines:
            say_wrapped(f"{term}: {sentence}", "")
    return 1 if verified is not None and verified.outcome == "broken" else 0
