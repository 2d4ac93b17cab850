"""Differencing and linear systems, put to a database. Dobkin, Jones and Lipton, TODS 1979; Dinur and Nissim, 2003."""

from __future__ import annotations

from itertools import islice

import numpy as np

from sfumato.control.attacks.targeted.questioner import Questioner, among, equal, everybody
from sfumato.control.formula import Formula

LARGEST = 40  # sides of the grid that are tried


def direct(questioner: Questioner) -> float | None:
    """The set of the person alone, as it is."""
    return questioner.total(questioner.wanted)


def differencing(questioner: Questioner) -> float | None:
    """All people, less all but one."""
    whole, rest = questioner.of(everybody()), questioner.of(~questioner.whom)
    return None if whole is None or rest is None else whole - rest


def linear_system(questioner: Questioner) -> float | None:
    """A grid of other people: its columns, each with the person, less its rows, are the person once per column.

    Two columns share the person alone, a column and a row one other: no control of overlap can allow less.
    """
    others = unique_people(questioner)
    for side in range(2, LARGEST + 1):
        if len(others) < side * side:
            return None
        grid = questioner.rng.permutation(len(others))[: side * side].reshape(side, side)
        total = 0.0
        for sign, lines in ((-1, grid), (1, grid.T)):  # too small sets are refused before they count
            for line in lines:
                group = together([others[i] for i in line] + ([questioner.whom] if sign == 1 else []))
                answer = questioner.of(group)
                if answer is None:
                    break
                total += sign * answer
            else:
                continue
            break
        else:
            return total / side
    return None


def reconstruction(questioner: Questioner) -> float | None:
    """The person's part in the least-squares fit to sums over random sets of people."""
    names = [name for name, values in questioner.values.items() if len(values) > 2]
    sets: list[np.ndarray] = []
    answers: list[float] = []
    for i in range(4 * questioner.most):
        if questioner.queries == questioner.most or not names:
            break
        name = names[i % len(names)]
        values = [value for value in questioner.values[name] if questioner.rng.random() < 0.5]
        if not values:
            continue
        group = among(name, values)
        group = group | questioner.whom if questioner.rng.random() < 0.5 else group & ~questioner.whom
        answer = questioner.of(group)
        if answer is not None:
            sets.append(group.rows(questioner.register))
            answers.append(answer)
    if len(answers) < 2:
        return None
    matrix = np.array(sets, float)
    own = matrix[:, questioner.person]
    return float(np.linalg.lstsq(matrix, np.array(answers))[0][questioner.person]) if own.any() else None


def unique_people(questioner: Questioner, most: int = LARGEST**2) -> list[Formula]:
    """Formulas of single other people, by the columns that tell the person apart where these do, else by all."""
    names = list(questioner.whom.columns)
    for columns in (names, questioner.register.columns):
        part = questioner.register.select(columns)
        alone = part.is_unique().to_numpy()
        rows = [int(row) for row in np.flatnonzero(alone) if row != questioner.person]
        if len(rows) >= 4:
            return [equal(part.row(row, named=True)) for row in islice(rows, most)]
    return []


def together(parts: list[Formula]) -> Formula:
    """Everybody of some sets; of one column, as a list of its values."""
    conditions = [part.condition for part in parts]
    columns = {None if one is None else one.column for one in conditions}
    if len(columns) == 1 and None not in columns:
        values = [value for one in conditions if one is not None for value in one.values]
        if None not in values:
            return among(str(columns.pop()), values)
    found = parts[0]
    for part in parts[1:]:
        found = found | part
    return found
