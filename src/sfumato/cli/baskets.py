"""sfumato baskets: release what people bought or did, so that a few known items find nobody."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import inputs, options
from sfumato.cli.anonymize import say_promises
from sfumato.cli.console import Progress, notes, say, say_command, say_json, say_written
from sfumato.cli.options import PROMISES, ROLES, SEARCH, WRITING, option
from sfumato.core.wording import count, percent


def baskets(
    file: Annotated[Path, typer.Argument(help="The data: a row for each item of a basket.", metavar="FILE")],
    *,
    basket: Annotated[str | None, option("--basket", "Column that says whose item it is.", ROLES, "A")] = None,
    item: Annotated[str | None, option("--item", "Column of items.", ROLES, "A")] = None,
    private: Annotated[
        options.Texts, option("--private", "Items that nobody shall learn; may be repeated.", ROLES, "X,Y")
    ] = None,
    hierarchy: Annotated[
        str | None, option("--hierarchy", "Of items: a file, or as redact:right.", ROLES, "KIND")
    ] = None,
    k: Annotated[int | None, option("--k", "Baskets that an attacker is left with, at least.", PROMISES, "N")] = None,
    m: Annotated[int | None, option("--m", "Items of a basket that an attacker knows.", PROMISES, "N")] = None,
    h: Annotated[
        float | None, option("--h", "Share of these baskets that may have a private item.", PROMISES, "SHARE")
    ] = None,
    p: Annotated[int | None, option("--p", "Public items of a basket that an attacker knows.", PROMISES, "N")] = None,
    search: Annotated[
        str | None, option("--search", "apriori (default), optimal-cut or mole-suppression.", SEARCH, "NAME")
    ] = None,
    output: Annotated[Path | None, options.output("The folder of the release, which is made.", "FOLDER")] = None,
    format: Annotated[str, option("--format", "csv (default), tsv, parquet or xlsx.", WRITING, "NAME")] = "csv",
    overwrite: Annotated[bool, option("--overwrite", "Replace an earlier release.", WRITING)] = False,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Release baskets of items, so that whoever knows a few items of a basket finds nobody.

    With --k and --m items are generalised: any M items of a basket are in at least K baskets, or in none. With --h, --k
    and --p public items are suppressed: any P of them are in at least K baskets, and no private item in more than a
    share H of these. Other columns do not leave.
    """
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.errors import PolicyError

    if basket is None or item is None or output is None:
        hint = "sfumato baskets sales.csv --basket id --item product --k 5 --m 2 --hierarchy products.csv -o out/"
        raise PolicyError("baskets needs the data, --basket, --item and -o", hint=hint)
    check_target(output, overwrite)
    with Progress("reading") as progress, notes():
        data = inputs.table(file, reading.reader)
        found = sf.anonymize_baskets(
            data, item=item, basket=basket, k=k, m=m, h=h, p=p, private=options.joined(private) or (),
            hierarchy=hierarchy, search=search, progress=progress,
        )  # fmt: skip
        found.save(output, format, overwrite=overwrite)
    promises = [asdict(promise) for promise in found.verification.promises]
    solution = found.solution
    if as_json:
        own: dict[str, Any] = {"loss": solution.loss, "optimal": solution.optimal, "manifest": found.manifest}
        say_json({"folder": str(output), "promises": promises, **own})
        return 0
    say(f"{count(found.manifest['method']['baskets'], 'basket')} released, loss (NCP) {percent(solution.loss)}")
    say_promises(promises)
    say_written([str(output / name) for name in sorted(path.name for path in output.iterdir())])
    say_command("verify it with", shlex.join(["sfumato", "verify", str(output)]))
    return 0
