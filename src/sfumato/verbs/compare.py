"""The verb compare: many releases of one table, as a map of risk and utility."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from sfumato import __version__
from sfumato.comparing.axes import (
    AXES_OF_BOTH,
    NOTHING_RELEASED,
    USUAL_AXES,
    MapAxis,
    pareto,
    risk_axis,
    score,
    utility_axis,
)
from sfumato.comparing.page import write_maps
from sfumato.comparing.points import (
    MASKING,
    SETTLED,
    SYNTHESIS,
    Case,
    ChangedPoint,
    ComparisonPlan,
    Ledger,
    Point,
    Row,
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
from sfumato.core.generators import Generator
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.masked import typed
from sfumato.core.microdata import encode
from sfumato.core.parameters import whole_number, yes_or_no
from sfumato.core.progress import Progress, cancellable, check_cancelled, quiet
from sfumato.core.roles import Roles
from sfumato.core.spelling import normalised, one_spelling
from sfumato.core.wording import count
from sfumato.engines.memory.table import enter
from sfumato.errors import MissingExtra, PolicyError, warn
from sfumato.hierarchies.either import Either
from sfumato.hierarchies.learned import Learned
from sfumato.masking.run import with_columns
from sfumato.measures.risk.keys import keys_of
from sfumato.release.changed import ChangedRelease
from sfumato.release.ends import ends_named
from sfumato.release.fragmented import rejoined
from sfumato.release.recoded import Recoded, losses
from sfumato.release.release_set import ReleaseSet
from sfumato.release.request import recipes_of, roles_of, warn_of_undecided
from sfumato.verbs import Names, anonymize
from sfumato.verbs.mask import mask as mask_table
from sfumato.verbs.steps import forms_of, masks_of, named_in, swept
from sfumato.verbs.synthesize import generator_of
from sfumato.verbs.synthesize import synthesize as synthesize_table

SCHEMA = {
    "family": pl.String,
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


@cancellable
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
    mask: Any = (),
    synthesize: Any = (),
    k: Any = None,
    require: Any = (),
    loss: Any = "lm",
    suppression: Any = 0,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    ends: str = "rounded",
    utility: Any = None,
    risk: Any = None,
    dimensions: bool = False,
    extremes: bool = False,
    output: str | Path | None = None,
    seed: int | None = None,
    workers: int = 2,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Release a table in many ways and measure each: a map of risk and utility, with its Pareto front.

    Every search is run with every loss, alternative of `require`, suppression and k, and every list of steps of masking
    and every generator once, several at a time. What cannot be released is a row that says why, and never ends the
    comparison.

    Parameters
    ----------
    data, quasi, identifying, sensitive, insensitive, weight, rest, normalise, hierarchies, levels, ends: as
        `anonymize` takes them; columns that it would refuse are a RoleWarning.
    search, loss, suppression: one or a list; of losses, what the search keeps low.
    mask: a list of points, each a step of masking, a list of steps, or its shell form: "rank-swapping p={5,15}" is two.
        Steps that name no columns change the quasi-identifiers that fit them. Nothing is required of these points. With
        them `search` may be empty.
    synthesize: a list of generators, each a value, or its shell form: "sequential-trees leaf={5,20}" is two. As many
        rows are drawn as there are, of all columns. Nothing is required of these points, either.
    k: one or a list of k of k-anonymity; 2, 5 and 10 where nothing is required otherwise.
    require: criteria beside k, or a list of lists of criteria, which are compared.
    utility: what stands on x: a loss, of which 1 - loss is shown, or a measure as "learning target=disease"; "lm" where
        nothing is masked or drawn, else "query-error statistic=mean", which means the same for labels and for values
        that are others.
    risk: what stands on y: "average" or "highest" risk of a record, "records-at-risk", another measure or an attack;
        "average" where nothing is masked or drawn, else "linkage". What counts classes is empty where values were
        changed, and what asks for the row that a row came from is empty where rows were drawn: of these "linkage" tells
        how well people whom the model saw are told from people whom it did not.
    dimensions: also releases by the first quasi-identifier alone, by the first two, and so on: what each further one
        costs. They are rows whose `columns` are fewer, and stand on no front.
    extremes: the two ends of the map as rows of status "end": everything released, and nothing.
    output: a folder for points.jsonl, map.json, map.svg, map.html and, with matplotlib, map.png. A second run with the
        same input goes on from the points that are there.
    seed: of maskers, generators, attacks and measures that draw, 0 unless given. workers: how many points at a time.
    progress: as for `anonymize`.

    Returns
    -------
    A Polars frame with one row per point: family ("recoding", "masking", "synthesis"), search (or the steps, or the
    generator), parameters,
    minimised (the loss kept low), k, require, suppression, risk, utility, loss, suppressed, classes, seconds, score
    (the mean of risk and 1 - utility, least is best), pareto, columns (how many quasi-identifiers), status ("done",
    "infeasible", "refused", "failed"), reason.

    >>> import sfumato as sf
    >>> table = {"age": [31, 32, 58, 59], "sex": ["F", "F", "M", "M"]}
    >>> sf.compare(table, quasi=["age", "sex"], search="mondrian", k=[2, 4]).select("k", "risk", "pareto").rows()
    [(2, 0.5, True), (4, 0.25, True)]

    Duncan, Keller-McNulty, Stokes, Disclosure risk vs. data utility: the R-U confidentiality map, 2001.
    """
    dimensions, extremes = yes_or_no(dimensions, "dimensions"), yes_or_no(extremes, "extremes")
    workers = whole_number(workers, "workers", 1, 64)
    report_progress = progress or quiet
    frame = enter(data)[0]
    masks = masks_of(mask) if not isinstance(mask, list | tuple) or mask else []
    generators = generators_of(synthesize) if not isinstance(synthesize, list | tuple) or synthesize else []
    changed = [
        ChangedPoint(MASKING, steps, told=named_in(form)) for steps, form in zip(masks, forms_of(mask), strict=True)
    ]
    changed += [
        ChangedPoint(SYNTHESIS, (one,), told=named_in(form))
        for one, form in zip(generators, generator_forms(synthesize), strict=True)
    ]
    planned = plan(search, loss, require, suppression, k, changed)
    usual = AXES_OF_BOTH if changed else USUAL_AXES
    utility, risk = usual[0] if utility is None else utility, usual[1] if risk is None else risk
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
    if dimensions and changed:
        what = "dimensions are those of a search, and take no mask and no generator"
        raise PolicyError(what, hint="compare maskers and generators without them")
    asked = [criterion for point in planned.points for criterion in point.require]
    frame = frame.with_columns(one_spelling([frame.get_column(name) for name in merged], asked).values())
    axes = utility_axis(utility, roles.sensitive), risk_axis(risk, roles.sensitive, roles.weight)
    seed = parameters.seed_of(seed)
    bounds = parameters.levels_of(levels, _columns(roles.quasi))
    named = (*_columns(roles.quasi), *roles.sensitive, *(name for steps in masks for s in steps for name in s.columns))
    apart = {*roles.identifying, roles.weight}
    analysed = tuple(name for name in dict.fromkeys(named) if name in frame.columns and name not in apart)
    task = _Task(frame, roles, recipes, hierarchies, bounds, ends_named(ends), axes[0], axes[1], seed, analysed)
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


