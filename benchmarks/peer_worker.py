"""One peer on one table, run by the peers' own interpreter: seconds of its call, and what it found.

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

K = 10


def anonypy(table: Any, quasi: list[str], job: dict[str, Any]) -> tuple[float, Any]:
    """Mondrian. Its result is a list of records: ranges, a sensitive value, a count."""
    import pandas as pd
    from anonypy import Preserver

    began = time.perf_counter()
    records = Preserver(table, quasi, job["sensitive"]).anonymize_k_anonymity(K)
    seconds = time.perf_counter() - began
    found = pd.DataFrame(records)
    for name in quasi:
        found[name] = found[name].map(lambda label: label[0])  # each label comes in a list of one
    return seconds, found[[*quasi, "count"]]


def anjana(table: Any, quasi: list[str], job: dict[str, Any]) -> tuple[float, Any]:
    """Full-domain generalisation along hierarchies, with suppression."""
    import numpy as np
    from anjana.anonymity import k_anonymity

    ladders = {
        name: {level: np.array(labels, dtype=np.int64 if level == 0 else object) for level, labels in enumerate(rows)}
        for name, rows in job["hierarchies"].items()
    }
    began = time.perf_counter()
    found = k_anonymity(table, [], quasi, K, 100 * job["suppression"], ladders)
    return time.perf_counter() - began, found[quasi].assign(count=1)


def released(path: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Anonymize, and write the released labels with their counts to groups.csv."""
    import pandas as pd

    table = pd.read_csv(path)
    seconds, found = {"anonypy": anonypy, "anjana": anjana}[job["peer"]](table, job["quasi"], job)
    groups = found.astype(dict.fromkeys(job["quasi"], str)).groupby(job["quasi"], as_index=False)["count"].sum()
    groups.to_csv(path.with_name("groups.csv"), index=False)
    return {"seconds": seconds}


def synthesized(path: Path, job: dict[str, Any]) -> dict[str, Any]:
    """A Bayesian network without noise by DataSynthesizer; its rows go to drawn.csv. It works in several processes."""
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    began, used = time.perf_counter(), os.times()
    describer, generator = DataDescriber(category_threshold=job["levels"]), DataGenerator()
    describer.describe_dataset_in_correlated_attribute_mode(str(path), k=job["degree"], epsilon=0)
    described = str(path.with_name("described.json"))
    describer.save_dataset_description_to_file(described)
    generator.generate_dataset_in_correlated_attribute_mode(job["rows"], described)
    seconds, now = time.perf_counter() - began, os.times()
    generator.synthetic_dataset.to_csv(path.with_name("drawn.csv"), index=False)
    return {"seconds": seconds, "cpu_seconds": sum(now[:4]) - sum(used[:4])}


def pycanon(path: Path, job: dict[str, Any]) -> dict[str, Any]:
    """k, l or t of a table; a column of text has the equal distance."""
    import pandas as pd
    from pycanon import anonymity

    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    quasi, secret = job["quasi"], [job["sensitive"]]
    measures = {
        "k": lambda: anonymity.k_anonymity(table, quasi),
        "l": lambda: anonymity.l_diversity(table, quasi, secret),
        "t": lambda: anonymity.t_closeness(table, quasi, secret),
    }
    began = time.perf_counter()
    value = measures[job["measure"]]()
    return {"seconds": time.perf_counter() - began, "value": float(value)}


def main(file: str) -> None:
    """Read the job, run it on the table beside it and print what is to be told."""
    path = Path(file)
    job = json.loads(path.read_text())
    run = {"pycanon": pycanon, "DataSynthesizer": synthesized}.get(job["peer"], released)
    told = run(path.with_name("table.csv"), job)
    print(json.dumps(told | {"version": version(job["peer"])}))


if __name__ == "__main__":
    main(sys.argv[1])
