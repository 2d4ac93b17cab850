"""The 0.09 threshold: how clinical data are judged before they are made public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.core.parameters import column_names, known_columns, share_of
from sfumato.core.wording import count
from sfumato.errors import PolicyError
from sfumato.measures.measure import Measure
from sfumato.measures.risk.keys import keys_of
from sfumato.measures.standards.finding import Check, Profile
from sfumato.measures.table import table_of

LIMIT = 0.09  # classes of twelve records and more: 1/11 is above it
AGENCIES = " of the European Medicines Agency and Health Canada"


def clinical(data: Any, quasi: Any, *, limit: float = LIMIT, wildcard: bool = False) -> Profile:
    """Whether the risk of every record, and the average risk, stay within 0.09.

    The risk of a record is 1/n, with n the records that share its quasi-identifiers (the prosecutor's). The European
    Medicines Agency and Health Canada ask for a highest risk of at most 0.09 where clinical data are made public, which
    takes classes of at least twelve records. The average follows from it and is reported beside.

    Parameters
    ----------
    data
        The released table.
    quasi
        Its quasi-identifying columns.
    limit
        The threshold.
    wildcard
        Whether a missing value (and "*") matches any value.

    Examples
    --------
    >>> clinical({"age": ["20-29"] * 12}, ["age"]).holds, clinical({"age": ["20-29"] * 11}, ["age"]).holds
    (True, False)

    References
    ----------
    European Medicines Agency, "External guidance on the implementation of Policy 0070", 2018; Health Canada, "Public
    release of clinical information: guidance document", 2019; El Emam, "Guide to the de-identification of personal
    health information", 2013.
    """
    limit = share_of(limit, "limit")
    table = table_of(data)
    names = tuple(dict.fromkeys(column_names(quasi, "quasi")))
    if not names:
        raise PolicyError("no quasi-identifying column is given")
    known_columns(names, table.columns)
    keys = keys_of(table, names, wildcard=wildcard)
    least, mine = int(keys.classes.min()), keys.sample > 0
    average = float((keys.sample[mine] / keys.size[mine]).sum() / keys.rows)
    return from_sizes(names, keys.rows, least, len(keys.classes), average, limit, wildcard)


def from_sizes(
    names: Sequence[str],
    rows: int,
    least: int,
    classes: int,
    average_risk: float,
    limit: float = LIMIT,
    wildcard: bool = False,
) -> Profile:
    """The same from the sizes of the classes: their rows, the least of them, how many, and the average risk."""
    risk = {"highest": 1 / least, "average": average_risk}
    details = {"smallest": least, "classes": classes}
    alike = "no other record" if least == 1 else count(least - 1, "other record")
    highest = Measure(
        "highest risk",
        risk["highest"],
        (0.0, 1.0),
        f"The record most at risk shares its quasi-identifiers with {alike}: a risk of {risk['highest']:.3g}.",
        details=details,
    )
    average = Measure(
        "average risk",
        risk["average"],
        (0.0, 1.0),
        f"On average a record is at a risk of {risk['average']:.3g}.",
        details=details,
    )
    checks = tuple(Check(m, limit, m.value <= limit + 1e-12) for m in (highest, average))
    holds = all(check.holds for check in checks)
    verdict = "meets" if holds else "does not meet"
    statement = (
        f"This table of {rows} records {verdict} the {limit:g} threshold{AGENCIES if limit == LIMIT else ''}: "
        f"its highest risk is {risk['highest']:.3g} and its average risk {risk['average']:.3g}, over the "
        f"quasi-identifiers {', '.join(names)}. The threshold speaks of these columns alone and is no proof of "
        "anonymity: other columns may tell people apart, and a group that looks alike may share what is sensitive."
    )
    more = {"limit": limit, "rows": rows, "quasi": list(names), "wildcard": wildcard}
    return Profile("clinical", holds, checks, statement, more, ("highest risk", "average risk"))
