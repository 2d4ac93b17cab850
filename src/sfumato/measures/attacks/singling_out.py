"""Singling out: does the release give a predicate that exactly one person of the original meets?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Categories
from sfumato.core.label_grammar import NUMBER
from sfumato.core.parameters import OneOf, checked, column_names, whole_number
from sfumato.core.wording import percent, quoted
from sfumato.errors import PolicyError
from sfumato.measures.arguments import (
    ATTEMPTS,
    COUNT,
    HIERARCHIES,
    LISTED,
    ORIGINAL,
    RELEASED,
    SEED,
    SOME_COLUMNS,
    TABLE,
    WILDCARD,
)
from sfumato.measures.attacks.classes import Encoded, tables_with
from sfumato.measures.attacks.linkability import beyond, shared_of
from sfumato.measures.attacks.matching import gather
from sfumato.measures.attacks.result import MOST, TRIALS, Attack, drawing, outcome
from sfumato.measures.labels_cover import Cover, read_labels

Condition = tuple[int, str, int]  # column, "=" or "<=" or ">=", released label
Predicate = tuple[Condition, ...]
Sets = list[tuple[int, np.ndarray]]  # column, the numbers of the values allowed in it
FEWEST = 100  # predicates put forward, at least, where none holds for one released record and more could be drawn
REPEATS = 5  # a text that fewer records share, on average over its column, cannot be guessed


class Side:
    """A table on which predicates over released labels are evaluated: the release itself, the original, a holdout."""

    def __init__(
        self,
        released: pl.DataFrame,
        names: Sequence[str],
        table: pl.DataFrame,
        hierarchies: Mapping[str, Any] | None,
        wildcard: bool,
        encoded: Encoded,
        strangers: bool = False,
    ) -> None:
        self.rows = table.height
        labels = [encoded(released, name) for name in names]
        values = [encoded(table, name) for name in names]
        self.labels = [categories for categories, _ in labels]
        self.released = [code for _, code in labels]
        self.values = [categories for categories, _ in values]
        self.codes = [code for _, code in values]
        self.numbers = [_numbers(categories) for categories in self.values]
        self.numeric = [_numeric(categories) for categories in self.values]
        specs = [(hierarchies or {}).get(name) for name in names]
        reading: dict[str, Any] = {"unread": True, "wildcard": wildcard}
        reading["strangers"] = strangers or released.height > table.height
        self.covers: list[Cover | None] = [
            None if table is released else read_labels(ours.text, theirs.text, spec, **reading)
            for ours, theirs, spec in zip(self.labels, self.values, specs, strict=True)
        ]
        self._held: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def allowed(self, condition: Condition) -> np.ndarray:
        """The numbers of the values of this table that meet a condition."""
        column, sign, label = condition
        if sign != "=":
            bound, numbers = float(self.labels[column].text[label] or "nan"), self.numbers[column]
            return np.flatnonzero(numbers <= bound if sign == "<=" else numbers >= bound)
        cover = self.covers[column]
        return np.array([label]) if cover is None else cover.members[label]

    def matches(self, predicate: Predicate) -> np.ndarray:
        """The rows that meet a predicate."""
        return self.rows_of([(condition[0], self.allowed(condition)) for condition in predicate])

    def count(self, predicate: Predicate) -> int:
        """How many rows meet a predicate."""
        if len(predicate) == 1:
            return int(self.values[predicate[0][0]].count[self.allowed(predicate[0])].sum())
        return len(self.matches(predicate))

    def rows_of(self, sets: Sets) -> np.ndarray:
        """The rows with one of the values allowed in each column, from the column on that leaves the fewest."""
        sets = sorted(sets, key=lambda pair: int(self.values[pair[0]].count[pair[1]].sum()))
        rows = gather(*self._rows(sets[0][0]), sets[0][1])
        for column, allowed in sets[1:]:
            if not len(rows):
                break
            inside = np.zeros(len(self.values[column]), np.bool_)
            inside[allowed] = True
            rows = rows[inside[self.codes[column][rows]]]
        return rows

    def _rows(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows of each value of a column."""
        if column not in self._held:
            order = np.argsort(self.codes[column], kind="stable")
            self._held[column] = np.concatenate([[0], np.cumsum(self.values[column].count)]), order
        return self._held[column]


