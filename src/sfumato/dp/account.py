"""Account: the ledger and the budget that a private release is charged to, before its noise is drawn."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from sfumato.core.accounting import (
    ACCOUNTING,
    PLAIN,
    ZCDP,
    Budget,
    ExactReal,
    PrivacyCost,
    epsilon_of,
    exact,
    pure_as_rho,
)
from sfumato.core.parameters import OneOf, PlainText, Written
from sfumato.dp.ledger import BudgetLedger
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class Account:
    """What private releases of a dataset are charged to: a ledger, and the budget of the dataset in it, which stays as
    it was first stated.

    ledger: the file that keeps what was spent. epsilon: the budget of the dataset, over all releases. delta: the chance
    of failure that is allowed in all. accounting: how costs add up. dataset: what it is called in the ledger. analyst:
    who spends. purpose: what for.

    >>> Account("ledger.sqlite", epsilon=3, delta=1e-6).budget
    Budget(epsilon=Decimal('3'), delta=Decimal('0.000001'), accounting='plain')
    """

    ledger: Annotated[Any, Written("path")]
    epsilon: Annotated[Any, ExactReal(above=True)]
    delta: Annotated[Any, ExactReal(0, 1, below=True)] = 0
    accounting: Annotated[str, OneOf(ACCOUNTING)] = PLAIN
    dataset: Annotated[str, PlainText()] = "table"
    analyst: Annotated[str, PlainText()] = "owner"
    purpose: Annotated[str, PlainText()] = "release"

    @property
    def budget(self) -> Budget:
        """The budget that is stated."""
        return Budget(epsilon_of(self.epsilon, i_know=True), exact(self.delta, "delta", strict=False), self.accounting)

    def cost_of(self, cost: PrivacyCost) -> PrivacyCost:
        """What a release costs by the accounting of the ledger: its epsilon and delta, or its rho."""
        if self.accounting == PLAIN:
            if not cost.epsilon:
                what = "a release that costs no epsilon cannot be charged to a ledger with plain accounting"
                raise PolicyError(what, got=f"{cost}", hint="state the epsilon that its rho gives with a delta")
            return PrivacyCost(cost.epsilon, cost.delta)
        if cost.rho:
            return PrivacyCost(Decimal(0), rho=cost.rho)
        if cost.delta:
            what = "a release that is private by an epsilon and a delta alone has no rho"
            raise PolicyError(what, hint=f"charge it to a ledger with {PLAIN} accounting, not {ZCDP}")
        return PrivacyCost(Decimal(0), rho=pure_as_rho(cost.epsilon))

    @contextmanager
    def charge(self, cost: PrivacyCost, what: Mapping[str, Any]) -> Iterator[None]:
        """Charge a release, durably, before anything random is drawn; each one anew. What it is stands in the ledger:
        no value of the table may be in it. Where the block raises, it stays charged."""
        spent = self.cost_of(cost)
        ledger = BudgetLedger(self.ledger, self.dataset)
        try:
            whole = ledger.register(self.budget)
            if whole != self.budget:
                said = "the ledger has another budget of the dataset, which stays as it was first stated"
                raise PolicyError(said, got=f"{self.budget}", allowed=f"{whole}")
            request = secrets.token_hex(16)
            text = json.dumps({"release": dict(what), "drawn": request}, sort_keys=True, default=str)
            number, _ = ledger.reserve(self.analyst, self.purpose, request, text, spent, whole, whole, False)
            assert number is not None  # no other release was drawn so
            yield
            ledger.answer(number, json.dumps({"released": True}))
        finally:
            ledger.close()
