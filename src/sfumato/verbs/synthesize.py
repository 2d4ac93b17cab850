"""synthesize: draw a new table from a model of the old one, and say what it repeats."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from sfumato.core import parameters
from sfumato.core.forms import make_variant
from sfumato.core.generators import Generator
from sfumato.core.masked import typed
from sfumato.core.parameters import OneOf, Real, Whole
from sfumato.core.policy import Policy, sets_required
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.random_stream import stream_of
from sfumato.core.registry import variant_name
from sfumato.criteria.model import protected_by
from sfumato.dp.account import Account
from sfumato.engines.batches import OutOfCoreRows
from sfumato.engines.order import CANONICAL, order_of
from sfumato.engines.protocol import Engine
from sfumato.engines.tables import engine_of, private_engine
from sfumato.errors import ColumnError, PolicyError
from sfumato.losses import loss as parse_loss
from sfumato.measures.table import DEFAULT_MAX_CELLS, SAMPLE
from sfumato.release.about import about_of
from sfumato.release.destination import Table, destination
from sfumato.release.manifest import COPY
from sfumato.release.request import criteria, recipes_of, refuse_undecided, roles_of, sets_named
from sfumato.synthetic import GENERATORS
from sfumato.synthetic.checks import LEAST_ROWS, check_table
from sfumato.synthetic.copies import COPIES
from sfumato.synthetic.stored import sample_of
from sfumato.synthetic.synthesized_release import (
    SynthesisRequest,
    SynthesizedRelease,
    synthesize_release,
    synthesize_stored,
)
from sfumato.verbs import shell_form
from sfumato.verbs.mask import refuse_telling

__all__ = ["synthesize"]

Names = Sequence[str]
MOST_ROWS = 10**9
MOST_COPIES = 1000
FITTED = 200_000  # rows of an out-of-core table that a model is fitted to
MOST_SAMPLE = 100_000_000
DEFAULT = "sequential-trees"
HELD_OUT = 0.1  # share of the rows
KEEP = "keep"


@cancellable
def synthesize(
    data: Any,
    generator: Any = None,
    *,
    rows: Annotated[int | None, Whole(1, MOST_ROWS)] = None,
    m: Annotated[int, Whole(1, MOST_COPIES)] = 1,
    copies: Annotated[str | None, OneOf(COPIES)] = None,
    hold_out: Annotated[float | None, Real(0, 0.9)] = None,
    quasi: Names | Sequence[Names] = (),
    identifying: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    unprotected: Names = (),
    rest: str | None = None,
    k: int | None = None,
    require: Iterable[Any] | Any = (),
    hierarchies: Mapping[str, Any] | None = None,
    seed: int | None = None,
    order: str | None = None,
    about: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    to: Any = None,
    sample: Annotated[int | None, Whole(LEAST_ROWS, MOST_SAMPLE)] = None,
    max_cells: int = DEFAULT_MAX_CELLS,
    account: Account | None = None,
) -> SynthesizedRelease:
    """Draw a new table from a model of the old one: as useful as the original, and measured for what it copies.

    No row is a person's row. That alone promises nothing: a model that fits too well repeats people, so rows that
    repeat a unique original row are drawn again, and some rows are held out for the measures to tell chance from
    copying. With `require`, criteria must hold of the drawn rows, and are promised as everywhere.

    Parameters
    ----------
    data: a pandas, Polars or PyArrow frame, or the path of a file; or an out-of-core table, `sf.scan` (files) or
        `Database`. It is never modified.
    generator: a value such as `SequentialTrees(leaf=10)`, or its shell form, "sequential-trees leaf=10"; sequential
        trees unless given.
    rows: how many rows to draw; as many as came in unless given. m: how many copies of the table, each drawn anew; with
        several, the column `copy` says which one a row is of, and `sf.synthetic.combine` puts estimates together.
        A private generator draws as many as its noisy counts say.
    copies: what becomes of rows that repeat a unique original row: "redraw" (unless given), "drop" or "keep".
    hold_out: the share of the rows that the model does not see, for baselines of the measures: 0.1 unless given; 0
        keeps all, as does a generator that makes some columns only. A private generator keeps what is drawn, and holds
        out nothing: to compare with the original would cost more than was paid.
    quasi, sensitive, insensitive, unprotected: roles of the columns, for criteria and measures, as for `anonymize`.
        identifying: columns that are dropped. rest: "refuse" columns that look as if they told who somebody is and were
        given no role, or "release" them.
    k, require: criteria that the drawn rows must satisfy; where they do not, nothing is released.
    hierarchies: column to recipe, for columns of many values.
    seed: of the random numbers, which come from your secret key and the seed together. Without it, one is drawn.
    order: "canonical" by default. about: what the report says of the release in your words. to: a folder, or `Folder`.
    sample: of an out-of-core table, how many rows a model is fitted to, drawn by chance; 200,000 unless given.
        Generators that learn from counts alone, such as `Bayes`, learn from those of all rows unless it is given, and
        hold none out. max_cells: how many different combinations of values may then be held in memory.
    account: an `sf.dp.Account` that a private generator is charged to, before any noise is drawn.

    Returns
    -------
    A `Release`, a `SynthesizedRelease`: its `data` is a frame of the kind that came in, or the file in its folder.

    Raises
    ------
    PolicyError, ColumnError: what is asked makes no sense. UndecidedColumns: columns may tell who somebody is.
    Infeasible: the model repeats people nearly always, or the rows do not satisfy what is required.

    >>> import sfumato as sf
    >>> table = {"age": [31, 42, 58, 42] * 25, "ill": ["no", "no", "yes", "yes"] * 25}
    >>> release = sf.synthesize(table, sf.Bootstrap(), rows=10, seed=1)
    >>> len(release.data["age"]), release.verification.outcome
    (10, 'nothing promised')
    """
    made_by = generator_of(generator)
    asked = criteria(require, k) if k is not None or require else ()
    table = (private_engine if made_by.private else engine_of)(data)
    place = destination(to, table)
    if isinstance(place, Table):
        raise PolicyError("a synthetic table is released into a folder of files", got="a table", allowed='to="out/"')
    copied = parameters.whole_number(m, "m", 1, MOST_COPIES)
    private = made_by.private
    if private:
        _refuse_comparing(copies, hold_out, sample)
    elif account is not None:
        what = f"{variant_name(type(made_by).__name__)} is not private, and no account can be charged for it"
        raise PolicyError(what, hint="mst, aim and priv-bayes are; or leave the account out")
    many = _sample(sample, table, made_by, place)
    seed = secrets.randbits(48) if seed is None else parameters.seed_of(seed)
    report_progress = progress or quiet
    with table.snapshot(write=False) as engine:
        given, stored = engine.sample(engine.rows() if engine.in_memory else SAMPLE), None
        frame = given if private else typed(given, identifying)
        if not engine.in_memory:
            report_progress("reading all rows", None)
            stored = OutOfCoreRows.of(engine, given, identifying, ())
            frame = given if private else stored.as_typed(given)
        by_counts = many is None and stored is not None
        if stored is not None and many is not None:
            frame = sample_of(stored, many, stream_of(seed, many, f"sample of {stored.rows}"), report_progress)
        needed = [name for criterion in asked for name in criterion.needs]
        roles = roles_of(
            frame.clear(), sets_named(quasi, asked), identifying, sensitive, insensitive, None, needed, unprotected,
            rest or "refuse", protected_by(asked), promising=bool(asked),
        )  # fmt: skip
        policy = None
        if asked:
            sets, promised = sets_required(roles.quasi, asked)
            if copied > 1 and any(criterion.quasi is not None for criterion in asked):
                what = "where there are several copies, all criteria are over the same quasi-identifiers"
                raise PolicyError(what, hint="name them once for all criteria")
            roles = replace(roles, quasi=sets)
        if copied > 1:  # classes are those of each copy, and a promise is kept in each by itself
            roles = replace(roles, quasi=tuple((COPY, *names) for names in roles.quasi if names))
        if asked:
            policy = Policy(roles.quasi, promised, 0, parse_loss("lm"))
        learnt = frame.drop([name for name in roles.identifying if name in frame.columns])
        anew = learnt.columns if made_by.changes is None else made_by.changes
        if not private:  # whose values are those of public domains
            refuse_telling(given, frame, roles, {*anew})
            free = (name for name in anew if roles.role(name) is None)
            refuse_undecided(given, replace(roles, insensitive=(*roles.insensitive, *free)), asked)
        if copied > 1 and COPY in learnt.columns:
            what = f'several copies are numbered in a column "{COPY}", which the table has'
            raise ColumnError(what, hint="rename it")
        height, partly = learnt.height if stored is None else stored.rows, made_by.changes is not None
        share = HELD_OUT if hold_out is None else float(parameters.real_number(hold_out, "hold_out", 0, 0.9))
        kept = 0.0 if partly or by_counts or private else share
        if not private:
            check_table(learnt, kept)
        if partly and rows not in (None, height):
            what = "a table of which only some columns are made anew has the rows that it had"
            raise PolicyError(what, got=f"rows of {parameters.shown(rows)}", allowed=f"{height}")
        request = SynthesisRequest(
            frame=learnt,
            generator=made_by,
            roles=roles,
            policy=policy,
            rows=(None if private else height) if rows is None else parameters.whole_number(rows, "rows", 1, MOST_ROWS),
            m=copied,
            copies=KEEP if private else parameters.one_of(copies or COPIES[0], "treatment of copies", COPIES),
            hold_out=kept,
            seed=seed,
            order=order_of(CANONICAL if order is None else order),
            report_progress=report_progress,
            about=about_of(about, table.schema()),
            hierarchies=recipes_of(frame.clear(), hierarchies),
            stored=stored,
            by_counts=by_counts,
            max_cells=parameters.max_cells_of(max_cells),
            account=account,
        )
        if stored is None:
            return synthesize_release(table, request, place)
        assert place is not None  # checked
        return synthesize_stored(table, engine, request, place)


def _refuse_comparing(copies: Any, hold_out: Any, sample: Any) -> None:
    """Refuse what would compare a private table with its original, or learn from some rows of it."""
    if copies not in (None, KEEP):
        what = "a private table is not compared with the original: which rows it repeats would tell who is in it"
        raise PolicyError(what, got=f"copies of {parameters.shown(copies)}", allowed=KEEP)
    if hold_out not in (None, 0):
        what = "a private generator learns from all rows, and nothing is compared with those held out"
        raise PolicyError(what, got=f"hold_out of {parameters.shown(hold_out)}", allowed="0")
    if sample is not None:
        raise PolicyError("a private generator counts all rows", hint="leave the sample out")


def _sample(sample: Any, table: Engine, generator: Generator, place: Any) -> int | None:
    """How many rows of an out-of-core table a model is fitted to; None for a table in memory, and for counts."""
    if table.in_memory:
        if sample is not None:
            raise PolicyError("a sample is of an out-of-core table, and this one is in memory", hint="leave it out")
        return None
    if place is None:
        raise PolicyError(f"a synthetic table of {table.called} is drawn into a folder of files", allowed='to="out/"')
    if generator.changes is not None:
        what = f"{variant_name(type(generator).__name__)} makes some columns anew in the rows of a table"
        raise PolicyError(f"{what}, and those of {table.called} are out-of-core", hint="make all columns anew")
    if sample is None:
        return None if generator.fits_counts else FITTED
    return parameters.whole_number(sample, "sample", LEAST_ROWS, MOST_SAMPLE)


def generator_of(given: Any) -> Generator:
    """A generator from a value, its shell form, or a mapping as in a policy file; sequential trees unless given.

    >>> generator_of("bootstrap")
    Bootstrap()
    """
    if given is None:
        return GENERATORS.value(DEFAULT)
    if not isinstance(given, str | Mapping):
        return GENERATORS.value(given)
    table = dict(written(given) if isinstance(given, str) else given)
    if not isinstance(name := table.pop("name", None), str):
        raise PolicyError("a generator is not named", allowed=", ".join(GENERATORS))
    found: Generator = make_variant(GENERATORS, "generator", name, table)
    return found


def written(text: str) -> dict[str, Any]:
    """The shell form of a generator as [synthesis] of a policy file has it.

    >>> written("sequential-trees leaf=10")
    {'name': 'sequential-trees', 'leaf': 10}
    """
    return shell_form.written(text, "generator", "name", f"{DEFAULT} key=value", none="none")
