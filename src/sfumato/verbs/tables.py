"""tabulate and protect: count a table with its totals, and protect it so that nobody stands out in a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core import parameters
from sfumato.core.masked import of_type
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.wording import count
from sfumato.criteria.cells.audit import TableAudit, audit_cells
from sfumato.criteria.cells.published import PublishedCells, infer_dimensions
from sfumato.criteria.sets import set_promise
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.engines.files.read import read
from sfumato.engines.memory.table import enter
from sfumato.engines.tables import engine_of
from sfumato.errors import PolicyError
from sfumato.hierarchies import parse as parse_hierarchy
from sfumato.measures.table import DEFAULT_MAX_CELLS
from sfumato.release.data_files import read_files
from sfumato.release.set_manifest import read_set
from sfumato.tables import CELL_RULES, PROTECTIONS
from sfumato.tables.count import count_table
from sfumato.tables.given import columns_of, contributions, given_table, is_number
from sfumato.tables.insiders import insiders_of
from sfumato.tables.protection import ProtectionProblem
from sfumato.tables.release import CELLS, Known, ProtectedTable, auditor, frequency_of, release_table
from sfumato.tables.rules import MinimumFrequency
from sfumato.tables.rules.model import also_hidden, primary_cells
from sfumato.tables.settle import cell_costs, conflicts, known_least, named_cells
from sfumato.tables.values import VALUE, StatTable, cell_sums, check_names

__all__ = ["audit_table", "protect", "read_table", "tabulate"]

ZEROS = ("publish", "hide")


@cancellable
def tabulate(
    data: Any,
    by: Sequence[str],
    value: str | None = None,
    *,
    hierarchies: Mapping[str, Any] | None = None,
    weight: str | None = None,
    contributor: str | None = None,
    request: str | None = None,
    record: str | None = None,
    largest: int = 3,
    max_cells: int = DEFAULT_MAX_CELLS,
    progress: Progress | None = None,
) -> StatTable:
    """Count rows, or add up a column, by some columns, with all totals; the table is not protected yet.

    Parameters
    ----------
    data: a frame, a dict of lists, the path of a file, a database table, scanned files or a frame of Spark.
    by: the columns that cells are counted by. value: a column of numbers to add up; without it rows are counted.
    hierarchies: how values of a column are part of others, for subtotals; of other columns there is one total.
    weight: a column that says how many rows of the population each stands for. Rules count rows, not weights.
    contributor: a column that says whose each row is, as a firm or a person: what one contributor has in several rows
        of a cell is one contribution. Without it every row is a contributor of its own.
    request: a column of yes and no that says who asked for confidentiality. record: a column that numbers the rows,
        from which each row has a key, under the owner's, for `CellKey`.
    largest: how many of the largest contributions to each cell are kept, for rules that look at them.
    max_cells: how many different combinations of values are held at most. progress: as for `anonymize`.

    Returns
    -------
    A `StatTable`, which its owner alone may see: `data` has every cell, totals under the label "*".

    >>> import sfumato as sf
    >>> sf.tabulate({"sex": ["f", "f", "m"]}, by=["sex"]).data["value"].to_list()
    [3, 2, 1]
    """
    columns = parameters.column_set(by, "by")
    check_names(columns)
    engine = engine_of(data)
    named = [name for name in (value, weight, contributor, request, record) if name is not None]
    parameters.known_columns([*columns, *named], engine.schema())
    if twice := [name for name in named if name in columns]:
        raise PolicyError(f'"{twice[0]}" is counted by, and cannot be counted too', hint="leave it out of by")
    parameters.whole_number(largest, "largest", 2, 100)
    recipes = {
        name: parse_hierarchy(spec) for name, spec in parameters.mapping(hierarchies or {}, "hierarchies").items()
    }
    parameters.known_columns(recipes, columns, "by")
    return count_table(
        engine, columns, value, recipes, weight, contributor, request, record, largest, progress or quiet,
        parameters.max_cells_of(max_cells),
    )  # fmt: skip


def read_table(
    data: Any, *, by: Sequence[str] | None = None, hierarchies: Mapping[str, Any] | None = None
) -> StatTable:
    """A table that was counted elsewhere, to be protected: every cell once, totals under the label "*".

    Parameters
    ----------
    data: a frame, or the path of a file, with the columns that it is counted by and `value`; where rules look at them,
        also `contributors`, of each cell, and `largest_1`, `largest_2` and so on, its largest contributions.
    by: the columns that it is counted by; all others unless given.
    hierarchies: of columns with subtotals the label above each, as {"town": {"Rome": "Italy"}}, or the path of a file
        with a label and the one above it per line.

    >>> import sfumato as sf
    >>> table = sf.read_table({"sex": ["*", "f", "m"], "value": [10, 6, 4]})
    >>> table.value.tolist()
    [10.0, 6.0, 4.0]
    """
    return given_table(_entered(data), by, _edges(hierarchies))


@cancellable
def protect(
    table: StatTable,
    rules: Any,
    method: Any = "exact",
    *,
    cost: Any = "value",
    zeros: str = "publish",
    publish: Iterable[Mapping[str, Any]] | None = None,
    hide: Iterable[Mapping[str, Any]] | None = None,
    coalition: int = 1,
    flags: bool = False,
    progress: Progress | None = None,
) -> ProtectedTable:
    """Protect a table: find its unsafe cells by rules, and hide or change as little as keeps them from being computed.

    Parameters
    ----------
    table: what `tabulate` gave. rules: a rule, or several, as `sf.MinimumFrequency(3)` or `sf.PPercent(10)`.
    method: "exact" (unless given), or another of `sfumato list protections`, or a value of theirs.
    cost: what hiding a cell costs: its "value" (unless given), "log-value", "rows" or "cells", 1 for each; or an array
        of the table's shape. A total costs more than all cells inside together.
    zeros: "publish" (unless given) never hides an empty cell, so that everybody knows of a hidden count that it is 1 at
        least, which is reckoned with; "hide" may hide them.
    publish, hide: cells that must be published, or hidden: a list of labels by column, each of which means all cells
        with them, as [{"sex": "*"}].
    coalition: contributors who are all of a cell know it, and may not learn another; how many together, 0 for none.
    flags: publish which cells are unsafe and which are hidden for their sake. Everybody then knows of an unsafe count
        that it is small, which is reckoned with, and hides more; of people and `MinimumFrequency` alone.
    progress: as for `anonymize`.

    Returns
    -------
    A `ProtectedTable`: `data` is every cell with its status, `audit()` what attackers can compute, `save` writes what
    leaves.

    Raises
    ------
    Infeasible: no pattern protects the unsafe cells, or those that must be published keep it from doing so.

    >>> import sfumato as sf
    >>> rows = {"sex": ["f"] * 5 + ["m"] * 4, "ill": ["no"] * 4 + ["yes"] + ["no"] * 2 + ["yes"] * 2}
    >>> safe = sf.protect(sf.tabulate(rows, by=["sex", "ill"]), rules=sf.MinimumFrequency(2))
    >>> safe.data["status"].value_counts().sort("count")["count"].to_list(), safe.audit().exposed
    ([1, 3, 5], 0)
    """
    if not isinstance(table, StatTable):
        raise PolicyError("protect takes a table of counts or sums", got=type(table).__name__,
                          hint="sf.tabulate(data, by=[...]) makes one")  # fmt: skip
    chosen = _rules(rules)
    way = PROTECTIONS.value(method)
    parameters.one_of(zeros, "zeros", ZEROS)
    parameters.whole_number(coalition, "coalition", 0, 10)
    parameters.yes_or_no(flags, "flags")
    if not way.hides and (hide is not None or publish is not None):
        what = f"{PROTECTIONS.name_of(way)} publishes every cell, and hides none"
        raise PolicyError(what, hint="leave publish and hide out, or suppress cells, as by exact")
    primary = primary_cells(chosen, table)
    must_hide = named_cells(table, hide, "hide")
    must_publish = named_cells(table, publish, "publish")
    conflicts(must_publish, primary.cells.ravel() | must_hide, table.by)
    zeros_hidden = zeros == "hide" or primary.zeros or bool((must_hide & (table.count.ravel() == 0)).any())
    primary = also_hidden(primary, must_hide, table)
    frequency = frequency_of(chosen) if flags and table.people else None
    known = Known(table, primary, known_least(table, zeros_hidden), coalition, frequency)
    if flags and way.hides:
        _check_flags(chosen, known)
    candidate = ~must_publish & (zeros_hidden | (table.count.ravel() > 0))
    problem = ProtectionProblem(
        table, primary, cell_costs(table, cost), candidate, must_hide, known.lower, known.upper, auditor(known),
        insiders_of(table, cell_sums(table.dimensions), known.lower, coalition), progress or quiet,
    )  # fmt: skip
    return release_table(problem, known, chosen, way, str(PROTECTIONS.name_of(way)), flags)


@cancellable
def audit_table(
    data: Any,
    *,
    by: Sequence[str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    whole: bool | None = None,
    least: float = 0,
    progress: Progress | None = None,
) -> TableAudit:
    """What whoever has a published table can compute of its hidden cells: of a table that any tool protected.

    Parameters
    ----------
    data: the published table: a frame, or the path of a file, with the columns that it is counted by, `value` (empty
        where hidden) and perhaps `status`; every cell, totals under the label "*". Its owner can add `contributors`, of
        each cell, and `largest_1` and so on, its largest contributions, so that contributors are tried too.
    by: the columns that it is counted by; all others than `value` and `status` unless given.
    hierarchies: of columns with subtotals, the label above each, as {"town": {"Rome": "Italy"}}.
    whole: whether cells are natural numbers; unless given, whether those that are published are.
    least: what hidden cells are known to be at least: 1 where hidden counts are known not to be empty.
    progress: as for `anonymize`.

    Returns
    -------
    A `TableAudit`: `exposed` says how many hidden cells can be computed, `intervals` the least and greatest value of
    each.

    >>> import sfumato as sf
    >>> table = {"sex": ["*", "f", "m"], "value": [10, None, 4]}
    >>> sf.audit_table(table).exposed
    1
    """
    (progress or quiet)("reading", None)
    if isinstance(data, str | Path) and Path(data).is_dir():
        return audit_folder(Path(data))
    frame = _entered(data)
    if VALUE not in frame.columns:
        raise PolicyError(f'a published table has its numbers in a column "{VALUE}"', got=", ".join(frame.columns))
    columns = columns_of(frame, by)
    numbers = frame.get_column(VALUE).cast(pl.Float64, strict=False).drop_nulls().to_numpy()
    natural = bool((numbers >= 0).all() and (numbers == np.rint(numbers)).all()) if whole is None else whole
    cells = PublishedCells.of(frame, infer_dimensions(frame, columns, _edges(hierarchies)), whole=natural, least=least)
    if faults := cells.additivity_faults():
        first = faults[0]
        raise PolicyError(
            f"{len(faults)} totals are not the sums of their parts",
            got=f'the first along "{first.dimension}", in row {(first.row or 0) + 1} of the table',
            hint="name the hierarchies of columns with subtotals",
        )
    assert cells.rows is not None
    people, largest = contributions(frame, cells.rows.ravel(), cells.values.shape)
    if people is None or not (natural or largest.shape[-1]):
        return audit_cells(cells)
    own = largest if largest.shape[-1] and least >= 0 and not (numbers < 0).any() else None
    return audit_cells(cells, contributors=people.astype(np.int64), largest=own)


def audit_folder(folder: Path) -> TableAudit:
    """What whoever has the folder of a protected table can compute of its hidden cells."""
    manifest = read_set(folder)
    claims = [one for one in manifest.promises if one.model == "hidden-cells"]
    if not claims:
        raise PolicyError("the folder is of no table with hidden cells", hint="sfumato verify says what it promises")
    promise = set_promise("hidden-cells", **claims[0].parameters)
    [file] = read_files(folder, manifest.files)
    if file.table is None or file.fault is not None:
        raise PolicyError(f"the table was changed: {file.fault}", hint="sfumato verify says what is wrong")
    roles = {column.name: column.role for column in manifest.tables[0].columns}
    return audit_cells(promise.cells(PublishedSet({CELLS: PublishedTable(CELLS, file.table, roles)})))


def _entered(data: Any) -> pl.DataFrame:
    """A table whose numbers are numbers, whatever a file has them as."""
    frame, _ = enter(read(data) if isinstance(data, str | Path) else data)
    texts = [c for c in frame.iter_columns() if c.dtype == pl.String and (c.name == VALUE or is_number(c.name))]
    return frame.with_columns(of_type(column, pl.Float64()) for column in texts)


def _edges(given: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
    """The label above each, by column."""
    found = {}
    for name, spec in parameters.mapping(given or {}, "hierarchies").items():
        if isinstance(spec, Mapping):
            found[name] = {str(label): str(above) for label, above in spec.items()}
            continue
        if not isinstance(spec, str | Path):
            raise PolicyError(
                f'the hierarchy of "{name}" is the label above each',
                got=type(spec).__name__,
                hint='{"Rome": "Italy"}, or a file with a label and the one above it per line',
            )
        edges = read(spec, header=False, verbatim=True)
        if edges.width != 2:
            raise PolicyError(f'the file of "{name}" needs two columns, a label and the one above it', got=edges.width)
        child, above = edges.columns
        if edges.get_column(child).is_duplicated().any():
            raise PolicyError(f'a label of "{name}" has two parents', hint="each stands once in the first column")
        found[name] = dict(zip(edges[child].to_list(), edges[above].to_list(), strict=True))
    return found


def _check_flags(rules: tuple[Any, ...], known: Known) -> None:
    """Raise a PolicyError where flags would tell what nothing can be done about, or what is not reckoned with."""
    if not known.table.people or not all(isinstance(rule, MinimumFrequency) for rule in rules):
        raise PolicyError("flags tell of an unsafe cell what a rule says, which is reckoned with for counts of people",
                          allowed="minimum-frequency as the only rule", hint="leave flags out")  # fmt: skip
    told = int((known.primary.cells.ravel() & (known.lower >= known.upper)).sum())
    if told:
        raise PolicyError(f"flags would tell what {count(told, 'unsafe cell')} must be", hint="leave flags out")


def _rules(given: Any) -> tuple[Any, ...]:
    listed = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    found = tuple(CELL_RULES.value(one) for one in listed)
    if not found:
        raise PolicyError("a table is protected by a rule", hint="rules=sf.MinimumFrequency(3)")
    return found
