"""The utility axis: a loss or a measure of utility on one release, turned so that more is better."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.comparing.case import Asked, Case, asked, one_column
from sfumato.comparing.plan import parameters
from sfumato.errors import PolicyError, did_you_mean
from sfumato.losses import LOSSES, loss_name
from sfumato.losses import loss as parse_loss
from sfumato.measures.measure import Measure
from sfumato.measures.utility import UTILITIES, information_loss

Measured = Callable[[Case], float]
ABOUT_QUASI = ("kl-divergence", "classification-metric", "query-error", "direct-comparison", "entropy-loss",
               "distribution-distance")  # fmt: skip
OURS = frozenset({"original", "released", "quasi", "columns", "features", "hierarchies", "rows", "key", "transition"})
ALLOWED = (*LOSSES, *(name for name in UTILITIES if name != "information-loss"))


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
        known = inspect.signature(LOSSES[given.name].make).parameters
        return _of_loss(LOSSES[given.name].make(**given.only(*known)))
    if given.name not in ALLOWED:
        hint = did_you_mean(given.name, ALLOWED)
        raise PolicyError("unknown measure of utility", got=repr(given.name), allowed=", ".join(ALLOWED), hint=hint)
    return _of_measure(given, sensitive)


def _of_loss(loss: Any) -> UtilityAxis:
    own, name = parameters(loss), loss_name(loss)
    text = f"{name} {own}" if own else name

    def measure(case: Case) -> float:
        by_label = name in ("lm", "ncp", "precision", "non-uniform-entropy")
        if by_label and case.told is not None and (lost := case.told(loss)) is not None:
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
