"""What a grant counts, what a schema tells, and how dear it is to guess passwords."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.dp.queries.count import Count
from sfumato.dp.queries.text import parse_query
from sfumato.dp.values import Public, Unit
from sfumato.service import gate
from sfumato.service.access import Forbidden, check_access
from sfumato.service.gate import FAILURES, Gate, Refusal
from sfumato.service.policy import GrantTable, read_policy
from tests.service.running import PASSWORD, write

PUBLIC = Public.of(
    {"age": pl.Int64(), "sex": pl.String(), "job": pl.Enum(["spy", "cook"])},
    {"age": (0, 120)},
    {"sex": ["F", "M"], "job": ["a", "b", "c"]},
)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("count", 1),
        ("mean age", 2),
        ("median age", 1),
        ("median age by=sex", 2),
        ("histogram sex", 2),
        ("histogram sex; histogram sex; histogram job", 7),
        ("top job k=2", 2),
        ("top job k=2 by=sex", 4),
        ({"query": "grouped", "of": {"query": "contingency-table", "by": ["job"]}, "by": ["sex"]}, 6),
        ({"query": "naive-bayes", "target": "sex", "features": ["job"]}, 8),
        ({"query": "decision-tree", "target": "sex", "features": ["job"], "depth": 2}, 11),
    ],
)
def test_all_numbers_of_an_answer_are_counted(text: Any, numbers: int) -> None:
    query = parse_query(text)
    check_access(query, granted(numbers), PUBLIC, Unit())
    if numbers > 1:
        with pytest.raises(Forbidden, match="more numbers than are allowed"):
            check_access(query, granted(numbers - 1), PUBLIC, Unit())


def test_what_was_clipped_is_one_number_more() -> None:
    query = parse_query("mean age")
    check_access(query, granted(3), PUBLIC, Unit(), clipped=True)
    with pytest.raises(Forbidden, match="got 3; allowed: 2"):
        check_access(query, granted(2), PUBLIC, Unit(), clipped=True)


def granted(groups: int) -> GrantTable:
    return GrantTable(user="ann", dataset="patients", epsilon=1, groups=groups)


def test_types_tell_no_categories() -> None:
    assert PUBLIC.type_name("job") == "Enum"
    assert "spy" not in str(Count("job = a").form(PUBLIC))


def test_passwords_are_not_hashed_for_those_who_failed_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []

    def counted(_: str, stored: str) -> bool:
        hashed.append(stored)
        return True  # even so, a name without a password is nobody's

    monkeypatch.setattr(gate, "is_password", counted)
    passed: Any = Gate(None, read_policy(write(tmp_path)), None)  # type: ignore[arg-type]

    async def tried(name: str, client: str = "here") -> int:
        token = base64.b64encode(f"{name}:{PASSWORD}".encode())
        try:
            await passed._caller({b"authorization": b"Basic " + token}, client)
        except Refusal as refusal:
            return refusal.status
        return 200

    async def run() -> list[int]:
        return await asyncio.gather(*(tried(f"invented {i}") for i in range(100)))

    found = asyncio.run(run())
    assert {*found} == {401, 429}
    assert FAILURES <= len(hashed) <= FAILURES + 10  # two are hashed at once, and one a second is regained
    assert {*hashed} == {passed.policy.users["pam"].password}  # as dear as one that is known
    assert asyncio.run(tried("pam")) == 429
    assert asyncio.run(tried("pam", "elsewhere")) == 200
    assert asyncio.run(tried("pam")) == 200  # known by then
