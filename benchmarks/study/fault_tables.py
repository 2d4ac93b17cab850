"""What the study's faults change, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.study.layout import YES, Found, loss, show, table


def missed(found: Found) -> str:
    """Counts of a query that knows one label only."""
    head = [
        "table",
        "labels that cover it",
        "rows",
        "rows under the label of that age alone",
        "under the largest label",
    ]
    several = [row for row in found["access"] if row.get("labels", 0) > 1]
    rows = [
        [f"{row['data']}: {row['table']}", *(show(row[name]) for name in ("labels", "rows", "exact", "largest"))]
        for row in several
    ]
    return table(head, rows, right=range(1, 5))


def first_row(found: Found) -> str:
    """The lost row."""
    less, full = found["faults"]["row"]["without"], found["faults"]["row"]["with"]
    return (
        f"Without the first row: {show(less['vector'])}, LM {loss(less['loss'])}. "
        f"With it, job as it is: {show(full['vector'])}, LM {loss(full['loss'])}."
    )


def job(found: Found) -> str:
    """What Sfumato says of the job file."""
    return "```text\n" + "\n".join(found["faults"]["job"]["faults"]) + "\n```"


def returned(found: Found) -> str:
    """The suppressed rows that came back."""
    row = found["faults"]["returned"]
    claim = "holds" if row["holds"] else "does not hold"
    return (
        f"On Adult {row['rows']} rows are suppressed. Put back with `*` in every quasi-identifier, the kindest reading,"
        f" they are a class of {row['smallest']}: `sf.verify` says that {row['k']}-anonymity {claim}. They also keep "
        f"their other columns: {row['unique']} of the {row['rows']} are alone in the table with their values of the "
        f"{row['columns']} columns that are left when final_weight is set aside."
    )


def top(found: Found) -> str:
    """Bank, where the published loop ends at a top it never looked at."""
    head = ["k", "as published", "rows in classes < k", "valid", "Sfumato, job as it is", "Sfumato, job of height 3"]
    rows = []
    for row in found["faults"]["top"]:
        published, flat = row["published"], row["flat"]
        vector = show(published["vector"]) + ("" if published["checked"] else ", unchecked")
        ours = f"`Infeasible`: {flat['infeasible']} rows" if "infeasible" in flat else outcome(flat)
        small = show(published["small"])
        rows.append([show(row["k"]), vector, small, YES[row["valid"]], ours, outcome(row["right"])])
    return table(head, rows, right=(0, 2))


def codes(found: Found) -> str:
    """Job labels as codes."""
    told = found["faults"]["codes"]
    rows = [[f"`{label['codes']}`", f"`{label['label']}`", show(label["rows"])] for label in told["labels"]]
    text = f"{told['covered']:,} of the {told['rows']:,} rows of Bank get one of {told['distinct']} such labels."
    return text + " The largest:\n\n" + table(["as codes", "Sfumato", "rows"], rows, right=(2,))


def outcome(solution: Mapping[str, Any]) -> str:
    """A full-domain solution in a few words."""
    return f"{show(solution['vector'])}, LM {solution['loss']:.4f}"
