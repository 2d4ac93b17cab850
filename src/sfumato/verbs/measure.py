"""risk, utility and attack: what a table gives away, what it is still good for, and what somebody can find out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.parameters import column_names, mapping, whole_number
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.wording import quoted
from sfumato.engines.memory.table import enter
from sfumato.engines.tables import is_engine, store_of
from sfumato.errors import PolicyError
from sfumato.masking.masked_release import MaskedRelease
from sfumato.measures.measure import Measure, Summary
from sfumato.measures.source import MeasuredTable, Sets, in_order, source_of
from sfumato.measures.table import DEFAULT_MAX_CELLS, TupleCounts, rows_of, table_of
from sfumato.release.recoded import Recoded
from sfumato.release.release import Release
from sfumato.release.request import warn_of_unmeasured
from sfumato.synthetic.synthesized_release import SynthesizedRelease
from sfumato.verbs.attack_series import attack_series
from sfumato.verbs.out_of_core import NO_NUMBERS, fitting, in_memory, refuse_risks, utility_of_counts
from sfumato.verbs.synthetic_measures import (
    OF_PEOPLE,
    compared,
    declared,
    in_original,
    of_numbers,
    of_synthesized,
    risk_of_drawn,
    split_of,
    whose,
    with_compared,
)

if TYPE_CHECKING:
    from sfumato.measures.attacks.summary import AttackResults

__all__ = ["attack", "risk", "utility"]

Names = Sequence[str]
UNKNOWN_ROWS = "it is not known which released row came from which original row"
LEFT_OUT = "what compares row by row is left out"
NO_QUASI = "no quasi-identifiers are named, so there are no classes to count"


@cancellable
def risk(
    data: Any,
    *,
    quasi: Names | Sequence[Names] | None = None,
    population: Any = None,
    sampling_fraction: float | None = None,
    weight: str | None = None,
    household: str | None = None,
    person: str | None = None,
    threshold: float = 0.2,
    wildcard: bool | None = None,
    sensitive: Names | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    suda: bool | int = False,
    subsets: int | None = None,
    profile: str | None = None,
    original: Any = None,
    synthetic: bool = False,
    holdout: Any = None,
    max_cells: int = DEFAULT_MAX_CELLS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """What a table gives away about the people in it: every risk that its inputs allow.

    Parameters
    ----------
    data: a frame, a file, an out-of-core table, a Release or a release folder; the last two know `quasi`, `sensitive`
        and `weight`.
    quasi: the columns that others may know, or several sets of them.
    population: a table of the population that the people were drawn from, or its size. sampling_fraction: the share of
        it that is in the table; it follows from a population or from weights.
    weight, household: columns of survey weights and of households. person: a column that says whose each row is: people
        are then counted and not rows, and a person with rows in several classes counts in each.
    threshold: records strictly above it are at risk. wildcard: whether a missing value (and "*") matches any value; by
        default as the release was made, else not.
    sensitive, hierarchies: columns whose l, t, alpha, beta and delta are measured, and their hierarchies.
    suda: also SUDA scores and the fewest columns that single a record out; a number looks at sets of up to so many
        columns, which wide tables need. subsets: also what each set of up to so many columns tells apart.
    profile: also hold the table against "hipaa" (which needs no `quasi`), "gdpr" or "clinical".
    original: the table behind the release, row by row: adds the interval disclosure of numbers and dates that were
        released as such, and "gdpr" then carries out its attacks on it. Of a synthetic table it adds what that repeats.
    synthetic: whether the rows were drawn from a model, by whichever tool; a release says so itself. holdout: people
        like those in the original whom that model never saw; a release knows its own.
    max_cells: of an out-of-core table, how many different combinations of values may be held. `household`,
        `original` and the profiles "hipaa" and "gdpr" need rows, and are refused there. progress: as for `anonymize`.

    Returns
    -------
    A mapping: `rows`, `classes`, `quasi`, `prosecutor`, `journalist`, `marketer`, `uniqueness`, `achieved`, and with
    their inputs `individual`, `household`, `log_linear`, `suda`, `subsets`, `interval_disclosure`, `profile`; of a
    synthetic table that promises no classes only `rows`, `quasi` and, with its original, `synthetic`;
    `measures` says the same in sentences. With several sets of quasi-identifiers it is that of the set at most risk (a
    profile that fails, then the highest risk, then the average), and `sets` has all. `notes` says what was left out of
    an out-of-core table, and which columns of a masked release are perturbed, so that classes say nothing of them:
    where its original is known, `distance_linkage` and `interval_disclosure` do.

    >>> import sfumato as sf
    >>> sf.risk({"age": [30, 30, 30, 40]}, quasi=["age"])["prosecutor"]["highest"]
    1.0
    """
    from sfumato.measures.standards import profile as against

    (progress or quiet)("measuring", None)
    source = declared(_source(data, max_cells), synthetic)
    if person is not None:
        _refuse_by_people({"suda": suda, "subsets": subsets, "profile": profile, "original": original})
        quasi = source.sets(quasi, "risk")
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
        "person": person,
        "threshold": threshold,
        "wildcard": source.wildcard if wildcard is None else wildcard,
        "hierarchies": built,
    }
    before = None if original is None else source_of(in_memory(original, "interval disclosure")).frame("it")
    before = source.original if before is None and (source.changed or source.synthetic) else before
    of_all = source.columns(quasi) or ()
    known = source.sensitive if sensitive is None else column_names(sensitive, "sensitive")
    if source.drawn and source.k is None:
        classes = {"population": population, "household": household, "suda": suda, "subsets": subsets}
        return risk_of_drawn(source, before, holdout, of_all, known, classes | {"profile": profile})
    if (source.changed or source.synthetic) and quasi is None and not source.quasi and before is not None:
        only: dict[str, Any] = {"rows": rows_of(source.table), "quasi": [], "measures": []}
        if source.changed:
            _add_intervals(only, source, before, source.changed, hierarchies)
            _add_distances(only, source, source.changed)
        only["notes"] = [*only.get("notes", ()), NO_QUASI]
        if source.synthetic is not None:
            only = with_compared(only, compared(source, before, holdout, OF_PEOPLE, (), known))
        return Summary(only)
    found = []
    _warn(source, source.sets(quasi, "risk"), sensitive, options["weight"], household, person)
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
            about = dict.fromkeys((*names, *column_names(secrets, "sensitive"), *source.changed))
            _add_intervals(entry, source, before, tuple(about), hierarchies)
        if source.perturbed or source.changed:
            _add_distances(entry, source, names)
        if profile is not None:
            more: dict[str, Any] = {"original": before, "hierarchies": built} if profile == "gdpr" else {}
            more["wildcard"] = options["wildcard"]
            entry["profile"] = against(profile, source.table, names, secrets, **more).to_dict()
        found.append(entry)
    worst = max(found, key=_severity)
    if source.synthetic is not None and before is not None:
        worst = with_compared(worst, compared(source, before, holdout, OF_PEOPLE, of_all, known))
    return Summary(worst | ({"sets": found} if len(found) > 1 else {}))


NO_CLASSES = "the risk by classes of equal rows is not meaningful, for {was} perturbed"
OF_VALUES = "{was} perturbed: the classes are those of the released values, as the promises count them"
LINKED = 20_000  # people who are looked for in a masked release


def _refuse_by_people(given: Mapping[str, Any]) -> None:
    """Raise a PolicyError for what looks at rows where people are counted."""
    if found := [name for name, value in given.items() if value is not None and value is not False]:
        what = f"{found[0]} looks at each row by itself, and several rows may be one person's"
        raise PolicyError(what, got="person", hint=f"leave {found[0]} out, or person")


def _blind(source: MeasuredTable, names: Names) -> str | None:
    """What is to be said of classes by perturbed columns: they tell nothing, unless a promise counts them."""
    found = [name for name in names if name in source.perturbed]
    was = f"{quoted(found)} {'was' if len(found) == 1 else 'were'}"
    return (NO_CLASSES if source.k is None else OF_VALUES).format(was=was) if found else None


def _distance_linkage(source: MeasuredTable, names: Names, most: int = 20) -> dict[str, Any] | None:
    """How many people of a masked release are nearest to their own record, where it is known which that is."""
    from sfumato.measures.attacks import distance_linkage

    if not source.changed or source.original is None or source.rows is None:
        return None
    every, names = np.arange(len(source.rows)), [name for name in names if name in source.original.columns]
    people = every if len(every) <= LINKED else np.sort(np.random.default_rng(0).choice(every, LINKED, replace=False))
    before, table = source.original[source.rows[people].tolist()], source.frame("distance linkage")
    return distance_linkage(table, before, names, truth=people.tolist(), most=most).to_dict() if names else None


def _add_distances(entry: dict[str, Any], source: MeasuredTable, names: Names) -> None:
    """What stands in the place of class risk where columns are perturbed."""
    if (why := _blind(source, names)) is not None:
        entry["notes"] = [*entry.get("notes", ()), why]
    found = _distance_linkage(source, names, most=0)
    if found is not None:
        entry["distance_linkage"] = found
        told = Measure(
            "distance-linkage",
            found["success"],
            (0.0, 1.0),
            found["sentence"],
            tuple(found["interval"]),
            found["baseline"],
        )
        entry["measures"].append(told.to_dict())


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


@cancellable
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
    synthetic: bool = False,
    holdout: Any = None,
    max_cells: int = DEFAULT_MAX_CELLS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """What a release is still good for, beside the table it came from.

    Parameters
    ----------
    original, released: frames, files or out-of-core tables; `released` may be a Release or a release folder. A
        Release alone is enough: it knows its original.
    quasi: the columns of the information losses and of the queries; those of the release, or those that changed.
    target: a column to predict: adds the classification metric and, where scikit-learn is installed, learning.
    rows, key: the original row (from 0) of each released row, or a column in both that names each record once. Without
        them equally long tables are taken to be in the same order; a release folder whose rows are not, or are fewer,
        is measured by distributions only, and `notes` says so.
    max_cells: of an out-of-core table, how many different combinations of values may be held. `rows` and `key`
        are refused there, and what compares row by row is left out.
    k: the class size that was asked for, for c-avg. queries: how many random counts; 0 for none. dimension: of the
        contingency tables. seed: of queries and learning. hierarchies: to read the labels of the release by.
    synthetic, holdout: as for `risk`. A synthetic table is compared by distributions and by models that are trained on
        it, in `synthetic`, beside people whom its model never saw; beside that there are only `numbers`.
    progress: as for `anonymize`.

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

    (progress or quiet)("measuring", None)
    source = declared(_source(original if released is None else released, max_cells), synthetic)
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
    if source.drawn:
        if rows is not None or key is not None:
            raise PolicyError(f"rows and key say which row came from which: {whose(source)}", hint="leave them out")
        pair = Pair(before, source.table, None, built)
        summary = utility_summary(pair, quasi=source.columns(quasi), dimension=dimension, queries=0)
        more = compared(source, before, holdout, ("utility",), (), (), target=target, seed=seed)
        return Summary(with_compared(of_numbers(summary, [f"{whose(source)}: {LEFT_OUT}", *notes]), more))
    pair = pair_of(before, source.table, rows=rows, key=key, hierarchies=built)
    if rows is None and key is None and not in_order(before, source):
        pair = Pair(before, source.table, None, pair.hierarchies)
        counts = f"there are {before.height} original and {source.table.height} released ones"
        why = "they are in another order" if before.height == source.table.height else counts
        notes.append(f"{UNKNOWN_ROWS}, for {why}: {LEFT_OUT}. A key, a column in both tables, would tell")
    found = utility_summary(pair, quasi=source.columns(quasi), **measured)
    return Summary(found | {"notes": [*notes, *found["notes"]]})


