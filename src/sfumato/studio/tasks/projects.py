"""Examples, written into the private folder of a project."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

from sfumato.errors import OutputError

ADULT = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
    "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
]  # fmt: skip
INPUT = "private/input"


def register(folder: str, progress: Any) -> dict[str, Any]:
    """The made-up hospital register; the [input] of its policy."""
    from sfumato.cli.register import write_demo_inputs

    progress("writing", None)
    policy = write_demo_inputs(Path(folder) / INPUT)
    table = tomllib.loads(policy.read_text(encoding="utf-8"))["input"]
    return {**table, "path": f"{INPUT}/{table['path']}"}


def adult(folder: str, source: str, progress: Any) -> dict[str, Any]:
    """The census table Adult of a file on this machine; the [input] of its policy, with names of its columns."""
    progress("writing", None)
    target = Path(folder) / INPUT / "adult.data"
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(source, target)
    except OSError as error:
        raise OutputError(f"{source} cannot be copied: {error.strerror}") from None
    return {"path": f"{INPUT}/adult.data", "header": False, "columns": ADULT, "missing": ["?"]}
