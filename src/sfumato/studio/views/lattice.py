"""Lattice: every level vector as a dot, by height and by whether it keeps the promises; a click says what it costs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from sfumato.studio.context import PageContext, with_progress

STAR = "path://M512 64l142 288 318 46-230 224 54 316-284-149-284 149 54-316L52 398l318-46z"
# what is drawn of each kind of node: colour, form and size; the colours are told apart by the colour-blind (Okabe, Ito)
KINDS = {
    "violated_known": ("#d55e00", "emptyDiamond", 5),
    "violated": ("#d55e00", "emptyDiamond", 9),
    "satisfied_known": ("#009e73", "circle", 5),
    "satisfied": ("#009e73", "circle", 9),
    "minimal": ("#0072b2", "triangle", 11),
    "chosen": ("#e69f00", STAR, 20),
}
# losses from the least to the greatest, by colours that grow lighter for every eye (viridis, without its ends)
SHADES = ("#414487", "#31688e", "#21918c", "#27ad81", "#5cc863", "#aadc32")
SHADED = {
    f"{kind}_{i}": (colour, form, size)
    for kind, form, size in (("satisfied", "circle", 7), ("minimal", "triangle", 11))
    for i, colour in enumerate(SHADES)
}
AXIS = "#857d74"
LABELLED = 60  # nodes in sight whose levels are written beside them


async def draw(context: PageContext) -> None:
    """The drawing, filters of it, and a list of the same nodes."""
    page = _Lattice(context)
    await page.draw()


class _Lattice:
    """What is drawn, and what was picked of it."""

    def __init__(self, context: PageContext) -> None:
        self.context, self.slot = context, f"lattice {ui.context.client.id}"
        self.filtered: dict[str, int] = {}
        self.height: int | None = None
        self.page = 0
        self.labelled = self.by_loss = False
        assert context.project is not None
        kept = context.project.kept("search") or {}
        self.chosen = kept.get("found", {}).get("levels")

    async def draw(self) -> None:
        text = self.context.texts
        found = await with_progress(self.context, "lattice.picture", self.context.asked(), {}, self.chosen, False)
        if found is None:
            return
        numbers = {key: text.number(found[key]) for key in ("nodes", "satisfied", "minimal", "checked")}
        ui.label(text("lattice.said", **numbers)).classes("lead")
        with ui.row().classes("w-full items-center gap-3"):
            ui.label(text("lattice.colour")).classes("quiet")
            ways = {False: text("lattice.by_verdict"), True: text("lattice.by_loss")}
            colour = ui.toggle(ways, value=False, on_change=self._colour_by).props("no-caps dense unelevated")
            colour.mark("colour").props["aria-label"] = text("lattice.colour")
        with ui.row().classes("w-full items-center gap-3"):
            ui.label(text("lattice.filter")).classes("quiet")
            for name, (low, high) in found["levels"].items():
                if low < high:
                    self._filter(name, low, high)
        self.waiting = ui.element("div").classes("w-full")
        with ui.element("div").classes("lattice-split"):
            with ui.column().classes("w-full gap-2"):
                self.legend = ui.row().classes("gap-4 items-center lattice-legend")
                self.chart = ui.echart(self._options(found), on_point_click=self._clicked).classes("lattice-chart")
                self.chart.props["role"] = "img"
                self.chart.props["aria-label"] = text("lattice.said", **numbers)
                self.chart.on(
                    "chart:datazoom",
                    self._zoomed,
                    throttle=0.3,
                    leading_events=False,
                    args=[["batch", "dataZoomId", "start", "end"]],
                )
                with ui.row().classes("gap-1"):
                    for icon, share in (("zoom_in", 0.5), ("zoom_out", 2.0), ("zoom_out_map", 0.0)):
                        button = ui.button(icon=icon, on_click=lambda share=share: self._zoom(share))
                        button.props("flat round dense").props["aria-label"] = text(f"lattice.{icon}")
                        button.tooltip(text(f"lattice.{icon}"))
            self.details = ui.column().classes("w-full").props("aria-live=polite")
            with self.details:
                ui.label(text("lattice.pick")).classes("quiet")
        self.rows = ui.column().classes("w-full gap-2")
        ui.html(f"<h2>{text('lattice.list')}</h2>", sanitize=False)
        options: dict[Any, str] = {-1: text("lattice.minimal_ones")}
        options |= {row["height"]: text("lattice.height", height=row["height"]) for row in found["rows"]}
        which = ui.select(options, value=-1, label=text("lattice.which"), on_change=self._list_of)
        which.props("outlined dense").classes("w-64").mark("which")
        self.listed = ui.column().classes("w-full gap-2")
        await self._list()

    def _filter(self, name: str, low: int, high: int) -> None:
        text = self.context.texts
        options = {-1: text("lattice.any"), **{level: str(level) for level in range(low, high + 1)}}

        async def change(event: Any) -> None:
            if event.value == -1:
                self.filtered.pop(name, None)
            else:
                self.filtered[name] = event.value
            self.page = 0
            asked = self.context.asked(), self.filtered, self.chosen, self.by_loss
            if self._show(await self.context.run("lattice.picture", *asked, slot=self.slot)):
                await self._list()

        select = ui.select(options, value=-1, label=name, on_change=change)
        select.props("outlined dense options-dense").classes("lattice-filter").mark(f"filter {name}")

    async def _colour_by(self, event: Any) -> None:
        """Colour by verdict or by loss; the losses are measured when they are first asked for."""
        self.by_loss = bool(event.value)
        asked = self.context.asked(), self.filtered, self.chosen, self.by_loss
        with self.waiting:
            self._show(await with_progress(self.context, "lattice.picture", *asked, slot=self.slot))

    def _show(self, found: Mapping[str, Any] | None) -> bool:
        """Draw other nodes, or the same in other colours; False where there is nothing new."""
        if found is None:
            return False
        self.chart.options.clear()
        self.chart.options.update(self._options(found))
        self.chart.update()
        return True

    def _draw_legend(self, found: Mapping[str, Any]) -> None:
        text, signs = self.context.texts, {"violated": "◇", "satisfied": "●", "minimal": "▲", "chosen": "★"}
        self.legend.clear()
        with self.legend:
            for kind, sign in signs.items():
                colour = AXIS if self.by_loss and kind != "chosen" else KINDS[kind][0]
                _sign(sign, colour, text(f"lattice.{kind}"))
            if found["scale"]:
                step = found["scale"][1] - found["scale"][0]
                digits = max(0, 1 - math.floor(math.log10(step))) if step > 0 else 3
                ends = [text.number(round(end, digits)) for end in found["scale"]]
                ui.label(text("lattice.scale")).classes("quiet")
                for colour, low, high in zip(SHADES, ends, ends[1:], strict=False):
                    _sign("■", colour, f"{low}–{high}")
            elif not self.by_loss:
                ui.label(text("lattice.known")).classes("quiet")
            if found["one_of"] > 1:
                ui.label(text("lattice.one_of", count=text.number(found["one_of"]))).classes("quiet")

    def _options(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """What is drawn. Places come as text and go on as text, which the browser makes arrays of: as lists of lists
        they would be walked through by every layer on the way."""
        self.found, self.spans = found, {"x": (0.0, 100.0), "y": (0.0, 100.0)}
        self._draw_legend(found)
        few = bool(found["names"])
        self.labelled = few and found["shown"] < LABELLED
        named = f"(names => node => names[node.value[2]])(JSON.parse('{found['names'] or '{}'}'))"
        series: list[dict[str, Any]] = [
            {"id": "edges", "type": "lines", "coordinateSystem": "cartesian2d", "silent": True, "large": True,
             ":data": _array(found["edges"]), "z": 1, "lineStyle": {"color": AXIS, "opacity": 0.25, "width": 1}},
        ]  # fmt: skip
        for kind, (colour, symbol, size) in (KINDS | SHADED).items():
            pale = self.by_loss and kind.startswith("violated")
            series.append(
                {"id": kind, "type": "scatter", "dimensions": ["x", "y", "node"],
                 ":data": _array(found["series"].get(kind, "")), "symbol": symbol,
                 "symbolSize": size if few else max(3, size - 3), "z": 4 if kind == "chosen" else 3,
                 "large": not few and not kind.startswith(("chosen", "minimal")), "largeThreshold": 400,
                 "itemStyle": {"color": AXIS if pale else colour, "opacity": 0.5 if pale else 1}, "cursor": "pointer",
                 "label": {"show": self.labelled, "position": "right", ":formatter": named, "color": AXIS}}
            )  # fmt: skip
        series.append({"id": "picked", "type": "scatter", "data": [], "symbol": "circle", "symbolSize": 24,
                       "itemStyle": {"color": "transparent", "borderColor": AXIS, "borderWidth": 2},
                       "silent": True, "z": 5})  # fmt: skip
        counts = {row["height"]: f"{row['height']}  ({row['satisfied']}/{row['nodes']})" for row in found["rows"]}
        heights = [*counts, 0] if not counts else list(counts)
        wide = max((row["nodes"] for row in found["rows"]), default=1) + 2  # places are twice what they are
        zoom = {"type": "inside", "filterMode": "none", "throttle": 30}
        return {
            "animation": False,
            "grid": {"left": 90, "right": 30, "top": 16, "bottom": 16},
            "xAxis": {"type": "value", "show": False, "min": -wide, "max": wide},
            "yAxis": {"type": "value", "min": min(heights) - 1, "max": max(heights) + 1, "interval": 1,
                      "splitLine": {"show": False}, "axisLine": {"show": False}, "axisTick": {"show": False},
                      "axisLabel": {"color": AXIS, ":formatter": f"value => ({_script(counts)})[value] || ''"}},
            "dataZoom": [{**zoom, "id": "x", "xAxisIndex": 0}, {**zoom, "id": "y", "yAxisIndex": 0}],
            "series": series,
        }  # fmt: skip

    async def _clicked(self, event: Any) -> None:
        if isinstance(event.value, list) and len(event.value) > 2:
            await self._pick(int(event.value[2]), event.value[:2])

    async def _pick(self, number: int, place: list[float] | None = None) -> None:
        """Show what a node comes to."""
        asked = self.context.asked()
        found = await self.context.run("lattice.node", asked, number, self.chosen, slot=f"{self.slot} node")
        if found is None:
            return
        if place is None:
            every = (json.loads(some) for some in self.found["series"].values())
            place = next((one[i - 2 : i] for one in every for i in range(2, len(one), 3) if one[i] == number), None)
        ring = {"series": [{"id": "picked", "data": [place] if place else []}]}
        self.chart.run_chart_method("setOption", ring)
        self.details.clear()
        with self.details:
            self._details(found)
        self.rows.clear()
        with self.rows:
            self._table(found)

    def _table(self, found: Mapping[str, Any]) -> None:
        """Some rows as the node would release them."""
        text = self.context.texts
        with ui.element("h2"):
            ui.label(text("lattice.rows"))
        if not found["table"]:
            ui.label(text("lattice.no_rows")).classes("quiet")
            return
        columns = [{"name": f"c{i}", "label": name, "field": f"c{i}", "align": "left"}
                   for i, name in enumerate(found["head"])]  # fmt: skip
        cells = [{"id": i, **{f"c{j}": "" if cell is None else cell for j, cell in enumerate(row)}}
                 for i, row in enumerate(found["table"])]  # fmt: skip
        with ui.element("div").classes("rows-grid").props("tabindex=0 role=region") as region:
            region.props["aria-label"] = text("lattice.rows")
            table = ui.table(columns=columns, rows=cells, row_key="id", pagination=0)
            table.props("flat dense hide-bottom").classes("w-full").mark("released rows")

    def _details(self, found: Mapping[str, Any]) -> None:
        text = self.context.texts
        with ui.card().classes("w-full").mark("node"):
            with ui.row().classes("w-full items-center"):
                ui.label(",".join(map(str, found["vector"]))).classes("card-title mono grow")
                status = next(kind for kind in ("chosen", "minimal", "satisfies") if found[kind] or kind == "satisfies")
                word = status if status != "satisfies" else "satisfied" if found["satisfies"] else "violated"
                ui.label(text(f"lattice.{word}")).classes("verdict" if found["satisfies"] else "verdict broken")
            with ui.element("dl").classes("facts"):
                facts = {
                    "suppressed": text("lattice.of", part=text.number(found["suppressed"]),
                                       whole=text.number(found["rows"]), limit=text.number(found["limit"])),
                    "loss": text.number(found["loss"]),
                    "groups": text("lattice.groups_of", classes=text.number(found["classes"]),
                                   smallest=text.number(found["smallest"])),
                    "risk": text("lattice.risks", highest=text.percent(found["risk"]),
                                 average=text.percent(found["average_risk"])),
                }  # fmt: skip
                for name, value in facts.items():
                    _term(text(f"lattice.{name}"), value)
                for one in found["columns"]:
                    label = text("search.missing") if one["label"] is None else str(one["label"])
                    said = text("lattice.level", level=one["level"], height=one["height"], label=label)
                    _term(one["name"], said)

            def take() -> None:
                levels = {one["name"]: [one["level"], one["level"]] for one in found["columns"]}
                search = {key: value for key, value in self.context.policy.get("search", {}).items()
                          if key in ("loss", "suppression")}  # fmt: skip
                policy = self.context.policy | {"levels": levels, "search": {"method": "optimal", **search}}
                self.context.change("levels", policy)

            if found["satisfies"]:
                ui.button(text("lattice.take"), on_click=take).props("unelevated no-caps").mark("take")

    async def _list_of(self, event: Any) -> None:
        self.height, self.page = None if event.value == -1 else event.value, 0
        await self._list()

    async def _list(self) -> None:
        """A page of nodes as a list, for the keyboard and for lattices that are too large to be drawn node by node."""
        text = self.context.texts
        found = await self.context.run(
            "lattice.listed", self.context.asked(), self.filtered, self.height, self.page, self.chosen,
            slot=f"{self.slot} list",
        )  # fmt: skip
        if found is None:
            return
        self.listed.clear()
        with self.listed:
            order = ", ".join(self.found["columns"])
            ui.label(text("lattice.count", count=text.number(found["count"]), columns=order)).classes("quiet")
            with ui.element("ul").classes("node-list"):
                for one in found["nodes"]:
                    self._row(one)
            if found["pages"] > 1:
                pages = ui.pagination(1, found["pages"], value=self.page + 1, direction_links=True)
                pages.props("max-pages=6").props["aria-label"] = text("lattice.pages")
                pages.on_value_change(self._turn)

    def _row(self, one: Mapping[str, Any]) -> None:
        text = self.context.texts
        kind = next((kind for kind in ("chosen", "minimal") if one[kind]), None)
        kind = kind or ("satisfied" if one["satisfies"] else "violated")
        said = [text(f"lattice.{kind}")]
        if one["suppressed"] is not None:
            said.append(text("lattice.row_suppressed", rows=text.number(one["suppressed"])))
        if one["loss"] is not None:
            said.append(text("lattice.row_loss", loss=text.number(one["loss"])))
        with ui.element("li"):
            button = ui.button(",".join(map(str, one["vector"])), on_click=lambda: self._pick(one["number"]))
            button.props("flat dense no-caps").classes("mono")
            ui.label(" · ".join(said)).classes("quiet")

    async def _turn(self, event: Any) -> None:
        self.page = int(event.value) - 1
        await self._list()

    def _zoom(self, factor: float) -> None:
        """Zoom about the middle; 0 shows all."""
        for axis, (low, high) in self.spans.items():
            half = min(50.0, (high - low) / 2 * factor) if factor else 50.0
            middle = min(max((low + high) / 2, half), 100 - half)
            action = {"type": "dataZoom", "dataZoomId": axis, "start": middle - half, "end": middle + half}
            self.chart.run_chart_method("dispatchAction", action)

    def _zoomed(self, event: Any) -> None:
        """Write levels beside the nodes where few are in sight."""
        for one in event.args.get("batch") or [event.args]:
            if one.get("dataZoomId") in self.spans and one.get("start") is not None:
                self.spans[one["dataZoomId"]] = (one["start"], one["end"])
        in_sight = self.found["shown"]
        for low, high in self.spans.values():
            in_sight *= (high - low) / 100
        labelled = bool(self.found["names"]) and in_sight < LABELLED
        if labelled != self.labelled:
            self.labelled = labelled
            series = [{"id": kind, "label": {"show": labelled}} for kind in KINDS | SHADED]
            self.chart.run_chart_method("setOption", {"series": series})


def _array(numbers: str) -> str:
    """A list of numbers in JSON as the script that makes an array of them."""
    return f"new Float32Array({numbers or '[]'})"


def _sign(sign: str, colour: str, words: str) -> None:
    with ui.row().classes("gap-1 items-center no-wrap"):
        ui.label(sign).style(f"color: {colour}").props("aria-hidden=true")
        ui.label(words)


def _term(name: str, value: str) -> None:
    with ui.element("dt"):
        ui.label(name).classes("quiet")
    with ui.element("dd"):
        ui.label(value)


def _script(counts: Mapping[int, str]) -> str:
    """Numbers by height, as a script takes them; they are digits, brackets and a stroke."""
    return "{" + ",".join(f'{height}:"{said}"' for height, said in counts.items()) + "}"
