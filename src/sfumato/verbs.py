"""The verbs: read, anonymize, verify. Each does one thing to a table and returns a value."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato import kernels
from sfumato.cells import Cells, classes_of, count_cells, count_histogram
from sfumato.criteria import CRITERIA, parse
from sfumato.engines.files import read
from sfumato.engines.frames import enter, leave
from sfumato.engines.printed import printed
from sfumato.errors import BrokenPromise, ColumnError, Infeasible, PolicyError, did_you_mean
from sfumato.fingerprint import secret_seed
from sfumato.hierarchies import parse as parse_hierarchy
from sfumato.losses import loss as parse_loss
from sfumato.measures.verify import Verification, verify_folder, verify_table
from sfumato.microdata import Microdata, microdata
from sfumato.policy import Policy, holds
from sfumato.recode import recode
from sfumato.release import Release
from sfumato.roles import Roles, check_roles, looks_identifying
from sfumato.search import search as parse_search
from sfumato.search import search_name
from sfumato.search.problem import Problem, Progress, Solution, quiet

__all__ = ["anonymize", "read", "verify"]

Names = Sequence[str]


class RoleWarning(UserWarning):
    """A column without a role looks as if it identified people."""


def anonymize(
    data: Any,
    *,
    quasi: Names | Sequence[Names],
    identifying: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    weight: str | None = None,
    require: Iterable[Any] | Any = (),
    search: Any = "mondrian",
    loss: Any = "lm",
    suppression: float | int = 0,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    seed: int | None = None,
    shuffle: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Blur a table until it satisfies the criteria, and prove it from the released rows.

    Parameters
    ----------
    data: a pandas, Polars or PyArrow frame, or the path of a file. It is never modified.
    quasi: the quasi-identifiers, or several sets of them; every criterion holds for each set.
    identifying: columns to drop. sensitive: columns whose values are protected. insensitive: released as they are;
        columns without a role are too, with a warning where they look identifying. weight: survey weights.
    require: criteria, such as `KAnonymity(10)`, or their shell form, such as "entropy-l-diversity disease 3".
    search, loss: a name or a value. suppression: a share of the rows (float) or a count (int).
    hierarchies: column to recipe, file, or their short forms. levels: column to (least, greatest) level.
    seed: for shuffling. progress: called with a message and a share of the work.

    Raises
    ------
    PolicyError, ColumnError: what is asked makes no sense. Infeasible: no recoding meets the policy.

    >>> import sfumato as sf
    >>> table = {"age": [31, 32, 58, 59], "sex": ["F", "F", "M", "M"]}
    >>> sf.anonymize(table, quasi=["age", "sex"], require=sf.KAnonymity(2)).table["age"].to_list()
    ['[31, 32]', '[31, 32]', '[58, 59]', '[58, 59]']
    """
    say = progress or quiet
    frame, kind = enter(data)
    criteria = _criteria(require)
    roles = _roles(frame, quasi, identifying, sensitive, insensitive, weight, criteria)
    policy = Policy(roles.quasi, criteria, suppression, parse_loss(loss))
    method = parse_search(search)
    policy.limit(frame.height)
    recipes = _recipes(frame, hierarchies or {})
    bounds = _levels(levels or {}, policy.columns)
    _check_size(policy, frame.height)
    if not kernels.compiled():
        say("compiling kernels, once on this machine (about 15 seconds)", None)
    say("reading the columns", None)
    looks_at = _looks_at(frame, method, policy, roles)
    micro = _encode(frame, policy, roles, recipes, looks_at)
    began = time.perf_counter()
    cells, of_row = _count(micro, policy, looks_at)
    counted = time.perf_counter() - began
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    say("searching", None)
    solution: Solution = method(Problem(attributes, cells, policy, frame.height, bounds, say))
    solution = replace(solution, seconds=solution.seconds + counted)
    say("recoding", None)
    rows, released = recode(frame, micro, solution, of_row, policy.columns)
    if shuffle:
        order = np.random.default_rng(secret_seed(seed)).permutation(len(rows))
        rows, released = rows[order], {name: column.gather(order) for name, column in released.items()}
    untouched = [name for name in frame.columns if name not in released and name not in roles.identifying]
    table = _assemble(frame, rows, released, roles, policy)
    say("verifying", None)
    whole = {name: _distribution(micro, name) for name in policy.needs}
    trees = {name: h for name in policy.needs if (h := micro.attribute(name).hierarchy) is not None}
    verification = verify_table(
        table, [list(names) for names in policy.quasi], criteria, whole=whole, hierarchies=trees
    )
    if not verification.holds:
        broken = ", ".join(promise.model for promise in verification.promises if not promise.holds)
        raise BrokenPromise(f"the release does not keep {broken}, so it is not released. This is a fault of Sfumato")
    return Release(
        data=leave(table, data, kind, rows, untouched),
        solution=solution,
        policy=policy,
        verification=verification,
        table=table,
        microdata=micro,
        roles=roles,
        search=method,
        recipes={name: recipe.describe() for name, recipe in recipes.items()},
        levels=bounds,
        whole=whole if _publishable(policy, cells, solution) else None,
        original=frame,
        seed=seed,
    )


