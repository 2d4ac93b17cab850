"""Every attack on a log of queries: by all users together, and by each of them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.control.attacks.evidence import VALUES, LogEvidence
from sfumato.control.database import StatisticalDatabase
from sfumato.control.log import QueryLog, read_log
from sfumato.control.table import read_people
from sfumato.core.parameters import column_names, known_columns, mapping, real_number, whole_number
from sfumato.core.progress import Progress, cancellable, check_cancelled, quiet
from sfumato.core.wording import count, quoted
from sfumato.errors import ColumnError, EmptyTable, MissingExtra, PolicyError, ReadError
from sfumato.measures.attacks.result import MOST, TRIALS
from sfumato.measures.attacks.summary import AttackResults

USERS = 20  # whose own knowledge is attacked as well


@cancellable
def attack_queries(
    log: Any,
    data: Any = None,
    *,
    sensitive: Sequence[str] | None = None,
    bounds: Mapping[str, Any] | None = None,
    trials: int = TRIALS,
    seed: int = 0,
    most: int = MOST,
    progress: Progress | None = None,
) -> AttackResults:
    """What the answered queries of a log tell of single people, by every attack that there is something to try on.

    Parameters
    ----------
    log
        The log of a statistical database: its file, a `QueryLog`, or the database itself.
    data
        The table behind it, in the order of its people: who was estimated rightly, and what counts tell.
    sensitive
        Columns that attackers do not know; counts whose formula mentions one tell something of it. Unless given, those
        that are no keys of the database.
    bounds
        Column to the least and the greatest value that everybody knows of it, for intervals.
    trials, seed
        For how many classes of people intervals are computed, and the seed of the draw.
    most
        How many row numbers each attack names.
    progress
        A function of a message and a share.

    Returns
    -------
    A dict by attack, or by attack and column where it finds something of several; `skipped` says why an attack was not
    tried. In the details, `found` is how many rows are exposed, and `by user` how many each user finds out alone, for
    the first 20 in alphabetical order.

    >>> import sfumato as sf
    >>> staff = {"sex": ["F", "F", "F", "M", "M"], "age": [29, 41, 52, 38, 47], "wage": [10, 20, 30, 40, 50]}
    >>> database = sf.StatisticalDatabase(staff, controls=[sf.QuerySetSize(2)], values=["wage"])
    >>> women, older = database.ask("sum wage where sex = F"), database.ask("sum wage where sex = F and age > 30")
    >>> attack_queries(database)["differencing"]["exposed"]
    [0]
    """
    from sfumato.control.attacks import QUERY_ATTACKS

    whole_number(most, "most", 0)
    evidence = evidence_of(log, data, sensitive, bounds)
    alone = {user: evidence.of_user(user) for user in evidence.users[:USERS]} if len(evidence.users) > 1 else {}
    found = AttackResults()
    for i, (name, variant) in enumerate(QUERY_ATTACKS.items()):
        check_cancelled()
        (progress or quiet)(f"trying {name}", i / len(QUERY_ATTACKS))
        given = {"most": most, **({"trials": trials, "seed": seed} if name == "intervals" else {})}
        try:
            tried = variant.make(evidence, **given)
            users = {user: variant.make(part, **given) for user, part in alone.items()}
        except MissingExtra as missing:
            found.skipped[name] = str(missing)
            continue
        if not tried:
            found.skipped[name] = _why(name, evidence)
        for column, one in tried.items():
            entry = one.to_dict()
            rows = entry["details"].pop("rows")
            entry["details"] |= {"found": len(rows), "rows": rows[:most]}
            if alone:
                parts = {user: of_user.get(column) for user, of_user in users.items()}
                entry["details"]["by user"] = {
                    user: 0 if part is None else len(part.details["rows"]) for user, part in parts.items()
                }
            found[name if len(tried) == 1 else f"{name}: {column}"] = entry
    return found


def evidence_of(
    given: Any, data: Any, sensitive: Sequence[str] | None, bounds: Mapping[str, Any] | None
) -> LogEvidence:
    """A log with what else is known, checked."""
    log = given.log if isinstance(given, StatisticalDatabase) else given
    if isinstance(log, str | Path):
        log = read_log(log)
    if not isinstance(log, QueryLog):
        what = "an attack on queries needs the log of a statistical database"
        raise PolicyError(what, got=type(log).__name__, allowed="its file, a QueryLog, or a StatisticalDatabase")
    if not log.entries:
        raise EmptyTable("the log has no query", hint="an attack needs what was asked and answered")
    if any(len(entry.rows) and int(entry.rows.max()) >= log.people for entry in log.entries):
        raise ReadError("the log has rows beyond its people", hint="it was changed by hand")
    frame = None if data is None else read_people(data)
    secrets = column_names(sensitive, "sensitive")
    if sensitive is None and frame is not None:
        private = [name for name, role in log.columns.items() if role != "key"]
        secrets = tuple(name for name in private if name in frame.columns)
    if frame is not None and frame.height != log.people:
        what = "the table is not the one that the log is about"
        raise PolicyError(what, got=count(frame.height, "row"), allowed=f"its {count(log.people, 'person', 'people')}")
    if frame is None and secrets:
        raise PolicyError("what counts tell of a sensitive column is found out with the table", hint="data=table")
    if frame is not None:
        known_columns(secrets, frame.columns)
        for name in sorted({str(entry.column) for entry in log.entries} & set(frame.columns)):
            if not frame.get_column(name).dtype.is_numeric():
                raise ColumnError(f'the log has answers about "{name}", which has no numbers in the table')
    known = {}
    for name, pair in mapping(bounds, "bounds").items():
        ends = tuple(pair) if isinstance(pair, tuple | list) and len(pair) == 2 else (None, None)
        low = real_number(ends[0], f'the lower bound of "{name}"', -float("inf"))
        known[name] = (float(low), float(real_number(ends[1], f'the upper bound of "{name}"', low, above=True)))
    return LogEvidence(log, frame, secrets, known)


def _why(name: str, evidence: LogEvidence) -> str:
    """Why an attack found nothing that it could be tried on."""
    if name.endswith("tracker"):
        return "no query was refused"
    if name == "extremes":
        return "no maximum or minimum was answered"
    if name == "averaging" and any(not system.fits for system in evidence.systems):
        return "it needs the table, to know who is estimated rightly"
    if name == "averaging":
        return "the answers fit together: there is no noise to average away"
    if name == "snapshots":
        return "all answers are about one snapshot"
    if not evidence.systems:
        many = [c for c in evidence.sensitive if evidence.data is not None and evidence.data[c].n_unique() > VALUES]
        if many:
            return f"{quoted(many)} has more than {VALUES} values"
        return "no sum or mean was answered, nor a count by a column that is sensitive"
    if name == "intervals":
        return "the answers do not fit together, have no bounds that are known, or are too many for linear programs"
    if name == "regression":
        return "the answers do not fit together"
    return "it needs the table"
