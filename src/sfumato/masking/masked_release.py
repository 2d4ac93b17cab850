"""MaskedRelease: a table whose values were changed, what is promised of it, if anything, and what can be checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import polars as pl

from sfumato.core.fingerprint import key, secret_seed
from sfumato.core.policy import Policy
from sfumato.core.printed import alike_as_one, plain_values
from sfumato.core.progress import Progress
from sfumato.core.protocols import Masker
from sfumato.core.registry import variant_name
from sfumato.core.roles import Roles
from sfumato.core.wording import count, quoted
from sfumato.engines.batches import OutOfCoreRows, row_keys_of
from sfumato.engines.order import CANONICAL, RANDOM, RowOrder
from sfumato.engines.protocol import COUNT, Engine, Plan, refuse_types
from sfumato.errors import BrokenPromise, PolicyError
from sfumato.masking.run import Masked, masked, perturbed, streams_of, told_of
from sfumato.masking.streamed import MaskedRows, settle
from sfumato.measures.table import DEFAULT_MAX_CELLS, TupleCounts
from sfumato.release.changed import ChangedRelease, promised_columns, verified, verified_counts
from sfumato.release.destination import Folder, folder_of, refuse_row_order, stage_release
from sfumato.release.privacy import privacy_promise, privacy_section
from sfumato.release.verify import STANDS
from sfumato.report import report


@dataclass(frozen=True, eq=False, repr=False)
class MaskRequest:
    """The table with numbers and dates as such, the steps, what is promised, and the roles of the columns."""

    frame: pl.DataFrame
    steps: tuple[Masker, ...]
    roles: Roles
    policy: Policy | None  # None where nothing is promised
    seed: int | None
    order: str
    report_progress: Progress
    about: Mapping[str, Any]
    hierarchies: Mapping[str, Any]  # column to recipe
    row_key: tuple[str, ...] = ()  # columns that tell rows apart, by which random numbers are drawn
    stored: OutOfCoreRows | None = None  # the rows of an out-of-core table, of which `frame` is a sample
    max_cells: int = DEFAULT_MAX_CELLS

    @cached_property
    def row_order(self) -> RowOrder:
        """The order of the released rows."""
        quasi = tuple(dict.fromkeys(name for names in self.roles.quasi for name in names))
        return RowOrder(self.order, quasi, secret_seed(self.seed) if self.order == RANDOM else None)

    @property
    def apart(self) -> list[str]:
        """The columns that no step takes unless it names them."""
        return [*self.roles.identifying, *([] if self.roles.weight is None else [self.roles.weight])]

    def released(self, steps: Iterable[Masker]) -> tuple[str, ...]:
        """The columns that leave: identifying ones only where a step put pseudonyms into them."""
        tokens = {name for step in steps if step.pseudonymous for name in step.columns}
        return tuple(name for name in self.frame.columns if name not in self.roles.identifying or name in tokens)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MaskedRelease(ChangedRelease):
    """A table that steps changed. What holds of it are facts of the steps, and promises where some were asked."""

    made_by: ClassVar[str] = "masking"
    request: MaskRequest
    masked: Masked

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that some step changed."""
        return self.masked.changed

    @property
    def privacy(self) -> dict[str, Any] | None:
        """What a private step costs, and what of."""
        return privacy_of(self.request.steps)

    @property
    def rows_before(self) -> int | None:
        """How many rows the original has, which a private release does not tell."""
        return super().rows_before if self.privacy is None else None

    @property
    def perturbed(self) -> tuple[str, ...]:
        """The columns whose values a step changed into others: classes of equal rows say nothing of them."""
        return perturbed(self.masked.steps)

    @property
    def stated(self) -> Sequence[tuple[int, Any]]:
        """What can be checked of the steps."""
        return self.masked.facts

    def told(self, columns: Iterable[str]) -> dict[str, Any]:
        """What the manifest says of the steps."""
        return told_of(self.masked, {*columns})

    @property
    def pseudonymous(self) -> bool:
        """Whether a step puts pseudonyms in the place of identifiers."""
        return any(step.pseudonymous for step in self.masked.steps)

    def __repr__(self) -> str:
        steps = ", ".join(variant_name(type(step).__name__) for step in self.masked.steps)
        promised = "nothing promised" if self.policy is None else ", ".join(c.model for c in self.policy.require)
        promised = promised if self.privacy is None else "differential-privacy"
        return f"<Release of {self.verification.rows} rows, masked by {steps}; {promised}>"

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """What a notebook shows: rows, steps, promises and facts; all of it may be published."""
        steps = [(variant_name(type(step).__name__), step.sentence()) for step in self.masked.steps]
        facts = [(fact.fact, f"{STANDS[fact.holds]}: {fact.sentence}") for fact in self.facts]
        nothing = self.policy is None and self.privacy is None
        promised = [("promised", "nothing" if nothing else self.verification.outcome)]
        return f"Masked release of {count(self.verification.rows, 'row')}", [*steps, *promised, *facts]

    def _internal(self, published: Mapping[str, Any]) -> str:
        """The report for its owner's eyes, which compares with the original."""
        from sfumato.report import internal_report

        return internal_report(published, self.table, self.original, rows=self.rows)


