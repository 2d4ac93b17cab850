"""The log of the service: who asked when, of which dataset, which kind of query, its cost and how it ended. It has no
value of the table, no answer, and nothing that a filter compares with."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import OutputError

NAME = "log.jsonl"
FIELDS = ("event", "user", "role", "dataset", "purpose", "kind", "cost", "outcome", "status")


class AuditLog:
    """A file that only grows, one JSON object a line, which its owner alone may read."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        try:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise OutputError(f"the log {self.path} cannot be written: {error.strerror}") from None

    def write(self, **said: Any) -> None:
        """One line; what is not among the fields is refused, so that nothing else can get into it."""
        if unknown := {*said} - {*FIELDS}:
            raise AssertionError(f"the log has no field {min(unknown)}")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, **{name: said[name] for name in FIELDS if said.get(name) not in (None, "")}}
        os.write(self._file, (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)
