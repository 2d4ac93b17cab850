"""Case: one release beside its original, as the axes of the map measure it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.protocols import Search
from sfumato.criteria import KAnonymity
from sfumato.errors import PolicyError
from sfumato.losses import loss as parse_loss
from sfumato.losses import loss_name
from sfumato.release.request import criteria
from sfumato.search import search as parse_search
from sfumato.search import search_name


@dataclass(frozen=True, eq=False)
class Case:
    """A released table, the original, the original row of each released row, and what the policy says of columns."""

    original: pl.DataFrame
    released: pl.DataFrame
    rows: np.ndarray
    quasi: tuple[tuple[str, ...], ...]
    sensitive: tuple[str, ...]
    weight: str | None
    hierarchies: Mapping[str, Any]
    seed: int
    k: int | None = None
    told: Callable[[Any], float | None] | None = (
        None  # a loss from the released rows alone; None where they do not tell
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """All quasi-identifiers, each once."""
        return tuple(dict.fromkeys(name for names in self.quasi for name in names))


@dataclass(frozen=True)
class Asked:
    """A measure as it is asked for: its name and its options."""

    name: str
    options: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The shell form."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.options.items())])

    def only(self, *allowed: str) -> dict[str, Any]:
        """The options, refused where there are others than these."""
        from sfumato.errors import did_you_mean

        for key in self.options:
            if key not in allowed:
                takes = ", ".join(allowed) or "no options"
                raise PolicyError(f'{self.name} has no option "{key}"', allowed=takes, hint=did_you_mean(key, allowed))
        return dict(self.options)


def asked(text: str, what: str) -> Asked:
    """A measure from its shell form, a name and options as key=value.

    >>> asked("skewness threshold=0.3", "risk")
    Asked(name='skewness', options={'threshold': 0.3})
    """
    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise PolicyError(f'{what} must be a name and options, as in "skewness threshold=0.3"') from None
    options: dict[str, Any] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.isidentifier():
            raise PolicyError(f"{what} {name}: options are written key=value", allowed="as in threshold=0.3")
        options[key] = _typed(value)
    return Asked(name, options)


def _typed(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def one_column(given: Mapping[str, Any], option: str, among: tuple[str, ...], measure: str) -> str:
    """The column that a measure is about: the option, or the only sensitive column."""
    if option in given:
        return str(given[option])
    if len(among) != 1:
        what = f'{measure} needs to know which column: write "{measure} {option}=..."'
        raise PolicyError(what, got=f"{len(among)} sensitive columns", allowed="one, or the option")
    return among[0]


USUAL = (2, 5, 10)  # k, where nothing else is asked
SWEPT = ("k", "require", "suppression", "loss")  # the first of them with several values runs along a line


@dataclass(frozen=True)
class Point:
    """One release to make: a search, what it keeps low, and what is required of it."""

    search: Any
    loss: Any
    require: tuple[Any, ...]  # beside k
    suppression: float | int
    k: int | None

    @property
    def criteria(self) -> tuple[Any, ...]:
        """All that is required."""
        return self.require if self.k is None else (KAnonymity(self.k), *self.require)

    def words(self) -> dict[str, Any]:
        """How the point is named: plain values, none of them from the table."""
        return {
            "search": search_name(self.search),
            "parameters": parameters(self.search),
            "minimised": " ".join(filter(None, (loss_name(self.loss), parameters(self.loss)))),
            "k": self.k,
            "require": required(self.require),
            "suppression": self.suppression,
        }

    def identity(self) -> dict[str, Any]:
        """Everything that tells the point from others, values of parameters included: for fingerprints only."""
        return {
            "search": repr(self.search),
            "loss": repr(self.loss),
            "require": [repr(criterion) for criterion in self.criteria],
            "suppression": repr(self.suppression),
        }


@dataclass(frozen=True)
class ComparisonPlan:
    """The points, and which parameter runs along a line of the map."""

    points: tuple[Point, ...]
    swept: str


def plan(search: Any, loss: Any, require: Any, suppression: Any, k: Any) -> ComparisonPlan:
    """Every search with every loss, alternative of `require`, suppression and k."""
    searches = _once(parse_search(one) for one in several(search, "search"))
    losses = _once(parse_loss(one) for one in several(loss, "loss"))
    alternatives = _alternatives(require)
    shares = several(suppression, "suppression")
    ks = _ks(k, alternatives)
    if any(isinstance(c, KAnonymity) for one in alternatives for c in one) and ks != [None]:
        hint = "leave k out, or KAnonymity"
        raise PolicyError("k and a KAnonymity in require both say how many rows look alike", hint=hint)
    points = [
        Point(s, l, r, share, number) for s in searches for l in losses for r in alternatives for share in shares
        for number in ks
    ]  # fmt: skip
    counts = {"k": len(ks), "require": len(alternatives), "suppression": len(shares), "loss": len(losses)}
    return ComparisonPlan(tuple(points), next((name for name in SWEPT if counts[name] > 1), "k"))


def several(given: Any, what: str) -> list[Any]:
    """One value as a list of one; a list, tuple or range as it is, each value once."""
    listed = list(given) if isinstance(given, list | tuple | range | np.ndarray) else [given]
    if not listed:
        raise PolicyError(f"{what} is empty", allowed="one value or more")
    return _once(value.item() if isinstance(value, np.generic) else value for value in listed)


def parameters(value: Any) -> str:
    """The parameters of a search or loss that are not as usual; lists and mappings are counted, not shown.

    >>> from sfumato.search import Optimal
    >>> parameters(Optimal(seconds=10))
    'seconds=10'
    """
    usual = [field for field in fields(value) if getattr(value, field.name) != field.default]
    return " ".join(f"{field.name}={_shown(getattr(value, field.name))}" for field in usual)


def required(criteria: Iterable[Any]) -> str:
    """Criteria in words; lists of values are counted, not shown.

    >>> from sfumato.criteria import TCloseness
    >>> required([TCloseness("disease", 0.2)])
    't-closeness disease 0.2 equal'
    """
    return "; ".join(" ".join([c.model, *map(_shown, c.parameters().values())]) for c in criteria)


def _once(values: Iterable[Any]) -> list[Any]:
    """Each value once, by how it prints: 1 is a count, 1.0 a share; and not all values can be hashed."""
    return list({repr(value): value for value in values}.values())


def _shown(value: Any) -> str:
    if isinstance(value, Search):  # a search within a search
        own = parameters(value)
        return f"({search_name(value)} {own})" if own else search_name(value)
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        return f"({len(value)} entries)"
    return str(value) if isinstance(value, str | bool | int | float) else type(value).__name__


def _alternatives(require: Any) -> list[tuple[Any, ...]]:
    """Lists of criteria: one list, or where the entries are lists themselves, several to compare."""
    if require is None or (isinstance(require, list | tuple) and not require):
        return [()]
    if isinstance(require, list | tuple) and all(isinstance(one, list | tuple) for one in require):
        return _once(criteria(one) if one else () for one in require)
    return [criteria(require)]


def _ks(k: Any, alternatives: list[tuple[Any, ...]]) -> list[int | None]:
    if k is not None:
        return [KAnonymity(one).k for one in several(k, "k")]
    return list(USUAL) if () in alternatives else [None]
