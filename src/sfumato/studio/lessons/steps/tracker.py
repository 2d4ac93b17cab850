"""The tracker: a person is found by questions that are permitted. Denning, Denning and Schwartz, TODS 4(1), 1979."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.core.wording import count, number
from sfumato.search.events.event import Event
from sfumato.studio.lessons.tables import LessonTable

EPSILON = 1  # of the noise that the last step compares with
ANSWERS = 4  # whose noise is in the difference


@dataclass(frozen=True)
class ControlSet(Event):
    """Sets that are small, or nearly everybody, are not counted."""

    rows: int
    least: int

    def sentence(self) -> str:
        """The step in words."""
        sizes = f"fewer than {number(self.least)} or more than {number(self.rows - self.least)}"
        return f"Of {count(self.rows, 'row')}, sets of {sizes} are not counted."


@dataclass(frozen=True)
class CountRefused(Event):
    """A question that is not answered."""

    what: str
    rows_counted: tuple[int, ...]

    def sentence(self) -> str:
        """The step in words."""
        return f"The count of {self.what} is refused: the set is too small."


@dataclass(frozen=True)
class TrackerRejected(Event):
    """A set that is no tracker: with the person, or without, one of the sets would not be counted."""

    what: str
    rows_counted: tuple[int, ...]
    others: int

    def sentence(self) -> str:
        """The step in words."""
        sizes = f"{count(len(self.rows_counted), 'row')}, and {number(self.others)} without it"
        return f"{self.what} is no tracker: {sizes}, so that a question with the person would be refused."


@dataclass(frozen=True)
class TrackerMissing(Event):
    """No column gives a tracker."""

    columns: tuple[str, ...]

    def sentence(self) -> str:
        """The step in words."""
        return "No column gives a tracker: here the control of sizes holds, until one more column is known."


@dataclass(frozen=True)
class TrackerChosen(Event):
    """A set of middling size: it and its complement are counted, also with the person."""

    what: str
    rows_counted: tuple[int, ...]
    others: int

    def sentence(self) -> str:
        """The step in words."""
        sizes = f"{count(len(self.rows_counted), 'row')}, and {number(self.others)} without it"
        return f"{self.what} is a tracker: {sizes}, and all questions with it are answered."


@dataclass(frozen=True)
class QueryAnswered(Event):
    """A question that is answered."""

    what: str
    rows_counted: tuple[int, ...]
    answer: int

    def sentence(self) -> str:
        """The step in words."""
        return f"The count of {self.what} is {number(self.answer)}."


@dataclass(frozen=True)
class EverybodyCounted(Event):
    """The tracker and its complement together."""

    sum: str

    def sentence(self) -> str:
        """The step in words."""
        return f"{self.sum}: together they are everybody."


@dataclass(frozen=True)
class PersonCounted(Event):
    """What two sets with the person count twice is everybody; the rest is the person."""

    person: str
    sum: str
    rows: int
    rows_counted: tuple[int, ...]

    def sentence(self) -> str:
        """The step in words."""
        return f"{self.sum}: that is the count of {self.person}, though it was refused."


@dataclass(frozen=True)
class ValueTested(Event):
    """The same with a value: 1 where the person has it."""

    person: str
    value: str
    sum: str
    has: bool
    rows_counted: tuple[int, ...]

    def sentence(self) -> str:
        """The step in words."""
        verb = "has" if self.has else "does not have"
        return f"{self.sum}: {self.person} {verb} {self.value}."


@dataclass(frozen=True)
class NoiseAdded(Event):
    """How far off the difference is where each answer has noise."""

    epsilon: float
    scale: float
    within: float

    def sentence(self) -> str:
        """The step in words."""
        noise = f"With noise for an epsilon of {number(self.epsilon)} in each of four answers"
        off = f"the difference is off by up to {number(self.within)} in 19 of 20 cases"
        return f"{noise}, {off}: one person is lost in it."


def steps(table: LessonTable, column: str, least: int, name: str) -> Iterator[Event]:
    """The lesson: the person of the table is found, and then their value of a column."""
    everybody, values = range(len(table.rows)), table.values(column)

    def permitted(*sets: set[int]) -> bool:
        return all(least <= len(some) <= len(everybody) - least for some in sets)

    columns = {name: table.values(name) for name in (table.known or table.quasi)}
    person = {row for row in everybody if all(own[row] == own[table.person] for own in columns.values())}
    yield ControlSet(len(everybody), least)
    if permitted(person):
        yield QueryAnswered(name, tuple(sorted(person)), len(person))
    else:
        yield CountRefused(name, tuple(sorted(person)))
    tracker = None
    for what, inside in candidates(table, column):
        others = {*everybody} - inside
        if permitted(inside, others, person | inside, person | others):
            yield TrackerChosen(what, tuple(sorted(inside)), len(others))
            tracker = what, inside, others
            break
        yield TrackerRejected(what, tuple(sorted(inside)), len(others))
    if tracker is None:
        yield TrackerMissing(table.columns)
        return
    what, inside, others = tracker

    def asked(words: str, some: set[int]) -> QueryAnswered:
        return QueryAnswered(words, tuple(sorted(some)), len(some))

    yield asked(what, inside)
    yield asked(f"¬ {what}", others)
    yield EverybodyCounted(f"{len(inside)} + {len(others)} = {len(everybody)}")
    yield asked(f"{name} ∪ {what}", person | inside)
    yield asked(f"{name} ∪ ¬ {what}", person | others)
    both = len(person | inside), len(person | others)
    found = sum(both) - len(everybody)
    yield PersonCounted(name, f"{both[0]} + {both[1]} - {len(everybody)} = {found}", found, tuple(sorted(person)))
    for value in sorted(set(values)):
        those = {row for row in person if values[row] == value}
        sets = those | inside, those | others
        yield asked(f"({name}, {value}) ∪ {what}", sets[0])
        yield asked(f"({name}, {value}) ∪ ¬ {what}", sets[1])
        rest = len(sets[0]) + len(sets[1]) - len(everybody)
        total = f"{len(sets[0])} + {len(sets[1])} - {len(everybody)} = {rest}"
        yield ValueTested(name, value, total, bool(rest), tuple(sorted(those)))
        if rest == len(person):
            break
    yield noise(table)


def candidates(table: LessonTable, column: str) -> Iterator[tuple[str, set[int]]]:
    """Sets that may be trackers: half of a column of numbers, the commonest value of another; short columns first."""
    names = [name for name in table.columns if name != column]
    for name in sorted(names, key=lambda one: len(set(table.values(one)))):
        own = [row[table.columns.index(name)] for row in table.rows]
        if all(isinstance(value, int | float) for value in own):
            middle = sorted(own)[len(own) // 2]
            yield f"{name} >= {middle:g}", {row for row, value in enumerate(own) if value >= middle}
        else:
            [(most, _)] = Counter(sorted(map(str, own))).most_common(1)
            yield f"{name} {most}", {row for row, value in enumerate(own) if str(value) == most}


def noise(table: LessonTable) -> NoiseAdded:
    """What the library's private counts do to the difference."""
    import sfumato as sf
    from sfumato.dp.queries.query import LAPLACE

    with sf.dp.Session({"row": list(range(len(table.rows)))}, epsilon=EPSILON) as session:
        [scale] = session.price("count", EPSILON)["scales"]
    return NoiseAdded(EPSILON, scale, LAPLACE.within([scale] * ANSWERS))
