"""What mask and synth share: a table whose values are not those of the original, written and shown."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sfumato.cli import inputs
from sfumato.cli.anonymize import reports_of, say_promises
from sfumato.cli.console import Progress, notes, say, say_command, say_json, say_written, tell
from sfumato.cli.verify import say_facts


def released(draft: Any, made_by: str, words: str) -> tuple[Any, Path, list[str]]:
    """Check the policy against the table, mask or draw, save; the release, its folder, and notes."""
    import sfumato as sf
    from sfumato.engines.atomic import check_target
    from sfumato.engines.memory.table import MemoryTable
    from sfumato.errors import UndecidedColumns
    from sfumato.report.files import check_reports

    with Progress("reading") as progress, notes("shell") as told:
        opened, policy = inputs.checked(draft, None, made_by)
        assert policy.output is not None
        check_target(policy.output, policy.overwrite)
        place = reports_of(draft)["internal_report"]
        check_reports(place, policy.output, policy.overwrite, False)
        run, asked = (sf.mask, policy.masking()) if made_by == "masking" else (sf.synthesize, policy.synthesis())
        try:
            if opened.stored:
                return run(opened.data, **asked, **policy.stored(), progress=progress), policy.output, told
            found = run(MemoryTable(opened.data, reading=opened.reading), **asked, progress=progress)
        except UndecidedColumns as error:
            raise error.told_in(words) from None
        progress("writing", None)
        folder = found.save(policy.output, policy.format, policy.overwrite, place)
    return found, Path(folder), told


def show(
    found: Any, folder: Path, told: list[str], as_json: bool, own: Mapping[str, Any], say_how: Callable[[], None]
) -> None:
    """What was done, what is promised of it, and what was checked; `own` is what the command adds to the document."""
    manifest = found.manifest
    files = sorted(str(path) for path in folder.iterdir())
    if as_json:
        say_json(
            {
                "rows": manifest["data"]["rows"],
                "outcome": found.verification.outcome,
                "steps": manifest["steps"],
                "promises": manifest["promises"],
                "facts": [asdict(fact) for fact in found.facts],
                **own,
                "seed": manifest["seed"],
                "folder": str(folder),
                "files": files,
                "notes": told,
            }
        )
        return
    tell(told)
    say_how()
    if manifest["promises"]:
        say_promises(manifest["promises"])
    else:
        say("nothing is promised of the people in it")
    say_facts(found.verification)
    say_written(files)
    say_command("verify it with", shlex.join(["sfumato", "verify", str(folder)]))
