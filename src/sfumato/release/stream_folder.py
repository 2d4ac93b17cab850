"""What the files of a released stream prove: rows and values per class. It shares no code with what made them.

Who stands behind the rows is not released: that they are of different people is stated by the owner, as it is of tables
whose people have several rows. How long each waited holds by construction.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.protocols import BY_CONSTRUCTION, STATED
from sfumato.criteria.model import Promise
from sfumato.engines.files.read import read
from sfumato.errors import InputError, ReadError
from sfumato.release.manifest import NAME, STREAM, load_manifest
from sfumato.release.verify import INTEGRITY, Verification

SIGNATURE = "signature.json"
REPORT = "report.html"
REPORTS = (REPORT, "report.pdf")  # which somebody may have made again, or before the manifest names them


def holds_stream(folder: Path) -> bool:
    """Whether a folder is that of a released stream."""
    try:
        found = load_manifest(folder)
    except ReadError:
        return False
    return isinstance(found, dict) and "stream" in found


def verify_stream(folder: Path) -> Verification:
    """Check the files of a released stream against its manifest, and the promises on their rows.

    A class is what prints alike in one file; where published ranges are used again, in all files up to it.
    """
    document = load_manifest(folder)
    if not _is_sound(document):
        raise ReadError(f'"{folder / NAME}" is no manifest of a stream')
    return examined_stream(folder, document)


def examined_stream(folder: Path, document: Any) -> Verification:
    """The same of a manifest that is not in the folder yet."""
    quasi, files = list(document["quasi"]), list(document["files"])
    columns = {*quasi, *document["sensitive"], *document["insensitive"]}
    k, l, reuse = document["k"], dict(document["l"]), document["search"].get("reuse", 0)
    faults, rows, least, values = [], 0, None, dict[str, int]()
    before: list[pl.DataFrame] = []
    for one in files:
        place = folder / one["file"]
        if not place.is_file() or _sha256(place) != one["sha256"]:
            faults.append(f"{one['file']} is missing or another file")
            continue
        try:
            table = read(place, verbatim=True)
        except InputError as error:
            faults.append(error.what)
            continue
        rows += table.height
        if {*table.columns} != columns or table.height != one["rows"]:
            faults.append(f"{one['file']} has other columns or rows than the manifest says")
            continue
        if k is None:
            continue
        shown = table.select(*quasi, *l)
        before = [*before, shown] if reuse else [shown]
        sizes = _sizes(pl.concat(before, how="vertical_relaxed"), shown.select(quasi).unique(), quasi, list(l))
        smallest = int(sizes.get_column("rows").min())  # type: ignore[arg-type]
        least = smallest if least is None else min(least, smallest)
        for i, name in enumerate(l):
            fewest = int(sizes.get_column(f"values {i}").min())  # type: ignore[arg-type]
            values[name] = min(values.get(name, fewest), fewest)
    beside = document.get("beside", [])
    for one in beside:
        place = folder / one["file"]
        if not place.is_file() or _sha256(place) != one["sha256"]:
            faults.append(f"{one['file']} is missing or another file")
    known = {one["file"] for one in (*files, *beside)} | {NAME, SIGNATURE, *REPORTS}
    strange = {one.name for one in folder.iterdir()} - known
    faults += [f"{name} is no file of the stream" for name in sorted(strange) if not name.startswith(".")]
    sentence = "The files are those that the manifest describes."
    promises = [Promise(INTEGRITY, {}, (), not faults, len(faults), 0, sentence, "; ".join(faults) or None)]
    promises += _promises(document, quasi, k, l, least, values, not files)
    return Verification(rows, tuple(promises), (), may_be_empty=not files)


def _is_sound(document: Any) -> bool:
    """Whether a manifest, which may be anybody's, has all that is looked at, each part of its kind."""

    def whole(value: Any, least: int) -> bool:
        return type(value) is int and least <= value < 2**63

    try:
        columns = [*document["quasi"], *document["sensitive"], *document["insensitive"]]
        lists = [document[name] for name in ("quasi", "sensitive", "insensitive", "files")]
        files, k, l, search = document["files"], document["k"], document["l"], document["search"]
        beside = document.get("beside", [])
        names = [one["file"] for one in (*files, *beside)]
        return (
            all(isinstance(one, list) for one in lists)
            and all(isinstance(name, str) for name in columns)
            and len({*columns}) == len(columns)
            and whole(document["stream"], 1)
            and document["stream"] == STREAM
            and document["counts"] in ("people", "rows")
            and (whole(search["z"], 1) if k is None else whole(k, 1) and bool(document["quasi"]))
            and whole(search.get("reuse", 0), 0)
            and isinstance(l, dict)
            and {*l} <= {*columns}
            and all(whole(bound, 1) for bound in l.values())
            and all(isinstance(name, str) and name and Path(name).name == name for name in names)
            and len({*names}) == len(names)
            and all(whole(one["rows"], 1) for one in files)
            and isinstance(beside, list)
            and all(isinstance(one["sha256"], str) for one in (*files, *beside))
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _sizes(table: pl.DataFrame, classes: pl.DataFrame, quasi: list[str], held: list[str]) -> pl.DataFrame:
    """Rows and different values of each of some classes."""
    found = table.join(classes, on=quasi, how="semi", nulls_equal=True)
    counted = (pl.col(name).n_unique().alias(f"values {i}") for i, name in enumerate(held))
    return found.group_by(quasi).agg(pl.len().alias("rows"), *counted)


def promises_before(document: Any) -> list[Promise]:
    """What is promised of a stream that goes on, before its files were counted."""
    return _promises(document, list(document["quasi"]), document["k"], dict(document["l"]), None, {}, True)


def _promises(
    document: Any,
    quasi: list[str],
    k: int | None,
    l: dict[str, int],
    least: int | None,
    values: dict[str, int],
    nothing: bool,
) -> list[Promise]:
    """What is promised of classes; where `nothing` was released, no class fails."""
    names = tuple(quasi)
    if k is None:
        z = document["search"]["z"]
        sentence = f"At least {z} people, the one in question among them, showed each value within the last dt."
        return [Promise("z-anonymity", {"z": z}, names, True, None, z, sentence, how=BY_CONSTRUCTION)]
    earlier = ", those of earlier files counted in" if document["search"].get("reuse") else ""
    sentence = f"At least {k} released rows share each combination of labels when one is released{earlier}."
    found = [Promise("k-anonymity", {"k": k}, names, nothing or (least or 0) >= k, least, k, sentence)]
    if document["counts"] == "people":
        sentence = f"The rows that share labels when one is released are of at least {k} different people."
        given = {"k": k, "counts": "people"}
        found.append(Promise("k-anonymity", given, names, True, None, k, sentence, how=STATED))
    for name, bound in l.items():
        fewest = values.get(name)
        sentence = f'In every group of rows that look alike, "{name}" takes at least {bound} different values.'
        parameters = {"attribute": name, "l": bound}
        enough = nothing or (fewest or 0) >= bound
        found.append(Promise("distinct-l-diversity", parameters, names, enough, fewest, bound, sentence))
    return found


def _sha256(place: Path) -> str:
    return hashlib.sha256(place.read_bytes()).hexdigest()
