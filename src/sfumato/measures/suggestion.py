"""A criterion for a sensitive column that none looks at: the weakest that keeps attacks near guessing.

It is read off the histograms of the classes that a release has, without another search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.cells import Histogram
from sfumato.criteria import EntropyLDiversity, RecursiveCLDiversity, TCloseness
from sfumato.criteria.model import Model
from sfumato.measures.attacks.background_knowledge import chance_of
from sfumato.measures.attacks.classes import View
from sfumato.measures.attacks.homogeneity import top_share
from sfumato.measures.attacks.negative_disclosure import COMMON, absent
from sfumato.measures.attacks.skewness import THRESHOLD, gain_of

NEAR = 0.05  # an advantage over guessing, (success - baseline) / (1 - baseline), that is near the baseline
# from weak to strong; the first of those that touch fewest rows is taken, so that the order decides ties only
ENTROPY = (1.02, 1.05, 1.1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
RECURSIVE = tuple((c, l) for l in (2, 3, 4) for c in (50, 20, 10, 5, 4, 3, 2, 1))
T = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02, 0.01)


@dataclass(frozen=True)
class Cost:
    """What a criterion costs in another search: each figure before and after, attacks also by guessing."""

    loss: tuple[float, float]
    suppressed: tuple[int, int]
    attacks: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True, eq=False)
class Suggested:
    """A criterion for a sensitive column, and what it is read off.

    `touched` are the released rows in classes that do not satisfy it: those that another search has to put elsewhere.
    `attacks` has, of each attack, its success now, among the classes that satisfy the criterion, and by guessing.
    `cost` is what another search found, where one was asked for.
    """

    column: str
    criterion: Model
    touched: int
    rows: int
    attacks: Mapping[str, tuple[float, float, float]]
    cost: Cost | None = None

    @property
    def require(self) -> dict[str, Any]:
        """The criterion as a policy file or `require` takes it."""
        return {"model": self.criterion.model, **self.criterion.parameters()}

    @property
    def shell(self) -> str:
        """The criterion as `--require` takes it."""
        return " ".join([self.criterion.model, *(_word(value) for value in self.criterion.parameters().values())])


@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of released rows, as criteria look at them."""

    size: np.ndarray
    counts: Histogram

    def histogram(self, attribute: str) -> Histogram:
        return self.counts


def suggest_criterion(seen: Sequence[View]) -> Suggested | None:
    """The weakest of entropy l-diversity, recursive (c,l)-diversity and t-closeness that protects a column.

    It protects where, among the classes that satisfy it, homogeneity, background knowledge, skewness and negative
    disclosure (each as by default) have an advantage over guessing of at most `NEAR`. The weakest is the one whose
    failing classes hold the fewest rows. Only what the whole table satisfies as one class is suggested, so that some
    recoding does. None where no column is known to others.

    Parameters: `seen`, a view of the released table for each set of quasi-identifiers, all of one sensitive column.

    >>> from sfumato.measures.attacks.classes import view
    >>> table = {"age": ["2*"] * 4 + ["3*"] * 4, "ill": ["a"] * 4 + ["a", "b", "a", "b"]}
    >>> suggest_criterion([view(table, ["age"], "ill")]).shell
    'entropy-l-diversity ill 1.02'
    """
    if not seen:
        return None
    column = seen[0].sensitive.name
    known = [(_Classes(one.size, one.histogram), *_exposed(one)) for one in seen]
    everyone = _Classes(seen[0].everyone.size, seen[0].everyone.histogram)
    found: list[Suggested] = []
    for criterion in _candidates(column):
        if not criterion.holds(everyone)[0]:
            continue
        touched, near = 0, True
        attacks: dict[str, tuple[float, float, float]] = {}
        for classes, exposed, baseline in known:
            kept = criterion.holds(classes)
            inside = int(classes.size[kept].sum())
            touched = max(touched, seen[0].rows - inside)
            for name, rows in exposed.items():
                base = baseline[name]
                after = float(rows[kept].sum()) / inside if inside else base
                near = near and after - base <= NEAR * (1 - base) + 1e-12
                attacks[name] = max(attacks.get(name, (0.0, 0.0, 0.0)), (float(rows.sum()) / seen[0].rows, after, base))
        if near:
            found.append(Suggested(column, criterion, touched, seen[0].rows, attacks))
    return min(found, key=lambda one: one.touched, default=None)


def _candidates(column: str) -> list[Model]:
    return [
        *(EntropyLDiversity(column, l) for l in ENTROPY),
        *(RecursiveCLDiversity(column, c, l) for c, l in RECURSIVE),
        *(TCloseness(column, t) for t in T),
    ]


def _exposed(seen: View) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """For each attack how many rows of each class it succeeds on, and its success by guessing."""

    def of(one: View) -> dict[str, np.ndarray]:
        h, share = one.histogram, seen.histogram.overall / seen.rows
        certain = chance_of(one, 1, None) >= 1 - 1e-12
        return {
            "homogeneity": one.size * top_share(one, 1.0)[1],
            "background knowledge": np.add.reduceat(h.count * certain, h.start[:-1]),
            "skewness": one.size * (gain_of(one, share, "difference", None) > THRESHOLD + 1e-12),
            "negative disclosure": one.size * (absent(one, share >= COMMON - 1e-12, share)[0] > 0),
        }

    guessed = {name: float(rows.sum()) / seen.rows for name, rows in of(seen.everyone).items()}
    return of(seen), guessed


def _word(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f'"{text}"' if any(c.isspace() or c == '"' for c in text) else text
