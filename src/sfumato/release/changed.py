"""ChangedRelease: a table whose values were changed or made anew: its facts, and its promises where there are any."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key
from sfumato.core.hierarchy import kind_of
from sfumato.core.policy import Policy
from sfumato.core.printed import released_types
from sfumato.core.roles import Roles
from sfumato.engines.order import RowOrder
from sfumato.errors import Infeasible
from sfumato.measures.standards.finding import Profile
from sfumato.measures.table import TupleCounts
from sfumato.release.facts import FactFinding, Masking, as_dict, check_public
from sfumato.release.manifest import released
from sfumato.release.release import Release
from sfumato.release.verify import (
    CountedTable,
    Verification,
    class_sizes,
    refuse_false,
    verify_released,
    verify_table,
    with_facts,
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ChangedRelease(Release):
    """A table that was masked, or drawn from a model. What holds of it are facts, and promises where some were asked.

    `request` has its roles, policy, seed, order and about.
    """

    made_by: ClassVar[str]
    request: Any

    @property
    def roles(self) -> Roles:
        """The roles of the columns."""
        found: Roles = self.request.roles
        return found

    @property
    def policy(self) -> Policy | None:
        """What was promised; None where nothing was."""
        found: Policy | None = self.request.policy
        return found

    @property
    def order(self) -> RowOrder:
        """The order of its rows."""
        found: RowOrder = self.request.row_order
        return found

    @property
    def privacy(self) -> dict[str, Any] | None:
        """What its manifest says of differential privacy: it then tells nothing of the original but what was paid for,
        not how many rows it had, nor its fingerprint, nor how it was read. None where it is not private."""
        return None

    @property
    def facts(self) -> tuple[FactFinding, ...]:
        """What was checked of how it was made."""
        return self.verification.facts

    @property
    @abstractmethod
    def changed(self) -> tuple[str, ...]:
        """The columns that were changed or made anew."""

    @property
    @abstractmethod
    def perturbed(self) -> tuple[str, ...]:
        """The columns whose values are others than they were: classes of equal rows say nothing of them."""

    @property
    @abstractmethod
    def stated(self) -> Sequence[tuple[int, Any]]:
        """What can be checked of it, by the number of the step."""

    def role(self, name: str) -> str:
        """The role of a released column in the manifest."""
        return self.roles.role(name) or ("masked" if name in self.changed else "insensitive")

    @abstractmethod
    def told(self, columns: Iterable[str]) -> dict[str, Any]:
        """What its manifest says of how it was made, as far as these columns go."""

    @property
    def stepped(self) -> bool:
        """Always."""
        return True

    @property
    def rows_before(self) -> int | None:
        """How many rows the original has; out of core no row is left out."""
        return self.engine.rows() if self.in_memory else self.verification.rows

    @property
    def standards(self) -> tuple[Profile, ...]:
        """None: they ask for classes, or for values that are the people's."""
        return ()

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What is published beside the data; of rows in memory `save` adds the file and its hash."""
        asked, roles, made_anew = self.request, self.roles, self.changed
        schema = released_types(self.entries.schema, self.engine.schema())
        given = {name: self.role(name) for name in schema}
        columns = [
            {"name": name, "role": given[name], "kind": kind_of(dtype), "changed": name in made_anew}
            for name, dtype in schema.items()
        ]
        policy, mark, private = self.policy, None, self.privacy
        if private is None:
            mark = self.engine.fingerprint(key()) if self.in_memory else self.fingerprint
        common = released(
            self.made_by, self.verification.rows, columns, asked.order, self.rows_before, asked.seed, mark, self.place,
            self.engine.reading if private is None else {}, asked.about,
        )  # fmt: skip
        return {
            **common,
            "policy": {
                "identifying": [name for name in roles.identifying if name not in schema],
                "quasi": [list(names) for names in roles.quasi if names],
                "sensitive": list(roles.sensitive),
                "unprotected": list(roles.unprotected),
                "insensitive": [name for name, role in given.items() if role == "insensitive"],
                "rest": roles.rest,
                **({"row_key": list(asked.row_key)} if asked.row_key else {}),
                "require": [] if policy is None else [{"model": c.model, **c.parameters()} for c in policy.require],
            },
            **self.told(schema),
            "facts": [as_dict(fact, number) for number, fact in self.stated if {*fact.columns} <= {*schema}],
            "promises": [asdict(promise) for promise in self.verification.promises],
            "measured": list(self.verification.classes),
            **({} if private is None else {"privacy": private}),
        }


def promised_columns(policy: Policy | None) -> set[str]:
    """The columns that promises are about."""
    return set() if policy is None else {*policy.columns, *(name for c in policy.require for name in c.needs)}


def verified(
    table: pl.DataFrame,
    original: pl.DataFrame,
    policy: Policy | None,
    sets: Sequence[Sequence[str]],
    stated: Sequence[tuple[int, Any]],
    changed: Sequence[str],
    rows: np.ndarray,
) -> Verification:
    """Promises and facts on the rows: a promise that they do not keep is Infeasible, a fact a fault of ours."""
    verification = Verification(table.height, (), tuple(class_sizes(table, names) for names in sets if names))
    if policy is not None:
        verification = verify_table(table, policy.quasi, policy.require)
        refuse_broken(verification)
    facts: tuple[Mapping[str, Any], ...] = tuple(
        as_dict(fact, number) for number, fact in stated if {*fact.columns} <= {*table.columns}
    )
    return with_facts(verification, Masking(original, rows, {"changed": changed}, facts), table, 0)


def verified_counts(
    counts: TupleCounts, stated: Sequence[tuple[int, Any]], policy: Policy | None, quasi: Sequence[Sequence[str]]
) -> Verification:
    """The same on what was written, by what is counted of it; facts are those of the released rows alone."""
    released = CountedTable(counts, {}, {})
    sets = [names for names in quasi if names] if policy is None else policy.quasi
    verification = Verification(counts.rows, (), ())
    if sets:
        verification = verify_released(released, sets, () if policy is None else policy.require)
    if policy is not None:
        refuse_broken(verification)
    written = [as_dict(fact, number) for number, fact in stated if {*fact.columns} <= {*released.columns}]
    facts = tuple(check_public(*released.entries(fact["columns"]), fact) for fact in written)
    refuse_false(facts)
    return replace(verification, facts=facts)


def refuse_broken(verification: Verification) -> None:
    """Raise Infeasible where rows do not keep what is required."""
    if verification.holds:
        return
    broken = [promise for promise in verification.promises if not promise.holds]
    told = "; ".join(f"{p.model} measures {p.measured:g}, bound {p.bound:g}" for p in broken)
    raise Infeasible(
        f"the rows that were made do not keep what is required: {told}",
        hint="mask more or draw more rows, require less, or let a search blur what is left",
        closest=verification,
    )
