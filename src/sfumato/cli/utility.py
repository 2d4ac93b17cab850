"""sfumato utility: what a release is still good for, beside the table it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sfumato.cli import figures, options
from sfumato.cli.console import number, say, say_json, say_table
from sfumato.cli.options import ROLES, option

MEASURES = "Measures"
ERRORS = ("mean-squared-error", "mean-absolute-error", "mean-variation")


def utility(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help="The table behind the release, then the folder of the release or a released file.",
            metavar="ORIGINAL... RELEASED",
        ),
    ] = None,
    quasi: options.Quasi = None,
    target: Annotated[
        str | None, option("--target", help="A column to predict from the others.", panel=ROLES, shape="A")
    ] = None,
    key: Annotated[
        str | None,
        option("--key", help="A column in both that names each record once.", panel=ROLES, shape="A"),
    ] = None,
    hierarchy: options.Hierarchies = None,
    k: Annotated[
        int | None, option("--k", help="The class size asked for, for c-avg.", panel=MEASURES, shape="N")
    ] = None,
    queries: Annotated[
        int, option("--queries", help="Random counts to compare: 200 (default); 0 for none.", panel=MEASURES, shape="N")
    ] = 200,
    dimension: Annotated[
        int, option("--dimension", help="Columns of a contingency table: 2 (default).", panel=MEASURES, shape="N")
    ] = 2,
    seed: Annotated[int, option("--seed", help="Of queries and learning: 0 (default).", panel=MEASURES, shape="N")] = 0,
    max_cells: options.MaxCells = None,
    output: figures.Output = None,
    overwrite: figures.Overwrite = False,
    place: options.Input = None,
    table: options.Table = None,
    stream: options.Stream = None,
    separator: options.Separator = None,
    quote: options.Quote = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    as_json: options.Json = False,
) -> int:
    """Measure what a release is still good for: information losses, errors, distributions, queries, learning.

    Rows are compared in order. Where those of a release are fewer or in another order, a note says what is left out.

    A column of --key tells which row is which.

    Several files, a pattern or a folder are streamed; with --input the original is named so, and RELEASED stands alone.
    """
    import sfumato as sf
    from sfumato.cli import kept, sources
    from sfumato.cli import options as flags
    from sfumato.cli.console import Progress, notes
    from sfumato.core import compiled as kernels

    *original, released = tables or [""]
    if not released or not (original or place):
        raise typer.BadParameter("give ORIGINAL (or --input) and RELEASED", param_hint="'RELEASED'")
    figures.check_output(output, overwrite)
    given = figures.chosen(options.reading(separator, quote, encoding, header, sheet))
    with Progress("reading") as progress, notes() as told:
        named = sources.named(original, place, table, stream, what="ORIGINAL", policies=False)
        before = sources.measured(named, given)
        after, roles = kept.released(released, place, stream, given)
        kernels.warn_of_compiling(progress)
        progress("measuring", None)
        most: dict[str, Any] = {} if max_cells is None else {"max_cells": max_cells}
        found = sf.utility(
            before,
            after,
            quasi=flags.joined(quasi) or roles.get("quasi"),
            target=target,
            key=key,
            hierarchies=figures.recipes(hierarchy),
            k=roles.get("k") if k is None else k,
            queries=queries,
            dimension=dimension,
            seed=seed,
            **most,
        )
    figures.write(found, output, overwrite)
    if as_json:
        say_json(found)
        return 0
    figures.tell([*told, *found["notes"]])
    _show(found)
    if output is not None:
        say(f"written: {output}")
    return 0


def _show(found: Mapping[str, Any]) -> None:
    rows = found["rows"]
    how = "compared row by row" if rows["aligned"] else "compared by their distributions"
    say(f"{number(rows['original'])} original and {number(rows['released'])} released rows, {how}")
    measures = {measure["name"]: measure for measure in found["measures"]}
    parts = {
        f"information loss of {', '.join(found['quasi'])}": list(found["loss"]),
        "categories": list(found["categories"]),
        "distributions": ["total-variation"],
        "queries": ["query-error"],
        "learning": ["learning"],
    }
    for title, names in parts.items():
        those = [measures[name] for name in names if name in measures]
        if those:
            say(title)
            figures.say_measures(those)
        if title == "distributions":
            _show_columns(found["distributions"]["per_column"])
    if found["numbers"]:
        _show_numbers(found["numbers"], measures)


def _show_columns(columns: Mapping[str, Mapping[str, float | None]]) -> None:
    head = ["total-variation", "hellinger", "jensen-shannon", "kolmogorov-smirnov", "wasserstein"]
    rows = [[name, *(_short(of.get(distance)) for distance in head)] for name, of in columns.items()]
    say_table(["column", *head], rows, right=range(1, 6))


def _show_numbers(numbers: Mapping[str, Any], measures: Mapping[str, Any]) -> None:
    say("numeric columns")
    head = ["values", "means", "covariances", "correlations"]
    rows = [[error, *(_short(numbers[error][what]) for what in head)] for error in ERRORS if error in numbers]
    say_table(["error of", *head], rows, right=range(1, 5))
    figures.say_measures([measures[name] for name in ("il1s", "eigenvalues") if name in measures])


def _short(value: float | None) -> str:
    return "-" if value is None else figures.figure(value)