def generators_of(given: Any) -> list[Generator]:
    """Generators to compare, each a value or a text, in which leaf={5,20} stands for one with 5 and one with 20.

    >>> generators_of("bootstrap")
    [Bootstrap()]
    """
    return [generator_of(one) for one in generator_forms(given)]


def generator_forms(given: Any) -> list[Any]:
    """Generators as they were written, one by one."""
    listed = list(given) if isinstance(given, list | tuple) else [given]
    texts = [["; ".join(steps) for steps in swept(one)] if isinstance(one, str) else [one] for one in listed]
    return list(chain.from_iterable(texts))


def ends_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The two ends of a map as rows: all risk and no loss, no risk and all loss."""
    words = {"everything released": document["original"], "nothing released": document["nothing"]}
    return [{**dict.fromkeys(SCHEMA), **end, "family": "", "search": name, "parameters": "", "minimised": "",
             "require": "", "pareto": False, "status": "end"} for name, end in words.items()]  # fmt: skip


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
        analysed: tuple[str, ...],
    ) -> None:
        self.frame, self.roles, self.hierarchies, self.levels = frame, roles, hierarchies, levels
        self.recipes = recipes
        self.ends, self.utility, self.risk, self.seed, self.analysed = ends, utility, risk, seed, analysed
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
        analysed = tuple(name for name in self.analysed if name not in gone)
        return _Task(
            frame, roles, kept["recipes"], kept["hierarchies"], kept["levels"], self.ends, self.utility, self.risk,
            self.seed, analysed,
        )  # fmt: skip

    def identity(self) -> dict[str, Any]:
        """All but the rows of the table that the figures of a point depend on."""
        r = self.roles
        hierarchies = {name: _printed(tree, self.frame.get_column(name)) for name, tree in self.hierarchies.items()}
        columns = [list(r.identifying), [list(q) for q in r.quasi], list(r.sensitive), list(r.insensitive), r.weight]
        levels = {name: list(pair) for name, pair in self.levels.items()}
        axes = [self.utility.text, self.risk.text]
        more = {"levels": levels, "ends": self.ends, "axes": axes, "seed": self.seed, "analysed": self.analysed}
        return {"columns": columns, "hierarchies": hierarchies, **more}

    def release(self, point: Point | ChangedPoint) -> Row:
        """Make a release and measure it."""
        if isinstance(point, Point):
            return self.recoded(point)
        return self.masked(point) if point.family == MASKING else self.synthetic(point)

    def recoded(self, point: Point) -> Row:
        """The figures of a release by a search."""
        r = self.roles
        bare = set(r.sensitive) - {name for criterion in point.criteria for name in criterion.needs}
        release: Recoded | ReleaseSet = anonymize(
            self.frame, quasi=r.quasi, identifying=r.identifying, sensitive=r.sensitive,
            insensitive=(*r.insensitive, *self.free), weight=r.weight, unprotected=sorted(bare),
            require=point.criteria, search=point.search,
            loss=point.loss, suppression=point.suppression, hierarchies=self.hierarchies, levels=self.levels,
            ends=self.ends, seed=self.seed,
        )  # fmt: skip
        assert release.rows is not None  # the table is in memory
        check_cancelled()
        if isinstance(release, ReleaseSet):
            return self.taken_apart(release)
        verdict = release.solution.verdict
        asked = replace(release.request, recipes=self.recipes)  # a tree that was built has all values as leaves
        told = partial(_told, replace(release, request=asked))
        case = self.case(release.table, release.rows, point.k, told)
        return {
            **self.measured(case),
            "loss": told(point.loss),
            "suppressed": verdict.suppressed,
            "classes": len(keys_of(release.table, list(case.columns)).classes),
            "seconds": round(release.solution.seconds, 3),
        }

    def taken_apart(self, release: ReleaseSet) -> Row:
        """The figures of a release in several tables, as readers put them together: to a row any value of its group."""
        rows = release.rows
        table = rejoined(release, self.seed or 0).select(
            n for n in self.frame.columns if n not in self.roles.identifying
        )
        shown = release.parts[0].frame.columns
        held = tuple(name for name in table.columns if name not in shown)  # which were put beside the first table
        case = replace(self.case(table, rows), perturbed=held, sampled=table.height < self.frame.height)
        verdict = release.solution.verdict
        return {
            **self.measured(case),
            "loss": None,
            "suppressed": verdict.suppressed,
            "classes": len(keys_of(table, list(case.columns)).classes),
            "seconds": round(release.solution.seconds, 3),
        }

    def masked(self, point: ChangedPoint) -> Row:
        """The figures of a release by steps; those that name no columns change quasi-identifiers."""
        apart = set(self.frame.columns) - set(_columns(self.roles.quasi))
        steps: Any = [with_columns(cast(Any, step), self.typed, sorted(apart)) for step in point.steps]
        start = time.perf_counter()
        release = mask_table(self.frame, steps, weight=self.roles.weight, **self.asked)
        seconds = time.perf_counter() - start
        assert release.rows is not None  # the table is in memory
        return self.figures(release, self.case(release.table, release.rows), seconds)

    def synthetic(self, point: ChangedPoint) -> Row:
        """The figures of a release by a generator, with as many rows as the table has."""
        [generator] = point.steps
        start = time.perf_counter()
        release = synthesize_table(self.frame, generator, **self.asked)
        seconds = time.perf_counter() - start
        case = replace(
            self.case(release.table, None), learnt_from=release.learnt_from, hold_out=release.hold_out
        )  # fmt: skip
        return self.figures(release, case, seconds)

    @property
    def asked(self) -> dict[str, Any]:
        """What masking and generators are told of the columns."""
        r = self.roles
        return {
            "quasi": r.quasi,
            "identifying": r.identifying,
            "sensitive": r.sensitive,
            "insensitive": (*r.insensitive, *self.free),
            "rest": "release",
            "hierarchies": self.recipes,
            "seed": self.seed or 0,
        }

    def figures(self, release: ChangedRelease, found: Case, seconds: float) -> Row:
        """The figures of a release whose values are others than people's."""
        check_cancelled()
        changed = tuple(name for name in release.perturbed if name in release.table.columns)
        gone = self.frame.height - release.table.height
        ranks = [fact for fact in release.facts if fact.fact == "ranks"]
        windows = {name: float(fact.parameters["percent"]) for fact in ranks for name in fact.columns}
        case = replace(found, perturbed=changed, windows=windows, sampled=gone > 0)
        return {
            **self.measured(case),
            "loss": None,
            "suppressed": None if found.rows is None else gone,
            "classes": None,
            "seconds": round(seconds, 3),
        }

    def measured(self, case: Case) -> Row:
        """The figures on both axes, and why one of them is empty."""
        axes = {"risk": self.risk, "utility": self.utility}
        blind = {name: why for name, axis in axes.items() if (why := axis.blind(case)) is not None}
        found = {name: None if name in blind else finite(axis.measure(case)) for name, axis in axes.items()}
        return {**found, "reason": "; ".join(f"{axes[name].text}: {why}" for name, why in blind.items()) or None}

    @cached_property
    def typed(self) -> pl.DataFrame:
        """The table as maskers see it: texts that are numbers, or dates, as such."""
        return typed(self.frame)

    def as_it_is(self) -> Row:
        """The same figures of the table before anything is done to it."""
        table = self.frame.drop(self.roles.identifying)
        case = replace(self.case(table, np.arange(table.height)), learnt_from=table)
        return self.measured(case)

    def case(
        self,
        table: pl.DataFrame,
        rows: np.ndarray | None,
        k: int | None = None,
        told: Callable[[Any], float | None] | None = None,
    ) -> Case:
        r = self.roles
        return Case(
            self.frame, table, rows, r.quasi, r.sensitive, r.weight, self.built, self.seed or 0, k, told, self.analysed
        )

    def document(self, planned: ComparisonPlan, found: Sequence[Row]) -> dict[str, Any]:
        """What is drawn and written: plain values, none of them from the table."""
        original, *rows = found
        front = pareto([row["utility"] for row in rows], [row["risk"] for row in rows])
        points = [
            self.point(point, row) | {"pareto": on} for point, row, on in zip(planned.points, rows, front, strict=True)
        ]
        drawn = any(point.family == SYNTHESIS for point in planned.points)
        other = {"of_synthetic": self.risk.of_synthetic} if drawn and self.risk.of_synthetic else {}
        return {
            "sfumato": __version__,
            "format": 1,
            "rows": self.frame.height,
            "quasi": [list(names) for names in self.roles.quasi],
            "sensitive": list(self.roles.sensitive),
            "utility": {"measure": self.utility.text, "label": self.utility.label},
            "risk": {"measure": self.risk.text, "label": self.risk.label, **other},
            "seed": self.seed,
            "swept": planned.swept,
            "original": _scored({"risk": original.get("risk"), "utility": original.get("utility")}),
            "nothing": _scored(NOTHING_RELEASED),
            "points": [{name: point[name] for name in SCHEMA} for point in points],
        }

    def point(self, point: Point | ChangedPoint, row: Row) -> Row:
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


def _told(release: Recoded, loss: Any) -> float | None:
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
    works: list[Callable[[], Row]] = [tasks[0].as_it_is]
    works += [partial(task.release, point) for task in tasks for point in planned.points]
    missing = [i for i, name in enumerate(names) if name not in ledger.known]

    def settle(i: int) -> Row:
        check_cancelled()
        # what does not fit the table as it is, such as a measure of numbers, fits no release: raised, not a row
        row = attempt(works[i]) if i else {**works[0](), "status": "done"}
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
