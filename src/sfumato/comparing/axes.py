"""The risk axis: a measure of risk, or the success of an attack, on one release. More is worse."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.comparing.plan import Asked, Case, asked, one_column, parameters
from sfumato.errors import PolicyError, did_you_mean
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
RISKS = (*FIGURES, *MEASURES, *OF_CLASSES, *WITH_ORIGINAL, *LINKAGE)


@dataclass(frozen=True)
class RiskAxis:
    """What is measured, in words, and how."""

    text: str
    label: str
    measure: Measured


def risk_axis(spec: Any, sensitive: tuple[str, ...], weight: str | None) -> RiskAxis:
    """The axis of a measure or attack in its shell form, such as "highest" or "skewness threshold=0.3"."""
    if not isinstance(spec, str) or not spec.strip():
        raise PolicyError("risk must name a measure or an attack", got=type(spec).__name__, allowed=", ".join(RISKS))
    given = asked(spec, "risk")
    if given.name in FIGURES:
        return _figure(given)
    if given.name in MEASURES:
        return RiskAxis(given.text, _words(given.name), _measure(given, weight))
    if given.name in (*OF_CLASSES, *WITH_ORIGINAL, *LINKAGE):
        return RiskAxis(given.text, f"success of the {_words(given.name)} attack", _attack(given, sensitive))
    hint = did_you_mean(given.name, RISKS)
    raise PolicyError("unknown measure of risk", got=repr(given.name), allowed=", ".join(RISKS), hint=hint)


def _figure(given: Asked) -> RiskAxis:
    options = given.only("threshold", "wildcard") if given.name == "records-at-risk" else given.only("wildcard")
    key, label = FIGURES[given.name]

    def measure(case: Case) -> float:
        from sfumato.measures.risk.attackers import prosecutor

        return max(float(prosecutor(case.released, names, **options)[key]) for names in case.quasi)

    return RiskAxis(given.text, label, measure)


def _measure(given: Asked, weight: str | None) -> Measured:
    from sfumato.measures import risk

    allowed: dict[str, tuple[str, ...]] = {
        "sample-uniqueness": ("wildcard",),
        "population-uniqueness": ("population_size", "sampling_fraction", "model"),
        "suda": ("sampling_fraction", "up_to", "wildcard"),
        "minimum-unsafe": ("up_to", "wildcard"),
        "individual": ("weight", "wildcard"),
    }
    options = given.only(*allowed[given.name])
    if given.name == "individual":
        column = options.pop("weight", weight)
        if column is None:
            raise PolicyError("individual risk needs survey weights", hint='write "individual weight=..."')
        return lambda case: _worst(case, lambda q: float(
            risk.individual(case.released, q, str(column), **options)["risk"].to_numpy().mean()))  # fmt: skip
    functions: dict[str, Callable[..., Any]] = {
        "sample-uniqueness": risk.sample_uniqueness,
        "population-uniqueness": risk.population_uniqueness,
        "suda": risk.suda_risk,
        "minimum-unsafe": risk.unsafe_share,
    }
    function = functions[given.name]
    return lambda case: _worst(case, lambda q: float(function(case.released, q, **options).value))


def _worst(case: Case, measure: Callable[[tuple[str, ...]], float]) -> float:
    """The most over the sets of quasi-identifiers."""
    return max(measure(names) for names in case.quasi)


def _attack(given: Asked, sensitive: tuple[str, ...]) -> Measured:
    from sfumato.measures import attacks

    if given.name in OF_CLASSES:
        return _attack_on_classes(given, sensitive)
    if given.name in LINKAGE:
        return _linkage(given)
    common = ("wildcard", "trials", "seed")
    if given.name == "singling-out":
        options = given.only("mode", "size", *common)
        return lambda case: (
            attacks.singling_out(case.released, case.original, case.columns, **_seeded(options, case)).success
        )
    if given.name == "inference":
        options = given.only("secret", "tolerance", *common)
        secret = one_column(options, "secret", sensitive, "inference")
        options.pop("secret", None)
        return lambda case: (
            attacks.inference(case.released, case.original, case.columns, secret, **_seeded(options, case)).success
        )
    options = given.only("neighbours", *common)

    def linkability(case: Case) -> float:
        from sfumato.measures.attacks.linkability import across_splits

        found = across_splits(case.released, case.original, case.columns, holdout=None, **_seeded(options, case))
        if found is None:
            raise PolicyError("linkability needs two columns", got="one")
        return found.success

    return linkability


def _seeded(options: dict[str, Any], case: Case) -> dict[str, Any]:
    return {"seed": case.seed, "hierarchies": case.hierarchies, **options}


def _attack_on_classes(given: Asked, sensitive: tuple[str, ...]) -> Measured:
    from sfumato.measures.attacks import ATTACKS

    allowed = {
        "homogeneity": ("share",),
        "background-knowledge": ("rule_out", "certainty"),
        "skewness": ("threshold", "scale"),
        "similarity": ("width", "level"),
        "negative-disclosure": ("common",),
    }
    options = given.only("sensitive", *allowed[given.name])
    column = one_column(options, "sensitive", sensitive, given.name)
    options.pop("sensitive", None)
    attack = ATTACKS[given.name].make

    def measure(case: Case) -> float:
        tree = case.hierarchies.get(column)
        more = {"hierarchy": tree} if given.name == "similarity" and tree is not None else {}
        return _worst(case, lambda names: float(attack(case.released, names, column, **options, **more).success))

    return measure


def _linkage(given: Asked) -> Measured:
    """An attacker who has the quasi-identifiers of everybody in the original: the worst that linkage can do."""
    from sfumato.measures.attacks import ATTACKS

    allowed = {"probabilistic-linkage": ("upper", "lower", "seed"), "distance-linkage": ("metric",)}
    options, attack = given.only(*allowed.get(given.name, ())), ATTACKS[given.name].make

    def measure(case: Case) -> float:
        truth = np.full(case.original.height, -1, np.int64)
        truth[case.rows] = np.arange(len(case.rows))
        seed = {"seed": case.seed} if given.name == "probabilistic-linkage" else {}
        found = attack(
            case.released, case.original.select(case.columns), list(case.columns), truth=truth,
            hierarchies=case.hierarchies, **{**seed, **options},
        )  # fmt: skip
        return float(found.success)

    return measure


def _words(name: str) -> str:
    return {"suda": "SUDA (mean DIS)", "individual": "average individual risk", "minimum-unsafe": "unsafe records"}.get(
        name, name.replace("-", " ")
    )


ABOUT_QUASI = ("kl-divergence", "classification-metric", "query-error", "direct-comparison", "entropy-loss",
               "distribution-distance")  # fmt: skip
OURS = frozenset({"original", "released", "quasi", "columns", "features", "hierarchies", "rows", "key", "transition"})


def utility_names() -> list[str]:
    """What may stand on the axis of utility: losses and measures."""
    return [*LOSSES, *(name for name in UTILITIES if name != "information-loss")]


@dataclass(frozen=True)
class UtilityAxis:
    """What is measured, in words, and how."""

    text: str
    label: str
    measure: Measured


def utility_axis(spec: Any, sensitive: tuple[str, ...]) -> UtilityAxis:
    """The axis of a loss (a name or a value) or of a measure in its shell form, as "learning target=disease"."""
    if not isinstance(spec, str):
        return _of_loss(parse_loss(spec))
    given = asked(spec, "utility") if spec.strip() else Asked("", {})
    if given.name in LOSSES:
        own = inspect.signature(LOSSES[given.name].make).parameters
        return _of_loss(LOSSES[given.name].make(**given.only(*own)))
    if given.name not in (known := utility_names()):
        hint = did_you_mean(given.name, known)
        raise PolicyError("unknown measure of utility", got=repr(given.name), allowed=", ".join(known), hint=hint)
    return _of_measure(given, sensitive)


def _of_loss(loss: Any) -> UtilityAxis:
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

    return UtilityAxis(text, f"utility (1 − {text})", measure)


def _of_measure(given: Asked, sensitive: tuple[str, ...]) -> UtilityAxis:
    function = UTILITIES[given.name].make
    known = [name for name in inspect.signature(function).parameters if name not in OURS]
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

    return UtilityAxis(given.text, f"utility ({form.format(given.text)})", measure)


UNBOUNDED = ("kl-divergence", "numeric-error", "il1s", "query-error")


def _turned(found: Measure, name: str) -> float:
    """A measure so that 1 is the original and less is worse; what learning keeps is a utility as it is."""
    if name == "learning":
        return float(found.value)
    return 1 / (1 + found.value) if name in UNBOUNDED else 1 - found.value


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
