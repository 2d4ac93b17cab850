"""sfumato demo: a made-up hospital register, released."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.anonymize import release, show
from sfumato.cli.console import say


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the release.", metavar="FOLDER")] = Path(
        "out"
    ),
    rows: Annotated[int, typer.Option("--rows", min=1, help="Admissions in the register.", metavar="N")] = 20_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the register.", metavar="N")] = 2026,
    as_json: options.Json = False,
) -> int:
    """Make up a hospital register of 20,000 admissions and release it with k = 12 and entropy 3-diversity.

    The release goes into FOLDER, the register and its policy beside it, into FOLDER-input.

    Both are replaced when the demo runs again; nothing else is.
    """
    from dataclasses import replace

    from sfumato.cli.register import write_demo_inputs
    from sfumato.policyfile.file import load

    output = output.absolute() if output.name in ("", "..") else output
    ours = _check(output)
    policy = write_demo_inputs(output.with_name(f"{output.name}-input"), rows=rows, seed=seed)
    draft = load(policy)
    tables = {**draft.tables, "output": {**draft.tables["output"], "path": str(output.absolute()), "overwrite": ours}}
    made = release(replace(draft, tables=tables))
    show(made[0], made[1], output, made[3], as_json)
    if not as_json:
        say(f"the made-up register and its policy: {policy.parent}")
        say(f"now open {output / 'report.html'}")
    return 0


def _check(output: Path) -> bool:
    """Whether something stands in the folder that the demo may replace; OutputError where it may not."""
    from sfumato.cli.register import POLICY
    from sfumato.engines.atomic import check_target
    from sfumato.errors import OutputError
    from sfumato.release.manifest import read_manifest

    if not output.exists():
        return False
    check_target(output, overwrite=True)
    if any(output.iterdir()):
        roles = tomllib.loads(POLICY)["roles"]
        policy = read_manifest(output).policy
        if policy.quasi != [roles["quasi"]] or policy.identifying != roles["identifying"]:
            hint = "choose another folder with -o"
            raise OutputError(f'the folder "{output}" holds a release that is not the demo', hint=hint)
    return True
