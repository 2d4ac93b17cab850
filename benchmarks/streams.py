"""Streams on Adult with nine attributes, enlarged to half a million rows, k = 10 and a delay of 10,000 rows."""

from __future__ import annotations

from typing import Any

import sfumato as sf
from benchmarks.figures import Figure, cpu, figure, say
from benchmarks.tables import nine, resample

GROUP = "streams"
ROWS, BATCH = 500_000, 10_000
SECONDS = 10.0  # of CPU: 50,000 rows a second


def run() -> list[Figure]:
    """Each algorithm over all rows, each row a person."""
    table, hierarchies = nine()
    rows = resample(table, ROWS)
    del hierarchies["age"]  # a range
    sensitive = "occupation"
    asked = {
        "castle": (sf.CASTLE(), ["k-anonymity 10"]),
        "castle, l = 3": (sf.CASTLE(), ["k-anonymity 10", f"distinct-l-diversity {sensitive} 3"]),
        "b-castle": (sf.BCastle(), ["k-anonymity 10"]),
        "fads": (sf.FADS(), ["k-anonymity 10"]),
    }
    found = []
    for name, (search, require) in asked.items():
        secret = [sensitive] if len(require) > 1 else []
        quasi = [column for column in rows.columns if column not in secret]
        known = {column: path for column, path in hierarchies.items() if column in quasi}

        def go(search: Any = search, require: Any = require, quasi: Any = quasi, known: Any = known) -> Any:
            batches = (rows[start : start + BATCH] for start in range(0, ROWS, BATCH))
            out = sf.stream(
                batches, quasi=quasi, require=require, search=search, hierarchies=known, delay=10_000, seed=1
            )
            for _ in out:
                pass
            return out

        seconds, out = cpu(go)
        say(f"{name}: loss {out.loss:.4f}, suppressed {out.suppressed}")
        target = SECONDS if name == "castle" else None
        found.append(figure(GROUP, f"{name}, 500k rows, CPU", [seconds], target=target))
    return found
