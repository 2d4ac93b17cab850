"""How many people of a population each class of a release covers, where the population is not recoded like it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from sfumato.cells import Cells, count_cells
from sfumato.measures.labels_cover import read_labels
from sfumato.microdata import encode

STAR = "*"  # a released value that says nothing


def covered_people(
    classes: Cells,
    texts: list[tuple[str | None, ...]],
    population: pl.DataFrame,
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    times: np.ndarray | None = None,
) -> np.ndarray | None:
    """Per class the people of the population whose values its labels cover, in every column.

    None where no label stands for other values than itself: then equal keys tell all. A label that cannot be read
    covers nobody, so that it never makes a class look safe. `texts` are the labels of each column, by code; `times` how
    many people each row of the population is.

    >>> classes = Cells(("age",), np.array([[0, 1]]), np.array([1, 1]), (2,))
    >>> covered_people(classes, [("20-29", "3*")], pl.DataFrame({"age": [21, 25, 33]}))
    array([2, 1])
    """
    coded = [encode(population.get_column(name)) for name in classes.names]
    people, _ = count_cells(classes.names, [code for _, code in coded], [len(values) for values, _ in coded], times)
    covers, recoded = [], False
    for name, text, code, (values, _) in zip(classes.names, texts, classes.codes, coded, strict=True):
        cover = read_labels(text, values.text, (hierarchies or {}).get(name), wildcard=wildcard, name=name).members
        usual = {*values.text, None, *((STAR,) if wildcard else ())}
        recoded |= any(text[i] not in usual and len(cover[i]) for i in np.unique(code).tolist())
        # under wildcards an unknown value of a person fits any label
        free = [i for i, value in enumerate(values.text) if wildcard and value in (None, STAR)]
        covers.append([np.union1d(members, free).astype(np.int64) for members in cover])
    if not recoded:
        return None
    order = np.argsort([len(text) for text in texts], kind="stable")  # columns of few labels split first
    found = np.zeros(len(classes), np.int64)
    every = np.arange(len(classes)), np.arange(len(people))
    _descend(classes.codes[order], people.codes[order], people.count, [covers[i] for i in order], 0, every, found)
    return found


def _descend(
    labels: np.ndarray,
    values: np.ndarray,
    count: np.ndarray,
    covers: list[list[np.ndarray]],  # the values of each label, ascending
    column: int,
    here: tuple[np.ndarray, np.ndarray],
    found: np.ndarray,
) -> None:
    """Split classes by their label in one column, take the people whom each label covers, and go on with the next."""
    classes, people = here
    if column == len(labels):
        found[classes] = count[people].sum()
        return
    by_label = classes[np.argsort(labels[column, classes], kind="stable")]
    label, first = np.unique(labels[column, by_label], return_index=True)
    by_value = people[np.argsort(values[column, people], kind="stable")]
    value = values[column, by_value]
    for one, members in zip(label.tolist(), np.split(by_label, first[1:]), strict=True):
        wanted = covers[column][one]
        if not len(wanted):
            continue
        start, stop = np.searchsorted(value, wanted[0], "left"), np.searchsorted(value, wanted[-1], "right")
        inside = by_value[start:stop]
        if len(wanted) <= wanted[-1] - wanted[0]:  # it has gaps
            inside = inside[np.isin(value[start:stop], wanted)]
        if len(inside):
            _descend(labels, values, count, covers, column + 1, (members, inside), found)
