"""Measures of an out-of-core table: what is known of it, what is left out, and what is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.engines.tables import store_of
from sfumato.errors import PolicyError
from sfumato.measures.measure import Summary
from sfumato.measures.source import MeasuredTable
from sfumato.measures.table import LOAD, Table, TupleCounts, refuse
from sfumato.release.release import Release

NO_ORDER = (
    "it is not known which released row came from which original row, for an out-of-core table has no order "
    "of rows: what compares row by row is left out"
)
NO_NUMBERS = "the most exposed rows are not named: rows of an out-of-core table have no numbers"
PROFILES = ("hipaa", "gdpr")  # those that look at rows or at every cell


def in_memory(data: Any, what: str) -> Any:
    """The table as it is, or a PolicyError that names what cannot be done with an out-of-core one."""
    stored = isinstance(data, Release) and not data.in_memory
    if stored or isinstance(data, TupleCounts) or store_of(data) is not None:
        refuse(what)
    return data


def refuse_risks(household: str | None, profile: str | None, original: Any) -> None:
    """Raise a PolicyError for a risk that was asked for and needs rows."""
    if household is not None:
        refuse("household risk")
    if profile in PROFILES:
        refuse(f'profile "{profile}"')
    if original is not None:
        refuse("interval disclosure, which compares row by row with the original,")


def fitting(
    table: TupleCounts, names: Sequence[str], sensitive: Sequence[str], weight: str | None, named: Sequence[str | None]
) -> tuple[list[str], str | None, list[str]]:
    """The sensitive columns and the weight of a release that can be counted with its classes, and notes on the others.

    A release is measured without a column that cannot be counted; who `named` it gets an error.
    """
    beside = [name for name in (*sensitive, weight) if isinstance(name, str) and name not in names]
    if len(beside) == 1 and beside[0] in named:
        table.entries([*names, *beside])  # this one count answers for the classes, too
    lost = [name for name in beside if name not in named and not table.holds([*names, name])]
    notes = [
        f'"{name}" is left out: with the quasi-identifiers it has too many different combinations to be held in memory'
        for name in lost
    ]
    return [name for name in sensitive if name not in lost], None if weight in lost else weight, notes


def utility_of_counts(
    original: Table,
    source: MeasuredTable,
    hierarchies: Mapping[str, Any],
    quasi: Any,
    rows: Any,
    key: Any,
    **asked: Any,
) -> dict[str, Any]:
    """The summary of utility where the original, the release or both are out-of-core."""
    from sfumato.measures.utility import utility_summary
    from sfumato.measures.utility.pair import counted_pair

    if rows is not None or key is not None:
        what = "rows and key say which row came from which, and an out-of-core table has no rows to compare"
        raise PolicyError(what, hint=LOAD)
    columns = source.columns(quasi)
    pair = counted_pair(original, source.table, hierarchies, columns or ())
    for name in (*(columns or ()), asked["target"]):
        if name in pair.too_many:
            pair.on([name])  # says that they are too many
    found = utility_summary(pair, quasi=columns, **asked)
    notes = []
    if source.came_from not in (None, pair.original_rows):
        made = f"the release was made of a table of {source.came_from} rows"
        notes.append(f"{made}, and this one has {pair.original_rows}")
    return Summary(found | {"notes": [*notes, NO_ORDER, *found["notes"]]})
