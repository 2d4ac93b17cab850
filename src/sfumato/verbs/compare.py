"""The verb compare: many releases of one table, as a map of risk and utility."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato import __version__
from sfumato.comparing.axes import NOTHING_RELEASED, MapAxis, pareto, risk_axis, score, utility_axis
from sfumato.comparing.page import write_maps
from sfumato.comparing.points import (
    SETTLED,
    Case,
    ComparisonPlan,
    Ledger,
    Point,
    Row,
    Stopped,
    attempt,
    finite,
    identity,
    in_parallel,
    open_ledger,
    plan,
)
from sfumato.core import compiled as kernels
from sfumato.core import parameters
from sfumato.core.fingerprint import fingerprint, key
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.microdata import encode
from sfumato.core.parameters import check_progress, whole_number, yes_or_no
from sfumato.core.roles import Roles
from sfumato.core.spelling import normalised, one_spelling
from sfumato.core.wording import count
from sfumato.engines.memory.table import enter
from sfumato.errors import MissingExtra, PolicyError, warn
from sfumato.hierarchies.either import Either
from sfumato.hierarchies.learned import Learned
from sfumato.measures.risk.keys import keys_of
from sfumato.release.ends import ends_named
from sfumato.release.release import Release, losses
from sfumato.release.request import recipes_of, roles_of, warn_of_undecided
from sfumato.search.problem import Progress, quiet
from sfumato.verbs import Names, anonymize

SCHEMA = {
    "search": pl.String,
    "parameters": pl.String,
    "minimised": pl.String,
    "k": pl.Int64,
    "require": pl.String,
    "suppression": pl.Float64,
    "risk": pl.Float64,
    "utility": pl.Float64,
    "loss": pl.Float64,
    "suppressed": pl.Int64,
    "classes": pl.Int64,
    "seconds": pl.Float64,
    "score": pl.Float64,
    "pareto": pl.Boolean,
    "columns": pl.Int64,
    "status": pl.String,
    "reason": pl.String,
}


class CompareWarning(UserWarning):
    """Something about a comparison that is worth knowing and no fault, such as points that are not used again."""


def compare(
    data: Any,
    *,
    quasi: Names | Sequence[Names],
    identifying: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    weight: str | None = None,
    rest: str = "refuse",
    normalise: bool | Sequence[str] = False,
    search: Any = ("mondrian", "optimal"),
    k: Any = None,
    require: Any = (),
    loss: Any = "lm",
    suppression: Any = 0,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    ends: str = "rounded",
    utility: Any = "lm",
    risk: Any = "average",
    dimensions: bool = False,
    extremes: bool = False,
    output: str | Path | None = None,
    seed: int | None = None,
    workers: int = 2,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Release a table in many ways and measure each: a map of risk and utility, with its Pareto front.

    Every search is run with every loss, alternative of `require`, suppression and k, several at a time. What cannot be
    released is a row that says why, and never ends the comparison.

    Parameters
    ----------
    data, quasi, identifying, sensitive, insensitive, weight, rest, normalise, hierarchies, levels, ends: as
        `anonymize` takes them; columns that it would refuse are a RoleWarning.
    search, loss, suppression: one or a list; of losses, what the search keeps low.
    k: one or a list of k of k-anonymity; 2, 5 and 10 where nothing is required otherwise.
    require: criteria beside k, or a list of lists of criteria, which are compared.
    utility: what stands on x: a loss, of which 1 - loss is shown, or a measure as "learning target=disease".
    risk: what stands on y: "average" or "highest" risk of a record, "records-at-risk", another measure or an attack.
    dimensions: also releases by the first quasi-identifier alone, by the first two, and so on: what each further one
        costs. They are rows whose `columns` are fewer, and stand on no front.
    extremes: the two ends of the map as rows of status "end": everything released, and nothing.
    output: a folder for points.jsonl, map.json, map.svg, map.html and, with matplotlib, map.png. A second run with the
        same input goes on from the points that are there.
    seed: of attacks and measures that draw. workers: how many points at a time. progress: as for `anonymize`.

    Returns
    -------
    A Polars frame with one row per point: search, parameters, minimised (the loss kept low), k, require, suppression,
    risk, utility, loss, suppressed, classes, seconds, score (the mean of risk and 1 - utility, least is best), pareto,
    columns (how many quasi-identifiers), status ("done", "infeasible", "refused", "failed"), reason.

    >>> import sfumato as sf
    >>> table = {"age": [31, 32, 58, 59], "sex": ["F", "F", "M", "M"]}
    >>> sf.compare(table, quasi=["age", "sex"], search="mondrian", k=[2, 4]).select("k", "risk", "pareto").rows()
    [(2, 0.5, True), (4, 0.25, True)]

    Duncan, Keller-McNulty, Stokes, Disclosure risk vs. data utility: the R-U confidentiality map, 2001.
    """
    check_progress(progress)
    dimensions, extremes = yes_or_no(dimensions, "dimensions"), yes_or_no(extremes, "extremes")
    workers = whole_number(workers, "workers", 1, 64)
    report_progress = progress or quiet
    frame = enter(data)[0]
    planned = plan(search, loss, require, suppression, k)
    needed = [name for point in planned.points for criterion in point.require for name in criterion.needs]
    roles = roles_of(frame, quasi, identifying, sensitive, insensitive, weight, needed, rest=rest)
    required = [criterion for point in planned.points for criterion in point.criteria]
    warn_of_undecided(frame, roles, required)
    recipes = recipes_of(frame, hierarchies, _columns(roles.quasi))
    hierarchies = _hierarchies(frame, recipes)
    merged = normalised(normalise, frame, roles, hierarchies)
    if dimensions and (len(roles.quasi) > 1 or len(_columns(roles.quasi)) < 2):
        given = count(len(roles.quasi), "set") if len(roles.quasi) > 1 else "one column"
        what = "dimensions takes one set of two or more quasi-identifiers"
        raise PolicyError(what, got=given, hint="name the columns of one set")
    asked = [criterion for point in planned.points for criterion in point.require]
    frame = frame.with_columns(one_spelling([frame.get_column(name) for name in merged], asked).values())
    axes = utility_axis(utility, roles.sensitive), risk_axis(risk, roles.sensitive, roles.weight)
    seed = parameters.seed_of(seed)
    bounds = parameters.levels_of(levels, _columns(roles.quasi))
    task = _Task(frame, roles, recipes, hierarchies, bounds, ends_named(ends), axes[0], axes[1], seed)
    folder = None if output is None else parameters.path_of(output)
    tasks = [task, *(task.narrowed(n) for n in range(1, len(_columns(roles.quasi)) if dimensions else 1))]
    ledger, names = _ledger(tasks, planned, folder)
    kernels.warn_of_compiling(report_progress)
    rows = _all(tasks, planned, ledger, names, int(workers), report_progress)
    document = task.document(planned, rows[: len(planned.points) + 1])
    if dimensions:
        document["dimensions"] = _dimensions(tasks, planned, rows, document["points"])
    if folder is not None:
        report_progress("drawing the map", None)
        try:
            write_maps(folder, document)
        except MissingExtra as error:  # all but the png is there
            warn(CompareWarning(f"map.png is not drawn: {error}"))
    fewer = [p for p in document.get("dimensions", ()) if p["columns"] < len(_columns(roles.quasi))]
    shown = [*document["points"], *fewer, *(ends_of(document) if extremes else ())]
    return pl.DataFrame(shown, schema=SCHEMA)


