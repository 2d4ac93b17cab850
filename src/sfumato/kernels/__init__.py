"""Compiled inner loops. Nothing but arrays goes in or out; `cells`, `search` and `recode` call them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

if "NUMBA_CACHE_DIR" not in os.environ and not os.access(Path(__file__).parent, os.W_OK):
    # a read-only installation would otherwise compile anew in every process
    os.environ["NUMBA_CACHE_DIR"] = str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sfumato")

import numba


def _forget_older(places: Iterable[Path]) -> None:
    """Drop what was compiled from other sources: numba looks at the file of a kernel, not at those that it calls."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    stamp = "\n".join(f"{p.name} {p.stat().st_size} {p.stat().st_mtime_ns}" for p in sources)
    for place in places:
        mark = place / "kernels.sources"
        try:
            if mark.exists() and mark.read_text(encoding="utf-8") == stamp:
                continue
            for file in place.glob("*.nb[ci]"):
                file.unlink(missing_ok=True)
            mark.write_text(stamp, encoding="utf-8")
        except OSError:
            continue  # a folder that cannot be written to holds nothing that this process compiled


def _caches() -> list[Path]:
    """Where numba keeps what it compiled of this folder."""
    own = Path(__file__).parent
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        return [place for place in Path(folder).glob(f"{own.name}_*") if place.is_dir()]
    return [own / "__pycache__"] if (own / "__pycache__").is_dir() else []


_forget_older(_caches())
kernel: Callable[..., Any] = numba.njit(cache=True, nogil=True)


def warn_of_compiling(say: Callable[[str, float | None], None]) -> None:
    """Explain the wait that comes once on a machine."""
    if not compiled():
        say("compiling kernels, once on this machine (about 20 seconds)", None)


def compiled() -> bool:
    """Whether compiled kernels are in the cache, so that the first call is quick."""
    return any(next(place.glob(f"{name}*.nbi"), None) for place in _caches() for name in ("mondrian", "group"))
