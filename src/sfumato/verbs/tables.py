"""tabulate and protect: count a table with its totals, and protect it so that nobody stands out in a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
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
from sfumato.criteria.sets.linked_hidden_cells import audit_linked, joined
from sfumato.criteria.sets.published import PublishedSet, PublishedTable, TableLink
from sfumato.engines.files.read import read
from sfumato.engines.memory.table import enter
from sfumato.engines.tables import engine_of
from sfumato.errors import PolicyError
from sfumato.hierarchies import parse as parse_hierarchy
from sfumato.hierarchies.file import File
from sfumato.hierarchies.tree import TreeRecipe
from sfumato.hierarchies.wide import Wide
from sfumato.measures.table import DEFAULT_MAX_CELLS
from sfumato.release.data_files import read_files
from sfumato.release.set_manifest import read_set
from sfumato.tables import CELL_RULES, PROTECTIONS
from sfumato.tables.before import PROMISES, frame_table, published_folder, tables_before
from sfumato.tables.count import count_table
from sfumato.tables.given import columns_of, contributions, given_table, is_number, off_totals
from sfumato.tables.insiders import insiders_of
from sfumato.tables.known import Known, auditor
from sfumato.tables.linked import JointTable, TableSet, joint_table
from sfumato.tables.linked_release import ProtectedTables, joint_primary, release_tables
from sfumato.tables.protection import ProtectionProblem
from sfumato.tables.release import CELLS, ProtectedTable, frequency_of, release_table
from sfumato.tables.rules import MinimumFrequency
from sfumato.tables.rules.model import also_hidden, primary_cells
from sfumato.tables.settle import cell_costs, conflicts, known_least, named_cells, told_before
from sfumato.tables.values import VALUE, StatTable, check_names, coarsened, table_sums

__all__ = ["audit_table", "protect", "read_table", "tabulate"]

ZEROS = ("publish", "hide")


@cancellable
def tabulate(
    data: Any,
    by: Sequence[str],
    value: str | None = None,
    *,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, int] | None = None,
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
    levels: the finest level of its hierarchy that a column is published at, 0 (unless given) for the values themselves.
        Tables that publish other levels, or by other hierarchies, are linked by the values: see `TableSet`.
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
    table = count_table(
        engine, columns, value, recipes, weight, contributor, request, record, largest, progress or quiet,
        parameters.max_cells_of(max_cells),
    )  # fmt: skip
    private = frozenset(name for name, recipe in recipes.items() if not _in_public(recipe))
    return coarsened(table, _levels(levels, table), private)


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
        with a label and the one above it per line, or all above it.

    >>> import sfumato as sf
    >>> table = sf.read_table({"sex": ["*", "f", "m"], "value": [10, 6, 4]})
    >>> table.value.tolist()
    [10.0, 6.0, 4.0]
    """
    return given_table(_entered(data), by, _edges(hierarchies))


