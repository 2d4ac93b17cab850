"""The risk axis: a measure of risk, or the success of an attack, on one release. More is worse."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.comparing.points import Asked, Case, asked, one_column, parameters
from sfumato.core.parameters import one_of
from sfumato.errors import PolicyError
from sfumato.losses import LOSSES, loss_name
from sfumato.losses import loss as parse_loss
from sfumato.measures.measure import Measure
from sfumato.measures.utility import UTILITIES, information_loss

Measured = Callable[[Case], float]
FIGURES = {
    "average": ("average", "average risk of a record (prosecutor)"),
    "highest": ("highest", "highest risk of a record (prosecutor)"),
    "records-at-risk": ("records_at_risk", "share of records at risk (prosecutor)"),
}
OF_CLASSES = ("homogeneity", "background-knowledge", "skewness", "similarity", "negative-disclosure")
WITH_ORIGINAL = ("singling-out", "linkability", "inference")
LINKAGE = ("deterministic-linkage", "probabilistic-linkage", "distance-linkage")
MEASURES = ("sample-uniqueness", "population-uniqueness", "suda", "minimum-unsafe", "individual")
# what a comparison gives to every measure itself
OURS = {"original", "released", "external", "data", "df", "quasi", "columns", "features", "known", "first", "second",
        "hierarchies", "hierarchy", "rows", "key", "transition", "holdout", "truth", "categorical", "max_pairs", "most",
        "values", "prior"}  # fmt: skip
RISKS = (*FIGURES, *MEASURES, *OF_CLASSES, *WITH_ORIGINAL, *LINKAGE)


@dataclass(frozen=True)
class MapAxis:
    """What is measured, in words, and how."""

    text: str
    label: str
    measure: Measured


def risk_axis(spec: Any, sensitive: tuple[str, ...], weight: str | None) -> MapAxis:
    """The axis of a measure or attack in its shell form, such as "highest" or "skewness threshold=0.3"."""
    if not isinstance(spec, str) or not spec.strip():
        raise PolicyError("risk must name a measure or an attack", got=type(spec).__name__, allowed=", ".join(RISKS))
    given = asked(spec, "risk")
    one_of(given.name, "measure of risk", RISKS)
    if given.name in FIGURES:
        return _figure(given)
    if given.name in MEASURES:
        return MapAxis(given.text, _words(given.name), _measure(given, weight))
    return MapAxis(given.text, f"success of the {_words(given.name)} attack", _attack(given, sensitive))


def _figure(given: Asked) -> MapAxis:
    options = given.only("threshold", "wildcard") if given.name == "records-at-risk" else given.only("wildcard")
    key, label = FIGURES[given.name]

    def measure(case: Case) -> float:
        from sfumato.measures.risk.attackers import prosecutor

        return _worst(case, lambda names: float(prosecutor(case.released, names, **options)[key]))

    return MapAxis(given.text, label, measure)


def _measure(given: Asked, weight: str | None) -> Measured:
    from sfumato.measures import risk

    functions: dict[str, Callable[..., Any]] = {
        "sample-uniqueness": risk.sample_uniqueness,
        "population-uniqueness": risk.population_uniqueness,
        "suda": risk.suda_risk,
        "minimum-unsafe": risk.unsafe_share,
        "individual": risk.individual,
    }
    function = functions[given.name]
    options = given.only(*own_options(function))
    if given.name != "individual":
        return lambda case: _worst(case, lambda q: float(function(case.released, q, **options).value))
    column = options.pop("weight", weight)
    if column is None:
        raise PolicyError("individual risk needs survey weights", hint='write "individual weight=..."')
    return lambda case: _worst(case, lambda q: float(
        function(case.released, q, str(column), **options)["risk"].to_numpy().mean()))  # fmt: skip


def _worst(case: Case, measure: Callable[[tuple[str, ...]], float]) -> float:
    """The most over the sets of quasi-identifiers."""
    return max(measure(names) for names in case.quasi)


def _attack(given: Asked, sensitive: tuple[str, ...]) -> Measured:
    from sfumato.measures.attacks import ATTACKS

    attack: Callable[..., Any] = ATTACKS[given.name].make
    if given.name in LINKAGE:
        return _linkage(given, attack)
    options = given.only(*own_options(attack))
    column = ""
    for name in ("sensitive", "secret"):  # the column that an attack is after
        if name in own_options(attack):
            column = one_column(options, name, sensitive, given.name)
            options.pop(name, None)
    if given.name in OF_CLASSES:
        return lambda case: _worst(
            case,
            lambda names: float(attack(case.released, names, column, **options, **_tree(case, attack, column)).success),
        )
    if given.name == "linkability":
        return lambda case: _linkability(case, options)
    known = () if not column else (column,)
    return lambda case: float(
        attack(case.released, case.original, case.columns, *known, **_seeded(options, case)).success
    )


def _tree(case: Case, attack: Callable[..., Any], column: str) -> dict[str, Any]:
    """The hierarchy of the sensitive column, for an attack that looks at it."""
    takes = "hierarchy" in inspect.signature(attack).parameters and column in case.hierarchies
    return {"hierarchy": case.hierarchies[column]} if takes else {}


def _linkability(case: Case, options: dict[str, Any]) -> float:
    from sfumato.measures.attacks.linkability import across_splits

    found = across_splits(case.released, case.original, case.columns, holdout=None, **_seeded(options, case))
    if found is None:
        raise PolicyError("linkability needs two columns", got="one")
    return found.success


def _seeded(options: dict[str, Any], case: Case) -> dict[str, Any]:
    return {"seed": case.seed, "hierarchies": case.hierarchies, **options}


def _linkage(given: Asked, attack: Callable[..., Any]) -> Measured:
    """An attacker who has the quasi-identifiers of everybody in the original: the worst that linkage can do."""
    known = own_options(attack)
    options = given.only(*known)

    def measure(case: Case) -> float:
        truth = np.full(case.original.height, -1, np.int64)
        truth[case.rows] = np.arange(len(case.rows))
        seed = {"seed": case.seed} if "seed" in known else {}
        found = attack(
            case.released, case.original.select(case.columns), list(case.columns), truth=truth,
            hierarchies=case.hierarchies, **{**seed, **options},
        )  # fmt: skip
        return float(found.success)

    return measure


def own_options(function: Callable[..., Any]) -> list[str]:
    """The parameters of a measure that are not about the tables."""
    return [name for name in inspect.signature(function).parameters if name not in OURS]


def _words(name: str) -> str:
    return {"suda": "SUDA (mean DIS)", "individual": "average individual risk", "minimum-unsafe": "unsafe records"}.get(
        name, name.replace("-", " ")
    )


ABOUT_QUASI = ("kl-divergence", "classification-metric", "query-error", "direct-comparison", "entropy-loss",
               "distribution-distance")  # fmt: skip


def utility_names() -> list[str]:
    """What may stand on the axis of utility: losses and measures."""
    return [*LOSSES, *(name for name in UTILITIES if name != "information-loss")]


def utility_axis(spec: Any, sensitive: tuple[str, ...]) -> MapAxis:
    """The axis of a loss (a name or a value) or of a measure in its shell form, as "learning target=disease"."""
    if not isinstance(spec, str):
        return _of_loss(parse_loss(spec))
    given = asked(spec, "utility") if spec.strip() else Asked("", {})
    if given.name in LOSSES:
        own = inspect.signature(LOSSES[given.name].make).parameters
        return _of_loss(LOSSES[given.name].make(**given.only(*own)))
    one_of(given.name, "measure of utility", utility_names())
    return _of_measure(given, sensitive)


def _of_loss(loss: Any) -> MapAxis:
    own, name = parameters(loss), loss_name(loss)
    text = f"{name} {own}" if own else name

    def measure(case: Case) -> float:
        if loss.by_label and not loss.by_level and case.told is not None and (lost := case.told(loss)) is not None:
            weights = np.array([(loss.weights or {}).get(column, 1.0) for column in case.columns])
            return 1 - lost / float(loss.combine(np.ones(len(weights)), weights))
        found = information_loss(
            case.original, case.released, case.columns, loss=loss, hierarchies=case.hierarchies, rows=case.rows,
            k=case.k,
        )  # fmt: skip
        low, high = found.range
        return 1 - (found.value - low) / (high - low) if high > low else 1.0

    return MapAxis(text, f"utility (1 − {text})", measure)


def _of_measure(given: Asked, sensitive: tuple[str, ...]) -> MapAxis:
    function = UTILITIES[given.name].make
    known = own_options(function)
    options = given.only(*known)
    if "target" in known:
        options["target"] = one_column(options, "target", sensitive, given.name)
    form = {"learning": "{}"}.get(given.name, "1 / (1 + {})" if given.name in UNBOUNDED else "1 − {}")

    def measure(case: Case) -> float:
        names = tuple(name for name in case.columns if name != options.get("target"))
        about = (names,) if given.name in ABOUT_QUASI else ()
        seed = {"seed": case.seed} if "seed" in known else {}
        more = {**seed, **options, "hierarchies": case.hierarchies, "rows": case.rows}
        return _turned(function(case.original, case.released, *about, **more), given.name)

    return MapAxis(given.text, f"utility ({form.format(given.text)})", measure)


UNBOUNDED = ("kl-divergence", "numeric-error", "il1s", "query-error")


def _turned(found: Measure, name: str) -> float:
    """A measure so that 1 is the original and less is worse; what learning keeps is a utility as it is."""
    if name == "learning":
        return float(found.value)
    return 1 / (1 + found.value) if name in UNBOUNDED else 1 - found.value


NOTHING_RELEASED = {"risk": 0.0, "utility": 0.0}  # the end of every map: nobody is found, and nothing is learnt


def score(utility: float | None, risk: float | None) -> float | None:
    """The mean of risk and loss, where loss is 1 - utility: least is best. 0 is a release without either.

    One number for two that cannot be exchanged: it weighs a point of risk as much as a point of loss.

    >>> score(0.9, 0.3), score(0.0, 0.0), score(None, 0.1)
    (0.2, 0.5, None)
    """
    return None if utility is None or risk is None else round((risk + 1 - utility) / 2, 12)


def pareto(utility: Sequence[float | None], risk: Sequence[float | None]) -> list[bool]:
    """Which points no other point beats: one with at least the utility and at most the risk, and better in one.

    Points that are equal in both stand together; a point that lacks a value is not on the front.

    >>> pareto([0.9, 0.8, 0.7, None], [0.5, 0.2, 0.3, 0.1])
    [True, True, False, False]
    """
    u = np.array([np.nan if value is None else value for value in utility], np.float64)
    r = np.array([np.nan if value is None else value for value in risk], np.float64)
    known = np.isfinite(u) & np.isfinite(r)
    front = np.zeros(len(u), np.bool_)
    least, at = np.inf, np.nan  # the least risk among points of more utility, and the utility of that point
    for i in np.lexsort((r, -u)):  # most utility first, then least risk
        if known[i] and (r[i] < least or (r[i] == least and u[i] == at)):
            front[i], least, at = True, r[i], u[i]
    return [bool(one) for one in front]
