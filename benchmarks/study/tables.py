"""The parts of the results as Markdown: what the study says beside what we find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.results import number
from benchmarks.study import fault_tables
from benchmarks.study.layout import YES, Found, loss, show, table, told_loss


def machine(found: Found) -> str:
    """Where the times come from, and whether everything agrees."""
    facts = found["machine"]
    versions = ", ".join(
        f"{name} {facts[name]}" for name in ("sfumato", "python", "numpy", "numba", "polars", "sqlite")
    )
    least, most = found["sort_1m_float64_ms"]
    agree = verdicts(found)
    return (
        f"{sum(agree)} of {len(agree)} reference figures agree. Times are of {facts['cpu']}, {facts['cores']} cores, "
        f"{facts['memory_gib']} GiB, {facts['system']}; {versions}. "
        f"`np.sort` of a million float64 takes {least:.0f} to {most:.0f} ms there."
    )


def verdicts(found: Found) -> list[bool]:
    """Whether each figure that the study tells agrees with ours."""
    rows = [*found["samarati"], *found["mondrian"], *found["minimal"]["minimal"], found["minimal"], *found["random"]]
    return [row["agree"] for row in rows] + [row["agree"] for row in found["access"] if row["agree"] is not None]


def samarati(found: Found) -> str:
    """Samarati's runs, theirs and ours."""
    rows = []
    for row in found["samarati"]:
        sides = (f"{show(side['vector'])}, {show(side['suppressed'])} suppressed, {show(side['rows'])} rows, LM {text}"
                 for side, text in both(row))  # fmt: skip
        rows.append([row["run"], *sides, YES[row["agree"]]])
    return table(["run", "reference", "ours", "agree"], rows + defaults(found, "samarati"))


def defaults(found: Found, which: str) -> list[list[str]]:
    """The rows of plain `sf.anonymize` in one of the tables."""
    rows = []
    for row in found["defaults"]:
        if row["table"] == which:
            some = f"{show(row['suppressed'])} suppressed, {show(row['rows'])} rows, {show(row['classes'])} classes"
            ours = f"{row['search']}, {some}, LM {loss(row['loss'])}"
            rows.append([f"{row['run']}: plain `sf.anonymize`", "", ours, ""])
    return rows


def minimal(found: Found) -> str:
    """The k-minimal nodes of Adult."""
    told = found["minimal"]
    rows = []
    for row in told["minimal"]:
        theirs, ours = row["theirs"] or {"loss": None, "suppressed": None}, row["ours"]
        pairs = [show(theirs["suppressed"]), show(ours["suppressed"])]
        their_loss = "" if theirs["loss"] is None else f"{theirs['loss']:.6f}"
        rows.append([show(row["vector"]), *pairs, their_loss, f"{ours['loss']:.6f}", YES[row["agree"]]])
    text = f"{told['satisfying']} of the {told['nodes']} nodes satisfy (reference: {told['told']}); k-minimal:"
    head = ["vector", "suppressed, reference", "ours", "LM (sum), reference", "ours", "agree"]
    return text + "\n\n" + table(head, rows, right=range(1, 5))


def mondrian(found: Found) -> str:
    """Mondrian's runs, theirs and ours; the random one against the losses that it can reach."""
    rows = []
    for row in found["random"]:
        reach, whole = row["ours"], row["ours"]["published"]
        span = f"LM {whole['numerator']:,}/{whole['of']:,}, one of {reach['least']:.6f} to {reach['greatest']:.6f}"
        rows.append(
            [f"{row['run']}; random columns, as published", f"LM {row['published']!r}", span, YES[whole["reached"]]]
        )
    for row in found["mondrian"]:
        sides = (f"LM {text}, {show(side['classes'])} classes" for side, text in both(row))
        rows.append([row["run"], *sides, YES[row["agree"]]])
    return table(["run, k=10", "reference", "ours", "agree"], rows + defaults(found, "mondrian"))


