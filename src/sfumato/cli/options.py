"""Options: each worded once, alone or in the groups that several commands share; and what their texts mean."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from sfumato.core.wording import from_flag, scalar

if TYPE_CHECKING:
    from sfumato.cli.inputs import NamedSource
    from sfumato.policyfile.file import Draft
    from sfumato.policyfile.tables import Key

READING, ROLES, PROMISES, SEARCH, WRITING = "Reading", "Roles", "Promises", "Search", "Writing"
MEASURES = "Measures"


def help_text(text: str | None) -> str:
    """A text for a help page, on which a word in square brackets would be taken for a style."""
    return (text or "").replace("[", r"\[")


def option(name: str, help: str, panel: str, shape: str = "", *names: str) -> typer.models.OptionInfo:
    """An option under a heading of the help page; `shape` says what it takes, nothing where it is a switch."""
    found: typer.models.OptionInfo = typer.Option(
        name, *names, help=help_text(help), rich_help_panel=panel, show_default=False, metavar=shape
    )
    return found


def output(help: str, shape: str) -> typer.models.OptionInfo:
    """The option -o."""
    return option("-o", help, WRITING, shape, "--output")


def person(panel: str) -> typer.models.OptionInfo:
    """The option --person, where it does not make criteria count people."""
    return option("--person", "Column that says whose each row is.", panel, "A")


def i_know(panel: str) -> typer.models.OptionInfo:
    """The option --i-know."""
    return option("--i-know", "Take an epsilon above 20, which protects nobody.", panel)


Texts = list[str] | None
Files = Annotated[Texts, typer.Argument(help="A policy file (.toml), or data.", metavar="FILE")]
Targets = Annotated[Texts, typer.Argument(help="The folder of a release, or data.", metavar="TARGET")]
Suppression = Annotated[
    str | None, option("--suppression", "Rows that may be dropped: 0.02 is a share, 20 a count.", PROMISES, "N")
]
Loss = Annotated[
    str | None, option("--loss", 'What is kept low: lm (default), or as "lm aggregate=sum".', SEARCH, "NAME")
]
BUDGET = "Budget"
Ledger = Annotated[
    str | None, option("--ledger", "File that a private release is charged to; with --budget.", BUDGET, "FILE")
]
DatasetBudget = Annotated[str | None, option("--budget", "Epsilon of the dataset in all.", BUDGET, "N")]
BudgetDelta = Annotated[str | None, option("--budget-delta", "Its delta in all: 0 (default).", BUDGET, "N")]
Dataset = Annotated[str | None, option("--dataset", "Whose ledger it is: table (default).", BUDGET, "NAME")]
Seed = Annotated[int | None, option("--seed", "Of anything random.", SEARCH, "N")]
PUBLIC = "What is public"
FORMAT = option("--format", "csv (default), tsv, parquet or xlsx.", WRITING, "NAME")
LEDGER = option("--ledger", "File, or address in PostgreSQL, that keeps what was spent.", BUDGET, "FILE")
QUASI = option("--quasi", "Quasi-identifying columns; again for another set of them.", ROLES, "A,B")
HIERARCHY = option("--hierarchy", "As age=intervals:5,10 or job=job.csv; may be repeated.", ROLES, "A=KIND")
RowKey = Annotated[Texts, option("--row-key", "Columns that together tell rows apart.", ROLES, "A,B")]
Population = Annotated[
    str | None, option("--population", "Everybody of the population: for delta-presence, k-map.", PROMISES, "FILE")
]
Person = Annotated[str | None, option("--person", "Whose each row is: people count, not rows.", ROLES, "A")]
Household = Annotated[str | None, option("--household", "Column that names the household.", ROLES, "A")]
WEIGHT = option("--weight", "Column of survey weights.", ROLES, "A")
Ends = Annotated[str | None, option("--ends", "Of ranges: rounded to a step (default), or exact.", WRITING, "NAME")]
MaxCells = Annotated[int | None, option("--max-cells", "Combinations of values that streaming may hold.", SEARCH, "N")]
Language = Annotated[str | None, option("--language", "en or it; as the policy says if not given.", WRITING, "NAME")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document, for machines.", metavar="")]


@dataclass(frozen=True)
class PlaceOptions:
    """The table by another way than its path."""

    place: Annotated[
        Texts, option("--input", "The data by name: files, or the address of a database.", READING, "PLACE")
    ] = None
    table: Annotated[str | None, option("--table", "Of the database, NAME or SCHEMA.NAME.", READING, "NAME")] = None


@dataclass(frozen=True)
class ReadingOptions(PlaceOptions):
    """The same, and how a file is read."""

    stream: Annotated[
        bool | None, option("--stream/--no-stream", "Whether a file is never held in memory.", READING)
    ] = None
    separator: Annotated[
        str | None, option("--separator", "Between fields; guessed if not given.", READING, "CHAR")
    ] = None
    quote: Annotated[str | None, option("--quote", 'Around fields; "" for none.', READING, "CHAR")] = None
    encoding: Annotated[str | None, option("--encoding", "Of the text; guessed if not given.", READING, "NAME")] = None
    header: Annotated[
        bool | None, option("--header/--no-header", "Whether the first line names the columns.", READING)
    ] = None
    sheet: Annotated[str | None, option("--sheet", "Of an Excel file; the first if not given.", READING, "NAME")] = None
    skip: Annotated[int | None, option("--skip", "Lines above the header; found out if not given.", READING, "N")] = (
        None
    )
    columns: Annotated[
        Texts, option("--columns", "Columns to read; without a header, the names of all.", READING, "A,B")
    ] = None
    value_labels: Annotated[
        bool | None,
        option("--value-labels/--codes", "Of SPSS and Stata: labels in place of codes (default), or codes.", READING),
    ] = None
    missing: Annotated[
        Texts, option("--missing", "Texts that are missing values: N/A,? or age=-9; may be repeated.", READING, "A,B")
    ] = None
    dates: Annotated[
        str | None, option("--dates", "Of dates that can be read in two ways: dmy, mdy, ymd.", READING, "ORDER")
    ] = None
    decimal: Annotated[
        str | None, option("--decimal", "Of numbers that can be read in two ways: comma, point.", READING, "MARK")
    ] = None
    verbatim: Annotated[
        Texts, option("--verbatim", "Columns that stay as they are written; * for all.", READING, "A,B")
    ] = None

    @property
    def reader(self) -> dict[str, Any]:
        """The options for reading that were given, as keywords of `read`; a tab can be written \\t."""
        separator = "\t" if self.separator in ("\\t", "tab") else self.separator
        found: dict[str, Any] = {
            "separator": separator,
            "quote": self.quote,
            "encoding": self.encoding,
            "sheet": self.sheet,
        }
        found |= {
            "sheet": self.sheet,
            "header": self.header,
            "missing": missing(self.missing),
            "dates": self.dates,
            "decimal": {",": "comma", ".": "point"}.get(self.decimal or "", self.decimal),
        }
        found |= {"skip": self.skip, "columns": joined(self.columns), "value_labels": self.value_labels}
        found["verbatim"] = True if self.verbatim == ["*"] else joined(self.verbatim)
        return {key: value for key, value in found.items() if value is not None}


@dataclass(frozen=True)
class MemoryReadingOptions(ReadingOptions):
    """The same for commands that need the table in memory: they take what else there is to refuse it by name."""

    place: Annotated[Texts, typer.Option("--input", hidden=True)] = None
    table: Annotated[str | None, typer.Option("--table", hidden=True)] = None
    stream: Annotated[bool | None, typer.Option("--stream/--no-stream", hidden=True)] = None


@dataclass(frozen=True)
class ColumnOptions:
    """What the columns are to a measure or a check."""

    quasi: Annotated[Texts, QUASI] = None
    sensitive: Annotated[Texts, option("--sensitive", "Sensitive columns.", ROLES, "A,B")] = None
    hierarchy: Annotated[Texts, HIERARCHY] = None

    def keys(self, faults: list[str]) -> dict[Key, Any]:
        """The same as keys of a policy file."""
        found: dict[Key, Any] = {("roles", "quasi"): names(self.quasi), ("roles", "sensitive"): joined(self.sensitive)}
        return found | hierarchies(self.hierarchy, faults)

    def recipes(self) -> dict[str, Any] | None:
        """The hierarchies; all faults at once."""
        return recipes(self.hierarchy)


@dataclass(frozen=True)
class LevelOptions(ColumnOptions):
    """The same for commands that generalise."""

    levels: Annotated[
        Texts, option("--levels", "Least and greatest level, age=1:3; may be repeated.", ROLES, "A=N:N")
    ] = None

    def keys(self, faults: list[str]) -> dict[Key, Any]:
        found = super().keys(faults)
        for column, text in pairs(self.levels, "--levels", faults).items():
            found["levels", column] = level_range(text)
        return found


@dataclass(frozen=True)
class DecidedOptions(ColumnOptions):
    """What becomes of every column."""

    identifying: Annotated[Texts, option("--identifying", "Columns to drop.", ROLES, "A,B")] = None
    insensitive: Annotated[Texts, option("--insensitive", "Columns to release as they are.", ROLES, "A,B")] = None
    rest: Annotated[
        str | None,
        option("--rest", "Columns without a role that look telling: refuse (default), release.", ROLES, "NAME"),
    ] = None

    def keys(self, faults: list[str]) -> dict[Key, Any]:
        return super().keys(faults) | {
            ("roles", "identifying"): joined(self.identifying),
            ("roles", "insensitive"): joined(self.insensitive),
            ("roles", "rest"): self.rest,
        }


@dataclass(frozen=True)
class WeighedOptions(DecidedOptions):
    """The same where rows may have weights."""

    weight: Annotated[str | None, WEIGHT] = None

    def keys(self, faults: list[str]) -> dict[Key, Any]:
        return super().keys(faults) | {("roles", "weight"): self.weight}


@dataclass(frozen=True)
class RoleOptions(LevelOptions, WeighedOptions):
    """The role of every column, for commands that generalise and release."""

    normalise: Annotated[
        Texts,
        option("--normalise", "Sensitive columns to bring to one spelling per value; * for all.", ROLES, "A,B"),
    ] = None

    drop_missing: Annotated[bool, option("--drop-missing", "Leave rows out that lack a quasi-identifier.", ROLES)] = (
        False
    )
    drop_missing_in: Annotated[
        Texts, option("--drop-missing-in", "Leave rows out that lack a value of these columns.", ROLES, "A,B")
    ] = None

    def keys(self, faults: list[str]) -> dict[Key, Any]:
        return super().keys(faults) | {
            ("roles", "drop_missing"): joined(self.drop_missing_in) or self.drop_missing or None,
            ("roles", "normalise"): True if self.normalise == ["*"] else joined(self.normalise),
        }


@dataclass(frozen=True)
class PromiseOptions:
    """What is asked of the equivalence classes."""

    k: Annotated[int | None, option("--k", "Least number of rows that look alike.", PROMISES, "N")] = None
    require: Annotated[
        Texts, option("--require", 'As "entropy-l-diversity disease 3"; may be repeated.', PROMISES, "MODEL")
    ] = None

    def models(self, faults: list[str], population: str | None = None) -> list[dict[str, Any]]:
        """The same as tables of a policy file; those that count a population are given that."""
        return models(self.k, self.require or (), faults, population)


@dataclass(frozen=True)
class SyntheticOptions:
    """What is known of a synthetic table, which its folder says itself."""

    synthetic: Annotated[bool, option("--synthetic", "The rows were drawn from a model, by any tool.", MEASURES)] = (
        False
    )
    holdout: Annotated[
        Path | None, option("--holdout", "People like those, whom that model never saw.", MEASURES, "FILE")
    ] = None


@dataclass(frozen=True)
class ReleaseOptions:
    """Where a release goes, and in what form."""

    output: Annotated[str | None, output("Folder of the release.", "FOLDER")] = None
    format: Annotated[
        str | None, option("--format", "csv (default; parquet for streamed Parquet), tsv, xlsx.", WRITING, "NAME")
    ] = None
    overwrite: Annotated[bool | None, option("--overwrite/--no-overwrite", "Replace an earlier release.", WRITING)] = (
        None
    )
    order: Annotated[
        str | None, option("--order", "Of the rows: canonical (default), random, input.", WRITING, "NAME")
    ] = None
    internal_report: Annotated[
        str | None,
        option(
            "--internal-report", "Also compare with the original, in this file outside of the release.", WRITING, "FILE"
        ),
    ] = None
    language: Language = None

    def keys(self) -> dict[Key, Any]:
        """The same as keys of a policy file."""
        found: dict[Key, Any] = {("output", "path"): self.output, ("about", "language"): self.language}
        names = ("format", "overwrite", "order", "internal_report")
        return found | {("output", name): getattr(self, name) for name in names}


@dataclass(frozen=True)
class DocumentOptions:
    """A file for the document that --json prints."""

    output: Annotated[Path | None, output("Also write the JSON document here.", "FILE")] = None
    overwrite: Annotated[bool, option("--overwrite", "Replace that file.", WRITING)] = False


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """A command with the fields of its groups, which are dataclasses of options, as options of their own."""
    own = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}
    flat: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name not in groups:
            flat.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(groups[name], include_extras=True)
        flat += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in fields(groups[name])
        ]

    @wraps(command)
    def run(**given: Any) -> int:
        made = {name: group(**{f.name: given.pop(f.name) for f in fields(group)}) for name, group in groups.items()}
        return command(**given, **made)

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run


def most(max_cells: int | None) -> dict[str, Any]:
    """--max-cells as a keyword, where it is given."""
    return {} if max_cells is None else {"max_cells": max_cells}


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
    from sfumato.policyfile.tables import FLAGS, Places, anchored

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
            if policy and path in (("output", "path"), ("output", "internal_report")):
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
    from sfumato.policyfile.tables import SearchTable

    for key in [key for key in table if key not in SearchTable.model_fields]:
        del table[key]
    table.update(method)


def _lay_over(tables: dict[str, Any], require: Sequence[Mapping[str, Any]]) -> dict[Key, str]:
    """Put the models of the flags in place of, or after, those of the file."""
    written = tables.get("require", [])
    if not require or not isinstance(written, list):
        return {}
    same = set(map(_about, require))
    kept = [item for item in written if not isinstance(item, dict) or _about(item) not in same]
    tables["require"] = [*kept, *map(dict, require)]
    plain = [item["model"] == "k-anonymity" and "quasi" not in item for item in require]
    flags = ["--k" if k else f"--require {item['model']}" for item, k in zip(require, plain, strict=True)]
    return {("require", len(kept) + i): flag for i, flag in enumerate(flags)}


def _about(item: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a model is about: one of the flags takes the place of one of the file about the same."""
    quasi = item.get("quasi")
    return item.get("model"), item.get("attribute"), frozenset(map(str, quasi)) if isinstance(quasi, list) else quasi


