"""SynthesizedRelease: a table drawn from a model, what is promised of it, if anything, and what can be checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key, secret_seed
from sfumato.core.generators import Generator, SyntheticModel
from sfumato.core.masked import NOT_ANONYMOUS, Fact
from sfumato.core.mechanisms import opendp
from sfumato.core.parameters import known_columns
from sfumato.core.policy import Policy
from sfumato.core.printed import alike_as_one, printed
from sfumato.core.progress import Progress
from sfumato.core.random_stream import RandomStream, stream_of
from sfumato.core.registry import variant_name
from sfumato.core.roles import Roles
from sfumato.core.wording import count
from sfumato.engines.batches import OutOfCoreRows
from sfumato.engines.memory.table import MemoryTable, leave
from sfumato.engines.order import RANDOM, RowOrder
from sfumato.engines.protocol import COUNT, Engine, Plan, refuse_types
from sfumato.errors import BrokenPromise, PolicyError
from sfumato.measures.risk.copied_uniques import repeats
from sfumato.measures.table import DEFAULT_MAX_CELLS, TupleCounts
from sfumato.release.changed import ChangedRelease, promised_columns, verified, verified_counts
from sfumato.release.destination import Folder, folder_of, refuse_row_order, stage_release
from sfumato.release.facts import as_dict, unchecked
from sfumato.release.manifest import COPY, SYNTHESIS
from sfumato.release.privacy import privacy_promise, privacy_section
from sfumato.release.verify import STANDS, Verification
from sfumato.report import report
from sfumato.synthetic.copies import redrawn_in_place, without_copied_units, without_copies
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.stored import DrawnRows, count_of

ALL_ROWS = "compared with all rows of the original as it was drawn"


@dataclass(frozen=True, eq=False, repr=False)
class SynthesisRequest:
    """The table with numbers and dates as such, the generator, what is promised, and the roles of the columns."""

    frame: pl.DataFrame  # without identifying columns; of an out-of-core table a sample
    generator: Generator
    roles: Roles
    policy: Policy | None  # None where nothing is promised
    rows: int | None  # None for as many as a private model says
    m: int
    copies: str
    hold_out: float
    seed: int | None
    order: str
    report_progress: Progress
    about: Mapping[str, Any]
    hierarchies: Mapping[str, Any]  # column to recipe
    row_key: tuple[str, ...] = ()
    stored: OutOfCoreRows | None = None  # the rows of an out-of-core table, of which `frame` is a sample
    by_counts: bool = False  # whether the model is fitted to counts of all rows, and not to the sample
    max_cells: int = DEFAULT_MAX_CELLS
    account: Any = None  # that a private release is charged to

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns by which rows are compared: all but new numbers of households."""
        return tuple(name for name in self.frame.columns if name != self.generator.unit)

    @cached_property
    def row_order(self) -> RowOrder:
        """The order of the released rows."""
        quasi = tuple(dict.fromkeys(name for names in self.roles.quasi for name in names))
        return RowOrder(self.order, quasi, secret_seed(self.seed) if self.order == RANDOM else None)

    @cached_property
    def stream(self) -> RandomStream:
        """Its random numbers: those of the owner's key, the seed, the generator and the table."""
        asked = [variant_name(type(self.generator).__name__), self.generator.parameters(), self.hold_out]
        height = "" if self.generator.private else f"{self.frame.height} "  # which nothing private may depend on
        return stream_of(self.seed, asked, f"synthesis {height}{self.frame.columns}")

    def rng(self, number: int) -> np.random.Generator:
        """The random numbers that a copy of the table is drawn by."""
        return self.stream.part(f"draw {number}").generator()


