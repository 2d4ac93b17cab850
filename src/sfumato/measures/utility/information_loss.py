"""What each label of a release costs under a loss of labels, by the same formulas that a search minimises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from sfumato.core.cells import count_cells
from sfumato.core.label_grammar import range_text, says_nothing
from sfumato.core.labels import Labels, at_level, ends_of, of_nodes, of_ranges, over_codes
from sfumato.core.parameters import checked, whole_number
from sfumato.core.policy import ClassStatistics
from sfumato.core.roles import digits_of
from sfumato.core.wording import count, percent
from sfumato.hierarchies.dates import days_of
from sfumato.hierarchies.learned import Learned
from sfumato.losses import LabelLoss, loss_name
from sfumato.losses import loss as parse_loss
from sfumato.measures.arguments import COUNT, HIERARCHIES, KEY, ORIGINAL, QUASI, RELEASED, ROWS
from sfumato.measures.measure import Measure
from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import Pair, moved_share, pair_of, unread_words


def label_costs(column: ComparedColumn, loss: LabelLoss, rows: np.ndarray | None) -> np.ndarray:
    """The cost of a row under each label of the column."""
    level = matched_level(column, rows, loss_name(loss) in BY_LEVEL)
    if level is not None:
        labels, number = level
        return loss.cost(labels)[number]
    found = np.empty(len(column.text))
    for labels, which in _grouped(column):
        found[which] = loss.cost(labels)[labels.of]
    return found


def matched_level(
    column: ComparedColumn, rows: np.ndarray | None, by_level: bool = False
) -> tuple[Labels, np.ndarray] | None:
    """The level of the hierarchy that the whole column stands at, and the number of each label there.

    That is the lowest level at which every row has the label of its value; where it is not known which row came from
    which, the lowest one that has all the labels. Without a given hierarchy the learnt one is tried; where levels are
    what counts (`by_level`), its groups may print as the values that are left of them.
    """
    attribute = column.attribute
    ladder = attribute.ladder
    met = None if rows is None else column.meetings(rows)
    code, label = (np.zeros(0, np.int64),) * 2 if met is None else (met.code, met.label)
    for level in range(ladder.levels):
        number = {text or None: i for i, text in enumerate(ladder.text[level])}
        found = np.array([number.get(text, -1) for text in column.text])
        if (found >= 0).all() and (found[label] == ladder.of[level, code]).all():
            return at_level(attribute, level), found
    if not by_level or attribute.hierarchy is not None or rows is None:
        return None
    if column.opaque:  # what could not be read is not guessed here either
        return None
    if any(map(says_nothing, column.text)):  # those groups name their values
        return None
    covered = met is not None and bool(met.covered.all())
    for level in range(1, ladder.levels):
        group = ladder.of[level, code]
        pairs = np.unique(np.stack([group, label]), axis=1)
        if pairs.shape[1] == len(column.text) == len(np.unique(pairs[0])) and covered:
            found = np.empty(len(column.text), np.int64)
            found[pairs[1]] = pairs[0]
            if _within(column, ladder.of[level], found):
                return at_level(attribute, level), found
    return None


def _within(column: ComparedColumn, group_of: np.ndarray, found: np.ndarray) -> bool:
    """Whether each label names values of its group alone: sets that overlap are no groups."""
    own = column.members < column.values
    return bool((group_of[column.members[own]] == np.repeat(found, column.size)[own]).all() and own.all())


def _grouped(column: ComparedColumn) -> list[tuple[Labels, np.ndarray]]:
    """The labels as nodes of the hierarchy, as ranges, and as sets without order, each with their numbers."""
    attribute, values = column.attribute, column.values
    parts = [column.members[a:b] for a, b in zip(column.start[:-1], column.start[1:], strict=True)]
    own = [_nearest(column, part) for part in parts]
    low, high = np.array([part.min() for part in own]), np.array([part.max() for part in own])
    size = np.array([len(part) for part in own])
    # a label that says nothing stands at the root, also where a lower node covers all there is
    everything = np.array([says_nothing(text) for text in column.text])
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
    """Ranges with the ends that they print, cut to the domain, a month or a decade as its days; `of` is per text, and
    then a label each."""
    attribute = labels.attribute
    of, (least, greatest) = labels.of, attribute.extent
    if not labels.on_a_line:
        return labels
    low, high = attribute.positions[labels.lo[of]], attribute.positions[labels.hi[of]]
    for i, word in enumerate(text):
        first, last = _ends(word, attribute.kind)
        ends = least if first is None else first, greatest if last is None else last
        if ends[0] <= ends[1]:
            low[i], high[i] = np.clip(ends, least, greatest)
    return replace(
        over_codes(attribute, np.arange(len(of), dtype=np.int32), labels.lo[of], labels.hi[of]), low=low, high=high
    )


def _ends(word: str | None, kind: str) -> tuple[float | None, float | None]:
    """Where a label starts and stops, None for an open end; nan where it is neither a range nor a unit of dates."""
    days = days_of(word) if word is not None and kind in ("date", "datetime") else None
    if days is not None:
        word = range_text(days[0].isoformat(), days[1].isoformat())
    return ends_of(word, kind) or (math.nan, math.nan)


def _nearest(column: ComparedColumn, part: np.ndarray) -> np.ndarray:
    """The codes of a label's values; for one that the original lacks the nearest, or all where there is no order."""
    values = column.values
    if (part < values).all():
        return part
    if column.place is None or np.isnan(column.place[part]).all():
        return np.arange(values)
    known = column.place[: values - column.attribute.categories.missing]
    gap = np.abs(known[:, None] - column.place[part][None, :])
    return np.unique(np.where(part < values, part, gap.argmin(axis=0))) if len(known) else np.arange(values)


