"""How much a test tries: a little in plain `pytest`, all cases in `make test`, many examples in `make fuzz`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

FUZZ = int(os.environ.get("SFUMATO_FUZZ", "1"))  # `make fuzz` sets 20


def examples(many: int) -> int:
    """A twentieth of `many`, or five, in an ordinary run; `make fuzz` tries twice as many."""
    return max(5, many // 20) if FUZZ == 1 else max(10, many * FUZZ // 10)


def slow_but(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Parameters, or tuples of them, of which plain `pytest` takes the quick ones only."""

    def param(value: Any) -> Any:
        return pytest.param(*(value if isinstance(value, tuple) else [value]), marks=pytest.mark.slow)

    return [value if value in quick else param(value) for value in values]
