"""The paths that a policy names: of its table, hierarchies, references, keys and ledgers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

HIERARCHIES = ("file", "tree", "wide")  # forms of a hierarchy that name a file
# of ours: the table of builders comes with all that they need, which a page of the studio has no use for
BUILDERS = frozenset(
    (
        "age", "coordinates", "countries", "dates", "either", "file", "flat", "icd10", "income", "intervals", "ip",
        "isced", "isco", "learned", "levels", "nace", "nuts", "order", "postcode", "prefix", "redact", "tree", "wide",
    )
)  # fmt: skip
OTHERS = {
    "require": ("reference", "population", "distribution"),
    "population": ("path",),
    "mask": ("key", "vault", "matrix"),
    "output": ("path", "internal_report"),
}


def with_paths(tables: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """The tables of a policy with every path changed; addresses of databases stay.

    >>> with_paths({"input": {"path": "a.csv"}, "hierarchies": {"sex": "flat", "zip": "zip.csv"}}, lambda p: "/in/" + p)
    {'input': {'path': '/in/a.csv'}, 'hierarchies': {'sex': 'flat', 'zip': '/in/zip.csv'}}
    """

    def new(path: Any) -> Any:
        if isinstance(path, list):
            return [new(one) for one in path]
        return path if not isinstance(path, str) or "://" in path else change(path)

    def keyed(table: Any, keys: tuple[str, ...]) -> Any:
        if not isinstance(table, Mapping):
            return table
        return {key: new(value) if key in keys else value for key, value in table.items()}

    def hierarchy(spec: Any) -> Any:
        if isinstance(spec, Mapping):
            several = spec.get("either")
            each = [hierarchy(one) for one in several] if isinstance(several, list) else hierarchy(several)
            return keyed(spec, HIERARCHIES) | ({"either": each} if "either" in spec else {})
        if not isinstance(spec, str):
            return spec
        form, colon, rest = spec.partition(":")
        if colon and form == "either":
            return "either:" + " or ".join(hierarchy(one.strip()) for one in rest.split(" or "))
        if colon and form in HIERARCHIES:
            return f"{form}:{new(rest)}"
        return spec if _is_builder(form) else new(spec)  # any other text names a file

    def hierarchies(table: Any) -> Any:
        return {column: hierarchy(spec) for column, spec in table.items()} if isinstance(table, Mapping) else table

    found = dict(tables)
    for name, table in tables.items():
        if name == "input":
            found[name] = keyed(table, ("path",))
        elif name == "hierarchies":
            found[name] = hierarchies(table)
        elif name in OTHERS:
            each = [keyed(one, OTHERS[name]) for one in (table if isinstance(table, list) else [table])]
            if name == "mask":  # a step may have hierarchies of its own
                each = [{**one, **({"hierarchies": hierarchies(one["hierarchies"])} if "hierarchies" in one else {})}
                        if isinstance(one, Mapping) else one for one in each]  # fmt: skip
            found[name] = each if isinstance(table, list) else each[0]
        elif isinstance(table, Mapping) and "account" in table:
            found[name] = {**table, "account": keyed(table["account"], ("ledger",))}
    return found


def _is_builder(form: str) -> bool:
    """Whether a text that begins so makes a hierarchy by a rule."""
    loaded = sys.modules.get("sfumato.hierarchies")
    if form == "cuts" or form in BUILDERS or (loaded is not None and form in loaded.HIERARCHIES):
        return True
    return any(point.name == form for point in entry_points(group="sfumato.hierarchies"))


def step_from(step: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A step of masking with its paths as they are seen from a folder.

    >>> step_from({"step": "keyed-tokens", "key": "study.key"}, Path("/study"))["key"]
    '/study/study.key'
    """
    [found] = with_paths({"mask": [step]}, lambda path: str(folder / Path(path).expanduser()))["mask"]
    return dict(found)


def absolute(tables: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The tables of a policy in a folder, such that they mean the same from everywhere."""
    return with_paths(tables, lambda path: str(folder.resolve() / Path(path).expanduser()))


def leading_out(tables: Mapping[str, Any], folder: Path) -> list[str]:
    """The paths of a policy that lead out of a folder, and its addresses of databases."""
    found = []

    def look(path: str) -> str:
        if not (folder / Path(path).expanduser()).resolve().is_relative_to(folder.resolve()):
            found.append(path)
        return path

    with_paths(tables, look)
    written = tables.get("input", {}).get("path", [])
    named = [*(written if isinstance(written, list) else [written])]
    named += [str(table.get("account", {}).get("ledger", "")) for table in tables.values() if isinstance(table, dict)]
    named.append(tables.get("output", {}).get("path", ""))
    return found + [path for path in named if isinstance(path, str) and "://" in path]
