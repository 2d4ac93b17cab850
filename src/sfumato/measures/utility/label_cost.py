"""What each label of a release costs under a loss of labels, by the same formulas that a search minimises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.labels import Labels, at_level, ends_of, of_nodes, of_ranges, over_codes
from sfumato.losses import LabelLoss
from sfumato.measures.utility.column import Column


def label_costs(column: Column, loss: LabelLoss, rows: np.ndarray | None) -> np.ndarray:
    """The cost of a row under each label of the column."""
    level = matched_level(column, rows)
    if level is not None:
        labels, number = level
        return loss.cost(labels)[number]
    found = np.empty(len(column.text))
    for labels, which in _grouped(column):
        found[which] = loss.cost(labels)[labels.of]
    return found


def matched_level(column: Column, rows: np.ndarray | None) -> tuple[Labels, np.ndarray] | None:
    """The level of the hierarchy that the whole column stands at, and the number of each label there.

    That is the lowest level at which every row has the label of its value; where it is not known which row came from
    which, the lowest one that has all the labels. Without a given hierarchy the learnt one is tried, whose groups may
    print as the values that are left of them.
    """
    attribute = column.attribute
    ladder = attribute.ladder
    code, label = _meetings(column, rows)
    for level in range(ladder.levels):
        number = {text or None: i for i, text in enumerate(ladder.text[level])}
        found = np.array([number.get(text, -1) for text in column.text])
        if (found >= 0).all() and (found[label] == ladder.of[level, code]).all():
            return at_level(attribute, level), found
    closed = attribute.categories.ordered and any(text and text.endswith("]") for text in column.text)
    if attribute.hierarchy is not None or rows is None or closed:  # learnt ranges are open to the right
        return None
    if column.opaque:  # what could not be read is not guessed here either
        return None
    if any(text is None or not text.strip("*") for text in column.text):  # those groups name their values
        return None
    for level in range(1, ladder.levels):
        group = ladder.of[level, code]
        pairs = np.unique(np.stack([group, label]), axis=1)
        if pairs.shape[1] == len(column.text) == len(np.unique(pairs[0])) and _covers(column, code, label):
            found = np.empty(len(column.text), np.int64)
            found[pairs[1]] = pairs[0]
            return at_level(attribute, level), found
    return None


def _meetings(column: Column, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs of original code and released label; none where rows are not aligned."""
    if rows is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    width = len(column.text)
    pairs = np.unique(column.code[rows].astype(np.int64) * width + column.label)
    return pairs // width, pairs % width


def _covers(column: Column, code: np.ndarray, label: np.ndarray) -> bool:
    """Whether the labels, as they read, cover all the values that stand under them."""
    wide = len(column.support)
    of = np.repeat(np.arange(len(column.text)), column.size)
    return bool(np.isin(label * wide + code, of * wide + column.members).all())


def _grouped(column: Column) -> list[tuple[Labels, np.ndarray]]:
    """The labels as nodes of the hierarchy, as ranges, and as sets without order, each with their numbers."""
    attribute, values = column.attribute, column.values
    parts = [column.members[a:b] for a, b in zip(column.start[:-1], column.start[1:], strict=True)]
    own = [np.unique(_nearest(column, part)) for part in parts]
    low, high = np.array([part[0] for part in own]), np.array([part[-1] for part in own])
    size = np.array([len(part) for part in own])
    # a label that says nothing stands at the root, also where a lower node covers all there is
    everything = np.array([text is None or not text.strip("*") for text in column.text])
    everything &= (size == values) & (values > 1)
    every = np.arange(len(own))
    by_node = attribute.hierarchy is not None and not attribute.categories.ordered
    nodes, node_at = _nodes(column, own, every if by_node else np.flatnonzero(~everything))
    rest = np.setdiff1d(every, nodes)
    found: list[tuple[Labels, np.ndarray]] = []
    if len(nodes):
        found.append((of_nodes(attribute, node_at[:, 0], node_at[:, 1]), nodes))
    if len(rest):
        labels = of_ranges(attribute, low[rest], high[rest])
        if not attribute.categories.ordered:  # sets may leave out what lies between
            leaves = size[rest]
            covered = np.array([attribute.categories.count[own[i]].sum() for i in rest])
            labels = replace(
                labels,
                of=np.arange(len(rest), dtype=np.int32),
                lo=low[rest],
                hi=high[rest],
                covered=covered,
                leaves=leaves,
                file_leaves=leaves,
                star=labels.star[labels.of],
            )
        else:
            labels = _as_printed(labels, [column.text[i] for i in rest])
        star = labels.star.copy()
        star[labels.of[everything[rest]]] = True
        found.append((replace(labels, star=star), rest))
    return found


def _as_printed(labels: Labels, text: list[str | None]) -> Labels:
    """Ranges with the ends that they print, cut to the domain; `of` is per text, and then a label each."""
    attribute = labels.attribute
    of, (least, greatest) = labels.of, attribute.extent
    if not labels.on_a_line:
        return labels
    low, high = attribute.positions[labels.lo[of]], attribute.positions[labels.hi[of]]
    for i, word in enumerate(text):
        first, last = ends_of(word, attribute.kind) or (None, None)
        if first is not None and last is not None and word is not None and word.endswith("]"):
            low[i], high[i] = np.clip([first, last], least, greatest)
    return replace(
        over_codes(attribute, np.arange(len(of), dtype=np.int32), labels.lo[of], labels.hi[of]), low=low, high=high
    )


def _nearest(column: Column, part: np.ndarray) -> np.ndarray:
    """The codes of a label's values; for one that the original lacks the nearest, or all where there is no order."""
    values = column.values
    if (part < values).all():
        return part
    if column.place is None or np.isnan(column.place[part]).all():
        return np.arange(values)
    known = column.place[: values - column.attribute.categories.missing]
    gap = np.abs(known[:, None] - column.place[part][None, :])
    return np.where(part < values, part, gap.argmin(axis=0)) if len(known) else np.arange(values)


def _nodes(column: Column, own: list[np.ndarray], which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels that are nodes of the given hierarchy, with level and number; a set becomes the least node over it.

    Labels of ordered columns are nodes only where they print so: else they are ranges.
    """
    attribute = column.attribute
    if attribute.hierarchy is None:
        return np.zeros(0, np.int64), np.zeros((0, 2), np.int64)
    ladder, ordered = attribute.ladder, attribute.categories.ordered
    found, at = [], []
    for i in which.tolist():
        for level in range(ladder.levels):
            under = ladder.of[level, own[i]]
            if (under != under[0]).any():
                continue
            if not ordered or ladder.text[level][under[0]] == column.text[i]:
                found.append(i)
                at.append((level, int(under[0])))
                break
    return np.array(found, np.int64), np.array(at, np.int64).reshape(-1, 2)
