"""Teach: an algorithm step by step on a small table: the picture, the line, the table and the reason of each step."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from sfumato.studio import lessons, pictures
from sfumato.studio.context import PageContext
from sfumato.studio.layout import heading
from sfumato.studio.lessons import FIELDS, LESSONS, OWN, TABLES, Exercise, LessonKind, LessonTable, Told
from sfumato.studio.texts import Texts

SPEEDS = (0.5, 1, 2, 4, 8)
MOST_ROWS = 200


@dataclass
class Lesson:
    """What is on the page: the lesson's choices, its steps, and where it stands."""

    name: str = "mondrian"
    table_name: str = "plane"
    table: LessonTable = TABLES["plane"]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    step: int = 0
    found: Mapping[str, Any] | None = None

    @property
    def kind(self) -> LessonKind:
        """What is known of it."""
        return LESSONS[self.name]

    @property
    def events(self) -> Sequence[Told]:
        """All steps."""
        return () if self.found is None else self.found["events"]

    @property
    def axes(self) -> tuple[int, int]:
        """The columns of a plane: the first and the last quasi-identifier, or of a table with two, both."""
        places = [self.table.columns.index(name) for name in self.table.quasi]
        return places[0], places[-1] if len(places) < 3 else places[1]


async def draw(context: PageContext) -> None:
    """Choices on top, below them the lesson."""
    asked = ui.context.client.request.query_params
    lesson = Lesson()
    lesson.name = asked["lesson"] if asked.get("lesson") in LESSONS else "mondrian"
    fitting = lesson.kind.tables
    lesson.table_name = asked["table"] if asked.get("table") in fitting else fitting[0]
    lesson.table = TABLES[lesson.table_name]
    lesson.parameters = lessons.parameters(lesson.name, lesson.table, asked)
    heading(context, "teach")

    async def begin(step: int = 0) -> None:
        lesson.found = await context.run("teach.lesson", lesson.name, vars(lesson.table), dict(lesson.parameters),
                                         slot=f"teach {ui.context.client.id}")  # fmt: skip
        lesson.step = min(step, len(lesson.events))
        stage.refresh()

    _choices(context, lesson, begin)

    @ui.refreshable
    def stage() -> None:
        if lesson.found is not None:
            _stage(context, lesson)

    stage()
    step = asked.get("step", "")
    await begin(int(step) if step.isdecimal() and len(step) < 7 else 0)


def _choices(context: PageContext, lesson: Lesson, begin: Callable[[], Any]) -> None:
    text = context.texts

    def tables(name: str) -> dict[str, str]:
        return {one: text(f"teach.{one}") for one in (*LESSONS[name].tables, OWN)}

    with ui.row().classes("w-full items-end gap-4"):
        names = {name: text(f"lesson_titles.{name}") for name in LESSONS}
        name = ui.select(names, value=lesson.name, label=text("teach.algorithm")).props("outlined dense")
        name.classes("min-w-40")
        table = ui.select(tables(lesson.name), value=lesson.table_name, label=text("teach.table"))
        table.props("outlined dense").classes("min-w-56")
        column = ui.select([], label=text("teach.column")).props("outlined dense").classes("min-w-40")
        numbers = {one: _number(text, one, lesson) for one in FIELDS}
        ui.button(text("teach.start"), on_click=lambda: start()).props("unelevated").mark("start")
    own = ui.column().classes("w-full")
    with own:
        pasted = ui.textarea(text("teach.paste")).props("outlined autogrow").classes("w-full mono")
        quasi = ui.input(text("teach.quasi")).props("outlined dense").classes("w-full")
        sensitive = ui.input(text("teach.column")).props("outlined dense").classes("w-full")
    own.bind_visibility_from(table, "value", value=OWN)

    def suit() -> None:
        """Ask for what the lesson needs, of tables that it fits."""
        kind = LESSONS[name.value]
        for one, number in numbers.items():
            number.set_visibility(one in kind.fields)
        sensitive.set_visibility(not kind.search)
        columns = () if kind.search or table.value == OWN else TABLES[table.value].sensitive
        column.set_options(list(columns), value=column.value if column.value in columns else next(iter(columns), None))
        column.set_visibility(len(columns) > 1)

    def table_chosen() -> None:
        if table.value in TABLES:
            numbers["k"].set_value(TABLES[table.value].k)
        suit()

    def name_chosen() -> None:
        fitting = tables(name.value)
        table.set_options(fitting, value=table.value if table.value in fitting else next(iter(fitting)))
        suit()

    suit()
    column.set_value(lesson.parameters.get("column"))
    table.on_value_change(table_chosen)
    name.on_value_change(name_chosen)

    async def start() -> None:
        if table.value == OWN:
            found = pasted_table(text, pasted.value or "", quasi.value or "", sensitive.value or "")
            if isinstance(found, str):
                ui.notify(found, type="negative")
                return
            lesson.table = found
        else:
            lesson.table = TABLES[table.value]
        lesson.name, lesson.table_name = name.value, table.value
        asked = {one: number.value for one, number in numbers.items()} | {"column": column.value}
        lesson.parameters = lessons.parameters(lesson.name, lesson.table, asked)
        await begin()


