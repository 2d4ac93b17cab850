"""Teach: an algorithm step by step on a small table: the picture, the line, the table and the reason of each step."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from sfumato.studio import lessons, pictures
from sfumato.studio.context import PageContext
from sfumato.studio.layout import heading
from sfumato.studio.lessons import LINES, OVER_LEVELS, TABLES

SPEEDS = (0.5, 1, 2, 4, 8)
OWN = "own"
MOST_ROWS = 200


@dataclass
class Lesson:
    """What is on the page: the lesson's choices, its steps, and where it stands."""

    search: str = "mondrian"
    table: str = "plane"
    k: int = 3
    step: int = 0
    suppression: int = 0
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    quasi: tuple[str, ...] = ()
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    found: Mapping[str, Any] | None = None
    axes: tuple[int, int] = (0, 1)

    @property
    def events(self) -> Sequence[Mapping[str, Any]]:
        """All steps."""
        return () if self.found is None else self.found["events"]

    def take(self, table: str) -> None:
        """Take one of the classic tables."""
        one = TABLES[table]
        self.table, self.columns, self.rows, self.quasi = table, one.columns, one.rows, one.quasi
        self.hierarchies, self.k, self.axes = one.hierarchies, one.k, (0, 1)


async def draw(context: PageContext) -> None:
    """Choices on top, below them the lesson."""
    asked = ui.context.client.request.query_params
    lesson = Lesson()
    names = [name for name in await context.run("teach.searches") or [] if name in LINES]
    lesson.take(asked["table"] if asked.get("table") in TABLES else "plane")
    lesson.search = asked["lesson"] if asked.get("lesson") in names else "mondrian"
    lesson.k = _whole(asked.get("k"), lesson.k, 1, 100)
    lesson.suppression = _whole(asked.get("suppression"), 0, 0, 100)
    heading(context, "teach")

    async def begin(step: int = 0) -> None:
        rows = [list(row) for row in lesson.rows]
        hierarchies = dict(lesson.hierarchies) if lesson.search in OVER_LEVELS else {}
        lesson.found = await context.run(
            "teach.lesson", lesson.search, list(lesson.columns), rows, list(lesson.quasi), lesson.k, hierarchies,
            lesson.suppression, slot=f"teach {ui.context.client.id}",
        )  # fmt: skip
        lesson.step = min(step, len(lesson.events))
        stage.refresh()

    _choices(context, lesson, names, begin)

    @ui.refreshable
    def stage() -> None:
        if lesson.found is not None:
            _stage(context, lesson)

    stage()
    await begin(_whole(asked.get("step"), 0, 0, 100_000))


def _whole(text: str | None, default: int, least: int, most: int) -> int:
    return min(max(int(text), least), most) if text is not None and text.isdecimal() and len(text) < 7 else default


def _choices(context: PageContext, lesson: Lesson, names: Sequence[str], begin: Any) -> None:
    text = context.texts
    with ui.row().classes("w-full items-end gap-4"):
        search = ui.select(list(names), value=lesson.search, label=text("teach.algorithm")).props("outlined dense")
        search.classes("min-w-40")
        tables = {name: text(f"teach.{name}") for name in (*TABLES, OWN)}
        table = ui.select(tables, value=lesson.table, label=text("teach.table")).props("outlined dense")
        table.classes("min-w-56")
        k = ui.number(text("teach.k"), value=lesson.k, min=1, max=100, format="%d").props("outlined dense")
        k.classes("w-20")
        limit = ui.number(text("teach.suppression"), value=lesson.suppression, min=0, max=100, format="%d")
        limit.props("outlined dense").classes("w-56")
        ui.button(text("teach.start"), on_click=lambda: start()).props("unelevated").mark("start")
    own = ui.column().classes("w-full")
    with own:
        pasted = ui.textarea(text("teach.paste")).props("outlined autogrow").classes("w-full mono")
        quasi = ui.input(text("teach.quasi")).props("outlined dense").classes("w-full")
    own.bind_visibility_from(table, "value", value=OWN)

    def chosen() -> None:
        if table.value in TABLES:
            k.set_value(TABLES[table.value].k)

    table.on_value_change(chosen)

    async def start() -> None:
        if table.value == OWN:
            if (fault := _pasted(lesson, pasted.value or "", quasi.value or "")) is not None:
                ui.notify(fault, type="negative")
                return
        else:
            lesson.take(table.value)
        lesson.search, lesson.k, lesson.suppression = search.value, int(k.value or 1), int(limit.value or 0)
        await begin()


