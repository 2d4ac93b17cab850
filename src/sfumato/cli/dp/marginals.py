"""sfumato dp marginals: private counts over public values, as tables that agree with each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, say, say_json
from sfumato.cli.options import BUDGET, PUBLIC, WRITING, option
from sfumato.cli.query import read_bounds, read_keys
from sfumato.core.wording import count, number, scalar

COUNTS = "Counts"


def marginals(
    file: Annotated[Path, typer.Argument(help="The data.", metavar="FILE")],
    *,
    margin: Annotated[
        options.Texts, option("--margin", "Columns that are counted together; may be repeated.", COUNTS, "A,B")
    ] = None,
    bins: Annotated[
        options.Texts,
        option("--bins", "As age=10, or age=0,18,65,120: how many, or their edges; may be repeated.", COUNTS, "A=N"),
    ] = None,
    hierarchy: Annotated[options.Texts, options.HIERARCHY] = None,
    real: Annotated[bool, option("--real", "Counts need not be whole numbers.", COUNTS)] = False,
    epsilon: Annotated[str | None, option("--epsilon", "What all tables cost together.", COUNTS, "N")] = None,
    delta: Annotated[
        str | None,
        option("--delta", "With epsilon or rho: Gaussian noise, which is less for many tables.", COUNTS, "N"),
    ] = None,
    rho: Annotated[
        str | None, option("--rho", "In place of epsilon: a cost in zero-concentrated terms.", COUNTS, "N")
    ] = None,
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
    budget: Annotated[str | None, option("--budget", "Epsilon of the dataset in all.", BUDGET, "N")] = None,
    budget_delta: Annotated[str, option("--budget-delta", "Its delta in all: 0 (default).", BUDGET, "N")] = "0",
    ledger: Annotated[Path | None, option("--ledger", "File that keeps what was spent.", BUDGET, "FILE")] = None,
    dataset: Annotated[str, option("--dataset", "Whose ledger it is: table (default).", BUDGET, "NAME")] = "table",
    i_know: Annotated[bool, options.i_know(BUDGET)] = False,
    output: Annotated[Path | None, options.output("The folder of the tables, which is made.", "FOLDER")] = None,
    format: Annotated[str, options.FORMAT] = "csv",
    overwrite: Annotated[bool, option("--overwrite", "Replace an earlier release.", WRITING)] = False,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Release counts over the public values of some columns, with noise, as tables that agree with each other.

    No count is negative, all totals are equal, and hierarchies add up at every level. With --ledger and --budget the
    cost is charged before noise is drawn. "sfumato verify FOLDER" checks the tables.
    """
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.errors import PolicyError

    if not margin or output is None or (ledger is None) != (budget is None):
        what = "marginals needs the data, --margin, -o, and --ledger and --budget together or neither"
        hint = "sfumato dp marginals data.csv --margin sex --margin sex,age --epsilon 1 --keys sex=F,M -o out/"
        raise PolicyError(what, hint=hint)
    check_target(output, overwrite)
    account = None
    if ledger is not None:
        account = sf.dp.Account(ledger, budget, budget_delta, dataset=dataset)
    with Progress("reading"), notes():
        data = inputs.private_table(file, reading.reader)
        found = sf.dp.release_marginals(
            data, options.names(margin) or (), epsilon, delta or 0, rho, bounds=read_bounds(bounds),
            keys=read_keys(keys), bins=_bins(bins), hierarchies=options.recipes(hierarchy), person=person,
            rows_per_person=rows_per_person, whole=not real, account=account, i_know=i_know,
        )  # fmt: skip
        found.save(output, format, overwrite=overwrite)
    if as_json:
        tables = {name: frame.to_dicts() for name, frame in found.tables.items()}
        say_json({"folder": str(output), "tables": tables, "privacy": found.privacy})
        return 0
    say(f"{output}: {count(len(found.tables), 'table')}, {found.cost}")
    for name, frame in found.tables.items():
        say(f"  {name}: {count(frame.height, 'cell')}")
    say(f"each count had {found.mechanism} noise of scale {number(found.scale)} before the tables were made to agree")
    return 0


def _bins(texts: options.Texts) -> dict[str, Any]:
    from sfumato.errors import PolicyError

    faults: list[str] = []
    found = options.pairs(texts, "--bins", faults)
    if faults:
        raise PolicyError("bins cannot be read:", faults)
    parts = {name: [scalar(part.strip()) for part in text.split(",")] for name, text in found.items()}
    return {name: own[0] if len(own) == 1 else own for name, own in parts.items()}
