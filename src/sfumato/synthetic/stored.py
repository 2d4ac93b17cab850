"""Synthetic tables of out-of-core ones: a model of a sample, or of counts of all rows; drawn, compared with all rows of
the original, and written block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.core.printed import plain_values
from sfumato.core.progress import Progress
from sfumato.core.random_stream import RandomStream
from sfumato.engines.batches import OutOfCoreRows, printable
from sfumato.engines.files.recode import Tuples
from sfumato.engines.files.table import ScannedFile
from sfumato.engines.files.write import write_frames
from sfumato.engines.order import INPUT
from sfumato.engines.protocol import Plan
from sfumato.errors import PolicyError, TooManyCells
from sfumato.synthetic.copies import without_copies
from sfumato.synthetic.counts import Count

BLOCK = 1 << 21  # rows that are drawn at a time, and compared with all rows of the original


def sample_of(stored: OutOfCoreRows, rows: int, stream: RandomStream, report_progress: Progress) -> pl.DataFrame:
    """Rows by chance, numbers and dates as such: any are as likely as others. Where rows have no order, and so no
    numbers to draw, they are drawn from those that the engine draws, which are the same each time."""
    what, names = "drawing a sample", printable(stored.engine)

    def chosen_of(every: int) -> np.ndarray:
        return np.sort(stream.generator().choice(every, min(rows, every), replace=False, shuffle=False))

    if INPUT not in stored.engine.orders:
        report_progress(what, None)
        found = stored.as_typed(stored.engine.sample(2 * rows).select(names)).sort(names, nulls_last=True)
        return found[chosen_of(found.height)]
    chosen = chosen_of(stored.rows)
    parts, start = [], 0
    for frame, _ in stored.batches(names, what, report_progress):
        low, high = np.searchsorted(chosen, (start, start + frame.height))
        parts.append(frame[chosen[low:high] - start])
        start += frame.height
    return stored.as_typed(pl.concat(parts) if parts else stored.engine.sample(1).select(names))


def count_of(stored: OutOfCoreRows, most: int, report_progress: Progress, as_typed: bool = True) -> Count:
    """What counts the distinct tuples of some columns over all rows, numbers and dates as such unless it is not to."""

    def count(names: Sequence[str]) -> pl.DataFrame:
        try:
            found = stored.engine.count(names, report_progress, most)
            return stored.as_typed(found) if as_typed else found
        except TooManyCells as error:
            what = "columns have too many different combinations of values to be learnt from their counts"
            hint = "state how many rows to learn from instead, leave columns out, or allow more max_cells"
            raise PolicyError(what, got=error.got, allowed=error.allowed, hint=hint) from None

    return count


def stored_repeats(stored: OutOfCoreRows, drawn: pl.DataFrame, report_progress: Progress) -> np.ndarray:
    """Which drawn rows are equal to a row that stands alone among all rows of the original, which are read once."""
    rows = _keys(drawn)
    tuples = Tuples(rows.unique())
    often = np.zeros(tuples.absent + 1, np.int64)
    for frame, _ in stored.batches(drawn.columns, "comparing with all rows", report_progress):
        place = tuples(_keys(stored.as_typed(frame.select(drawn.columns)))).to_numpy()
        often += np.bincount(place, minlength=len(often))
    return np.asarray(often[tuples(rows).to_numpy()] == 1)


def _keys(table: pl.DataFrame) -> pl.DataFrame:
    """Columns whose values can be compared: in their plain form, categories as texts."""
    texts = (c.cast(pl.String) if isinstance(c.dtype, pl.Categorical | pl.Enum) else c for c in table.iter_columns())
    return pl.DataFrame(list(map(plain_values, texts)))


@dataclass(eq=False)
class DrawnRows:
    """The rows of a synthetic table, to be written; what they repeated is known once they are."""

    stored: OutOfCoreRows
    draws: Sequence[Callable[[int], pl.DataFrame]]  # one for each copy of the table
    rows: int  # of each copy
    copies: str
    schema: dict[str, pl.DataType]
    copy: str | None  # the column that numbers the copies, where there are several
    repeated: int = 0
    drawn: int = 0

    @property
    def formats(self) -> tuple[str, ...]:
        """Those of the engine."""
        return self.stored.engine.formats

    @property
    def called(self) -> str:
        """What the original is."""
        return self.stored.engine.called

    def recode(self, plan: Plan, file: Path, format: str, report_progress: Progress) -> ScannedFile:
        """Write the rows, in the order of the plan."""
        write_frames(self._frames(report_progress), self.schema, file, format, plan.order)
        return ScannedFile(file, format)

    def _frames(self, report_progress: Progress) -> Iterator[pl.DataFrame]:
        def copied(drawn: pl.DataFrame) -> np.ndarray:
            if self.copies == "keep":
                return np.zeros(drawn.height, np.bool_)
            return stored_repeats(self.stored, drawn, report_progress)

        blocks = -(-self.rows // BLOCK)
        for number, draw in enumerate(self.draws):
            for block in range(blocks):
                report_progress("drawing rows", (number * blocks + block) / (blocks * len(self.draws)))
                size = (block + 1) * self.rows // blocks - block * self.rows // blocks
                found, repeated = without_copies(draw(size), copied, draw, self.copies)
                self.repeated += repeated
                self.drawn += found.height
                copy = (
                    []
                    if self.copy is None
                    else [pl.Series(self.copy, [number + 1], pl.Int64).new_from_index(0, found.height)]
                )
                yield pl.DataFrame([*copy, *map(plain_values, found.iter_columns())])
