"""What the shell prints of a protected table, and of an audit."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.cli.console import say, say_command, say_json, say_written, tell


def show_table(safe: Any, folder: Path, told: Sequence[str], as_json: bool) -> None:
    """What it cost, what is promised, and the files."""
    from sfumato.cli.anonymize import say_promises

    manifest = safe.manifest
    files = sorted(str(path) for path in folder.iterdir())
    if as_json:
        say_json({
            "made_by": manifest["made_by"], "method": manifest["method"], "cost": dict(safe.loss()),
            "promises": manifest["promises"], "folder": str(folder), "files": files, "notes": list(told),
        })  # fmt: skip
        return
    tell(told)
    say(f"table protected by {manifest['method']['protection']}")
    say_promises(manifest["promises"])
    say("for you alone:")
    for what, value in safe.loss():
        say(f"  {what}: {value}")
    say_written(files)
    say_command("verify it with", shlex.join(["sfumato", "verify", str(folder)]))
