"""The full-domain and domain-recoding searches on Adult, and lightning on a table of twenty attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, cpu, figure, timed, warm
from benchmarks.tables import MILLION, nine, resample

RUNS = 5
QUICK: dict[str, tuple[float, float | None]] = {  # search: suppression, target in seconds
    "samarati": (0.04, None),
    "incognito": (0.04, 1.0),
    "ola": (0.04, None),
    "optimal": (0.04, 0.1),
    "datafly": (0.04, None),
    "tds": (0.0, None),
    "mu-argus": (0.04, None),
    "attribute-suppression": (0.04, None),
}
SPLITS_SECONDS = 300.0
WIDE_SECONDS = (1.0, 3.0, 10.0)


def run() -> list[Figure]:
    """Each search at k = 5: seconds, loss, and what it checked."""
    table, files = nine()
    adult = {"quasi": table.columns, "require": sf.KAnonymity(5), "hierarchies": files, "ends": "exact"}
    figures = [_quick(name, table, adult, limit, target) for name, (limit, target) in QUICK.items()]
    figures.append(_quick("incognito", table, adult, 0.0, 1.0))
    return [
        *figures,
        _splits(table.drop("occupation"), files),
        _splits(table, files),
        *_evaluations(table, adult),
        *_lightning(),
        *_default(),
        *_alpha_k(),
        *_sets(),
        *_criteria(),
    ]


def _quick(name: str, table: pl.DataFrame, options: dict[str, Any], limit: float, target: float | None) -> Figure:
    found = warm(lambda: sf.anonymize(table, **options, search=name, suppression=limit).solution, RUNS)
    about = f"{name} k=5, 9 attributes of Adult, suppression {limit:.0%}"
    seconds = [solution.seconds for solution in found]
    return figure("searches", about, seconds, target=target, **_details(found[0]))


def _details(solution: Any) -> dict[str, Any]:
    verdict = solution.verdict
    return {"nodes_checked": solution.checks, "loss": verdict.loss, "suppressed": verdict.suppressed}


def _splits(table: pl.DataFrame, files: dict[str, str]) -> Figure:
    """k-optimize: seconds to the proof, or to its limit and how far the bound then is."""
    quasi = table.columns
    options: dict[str, Any] = {
        "quasi": quasi,
        "require": sf.KAnonymity(5),
        "loss": "discernibility",
        "ends": "exact",
    }
    options["hierarchies"] = {name: files[name] for name in quasi}
    search = sf.KOptimize(seconds=SPLITS_SECONDS)
    found = sf.anonymize(table, **options, search=search, suppression=0.0).solution
    loss, bound = found.verdict.loss, found.bound
    gap = None if bound is None else (loss - bound) / loss
    about = f"k-optimize k=5, {len(quasi)} attributes of Adult, suppression 0%, at most {SPLITS_SECONDS:g} s"
    facts = {**_details(found), "bound": bound, "optimal": found.optimal}
    return figure("searches", about, [found.seconds], **facts, **({} if gap is None else {"gap": gap}))


def _evaluations(table: pl.DataFrame, options: dict[str, Any]) -> list[Figure]:
    """Milliseconds per evaluation of genetic and annealing: 0.5 is two thousand per second."""
    loss = sf.LM(aggregate="geometric", leaves="hierarchy")
    figures = []
    for search in (sf.Genetic(seconds=5), sf.Annealing(seconds=5)):
        found = warm(lambda s=search: sf.anonymize(table, **options, search=s, suppression=0.04, loss=loss).solution, 1)
        each = [1000 * solution.seconds / solution.checks for solution in found]
        about = f"{type(search).__name__.lower()} on Adult, 9 attributes, suppression 4%: an evaluation"
        figures.append(figure("searches", about, each, "ms", 0.5, **_details(found[0])))
    return figures


def _lightning() -> list[Figure]:
    """A verified release of 100,000 rows and 20 attributes within five seconds, and what more time gains."""
    table = wide()
    options = {"quasi": table.columns, "require": sf.KAnonymity(5), "suppression": 0.0}
    figures = []
    for limit in WIDE_SECONDS:
        seconds, release = timed(lambda limit=limit: sf.anonymize(table, **options, search=sf.Lightning(seconds=limit)))
        about = f"lightning, {limit:g} s, 20 attributes of 100,000 rows: verified release"
        target = 5.0 if limit == 3.0 else None
        figures.append(figure("searches", about, [seconds], target=target, **_details(release.solution)))
    return [*figures, *_directions()]


def _directions() -> list[Figure]:
    """Each way through the lattice for the same time; the target of both is what the better of the two loses."""
    table = wide(5_000, 14, seed=3)
    options: dict[str, Any] = {"quasi": table.columns, "require": sf.KAnonymity(5), "suppression": 1.0}
    sf.anonymize(table, **options, search=sf.Lightning(seconds=1))  # compiles
    figures: list[Figure] = []
    for seconds in (3.0, 10.0):
        least = float("inf")
        for start in ("top", "bottom", "both"):
            found = sf.anonymize(table, **options, search=sf.Lightning(seconds=seconds, start=start)).solution
            about = f"lightning, {start}, {seconds:g} s, 14 attributes of 5,000 rows, suppression 100%: loss"
            target = round(least, 4) if start == "both" else None
            figures.append(figure("searches", about, [found.verdict.loss], "", target, **_details(found)))
            least = min(least, found.verdict.loss)
    return figures


def _default() -> list[Figure]:
    """The default on tables that once took it a minute: columns of many values, and criteria on a million rows."""
    figures = []
    for columns in (3, 6, 9):
        table = wide(columns=columns)
        options: dict[str, Any] = {"quasi": table.columns, "k": 5}
        for labels in ({}, {"labels": "ranges", "tidy": False, "ends": "exact"}):
            seconds, found = cpu(lambda table=table, given=options | labels: sf.anonymize(table, **given).solution)
            about = f"default k=5, {columns} columns of 100,000 rows, {'ranges' if labels else 'tidy'}: CPU seconds"
            target = 2.0 if columns == 6 else None
            figures.append(figure("searches", about, [seconds], target=target, **_details(found)))
    table, files = nine()
    table = resample(table, MILLION)
    for name, criterion in (
        ("entropy 3", sf.EntropyLDiversity("occupation", 3)),
        ("t = 0.2", sf.TCloseness("occupation", 0.2)),
    ):
        options = {
            "quasi": [name for name in table.columns if name != "occupation"],
            "sensitive": ["occupation"],
            "require": [sf.KAnonymity(5), criterion],
            "hierarchies": {name: file for name, file in files.items() if name != "occupation"},
        }
        seconds, found = cpu(lambda table=table, given=options: sf.anonymize(table, **given).solution)
        about = f"default k=5, {name}, 8 attributes of a million rows like Adult: CPU seconds"
        figures.append(figure("searches", about, [seconds], target=8.0, **_details(found)))
    return figures


def _sets() -> list[Figure]:
    """Two quasi-identifier sets that share a column."""
    table, files = nine()
    table = resample(table, MILLION)
    options: dict[str, Any] = {"k": 5, "hierarchies": files, "search": "optimal", "ends": "exact"}
    options["quasi"] = [table.columns[:5], table.columns[4:]]
    figures = []
    for limit in (0.0, 0.04):
        seconds, found = cpu(lambda limit=limit: sf.anonymize(table, **options, suppression=limit).solution)
        about = f"optimal k=5, two sets of 5 attributes of a million rows, suppression {limit:.0%}: CPU seconds"
        figures.append(figure("searches", about, [seconds], target=7.5, **_details(found)))
    return figures


def _criteria() -> list[Figure]:
    """The whole verb on Adult under criteria that look inside of classes, where rows may be suppressed."""
    table, files = nine()
    options: dict[str, Any] = {"sensitive": ["occupation"], "search": "optimal", "suppression": 0.04, "ends": "exact"}
    options["quasi"] = [name for name in table.columns if name != "occupation"]
    options["hierarchies"] = {name: files[name] for name in options["quasi"]}
    figures = []
    for name, criterion in (
        ("t = 0.2", sf.TCloseness("occupation", 0.2)),
        ("KL t = 0.2", sf.TCloseness("occupation", 0.2, "kl")),
        ("beta = 2", sf.BetaLikeness("occupation", 2)),
        ("delta = 2", sf.DeltaDisclosure("occupation", 2)),
        ("delta = 2, absent values skipped", sf.DeltaDisclosure("occupation", 2, "skipped")),
        ("recursive (3,3)", sf.RecursiveCLDiversity("occupation", 3, 3)),
    ):
        given = options | {"require": [sf.KAnonymity(5), criterion]}
        runs = [cpu(lambda given=given: sf.anonymize(table, **given).solution) for _ in range(RUNS)]
        about = f"optimal k=5, {name}, 8 attributes of Adult, suppression 4%: CPU seconds"
        figures.append(figure("searches", about, [spent for spent, _ in runs], target=0.1, **_details(runs[0][1])))
    return figures


def _alpha_k() -> list[Figure]:
    """Local recoding for (alpha,k)-anonymity beside Incognito under the same criterion."""
    table, files = nine()
    quasi = [name for name in table.columns if name not in ("occupation", "salary-class")]
    options: dict[str, Any] = {"quasi": quasi, "sensitive": ["occupation"], "rest": "release", "ends": "exact"}
    options["require"] = sf.AlphaK(0.5, 5, "occupation")
    options["hierarchies"] = {name: files[name] for name in quasi}
    figures = []
    for search in ("alpha-k-local", "incognito"):
        given = options | {"search": search, "suppression": 0.0}
        seconds, found = cpu(lambda given=given: sf.anonymize(table, **given).solution)
        about = f"{search}, alpha = 0.5, k = 5, 7 attributes of Adult: CPU seconds"
        figures.append(figure("searches", about, [seconds], **_details(found)))
    return figures


def wide(rows: int = 100_000, columns: int = 20, seed: int = 7) -> pl.DataFrame:
    """Correlated columns with 5 to 50 values: each follows one of three hidden factors, with noise."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(3, rows))
    made: dict[str, np.ndarray] = {}
    for i in range(columns):
        values, load = int(rng.integers(5, 51)), rng.uniform(0.3, 0.9)
        x = load * factors[i % 3] + np.sqrt(1 - load**2) * rng.normal(size=rows)
        code = np.searchsorted(np.quantile(x, np.sort(rng.uniform(size=values - 1))), x)
        made[f"q{i:02}"] = code if i % 2 == 0 else np.array([f"v{j:02}" for j in range(values)])[code]
    return pl.DataFrame(made)
