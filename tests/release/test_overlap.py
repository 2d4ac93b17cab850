"""Labels that may stand for the same value."""

from __future__ import annotations

import pytest

from sfumato.release.overlap import overlap


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("< 2020-03-01 09:00:00", "2020-03-01 08:00:00", True),
        ("< 2020-03-01 09:00:00", "2020-03-01 09:00:00", False),
        (">= 2020-03-01 07:00:00", "[2020-03-01 08:00:00, 2020-03-01 10:00:00]", True),
        ("2020-03-01 10:00:00+02:00", "2020-03-01 08:00:00+00:00", True),
        ("2020-03-01 10:00:00+02:00", "2020-03-01 10:30:00+02:00", False),
        ("2020-03-01 10:00:00+01:00", "2020-07-01 10:30:00+02:00", False),
        ("[2020-03-01 08:00, 2020-03-01 09:00]", "2020-03-01 10:00:00+02:00", True),
        ("2020-03-01", "2020-03-01 23:00:00+02:00", True),
        ("2020-03-01", "2020-03-02 01:00:00+02:00", False),
        ("[2019-12, 2020-02]", "2020-01", True),
        ("[2019, 2021]", "2020-05", True),
        ("[2019, 2021)", "2021-05", False),
        ("[1000, 2000]", "> 2000", False),
    ],
)
def test_periods(one: str, other: str, meet: bool) -> None:
    assert overlap([one, other]) == overlap([other, one]) == meet