def ends_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The two ends of a map as rows: all risk and no loss, no risk and all loss."""
    words = {"everything released": document["original"], "nothing released": document["nothing"]}
    return [{**dict.fromkeys(SCHEMA), **end, "search": name, "parameters": "", "minimised": "", "require": "",
             "pareto": False, "status": "end"} for name, end in words.items()]  # fmt: skip


class _Task:
    """What all points share: the table, its roles, and how a release is measured."""

    def __init__(
        self,
        frame: pl.DataFrame,
        roles: Roles,
        recipes: Mapping[str, Any],
        hierarchies: Mapping[str, Any],
        levels: Mapping[str, tuple[int, int]],
        ends: str,
        utility: MapAxis,
        risk: MapAxis,
        seed: int | None,
    ) -> None:
        self.frame, self.roles, self.hierarchies, self.levels = frame, roles, hierarchies, levels
        self.recipes = recipes
        self.ends, self.utility, self.risk, self.seed = ends, utility, risk, seed
        named = {name for name in frame.columns if roles.role(name) is not None}
        self.free = [name for name in frame.columns if name not in named]  # told once, not for every point
        self.built = {name: tree for name, tree in hierarchies.items() if isinstance(tree, Hierarchy)}

    def narrowed(self, n: int) -> _Task:
        """The same of the first n quasi-identifiers; the others are not released."""
        [names] = self.roles.quasi
        gone = set(names[n:]) - set(self.roles.sensitive)
        kept = {name: {k: v for k, v in getattr(self, name).items() if k not in names[n:]} for name in _OF_COLUMNS}
        roles = replace(self.roles, quasi=(names[:n],))
        frame = self.frame.drop(gone)
        return _Task(frame, roles, **kept, ends=self.ends, utility=self.utility, risk=self.risk, seed=self.seed)

    def identity(self) -> dict[str, Any]:
        """All but the rows of the table that the figures of a point depend on."""
        r = self.roles
        hierarchies = {name: _printed(tree, self.frame.get_column(name)) for name, tree in self.hierarchies.items()}
        columns = [list(r.identifying), [list(q) for q in r.quasi], list(r.sensitive), list(r.insensitive), r.weight]
        levels = {name: list(pair) for name, pair in self.levels.items()}
        axes = [self.utility.text, self.risk.text]
        more = {"levels": levels, "ends": self.ends, "axes": axes, "seed": self.seed}
        return {"columns": columns, "hierarchies": hierarchies, **more}

    def release(self, point: Point, stop: threading.Event) -> Row:
        """Make a release and measure it."""

        def tell(message: str, share: float | None) -> None:
            if stop.is_set():
                raise Stopped

        r = self.roles
        bare = set(r.sensitive) - {name for criterion in point.criteria for name in criterion.needs}
        release = anonymize(
            self.frame, quasi=r.quasi, identifying=r.identifying, sensitive=r.sensitive,
            insensitive=(*r.insensitive, *self.free), weight=r.weight, unprotected=sorted(bare),
            require=point.criteria, search=point.search,
            loss=point.loss, suppression=point.suppression, hierarchies=self.hierarchies, levels=self.levels,
            ends=self.ends, seed=self.seed, progress=tell,
        )  # fmt: skip
        assert release.rows is not None  # the table is in memory
        tell("measuring", None)
        verdict = release.solution.verdict
        asked = replace(release.request, recipes=self.recipes)  # a tree that was built has all values as leaves
        told = partial(_told, replace(release, request=asked))
        case = self.case(release.table, release.rows, point.k, told)
        return {
            "risk": finite(self.risk.measure(case)),
            "utility": finite(self.utility.measure(case)),
            "loss": told(point.loss),
            "suppressed": verdict.suppressed,
            "classes": len(keys_of(release.table, list(case.columns)).classes),
            "seconds": round(release.solution.seconds, 3),
        }

    def as_it_is(self, stop: threading.Event) -> Row:
        """The same figures of the table before anything is done to it."""
        table = self.frame.drop(self.roles.identifying)
        case = self.case(table, np.arange(table.height))
        return {"risk": finite(self.risk.measure(case)), "utility": finite(self.utility.measure(case))}

    def case(
        self,
        table: pl.DataFrame,
        rows: np.ndarray,
        k: int | None = None,
        told: Callable[[Any], float | None] | None = None,
    ) -> Case:
        r = self.roles
        return Case(self.frame, table, rows, r.quasi, r.sensitive, r.weight, self.built, self.seed or 0, k, told)

    def document(self, planned: ComparisonPlan, found: Sequence[Row]) -> dict[str, Any]:
        """What is drawn and written: plain values, none of them from the table."""
        original, *rows = found
        front = pareto([row["utility"] for row in rows], [row["risk"] for row in rows])
        points = [
            self.point(point, row) | {"pareto": on} for point, row, on in zip(planned.points, rows, front, strict=True)
        ]
        return {
            "sfumato": __version__,
            "format": 1,
            "rows": self.frame.height,
            "quasi": [list(names) for names in self.roles.quasi],
            "sensitive": list(self.roles.sensitive),
            "utility": {"measure": self.utility.text, "label": self.utility.label},
            "risk": {"measure": self.risk.text, "label": self.risk.label},
            "seed": self.seed,
            "swept": planned.swept,
            "original": _scored({"risk": original.get("risk"), "utility": original.get("utility")}),
            "nothing": _scored(NOTHING_RELEASED),
            "points": [{name: point[name] for name in SCHEMA} for point in points],
        }

    def point(self, point: Point, row: Row) -> Row:
        """A point and its figures."""
        own = {name: row[name] for name in SCHEMA if name in row}
        return _scored({**point.words(), **own, "pareto": False, "columns": len(_columns(self.roles.quasi))})


_OF_COLUMNS = ("recipes", "hierarchies", "levels")


def _scored(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "score": score(row["utility"], row["risk"])}


def _dimensions(
    tasks: Sequence[_Task], planned: ComparisonPlan, rows: Sequence[Row], points: Sequence[Row]
) -> list[Row]:
    """The points of one quasi-identifier, of two, and so on to all of them."""
    size = len(planned.points)
    found = []
    for i, task in enumerate(tasks[1:]):
        mine = rows[1 + size * (i + 1) : 1 + size * (i + 2)]
        found += [task.point(point, row) for point, row in zip(planned.points, mine, strict=True)]
    return [{name: point[name] for name in SCHEMA} for point in (*found, *points)]


def _told(release: Release, loss: Any) -> float | None:
    """A loss of a release as its rows and labels alone tell it; None where they do not."""
    found = losses(release.shown, replace(release.policy, loss=loss))[0]
    return None if found is None else finite(found)


def _all(
    tasks: Sequence[_Task],
    planned: ComparisonPlan,
    ledger: Ledger,
    names: Sequence[str],
    workers: int,
    report_progress: Callable[[str, Any], None],
) -> list[Row]:
    """The rows of the table as it is and of every point: those in the ledger, and the others run and kept."""
    works: list[Callable[[threading.Event], Row]] = [tasks[0].as_it_is]
    works += [partial(task.release, point) for task in tasks for point in planned.points]
    missing = [i for i, name in enumerate(names) if name not in ledger.known]

    def settle(i: int, stop: threading.Event) -> Row:
        if stop.is_set():
            raise Stopped
        # what does not fit the table as it is, such as a measure of numbers, fits no release: raised, not a row
        row = attempt(partial(works[i], stop)) if i else {**works[0](stop), "status": "done"}
        if row["status"] in SETTLED:
            ledger.add(names[i], row)
        return row

    total, left = len(works) - 1, len([i for i in missing if i])

    def told(row: Row) -> None:
        nonlocal left
        left -= 1
        report_progress(f"{total - left} of {total} releases measured", (total - left) / total)

    report_progress(
        f"{total - left} of {total} releases are there already" if left < total else f"{total} releases to make", None
    )
    first, rest = [i for i in missing if i == 0], [i for i in missing if i]
    rows = in_parallel([partial(settle, i) for i in first], 1, lambda row: None)
    rows += in_parallel([partial(settle, i) for i in rest], workers, told)
    new = dict(zip(missing, rows, strict=True))
    return [new[i] if i in new else ledger.known[name] for i, name in enumerate(names)]


def _ledger(tasks: Sequence[_Task], planned: ComparisonPlan, folder: Path | None) -> tuple[Ledger, list[str]]:
    """The finished points of the folder, and the name of each point of this run, the table as it is first."""
    secret = key()
    if secret is None:
        secret = secrets.token_bytes(32)
        if folder is not None:
            message = "there is no place for a key, so that a later run cannot use these points; set SFUMATO_KEY"
            warn(CompareWarning(message))
    source = identity(secret, {"version": __version__, "table": fingerprint(tasks[0].frame, secret)})
    ledger, why = open_ledger(folder, source)
    if why is not None:
        warn(CompareWarning(why))
    shared = [{"source": source, **task.identity()} for task in tasks]
    points = [point.identity() for point in planned.points]
    names = [identity(secret, own | {"point": point}) for own in shared for point in points]
    return ledger, [identity(secret, shared[0] | {"point": {"original": True}}), *names]


def _hierarchies(frame: pl.DataFrame, recipes: Mapping[str, Any]) -> dict[str, Any]:
    """The hierarchies, built once; alternatives stay a recipe, and what is learned, for it is none that was given."""
    return {
        name: recipe if isinstance(recipe, Either | Learned) else recipe.build(encode(frame.get_column(name))[0])
        for name, recipe in recipes.items()
    }


def _printed(tree: Any, column: pl.Series) -> str:
    if isinstance(tree, Either):
        return repr([_printed(one.build(encode(column)[0]), column) for one in tree.alternatives])
    if not isinstance(tree, Hierarchy):
        return repr(tree)
    text = repr((tree.labels, tree.ancestor.shape)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text + tree.ancestor.tobytes()).hexdigest()


def _columns(quasi: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in quasi for name in names))
