"""A released frame that stays on the cluster: stored as it is verified, so that this is what is handed out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sfumato.engines.spark_frame import LARGEST, SparkFrame
from sfumato.engines.store import Say


class SparkKept:
    """A released frame, to be counted again: of the plan that made it it knows nothing."""

    def __init__(self, frame: Any, place: dict[str, Any]) -> None:
        self.data, self.place, self._table = frame, place, SparkFrame(frame)

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order."""
        return dict(self._table.schema)

    def count(self, columns: Sequence[str], say: Say, most: int = LARGEST) -> pl.DataFrame:
        """The distinct tuples of the printed texts of columns, and in `COUNT` how many rows have them."""
        say("verifying", None)
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
