"""sfumato utility: what a release is still good for, beside the table it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, publish, refuse_existing, say, say_measures, say_table
from sfumato.cli.options import MEASURES, ROLES, option
from sfumato.core.wording import number

ERRORS = ("mean-squared-error", "mean-absolute-error", "mean-variation")


def utility(
    tables: Annotated[
        options.Texts,
        typer.Argument(
            help="The table behind the release, then the folder of the release or a released file.",
            metavar="ORIGINAL... RELEASED",
        ),
    ] = None,
    *,
    quasi: Annotated[options.Texts, options.QUASI] = None,
    target: Annotated[str | None, option("--target", "A column to predict from the others.", ROLES, "A")] = None,
    key: Annotated[str | None, option("--key", "A column in both that names each record once.", ROLES, "A")] = None,
    hierarchy: Annotated[options.Texts, options.HIERARCHY] = None,
    k: Annotated[int | None, option("--k", "The class size asked for, for c-avg.", MEASURES, "N")] = None,
    queries: Annotated[
        int, option("--queries", "Random counts to compare: 200 (default); 0 for none.", MEASURES, "N")
    ] = 200,
    dimension: Annotated[int, option("--dimension", "Columns of a contingency table: 2 (default).", MEASURES, "N")] = 2,
    seed: Annotated[int, option("--seed", "Of queries and learning: 0 (default).", MEASURES, "N")] = 0,
    drawn: options.SyntheticOptions,
    max_cells: options.MaxCells = None,
    document: options.DocumentOptions,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Measure what a release is still good for: information losses, errors, distributions, queries, learning.

    Rows are compared in order. Where those of a release are fewer or in another order, a note says what is left out.

    A column of --key tells which row is which.

    Several files, a pattern or a folder are streamed; with --input the original is named so, and RELEASED stands alone.
    """
    import sfumato as sf
    from sfumato.core import compiled as kernels

    *original, released = tables or [""]
    if not released or not (original or reading.place):
        raise typer.BadParameter("give ORIGINAL (or --input) and RELEASED", param_hint="'RELEASED'")
    refuse_existing(document.output, document.overwrite)
    with Progress("reading") as progress, notes() as told:
        before = inputs.measured(inputs.named(original, reading, what="ORIGINAL"))
        after, roles = inputs.released(released, reading)
        kernels.warn_of_compiling(progress)
        found = sf.utility(
            before,
            after,
            quasi=options.joined(quasi) or roles.get("quasi"),
            target=target,
            key=key,
            hierarchies=options.recipes(hierarchy),
            k=roles.get("k") if k is None else k,
            queries=queries,
            dimension=dimension,
            seed=seed,
            synthetic=drawn.synthetic,
            holdout=inputs.table(drawn.holdout, reading.reader),
            progress=progress,
            **options.most(max_cells),
        )
    publish(found, document, [*told, *found["notes"]], as_json, lambda: _show(found))
    return 0


def _show(found: Mapping[str, Any]) -> None:
    rows = found["rows"]
    how = "compared row by row" if rows["aligned"] else "compared by their distributions"
    say(f"{number(rows['original'])} original and {number(rows['released'])} released rows, {how}")
    measures = {measure["name"]: measure for measure in found["measures"]}
    parts = {
        "synthetic rows beside those of people": list(found.get("synthetic", {}).get("utility", ())),
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
            say_measures(those)
        if title == "distributions" and found["distributions"]:
            _show_columns(found["distributions"]["per_column"])
    if found["numbers"]:
        _show_numbers(found["numbers"], measures)


def _show_columns(columns: Mapping[str, Mapping[str, float | None]]) -> None:
    head = ["total-variation", "hellinger", "jensen-shannon", "kolmogorov-smirnov", "wasserstein"]
    rows = [[name, *(number(of.get(distance), "-") for distance in head)] for name, of in columns.items()]
    say_table(["column", *head], rows, right=range(1, 6))


def _show_numbers(numbers: Mapping[str, Any], measures: Mapping[str, Any]) -> None:
    say("numeric columns")
    head = ["values", "means", "covariances", "correlations"]
    rows = [[error, *(number(numbers[error][what], "-") for what in head)] for error in ERRORS if error in numbers]
    say_table(["error of", *head], rows, right=range(1, 5))
    say_measures([measures[name] for name in ("il1s", "eigenvalues") if name in measures])