def _nodes(column: ComparedColumn, own: list[np.ndarray], which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


BY_LEVEL = ("precision", "height")
WORDS = {
    "lm": "of the detail of the quasi-identifiers is lost",
    "ncp": "of the range of the quasi-identifiers is lost",
    "precision": "of the way up the hierarchies is gone",
    "non-uniform-entropy": "of the information in the quasi-identifiers is lost",
}


@checked
def information_loss(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    quasi: Annotated[Any, QUASI] = None,
    *,
    loss: Any = "lm",
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
    k: Annotated[int | None, COUNT] = None,
) -> Measure:
    """A loss of `sfumato.losses` on any pair of tables: lm, ncp, precision, height, non-uniform-entropy,
    discernibility or c-avg.

    A loss of labels averages over all original rows what the label of each costs, a suppressed row at its maximum, and
    aggregates over the quasi-identifiers. Labels are read as `measures.labels_cover` says, and cost what they print: a
    range of numbers from its one end to the other, as far as the original reaches, a set without a hierarchy its own
    values. On a release of Sfumato it is the loss of its solution, less what suppression took out of its labels. Where
    a label stands at several levels of a hierarchy the lowest is meant.

    Parameters
    ----------
    original, released, rows, key, hierarchies
        See `pair_of`.
    quasi
        The columns to measure; those in which the release prints something else by default.
    loss
        The name of a loss, or a value such as `LM(aggregate="geometric")`.
    k
        For c-avg: the class size that was asked for; the smallest class by default.

    Examples
    --------
    >>> information_loss({"age": [20, 30, 40, 60]}, {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]}).value
    0.375
    """
    pair, asked = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies), parse_loss(loss)
    names = pair.changed() if quasi is None else pair.names(quasi, "quasi")
    if pair is not original:  # which has been told how its columns are read
        by_name = {column: Learned(digits=digits_of(column)) for column in names if digits_of(column) != "numbers"}
        pair = replace(pair, hierarchies=by_name | dict(pair.hierarchies), _columns={})
    name = loss_name(asked)
    if not asked.by_label:
        return _of_classes(pair, names, asked, name, k)
    n, gone = pair.original_rows, pair.suppressed
    per_column, weights = np.empty(len(names)), np.empty(len(names))
    for i, column in enumerate(pair.arranged(names) if name in BY_LEVEL else map(pair.column, names)):
        attribute = column.attribute
        cost = label_costs(column, asked, pair.rows)
        own, free = asked.own(attribute), asked.suppressed(attribute)
        total = float((cost * column.count).sum()) - float((own * attribute.categories.count).sum())
        # what a suppressed row costs beyond its own is the same for every value
        most = float(cost.max()) if free is None else float(free[0] + own[0])
        per_column[i] = max(total + gone * most, 0.0) / max(n, column.released_rows)
        weights[i] = asked.weight(attribute)
    value = float(asked.combine(per_column, weights))
    read = [pair.column(c) for c in names]
    counts, unread = unread_words(read)
    moved, beside = moved_share(pair, read)
    details = {
        "per_column": dict(zip(names, per_column.tolist(), strict=True)),
        "suppressed": gone,
        "moved": moved,
        **counts,
    }
    top = sum(pair.column(c).attribute.ladder.height for c in names) if name == "height" else 1.0
    if asked.aggregate == "sum" and name != "height":
        top = float(len(names))
    if name in WORDS and asked.aggregate == "mean":
        sentence = f"{percent(value)} {WORDS[name]} (0%: as in the original, 100%: nothing is left)"
        sentence += f"; suppressed rows counted as lost: {gone}." if gone else "."
    else:
        sentence = (
            f"The loss {name} ({asked.aggregate} over {count(len(names), 'column')}) is {value:.4g}, 0 being no loss."
        )
    value = min(value, top) if value < top + 1e-9 else value  # sums of shares may pass 1 by their last digit
    return Measure(name, value, (0.0, float(max(top, value))), sentence + unread + beside, details=details)


def _class_sizes(pair: Pair, names: Sequence[str]) -> np.ndarray:
    """Rows per class of the release, ascending: rows that print alike in these columns."""
    found = [pair.encoded(name, released=True) for name in names]
    sizes = [len(categories) for categories, _ in found]
    return np.sort(count_cells(names, [code for _, code in found], sizes, pair.row_counts[1])[0].count)


def _of_classes(pair: Pair, names: Sequence[str], asked: Any, name: str, k: int | None) -> Measure:
    sizes = _class_sizes(pair.on(names), names)
    least = int(sizes[0]) if k is None else whole_number(k, "k", 1)
    n = max(pair.original_rows, pair.released_rows)
    squares = float((sizes.astype(np.float64) ** 2).sum())
    statistics = ClassStatistics(n, n - int(sizes.sum()), len(sizes), squares, len(sizes), squares, least, n)
    value = float(asked.value(statistics))
    details: dict[str, Any] = {"classes": len(sizes), "suppressed": pair.suppressed, "k": least}
    if name == "c-avg":
        sentence = (
            f"Records that share their quasi-identifiers come in groups {value:.4g} times as large on average as "
            f"{least}, the {'size asked for' if k else 'smallest group'}; 1 is as fine as that allows."
        )
        return Measure(name, value, (0.0, n / least), sentence, details=details)
    baseline = float((np.sort(pair.boxes(names).cell_count).astype(np.float64) ** 2).sum())
    sentence = (
        f"On average a record has the quasi-identifiers of {value / n:.4g} of {n} records, itself counted and a "
        f"suppressed one as all of them; in the original, of {baseline / pair.original_rows:.4g}."
    )
    return Measure(name, value, (float(n), float(n) * n), sentence, baseline=baseline, details=details)
