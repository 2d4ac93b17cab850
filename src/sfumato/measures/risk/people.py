"""Risks that count people: of several rows of one person in a class, one counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.keys import rank_tuples
from sfumato.criteria import AlphaK, DistinctLDiversity, EntropyLDiversity, RecursiveCLDiversity
from sfumato.errors import ColumnError
from sfumato.measures.measure import Measure
from sfumato.measures.risk.achievement import MOST_L, above
from sfumato.measures.risk.individual_risk import household_risks
from sfumato.measures.risk.keys import keys_of
from sfumato.measures.table import Table, entries, rows_of
from sfumato.release.people import people_groups, units_of, whose

WORDS = {"record's": "person's", "records": "people", "record": "person"}


@dataclass(frozen=True, eq=False)
class PeopleTable:
    """The people of each class, a row for each: a person whose rows are in several classes is in each of them."""

    frame: pl.DataFrame  # a row of the table for each person of a class
    person: np.ndarray  # whose each of them is
    every: pl.DataFrame  # the rows of the table, or its distinct tuples
    whose_every: np.ndarray
    rows: int
    most: int  # rows of a person

    @property
    def people(self) -> int:
        """How many people there are."""
        return int(self.person.max()) + 1


def people_table(
    table: Table, quasi: Any, person: Any, weight: str | None, household: str | None, sensitive: Sequence[str]
) -> PeopleTable:
    """The people of the classes of a table; a ColumnError where one of them has several weights."""
    names = keys_of(table, quasi).cells.names
    others = {"quasi": names, "sensitive": sensitive, "weight": () if weight is None else (weight,)}
    (unit, *_) = units_of(person, None, table.columns, others)
    beside = [name for name in (unit.column, weight, household, *sensitive) if name is not None]
    every, often = entries(table, tuple(dict.fromkeys((*names, *beside))))
    codes = whose(every.get_column(unit.column), unit)
    if weight is not None:
        several = pl.DataFrame({"p": codes, "w": every.get_column(weight)}).group_by("p").agg(pl.col("w").n_unique())
        if wrong := int((several["w"] > 1).sum()):
            what = f'"{weight}" differs within {wrong} of {len(several)} people, who have one weight each'
            raise ColumnError(what, hint="give each person one weight in all rows")
    cell = keys_of(every, names).cell_of_row
    first = _firsts([cell, codes])
    rows = np.bincount(codes, weights=None if often is None else often)
    return PeopleTable(every[first], codes[first], every, codes, rows_of(table), int(rows.max(initial=0)))


def household_risks_of(found: PeopleTable, household: str, risk: np.ndarray) -> np.ndarray:
    """The risk of the household of each person, whose own is the greatest of those of the classes that they are in.

    A person may be found through any member: 1 - prod(1 - r), over the people of the household."""
    greatest = np.zeros(found.people)
    np.maximum.at(greatest, found.person, risk)
    home = keys_of(found.every, [household]).cell_of_row
    first = _firsts([home, found.whose_every])  # who names several households is a member of each
    members = found.every[first]
    return household_risks(members, household, greatest[found.whose_every[first]])


def achieved_by_people(found: PeopleTable, quasi: Sequence[str], sensitive: Sequence[str]) -> dict[str, Any]:
    """The strictest parameters that a table satisfies where people count, of the models that have such a reading."""
    groups = people_groups(found.every, quasi, sensitive, found.whose_every)
    k = int(groups.sizes["size"].min())  # type: ignore[arg-type]
    concentrated = replace(groups, concentrated=True)
    values: dict[str, Any] = {}
    for name in sensitive:
        distinct = int(DistinctLDiversity(name, 1).audit(concentrated).measured or 0)
        values[name] = {
            "distinct_l": distinct,
            "entropy_l": EntropyLDiversity(name, 1).audit(concentrated).measured,
            "recursive_c": {
                str(l): above(float(RecursiveCLDiversity(name, 1, l).audit(concentrated).measured or 0))
                for l in range(2, min(distinct, MOST_L) + 1)
            },
            "alpha": AlphaK(1, 1, name).audit(groups).measured,
        }
    return {"k": k, "sensitive": values}


def of_people(measure: Measure) -> Measure:
    """A measure of people in their words.

    >>> of_people(Measure("k", 2.0, (1.0, 9.0), "Every record looks like 1 of the records.")).sentence
    'Every person looks like 1 of the people.'
    """
    pattern = "|".join(WORDS)
    return replace(measure, sentence=re.sub(rf"\b({pattern})\b", lambda found: WORDS[found[1]], measure.sentence))


def _firsts(codes: Sequence[np.ndarray]) -> np.ndarray:
    """The first row of each combination of numbers."""
    of, _ = rank_tuples(list(codes), [int(code.max()) + 1 for code in codes], len(codes[0]))
    return np.sort(np.unique(of, return_index=True)[1])
