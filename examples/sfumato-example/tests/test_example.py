"""What the package adds keeps the contracts of Sfumato, and answers that were worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from sfumato_example import BottomUpGeneralisation, ILoss, KEAnonymity

import sfumato as sf
from sfumato.testing import parametrize_with_checks


@parametrize_with_checks(
    KEAnonymity("salary", 3, 10),
    KEAnonymity("salary", 1, 0),
    ILoss(),
    ILoss(aggregate="maximum"),
    BottomUpGeneralisation(),
)
def test_conformance(check: Any) -> None:
    check()


@pytest.mark.parametrize(("k", "e", "holds"), [(3, 20, True), (4, 20, False), (3, 21, False)])
def test_by_hand(k: int, e: float, holds: bool) -> None:
    table = {"age": ["30s"] * 3 + ["40s"] * 4, "salary": [10, 20, 30, 15, 20, 35, 35]}
    assert sf.verify(table, quasi=["age"], require=KEAnonymity("salary", k, e)).holds == holds


def test_words_are_refused_without_quoting_them() -> None:
    table = {"age": [31, 32, 58, 59], "salary": ["much", "more", "less", "much"]}
    with pytest.raises(sf.errors.PolicyError, match='ke-anonymity: "salary" must hold a number in every row') as error:
        sf.anonymize(table, quasi=["age"], require="ke-anonymity salary 2 10")
    assert "much" not in str(error.value)
