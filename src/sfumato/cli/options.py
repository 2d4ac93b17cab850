"""Options that several commands share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sfumato.cli.sources import NamedSource
    from sfumato.policyfile.file import Draft
    from sfumato.policyfile.places import Path as Key


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


NAME = re.compile(r'(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*(?=,|\Z)|([^,]*?)\s*(?=,|\Z))', re.DOTALL)


def draft(
    named: NamedSource,
    values: Mapping[Key, Any],
    require: Sequence[Mapping[str, Any]],
    faults: Sequence[str],
) -> Draft:
    """A policy file with flags laid over it, or flags alone over a table.

    A flag replaces the key of the file; a required model replaces the file's own of the same name and attribute, and
    stands beside the others: flags never drop a promise.
    """
    from sfumato.policyfile.file import Draft, load
    from sfumato.policyfile.input import anchored
    from sfumato.policyfile.places import FLAGS, Places

    policy = named.policy is not None
    base = Draft({}, Path(), "the command line", Places(file=False)) if named.policy is None else load(named.policy)
    tables: dict[str, Any] = {name: dict(t) if isinstance(t, dict) else t for name, t in base.tables.items()}
    places: dict[Key, str] = {}
    values = named.keys() | dict(values)
    for path, value in values.items():
        table = tables.setdefault(str(path[0]), {}) if value is not None else None
        if not isinstance(table, dict):
            continue  # not given, or a fault of the file that is told when the policy is checked
        if path == ("search", "method"):
            _other_method(table, value)
        else:
            # a path in a flag starts where the command is typed, those of a file at its folder
            if policy and path == ("output", "path"):
                value = str(Path(value).absolute())
            elif policy and path == ("input", "path"):
                value = [str(anchored(one, Path.cwd())) for one in value]
            table[str(path[1])] = value
        flag = FLAGS.get(path) or f"{FLAGS[path[:1]]} {path[1]}"
        flag = "--input" if policy and path == ("input", "path") else flag
        places[path] = "--no-stream" if path == ("input", "stream") and value is False else flag
    places |= _lay_over(tables, require)
    return replace(base, tables=tables, places=replace(base.places, given=places), faults=tuple(faults))


def _other_method(table: dict[str, Any], method: Mapping[str, Any]) -> None:
    """Another search brings its own parameters: those of the file's method go."""
    from sfumato.policyfile.tables import Search

    for key in [key for key in table if key not in Search.model_fields]:
        del table[key]
    table.update(method)


def _lay_over(tables: dict[str, Any], require: Sequence[Mapping[str, Any]]) -> dict[Key, str]:
    """Put the models of the flags in place of, or after, those of the file."""
    written = tables.get("require", [])
    if not require or not isinstance(written, list):
        return {}
    same = {(item.get("model"), item.get("attribute")) for item in require}
    kept = [i for i in written if not isinstance(i, dict) or (i.get("model"), i.get("attribute")) not in same]
    tables["require"] = [*kept, *map(dict, require)]
    flags = ["--k" if item["model"] == "k-anonymity" else f"--require {item['model']}" for item in require]
    return {("require", len(kept) + i): flag for i, flag in enumerate(flags)}


def models(k: int | None, require: Sequence[str], faults: list[str]) -> list[dict[str, Any]]:
    """The models of --k and --require, as tables of a policy file.

    >>> models(10, ["entropy-l-diversity disease 3"], [])
    [{'model': 'k-anonymity', 'k': 10}, {'model': 'entropy-l-diversity', 'attribute': 'disease', 'l': 3}]
    """
    from sfumato.criteria import parse
    from sfumato.errors import PolicyError

    found: list[dict[str, Any]] = [] if k is None else [{"model": "k-anonymity", "k": k}]
    for text in require:
        try:
            criterion = parse(text)
            found.append({"model": criterion.model, **criterion.parameters()})
        except PolicyError as error:
            faults += [f"--require: {fault}" for fault in error.faults or (str(error),)]
    return found


