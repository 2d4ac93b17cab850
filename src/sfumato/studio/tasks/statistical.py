"""The statistical table of a project: counted and protected for its owner's eyes, and released."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import Infeasible, PolicyError
from sfumato.policyfile.file import Draft
from sfumato.policyfile.protection import cell_policy
from sfumato.studio.tasks.release import verified
from sfumato.studio.tasks.table import file_marks, read_table
from sfumato.studio.tasks.trial import noted

if TYPE_CHECKING:
    from sfumato.criteria.cells.audit import TableAudit
    from sfumato.tables.release import ProtectedTable
    from sfumato.tables.values import Dimension, StatTable

KEPT = 2  # protected tables in memory
ROWS, COLUMNS = 200, 30  # of a table on the page
NAMED = 5  # cells that are named where a table cannot be protected
_protected: OrderedDict[Any, tuple[ProtectedTable, list[str]]] = OrderedDict()


def tried(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """The table as it would be published, what attackers learn of it and what it cost; or what keeps it from that."""
    try:
        safe, notes = protected(asked, progress)
    except Infeasible as error:
        cells = error.closest.get("named", []) if isinstance(error.closest, Mapping) else []
        return {"infeasible": {"what": error.what, "hint": str(error.hint or ""), "cells": cells}}
    progress("auditing", None)
    audit = safe.audit() if safe.method.hides else None
    return {"grid": grid(safe, audit), "figures": figures(safe, audit), "notes": notes}


def make(asked: Mapping[str, Any], folder: str, progress: Any) -> dict[str, Any]:
    """Write a release of the table into a folder, and say what verify finds there."""
    safe, notes = protected(asked, progress)
    safe.save(folder, asked["tables"].get("output", {}).get("format"), progress=progress)
    return verified(folder, progress) | {"notes": notes}


def protected(asked: Mapping[str, Any], progress: Any) -> tuple[ProtectedTable, list[str]]:
    """The protected table of a policy, made unless it was made before, and what the library notes."""
    import sfumato as sf
    from sfumato.policyfile.statistical import check_statistical
    from sfumato.tables import CellKey, Requests

    tables = cell_policy(asked["tables"])
    tables["output"] = {"path": "out", **tables.get("output", {})}
    draft = Draft(tables, Path(asked["folder"]), "the policy of the project")
    policy = check_statistical(draft)
    what = None
    if any(isinstance(rule, Requests) for rule in policy.protecting["rules"]) and "request" not in policy.counting:
        what = "a rule about requests needs to know who asked for confidentiality"
    elif isinstance(policy.protecting["method"], CellKey) and "record" not in policy.counting:
        what = "cell keys need to know which record each row is"
    if what is not None:
        raise PolicyError(what, hint="choose the column that says so")
    key = file_marks(draft), json.dumps([asked["folder"], tables], sort_keys=True, default=str)
    if key in _protected:
        _protected.move_to_end(key)
        return _protected[key]
    progress("reading", None)
    found = read_table(draft)
    with noted() as notes:
        table = sf.tabulate(found.data, **policy.counting, progress=progress)
        try:
            safe: Any = sf.protect(table, **policy.protecting, progress=progress)
        except Infeasible as error:
            cells = error.closest.get("published", ()) if isinstance(error.closest, Mapping) else ()
            error.closest = {"named": [_labels(table, cell) for cell in list(cells)[:NAMED]]}
            raise
    _protected[key] = safe, notes
    while len(_protected) > KEPT:
        _protected.popitem(last=False)
    return safe, notes


def _labels(table: StatTable, cell: int) -> list[str]:
    place = np.unravel_index(cell, table.shape)
    return [one.labels[int(at)] for one, at in zip(table.dimensions, place, strict=True)]


def figures(safe: ProtectedTable, audit: TableAudit | None) -> dict[str, Any]:
    """How many cells are hidden or changed and by which rule, what the audit found, and what that cost."""
    from sfumato.report.manifest import titled
    from sfumato.tables import CELL_RULES
    from sfumato.tables.settle import is_total

    cells, hidden, unsafe = safe.cells, safe.cells.hidden, safe.primary.cells.ravel()
    true = safe.source.value.ravel()
    by_rule = np.bincount(safe.primary.rule[safe.primary.rule >= 0], minlength=len(safe.rules))
    found = {
        "rules": [[titled(CELL_RULES, one.model), int(n)] for one, n in zip(safe.rules, by_rule, strict=True)],
        "cells": hidden.size, "unsafe": int(unsafe.sum()), "measured": safe.source.measured, "optimal": cells.optimal,
        "flags": safe.known.frequency is not None, "promises": [one["sentence"] for one in safe.manifest["promises"]],
    }  # fmt: skip
    if audit is None:
        moved = np.zeros(1) if cells.changed is None else np.abs(cells.changed - true)
        return found | {
            "changed": int((moved > 0).sum()), "distance": float(moved.sum() / (np.abs(true).sum() or 1.0)),
            "left_out": 0 if cells.published is None else int((~cells.published).sum()),
            "determined": int(cells.facts.get("determined", 0)),
        }  # fmt: skip
    span = (audit.intervals["high"] - audit.intervals["low"]).to_numpy()
    ends = audit.intervals.row(int(np.argmin(span)), named=True) if len(span) else None
    inside = np.abs(true) * ~is_total(safe.source)
    return found | {
        "hidden": int(hidden.sum()), "secondary": int((hidden & ~unsafe).sum()), "coalition": safe.known.coalition,
        "narrowest": ends and [_number(ends["low"]), _number(ends["high"])],
        "share": float(inside[hidden].sum() / (inside.sum() or 1.0)),
    }  # fmt: skip


def grid(safe: ProtectedTable, audit: TableAudit | None) -> dict[str, Any]:
    """The cells as rows and columns: the column with the fewest labels stands across, totals before their parts.

    A cell has what is published of it, None where it is hidden, its true value, what it is (0 published, 1 unsafe,
    2 hidden for others' sake), and what everybody can compute of it.
    """
    table, shape = safe.source, safe.source.shape
    across = min(range(len(shape)), key=lambda i: (shape[i], -i)) if len(shape) > 1 else None
    down = [i for i in range(len(shape)) if i != across]
    there = np.ones(shape, np.bool_) if safe.cells.published is None else safe.cells.published.reshape(shape)
    seen = [np.asarray(there.any(tuple(j for j in range(len(shape)) if j != i))) for i in range(len(shape))]
    nodes = [_in_order(one, seen[i]) for i, one in enumerate(table.dimensions)]
    value = (table.value if safe.cells.changed is None else safe.cells.changed).reshape(shape)
    hidden, status = safe.cells.hidden.reshape(shape), safe.status.reshape(shape)
    ends: dict[int, tuple[Any, Any]] = {}
    if audit is not None:
        low, high = (map(_number, audit.intervals[name].to_list()) for name in ("low", "high"))
        ends = dict(zip(np.flatnonzero(safe.cells.hidden).tolist(), zip(low, high, strict=True), strict=True))

    def cell(place: tuple[int, ...]) -> dict[str, Any] | None:
        if not there[place]:
            return None
        published = None if hidden[place] else _number(round(float(value[place]), table.decimals))
        true = _number(round(float(table.value[place]), table.decimals))
        at = int(np.ravel_multi_index(place, shape))
        return {"value": published, "true": true, "status": int(status[place]), "ends": ends.get(at)}

    rows = []
    columns = [(0, 0, False)] if across is None else nodes[across]
    for each in islice(product(*(nodes[i] for i in down)), ROWS):
        place = [0] * len(shape)
        for i, (node, _, _) in zip(down, each, strict=True):
            place[i] = node
        cells = []
        for node, _, _ in columns[:COLUMNS]:
            if across is not None:
                place[across] = node
            cells.append(cell(tuple(place)))
        rows.append(
            {"head": [_head(table.dimensions[i], one) for i, one in zip(down, each, strict=True)], "cells": cells}
        )
    heads = [] if across is None else [_head(table.dimensions[across], one) for one in columns[:COLUMNS]]
    return {
        "down": [table.by[i] for i in down], "across": None if across is None else table.by[across],
        "columns": heads, "rows": rows, "more_rows": max(prod(len(nodes[i]) for i in down) - ROWS, 0),
        "more_columns": max(len(columns) - COLUMNS, 0),
    }  # fmt: skip


def _in_order(one: Dimension, there: np.ndarray) -> list[tuple[int, int, bool]]:
    """The nodes of a column that are published, each total before its parts: number, depth, whether it is a total."""
    found, waits = [], [0]
    while waits:
        node = waits.pop()
        below = one.children[node]
        if there[node]:
            found.append((node, int(one.depth[node]), bool(len(below))))
        waits += below[::-1].tolist()
    return found


def _head(one: Dimension, node: tuple[int, int, bool]) -> dict[str, Any]:
    number, depth, total = node
    return {"label": one.labels[number], "depth": depth, "total": total, "root": number == 0}


def _number(value: float) -> int | float | None:
    """A plain number, None where there is no end."""
    if not np.isfinite(value):
        return None
    return round(value) if abs(value - round(value)) < 1e-6 else float(value)
