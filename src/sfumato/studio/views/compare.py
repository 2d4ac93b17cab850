"""Compare: candidates side by side, and the map of risk and utility of many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from sfumato.core.wording import number, percent
from sfumato.errors import SfumatoError
from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.forms import Form, columns_by_role, first_values, variants
from sfumato.studio.layout import heading
from sfumato.studio.pictures.compared import both_bars, heat_table
from sfumato.studio.project import Project
from sfumato.studio.views.steps import as_sentence

ATTACKERS = ("prosecutor", "journalist", "marketer")
BESIDE = ("linkage", "copied", "membership")  # measures of maskings and of generators
UTILITY = ("detail", "distributions", "tables", "counts", "pairs")
THRESHOLD = 0.2  # where none was chosen
ROWS = 12  # that are shown of each candidate
SEARCHES, KS = ("mondrian", "optimal"), (2, 5, 10, 20)
DIGITS = 3


async def draw(context: PageContext) -> None:
    """Candidates beside each other, or the map."""
    text, project = context.texts, context.project
    assert project is not None
    heading(context, "compare")
    if "input" not in context.policy:
        ui.link(text("studio.choose_table"), f"/project/{project.name}/data")
        return
    found = await context.run("compare.choices")
    if found is None:
        return
    with ui.tabs().props("dense align=left no-caps").classes("w-full") as tabs:
        for name in ("candidates", "map"):
            ui.tab(name, label=text(f"compare.{name}"))
    start = project.kept("compare tab", "candidates")
    tabs.on_value_change(lambda event: project.keep("compare tab", event.value))
    with ui.tab_panels(tabs, value=start, animated=False).classes("w-full"):
        with ui.tab_panel("map").classes("p-0"):
            await _map(context, project, found)
        with ui.tab_panel("candidates").classes("p-0"), ui.column().classes("w-full gap-4"):
            await _Candidates(context, project, found["thresholds"]).draw()


class _Candidates:
    """The candidates of a project, and what each comes to."""

    def __init__(self, context: PageContext, project: Project, thresholds: Sequence[Any]) -> None:
        self.context, self.project, self.thresholds = context, project, thresholds
        self.text = context.texts
        self.listed = project.candidates()
        self.figures: dict[int, dict[str, Any]] = {}

    def asked(self, one: Mapping[str, Any]) -> dict[str, Any]:
        """A candidate as a task takes it."""
        return {"tables": one["policy"], "folder": str(self.project.folder)}

    async def draw(self) -> None:
        """The form that adds one, all of them beside each other, and a closer look."""
        text, project = self.text, self.project
        with ui.row().classes("w-full items-center gap-4"):
            name = ui.input(text("compare.name"), value=text("compare.number", number=len(self.listed) + 1))
            name.props("outlined dense").classes("grow")

            def add() -> None:
                project.add_candidate((name.value or "").strip() or text("compare.unnamed"), {})

            ui.button(text("compare.add"), icon="add", on_click=add).props("unelevated").mark("add")
        if not self.listed:
            ui.label(text("compare.none")).classes("quiet")
            return
        limits = {limit: f"{text.said(number(limit, digits=2))} · {text.said(use)}" for limit, use in self.thresholds}
        kept = project.kept("threshold", THRESHOLD)
        chosen = ui.select(limits, value=kept if kept in limits else THRESHOLD, label=text("compare.threshold"))
        chosen.props("outlined dense").classes("w-full")
        with ui.card().classes("w-full"):
            grid = ui.element("div").classes("beside").mark("beside")
            grid.style(f"--candidates: {len(self.listed)}")
        status = ui.column().classes("w-full")
        closer = ui.column().classes("w-full gap-4")

        def limit(event: Any) -> None:
            project.keep("threshold", event.value)
            self._grid(grid, event.value)

        chosen.on_value_change(limit)
        for one in self.listed:
            faults: list[str] = []
            with status:
                found = await with_progress(
                    self.context, "compare.measured", self.asked(one), slot=f"compare {ui.context.client.id}",
                    failed=partial(_note, faults),
                )  # fmt: skip
            if found is None and not faults:
                return  # cancelled, or drawn again meanwhile
            self.figures[one["number"]] = found or {"fault": faults[0]}
            self._grid(grid, chosen.value)
        with closer:
            await self._closer()

    def _grid(self, grid: ui.element, limit: float) -> None:
        """All figures, a row each."""
        text = self.text
        grid.clear()
        values = [v for one in self.figures.values() for v in one.get("attackers", {}).values() if v is not None]
        widest = max([2 * limit, *values])
        with grid:
            ui.label("")
            for one in self.listed:
                ui.label(one["name"]).classes("name")
            self._line("by", lambda one: f"{text('compare.' + one['by'])}: {one['search']}")
            for name, shown in (("suppressed", _suppressed), ("loss", lambda one: _figure(one["loss"]))):
                if self._some(name):
                    self._line(name, shown)
            for name in ATTACKERS:
                if not self._some("attackers", name):
                    continue
                _term(text(f"compare.{name}"), text(f"compare.{name}_about"))
                for own in self._measured():
                    value = None if own is None else own.get("attackers", {}).get(name)
                    _gauge(text, value, limit, widest) if value is not None else ui.label("–").classes("quiet")
            for name in BESIDE:
                if self._some(name):
                    self._line(name, lambda one, name=name: self._beside(one[name]), text(f"compare.{name}_about"))
            for name in UTILITY:
                if self._some("utility", name):
                    self._line(name, lambda one, name=name: _share(one["utility"][name]), text(f"compare.{name}_about"))
            ui.label("")
            for one in self.listed:
                with ui.column().classes("gap-1"):
                    take = ui.button(text("compare.take"), on_click=lambda one=one: self._take(one))
                    take.props("outline dense no-caps").props["aria-label"] = text("compare.take_of", name=one["name"])
                    drop = ui.button(text("compare.drop"), on_click=lambda one=one: self._drop(one))
                    drop.props("flat dense no-caps").props["aria-label"] = text("compare.drop_of", name=one["name"])
                    found = self.figures.get(one["number"], {})
                    if "fault" in found:
                        ui.label(text.said(found["fault"])).classes("alarm faults note")
                    if found.get("sampled"):
                        ui.label(text("compare.sampled", rows=text.number(found["rows"]))).classes("quiet note")
                    for note in dict.fromkeys(found.get("notes", ())):
                        ui.label(as_sentence(text.said(note))).classes("quiet note")

    def _measured(self) -> list[dict[str, Any] | None]:
        return [self.figures.get(one["number"]) for one in self.listed]

    def _some(self, *names: str) -> bool:
        """Whether a candidate has that figure, as far as they were measured."""
        for own in (own for own in self._measured() if own is not None):
            value: Any = own
            for name in names:
                value = value.get(name, {}) if isinstance(value, Mapping) else {}
            if value not in (None, {}):
                return True
        return False

    def _line(self, name: str, words: Any, about: str = "") -> None:
        _term(self.text(f"compare.{name}"), about)
        for one in self._measured():
            said = "…" if one is None else "–" if "fault" in one else self.text.said(words(one))
            ui.label(said).classes("mono" if about else "")

    def _beside(self, found: Sequence[float | None] | None) -> str:
        """A share, and what chance achieves."""
        if found is None:
            return "–"
        return _share(found[0]) + ("" if found[1] is None else f" ({self.text('compare.chance')} {_share(found[1])})")

    def _take(self, one: Mapping[str, Any]) -> None:
        if self.context.change("candidate", one["policy"]):
            ui.notify(self.text("compare.taken", name=one["name"]))

    def _drop(self, one: Mapping[str, Any]) -> None:
        self.project.drop_candidate(one["number"])

    # A closer look

    async def _closer(self) -> None:
        text = self.text
        good = [one for one in self.listed if "columns" in self.figures[one["number"]]]
        if not good:
            return
        columns = self.figures[good[0]["number"]]["columns"]
        with ui.card().classes("w-full gap-3"):
            _title(text("compare.distribution"))
            ui.label(text("compare.legend")).classes("quiet note")
            column = (
                ui.select(columns, value=columns[0], label=text("compare.column"))
                .props("outlined dense")
                .classes("chooser")
            )
            bars = ui.element("div").classes("cards")
        with ui.card().classes("w-full gap-3"):
            _title(text("compare.heat"))
            ui.label(text("compare.heat_about")).classes("quiet note")
            with ui.row().classes("gap-4"):
                across = (
                    ui.select(columns, value=columns[0], label=text("compare.across"))
                    .props("outlined dense")
                    .classes("chooser")
                )
                down = ui.select(columns, value=columns[1 % len(columns)], label=text("compare.down"))
                down.props("outlined dense").classes("chooser")
            heats = ui.element("div").classes("heats")
        with ui.card().classes("w-full gap-3"):
            _title(text("compare.rows"))
            ui.label(text("compare.rows_about")).classes("quiet note")
            names = {one["number"]: one["name"] for one in good}
            shown = (
                ui.select(names, value=good[0]["number"], label=text("compare.candidate"))
                .props("outlined dense")
                .classes("chooser")
            )
            rows = _scrolled("rows-grid", text("compare.rows"))
        with ui.card().classes("w-full gap-3"):
            _title(text("compare.attacks"))
            ui.label(text("compare.attacks_about")).classes("quiet note")
            attacks = ui.column().classes("w-full gap-3")
            with attacks:
                ui.button(text("compare.attack"), on_click=lambda: self._attack(attacks, good)).props("outline")

        async def draw_bars() -> None:
            bars.clear()
            for one in good:
                found = await self.context.run("compare.distribution", self.asked(one), column.value)
                if found is not None:
                    with bars, ui.column().classes("gap-1 min-w-0"):
                        ui.label(one["name"]).classes("note")
                        ui.html(both_bars(found), sanitize=False).classes("w-full")
                        with ui.element("div").classes("ends w-full"):
                            ui.label(found["words"][0]).classes("ellipsis")
                            ui.label(found["words"][-1]).classes("ellipsis")

        async def draw_heats() -> None:
            heats.clear()
            for i, one in enumerate(good):
                found = await self.context.run("compare.heat", self.asked(one), across.value, down.value)
                if found is None:
                    continue
                most = max(max(map(max, found["before"])), max(map(max, found["after"])))
                with heats:
                    if not i:
                        with _scrolled("heat-part", text("compare.original")):
                            ui.label(text("compare.original")).classes("note")
                            ui.html(heat_table(found, "before", most), sanitize=False)
                    with _scrolled("heat-part", one["name"]):
                        ui.label(one["name"]).classes("note")
                        ui.html(heat_table(found, "after", most), sanitize=False)

        async def draw_rows() -> None:
            one = next(one for one in good if one["number"] == shown.value)
            found = await self.context.run("compare.some_rows", self.asked(one), ROWS)
            if found is not None:
                rows.clear()
                with rows:
                    _rows(text, found)

        column.on_value_change(draw_bars)
        across.on_value_change(draw_heats)
        down.on_value_change(draw_heats)
        shown.on_value_change(draw_rows)
        await draw_bars()
        await draw_heats()
        await draw_rows()

    async def _attack(self, area: ui.column, good: Sequence[Mapping[str, Any]]) -> None:
        area.clear()
        for one in good:
            with area:
                found = await with_progress(self.context, "compare.attacked", self.asked(one))
                if found is None:
                    return
                ui.label(one["name"]).classes("name")
                with ui.element("ul").classes("studio-list"):
                    for attack in found:
                        with ui.element("li"):
                            said = self.text("compare.attacked", success=self.text.percent(attack["success"]),
                                             baseline=self.text.percent(attack["baseline"]))  # fmt: skip
                            ui.label(f"{attack['name']}: {said}")
                            ui.label(self.text.said(attack["sentence"])).classes("quiet")


async def _map(context: PageContext, project: Project, choices: Mapping[str, Sequence[str]]) -> None:
    """The grid to try, the run, and the map of what it gave."""
    text = context.texts
    kept = project.kept("map", {})
    method = context.policy.get("search", {}).get("method")
    usual = [*dict.fromkeys([*SEARCHES, *([method] if method in choices["searches"] and method != "auto" else [])])]
    with ui.card().classes("w-full gap-3"):
        with ui.element("div").classes("options"):
            searches = ui.select([name for name in choices["searches"] if name != "auto"], multiple=True, value=usual,
                                 label=text("compare.searches"))  # fmt: skip
            ks = ui.input(text("compare.ks"), value=", ".join(map(str, KS)))
            searches.props("outlined dense use-chips")
            ks.props("outlined dense")
        others = _Others(context, project)
        await others.draw()
        folded = ui.expansion(text("compare.shell")).classes("form-more w-full").props("dense")
        with folded, ui.element("div").classes("options"):
            masks = ui.input(text("compare.maskers"), placeholder="rank-swapping p={5,15}")
            drawn = ui.input(text("compare.generators"), placeholder="sequential-trees leaf={10,30}")
            for field in (masks, drawn):
                field.props("outlined dense")
        ui.label(text("compare.map_about")).classes("quiet note")
        run_button = ui.button(text("compare.run"), icon="scatter_plot").props("unelevated").mark("map")
    area = ui.column().classes("w-full")
    shown = ui.column().classes("w-full gap-4")

    def show(found: Mapping[str, Any]) -> None:
        shown.clear()
        if found:
            with shown:
                _points(context, project, found)

    async def run() -> None:
        numbers = [part.strip() for part in (ks.value or "").replace(";", ",").split(",") if part.strip()]
        if not all(part.isdecimal() and int(part) > 1 for part in numbers) or not numbers:
            ui.notify(text("compare.bad_ks"), type="negative")
            return
        typed = [[part.strip()] if (part := field.value or "").strip() else [] for field in (masks, drawn)]
        given = [[*one, *two] for one, two in zip(typed, others.given(), strict=True)]
        run_button.disable()
        try:
            with area:
                found = await with_progress(
                    context, "compare.mapped", context.asked(), searches.value or [], [int(one) for one in numbers],
                    *given,
                )  # fmt: skip
        finally:
            run_button.enable()
        if found is not None:
            project.keep("map", found)
            show(found)

    run_button.on_click(run)
    show(kept)


class _Others:
    """Maskers and generators that stand on the map, too, each with a form; what was chosen is kept."""

    def __init__(self, context: PageContext, project: Project) -> None:
        self.context, self.project = context, project
        self.listed: list[dict[str, Any]] = project.kept("map others", [])

    async def draw(self) -> None:
        """Those that were chosen, and a further one."""
        text = self.context.texts
        self.known = {kind: await variants(self.context, kind) for kind in ("maskers", "generators")}
        self.area = ui.column().classes("w-full gap-3")
        await self.show()
        options = {
            f"{kind} {name}": f"{text(f'compare.{family}')}: {text.said(one['title'])}"
            for kind, family in (("maskers", "masking"), ("generators", "synthesis"))
            for name, one in self.known[kind].items()
        }
        with ui.row().classes("w-full items-center gap-4"):
            chosen = ui.select(options, label=text("compare.other"), with_input=True).props("outlined dense clearable")
            chosen.classes("grow").mark("other")

            async def add() -> None:
                if chosen.value:
                    kind, name = chosen.value.split(" ", 1)
                    columns = columns_by_role(self.context.policy)
                    values = first_values(self.known[kind][name], columns, example=True)
                    self.listed.append({"kind": kind, "name": name, "values": values})
                    await self.show()

            ui.button(text("compare.add_other"), on_click=add).props("outline").mark("add-other")

    async def show(self) -> None:
        """The forms of those that were chosen."""
        text = self.context.texts
        self.project.keep("map others", self.listed)
        self.area.clear()
        with self.area:
            for one in self.listed:
                variant = self.known[one["kind"]].get(one["name"])
                if variant is None:
                    continue
                with ui.element("div").classes("other w-full").mark("other-form"):
                    with ui.row().classes("w-full items-center no-wrap"):
                        ui.label(text.said(variant["title"])).classes("grow protection-name")
                        remove = ui.button(icon="delete_outline", on_click=partial(self.remove, one))
                        label = text("compare.drop_of", name=text.said(variant["title"]))
                        remove.props("flat round").props["aria-label"] = label

                    async def change(found: dict[str, Any], one: dict[str, Any] = one) -> None:
                        one["values"] = found
                        self.project.keep("map others", self.listed)

                    columns = columns_by_role(self.context.policy)
                    await Form(self.context, one["kind"], one["name"], one["values"], columns, change).draw()

    async def remove(self, one: dict[str, Any]) -> None:
        """Take one away."""
        self.listed.remove(one)
        await self.show()

    def given(self) -> tuple[list[Any], list[Any]]:
        """Maskings and generators as a policy writes them."""
        steps = [{"step": one["name"], **one["values"]} for one in self.listed if one["kind"] == "maskers"]
        drawn = [{"name": one["name"], **one["values"]} for one in self.listed if one["kind"] == "generators"]
        return steps, drawn


def _points(context: PageContext, project: Project, found: Mapping[str, Any]) -> None:
    """The map, and its points as a list."""
    text, points = context.texts, found["points"]
    detail: ui.column
    drawn = [i for i, one in enumerate(points) if one["risk"] is not None and one["utility"] is not None]
    with ui.card().classes("w-full gap-3").mark("points"):
        _title(text("compare.map_title", rows=text.number(found["rows"])))
        xs, ys = ([points[i][axis] for i in drawn] for axis in ("utility", "risk"))
        x, y = _scale(xs), _scale(ys)
        with ui.element("div").classes("map"):
            front = sorted((x(points[i]["utility"]), y(points[i]["risk"])) for i in drawn if points[i]["pareto"])
            line = " ".join(f"{left:.2f},{100 - up:.2f}" for left, up in front)
            ui.html(f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">'
                    f'<polyline class="front" points="{line}"/></svg>', sanitize=False)  # fmt: skip
            for i in drawn:
                one = points[i]
                kind = f"map-point {one['family']}" + (" pareto" if one["pareto"] else "")
                with ui.element("button").classes(kind) as dot:
                    ui.label(str(i + 1)).props("aria-hidden=true")
                dot.style(f"left: {x(one['utility']):.2f}%; bottom: {y(one['risk']):.2f}%")
                dot.props["aria-label"] = f"{i + 1}: {_point_name(one)}"
                dot.on("click", lambda i=i: _open(context, project, points[i], detail))
            for values, place, at in ((xs, x, "left"), (ys, y, "bottom")):
                for value in sorted({min(values), max(values)} if values else ()):
                    ui.label(text.said(_figure(value))).classes(f"map-tick {at}").style(f"{at}: {place(value):.2f}%")
            ui.label(f"{text('compare.utility')} ({found['utility']}) →").classes("map-x")
            ui.label(f"{text('compare.risk')} ({found['risk']}) →").classes("map-y")
        ui.label(text("compare.map_legend")).classes("quiet note")
        detail = ui.column().classes("w-full")
        with _scrolled("rows-grid", text("compare.map")), ui.element("table").classes("lesson-rows"):
            _head((text("compare.point"), text("compare.release"), "k", text("compare.risk"), text("compare.utility"),
                   text("compare.suppressed"), ""))  # fmt: skip
            with ui.element("tbody"):
                for i, one in enumerate(points):
                    with ui.element("tr"):
                        if one["status"] != "done":
                            _cells(str(i + 1), _point_name(one), _figure(one["k"]))
                            with ui.element("td").props("colspan=4"):
                                ui.label(text.said(one["reason"] or one["status"])).classes("quiet")
                            continue
                        name = _point_name(one) + (f" · {text('compare.on_front')}" if one["pareto"] else "")
                        figures = (_figure(one[part]) for part in ("k", "risk", "utility", "suppressed"))
                        _cells(str(i + 1), name, *map(text.said, figures))
                        with ui.element("td"):
                            button = ui.button(text("compare.open"), on_click=lambda i=i: _open(
                                context, project, points[i], detail)).props("flat dense no-caps")  # fmt: skip
                            button.props["aria-label"] = text("compare.open_of", number=i + 1)


def _open(context: PageContext, project: Project, one: Mapping[str, Any], area: ui.column) -> None:
    """A point of the map: what it is, and what can be done with it."""
    text, name = context.texts, _point_name(one)
    area.clear()

    def take() -> None:
        if context.change("candidate", one["policy"]):
            ui.notify(text("compare.taken", name=name))

    def keep() -> None:
        project.keep("compare tab", "candidates")
        project.add_candidate(name, {}, one["policy"])

    with area, ui.card().classes("w-full gap-2").mark("opened"):
        ui.label(name).classes("name")
        figures = {part: text.said(_figure(one[part])) for part in ("risk", "utility")}
        said = text("compare.point_about", **figures)
        ui.label(said).props("role=status")
        if one["reason"]:
            ui.label(text.said(one["reason"])).classes("quiet")
        with ui.row().classes("gap-3"):
            ui.button(text("compare.keep"), icon="bookmark_add", on_click=keep).props("unelevated").mark("keep")
            ui.button(text("compare.take"), on_click=take).props("outline").mark("take")


def _point_name(one: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (one["search"], one["parameters"], "" if one["k"] is None else f"k={one['k']}")))


def _scale(values: Sequence[float]) -> Any:
    """Where a value stands on an axis, in percent of it; ends are kept clear."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    wide = (high - low) or 1.0
    return lambda value: 6 + 88 * (value - low) / wide