def privacy_of(steps: Sequence[Masker]) -> dict[str, Any] | None:
    """What the manifest says of the privacy of a step; None where there is none that is private."""
    for step in steps:
        if step.private:
            private: Any = step
            return privacy_section(private.cost, private.accounting, neighbours="replace")
    return None


def check_private(request: MaskRequest, columns: Sequence[str], seeded: bool) -> None:
    """Refuse what a private step does not cover: other steps, columns as they were, promises over classes. `columns`
    are those that it takes."""
    [step] = [one for one in request.steps if one.private][:1]
    others = [one for one in request.steps if one is not step]
    name = variant_name(type(step).__name__)
    faults = [f"{name} makes a private table by itself, and takes no other steps beside it"] if others else []
    if left := [column for column in request.released(request.steps) if column not in columns]:
        faults.append(f"{quoted(left)} would be released as it was: name it in {name}, or as identifying to drop it")
    if request.policy is not None:
        faults.append("criteria over classes are not promised beside it: leave k and require out")
    if request.roles.weight is not None or request.row_key:
        faults.append("weight and row_key have no meaning for it: leave them out")
    if request.stored is not None:
        faults.append(f"{name} needs all rows at once, in memory")
    if seeded:
        faults.append("its noise has no seed: leave seed out")
    if request.order != CANONICAL:
        faults.append("order has no meaning for it: leave it out")
    if faults:
        raise PolicyError("a differentially private table cannot be made so:", faults)


def mask_release(table: Engine, request: MaskRequest, to: Folder | None) -> MaskedRelease:
    """Mask a table in memory, check what the steps say of themselves and what is promised, and hand it back or write
    it."""
    request.report_progress("masking", None)
    frame = request.frame
    streams = streams_of(request.seed, frame.height, frame.columns, request.steps)
    found = masked(
        frame, request.steps, streams, weight=request.roles.weight, hierarchies=request.hierarchies,
        apart=request.apart,
        row_keys=row_keys_of(table.sample(frame.height), request.row_key) if request.row_key else None,
    )  # fmt: skip
    columns = request.released(found.steps)
    labels = {name: plain_values(found.table.get_column(name)) for name in found.changed if name in columns}
    promised = [name for name in promised_columns(request.policy) if name not in labels]
    labels |= alike_as_one(table.sample(table.rows()), promised, found.rows)
    plan = Plan(columns, taken=found.rows, labels=labels, order=request.row_order, rows=len(found.rows))
    with stage_release(table, plan, None, request.report_progress) as staged:
        made: Any = staged.written
        request.report_progress("verifying", None)
        verification = verified(
            made.frame, frame, request.policy, request.roles.quasi, found.facts, found.changed, found.rows
        )
        if (said := privacy_of(request.steps)) is not None:
            verification = replace(verification, promises=(*verification.promises, privacy_promise(said)))
        release = MaskedRelease(
            make=staged.data, verification=verification, request=request, engine=table, entries=made.frame,
            row_counts=None, rows=made.came_from, path=folder_of(to), masked=found,
        )  # fmt: skip
    if to is not None:
        request.report_progress("writing", None)
        release.save(to.path, to.format, to.overwrite)
    return release


def mask_stored(table: Engine, engine: Engine, request: MaskRequest, to: Folder) -> MaskedRelease:
    """Mask an out-of-core table into a folder, and check what the steps say of themselves and what is promised on what
    was written. `engine` has the table as it is now, and `table` is what the user gave."""
    report_progress, stored, roles = request.report_progress, request.stored, request.roles
    assert stored is not None
    refuse_row_order(request.order, engine, to)
    refuse_types(engine.schema(), [name for name in engine.schema() if name not in roles.identifying])
    names = list(engine.schema())
    masking = settle(
        stored, request.steps, streams_of(request.seed, stored.rows, names, request.steps),
        weight=roles.weight, hierarchies=request.hierarchies, apart=request.apart, most=request.max_cells,
        report_progress=report_progress,
    )  # fmt: skip
    made: Any = MaskedRows(masking)
    columns = request.released([stage.step for stage in masking.stages])
    plan = Plan(columns, order=request.row_order, rows=stored.rows)
    with stage_release(made, plan, to, report_progress) as staged:
        found, counts = masking.found(names), TupleCounts(staged.written, request.max_cells, report_progress)
        verification = verified_counts(counts, found.facts, request.policy, request.roles.quasi)
        if verification.rows != stored.rows or tuple(staged.written.schema()) != columns:
            raise BrokenPromise("the release does not have the rows and columns that it should have")
        release = MaskedRelease(
            make=staged.data, verification=verification, request=request, engine=table,
            entries=pl.DataFrame(schema={name: made.types[name] for name in columns}),
            row_counts=pl.Series(COUNT, [], pl.Int64), path=folder_of(to), masked=found, place=staged.describe(),
            fingerprint=engine.fingerprint(key()), counts=counts,
        )  # fmt: skip
        report_progress("counting what is not covered", None)
        page = report(release.manifest, reach=release.reach, counts=counts)
        folder = staged.publish(release.manifest, page)
        release.check_folder(folder, counts)
    return release