def verify(
    data: Any,
    *,
    quasi: Names | Sequence[Names] | None = None,
    require: Iterable[Any] | Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
) -> Verification:
    """Which promises a release keeps, from its rows alone.

    `data` is the folder of a release (its manifest says what was promised), or any table of any tool with `quasi` and
    `require`. With `wildcard`, missing quasi-identifiers match anything (k-anonymity and distinct l-diversity only).

    >>> import sfumato as sf
    >>> sf.verify({"age": ["3*", "3*", "58"]}, quasi=["age"], require=sf.KAnonymity(2)).holds
    False
    """
    if isinstance(data, str | Path) and Path(data).is_dir() and require is None and quasi is None:
        return verify_folder(Path(data))
    if quasi is None or require is None:
        raise PolicyError("verify needs a release folder, or a table with quasi and require")
    frame, _ = enter(data)
    criteria = _criteria(require)
    roles = _roles(frame, quasi, (), (), (), None, criteria, warn=False)
    trees: dict[str, Any] = {}
    for name, recipe in _recipes(frame, hierarchies or {}).items():
        trees[name] = microdata(frame.select(name), {name: "sensitive"}, {name: recipe}).attribute(name).hierarchy
    return verify_table(
        frame,
        [list(names) for names in roles.quasi],
        criteria,
        whole=None,
        hierarchies=trees or None,
        wildcard=wildcard,
    )


def _criteria(require: Any) -> tuple[Any, ...]:
    """Criteria from values and shell forms; one alone is a list of one."""
    known = tuple(variant.make for variant in CRITERIA.values())
    if isinstance(require, str) or type(require) in known:
        require = [require]
    found = tuple(parse(c) if isinstance(c, str) else c for c in require)
    for criterion in found:
        if type(criterion) not in known:
            raise PolicyError("not a criterion", got=type(criterion).__name__, allowed=", ".join(CRITERIA))
    if not found:
        raise PolicyError(
            "nothing is required of the release",
            allowed=", ".join(CRITERIA),
            hint="for example require=[sf.KAnonymity(10)]",
        )
    return found


def _roles(
    frame: pl.DataFrame,
    quasi: Any,
    identifying: Any,
    sensitive: Any,
    insensitive: Any,
    weight: str | None,
    criteria: tuple[Any, ...],
    warn: bool = True,
) -> Roles:
    """The roles, checked against the table and each other."""
    sets = [quasi] if isinstance(quasi, str) else list(quasi)
    if not sets or isinstance(sets[0], str):
        sets = [sets]
    needed = tuple(name for criterion in criteria for name in criterion.needs)
    protected = tuple(dict.fromkeys((*_names(sensitive), *needed)))
    roles = Roles(_names(identifying), tuple(_names(s) for s in sets), protected, _names(insensitive), weight)
    faults = check_roles(frame.columns, roles)
    if faults:
        raise ColumnError(faults[0]) if len(faults) == 1 else PolicyError("the roles do not fit the table:", faults)
    if warn:
        for name in dict.fromkeys((*(n for s in roles.quasi for n in s), *protected)):
            if printed(frame.get_column(name)).null_count() == frame.height:
                raise ColumnError(f'column "{name}" is empty: it has no value in any row', hint="leave it out")
        given = {*roles.identifying, *roles.sensitive, *roles.insensitive, weight, *(n for s in roles.quasi for n in s)}
        free = [name for name in frame.columns if name not in given]
        if found := looks_identifying(frame, free):
            listed = ", ".join(f'"{name}"' for name in found)
            warnings.warn(
                RoleWarning(
                    f"released as they are, but look identifying: {listed}. Name them in identifying, or in insensitive"
                ),
                stacklevel=3,
            )
    return roles


def _names(given: Any) -> tuple[str, ...]:
    """Column names as a tuple; one alone is a tuple of one."""
    return (given,) if isinstance(given, str) else tuple(given)


