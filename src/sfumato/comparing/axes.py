"""The risk axis: a measure of risk, or the success of an attack, on one release. More is worse."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.comparing.points import Case, MeasureRequest, one_column, parameters, parse_measure
from sfumato.core.parameters import one_of
from sfumato.errors import PolicyError
from sfumato.losses import LOSSES, loss_name
from sfumato.losses import loss as parse_loss
from sfumato.measures.measure import Measure
from sfumato.measures.utility import OF_SYNTHETIC, UTILITIES, Pair, information_loss, pair_of

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
ANY_LINKAGE = "linkage"
OF_MODELS = ("copied-uniques", "replicated-uniques", "disco")
RISKS = (*FIGURES, *MEASURES, *OF_CLASSES, *WITH_ORIGINAL, *LINKAGE, ANY_LINKAGE, *OF_MODELS)
# what stands on x and y unless something else is asked; and where maskers or generators are compared too
USUAL_AXES = ("lm", "average")
AXES_OF_BOTH = ("query-error statistic=mean", ANY_LINKAGE)


@dataclass(frozen=True)
class MapAxis:
    """What is measured, in words, and how."""

    text: str
    label: str
    measure: Measured
    of_classes: bool = False  # whether it counts classes or labels, which say nothing of values that were changed
    of_rows: bool = False  # whether it asks which original row a row came from, which a synthetic row does not
    of_models: bool = False  # whether it tells what a model repeats of the rows that it saw
    of_synthetic: str = ""  # what is measured in its place where rows come from no original row

    def blind(self, case: Case) -> str | None:
        """Why it says nothing of a release; None where it does."""
        if self.of_models and case.learnt_from is None:
            return "not meaningful where no model drew the rows"
        if (self.of_rows or self.of_classes) and case.rows is None:
            return "not meaningful where rows were drawn from a model"
        if self.of_classes and set(case.perturbed) & set(case.columns):
            return "not meaningful where values of quasi-identifiers were changed"
        return None


def risk_axis(spec: Any, sensitive: tuple[str, ...], weight: str | None) -> MapAxis:
    """The axis of a measure or attack in its shell form, such as "highest" or "skewness threshold=0.3"."""
    if not isinstance(spec, str) or not spec.strip():
        raise PolicyError("risk must name a measure or an attack", got=type(spec).__name__, allowed=", ".join(RISKS))
    given = parse_measure(spec, "risk")
    one_of(given.name, "measure of risk", RISKS)
    if given.name in FIGURES:
        return _figure(given)
    if given.name in MEASURES:
        return MapAxis(given.text, _words(given.name), _measure(given, weight), of_classes=True)
    if given.name == ANY_LINKAGE:
        return _any_linkage(given)
    if given.name in OF_MODELS:
        return _of_model(given, sensitive)
    label = f"success of the {_words(given.name)} attack"
    of_classes, of_rows = given.name in OF_CLASSES, given.name in LINKAGE
    return MapAxis(given.text, label, _attack(given, sensitive), of_classes, of_rows)


def _figure(given: MeasureRequest) -> MapAxis:
    options = given.only("threshold", "wildcard") if given.name == "records-at-risk" else given.only("wildcard")
    key, label = FIGURES[given.name]

    def measure(case: Case) -> float:
        from sfumato.measures.risk.attackers import prosecutor

        return _worst(case, lambda names: float(prosecutor(case.released, names, **options)[key]))

    return MapAxis(given.text, label, measure, of_classes=True)


def _measure(given: MeasureRequest, weight: str | None) -> Measured:
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


def _attack(given: MeasureRequest, sensitive: tuple[str, ...]) -> Measured:
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


def _linkage(given: MeasureRequest, attack: Callable[..., Any]) -> Measured:
    """An attacker who has the quasi-identifiers of everybody in the original: the worst that linkage can do."""
    known = own_options(attack)
    options = given.only(*known)

    def measure(case: Case) -> float:
        assert case.rows is not None
        truth = np.full(case.original.height, -1, np.int64)
        truth[case.rows] = np.arange(len(case.rows))
        seed = {"seed": case.seed} if "seed" in known else {}
        found = attack(
            case.released, case.original.select(case.columns), list(case.columns), truth=truth,
            hierarchies=case.hierarchies, **{**seed, **options},
        )  # fmt: skip
        return float(found.success)

    return measure


def _any_linkage(given: MeasureRequest) -> MapAxis:
    """The better of two linkers for each release: the nearest record, and the records whose labels cover the person.

    Labels cover by construction, so that the second finds the mean of 1/n over the classes of a recoding; a value that
    was changed covers nobody's but by accident, and only its distance tells; where ranks were swapped, so does how far.
    A synthetic row is nobody's record: what tells there is that records are nearer to the people whom the model saw
    than to those whom it did not.
    """
    from sfumato.measures.attacks import ATTACKS

    given.only()
    near, covering = (
        _linkage(MeasureRequest(name, {}), ATTACKS[name].make) for name in ("distance-linkage", LINKAGE[0])
    )

    def measure(case: Case) -> float:
        if case.rows is None:
            return _told_apart(case)
        if case.perturbed:
            return max(near(case), _within_windows(case)) if {*case.columns} & {*case.windows} else near(case)
        return max(near(case), covering(case))

    return MapAxis(given.text, "people found by linkage with the original", measure, of_synthetic=TOLD_APART)


def _within_windows(case: Case) -> float:
    """How many people are found by who knows how far ranks were swapped, and which columns were not changed."""
    from sfumato.measures.attacks.linkage.windows import window_linkage

    assert case.rows is not None
    truth = np.empty(case.original.height, np.int64)
    truth[case.rows] = np.arange(len(case.rows))
    percent = {name: share for name, share in case.windows.items() if name in case.columns}
    same = [name for name in case.columns if name not in case.perturbed]
    return window_linkage(case.released, case.original, truth, percent, same)


def _told_apart(case: Case) -> float:
    """How well the nearest synthetic record tells people whom the model saw from others: 0 is guessing, 1 always."""
    from sfumato.measures.risk.synthetic_membership import synthetic_membership

    if case.hold_out is None or not case.hold_out.height:
        return float("nan")
    found = synthetic_membership(
        case.learnt_from, case.released, hold_out=case.hold_out, columns=case.columns, seed=case.seed
    )
    return abs(2 * float(found.value) - 1)


def _of_model(given: MeasureRequest, sensitive: tuple[str, ...]) -> MapAxis:
    """What a model repeats of the rows that it saw, beyond what it repeats by chance of rows that it never saw."""
    from sfumato.measures import risk

    function: Callable[..., Any] = risk.RISKS[given.name].make
    options = given.only(*(name for name in own_options(function) if name not in ("synthetic", "hold_out")))
    if given.name == "disco":
        options["target"] = one_column(options, "target", sensitive, given.name)

    def beyond(case: Case, *keys: Sequence[str]) -> float:
        held = case.hold_out if case.hold_out is not None and case.hold_out.height else None
        found = function(case.learnt_from, case.released, *keys, hold_out=held, **options)
        chance = found.baseline or 0.0
        return max(0.0, (found.value - chance) / (1 - chance)) if chance < 1 else 0.0

    def measure(case: Case) -> float:
        if given.name == "copied-uniques":
            return beyond(case)
        return _worst(case, lambda names: beyond(case, [name for name in names if name != options.get("target")]))

    return MapAxis(given.text, f"{_words(given.name)} beyond chance", measure, of_models=True)


TOLD_APART = (
    "synthetic rows are nobody's record, so that nobody is found by linkage. In its place stands how well the distance "
    "to the nearest synthetic row tells people whom the model saw from people held out: 0 is guessing, 1 always"
)


def own_options(function: Callable[..., Any]) -> list[str]:
    """The parameters of a measure that are not about the tables."""
    return [name for name in inspect.signature(function).parameters if name not in OURS]


def _words(name: str) -> str:
    return {"suda": "SUDA (mean DIS)", "individual": "average individual risk", "minimum-unsafe": "unsafe records"}.get(
        name, name.replace("-", " ")
    )


ABOUT_QUASI = ("kl-divergence", "classification-metric", "direct-comparison", "entropy-loss", "distribution-distance")


def utility_names() -> list[str]:
    """What may stand on the axis of utility: losses and measures."""
    return [*LOSSES, *(name for name in UTILITIES if name not in ("information-loss", *OF_SYNTHETIC))]


def utility_axis(spec: Any, sensitive: tuple[str, ...]) -> MapAxis:
    """The axis of a loss (a name or a value) or of a measure in its shell form, as "learning target=disease"."""
    if not isinstance(spec, str):
        return _of_loss(parse_loss(spec))
    given = parse_measure(spec, "utility") if spec.strip() else MeasureRequest("", {})
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

    return MapAxis(text, f"utility (1 − {text})", measure, of_classes=True)


def _of_measure(given: MeasureRequest, sensitive: tuple[str, ...]) -> MapAxis:
    function = UTILITIES[given.name].make
    known = own_options(function)
    options = given.only(*known)
    if "target" in known:
        options["target"] = one_column(options, "target", sensitive, given.name)
    form = {"learning": "{}", "query-error": "accuracy of random counts"}.get(
        given.name, "1 / (1 + {})" if given.name in UNBOUNDED else "1 − {}"
    )

    def measure(case: Case) -> float:
        names = tuple(name for name in case.columns if name != options.get("target"))
        about = (names,) if given.name in ABOUT_QUASI else (case.analysed,) if given.name == "query-error" else ()
        seed = {"seed": case.seed} if "seed" in known else {}
        seed |= {"scaled": case.sampled} if given.name == "query-error" else {}
        tables = case.original, case.released
        pair = Pair(*tables, None, case.hierarchies)  # which does not look for the rows that rows came from
        if case.rows is not None:
            pair = pair_of(*tables, rows=case.rows, hierarchies=case.hierarchies)
        return _turned(function(pair, None, *about, **{**seed, **options}), given.name)

    of_classes = given.name == "classification-metric"
    of_rows = given.name in ROW_BY_ROW or (given.name == "numeric-error" and options.get("on", "values") == "values")
    return MapAxis(given.text, f"utility ({form.format(given.text)})", measure, of_classes, of_rows)


ROW_BY_ROW = ("direct-comparison", "entropy-loss", "il1s")
UNBOUNDED = ("kl-divergence", "numeric-error", "il1s")


def _turned(found: Measure, name: str) -> float:
    """A measure so that 1 is the original and less is worse; what learning keeps is a utility as it is."""
    if name == "learning":
        return float(found.value)
    if name == "query-error":  # 0 where nothing is shown, or where counts are no better than that
        return max(1 - found.value / found.baseline, 0.0) if found.baseline else float(found.value == 0)
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
