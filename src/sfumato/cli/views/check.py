"""sfumato views check: what a set of views gives away together, before one more is published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import inputs, options
from sfumato.cli.console import Progress, notes, say, say_json, say_table, say_wrapped
from sfumato.cli.options import option
from sfumato.core.wording import count, number, quoted

if TYPE_CHECKING:
    from sfumato.fragments.views import ViewsFinding
    from sfumato.fragments.views.check import Assessment

LIMITS = "Limits"
FOUND = "Finding"


def check(
    file: Annotated[Path, typer.Argument(help="A file of views (.toml).", metavar="FILE")],
    *,
    change: Annotated[
        bool, typer.Option("--change/--no-change", help="Look for the least change that makes them safe.")
    ] = True,
    rows: Annotated[
        bool, option("--rows", "Name the rows (from 0) of those who keep too few values; for the owner alone.", FOUND)
    ] = False,
    steps: Annotated[int, option("--steps", "Integer programs of the exact search: 2000.", LIMITS, "N")] = 2000,
    seconds: Annotated[float, option("--seconds", "Time of the exact search: 60.", LIMITS, "N")] = 60,
    reading: options.ReadingOptions,
    as_json: options.Json = False,
) -> int:
    """Check what several views of one private table give away together: which views join, how many values everybody
    keeps, and the least change that keeps the association hidden. Exit code 1 where the views are not shown to be safe.

    The file names the private table, the association, k, the [[view]] tables and each known [[dependency]].
    """
    import sfumato as sf
    from sfumato.fragments.views.file import read_views

    asked = read_views(file)
    with Progress("checking"), notes():
        table = inputs.table(asked.table, reading.reader)
        finding = sf.check_views(table, **asked.keywords(), change=change, rows=rows, steps=steps, seconds=seconds)
    if as_json:
        say_json(finding.plain())
    else:
        _show(finding)
    return 0 if finding.safe else 1


def _show(finding: ViewsFinding) -> None:
    who, what = finding.association
    rows = []
    for view, alone in zip(finding.views, finding.alone, strict=True):
        shown = ", ".join(view.columns) + (" (distinct)" if view.distinct else "")
        rows.append([view.name, shown, view.where or "all rows", alone.verdict])
    say_table(["view", "columns", "where", "alone"], rows)
    say()
    for one in finding.joins:
        say_wrapped(f'"{one.views[0]}" and "{one.views[1]}" join on {quoted(one.columns)}')
    for known in finding.dependencies:
        say_wrapped(f"known to everybody: {known}")
    say(f'"{who}" with "{what}", k = {finding.k}: {finding.verdict}')
    for line in _lines(finding.overall, finding.k, what):
        say_wrapped(line)
    if finding.rows is not None:
        say_wrapped(f"rows of those below k, from 0: {', '.join(map(str, finding.rows)) or 'none'}")
    if finding.change is not None:
        certain = "the least change that makes them safe" if finding.change.least else "a change that makes them safe"
        say_wrapped(f"{certain}: {'; '.join(finding.change.steps)}")


def _lines(found: Assessment, k: int, what: str) -> list[str]:
    if found.least is None:
        return [found.reason]
    lines = []
    if found.below:
        lines.append(f"{count(found.below, 'person', 'people')} of {number(found.people)} keep fewer than {k} values")
    if found.undecided:
        lines.append(f"not decided: {count(found.undecided, 'person', 'people')}; {found.reason}")
    if found.least == found.most:
        lines.append(f'the least that anybody keeps: {count(found.least, "value")} of "{what}"')
    else:
        lines.append(f'everybody of {number(found.people)} keeps {count(found.least, "value")} of "{what}" or more')
    return lines
