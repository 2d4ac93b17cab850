"""How many generated examples a test tries: few in an ordinary run, many in `make fuzz`."""

from __future__ import annotations

import os

FUZZ = int(os.environ.get("SFUMATO_FUZZ", "1"))  # `make fuzz` sets 20


def examples(many: int) -> int:
    """A tenth of `many`, or ten, in an ordinary run; `make fuzz` tries twice as many."""
    return max(10, many * FUZZ // 10)
