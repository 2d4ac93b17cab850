"""SFUMATO_THREADS: any number of threads finds the same, and what is no number is refused."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.compiled import share, threads
from sfumato.errors import PolicyError
from sfumato.measures.risk.suda import suda


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    """Rows enough for several threads to be worth it."""
    rng = np.random.default_rng(3)
    columns = {f"c{i}": rng.integers(0, 8, 24_000) ** 2 for i in range(5)}
    return pl.DataFrame({**columns, "disease": rng.choice(["flu", "cold", "ulcer"], 24_000)})


@pytest.mark.parametrize("given", ["0", "two", "-1", "1.5", "²"])
def test_what_is_no_number_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_THREADS", given)
    with pytest.raises(PolicyError, match="SFUMATO_THREADS must be a number of threads"):
        threads()


@pytest.mark.parametrize("number", [1, 2, 3, 7])
@pytest.mark.parametrize("weight", [[1], [1, 1, 1, 1, 1], [0, 0, 9, 0], [5, 0, 0, 0, 0, 0, 0, 5]])
def test_every_entry_is_dealt_out_once(number: int, weight: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_THREADS", str(number))
    seen, of = np.zeros(len(weight), np.int64), []

    def run(part: slice, thread: int) -> None:
        seen[part] += 1
        of.append(thread)

    with ThreadPoolExecutor(number) as pool:
        share(run, np.array(weight), pool)
    assert seen.tolist() == [1] * len(weight)
    assert sorted(of) == list(range(len(of)))
    assert len(of) <= number


def test_a_fault_of_one_thread_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_THREADS", "2")

    def run(part: slice, thread: int) -> None:
        if part.start == 0:
            raise ValueError("no")

    with ThreadPoolExecutor(2) as pool, pytest.raises(ValueError, match="no"):
        share(run, np.ones(4), pool)


@pytest.mark.slow
@pytest.mark.parametrize(
    "search",
    [
        "optimal",
        "mondrian",
        sf.Mondrian(cut="best", dimension="ncp"),
        sf.Lightning(seconds=None, nodes=30),
        "incognito",
        "iterated",
        sf.Genetic(seconds=None, evaluations=400),
        sf.Annealing(seconds=None, evaluations=400),
        sf.Refined(start="mondrian", rounds=1),
        "k-member",
    ],
    ids=str,
)
def test_any_number_of_threads_finds_the_same(
    search: Any, people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for number in (1, 3):
        monkeypatch.setenv("SFUMATO_THREADS", str(number))
        release = sf.anonymize(
            people, quasi=people.columns[:5], sensitive=["disease"], require=sf.KAnonymity(20), suppression=0.02,
            search=search, unprotected=["disease"],
        )  # fmt: skip
        found.append((release.table, release.solution.verdict.loss))
    for table, loss in found[1:]:
        assert table.equals(found[0][0])
        assert loss == found[0][1]


@pytest.mark.slow
def test_measures_find_the_same(people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, linked = [], []
    for number in (1, 2, 5):
        monkeypatch.setenv("SFUMATO_THREADS", str(number))
        scores.append(str(suda(people.head(4_000), people.columns[:5])))
        few, more = people.head(2_000), people.head(3_000)
        linked.append(sf.attack(few, external=more, quasi=people.columns[:5]))
    assert scores[1:] == scores[:1] * 2
    assert [str(found) for found in linked[1:]] == [str(linked[0])] * 2


def test_polars_takes_the_number_too() -> None:
    code = "import os; os.environ['SFUMATO_THREADS'] = '1'; import sfumato, polars; print(polars.thread_pool_size())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
