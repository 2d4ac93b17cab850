"""StoredRelease: a release that was written where it belongs, and never was in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.measures.verify import Verification
from sfumato.microdata import kind_of
from sfumato.policy import Policy
from sfumato.recode.value_map import ValueMap
from sfumato.release import Release
from sfumato.roles import Roles
from sfumato.search.problem import Solution


@dataclass(frozen=True, eq=False)
class StoredRelease:
    """A release where it was made: `path` is its folder, `data` its file, the name of its table, or a frame."""

    path: Path | None
    data: Any
    manifest: Mapping[str, Any]
    cells: Release  # the same release of the counted tuples, each once

    @property
    def solution(self) -> Solution:
        """The recoding and what it comes to."""
        return self.cells.solution

    @property
    def policy(self) -> Policy:
        """What was promised."""
        return self.cells.policy

    @property
    def verification(self) -> Verification:
        """What the written rows say."""
        return self.cells.verification

    def value_map(self) -> ValueMap:
        """The map from value to label of a global recoding. It lists original values: keep it with the original."""
        return self.cells.value_map()

    def __repr__(self) -> str:
        verdict = self.solution.verdict
        promises = ", ".join(c.model for c in self.policy.require)
        rows = f"{self.verification.rows} rows, {verdict.suppressed} suppressed"
        return f"<StoredRelease of {rows}, loss {verdict.loss:.4f}, {promises}>"


def manifest_of(
    cells: Release,
    schema: Mapping[str, pl.DataType],
    roles: Roles,
    rows: int,
    fingerprint: str | None,
    data: Mapping[str, Any],
) -> dict[str, Any]:
    """The manifest of a release from that of its counted tuples; `schema` is that of the released table."""
    known = {c["name"]: c for c in cells.manifest["data"]["columns"]}
    weight = roles.weight
    columns = [
        known.get(name) or {"name": name, "role": "weight" if name == weight else "insensitive", "kind": kind_of(dtype)}
        for name, dtype in schema.items()
    ]
    columns = [c | {"role": "sensitive"} if c["name"] in roles.sensitive else c for c in columns]
    free = [c["name"] for c in columns if c["role"] == "insensitive"]
    found = dict(cells.manifest)
    return found | {
        "data": {**data, "rows": cells.verification.rows, "columns": columns},
        "policy": found["policy"] | {"insensitive": free},
        "input": {"rows": rows, "fingerprint": fingerprint},
        "solution": found["solution"] | {"suppression_limit": cells.policy.limit(rows)},
    }
