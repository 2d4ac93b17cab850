"""Steps of lessons that are no searches: the worker tells them, each measured by the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.search.events.event import Event
from sfumato.studio.lessons.steps import closeness, diversity, laplace, tracker
from sfumato.studio.lessons.steps.classes import ClassesOfTable
from sfumato.studio.lessons.tables import LessonTable


def steps(lesson: str, table: LessonTable, parameters: Mapping[str, Any]) -> list[Event]:
    """The events of a lesson."""
    column = parameters["column"]
    if lesson == "l-diversity":
        return diversity.steps(ClassesOfTable(table, column), parameters["l"])
    if lesson == "t-closeness":
        return closeness.steps(ClassesOfTable(table, column), parameters["t"])
    if lesson == "tracker":
        return list(tracker.steps(table, column, parameters["least"], table.person_name))
    return laplace.steps(table, column, parameters["epsilon"], table.person_name)
