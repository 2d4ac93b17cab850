"""The command line: a file per command. Exit codes: 0 done, 1 a promise does not hold, 2 refused, 130 interrupted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from sfumato.cli.anonymize import anonymize
from sfumato.cli.attack import attack
from sfumato.cli.baskets import baskets
from sfumato.cli.choose import choose
from sfumato.cli.compare import compare
from sfumato.cli.demo import demo
from sfumato.cli.dp import dp
from sfumato.cli.exits import INTERRUPTED, interrupts, quiet_pipe, told
from sfumato.cli.explain import explain
from sfumato.cli.fragment import fragment
from sfumato.cli.inspect import inspect_table
from sfumato.cli.lattice import lattice
from sfumato.cli.mask import mask
from sfumato.cli.mine import mine
from sfumato.cli.options import grouped, help_text
from sfumato.cli.pseudonyms import pseudonyms
from sfumato.cli.query import query
from sfumato.cli.report import report
from sfumato.cli.republish import republish
from sfumato.cli.risk import risk
from sfumato.cli.sign import sign
from sfumato.cli.stream import stream
from sfumato.cli.studio import studio
from sfumato.cli.synth import synth
from sfumato.cli.tables import tables
from sfumato.cli.utility import utility
from sfumato.cli.variants import list_variants
from sfumato.cli.verify import verify
from sfumato.cli.views import views

HELP = ["-h", "--help"]
COMMANDS: dict[str, Any] = {
    "demo": demo,
    "inspect": inspect_table,
    "anonymize": anonymize,
    "mask": mask,
    "synth": synth,
    "stream": stream,
    "pseudonyms": pseudonyms,
    "baskets": baskets,
    "fragment": fragment,
    "mine": mine,
    "republish": republish,
    "verify": verify,
    "sign": sign,
    "report": report,
    "explain": explain,
    "risk": risk,
    "utility": utility,
    "attack": attack,
    "compare": compare,
    "choose": choose,
    "query": query,
    "dp": dp,  # a group of commands
    "views": views,  # a group, too
    "tables": tables,  # and another
    "lattice": lattice,
    "studio": studio,
    "list": list_variants,
}


@cache
def command_line(only: str | None = None) -> Any:
    """The command line with all commands, or one: the options of a command are made when it is asked for."""
    app = typer.Typer(
        name="sfumato",
        help="Release tables about people safely: blur, prove, and say what it cost.",
        epilog="Exit codes: 0 done, 1 a promise does not hold, 2 refused, 130 interrupted.",
        context_settings={"help_option_names": HELP},
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for name, command in COMMANDS.items():
        if only not in (None, name):
            continue
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            made = app.command(name, help=help_text(command.__doc__), context_settings={"help_option_names": HELP})
            made(grouped(command))
    app.callback()(_root)
    return get_command(app)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"sfumato {version('sfumato')}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    as_json = "--json" in arguments
    for printed in (sys.stdout, sys.stderr):
        if hasattr(printed, "reconfigure"):
            printed.reconfigure(errors="replace")  # a terminal that knows fewer letters is no reason to fail
    with interrupts() as pressed:
        code, error = _ended(arguments)
    if error is not None and pressed.is_set():
        error = KeyboardInterrupt()
    return code if error is None else told(error, as_json)


def _ended(arguments: list[str]) -> tuple[int, BaseException | None]:
    """The exit code of a command, or what it failed of."""
    try:
        only = arguments[0] if arguments[0] in COMMANDS else None
        code = command_line(only)(arguments, prog_name="sfumato", standalone_mode=False, obj=arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return quiet_pipe(), None
    except SystemExit as stop:  # typer's own answer to a closed pipe
        return quiet_pipe() if stop.code == 1 else int(stop.code or 0), None
    except BaseException as error:  # every fault ends as a message and a code
        return 2, error
    # typer turns the interrupt into this code
    return int(code or 0), KeyboardInterrupt() if code == INTERRUPTED else None
