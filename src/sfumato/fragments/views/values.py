"""Views, associations and dependencies: the values that a check of views is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.core.conditions import Condition, parse_filter
from sfumato.core.parameters import column_name, column_names, column_set, settle, shown, yes_or_no
from sfumato.core.wording import listed
from sfumato.errors import PolicyError, did_you_mean

BARE = re.compile(r"[^\s=!<>(),\"']+")
WORDS = {"and", "in", "not", "between", "is", "missing"}


@dataclass(frozen=True)
class TableView:
    """A published projection of the private table: some of its columns, of the rows that meet a condition.

    Parameters
    ----------
    name: what the view is called.
    columns: those of the private table that it shows.
    where: a condition on the rows, as "age > 40"; everybody knows it. Without one, all rows.
    distinct: whether equal rows are published once. Otherwise a view tells how often each occurs.

    Examples
    --------
    >>> TableView("register", ["name", "sex"], where="age > 40").where
    'age > 40'
    """

    name: str
    columns: Sequence[str]
    where: str | Sequence[Condition] | None = None
    distinct: bool = False
    conditions: tuple[Condition, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise PolicyError("a view needs a name", got=shown(self.name), allowed="a text")
        found = parse_filter(self.where)
        settle(
            self,
            columns=column_set(self.columns, f'the columns of the view "{self.name}"'),
            where=condition_text(found) or None,
            conditions=found,
            distinct=yes_or_no(self.distinct, f'distinct of the view "{self.name}"'),
        )

    def plain(self) -> dict[str, Any]:
        """The view as plain values."""
        return {"name": self.name, "columns": [*self.columns], "where": self.where, "distinct": self.distinct}

    def without_condition(self, place: int) -> TableView:
        """The view with more rows: one of its conditions is given up."""
        return replace(self, where=tuple(one for i, one in enumerate(self.conditions) if i != place))

    def without_column(self, name: str) -> TableView:
        """The view with a column less."""
        return replace(self, columns=tuple(one for one in self.columns if one != name))


@dataclass(frozen=True)
class Dependency:
    """A functional dependency that the attacker knows: rows alike in some columns are alike in another one.

    Examples
    --------
    >>> str(Dependency(["zip"], "city"))
    'zip -> city'
    """

    columns: Sequence[str]
    to: str

    def __post_init__(self) -> None:
        given = column_set(self.columns, "the columns that a dependency is from")
        to = column_name(self.to, "what a dependency leads to")
        if to in given:
            raise PolicyError("a dependency leads from a column to itself", got=f'"{to}"')
        settle(self, columns=given, to=to)

    def __str__(self) -> str:
        return f"{', '.join(self.columns)} -> {self.to}"


def condition_text(conditions: Iterable[Condition]) -> str:
    """Conditions in the words they are written in.

    >>> condition_text(parse_filter("age > 40 and town in ('New York', b) and sex is not missing"))
    "age > 40 and town in ('New York', b) and sex != missing"
    """
    said = []
    for one in conditions:
        values = [_word(value) for value in one.values]
        told = f"({', '.join(values)})" if one.sign == "in" else values[0]
        said.append(f"{_word(one.column)} {one.sign} {told}")
    return " and ".join(said)


def _word(text: str | None) -> str:
    if text is None:
        return "missing"
    if BARE.fullmatch(text) and text.lower() not in WORDS:
        return text
    return f'"{text}"' if "'" in text else f"'{text}'"


def views_of(given: Any) -> tuple[TableView, ...]:
    """Views as they are, or as mappings with their parameters; at least one, and no name twice."""
    if isinstance(given, TableView | Mapping):
        given = [given]
    if not isinstance(given, list | tuple) or not given:
        raise PolicyError(
            "views must be a list of views",
            got=type(given).__name__,
            allowed='{"name": "register", "columns": ["name", "sex"]}',
        )
    found = tuple(one if isinstance(one, TableView) else _made(one, TableView, "view") for one in given)
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PolicyError(f"two views have one name: {listed(twice)}")
    return found


def dependencies_of(given: Any) -> tuple[Dependency, ...]:
    """Dependencies as they are, as mappings {"from": [...], "to": "city"}, or as pairs."""
    if given is None:
        return ()
    if isinstance(given, Dependency | Mapping):
        given = [given]
    if not isinstance(given, list | tuple):
        what, allowed = "dependencies must be a list", '{"from": ["zip"], "to": "city"}'
        raise PolicyError(what, got=type(given).__name__, allowed=allowed)
    found = []
    for one in given:
        if isinstance(one, Mapping):
            one = _made(
                {"columns" if key == "from" else key: own for key, own in one.items()}, Dependency, "dependency"
            )
        elif isinstance(one, list | tuple) and len(one) == 2:
            one = Dependency(column_names(one[0], "what a dependency is from"), one[1])
        if not isinstance(one, Dependency):
            what, allowed = "this is no dependency", '{"from": ["zip"], "to": "city"}'
            raise PolicyError(what, got=type(one).__name__, allowed=allowed)
        found.append(one)
    return tuple(dict.fromkeys(found))


def _made(given: Any, kind: Any, noun: str) -> Any:
    names = {"view": ("name", "columns", "where", "distinct"), "dependency": ("columns", "to")}[noun]
    if not isinstance(given, Mapping):
        raise PolicyError(f"this is no {noun}", got=type(given).__name__)
    told = {"columns": "from"} if noun == "dependency" else {}
    for key in given:
        if key not in names:
            allowed = [told.get(name, name) for name in names]
            what = f'a {noun} has no "{key}"'
            raise PolicyError(what, allowed=", ".join(allowed), hint=did_you_mean(str(key), allowed))
    for key in names[:2]:
        if key not in given:
            raise PolicyError(f'a {noun} needs "{told.get(key, key)}"')
    return kind(**given)


def association_of(given: Any) -> tuple[str, str]:
    """The two columns of an association: who, and what."""
    named = column_names(given, "association")
    if len(named) != 2 or named[0] == named[1]:
        what = "an association is of two columns: who somebody is, and what must stay hidden"
        raise PolicyError(what, got=f"{len(set(named))}", allowed='("name", "disease")')
    return named[0], named[1]
