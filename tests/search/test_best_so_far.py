"""What searches tell of their best solution so far: it only gets better, and becomes the solution."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.progress import SearchMessage

DRAW = random.Random(3)
TABLE = {
    "age": [DRAW.randint(18, 60) for _ in range(200)],
    "pay": [DRAW.randint(10, 50) * 100 for _ in range(200)],
    "sex": [DRAW.choice("fm") for _ in range(200)],
}
STEPS = {"age": sf.intervals(5, 10, 20), "pay": sf.intervals(500, 1000, 2000)}
TELLING: dict[str, tuple[Any, str]] = {
    "optimal": ("optimal", "lm"),
    "lightning": (sf.Lightning(nodes=40), "lm"),
    "ola": ("ola", "lm"),
    "incognito": ("incognito", "lm"),
    "genetic": (sf.Genetic(evaluations=400), "lm"),
    "annealing": (sf.Annealing(evaluations=400), "ncp"),
    "k-optimize": (sf.KOptimize(seconds=0.5), "discernibility"),
    "refined": (sf.Refined(rounds=4), "ncp"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TELLING)
def test_the_best_so_far_falls_to_the_solution(name: str) -> None:
    search, loss = TELLING[name]
    told: list[SearchMessage] = []

    def listen(message: str, share: float | None) -> None:
        if isinstance(message, SearchMessage):
            told.append(message)

    found = sf.anonymize(
        TABLE, quasi=list(TABLE), k=4, suppression=0.05, search=search, loss=loss, hierarchies=STEPS, ends="exact",
        progress=listen,
    )  # fmt: skip
    last = {one: [m.loss for m in told if m == one] for one in {*told}}
    assert told
    for losses in last.values():
        assert losses == sorted(losses, reverse=True)
    assert min(m.loss for m in told) >= found.solution.verdict.loss * (1 - 1e-6)
    if found.solution.optimal:
        assert (told[-1].loss, told[-1].suppressed or 0) == pytest.approx(
            (found.solution.verdict.loss, found.solution.verdict.suppressed)
        )


@pytest.mark.parametrize("suppression", [0.0, 0.05])
def test_samarati_tells_the_lowest_vector_so_far(suppression: float) -> None:
    told: list[Any] = []
    how: dict[str, Any] = {"quasi": list(TABLE), "k": 4, "suppression": suppression, "loss": "lm", "hierarchies": STEPS}
    found = sf.anonymize(
        TABLE, search="samarati", progress=lambda message, share: told.append(message), trace=told.append, **how
    )
    known = list(dict.fromkeys((m.loss, m.suppressed) for m in told if isinstance(m, SearchMessage)))
    accepted = [dict(e.levels) for e in told if getattr(e, "kind", "") == "height-accepted"]
    assert len(accepted) > 1
    expected = []
    for levels in accepted:  # the release of each vector that was the lowest for a while
        verdict = sf.anonymize(TABLE, search="optimal", levels=levels, **how).solution.verdict
        expected.append((verdict.loss, verdict.suppressed))
    assert np.array(known) == pytest.approx(np.array(expected))
    verdict = found.solution.verdict
    assert known[-1] == pytest.approx((verdict.loss, verdict.suppressed))


@pytest.mark.parametrize("search", ["mondrian", sf.Samarati(by="vectors"), sf.Samarati(among="minimal"), "datafly"])
def test_what_has_no_loss_before_its_end_tells_none(search: Any) -> None:
    told: list[str] = []
    sf.anonymize(
        TABLE, quasi=list(TABLE), k=4, suppression=0.05, search=search, hierarchies=STEPS,
        progress=lambda message, share: told.append(message),
    )  # fmt: skip
    assert told
    assert not any(isinstance(message, SearchMessage) for message in told)


def test_a_message_is_a_text_that_travels_with_its_figures() -> None:
    message = pickle.loads(pickle.dumps(SearchMessage("breeding", 0.5, 3)))
    assert (message, message.loss, message.suppressed) == ("breeding", 0.5, 3)
