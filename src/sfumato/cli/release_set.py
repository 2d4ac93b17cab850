"""What the shell prints of tables that are published together."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.cli.console import say, say_command, say_json, say_written, tell
from sfumato.core.wording import count, number


def show_set(found: Any, folder: Path | None, told: Sequence[str], as_json: bool) -> None:
    """The tables, what is promised of all of them, and the files."""
    from sfumato.cli.anonymize import say_promises

    manifest = found.manifest
    files = [] if folder is None else sorted(str(path) for path in folder.iterdir())
    tables, method = {one["name"]: one["rows"] for one in manifest["tables"]}, manifest["method"]
    if as_json:
        say_json({
            "made_by": manifest["made_by"], "tables": tables, "method": method, "promises": manifest["promises"],
            "folder": None if folder is None else str(folder), "files": files, "notes": list(told),
        })  # fmt: skip
        return
    tell(told)
    before = manifest["input"]["rows"]
    rows = ", ".join(f"{name} with {count(n, 'row')}" for name, n in tables.items())
    say(f"{count(len(tables), 'table')}: {rows}" + ("" if before is None else f", of {count(before, 'row')}"))
    for what, value in method.items():
        if value is not None:
            say(f"  {what.replace('_', ' ')}: {_plain(value)}")
    say_promises(manifest["promises"])
    say_written(files)
    if folder is not None:
        say_command("verify it with", shlex.join(["sfumato", "verify", str(folder)]))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(one)}" for key, one in value.items())
    return number(value) if isinstance(value, int | float) else str(value)


def without_internal(reports: Mapping[str, Any]) -> dict[str, Any]:
    """The reports of tables that are published together: a PolicyError where one compares rows with the original."""
    from sfumato.errors import PolicyError

    if reports.get("internal_report") is not None:
        what = "the internal report compares rows with the original, and this release has them in several tables"
        raise PolicyError(what, hint="leave internal_report out")
    return {name: value for name, value in reports.items() if name != "internal_report"}