def _number(text: Texts, name: str, lesson: Lesson) -> ui.number:
    own = FIELDS[name]
    value = lesson.parameters.get(name, lesson.table.k if name == "k" else own.default)
    more = {"format": "%d"} if own.whole else {"step": 0.1}
    found = ui.number(text(f"teach.{name}"), value=value, min=own.least, max=own.most, **more).props("outlined dense")
    return found.classes("w-56" if name == "suppression" else "w-40" if name == "least" else "w-24")


def pasted_table(text: Texts, pasted: str, quasi: str, sensitive: str) -> LessonTable | str:
    """A table that was pasted, or what is wrong with it."""
    found = [row for row in csv.reader(io.StringIO(pasted)) if row]
    head = [name.strip() for name in found[0]] if found else []
    named = [name.strip() for name in quasi.split(",") if name.strip()]
    if len(found) < 2 or len(set(head)) < len(head) or any(len(row) != len(head) for row in found):
        return text("teach.no_table")
    if len(found) - 1 > MOST_ROWS:
        return text("teach.too_long", most=MOST_ROWS)
    about = [sensitive.strip()] if sensitive.strip() else [name for name in head if named and name not in named][-1:]
    if unknown := [name for name in (*named, *about) if name not in head]:
        return text("teach.no_column", names=", ".join(unknown))
    known = tuple(named or [name for name in head if name not in about])
    if not known or set(known) & set(about):
        return text("teach.both_roles", names=", ".join(about))
    numeric = [all(_is_number(row[i]) for row in found[1:]) for i in range(len(head))]
    rows = tuple(
        tuple(_as_number(cell) if is_number else cell.strip() for cell, is_number in zip(row, numeric, strict=True))
        for row in found[1:]
    )
    return LessonTable(tuple(head), rows, known, sensitive=tuple(about))


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _as_number(text: str) -> float:
    """Whole numbers stay whole, so that they print as they were."""
    found = float(text)
    return int(found) if found.is_integer() else found


def _stage(context: PageContext, lesson: Lesson) -> None:
    """The lesson as it stands at a step."""
    text, steps = context.texts, len(lesson.events)
    slider: ui.slider
    playing: ui.timer

    def go(step: float) -> None:
        lesson.step = int(min(max(step, 0), steps))
        slider.set_value(lesson.step)
        if lesson.step == steps:
            playing.deactivate()
            play.props("icon=play_arrow")
        shown.refresh()

    def toggle() -> None:
        if playing.active:
            playing.deactivate()
        else:
            if lesson.step == steps:
                go(0)
            playing.activate()
        play.props(f"icon={'pause' if playing.active else 'play_arrow'}")
        play.props["aria-label"] = text("teach.pause" if playing.active else "teach.play")
        play.update()

    with ui.element("div").classes("lesson-controls"):
        _icon("first_page", text("teach.first"), lambda: go(0))
        _icon("chevron_left", text("teach.back"), lambda: go(lesson.step - 1))
        play = _icon("play_arrow", text("teach.play"), toggle)
        _icon("chevron_right", text("teach.forward"), lambda: go(lesson.step + 1))
        _icon("last_page", text("teach.last"), lambda: go(steps))
        slider = ui.slider(min=0, max=steps, value=lesson.step, on_change=lambda event: _moved(event, lesson, go))
        slider.classes("grow").props["aria-label"] = text("teach.step", step=lesson.step, steps=steps)
        speed = ui.select(list(SPEEDS), value=1, label=text("teach.speed")).props("dense outlined").classes("w-40")
        speed.on_value_change(lambda: setattr(playing, "interval", 1 / speed.value))

        async def link() -> None:
            own = {name: value for name, value in lesson.parameters.items() if name != "suppression" or value}
            asked = {"lesson": lesson.name, "table": lesson.table_name, **own, "step": lesson.step}
            ui.run_javascript(f"history.replaceState(null, '', '/teach?{urlencode(asked)}')")
            ui.notify(text("teach.copied"))

        if lesson.table_name != OWN:
            _icon("link", text("teach.link"), link)
    playing = ui.timer(1.0, lambda: go(lesson.step + 1), active=False)

    @ui.refreshable
    def shown() -> None:
        _step(context, lesson)

    shown()


