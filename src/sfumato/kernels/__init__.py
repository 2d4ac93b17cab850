"""Compiled inner loops. Nothing but arrays goes in or out; `cells`, `search` and `recode` call them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

if "NUMBA_CACHE_DIR" not in os.environ and not os.access(Path(__file__).parent, os.W_OK):
    # a read-only installation would otherwise compile anew in every process
    os.environ["NUMBA_CACHE_DIR"] = str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sfumato")

import numba

kernel: Callable[..., Any] = numba.njit(cache=True, nogil=True)


def compiled() -> bool:
    """Whether compiled kernels are in the cache, so that the first call is quick."""
    places = [Path(__file__).parent / "__pycache__"]
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        places = [Path(folder)]
    return any(
        next(place.rglob("mondrian*.nbi"), None) or next(place.rglob("group*.nbi"), None)
        for place in places
        if place.exists()
    )