@dataclass(frozen=True, eq=False, repr=False)
class Synthesis:
    """What was drawn, and what only the owner may know of it."""

    table: pl.DataFrame
    first: pl.DataFrame  # of the first copy, before rows were drawn again
    held_out: np.ndarray  # rows of the original that the model never saw
    learnt_from: np.ndarray
    repeated: int  # rows that repeated a unique original row
    spent: tuple[Any, ...] = ()  # of a private model, what was drawn with noise, and for what


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SynthesizedRelease(ChangedRelease):
    """A table that was drawn from a model: no row is a person's row, and by itself nothing is promised of people."""

    made_by: ClassVar[str] = SYNTHESIS
    request: SynthesisRequest
    synthesis: Synthesis

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns that were made anew: none where rows are those of people."""
        generator = self.request.generator
        if generator.copies_people:
            return ()
        return tuple(self.request.frame.columns) if generator.changes is None else tuple(generator.changes)

    @property
    def perturbed(self) -> tuple[str, ...]:
        """The same: their values are nobody's."""
        return self.changed

    def role(self, name: str) -> str:
        """The role of a released column in the manifest."""
        if name == COPY and self.request.m > 1:
            return COPY
        return self.roles.role(name) or ("synthetic" if name in self.changed else "insensitive")

    @property
    def stated(self) -> Sequence[tuple[int, Any]]:
        """What can be checked."""
        return _stated(self.request)

    def told(self, columns: Iterable[str]) -> dict[str, Any]:
        """What the manifest says of how it was made."""
        asked, generator = self.request, self.request.generator
        own = [name for name in self.changed if name in {*columns}]
        step = {
            "step": variant_name(type(generator).__name__),
            **generator.published_parameters(),
            "columns": own,
            "does": generator.sentence(),
            "leaves": generator.leaves or NOT_ANONYMOUS,
            "perturbs": not generator.copies_people,
        }
        said: dict[str, Any] = {
            "copies": asked.copies,
            "m": asked.m,
            "hold_out": asked.hold_out,
            "partial": generator.changes is not None,
            "copies_people": generator.copies_people,
            "mixes_people": generator.mixes_people,
        }
        if generator.unit is not None:
            said["unit"] = generator.unit
        if asked.stored is not None:
            said["fitted_to"] = "counts" if asked.by_counts else "sample"
            said |= {} if asked.by_counts else {"sample": asked.frame.height}
        return {"pseudonymous": None, "changed": own, "perturbed": own, "steps": [step], "synthesis": said}

    @property
    def privacy(self) -> dict[str, Any] | None:
        """What a private generator costs, and what of."""
        return privacy_of(self.request.generator, self.synthesis.spent)

    @property
    def hold_out(self) -> pl.DataFrame:
        """The rows of the original that the model never saw, with the columns that are compared."""
        return self.request.frame[self.synthesis.held_out].select(self.request.compared)

    @property
    def learnt_from(self) -> pl.DataFrame:
        """The rows of the original that the model was fitted on, with the columns that are compared."""
        return self.request.frame[self.synthesis.learnt_from].select(self.request.compared)

    @property
    def rows_before(self) -> int | None:
        """How many rows the original has; not told where the rows that are lacking would be those that were copies."""
        stored = self.request.stored
        if self.request.copies == "drop" or self.request.generator.private:
            return None
        return super().rows_before if stored is None else stored.rows

    def __repr__(self) -> str:
        name = variant_name(type(self.request.generator).__name__)
        promised = ", ".join(promise.model for promise in self.verification.promises) or "nothing promised"
        return f"<Release of {self.verification.rows} rows, drawn by {name}; {promised}>"

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """What a notebook shows: what the rows are, generator, copies, promises and facts; all may be published."""
        from sfumato.report.sections.synthesis import said_of_copies, said_of_rows

        made = (variant_name(type(self.request.generator).__name__), self.request.generator.sentence())
        facts = [(fact.fact, f"{STANDS[fact.holds]}: {fact.sentence}") for fact in self.facts]
        promised = ("promised", self.verification.outcome if self.verification.promises else "nothing")
        repeats = ("repeats", said_of_copies(self.manifest))
        title = f"Synthetic release of {count(self.verification.rows, 'row')}"
        return title, [("rows", said_of_rows(self.manifest)), made, repeats, promised, *facts]

    def _internal(self, published: Mapping[str, Any]) -> str:
        """The report for its owner's eyes, which compares with the original."""
        from sfumato.report import internal_report

        return internal_report(published, self.table, self.original, rows=None, synthesis=self)


def synthesize_release(table: Engine, request: SynthesisRequest, to: Folder | None) -> SynthesizedRelease:
    """Fit a model to a table in memory, draw from it, check what is promised, and hand it back or write it."""
    request.report_progress("fitting", None)
    made = _drawn(request)
    frame = made.table
    given: Any = table
    drawn = MemoryTable(leave(frame, given.data, given.kind, None, ()) if given.kind != "lazy" else frame.lazy())
    labels = alike_as_one(drawn.frame, promised_columns(request.policy) & {*frame.columns}, np.arange(frame.height))
    plan = Plan(
        tuple(frame.columns), taken=np.arange(frame.height), labels=labels, order=request.row_order, rows=frame.height
    )
    with stage_release(drawn, plan, None, request.report_progress) as staged:
        written: Any = staged.written
        request.report_progress("verifying", None)
        changed = request.generator.changes or tuple(request.frame.columns)
        verification = verified(
            written.frame, request.frame, request.policy, request.roles.quasi, _stated(request), changed,
            np.arange(request.frame.height),
        )  # fmt: skip
        verification = _with_privacy(verification, request, made.spent)
        release = SynthesizedRelease(
            make=staged.data, verification=verification, request=request, engine=table, entries=written.frame,
            row_counts=None, path=folder_of(to), synthesis=made,
        )  # fmt: skip
    if to is not None:
        request.report_progress("writing", None)
        release.save(to.path, to.format, to.overwrite)
    return release


