"""Releases of a project: planned, made, verified and signed as the shell does it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import PolicyError
from sfumato.policyfile.file import PEOPLE, PolicyFile
from sfumato.policyfile.protection import made_by
from sfumato.studio.tasks.protection import described
from sfumato.studio.tasks.table import checked, draft_of
from sfumato.studio.tasks.trial import noted, run

APART = "the sensitive column leaves in a table of its own, by groups of rows"


def planned(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """What will become of the table, column by column, and what is promised; the faults of the policy are raised."""
    progress("reading", None)
    draft = draft_of(asked)
    draft.tables["output"] = {"path": "release", **draft.tables.get("output", {})}
    by = made_by(draft.tables)
    opened, policy = checked(draft, by)
    told = described(asked, progress)
    if told["faults"]:
        raise PolicyError("the policy does not fit the table:", told["faults"])
    account = policy.drawing.get("account") if by == "synthesis" else policy.account
    apart = by == "recoding" and policy.search.fragments
    becoming = _becoming(by, opened.columns or [], policy, told["steps"])
    if apart:
        becoming = {name: "insensitive" if role == "quasi" else role for name, role in becoming.items()}
    return {
        "by": by,
        "format": policy.format,
        "suppression": policy.suppression,
        "columns": becoming,
        "steps": [*([APART] if apart else []), *(one["sentence"] for one in told["steps"])],
        "generator": told["generator"] and told["generator"]["sentence"],
        "private": told["private"] and {**told["private"], "charged": account is not None},
        "promises": [{"model": one.model, "sentence": one.sentence()} for one in policy.require],
    }


def _becoming(by: str, columns: list[str], policy: PolicyFile, steps: Any) -> dict[str, str]:
    """What becomes of each column: its role says it where it is recoded, else whether it is changed or drawn."""
    roles, changed = policy.roles, {name for step in steps for name in step["columns"]}
    found = {}
    for name in columns:
        role = next((unit for unit in PEOPLE if getattr(policy, unit) == name), roles.role(name) or "")
        if by == "synthesis":
            role = role if role == "identifying" else "drawn"
        elif name in changed:
            role = "changed" if by == "masking" or role != "quasi" else role
        elif by == "masking" and role in ("quasi", "sensitive"):
            role = "insensitive"
        found[name] = role
    return found


def make(asked: Mapping[str, Any], folder: str, progress: Any) -> dict[str, Any]:
    """Write a release into a folder, and say what verify finds there."""
    from sfumato.engines.memory.table import MemoryTable

    draft = draft_of(asked)
    by = made_by(draft.tables)
    draft.tables["output"] = {**draft.tables.get("output", {}), "path": folder, "overwrite": False}
    draft.tables["output"].pop("table", None)
    opened, policy = checked(draft, by)
    with noted() as told:
        if opened.stored:
            run(by, policy, opened.data, **policy.stored(), progress=progress)
        else:
            found = run(by, policy, MemoryTable(opened.data, reading=opened.reading), progress=progress)
            progress("writing", None)
            found.save(folder, format=policy.format, pdf=draft.tables["output"].get("pdf", False))
    return verified(folder, progress) | {"notes": told}


def verified(folder: str, progress: Any) -> dict[str, Any]:
    """What verify finds in the folder of a release, who signed it, and what was done, told to a lay reader."""
    from sfumato.release.signature import signed
    from sfumato.verbs.explain import explain_folder

    progress("verifying", None)
    told, found = explain_folder(Path(folder), "en")
    assert found is not None  # its rows are in the folder
    found = signed(found, Path(folder))
    promises = [
        {"model": one.model, "holds": one.holds, "how": one.how, "sentence": one.sentence, "note": one.note}
        for one in found.promises
    ]
    facts = [{"holds": one.holds, "sentence": one.sentence, "note": one.note} for one in found.facts]
    signature = found.signature and {**vars(found.signature), "faults": list(found.signature.faults)}
    return {
        "outcome": found.outcome, "rows": found.rows, "promises": promises, "facts": facts, "signature": signature,
        "caveat": found.caveat, "told": [list(line) for line in told.lines],
    }  # fmt: skip


def sign(folder: str, key: str, asked: Mapping[str, str], trusted: bool, progress: Any) -> dict[str, Any]:
    """Sign a release with the key of the user, which is made where there is none; `trusted` puts it among the keys that
    verify knows."""
    from sfumato.release.signature import new_key, trust
    from sfumato.release.signature import sign as sign_release

    place = Path(key)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        public = new_key(place, passphrase=asked["passphrase"])
        if trusted:
            trust(public)
    progress("verifying", None)
    sign_release(
        Path(folder), key=place, name=asked["name"], statement=asked["statement"], date=asked["date"],
        passphrase=asked["passphrase"], overwrite=True,
    )  # fmt: skip
    return verified(folder, progress)
