"""sfumato dp bounds: bounds of a column of numbers, found privately and for a fee."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, say, say_json
from sfumato.cli.options import BUDGET, PUBLIC, option
from sfumato.cli.query import ASKING
from sfumato.core.wording import number


def bounds(
    file: Annotated[Path, typer.Argument(help="The data.", metavar="FILE")],
    column: Annotated[str, typer.Argument(help="A column of numbers.", metavar="COLUMN")],
    *,
    epsilon: Annotated[str | None, option("--epsilon", "What it may cost.", ASKING, "N")] = None,
    person: Annotated[str | None, options.person(PUBLIC)] = None,
    rows_per_person: Annotated[
        int, option("--rows-per-person", "Rows of a person that count, at most: 1 (default).", PUBLIC, "N")
    ] = 1,
    budget: Annotated[str | None, option("--budget", "Epsilon of this analyst in all.", BUDGET, "N")] = None,
    ledger: Annotated[str | None, options.LEDGER] = None,
    analyst: Annotated[str, option("--analyst", "Who asks: owner (default).", BUDGET, "NAME")] = "owner",
    dataset: Annotated[str, option("--dataset", "Whose ledger it is: table (default).", BUDGET, "NAME")] = "table",
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Find bounds of a column of numbers privately, for a fee: powers of two that nearly all rows lie between.

    It is charged as any answer is: where bounds are known from outside the table, state these, which cost nothing.
    """
    import sfumato as sf
    from sfumato.errors import PolicyError

    if epsilon is None or budget is None or ledger is None:
        hint = "sfumato dp bounds data.csv pay --epsilon 0.1 --budget 1 --ledger ledger.sqlite"
        raise PolicyError("bounds needs --epsilon, --budget and --ledger", hint=hint)
    with Progress("reading"), notes():
        data = inputs.private_table(file, reading.reader)
        session = sf.dp.Session(
            data,
            budget,
            person=person,
            rows_per_person=rows_per_person,
            ledger=ledger,
            analyst=analyst,
            dataset=dataset,
        )
        answer = session.bounds(column, epsilon=epsilon)
        found = {**answer.plain(), "budget_left": str(session.left)}
    if as_json:
        say_json(found)
        return 0
    if answer.value is None:
        say("no bounds: too few rows for this epsilon")
    else:
        low, high = (number(end) for end in answer.value)
        say(f"{column} between {low} and {high}: --bounds {column}={low}:{high}".replace(",", ""))
    cost = "answered before, for nothing" if answer.again else f"cost {answer.cost}"
    say(f"{answer.mechanism} noise, {cost}; left: {session.left}")
    return 0
