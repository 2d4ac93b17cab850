"""Lessons: at the last step the picture shows what the library found; a step back is the step drawn again."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.report.translation import Missing, translated
from sfumato.studio import lessons, pictures
from sfumato.studio.lessons import LINES, OVER_LEVELS, TABLES
from sfumato.studio.tasks import teach
from sfumato.studio.texts import LANGUAGES, Texts


def progress(message, share=None):
    pass


def taught(search, name, suppression=0):
    table = TABLES[name]
    hierarchies = table.hierarchies if search in OVER_LEVELS else {}
    rows = [list(row) for row in table.rows]
    found = teach.lesson(
        search, list(table.columns), rows, list(table.quasi), table.k, hierarchies, suppression, progress
    )
    return table, found


def test_every_search_that_tells_its_steps_has_a_lesson_in_every_language():
    names = teach.searches(progress)
    assert sorted(names) == sorted(LINES)
    for language in LANGUAGES:
        for name in names:
            lines = Texts(language)(f"lessons.{name}").split("\n")
            assert 6 <= len(lines) <= 14
            assert len(lines) == len(LINES[name])
    for name in names:  # each kind of event is a line of one
        kinds = [kind for own in LINES[name] for kind in own]
        told = {sf.core.registry.variant_name(one.__name__) for one in sf.SEARCHES[name].example.traces}
        assert set(kinds) == told, name


@pytest.mark.parametrize("search", sorted(OVER_LEVELS))
@pytest.mark.parametrize("name", TABLES)
def test_the_last_step_of_a_search_over_levels_is_the_solution(search, name):
    table, found = taught(search, name)
    events = found["events"]
    levels = {column: found["levels"][column] for column in table.quasi}
    if search == "datafly":
        assert lessons.levels_now(events, table.quasi) == levels
    else:
        seen = lessons.nodes_seen(events, table.quasi)
        assert dict(zip(seen.columns, seen.best, strict=True)) == levels
        assert seen.state[seen.best] in ("satisfied", "tagged")
    shown = [
        tuple(found["labels"][column][levels[column]][i] for column in table.quasi) for i in range(len(table.rows))
    ]
    places = [table.columns.index(column) for column in table.quasi]
    assert sorted(shown) == sorted(tuple(row[i] for i in places) for row in found["released"])


@pytest.mark.parametrize("search", sorted(set(LINES) - OVER_LEVELS))
@pytest.mark.parametrize("name", ["plane", "patients"])
def test_the_last_step_of_a_search_of_groups_is_the_solution(search, name):
    table, found = taught(search, name)
    groups = lessons.groups_seen(found["events"]).groups
    assert sorted(number for group in groups for number in group) == list(range(len(table.rows)))
    assert all(len(group) >= table.k for group in groups)
    places = [table.columns.index(column) for column in table.quasi]
    released = sorted(tuple(row[i] for i in places) for row in found["released"])
    given = {}
    for event in found["events"]:
        if event["kind"] == "labels-given":
            given |= {record["number"]: dict(event["labels"]) for record in event["records"]}
    assert sorted(tuple(str(given[i][column]) for column in table.quasi) for i in range(len(table.rows))) == released


def test_mondrian_cuts_the_plane_as_the_worked_example_does():
    _, found = taught("mondrian", "plane")
    cuts = [event["cut"] for event in found["events"] if event["kind"] == "cut-allowed"]
    assert cuts == ["age <= 41", "income <= 24", "income <= 41"]
    groups = {tuple(sorted(group)) for group in lessons.groups_seen(found["events"]).groups}
    assert groups == {(0, 1, 3), (2, 4, 5), (6, 10, 11), (7, 8, 9)}


@pytest.mark.parametrize("search", LINES)
def test_every_step_has_a_picture_a_line_and_a_question(search):
    table, found = taught(search, "patients" if search in OVER_LEVELS else "plane")
    events = found["events"]
    for at in range(len(events) + 1):
        done = events[:at]
        if search in OVER_LEVELS:
            seen = lessons.nodes_seen(done, table.quasi)
            drawn = pictures.lattice_picture(seen, found["heights"], "t")
        else:
            drawn = pictures.plane_picture(lessons.groups_seen(done), table.columns, table.rows, (0, 1), "t")
        assert drawn.startswith("<svg")
        asked = lessons.exercise(search, events, at)
        if at == len(events):
            assert asked is None
        else:
            assert lessons.line_of(search, events[at]["kind"]) is not None
            assert asked.answer in asked.choices
    assert sum(lessons.counters(events).values()) == len(events)


def test_a_table_of_a_lesson_is_small():
    with pytest.raises(sf.errors.PolicyError, match="at most 200"):
        teach.lesson("mondrian", ["a"], [[i] for i in range(201)], ["a"], 2, {}, 0, progress)


def test_names_of_columns_are_text_in_a_picture():
    drawn = pictures.plane_picture(lessons.groups_seen([]), ("<b>x", "&y"), ((1, 2),), (0, 1), "<i>t")
    assert "<b>" not in drawn
    assert "<i>" not in drawn


@pytest.mark.parametrize("search", LINES)
def test_every_step_is_told_in_italian(search):
    for event in taught(search, "patients" if search in OVER_LEVELS else "plane")[1]["events"]:
        missing = Missing()
        translated(event["sentence"], "it", missing)
        assert not missing
