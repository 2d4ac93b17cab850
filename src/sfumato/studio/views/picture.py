"""Partition picture: two columns as a plane; rows as points before, and the classes they are in as rectangles after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.forms import columns_by_role

AXIS, POINT, BOX, GONE = "#857d74", "#0072b2", "0, 158, 115", "#d55e00"
RECTANGLE = """(params, api) => {
  const from = api.coord([api.value(0), api.value(1)]), to = api.coord([api.value(2), api.value(3)]);
  const width = Math.max(3, to[0] - from[0]), height = Math.max(3, from[1] - to[1]);
  const shape = {x: Math.min(from[0], to[0]), y: Math.min(from[1], to[1]), width, height};
  return {type: "rect", shape, style: api.style(), transition: []};
}"""


async def draw(context: PageContext) -> None:
    """Two selects of columns, and the picture of what the settings give."""
    text = context.texts
    columns = columns_by_role(context.policy)["quasi-identifier"]
    if len(columns) < 2:
        ui.label(text("picture.two")).classes("quiet")
        return
    ui.label(text("picture.lead")).classes("lead")
    with ui.row().classes("w-full items-center gap-4"):
        x = ui.select(columns, label=text("picture.x"), value=columns[0])
        y = ui.select(columns, label=text("picture.y"), value=columns[1])
        for one in (x, y):
            one.props("outlined dense").classes("w-64")
        x.mark("picture x")
        y.mark("picture y")
    area = ui.column().classes("w-full")

    async def show() -> None:
        area.clear()
        with area:
            found = await with_progress(context, "picture.partition", context.asked(), x.value, y.value)
            if found is not None:
                _pictures(context, found)

    x.on_value_change(show)
    y.on_value_change(show)
    await show()


def _pictures(context: PageContext, found: Mapping[str, Any]) -> None:
    text = context.texts
    numbers = {"points": text.number(len(found["points"])), "rows": text.number(found["rows"]),
               "drawn": text.number(len(found["classes"])), "classes": text.number(found["class_count"])}  # fmt: skip
    ui.label(text("picture.said", **numbers)).classes("quiet")
    points = {"type": "scatter", "data": found["points"], "symbolSize": 4, "z": 3, "silent": True,
              "itemStyle": {"color": POINT, "opacity": 0.55}}  # fmt: skip
    gone = {"type": "scatter", "data": found["left_out"], "symbol": "path://M0 0L10 10M10 0L0 10", "symbolSize": 7,
            "itemStyle": {"color": GONE, "borderColor": GONE, "borderWidth": 1.5}, "z": 4, "silent": True}  # fmt: skip
    fill, line = (min(1.0, most / max(1, len(found["classes"]))) for most in (6, 60))  # many lie over each other
    boxes = {"type": "custom", ":renderItem": RECTANGLE, "data": found["classes"], "z": 2, "silent": True, "clip": True,
             "encode": {"x": [0, 2], "y": [1, 3]},
             "itemStyle": {"color": f"rgba({BOX}, {min(0.2, fill):.3f})", "borderWidth": 1,
                           "borderColor": f"rgba({BOX}, {max(0.3, line):.3f})"}}  # fmt: skip
    with ui.element("div").classes("picture-pair"):
        for title, series in (("before", [points]), ("after", [boxes, points, gone])):
            with ui.column().classes("w-full gap-1"):
                ui.label(text(f"picture.{title}")).classes("card-title")
                chart = ui.echart(_options(found, series)).classes("picture-chart")
                chart.props["role"] = "img"
                chart.props["aria-label"] = f"{text(f'picture.{title}')}: {text('picture.said', **numbers)}"
    if found["left_out"]:
        ui.label(text("picture.left_out")).classes("quiet")


def _options(found: Mapping[str, Any], series: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "animation": False,
        "grid": {"left": 16, "right": 24, "top": 34, "bottom": 30, "containLabel": True},
        "xAxis": _axes(found["x"], "middle", 30),
        "yAxis": _axes(found["y"], "end", 12),
        "series": series,
    }


def _axes(axis: Mapping[str, Any], where: str, gap: int) -> list[dict[str, Any]]:
    """A column as an axis; categories, whose points stand beside them, have a second one that names them."""
    named = {"name": axis["name"], "nameLocation": where, "nameGap": gap, "nameTextStyle": {"color": AXIS},
             "axisLabel": {"color": AXIS, "hideOverlap": True, "width": 110, "overflow": "truncate"},
             "axisLine": {"show": True, "lineStyle": {"color": AXIS}}, "splitLine": {"show": False}}  # fmt: skip
    if axis["type"] != "category":
        return [{**named, "type": axis["type"], "scale": True}]
    ends = {"type": "value", "show": False, "min": -0.5, "max": len(axis["categories"]) - 0.5}
    side = "bottom" if where == "middle" else "left"
    return [ends, {**named, "type": "category", "data": axis["categories"], "position": side}]
