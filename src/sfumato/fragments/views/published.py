"""What is published of a private table, in codes: the rows of each view, and which rows each condition selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import polars as pl

from sfumato.core.conditions import expression
from sfumato.core.masked import typed
from sfumato.core.parameters import known_columns
from sfumato.core.printed import plain
from sfumato.core.wording import count
from sfumato.errors import ColumnError, PolicyError
from sfumato.fragments.views.values import Dependency, TableView

COUNT, PART = "count", "part"  # columns beside those of the table, which are c0, c1, ...
Box = dict[str, np.ndarray]  # of a condition: per column, which of its values meet it


@dataclass(frozen=True, eq=False)
class Projection:
    """Rows that are known of some columns, in the parts of the table where all of `where` holds: numbers of
    conditions, and whether they are met. Without `distinct`, how many rows there are of each is known, too."""

    columns: tuple[str, ...]
    where: tuple[tuple[int, bool], ...]
    rows: pl.DataFrame
    distinct: bool

    def holds_in(self, part: Sequence[bool]) -> bool:
        """Whether it is about the rows that meet these conditions and no others."""
        return all(part[place] == met for place, met in self.where)


@dataclass(frozen=True, eq=False)
class Published:
    """What an attacker is taken to know: the views with their conditions, the values that each column of the table
    has, the dependencies, and, with `size_known`, how many rows there are."""

    table: pl.DataFrame
    sizes: dict[str, int]
    classes: dict[str, np.ndarray]  # of a column that conditions are about: values that all of them take alike
    boxes: tuple[Box, ...]
    views: tuple[Projection, ...]
    identity: str
    value: str
    dependencies: tuple[tuple[tuple[str, ...], str], ...]
    size_known: bool

    @property
    def dependent(self) -> set[str]:
        """Columns of dependencies."""
        return {name for columns, to in self.dependencies for name in (*columns, to)}

    @property
    def parts(self) -> list[tuple[bool, ...]]:
        """All ways to meet some conditions and not the others."""
        return list(product((True, False), repeat=len(self.boxes)))

    def met(self, place: int, rows: pl.DataFrame) -> np.ndarray:
        """Which rows meet a condition."""
        found = np.ones(rows.height, np.bool_)
        for name, mask in self.boxes[place].items():
            found &= mask[rows[name].to_numpy()]
        return found

    def differences(self) -> list[Projection]:
        """Views that are published without being named: what one selection has more than another within it."""
        found = []
        for one, other in combinations([*self.views], 2):
            for large, small in ((one, other), (other, one)):
                common = tuple(name for name in large.columns if name in small.columns)
                if large.distinct or small.distinct or not common or large.where == small.where or not small.where:
                    continue
                if large.where and not _within(self.boxes[small.where[0][0]], self.boxes[large.where[0][0]]):
                    continue
                left, right = (view.rows.group_by(common).agg(pl.col(COUNT).sum()) for view in (large, small))
                rest = left.join(right, on=common, how="left", suffix="_less").with_columns(
                    pl.col(COUNT) - pl.col(f"{COUNT}_less").fill_null(0)
                )
                where = (*large.where, (small.where[0][0], False))
                found.append(Projection(common, where, rest.filter(pl.col(COUNT) > 0).select(*common, COUNT), False))
        return found


def _within(small: Box, large: Box) -> bool:
    return all(name in small and not bool((small[name] & ~mask).any()) for name, mask in large.items())


def publish(
    frame: pl.DataFrame,
    views: Sequence[TableView],
    association: tuple[str, str],
    dependencies: Sequence[Dependency] = (),
    size_known: bool = True,
) -> Published:
    """Codes in place of values, conditions as the values that meet them, and the rows of each view."""
    asked = {one.column for view in views for one in view.conditions} & {*frame.columns}
    numbers = typed(frame.select(sorted(asked)))  # texts that are numbers or dates have an order
    check_columns(frame, numbers.schema, views, association, dependencies)
    used = [name for view in views for name in (*view.columns, *(one.column for one in view.conditions))]
    used += [*association, *(name for one in dependencies for name in (*one.columns, one.to))]
    names = {name: f"c{i}" for i, name in enumerate(dict.fromkeys(used))}
    frame = plain_frame(frame.select(*names))
    numbers = plain_frame(numbers)
    table: dict[str, pl.Series] = {}
    domains: dict[str, pl.DataFrame] = {}
    for name, code in names.items():
        domains[name] = frame.select(name).unique().sort(name, nulls_last=True)
        numbered = domains[name].with_row_index(PART + name)
        joined = frame.select(name).join(numbered, on=name, how="left", nulls_equal=True, maintain_order="left")
        table[code] = joined[PART + name].cast(pl.Int64)
    masks: dict[str, list[np.ndarray]] = {}
    boxes: list[Box] = []
    where: list[tuple[tuple[int, bool], ...]] = []
    for view in views:
        box: Box = {}
        for one in view.conditions:
            own = numbers.select(expression((one,), numbers.schema).alias(PART))[PART]
            code = names[one.column]
            mask = np.zeros(domains[one.column].height, np.bool_)
            mask[table[code].to_numpy()] = own.to_numpy()
            box[code] = box[code] & mask if code in box else mask.copy()
        box = {name: mask for name, mask in box.items() if not mask.all()}
        for name, mask in box.items():
            masks.setdefault(name, []).append(mask)
        place = next((i for i, own in enumerate(boxes) if _within(own, box) and _within(box, own)), len(boxes))
        if box and place == len(boxes):
            boxes.append(box)
        where.append(((place, True),) if box else ())
    whole = pl.DataFrame(table)
    classes = {
        name: np.unique(np.stack(all_of), axis=1, return_inverse=True)[1].ravel() for name, all_of in masks.items()
    }
    known = Published(
        whole,
        {code: domains[name].height for name, code in names.items()},
        classes,
        tuple(boxes),
        (),
        names[association[0]],
        names[association[1]],
        tuple((tuple(names[name] for name in one.columns), names[one.to]) for one in dependencies),
        size_known,
    )
    rows = tuple(_projection(known, view, on, names) for view, on in zip(views, where, strict=True))
    return replace(known, views=rows)


def _projection(
    known: Published, view: TableView, where: tuple[tuple[int, bool], ...], names: dict[str, str]
) -> Projection:
    selected = known.table.filter(pl.Series(known.met(where[0][0], known.table))) if where else known.table
    if not selected.height:
        raise PolicyError(f'the view "{view.name}" selects no row', hint="leave it out, or change its condition")
    columns = tuple(names[name] for name in view.columns)
    rows = selected.group_by(columns).agg(pl.len().cast(pl.Int64).alias(COUNT)).sort(columns)
    return Projection(columns, where, rows, view.distinct)


def plain_frame(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select([plain(name, dtype) for name, dtype in frame.schema.items()])


def check_columns(
    frame: pl.DataFrame,
    numbers: Mapping[str, pl.DataType],
    views: Sequence[TableView],
    association: tuple[str, str],
    dependencies: Sequence[Dependency],
) -> None:
    """Refuse columns that the table does not have, missing names and values, and dependencies that the rows break."""
    for view in views:
        known_columns(view.columns, frame.columns, f'the view "{view.name}": the table')
        known_columns([one.column for one in view.conditions], frame.columns, f'the view "{view.name}": the table')
        expression(view.conditions, numbers)
    known_columns(association, frame.columns, "the association: the table")
    for name in association:
        missing = plain_frame(frame.select(name))[name].null_count()
        if missing:
            what = f'"{name}" of the association is missing in {count(missing, "row")}'
            raise ColumnError(what, hint="leave these rows out, or write a word in place of what is missing")
    for one in dependencies:
        known_columns([*one.columns, one.to], frame.columns, f'the dependency "{one}": the table')
        rows = plain_frame(frame.select(*one.columns, one.to))
        broken = rows.group_by(one.columns).agg(pl.col(one.to).n_unique()).filter(pl.col(one.to) > 1).height
        if broken:
            what = f'the rows break the dependency "{one}"'
            got = f'{count(broken, "combination")} with several values of "{one.to}"'
            raise PolicyError(what, got=got, hint="nobody can know what is not so: leave it out")
