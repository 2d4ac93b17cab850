"""What the page of roles shows: the suggestions of `inspect`, and the policy that takes them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from sfumato.studio.tasks.table import draft_of, rows_of

KEPT = 2  # tables whose columns were inspected
_inspections: list[tuple[pl.DataFrame, Any]] = []


def inspected(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """Columns with their suggested roles and reasons, and which combinations single people out."""
    from sfumato.core.wording import number, percent

    _, found = _inspection(asked, progress)
    risks = [{"columns": list(r.columns), "rows": number(r.rows), "share": percent(r.share)} for r in found.risks]
    return {"columns": [vars(column) for column in found.columns], "risks": risks}


def suggested(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """The tables of a policy that takes every suggestion, protection of sensitive columns included."""
    from sfumato.cli.inspect import protection_of, suggested_tables

    frame, found = _inspection(asked, progress)
    progress("searching for what is suggested", None)
    tables = suggested_tables(found, protection_of(frame, found), asked["tables"]["input"], {})
    about = {"columns": tables.pop("about.columns")} if "about.columns" in tables else {}
    return {**tables, **({"about": about} if about else {})}


def _inspection(asked: Mapping[str, Any], progress: Any) -> tuple[pl.DataFrame, Any]:
    """The rows of the table, or a sample of them, and what `inspect` says; once, whatever roles are given meanwhile."""
    from sfumato.verbs.inspect import inspect

    progress("inspecting", None)
    frame = rows_of(draft_of(asked)).frame
    known = next((one for one in _inspections if one[0] is frame), None)
    if known is None:
        known = frame, inspect(frame)
        _inspections[:] = [*_inspections[1 - KEPT :], known]
    return known
