"""StoredRelease: a release that was written where it belongs, and never was in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.core.parameters import path_of
from sfumato.core.policy import Policy
from sfumato.engines.order import RowOrder
from sfumato.engines.protocol import Engine, Plan, is_home
from sfumato.errors import BrokenPromise, OutputError, SfumatoError
from sfumato.measures.reach import Reach
from sfumato.measures.standards.finding import Profile
from sfumato.measures.table import TupleCounts
from sfumato.release.checks import trees_of
from sfumato.release.destination import Folder, destination
from sfumato.release.release import Release
from sfumato.release.staged import stage_release
from sfumato.release.value_map import ValueMap
from sfumato.release.verify import Verification, verify_counts
from sfumato.report.sections.headline import brief, reach_from
from sfumato.report.sections.standards import profiles
from sfumato.search.problem import Progress, Solution, quiet


@dataclass(frozen=True, eq=False)
class StoredRelease:
    """A release where it was made: `path` is its folder, `data` its file, the name of its table, or a frame."""

    path: Path | None
    data: Any
    manifest: Mapping[str, Any]
    cells: Release  # the same release of the counted tuples, each once
    home: Engine  # what it was made from
    counted: Reach | None = None  # where it was worked out for the report

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

    def table(self) -> Engine | Path:
        """The released table as the verbs take it: the folder that it is in, or where it was kept."""
        if is_home(self.home) and "file" not in self.manifest["data"]:
            return self.home.kept(self.data)
        assert self.path is not None
        return self.path

    def save(
        self, path: str | Path, format: str = "parquet", overwrite: bool = False, progress: Progress | None = None
    ) -> Path:
        """Write what was kept elsewhere into a new folder too: data, manifest.json, report.html, verified or none."""
        table, say = self.table(), progress or quiet
        if isinstance(table, Path):
            raise OutputError(f"the release is in {table} already", hint="copy the folder")
        to, columns = Folder(path, format, overwrite), [str(c["name"]) for c in self.manifest["data"]["columns"]]
        destination(to, table)
        order = RowOrder(quasi=self.policy.columns)
        with stage_release(
            table, Plan(tuple(columns), (), tuple(columns), order=order, rows=self.verification.rows), to, say
        ) as place:
            counted_by = tuple(dict.fromkeys((*self.policy.columns, *self.policy.needs)))
            counted = place.written.count(counted_by, say)
            whole, trees = self.cells.whole or {}, trees_of(self.cells.microdata, self.policy.needs)
            found = verify_counts(counted, self.policy.quasi, self.policy.require, whole=whole, hierarchies=trees)
            if not found.holds or found.rows != self.verification.rows:
                raise BrokenPromise("the table that was released is not there as it was, so it is not saved")
            told = {key: self.manifest["data"][key] for key in ("rows", "columns", "order")}
            place.finish(
                {**self.manifest, "data": {**place.describe(), **told}}, TupleCounts(place.written, known=counted)
            )
        return path_of(path)

    def value_map(self) -> ValueMap:
        """The map from value to label of a global recoding. It lists original values: keep it with the original."""
        return self.cells.value_map()

    def __repr__(self) -> str:
        verdict = self.solution.verdict
        promises = ", ".join(c.model for c in self.policy.require)
        rows = f"{self.verification.rows} rows, {verdict.suppressed} suppressed"
        loss = self.manifest["solution"]["loss"]
        return f"<StoredRelease of {rows}, {'' if loss is None else f'loss {loss:.4f}, '}{promises}{brief(self.reach)}>"

    @cached_property
    def standards(self) -> tuple[Profile, ...]:
        """What the class sizes of the released table say to the standards."""
        return profiles(self.manifest, None)

    @cached_property
    def reach(self) -> Reach:
        """What the promises do not cover, and what the released rows tell of it: counted when first asked for."""
        if self.counted is not None:
            return self.counted
        from sfumato.measures.source import source_of

        try:
            return reach_from(self.manifest, source_of(self.table()).table)
        except SfumatoError:  # the table is gone, or nobody may read it any more
            return reach_from(self.manifest, None)
