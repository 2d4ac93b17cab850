"""Reach: how far the promises of a release go, which columns they leave out, and what the rows tell of those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.core.printed import printed
from sfumato.engines.memory.table import MemoryTable
from sfumato.errors import ColumnError, PolicyError, TooManyCells
from sfumato.measures.table import TupleCounts

if TYPE_CHECKING:
    from sfumato.measures.attacks.classes import View
    from sfumato.measures.suggestion import Suggested

ATTACKED = 12_000_000  # rows times sensitive columns up to which attacks are tried
ROWS, COUNTED = 20_000_000, 100_000_000  # rows, and rows times columns, up to which rows that stand alone are counted
NOT_COUNTED = (
    "How many records the columns that are not covered single out was not counted: the rows were not looked at."
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
    masked: bool = False  # perturbed columns are not looked at
    synthetic: bool = False  # nor are those that were drawn from a model
    tables: int = 1  # of a release with several copies of the same people, whose first is looked at

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
    released: pl.DataFrame | TupleCounts | None,
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
        The released rows, or of an out-of-core release what an engine counts of them; None where they are not
        looked at: then `left_out` says so.
    roles
        Each released column to its role. What a set of `quasi` holds is quasi-identifying, whatever its role says.
    quasi
        The sets of quasi-identifiers.
    promises
        The promises, as a manifest has them.
    accepted
        Sensitive columns that are unprotected on purpose.
    rows
        How many rows were released, of an out-of-core release.
    order
        The order of the rows, where it is known.

    Examples
    --------
    >>> table = pl.DataFrame({"age": ["2*", "2*"], "cost": [310, 95]})
    >>> found = reach_of(table, roles={"age": "quasi", "cost": "insensitive"}, quasi=[["age"]], promises=[])
    >>> found.uncovered, found.together.rows
    (('cost',), 2)
    """
    rows = released.height if isinstance(released, pl.DataFrame) else rows
    asked = tuple(promises)
    sets = tuple(tuple(dict.fromkeys(names)) for names in quasi)
    protected = {(promise.get("parameters") or {}).get("attribute") for promise in asked}
    known = set(chain(*sets))
    secrets = [name for name, role in roles.items() if role == "sensitive" and name not in known]
    unprotected = tuple(name for name in secrets if name not in protected)
    uncovered = tuple(name for name in roles if name not in known and name not in secrets)
    named = tuple(name for name in accepted if name in unprotected)
    beyond = (*uncovered, *unprotected)
    if released is None or not rows:
        left_out = (NOT_COUNTED,) if beyond and released is None else ()
        return Reach(rows, asked, sets, uncovered, unprotected, named, left_out=left_out, order=order)
    table = TupleCounts(MemoryTable(released)) if isinstance(released, pl.DataFrame) else released
    both = [name for name in roles if name in known and name in protected]  # blurred, and protected where not known
    attacks, suggested, skipped = _attacks(table, rows, sets, [*secrets, *both], unprotected)
    guarded = [name for name in secrets if name in protected]
    wide = [(*names, *beyond) for names in sets] or [beyond]
    wanted = [(name,) for name in (*beyond, *guarded)] + ([beyond, *wide] if beyond else [])
    alone: dict[tuple[str, ...], int] = {}
    if wanted and (rows > ROWS or rows * len({*beyond, *guarded, *known}) > COUNTED):
        skipped.append(
            f"Rows that stand alone are counted on up to {ROWS:,} rows and {COUNTED:,} cells; this table has more."
        )
    elif wanted:
        each = list(dict.fromkeys(wanted))
        alone = dict(zip(each, table.table.singled(each), strict=True))
    found = {names: Singled(names, n) for names, n in alone.items()}
    single = [one for name in beyond if (one := found.get((name,))) and one.rows]
    return Reach(
        rows,
        asked,
        sets,
        uncovered,
        unprotected,
        named,
        tuple(sorted(single, key=lambda one: -one.rows)),
        found.get(beyond),
        max((found[names] for names in wide if names in found), key=lambda one: one.rows, default=None),
        tuple(one for name in guarded if (one := found.get((name,))) and one.rows),
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


def _attacks(
    table: TupleCounts, rows: int, sets: Sequence[Sequence[str]], secrets: Sequence[str], unprotected: Sequence[str]
) -> tuple[tuple[Mapping[str, Any], ...], tuple[Suggested, ...], list[str]]:
    """The attacks that need the release alone, criteria for unprotected columns, and what was left out."""
    from sfumato.measures.attacks.summary import attacks_on_classes
    from sfumato.measures.suggestion import suggest_criterion

    found: list[Mapping[str, Any]] = []
    if rows * len(sets) * len(secrets) > ATTACKED:
        return (), (), [f"Attacks are tried on up to {ATTACKED:,} rows times sensitive columns; this table has more."]
    suggested, left_out = [], []
    for secret in secrets:
        try:
            others = dict.fromkeys(tuple(name for name in names if name != secret) for names in sets)
            seen = [_view(table, names, secret) for names in others if names]
            for one in seen:
                tried = attacks_on_classes(one, most=0)
                found += [{**attack, "quasi": list(one.quasi)} for attack in tried.values()]
            suggested += [suggest_criterion(seen)] if secret in unprotected else []
        except TooManyCells:
            what = "its values in the classes are too many to be held in memory"
            left_out.append(f"Attacks on {secret} were not tried: {what}.")
        except (PolicyError, ColumnError):  # such as values that cannot be printed
            continue
    return tuple(found), tuple(one for one in suggested if one is not None), left_out


def _view(table: TupleCounts, names: Sequence[str], secret: str) -> View:
    """The classes of the table with the values of a sensitive column, from the count of their tuples."""
    from sfumato.measures.attacks.classes import view

    frame, row_counts = table.entries([*names, secret])
    coded = pl.DataFrame([_code(frame.get_column(name)) for name in names])
    return view(coded.with_columns(printed(frame.get_column(secret))), names, secret, row_counts=row_counts)


def _code(column: pl.Series) -> pl.Series:
    """Numbers for labels: the attacks on classes ask only which rows are equal, and texts cost time."""
    text = printed(column)
    return text.cast(pl.Categorical).to_physical().cast(pl.Int64).alias(column.name)