def univariate(here: Side, original: Side, rng: np.random.Generator) -> Iterator[Predicate]:
    """Every released label of every column, and the ends of those that hold numbers, in random order."""
    found: list[Condition] = []
    for column, categories in enumerate(here.labels):
        found += [(column, "=", label) for label in range(len(categories))]
        plain = np.flatnonzero(~np.isnan(here.numbers[column]))
        if original.numeric[column] and len(plain):
            numbers = here.numbers[column][plain]  # labels may be sorted as texts
            least, greatest = plain[int(np.argmin(numbers))], plain[int(np.argmax(numbers))]
            found += [(column, "<=", int(least)), (column, ">=", int(greatest))]
    return ((found[i],) for i in rng.permutation(len(found)).tolist())


def multivariate(here: Side, original: Side, rng: np.random.Generator, width: int) -> Iterator[Predicate]:
    """Conditions on some columns of released records drawn at random; a number is met, or bounded on one side.

    A missing label where nothing was missing is a suppressed value: it makes no condition.
    """
    middle = [
        float(np.nanmedian(numbers[code])) if numeric and not np.isnan(numbers).all() else np.nan
        for numbers, code, numeric in zip(here.numbers, here.released, original.numeric, strict=True)
    ]
    while True:
        row = int(rng.integers(here.rows))
        predicate: list[Condition] = []
        for column in np.sort(rng.choice(len(here.labels), width, replace=False)).tolist():
            label = int(here.released[column][row])
            number = here.numbers[column][label]
            bounded = original.numeric[column] and not np.isnan(number) and rng.random() < 0.5
            sign = (">=" if number >= middle[column] else "<=") if bounded else "="
            predicate.append((column, sign, label))
        told = [c for c in predicate if here.labels[c[0]].text[c[2]] is not None or original.values[c[0]].missing]
        yield tuple(told or predicate)


def rarest(drawn: Iterable[Predicate], here: Side, trials: int, every: bool) -> tuple[list[Predicate], bool]:
    """The first predicates that hold for one released record or, where there is none, for the fewest; each once.

    And whether these are a sample only: some were cut off or, where not `every` predicate is among those drawn, most
    were drawn for the first time.
    """
    count: dict[Predicate, int] = {}
    alone = seen = again = 0
    for predicate in drawn:
        seen += 1
        again += predicate in count
        if predicate not in count:
            count[predicate] = here.count(predicate)
            alone += count[predicate] == 1
            if alone == trials:
                break
    least = min(count.values())
    found = [predicate for predicate, held in count.items() if held == least]
    sampled = alone == trials or len(found) > trials or (not every and 2 * again < seen)
    if sampled and least > 1 and len(found) < FEWEST:  # so few would tell nothing of the rest
        found = sorted(count, key=lambda predicate: count[predicate])[:FEWEST]
    return found[:trials], sampled


def blind(original: Side, rng: np.random.Generator, width: int) -> Sets:
    """A predicate drawn without a look at the release: any value of the domain, a number anywhere in its range.

    Texts and dates that hardly repeat are no domain that somebody could know: a guess at one meets nobody.
    """
    sets: Sets = []
    for column in rng.choice(len(original.values), width, replace=False).tolist():
        categories, numbers = original.values[column], original.numbers[column]
        if not original.numeric[column]:
            guess = rng.integers(len(categories), size=1)
            sets.append((column, guess[:0] if len(categories) * REPEATS > original.rows else guess))
            continue
        point = rng.uniform(float(np.nanmin(numbers)), float(np.nanmax(numbers)))
        whole = categories.kind == "integer"
        point = np.rint(point) if whole else point
        sign = int(rng.integers(3 if whole else 2))
        sets.append((column, np.flatnonzero([numbers <= point, numbers >= point, numbers == point][sign])))
    return sets


def _numbers(categories: Categories) -> np.ndarray:
    """Each value as a number, NaN where it is none."""
    return np.array([float(t) if t is not None and NUMBER.match(t) else np.nan for t in categories.text], np.float64)


def _numeric(categories: Categories) -> bool:
    """Whether the values are numbers with a finite range."""
    if categories.position is None or categories.kind not in ("integer", "decimal"):
        return False
    known = categories.position[: len(categories) - categories.missing]
    with np.errstate(over="ignore", invalid="ignore"):
        return len(known) > 0 and bool(np.isfinite(known[-1] - known[0]))


MODES = ("univariate", "multivariate")
TRIES = 4  # predicates drawn per one that is wanted: those that fit one released record are kept


