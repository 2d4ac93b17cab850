"""t-closeness, class by class: mass is moved from the values that it has too often to those it has too seldom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.wording import number
from sfumato.criteria import TCloseness
from sfumato.search.events.event import Event
from sfumato.studio.lessons.steps.classes import ClassesOfTable, ReleaseTested, ValuesCounted

Shares = Mapping[str, Fraction]
Paths = Sequence[Sequence[str]]  # of each value to the root


@dataclass(frozen=True)
class MassMoved(Event):
    """A share of the rows that goes from one value to another, and what that costs: the share times the distance."""

    source: str
    target: str
    mass: float
    distance: float
    over: str  # the node of the hierarchy where both meet
    cost: float

    def sentence(self) -> str:
        """The step in words."""
        way = f"a distance of {number(self.distance)}" + (f" over {self.over}" if self.over else "")
        moved = f"{number(self.mass)} of the mass goes from {self.source} to {self.target}"
        return f"{moved}, {way}: it costs {number(self.cost)}."


@dataclass(frozen=True)
class ClosenessTested(Event):
    """Whether a class is close enough to the whole table."""

    measured: float
    asked: float
    holds: bool

    def sentence(self) -> str:
        """The step in words."""
        own, t = number(self.measured), number(self.asked)
        if self.holds:
            return f"In all the distance is {own}, at most {t}: the class is close to the whole table."
        return f"In all the distance is {own}, above {t}: the class is too far from the whole table."


def distance_of(seen: ClassesOfTable) -> str:
    """Along the hierarchy where there is one, in order for numbers, else between values that are equally far apart."""
    if seen.column in seen.table.trees:
        return "hierarchical"
    return "ordered" if all(_is_number(value) for value in seen.order) else "equal"


def steps(seen: ClassesOfTable, t: float) -> list[Event]:
    """The lesson; how far a class is, and whether it holds, says the criterion's own audit."""
    distance = distance_of(seen)
    criterion = TCloseness(seen.column, t, distance)
    told: list[Event] = [ValuesCounted(seen.column, seen.counts(range(len(seen.values))))]
    overall = _shares(seen, range(len(seen.values)))
    for labels, rows in seen.classes.items():
        found = criterion.audit(seen.groups(rows))
        told += seen.opened(labels, rows)
        told += moves(_shares(seen, rows), overall, distance, seen.table.trees.get(seen.column, ()))
        told.append(ClosenessTested(float(found.measured or 0), t, found.holds))
    whole = criterion.audit(seen.groups())
    return [*told, ReleaseTested(len(seen.classes), whole.failing_classes, whole.holds)]


def moves(own: Shares, overall: Shares, distance: str, paths: Paths = ()) -> list[MassMoved]:
    """The cheapest way to turn the shares of a class into those of the whole table, move by move."""
    if distance == "ordered":
        return list(_in_order(own, overall))
    surplus = {value: own[value] - overall[value] for value in overall if own[value] > overall[value]}
    deficit = {value: overall[value] - own[value] for value in overall if own[value] < overall[value]}
    if distance == "equal":
        return list(_matched(surplus, deficit, 1.0, ""))
    found, path = list[MassMoved](), {row[0]: tuple(row) for row in paths}
    height = len(next(iter(path.values()))) - 1
    for level in range(1, height + 1):  # what can stay below a node does
        for node in dict.fromkeys(path[value][level:] for value in overall):
            inside = [value for value in overall if path[value][level:] == node]
            some, others = ({v: of[v] for v in inside if of.get(v)} for of in (surplus, deficit))
            found += _matched(some, others, level / height, node[0])
            for of, left in ((surplus, some), (deficit, others)):
                of.update({value: left[value] for value in inside if value in left})
    return found


def _matched(
    surplus: dict[str, Fraction], deficit: dict[str, Fraction], distance: float, over: str
) -> Iterator[MassMoved]:
    """Moves between values that are all equally far apart; what is left stays in both."""
    for source in surplus:
        for target in deficit:
            if mass := min(surplus[source], deficit[target]):
                surplus[source] -= mass
                deficit[target] -= mass
                yield MassMoved(source, target, float(mass), distance, over, float(mass) * distance)


def _in_order(own: Shares, overall: Shares) -> Iterator[MassMoved]:
    """Moves along a line, which keep the order: the least values of the class go where the least of the table are."""
    order = list(overall)
    left, wanted = [own[value] for value in order], [overall[value] for value in order]
    i = j = 0
    while i < len(order) and j < len(order):
        if mass := min(left[i], wanted[j]):
            if i != j:
                distance = abs(i - j) / (len(order) - 1)
                yield MassMoved(order[i], order[j], float(mass), distance, "", float(mass) * distance)
            left[i] -= mass
            wanted[j] -= mass
        i, j = i + (not left[i]), j + (left[i] != 0 and not wanted[j])


def _shares(seen: ClassesOfTable, rows: Sequence[int]) -> Shares:
    counts = dict(seen.counts(rows))
    return {value: Fraction(counts.get(value, 0), len(rows)) for value in seen.order}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
