"""sfumato views: commands about several views of one private table, a file each."""

from __future__ import annotations

import typer

from sfumato.cli.options import grouped, help_text
from sfumato.cli.views.check import check
from sfumato.cli.views.release import release

HELP = {"help_option_names": ["-h", "--help"]}
views = typer.Typer(help="Several views of one private table, published together.", context_settings=HELP)
for name, command in (("check", check), ("release", release)):
    views.command(name, help=help_text(command.__doc__), context_settings=HELP)(grouped(command))


@views.callback()
def _root() -> None:
    pass  # with it, a single command is one of a group