def privacy_of(generator: Any, spent: Sequence[Any]) -> dict[str, Any] | None:
    """What the manifest says of the privacy of a generator's table; None where it has none."""
    return privacy_section(generator.cost, [part.to_dict() for part in spent]) if generator.private else None


def _with_privacy(found: Verification, request: SynthesisRequest, spent: Sequence[Any]) -> Verification:
    """What was verified, and what holds by construction."""
    said = privacy_of(request.generator, spent)
    return found if said is None else replace(found, promises=(*found.promises, privacy_promise(said)))


def _stated(request: SynthesisRequest) -> list[tuple[int, Any]]:
    """What can be checked of the drawn rows, against the original."""
    if request.copies == "keep" or request.generator.changes is not None:
        return []
    return [(0, Fact("no-copies", request.compared))]


def _at_risk(request: SynthesisRequest) -> np.ndarray | None:
    """The rows that are made anew, where only those at risk are: 1 over the rows of its class is above a threshold."""
    if (threshold := request.generator.rows_at_risk) is None:
        return None
    if not any(sets := [[name for name in names if name != COPY] for names in request.roles.quasi]):
        raise PolicyError("rows at risk are told by the quasi-identifiers, and none are named", hint="name them")
    sizes = request.frame.select(pl.len().over(names).alias(f"{i}") for i, names in enumerate(sets))
    return sizes.select(pl.min_horizontal(pl.all()) * threshold < 1).to_series().to_numpy()