def _moved(event: Any, lesson: Lesson, go: Any) -> None:
    if event.value != lesson.step:
        go(event.value)


def _icon(icon: str, label: str, action: Any) -> ui.button:
    found = ui.button(icon=icon, on_click=action).props("flat round")
    found.props["aria-label"] = label
    found.tooltip(label)
    return found


def _step(context: PageContext, lesson: Lesson) -> None:
    text, done = context.texts, lesson.events[: lesson.step]
    now = done[-1] if done else None
    ui.label(text("teach.step", step=lesson.step, steps=len(lesson.events))).classes("quiet").props("role=status")
    ui.label(text.said(now["sentence"]) if now else " ").classes("lesson-sentence").mark("sentence")
    with ui.element("div").classes("lesson-grid"):
        with ui.card().classes("lesson-picture").props("tabindex=0 role=group") as picture:  # may scroll
            picture.props["aria-label"] = text("teach.picture")
            ui.html(_picture(text, lesson, done), sanitize=False).classes("w-full")
        with ui.card():
            ui.html(f"<h2>{text('teach.code')}</h2>", sanitize=False)
            _code(context, lesson, None if now is None else lessons.line_of(lesson.name, now["kind"]))
            _exercise(context, lesson)
        with ui.card().classes("lesson-table"):
            ui.html(f"<h2>{text('teach.now')}</h2>", sanitize=False)
            _table(context, lesson, done)
        with ui.card():
            ui.html(f"<h2>{text('teach.counters')}</h2>", sanitize=False)
            for kind, times in lessons.counters(done).items():
                with ui.row().classes("w-full justify-between"):
                    ui.label(text(f"events.{kind}"))
                    ui.label(str(times)).classes("mono")


def _picture(text: Texts, lesson: Lesson, done: Sequence[Told]) -> str:
    """The picture of the lesson at this step."""
    found, table, title = lesson.found or {}, lesson.table, text("teach.picture")
    match lesson.kind.picture:
        case "bars":
            levels = lessons.levels_now(done, table.quasi)
            distinct = {name: len(set(found["labels"][name][levels[name]])) for name in table.quasi}
            last = next((one["column"] for one in reversed(done) if one["kind"] == "column-generalised"), None)
            return pictures.bars_picture(distinct, last, title)
        case "lattice":
            return pictures.lattice_picture(lessons.nodes_seen(done, table.quasi), found["heights"], title)
        case "matrix":
            return pictures.matrix_picture(lessons.distances_seen(done, table.quasi, lesson.events), text)
        case "tree":
            return pictures.tree_picture(lessons.splits_seen(done), text)
        case "plane":
            return pictures.plane_picture(lessons.groups_seen(done), table.columns, table.rows, lesson.axes, title)
        case "classes":
            column = lesson.parameters["column"]
            if lesson.name == "l-diversity":
                most = max(len(set(table.values(column))), lesson.parameters["l"])
                by = pictures.Gauge(text("teach.varied"), lesson.parameters["l"], 1, most, moves=False)
            else:
                along = table.trees.get(column, ())
                by = pictures.Gauge(text("teach.distance"), lesson.parameters["t"], 0, 1, moves=True, paths=along)
            return pictures.histograms_picture(lessons.values_seen(done), text, column, by)
        case "circles":
            return pictures.circles_picture(lessons.queries_seen(done), text, table.person_name)
        case _:
            return pictures.densities_picture(lessons.answers_seen(done), text)


def _code(context: PageContext, lesson: Lesson, current: int | None) -> None:
    with ui.element("ol").classes("lesson-code"):
        for i, line in enumerate(context.texts(f"lessons.{lesson.name}").split("\n")):
            with ui.element("li").classes("current" if i == current else "") as item:
                ui.label(line.lstrip()).style(f"padding-left: {(len(line) - len(line.lstrip())) / 2}ch")
            if i == current:
                item.props("aria-current=step")


@dataclass(frozen=True)
class TableNow:
    """The table at a step: what each row prints, its class where there are classes, and the rows looked at."""

    rows: list[list[str]]
    classes: list[str] | None = None
    looked_at: frozenset[int] = frozenset()


