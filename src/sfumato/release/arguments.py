"""What the verbs are asked, checked: names, roles, criteria, hierarchies, levels, weights and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from sfumato.core.parameters import column_names, mapping, quasi_sets
from sfumato.core.printed import printed
from sfumato.core.roles import REST, K, Roles, Undecided, check_roles, undecided
from sfumato.criteria import CRITERIA, criterion, parse
from sfumato.engines.protocol import Engine
from sfumato.errors import ColumnError, PolicyError, UndecidedColumns, did_you_mean, listed_in_shell, warn
from sfumato.hierarchies import parse as parse_hierarchy

SHOWN = 12  # columns that a warning lists
LOOKED_AT = 100_000  # rows of an out-of-core table that are looked at for such columns


class RoleWarning(UserWarning):
    """A column without a role looks as if it told who somebody is."""


class UnprotectedWarning(UserWarning):
    """No criterion looks at a sensitive column; `words` says whether its reader writes Python or types in a shell."""

    def __init__(self, columns: Sequence[str], words: str = "python") -> None:
        super().__init__(tuple(columns), words)
        self.columns, self.words = tuple(columns), words

    def __str__(self) -> str:
        listed, those = ", ".join(f'"{name}"' for name in self.columns), "it" if len(self.columns) == 1 else "them"
        said = f"nothing protects {listed}: no criterion looks at {those}."
        if self.words == "shell":
            flag = f"--unprotected {listed_in_shell(self.columns)}"
            return f"{said} --suggest names one and its cost, {flag} accepts that"
        return f"{said} sf.suggest(release) names one, unprotected=[{listed}] accepts that"

    def told_in(self, words: str) -> UnprotectedWarning:
        """The same for readers elsewhere."""
        return UnprotectedWarning(self.columns, words)


def criteria(require: Any, k: Any = None) -> tuple[Any, ...]:
    """Criteria from values, shell forms and mappings as in a policy file; one alone is a list of one. With `k`,
    k-anonymity is the first of them."""
    if isinstance(require, str | Mapping) or not isinstance(require, Iterable):
        require = [require]
    if k is not None:
        require = [criterion("k-anonymity", k=k), *require]
    found = tuple(
        parse(c) if isinstance(c, str) else _named(c) if isinstance(c, Mapping) else CRITERIA.value(c) for c in require
    )
    if not found:
        hint = "for example require=[sf.KAnonymity(10)]"
        raise PolicyError("nothing is required of the release", allowed=", ".join(CRITERIA), hint=hint)
    return found


def _named(given: Mapping[Any, Any]) -> Any:
    """The criterion of a mapping, as a manifest or `achieved` writes it: its model and its parameters."""
    if not isinstance(model := given.get("model"), str):
        raise PolicyError("a criterion does not name its model", allowed='{"model": "k-anonymity", "k": 10}')
    return criterion(model, **{str(key): value for key, value in given.items() if key != "model"})


def roles_of(
    frame: pl.DataFrame,
    quasi: Any,
    identifying: Any,
    sensitive: Any,
    insensitive: Any,
    weight: Any,
    needed: Iterable[str],
    unprotected: Any = (),
    rest: Any = "refuse",
) -> Roles:
    """The roles, checked against the table and each other; what a criterion looks at is sensitive, and what is named as
    unprotected is too."""
    if weight is not None and not isinstance(weight, str):
        raise PolicyError("weight must be the name of a column", got=type(weight).__name__)
    if rest not in REST:
        got = f'"{rest}"' if isinstance(rest, str) else type(rest).__name__
        raise PolicyError("rest says what becomes of columns without a role", got=got, allowed=", ".join(REST))
    accepted, needed = column_names(unprotected, "unprotected"), tuple(needed)
    secrets = tuple(dict.fromkeys((*column_names(sensitive, "sensitive"), *needed, *accepted)))
    free = column_names(insensitive, "insensitive")
    roles = Roles(column_names(identifying, "identifying"), quasi_sets(quasi), secrets, free, weight, accepted, rest)
    faults = check_roles(frame.columns, roles) + [
        f'unprotected names the column "{name}", which a criterion protects' for name in accepted if name in needed
    ]
    if faults:
        raise ColumnError(faults[0]) if len(faults) == 1 else PolicyError("the roles do not fit the table:", faults)
    return roles


def refuse_empty(frame: pl.DataFrame, names: Iterable[str]) -> None:
    """A column without any value can be neither blurred nor protected."""
    for name in dict.fromkeys(names):
        if printed(frame.get_column(name)).null_count() == frame.height:
            raise ColumnError(f'column "{name}" is empty: it has no value in any row', hint="leave it out")


def refuse_undecided(frame: pl.DataFrame, roles: Roles, require: Iterable[Any], rows: int | None = None) -> None:
    """Raise UndecidedColumns for columns without a role that look identifying, quasi-identifying or sensitive.

    `rows` is how many the table has of which the frame is a sample.
    """
    if roles.rest == "refuse" and (found := undecided(frame, roles, _least(require), rows)):
        raise UndecidedColumns(found)


def warn_of_undecided(frame: pl.DataFrame, roles: Roles, require: Iterable[Any] = ()) -> None:
    """Name in a warning the columns that `anonymize` would refuse: of verbs that try out a release."""
    if roles.rest == "refuse":
        _warn("no role, so that anonymize would refuse them", undecided(frame, roles, _least(require)))


def warn_of_unmeasured(table: pl.DataFrame | Engine, quasi: Any, sensitive: Any = (), require: Any = ()) -> None:
    """Name in a warning the columns that may tell who somebody is, and that a measure does not look at."""
    promised = criteria(require) if require else ()
    named = (*column_names(sensitive, "sensitive"), *(name for one in promised for name in one.needs))
    roles = Roles(quasi=quasi_sets(quasi), insensitive=named)
    if isinstance(table, pl.DataFrame):
        found = undecided(table, roles, _least(promised))
    else:
        found = undecided(table.sample(LOOKED_AT), roles, _least(promised), table.rows())
    others_know = [one for one in found if one.reason.role in ("identifying", "quasi")]
    _warn("not among the quasi-identifiers, though others may know them", others_know)


def _warn(what: str, found: Sequence[Undecided]) -> None:
    listed = "; ".join(f'"{one.column}" ({one.reason.why})' for one in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    if found:
        warn(RoleWarning(f"{what}: {listed}{more}"))


def _least(require: Iterable[Any]) -> int:
    """How many rows share a value that is not rare: what the criteria ask of a class."""
    least = max((int(criterion.least_size) for criterion in require), default=1)
    return least if least > 1 else K


def warn_of_unprotected(roles: Roles, needed: Iterable[str]) -> None:
    """Name the sensitive columns that no criterion looks at, unless that is accepted in writing."""
    histogram_columns = {*needed, *roles.unprotected}
    if found := [name for name in roles.sensitive if name not in histogram_columns]:
        warn(UnprotectedWarning(found))


def recipes_of(frame: pl.DataFrame, hierarchies: Any) -> dict[str, Any]:
    """Column to recipe."""
    for name in mapping(hierarchies, "hierarchies"):
        if name not in frame.columns:
            what = f'there is a hierarchy for column "{name}", which the table does not have'
            raise ColumnError(what, hint=did_you_mean(name, frame.columns))
    return {name: parse_hierarchy(spec) for name, spec in mapping(hierarchies, "hierarchies").items()}


def kept(search: Any, keep: Any) -> Any:
    """A search that is told what to keep: only one that picks can be."""
    if keep is None:
        return search
    if not search.picks:
        raise PolicyError(
            "keep says what the automatic choice of a search shall keep",
            got=f"search {type(search).__name__}",
            hint='leave search out, or use search="auto"',
        )
    return replace(search, keep=keep)
