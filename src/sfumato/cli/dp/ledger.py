"""sfumato dp ledger: what was spent of a privacy budget, and whether the ledger is as it was written."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.console import say, say_json, say_table
from sfumato.core.wording import count, number


class LedgerAction(StrEnum):
    """What is done."""

    show = "show"
    verify = "verify"
    export = "export"
    adopt = "adopt"


def ledger(
    action: Annotated[LedgerAction, typer.Argument(help="show, verify, export or adopt.", metavar="ACTION")],
    file: Annotated[str, typer.Argument(help="The file of the ledger, or its address in PostgreSQL.", metavar="FILE")],
    *,
    delta: Annotated[
        str, options.option("--delta", "With show: the delta of other accounts: 1e-6 (default).", "Accounts", "N")
    ] = "1e-6",
    as_json: options.Json = False,
) -> int:
    """Show what was spent of a privacy budget (show), check that no row of its ledger was changed, dropped or put back
    (verify), print all rows as JSON (export), or take over a ledger of yours that comes from another place (adopt).

    Exits 1 where the ledger was changed.
    """
    from sfumato.dp.ledger import open_ledger

    found = open_ledger(file)
    if action is LedgerAction.adopt:
        found.adopt()
    faults = found.verify()
    if action is LedgerAction.export:
        say_json([vars(entry) for entry in found.entries()])
    elif as_json:
        spent = found.spent_by()
        said = {"faults": faults, "rows": len(found.entries()), "spent": spent}
        say_json(said | ({"composed": found.composed(delta)} if action is LedgerAction.show else {}))
    elif action is LedgerAction.show:
        say(f"the ledger of {found.dataset}: {count(len(found.entries()), 'row')}")
        rows = [list(one.values()) for one in found.spent_by()]
        say_table(["analyst", "purpose", "epsilon", "delta", "rho"], rows)
        _say_composed(found.composed(delta))
    if action in (LedgerAction.verify, LedgerAction.adopt) and not as_json:
        say(f"the ledger was changed: {faults[0]}" if faults else f"{count(len(found.entries()), 'row')}, as written")
    return 1 if faults else 0


def _say_composed(found: dict[str, float | None]) -> None:
    names = {"plain": "plain sums", "advanced": "advanced composition", "zcdp": "zCDP"}
    said = [f"{number(found[name])} by {words}" for name, words in names.items() if found[name] is not None]
    if said:
        say(f"all together, epsilon: {', '.join(said)}")
        say(f"for information, with a further delta of {found['delta']:g}: the budget is held by the sums above alone")
