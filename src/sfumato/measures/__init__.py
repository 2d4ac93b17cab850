"""Measures: what a table gives away and what it is still good for. Read-only, on the table of any tool.

`sf.measures.risk`, `sf.measures.utility`, `sf.measures.attacks` and `sf.measures.standards` hold the single measures;
the verbs `sf.risk`, `sf.utility` and `sf.attack` sum them up, and `sf.measures.synthetic` those of a synthetic table.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["attacks", "risk", "standards", "synthetic", "utility"]


def __getattr__(name: str) -> Any:
    # fetched when first used: verify, which lives here too, needs none of them
    if name in __all__:
        return import_module(f"sfumato.measures.{name}")
    raise AttributeError(f"module 'sfumato.measures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
