"""Private answers over a million rows beside diffprivlib and OpenDP alone, draws of noise, the ledger, and releases.

CPU seconds, of the same run. An answer of ours is whole: parsed, checked, charged to a ledger in memory that is signed
row by row, drawn by OpenDP, stored and read back. The peers only add noise to what they compute.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from itertools import combinations, count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, cpu, figure, say
from benchmarks.load import measure
from benchmarks.synthesis import adult, million
from sfumato.core.accounting import exact
from sfumato.core.mechanisms import gaussian, laplace, opendp
from sfumato.synthetic.generator import FitContext

GROUP = "private answers"
PYTHON = "SFUMATO_DP_PEERS_PYTHON"  # the variable that names the interpreter that has diffprivlib
WORKER = Path(__file__).with_name("dp_worker.py")
ROWS, SEED, LOW, HIGH, BOUNDS, ABOVE = 1_000_000, 17, 17, 91, (0, 120), 40
BINS = HIGH - LOW  # 74
RUNS, ANSWERS = 7, 100
CLIENTS, RATE = 32, 150  # of the service, and the answers that it should give in a second
MEDIAN = 0.010  # seconds, once sorted
FIFTH, THIRD = 1 / 5, 1 / 3  # of diffprivlib's time
# Adult in public bins; what mbi's MST is off by in pairs, and what it may take
CUTS: dict[str, list[int]] = {
    "age": [*range(15, 90, 5), 91],
    "capital_gain": [0, 1, 2000, 4000, 6000, 8000, 10000, 20000, 50000, 100000],
    "capital_loss": [0, 1, 1500, 1750, 2000, 2250, 2500, 4500],
    "hours_per_week": [1, 10, 20, 25, 30, 35, 40, 41, 45, 50, 55, 60, 70, 100],
}
PAIRS, FITTED, LARGE = 0.0452, 5.0, 20.0
EPSILON, DELTA, SEEDS = 1, 1e-9, 3
JOB = {"rows": ROWS, "seed": SEED, "low": LOW, "high": HIGH, "bins": BINS, "bounds": BOUNDS, "above": ABOVE}


def run() -> list[Figure]:
    """Questions, draws, the ledger, and tables of counts."""
    load = os.getloadavg()[0]
    say(f"  load of the machine: {load:.1f}")
    ages = np.random.default_rng(SEED).integers(LOW, HIGH, ROWS)
    peer, alone = _peer(), _opendp(ages)
    return [*_questions(ages, peer, alone, load), *_draws(), _ledger(), _service(), *_marginals(), *_synthetic()]


def _questions(ages: np.ndarray, peer: dict[str, Any], alone: dict[str, float], load: float) -> list[Figure]:
    table = pl.DataFrame({"age": ages})
    session = sf.dp.Session(table, 10**6, bounds={"age": BOUNDS}, i_know=True)
    epsilons = (round(0.01 + i * 1e-6, 8) for i in count())  # each answer is a new one
    edges = list(range(LOW, HIGH + 1))
    first, _ = _once(lambda: session.median("age", epsilon=next(epsilons)))
    asked: dict[str, Callable[[], Any]] = {
        "rows": lambda: session.count(epsilon=next(epsilons)),
        "count": lambda: session.count(where=f"age > {ABOVE}", epsilon=next(epsilons)),
        "mean": lambda: session.mean("age", epsilon=next(epsilons)),
        "histogram": lambda: session.histogram("age", bins=edges, epsilon=next(epsilons)),
        "median": lambda: session.median("age", epsilon=next(epsilons)),
    }
    theirs = peer.get("seconds", {})
    targets = {name: theirs[name] * share for name, share in _SHARES.items() if name in theirs} | {"median": MEDIAN}
    titles = {"rows": "count", "count": "count of a filter", "mean": "mean", "median": "median, once sorted"}
    found = [figure(GROUP, "median of 1M rows, first time, CPU", [first], load=round(load, 1))]
    for name, ask in asked.items():
        ask()
        runs = [_once(ask)[0] for _ in range(RUNS)]
        beside = {"diffprivlib": theirs.get(name), "opendp": alone.get(name)}
        details = {"beside": {tool: seconds for tool, seconds in beside.items() if seconds is not None}}
        title = titles.get(name, f"histogram of {BINS} bins")
        target = None if name not in targets else float(f"{targets[name]:.3g}")
        found.append(figure(GROUP, f"{title}, 1M rows, CPU", runs, target=target, **details, load=round(load, 1)))
    session.close()
    return found


_SHARES = {"rows": FIFTH, "count": FIFTH, "mean": FIFTH, "histogram": THIRD}


def _once(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    given = run()
    return time.process_time() - began, given


def _peer() -> dict[str, Any]:
    """What diffprivlib takes, and its version; nothing where its interpreter is not named."""
    python = os.environ.get(PYTHON)
    if not python:
        say(f"  diffprivlib: left out; set {PYTHON} to a Python that has it, or use `make bench`")
        return {}
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [python, "-I", str(WORKER), json.dumps(JOB)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | one)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    say(f"  diffprivlib {found['version']}: {found['seconds']}")
    return found


def _opendp(ages: np.ndarray) -> dict[str, float]:
    """What OpenDP's own transformations take, noise included."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()
    known = list(range(LOW, HIGH))
    asked = {
        "count": space >> dp.t.then_count() >> dp.m.then_laplace(scale=100.0),
        "histogram": space >> dp.t.then_count_by_categories(categories=known) >> dp.m.then_laplace(scale=100.0),
        "median": space
        >> dp.t.then_quantile_score_candidates(candidates=list(range(1000)), alpha=0.5)
        >> dp.m.then_noisy_max(dp.max_divergence(), scale=100.0),
    }
    above = ages[ages > ABOVE]
    found = {name: min(cpu(lambda: ask(above if name == "count" else ages))[0] for _ in range(3))  # noqa: B023
             for name, ask in asked.items()}  # fmt: skip
    say(f"  opendp {version('opendp')} alone: {found}")
    return found


