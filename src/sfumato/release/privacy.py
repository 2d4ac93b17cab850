"""Differential privacy as a manifest states it: a promise that holds by construction, which no rows can prove; Dwork,
McSherry, Nissim and Smith, "Calibrating noise to sensitivity in private data analysis", 2006."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from sfumato.core.accounting import EXACT, PrivacyCost, delta_of
from sfumato.core.protocols import BY_CONSTRUCTION
from sfumato.criteria.differential_privacy import private_sentence
from sfumato.criteria.model import Promise

DIFFERENTIAL_PRIVACY = "differential-privacy"
UNITS = ("row", "person")
NEIGHBOURS = ("add-remove", "replace")
NOTE = "by construction: it is a property of how the table was made, which its rows cannot show"
SLACK = Decimal("1e-6")  # relative, of a delta that is computed in floating point


def privacy_section(
    cost: PrivacyCost,
    accounting: Sequence[Mapping[str, Any]],
    unit: str = "row",
    neighbours: str = "add-remove",
) -> dict[str, Any]:
    """What a manifest says of the privacy of a release, under "privacy": what it costs, what of, and each part.

    A part of `accounting` says what was drawn (`what`), its `mechanism`, how many `times`, and its cost in all, as
    `rho` or as `epsilon` and `delta`. All of it is public: no part depends on the table but by what was paid for.

    >>> privacy_section(PrivacyCost(Decimal(1), Decimal("1e-9"), Decimal("0.0149")), [])["delta"]
    '0.000000001'
    """
    rho = {"rho": f"{cost.rho.normalize():f}"} if cost.rho else {}
    return {
        "epsilon": f"{cost.epsilon.normalize():f}",
        "delta": f"{cost.delta.normalize():f}",
        **rho,
        "unit": unit,
        "neighbours": neighbours,
        "accounting": [dict(part) for part in accounting],
    }


def privacy_promise(privacy: Mapping[str, Any], claim: Any = None) -> Promise:
    """The promise of what a manifest says under "privacy": it does not hold where that contradicts itself, or what is
    claimed elsewhere."""
    faults = privacy_faults(privacy)
    if claim is not None and not claim.holds:
        faults.append("the manifest itself says that it does not hold")
    try:
        epsilon, delta = (Decimal(str(privacy.get(name))) for name in ("epsilon", "delta"))
        replaced = privacy.get("neighbours") == NEIGHBOURS[1]
        told, bound = private_sentence(epsilon, delta, str(privacy.get("unit")), replaced), float(epsilon)
    except (InvalidOperation, ValueError, OverflowError):
        told, bound = "The release is differentially private.", 0.0
    parameters = {name: str(privacy[name]) for name in ("epsilon", "delta") if name in privacy}
    if claim is not None and any(_other(claim.parameters.get(name), text) for name, text in parameters.items()):
        faults.append("a promise states another epsilon or delta")
    note = "; ".join(faults) if faults else NOTE
    return Promise(DIFFERENTIAL_PRIVACY, parameters, (), not faults, None, bound, told, note, how=BY_CONSTRUCTION)


def privacy_faults(privacy: Mapping[str, Any]) -> list[str]:
    """What is wrong with what a manifest says under "privacy"; the parts must add up, and rho must give its delta.

    >>> privacy_faults({"epsilon": "1", "delta": "0", "rho": "0.5", "unit": "row", "neighbours": "add-remove"})
    ['its rho gives no such epsilon and delta']
    """
    try:
        epsilon, delta, rho = (_amount(privacy.get(name, "0")) for name in ("epsilon", "delta", "rho"))
        parts = [part for part in privacy.get("accounting", ()) if isinstance(part, Mapping)]
        spent = [[_amount(part.get(name, "0")) for part in parts] for name in ("epsilon", "delta", "rho")]
    except (InvalidOperation, ValueError, TypeError):
        return ["what it says of its privacy are no numbers"]
    faults = []
    if not epsilon > 0 or not 0 <= delta < 1 or rho < 0:
        faults.append("its epsilon or delta is out of range")
    elif rho and Decimal(delta_of(float(rho), float(epsilon))) > delta * (1 + SLACK):
        faults.append("its rho gives no such epsilon and delta")
    sums = [sum(costs, Decimal(0)) for costs in spent]
    if parts and (sums[2] > rho if rho else sums[0] > epsilon or sums[1] > delta):
        faults.append("its parts cost more than it says")
    if privacy.get("unit") not in UNITS or privacy.get("neighbours") not in NEIGHBOURS:
        faults.append("what it protects is not known here")
    return faults


def _amount(text: Any) -> Decimal:
    found = EXACT.create_decimal(str(text))
    if not found.is_finite():
        raise ValueError
    return found


def _other(claimed: Any, text: str) -> bool:
    """Whether a promise claims another amount."""
    try:
        return _amount(claimed if claimed is not None else 0) != _amount(text)
    except (InvalidOperation, ValueError):
        return True


OF_ORIGINAL = {  # what a manifest tells of the original, by part
    "solution": ("suppressed", "suppression_limit", "loss", "loss_per_attribute", "proven", "optimal"),
    "policy": ("suppression", "loss", "chosen", "ends", "tidy"),
}


def without_original(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest without anything of the original that was not paid for: no rows of the input, no suppressed rows and
    no limit of them, no loss, no fingerprint, no seed."""
    kept: dict[str, Any] = {name: value for name, value in manifest.items() if name not in ("input", "whole", "seed")}
    for part, gone in OF_ORIGINAL.items():
        kept[part] = {name: value for name, value in kept.get(part, {}).items() if name not in gone}
    return kept
