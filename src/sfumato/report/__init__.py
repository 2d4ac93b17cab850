"""The report of a release: `report` to publish with it, `internal_report` to compare with the original.

Both need every section; they are loaded when they are first used, for those who translate a sentence alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.report.forms import internal_report as internal_report
    from sfumato.report.forms import report as report

__all__ = ["internal_report", "report"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sfumato.report import forms

    return getattr(forms, name)