@cancellable
def attack(
    released: Any = None,
    external: Any = None,
    original: Any = None,
    *,
    quasi: Names | Sequence[Names] | None = None,
    sensitive: Names | None = None,
    truth: Any = None,
    holdout: Any = None,
    releases: Sequence[Any] = (),
    person: str | None = None,
    m: int = 2,
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool | None = None,
    seed: int = 0,
    trials: int = 1000,
    most: int = 20,
    upper: float = 0.9,
    lower: float = 0.5,
    progress: Progress | None = None,
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
    person: of a table that was released again and again, the column that says who is who in `original`, which is then a
        list of the tables behind `releases`, one each. Only the intersection of all of them is tried; `m` is how many
        values should be left of everybody at least.
    wildcard: whether a missing released value matches any value. seed, trials, most: the seed of what is drawn, how
        many records each attack tries, and how many row numbers it names. upper, lower: the match probabilities from
        which on probabilistic linkage calls a pair a link, and one for review. progress: as for `anonymize`.

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
    from sfumato.measures.attacks.summary import ON_CLASSES, AttackResults, listed_releases

    (progress or quiet)("attacking", None)
    if person is not None:
        series = [*([] if released is None else [released]), *listed_releases(releases)]
        return attack_series(
            series, original, person, _source, m=m, quasi=quasi, sensitive=sensitive, hierarchies=hierarchies,
            wildcard=bool(wildcard), seed=seed, trials=trials, most=most,
        )  # fmt: skip
    if released is None:
        hint = 'of a series, name also the tables behind: original=[...], person="id"'
        raise PolicyError("there is no release to attack", hint=hint)
    source = _source(released)
    table = source.frame("the success of attacks")
    people = source.original if original is None else enter(in_memory(original, "the success of attacks"))[0]
    split = None
    if source.synthetic is not None and people is not None:
        split = split_of(source, people, holdout)
        people, holdout = split.learnt, split.held
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
    if quasi is None and not source.quasi and source.changed:
        quasi = [list(source.changed)]  # as if all of them were known
    sets = source.sets(quasi, "attack")
    _warn(source, sets, sensitive)
    sets, found = _with_blurred(source, sets, sensitive), AttackResults()
    for names in sets:
        on = f" on {', '.join(names)}" if len(sets) > 1 else ""
        secrets = column_names(_secrets(source, sensitive, names, sets), "sensitive")
        _check_trees(source, hierarchies, secrets)
        tried = attack_summary(table, quasi=names, sensitive=secrets, **given)
        for secret in secrets:
            if source.k is None and (why := _blind(source, (*names, secret))) is not None:
                for name in ON_CLASSES:
                    key = name if name in tried else f"{name}: {secret}"
                    if tried.pop(key, None) is not None:
                        tried.skipped[key] = why
        if split is not None and split.numbers is not None:
            in_original(tried, split.numbers)
        if source.drawn and tried.pop("order", None) is not None:
            tried.skipped["order"] = whose(source)
        if known is None and original is None and (linked := _distance_linkage(source, names, most)) is not None:
            tried["distance-linkage"] = linked
        found |= {name + on: entry for name, entry in tried.items()}
        found.skipped |= {name + on: why for name, why in tried.skipped.items()}
    if not found:
        raise PolicyError(
            "there is no attack to try with what is given",
            allowed="a sensitive column, the original, or an external table with quasi-identifiers",
            hint="classes say nothing of perturbed columns: give the original" if source.perturbed else None,
        )
    return found


def _warn(source: MeasuredTable, quasi: Sets, sensitive: Names | None, *others: str | None) -> None:
    """Of a table that is no release, the columns that are not looked at and may tell who somebody is."""
    table = source.table if isinstance(source.table, pl.DataFrame) else source.table.table
    if not source.quasi and not source.changed and (isinstance(table, pl.DataFrame) or is_engine(table)):
        named = (*column_names(sensitive, "sensitive"), *(name for name in others if isinstance(name, str)))
        warn_of_unmeasured(table, quasi, named)


def _who_is_who(external: Any, source: MeasuredTable) -> Any:
    """Who is who in an external table of which nobody told: row i is row i of the original, where it has as many."""
    from sfumato.measures.attacks.linkage import Supposed

    if source.drawn:
        return "unknown"
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
    require = () if data.policy is None else data.policy.require
    known = MeasuredTable(
        table=data.table if data.in_memory else data.entries,
        quasi=tuple(names for names in data.roles.quasi if names),
        sensitive=data.roles.sensitive,
        weight=data.roles.weight,
        wildcard=isinstance(data, Recoded) and data.request.wildcard,
        k=max((int(c.parameters()["k"]) for c in require if c.model == "k-anonymity"), default=None),
        hierarchies=data.hierarchies,
    )
    if isinstance(data, Recoded) and data.masking is not None:
        known = replace(known, perturbed=tuple(data.masking.told["perturbed"]))
    if isinstance(data, MaskedRelease):
        tokens = {name for step in data.masked.steps if step.pseudonymous for name in step.columns}
        here = [name for name in data.masked.changed if name in known.table.columns and name not in tokens]
        known = replace(known, changed=tuple(here), perturbed=data.perturbed)
    if isinstance(data, SynthesizedRelease):
        return of_synthesized(data, known) if data.in_memory else source_of(data.location, most)
    if data.in_memory:
        return replace(known, original=data.original, rows=data.rows)
    place = data.location
    table = source_of(place, most).table if isinstance(place, Path) else TupleCounts(place, most)
    return replace(known, table=table, came_from=data.manifest["input"]["rows"])
