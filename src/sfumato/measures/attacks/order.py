"""Order: the place of a released row tells whose it is, to somebody with a list in the order of the input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.cells import count_histogram
from sfumato.core.parameters import checked, column_names, known_columns
from sfumato.core.wording import percent
from sfumato.engines.memory.table import enter
from sfumato.errors import PolicyError
from sfumato.measures.arguments import HIERARCHIES, LISTED, QUASI, RELEASED, SENSITIVE, TABLE, WILDCARD
from sfumato.measures.attacks.classes import Encoded
from sfumato.measures.attacks.kernels import align
from sfumato.measures.attacks.matching import Matching, gather
from sfumato.measures.attacks.result import MOST, Attack, outcome, records, worst

PEOPLE = 20_000  # of the list, the first ones; their rows are among as many released ones
PAIRS = 20_000_000  # of a person and a place, at most


@checked
def order(
    released: Annotated[Any, RELEASED],
    people: Annotated[Any, TABLE],
    quasi: Annotated[Any, QUASI],
    sensitive: Annotated[str, SENSITIVE],
    *,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    wildcard: Annotated[bool, WILDCARD] = False,
    most: Annotated[int, LISTED] = MOST,
    of: str = "original",
) -> Attack:
    """How often a list that is laid beside the release, in its order, gives the sensitive value of a person.

    The attacker takes the released rows to be in the order of the list. Nobody's row stands behind another's who comes
    later in the list, and it is one whose labels cover the person's quasi-identifiers: as many people as possible are
    given a row so, and the row's value is taken for theirs. For those without a row, and as the baseline for all, the
    guess is the most frequent value among all rows whose labels cover the person; equally frequent ones share it.

    Parameters
    ----------
    released
        The released table, in its order.
    people
        The list, in the order that the attacker has it in, with the true values. The first 20,000 are tried.
    quasi, sensitive
        The quasi-identifying columns, and the sensitive one.
    hierarchies
        Column to the hierarchy that explains its labels.
    wildcard
        Whether a missing released value matches any value, instead of missing ones only.
    most, of
        How many row numbers to name, and which table the list is: "original" or "external".

    Examples
    --------
    Four people in one class. Left where they stood, each row is that of its person; sorted, the second and the fourth
    happen to be, which is what guessing "flu" for all would give.

    >>> people = {"age": [31, 32, 33, 34], "disease": ["flu", "cold", "asthma", "flu"]}
    >>> kept = {"age": ["[31, 34]"] * 4, "disease": ["flu", "cold", "asthma", "flu"]}
    >>> found = order(kept, people, ["age"], "disease")
    >>> found.success, found.baseline
    (1.0, 0.5)
    >>> by_disease = {"age": ["[31, 34]"] * 4, "disease": ["asthma", "cold", "flu", "flu"]}
    >>> order(by_disease, people, ["age"], "disease").success
    0.5

    References
    ----------
    Hunt and Szymanski, "A fast algorithm for computing longest common subsequences", CACM 20(5), 1977.
    """
    frame, listed = enter(released)[0], enter(people)[0]
    names = tuple(dict.fromkeys(column_names(quasi, "quasi")))
    if sensitive in names or not names:
        raise PolicyError(
            "quasi must name columns, and the sensitive one must not be one of them", got=f'"{sensitive}"'
        )
    for table, what in ((frame, "the release"), (listed, "the list")):
        known_columns((*names, sensitive), table.columns, what)
    encoded = Encoded()
    matching = Matching(frame, names, [listed], hierarchies, wildcard, encoded)
    tried = min(PEOPLE, listed.height)
    values, which = np.unique(matching.values_of(listed)[:tried], axis=0, return_inverse=True)
    cells = [matching.candidates(value) for value in values]
    which = which.reshape(-1)
    own, theirs = _numbers(frame, listed, sensitive, encoded)
    theirs = theirs[:tried]
    guess = _guesses(matching, own, cells, which, theirs)
    row = _placed(matching, cells, which)
    claimed = np.where(row >= 0, own[row], -1) == theirs
    credit = np.where(row >= 0, claimed.astype(np.float64), guess)
    successes, baseline = round(float(credit.sum())), float(guess.mean())
    placed = int((row >= 0).sum())
    sentence = (
        f'Laid beside the release in its order, a list gives "{sensitive}" of {records(successes, tried)}; guessing '
        f"within what the labels allow gives {percent(baseline)}."
    )
    details = {"column": sensitive, "placed": placed, "sampled": tried < listed.height}
    exposed = worst(1 - guess, claimed & (row >= 0), most)
    return outcome("order", successes, tried, baseline, exposed, sentence, of=of, details=details)


def _numbers(
    frame: pl.DataFrame, listed: pl.DataFrame, sensitive: str, encoded: Encoded
) -> tuple[np.ndarray, np.ndarray]:
    """The sensitive values of both tables as numbers that compare."""
    number: dict[str | None, int] = {}
    found = []
    for table in (frame, listed):
        categories, code = encoded(table, sensitive)
        found.append(np.array([number.setdefault(text, len(number)) for text in categories.text], np.int64)[code])
    return found[0], found[1]


def _guesses(
    matching: Matching, own: np.ndarray, cells: list[np.ndarray], which: np.ndarray, theirs: np.ndarray
) -> np.ndarray:
    """How likely the best guess among all rows that fit a person is right."""
    h = count_histogram(
        matching.cell_of_row, len(matching.cells), own, tuple(map(str, range(int(own.max()) + 1))), None
    )
    right = np.zeros(len(theirs))
    people = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which, minlength=len(cells)))[:-1])
    for here, fit in zip(people, cells, strict=True):
        if len(fit):
            count = np.bincount(gather(h.start, h.value, fit), gather(h.start, h.count, fit))
            best = np.flatnonzero(count == count.max())
            right[here] = np.isin(theirs[here], best) / len(best)
    return right


def _placed(matching: Matching, cells: list[np.ndarray], which: np.ndarray) -> np.ndarray:
    """The released row of each person in the longest alignment that keeps both orders; -1 without one."""
    start, rows = matching.rows_of_cell
    fit = [np.sort(gather(start, rows, found)) for found in cells]
    tried = len(which)
    while True:  # the rows of the first people of a list are among as many first rows
        some = [places[: int(np.searchsorted(places, tried))] for places in fit]
        size = np.array([len(places) for places in some], np.int64)[which[:tried]]
        if size.sum() <= PAIRS or tried == 1:
            break
        tried //= 2
    starts = np.concatenate([[0], np.cumsum(size)])
    places = np.concatenate([some[i] for i in which[:tried]]) if tried else np.zeros(0, np.int64)
    return np.concatenate([align(starts, places.astype(np.int64)), np.full(len(which) - tried, -1)])
