"""Inference: guessing a secret of a person from the released records nearest to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.cells import count_histogram
from sfumato.core.label_grammar import NUMBER
from sfumato.core.microdata import encode
from sfumato.core.parameters import checked, column_names
from sfumato.core.wording import percent, quoted
from sfumato.errors import PolicyError
from sfumato.measures.arguments import (
    ATTEMPTS,
    HIERARCHIES,
    LISTED,
    ORIGINAL,
    RELEASED,
    SEED,
    SENSITIVE,
    SHARE,
    SOME_COLUMNS,
    TABLE,
    WILDCARD,
)
from sfumato.measures.attacks.classes import tables_with
from sfumato.measures.attacks.linkability import beyond
from sfumato.measures.attacks.matching import DistanceSpace, Matching, gather
from sfumato.measures.attacks.result import MOST, TRIALS, Attack, drawing, outcome, records, sample, worst
from sfumato.measures.labels_cover import read_labels


@checked
def inference(
    released: Annotated[Any, RELEASED],
    original: Annotated[Any, ORIGINAL],
    known: Annotated[Any, SOME_COLUMNS],
    secret: Annotated[str, SENSITIVE],
    *,
    tolerance: Annotated[float, SHARE] = 0.05,
    holdout: Annotated[Any, TABLE] = None,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    wildcard: Annotated[bool, WILDCARD] = False,
    trials: Annotated[int, ATTEMPTS] = TRIALS,
    seed: Annotated[int, SEED] = 0,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """How often the most frequent secret among the nearest released records is the person's own.

    The attacker knows the columns `known` of a person, takes all released records at the least distance, and guesses
    their most frequent value of `secret`. A number is right within `tolerance` of the true one (as a share of it); a
    released label that covers several values, one of them the true one, is right as often as a pick among them would
    be. The baseline guesses the most frequent value of the whole release for everybody.

    Parameters
    ----------
    released, original
        The released table, and the one behind it, whose people are attacked.
    known, secret
        What the attacker knows of a person, and the column to guess.
    tolerance
        How far off a number may be.
    holdout
        People who are not in the original: what can be guessed of them too is a fact about people, and no fault of the
        release. `details` then hold the success on them ("control") and what is beyond it ("risk").
    hierarchies
        Column to the hierarchy that explains its labels.
    wildcard
        Whether a missing released value matches any value, instead of missing ones only.
    trials, seed
        How many people to try, and the seed that draws.
    most
        How many row numbers to name.

    Examples
    --------
    >>> table = {"age": [20, 30, 40, 50], "disease": ["flu", "flu", "cold", "asthma"]}
    >>> found = inference(table, table, ["age"], "disease")
    >>> found.success, found.baseline
    (1.0, 0.5)

    References
    ----------
    Giomi et al., "A unified framework for quantifying privacy risk in synthetic data", PoPETs 2023; Article 29 Working
    Party, Opinion 05/2014 on anonymisation techniques.
    """
    names = tuple(dict.fromkeys(column_names(known, "known")))
    if secret in names or not names:
        raise PolicyError("known must name columns, and the secret must not be one of them", got=f'"{secret}"')
    frame, people, *control = tables_with((*names, secret), released, original, holdout=holdout)
    trials, rng = drawing(trials, seed)
    attack = _Guess(frame, names, secret, [people, *control], hierarchies, tolerance, wildcard)
    rows = sample(rng, people.height, trials)
    hit, sure, alone = attack.run(people, rows, rng)
    successes, baseline = int(hit.sum()), float(alone.mean())
    sentence = (
        f'From {quoted(names)} and the nearest released records, "{secret}" of {records(successes, len(rows))} is '
        f"guessed; always guessing its most frequent value gives {percent(baseline)}."
    )
    details: dict[str, Any] = {"known": list(names), "secret": secret, "tolerance": tolerance}
    details["sampled"] = len(rows) < people.height
    for others in control:
        hit_too, _, _ = attack.run(others, sample(rng, others.height, trials), rng)
        details |= beyond(successes / len(rows), float(hit_too.mean()))
    exposed = worst(sure, hit, most, rows)
    return outcome(
        "inference", successes, len(rows), baseline, exposed, sentence, seed=seed, of="original", details=details
    )


class _Guess:
    """Guesses the secret of people from the released records nearest to them."""

    def __init__(
        self,
        released: pl.DataFrame,
        names: tuple[str, ...],
        secret: str,
        tables: list[pl.DataFrame],
        hierarchies: Mapping[str, Any] | None,
        tolerance: float,
        wildcard: bool,
    ) -> None:
        matching = Matching(released, names, tables, hierarchies, wildcard)
        self.space, self.secret = DistanceSpace(matching), secret
        categories, code = encode(released.get_column(secret))
        self.labels, self.tolerance = categories.text, tolerance
        self.histogram = count_histogram(matching.cell_of_row, len(matching.cells), code, categories.text, None)
        self.spec = (hierarchies or {}).get(secret)
        self.common = int(np.argmax(categories.count))

    def run(
        self, table: pl.DataFrame, rows: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each person: whether the guess is right, how sure the attacker is, and whether a blind guess is right."""
        values = self.space.matching.values_of(table, rows)
        distinct, of = np.unique(values, axis=0, return_inverse=True)
        guesses = [self._guess(v) for v in distinct]
        of = of.ravel()
        guess = np.array([g for g, _ in guesses], np.int64)[of]
        sure = np.array([s for _, s in guesses])[of]
        categories, code = encode(table.get_column(self.secret))
        chance = self._chance(categories.text)
        draw = rng.random(len(rows))  # one draw for both guesses: equal guesses are equally right
        blind = chance(np.full(len(rows), self.common), code[rows])
        return draw < chance(guess, code[rows]), sure, draw < blind

    def _guess(self, values: np.ndarray) -> tuple[int, float]:
        """The most frequent secret of the nearest records, and its share among them."""
        h, cells = self.histogram, self.space.nearest(values)
        entry = gather(h.start, np.arange(len(h.value)), cells)
        count = np.bincount(h.value[entry], weights=h.count[entry])
        best = int(np.argmax(count))
        return best, float(count[best] / count.sum())

    def _chance(self, texts: tuple[str | None, ...]) -> Any:
        """How likely a guessed label is right for a true value."""
        cover = read_labels(self.labels, texts, self.spec)
        number = np.array([_number(text) for text in texts])
        guessed = np.array([_number(label) for label in self.labels])
        size = np.maximum(cover.size, 1)

        def chance(guess: np.ndarray, true: np.ndarray) -> np.ndarray:
            pairs, of = np.unique(np.stack([guess, true]), axis=1, return_inverse=True)
            inside = np.array([bool((cover.members[g] == t).any()) for g, t in pairs.T.tolist()])
            with np.errstate(invalid="ignore"):
                near = np.abs(guessed[pairs[0]] - number[pairs[1]]) <= self.tolerance * np.abs(number[pairs[1]])
            return np.where(near, 1.0, np.where(inside, 1 / size[pairs[0]], 0.0))[of.ravel()]

        return chance


def _number(text: str | None) -> float:
    return float(text) if text is not None and NUMBER.match(text) else float("nan")
