"""What a report is made from: the folder of a release, or a table that another tool released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.categories import kind_of
from sfumato.engines.documents import read_document
from sfumato.engines.printed import printed
from sfumato.engines.write import read_back, sha256
from sfumato.measures.verify import INTEGRITY, Verification, verify_folder, verify_table
from sfumato.report.look import Manifest, roles_of

FOREIGN = "foreign"  # the key of a manifest that Sfumato made up for another tool's release


def of_folder(folder: Path) -> tuple[dict[str, Any], pl.DataFrame, Verification]:
    """The manifest and the table of a release, and what verify says, which is told in its words."""
    found = verify_folder(folder)
    manifest: dict[str, Any] = read_document(folder / "manifest.json")
    data = manifest["data"]
    told = [promise for promise in found.promises if found.outcome == "broken" or promise.model != INTEGRITY]
    manifest |= {"promises": [asdict(promise) for promise in told], "measured": list(found.classes)}
    return manifest, read_back(folder / data["file"], data["format"], data.get("guarded", True)), found


def of_table(
    file: Path,
    table: pl.DataFrame,
    quasi: Sequence[Sequence[str]],
    sensitive: Sequence[str] = (),
    require: Sequence[Any] = (),
    hierarchies: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], Verification]:
    """A manifest of what can be measured on any table, and whether it keeps what is asked."""
    found = verify_table(table, quasi, require, hierarchies=hierarchies)
    known = dict.fromkeys((name for names in quasi for name in names), "quasi")
    role = dict.fromkeys(sensitive, "sensitive") | known
    columns = [
        {"name": name, "role": role.get(name, "insensitive"), "kind": kind_of(dtype)}
        for name, dtype in table.schema.items()
    ]
    manifest = {
        "sfumato": version("sfumato"),
        FOREIGN: True,
        "data": {"file": file.name, "sha256": sha256(file), "rows": table.height, "columns": columns},
        "policy": {
            "quasi": [list(names) for names in quasi],
            "sensitive": list(sensitive),
            "require": [{"model": c.model, **c.parameters()} for c in require],
        },
        "promises": [asdict(promise) for promise in found.promises],
        "measured": list(found.classes),
    }
    return manifest, found


def aligned(manifest: Manifest, released: pl.DataFrame, original: pl.DataFrame) -> np.ndarray | None:
    """The original row of each released row, where as many rows show it by columns that were released as they are."""
    if released.height != original.height:
        return None
    roles = roles_of(manifest, released)
    kept = [name for name, role in roles.items() if role != "quasi" and name in original.columns]
    same = [printed(released.get_column(name)).eq_missing(printed(original.get_column(name))).all() for name in kept]
    return np.arange(released.height) if kept and all(same) else None
