"""Rows of a hierarchy file, each with the line it stands on."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.core.exact import printed
from sfumato.core.hierarchy import DELIMITERS, Categories, leaves_of
from sfumato.errors import HierarchyError, PolicyError, did_you_mean

MOST_FAULTS = 100  # a file that is no hierarchy at all has one fault per line
QUOTED = re.compile(r'(?:^|(?<=[;,|\t]))"(?:[^"]|"")*"', re.MULTILINE)


class Row(NamedTuple):
    """The fields of one line, without the empty ones at its end."""

    line: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class RowSource:
    """Where the rows of a hierarchy come from: a file, or rows given in Python."""

    path: Path | None
    given: tuple[tuple[str, ...], ...] = ()
    delimiter: str | None = None

    @property
    def name(self) -> str:
        """The path as it was given."""
        return "the rows given" if self.path is None else str(self.path)

    @property
    def short(self) -> str:
        """The name of the file alone: a manifest does not tell where the file lay."""
        return "given rows" if self.path is None else self.path.name

    def at(self, lines: Iterable[int]) -> str:
        """Name and line, or lines.

        >>> RowSource(Path("a.csv")).at([3, 5])
        'a.csv, lines 3, 5'
        """
        numbers = sorted(set(lines))
        word = ("row" if self.path is None else "line") + ("s" if len(numbers) > 1 else "")
        more = f" and {len(numbers) - 10} more" if len(numbers) > 10 else ""
        return f"{self.name}, {word} {', '.join(map(str, numbers[:10]))}{more}"

    def rows(self) -> list[Row]:
        """All rows that are not blank; HierarchyError where there are none, or the file cannot be read."""
        if self.path is None:
            rows = [_row(i, fields) for i, fields in enumerate(self.given, start=1)]
        else:
            text = _text(self.path)
            delimiter = self.delimiter or sniff(text)
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            rows, line = [], 1
            try:
                for fields in reader:
                    rows.append(_row(line, fields))
                    line = reader.line_num + 1
            except csv.Error:
                raise HierarchyError(f"{self.at([line])}: the quotes do not match, or a field is too long") from None
        rows = [row for row in rows if row.fields and (len(row.fields) > 1 or row.fields[0].strip())]
        if not rows:
            raise HierarchyError(f"{self.name} holds no hierarchy: it is empty")
        if all(len(row.fields) == 1 for row in rows):
            what = f"{self.name} has one column only: a hierarchy file has two (child, parent) or more (value, levels)"
            raise HierarchyError(what, hint="columns are separated by one of , ; | or tab")
        return rows


def source(given: object, delimiter: str | None) -> RowSource:
    """A path, or rows of texts."""
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n '):
        raise PolicyError("the delimiter of a hierarchy file is one character", got=repr(delimiter))
    if isinstance(given, str | Path):
        return RowSource(Path(given).expanduser(), delimiter=delimiter)
    if isinstance(given, Iterable):
        rows: list[Any] = list(given.items() if isinstance(given, Mapping) else given)
        if all(isinstance(row, Sequence) and not isinstance(row, str) for row in rows):
            given_rows = tuple(tuple("" if field is None else printed(field) for field in row) for row in rows)
            return RowSource(None, given_rows, delimiter)
    raise PolicyError("a hierarchy is read from a path or from a list of rows", got=type(given).__name__)


def sniff(text: str) -> str:
    """The delimiter that stands on every line, equally often where possible; quoted fields do not count.

    >>> sniff('25;"[25, 30)";*'), sniff("a,b"), sniff("a b")
    (';', ',', ',')
    """
    bare = QUOTED.sub("", text) if '"' in text else text
    lines = [line for line in (re.split(r"\r\n|\r|\n", bare) if "\r" in bare else bare.split("\n")) if line.strip()]
    best, chosen = (0, False), ","
    for delimiter in DELIMITERS:
        if delimiter not in bare:
            continue
        counts = [line.count(delimiter) for line in lines]
        score = (sum(count > 0 for count in counts), len(set(counts)) == 1)
        if score > best and any(counts):
            best, chosen = score, delimiter
    return chosen


def fail(name: str, source: RowSource, faults: Sequence[str], rows: Sequence[Row], hint: str | None = None) -> None:
    """Raise all faults together, if there are any; odd spaces are told too, for they are the usual cause."""
    if not faults:
        return
    told = list(faults[:MOST_FAULTS])
    if len(faults) > MOST_FAULTS:
        told.append(f"and {len(faults) - MOST_FAULTS} more")
    spaced = [row.line for row in rows if any(field != field.strip() for field in row.fields)]
    if spaced:
        told.append(f"{source.at(spaced)}: a name begins or ends with a space, and spaces are part of a name")
    raise HierarchyError(f'no hierarchy of "{name}" in {source.name}', told, hint=hint)


def uncovered(source: RowSource, categories: Categories, leaves: Iterable[str], inner: Iterable[str] = ()) -> list[str]:
    """Faults about values of the table: no leaf of the hierarchy, or an inner node of it."""
    known, nodes, values = set(leaves), set(inner), leaves_of(categories)
    strange = [text for text in values if text not in known]
    above = sum(text in nodes for text in strange)
    faults = []
    if above:
        faults.append(
            f'{source.name}: {above} of {len(values)} values of "{categories.name}" are inner nodes, not leaves'
        )
    if len(strange) > above:
        lost = len(strange) - above
        faults.append(f'{source.name}: {lost} of {len(values)} values of "{categories.name}" are not covered')
    return faults


def first_lines(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The first line of each name."""
    first: dict[str, int] = {}
    for name, line in rows:
        first.setdefault(name, line)
    return first


