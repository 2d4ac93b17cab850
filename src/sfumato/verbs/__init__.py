"""The verbs: read, anonymize, verify. Each does one thing to a table and returns a value."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core import parameters
from sfumato.core.masked import typed
from sfumato.core.microdata import encode
from sfumato.core.policy import Policy, sets_required
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.protocols import BY_CONSTRUCTION
from sfumato.core.roles import Roles
from sfumato.core.spelling import normalised
from sfumato.criteria import KAnonymity
from sfumato.criteria.model import protected_by
from sfumato.engines.files.read import read
from sfumato.engines.memory.table import enter
from sfumato.engines.order import CANONICAL, order_of
from sfumato.engines.protocol import refuse_types
from sfumato.engines.tables import engine_of, private_engine, store_of
from sfumato.errors import PolicyError
from sfumato.losses import loss as parse_loss
from sfumato.measures.standards import profile_named
from sfumato.measures.table import DEFAULT_MAX_CELLS, TupleCounts
from sfumato.release.about import about_of
from sfumato.release.destination import Table, destination
from sfumato.release.ends import ends_named
from sfumato.release.facts import Masking
from sfumato.release.folder import verify_folder, verify_manifest
from sfumato.release.people import (
    PeopleColumn,
    for_records,
    owned,
    refuse_blurred,
    refuse_uncounted,
    units_of,
    verify_people,
    warn_of_repeats,
    whose,
)
from sfumato.release.pipeline import make_release
from sfumato.release.population import (
    by_population,
    engine_of_population,
    refuse_beside,
    verify_people_of,
    with_missing,
)
from sfumato.release.recoded import Recoded
from sfumato.release.request import (
    LOOKED_AT,
    Request,
    adjusted,
    check_numbers,
    check_row_key,
    criteria,
    dropped_missing,
    find_histogram_columns,
    recipes_of,
    refuse_out_of_core,
    roles_of,
    sets_named,
    warn_of_codes,
    warn_of_unmeasured,
)
from sfumato.release.sampled import check_private
from sfumato.release.signature import signed
from sfumato.release.stream_folder import holds_stream, verify_stream
from sfumato.release.verify import CountedTable, RowTable, Verification, verify_engine, verify_table
from sfumato.search import MPALM, SEARCHES, Automatic, Optimal, SafePub, search_name
from sfumato.search import search as parse_search
from sfumato.search.events import Trace
from sfumato.search.lattice.safepub import asked_privacy
from sfumato.search.population import refuse_for_population

__all__ = ["anonymize", "read", "verify"]

Names = Sequence[str]


def counts_people(asked: Any) -> bool:
    """Whether a criterion counts the people of a population beside the table."""
    return asked.of_population is not None


@cancellable
def anonymize(
    data: Any,
    *,
    quasi: Names | Sequence[Names] | None = None,
    identifying: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    weight: str | None = None,
    person: str | None = None,
    household: str | None = None,
    rest: str = "refuse",
    normalise: bool | Names = False,
    drop_missing: bool | Names = False,
    unprotected: Names = (),
    row_key: Names = (),
    k: int | None = None,
    require: Iterable[Any] | Any = (),
    mask: Iterable[Any] | Any = (),
    search: Any = "auto",
    keep: str | None = None,
    labels: str | None = None,
    tidy: bool | None = None,
    loss: Any = "lm",
    suppression: float | int = 0,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    ends: str = "rounded",
    numbers: str | Mapping[str, str] = "text",
    seed: int | None = None,
    order: str = CANONICAL,
    profile: str | None = None,
    about: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    trace: Trace | None = None,
    to: Any = None,
    max_cells: int = DEFAULT_MAX_CELLS,
    account: Any = None,
) -> Recoded | Any:  # a ReleaseSet where a search takes the table apart
    """Blur a table until it satisfies the criteria, and prove it from the released rows.

    Parameters
    ----------
    data: a pandas, Polars or PyArrow frame, or the path of a file; or an out-of-core table: `sf.scan` (files),
        `Database`, or a Spark frame. It is never modified.
    quasi: the quasi-identifiers, or several sets of them; every criterion holds for each set, or for the set of these
        columns that it names, as `KAnonymity(10, quasi=["age", "zip"])`. Where all name one, quasi may be left out.
    identifying: columns to drop. sensitive: columns whose values are protected. insensitive: released as they are.
        weight: survey weights. unprotected: sensitive columns that no criterion looks at, on purpose; others draw an
        `UnprotectedWarning`. person: whose each row is, where a person may have several: criteria then count people and
        not rows; the column is dropped, unless `mask` gives it pseudonyms. household: the same of households; with
        both, criteria hold for either. rest: "refuse" columns without a role that look as if they told who somebody is,
        or "release" them; those that look harmless are released as they are.
    normalise: sensitive columns, or True for all of them, whose values count as one and are released in one spelling
        where they differ only by case, blanks, Unicode form or as `1` and `1.0`.
    drop_missing: leave rows out that have a missing value in a quasi-identifier, or in one of the columns named.
    row_key: of an out-of-core table, columns that together tell its rows apart, such as a number of each. Searches that
        give rows with equal values different labels, as the default does where it can, deal them by it.
    k: for k-anonymity: everybody looks like at least k - 1 others. require: further criteria, such as
        `EntropyLDiversity("disease", 3)`, or their shell form, such as "entropy-l-diversity disease 3".
    mask: steps as for `sf.mask`, done before the search, or after it where it is ("after", step), to columns that no
        promise is about. What is promised holds of the rows that leave.
    search, loss: a name or a value; "auto" picks the search, and `solution.choice` says why. keep: what "auto" shall
        keep, "consistent-columns" (one label per value).
    labels: of columns with an order, where the search has the choice: "given", labels of the hierarchies that were
        given and ranges elsewhere; "hierarchy", labels of hierarchies in all columns, with round steps where none was
        given; "ranges" in all columns. tidy: labels nest, and a number or date has no more of them than it had values;
        without it, labels are "given". "auto" is tidy, other searches are not, unless told so.
    suppression: a share of the rows (float) or a count (int).
    hierarchies: column to recipe, file, or their short forms. levels: column to (least, greatest) level.
    ends: of ranges: "rounded" outward to a step, so that they are not the values of people, or "exact".
    numbers: what numbers and dates are written as where their labels are ranges: "text"; "bounds", two columns such as
        `age_low` and `age_high`; "midpoint"; or "draw", a value drawn between the two bounds, beside these, which alone
        form the classes. One form for all quasi-identifiers, or a mapping of some to theirs.
    order: of the released rows: "canonical", sorted by what is released of them, so that it tells nothing of the input;
        "random"; or "input", with a warning. seed: of a random order.
    profile: the standard that the release is held to, "hipaa", "clinical" or "gdpr": the report says first whether it
        is met; nothing else changes, and a release that does not meet it is made all the same.
    about: what the report says of the release in your words, which is published with it: "dataset", "controller",
        "purpose", "recipient", "legal_basis", "date", "review_date", "attacker" (why this one is assumed), "language"
        ("en" or "it"), "columns", a reason for the role of each, and "suggested", those whose role nobody judged.
    progress: called with a message and a share of the work, at least ten times a second. `Cancelled`, raised in it,
        ends the run within a fifth of a second, and nothing is written.
    trace: called with each step of the search, an `Event` that says it in a `sentence()`: for teaching, on tables of at
        most 5,000 values. Events hold values of the table, and are no part of the release.
    account: an `sf.dp.Account`, which a differentially private release is charged to before anything is drawn.
    to: where the release goes: a folder, `Folder`, or for a table of a database `Table`. A frame is handed back in any
        case. max_cells: of an out-of-core table, how many different combinations of values may be held in memory.

    Returns
    -------
    A `Release`, a `Recoded` one: its `data` is a frame of the kind that came in, or what was made elsewhere. With
    search="anatomy" or "slicing" a `ReleaseSet`, whose `tables` are two of them or more.

    Raises
    ------
    PolicyError, ColumnError: what is asked makes no sense. UndecidedColumns: columns without a role may tell who
    somebody is. Infeasible: no recoding meets the policy.

    >>> import sfumato as sf
    >>> table = {"age": [31, 32, 58, 59], "sex": ["F", "F", "M", "M"]}
    >>> sf.anonymize(table, quasi=["age", "sex"], k=2).table["age"].to_list()
    ['[30, 34]', '[30, 34]', '[55, 59]', '[55, 59]']
    """
    parameters.check_trace(trace)
    asked = criteria(require, k, unprovable=True)
    chosen = parse_search(search)
    if private := any(c.how == BY_CONSTRUCTION for c in asked):
        chosen = SafePub() if isinstance(chosen, Automatic) else chosen
        asked = (*asked, KAnonymity(asked_privacy(asked).k))
    _refuse_other_search(chosen, private, account)
    table = (private_engine if private else engine_of)(data)
    place = destination(to, table)
    with table.snapshot(write=isinstance(place, Table)) as engine:  # writers do not matter
        schema = engine.schema()
        nothing = pl.DataFrame(schema=schema)
        needed = [name for one in asked if not counts_people(one) for name in one.needs]
        protected, named = protected_by(one for one in asked if not counts_people(one)), sets_named(quasi, asked)
        people = person is not None or household is not None
        units = _counted(person, household, engine, chosen, private, asked) if people else ()
        names = parameters.column_names(identifying, "identifying")
        if not people and names and not private and engine.in_memory:
            warn_of_repeats(engine.sample(LOOKED_AT), [name for name in names if name in schema])
        identifying = tuple(dict.fromkeys((*names, *(unit.column for unit in units))))
        roles = roles_of(
            nothing, named, identifying, sensitive, insensitive, weight, needed, unprotected, rest, protected
        )
        counting: tuple[Any, ...] = ()
        if any(counts_people(one) for one in asked):
            counting, asked = by_population(asked)
            refuse_beside({"mask": mask, "a private release": private})
        by_people = sets_required(roles.quasi, asked)[1] if units else ()
        if units:
            refuse_blurred(by_people, roles.quasi, units)
            asked = for_records(asked)
        sets, promised = sets_required(roles.quasi, asked)
        roles = replace(roles, quasi=sets)
        if counting:
            counting = sets_required(sets, counting)[1]
            if isinstance(chosen, Automatic):
                tables = engine, engine_of_population(counting[0].of_population)
                mixed = any(with_missing(one, sum(sets, ()), LOOKED_AT) for one in tables)
                chosen, keep = (Optimal() if keep is not None or levels or mixed else MPALM()), None
        released = tuple(name for name in schema if name not in roles.identifying)
        if drop_missing:
            table, engine = dropped_missing(table, engine, roles, drop_missing)
        masking = None
        if mask:
            drawn = secrets.randbits(48) if seed is None else parameters.seed_of(seed)
            table, roles, released, masking = _masked(engine, mask, roles, released, needed, hierarchies, drawn)
            engine, schema, seed = table, table.schema(), drawn
            nothing = pl.DataFrame(schema=schema)
        method, neat = adjusted(chosen, keep, labels, tidy)
        standard = None if profile is None else profile_named(profile)
        ending = "exact" if counting else ends_named(ends)  # ends are values of the population, which is public
        policy = Policy(roles.quasi, promised, suppression, parse_loss(loss), ending, neat, standard)
        if counting:
            able = [name for name, one in SEARCHES.items() if one.example.counts_population]
            refuse_for_population(method, search_name(method), policy, able)
        policy.limit(engine.rows())
        recipes = recipes_of(nothing, hierarchies, policy.columns)
        recipes = warn_of_codes(engine, recipes, hierarchies, policy.columns)
        forms = check_numbers(numbers, policy, method, engine, not isinstance(place, Table))
        parameters.check_weights(policy.loss, policy.columns)
        if not engine.in_memory:
            refuse_types(schema, released)
            refuse_out_of_core(method, normalise)
            if trace is not None:
                raise PolicyError(
                    "the steps of a search can be shown for tables in memory only", hint="leave trace out"
                )
        request = Request(
            policy=policy,
            roles=roles,
            search=method,
            schema=schema,
            released=released,
            histogram_columns=find_histogram_columns(
                schema, method, replace(policy, require=(*promised, *by_people)), roles
            ),
            recipes=recipes,
            levels=parameters.levels_of(levels, policy.columns),
            normalised=normalised(normalise, nothing, roles, recipes),
            seed=parameters.seed_of(seed),
            order=order_of(order),
            max_cells=parameters.max_cells_of(max_cells),
            report_progress=progress or quiet,
            trace=trace,
            about=about_of(about, schema),
            numbers=forms,
            row_key=check_row_key(row_key, engine),
            masking=masking,
            people=units,
            by_people=by_people,
            population=(engine_of_population(counting[0].of_population), counting) if counting else None,
        )
        if private:
            unused = {"suppression": suppression, "mask": mask, "normalise": normalise, "numbers": forms != "text",
                      "seed": seed is not None, "order": order != CANONICAL, "ends": ends != "rounded",
                      "weight": weight is not None, "row_key": row_key}  # fmt: skip
            request = check_private(request, engine, unused)
            request = replace(request, charge=_charged(account, request))
        return make_release(table, engine, request, place)


def _refuse_other_search(search: Any, private: bool, account: Any) -> None:
    """Raise a PolicyError where a promise of privacy and a search that keeps it do not come together, or where an
    account is given for what costs nothing."""
    if private and not search.private:
        what = "differential privacy takes a search that looks at the table with noise only"
        raise PolicyError(what, got=f"search {search_name(search)}", allowed="safepub", hint="leave search out")
    if search.private and not private:
        hint = 'require "differential-privacy 1 1e-6", an epsilon and a delta'
        raise PolicyError(f"{search_name(search)} makes a private release, and none is asked for", hint=hint)
    if account is not None and not private:
        what = "an account is for private releases, and this one is none: it costs no budget"
        raise PolicyError(what, hint="leave account out, or require differential privacy")


def _counted(
    person: Any, household: Any, engine: Any, search: Any, private: bool, asked: Sequence[Any]
) -> tuple[PeopleColumn, ...]:
    """What is counted in the place of rows, where that can be."""
    units = units_of(person, household, engine.schema())
    if units and private:
        what = (
            "the rows of a private release are sampled one by one, so that it promises nothing of those who have many"
        )
        raise PolicyError(what, got=f"{units[0].kind} column", hint="have one row per person")
    if units and not engine.in_memory:
        raise PolicyError(
            f"{units[0].noun} are counted in memory only: their counts in classes do not add up",
            got=engine.called,
            hint="read the table into memory, as in sf.read(path), or a sample of its people",
        )
    refuse_uncounted(asked, units, bool(search.wildcard))
    return units


def _charged(account: Any, request: Request) -> Any:
    """What pays for a private release, before anything is drawn; None where nobody keeps an account."""
    if account is None:
        return None
    asked = asked_privacy(request.policy.require)
    what = {"verb": "anonymize", "search": search_name(request.search), "columns": list(request.policy.columns),
            **asked.parameters()}  # fmt: skip
    return lambda: account.charge(asked.cost, what)


def _masked(
    engine: Any, mask: Any, roles: Roles, released: Names, needed: Names, hierarchies: Any, seed: int | None
) -> tuple[Any, Roles, tuple[str, ...], Masking]:
    """The table after the steps before the search, with the roles and the columns that leave: a step decides what
    becomes of its columns, and pseudonyms leave though they were identifying."""
    from sfumato.masking.around_search import masked_before
    from sfumato.masking.run import with_columns
    from sfumato.verbs.mask import refuse_telling
    from sfumato.verbs.steps import timed_steps

    if not engine.in_memory:
        raise PolicyError(
            "only a table in memory can be masked before or after a search",
            got=engine.called,
            hint="read it into memory, or mask it into a folder first and anonymize the file that is there",
        )
    steps = timed_steps(mask)
    if any(step.private for _, step in steps):
        what = "a private step makes a table by itself, with nothing before or after it"
        raise PolicyError(what, hint="mask the table alone")
    frame, recoded = typed(engine.frame), tuple(name for names in roles.quasi for name in names)
    apart = [*roles.identifying, *([] if roles.weight is None else [roles.weight])]
    taken = [(step, with_columns(step, frame, apart).columns) for _, step in steps]
    changed = {name for _, names in taken for name in names}
    tokens = {name for step, names in taken if step.pseudonymous for name in names}
    refuse_telling(engine.frame, frame, roles, changed - tokens)
    free = (name for name in frame.columns if name in changed and roles.role(name) in (None, "identifying"))
    left = tuple(name for name in frame.columns if name in released or name in tokens)
    dropped = tuple(name for name in roles.identifying if name not in tokens)
    decided = replace(roles, identifying=dropped, insensitive=(*roles.insensitive, *(n for n in free if n in left)))
    table, masking = masked_before(
        engine, steps, seed=seed, weight=roles.weight, hierarchies=recipes_of(frame.clear(), hierarchies),
        apart=apart, recoded=recoded, held=needed, released=left,
    )  # fmt: skip
    return table, decided, left, masking


def built_for(recipes: Mapping[str, Any], frame: pl.DataFrame) -> dict[str, Any]:
    """Hierarchies, standing on the values of a table."""
    return {name: recipe.build(encode(frame.get_column(name))[0]) for name, recipe in recipes.items()}


@cancellable
def verify(
    data: Any,
    *,
    quasi: Names | Sequence[Names] | None = None,
    require: Iterable[Any] | Any = None,
    sensitive: Names = (),
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    manifest: str | Path | None = None,
    original: Any = None,
    person: str | None = None,
    household: str | None = None,
    population: Any = None,
    signer: str | Path | None = None,
    max_cells: int = DEFAULT_MAX_CELLS,
    progress: Progress | None = None,
) -> Verification:
    """Which promises a release keeps, from its rows alone.

    `data` is the folder of a release (its manifest says what was promised), or any table of any tool with `quasi` and
    `require`, in memory or not, or one with the folder of its `manifest`, such as a table of a database. With
    `wildcard`, missing quasi-identifiers match anything (k-anonymity and distinct l-diversity only). A masked release
    has `facts`; with its `original`, a table that its owner has, also those that compare the two. The result has the
    `signature` of a folder; with `signer`, the file of a public key, one that is absent, not valid or by another key is
    broken. `person` is a column that says whose each row is: people are then counted and not rows, as `household`
    counts households; with both, a promise has to hold for either. `population` is the table of the population that a
    release counts, in memory or not: without it, what is promised of it is stated, and not proven; labels of it are
    read by the `hierarchies`, where they do not say themselves what they stand for. Of an out-of-core
    table, at most `max_cells` different combinations of values are held. `progress` is as for `anonymize`.

    >>> import sfumato as sf
    >>> sf.verify({"age": ["3*", "3*", "58"]}, quasi=["age"], require=sf.KAnonymity(2)).holds
    False
    """
    (progress or quiet)("verifying", None)
    if isinstance(data, str | Path) and require is None and quasi is None and parameters.path_of(data).is_dir():
        beside = original is not None or population is not None
        if wildcard or (hierarchies and not beside) or sensitive or manifest is not None:
            raise PolicyError("a release folder says itself what to verify", hint="pass its path alone")
        if holds_stream(Path(data)):
            return signed(verify_stream(Path(data)), Path(data), signer)
        before = (
            None if original is None else enter(read(original) if isinstance(original, str | Path) else original)[0]
        )
        columns = owned(person, household, before)
        trees = dict(hierarchies or {}) if before is None else built_for(recipes_of(before, hierarchies), before)
        found = verify_folder(
            Path(data), original=before, people=columns, hierarchies=trees, population=population
        )  # fmt: skip
        return signed(found, Path(data), signer)
    if original is not None:
        raise PolicyError("original is for the folder of a masked or synthetic release", hint="pass the folder")
    if isinstance(data, str | Path):
        data = read(data, verbatim=True)  # a promise is about what is printed
    store = store_of(data)
    if manifest is not None:
        if quasi is not None or require is not None:
            raise PolicyError("a manifest says itself what to verify", hint="leave quasi and require out")
        if person is not None or household is not None:
            what = "people are shown of the folder of a release, with its original"
            raise PolicyError(what, hint="leave person and household out, or pass the folder and the original")
        place, shown = parameters.path_of(manifest), enter(data)[0] if store is None else store
        found = verify_manifest(place, shown, population=population, hierarchies=hierarchies)
        return signed(found, place, signer)
    if signer is not None:
        raise PolicyError("signer is for a release with its folder", hint="pass the folder, or manifest")
    asked = criteria(require, populations=True) if require is not None else ()
    if population is not None:
        what = "a criterion about a population names its table itself"
        raise PolicyError(what, hint="leave population out, or pass the folder of a release")
    if require is None or (quasi is None and not any(c.quasi for c in asked)):
        raise PolicyError("verify needs a release folder, or a table with quasi and require, or with a manifest")
    table = engine_of(data) if store is None else store
    nothing = pl.DataFrame(schema=table.schema())
    counting, others_asked = by_population(asked)
    needed = [name for criterion in others_asked for name in criterion.needs]
    roles = roles_of(nothing, sets_named(quasi, asked), (), sensitive, (), None, needed)
    sets, promised = sets_required(roles.quasi, others_asked)
    recipes = recipes_of(nothing, hierarchies)
    if counting:
        refuse_beside({"person or household": person is not None or household is not None, "wildcard": wildcard})
        counting = sets_required(sets, counting)[1]
    others = {role: own for role, own in roles.named() if role != "identifying"}
    units = units_of(person, household, nothing.columns, others)
    if units:
        refuse_uncounted(promised, units, wildcard)
        looked = (*(name for names in sets for name in names), *needed, *(unit.column for unit in units))
        counted = table.sample(table.rows()) if table.in_memory else TupleCounts(table, max_cells).entries(looked)[0]
        people = [(unit, whose(counted.get_column(unit.column), unit)) for unit in units]
        return replace(verify_people(counted, sets, promised, people), rows=table.rows())
    if table.in_memory:
        frame = table.sample(table.rows())
        built = built_for(recipes, frame)
        found = verify_table(frame, sets, promised, hierarchies=built, wildcard=wildcard)
        rows: Any = RowTable(frame, {}, {})
        warn_of_unmeasured(frame, sets, sensitive, others_asked)
    else:
        found = verify_engine(table, sets, promised, recipes=recipes, wildcard=wildcard, max_cells=max_cells)
        rows = CountedTable(TupleCounts(table, max_cells), {}, {})
        warn_of_unmeasured(table, sets, sensitive, others_asked)
    if counting:
        by_people = verify_people_of(rows, sets, counting, recipes, max_cells)
        found = replace(found, promises=(*found.promises, *by_people))
    return found
