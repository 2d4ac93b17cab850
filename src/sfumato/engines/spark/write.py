"""Released rows that the cluster writes itself: a folder of parts, Parquet or text, that all machines see."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from sfumato.core.progress import Progress
from sfumato.engines.files.bytes import SEPARATORS, text_of, write_table
from sfumato.engines.files.write import refuse_format
from sfumato.engines.guard import guarded_text, unguard, unguard_names
from sfumato.engines.protocol import COUNT
from sfumato.engines.spark.count import LARGEST, SparkFrame
from sfumato.engines.spark.types import job
from sfumato.errors import OutputError

SHARED = "the folder must be one that this machine and every worker see under the same path"
INSTALLED = SHARED + "; text is made on the workers, which need Sfumato for it, as Parquet does not"
READ = {"header": True, "quote": '"', "escape": '"', "multiLine": True, "lineSep": "\n"}
CHECK = {"mode": "FAILFAST", "enforceSchema": False}


def write_parts(frame: Any, folder: Path, format: str) -> SparkParts:
    """Have the cluster write a frame as parts in a folder."""
    refuse_format(format)
    what, place = f"the cluster could not write {folder.name}", "file://" + str(folder.absolute())
    with job(frame.sparkSession, what, OutputError, SHARED if format == "parquet" else INSTALLED):
        if format == "parquet":
            with _set(frame.sparkSession, "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"):
                frame.write.parquet(place)  # by default an instant loses that it is one
        else:
            _lines(SparkFrame(frame), format).write.option("compression", "none").text(place)
    try:
        _tidy(folder, format)
    except OSError as error:
        raise OutputError(what, got=error.strerror or type(error).__name__, hint=SHARED) from None
    return SparkParts(frame.sparkSession, folder, format)


class SparkParts:
    """Written parts, to be counted again by the cluster: of the plan that made them they know nothing."""

    def __init__(self, spark: Any, folder: Path, format: str) -> None:
        self.text = format != "parquet"
        self.frame: Any = None  # the parts as they are, where they are no text
        # letters that stand for others in a path must not here
        place = "file://" + re.sub(r"([*?{}\[\]\\])", r"\\\1", str(folder.absolute()))
        with job(spark, f"the cluster could not read {folder.name}"):
            if self.text:
                reader = spark.read.options(**READ, **CHECK, sep=SEPARATORS[format])
                self._table = SparkFrame(reader.schema(_names(folder, format)).csv(place))
            else:
                self.frame = spark.read.parquet(place)
                self._table = SparkFrame(self.frame)

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order, as the parts have them."""
        names = list(self._table.schema)
        return dict(zip(unguard_names(names) if self.text else names, self._table.schema.values(), strict=True))

    def count(self, columns: Sequence[str], report_progress: Progress, most: int = LARGEST) -> pl.DataFrame:
        """The distinct tuples of the printed texts of columns, and in `COUNT` how many rows have them."""
        report_progress("verifying", None)
        written = self._written(columns)
        cells = self._table.count_printed(written, most)
        if not self.text:
            return cells
        texts = [unguard(cells.get_column(there)).alias(name) for name, there in zip(columns, written, strict=True)]
        return pl.DataFrame([*texts, cells.get_column(COUNT)])

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        return self._table.singled([self._written(names) for names in sets])

    def _written(self, columns: Sequence[str]) -> list[str]:
        """The columns as the parts name them."""
        named = dict(zip(self.schema(), self._table.schema, strict=True))
        return [named[name] for name in columns]


@contextmanager
def _set(spark: Any, name: str, value: str) -> Iterator[None]:
    """A setting of the session, for a while."""
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


def _names(folder: Path, format: str) -> Any:
    """The columns that the first part names; the cluster checks that the others name the same."""
    from pyspark.sql.types import StringType, StructField, StructType

    with (folder / f"part-00000.{format}").open(encoding="utf-8", newline="") as file:
        names = next(csv.reader(file, delimiter=SEPARATORS[format]))
    return StructType([StructField(name, StringType()) for name in names])


def _lines(table: SparkFrame, format: str) -> Any:
    """The text of each part, as `write_table` would write it; a value may hold many lines."""
    dtypes, separator = list(table.schema.values()), SEPARATORS[format]
    with TemporaryDirectory() as folder:
        write_table(pl.DataFrame(schema=table.schema), Path(folder) / "header", format)
        header = (Path(folder) / "header").read_text("utf-8").removesuffix("\n")

    def text(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow

        yield pyarrow.RecordBatch.from_pydict({"value": [header]})
        for batch in batches:
            if batch.num_rows:
                given = zip(batch.columns, dtypes, strict=True)
                columns = [guarded_text(pl.Series(column).cast(dtype)) for column, dtype in given]
                rows = pl.DataFrame({str(i): column for i, column in enumerate(columns)})
                lines = bytes(text_of(rows, separator)).decode().removesuffix("\n")
                yield pyarrow.RecordBatch.from_pydict({"value": [lines]})

    return table.rows.mapInArrow(text, "value string")


def _tidy(folder: Path, format: str) -> None:
    """Parts by number, and nothing beside them: their names must not differ from run to run."""
    names = sorted(path.name for path in folder.iterdir())
    parts = [name for name in names if name.startswith("part-")]
    if not parts:
        raise FileNotFoundError(2, "no parts arrived")
    for name in set(names) - set(parts):
        (folder / name).unlink()
    for i, name in enumerate(parts):
        (folder / name).rename(folder / f"part-{i:05}.{format}")


class SparkKept:
    """A released frame, to be counted again: of the plan that made it it knows nothing."""

    def __init__(self, frame: Any, place: dict[str, Any]) -> None:
        self.data, self.place, self._table = frame, place, SparkFrame(frame)

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order."""
        return dict(self._table.schema)

    def count(self, columns: Sequence[str], report_progress: Progress, most: int = LARGEST) -> pl.DataFrame:
        """The distinct tuples of the printed texts of columns, and in `COUNT` how many rows have them."""
        report_progress("verifying", None)
        return self._table.count_printed(columns, most)

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        return self._table.singled(sets)


def checkpointed(frame: Any) -> tuple[Any, str]:
    """The frame run once and its rows stored, and where: rows that get lost make it fail, none is computed again.

    They are stored in the checkpoint folder of the cluster, where it has one ("reliable"), else on its workers
    ("local"), where they live as long as those do.
    """
    spark = frame.sparkSession
    try:
        spark.range(1).checkpoint(eager=False)  # runs nothing, and fails where there is no folder
    except Exception:
        kept, where = frame.localCheckpoint(eager=True), "local"
    else:
        kept, where = frame.checkpoint(eager=True), "reliable"
    if kept.sparkSession is not spark:  # Spark Connect gives it to the first session of the process
        kept = spark._create_remote_dataframe(kept._plan._relation_id)
    return kept, where
