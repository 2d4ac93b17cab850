"""Lessons: an algorithm replayed on a small table. The picture at a step is a function of the events up to it.

`kinds` lists the lessons, `tables` their tables. What a picture shows after some steps is in `nodes`, `groups`,
`splits`, `values`, `queries` and `answers`, what is asked about the next step in `exercises`. Events come from
searches, or from `steps`, which a worker alone imports.
"""

from __future__ import annotations

from sfumato.studio.lessons.answers import AnswersSeen, answers_seen
from sfumato.studio.lessons.exercises import Exercise, exercise
from sfumato.studio.lessons.groups import GroupsSeen, groups_seen, labels_given
from sfumato.studio.lessons.kinds import FIELDS, LESSONS, OWN, LessonKind, Told, counters, line_of, parameters
from sfumato.studio.lessons.nodes import DistancesSeen, NodesSeen, distances_seen, levels_now, nodes_seen
from sfumato.studio.lessons.queries import QueriesSeen, queries_seen
from sfumato.studio.lessons.splits import SplitsSeen, intervals, splits_seen
from sfumato.studio.lessons.tables import TABLES, LessonTable
from sfumato.studio.lessons.values import ValuesSeen, values_seen

__all__ = [
    "FIELDS",
    "LESSONS",
    "OWN",
    "TABLES",
    "AnswersSeen",
    "DistancesSeen",
    "Exercise",
    "GroupsSeen",
    "LessonKind",
    "LessonTable",
    "NodesSeen",
    "QueriesSeen",
    "SplitsSeen",
    "Told",
    "ValuesSeen",
    "answers_seen",
    "counters",
    "distances_seen",
    "exercise",
    "groups_seen",
    "intervals",
    "labels_given",
    "levels_now",
    "line_of",
    "nodes_seen",
    "parameters",
    "queries_seen",
    "splits_seen",
    "values_seen",
]
