"""What the commands that measure share: tables to read, measures in sentences, and the document in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from sfumato.cli.console import complain, say, say_json
from sfumato.cli.options import WRITING, option

Output = Annotated[
    Path | None, option("-o", "--output", help="Also write the JSON document here.", panel=WRITING, shape="FILE")
]
Overwrite = Annotated[bool, option("--overwrite", help="Replace that file.", panel=WRITING, shape="")]

TEXT, EXCEL = ("csv", "tsv", "tab", "txt", "data", "dat"), ("xlsx", "xlsm")


def chosen(reader: Mapping[Any, object]) -> dict[str, Any]:
    """The options for reading that were given, as keywords of `read`."""
    return {str(key[1]): value for key, value in reader.items() if value is not None}


def table(path: Path, given: Mapping[str, Any], *, other: bool = False) -> Any:
    """A data file as a frame, or the folder of a release as it is.

    Options that the format of an `other` file does not know are meant for the first one.
    """
    import sfumato as sf
    from sfumato.cli.kept import FLAT, is_flat
    from sfumato.errors import PolicyError

    if is_flat(path):
        hint = "name one file of it, or a sample that fits"
        raise PolicyError(f"the table {path} is needed in memory", got=FLAT, hint=hint)
    return path if path.is_dir() else sf.read(path, **(fitting(path, given) if other else given))


def fitting(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options for reading that the format of a file knows."""
    ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    fits = {"header", "sheet"} if ending in EXCEL else {"separator", "quote", "encoding", "header"}
    fits = fits if ending in TEXT + EXCEL else set()
    return {key: value for key, value in given.items() if key in fits}


def recipes(texts: Sequence[str] | None) -> dict[str, Any] | None:
    """The hierarchies of --hierarchy; all faults at once."""
    from sfumato.cli import options as flags
    from sfumato.errors import PolicyError
    from sfumato.hierarchies import parse

    faults: list[str] = []
    found = {str(key[1]): value for key, value in flags.hierarchies(texts, faults).items()}
    if faults:
        raise PolicyError("the hierarchies make no sense:", faults)
    return {name: parse(recipe) for name, recipe in found.items()} or None


def check_output(output: Path | None, overwrite: bool) -> None:
    """Refuse before the work, not after it."""
    from sfumato.errors import OutputError

    if output is not None and output.exists() and not overwrite:
        raise OutputError(f'the file "{output}" exists already', hint="choose another name, or give --overwrite")


def write(document: Mapping[str, Any], output: Path | None, overwrite: bool) -> None:
    """The document that --json prints, in a file."""
    if output is None:
        return
    from sfumato.engines.atomic import atomic_file

    with (
        atomic_file(output, overwrite) as part,
        part.open("w", encoding="utf-8", newline="\n") as file,
        redirect_stdout(file),
    ):
        say_json(document)


def tell(told: Iterable[str]) -> None:
    """Notes, on standard error."""
    for note in told:
        complain(f"note: {note}")


def say_measures(measures: Iterable[Mapping[str, Any]]) -> None:
    """Two lines per measure: the figure with what it can be, and the sentence."""
    for measure in measures:
        say(f"  {measure['name']}: {figure(measure['value'])} ({about(measure)})")
        say(f"      {measure['sentence']}")


def about(measure: Mapping[str, Any]) -> str:
    """The range of a measure, and its interval and baseline where it has one.

    >>> about({"range": [0.0, 1.0], "interval": [0.1, 0.3], "baseline": 0.05})
    '0 to 1; 95 % interval 0.1 to 0.3; baseline 0.05'
    """
    low, high = measure["range"]
    words = [f"{figure(low)} to {figure(high)}" if high is not None else f"{figure(low)} or more"]
    if measure["interval"] is not None:
        words.append("95 % interval {} to {}".format(*map(figure, measure["interval"])))
    if measure["baseline"] is not None:
        words.append(f"baseline {figure(measure['baseline'])}")
    return "; ".join(words)


def figure(value: float | None) -> str:
    """A figure as people read it: four digits that tell, whole numbers in full.

    >>> figure(0.0681559), figure(3.31543e-05), figure(400000000.0), figure(1592.909)
    ('0.06816', '0.00003315', '400,000,000', '1,592.9')
    """
    if value is None:
        return "not defined"
    if value == round(value) and abs(value) < 1e15:
        return f"{round(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    short = f"{value:.4g}"
    return short if abs(value) < 1e-6 else format(Decimal(short), "f")


def percent(share: float | None) -> str:
    """A share as people read it.

    >>> percent(0.0563), percent(0.00005), percent(0.0)
    ('5.6%', '0.005%', '0%')
    """
    if share is None:
        return "-"
    return f"{share:.1%}" if share >= 0.001 else f"{100 * share:.2g}%"
