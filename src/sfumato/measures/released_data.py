"""The data of a release folder: a file, or a folder of parts; the large ones are counted as a stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import polars as pl

from sfumato.engines.order import is_canonical, sorted_by
from sfumato.engines.printed import printed_frame
from sfumato.engines.scanned import Scanned, ScannedFile
from sfumato.engines.scanned_count import BATCH, CHANGED, singled
from sfumato.engines.scanned_source import written
from sfumato.engines.store import COUNT, Say, refuse_many
from sfumato.errors import ReadError

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
    def _parts(self) -> list[Scanned | ScannedFile]:
        if self.format == "parquet":
            return [Scanned(self.place, format="parquet")]
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

    def count(self, columns: Sequence[str], say: Say, most: int) -> pl.DataFrame:
        """Distinct tuples of printed texts, and in `COUNT` how many rows have them."""
        names, cells = list(columns), []
        for part in self._parts:
            found = part.count(names, say, most)
            cells.append(printed_frame(found.select(names)).with_columns(found.get_column(COUNT)))
        every = cells[0] if len(cells) == 1 else pl.concat(cells).group_by(names).agg(pl.col(COUNT).sum())
        refuse_many(every.height, most)
        return every