def table_now(lesson: Lesson, done: Sequence[Told]) -> TableNow:
    """The table after some steps."""
    table, kind = lesson.table, lesson.kind
    printed: dict[str, Sequence[str]] = {}
    classes, looked_at = None, frozenset[int]()
    if kind.over_levels:
        assert lesson.found is not None
        levels = lessons.levels_now(done, table.quasi)
        printed = {name: lesson.found["labels"][name][levels[name]] for name in table.quasi}
    elif kind.picture == "tree":
        splits = lessons.splits_seen(done).current
        printed = {name: lessons.intervals([row[table.columns.index(name)] for row in table.rows], splits, name)
                   for name in table.quasi}  # fmt: skip
    elif kind.picture == "classes":
        printed = dict(zip(table.release_columns, zip(*table.release_labels, strict=True), strict=True))
        seen = lessons.values_seen(done)
        number = {row: str(i + 1) for i, (_, rows, _) in enumerate(seen.verdicts) for row in rows}
        classes, looked_at = [number.get(i, "") for i in range(len(table.rows))], frozenset(seen.rows)
    elif kind.picture == "circles":
        looked_at = frozenset(lessons.queries_seen(done).counted)
    elif kind.picture == "densities":
        looked_at = frozenset([table.person])
    else:
        groups, given = lessons.groups_seen(done).groups, lessons.labels_given(done)
        number = {row: str(n + 1) for n, group in enumerate(groups) for row in group}
        classes = [number.get(i, "") for i in range(len(table.rows))]
        printed = {name: [given.get(i, {}).get(name, str(row[j])) for i, row in enumerate(table.rows)]
                   for j, name in enumerate(table.columns)}  # fmt: skip
    rows = [[printed[name][i] if name in printed else str(row[j]) for j, name in enumerate(table.columns)]
            for i, row in enumerate(table.rows)]  # fmt: skip
    return TableNow(rows, classes, looked_at)


def _table(context: PageContext, lesson: Lesson, done: Sequence[Told]) -> None:
    """The table at this step: rows in their labels, and the class that each is in."""
    now = table_now(lesson, done)
    more = () if now.classes is None else (context.texts("teach.column_class"),)
    with ui.element("table").classes("lesson-rows"):
        with ui.element("thead"), ui.element("tr"):
            for name in ("", *lesson.table.columns, *more):
                with ui.element("th").props("scope=col"):
                    ui.label(name)
        with ui.element("tbody"):
            for i, row in enumerate(now.rows):
                with ui.element("tr").classes("looked-at" if i in now.looked_at else ""):
                    with ui.element("td").classes("quiet"):
                        ui.label(str(i + 1))
                    for cell in (*row, *(() if now.classes is None else (now.classes[i],))):
                        with ui.element("td"):
                            ui.label(cell)


def _exercise(context: PageContext, lesson: Lesson) -> None:
    """A question about the next step, answered by what the library does."""
    text = context.texts
    asked = lessons.exercise(lesson.name, lesson.table, lesson.parameters, lesson.events, lesson.step)
    if asked is None:
        return
    words = {True: text("teach.answer_yes"), False: text("teach.answer_no")}

    def said(one: Any) -> str:
        return words[one] if isinstance(one, bool) else text.number(one) if isinstance(one, float) else str(one)

    with ui.expansion(text("teach.predict")).classes("w-full").mark("predict"):
        ui.label(text(f"teach.exercise_{asked.text}", **{name: said(value) for name, value in asked.values.items()}))
        choices = [said(one) for one in asked.choices]
        boxes = [ui.checkbox(one).props("dense") for one in choices] if asked.several else []
        choice = None if boxes else ui.radio(dict(enumerate(choices))).props("dense inline")
        verdict = ui.label("").props("role=status")

        async def check() -> None:
            if choice is not None and choice.value is None:
                return
            chosen = [i for i, box in enumerate(boxes) if box.value] if choice is None else [choice.value]
            right = await _answer(context, asked)
            if right is None:
                return
            good = {asked.choices[i] for i in chosen} == set(right)
            verdict.set_text(text("teach.right") if good else text("teach.wrong", answer=", ".join(map(said, right))))
            verdict.classes(replace="good" if good else "alarm")

        ui.button(text("teach.check"), on_click=check).props("outline dense")


async def _answer(context: PageContext, asked: Exercise) -> list[Any] | None:
    """What is right: what the next step tells, or what the library says."""
    if asked.ask is None:
        return [asked.answer]
    found = await context.run(*asked.ask)
    return found if isinstance(found, list) or found is None else [found]