POPULATION_HINT = "name its table with --population"


def models(
    k: int | None, require: Sequence[str], faults: list[str], population: str | None = None
) -> list[dict[str, Any]]:
    """The models of --k and --require, as tables of a policy file; those that count one are given the population.

    >>> models(10, ["entropy-l-diversity disease 3"], [])
    [{'model': 'k-anonymity', 'k': 10}, {'model': 'entropy-l-diversity', 'attribute': 'disease', 'l': 3}]
    """
    from sfumato.criteria import parse
    from sfumato.errors import PolicyError

    found: list[dict[str, Any]] = [] if k is None else [{"model": "k-anonymity", "k": k}]
    for text in require:
        try:
            if population is None and counting(text, "-") != text and text.split(" ")[0] == "delta-presence":
                raise PolicyError("delta-presence counts the people of a population", hint=POPULATION_HINT)
            criterion = parse(text if population is None else counting(text, population))
            own = criterion.of_population
            kind = "distribution" if own is not None and own.drawn else "population"
            beside = {} if own is None else {kind: str(Path(own.data).absolute())}
            found.append({"model": criterion.model, **criterion.parameters(), **beside})
        except PolicyError as error:
            faults += [f"--require: {fault}" for fault in error.faults or (str(error),)]
    return found


def counting(text: str, population: str) -> str:
    """A line of --require with the population, where its model counts one and has none.

    >>> counting("delta-presence 0 0.5", "voters.csv"), counting("k-map 20 0.1", "voters.csv")
    ('delta-presence population=voters.csv 0 0.5', 'k-map 20 0.1')
    """
    name, *rest = text.split(" ")
    given = any(word.startswith("population=") for word in rest)
    counts = name == "delta-presence" or (name == "k-map" and len([word for word in rest if word]) == 1)
    return " ".join([name, *([shlex.quote(f"population={population}")] if counts and not given else []), *rest])


