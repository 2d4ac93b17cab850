"""Checks of what a measure is asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.errors import PolicyError


def whole(name: str, given: Any, least: int) -> int:
    """A whole number of at least `least`, or an error that names the parameter.

    >>> whole("folds", np.int64(3), 2)
    3
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        got = repr(given) if isinstance(given, bool | int | float | np.number) else type(given).__name__
        raise PolicyError(f"{name} must be a whole number of at least {least}", got=got)
    return int(given)
