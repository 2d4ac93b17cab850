"""sfumato tables: commands about statistical tables, a file each."""

from __future__ import annotations

import typer

from sfumato.cli.options import grouped, help_text
from sfumato.cli.tables.audit import audit
from sfumato.cli.tables.make import make
from sfumato.cli.tables.protect import protect

HELP = {"help_option_names": ["-h", "--help"]}
tables = typer.Typer(help="Statistical tables: count, protect, and audit what is published.", context_settings=HELP)
for name, command in (("make", make), ("protect", protect), ("audit", audit)):
    tables.command(name, help=help_text(command.__doc__), context_settings=HELP)(grouped(command))


@tables.callback()
def _root() -> None:
    pass  # with it, a single command is one of a group
