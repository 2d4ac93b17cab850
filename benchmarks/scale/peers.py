"""The pandas peers on the same table, CSV to CSV, beside ours: larger and larger until one does not finish."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import sfumato as sf
from benchmarks.peers import PYTHON
from benchmarks.scale.files import measured
from benchmarks.scale.measured import LIMIT, Measured, child, told
from benchmarks.scale.table import QUASI, SEARCHES, SUPPRESSION, K, make
from sfumato.core.microdata import microdata

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
WORKER = Path(__file__).with_name("peer_worker.py")
PEERS = {"anonypy": "mondrian", "anjana": "optimal"}  # the search of ours that a peer stands against


def lacking() -> str | None:
    """Why this cannot be measured here, or None."""
    if os.environ.get(PYTHON):
        return None
    return f"{PYTHON} names no Python that has anonypy and anjana; `make bench-scale` does"


def run(folder: Path, sizes: Sequence[int] = ROWS, limit: float = LIMIT) -> list[Measured]:
    """Ours and theirs at each size; a peer that did not finish is not asked for more."""
    found: list[Measured] = []
    late: dict[str, int] = {}
    for rows in sizes:
        found += measured("peers", folder, rows, "csv")
        source = folder / f"peers-{rows}"
        try:
            make(source, rows, "csv")
            for peer, search in PEERS.items():
                like = Measured("peers", peer, rows, SEARCHES[search])
                if peer in late:
                    why = f"not tried: did not finish {late[peer]:,} rows"
                    found.append(told(Measured("peers", peer, rows, SEARCHES[search], why=why)))
                    continue
                found.append(child([os.environ[PYTHON], "-I", str(WORKER), _job(source, peer, search)], like, limit))
                if found[-1].seconds is None:
                    late[peer] = rows
        finally:
            shutil.rmtree(source, ignore_errors=True)
    return found


def _job(source: Path, peer: str, search: str) -> str:
    """A file that tells a peer what is asked of it, with the labels of each value at each level."""
    table = sf.read(source / "000.csv")
    recipes = {"age": sf.intervals(5, 10, 20), "zip": sf.redact()}
    micro = microdata(table, dict.fromkeys(QUASI, "quasi"), recipes)
    ladders = {}
    for name in QUASI:
        ladder = micro.attribute(name).ladder
        ladders[name] = [[ladder.text[level][label] for label in ladder.of[level]] for level in range(ladder.levels)]
    job = {"peer": peer, "table": str(source / "000.csv"), "quasi": list(QUASI), "sensitive": "cost", "k": K}
    file = source / f"{peer}.json"
    file.write_text(json.dumps(job | {"suppression": SUPPRESSION[search], "hierarchies": ladders}))
    return str(file)
