"""Snapshots: the same question before and after one person came. Denning, Cryptography and Data Security, 1982."""

from __future__ import annotations

from typing import Annotated

from sfumato.control.attacks.differencing import differences, told
from sfumato.control.attacks.evidence import LogEvidence
from sfumato.core.parameters import checked
from sfumato.measures.arguments import LISTED
from sfumato.measures.attacks.result import MOST, Attack


@checked
def snapshots(evidence: LogEvidence, *, most: Annotated[int, LISTED] = MOST) -> dict[str, Attack]:
    """Whose value is the difference between two answers about two snapshots of the table.

    Parameters
    ----------
    evidence
        The log, with what else is known; a row keeps its number from one snapshot to the next.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for each column that was asked about in several snapshots.

    References
    ----------
    Denning, "Cryptography and Data Security", Addison-Wesley 1982
    """
    how = "answers about two snapshots differ in"
    return {
        system.column: told("snapshots", system, differences(system, across=True), how, most)
        for system in evidence.systems
        if len(set(system.snapshots.tolist())) > 1
    }
