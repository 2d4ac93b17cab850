"""Statistical tables: counted, their cells suppressed at least cost, and audited, in CPU seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, figure

GROUP = "statistical tables"
ROWS = 10_000_000


def run() -> list[Figure]:
    """Suppression of tables of 500 and 2,000 cells with 5% unsafe ones, the audit of the second, and counting."""
    found = []
    sf.protect(sums(6, 6, 1), rules=sf.PPercent(20))  # compiles and imports
    for height, width, target in ((24, 20, 10.0), (49, 40, 120.0)):
        for what, table, rule in (
            ("sums", sums(height, width, 3), sf.PPercent(12)),
            ("counts", counts(height, width, 3), sf.MinimumFrequency(3)),
        ):
            seconds, safe = _timed(lambda table=table, rule=rule: sf.protect(table, rules=rule))  # type: ignore[misc]
            cells, unsafe = table.value.size, int(safe.primary.cells.sum())
            details = {"unsafe": unsafe, "proven": safe.cells.optimal, "gap": _gap(safe)}
            name = f"exact suppression, {cells} cells of {what}, {unsafe} unsafe"
            found.append(figure(GROUP, name, [seconds], target=target, **details))
    seconds, _ = _timed(safe.audit)
    found.append(figure(GROUP, f"audit of {int(safe.cells.hidden.sum())} hidden cells and of contributors", [seconds]))
    frame = rows(ROWS)
    seconds, _ = _timed(lambda: sf.tabulate(frame, by=["a", "b", "c"]))
    own, _ = _timed(lambda: frame.group_by("a", "b", "c").len())
    found.append(figure(GROUP, "count of 10M rows by three columns, times Polars' own", [seconds / own], unit=""))
    return found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def _gap(safe: Any) -> float:
    """How far the cost may be above the least, as a share of it."""
    cells = safe.cells
    return 0.0 if cells.optimal or not cells.cost else float((cells.cost - cells.bound) / cells.cost)


def counts(height: int, width: int, seed: int) -> sf.StatTable:
    """A table of counts, of which some 5% are 1 or 2."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(5, 60, (height, width))
    small = rng.random((height, width)) < 0.05
    cells[small] = rng.integers(1, 3, int(small.sum()))
    a, b = np.indices((height, width)).reshape(2, -1)
    times = cells.ravel()
    return sf.tabulate(pl.DataFrame({"a": np.repeat(a, times), "b": np.repeat(b, times)}), by=["a", "b"])


def sums(height: int, width: int, seed: int) -> sf.StatTable:
    """A table of sums over three to ten firms a cell, of which some 5% are dominated by one."""
    rng = np.random.default_rng(seed)
    firms = rng.integers(3, 11, height * width)
    cell = np.repeat(np.arange(height * width), firms)
    pay = rng.integers(20, 100, len(cell)).astype(float)
    first = np.concatenate([[0], np.cumsum(firms)[:-1]])
    pay[first[rng.random(height * width) < 0.05]] *= 200
    return sf.tabulate(pl.DataFrame({"a": cell // width, "b": cell % width, "pay": pay}), by=["a", "b"], value="pay")


def rows(size: int) -> pl.DataFrame:
    """Rows with three columns of 20, 12 and 30 values."""
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {name: rng.integers(n, size=size, dtype=np.int32) for name, n in (("a", 20), ("b", 12), ("c", 30))}
    )
