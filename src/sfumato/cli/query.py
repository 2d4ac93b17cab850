"""sfumato query: ask a table that stays with its owner, with noise, until a budget is spent."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import controlled, inputs, options, serving
from sfumato.cli.console import Progress, notes, say, say_json, say_table
from sfumato.cli.options import BUDGET, PUBLIC, option
from sfumato.core.wording import count, number

ASKING = "Question"
SERVICE = "Service"
NAME = "table"


class QueryAction(StrEnum):
    """What is done."""

    ask = "ask"
    cost = "cost"
    budget = "budget"
    serve = "serve"
    key = "key"
    password = "password"


def query(
    action: Annotated[QueryAction, typer.Argument(help="ask, cost, budget, serve, key or password.", metavar="ACTION")],
    files: Annotated[
        options.Texts, typer.Argument(help="The data, and a question; or a policy.", metavar="FILE")
    ] = None,
    *,
    epsilon: Annotated[str | None, option("--epsilon", "What the answer may cost.", ASKING, "N")] = None,
    delta: Annotated[
        str, option("--delta", "With it, by Gaussian noise, or for keys that nobody listed.", ASKING, "N")
    ] = "0",
    rho: Annotated[str | None, option("--rho", "What it may cost, of --accounting zcdp.", ASKING, "N")] = None,
    clipped: Annotated[
        bool, option("--clipped", "Also tell, for a share, how many numbers are beyond their bounds.", ASKING)
    ] = False,
    bounds: Annotated[
        options.Texts,
        option("--bounds", "As age=0:120, from outside the table; may be repeated.", PUBLIC, "A=LOW:HIGH"),
    ] = None,
    keys: Annotated[
        options.Texts, option("--keys", "As sex=F,M: all values that may be; may be repeated.", PUBLIC, "A=B,C")
    ] = None,
    person: Annotated[str | None, options.person(PUBLIC)] = None,
    rows_per_person: Annotated[
        int, option("--rows-per-person", "Rows of a person that count, at most: 1 (default).", PUBLIC, "N")
    ] = 1,
    groups_per_person: Annotated[
        int | None, option("--groups-per-person", "Groups that a person is in, at most.", PUBLIC, "N")
    ] = None,
    rows_per_group: Annotated[
        int | None, option("--rows-per-group", "Rows of a person in one group, at most.", PUBLIC, "N")
    ] = None,
    neighbours: Annotated[
        str, option("--neighbours", "add-remove (default), or replace: how tables differ by a unit.", PUBLIC, "KIND")
    ] = "add-remove",
    budget: Annotated[str | None, option("--budget", "Epsilon of this analyst in all.", BUDGET, "N")] = None,
    budget_delta: Annotated[str, option("--budget-delta", "Delta of this analyst in all.", BUDGET, "N")] = "0",
    accounting: Annotated[
        str, option("--accounting", "plain (default), or zcdp: how costs add up.", BUDGET, "KIND")
    ] = "plain",
    ledger: Annotated[str | None, options.LEDGER] = None,
    analyst: Annotated[str, option("--analyst", "Who asks: owner (default).", BUDGET, "NAME")] = "owner",
    i_know: Annotated[bool, options.i_know(BUDGET)] = False,
    dataset: Annotated[str, option("--dataset", "Whose ledger it is: table (default).", BUDGET, "NAME")] = NAME,
    control: Annotated[Path | None, controlled.POLICY] = None,
    log: Annotated[Path | None, controlled.LOG] = None,
    service: Annotated[str | None, option("--service", "Ask a service, not a file.", SERVICE, "URL")] = None,
    key_file: Annotated[
        Path | None, option("--key-file", "File with your key of the service.", SERVICE, "FILE")
    ] = None,
    purpose: Annotated[
        str | None, option("--purpose", "What it is asked for, of several grants.", SERVICE, "TEXT")
    ] = None,
    request: Annotated[
        str | None, option("--request", "Name of the call: made again, it costs once.", SERVICE, "TEXT")
    ] = None,
    address: Annotated[
        str | None, option("--address", "Where to serve, in place of the policy's.", SERVICE, "IP")
    ] = None,
    port: Annotated[int | None, option("--port", "Port to serve at; 0 for a free one.", SERVICE, "N")] = None,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Ask a question with noise (ask), see what it would cost (cost), or what is left (budget): of a file, or with
    --service of a running service. Run that (serve POLICY), make a key of it (key), or hash a password (password).

    Questions are texts: "count where age > 40", "mean age where sex = F", "quantile pay q=0.9", "histogram sex,age"; or
    SQL: "SELECT sex, count(*), avg(age) FROM t WHERE age > 40 GROUP BY sex".
    With --control and --log, "sum wage where region = north" is answered exactly, or refused.
    The ledger keeps what was spent: an answer that would cost more than is left is refused, and costs nothing.
    """
    import sfumato as sf
    from sfumato.errors import PolicyError

    if action in (QueryAction.serve, QueryAction.key, QueryAction.password):
        return serving.run(action.value, files or [], key_file, address, port, as_json)
    asks = action is not QueryAction.budget
    found: dict[str, Any] = {}
    if service is not None:
        asked = {"epsilon": epsilon, "delta": delta, "rho": rho, "clipped": clipped}
        named = {"dataset": None if dataset == NAME else dataset, "purpose": purpose, "request": request}
        found = serving.remote(action.value, files or [], service, key_file, asked, named)
        exact = "control" in found or "number" in found
        return controlled.tell(found, as_json) if exact else _told(found, action, as_json)
    if control is not None:
        if action is not QueryAction.ask:
            raise PolicyError(f"{action} is of a budget, and exact answers have none", hint="ask, with --control")
        return controlled.tell(controlled.ask(files or [], control, log, analyst, reading.reader), as_json)
    *places, text = files if files and asks else [*(files or ()), ""]
    if len(places) != 1 or (asks and epsilon is None and rho is None) or budget is None or ledger is None:
        what = f"{action} needs the data{', a question, --epsilon' if asks else ''}, --budget and --ledger"
        example = 'data.csv "mean age" --epsilon 0.1 --bounds age=0:120' if asks else "data.csv"
        raise PolicyError(what, hint=f"sfumato query {action} {example} --budget 1 --ledger ledger.sqlite")
    with Progress("reading"), notes():
        data = inputs.private_table(Path(places[0]), reading.reader)
        session = sf.dp.Session(
            data, budget, budget_delta, bounds=read_bounds(bounds), keys=read_keys(keys), person=person,
            rows_per_person=rows_per_person, groups_per_person=groups_per_person, rows_per_group=rows_per_group,
            neighbours=neighbours, accounting=accounting, ledger=ledger, analyst=analyst, dataset=dataset,
            i_know=i_know,
        )  # fmt: skip
        if action is QueryAction.cost:
            priced = session.price(text, epsilon, delta=delta, rho=rho, clipped=clipped)
            found = {
                "cost": str(priced["cost"]),
                "epsilon": str(priced["cost"].epsilon),
                "scales": priced["scales"],
                "numbers": priced["numbers"],
            }
        elif action is QueryAction.ask:
            found = session.ask(text, epsilon, delta=delta, rho=rho, clipped=clipped).plain()
        found |= {"left": str(session.left.epsilon), "budget_left": str(session.left)}
    return _told(found, action, as_json)


