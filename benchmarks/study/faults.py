"""What the faults of the study's program change: each one shown on the study's own tables."""

from __future__ import annotations

from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.study import inputs, published
from benchmarks.study.figures import PLAIN
from benchmarks.study.inputs import release
from benchmarks.tables import shared
from sfumato.search.lattice.samarati import Samarati

ABOUT_THE_TOP = 3, 38, 39, 43, 103, 200, 320


def run() -> dict[str, Any]:
    """Every fault and its effect."""
    return {
        "row": first_row(),
        "job": job_file(),
        "returned": returned_rows(),
        "top": [unchecked_top(k) for k in ABOUT_THE_TOP],
        "codes": codes(),
    }


def first_row() -> dict[str, Any]:
    """Bank with and without its first row, job as it is."""
    right = release(inputs.bank(), Samarati(), levels={"job": 0})
    return {"with": solution(right), "without": solution(release(inputs.bank_as_read(), Samarati()))}


def job_file() -> dict[str, Any]:
    """What Sfumato says of the study's job hierarchy."""
    path = shared() / "data/bank/bank_job.txt"
    try:
        sf.anonymize(
            inputs.bank_table(),
            quasi=["age", "job"],
            rest="release",
            require=sf.KAnonymity(3),
            hierarchies={"job": str(path)},
        )
    except sf.errors.HierarchyError as refused:
        return {"faults": [fault.replace(str(path), path.name) for fault in refused.faults]}
    return {"faults": []}


def returned_rows() -> dict[str, Any]:
    """Adult's suppressed rows back in the table: what verify says of it, and how many stand out by what they carry."""
    case = inputs.adult()
    table = case.table.with_row_index("row")
    done = sf.anonymize(
        table,
        quasi=list(case.quasi),
        insensitive=[name for name in table.columns if name not in case.quasi],
        require=sf.KAnonymity(case.k),
        suppression=case.maxsup,
        search=Samarati(),
        hierarchies=dict(case.hierarchies),
    )
    gone = table.join(done.table, on="row", how="anti")
    back = pl.concat([done.table, gone.with_columns(pl.lit("*").alias(name) for name in case.quasi)])
    others = [name for name in case.table.columns if name not in (*case.quasi, "final_weight")]
    alone = table.filter(pl.len().over(others) == 1)
    claim = sf.verify(back, quasi=list(case.quasi), require=sf.KAnonymity(case.k))
    return {
        "rows": gone.height,
        "holds": claim.holds,
        "smallest": claim.promises[0].measured,
        "k": case.k,
        "columns": len(others),
        "unique": gone.join(alone, on="row", how="semi").height,
    }


def unchecked_top(k: int) -> dict[str, Any]:
    """Bank at k: where the published loop ends, and what Sfumato does with job as it is and with its hierarchy."""
    read, right = inputs.bank_as_read(), inputs.bank()
    end = published.samarati(published.ladders(read), k, read.maxsup)
    try:
        flat = solution(release(read, Samarati(), k=k))
    except sf.errors.Infeasible as refused:
        flat = {"infeasible": refused.closest["suppressed"]}
    return {
        "k": k,
        "published": {"vector": end.vector, "checked": end.checked, "smallest": end.smallest, "small": end.small},
        "valid": end.small <= read.maxsup,
        "flat": flat,
        "right": solution(release(right, Samarati(), k=k)),
        "best": solution(release(right, sf.Optimal(), k=k)),
    }


def solution(done: sf.Release) -> dict[str, Any]:
    """Vector, suppressed rows and loss of a release."""
    verdict = done.solution.verdict
    return {"vector": tuple(done.solution.levels.values()), "suppressed": verdict.suppressed, "loss": verdict.loss}


def codes(most: int = 5) -> dict[str, Any]:
    """Job labels of Mondrian on Bank, as Sfumato prints them and as ranges of alphabetical codes."""
    done = release(inputs.bank_plain(), PLAIN)
    rank = {job: i for i, job in enumerate(sorted(inputs.bank_table().get_column("job").unique()))}
    labels = []
    for label, rows in done.table.get_column("job").value_counts().sort("count", "job", descending=True).iter_rows():
        jobs = sorted(label.strip("{}").replace("..", ", ").split(", "))  # no job has a comma or dots in the middle
        if len(jobs) > 1:
            ends = f"[{rank[jobs[0]]}, {rank[jobs[-1]]}]"
            labels.append({"label": f"{{{', '.join(jobs)}}}", "codes": ends, "rows": rows})
    covered = sum(label["rows"] for label in labels)
    return {"rows": done.table.height, "covered": covered, "distinct": len(labels), "labels": labels[:most]}
