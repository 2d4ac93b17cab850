"""mask: change the values of a table by steps, and say what can be checked of the result, and what cannot."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import polars as pl

from sfumato.core import parameters
from sfumato.core.masked import kind_of_column, typed
from sfumato.core.mechanisms import opendp
from sfumato.core.policy import Policy, sets_required
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.protocols import Masker
from sfumato.core.registry import variant_name
from sfumato.core.roles import Roles, Undecided, reasons
from sfumato.core.wording import quoted
from sfumato.criteria.model import protected_by
from sfumato.engines.batches import OutOfCoreRows
from sfumato.engines.order import CANONICAL, order_of
from sfumato.engines.protocol import Engine
from sfumato.engines.tables import engine_of, private_engine
from sfumato.errors import ColumnError, PolicyError, UndecidedColumns
from sfumato.losses import loss as parse_loss
from sfumato.masking.masked_release import MaskedRelease, MaskRequest, check_private, mask_release, mask_stored
from sfumato.masking.run import with_columns
from sfumato.measures.table import DEFAULT_MAX_CELLS, SAMPLE
from sfumato.release.about import about_of
from sfumato.release.destination import Table, destination
from sfumato.release.request import criteria, recipes_of, refuse_undecided, roles_of, sets_named
from sfumato.verbs.steps import as_written, steps_of

__all__ = ["mask"]

Names = Sequence[str]


@cancellable
def mask(
    data: Any,
    steps: Any,
    *,
    quasi: Names | Sequence[Names] = (),
    identifying: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    weight: str | None = None,
    unprotected: Names = (),
    rest: str | None = None,
    k: int | None = None,
    require: Iterable[Any] | Any = (),
    hierarchies: Mapping[str, Any] | None = None,
    row_key: Names = (),
    seed: int | None = None,
    order: str | None = None,
    about: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    to: Any = None,
    max_cells: int = DEFAULT_MAX_CELLS,
    account: Any = None,
) -> MaskedRelease:
    """Change the values of a table by steps: noise, swapping, rounding, microaggregation, pseudonyms, ...

    A masked table has no classes to count, so by itself it promises nothing: each step states facts that can be
    checked, on the released rows or against the original. With `require`, criteria must hold of the masked rows, and
    are promised as everywhere.

    Parameters
    ----------
    data: a pandas, Polars or PyArrow frame, or the path of a file; or an out-of-core table, `sf.scan` (files) or
        `Database`, for steps that work value by value or row by row. It is never modified.
    steps: maskers, in order, or their shell form, such as "rounding income,tax base=10". A step without columns takes
        all that fit.
    quasi: what others may know of a person, for criteria and measures. identifying: columns to drop, unless a step
        puts pseudonyms there. sensitive, insensitive, weight, unprotected: as for `anonymize`. rest: "refuse" columns
        that no step changes, have no role and look as if they told who somebody is, or "release" them. A column that
        looks like a name or a number of a person has to be dropped, or given pseudonyms, or called insensitive.
    k, require: criteria that the masked rows must satisfy; where they do not, nothing is released.
    hierarchies: column to recipe, for steps that use them.
    row_key: columns that together tell rows apart, such as a number of each: the random numbers of a row are then by
        these, and not by its place. The rows of a database have no other place.
    seed: of the random numbers, which come from your secret key and the seed together: who knows the seed alone, as it
        is published, can undo nothing. Without it, one is drawn.
    order: "canonical" by default; "input" is for those who measure, and draws a warning.
    about: what the report says of the release in your words. to: a folder, or `Folder`. max_cells: of an out-of-core
        table, how many different values, or combinations of them, may be held in memory. account: an `sf.dp.Account`,
        which a private step is charged to before anything is drawn.

    Returns
    -------
    A `Release`, a `MaskedRelease`: its `data` is a frame of the kind that came in, its `facts` what was checked.

    Raises
    ------
    PolicyError, ColumnError: what is asked makes no sense. UndecidedColumns: columns may tell who somebody is.
    Infeasible: the masked rows do not satisfy what is required.

    >>> import sfumato as sf
    >>> release = sf.mask({"pay": [1810, 2490, 2510], "shift": ["a", "b", "a"]}, [sf.Rounding(base=500)])
    >>> release.data["pay"], release.facts[0].sentence
    ([2000, 2500, 2500], '"pay": every value is one of multiples of 500')
    """
    found = steps_of(steps)
    asked = criteria(require, k) if k is not None or require else ()
    table = (private_engine if any(step.private for step in found) else engine_of)(data)
    if to is None and not table.in_memory:
        what = f"{table.called} is masked into a folder of files, which has to be named"
        raise PolicyError(what, allowed='to="out/"')
    place = destination(to, table)
    if isinstance(place, Table):
        hint = "load the file that it writes into the database"
        what = "a masked table is released into a folder of files"
        raise PolicyError(what, got="a table of a database", allowed='to="out/"', hint=hint)
    key = tuple(parameters.column_names(row_key, "row_key"))
    parameters.known_columns(key, table.schema())
    written = [name for step in found for name in as_written(step)]
    if not table.in_memory:
        table.batches(())  # where rows do not come in batches, that is said before any work
    with table.snapshot(write=False) as engine:
        stored, given = None, engine.sample(SAMPLE)
        if engine.in_memory:
            frame = typed(given, written)
        else:
            (progress or quiet)("reading all rows", None)
            stored = OutOfCoreRows.of(engine, given, written, key)
            frame = stored.as_typed(given)
        refuse_same(key, engine, frame.height if stored is None else stored.rows)
        nothing = frame.clear()
        needed = [name for criterion in asked for name in criterion.needs]
        roles = roles_of(
            nothing, sets_named(quasi, asked), identifying, sensitive, insensitive, weight, needed, unprotected,
            rest or "refuse", protected_by(asked), promising=bool(asked),
        )  # fmt: skip
        policy = None
        if asked:
            sets, promised = sets_required(roles.quasi, asked)
            roles = replace(roles, quasi=sets)
            policy = Policy(roles.quasi, promised, 0, parse_loss("lm"))
        _refuse_undecided(given, frame, roles, found, asked)
        request = MaskRequest(
            frame=frame if stored is None else given,
            steps=found,
            roles=roles,
            policy=policy,
            seed=secrets.randbits(48) if seed is None else parameters.seed_of(seed),
            order=order_of(CANONICAL if order is None else order),
            report_progress=progress or quiet,
            about=about_of(about, table.schema()),
            hierarchies=recipes_of(nothing, hierarchies),
            row_key=key,
            stored=stored,
            max_cells=parameters.max_cells_of(max_cells),
        )
        private: Any = next((step for step in found if step.private), None)
        if account is not None and private is None:
            what = "an account is for private releases, and no step is private: it costs no budget"
            raise PolicyError(what, hint="leave account out")
        if private is not None:
            taken = with_columns(private, frame, request.apart).columns
            check_private(request, taken, seeded=seed is not None)
            opendp()  # before anything is charged
            private.numbers(frame.select(taken))
            request = replace(request, seed=None)
        if stored is None:
            pays = nullcontext() if account is None else account.charge(private.cost, _charged(private))
            with pays:
                return mask_release(table, request, place)
        assert place is not None  # an out-of-core table is released to a place that has to be named
        return mask_stored(table, engine, request, place)


def _charged(step: Any) -> dict[str, Any]:
    """What a ledger says of a private step: nothing of the table."""
    return {"verb": "mask", "step": variant_name(type(step).__name__), **step.parameters()}


def refuse_same(row_key: Sequence[str], engine: Engine, rows: int) -> None:
    """Raise a ColumnError where two rows have the same key: one noise for both would tell how they differ."""
    if row_key and engine.singled([row_key])[0] < rows:
        what = f"the row key {quoted(row_key)} does not tell all rows apart"
        raise ColumnError(what, hint="name further columns, such as a number of each row")


def _refuse_undecided(
    given: pl.DataFrame, frame: pl.DataFrame, roles: Roles, steps: Sequence[Masker], asked: Sequence[Any]
) -> None:
    """Raise UndecidedColumns for columns that nobody decided, and for those that look identifying and get no
    pseudonyms, whatever else a step makes of them."""
    apart = [*roles.identifying, *([] if roles.weight is None else [roles.weight])]
    taken = [(step, with_columns(step, frame, apart).columns) for step in steps]
    tokens = {name for step, names in taken if step.pseudonymous for name in names}
    changed = {name for _, names in taken for name in names}
    refuse_telling(given, frame, roles, changed - tokens)
    decided = replace(roles, insensitive=(*roles.insensitive, *(n for n in changed if roles.role(n) is None)))
    refuse_undecided(given, decided, asked)


def refuse_telling(given: pl.DataFrame, frame: pl.DataFrame, roles: Roles, changed: Collection[str]) -> None:
    """Raise UndecidedColumns for columns that steps change, and that look identifying all the same."""
    if roles.rest == "refuse":
        looked = [name for name in frame.columns if name in changed and roles.role(name) is None]
        found = reasons(given, looked)
        numbers = {name for name in found if kind_of_column(frame.get_column(name)) == "number"}
        telling = [
            Undecided(name, why)
            for name, why in found.items()
            if why.role == "identifying" and (name not in numbers or why.kind in ("name", "pattern"))
        ]
        if telling:
            raise UndecidedColumns(telling)
