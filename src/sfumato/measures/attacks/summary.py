"""All attacks whose inputs are there, in one go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.parameters import column_names, known_columns, whole_number
from sfumato.core.progress import check_cancelled
from sfumato.core.wording import Described, count, percent
from sfumato.engines.memory.table import enter
from sfumato.errors import PolicyError, SfumatoError
from sfumato.measures.attacks.background_knowledge import background_knowledge
from sfumato.measures.attacks.classes import Encoded, View, view
from sfumato.measures.attacks.homogeneity import homogeneity
from sfumato.measures.attacks.inference import inference
from sfumato.measures.attacks.intersection import intersection
from sfumato.measures.attacks.linkability import across_splits, shared_of
from sfumato.measures.attacks.linkage import UNKNOWN
from sfumato.measures.attacks.membership import membership
from sfumato.measures.attacks.negative_disclosure import negative_disclosure
from sfumato.measures.attacks.order import order
from sfumato.measures.attacks.result import MOST, TRIALS
from sfumato.measures.attacks.similarity import similarity
from sfumato.measures.attacks.singling_out import singling_out, widest
from sfumato.measures.attacks.skewness import skewness


def attack_summary(
    released: Any,
    *,
    quasi: Any,
    sensitive: Any = (),
    original: Any = None,
    external: Any = None,
    truth: Any = None,
    holdout: Any = None,
    releases: Sequence[Any] = (),
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    seed: int = 0,
    trials: int = TRIALS,
    most: int = MOST,
    upper: float = 0.9,
    lower: float = 0.5,
) -> AttackResults:
    """Every attack whose inputs are there: its name to its result, as plain values.

    With a sensitive column: homogeneity, background-knowledge, skewness, similarity (where the column holds numbers or
    has a hierarchy) and negative-disclosure. With the original: singling-out, singling-out-univariate, "singling-out on
    all columns" (where more columns are released than the quasi-identifiers), linkability by the worst of several
    splits of the columns and, with a sensitive column, inference and order (of the external table, where that has
    the column). With a holdout too: membership. With other releases
    of the same people and the original: intersection. With an external table: deterministic-linkage,
    probabilistic-linkage and, where it is known who is who, distance-linkage; or, where the tables have no
    quasi-identifier in common, cluster-linkage. Where there are several sensitive columns, the key of an attack on
    one of them goes on with its name: "homogeneity: disease".

    Parameters
    ----------
    released
        The released table.
    quasi, sensitive
        Its quasi-identifying columns, and the sensitive one or several.
    original
        The table behind it.
    external
        A table of people whom an attacker knows, linked on the quasi-identifiers that it has.
    truth
        Who is who in the external table, as the linkage attacks take it; the nearest record is looked for only where
        that is known.
    holdout
        People like those of the original who are not in it.
    releases
        Other releases about the same people.
    hierarchies
        Column to the hierarchy that explains its labels.
    wildcard
        Whether, to the attacks that match records, a missing released value matches any value.
    seed, trials, most
        The seed of what is drawn, how many records each attack tries, and how many row numbers it names.
    upper, lower
        The two thresholds of probabilistic linkage.

    Returns
    -------
    A dict whose `skipped` says of each attack that could not be tried, though there is a column or a table for it, why.

    Examples
    --------
    >>> table = {"age": ["2*", "2*", "3*", "3*"], "disease": ["flu", "flu", "flu", "asthma"]}
    >>> found = attack_summary(table, quasi=["age"], sensitive=["disease"])
    >>> list(found), found["homogeneity"]["success"]
    (['homogeneity', 'background-knowledge', 'skewness', 'negative-disclosure'], 0.5)
    """
    for value, name, least in ((most, "most", 0), (trials, "trials", 1), (seed, "seed", 0)):
        whole_number(value, name, least)
    others = listed_releases(releases)
    frame = enter(released)[0]
    names = tuple(dict.fromkeys(column_names(quasi, "quasi")))
    secrets = tuple(dict.fromkeys(column_names(sensitive, "sensitive")))
    if not names:
        raise PolicyError("no quasi-identifying column is given")
    known_columns((*names, *secrets), frame.columns, "the release")
    hierarchies = dict(hierarchies or {})
    people, outsiders = (None if table is None else enter(table)[0] for table in (original, holdout))
    found = AttackResults()

    def named(name: str, secret: str | None) -> str:
        return name if secret is None or len(secrets) == 1 else f"{name}: {secret}"

    def run(name: str, attack: Callable[..., Any], *given: Any, secret: str | None = None, **options: Any) -> None:
        check_cancelled()
        key = named(name, secret)
        found[key] = attack(*given, most=most, **options).to_dict()

    for secret in secrets:
        check_cancelled()
        tried = attacks_on_classes(view(frame, names, secret), hierarchies.get(secret), most)
        found |= {named(name, secret): entry for name, entry in tried.items()}
        found.skipped |= {named(name, secret): why for name, why in tried.skipped.items()}
    if people is not None:
        known = tuple(name for name in names if name in people.columns)
        common: dict[str, Any] = {"hierarchies": hierarchies, "wildcard": wildcard, "seed": seed, "trials": trials}
        three: dict[str, Any] = {"holdout": outsiders, **common}
        if known:
            run("singling-out", widest, frame, people, known, **three)
            run("singling-out-univariate", singling_out, frame, people, known, mode="univariate", **three)
            every_column = shared_of(frame, people, *([] if outsiders is None else [outsiders]))
            if set(every_column) - set(known):  # safe quasi-identifiers do not help where another column singles out
                run("singling-out on all columns", widest, frame, people, every_column, **three)
            linked = across_splits(frame, people, known, most=most, **three)
            if linked is None:
                found.skipped["linkability"] = (
                    "not examined: it needs two columns that the release and the original share"
                )
            elif not linked.details["examined"]:
                found.skipped["linkability"] = linked.sentence
            else:
                found["linkability"] = linked.to_dict()
        for secret in secrets:
            if known and secret in people.columns:
                run("inference", inference, frame, people, known, secret, secret=secret, **three)
            if known and others:
                every = [frame, *(enter(release)[0] for release in others)]
                run("intersection", intersection, every, people, known, secret, secret=secret, **common)
        if outsiders is not None and known:
            run("membership", membership, frame, people, outsiders, known, **common)
    table = None if external is None else enter(external)[0]
    for secret in secrets:
        for of, listed in (("external", table), ("original", people)):
            shared = () if listed is None else tuple(name for name in names if name in listed.columns)
            if shared and listed is not None and secret in listed.columns:
                options: dict[str, Any] = {"hierarchies": hierarchies, "wildcard": wildcard, "of": of}
                run("order", order, frame, listed, shared, secret, secret=secret, **options)
                break
    if table is not None:
        thresholds = {"upper": upper, "lower": lower, "seed": seed}
        for name, (attack, options) in _linkage(
            frame, table, names, truth, hierarchies, thresholds, found.skipped
        ).items():
            if note := found.get("deterministic-linkage", {}).get("details", {}).get("note"):
                if name == "distance-linkage":  # a nearest record is right or wrong only where somebody knows
                    found.skipped[name] = note
                    continue
                options["truth"] = UNKNOWN
            run(name, attack, frame, table, **options)
    return found


ON_CLASSES = ("homogeneity", "background-knowledge", "skewness", "similarity", "negative-disclosure")


def attacks_on_classes(seen: View, hierarchy: Any = None, most: int = MOST) -> AttackResults:
    """The attacks that need the classes of a release and one sensitive column, and nothing else."""
    given, found = (seen, seen.quasi, seen.sensitive.name), AttackResults()
    found["homogeneity"] = homogeneity(*given, most=most).to_dict()
    found["background-knowledge"] = background_knowledge(*given, most=most).to_dict()
    found["skewness"] = skewness(*given, most=most).to_dict()
    tree, fits = _tree(seen, hierarchy)
    if tree is None and not seen.sensitive.categories.ordered:
        need = "its hierarchy" if fits else "a hierarchy of its released values, and the one there is is of others"
        found.skipped["similarity"] = f'"{seen.sensitive.name}" holds no numbers, so it needs {need}'
    else:
        found["similarity"] = similarity(*given, hierarchy=tree, most=most).to_dict()
    found["negative-disclosure"] = negative_disclosure(*given, most=most).to_dict()
    return found


class AttackResults(Described, dict[str, dict[str, Any]]):
    """Attacks by name; `skipped` names those that could not be tried, and says why."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped: dict[str, str] = {}

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """The attacks, those that gain most over guessing first."""
        ranked = sorted(self.items(), key=lambda item: -item[1]["advantage"])
        facts = [(n, f"{percent(a['success'])} succeed, {percent(a['baseline'])} by guessing") for n, a in ranked]
        return f"{count(len(self), 'attack')} tried", facts


