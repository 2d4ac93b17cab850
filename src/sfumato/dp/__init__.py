"""Differential privacy: answers from a table that stays with its owner, and the ledger of what they cost."""

from __future__ import annotations

from sfumato.dp.ledger import Ledger
from sfumato.dp.queries import QUERIES
from sfumato.dp.session import Session
from sfumato.dp.values import Answer, Cost, Public, Unit

__all__ = ["QUERIES", "Answer", "Cost", "Ledger", "Public", "Session", "Unit"]
