"""Linear system: values that answered sums determine together. Dobkin, Jones and Lipton, TODS 1979."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sfumato.control.attacks.evidence import LogEvidence, SumSystem
from sfumato.control.attacks.row_space import SumSpace, unit
from sfumato.core.parameters import checked
from sfumato.core.wording import count
from sfumato.measures.arguments import LISTED
from sfumato.measures.attacks.result import MOST, Attack, outcome, records


@checked
def linear_system(evidence: LogEvidence, *, most: Annotated[int, LISTED] = MOST) -> dict[str, Attack]:
    """Whose value follows from the answered sums, means and counts by linear algebra, whatever the values are.

    Answers are equations with a coefficient 0 or 1 per person; a value is determined where the unit vector of its
    person is in their row space. No overlap between query sets that is allowed keeps it out: three sets that share two
    people at most, {1, 2, 3}, {3, 4, 5} and {1, 2, 4, 5}, determine the third. Where the answers do not fit together,
    they were rounded or changed by noise, and the exposed are those whose value comes out right all the same, if the
    table is there to tell.

    Parameters
    ----------
    evidence
        The log, with what else is known.
    most
        How many row numbers to name.

    Returns
    -------
    An Attack for each column, whose details tell by which queries each of the rows named is exposed.

    References
    ----------
    Dobkin, Jones and Lipton, "Secure databases: protection against user influence", TODS 1979
    """
    return {system.column: _solved(system, most) for system in evidence.systems}


def _solved(system: SumSystem, most: int) -> Attack:
    space = SumSpace(system.matrix)
    found = space.determined()
    found = found[(system.alone[found] >= 0) & system.right(found)]
    rows = system.rows(found)
    by: dict[str, Any] = {}
    for one in found:
        row = int(system.alone[one] % system.people)
        used = space.combination(unit(int(one), system.matrix.shape[1])) if str(row) not in by else None
        if used is not None and len(by) < most:
            by[str(row)] = [int(number) for number in np.sort(system.numbers[list(used.answers)])]
    answers = count(len(system.answers), "answer")
    said = f"{answers}, {space.rank} of which do not follow from others, determine the value of"
    noisy = "" if system.fits else "; the answers do not fit together, as they were rounded or changed by noise"
    return outcome(
        "linear-system", len(rows), system.people, 0.0, rows[:most],
        f"{said} {records(len(rows), system.people)}{noisy}", of="table",
        details={"column": system.column, "rank": space.rank, "fits": system.fits, "queries": by}
        | {"rows": rows.tolist()},
    )  # fmt: skip