def named(text: str, key: str, table: Mapping[str, Any], flag: str, faults: list[str]) -> dict[str, Any] | None:
    """A variant written as "name value ... key=value ...", as a table of a policy file, or None and a fault."""
    import inspect

    try:
        name, *words = shlex.split(text)
    except ValueError:
        faults.append(f'{flag}: must be a name and values, as in "optimal seconds=10"')
        return None
    if name not in table:
        return {key: name}  # told when the policy is checked
    parameters = list(inspect.signature(table[name].make).parameters)
    found: dict[str, Any] = {key: name}
    free = iter(parameters)
    for word in words:
        left, sign, right = word.partition("=")
        if sign and (left in parameters or left.isidentifier()):
            found[left] = _typed(right, left)
            continue
        parameter = next((p for p in free if p not in found), None)
        if parameter is None:
            faults.append(f"{flag} {name}: too many values; it takes {', '.join(parameters) or 'none'}")
            return None
        found[parameter] = _typed(word, parameter)
    return found


def names(texts: Sequence[str] | None) -> list[list[str]] | None:
    """Column names between commas, one list per flag; a name that holds a comma stands in double quotes.

    >>> names(['"a,b",c', "d"])
    [['a,b', 'c'], ['d']]
    """
    if not texts:
        return None
    rows = [NAME.findall(text) if text.strip() else [] for text in texts]
    return [[quoted.replace('""', '"') or plain for quoted, plain in row] for row in rows]


def written(names: Iterable[str]) -> str:
    """Column names as `names` takes them.

    >>> written(["age", "a,b", 'the "x"', ""])
    'age,"a,b",the "x",""'
    """
    bare = re.compile(r'(?![\s"])[^,]*(?<!\s)')
    return ",".join(name if name and bare.fullmatch(name) else '"' + name.replace('"', '""') + '"' for name in names)


def joined(texts: Sequence[str] | None) -> list[str] | None:
    """The same for roles that are one list: several flags add up."""
    rows = names(texts)
    return None if rows is None else [name for row in rows for name in row]


def columns(texts: Sequence[str] | None) -> list[str] | bool | None:
    """The same where * stands for all of them.

    >>> columns(["*"]), columns(["a,b"])
    (True, ['a', 'b'])
    """
    return True if texts == ["*"] else joined(texts)


def pairs(texts: Sequence[str] | None, flag: str, faults: list[str]) -> dict[str, str]:
    """`column=text` flags; a column that holds "=" stands in double quotes."""
    found = {}
    for text in texts or ():
        match = re.fullmatch(r'\s*(?:"([^"]+)"|([^="]+?))\s*=\s*(.+)', text, re.DOTALL)
        if match is None:
            faults.append(f"{flag}: must be written column=value; got no column or no value")
            continue
        found[match[1] or match[2]] = match[3].strip()
    return found


def hierarchies(texts: Sequence[str] | None, faults: list[str]) -> dict[Key, Any]:
    """The recipes of --hierarchy column=kind:values or column=file, as keys of [hierarchies]."""
    from sfumato.policyfile.tables import make_recipe

    found: dict[Key, Any] = {}
    for column, text in pairs(texts, "--hierarchy", faults).items():
        recipe = make_recipe(text, Path(), f"--hierarchy {column}", faults)
        if recipe is not None:
            found["hierarchies", column] = recipe
    return found


def level_range(text: str) -> list[object]:
    """`1:3` as [1, 3], `2` as [2, 2]; what is no number stays text and is told when the policy is checked."""
    low, colon, high = text.partition(":")
    return [scalar(low), scalar(high if colon else low)]


def scalar(text: str) -> int | float | str:
    """A whole number, a decimal, or the text itself: "20" is a count, "0.02" a share."""
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text) if re.fullmatch(r"[-+0-9.eE]+", text) else text
        except ValueError:
            continue
    return text


def _typed(text: str, key: str) -> Any:
    """A value of a parameter: a number, true or false, else text; weights are written age:2,zip:1."""
    if key == "weights":
        return {name.strip(): scalar(share) for name, _, share in (item.rpartition(":") for item in text.split(","))}
    return {"true": True, "false": False}.get(text, scalar(text))
