"""TableSet: tables of the same data that share cells, and what they all together are made of.

P.-P. de Wolf and A. Hundepool, Three ways to deal with a set of linked SBS tables using tau-ARGUS, Privacy in
Statistical Databases, LNCS 6344, 2010; the example of counties and size classes is that of the US Federal Committee on
Statistical Methodology, Working Paper 22.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from sfumato.core.wording import Described, count
from sfumato.errors import HierarchyError, PolicyError
from sfumato.tables.suppression.solver import linear_program
from sfumato.tables.values import MOST_CELLS, Dimension, StatTable, TableGrid, table_sums

MOST_TABLES = 50
EXTREMES = 12  # that a middle is taken of
NAMED = "table-{}"  # what tables are called that were given without a name


@dataclass(frozen=True, eq=False, repr=False)
class TableSet(Described):
    """Tables of the same data that are published together, or one after the other; nothing of them is protected.

    Parameters
    ----------
    tables: what `tabulate` gave, several times, as a list, or by the names that they are to have.

    >>> import sfumato as sf
    >>> rows = {"sex": ["f", "f", "m"], "ill": ["no", "yes", "no"]}
    >>> both = TableSet({"by sex": sf.tabulate(rows, by=["sex"]), "by illness": sf.tabulate(rows, by=["ill"])})
    >>> list(both.tables)
    ['by sex', 'by illness']
    """

    tables: Mapping[str, StatTable]

    def __post_init__(self) -> None:
        given: Any = self.tables
        if not isinstance(given, Mapping):
            given = {NAMED.format(i): one for i, one in enumerate(given, 1)} if isinstance(given, list | tuple) else {}
        if not given or len(given) > MOST_TABLES or not all(isinstance(one, StatTable) for one in given.values()):
            raise PolicyError(
                "a set has tables of counts or sums", allowed=f"1 to {MOST_TABLES} of them",
                hint="sf.TableSet([sf.tabulate(data, by=[...]), sf.tabulate(data, by=[...])])",
            )  # fmt: skip
        measured = {(one.measured, one.decimals if one.measured else one.whole) for one in given.values()}
        if len({name for name, _ in measured}) > 1:
            raise PolicyError("the tables of a set count, or add up, the same", got=f"{len(measured)} different things",
                              hint="protect counts in one set, and sums in another")  # fmt: skip
        for name in given:
            if not isinstance(name, str) or not name.strip() or any(c in name for c in '/\\:*?"<>|') or name[0] == ".":
                raise PolicyError("a table of a set has a name that a file can have", got=f'"{name}"')
        object.__setattr__(self, "tables", dict(given))

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """The columns of each table."""
        return f"{count(len(self.tables), 'table')}, not protected", [
            (name, ", ".join(one.by)) for name, one in self.tables.items()
        ]


def _none() -> np.ndarray:
    return np.zeros(0, np.bool_)


@dataclass(frozen=True, eq=False)
class Before:
    """A table that was published before: its values, NaN where hidden, and what hidden ones are known to be within."""

    name: str
    table: StatTable
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class JointTable(StatTable):
    """All cells of several tables by number, each once, and those that they are made of, which none of them shows.

    It has no dimensions of its own: its `grids` are the tables, each with the categories below its own that another
    tells apart. Of a category that joins several values, contributors and largest contributions are those of the worst
    case: the same contributors in all of them.
    """

    names: tuple[str, ...] = ()
    linked: tuple[TableGrid, ...] = ()
    own: tuple[tuple[StatTable, np.ndarray], ...] = ()
    shown: np.ndarray = field(default_factory=_none)  # bool, cells of tables that are to be published
    before: tuple[Before, ...] = ()
    known_before: np.ndarray = field(default_factory=_none)  # bool, published in an earlier release
    hidden_before: np.ndarray = field(default_factory=_none)  # bool, hidden in one
    guessed: np.ndarray = field(default_factory=_none)  # bool, cells of one whose value is not known: one that fits
    lower: np.ndarray = field(default_factory=_none)  # what earlier releases tell of hidden cells
    upper: np.ndarray = field(default_factory=_none)

    @property
    def unseen(self) -> np.ndarray:
        """Cells that no table has, neither these nor those before."""
        return ~(self.shown | self.known_before | self.hidden_before)

    @property
    def counts(self) -> bool:
        """Whether its cells are how many rows there are, without weights."""
        return all(one.counts for one, _ in self.own)

    @property
    def people(self) -> bool:
        """Whether each row that it counts is a contributor of its own."""
        return all(one.people for one, _ in self.own)

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that any of the tables is counted by."""
        return tuple(dict.fromkeys(name for one, _ in self.own for name in one.by))

    @property
    def grids(self) -> tuple[TableGrid, ...]:
        """The tables, with all categories that they are made of."""
        return self.linked

    @property
    def members(self) -> tuple[tuple[StatTable, np.ndarray], ...]:
        """The tables that are published."""
        return self.own

    def refined(self, number: int) -> StatTable:
        """A table with all categories that it is made of."""
        grid = self.linked[number]
        arrays: dict[str, Any] = {
            name: None if (own := getattr(self, name)) is None else own[grid.cell]
            for name in ("count", "value", "contributors", "largest", "gross", "requests")
        }
        return StatTable(
            grid.dimensions, self.measured, **arrays, decimals=self.decimals, negative=self.negative
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Column:
    """A dimension of a table with the categories that tables tell apart below its own: `parts` has for each of these
    the nodes of the finer table that it joins, `holds` which categories of all tables each node has."""

    dimension: Dimension
    parts: tuple[np.ndarray, ...]
    holds: np.ndarray  # bool [nodes, categories]


def joint_table(tables: TableSet, before: Sequence[Before] = ()) -> JointTable:
    """The cells of all tables of a set, and of those that were published before; a PolicyError where they are not of
    the same data."""
    new = len(tables.tables)
    given = [*tables.tables.values(), *(one.table for one in before)]
    names = [*dict.fromkeys(name for one in given for name in one.by)]
    columns = {name: _columns(name, given) for name in names}
    refined = [[columns[name][i] for name in one.by] for i, one in enumerate(given)]
    sizes = [prod(len(one.dimension) for one in grid) for grid in refined]
    if sum(sizes) > MOST_CELLS:
        raise PolicyError("the tables together would have too many cells", got=f"{sum(sizes):,}",
                          allowed=f"{MOST_CELLS:,}", hint="link fewer tables, or coarser ones")  # fmt: skip
    cells = _numbers(names, columns, refined, sizes)
    size = max(int(cell.max()) for cell in cells) + 1
    places = tuple(cell[tuple(slice(n) for n in one.shape)] for cell, one in zip(cells, given, strict=True))
    arrays = _arrays(given, new, refined, cells, places, size)
    shown, known, hidden = (np.zeros(size, np.bool_) for _ in range(3))
    for place in places[:new]:
        shown[place] = True
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    for one, place in zip(before, places[new:], strict=True):
        there = np.isnan(one.table.value)
        hidden[place[there]] = True
        known[place[~there]] = True
        lower[place] = np.where(there, np.maximum(lower[place], one.lower), lower[place])
        upper[place] = np.where(there, np.minimum(upper[place], one.upper), upper[place])
    grids = (TableGrid(tuple(c.dimension for c in grid), cell) for grid, cell in zip(refined, cells, strict=True))
    first = given[0]
    found = JointTable(
        (), first.measured, **arrays, decimals=max(one.decimals for one in given),
        negative=any(one.negative for one in given), reading=first.reading, fingerprint=first.fingerprint,
        names=tuple(tables.tables), linked=tuple(grids), own=tuple(zip(given[:new], places[:new], strict=True)),
        shown=shown, before=tuple(before), known_before=known, hidden_before=hidden & ~known,
        guessed=np.isnan(arrays["value"]), lower=lower, upper=upper,
    )  # fmt: skip
    if found.guessed.any():
        found.value[found.guessed] = _fitting(found)[found.guessed]
    return found


def _fitting(table: JointTable) -> np.ndarray:
    """Values of all cells that fit what is known of some: from within all that fit, the middle of several extremes."""
    free, sums = table.guessed, table_sums(table)
    least = -np.inf if table.negative else 0.0
    low = np.where(free, np.maximum(table.lower, least), np.nan_to_num(table.value))
    far = 10 * (1 + float(np.nanmax(np.abs(low[~free]), initial=0.0)))
    low, high = np.maximum(low, -far), np.where(free, np.minimum(table.upper, far), low)
    program = linear_program(np.zeros(len(low)), low, high)
    program.add_rows(sums.start, sums.cell, sums.sign, np.zeros(len(sums)), np.zeros(len(sums)))
    random, points = np.random.default_rng(1), []
    for way in (1, -1) * (EXTREMES // 2):
        program.price(np.where(free, way * random.uniform(0.5, 1.5, len(low)), 0.0))
        solved = program.solve()
        if solved.x is not None:
            points.append(solved.x)
    if not points:
        raise PolicyError("the table does not agree with an earlier one: no values of hidden cells fit both",
                          hint="tables are linked that were counted from the same data")  # fmt: skip
    return np.asarray(np.mean(points, axis=0))


def _columns(name: str, given: Sequence[StatTable]) -> dict[int, _Column]:
    """What each table has of a column, by its number: categories are sets of values that no table tells apart."""
    finest, own = {}, {}
    for i, table in enumerate(given):
        if name not in table.by:
            continue
        axis = table.by.index(name)
        full, shown = table.full(axis)
        kept = np.zeros(len(full), np.bool_)
        kept[shown] = True
        order = np.argsort([full.labels[node] for node in full.leaf])
        leaf = full.leaf[order]
        own[i] = (table.dimensions[axis], full, leaf)
        finest[i] = full.upto(kept)[leaf]
    values = {i: [full.labels[node] for node in leaf] for i, (_, full, leaf) in own.items()}
    if any(one != next(iter(values.values())) for one in values.values()):
        raise HierarchyError(
            f'"{name}" has other values in one of the tables',
            hint="give tables of one set hierarchies over the same values, in files or by sf.wide: those that are made"
            " of the data do not leave with a table; levels= says which are published",
        )
    table_of = np.stack(list(finest.values()))
    _, category = np.unique(table_of, axis=1, return_inverse=True)
    category = category.reshape(-1)
    return {i: _refined(*own[i], finest[i], category) for i in own}


def _refined(own: Dimension, full: Dimension, leaf: np.ndarray, finest: np.ndarray, category: np.ndarray) -> _Column:
    """A dimension with the categories below its finest nodes that hold several."""
    labels, parent, parts = [*own.labels], [*own.parent.tolist()], []
    holds = np.zeros((len(own), int(category.max()) + 1), np.bool_)
    holds[finest, category] = True
    for node in range(len(own) - 1, 0, -1):
        holds[own.parent[node]] |= holds[node]
    lines = [holds]
    for one in range(holds.shape[1]):
        nodes = leaf[category == one]
        above = int(finest[category == one][0])
        line = np.arange(holds.shape[1]) == one
        if (holds[above] == line).all():
            continue
        text = " + ".join(sorted(full.labels[node] for node in nodes))
        while text in labels[: len(own)]:
            text += "'"
        labels.append(text)
        parent.append(above)
        parts.append(np.sort(nodes))
        lines.append(line[None])
    tree = np.array(parent, np.int32)
    leaves = np.setdiff1d(np.arange(len(tree)), tree).astype(np.int32)
    return _Column(Dimension(own.name, tuple(labels), tree, leaves[None]), tuple(parts), np.concatenate(lines))


def _numbers(
    names: Sequence[str], columns: Mapping[str, Mapping[int, _Column]], refined: Sequence[Sequence[_Column]],
    sizes: Sequence[int],
) -> list[np.ndarray]:  # fmt: skip
    """The number of each cell of each table: the same for cells with the same values of all columns."""
    parts = []
    sets = {name: np.unique(np.concatenate([c.holds for c in columns[name].values()]), axis=0) for name in names}
    for grid, size in zip(refined, sizes, strict=True):
        of = {column.dimension.name: column for column in grid}
        shape = [len(column.dimension) for column in grid]
        place = dict(zip(of, np.indices(shape).reshape(len(shape), -1), strict=True))
        found = np.empty((len(names), size), np.int64)
        for row, name in enumerate(names):
            known = {line.tobytes(): n for n, line in enumerate(sets[name])}
            if name in of:
                number = np.array([known[line.tobytes()] for line in of[name].holds])
                found[row] = number[place[name]]
            else:
                found[row] = known[np.ones(sets[name].shape[1], np.bool_).tobytes()]
        parts.append(found)
    _, number = np.unique(np.concatenate(parts, axis=1), axis=1, return_inverse=True)
    cut = np.split(number.reshape(-1), np.cumsum(sizes)[:-1])
    return [one.reshape([len(c.dimension) for c in grid]) for one, grid in zip(cut, refined, strict=True)]


def _arrays(
    given: Sequence[StatTable], new: int, refined: Sequence[Sequence[_Column]], cells: Sequence[np.ndarray],
    places: Sequence[np.ndarray], size: int,
) -> dict[str, Any]:  # fmt: skip
    """What is known of each cell; of those that one of the first `new` tables shows, what it shows."""
    most = min(one.largest.shape[-1] for one in given[:new])
    asked = all(one.requests is not None for one in given[:new])
    found: dict[str, np.ndarray] = {
        "count": np.zeros(size, np.int64), "value": np.zeros(size), "contributors": np.zeros(size, np.int64),
        "largest": np.zeros((size, most)), "gross": np.zeros(size),
    }  # fmt: skip
    if asked:
        found["requests"] = np.zeros(size, np.int64)
    found["value"][:] = np.nan
    for i in reversed(range(len(given))):  # those before know least
        for name, array in found.items():
            if i >= new and name != "value":
                continue
            own = _joined(given[i], refined[i], name)
            own = own[..., :most] if name == "largest" else own
            array[cells[i]] = np.where(np.isnan(own), array[cells[i]], own) if i >= new else own
    differ, known = 0, np.zeros(size, np.bool_)
    for i, (one, place) in enumerate(zip(given, places, strict=True)):
        again = known[place] if i < new else np.ones(one.shape, np.bool_)
        with np.errstate(invalid="ignore"):
            off = np.abs(found["value"][place] - one.value) > 1e-9 * np.maximum(1.0, np.abs(one.value))
        differ += int((again & off).sum())
        if i < new:
            known[place] = True
            for name, array in found.items():
                own = getattr(one, name)
                array[place] = own[..., :most] if name == "largest" else own
    if differ:
        raise PolicyError("cells that the tables share have another value in each", got=count(differ, "cell"),
                          hint="the tables of a set are counted from the same data")  # fmt: skip
    return found


def _joined(table: StatTable, grid: Sequence[_Column], name: str) -> np.ndarray:
    """Numbers of a table with those of the categories below it, which the finer table has."""
    found: np.ndarray = getattr(table.finer or table, name)
    kept = table.kept or tuple(np.arange(n) for n in table.shape)
    apart = bool((table.contributors == table.count).all())  # nobody has two rows
    add = np.maximum if name == "contributors" and not apart else np.add
    for axis, (column, nodes) in enumerate(zip(grid, kept, strict=True)):
        pieces = [np.take(found, nodes, axis)]
        for part in column.parts:
            lines = np.take(found, part, axis)
            if name == "largest" and apart and len(part) > 1:
                every = np.moveaxis(lines, axis, -2)
                flat = np.sort(every.reshape(*every.shape[:-2], -1))[..., ::-1][..., : found.shape[-1]]
                pieces.append(np.expand_dims(flat, axis))
            else:
                pieces.append(add.reduce(lines, axis=axis, keepdims=True))
        found = np.concatenate(pieces, axis)
    return found