Way = tuple[int, ...]  # by depth, from the leaves: which of its parents, or lines, a value follows


def choices_in(rows: Sequence[Row]) -> Way:
    """How many parents, or lines, a value has at most, by depth: leaves first."""
    depth, found = _depths(rows), dict[int, int]()
    for value, several in _by_value(rows).items():
        at = depth.get(value, 0)
        found[at] = max(found.get(at, 1), len(several))
    return tuple(found.get(at, 1) for at in range(max(found) + 1))


def rows_of_way(rows: Sequence[Row], way: Way) -> list[Row]:
    """One row per value: that of the parent, or line, which the way follows, or its last one where it has fewer.

    >>> edges = [("1", "1*"), ("1", "*1"), ("1*", "*"), ("*1", "*")]
    >>> [row.fields for row in rows_of_way([Row(i, edge) for i, edge in enumerate(edges)], (1, 0))]
    [('1', '*1'), ('*1', '*')]
    """
    depth, by_value = _depths(rows), _by_value(rows)
    found = {value: several[min(way[depth.get(value, 0)], len(several) - 1)] for value, several in by_value.items()}
    if max(len(row.fields) for row in rows) > 2:
        return list(found.values())
    inner, reached = {row.fields[-1] for row in rows}, dict[str, Row]()
    for leaf in (value for value in found if value not in inner):  # nodes that no leaf leads to are not on the way
        node = leaf
        while node in found and node not in reached:
            reached[node] = found[node]
            node = found[node].fields[-1]
    return sorted(reached.values())


def _depths(rows: Sequence[Row]) -> dict[str, int]:
    """The longest way from a leaf up to each node of an edge list; nodes on a cycle have none, nor has the wide form.

    >>> _depths([Row(1, ("a", "b")), Row(2, ("b", "d")), Row(3, ("c", "d"))])
    {'a': 0, 'c': 0, 'b': 1, 'd': 2}
    """
    if max(len(row.fields) for row in rows) > 2:
        return {}
    edges = {row.fields for row in rows if len(row.fields) == 2}
    up: dict[str, list[str]] = {}
    for child, parent in sorted(edges):
        up.setdefault(child, []).append(parent)
    below = Counter(parent for _, parent in edges)
    ready = [value for value in up if value not in below]
    depth = dict.fromkeys(ready, 0)
    for node in ready:  # which grows on the way
        for parent in up.get(node, ()):
            depth[parent] = max(depth.get(parent, 0), depth[node] + 1)
            below[parent] -= 1
            if not below[parent]:
                ready.append(parent)
    return depth


def _by_value(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The different rows of each value."""
    found: dict[str, dict[tuple[str, ...], Row]] = {}
    for row in rows:
        found.setdefault(row.fields[0], {}).setdefault(row.fields, row)
    return {value: list(several.values()) for value, several in found.items()}


def _row(line: int, fields: Sequence[str]) -> Row:
    """A row without empty fields at its end: spreadsheets write them where another row is longer."""
    end = len(fields)
    while end and not fields[end - 1]:
        end -= 1
    return Row(line, tuple(fields[:end]))


def neighbour(path: Path) -> str | None:
    """A hint naming the files beside a path that are spelt like it, or None."""
    try:
        return did_you_mean(path.name, sorted(p.name for p in path.parent.iterdir() if p != path))
    except OSError:
        return None


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except (OSError, UnicodeEncodeError):
        raise HierarchyError(f"the hierarchy file {path} cannot be read", hint=neighbour(path)) from None
    encodings = ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252")
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise HierarchyError(f"the hierarchy file {path} is no text", hint="save it as UTF-8")
