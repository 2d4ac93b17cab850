"""Trials: releases of a policy as it is, for its owner's eyes, kept in memory until the policy or the table changes."""

from __future__ import annotations

import json
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.cli.console import notes
from sfumato.errors import PolicyError, UndecidedColumns
from sfumato.policyfile.file import Draft, PolicyFile
from sfumato.policyfile.protection import made_by
from sfumato.studio.tasks.table import checked, draft_of, file_marks, rows_of

KEPT = 4  # trials in memory
_trials: OrderedDict[Any, Trial] = OrderedDict()


@dataclass(frozen=True, eq=False)
class Trial:
    """A release, the rows that it was made from, how it was made, whether it promises anything, and whether these rows
    are a sample of the table."""

    release: Any
    frame: pl.DataFrame
    by: str
    promised: bool
    sampled: bool
    notes: tuple[str, ...]  # what the library has to say

    @cached_property
    def pair(self) -> Any:
        """The original and the release side by side."""
        from sfumato.measures.utility import pair_of

        hierarchies = getattr(self.release, "hierarchies", None)
        return pair_of(self.frame, self.release.table, rows=self.release.rows, hierarchies=hierarchies)


def tried(asked: Mapping[str, Any], progress: Any) -> Trial:
    """The release of a policy, made unless it was made before; of an out-of-core table from its sample."""
    draft, by = _drafted(asked)
    progress("reading", None)
    opened, policy = checked(draft, by)
    _refuse_tables(policy)
    table = rows_of(draft)
    key = file_marks(draft), json.dumps([asked["folder"], draft.tables], sort_keys=True, default=str)
    if key in _trials and _trials[key].frame is table.frame:
        _trials.move_to_end(key)
        return _trials[key]
    from sfumato.engines.memory.table import MemoryTable

    data = table.frame if opened.stored else MemoryTable(table.frame, reading=opened.reading)
    with noted() as told:
        release = run(by, policy, data, progress=progress)
    found = _trials[key] = Trial(release, table.frame, by, bool(policy.require), table.sampled, tuple(told))
    while len(_trials) > KEPT:
        _trials.popitem(last=False)
    return found


def released(asked: Mapping[str, Any], progress: Any) -> Any:
    """The release of a policy, of all rows: one of an out-of-core table is made anew, and gone but for its figures."""
    draft, by = _drafted(asked)
    opened, policy = checked(draft, by)
    _refuse_tables(policy)
    if not opened.stored:
        return tried(asked, progress).release
    with tempfile.TemporaryDirectory(dir=Path(asked["folder"]) / "private") as folder:
        draft.tables["output"] = {**draft.tables["output"], "path": str(Path(folder) / "out")}
        opened, policy = checked(draft, by)
        with noted():
            return run(by, policy, opened.data, **policy.stored(), progress=progress)


def run(by: str, policy: PolicyFile, data: Any, **more: Any) -> Any:
    """What the verb of a policy makes of a table."""
    import sfumato as sf

    verb: Any = {"recoding": sf.anonymize, "masking": sf.mask, "synthesis": sf.synthesize}[by]
    try:
        return verb(data, **policy.verb_keywords(by), **more)
    except UndecidedColumns as error:
        raise error.told_in("file") from None


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect what the library notes, without hints for the shell."""
    found: list[str] = []
    with notes("file") as told:
        yield found
    found += [one.partition(". --")[0] for one in told]


def _refuse_tables(policy: PolicyFile) -> None:
    """A release of several tables has no figures that these pages could show."""
    if policy.search.fragments:
        what = "this search gives several tables, of which the studio shows no figures"
        raise PolicyError(what, hint="the page of the release makes and verifies them")


def _drafted(asked: Mapping[str, Any]) -> tuple[Draft, str]:
    """The policy without what a trial must not do: no account is charged, for nobody else sees what it gives."""
    draft = draft_of(asked)
    for name in ("search", "synthesis"):
        if "account" in draft.tables.get(name, {}):
            draft.tables[name] = {key: value for key, value in draft.tables[name].items() if key != "account"}
    kept = {key: value for key, value in draft.tables.get("output", {}).items() if key in ("order", "ends", "numbers")}
    draft.tables["output"] = {"path": "out", **kept}
    return draft, made_by(draft.tables)
