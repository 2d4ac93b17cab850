"""sfumato dp: commands of differential privacy beside `sfumato query`, a file each."""

from __future__ import annotations

import typer

from sfumato.cli.dp.bounds import bounds
from sfumato.cli.dp.collect import collect
from sfumato.cli.dp.ledger import ledger
from sfumato.cli.dp.marginals import marginals
from sfumato.cli.options import grouped, help_text

HELP = {"help_option_names": ["-h", "--help"]}
dp = typer.Typer(help="Private releases, and what was spent of a privacy budget.", context_settings=HELP)
for name, command in (("ledger", ledger), ("marginals", marginals), ("collect", collect), ("bounds", bounds)):
    dp.command(name, help=help_text(command.__doc__), context_settings=HELP)(grouped(command))


@dp.callback()
def _root() -> None:
    pass  # with it, a single command is one of a group
