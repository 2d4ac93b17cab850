"""ValueMap: a global recoding as a map from value to label, to save and to apply to other rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.printed import printed
from sfumato.engines.files.bytes import atomic_file
from sfumato.engines.memory.table import enter, leave
from sfumato.errors import ColumnError, PolicyError, ReadError


@dataclass(frozen=True)
class ValueMap:
    """Per column, the label of each value; the empty string stands for missing.

    It lists original values, also those of suppressed rows: it belongs with the original, not with the release. Rows
    recoded with it are not proven to be anything: verify them together with the release they join.
    """

    columns: Mapping[str, Mapping[str, str | None]]

    def apply(self, data: Any) -> Any:
        """The same kind of frame with the mapped columns recoded; other columns as they are."""
        frame, kind = enter(data)
        for name, labels in self.columns.items():
            if name not in frame.columns:
                raise ColumnError(f'the value map is for a column "{name}", which the table does not have')
            text = printed(frame.get_column(name)).fill_null("")
            distinct = text.unique()
            unknown = distinct.filter(~distinct.is_in(list(labels)))
            if len(unknown):
                raise ColumnError(
                    f'{len(unknown)} values of column "{name}" are not in the value map',
                    hint="give the hierarchy those values before the release, so that the map covers them",
                )
            recoded = text.replace_strict(list(labels), list(labels.values()), return_dtype=pl.String)
            frame = frame.with_columns(recoded.alias(name))
        return leave(frame, data, kind, None, [name for name in frame.columns if name not in self.columns])

    def save(self, path: str | Path) -> Path:
        """Write it as JSON."""
        target = Path(path)
        with atomic_file(target) as temporary:
            temporary.write_text(
                json.dumps({"sfumato": "value-map", "columns": self.columns}, ensure_ascii=False, indent=1),
                encoding="utf-8",
            )
        return target

    @staticmethod
    def load(path: str | Path) -> ValueMap:
        """Read it back."""
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            if found.get("sfumato") != "value-map" or not isinstance(found["columns"], dict):
                raise PolicyError("no value map")
            return ValueMap(found["columns"])
        except (OSError, ValueError, KeyError, AttributeError, PolicyError):
            raise ReadError(
                f'"{path}" is not a value map', hint="value maps are written by release.value_map().save(path)"
            ) from None
