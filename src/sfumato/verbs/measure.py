"""Measures of an out-of-core table: what is known of it, what is left out, and what is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.parameters import column_names, mapping, whole_number
from sfumato.engines.memory.table import enter
from sfumato.engines.tables import is_engine, store_of
from sfumato.errors import PolicyError
from sfumato.measures.measure import Summary
from sfumato.measures.source import MeasuredTable, Sets, in_order, source_of
from sfumato.measures.table import DEFAULT_MAX_CELLS, LOAD, Table, TupleCounts, refuse, rows_of, table_of
from sfumato.release.release import Release
from sfumato.release.request import warn_of_unmeasured

if TYPE_CHECKING:
    from sfumato.measures.attacks.summary import AttackResults


NO_ORDER = (
    "it is not known which released row came from which original row, for an out-of-core table has no order "
    "of rows: what compares row by row is left out"
)
NO_NUMBERS = "the most exposed rows are not named: rows of an out-of-core table have no numbers"
PROFILES = ("hipaa", "gdpr")  # those that look at rows or at every cell


def in_memory(data: Any, what: str) -> Any:
    """The table as it is, or a PolicyError that names what cannot be done with one that is not in memory."""
    stored = isinstance(data, Release) and not data.in_memory
    if stored or isinstance(data, TupleCounts) or store_of(data) is not None:
        refuse(what)
    return data


def refuse_risks(household: str | None, profile: str | None, original: Any) -> None:
    """Raise a PolicyError for a risk that was asked for and needs rows."""
    if household is not None:
        refuse("household risk")
    if profile in PROFILES:
        refuse(f'profile "{profile}"')
    if original is not None:
        refuse("interval disclosure, which compares row by row with the original,")


def fitting(
    table: TupleCounts, names: Sequence[str], sensitive: Sequence[str], weight: str | None, named: Sequence[str | None]
) -> tuple[list[str], str | None, list[str]]:
    """The sensitive columns and the weight of a release that can be counted with its classes, and notes on the others.

    A release is measured without a column that cannot be counted; who `named` it gets an error.
    """
    beside = [name for name in (*sensitive, weight) if isinstance(name, str) and name not in names]
    if len(beside) == 1 and beside[0] in named:
        table.entries([*names, *beside])  # this one count answers for the classes, too
    lost = [name for name in beside if name not in named and not table.holds([*names, name])]
    notes = [
        f'"{name}" is left out: with the quasi-identifiers it has too many different combinations to be held in memory'
        for name in lost
    ]
    return [name for name in sensitive if name not in lost], None if weight in lost else weight, notes


def utility_of_counts(
    original: Table,
    source: MeasuredTable,
    hierarchies: Mapping[str, Any],
    quasi: Any,
    rows: Any,
    key: Any,
    **asked: Any,
) -> dict[str, Any]:
    """The summary of utility where the original, the release or both are not in memory."""
    from sfumato.measures.utility import utility_summary
    from sfumato.measures.utility.pair import counted_pair

    if rows is not None or key is not None:
        what = "rows and key say which row came from which, and an out-of-core table has no rows to compare"
        raise PolicyError(what, hint=LOAD)
    columns = source.columns(quasi)
    pair = counted_pair(original, source.table, hierarchies, columns or ())
    for name in (*(columns or ()), asked["target"]):
        if name in pair.too_many:
            pair.on([name])  # says that they are too many
    found = utility_summary(pair, quasi=columns, **asked)
    notes = []
    if source.came_from not in (None, pair.original_rows):
        made = f"the release was made of a table of {source.came_from} rows"
        notes.append(f"{made}, and this one has {pair.original_rows}")
    return Summary(found | {"notes": [*notes, NO_ORDER, *found["notes"]]})


__all__ = ["attack", "risk", "utility"]

Names = Sequence[str]
UNKNOWN_ROWS = "it is not known which released row came from which original row"
LEFT_OUT = "what compares row by row is left out"


def risk(
    data: Any,
    *,
    quasi: Names | Sequence[Names] | None = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    weight: str | None = None,
    household: str | None = None,
    threshold: float = 0.2,
    wildcard: bool | None = None,
    sensitive: Names | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    suda: bool | int = False,
    subsets: int | None = None,
    profile: str | None = None,
    original: Any = None,
    max_cells: int = DEFAULT_MAX_CELLS,
) -> dict[str, Any]:
    """What a table gives away about the people in it: every risk that its inputs allow.

    Parameters
    ----------
    data: a frame, a file, a store, a Release or a release folder; the last two know `quasi`, `sensitive` and `weight`.
    quasi: the columns that others may know, or several sets of them.
    population: a table of the population that the people were drawn from, or its size. sampling_fraction: the share of
        it that is in the table; it follows from a population or from weights.
    weight, household: columns of survey weights and of households.
    threshold: records strictly above it are at risk. wildcard: whether a missing value (and "*") matches any value; by
        default as the release was made, else not.
    sensitive, hierarchies: columns whose l, t, alpha, beta and delta are measured, and their hierarchies.
    suda: also SUDA scores and the fewest columns that single a record out; a number looks at sets of up to so many
        columns, which wide tables need. subsets: also what each set of up to so many columns tells apart.
    profile: also hold the table against "hipaa" (which needs no `quasi`), "gdpr" or "clinical".
    original: the table behind the release, row by row: adds the interval disclosure of numbers and dates that were
        released as such, and "gdpr" then carries out its attacks on it.
    max_cells: of an out-of-core table, how many different combinations of values may be held. `household`,
        `original` and the profiles "hipaa" and "gdpr" need rows, and are refused there.

    Returns
    -------
    A mapping: `rows`, `classes`, `quasi`, `prosecutor`, `journalist`, `marketer`, `uniqueness`, `achieved`, and with
    their inputs `individual`, `household`, `log_linear`, `suda`, `subsets`, `interval_disclosure`, `profile`;
    `measures` says the same in sentences. With several sets of quasi-identifiers it is that of the set at most risk (a
    profile that fails, then the highest risk, then the average), and `sets` has all. `notes` says what was left out of
    an out-of-core table.

    >>> import sfumato as sf
    >>> sf.risk({"age": [30, 30, 30, 40]}, quasi=["age"])["prosecutor"]["highest"]
    1.0
    """
    from sfumato.measures.standards import profile as against

    source = _source(data, max_cells)
    if isinstance(source.table, TupleCounts):
        refuse_risks(household, profile, original)
    built = _hierarchies(source, hierarchies)
    if profile == "hipaa" and quasi is None and not source.quasi:
        table = source.frame('profile "hipaa"')
        checked = against(profile, table)
        return Summary({"rows": table.height, "quasi": [], "measures": [], "profile": checked.to_dict()})
    options: dict[str, Any] = {
        "population": population if store_of(population) is None else table_of(population, max_cells),
        "sampling_fraction": sampling_fraction,
        "weight": source.weight if weight is None else weight,
        "household": household,
        "threshold": threshold,
        "wildcard": source.wildcard if wildcard is None else wildcard,
        "hierarchies": built,
    }
    before = None if original is None else source_of(in_memory(original, "interval disclosure")).frame("it")
    found = []
    _warn(source, source.sets(quasi, "risk"), sensitive, options["weight"], household)
    sets = _with_blurred(source, source.sets(quasi, "risk"), sensitive)
    for names in sets:
        secrets = _secrets(source, sensitive, names, sets)
        notes: list[str] = []
        asked = {**options, "sensitive": secrets}
        if isinstance(source.table, TupleCounts):
            secrets, named = column_names(secrets, "sensitive"), (*column_names(sensitive, "sensitive"), weight)
            kept, survey, notes = fitting(source.table, names, secrets, options["weight"], named)
            asked |= {"sensitive": kept, "weight": survey}
        entry = _risk_of(source, names, asked, _depth(suda), subsets)
        if isinstance(source.table, TupleCounts):
            entry["notes"] = [*notes, *([NO_NUMBERS] if "suda" in entry else [])]
        if before is not None:
            _add_intervals(entry, source, before, (*names, *column_names(secrets, "sensitive")), hierarchies)
        if profile is not None:
            more: dict[str, Any] = {"original": before, "hierarchies": built} if profile == "gdpr" else {}
            more["wildcard"] = options["wildcard"]
            entry["profile"] = against(profile, source.table, names, secrets, **more).to_dict()
        found.append(entry)
    worst = max(found, key=_severity)
    return Summary(worst | ({"sets": found} if len(found) > 1 else {}))


def _severity(found: Mapping[str, Any]) -> tuple[bool, float, float]:
    """By what a set of quasi-identifiers is at more risk than another."""
    attacker = found["prosecutor"]
    return not found.get("profile", {}).get("holds", True), attacker["highest"], attacker["average"]


def _depth(suda: Any) -> int | bool | None:
    """Up to how many columns SUDA looks at: None for all, False where it is not asked for."""
    if suda is None or isinstance(suda, bool):
        return None if suda else False
    return whole_number(suda, "suda")


def _add_intervals(
    entry: dict[str, Any],
    source: MeasuredTable,
    original: pl.DataFrame,
    names: Names,
    hierarchies: Mapping[str, Any] | None,
) -> None:
    """How often an original value lies near the released one, where it is known which row came from which."""
    from sfumato.measures.risk.interval_window import interval_figures
    from sfumato.measures.risk.summary import interval_measures

    table = source.frame("interval disclosure")
    rows = source.rows if source.original is not None and source.original.height == original.height else None
    before = original if rows is None else original[rows.tolist()]
    if rows is None and not in_order(original, source):
        entry["interval_disclosure"] = {"columns": {}, "note": f"no interval disclosure: {UNKNOWN_ROWS}"}
        return
    entry["interval_disclosure"] = interval_figures(before, table, names, hierarchies)
    entry["measures"] += [measure.to_dict() for measure in interval_measures(entry["interval_disclosure"])]


def _risk_of(
    source: MeasuredTable, names: Names, options: Mapping[str, Any], suda: int | bool | None, subsets: int | None
) -> dict[str, Any]:
    from sfumato.measures import risk as of

    summary = of.risk_summary(source.table, names, **options)
    found = {"quasi": list(names), **summary}
    if suda is not False:
        fraction = found["uniqueness"].get("sampling_fraction", 0.1)
        how: dict[str, Any] = {"up_to": suda, "wildcard": options["wildcard"]}
        scored = of.suda_risk(source.table, names, fraction, **how)
        unsafe = of.unsafe_share(source.table, names, **how)
        columns = of.suda_attributes(source.table, names, **how)
        found["suda"] = {
            "average": scored.value,
            **scored.details,
            "contribution": dict(columns.iter_rows()),
            "minimum_unsafe": {"share": unsafe.value, **unsafe.details},
        }
        found["measures"] += [scored.to_dict(), unsafe.to_dict()]
    if subsets is not None:
        found["subsets"] = of.subsets(source.table, names, subsets).to_dicts()
    return found


def utility(
    original: Any,
    released: Any = None,
    *,
    quasi: Names | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    target: str | None = None,
    rows: Sequence[int] | np.ndarray | None = None,
    key: str | None = None,
    k: int | None = None,
    queries: int = 200,
    dimension: int = 2,
    seed: int = 0,
    max_cells: int = DEFAULT_MAX_CELLS,
) -> dict[str, Any]:
    """What a release is still good for, beside the table it came from.

    Parameters
    ----------
    original, released: frames, files or stores; `released` may be a Release or a release folder. A Release alone is
        enough: it knows its original.
    quasi: the columns of the information losses and of the queries; those of the release, or those that changed.
    target: a column to predict: adds the classification metric and, where scikit-learn is installed, learning.
    rows, key: the original row (from 0) of each released row, or a column in both that names each record once. Without
        them equally long tables are taken to be in the same order; a release folder whose rows are not, or are fewer,
        is measured by distributions only, and `notes` says so.
    max_cells: where a table is not in memory, how many different combinations of values may be held. `rows` and `key`
        are refused there, and what compares row by row is left out.
    k: the class size that was asked for, for c-avg. queries: how many random counts; 0 for none. dimension: of the
        contingency tables. seed: of queries and learning. hierarchies: to read the labels of the release by.

    Returns
    -------
    A mapping: `rows`, `quasi`, `loss`, `numbers`, `categories`, `distributions`, `queries`, `learning`, `notes`, and
    `measures`, the same in sentences.

    >>> import sfumato as sf
    >>> table = {"age": [20, 30, 40, 60]}
    >>> sf.utility(table, {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]})["loss"]["lm"]
    0.375
    """
    from sfumato.measures.utility import Pair, pair_of, utility_summary

    source = _source(original if released is None else released, max_cells)
    if released is None and source.original is None:
        raise PolicyError(
            "utility needs the original and the release", got="one table", hint="a Release alone knows its original"
        )
    before = source.original if released is None else table_of(original, max_cells)
    assert before is not None
    built = _hierarchies(source, hierarchies)
    measured: dict[str, Any] = {"queries": queries, "dimension": dimension, "seed": seed, "target": target}
    measured["k"] = source.k if k is None else k
    if isinstance(before, TupleCounts) or isinstance(source.table, TupleCounts):
        return utility_of_counts(before, source, built, quasi, rows, key, **measured)
    if rows is None and key is None and source.rows is not None and source.original is not None:
        if before.height != source.original.height:
            raise PolicyError(
                "this is not the table that the release was made of",
                got=f"{before.height} rows",
                allowed=f"{source.original.height} rows",
            )
        rows = source.rows
    notes = []
    if source.came_from not in (None, before.height):
        notes.append(f"the release was made of a table of {source.came_from} rows, and this one has {before.height}")
    pair = pair_of(before, source.table, rows=rows, key=key, hierarchies=built)
    if rows is None and key is None and not in_order(before, source):
        pair = Pair(before, source.table, None, pair.hierarchies)
        counts = f"there are {before.height} original and {source.table.height} released ones"
        why = "they are in another order" if before.height == source.table.height else counts
        notes.append(f"{UNKNOWN_ROWS}, for {why}: {LEFT_OUT}. A key, a column in both tables, would tell")
    found = utility_summary(pair, quasi=source.columns(quasi), **measured)
    return Summary(found | {"notes": [*notes, *found["notes"]]})


def attack(
    released: Any,
    external: Any = None,
    original: Any = None,
    *,
    quasi: Names | Sequence[Names] | None = None,
    sensitive: Names | None = None,
    truth: Any = None,
    holdout: Any = None,
    releases: Sequence[Any] = (),
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool | None = None,
    seed: int = 0,
    trials: int = 1000,
    most: int = 20,
    upper: float = 0.9,
    lower: float = 0.5,
) -> AttackResults:
    """Try every attack on a release that its inputs allow; each beside what guessing would achieve.

    Parameters
    ----------
    released: a frame, a file, a Release or a release folder; a Release knows its original, too.
    external: a table of people whom an attacker knows. truth: who is who in it: a pair of column names (released,
        external), the released row of each external record (-1: none), or "unknown"; by default row i is row i of an
        equally long table whose records fit those in the same place, and not known otherwise.
    original: the table behind the release. holdout: people like those in it who are not. releases: other releases about
        the same people. hierarchies: column to the hierarchy that explains its labels.
    wildcard: whether a missing released value matches any value. seed, trials, most: the seed of what is drawn, how
        many records each attack tries, and how many row numbers it names. upper, lower: the match probabilities from
        which on probabilistic linkage calls a pair a link, and one for review.

    Returns
    -------
    The name of each attack to its `success`, `baseline`, `advantage`, `interval`, `trials`, `sentence`, and `exposed`:
    numbers (from 0) of the rows most exposed, of the table that `rows_of` names, never their content. With several sets
    of quasi-identifiers a key goes on with the set: "homogeneity on age, zip". Its attribute `skipped` says of attacks
    that could not be tried, though there is a column or a table for them, why.

    >>> import sfumato as sf
    >>> table = {"age": ["2*", "2*", "3*", "3*"], "disease": ["flu", "flu", "flu", "asthma"]}
    >>> found = sf.attack(table, quasi=["age"], sensitive=["disease"])["homogeneity"]
    >>> found["success"], found["exposed"]
    (0.5, [0, 1])
    """
    from sfumato.measures.attacks import attack_summary
    from sfumato.measures.attacks.summary import AttackResults, listed_releases

    source = _source(released)
    table = source.frame("the success of attacks")
    people = source.original if original is None else enter(in_memory(original, "the success of attacks"))[0]
    known = None if external is None else enter(in_memory(external, "the success of attacks"))[0]
    if known is not None and truth is None:
        truth = _who_is_who(known, source)
    given: dict[str, Any] = {
        "original": people,
        "external": known,
        "truth": truth,
        "holdout": holdout,
        "releases": [_source(release).frame("the success of attacks") for release in listed_releases(releases)],
        "hierarchies": _hierarchies(source, hierarchies),
        "wildcard": source.wildcard if wildcard is None else wildcard,
        "seed": seed,
        "trials": trials,
        "most": most,
        "upper": upper,
        "lower": lower,
    }
    sets = source.sets(quasi, "attack")
    _warn(source, sets, sensitive)
    sets, found = _with_blurred(source, sets, sensitive), AttackResults()
    for names in sets:
        on = f" on {', '.join(names)}" if len(sets) > 1 else ""
        secrets = column_names(_secrets(source, sensitive, names, sets), "sensitive")
        _check_trees(source, hierarchies, secrets)
        tried = attack_summary(table, quasi=names, sensitive=secrets, **given)
        found |= {name + on: entry for name, entry in tried.items()}
        found.skipped |= {name + on: why for name, why in tried.skipped.items()}
    if not found:
        raise PolicyError(
            "there is no attack to try with what is given",
            allowed="a sensitive column, the original, or an external table with quasi-identifiers",
        )
    return found


def _warn(source: MeasuredTable, quasi: Sets, sensitive: Names | None, *others: str | None) -> None:
    """Of a table that is no release, the columns that are not looked at and may tell who somebody is."""
    table = source.table if isinstance(source.table, pl.DataFrame) else source.table.table
    if not source.quasi and (isinstance(table, pl.DataFrame) or is_engine(table)):
        named = (*column_names(sensitive, "sensitive"), *(name for name in others if isinstance(name, str)))
        warn_of_unmeasured(table, quasi, named)


def _who_is_who(external: Any, source: MeasuredTable) -> Any:
    """Who is who in an external table of which nobody told: row i is row i of the original, where it has as many."""
    from sfumato.measures.attacks.linkage import Supposed

    if source.original is not None and source.rows is not None and external.height == source.original.height:
        truth = np.full(external.height, -1)
        truth[source.rows] = np.arange(len(source.rows))
        return Supposed(truth)
    if external.height == rows_of(source.table) and not in_order(external, source):
        return "unknown"  # as many rows, in another order
    return None


def _with_blurred(source: MeasuredTable, sets: Sets, sensitive: Names | None) -> Sets:
    """The sets, and without each column that is sensitive too, which those attack who know the rest of a set."""
    secrets = source.sensitive if sensitive is None else column_names(sensitive, "sensitive")
    if sensitive is not None and not source.quasi:  # of a table that is no release, they are as they are asked for
        return sets
    rest = [tuple(name for name in names if name != secret) for names in sets for secret in secrets if secret in names]
    return tuple(dict.fromkeys((*map(tuple, sets), *filter(None, rest))))


def _secrets(source: MeasuredTable, given: Names | None, quasi: Names, sets: Sets) -> Names:
    """The sensitive columns: those given, else those of the release, that are not asked about as quasi-identifiers.

    One that is given is left out where other sets are without it: it is quasi-identifying and sensitive at once.
    """
    if given is None:
        return [name for name in source.sensitive if name not in quasi]
    both = [name for name in column_names(given, "sensitive") if name in quasi and not all(name in s for s in sets)]
    return [name for name in column_names(given, "sensitive") if name not in both] if both else given


def _check_trees(source: MeasuredTable, given: Mapping[str, Any] | None, secrets: Names) -> None:
    """A hierarchy that was given for a sensitive column must cover its values; the release's own may be of others."""
    from sfumato.core.hierarchy import bind_hierarchy
    from sfumato.core.microdata import encode
    from sfumato.measures.labels_cover import hierarchy_of

    table = source.frame("the success of attacks")
    for name in secrets:
        if name in mapping(given, "hierarchies") and name in table.columns:
            categories = encode(table.get_column(name))[0]
            tree = hierarchy_of(mapping(given, "hierarchies")[name], categories.text, name)
            if tree is not None:
                bind_hierarchy(tree, categories)


def _hierarchies(source: MeasuredTable, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The hierarchies of the release, and those given."""
    return {**source.hierarchies, **mapping(given, "hierarchies", source.table.columns)}


def _source(data: Any, most: int = DEFAULT_MAX_CELLS) -> MeasuredTable:
    """A table with what is known of it; a Release knows everything."""
    if not isinstance(data, Release):
        return source_of(data, most)
    known = MeasuredTable(
        table=data.table if data.in_memory else data.entries,
        quasi=data.policy.quasi,
        sensitive=data.roles.sensitive,
        weight=data.roles.weight,
        wildcard=data.request.wildcard,
        k=max((int(c.parameters()["k"]) for c in data.policy.require if c.model == "k-anonymity"), default=None),
        hierarchies=data.hierarchies,
    )
    if data.in_memory:
        return replace(known, original=data.original, rows=data.rows)
    place = data.location
    table = source_of(place, most).table if isinstance(place, Path) else TupleCounts(place, most)
    return replace(known, table=table, came_from=int(data.manifest["input"]["rows"]))
