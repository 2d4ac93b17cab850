"""Make a release where it goes: all of it, once what was made has been counted again, or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.parameters import path_of
from sfumato.engines.atomic import atomic_folder
from sfumato.engines.files.bytes import sha256
from sfumato.engines.protocol import Engine, Plan, Progress, StagedRelease, is_home
from sfumato.measures.reach import Reach
from sfumato.measures.table import TupleCounts
from sfumato.release.destination import Folder, Table
from sfumato.release.release import NAMES
from sfumato.report import report
from sfumato.report.sections.headline import reach_from


@dataclass(frozen=True, eq=False)
class StagedOutput:
    """What was made and not yet kept: the rows, what the manifest says of them, what users get, the folder beside."""

    written: StagedRelease
    describe: Callable[[], dict[str, Any]]
    data: Any
    folder: Path | None  # under its temporary name

    def finish(self, manifest: Mapping[str, Any], counts: TupleCounts) -> Reach | None:
        """The manifest and the report, which counts of what was made go into: the reach, or None without a folder."""
        if self.folder is None:
            return None
        reach = reach_from(manifest, counts)
        text = json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        (self.folder / "manifest.json").write_text(text, encoding="utf-8")
        (self.folder / "report.html").write_text(report(manifest, reach=reach), encoding="utf-8")
        return reach


def folder_of(to: Folder | Table | None) -> Path | None:
    """The folder that is made, or None."""
    name = to.path if isinstance(to, Folder) else to.beside if isinstance(to, Table) else None
    return None if name is None else path_of(name)


@contextmanager
def stage_release(store: Engine, plan: Plan, to: Folder | Table | None, say: Progress) -> Iterator[StagedOutput]:
    """The release as the plan says; it stays where the block ends, and is gone where it raises."""
    target = folder_of(to)
    if isinstance(to, Folder):
        assert target is not None
        with atomic_folder(target, to.overwrite) as folder:
            file = folder / NAMES[to.format]
            written = store.recode(plan, file, to.format, say)
            yield StagedOutput(written, lambda: _of_file(file, to.format), target / file.name, folder)
        return
    assert is_home(store)
    name, overwrite = (None, False) if to is None else (to.name, to.overwrite)
    beside: AbstractContextManager[Path | None]
    beside = nullcontext() if target is None else atomic_folder(target, overwrite)
    # the folder gets its name after the database has committed: it never tells of a table that is not there
    with beside as folder, store.release(plan, name, overwrite, say) as kept:
        yield StagedOutput(kept, lambda: kept.place, kept.data, folder)


def _of_file(file: Path, format: str) -> dict[str, Any]:
    return {"file": file.name, "format": format, "sha256": sha256(file), "guarded": format != "parquet"}
