"""Lessons: at the last step the picture shows what the library found; a step back is the step drawn again."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

import sfumato as sf
from sfumato.core.registry import variant_name
from sfumato.report.translation import Missing, translated
from sfumato.search import SEARCHES
from sfumato.studio import lessons, pictures
from sfumato.studio.lessons import LESSONS, TABLES, LessonTable
from sfumato.studio.lessons.steps import closeness, laplace
from sfumato.studio.tasks import teach
from sfumato.studio.texts import LANGUAGES, Texts, catalogue
from sfumato.studio.views.teach import Lesson, _picture, pasted_table, table_now

OVER_LEVELS = [name for name, kind in LESSONS.items() if kind.over_levels]
OF_GROUPS = [name for name, kind in LESSONS.items() if kind.picture == "plane"]
OF_VALUES = [name for name, kind in LESSONS.items() if not kind.search]
EVERY = [(name, table) for name, kind in LESSONS.items() for table in kind.tables]
OWN = LessonTable(("age", "ill"), ((1, "a"), (1, "b"), (2, "a"), (2, "a"), (9, "b")), ("age",), sensitive=("ill",))
EN = Texts("en")


OF_POPULATIONS = {"spalm", "mpalm"}  # which the tables of lessons do not have


def progress(message, share=None):
    pass


@cache
def taught(name, table_name, column=""):
    """A lesson with its steps, as the page has it."""
    table = OWN if table_name == "own" else TABLES[table_name]
    parameters = lessons.parameters(name, table, {"column": column})
    found = teach.lesson(name, vars(table), parameters, progress)
    return Lesson(name, table_name, table, parameters, 0, found)


def test_every_lesson_has_its_lines_and_its_words_in_every_language():
    for language in LANGUAGES:
        words = catalogue(language)
        for name, kind in LESSONS.items():
            lines = words[f"lessons.{name}"].split("\n")
            assert 6 <= len(lines) <= 14
            assert len(lines) == len(kind.lines)
            assert f"lesson_titles.{name}" in words
            assert {f"events.{kind}" for kinds in kind.lines for kind in kinds} <= words.keys()


def test_every_search_that_tells_its_steps_has_a_lesson_and_a_line_for_each():
    assert {kind.search for kind in LESSONS.values() if kind.search} == {
        name for name, one in SEARCHES.items() if one.example.traces and name not in OF_POPULATIONS
    }
    for name, kind in LESSONS.items():
        if kind.search:
            told = {variant_name(one.__name__) for one in SEARCHES[kind.search].make(**kind.options).traces}
            assert {kind for kinds in kind.lines for kind in kinds} == told, name


@pytest.mark.parametrize(("name", "table"), EVERY)
def test_every_step_has_a_picture_a_line_a_question_and_an_italian_sentence(name, table):
    lesson = taught(name, table)
    missing, steps = Missing(), range(len(lesson.events) + 1)
    for at in [*steps[:40], *steps[40::7], steps[-1]]:
        done = lesson.events[:at]
        drawn = _picture(EN, lesson, done)
        assert drawn.startswith("<svg")
        assert len(table_now(lesson, done).rows) == len(lesson.table.rows)
        asked = lessons.exercise(name, lesson.table, lesson.parameters, lesson.events, at)
        if at == len(lesson.events):
            assert asked is None
            continue
        assert lessons.line_of(name, lesson.events[at]["kind"]) is not None
        assert f"teach.exercise_{asked.text}" in catalogue("en")
        EN(f"teach.exercise_{asked.text}", **asked.values)  # has no other holes
        assert asked.ask is not None or asked.answer in asked.choices
    for event in lesson.events:
        translated(event["sentence"], "it", missing)
    assert sorted(set(missing)) == []
    assert sum(lessons.counters(lesson.events).values()) == len(lesson.events)


# Searches: the last step is the solution


@pytest.mark.parametrize("name", OVER_LEVELS)
@pytest.mark.parametrize("table", LESSONS["samarati"].tables)
def test_the_last_step_of_a_search_over_levels_is_the_solution(name, table):
    lesson = taught(name, table)
    quasi, found = lesson.table.quasi, lesson.found
    levels = {column: found["levels"][column] for column in quasi}
    if LESSONS[name].picture == "lattice":
        seen = lessons.nodes_seen(lesson.events, quasi)
        assert dict(zip(seen.columns, seen.best, strict=True)) == levels
        assert seen.state[seen.best] in ("satisfied", "tagged")
    elif LESSONS[name].picture == "matrix":
        matrix = lessons.distances_seen(lesson.events, quasi, lesson.events)
        assert dict(zip(quasi, matrix.best, strict=True)) == levels
        assert matrix.verdict
    assert lessons.levels_now(lesson.events, quasi) == levels
    assert sorted(table_now(lesson, lesson.events).rows) == sorted(found["released"])


@pytest.mark.parametrize("name", OF_GROUPS)
@pytest.mark.parametrize("table", [*LESSONS["mondrian"].tables, "own"])
def test_the_last_step_of_a_search_of_groups_is_the_solution(name, table):
    """Row by row: the labels stand beside the sensitive values that the release has beside them."""
    lesson = taught(name, table)
    groups = lessons.groups_seen(lesson.events).groups
    assert sorted(row for group in groups for row in group) == list(range(len(lesson.table.rows)))
    assert all(len(group) >= lesson.parameters["k"] for group in groups)
    now = table_now(lesson, lesson.events)
    assert sorted(now.rows) == sorted(lesson.found["released"])
    places = [lesson.table.columns.index(column) for column in lesson.table.quasi]
    assert all(len({tuple(now.rows[row][place] for place in places) for row in group}) == 1 for group in groups)


@pytest.mark.parametrize("table", LESSONS["k-optimize"].tables)
def test_the_last_step_of_k_optimize_is_the_solution(table):
    lesson = taught("k-optimize", table)
    seen, own = lessons.splits_seen(lesson.events), lesson.table
    assert seen.current == seen.best
    places = [own.columns.index(column) for column in own.quasi]
    classes: dict[tuple, list[int]] = {}
    for i, row in enumerate(table_now(lesson, lesson.events).rows):
        classes.setdefault(tuple(row[place] for place in places), []).append(i)
    assert sum(len(rows) ** 2 for rows in classes.values()) == seen.least
    released: dict[tuple, int] = {}
    for row in lesson.found["released"]:
        key = tuple(row[place] for place in places)
        released[key] = released.get(key, 0) + 1
    assert sorted(released.values()) == sorted(map(len, classes.values()))
    assert all(node.state != "open" for node in seen.nodes.values())


def test_mondrian_cuts_the_plane_as_the_worked_example_does():
    lesson = taught("mondrian", "plane")
    cuts = [event["cut"] for event in lesson.events if event["kind"] == "cut-allowed"]
    assert cuts == ["age <= 41", "income <= 24", "income <= 41"]
    groups = {tuple(sorted(group)) for group in lessons.groups_seen(lesson.events).groups}
    assert groups == {(0, 1, 3), (2, 4, 5), (6, 10, 11), (7, 8, 9)}


def test_distance_vectors_of_jobs_are_worked_by_hand():
    """Two tuples are rare; they meet where births do, and the others where jobs or postcodes do."""
    lesson = taught("samarati-vectors", "jobs")
    seen = lessons.distances_seen(lesson.events, lesson.table.quasi, lesson.events)
    rows = {number: rows for number, (_, rows) in seen.tuples.items()}
    apart = {(rows[i], rows[j]): vector for (i, j), vector in seen.vectors.items()}
    assert [rows[number] for number in seen.outliers] == [(0,), (1,)]
    assert apart[(0,), (1,)] == apart[(1,), (0,)] == (0, 1, 0)
    assert apart[(0,), (4, 5)] == (1, 0, 0)
    assert apart[(1,), (2, 3)] == (0, 0, 4)
    assert seen.best == (0, 1, 0)


# l-diversity and t-closeness: what is told is what the criteria say


def frame_of(lesson):
    table = lesson.table
    labels = dict(zip(table.release_columns, zip(*table.release_labels, strict=True), strict=True))
    return {name: list(values) for name, values in labels.items()} | {
        lesson.parameters["column"]: table.values(lesson.parameters["column"])
    }


@pytest.mark.parametrize("table", LESSONS["l-diversity"].tables)
def test_l_diversity_says_what_verify_says(table):
    lesson = taught("l-diversity", table)
    column, l = lesson.parameters["column"], lesson.parameters["l"]
    frame = frame_of(lesson)
    found = sf.verify(frame, quasi=list(lesson.table.release_columns), require=[sf.EntropyLDiversity(column, l)])
    seen = lessons.values_seen(lesson.events)
    assert seen.holds == found.holds
    assert all(holds is not None for _, _, holds in seen.verdicts)
    measured = [event["measured"] for event in lesson.events if event["kind"] == "diversity-tested"]
    [promise] = [one for one in found.promises if one.model == "entropy-l-diversity"]
    assert min(measured) == pytest.approx(promise.measured)


def test_l_diversity_of_the_patients_by_hand():
    lesson = taught("l-diversity", "patients")
    measured = [event["measured"] for event in lesson.events if event["kind"] == "diversity-tested"]
    third = math.exp(math.log(3) - 2 / 3 * math.log(2))
    assert measured == pytest.approx([1, 3, third])
    assert [holds for _, _, holds in lessons.values_seen(lesson.events).verdicts] == [False, True, False]


CLOSE = [(table, column) for table in LESSONS["t-closeness"].tables for column in TABLES[table].sensitive]


@pytest.mark.parametrize(("table", "column"), CLOSE)
def test_moves_of_mass_cost_what_the_criterion_measures(table, column):
    lesson = taught("t-closeness", table, column)
    cost, mass = 0.0, dict[str, float]()
    for event in lesson.events:
        if event["kind"] == "class-opened":
            cost = 0.0
        elif event["kind"] == "shares-taken":
            total = sum(rows for _, rows in event["counts"])
            mass = {value: rows / total for value, rows in event["counts"]}
        elif event["kind"] == "mass-moved":
            cost += event["cost"]
            mass[event["source"]] = mass.get(event["source"], 0) - event["mass"]
            mass[event["target"]] = mass.get(event["target"], 0) + event["mass"]
        elif event["kind"] == "closeness-tested":
            assert event["measured"] == pytest.approx(cost)
            overall = lessons.values_seen(lesson.events).overall
            assert {value: share for value, share in mass.items() if share > 1e-12} == pytest.approx(dict(overall))


def test_t_closeness_of_the_salaries_is_that_of_the_literature():
    for column, wanted in (("salary", [0.375, 1 / 6, 0.2361]), ("disease", [0.444, 0.296, 0.296])):
        events = taught("t-closeness", "salaries", column).events
        measured = [event["measured"] for event in events if event["kind"] == "closeness-tested"]
        assert measured == pytest.approx(wanted, abs=1e-3)
    assert closeness.distance_of(closeness.ClassesOfTable(TABLES["patients"], "disease")) == "equal"


# The tracker and the private answer


@pytest.mark.parametrize("table", LESSONS["tracker"].tables)
def test_the_tracker_finds_the_person_by_permitted_questions(table):
    lesson = taught("tracker", table)
    own, seen = lesson.table, lessons.queries_seen(lesson.events)
    assert seen.found == (own.values(lesson.parameters["column"])[own.person], True)
    low, high = seen.limits
    answered = [event for event in lesson.events if event["kind"] == "query-answered"]
    assert all(low <= event["answer"] == len(event["rows_counted"]) <= high for event in answered)
    assert seen.asked[0] == (own.name, None)


def test_where_no_set_is_permitted_there_is_no_tracker():
    table = LessonTable(("a", "ill"), ((1, "x"), (2, "y"), (3, "x")), ("a",), sensitive=("ill",))
    told = teach.lesson("tracker", vars(table), lessons.parameters("tracker", table, {"least": 2}), progress)
    assert told["events"][-1]["kind"] == "tracker-missing"


def test_a_private_answer_is_never_likelier_than_e_to_the_epsilon():
    lesson = taught("laplace", "patients")
    compared, scaled = lesson.events[1], lesson.events[2]
    assert (compared["with_person"], compared["without"], compared["sensitivity"]) == (5, 4, 1)
    assert scaled["scale"] == pytest.approx(1 / lesson.parameters["epsilon"])
    for event in lesson.events:
        if event["kind"] == "ratio-taken":
            ratio = event["likely_with"] / event["likely_without"]
            assert 1 / event["bound"] - 1e-9 <= ratio <= event["bound"] + 1e-9
    assert lesson.events[-1]["epsilon"] == pytest.approx(3)
    law = [laplace.likely(n, 5, scaled["scale"]) for n in range(-60, 71)]
    assert sum(law) == pytest.approx(1)
    within = scaled["within"]
    assert sum(laplace.likely(5 + n, 5, scaled["scale"]) for n in range(-within, within + 1)) >= 0.95


# Exercises are answered by the library


def answers(lesson, kind):
    """Each question before a step of this kind, with what is right."""
    for at, event in enumerate(lesson.events):
        if event["kind"] == kind:
            asked = lessons.exercise(lesson.name, lesson.table, lesson.parameters, lesson.events, at)
            task, *given = asked.ask
            yield event, asked, getattr(teach, task.removeprefix("teach."))(*given, progress)


def test_questions_on_classes_are_asked_of_the_criteria():
    for name, kind in (("l-diversity", "diversity-tested"), ("t-closeness", "closeness-tested")):
        found = list(answers(taught(name, "patients"), kind))
        assert len(found) == 3
        assert all(right == event["holds"] for event, _, right in found)
        assert {right for *_, right in found} == {True, False}


def test_which_values_remain_for_somebody_is_asked_of_the_attacks():
    at = next(i for i, event in enumerate(taught("l-diversity", "patients").events) if event["kind"] == "shares-taken")
    for table, left in (("patients", ["heart disease"]), ("jobs", ["HIV"])):
        lesson = taught("l-diversity", table)
        asked = lessons.exercise(lesson.name, lesson.table, lesson.parameters, lesson.events, at)
        assert asked.several
        assert asked.values == {"person": lesson.table.name}
        assert set(left) < set(asked.choices)
        assert teach.values_left(*asked.ask[1:], progress) == left
    assert teach.values_left(vars(TABLES["salaries"]), "salary", progress) == ["3", "4", "5"]


def test_which_table_is_likelier_is_asked_of_the_noise():
    for event, _, right in answers(taught("laplace", "patients"), "ratio-taken"):
        assert right == (event["answer"] >= 5)


# The lectures of the docs

PAGE = Path(__file__).parents[2] / "docs" / "studio" / "teachers.md"


@pytest.mark.slow
def test_every_link_for_teachers_opens_a_step_that_says_what_the_page_says():
    rows = re.findall(
        r"^\| \[(\d+)\]\(\S+/teach\?(\S+)\) \| \*(.+?)\* \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    lectures = PAGE.read_text("utf-8").split("\n## ")
    assert len(rows) == PAGE.read_text("utf-8").count("/teach?")
    assert [part[:2] for part in lectures if part[0].isdigit()] == [f"{n}." for n in range(1, 7)]
    assert all("/teach?" in part for part in lectures if part[0].isdigit())
    for number, link, said, asked in rows:
        query = dict(parse_qsl(link, strict_parsing=True))
        name, table, step = query.pop("lesson"), query.pop("table"), query.pop("step")
        assert step == number
        assert table in LESSONS[name].tables
        found = lessons.parameters(name, TABLES[table], query)
        assert {key: str(value) for key, value in found.items() if key in query} == {
            key: value if key == "column" else str(type(found[key])(value)) for key, value in query.items()
        }
        events = teach.lesson(name, vars(TABLES[table]), found, progress)["events"]
        pattern = re.escape(said.replace("\\", "")).replace(r"\.\.\.", ".+")
        assert re.fullmatch(pattern, events[int(step) - 1]["sentence"]), link
        assert asked.count(" | ") == 1, "a question and what to expect"


# Tables of one's own


def test_a_table_of_a_lesson_is_small():
    table = LessonTable(("a",), tuple((i,) for i in range(201)), ("a",))
    with pytest.raises(sf.errors.PolicyError, match="at most 200"):
        teach.lesson("mondrian", vars(table), {"k": 2, "suppression": 0}, progress)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pasted_table_or_what_is_wrong_with_it(language):
    text = Texts(language)
    good = pasted_table(text, "age,sex,ill\n31, F,flu\n32.5,M,\n", "age,sex", "")
    assert good == LessonTable(("age", "sex", "ill"), ((31, "F", "flu"), (32.5, "M", "")), ("age", "sex"),
                               sensitive=("ill",))  # fmt: skip
    assert pasted_table(text, "a,b\n1,2\n", "", "") == LessonTable(("a", "b"), ((1, 2),), ("a", "b"))
    assert pasted_table(text, "a,b\n1,2\n", "", "b").quasi == ("a",)
    for pasted, quasi, sensitive, wrong in (
        ("", "", "", text("teach.no_table")),
        ("a,a\n1,2", "", "", text("teach.no_table")),
        ("a,b\n1", "", "", text("teach.no_table")),
        ("a\n" + "1\n" * 201, "", "", text("teach.too_long", most=200)),
        ("a,b\n1,2", "c", "d", text("teach.no_column", names="c, d")),
        ("a,b\n1,2", "a,b", "b", text("teach.both_roles", names="b")),
    ):
        assert pasted_table(text, pasted, quasi, sensitive) == wrong


def test_a_lesson_about_values_needs_a_column_of_them():
    table = LessonTable(("a",), ((1,), (2,)), ("a",))
    for name in OF_VALUES:
        with pytest.raises(sf.errors.PolicyError, match="about a sensitive column"):
            teach.lesson(name, vars(table), lessons.parameters(name, table, {}), progress)


@pytest.mark.parametrize("name", OF_VALUES)
def test_lessons_about_values_take_a_table_of_ones_own(name):
    lesson = taught(name, "own")
    for at in range(len(lesson.events) + 1):
        assert _picture(EN, lesson, lesson.events[:at]).startswith("<svg")


def test_names_and_values_are_text_in_every_picture():
    table = LessonTable(("<b>x", "&y"), (("<i>1", "<u>p"), ("<i>1", "<u>q"), ("<i>2", "<u>p"), ("<i>2", "<u>p")),
                        ("<b>x",), sensitive=("&y",))  # fmt: skip
    for name, kind in LESSONS.items():
        parameters = lessons.parameters(name, table, {"least": 1})
        lesson = Lesson(name, "own", table, parameters, 0, teach.lesson(name, vars(table), parameters, progress))
        for at in range(len(lesson.events) + 1):
            drawn = _picture(EN, lesson, lesson.events[:at])
            assert not any(tag in drawn for tag in ("<b>", "<i>", "<u>")), kind


def test_many_tuples_and_nodes_leave_a_picture_small():
    rows = tuple((i, i * 7 % 31) for i in range(30))
    table = LessonTable(("a", "b"), rows, ("a", "b"))
    for name in ("samarati-vectors", "k-optimize"):
        parameters = lessons.parameters(name, table, {"k": 4})
        lesson = Lesson(name, "own", table, parameters, 0, teach.lesson(name, vars(table), parameters, progress))
        assert len(_picture(EN, lesson, lesson.events)) < 60_000


def test_a_name_of_a_column_is_text_in_a_plane():
    drawn = pictures.plane_picture(lessons.groups_seen([]), ("<b>x", "&y"), ((1, 2),), (0, 1), "<i>t")
    assert "<b>" not in drawn
    assert "<i>" not in drawn
