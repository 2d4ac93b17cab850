"""Releases are charged before they are drawn, and the budget of the dataset holds them and answers together."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.accounting import PrivacyCost
from sfumato.errors import BudgetSpent, PolicyError


def test_releases_and_answers_share_the_budget_of_the_dataset(tmp_path):
    account = sf.dp.Account(tmp_path / "l.sqlite", 1)
    with account.charge(PrivacyCost(Decimal("0.6")), {"generator": "mst"}):
        pass
    asked = sf.dp.Session(pl.DataFrame({"x": [1, 2]}), 1, ledger=tmp_path / "l.sqlite", analyst="a")
    assert asked.left.epsilon == Decimal("0.4")
    with pytest.raises(BudgetSpent), account.charge(PrivacyCost(Decimal("0.6")), {}):
        raise AssertionError("nothing may be drawn")


def test_a_release_that_fails_stays_charged(tmp_path):
    account = sf.dp.Account(tmp_path / "l.sqlite", 1, 1e-6, "zcdp")
    with (
        pytest.raises(ZeroDivisionError),
        account.charge(PrivacyCost(Decimal(1), Decimal("1e-9"), Decimal("0.01")), {}),
    ):
        raise ZeroDivisionError
    asked = sf.dp.Session(pl.DataFrame({"x": [1, 2]}), 1, 1e-6, accounting="zcdp", ledger=tmp_path / "l.sqlite")
    assert asked.left.rho == Decimal("0.014355970335")
    with pytest.raises(PolicyError, match="has no rho"), account.charge(PrivacyCost(Decimal(1), Decimal("1e-9")), {}):
        pass
    with pytest.raises(PolicyError, match="as it was first stated"):
        sf.dp.Session(pl.DataFrame({"x": [1, 2]}), 1, 1e-6, ledger=tmp_path / "l.sqlite")


def test_a_rho_alone_is_never_free(tmp_path):
    account = sf.dp.Account(tmp_path / "l.sqlite", 1)
    with (
        pytest.raises(PolicyError, match="costs no epsilon"),
        account.charge(PrivacyCost(Decimal(0), rho=Decimal("0.1")), {}),
    ):
        raise AssertionError("nothing may be drawn")
