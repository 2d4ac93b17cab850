"""Differential privacy as a manifest states it: a promise that holds by construction, which no rows can prove; Dwork,
McSherry, Nissim and Smith, "Calibrating noise to sensitivity in private data analysis", 2006."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from math import exp
from typing import Any

from sfumato.core.accounting import EXACT, PrivacyCost, delta_of
from sfumato.core.protocols import BY_CONSTRUCTION
from sfumato.core.wording import number
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
        told, bound = _sentence(epsilon, delta, str(privacy.get("unit"))), float(epsilon)
    except (InvalidOperation, ValueError, OverflowError):
        told, bound = "The release is differentially private.", 0.0
    parameters = {name: str(privacy[name]) for name in ("epsilon", "delta") if name in privacy}
    if claim is not None and {name: str(claim.parameters.get(name)) for name in parameters} != parameters:
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


def _sentence(epsilon: Decimal, delta: Decimal, unit: str) -> str:
    factor, who = number(exp(float(epsilon))), "person" if unit == "person" else "row"
    but = f", but for a chance of {delta.normalize()}" if delta else ""
    return (
        f"Whether any one {who} was in the data or not, every outcome is at most {factor} times as likely{but} "
        f"(epsilon {epsilon.normalize():f})."
    )