def both(row: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], str]]:
    """The two sides of a figure, each with its loss as it prints."""
    return [(row["theirs"], told_loss(row["theirs"]["loss"])), (row["ours"], loss(row["ours"]["loss"]))]


def chance(found: Found) -> str:
    """The range of random choices."""
    rows = [[f"{row['run']}: {name} loss", f"{told:.9f}".rstrip("0"), f"{row['ours'][name]:.9f}", YES[row["agree"]]]
            for row in found["random"] for name, told in row["theirs"].items()]  # fmt: skip
    return table(["over all choices", "reference", "ours", "agree"], rows, right=(1, 2))


def access(found: Found) -> str:
    """The access test."""
    rows = []
    for row in found["access"]:
        told = "" if row["told"] is None else f"{row['told']:,}" + ("" if row["agree"] else " **differs**")
        asked = show(row["asked"]) if row["asked"] is not None else ""
        times = number(row["scan_ms"]), number(row["index_ms"])
        name = f"{row['data']}, age = {row['age']}: {row['table']}"
        rows.append(
            [name, show(row.get("labels")), show(row["rows"]), asked, told, show(row["right"]), " / ".join(times)]
        )
    head = ["table", "labels", "rows", "of the study's labels", "reference", "truly that age", "ms, scan / index"]
    return table(head, rows, right=range(1, 7))


def sweeps(found: Found) -> str:
    """Every point of the sweeps, a table for each data set and parameter."""
    parts = []
    for over, data in dict.fromkeys((point["over"], point["data"]) for point in found["sweeps"]):
        points = [p for p in found["sweeps"] if (p["over"], p["data"]) == (over, data)]
        methods = {p["method"]: {} for p in points}
        for p in points:
            methods[p["method"]][p["at"]] = sweep_cell(p)
        rows = [[show(at), *(cells[at] for cells in methods.values())] for at in dict.fromkeys(p["at"] for p in points)]
        parts.append(f"### {data}, over {over}\n\n{table([over, *methods], rows, right=(0,))}")
    return "\n\n".join(parts)


def sweep_cell(point: Mapping[str, Any]) -> str:
    """A point of a sweep in a few words."""
    words = [] if point["vector"] is None else [show(point["vector"]), f"{point['suppressed']} suppressed"]
    words += [f"{point['classes']:,} classes"] if point["vector"] is None else []
    words += [f"LM {point['loss']:.6f}"]
    words += [f"{number(1000 * point['seconds'])} ms"] if "seconds" in point else []
    return ", ".join(words) + ("" if point.get("valid", True) else ", **not k-anonymous**")


def same_loop(found: Found) -> str:
    """The loop written twice."""
    told = found["loop"]
    return (
        "The study's loop, written a second time over plain columns, and Sfumato's `samarati`, by tables and by "
        "distance vectors, end at the same vector, suppression and loss in "
        f"{told['same']} of the {told['settings']} settings of the sweeps."
    )


PARTS: dict[str, tuple[str, Callable[[Found], str]]] = {
    "machine": ("Agreement", machine),
    "samarati": ("Samarati", samarati),
    "minimal": ("The k-minimal nodes of Adult, k=10, maxsup=20", minimal),
    "mondrian": ("Mondrian", mondrian),
    "chance": ("Random choices of the column", chance),
    "access": ("Access test", access),
    "first-row": ("The first row of Bank", fault_tables.first_row),
    "job": ("The job hierarchy, refused", fault_tables.job),
    "returned": ("Suppressed rows that return", fault_tables.returned),
    "top": ("The top of the lattice, unchecked: Bank, maxsup=10", fault_tables.top),
    "codes": ("Categories printed as codes", fault_tables.codes),
    "missed": ("Counts that miss classes", fault_tables.missed),
    "same-loop": ("The loop, written twice", same_loop),
    "sweeps": ("Sweeps", sweeps),
}