def named(text: str | None, key: str, table: Mapping[str, Any], flag: str, faults: list[str]) -> dict[str, Any] | None:
    """A variant written as "name value ... key=value ...", as a table of a policy file, or None and a fault."""
    if text is None:
        return None
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
    return [from_flag(text) for text in texts]


def joined(texts: Sequence[str] | None) -> list[str] | None:
    """The same for roles that are one list: several flags add up."""
    rows = names(texts)
    return None if rows is None else [name for row in rows for name in row]


def missing(texts: Sequence[str] | None) -> list[str] | dict[str, list[str]] | None:
    """Texts that are missing values, in every column or by column.

    >>> missing(["N/A,?"]), missing(["age=-9,99", "sex=9"])
    (['N/A', '?'], {'age': ['-9', '99'], 'sex': ['9']})
    """
    by_column = [re.fullmatch(r'(?:"([^"]+)"|([^=",]+))=(.*)', text, re.DOTALL) for text in texts or ()]
    if not any(by_column):
        return joined(texts)
    if not all(by_column):
        raise typer.BadParameter("give texts of every column, or those of single columns", param_hint="'--missing'")
    found: dict[str, list[str]] = {}
    for one in by_column:
        if one is not None:
            found.setdefault((one[1] or one[2]).strip(), []).extend(joined([one[3]]) or [""])
    return found


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
    from sfumato.policyfile.tables import Faults, Places, make_recipe

    found: dict[Key, Any] = {}
    for column, text in pairs(texts, "--hierarchy", faults).items():
        key = "hierarchies", column
        told = Faults(Places(given={key: f"--hierarchy {column}"}))
        found[key] = make_recipe(text, Path(), told, *key)
        faults += told
    return found