def _draws() -> list[Figure]:
    """Noise on 1,000 and 100,000 numbers at once."""
    found = []
    for draws in (1_000, 100_000):
        values = [0] * draws
        for name, seconds in (
            ("Laplace, scale 10", cpu(lambda: laplace(values, 1, exact("0.1", "epsilon")))[0]),  # noqa: B023
            ("Gaussian, scale 10", cpu(lambda: gaussian(values, 1.0, exact("0.005", "rho")))[0]),  # noqa: B023
        ):
            rate = round(draws / seconds)
            found.append(figure(GROUP, f"{draws:,} draws of {name}, CPU", [seconds], per_second=rate))
    return found


def _ledger() -> Figure:
    """Answers to new questions with a ledger on disk, each three rows that are synced: by the clock."""
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        table = pl.DataFrame({"age": [31, 42, 58]})
        with sf.dp.Session(table, 10, ledger=Path(name) / "ledger.sqlite") as session:
            session.count(epsilon=0.001)
            began = time.perf_counter()
            for i in range(ANSWERS):
                session.count(epsilon=round(0.002 + i * 1e-6, 8))
            seconds = time.perf_counter() - began
    details = {"per_second": round(ANSWERS / seconds), "load": round(os.getloadavg()[0], 1)}
    return figure(GROUP, f"{ANSWERS} answers, SQLite ledger synced", [seconds], **details)


def _service() -> Figure:
    """Answers of the service to 32 clients, charged and stored with a synced ledger: by the clock, ticks included."""
    found = measure(CLIENTS, seconds=5)
    details = {"per_second": round(found.rate), "cpu_ms_an_answer": round(1000 * found.cpu, 2)}
    details["load"] = round(os.getloadavg()[0], 1)
    return figure(
        GROUP, f"{RATE} answers of the service, {CLIENTS} clients", [RATE / found.rate], target=1.0, **details
    )


def _marginals() -> list[Figure]:
    """Six tables of pairs of four columns over a million rows, made to agree."""
    rng = np.random.default_rng(SEED)
    sizes = {"a": 2, "b": 10, "c": 20, "d": 30}
    table = pl.DataFrame({name: rng.integers(0, size, ROWS) for name, size in sizes.items()})
    pairs = [[a, b] for a in sizes for b in sizes if a < b]
    keys = {name: list(range(size)) for name, size in sizes.items()}
    seconds, _ = cpu(lambda: sf.dp.release_marginals(table, pairs, 1, 1e-9, keys=keys))
    cells = sum(sizes[a] * sizes[b] for a, b in pairs)
    return [figure(GROUP, "6 marginals of pairs, 1M rows, CPU", [seconds], cells=cells)]


def _synthetic() -> list[Figure]:
    """MST on Adult: how far its pairs of columns are off, beside rows held out, and what it takes."""
    train, hold_out = adult()
    both = pl.concat([train, hold_out])
    keys = {name: both.get_column(name).unique().sort().to_list() for name in train.columns if name not in CUTS}
    generator = sf.MST(epsilon=EPSILON, delta=DELTA, bounds=CUTS, keys=keys, missing=[])
    errors, times = [], []
    for seed in range(SEEDS + 1):
        began = time.process_time()
        model = generator.fit(train, FitContext(np.random.default_rng(seed)))
        drawn = model.draw(train.height, np.random.default_rng(seed))
        if seed:  # the first one compiles
            times.append(time.process_time() - began)
            errors.append(_apart(train, drawn, keys))
    table = million(train)
    large, _ = _once(
        lambda: generator.fit(table, FitContext(np.random.default_rng(0))).draw(ROWS, np.random.default_rng(0))
    )
    said = f"epsilon {EPSILON}, delta {DELTA:g}"
    return [
        figure(GROUP, "real rows held out, Adult, pairs", [_apart(train, hold_out, keys)], ""),
        figure(GROUP, f"MST, Adult, {said}, pairs", errors, "", target=PAIRS),
        figure(GROUP, "MST, Adult, 22,621 x 14, fit and draw, CPU", times, target=FITTED),
        figure(GROUP, "MST, 1M x 14, fit and draw, CPU", [large], target=LARGE),
    ]


def _apart(one: pl.DataFrame, other: pl.DataFrame, keys: dict[str, list[Any]]) -> float:
    """The mean total variation of two tables over all pairs of columns, in public bins and values."""
    tables = [[_codes(table.get_column(name), keys.get(name)) for name in one.columns] for table in (one, other)]
    sizes = [len(keys[name]) if name in keys else len(CUTS[name]) - 1 for name in one.columns]
    found = []
    for i, j in combinations(range(len(sizes)), 2):
        shares = [np.bincount(t[i] * sizes[j] + t[j], minlength=sizes[i] * sizes[j]) / len(t[i]) for t in tables]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def _codes(column: pl.Series, values: list[Any] | None) -> np.ndarray:
    if values is not None:
        number = {value: i for i, value in enumerate(values)}
        return column.replace_strict(number, return_dtype=pl.Int64).to_numpy()
    edges = CUTS[column.name]
    return np.clip(np.searchsorted(edges, column.to_numpy(), side="right") - 1, 0, len(edges) - 2)
