"""Places: how a fault names the key it is about, as a table and line of a policy file or as a flag."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

Key = str | int
Path = tuple[Key, ...]
T = TypeVar("T")

HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]#]+?)\s*\]\]?\s*(?:#.*)?$")
KEY = re.compile(r"""^\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+)\s*[.=]""")


FLAGS: Mapping[Path, str] = {
    ("input", "path"): "the data file",
    ("input", "table"): "--table",
    ("input", "stream"): "--stream",
    ("input", "separator"): "--separator",
    ("input", "quote"): "--quote",
    ("input", "encoding"): "--encoding",
    ("input", "header"): "--no-header",
    ("input", "sheet"): "--sheet",
    ("roles", "identifying"): "--identifying",
    ("roles", "quasi"): "--quasi",
    ("roles", "sensitive"): "--sensitive",
    ("roles", "insensitive"): "--insensitive",
    ("roles", "unprotected"): "--unprotected",
    ("roles", "weight"): "--weight",
    ("roles", "rest"): "--rest",
    ("roles", "normalise"): "--normalise",
    ("hierarchies",): "--hierarchy",
    ("levels",): "--levels",
    ("require",): "--k or --require",
    ("search", "method"): "--search",
    ("search", "keep"): "--keep",
    ("search", "labels"): "--labels",
    ("search", "loss"): "--loss",
    ("search", "suppression"): "--suppression",
    ("search", "seed"): "--seed",
    ("search", "max_cells"): "--max-cells",
    ("output", "path"): "-o",
    ("output", "table"): "--output-table",
    ("output", "format"): "--format",
    ("output", "overwrite"): "--overwrite",
    ("output", "order"): "--order",
    ("output", "ends"): "--ends",
    ("output", "profile"): "--profile",
    ("output", "internal_report"): "--internal-report",
    ("output", "pdf"): "--pdf",
}


@dataclass(frozen=True)
class Places:
    """Where each key stands: on which line of a file, or in which flag of the command line.

    >>> Places(lines={("roles", "quasi"): 4}).at("roles", "quasi")
    '[roles] quasi (line 4)'
    >>> Places(given={("roles", "quasi"): "--quasi"}).at("roles", "quasi")
    '--quasi'
    """

    lines: Mapping[Path, int] = field(default_factory=dict)
    given: Mapping[Path, str] = field(default_factory=dict)  # keys set by a flag, laid over the file
    file: bool = True  # whether there is a file at all: without one, messages speak of flags only

    @staticmethod
    def of(text: str, tables: Mapping[str, Any]) -> Places:
        """The line of every table and key of a TOML text; tomllib does not tell, so the lines are read once more."""
        lines: dict[Path, int] = {}
        table: Path = ()
        counts: dict[str, int] = {}
        for number, line in enumerate(text.splitlines(), 1):
            header, key = HEADER.match(line), KEY.match(line)
            if header and header[2].strip("\"'").split(".")[0].strip() in tables:
                name = tuple(part.strip().strip("\"'") for part in header[2].split("."))
                table = name
                if header[1] == "[[":
                    counts[name[0]] = counts.get(name[0], -1) + 1
                    table = (*name, counts[name[0]])
                lines.setdefault(name, number)
                lines.setdefault(table, number)
            elif key:
                lines.setdefault((*table, key[1].strip("\"'")), number)
        return Places(lines)

    def at(self, *path: Key) -> str:
        """Where a key stands: the flag that set it, else its table, key and line."""
        flag = _nearest(self.given, path)
        if flag is not None:
            return flag
        if not self.file:
            return _nearest(FLAGS, path) or "the command line"
        line = _nearest(self.lines, path)
        return _words(path) + (f" (line {line})" if line else "")

    def ask(self, *path: Key) -> str:
        """What to add where a key is missing."""
        return f"give {_nearest(FLAGS, path)}" if not self.file else f"add {_words(path)}"


def _nearest(places: Mapping[Path, T], path: Path) -> T | None:
    """The entry of the key, or of the nearest table around it that has one."""
    return next((places[path[:n]] for n in range(len(path), 0, -1) if path[:n] in places), None)


def _words(path: Path) -> str:
    """A key in the words of TOML."""
    head, rest = f"[{path[0]}]", path[1:]
    if head == "[require]":
        head, rest = "[[require]]", tuple(key + 1 if isinstance(key, int) else key for key in rest)
    return " ".join([head, *map(str, rest)])