def _pasted(lesson: Lesson, table: str, quasi: str) -> str | None:
    """Take a table that was pasted; what is wrong with it, or None."""
    found = [row for row in csv.reader(io.StringIO(table)) if row]
    head = [name.strip() for name in found[0]] if found else []
    named = [name.strip() for name in quasi.split(",") if name.strip()] or head
    if len(found) < 2 or len(set(head)) < len(head) or any(len(row) != len(head) for row in found):
        return "This is no table: a line of names, then rows with as many values."
    if len(found) - 1 > MOST_ROWS:
        return f"The table of a lesson has at most {MOST_ROWS} rows."
    if unknown := [name for name in named if name not in head]:
        return f"The table has no column {', '.join(unknown)}."
    lesson.table, lesson.columns, lesson.quasi, lesson.hierarchies = OWN, tuple(head), tuple(named), {}
    numeric = [all(_is_number(row[i]) for row in found[1:]) for i in range(len(head))]
    lesson.rows = tuple(
        tuple(float(cell) if is_number else cell.strip() for cell, is_number in zip(row, numeric, strict=True))
        for row in found[1:]
    )
    places = [head.index(name) for name in named]
    lesson.axes = (places[0], places[-1])
    return None


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


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
        speed = ui.select(list(SPEEDS), value=1, label=text("teach.speed")).props("dense outlined").classes("w-32")
        speed.on_value_change(lambda: setattr(playing, "interval", 1 / speed.value))

        async def link() -> None:
            asked = {"lesson": lesson.search, "table": lesson.table, "k": lesson.k, "step": lesson.step}
            asked |= {"suppression": lesson.suppression} if lesson.suppression else {}
            ui.run_javascript(f"history.replaceState(null, '', '/teach?{urlencode(asked)}')")
            ui.notify(text("teach.copied"))

        if lesson.table != OWN:
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
        with ui.card().classes("lesson-picture"):
            ui.html(_picture(context, lesson, done), sanitize=False).classes("w-full")
        with ui.card():
            ui.html(f"<h2>{text('teach.code')}</h2>", sanitize=False)
            _code(context, lesson, None if now is None else lessons.line_of(lesson.search, now["kind"]))
            _exercise(context, lesson)
        with ui.card().classes("lesson-table"):
            ui.html(f"<h2>{text('teach.now')}</h2>", sanitize=False)
            _table(context, lesson, done)
        with ui.card():
            ui.html(f"<h2>{text('teach.counters')}</h2>", sanitize=False)
            for kind, times in lessons.counters(done).items():
                with ui.row().classes("w-full justify-between"):
                    ui.label(text.said(kind.replace("-", " ")))
                    ui.label(str(times)).classes("mono")


def _picture(context: PageContext, lesson: Lesson, done: Sequence[Mapping[str, Any]]) -> str:
    assert lesson.found is not None
    title = context.texts("teach.picture")
    if lesson.search == "datafly":
        levels = lessons.levels_now(done, lesson.quasi)
        labels = lesson.found["labels"]
        distinct = {name: len(set(labels[name][levels[name]])) for name in lesson.quasi}
        last = next((one["column"] for one in reversed(done) if one["kind"] == "column-generalised"), None)
        return pictures.bars_picture(distinct, last, title)
    if lesson.search in OVER_LEVELS:
        return pictures.lattice_picture(lessons.nodes_seen(done, lesson.quasi), lesson.found["heights"], title)
    return pictures.plane_picture(lessons.groups_seen(done), lesson.columns, lesson.rows, lesson.axes, title)


def _code(context: PageContext, lesson: Lesson, current: int | None) -> None:
    with ui.element("ol").classes("lesson-code"):
        for i, line in enumerate(context.texts(f"lessons.{lesson.search}").split("\n")):
            with ui.element("li").classes("current" if i == current else "") as item:
                ui.label(line)
            if i == current:
                item.props("aria-current=step")


def _table(context: PageContext, lesson: Lesson, done: Sequence[Mapping[str, Any]]) -> None:
    """The table at this step: rows in their labels, and the class that each is in."""
    assert lesson.found is not None
    text = context.texts
    if lesson.search in OVER_LEVELS:
        levels, labels = lessons.levels_now(done, lesson.quasi), lesson.found["labels"]
        shown = {name: labels[name][levels[name]] for name in lesson.quasi}
        rows = [[shown[name][i] if name in shown else str(row[j]) for j, name in enumerate(lesson.columns)]
                for i, row in enumerate(lesson.rows)]  # fmt: skip
        classes = [""] * len(rows)
    else:
        groups = lessons.groups_seen(done).groups
        number = {i: str(n + 1) for n, group in enumerate(groups) for i in group}
        classes = [number.get(i, "") for i in range(len(lesson.rows))]
        given: dict[int, dict[str, Any]] = {}
        for event in done:
            if event["kind"] == "labels-given":
                given |= {record["number"]: dict(event["labels"]) for record in event["records"]}
        rows = [[str(given.get(i, {}).get(name, row[j])) for j, name in enumerate(lesson.columns)]
                for i, row in enumerate(lesson.rows)]  # fmt: skip
    grouped = lesson.search not in OVER_LEVELS
    with ui.element("table").classes("lesson-rows"):
        with ui.element("thead"), ui.element("tr"):
            for name in (*lesson.columns, *((text("teach.column_class"),) if grouped else ())):
                with ui.element("th").props("scope=col"):
                    ui.label(name)
        with ui.element("tbody"):
            for row, own in zip(rows, classes, strict=True):
                with ui.element("tr"):
                    for cell in (*row, *((own,) if grouped else ())):
                        with ui.element("td"):
                            ui.label(cell)


def _exercise(context: PageContext, lesson: Lesson) -> None:
    """A question about the next step, answered by what the library does."""
    text = context.texts
    asked = lessons.exercise(lesson.search, lesson.events, lesson.step)
    if asked is None:
        return
    with ui.expansion(text("teach.predict")).classes("w-full").mark("predict"):
        words = {True: text("teach.answer_yes"), False: text("teach.answer_no")}
        ui.label(text(f"teach.exercise_{asked.text}"))
        choice = ui.radio({i: words.get(one, str(one)) if isinstance(one, bool) else str(one)
                           for i, one in enumerate(asked.choices)}).props("dense inline")  # fmt: skip
        verdict = ui.label("").props("role=status")

        def check() -> None:
            if choice.value is None:
                return
            right = asked.choices[choice.value] == asked.answer
            answer = words[asked.answer] if isinstance(asked.answer, bool) else str(asked.answer)
            verdict.set_text(text("teach.right") if right else text("teach.wrong", answer=answer))
            verdict.classes(replace="good" if right else "alarm")

        ui.button(text("teach.check"), on_click=check).props("outline dense")
