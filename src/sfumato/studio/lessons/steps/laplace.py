"""A private answer: how likely it is with a person in the table, and how likely without. Dwork et al., TCC 2006."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from sfumato.core.wording import count, number
from sfumato.search.events.event import Event
from sfumato.studio.lessons.tables import LessonTable

ANSWERS = 3


@dataclass(frozen=True)
class NeighboursSet(Event):
    """Two tables that differ by one person, and the question that both are asked."""

    person: str
    column: str
    value: str

    def sentence(self) -> str:
        """The step in words."""
        question = f"How many rows have {self.column} {self.value}?"
        return f"Two tables are neighbours, one with {self.person}, one without. {question}"


@dataclass(frozen=True)
class AnswersCompared(Event):
    """The true answers of both; a person changes a count by `sensitivity` at most."""

    with_person: int
    without: int
    sensitivity: int

    def sentence(self) -> str:
        """The step in words."""
        true = f"The true answers are {number(self.with_person)} and {number(self.without)}"
        return f"{true}: one person changes a count by {number(self.sensitivity)} at most."


@dataclass(frozen=True)
class NoiseScaled(Event):
    """The scale of the noise, and how far it goes in 19 of 20 answers."""

    epsilon: float
    scale: float
    within: int

    def sentence(self) -> str:
        """The step in words."""
        noise = f"For an epsilon of {number(self.epsilon)} the noise has a scale of {number(self.scale)}"
        return f"{noise}: 19 of 20 answers are off by {number(self.within)} at most."


@dataclass(frozen=True)
class AnswerDrawn(Event):
    """An answer of the table with the person, and the interval that it leaves open."""

    answer: int
    low: int
    high: int

    def sentence(self) -> str:
        """The step in words."""
        between = f"between {number(self.low)} and {number(self.high)}"
        return f"The answer is {number(self.answer)}: the truth lies {between} in 19 of 20 cases."


@dataclass(frozen=True)
class RatioTaken(Event):
    """How likely that answer is of both tables: neither is likelier by more than e^epsilon."""

    answer: int
    person: str
    likely_with: float
    likely_without: float
    bound: float

    def sentence(self) -> str:
        """The step in words."""
        times = max(self.likely_with / self.likely_without, self.likely_without / self.likely_with)
        where = "with" if self.likely_with > self.likely_without else "without"
        said = f"An answer of {number(self.answer)} is {number(times)} times as likely {where} {self.person}"
        return f"{said}; e^epsilon allows {number(self.bound)}."


@dataclass(frozen=True)
class CostsAdded(Event):
    """What all answers cost together, and how much likelier they may make one table."""

    answers: int
    epsilon: float
    bound: float

    def sentence(self) -> str:
        """The step in words."""
        spent = f"{count(self.answers, 'answer')} cost an epsilon of {number(self.epsilon)} together"
        return f"{spent}: they make one table likelier by {number(self.bound)} at most."


def likely(answer: int, true: int, scale: float) -> float:
    """How likely an answer is: the law of discrete Laplace noise, which the library's counts have."""
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** abs(answer - true)


def steps(table: LessonTable, column: str, epsilon: float, person: str) -> list[Event]:
    """The lesson; the noise is that of the library, and new each time."""
    import sfumato as sf
    from sfumato.dp.queries.count import Count
    from sfumato.dp.queries.query import LAPLACE

    values = table.values(column)
    value = values[table.person]
    true = values.count(value)
    count_of = Count(f'"{column}" = "{value}"')
    told: list[Event] = [NeighboursSet(person, column, value)]
    each, spent = Decimal(repr(epsilon)), Decimal(0)
    with sf.dp.Session({column: values}, epsilon=each, dataset_epsilon=each * ANSWERS) as session:
        [part] = count_of.parts(session.public, session.unit)
        [scale] = session.price(count_of, each)["scales"]
        told += [AnswersCompared(true, true - 1, part.sensitivity), NoiseScaled(epsilon, scale, LAPLACE.whole(scale))]
        for number_of in range(ANSWERS):  # the same analyst would have the same answer again, for nothing
            answer = session.for_analyst(f"analyst {number_of + 1}", each).ask(count_of, each)
            spent += answer.cost.epsilon
            told.append(AnswerDrawn(answer.value, *answer.interval))
            odds = likely(answer.value, true, scale), likely(answer.value, true - 1, scale)
            told.append(RatioTaken(answer.value, person, *odds, math.exp(epsilon)))
    return [*told, CostsAdded(ANSWERS, float(spent), math.exp(float(spent)))]
