"""All tables that a set of views can come from, one after the other: nothing of the library is used but its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, combinations_with_replacement, product
from typing import Any

from sfumato.fragments.views import TableView

Row = tuple[Any, ...]
Met = Callable[[Any, str, Any], bool]
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
}


def shown(view: TableView, rows: Sequence[Row], columns: Sequence[str], kind: type) -> Any:
    """What a view shows of some rows."""
    picked = []
    for row in rows:
        of = dict(zip(columns, row, strict=True))
        tests = [SIGNS[one.sign](of[one.column], type(of[one.column])(one.values[0])) for one in view.conditions]
        if all(tests):
            picked.append(tuple(of[name] for name in view.columns))
    return frozenset(picked) if view.distinct else frozenset(Counter(picked).items())


def worlds(
    rows: Sequence[Row],
    columns: Sequence[str],
    views: Sequence[TableView],
    dependencies: Sequence[Any],
    size_known: bool,
) -> Iterator[Sequence[Row]]:
    """Every table of values that the true one has, with the same views; where its size is not known, of as many rows as
    the views show at most, which is as good as any."""
    domains = [sorted({row[i] for row in rows}) for i in range(len(columns))]
    true = [shown(view, rows, columns, tuple) for view in views]
    sizes = [len(rows)]
    if not size_known:
        most = sum(len(one) if view.distinct else sum(n for _, n in one) for view, one in zip(views, true, strict=True))
        sizes = [*range(1, most + 1)]
    for size in sizes:
        for world in combinations_with_replacement([*product(*domains)], size):
            if all(shown(view, world, columns, tuple) == one for view, one in zip(views, true, strict=True)) and keeps(
                world, columns, dependencies
            ):
                yield world


def keeps(world: Sequence[Row], columns: Sequence[str], dependencies: Sequence[Any]) -> bool:
    """Whether a table keeps dependencies (columns, to)."""
    for names, to in dependencies:
        places, place = [columns.index(name) for name in names], columns.index(to)
        led: dict[Row, Any] = {}
        if any(led.setdefault(tuple(row[i] for i in places), row[place]) != row[place] for row in world):
            return False
    return True


def covers(
    rows: Sequence[Row],
    columns: Sequence[str],
    views: Sequence[TableView],
    association: tuple[str, str],
    dependencies: Sequence[Any] = (),
    size_known: bool = True,
) -> dict[Any, int]:
    """Per person whom a view names, the size of the least set of values that has one of theirs in every table."""
    who, what = (columns.index(name) for name in association)
    found: dict[Any, set[frozenset[Any]]] = {}
    named = {row[who] for view in views if association[0] in view.columns for row in selected(view, rows, columns)}
    tests = [one for view in views for one in view.conditions if one.column == association[0]]
    alike = {
        person: tuple(SIGNS[one.sign](person, one.values[0]) for one in tests) for person in {row[who] for row in rows}
    }
    named |= {person for person, own in alike.items() if tests and [*alike.values()].count(own) == 1}
    for world in worlds(rows, columns, views, dependencies, size_known):
        for person in named:
            found.setdefault(person, set()).add(frozenset(row[what] for row in world if row[who] == person))
    values = sorted({row[what] for row in rows})
    least = {}
    for person, family in found.items():
        sizes = (size for size in range(1, len(values) + 1) for A in combinations(values, size) if hits(A, family))
        least[person] = next(sizes, 99)
    return least


def selected(view: TableView, rows: Sequence[Row], columns: Sequence[str]) -> list[Row]:
    return [row for row in rows if shown(view, [row], columns, tuple)]


def hits(chosen: Sequence[Any], family: set[frozenset[Any]]) -> bool:
    return all(one & {*chosen} for one in family)