def split_rows(
    frame: pl.DataFrame, share: float, seed: int | None, unit: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are held out, and the others: by the owner's key and the seed, whichever the generator is. Rows
    that belong together, by the column `unit`, are held out together: as many of these."""
    stream = stream_of(seed, ["hold out", share], f"synthesis {frame.height} {frame.columns}")
    of = np.arange(frame.height)
    if unit is not None:
        known_columns((unit,), frame.columns)
        of = np.unique(printed(frame.get_column(unit)).rank("dense").fill_null(0).to_numpy(), return_inverse=True)[1]
    units = len(np.unique(of))
    shuffled, held = stream.generator().permutation(units), round(share * units)
    out = np.isin(of, shuffled[:held])
    return np.flatnonzero(out), np.flatnonzero(~out)


def _fitted(request: SynthesisRequest, copy: int = 0) -> tuple[SyntheticModel, np.ndarray, np.ndarray]:
    """The model of a copy, the rows that it was not given, and those that it was."""
    frame, stream, generator = request.frame, request.stream, request.generator
    held_out, learnt_from = split_rows(frame, request.hold_out, request.seed, generator.unit)
    rng, report_progress = stream.part(f"fit {copy}" if copy else "fit").generator(), request.report_progress
    context = FitContext(rng, request.hierarchies, report_progress, _at_risk(request))
    if not request.by_counts:
        with _charged(request):
            return generator.fit(frame[learnt_from], context), held_out, learnt_from
    assert request.stored is not None
    counting = count_of(request.stored, request.max_cells, report_progress, as_typed=not generator.private)
    with _charged(request):
        return generator.fit_counts(counting, dict(frame.schema), context), held_out, learnt_from


@contextmanager
def _charged(request: SynthesisRequest) -> Iterator[None]:
    """Charge what a private model costs before any noise is drawn, where there is an account."""
    generator: Any = request.generator
    if request.account is None or not generator.private:
        yield
        return
    opendp()
    generator.domain(request.frame.schema)  # what is refused is not charged
    said = {"synthesis": variant_name(type(generator).__name__), "columns": request.frame.columns}
    with request.account.charge(generator.cost, said):
        yield


def _drawn(request: SynthesisRequest) -> Synthesis:
    """Fit, draw, and deal with copies; each copy of m has random numbers of its own."""
    model, held_out, learnt_from = _fitted(request)
    request.report_progress("drawing", None)
    found, firsts, repeated = [], [], 0
    for number in range(request.m):
        if number and request.generator.proper:
            model, _, _ = _fitted(request, number)
        first, drawn, often = _copy(request, model, request.rng(number))
        repeated += often
        if request.m > 1:
            drawn = drawn.select(pl.lit(number + 1, pl.Int64).alias(COPY), pl.all())
        firsts.append(first)
        found.append(drawn)
    return Synthesis(pl.concat(found), firsts[0], held_out, learnt_from, repeated, model.spent)


def _rows(request: SynthesisRequest, model: Any) -> int:
    """How many rows are drawn: of a private model, unless it was asked, as many as its noisy counts say."""
    return int(model.rows) if request.rows is None else request.rows


def _copy(
    request: SynthesisRequest, model: SyntheticModel, rng: np.random.Generator
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """A copy of the table as it was first drawn, as it is released, and how many rows repeated a person's."""
    frame, generator = request.frame, request.generator
    drawn, again = model.draw(_rows(request, model), rng), partial(model.draw, rng=rng)
    if generator.private:  # compared with nothing
        return drawn, drawn, 0
    copied = partial(repeats, frame, columns=request.compared)
    if generator.unit is not None:
        units = partial(model.draw_units, rng=rng)
        return drawn, *without_copied_units(drawn, copied, units, request.copies, generator.unit)
    if generator.changes is None:
        exchange = partial(model.exchange, original=frame, rng=rng)
        return drawn, *without_copies(drawn, copied, again, request.copies, exchange)
    at_risk = _at_risk(request)
    changed = np.ones(drawn.height, np.bool_) if at_risk is None else at_risk
    return drawn, *redrawn_in_place(drawn, frame, again, changed, request.copies)


def synthesize_stored(table: Engine, engine: Engine, request: SynthesisRequest, to: Folder) -> SynthesizedRelease:
    """Fit a model to a sample of an out-of-core table, or to counts of it, and draw into a folder. No row is written
    that was not compared with all rows of the original, unless copies are kept. `engine` has the table as it is now,
    and `table` is what the user gave."""
    report_progress, stored, frame = request.report_progress, request.stored, request.frame
    assert stored is not None
    if request.generator.unit is not None:
        what = "rows of a household may be in all parts of an out-of-core table, and are drawn together"
        raise PolicyError(what, hint="read it into memory, or a sample of its households")
    refuse_row_order(request.order, engine, to)
    refuse_types(engine.schema(), [name for name in engine.schema() if name not in request.roles.identifying])
    report_progress("fitting", None)
    model, held_out, learnt_from = _fitted(request)
    several = request.m > 1
    private = request.generator.private
    own_types = model.draw(1, np.random.default_rng(0)).schema if private else frame.schema
    schema = ({COPY: pl.Int64()} if several else {}) | dict(own_types)
    own = range(1, request.m if request.generator.proper else 1)
    models = [model, *(_fitted(request, number)[0] for number in own)]
    draws = [partial(models[min(n, len(models) - 1)].draw, rng=request.rng(n)) for n in range(request.m)]
    rows = DrawnRows(stored, draws, _rows(request, model), request.copies, schema, COPY if several else None)
    drawn: Any = rows
    with stage_release(drawn, Plan(tuple(schema), order=request.row_order), to, report_progress) as staged:
        counts = TupleCounts(staged.written, request.max_cells, report_progress)
        verification = verified_counts(counts, (), request.policy, request.roles.quasi)
        if verification.rows != rows.drawn or tuple(staged.written.schema()) != tuple(schema):
            raise BrokenPromise("the release does not have the rows and columns that it should have")
        verification = _with_privacy(verification, request, model.spent)
        stated = [as_dict(fact, number) for number, fact in _stated(request)]
        facts = tuple(replace(unchecked(fact, ALL_ROWS), holds=True) for fact in stated)
        release = SynthesizedRelease(
            make=staged.data, verification=replace(verification, facts=facts), request=request, engine=table,
            entries=pl.DataFrame(schema=schema), row_counts=pl.Series(COUNT, [], pl.Int64), path=folder_of(to),
            place=staged.describe(), fingerprint=None if private else engine.fingerprint(key()),
            counts=counts,
            synthesis=Synthesis(frame.clear(), frame.clear(), held_out, learnt_from, rows.repeated, model.spent),
        )  # fmt: skip
        report_progress("counting what is not covered", None)
        page = report(release.manifest, reach=release.reach, counts=counts)
        folder = staged.publish(release.manifest, page)
        release.check_folder(folder, counts)
    return release