def listed_releases(given: Any) -> list[Any]:
    """Other releases as a list; one alone, a table or a path, is refused."""
    if isinstance(given, str | bytes | Path | Mapping) or not isinstance(given, Sequence):
        raise PolicyError("releases must be a list of tables", got=type(given).__name__, allowed="releases=[second]")
    return list(given)


def _tree(seen: View, spec: Any) -> tuple[Any, bool]:
    """The hierarchy of the sensitive column, None where there is none that fits; and whether none is there at all."""
    from sfumato.core.hierarchy import bind_hierarchy
    from sfumato.measures.labels_cover import hierarchy_of

    categories = seen.sensitive.categories
    try:
        tree = hierarchy_of(spec, categories.text, seen.sensitive.name)
        if tree is not None:
            bind_hierarchy(tree, categories)
        return tree, True
    except SfumatoError:  # the column was recoded: its labels are no leaves
        return None, False


def _linkage(
    frame: pl.DataFrame,
    external: pl.DataFrame,
    names: Sequence[str],
    truth: Any,
    hierarchies: Mapping[str, Any],
    thresholds: Mapping[str, Any],
    skipped: dict[str, str],
) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """The linkage attacks that the two tables allow, with the keywords of each."""
    common = [name for name in names if name in external.columns]
    from sfumato.measures.attacks.linkage.clusters import cluster_linkage
    from sfumato.measures.attacks.linkage.deterministic import deterministic_linkage
    from sfumato.measures.attacks.linkage.distance import distance_linkage
    from sfumato.measures.attacks.linkage.probabilistic import probabilistic_linkage

    known = frame.height == external.height if truth is None else not isinstance(truth, str)
    if not common:
        return {"cluster-linkage": (cluster_linkage, {"truth": truth})} if known else {}
    given: dict[str, Any] = {"columns": common, "truth": truth, "hierarchies": hierarchies}
    encoded = Encoded()
    found: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "deterministic-linkage": (deterministic_linkage, {**given, "encoded": encoded}),
        "probabilistic-linkage": (probabilistic_linkage, {**given, **thresholds, "encoded": encoded}),
    }
    if known:  # a nearest record is right or wrong only where somebody knows
        found["distance-linkage"] = (distance_linkage, {**given})
    else:
        skipped["distance-linkage"] = "it is not known who is who"
    return found
