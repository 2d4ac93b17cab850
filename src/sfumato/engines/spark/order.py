"""Released rows of a cluster, dealt to parts and sorted in each, by nothing but what is released of them.

Which part a row goes to is a hash of its values, and how many parts there are follows from how many rows are released.
Spark's own sort of all rows would cut the parts by a sample, which depends on where the rows came from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sfumato.engines.spark.types import functions

PART = 1 << 18  # rows of a part, about
WHOLE = ("byte", "short", "integer", "long")


def dealt_and_sorted(frame: Any, by: Sequence[str], rows: int) -> Any:
    """The rows of a frame in parts, sorted in each by its columns in this order; names must need no quoting.

    Texts compare byte by byte and whole numbers by their digits. What the cluster prints in another way than Sfumato,
    as fractions, is compared by its value.
    """
    F, types = functions(frame), {field.name: field.dataType.typeName() for field in frame.schema.fields}
    keys = []
    for name in by:
        text = F.col(name).cast("string").asc_nulls_last()
        alone = types[name] in (*WHOLE, "string", "char", "varchar")
        keys += [text] if alone else [F.col(name).asc_nulls_last(), text]  # zeros are equal, and print differently
    return frame.repartition(max(1, math.ceil(rows / PART)), *by).sortWithinPartitions(*keys)
