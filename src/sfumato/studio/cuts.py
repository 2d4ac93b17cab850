"""Cut points over a histogram: dragged, moved by arrow keys, added and removed, always those of a field beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from nicegui import ui

from sfumato.studio.texts import Texts
from sfumato.studio.views.data import bars

STEPS = 100  # that a range is moved through, about
MOST = 60  # cuts that are drawn
DRAG = """(event) => {
  const cut = event.target.closest('.cut');
  if (!cut) return;
  event.preventDefault();
  cut.focus();
  cut.setPointerCapture(event.pointerId);
  const box = cut.closest('.cuts').getBoundingClientRect();
  const share = (e) => Math.min(1, Math.max(0, (e.clientX - box.left) / box.width));
  const move = (e) => { cut.style.left = 100 * share(e) + '%'; };
  cut.addEventListener('pointermove', move);
  cut.addEventListener('pointerup', (e) => {
    cut.removeEventListener('pointermove', move);
    emit(Number(cut.dataset.cut), share(e));
  }, {once: true});
}"""
ADD = """(event) => {
  const box = event.target.closest('.cuts').getBoundingClientRect();
  if (!event.target.closest('.cut')) emit(-1, (event.clientX - box.left) / box.width);
}"""
KEYS = """(event) => {
  const cut = event.target.closest('.cut');
  const does = {ArrowLeft: 'less', ArrowDown: 'less', ArrowRight: 'more', ArrowUp: 'more', Delete: 'remove',
                Backspace: 'remove'}[event.key];
  if (cut && does) { event.preventDefault(); emit(Number(cut.dataset.cut), does); }
}"""


def step_of(low: float, high: float) -> float:
    """A round step of which a range has about a hundred, a whole number where that is fine enough.

    >>> step_of(18, 90), step_of(0, 250_000), step_of(0, 1)
    (1.0, 2000.0, 0.01)
    """
    rough = (high - low) / STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((power * digit for digit in (1, 2, 5, 10)), key=lambda one: abs(one - rough))
    return 1.0 if high - low >= 10 and step < 1 else step


def shown(value: float, step: float) -> str:
    """A cut at a whole number of steps, as it prints.

    >>> shown(33.4, 1), shown(0.1234, 0.01), shown(1e-3, 1e-3)
    ('33', '0.12', '0.001')
    """
    digits = max(0, -math.floor(math.log10(step)))
    return f"{round(value / step) * step:.{digits}f}"


def new_cut(low: float, high: float, points: Sequence[float]) -> float:
    """A cut in about the middle of the widest gap, at a number so round that it does not tell where values end: those
    at the ends may be of suppressed rows.

    >>> new_cut(18, 103, []), new_cut(18, 103, [60.0]), new_cut(0, 1, [0.5])
    (60.0, 80.0, 0.2)
    """
    ends = [low, *sorted(one for one in points if low < one < high), high]
    gap = max(range(len(ends) - 1), key=lambda i: ends[i + 1] - ends[i])
    middle, step = (ends[gap] + ends[gap + 1]) / 2, step_of(low, high)
    round_one = float(shown(middle, 10 * step))
    return round_one if ends[gap] < round_one < ends[gap + 1] else middle


def read(text: str) -> list[float]:
    """The numbers of a field that are some, those of the first level where there are several."""
    found = []
    for part in text.split("/")[0].split(","):
        with suppress(ValueError):
            found.append(float(part))
    return [one for one in found if math.isfinite(one)][:MOST]


def draw(text: Texts, spread: Mapping[str, Any], field: Any) -> None:
    """The histogram of a column with the cuts that stand in a field of numbers with commas."""
    if spread["ends"] is None:
        return
    low, high = spread["ends"]
    step = step_of(low, high)
    handles: list[ui.element] = []

    def write(points: Sequence[float]) -> None:
        _, slash, rest = (field.value or "").partition("/")
        listed = list(dict.fromkeys(shown(one, step) for one in sorted(points)))
        field.set_value(", ".join(listed) + (f" {slash}{rest}" if slash else ""))
        place()

    def place() -> None:
        points = read(field.value or "")
        while len(handles) > len(points):
            handles.pop().delete()
        with rail:
            while len(handles) < len(points):
                handles.append(ui.element("div").classes("cut").props("role=slider tabindex=0"))
        for i, (handle, point) in enumerate(zip(handles, points, strict=True)):
            share = min(max((point - low) / (high - low), 0), 1)
            handle.style(f"left: {100 * share:.3f}%")
            handle.props["data-cut"] = str(i)
            handle.props["data-value"] = shown(point, step)
            handle.props["aria-valuenow"], handle.props["aria-valuetext"] = f"{point:g}", shown(point, step)
            handle.props["aria-valuemin"], handle.props["aria-valuemax"] = f"{low:g}", f"{high:g}"
            handle.props["aria-label"] = text("hierarchies.cut", number=i + 1)
            handle.update()

    def act(event: Any) -> None:
        number, what = event.args
        points = read(field.value or "")
        if number >= len(points):
            return
        if what == "remove":
            points.pop(number)
        elif what in ("less", "more"):
            points[number] += step if what == "more" else -step
        elif number < 0:
            points.append(low + what * (high - low))
        else:
            points[number] = low + what * (high - low)
        write(points)

    def add() -> None:
        points = read(field.value or "")
        write([*points, new_cut(low, high, points)])

    with ui.element("div").classes("cuts-frame"):
        with ui.element("div").classes("cuts") as rail:
            picture = ui.html(bars(spread["bars"]), sanitize=False).props("role=img")
            picture.props["aria-label"] = text("hierarchies.histogram")
        with ui.element("div").classes("ends"):
            ui.label(spread["low"])
            ui.label(spread["high"])
        ui.button(text("hierarchies.add_cut"), on_click=add, icon="add").props("flat dense no-caps").mark("add-cut")
    rail.on("pointerdown", act, js_handler=DRAG).on("dblclick", act, js_handler=ADD)
    rail.on("keydown", act, js_handler=KEYS)
    field.on_value_change(place)
    place()
