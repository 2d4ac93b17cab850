"""Reach: how far the promises of a release go, which columns they leave out, and what the rows tell of those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.engines.printed import printed
from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.measures.suggestion import Suggested

ATTACKED = 4_000_000  # rows times sensitive columns up to which attacks are tried
COUNTED = 40_000_000  # rows times columns up to which rows that stand alone are counted
NOT_IN_MEMORY = (
    "How many records the columns that are not covered single out was not counted: the table is not in memory."
)


@dataclass(frozen=True)
class Singled:
    """How many released rows have values of these columns that no other row has."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, eq=False)
class Reach:
    """What is promised, against whom, which columns that does not cover, and what the released rows tell of them.

    `uncovered` are the released columns that are neither quasi-identifying nor sensitive; `unprotected` the sensitive
    ones that no promise is about, of which `accepted` are named as such in the policy. `alone`, the most first, has
    those of both that single out rows by themselves, `together` all of them at once, `with_known` the same with the
    quasi-identifiers; None where that was not counted. `secrets` has the protected sensitive columns that single out
    rows to whoever knows them. `suggested` has a criterion for what is unprotected. Nothing but released rows is looked
    at.
    """

    rows: int | None
    promises: tuple[Mapping[str, Any], ...]
    known: tuple[tuple[str, ...], ...]  # the sets of quasi-identifiers
    uncovered: tuple[str, ...]
    unprotected: tuple[str, ...]
    accepted: tuple[str, ...] = ()
    alone: tuple[Singled, ...] = ()
    together: Singled | None = None
    with_known: Singled | None = None
    secrets: tuple[Singled, ...] = ()
    attacks: tuple[Mapping[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    suggested: tuple[Suggested, ...] = ()  # a criterion for each unprotected column
    order: str | None = None  # of the rows

    @property
    def worst(self) -> Mapping[str, Any] | None:
        """The attack that does best beyond guessing; None where none was tried."""
        return max(self.attacks, key=_gain, default=None)

    def worst_on(self, column: str) -> Mapping[str, Any] | None:
        """The same of the attacks on one sensitive column."""
        return max((a for a in self.attacks if a["details"].get("column") == column), key=_gain, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for json."""
        worst = self.worst
        return {
            "known": [list(names) for names in self.known],
            "uncovered": list(self.uncovered),
            "unprotected": list(self.unprotected),
            "accepted": list(self.accepted),
            "singled_out": {
                "alone": {single.columns[0]: single.rows for single in self.alone},
                "together": None if self.together is None else self.together.rows,
                "with_known": None if self.with_known is None else self.with_known.rows,
                "secrets": {single.columns[0]: single.rows for single in self.secrets},
            },
            "worst_attack": None if worst is None else _shown(worst),
            "attacks_on_unprotected": {
                name: _shown(found) for name in self.unprotected if (found := self.worst_on(name)) is not None
            },
            "suggested": {one.column: one.require for one in self.suggested},
            "order": self.order,
            "notes": list(self.left_out),
        }


def reach_of(
    released: pl.DataFrame | None,
    *,
    roles: Mapping[str, str],
    quasi: Sequence[Sequence[str]],
    promises: Iterable[Mapping[str, Any]],
    accepted: Iterable[str] = (),
    rows: int | None = None,
    order: str | None = None,
) -> Reach:
    """The reach of promises on a released table.

    Parameters
    ----------
    released
        The released rows; None where they are not in memory: then nothing is counted, and `left_out` says so.
    roles
        Each released column to its role. What a set of `quasi` holds is quasi-identifying, whatever its role says.
    quasi
        The sets of quasi-identifiers.
    promises
        The promises, as a manifest has them.
    accepted
        Sensitive columns that are unprotected on purpose.
    rows
        How many rows were released, where they are not in memory.
    order
        The order of the rows, where it is known.

    Examples
    --------
    >>> table = pl.DataFrame({"age": ["2*", "2*"], "cost": [310, 95]})
    >>> found = reach_of(table, roles={"age": "quasi", "cost": "insensitive"}, quasi=[["age"]], promises=[])
    >>> found.uncovered, found.together.rows
    (('cost',), 2)
    """
    asked = tuple(promises)
    sets = tuple(tuple(dict.fromkeys(names)) for names in quasi)
    protected = {(promise.get("parameters") or {}).get("attribute") for promise in asked}
    known = set(chain(*sets))
    secrets = [name for name, role in roles.items() if role == "sensitive" and name not in known]
    unprotected = tuple(name for name in secrets if name not in protected)
    uncovered = tuple(name for name in roles if name not in known and name not in secrets)
    named = tuple(name for name in accepted if name in unprotected)
    beyond = (*uncovered, *unprotected)
    if released is None:
        left_out = (NOT_IN_MEMORY,) if beyond else ()
        return Reach(rows, asked, sets, uncovered, unprotected, named, left_out=left_out, order=order)
    attacks, suggested, skipped = _attacks(released, sets, secrets, unprotected)
    guarded = [name for name in secrets if name in protected]
    alone: list[Singled] = []
    hidden: list[Singled] = []
    together = with_known = None
    text = None
    if released.height * (len(secrets) + len(uncovered) + max(map(len, sets), default=0)) > COUNTED:
        skipped += [f"Rows that stand alone are counted on up to {COUNTED:,} cells; this table has more."]
    elif beyond or guarded:
        columns = dict.fromkeys([*chain(*sets), *beyond, *guarded])
        text = pl.DataFrame([printed(released.get_column(name)) for name in columns])
        each = _singled_by_each(text, (*beyond, *guarded))
        every = {single.columns[0]: single for single in each}
        alone = sorted((every[name] for name in beyond if every[name].rows), key=lambda single: -single.rows)
        hidden = [every[name] for name in guarded if every[name].rows]
    if beyond and text is not None:
        together = _singled(text, beyond)
        with_known = max((_singled(text, (*names, *beyond)) for names in sets), key=lambda s: s.rows, default=together)
    return Reach(
        released.height,
        asked,
        sets,
        uncovered,
        unprotected,
        named,
        tuple(alone),
        together,
        with_known,
        tuple(hidden),
        attacks,
        tuple(skipped),
        suggested,
        order,
    )


def _gain(attack: Mapping[str, Any]) -> tuple[float, float]:
    return float(attack.get("advantage") or 0.0), float(attack.get("success") or 0.0)


def _shown(attack: Mapping[str, Any]) -> dict[str, Any]:
    return {key: attack[key] for key in ("name", "success", "baseline", "interval", "trials", "sentence", "quasi")} | {
        "column": attack["details"].get("column")
    }


def _singled(text: pl.DataFrame, names: Sequence[str]) -> Singled:
    """Rows whose values of the columns no other row has."""
    keys = pl.DataFrame([text.get_column(name).alias(f"q{i}") for i, name in enumerate(dict.fromkeys(names))])
    sizes = keys.group_by(keys.columns).agg(size=pl.len()).get_column("size")
    return Singled(tuple(names), int((sizes == 1).sum()))


def _singled_by_each(text: pl.DataFrame, names: Sequence[str]) -> list[Singled]:
    """The same of each column alone, in one go: there may be many."""
    columns = pl.DataFrame([text.get_column(name).alias(str(i)) for i, name in enumerate(names)])
    rows = columns.select(pl.all().is_unique().sum()).row(0)
    return [Singled((name,), int(alone)) for name, alone in zip(names, rows, strict=True)]


def _attacks(
    released: pl.DataFrame, sets: Sequence[Sequence[str]], secrets: Sequence[str], unprotected: Sequence[str]
) -> tuple[tuple[Mapping[str, Any], ...], tuple[Suggested, ...], list[str]]:
    """The attacks that need the release alone, criteria for unprotected columns, and what was left out."""
    from sfumato.measures.attacks import attack_summary
    from sfumato.measures.suggestion import suggest_criterion

    found: list[Mapping[str, Any]] = []
    if released.height * len(sets) * len(secrets) > ATTACKED:
        return (), (), [f"Attacks are tried on up to {ATTACKED:,} rows times sensitive columns; this table has more."]
    if not released.height or not secrets:
        return (), (), []
    coded = {name: _code(released.get_column(name)) for name in dict.fromkeys(chain(*sets))}
    seen = pl.DataFrame(coded | {name: released.get_column(name) for name in secrets})
    suggested = []
    for secret in secrets:
        try:
            for names in sets:
                tried = attack_summary(seen, quasi=names, sensitive=[secret], most=0)
                found += [{**attack, "quasi": list(names)} for attack in tried.values()]
            suggested += [suggest_criterion(seen, sets, secret)] if secret in unprotected else []
        except SfumatoError:  # such as a column that is missing throughout
            continue
    return tuple(found), tuple(one for one in suggested if one is not None), []


def _code(column: pl.Series) -> pl.Series:
    """Numbers for labels: the attacks on classes ask only which rows are equal, and texts cost time."""
    text = printed(column)
    return text.cast(pl.Categorical).to_physical().cast(pl.Int64).alias(column.name)
