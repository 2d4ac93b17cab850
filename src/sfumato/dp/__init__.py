"""Differential privacy: answers from a table that stays with its owner, and the ledger of what they cost."""

from __future__ import annotations

from sfumato.core.accounting import Budget, PrivacyCost
from sfumato.dp import local
from sfumato.dp.account import Account
from sfumato.dp.ledger import BudgetLedger
from sfumato.dp.marginals import MarginalRelease, release_marginals
from sfumato.dp.queries import QUERIES
from sfumato.dp.session import Session
from sfumato.dp.values import Answer, Public, Unit

__all__ = [
    "QUERIES",
    "Account",
    "Answer",
    "Budget",
    "BudgetLedger",
    "MarginalRelease",
    "PrivacyCost",
    "Public",
    "Session",
    "Unit",
    "local",
    "release_marginals",
]
