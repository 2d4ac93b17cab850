"""MinedRelease: what was learned of people, verified from what is published of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sfumato.core.fingerprint import fingerprint, key
from sfumato.mining import MINERS
from sfumato.mining.values import Miner, MiningProblem
from sfumato.release.release_set import ReleaseSet, SetTable, in_order, make_set

MADE_BY = "mining"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MinedRelease(ReleaseSet):
    """What was learned of people: `tables` has itemsets and rules, or the rules of a tree, or pooled counts.

    `solution` compares with the original, and is for its owner alone; so is `compared`, where it was asked for: how the
    other way does, to anonymise first and mine then.
    """

    compared: Mapping[str, Any] = field(default_factory=dict)

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """Rows of each table, and the promise."""
        _, facts = super().described()
        return f"Mined by {self.manifest['method']['miner']}", facts


def release_mined(miner: Miner, problem: MiningProblem, source: Any, policy: Mapping[str, Any]) -> MinedRelease:
    """Mine, and verify what would be published. `source` is the frame that the fingerprint is of."""
    found = miner(problem)
    problem.report_progress("verifying", None)
    parts = [SetTable(name, in_order(frame), found.roles[name]) for name, frame in found.frames.items()]
    made = make_set(
        MADE_BY,
        parts,
        [],
        [found.promise],
        policy=policy,
        method={"miner": MINERS.name_of(miner), **found.method},
        before=None,  # how many people there are may be one more than is published
        fingerprint=fingerprint(source, key()),
        solution=found.solution,
    )
    return MinedRelease(**{one.name: getattr(made, one.name) for one in fields(made)})
