"""Small tables with totals, and all tables of whole numbers that fit what is published of one."""

from __future__ import annotations

from itertools import product

import numpy as np

from sfumato.criteria.cells.published import PublishedCells, TableDimension


def flat(name: str, *labels: str) -> TableDimension:
    """A total and its parts."""
    return TableDimension(name, ("*", *labels), (-1,) + (0,) * len(labels))


def numbered(name: str, leaves: int) -> TableDimension:
    """A total and so many parts."""
    return flat(name, *map(str, range(leaves)))


def nested(name: str, *groups: int) -> TableDimension:
    """A total, groups, and so many parts of each."""
    labels, parent = ["*", *(f"g{i}" for i in range(len(groups)))], [-1] + [0] * len(groups)
    for i, many in enumerate(groups):
        labels += [f"g{i}.{j}" for j in range(many)]
        parent += [i + 1] * many
    return TableDimension(name, tuple(labels), tuple(parent))


def inner(one: TableDimension) -> np.ndarray:
    """The nodes without children."""
    return np.setdiff1d(np.arange(len(one.labels)), one.totals)


def with_totals(dimensions: tuple[TableDimension, ...], leaves: np.ndarray) -> np.ndarray:
    """All cells of a table from its innermost."""
    found = leaves
    for axis, one in enumerate(dimensions):
        found = np.moveaxis(np.tensordot(one.within[:, inner(one)].astype(float), found, (1, axis)), 0, axis)
    return found


def random_table(
    dimensions: tuple[TableDimension, ...], rng: np.random.Generator, most: int = 3, share: float = 0.5
) -> tuple[PublishedCells, np.ndarray]:
    """A table of small counts with some of its cells hidden, and its true values."""
    leaves = rng.integers(0, most + 1, [len(inner(one)) for one in dimensions])
    true = with_totals(dimensions, leaves.astype(float))
    return PublishedCells(dimensions, np.where(rng.random(true.shape) < share, np.nan, true)), true


def fitting_tables(
    published: PublishedCells, known: dict[int, float] | None = None, most: int = 150_000
) -> tuple[np.ndarray, np.ndarray] | None:
    """The least and greatest value of each cell over all tables that fit, or None where these are too many to try.

    `known` cells, by flat position, have these values. An innermost cell that is in no published total has no end, nor
    have the totals that hold it.
    """
    dimensions, shape = published.dimensions, published.values.shape
    leaves = [inner(one) for one in dimensions]
    values = published.values.reshape(-1).copy()
    for cell, value in (known or {}).items():
        values[cell] = value
    unit = np.eye(int(np.prod([len(one) for one in leaves])))
    holds = np.stack([with_totals(dimensions, u.reshape([len(one) for one in leaves])).reshape(-1) for u in unit]) > 0
    low, high = published.bounds()
    least, upper = np.zeros(len(values)), np.full(len(values), np.inf)
    least[published.hidden_cells], upper[published.hidden_cells] = low, high
    at = [int(np.ravel_multi_index(place, shape)) for place in product(*leaves)]
    choices, endless = [], np.zeros(len(values), bool)
    for i, cell in enumerate(at):
        if not np.isnan(values[cell]):
            choices.append(np.array([values[cell]]))
            continue
        end = float(np.where(np.isnan(values), upper, values)[holds[i]].min())
        if np.isinf(end):
            endless |= holds[i]
            end = max(least[cell], 0)
        choices.append(np.arange(least[cell], end + 1))
    # products of choices, in steps: partial sums must not be beyond what is published
    tables = np.zeros((1, 0))
    for i, own in enumerate(choices):
        tables = np.hstack((np.repeat(tables, len(own), 0), np.tile(own, len(tables))[:, None]))
        sums = tables @ holds[: i + 1].astype(float)
        tables = tables[~(sums > np.where(np.isnan(values), upper, values)).any(1)]
        if len(tables) * 4 > most:
            return None
    cells = tables @ holds.astype(float)
    fits = ((cells == values) | np.isnan(values)).all(1) & (cells >= least).all(1)
    cells = cells[fits]
    assert len(cells), "the true table fits"
    return cells.min(0), np.where(endless, np.inf, cells.max(0))
