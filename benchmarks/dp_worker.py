"""diffprivlib on a million numbers, run by an interpreter of its own: CPU seconds of each question, one core.

Imports nothing of ours: diffprivlib 0.6.5 takes neither scikit-learn 1.5 nor numpy 2.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

warnings.simplefilter("ignore")
EPSILON = 0.01
RUNS = 7


def seconds(run: Callable[[], Any], runs: int = RUNS) -> float:
    """The median CPU seconds of warm calls."""
    run()
    found = []
    for _ in range(runs):
        began = time.process_time()
        run()
        found.append(time.process_time() - began)
    return statistics.median(found)


def main() -> None:
    """Print what was measured as one line of JSON."""
    import diffprivlib.tools as tools
    import numpy as np

    job = json.loads(sys.argv[1])
    x = np.random.default_rng(job["seed"]).integers(job["low"], job["high"], job["rows"])
    bounds = tuple(job["bounds"])
    asked = {
        "rows": lambda: tools.count_nonzero(x, epsilon=EPSILON),
        "count": lambda: tools.count_nonzero(x > job["above"], epsilon=EPSILON),
        "mean": lambda: tools.mean(x, epsilon=EPSILON, bounds=bounds),
        "histogram": lambda: tools.histogram(x, epsilon=EPSILON, bins=job["bins"], range=(job["low"], job["high"])),
    }
    found = {name: seconds(run) for name, run in asked.items()}
    found["median"] = seconds(lambda: tools.median(x, epsilon=EPSILON, bounds=bounds), 1)
    print(json.dumps({"version": version("diffprivlib"), "seconds": found}))


if __name__ == "__main__":
    main()