def recipes(texts: Sequence[str] | None) -> dict[str, Any] | None:
    """The hierarchies of --hierarchy; all faults at once."""
    from sfumato.errors import PolicyError

    faults: list[str] = []
    found = {str(key[1]): recipe for key, recipe in hierarchies(texts, faults).items()}
    if faults:
        raise PolicyError("the hierarchies make no sense:", faults)
    return found or None


def level_range(text: str) -> list[object]:
    """`1:3` as [1, 3], `2` as [2, 2]; what is no number stays text and is told when the policy is checked."""
    low, colon, high = text.partition(":")
    return [scalar(low), scalar(high if colon else low)]


def _typed(text: str, key: str) -> Any:
    """A value of a parameter: a number, true or false, else text; weights are written age:2,zip:1."""
    if key == "weights":
        return {name.strip(): scalar(share) for name, _, share in (item.rpartition(":") for item in text.split(","))}
    return scalar(text)


def account(
    table: str, ledger: str | None, budget: str | None, delta: str | None, dataset: str | None, faults: list[str]
) -> dict[tuple[str | int, ...], Any]:
    """The account that a private release is charged to, as a key of a table of a policy file."""
    if (ledger is None) != (budget is None) or (ledger is None and (delta or dataset)):
        faults.append("--ledger and --budget are given together, and --budget-delta and --dataset with them")
    if ledger is None or budget is None:
        return {}
    place = ledger if "://" in ledger else str(Path(ledger).absolute())
    own = {"ledger": place, "epsilon": budget, "delta": delta, "dataset": dataset}
    return {(table, "account"): {key: value for key, value in own.items() if value is not None}}
