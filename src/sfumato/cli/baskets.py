"""sfumato baskets: release what people bought or did, so that a few known items find nobody."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import inputs, options
from sfumato.cli.anonymize import say_promises
from sfumato.cli.console import Progress, notes, say, say_command, say_json, say_written
from sfumato.cli.options import PROMISES, ROLES, SEARCH, WRITING, option
from sfumato.core.wording import count, percent

if TYPE_CHECKING:
    from sfumato.relational.basket_release import BasketRelease
    from sfumato.relational.rt_release import PeopleRelease


def baskets(
    source: options.Files = None,
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
    quasi: Annotated[
        options.Texts, option("--quasi", "Columns others may know of the people whose baskets they are.", ROLES, "A,B")
    ] = None,
    class_size: Annotated[
        int | None, option("--class-size", "With --quasi, people who are alike in these at least.", PROMISES, "N")
    ] = None,
    search: Annotated[
        str | None, option("--search", "apriori (default), optimal-cut or mole-suppression.", SEARCH, "NAME")
    ] = None,
    output: Annotated[Path | None, options.output("The folder of the release, which is made.", "FOLDER")] = None,
    format: Annotated[str | None, options.FORMAT] = None,
    overwrite: Annotated[bool, option("--overwrite", "Replace an earlier release.", WRITING)] = False,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Release baskets of items, so that whoever knows a few items of a basket finds nobody.

    With --k and --m items are generalised: any M items of a basket are in at least K baskets, or in none. With --h, --k
    and --p public items are suppressed: any P of them are in at least K baskets, and no private item in more than a
    share H of these. Other columns do not leave. In a policy file the same stands in [baskets].

    With --quasi the people leave, too: quasi-identifiers and any M items of a person fit at least K people, or none.
    """
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.hierarchies import parse
    from sfumato.policyfile.baskets import check_baskets

    recipe = None if hierarchy is None else parse(hierarchy)  # its path starts where the command is typed
    own = {"basket": basket, "item": item, "k": k, "m": m, "h": h, "p": p, "private": options.joined(private),
           "hierarchy": recipe, "search": search, "quasi": options.joined(quasi), "class_size": class_size}  # fmt: skip
    given: dict[tuple[str | int, ...], Any] = {("baskets", name): value for name, value in own.items()}
    out = {"path": None if output is None else str(output.absolute()), "format": format, "overwrite": overwrite or None}
    given |= {("output", name): value for name, value in out.items()}
    data = inputs.named(source, reading, policies=True)
    policy = check_baskets(options.draft(data, given, (), ()))
    check_target(policy.output, policy.overwrite)
    with Progress("reading") as progress, notes():
        table = inputs.table(Path(policy.source.paths[0]), policy.source.reader, other=False)
        found = sf.anonymize_baskets(table, **policy.keywords, progress=progress)
        found.save(policy.output, policy.format, overwrite=policy.overwrite)
    output = output or policy.output
    promises = [asdict(promise) for promise in found.verification.promises]
    solution = found.solution
    if as_json:
        how = {"loss": solution.loss, "optimal": solution.optimal, "manifest": found.manifest}
        say_json({"folder": str(output), "promises": promises, **how})
        return 0
    say(f"{_amount(found)} released, loss (NCP) {percent(solution.loss)}")
    say_promises(promises)
    say_written([str(output / name) for name in sorted(path.name for path in output.iterdir())])
    say_command("verify it with", shlex.join(["sfumato", "verify", str(output)]))
    return 0


def _amount(found: BasketRelease | PeopleRelease) -> str:
    """How many baskets there are, or people with theirs."""
    method = found.manifest["method"]
    if "baskets" in method:
        return count(method["baskets"], "basket")
    lost = percent(found.people_loss)  # type: ignore[union-attr]
    return f"{count(found.parts[0].frame.height, 'person', 'people')} (quasi-identifiers lose {lost}) with their items"