def _told(found: dict[str, Any], action: QueryAction, as_json: bool) -> int:
    if as_json:
        say_json(found)
    else:
        _say(found, action)
    return 0


def _say(found: dict[str, Any], action: QueryAction) -> None:
    if action is QueryAction.ask:
        _say_value(found["value"], found["interval"])
    if action is QueryAction.ask:
        cost = "answered before, for nothing" if found["again"] else f"cost {found['cost']}"
        if found["clipped"] is not None:
            say(f"about {count(found['clipped'], 'row')} with numbers beyond their bounds")
        say(f"{found['mechanism']} noise, {cost}; left: {found['budget_left']}")
    elif action is QueryAction.cost:
        scales = ", ".join(number(scale) for scale in found["scales"])
        numbers = count(found["numbers"], "number")
        say(f"would cost {found['cost']}; noise of scale {scales} on {numbers}")
        say(f"left: {found['budget_left']}")
    else:
        say(f"left: {found['budget_left']}")


def _say_value(value: Any, ends: Any) -> None:
    """A number with its interval, a table, a model, or several of them one after the other."""
    if value is None or isinstance(value, dict) or (isinstance(value, list | tuple) and ends is None):
        say(json.dumps(value))
    elif isinstance(value, list) and not any(isinstance(row, dict) for row in value):
        for one, own in zip(value, ends, strict=True):
            _say_value(one, own)
    elif isinstance(value, list):
        names = list(value[0])
        say_table(names, [[_cell(row[name]) for name in names] for row in value])
    else:
        between = "" if ends is None else f", between {number(ends[0])} and {number(ends[1])} with 95% probability"
        say(f"{number(value)}{between}")


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def read_bounds(texts: options.Texts) -> dict[str, Any]:
    """The ends of --bounds, by column."""
    from sfumato.errors import PolicyError

    faults: list[str] = []
    found = options.pairs(texts, "--bounds", faults)
    ends = {name: tuple(text.split(":")) for name, text in found.items()}
    faults += [f'--bounds of "{name}" must be LOW:HIGH' for name, parts in ends.items() if len(parts) != 2]
    if faults:
        raise PolicyError("bounds cannot be read:", faults)
    return dict(ends)


def read_keys(texts: options.Texts) -> dict[str, list[str]]:
    """The values of --keys, by column."""
    from sfumato.errors import PolicyError

    faults: list[str] = []
    found = options.pairs(texts, "--keys", faults)
    if faults:
        raise PolicyError("keys cannot be read:", faults)
    return {name: [part.strip() for part in text.split(",")] for name, text in found.items()}
