"""Notes: what the verbs warn about, shown after the work and never in its way."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def notes() -> Iterator[list[str]]:
    """Collect the warnings raised inside, each once; those that libraries raise for developers are dropped."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield found
        finally:
            kinds = [w for w in caught if w.category.__module__.startswith("sfumato") or w.category is UserWarning]
            found += dict.fromkeys(
                str(w.message) for w in kinds if "sfumato" in w.filename or w.category is not UserWarning
            )
