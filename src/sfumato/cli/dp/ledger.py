"""sfumato dp ledger: what was spent of a privacy budget, and whether the ledger is as it was written."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.console import say, say_json, say_table
from sfumato.core.wording import count


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
        say_json({"faults": faults, "rows": len(found.entries()), "spent": spent})
    elif action is LedgerAction.show:
        say(f"the ledger of {found.dataset}: {count(len(found.entries()), 'row')}")
        rows = [list(one.values()) for one in found.spent_by()]
        say_table(["analyst", "purpose", "epsilon", "delta", "rho"], rows)
    if action in (LedgerAction.verify, LedgerAction.adopt) and not as_json:
        say(f"the ledger was changed: {faults[0]}" if faults else f"{count(len(found.entries()), 'row')}, as written")
    return 1 if faults else 0
