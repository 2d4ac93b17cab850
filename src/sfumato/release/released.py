"""Class sizes of a released table, and the risk that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from sfumato.core.printed import printed, printed_frame
from sfumato.criteria.audit import Counts as Whole
from sfumato.criteria.audit import Groups, Wide
from sfumato.engines.files.count import BATCH, CHANGED, singled
from sfumato.engines.files.source import written
from sfumato.engines.files.table import FileTable, ScannedFile
from sfumato.engines.order import is_canonical, sorted_by
from sfumato.engines.protocol import COUNT, Progress, refuse_many
from sfumato.errors import ReadError
from sfumato.measures.table import TupleCounts

# a record's risk is 1/n: it is strictly above the threshold where its class has fewer than so many records
THRESHOLDS = {"0.05": 20, "0.1": 10, "0.2": 5}


def class_sizes(released: pl.DataFrame, quasi: Sequence[str]) -> dict[str, Any]:
    """How large the equivalence classes are, and how at risk their records.

    A class is the rows whose quasi-identifiers print alike; missing is a value. The risk of a record is 1/n, with n
    the size of its class (the prosecutor's): the highest, the average (classes per row), and the share of records whose
    risk is strictly above a threshold.

    Parameters: `released`, a table; `quasi`, its quasi-identifying columns.

    >>> sizes = class_sizes(pl.DataFrame({"age": [20, 20, 20, 30]}), ["age"])
    >>> sizes["classes"], sizes["smallest"], sizes["sizes"], sizes["risk"]["average"]
    (2, 1, {'1': 1, '3': 1}, 0.5)
    """
    names = list(dict.fromkeys(quasi))
    keys = pl.DataFrame([printed(released.get_column(name)).alias(f"q{i}") for i, name in enumerate(names)])
    return summary(keys.group_by(keys.columns).agg(size=pl.len()).get_column("size"), names)


def summary(sizes: pl.Series, quasi: Sequence[str]) -> dict[str, Any]:
    """The same from the sizes themselves."""
    table = sizes.cast(pl.Int64).alias("size").value_counts(name="classes").sort("size")
    classes, rows = len(sizes), int(sizes.sum())
    below = {name: table.filter(pl.col("size") < n) for name, n in THRESHOLDS.items()}
    at_risk = {name: int((part["size"] * part["classes"]).sum()) for name, part in below.items()}
    middle: Any = sizes.median() or 0
    smallest, largest = (int(table["size"][i]) if classes else 0 for i in (0, -1))
    return {
        "quasi": list(quasi),
        "classes": classes,
        "smallest": smallest,
        "median": int(middle) if middle == int(middle) else float(middle),
        "average": rows / classes if classes else 0.0,
        "largest": largest,
        "sizes": {str(size): int(count) for size, count in table.iter_rows()},
        "risk": {
            "highest": 1 / smallest if classes else 0.0,
            "average": classes / rows if rows else 0.0,
            "records_above": {name: count / rows if rows else 0.0 for name, count in at_risk.items()},
        },
    }


GroupsOf = Callable[[Sequence[str]], Groups]


class Released(Protocol):
    """A released table."""

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def grouped(self, names: Sequence[str], attributes: Sequence[str]) -> GroupsOf:
        """Its groups by these columns; of the function that gives them, for some of the attributes."""

    def marginal(self, name: str) -> dict[str | None, int]:
        """The rows of each printed value of a column."""


class RowTable:
    """Released rows, each column printed once; with `row_counts` each stands for so many."""

    def __init__(
        self,
        table: pl.DataFrame,
        whole: Mapping[str, Whole],
        trees: Mapping[str, Wide],
        row_counts: pl.Series | None = None,
    ) -> None:
        self.table, self.whole, self.trees, self.row_counts = table, whole, trees, row_counts
        self._text: dict[str, pl.Series] = {}

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""
        return self.table.columns

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.table.height if self.row_counts is None else int(self.row_counts.sum())

    def _printed(self, name: str) -> pl.Series:
        if name not in self._text:
            self._text[name] = printed(self.table.get_column(name))
        return self._text[name]

    def grouped(self, names: Sequence[str], attributes: Sequence[str]) -> GroupsOf:
        """One grouping, for all attributes."""
        keys = pl.DataFrame([self._printed(name) for name in names])
        groups = Groups(keys, {a: self._printed(a) for a in attributes}, self.whole, self.trees, self.row_counts)
        return lambda needs: groups

    def marginal(self, name: str) -> dict[str | None, int]:
        """The rows of each printed value of a column."""
        rows = pl.repeat(1, self.table.height, eager=True) if self.row_counts is None else self.row_counts
        table = pl.DataFrame({"value": self._printed(name), "rows": rows})
        return dict(table.group_by("value").agg(pl.col("rows").sum()).iter_rows())


class CountedTable:
    """Released rows by their distinct tuples: each attribute is counted with the groups, never two together."""

    def __init__(self, counts: TupleCounts, whole: Mapping[str, Whole], trees: Mapping[str, Wide]) -> None:
        self.counts, self.whole, self.trees = counts, whole, trees

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""
        return self.counts.columns

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.counts.rows

    def grouped(self, names: Sequence[str], attributes: Sequence[str]) -> GroupsOf:
        """A grouping for each set of attributes that is asked for; one count answers for all where there is one."""
        if len(attributes) == 1:
            self.counts.entries([*names, *attributes])
        made: dict[tuple[str, ...], Groups] = {}

        def groups(needs: Sequence[str]) -> Groups:
            mine = tuple(a for a in needs if a in attributes)
            if mine not in made:
                frame, times = self.counts.entries([*names, *mine])
                text = printed_frame(frame)
                of = {a: text.get_column(a) for a in mine}
                made[mine] = Groups(text.select(names), of, self.whole, self.trees, pl.Series(COUNT, times))
            return made[mine]

        return groups

    def marginal(self, name: str) -> dict[str | None, int]:
        """The rows of each printed value of a column."""
        frame, times = self.counts.entries([name])
        return dict(zip(printed(frame.get_column(name)).to_list(), times.tolist(), strict=True))


LARGE = 200_000_000  # bytes of a file above which it is not read into memory
MANY = 20_000_000  # cells of a Parquet file, whose bytes tell little, above which it is not
STREAMED = ("parquet", "csv", "tsv")


def data_place(folder: Path, name: str, format: str) -> Path:
    """The data file, or the folder of its parts, which must lie in the folder itself, under its own name, no link."""
    try:
        place = folder / name
        fits = Path(name).name == name and not place.is_symlink()
        if place.is_dir():  # nothing may lie in it that is not counted
            parts = list(place.iterdir())
            fits = fits and format in STREAMED and bool(parts)
            fits = fits and all(p.is_file() and not p.is_symlink() and _is_part(p, format) for p in parts)
        else:
            fits = fits and place.is_file()
    except (OSError, ValueError):
        fits = False
    if not fits:
        raise ReadError(f'the data file that "{folder / "manifest.json"}" names is not in the folder')
    return place


def _is_part(file: Path, format: str) -> bool:
    return file.name.startswith("part-") and file.suffix == f".{format}"


def is_streamed(place: Path, format: str, guarded: bool) -> bool:
    """Whether the data are counted where they lie: parts, and files too large to be read into memory."""
    if place.is_dir():
        return True
    if format not in STREAMED or (format != "parquet" and not guarded):
        return False
    return place.stat().st_size > LARGE or (format == "parquet" and _cells(place) > MANY)


def _cells(file: Path) -> int:
    """Rows times columns of a Parquet file; 0 where it is none, which its reader will tell."""
    try:
        frame = pl.scan_parquet(file, glob=False, hive_partitioning=False)
        return int(frame.select(pl.len()).collect().item()) * len(frame.collect_schema())
    except (pl.exceptions.PolarsError, OSError):
        return 0


def _alike(dtype: pl.DataType) -> bool:
    """Whether a cluster sorts values of a type as their printed texts are sorted."""
    return dtype.is_integer() or isinstance(dtype, pl.String | pl.Boolean | pl.Date | pl.Datetime)


def _sorted(frame: pl.LazyFrame, by: Sequence[str]) -> bool:
    last: pl.DataFrame | None = None
    for batch in frame.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
        text = printed_frame(batch)
        if not is_canonical(text if last is None else pl.concat([last, text]), by):
            return False
        last = text.tail(1) if text.height else last
    return True


class Streamed:
    """A released file, or a folder of parts, by the printed texts of its cells."""

    def __init__(self, place: Path, format: str) -> None:
        self.place, self.format = place, format

    @cached_property
    def _parts(self) -> list[FileTable | ScannedFile]:
        if self.format == "parquet":
            return [FileTable(self.place, format="parquet")]
        files = sorted(self.place.glob("part-*")) if self.place.is_dir() else [self.place]
        return [ScannedFile(file, self.format) for file in files]  # which takes the guard of text away

    def is_canonical(self, quasi: Sequence[str]) -> bool:
        """Whether the rows of each file stand in canonical order.

        Parts are sorted by a cluster, which prints some types in its own way: they are compared by the columns before
        the first of these, and parts of text not at all.
        """
        parts = self.place.is_dir()
        if parts and self.format != "parquet":
            return True
        try:
            for file in sorted(self.place.glob("part-*")) if parts else [self.place]:
                frame = written(file, self.format)
                types = frame.collect_schema()
                by = sorted_by(types, quasi)
                other = [name for name in by if not _alike(types[name])]
                by = by[: by.index(other[0])] if parts and other else by
                if by and not _sorted(frame.select(by), by):
                    return False
        except (pl.exceptions.PolarsError, OSError):  # its message may hold cells
            raise ReadError(CHANGED) from None
        return True

    def schema(self) -> dict[str, pl.DataType]:
        """Column to text, in order; all parts must have the same."""
        first, *others = (list(part.schema()) for part in self._parts)
        if any(names != first for names in others):
            raise ReadError(f'the parts in "{self.place}" do not have the same columns')
        return {name: pl.String() for name in first}

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        return singled(pl.concat([part.frame for part in self._parts]), sets)

    def count(self, columns: Sequence[str], say: Progress, most: int) -> pl.DataFrame:
        """Distinct tuples of printed texts, and in `COUNT` how many rows have them."""
        names, cells = list(columns), []
        for part in self._parts:
            found = part.count(names, say, most)
            cells.append(printed_frame(found.select(names)).with_columns(found.get_column(COUNT)))
        every = cells[0] if len(cells) == 1 else pl.concat(cells).group_by(names).agg(pl.col(COUNT).sum())
        refuse_many(every.height, most)
        return every