def _recipes(frame: pl.DataFrame, hierarchies: Mapping[str, Any]) -> dict[str, Any]:
    for name in hierarchies:
        if name not in frame.columns:
            raise ColumnError(
                f'there is a hierarchy for column "{name}", which the table does not have',
                hint=did_you_mean(name, frame.columns),
            )
    return {name: parse_hierarchy(spec) for name, spec in hierarchies.items()}


def _levels(levels: Mapping[str, Any], columns: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    found = {}
    for name, bounds in levels.items():
        if name not in columns:
            raise ColumnError(
                f'levels are set for "{name}", which is not a quasi-identifier', hint=did_you_mean(name, columns)
            )
        pair = (bounds, bounds) if isinstance(bounds, int) else tuple(bounds)
        if len(pair) != 2 or not all(isinstance(level, int) for level in pair):
            raise PolicyError(
                f'levels of "{name}" must be a least and a greatest level', got=bounds, allowed="for example (1, 3)"
            )
        found[name] = (pair[0], pair[1])
    return found


def _check_size(policy: Policy, rows: int) -> None:
    """No table can have a class larger than itself."""
    for criterion in policy.require:
        if criterion.least_size > rows:
            raise Infeasible(
                f"{type(criterion).__name__} asks for classes of at least {criterion.least_size} rows",
                got=f"a table of {rows}",
                allowed=f"at most {rows}",
                closest={"suppressed": rows},
            )


def _looks_at(frame: pl.DataFrame, search: Any, policy: Policy, roles: Roles) -> tuple[str, ...]:
    """The columns whose histograms the criteria or the search need, such as a class attribute."""
    wanted = tuple(getattr(search, "needs", ()))
    for name in wanted:
        if name not in frame.columns or name in roles.identifying or name in policy.columns:
            raise ColumnError(
                f'{search_name(search)} needs a column "{name}" that is released and not a quasi-identifier',
                hint=did_you_mean(name, frame.columns),
            )
    return tuple(dict.fromkeys((*policy.needs, *wanted)))


def _encode(
    frame: pl.DataFrame, policy: Policy, roles: Roles, recipes: Mapping[str, Any], looks_at: tuple[str, ...]
) -> Microdata:
    wanted = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(looks_at, "sensitive")
    weights = None
    if roles.weight is not None:
        column = frame.get_column(roles.weight).cast(pl.Float64, strict=False)
        if column.null_count() or not bool((column > 0).all()) or not bool(column.is_finite().all()):
            raise ColumnError(f'the weights in column "{roles.weight}" must be numbers above 0, with none missing')
        weights = column.to_numpy()
    return microdata(frame, wanted, recipes, weights)


def _count(micro: Microdata, policy: Policy, looks_at: tuple[str, ...]) -> tuple[Cells, np.ndarray]:
    """Cells over all quasi-identifiers, with the histograms that the criteria or the search need."""
    columns = [micro.attribute(name) for name in policy.columns]
    cells, of_row = count_cells(
        policy.columns, [micro.codes[a.name] for a in columns], [len(a.categories) for a in columns]
    )
    histograms = {}
    for name in looks_at:
        attribute = micro.attribute(name)
        ancestor = None if attribute.hierarchy is None else attribute.ladder.of
        histograms[name] = count_histogram(of_row, len(cells), micro.codes[name], attribute.categories.text, ancestor)
    return replace(cells, histograms=histograms), of_row


def _assemble(
    frame: pl.DataFrame, rows: np.ndarray, released: Mapping[str, pl.Series], roles: Roles, policy: Policy
) -> pl.DataFrame:
    """The released table: columns in input order, identifying ones dropped."""
    columns = []
    for name in frame.columns:
        if name in released:
            columns.append(released[name])
        elif name not in roles.identifying:
            columns.append(
                frame.get_column(name)
                if len(rows) == frame.height and _in_order(rows)
                else frame.get_column(name).gather(rows)
            )
    return pl.DataFrame(columns)


def _in_order(rows: np.ndarray) -> bool:
    return len(rows) < 2 or bool((rows[1:] > rows[:-1]).all())


def _distribution(micro: Microdata, name: str) -> dict[str, int]:
    """Printed value to rows in the whole table; the empty string stands for missing."""
    categories = micro.attribute(name).categories
    return {(text or ""): int(n) for text, n in zip(categories.text, categories.count, strict=True)}


def _publishable(policy: Policy, cells: Cells, solution: Solution) -> bool:
    """Whether the whole distribution may be published: it gives the suppressed rows away, as one class, so they must
    satisfy the policy too."""
    gone = np.flatnonzero(~solution.kept)
    if not len(gone):
        return True
    if not policy.needs:
        return True
    rest = classes_of(cells.take(gone), np.zeros(len(gone), np.int32), 1)
    return bool(holds(policy.require, rest).all())
