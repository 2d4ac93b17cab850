"""What the page of roles shows: the suggestions of `inspect`, and the policy that takes them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.studio.tasks.table import draft_of, read_table

SAMPLE = 100_000  # rows looked at of an out-of-core table


def inspected(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """Columns with their suggested roles and reasons, and which combinations single people out."""
    from sfumato.core.wording import number, percent
    from sfumato.verbs.inspect import inspect

    progress("inspecting", None)
    found = inspect(_frame(asked))
    risks = [{"columns": list(r.columns), "rows": number(r.rows), "share": percent(r.share)} for r in found.risks]
    return {"columns": [vars(column) for column in found.columns], "risks": risks}


def suggested(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """The tables of a policy that takes every suggestion, protection of sensitive columns included."""
    from sfumato.cli.inspect import protection_of, suggested_tables
    from sfumato.verbs.inspect import inspect

    progress("inspecting", None)
    frame = _frame(asked)
    found = inspect(frame)
    progress("searching for what is suggested", None)
    tables = suggested_tables(found, protection_of(frame, found), asked["tables"]["input"], {})
    about = {"columns": tables.pop("about.columns")} if "about.columns" in tables else {}
    return {**tables, **({"about": about} if about else {})}


def _frame(asked: Mapping[str, Any]) -> Any:
    opened = read_table(draft_of(asked))
    return opened.data.sample(SAMPLE) if opened.stored else opened.data
