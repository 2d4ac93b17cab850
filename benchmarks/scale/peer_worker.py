"""One peer on one table, run by the peers' own interpreter: CSV to CSV, its seconds and its processor seconds.

Imports nothing of ours: anjana pins versions of numpy and pandas that Sfumato does not take.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any


def anonypy(table: Any, job: dict[str, Any]) -> Any:
    """Mondrian; text has to be a category. Its result is a record per class and sensitive value, with a count."""
    import pandas as pd
    from anonypy import Preserver

    for name in job["quasi"]:
        if table[name].dtype == object:
            table[name] = table[name].astype("category")
    return pd.DataFrame(Preserver(table, job["quasi"], job["sensitive"]).anonymize_k_anonymity(job["k"]))


def anjana(table: Any, job: dict[str, Any]) -> Any:
    """Full-domain generalisation along hierarchies, with suppression; values are matched as the table has them."""
    import numpy as np
    from anjana.anonymity import k_anonymity

    ladders = {}
    for name, rows in job["hierarchies"].items():
        kind = object if table[name].dtype == object else table[name].dtype
        ladders[name] = {level: np.array(rows[level], dtype=object if level else kind) for level in range(len(rows))}
    return k_anonymity(table, [], job["quasi"], job["k"], 100 * job["suppression"], ladders)


def main(file: str) -> None:
    """Read, anonymize, write, tell."""
    import pandas as pd

    job = json.loads(Path(file).read_text())
    began = time.perf_counter()
    found = {"anonypy": anonypy, "anjana": anjana}[job["peer"]](pd.read_csv(job["table"]), job)
    found.to_csv(Path(file).with_suffix(".csv"), index=False)
    seconds, used = time.perf_counter() - began, os.times()
    details = {"version": version(job["peer"])}
    print(json.dumps({"seconds": seconds, "cpu_seconds": used.user + used.system, "details": details}))


if __name__ == "__main__":
    main(sys.argv[1])