def _rows(text: Any, found: Mapping[str, Any]) -> None:
    with ui.element("table").classes("lesson-rows"):
        _head((text("compare.row"), *found["columns"]))
        with ui.element("tbody"):
            for row in found["rows"]:
                with ui.element("tr"):
                    _cells(str(row["number"]))
                    if row["after"] is None:
                        with ui.element("td") as gone:
                            ui.label(text("compare.row_gone")).classes("alarm")
                        gone.props["colspan"] = str(len(found["columns"]))
                        continue
                    for old, new in zip(row["before"] or row["after"], row["after"], strict=True):
                        with ui.element("td").classes("changed-cell" if old != new else ""):
                            ui.label("–" if new is None else new)
                            if old != new:
                                ui.label("–" if old is None else old).classes("was")


def _gauge(text: Any, value: float, limit: float, widest: float) -> None:
    above = value > limit + 1e-12
    with ui.element("div").classes("gauge" + (" above" if above else "")):
        with ui.element("div").classes("gauge-track").props("aria-hidden=true"):
            ui.element("div").classes("gauge-fill").style(f"width: {100 * value / widest:.1f}%")
            ui.element("div").classes("gauge-limit").style(f"left: {100 * limit / widest:.1f}%")
        with ui.element("div").classes("gauge-words"):
            ui.icon("error" if above else "check_circle").props("aria-hidden=true")
            ui.label(f"{text.said(_figure(value))} · {text('compare.above' if above else 'compare.within')}")


def _note(faults: list[str], error: SfumatoError) -> None:
    faults.append(str(error))


def _suppressed(one: Mapping[str, Any]) -> str:
    gone = one["suppressed"]
    return "–" if gone is None else f"{number(gone)} ({percent(gone / one['rows'])})" if one["rows"] else number(gone)


def _figure(value: Any) -> str:
    return "–" if value is None else number(value, digits=DIGITS)


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _term(words: str, about: str = "") -> None:
    with ui.element("div").classes("term"):
        ui.label(words)
        if about:
            ui.label(about).classes("note")


def _scrolled(kind: str, label: str) -> ui.element:
    """A part that may be wider than the page, and is scrolled by keyboard, too."""
    found = ui.element("div").classes(kind).props("tabindex=0 role=group")
    found.props["aria-label"] = label
    return found


def _title(words: str) -> None:
    with ui.element("h2").classes("card-title"):
        ui.label(words)


def _head(names: Sequence[str]) -> None:
    with ui.element("thead"), ui.element("tr"):
        for name in names:
            with ui.element("th").props("scope=col") if name else ui.element("td"):
                ui.label(name)


def _cells(*words: str) -> None:
    for word in words:
        with ui.element("td"):
            ui.label(word)
