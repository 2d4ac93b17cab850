"""sfumato dp collect: answers that people noise themselves, and what they estimate together."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, say, say_json, say_table
from sfumato.cli.options import option
from sfumato.core.wording import number

if TYPE_CHECKING:
    from sfumato.dp.local import LocalRandomiser

COLLECTING = "Collecting"


class CollectAction(StrEnum):
    """What is done."""

    respond = "respond"
    estimate = "estimate"


class Randomiser(StrEnum):
    """How people answer."""

    binary = "binary"
    kary = "kary"
    unary = "unary"


def collect(
    action: Annotated[CollectAction, typer.Argument(help="respond or estimate.", metavar="ACTION")],
    target: Annotated[
        str, typer.Argument(help="With respond the person's value, or - to read it; else a file.", metavar="TARGET")
    ],
    *,
    epsilon: Annotated[str, option("--epsilon", "What an answer costs the person who gives it.", COLLECTING, "N")],
    values: Annotated[
        str | None, option("--values", "As a,b,c: all values that people may have.", COLLECTING, "A,B")
    ] = None,
    by: Annotated[
        Randomiser,
        option("--by", "binary, kary (default) or unary, which is better for many values.", COLLECTING, "NAME"),
    ] = Randomiser.kary,
    column: Annotated[
        str | None, option("--column", "Of the reports; the first if not given.", COLLECTING, "A")
    ] = None,
    i_know: Annotated[bool, options.i_know(COLLECTING)] = False,
    as_json: options.Json = False,
) -> int:
    """Answer a question with noise, as the person who is asked (respond), or estimate from many such reports how many
    people have each value (estimate).

    The report alone leaves the person's machine. Who is asked twice gives the same report twice: a new one costs again.
    """
    randomiser = _randomiser(by, values, epsilon, i_know)
    if action is CollectAction.respond:
        text = sys.stdin.readline().rstrip("\n") if target == "-" else target
        report = randomiser.respond(_yes_or_no(text) if by is Randomiser.binary else text)
        said = str(report).lower() if by is Randomiser.binary else report
        say_json({"report": said}) if as_json else say(said)
        return 0
    from sfumato.core.parameters import known_columns

    with Progress("reading"), notes():
        table = inputs.table(Path(target), {"verbatim": True})
        name = table.columns[0] if column is None else column
        known_columns([name], table.columns)
        found = randomiser.estimate(table.get_column(name).to_list())
    if as_json:
        say_json({"p": randomiser.p, "q": randomiser.q, "estimates": found.to_dicts()})
        return 0
    rows = [[row[0], str(row[1]), *(number(one) for one in row[2:])] for row in found.iter_rows()]
    say_table(found.columns, rows)
    return 0


def _randomiser(by: Randomiser, values: str | None, epsilon: str, i_know: bool) -> LocalRandomiser:
    from sfumato.dp.local import BinaryResponse, KaryResponse, OptimisedUnaryEncoding
    from sfumato.errors import PolicyError

    if by is Randomiser.binary:
        if values is not None:
            raise PolicyError("--values are of answers with several; a binary one is true or false")
        return BinaryResponse(epsilon, i_know)
    if values is None:
        raise PolicyError("collect needs --values", allowed="--values a,b,c, or --by binary")
    (own,) = options.names([values]) or [[]]
    return (KaryResponse if by is Randomiser.kary else OptimisedUnaryEncoding)(own, epsilon, i_know)


def _yes_or_no(text: str) -> bool:
    from sfumato.errors import PolicyError

    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.strip().lower() not in known:
        raise PolicyError("the value must be true or false")
    return known[text.strip().lower()]