@cancellable
def protect(
    table: StatTable | TableSet,
    rules: Any,
    method: Any = "exact",
    *,
    beside: Any = None,
    cost: Any = "value",
    zeros: str = "publish",
    publish: Iterable[Mapping[str, Any]] | None = None,
    hide: Iterable[Mapping[str, Any]] | None = None,
    coalition: int = 1,
    flags: bool = False,
    progress: Progress | None = None,
) -> ProtectedTable | ProtectedTables:
    """Protect a table, or a set of them: find unsafe cells by rules, and hide or change as little as keeps them from
    being computed.

    Parameters
    ----------
    table: what `tabulate` gave, or a `TableSet` of several, which are protected together.
    rules: a rule, or several, as `sf.MinimumFrequency(3)` or `sf.PPercent(10)`.
    method: "exact" (unless given), or another of `sfumato list protections`, or a value of theirs.
    beside: the folder of an earlier release of the same data, or several: what was published then is known now, and
        what was hidden then must stay hidden, whoever has both.
    cost: what hiding a cell costs: its "value" (unless given), "log-value", "rows" or "cells", 1 for each; or an array
        of the table's shape. A total costs more than all cells inside together.
    zeros: "publish" (unless given) never hides an empty cell, so that everybody knows of a hidden count that it is 1 at
        least, which is reckoned with; "hide" may hide them.
    publish, hide: cells that must be published, or hidden: a list of labels by column, each of which means all cells
        with them, as [{"sex": "*"}].
    coalition: contributors who are all of a cell know it, and may not learn another unsafe one; how many together,
        0 for none.
    flags: publish which cells are unsafe and which are hidden for their sake. Everybody then knows of an unsafe count
        that it is small, which is reckoned with, and hides more; of people and `MinimumFrequency` alone.
    progress: as for `anonymize`.

    Returns
    -------
    A `ProtectedTable`: `data` is every cell with its status, `audit()` what attackers can compute, `save` writes what
    leaves. Of a set, or beside earlier tables, `ProtectedTables`.

    Raises
    ------
    Infeasible: no pattern protects the unsafe cells, or those that must be published keep it from doing so.

    >>> import sfumato as sf
    >>> rows = {"sex": ["f"] * 5 + ["m"] * 4, "ill": ["no"] * 4 + ["yes"] + ["no"] * 2 + ["yes"] * 2}
    >>> safe = sf.protect(sf.tabulate(rows, by=["sex", "ill"]), rules=sf.MinimumFrequency(2))
    >>> safe.data["status"].value_counts().sort("count")["count"].to_list(), safe.audit().exposed
    ([1, 3, 5], 0)
    """
    if not isinstance(table, StatTable | TableSet):
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
    named = str(PROTECTIONS.name_of(way))
    alone = isinstance(table, StatTable)
    links: list[TableLink] = []
    beside = None if isinstance(beside, list | tuple) and not beside else beside
    if beside is not None or not isinstance(table, StatTable):
        if not way.hides or named == "network-flow":
            raise PolicyError(
                f"{named} protects one table by itself", hint="linked tables take exact, modular or hypercube"
            )
        before, links = ([], []) if beside is None else tables_before(beside)
        table = joint_table(TableSet({CELLS: table}) if isinstance(table, StatTable) else table, before)
        primary = joint_primary(chosen, table)
    else:
        primary = primary_cells(chosen, table)
    must_hide = named_cells(table, hide, "hide")
    must_publish = named_cells(table, publish, "publish")
    conflicts(must_publish, primary.cells.ravel() | must_hide, table.by)
    zeros_hidden = zeros == "hide" or primary.zeros or bool((must_hide & (table.count.ravel() == 0)).any())
    primary = also_hidden(primary, must_hide, table)
    candidate = ~must_publish & (zeros_hidden | (table.count.ravel() > 0))
    if isinstance(table, JointTable):
        told_before(table, primary.cells | must_hide)
        candidate = (candidate & ~table.known_before) | table.hidden_before | table.unseen
        must_hide = must_hide | table.hidden_before | table.unseen
    frequency = frequency_of(chosen) if flags and table.people else None
    known = Known(table, primary, known_least(table, zeros_hidden), coalition, frequency)
    if flags and way.hides:
        _check_flags(chosen, known)
    problem = ProtectionProblem(
        table, primary, cell_costs(table, cost), candidate, must_hide, known.lower, known.upper, auditor(known),
        insiders_of(table, table_sums(table), known.lower, coalition), progress or quiet,
    )  # fmt: skip
    if isinstance(table, JointTable):
        return release_tables(problem, known, chosen, way, named, flags, links, alone)
    return release_table(problem, known, chosen, way, named, flags)


