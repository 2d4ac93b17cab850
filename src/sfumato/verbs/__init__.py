"""The verbs: read, anonymize, verify. Each does one thing to a table and returns a value."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core import compiled as kernels
from sfumato.core import parameters
from sfumato.core.cells import Cells
from sfumato.core.fingerprint import secret_seed
from sfumato.core.microdata import Microdata, encode, microdata
from sfumato.core.policy import Policy
from sfumato.core.roles import Roles
from sfumato.core.spelling import normalised, one_spelling, refuse_order, respelled, warn_of_spellings
from sfumato.engines.files.read import read
from sfumato.engines.memory.table import enter, forget_others, leave
from sfumato.engines.order import CANONICAL, INPUT, RANDOM, RowOrder, numbered, order_of
from sfumato.engines.tables import store_of
from sfumato.errors import BrokenPromise, PolicyError
from sfumato.losses import loss as parse_loss
from sfumato.measures.standards import profile_named
from sfumato.measures.table import DEFAULT_MAX_CELLS
from sfumato.release import arguments
from sfumato.release.checks import (
    check_size,
    check_solution,
    distribution,
    find_histogram_columns,
    publishable,
    trees_of,
)
from sfumato.release.destination import folder_for
from sfumato.release.ends import ends_named, with_ends
from sfumato.release.in_parts import verified
from sfumato.release.pipeline import anonymize_store
from sfumato.release.recode import recode
from sfumato.release.release import Release
from sfumato.release.signature import signed
from sfumato.release.stored import StoredRelease
from sfumato.release.verify import Verification, verify_folder, verify_manifest, verify_table
from sfumato.search import search as parse_search
from sfumato.search.interruptible import interruptible
from sfumato.search.problem import Partition, Problem, Progress, Solution, apply_split, counted, deal, quiet

__all__ = ["anonymize", "read", "verify"]

Names = Sequence[str]


def anonymize(
    data: Any,
    *,
    quasi: Names | Sequence[Names],
    identifying: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    weight: str | None = None,
    rest: str = "refuse",
    normalise: bool | Names = False,
    unprotected: Names = (),
    k: int | None = None,
    require: Iterable[Any] | Any = (),
    search: Any = "auto",
    keep: str | None = None,
    loss: Any = "lm",
    suppression: float | int = 0,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    ends: str = "rounded",
    seed: int | None = None,
    order: str = CANONICAL,
    profile: str | None = None,
    progress: Progress | None = None,
    to: Any = None,
    max_cells: int = DEFAULT_MAX_CELLS,
) -> Release | StoredRelease:
    """Blur a table until it satisfies the criteria, and prove it from the released rows.

    Parameters
    ----------
    data: a pandas, Polars or PyArrow frame, or the path of a file; or an out-of-core table: `sf.scan` (files),
        `Database`, or a Spark frame. It is never modified.
    quasi: the quasi-identifiers, or several sets of them; every criterion holds for each set.
    identifying: columns to drop. sensitive: columns whose values are protected. insensitive: released as they are.
        weight: survey weights. unprotected: sensitive columns that no criterion looks at, on purpose; others draw an
        `UnprotectedWarning`. rest: "refuse" columns without a role that look as if they told who somebody is, or
        "release" them; those that look harmless are released as they are.
    normalise: sensitive columns, or True for all of them, whose values count as one and are released in one spelling
        where they differ only by case, blanks, Unicode form or as `1` and `1.0`.
    k: for k-anonymity: everybody looks like at least k - 1 others. require: further criteria, such as
        `EntropyLDiversity("disease", 3)`, or their shell form, such as "entropy-l-diversity disease 3".
    search, loss: a name or a value; "auto" picks the search, and `solution.choice` says why. keep: what "auto" shall
        keep, "consistent-columns" (one label per value) or "hierarchy-labels" (no ranges of their own).
    suppression: a share of the rows (float) or a count (int).
    hierarchies: column to recipe, file, or their short forms. levels: column to (least, greatest) level.
    ends: of ranges: "rounded" outward to a step, so that they are not the values of people, or "exact".
    order: of the released rows: "canonical", sorted by what is released of them, so that it tells nothing of the input;
        "random"; or "input", with a warning. seed: of a random order.
    profile: the standard that the release is held to, "hipaa", "clinical" or "gdpr": the report says first whether it
        is met; nothing else changes, and a release that does not meet it is made all the same.
    progress: called with a message and a share of the work.
    to: where the release goes: a folder, `Folder`, or for a table of a database `Table`. A release of a frame is handed
        back too. max_cells: of an out-of-core table, how many different combinations of values may be held in memory.

    Returns
    -------
    A `Release`; of an out-of-core table, a `StoredRelease`.

    Raises
    ------
    PolicyError, ColumnError: what is asked makes no sense. UndecidedColumns: columns without a role may tell who
    somebody is. Infeasible: no recoding meets the policy.

    >>> import sfumato as sf
    >>> table = {"age": [31, 32, 58, 59], "sex": ["F", "F", "M", "M"]}
    >>> sf.anonymize(table, quasi=["age", "sex"], k=2).table["age"].to_list()
    ['[30, 34]', '[30, 34]', '[55, 59]', '[55, 59]']
    """
    if progress is not None and not callable(progress):
        raise PolicyError("progress must be a function of a message and a share", got=type(progress).__name__)
    promised = arguments.criteria(require, k)
    if (store := store_of(data)) is not None:
        if normalise:
            what = "the values of an out-of-core table cannot be brought to one spelling"
            raise PolicyError(what, hint="do so in the table, and leave normalise out")
        return anonymize_store(
            store,
            to,
            quasi=quasi,
            identifying=identifying,
            sensitive=sensitive,
            insensitive=insensitive,
            weight=weight,
            unprotected=unprotected,
            rest=rest,
            require=promised,
            search=search,
            keep=keep,
            loss=loss,
            suppression=suppression,
            hierarchies=hierarchies,
            levels=levels,
            ends=ends,
            seed=seed,
            order=order,
            profile=profile,
            progress=progress,
            max_cells=max_cells,
        )
    folder = None if to is None else folder_for(to)
    say = progress or quiet
    frame, kind = enter(data)
    needed = [name for criterion in promised for name in criterion.needs]
    roles = arguments.roles_of(frame, quasi, identifying, sensitive, insensitive, weight, needed, unprotected, rest)
    arguments.refuse_undecided(frame, roles, promised)
    arguments.warn_of_unprotected(roles, needed)
    standard = None if profile is None else profile_named(profile)
    policy = Policy(roles.quasi, promised, suppression, parse_loss(loss), ends_named(ends), standard)
    policy.limit(frame.height)
    method = arguments.kept(parse_search(search), keep)
    histogram_columns = find_histogram_columns(frame.columns, method, policy, roles)
    arguments.refuse_empty(frame, (*policy.columns, *roles.sensitive, *histogram_columns))
    parameters.check_weights(policy.loss, policy.columns)
    recipes = arguments.recipes_of(frame, hierarchies)
    merged = normalised(normalise, frame, roles, recipes)
    warn_of_spellings(frame, [name for name in roles.sensitive if name not in merged])
    bounds = parameters.levels_of(levels, policy.columns)
    seed, order = parameters.seed_of(seed), order_of(order)
    weights = parameters.weights_of(frame, roles.weight)
    check_size(policy, frame.height)
    kernels.warn_of_compiling(say)
    say("reading the columns", None)
    wanted = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(histogram_columns, "sensitive")
    spelled = one_spelling([frame.get_column(name) for name in merged], promised)
    as_spelled = frame.with_columns(spelled.values())
    micro = microdata(as_spelled, wanted, recipes, weights)
    refuse_order(merged, micro, promised)
    others = as_spelled.drop(*policy.columns, *roles.identifying)
    cells, of_row, solution = interruptible(
        lambda tell: _solve(method, micro, policy, histogram_columns, bounds, others, tell), say
    )
    check_solution(solution, method, policy, frame.height)
    say("recoding", None)
    rows, released = recode(frame, micro, solution, of_row, policy.columns)
    released |= one_spelling([frame.get_column(name).gather(rows) for name in merged], promised)
    dropped = set(roles.identifying)
    untouched = [name for name in frame.columns if name not in released and name not in dropped]
    table = _assemble(frame, rows, released, roles)
    if order != INPUT:
        secret = secret_seed(seed) if order == RANDOM else None
        places = RowOrder(order, policy.columns, secret).places(table)
        rows, table = rows[places], table[places]
    table = forget_others(table)
    say("verifying", None)
    whole = {name: distribution(micro, name) for name in policy.needs}
    for name in policy.needs:
        if name in spelled:
            whole[name] = respelled(whole[name], spelled[name].gather(rows), table.get_column(name))
    trees = trees_of(micro, policy.needs)
    wildcard = bool(getattr(method, "wildcard", False))
    verification = verify_table(table, policy.quasi, promised, whole=whole, hierarchies=trees, wildcard=wildcard)
    if not verification.holds:
        broken = ", ".join(promise.model for promise in verification.promises if not promise.holds)
        raise BrokenPromise(f"the release does not keep {broken}, so it is not released. This is a fault of Sfumato")
    release = Release(
        data=leave(table, data, kind, rows, untouched),
        solution=solution,
        policy=policy,
        verification=verification,
        table=table,
        microdata=micro,
        cell_codes=cells.codes,
        roles=roles,
        search=method if solution.choice is None else solution.choice.search,
        recipes=recipes,
        levels=bounds,
        whole=publishable(policy, whole, solution.verdict.suppressed),
        original=frame,
        rows=rows,
        seed=seed,
        normalised=merged,
        order=order,
    )
    if folder is not None:
        release.save(folder.path, folder.format, folder.overwrite)
    return release


def verify(
    data: Any,
    *,
    quasi: Names | Sequence[Names] | None = None,
    require: Iterable[Any] | Any = None,
    sensitive: Names = (),
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    manifest: str | Path | None = None,
    signer: str | Path | None = None,
    max_cells: int = DEFAULT_MAX_CELLS,
) -> Verification:
    """Which promises a release keeps, from its rows alone.

    `data` is the folder of a release (its manifest says what was promised), or any table of any tool with `quasi` and
    `require`, in memory or not, or one with the folder of its `manifest`, such as a table of a database. With
    `wildcard`, missing quasi-identifiers match anything (k-anonymity and distinct l-diversity only). The result has the
    `signature` of a folder; with `signer`, the file of a public key, one that is absent, not valid or by another key is
    broken. Of a table that is
    not in memory, at most `max_cells` different combinations of values are held.

    >>> import sfumato as sf
    >>> sf.verify({"age": ["3*", "3*", "58"]}, quasi=["age"], require=sf.KAnonymity(2)).holds
    False
    """
    if isinstance(data, str | Path) and require is None and quasi is None and parameters.path_of(data).is_dir():
        if wildcard or hierarchies or sensitive or manifest is not None:
            raise PolicyError("a release folder says itself what to verify", hint="pass its path alone")
        return signed(verify_folder(Path(data)), Path(data), signer)
    store = store_of(data)
    if manifest is not None:
        if quasi is not None or require is not None:
            raise PolicyError("a manifest says itself what to verify", hint="leave quasi and require out")
        place = parameters.path_of(manifest)
        return signed(verify_manifest(place, enter(data)[0] if store is None else store), place, signer)
    if signer is not None:
        raise PolicyError("signer is for a release with its folder", hint="pass the folder, or manifest")
    if quasi is None or require is None:
        raise PolicyError("verify needs a release folder, or a table with quasi and require, or with a manifest")
    promised = arguments.criteria(require)
    if store is not None:
        found = verified(
            store,
            quasi=quasi,
            require=promised,
            sensitive=sensitive,
            hierarchies=hierarchies,
            wildcard=wildcard,
            max_cells=max_cells,
        )
        arguments.warn_of_unmeasured(store, quasi, sensitive, promised)
        return found
    frame, _ = enter(data)
    needed = [name for criterion in promised for name in criterion.needs]
    roles = arguments.roles_of(frame, quasi, (), sensitive, (), None, needed)
    arguments.warn_of_unmeasured(frame, quasi, sensitive, promised)
    trees: dict[str, Any] = {}
    for name, recipe in arguments.recipes_of(frame, hierarchies).items():
        trees[name] = recipe.build(encode(frame.get_column(name))[0])
    return verify_table(frame, roles.quasi, promised, whole=None, hierarchies=trees or None, wildcard=wildcard)


def _solve(
    method: Any,
    micro: Microdata,
    policy: Policy,
    histogram_columns: tuple[str, ...],
    bounds: Mapping[str, Any],
    others: pl.DataFrame,
    say: Progress,
) -> tuple[Cells, np.ndarray, Solution]:
    """Count and search; the cells, the cell of each row, and the solution with the seconds of both."""
    began = time.perf_counter()
    jointly = bool(histogram_columns) and getattr(method, "splits", False)
    cells, of_row = counted(micro, policy.columns, histogram_columns, jointly)
    counting = time.perf_counter() - began
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    say("searching", None)
    solution: Solution = method(Problem(attributes, cells, policy, micro.rows, bounds, say))
    if isinstance(solution.recoding, Partition) and (split := solution.recoding.split) is not None:
        alike = numbered(others, others.columns) if others.width else np.zeros(len(of_row), np.int64)
        cells, of_row = apply_split(cells, split), deal(of_row, split, alike)
    solution = with_ends(Problem(attributes, cells, policy, micro.rows, bounds), solution)
    return cells, of_row, replace(solution, seconds=solution.seconds + counting)


def _assemble(frame: pl.DataFrame, rows: np.ndarray, released: Mapping[str, pl.Series], roles: Roles) -> pl.DataFrame:
    """The released table: columns in input order, identifying ones dropped."""
    every = len(rows) == frame.height
    columns, dropped = {}, set(roles.identifying)
    for name in frame.columns:
        if name in released:
            columns[name] = released[name]
        elif name not in dropped:
            columns[name] = frame.get_column(name) if every else frame.get_column(name).gather(rows)
    return pl.DataFrame(columns)
