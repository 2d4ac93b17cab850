"""Release: the table that leaves the house, whatever made it; what is promised of it, and what was measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import path_of
from sfumato.core.policy import Policy
from sfumato.core.printed import with_texts
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.protocols import AGAINST_ORIGINAL, BY_CONSTRUCTION, STATED
from sfumato.core.roles import Roles
from sfumato.core.wording import Described
from sfumato.engines.labelled import labelled
from sfumato.engines.numbers import NumberForms
from sfumato.engines.order import RowOrder
from sfumato.engines.protocol import Engine, Plan
from sfumato.errors import BrokenPromise, OutputError, PolicyError, SfumatoError
from sfumato.measures.reach import Reach, reach_of
from sfumato.measures.standards.finding import Profile
from sfumato.measures.table import TupleCounts
from sfumato.release.destination import Folder, destination, stage_release
from sfumato.release.folder import verify_folder, verify_manifest
from sfumato.release.manifest import placed
from sfumato.release.verify import Verification
from sfumato.report import report
from sfumato.report.files import private_report
from sfumato.report.page import pdf_of
from sfumato.report.sections.headline import reach_from
from sfumato.report.sections.standards import profiles


@dataclass(frozen=True, eq=False, kw_only=True)
class Release(Described, ABC):
    """A table that leaves, verified from its own rows: a `Recoded` or a `Masked` one.

    `data` is what leaves: a frame of the kind that came in, the file in its folder, the name of a table, or a frame of
    a cluster. `path` is the folder, where there is one. What was made in memory has its rows in `table`.
    """

    make: Callable[[], Any]
    verification: Verification
    engine: Engine  # of the table that it was made from
    entries: pl.DataFrame  # the released rows, few texts as an Enum; out of core their distinct tuples
    row_counts: pl.Series | None  # out of core, how many rows have each of them
    rows: np.ndarray | None = None  # in memory, which rows of the original the released ones are
    path: Path | None = None
    numbers: NumberForms = field(default_factory=NumberForms)  # what `data` has in the place of labels
    place: Mapping[str, Any] = field(default_factory=dict)  # what the manifest says of where the data are
    fingerprint: str | None = None  # of the original, where it is out of core
    counts: TupleCounts | None = None  # of what was written, for the report

    @cached_property
    def data(self) -> Any:
        """What leaves, made when it is first asked for."""
        return self.make()

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: what leaves, not how it is made."""
        return {**self.__dict__, "data": self.data, "make": None}

    @property
    @abstractmethod
    def roles(self) -> Roles:
        """The roles of the columns."""

    @property
    @abstractmethod
    def policy(self) -> Policy | None:
        """What was promised; None where nothing was."""

    @property
    @abstractmethod
    def order(self) -> RowOrder:
        """The order of its rows."""

    @property
    @abstractmethod
    def manifest(self) -> dict[str, Any]:
        """What is published beside the data; of rows in memory `save` adds the file and its hash."""

    @property
    def hierarchies(self) -> dict[str, Any]:
        """The hierarchies of the columns that have one."""
        return {}

    @abstractmethod
    def _internal(self, published: Mapping[str, Any]) -> str:
        """The report for its owner's eyes, which compares with the original."""

    def _counted_again(self, table: Any, report_progress: Progress) -> TupleCounts:
        """Counts of a copy of a release that was kept elsewhere; a BrokenPromise where it is not what was verified."""
        return TupleCounts(table)

    @property
    def stepped(self) -> bool:
        """Whether steps of masking changed values: columns that they perturbed are out of reach."""
        return False

    @property
    def in_memory(self) -> bool:
        """Whether its rows are in memory."""
        return self.engine.in_memory

    @cached_property
    def table(self) -> pl.DataFrame:
        """The released rows, as Polars; a PolicyError where it is out-of-core."""
        self._needs_rows()
        if isinstance(self.data, pl.DataFrame) and not self.numbers.form:
            return self.data
        return with_texts(self.entries, self.engine.schema())

    @property
    def original(self) -> pl.DataFrame:
        """The table that it was made from, as Polars; a PolicyError where that is out-of-core."""
        self._needs_rows()
        return self.engine.sample(self.engine.rows())

    def _needs_rows(self) -> None:
        if not self.in_memory:
            hint = "read its data with sf.read, sf.scan or sf.Database; the verbs take the release as it is"
            raise PolicyError("this release is out-of-core, so it has no rows to hand back", hint=hint)

    @property
    def location(self) -> Engine | Path:
        """The released table as the verbs take it: the folder that it is in, or where it was kept."""
        if self.engine.keeps is not None and "file" not in self.place:
            if self.in_memory:
                return self.engine.kept(self.table)
            kept: Engine = labelled(self.engine.kept(self.data), self.numbers)
            return kept
        assert self.path is not None
        return self.path

    @cached_property
    def reach(self) -> Reach:
        """What the promises do not cover, and what the released rows tell of it: worked out when first asked for."""
        if self.counts is not None:
            return reach_from(self.manifest, self.counts)
        if self.in_memory and self.stepped:
            return reach_from(self.manifest, self.entries)
        if not self.in_memory:
            from sfumato.measures.source import source_of

            try:
                return reach_from(self.manifest, source_of(self.location).table)
            except SfumatoError:  # the table is gone, or nobody may read it any more
                return reach_from(self.manifest, None)
        return reach_of(
            self.entries,
            roles={name: self.roles.role(name) or "insensitive" for name in self.entries.columns},
            quasi=() if self.policy is None else self.policy.quasi,
            promises=[asdict(one) for one in self.verification.promises if one.how != BY_CONSTRUCTION or not one.holds],
            accepted=self.roles.unprotected,
            order=self.order.name,
        )

    @cached_property
    def standards(self) -> tuple[Profile, ...]:
        """What the standards say of the released rows, first the one that the release is held to."""
        return profiles(self.manifest, self.entries if self.in_memory else None)

    @cancellable
    def save(
        self,
        path: str | Path,
        format: str | None = None,
        overwrite: bool = False,
        internal_report: str | Path | None = None,
        pdf: bool = False,
        *,
        progress: Progress | None = None,
    ) -> Path:
        """Write data, manifest.json and report.html into a new folder: all of it, verified from the file, or none.

        `format` is csv without one, and parquet of an out-of-core table. `internal_report` is a file outside
        of the folder, for its owner's eyes: the comparison with the original. With `pdf`, each report is printed beside
        itself, by Chromium.
        """
        coded = self.in_memory and format != "xlsx"  # which has numbers where texts are
        table, report_progress = self.engine.kept(self.entries) if coded else self.location, progress or quiet
        if isinstance(table, Path):
            raise OutputError(f"the release is in {table} already", hint="copy the folder")
        if internal_report is not None and not self.in_memory:
            what = "the internal report compares rows, and this release is out-of-core"
            raise PolicyError(what, hint="leave internal_report out")
        to = destination(Folder(path_of(path), format, overwrite), table)
        columns = tuple(str(column["name"]) for column in self.manifest["data"]["columns"])
        order = RowOrder(quasi=self.order.quasi)
        plan = Plan(columns, (), columns, order=order, rows=self.verification.rows, numbers=self.numbers)
        assert isinstance(to, Folder)
        with (
            private_report(internal_report, to.path, overwrite, pdf) as keep,
            stage_release(table, plan, to, report_progress) as staged,
        ):
            kept = ("rows", "columns", "order", "numbers")
            own = {key: value for key, value in self.manifest["data"].items() if key in kept}
            published = placed({**self.manifest, "data": own}, staged.describe())
            counts = None if self.in_memory else self._counted_again(staged.written, report_progress)
            reach = self.reach if counts is None else reach_from(published, counts)
            page = report(published, self.entries if counts is None else None, reach, self.standards)
            self.check_folder(staged.publish(published, page, pdf_of(page) if pdf else None), counts)
            if internal_report is not None:
                keep(self._internal(published))
        return Path(to.path)

    @property
    def proves_beside(self) -> dict[str, Any]:
        """What its folder is verified with beside its files: the population that promises count."""
        return {}

    def check_folder(self, folder: Path, counts: TupleCounts | None = None) -> None:
        """The folder must prove its promises and facts alone, as an auditor would have it; `counts` are of its data."""
        beside = self.proves_beside
        found = verify_folder(folder, **beside) if counts is None else verify_manifest(folder, counts, **beside)
        made = self.verification
        expected = self.verification.outcome
        if expected == "holds" and found.outcome == STATED and any(p.how == AGAINST_ORIGINAL for p in made.promises):
            return
        if found.outcome == expected != "broken":
            return
        self._refuse_hidden(found)
        broken = [promise.model for promise in found.promises if not promise.holds]
        broken += [fact.fact for fact in found.facts if fact.holds is False]
        what = f"the written release does not keep: {'; '.join(broken)}"
        raise BrokenPromise(f"{what}. Nothing was written; this is a fault of Sfumato")

    def _refuse_hidden(self, found: Verification) -> None:
        """Raise a PolicyError where what is broken follows from what may not be published."""
