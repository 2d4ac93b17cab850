"""The people behind rows, as histograms that a search counts them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.core.hierarchy import Categories
from sfumato.core.microdata import Attribute, Microdata
from sfumato.core.policy import Policy
from sfumato.criteria.of_people import OfPeople

HIDDEN = "\0"  # how the names begin of what is no column of the table


def counting_people(
    micro: Microdata, policy: Policy, require: Sequence[Any], people: Sequence[tuple[str, np.ndarray]]
) -> tuple[Microdata, Policy]:
    """A table with whose each row is, and a policy that counts them.

    Counts of people do not add up: who has rows in two cells of a class is one person there. Each cell therefore has a
    histogram of the persons in it, and for a criterion about an attribute one of (value, person) pairs, as of a
    sensitive attribute; those of a class are merged from its cells, and what is counted are the entries.

    Parameters: `require`, the criteria; `people`, per unit the name of its column, and a number for each row.

    >>> import polars as pl
    >>> from sfumato.core.microdata import microdata
    >>> from sfumato.criteria import AlphaK
    >>> table = microdata(pl.DataFrame({"age": [3, 3], "ill": ["x", "y"]}), {"age": "quasi", "ill": "sensitive"}, {})
    >>> asked = AlphaK(0.5, 1, "ill")
    >>> table, counted = counting_people(table, Policy((("age",),), ()), [asked], [("id", np.array([0, 0]))])
    >>> [one.tolist() for name, one in table.codes.items() if name.startswith(HIDDEN)]
    [[0, 0], [0, 1]]
    """
    added: dict[str, tuple[Attribute, np.ndarray]] = {}
    counted: list[Any] = []
    for unit, codes in people:
        persons, many = f"{HIDDEN}{unit}", int(codes.max(initial=-1)) + 1
        added[persons] = _hidden(persons, codes, many)
        for c in require:
            if not c.needs:
                counted.append(OfPeople(c, quasi=c.quasi, persons=persons))
                continue
            (name,) = c.needs
            pairs, attribute = f"{persons}{HIDDEN}{name}", micro.attribute(name)
            found, pair = np.unique(micro.codes[name].astype(np.int64) * many + codes, return_inverse=True)
            added[pairs] = _hidden(pairs, pair, len(found))
            text = attribute.categories.text
            counted.append(
                OfPeople(c, quasi=c.quasi, persons=persons, pairs=pairs, value_of_pair=found // many, text=text)
            )
    schema = (*micro.schema, *(attribute for attribute, _ in added.values()))
    codes_of = {**micro.codes, **{name: codes for name, (_, codes) in added.items()}}
    return replace(micro, schema=schema, codes=codes_of), replace(policy, require=tuple(counted))


def _hidden(name: str, codes: np.ndarray, many: int) -> tuple[Attribute, np.ndarray]:
    """Numbers as a sensitive attribute that has no values to show."""
    count = np.bincount(codes, minlength=many)
    text = tuple(map(str, range(many)))
    return Attribute(name, "sensitive", Categories(name, "text", text, None, count)), codes.astype(np.int32)
