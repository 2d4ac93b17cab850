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
                _in_shell(w.message) for w in kinds if "sfumato" in w.filename or w.category is not UserWarning
            )


def _in_shell(message: Warning | str) -> str:
    """A warning in the words of the shell, where it has them."""
    return str(message.told_in("shell") if hasattr(message, "told_in") else message)
