"""Thresholds: which highest risk of a record others accept, and where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RiskThreshold:
    """A highest risk in use: what it is used for, and who says so."""

    limit: float
    use: str
    source: str


GUIDE = "El Emam, Guide to the de-identification of personal health information, 2013"
THRESHOLDS = (
    RiskThreshold(1 / 3, "few readers, under contract", GUIDE),
    RiskThreshold(1 / 5, "data under an agreement", GUIDE),
    RiskThreshold(1 / 11, "US health insurance (CMS)", "CMS cell size suppression policy: no cell of 1 to 10 people"),
    RiskThreshold(
        0.09,
        "published clinical data",
        "European Medicines Agency, Policy 0070, 2018; Health Canada, Public release of clinical information, 2019",
    ),
    RiskThreshold(1 / 20, "anybody may download", GUIDE),
)