@checked
def singling_out(
    released: Annotated[Any, RELEASED],
    original: Annotated[Any, ORIGINAL],
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    mode: Annotated[str, OneOf(tuple(MODES))] = "multivariate",
    size: Annotated[int, COUNT] = 3,
    holdout: Annotated[Any, TABLE] = None,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    wildcard: Annotated[bool, WILDCARD] = False,
    trials: Annotated[int, ATTEMPTS] = TRIALS,
    seed: Annotated[int, SEED] = 0,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """How often a predicate made from the release holds for exactly one record of the original.

    Univariate predicates say that one column has a certain released label, or a number at most or at least a released
    one; multivariate ones join such conditions on `size` columns of one released record. The attacker puts forward
    those that hold for exactly one released record or, where there is none, for the fewest (a hundred where more could
    be drawn). A label holds for every
    original value that it covers. The baseline draws predicates of the same shape blindly, from the domain of each
    column (numbers anywhere in their range) instead of from released records; texts that hardly repeat, such as names
    or codes, cannot be guessed that way. `details` say whether the predicates are a sample ("sampled").

    Parameters
    ----------
    released, original
        The released table, and the one behind it.
    columns
        The columns that predicates may use; all that both tables have unless given. A release can be safe on its
        quasi-identifiers and still single people out by these and the sensitive column together.
    mode
        "univariate" or "multivariate".
    size
        How many columns a multivariate predicate uses.
    holdout
        People who are not in the original, about as many: a predicate that isolates one of them too is luck. `details`
        then hold the success on them ("control") and what is beyond it ("risk").
    hierarchies
        Column to the hierarchy that explains its labels.
    wildcard
        Whether a missing released value matches any value, instead of missing ones only.
    trials, seed
        How many predicates to try at most, and the seed that draws them.
    most
        How many row numbers to name.

    Examples
    --------
    >>> table = {"age": [20, 30, 40, 50], "zip": ["a", "a", "b", "b"]}
    >>> singling_out(table, table).success, singling_out({"age": ["*"] * 4, "zip": ["*"] * 4}, table).success
    (1.0, 0.0)

    References
    ----------
    Giomi et al., "A unified framework for quantifying privacy risk in synthetic data", PoPETs 2023; Cohen and Nissim,
    "Towards formalizing the GDPR's notion of singling out", PNAS 2020.
    """
    if mode not in MODES:
        raise PolicyError("unknown mode of singling out", got=repr(mode), allowed=", ".join(MODES))
    size = whole_number(size, "size")
    names = tuple(dict.fromkeys(column_names(columns, "columns")))
    frame, *tables = tables_with(names, released, original, holdout=holdout)
    names = names or shared_of(frame, *tables)
    if not names:
        raise PolicyError("the release and the original have no column in common")
    (trials, rng), encoded = drawing(trials, seed), Encoded()
    here, *elsewhere = (
        Side(frame, names, table, hierarchies, wildcard, encoded, strangers=i > 1)  # nobody released is in the holdout
        for i, table in enumerate((frame, *tables))
    )
    width = 1 if mode == "univariate" else min(int(size), len(names))
    every = mode == "univariate"
    drawn = univariate(here, elsewhere[0], rng) if every else multivariate(here, elsewhere[0], rng, width)
    predicates, sampled = rarest(drawn if every else islice(drawn, TRIES * trials), here, trials, every)
    found = [elsewhere[0].matches(predicate) for predicate in predicates]
    successes = sum(len(rows) == 1 for rows in found)
    baseline = sum(len(elsewhere[0].rows_of(blind(elsewhere[0], rng, width))) == 1 for _ in range(trials)) / trials
    sentence = (
        f"Of {len(predicates)} {mode} predicates on {quoted(names)} made from the release, {successes} "
        f"({percent(successes / len(predicates))}) single out one person of the original; of {trials} blind ones "
        f"{percent(baseline)} do."
    )
    details: dict[str, Any] = {"mode": mode, "columns": list(names), "size": width, "sampled": sampled}
    if len(tables) > 1:
        control = float(np.mean([len(elsewhere[1].matches(predicate)) == 1 for predicate in predicates]))
        details |= beyond(successes / len(predicates), control) | {"holdout rows": tables[1].height}
    exposed = list(dict.fromkeys(int(rows[0]) for rows in found if len(rows) == 1))[:most]
    name, tried = f"singling out ({mode})", len(predicates)
    return outcome(name, successes, tried, baseline, exposed, sentence, seed=seed, of="original", details=details)


def widest(released: Any, original: Any, columns: Any, *, mode: str = "multivariate", **options: Any) -> Attack:
    """Singling out by three columns at a time or by all at once, whichever succeeds more often.

    Coarse columns tell people apart only together, noisy ones only where few have to agree.
    """
    sizes = sorted({3, max(3, len(columns))}) if mode == "multivariate" else [1]
    tried = [singling_out(released, original, columns, mode=mode, size=size, **options) for size in sizes]
    return max(tried, key=lambda attack: attack.success)
