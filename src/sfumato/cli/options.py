"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

READING, ROLES, PROMISES, SEARCH, WRITING = "Reading", "Roles", "Promises", "Search", "Writing"


def option(*names: str, help: str, panel: str, shape: str | None = None) -> typer.models.OptionInfo:
    """An option under a heading of the help page; `shape` says what it takes."""
    found: typer.models.OptionInfo = typer.Option(
        *names, help=help, rich_help_panel=panel, show_default=False, metavar=shape
    )
    return found


Files = Annotated[list[str] | None, typer.Argument(help="A policy file (.toml), or data.", metavar="FILE")]
Targets = Annotated[list[str] | None, typer.Argument(help="The folder of a release, or data.", metavar="TARGET")]
Input = Annotated[
    list[str] | None,
    option("--input", help="The data by name: files, or the address of a database.", panel=READING, shape="PLACE"),
]
Table = Annotated[
    str | None, option("--table", help="Of the database, NAME or SCHEMA.NAME.", panel=READING, shape="NAME")
]
Stream = Annotated[
    bool | None,
    option("--stream/--no-stream", help="Whether a file is never held in memory.", panel=READING, shape=""),
]
# commands that need the table in memory take these to say so
NoInput = Annotated[list[str] | None, typer.Option("--input", hidden=True)]
NoTable = Annotated[str | None, typer.Option("--table", hidden=True)]
NoStream = Annotated[bool | None, typer.Option("--stream/--no-stream", hidden=True)]
Separator = Annotated[
    str | None, option("--separator", help="Between fields; guessed if not given.", panel=READING, shape="CHAR")
]
Quote = Annotated[str | None, option("--quote", help='Around fields; "" for none.', panel=READING, shape="CHAR")]
Encoding = Annotated[
    str | None, option("--encoding", help="Of the text; guessed if not given.", panel=READING, shape="NAME")
]
Header = Annotated[
    bool | None,
    option("--header/--no-header", help="Whether the first line names the columns.", panel=READING, shape=""),
]
Sheet = Annotated[
    str | None, option("--sheet", help="Of an Excel file; the first if not given.", panel=READING, shape="NAME")
]
Quasi = Annotated[
    list[str] | None,
    option("--quasi", help="Quasi-identifying columns; again for another set of them.", panel=ROLES, shape="A,B"),
]
Sensitive = Annotated[list[str] | None, option("--sensitive", help="Sensitive columns.", panel=ROLES, shape="A,B")]
Identifying = Annotated[list[str] | None, option("--identifying", help="Columns to drop.", panel=ROLES, shape="A,B")]
Insensitive = Annotated[
    list[str] | None, option("--insensitive", help="Columns to release as they are.", panel=ROLES, shape="A,B")
]
Unprotected = Annotated[
    list[str] | None,
    option("--unprotected", help="Sensitive columns that nothing protects, on purpose.", panel=ROLES, shape="A,B"),
]
Weight = Annotated[str | None, option("--weight", help="Column of survey weights.", panel=ROLES, shape="A")]
Normalise = Annotated[
    list[str] | None,
    option(
        "--normalise", help="Sensitive columns to bring to one spelling per value; * for all.", panel=ROLES, shape="A,B"
    ),
]
Rest = Annotated[
    str | None,
    option(
        "--rest",
        help="Columns without a role that look telling: refuse (default), release.",
        panel=ROLES,
        shape="NAME",
    ),
]
Levels = Annotated[
    list[str] | None,
    option("--levels", help="Least and greatest level, age=1:3; may be repeated.", panel=ROLES, shape="A=N:N"),
]
K = Annotated[int | None, option("--k", help="Least number of rows that look alike.", panel=PROMISES, shape="N")]
Require = Annotated[
    list[str] | None,
    option("--require", help='As "entropy-l-diversity disease 3"; may be repeated.', panel=PROMISES, shape="MODEL"),
]
Hierarchies = Annotated[
    list[str] | None,
    option("--hierarchy", help="As age=intervals:5,10 or job=job.csv; may be repeated.", panel=ROLES, shape="A=KIND"),
]
Ends = Annotated[
    str | None,
    option("--ends", help="Of ranges: rounded to a step (default), or exact.", panel=WRITING, shape="NAME"),
]
MaxCells = Annotated[
    int | None,
    option("--max-cells", help="Combinations of values that streaming may hold.", panel=SEARCH, shape="N"),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document, for machines.", metavar="")]


def reading(
    separator: str | None, quote: str | None, encoding: str | None, header: bool | None, sheet: str | None
) -> dict[tuple[str | int, ...], object]:
    """The reader's options as keys of [input]; a tab can be written \\t."""
    found = {"separator": "\t" if separator in ("\\t", "tab") else separator, "quote": quote, "encoding": encoding}
    found |= {"sheet": sheet}
    return {("input", key): value for key, value in {**found, "header": header}.items()}
