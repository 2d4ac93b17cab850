"""Intersection: several releases about the same people, of which each is safe and all together are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.parameters import Whole, Written, checked, column_names, known_columns
from sfumato.core.printed import printed
from sfumato.core.progress import check_cancelled
from sfumato.core.wording import percent
from sfumato.engines.memory.table import enter
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.arguments import ATTEMPTS, COLUMN, HIERARCHIES, LISTED, ORIGINAL, QUASI, SEED, SENSITIVE, WILDCARD
from sfumato.measures.attacks.classes import Encoded
from sfumato.measures.attacks.matching import Matching, gather
from sfumato.measures.attacks.result import MOST, TRIALS, Attack, drawing, outcome, records, sample, worst
from sfumato.measures.attacks.turnover import PlacedRelease, by_turnover, in_all_worlds

MOST_COUNTED = 100_000  # people whose classes are all looked up


@checked
def intersection(
    releases: Annotated[Sequence[Any], Written("list")],
    original: Annotated[Any, ORIGINAL],
    quasi: Annotated[Any, QUASI],
    sensitive: Annotated[str, SENSITIVE],
    *,
    key: Annotated[str | None, COLUMN] = None,
    person: Annotated[str | None, COLUMN] = None,
    counterfeits: Sequence[Any] | None = None,
    signatures: Sequence[Any] | None = None,
    m: Annotated[int, Whole(2, help="how many values should be left at least")] = 2,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    wildcard: Annotated[bool, WILDCARD] = False,
    trials: Annotated[int, ATTEMPTS] = TRIALS,
    seed: Annotated[int, SEED] = 0,
    most: Annotated[int, LISTED] = MOST,
) -> Attack:
    """The share of people whose sensitive value is the only one that all releases leave possible.

    The attacker knows the quasi-identifiers of a person. In each release the person may be any record whose labels
    cover them, so may have the sensitive values of those records; what is common to all releases remains. A release
    that covers the person nowhere says nothing. Where the original has the sensitive column, the one value left must
    be the true one. The baseline is the same for an attacker who knows no quasi-identifier.

    Parameters
    ----------
    releases
        Two releases or more. Each is matched on those of the quasi-identifiers that it has; one without the sensitive
        column says nothing of it.
    original
        The people, with their quasi-identifiers and, where known, the sensitive value. Of a table that was released
        again and again, the list of what it was each time, and `person`: the attacker then knows who was in it when.
    quasi, sensitive
        The quasi-identifying columns, and the sensitive one.
    key
        A column of the original and of every release that says which record is whose: the attacker then finds the
        class of a person even where labels overlap, and knows in which releases the person is.
    person
        The column of the originals that says who is who; the releases do not have it. The value of a person is the
        first that they had. Counts are then compared, too: whoever is in one class and not in a class of another
        release has the values that the first has more of, and in groups of up to eight people every way in which they
        may have the values is looked at.
    counterfeits
        With `person`, of each release None, or for each row the chance that it stands for nobody.
    signatures
        With `person`, of each release None, or for each row a text that names the set of values of its group, where a
        person is in groups of one set in all releases: groups of other sets are then not theirs.
    m
        With `person`, for how many people fewer values than this are left is counted too.
    hierarchies
        Column to the hierarchy that explains its labels.
    wildcard
        Whether a missing released value matches any value, instead of missing ones only.
    trials, seed
        How many people to try, and the seed that draws them.
    most
        How many row numbers to name.

    Examples
    --------
    >>> first = {"age": ["20-39", "20-39"], "disease": ["flu", "cancer"]}
    >>> second = {"age": ["30-49", "30-49"], "disease": ["cancer", "asthma"]}
    >>> people = {"age": [25, 33, 45]}
    >>> found = intersection([first, second], people, ["age"], "disease")
    >>> found.exposed, found.details["alone"]
    ((1,), [0.0, 0.0])

    References
    ----------
    Ganta, Kasiviswanathan and Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008; Xiao
    and Tao, "m-Invariance", SIGMOD 2007.
    """
    if isinstance(releases, str | Path) or not isinstance(releases, Sequence) or not releases:
        raise PolicyError("releases must be a list of tables", got=type(releases).__name__)
    tables = [enter(release)[0] for release in releases]
    names = tuple(dict.fromkeys(column_names(quasi, "quasi")))
    telling = [i for i, table in enumerate(tables) if sensitive in table.columns]
    if not telling:
        raise ColumnError(f'no release has the column "{sensitive}"')
    trials, rng = drawing(trials, seed)
    number: dict[str | None, int] = {}
    encoded = Encoded()
    common = (sensitive, key, hierarchies, wildcard, number, encoded)
    every: list[list[np.ndarray | None]] = []
    if person is None:
        people = enter(original)[0]
        known_columns((*names, *([] if key is None else [key])), people.columns, "the original")
        rows = sample(rng, people.height, trials)
        every = [_seen(tables[i], people, rows, names, *common).values() for i in telling]
        truth = _truth(people, rows, sensitive, number, encoded)
    else:
        if key is not None:
            raise PolicyError("key is a column of the releases, and person one of the originals", hint="name one")
        originals = _originals(original, len(tables), person, names)
        where = _rows_of_people(originals, person)
        rows = sample(rng, len(where), trials)
        truth = np.full(len(rows), -1)
        counted = len(where) <= MOST_COUNTED
        looked_at = np.arange(len(where)) if counted else rows
        seen = []
        for i in telling:
            place = where[looked_at, i]
            there = np.flatnonzero(place >= 0)
            found = _seen(tables[i], originals[i], place[there], names, *common)
            cells: list[np.ndarray | None] = [None] * len(looked_at)
            for at, own in zip(there.tolist(), found.cells, strict=True):
                cells[at] = own
            seen.append(replace(found, cells=cells))
        every = [one.values() for one in seen]
        knows = all(sensitive in table.columns for table in originals)
        for i in reversed(range(len(originals)) if knows else ()):  # the first value that they had stays
            there = np.flatnonzero(where[rows, i] >= 0)
            own = _truth(originals[i], where[rows[there], i], sensitive, number, encoded)
            assert own is not None
            truth[there] = own
        truth = truth if knows else None
    left = [_common([found[i] for found in every]) for i in range(len(every[0]))]
    if person is not None and signatures is not None:
        left = _under_signatures(left, seen, [signatures[i] for i in telling])
    more: dict[str, Any] = {}
    if person is not None:
        if counted:
            placed = _placed(seen, [None if counterfeits is None else counterfeits[i] for i in telling], len(number))
            before, left, more = left, *_told_by_counts(left, placed, rows, m)
            more["people pinned by values alone"] = int(sum(len(before[i]) == 1 for i in rows))
            left, every = [left[i] for i in rows], [[found[i] for i in rows] for found in every]
        else:
            more = {"counts": f"not compared: more than {MOST_COUNTED} people"}
    hit = _pinned(left, truth)
    alone = [float(_pinned([f if f is not None else np.empty(0) for f in found], truth).mean()) for found in every]
    whole = _common([np.array(sorted({number[t] for t in encoded(tables[i], sensitive)[0].text})) for i in telling])
    baseline = float(_pinned([whole] * len(rows), truth).mean())
    successes = int(hit.sum())
    below = int(sum(0 < len(values) < m for values in left))
    sentence = (
        f'The {len(telling)} releases together leave one value of "{sensitive}" for {records(successes, len(rows))}; '
        f"the most telling of them alone does for {percent(max(alone))}."
    )
    if person is not None:
        sentence += f" Fewer than {m} values are left for {records(below, len(rows))}."
    details: dict[str, Any] = {
        "column": sensitive,
        "releases": len(telling),
        "alone": alone,
        "average values left": float(np.mean([len(values) for values in left])),
    }
    if person is None:
        exposed = worst(np.zeros(len(rows)), hit, most, rows)
    else:
        details |= more
        details["fewer values than m"] = {"m": m, "people": below, "share": below / len(rows)}
        # rows of the last original: those of the people who are in it
        last = where[rows, -1]
        exposed = worst(np.zeros(len(rows)), hit & (last >= 0), most, last)
    return outcome(
        "intersection", successes, len(rows), baseline, exposed, sentence, seed=seed, of="original", details=details
    )


def _originals(given: Any, releases: int, person: str, quasi: Sequence[str]) -> list[pl.DataFrame]:
    """The table behind each release, with who is who."""
    if isinstance(given, str | Path) or not isinstance(given, Sequence) or len(given) != releases:
        got = f"{len(given)} tables" if isinstance(given, list | tuple) else type(given).__name__
        what = "with person, the original is a list of the table behind each release"
        raise PolicyError(what, got=got, allowed=f"{releases} tables")
    found = [enter(one)[0] for one in given]
    for table in found:
        known_columns((person, *quasi), table.columns, "an original")
        ids = printed(table.get_column(person))
        if ids.null_count() or ids.n_unique() < table.height:
            raise ColumnError(f'"{person}" must name somebody else in every row of an original')
    return found


def _rows_of_people(originals: Sequence[pl.DataFrame], person: str) -> np.ndarray:
    """The row of everybody in each of the tables, -1 where they are not in it; in the order in which they came."""
    ids = [printed(table.get_column(person)).alias("id").to_frame() for table in originals]
    everybody = pl.concat(ids).unique(maintain_order=True)
    found = [
        everybody.join(one.with_row_index("row"), on="id", how="left", maintain_order="left").get_column("row")
        for one in ids
    ]
    return np.stack([row.cast(pl.Int64).fill_null(-1).to_numpy() for row in found], axis=1)


def _seen(
    table: pl.DataFrame,
    people: pl.DataFrame,
    rows: np.ndarray,
    quasi: Sequence[str],
    sensitive: str,
    key: str | None,
    hierarchies: Mapping[str, Any] | None,
    wildcard: bool,
    number: dict[str | None, int],
    encoded: Encoded,
) -> _Seen:
    """Where somebody who knows the quasi-identifiers finds each person in a release."""
    categories, code = encoded(table, sensitive)
    own_number = np.array([number.setdefault(text, len(number)) for text in categories.text], np.int64)
    names = [name for name in quasi if name in table.columns]
    if not names:  # all there is to know is the whole column
        return _Seen([np.zeros(1, np.int64)] * len(rows), np.zeros(table.height, np.int64), own_number[code], 1)
    matching = Matching(table, names, [people], hierarchies, wildcard, encoded, strangers=True)
    if key is not None:
        known_columns([key], table.columns, "a release")
        place = {text: i for i, text in enumerate(printed(table.get_column(key)).to_list())}
        own = [place.get(text) for text in printed(people.get_column(key).gather(rows)).to_list()]
        cells = [None if i is None else np.array([matching.cell_of_row[i]]) for i in own]
    else:
        asked, of = np.unique(matching.values_of(people, rows), axis=0, return_inverse=True)
        different = []
        for values in asked:
            check_cancelled()
            different.append(matching.candidates(values))
        cells = [different[i] for i in of.reshape(-1).tolist()]
    return _Seen(cells, matching.cell_of_row, own_number[code], len(matching.cells))


@dataclass(frozen=True, eq=False)
class _Seen:
    """A release: the cells that each person may be in, None where it does not know them, and its rows."""

    cells: list[np.ndarray | None]
    cell_of_row: np.ndarray
    value: np.ndarray  # of each row
    many: int  # cells

    def values(self) -> list[np.ndarray | None]:
        """For each person the values that the release leaves possible; None where it does not know the person."""
        pairs = np.unique(np.stack([self.cell_of_row, self.value]), axis=1)
        start = np.searchsorted(pairs[0], np.arange(self.many + 1))
        different = {id(found): found for found in self.cells if found is not None and len(found)}
        read = {one: np.unique(gather(start, pairs[1], found)) for one, found in different.items()}
        return [read.get(id(found)) for found in self.cells]  # people of one tuple share an array of cells


def _under_signatures(left: list[np.ndarray], seen: Sequence[_Seen], signatures: Sequence[Any]) -> list[np.ndarray]:
    """What is left where a person has one signature in all releases: the values of those that all of them may be."""
    names: dict[str, int] = {}
    told = list[tuple[_Seen, np.ndarray]]()
    for one, given in zip(seen, signatures, strict=True):
        if given is not None:
            told.append((one, np.array([names.setdefault(str(text), len(names)) for text in given], np.int64)))
    if len(told) < 2:
        return left
    of_person = [replace(one, value=own).values() for one, own in told]
    pairs = np.unique(np.concatenate([np.stack([own, one.value]) for one, own in told], axis=1), axis=1)
    start = np.searchsorted(pairs[0], np.arange(len(names) + 1))
    found = []
    for i, values in enumerate(left):
        common = _common([sets[i] for sets in of_person])
        kept = np.intersect1d(values, gather(start, pairs[1], common)) if len(common) else values
        found.append(kept if len(kept) else values)  # a value has changed
    return found


def _placed(seen: Sequence[_Seen], counterfeits: Sequence[Any], values: int) -> list[PlacedRelease]:
    """The releases as counts of rows."""
    found = []
    for one, nobody in zip(seen, counterfeits, strict=True):
        rows = np.bincount(one.cell_of_row * values + one.value, minlength=one.many * values).reshape(-1, values)
        share = np.zeros(len(one.value)) if nobody is None else np.asarray(nobody, np.float64)
        fakes = np.rint(np.bincount(one.cell_of_row, weights=share, minlength=one.many)).astype(np.int64)
        found.append(PlacedRelease(one.cells, rows, fakes))
    return found


def _told_by_counts(
    left: list[np.ndarray], placed: Sequence[PlacedRelease], rows: np.ndarray, m: int
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """What is left where counts are compared and small groups looked at in every way, and what that told."""
    after = by_turnover(left, placed)
    after = [new if len(new) else old for new, old in zip(after, left, strict=True)]  # a value has changed
    worlds, sure = in_all_worlds(after, placed)
    tried = [sure[i] for i in rows.tolist() if i in sure]
    return worlds, {
        "people in small groups": len(tried),
        "greatest share of worlds": max(tried, default=None),
        "people above 1/m in small groups": int(sum(share > 1 / m + 1e-9 for share in tried)),
    }


def _common(sets: Sequence[np.ndarray | None]) -> np.ndarray:
    check_cancelled()
    known = [found for found in sets if found is not None]
    if not known:
        return np.empty(0, np.int64)
    left = known[0]
    for found in known[1:]:
        left = np.intersect1d(left, found, assume_unique=True)
    return left


def _truth(
    people: pl.DataFrame, rows: np.ndarray, sensitive: str, number: Mapping[str | None, int], encoded: Encoded
) -> np.ndarray | None:
    if sensitive not in people.columns:
        return None
    categories, code = encoded(people, sensitive)
    return np.array([number.get(text, -1) for text in categories.text], np.int64)[code[rows]]


def _pinned(left: Sequence[np.ndarray], truth: np.ndarray | None) -> np.ndarray:
    """Where one value is left, and it is the true one as far as that is known."""
    one = np.array([len(values) == 1 for values in left], np.bool_)
    if truth is not None:
        one &= np.array([len(values) == 1 and int(values[0]) == int(t) for values, t in zip(left, truth, strict=True)])
    return one
