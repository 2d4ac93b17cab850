"""How the policy of a project protects its table: what its steps change, what its generator draws, what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.masked import typed
from sfumato.errors import PolicyError, SfumatoError
from sfumato.policyfile.file import Draft, PolicyFile
from sfumato.policyfile.paths import step_from
from sfumato.policyfile.protection import made_by
from sfumato.studio.tasks.table import checked, draft_of, rows_of, table_of

_typed: list[tuple[pl.DataFrame, pl.DataFrame]] = []  # the last table, and the same with numbers and dates as such


def columns(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """The columns of the table, and whether it is out of core."""
    found = table_of(draft_of(asked))
    return {"columns": list(found.columns or ()), "stored": bool(found.stored)}


def described(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """Each step and the generator in words, with the columns that it takes and what it leaves open, None where it
    cannot be made; what a private release costs; and everything that is wrong with the policy."""
    progress("reading", None)
    draft = draft_of(asked)
    by, faults = made_by(draft.tables), list[str]()
    policy = None
    try:
        _, policy = checked(draft, by)
    except PolicyError as error:
        faults += error.faults or [str(error)]
    frame, roles, stored = rows_of(draft).frame, draft.tables.get("roles", {}), bool(table_of(draft).stored)
    apart = [*roles.get("identifying", []), *(roles[key] for key in ("weight", "person", "household") if key in roles)]
    written = draft.tables.get("synthesis", {}).get("generator")
    found = {
        "steps": [_step(one, draft, frame, apart, stored, faults) for one in draft.tables.get("mask", [])],
        "generator": _generator(written, frame, apart, faults) if by == "synthesis" else None,
        "private": None if policy is None else _private(by, policy, faults),
    }
    return {**found, "faults": list(dict.fromkeys(faults))}


def _step(
    written: Mapping[str, Any], draft: Draft, frame: pl.DataFrame, apart: list[str], stored: bool, faults: list[str]
) -> dict[str, Any] | None:
    from sfumato.masking.run import with_columns
    from sfumato.verbs.steps import steps_of

    own = {key: value for key, value in step_from(written, draft.folder).items() if key != "when"}
    step = _told([], lambda: steps_of([own])[0])  # its faults are those of the policy
    if step is None:
        return None
    if stored and step.stored is None:
        faults.append(f"{written['step']} needs all rows at once, in memory")
    if not (_typed and _typed[0][0] is frame):
        _typed[:] = [(frame, typed(frame))]
    step = _told(faults, lambda: with_columns(step, _typed[0][1], apart)) or step
    return {"sentence": step.sentence(), "leaves": step.leaves, "columns": list(step.columns)}


def _generator(written: Any, frame: pl.DataFrame, apart: list[str], faults: list[str]) -> dict[str, Any] | None:
    from sfumato.verbs.synthesize import generator_of

    generator = _told([], lambda: generator_of(written))
    if generator is None:
        return None
    if generator.private:
        try:
            generator.domain({name: kind for name, kind in frame.schema.items() if name not in apart})
        except SfumatoError as error:
            faults.append(error.what)  # the page says how to state them
    return {"sentence": generator.sentence(), "leaves": generator.leaves, "columns": []}


def _private(by: str, policy: PolicyFile, faults: list[str]) -> dict[str, Any] | None:
    """What a private release costs, and what was spent of its account before; None where it is not private."""
    parts = {"recoding": [policy.search], "masking": [step for _, step in policy.mask],
             "synthesis": [policy.drawing.get("generator")]}[by]  # fmt: skip
    part = next((one for one in parts if getattr(one, "private", False)), None)
    if part is None:
        return None
    account = policy.drawing.get("account") if by == "synthesis" else policy.account
    cost = getattr(part, "cost", None) or next(
        (one.cost for one in policy.require if getattr(one, "cost", None) is not None), None
    )
    spent = None
    if account is not None and Path(str(account.ledger)).is_file():
        spent = _told(faults, lambda: _spent(account))
    return {"cost": None if cost is None else str(cost), "spent": spent}


def _spent(account: Any) -> str:
    from sfumato.dp.ledger import BudgetLedger

    ledger = BudgetLedger(account.ledger, account.dataset)
    try:
        return str(ledger.spent())
    finally:
        ledger.close()


def _told(faults: list[str], look: Any) -> Any:
    """What a look gives, or None and its fault."""
    try:
        return look()
    except SfumatoError as error:
        faults += getattr(error, "faults", ()) or [str(error)]
        return None
