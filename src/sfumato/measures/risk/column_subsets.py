"""Which subsets of columns single people out: distinction and separation.

R. Motwani, Y. Xu, Efficient algorithms for masking and finding quasi-identifiers, VLDB 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.keys import rank_tuples
from sfumato.core.parameters import Whole, checked
from sfumato.errors import PolicyError
from sfumato.measures.arguments import QUASI, TABLE
from sfumato.measures.risk.keys import Keys, keys_of
from sfumato.measures.table import table_of

MOST = 20_000  # subsets looked at, at most


@checked
def subsets(
    df: Annotated[Any, TABLE],
    quasi: Annotated[Sequence[str], QUASI],
    up_to: Annotated[int, Whole(help="how many columns a subset has at most")] = 3,
) -> pl.DataFrame:
    """What each subset of up to `up_to` columns tells apart.

    `distinction` is the number of different tuples over the number of rows; `separation` the share of pairs of rows
    with different tuples (1 for a table of one row); `uniqueness` the share of rows whose tuple no other row has. A
    `key` tells all rows apart; a `minimal` key does so and none of its parts does.

    Returns a frame with a row per subset, the smaller first and in the order of `quasi`: `columns` (a list), `size`,
    `distinction`, `separation`, `uniqueness`, `key`, `minimal`.

    >>> found = subsets({"a": [0, 0, 1, 1], "b": [0, 1, 0, 0], "c": [1, 2, 3, 4]}, ["a", "b", "c"], up_to=2)
    >>> found.filter("minimal")["columns"].to_list(), found["distinction"].to_list()[:4]
    ([['c']], [0.5, 0.5, 1.0, 0.75])
    """
    return subsets_frame(keys_of(table_of(df), quasi), up_to)


def subsets_frame(keys: Keys, up_to: Any) -> pl.DataFrame:
    """The same from counted keys."""
    names = keys.cells.names
    up_to = min(up_to, len(names))
    if (asked := sum(comb(len(names), size) for size in range(1, up_to + 1))) > MOST:
        raise PolicyError("too many subsets", got=f"{asked}", allowed=f"at most {MOST}", hint="give a smaller up_to")
    mine = np.flatnonzero(keys.sample > 0)
    codes, count = keys.cells.codes[:, mine], keys.sample[mine]
    rows = keys.rows
    found: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    is_key: set[tuple[int, ...]] = set()
    for size in range(1, up_to + 1):
        path = [(-1, np.zeros(len(count), np.int32), 1)]  # groups under the first columns of the subset, one by one
        for subset in combinations(range(len(names)), size):
            inherited = any(part in is_key for part in combinations(subset, size - 1))
            if inherited:  # a superset of a key is one: nothing to count
                distinct, pairs, alone = rows, 0.0, rows
            else:
                same = 0
                while same + 1 < len(path) and same < size and path[same + 1][0] == subset[same]:
                    same += 1
                del path[same + 1 :]
                for column in subset[same:]:
                    both = [path[-1][2], keys.cells.sizes[column]]
                    path.append((column, *rank_tuples([path[-1][1], codes[column]], both, len(count))))
                _, of, distinct = path[-1]
                tuples = np.bincount(of, weights=count, minlength=distinct)
                pairs, alone = float((tuples * (tuples - 1)).sum()), int((tuples == 1).sum())
            key = distinct == rows
            if key:
                is_key.add(subset)
            entry = (
                [names[i] for i in subset],
                size,
                distinct / rows,
                1.0 - pairs / (rows * (rows - 1)) if rows > 1 else 1.0,
                alone / rows,
                key,
                key and not inherited,
            )
            for name, value in zip(COLUMNS, entry, strict=True):
                found[name].append(value)
    return pl.DataFrame(found, schema=COLUMNS)


COLUMNS: dict[str, Any] = {
    "columns": pl.List(pl.String),
    "size": pl.Int64,
    "distinction": pl.Float64,
    "separation": pl.Float64,
    "uniqueness": pl.Float64,
    "key": pl.Boolean,
    "minimal": pl.Boolean,
}