@cancellable
def audit_table(
    data: Any,
    *,
    by: Sequence[str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    whole: bool | None = None,
    least: float = 0,
    n: int | None = None,
    progress: Progress | None = None,
) -> TableAudit:
    """What whoever has a published table can compute of its hidden cells: of a table that any tool protected.

    Parameters
    ----------
    data: the published table: a frame, or the path of a file, with the columns that it is counted by, `value` (empty
        where hidden) and perhaps `status`; every cell, totals under the label "*". Its owner can add `contributors`, of
        each cell, and `largest_1` and so on, its largest contributions, so that contributors are tried too. Or the
        folder of a release. Or a list of these: what whoever holds all of them can compute, where cells that are the
        same in two are one.
    by: the columns that it is counted by; all others than `value` and `status` unless given.
    hierarchies: of columns with subtotals, the label above each, as {"town": {"Rome": "Italy"}}.
    whole: whether cells are natural numbers; unless given, whether those that are published are.
    n: of several tables, how many people a cell has to be of: where their difference can be computed and is of fewer,
        it counts as a hidden cell that is exposed. Folders say it themselves.
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
    if isinstance(data, list | tuple):
        return _audit_several(data, by, _edges(hierarchies), whole, least, n)
    if isinstance(data, str | Path) and Path(data).is_dir():
        return audit_folder(Path(data))
    frame = _published(data)
    columns = columns_of(frame, by)
    natural = _natural([frame]) if whole is None else whole
    cells = PublishedCells.of(frame, infer_dimensions(frame, columns, _edges(hierarchies)), whole=natural, least=least)
    if faults := cells.additivity_faults():
        first = faults[0]
        raise PolicyError(
            off_totals(len(faults)),
            got=f'the first along "{first.dimension}", in row {(first.row or 0) + 1} of the table',
            hint="name the hierarchies of columns with subtotals",
        )
    assert cells.rows is not None
    people, largest = contributions(frame, cells.rows.ravel(), cells.values.shape)
    if people is None or not (natural or largest.shape[-1]):
        return audit_cells(cells)
    own = largest if largest.shape[-1] and least >= 0 and not (cells.values < 0).any() else None
    return audit_cells(cells, contributors=people.astype(np.int64), largest=own)


def _published(data: Any) -> pl.DataFrame:
    """A published table, with its numbers."""
    frame = _entered(data)
    if VALUE not in frame.columns:
        raise PolicyError(f'a published table has its numbers in a column "{VALUE}"', got=", ".join(frame.columns))
    return frame


def _natural(frames: Sequence[pl.DataFrame]) -> bool:
    """Whether all numbers of some tables are natural ones."""
    found = [frame.get_column(VALUE).cast(pl.Float64, strict=False).drop_nulls().to_numpy() for frame in frames]
    return all(bool((numbers >= 0).all() and (numbers == np.rint(numbers)).all()) for numbers in found)


def _audit_several(
    data: Sequence[Any],
    by: Sequence[str] | None,
    edges: Mapping[str, Any],
    whole: bool | None,
    least: float,
    n: int | None,
) -> TableAudit:
    """What whoever holds several tables, of ours in folders or of other tools, can compute from all of them."""
    if not data:
        raise PolicyError("there is no table to audit", hint="name a published table, or the folder of a release")
    folders = {i: Path(one) for i, one in enumerate(data) if isinstance(one, str | Path) and Path(one).is_dir()}
    frames = {i: _published(one) for i, one in enumerate(data) if i not in folders}
    natural, people, found = _natural(list(frames.values())), n or 0, []
    for i, one in enumerate(data):
        if i in folders:
            ours = published_folder(folders[i])
            natural, people = natural and ours.whole, max(people, ours.n or 0)
            found += [(replace(table, name=f"{i + 1}: {table.name}"), cells) for table, cells in ours.tables]
            continue
        name = str(one) if isinstance(one, str | Path) else f"{i + 1}"
        columns = [name for name in by if name in frames[i].columns] if by is not None else columns_of(frames[i], None)
        own = {column: pairs for column, pairs in edges.items() if column in columns}
        found.append(frame_table(name, frames[i], columns, own, natural if whole is None else whole, least))
    asked = natural if whole is None else whole
    cells = joined([(table, replace(own, whole=asked)) for table, own in found], asked)
    return audit_linked(cells, people or None)


def audit_folder(folder: Path) -> TableAudit:
    """What whoever has the folder of a protected table can compute of its hidden cells."""
    manifest = read_set(folder)
    claims = [one for one in manifest.promises if one.model in PROMISES]
    if not claims:
        raise PolicyError("the folder is of no table with hidden cells", hint="sfumato verify says what it promises")
    promise = set_promise(claims[0].model, **claims[0].parameters)
    tables = {}
    for said, file in zip(manifest.tables, read_files(folder, manifest.files), strict=True):
        if file.table is None or file.fault is not None:
            raise PolicyError(f"the table was changed: {file.fault}", hint="sfumato verify says what is wrong")
        tables[said.name] = PublishedTable(said.name, file.table, {one.name: one.role for one in said.columns})
    published = PublishedSet(tables)
    if claims[0].model == "hidden-cells":
        return audit_cells(promise.cells(published))
    return audit_linked(joined(promise.tables(published), promise.whole), promise.n)


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
        recipe = parse_hierarchy(spec)
        if not isinstance(recipe, File):
            raise PolicyError(
                f'the hierarchy of "{name}" is the label above each',
                got=type(spec).__name__,
                hint='{"Rome": "Italy"}, or a file with a label and those above it per line',
            )
        found[name] = {}
        for row in recipe.source.rows():
            for label, above in pairwise(row.fields):
                if label != above and found[name].setdefault(label, above) != above:
                    raise PolicyError(f'a label of "{name}" has two parents', hint="each is part of one label alone")
    return found


def _levels(given: Mapping[str, int] | None, table: StatTable) -> dict[str, int]:
    """The finest level that each column is published at."""
    found = dict(parameters.mapping(given or {}, "levels"))
    parameters.known_columns(found, table.by, "by")
    for name, level in found.items():
        most = len(table.dimensions[table.by.index(name)].level) - 1
        parameters.whole_number(level, f'the level of "{name}"', 0, most)
    return found


def _in_public(recipe: Any) -> bool:
    """Whether a hierarchy was written down by somebody, and not made of the values that the data have."""
    return isinstance(recipe, Wide | TreeRecipe) or (isinstance(recipe, File) and not recipe.learned)


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
