"""Hierarchies: how each quasi-identifying column is generalised, as a tree that is edited in place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from nicegui import app as nicegui_app
from nicegui import ui

from sfumato.core.wording import number
from sfumato.studio import cuts
from sfumato.studio.context import PageContext
from sfumato.studio.layout import heading
from sfumato.studio.project import find
from sfumato.studio.uploads import LARGEST
from sfumato.studio.views.builders import HierarchyMaker
from sfumato.studio.views.data import SEND

CHILDREN = 200  # drawn of a node at first, and added by "more"
KEYS = """(event) => {
  const item = event.target.closest('[role=treeitem]');
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  const tree = item.closest('[role=tree]'), all = [...tree.querySelectorAll('[role=treeitem]')], at = all.indexOf(item);
  const open = item.getAttribute('aria-expanded');
  const go = (one) => { if (one) one.focus(); };
  const does = {
    ArrowDown: () => go(all[at + 1]), ArrowUp: () => go(all[at - 1]), Home: () => go(all[0]), End: () => go(all.at(-1)),
    ArrowRight: () => open === 'false' ? emit(item.dataset.node, 'toggle') : open === 'true' && go(all[at + 1]),
    ArrowLeft: () => open === 'true' ? emit(item.dataset.node, 'toggle')
      : go(all.slice(0, at).findLast((one) => Number(one.ariaLevel) < Number(item.ariaLevel))),
    Enter: () => emit(item.dataset.node, 'select'), ' ': () => emit(item.dataset.node, 'select'),
    F2: () => emit(item.dataset.node, 'rename'),
  }[event.key];
  if (does) { event.preventDefault(); does(); }
}"""
CLICK = """(event) => {
  const item = event.target.closest('[role=treeitem]');
  if (!item) return;
  item.focus();
  emit(item.dataset.node, event.target.closest('.tree-open') ? 'toggle' : 'select');
}"""
# one node of the tree is reached by the tab key: the one that had the focus last
ROVING = """(event) => {
  const item = event.target.closest('[role=treeitem]');
  if (!item) return;
  item.closest('[role=tree]').querySelectorAll('[tabindex="0"]').forEach((one) => { one.tabIndex = -1; });
  item.tabIndex = 0;
}"""
Node = tuple[int, str]  # level and label, which stands once within it


@dataclass
class Looked:
    """What is looked at on this page: it stays while edits draw the page again."""

    column: str = ""
    opened: dict[Node, int] = field(default_factory=dict)  # with how many children
    selected: list[Node] = field(default_factory=list)
    find: str = ""
    focus: Node | None = None  # what gets the focus once the tree is drawn
    making: bool = False

    def turn_to(self, column: str) -> None:
        """Look at another column."""
        self.column, self.opened, self.selected, self.find = column, {}, [], ""
        self.focus, self.making = None, False


def add_routes(app: FastAPI, context: Callable[[Request], PageContext]) -> None:
    """Exports."""

    @app.get("/project/{name}/hierarchy")
    async def _export(request: Request, name: str, column: str) -> Response:
        own = context(request)
        project = find(own.root, name)
        asked = {"tables": project.policy, "folder": str(project.folder)}
        workers = own.studio.workers
        found = await workers.run("hierarchies.exported", asked, column, about=str(project.folder))
        named = {"content-disposition": f"attachment; filename*=UTF-8''{quote(column, safe='')}.csv"}
        return PlainTextResponse(found, media_type="text/csv; charset=utf-8", headers=named)


async def draw(context: PageContext) -> None:
    """A tab per quasi-identifier; below it the tree, what can be done with it, and how to make another."""
    text, policy, project = context.texts, context.policy, context.project
    assert project is not None
    heading(context, "hierarchies")
    columns = quasi_of(policy)
    if not columns:
        page, words = ("roles", "hierarchies.no_columns") if "input" in policy else ("data", "studio.choose_table")
        ui.link(text(words), f"/project/{project.name}/{page}")
        return
    looked: Looked = nicegui_app.storage.client.setdefault("hierarchies", Looked())
    if looked.column not in columns:
        asked = ui.context.client.request.query_params.get("column")
        looked.turn_to(asked if asked in columns else columns[0])
    with ui.tabs().props("align=left no-caps outside-arrows mobile-arrows dense") as tabs:
        tabs.classes("w-full column-tabs")
        for name in columns:
            ui.tab(name, label=name).classes("mono")
    area = ui.column().classes("w-full gap-4")

    async def turn(event: Any) -> None:
        looked.turn_to(event.value)
        await show()

    tabs.set_value(looked.column)
    tabs.on_value_change(turn)

    async def show() -> None:
        area.clear()
        with area:
            await HierarchyPage(context, looked).draw()

    await show()


def quasi_of(policy: Mapping[str, Any]) -> list[str]:
    """The quasi-identifying columns of a policy."""
    named = policy.get("roles", {}).get("quasi", [])
    return list(dict.fromkeys(name for one in named for name in (one if isinstance(one, list) else [one])))


class HierarchyPage:
    """The hierarchy of one column."""

    def __init__(self, context: PageContext, looked: Looked) -> None:
        self.context, self.looked, self.column = context, looked, looked.column
        self.nodes: list[dict[str, Any]] = []
        self.found: dict[str, Any] = {}

    # Drawing

    async def draw(self) -> None:
        text, looked = self.context.texts, self.looked
        self.top = ui.element("div").classes("w-full")
        self.alerts = ui.element("div").classes("w-full")
        with ui.element("div").classes("hierarchy-grid"):
            with ui.card().classes("hierarchy-tree"):
                asked = ui.input(text("hierarchies.find"), value=looked.find, on_change=self.filter)
                asked.props("outlined dense clearable debounce=300").classes("w-full").mark("find")
                self.tree = ui.element("div").classes("tree").props("role=tree aria-multiselectable=true")
                self.tree.props["aria-label"] = text("hierarchies.tree_of", column=self.column)
                self.tree.on("keydown", self.act, js_handler=KEYS).on("click", self.act, js_handler=CLICK)
                self.tree.on("focusin", js_handler=ROVING)
            with ui.column().classes("hierarchy-side"):
                self.panel = ui.card().classes("w-full")
                self.levels = ui.card().classes("w-full")
        self.maker = ui.expansion(text("hierarchies.make"), value=looked.making).classes("w-full bordered").mark("make")
        self.maker.on_value_change(self.open_maker)
        if not await self.load():
            return
        self.draw_top()
        self.draw_levels()
        self.draw_panel()
        if looked.making:
            await self.fill_maker()
        if looked.focus is not None:
            self.focus(looked.focus)
            looked.focus = None

    async def load(self) -> bool:
        """Read the hierarchy, and draw the tree."""
        looked = self.looked
        opened = [[*node, most] for node, most in looked.opened.items()]
        found = await self.context.run(
            "hierarchies.tree", self.context.asked(), self.column, opened, looked.find,
            None if looked.focus is None else list(looked.focus), slot=self.slot("tree"),
        )  # fmt: skip
        if found is None or self.tree.is_deleted:
            return False
        root = found["root"]
        looked.opened = {(level, label): most for level, label, most in found["opened"]}
        self.found, self.nodes = found, []
        self.tree.clear()
        with self.tree:
            if root is not None:
                self.draw_node(root)
        return True

    def slot(self, what: str) -> str:
        return f"hierarchies {what} {ui.context.client.id}"

    def draw_node(self, node: dict[str, Any]) -> None:
        """A node, and its children where it is opened."""
        text, key = self.context.texts, (node["level"], node["label"])
        selected = key in self.looked.selected
        with ui.element("div").classes("tree-row").props("role=treeitem") as item:
            item.props["data-node"] = str(len(self.nodes))
            item.props["tabindex"] = "-1" if self.nodes else "0"
            item.props["aria-selected"] = "true" if selected else "false"
            item.props["aria-level"] = str(self.found["levels"][-1]["level"] - node["level"] + 1)
            ui.element("span").classes("tree-open" if node["inner"] else "tree-leaf").props("aria-hidden=true")
            ui.label(node["label"]).classes("tree-label")
            ui.label(self.number(node["rows"])).classes("figure quiet").props["title"] = text("hierarchies.rows")
        node["item"], node["group"] = item, None
        self.nodes.append(node)
        if node["inner"]:
            item.props["aria-expanded"] = "true" if node["children"] else "false"
            node["group"] = ui.element("div").classes("tree-group").props("role=group")
            if node["children"]:
                self.draw_children(node)
            else:
                node["group"].set_visibility(False)

    def draw_children(self, node: dict[str, Any]) -> None:
        with node["group"]:
            for child in node["children"]:
                self.draw_node(child)
            if node["hidden"]:
                more = {"more": node}
                with ui.element("div").classes("tree-more").props("role=treeitem tabindex=-1") as item:
                    item.props["aria-level"] = str(self.found["levels"][-1]["level"] - node["level"] + 2)
                    item.props["data-node"] = str(len(self.nodes))
                    ui.label(self.context.texts("hierarchies.more", count=self.number(node["hidden"])))
                self.nodes.append(more)

    def draw_top(self) -> None:
        """What the hierarchy is, where it goes and comes from, and what is wrong with it."""
        context, text, found, project = self.context, self.context.texts, self.found, self.context.project
        assert project is not None
        self.top.clear()
        with self.top, ui.row().classes("w-full items-center gap-3"):
            height = max(len(found["levels"]) - 1, 0)
            words = text("hierarchies.about", values=self.number(found["values"]), height=height)
            with ui.column().classes("grow gap-0"):
                ui.label(text.said(found["about"])).classes("mono path").mark("about")
                ui.label(words).classes("quiet")
            self.draw_import()
            target = f"/project/{quote(project.name)}/hierarchy?column={quote(self.column, safe='')}"
            ui.link(text("hierarchies.export"), target).classes("button quiet-button")
            if self.column in context.policy.get("hierarchies", {}):
                ui.button(text("hierarchies.learn"), on_click=lambda: self.use(None)).props("flat").mark("learn")
        self.alerts.clear()
        with self.alerts:
            if found["fault"]:
                self.alarm(found["fault"])
            if found["lacking"]:
                self.draw_lacking(found["lacking"])

    def draw_lacking(self, count: int) -> None:
        text = self.context.texts
        with ui.expansion(text("hierarchies.lacking", count=self.number(count))).classes("w-full bordered") as listed:
            listed.mark("lacking")

            async def fill(event: Any) -> None:
                if not event.value or inside.default_slot.children:
                    return
                values = await self.context.run("hierarchies.lacking", self.context.asked(), self.column) or []
                with inside:
                    for value, rows in values:
                        with ui.element("li"):
                            ui.label(text("hierarchies.node", label=value, rows=self.number(rows)))
                    if len(values) < count:
                        with ui.element("li").classes("quiet"):
                            ui.label(text("hierarchies.more", count=self.number(count - len(values))))

            inside = ui.element("ul").classes("lacking")
            listed.on_value_change(fill)

    def draw_import(self) -> None:
        text, project = self.context.texts, self.context.project
        assert project is not None
        with ui.element("label").classes("button quiet-button import"):
            ui.label(text("hierarchies.import"))
            chosen = ui.element("input").props('type=file accept=".csv,.tsv,.txt"')
            chosen.props["aria-label"] = text("hierarchies.import")

            async def sent(event: Any) -> None:
                status, answer = event.args.get("status"), str(event.args.get("text", ""))
                if status is None:
                    return
                if status != 200:
                    self.alarm(answer or text("data.broken_off"))
                    return
                path = json.loads(answer)["path"]
                await self.write("hierarchies.imported", path)

            chosen.on("change", sent, js_handler=SEND % (LARGEST, f"/project/{quote(project.name)}/upload"))

    def alarm(self, message: str) -> None:
        """What is wrong, above the tree."""
        with self.alerts, ui.element("div").classes("banner").props("role=alert"):
            ui.icon("error_outline").props("aria-hidden=true")
            ui.label(self.context.texts.said(message)).classes("faults grow")

    def draw_levels(self) -> None:
        """The levels, the root first, with what can be done to each."""
        text, levels = self.context.texts, self.found["levels"]
        self.levels.clear()
        with self.levels:
            _title(text("hierarchies.levels"))
            with ui.element("ul").classes("studio-list levels"):
                for one in reversed(levels):
                    self.draw_level(one, len(levels) - 1)
                if not levels:
                    ui.label(text("hierarchies.none")).classes("quiet")

    def draw_level(self, one: Mapping[str, Any], height: int) -> None:
        text, level = self.context.texts, one["level"]
        with ui.element("li"), ui.row().classes("w-full items-center no-wrap gap-1"):
            with ui.column().classes("grow gap-0"):
                ui.label(text("hierarchies.level", level=level))
                kind = "values" if level == 0 else "root" if level == height else "groups"
                ui.label(text(f"hierarchies.of_{kind}", count=self.number(one["labels"]))).classes("quiet")
            if self.found["cuts"] and 0 < level < height:
                _icon("content_cut", text("hierarchies.cut_level", level=level), lambda: self.cut(one))
            if 0 < level < height:
                _icon("delete_outline", text("hierarchies.remove_level", level=level),
                      lambda: self.edit(kind="remove", level=level))  # fmt: skip
            if level < height:
                _icon("add", text("hierarchies.insert_level", level=level),
                      lambda: self.edit(kind="insert", level=level + 1))  # fmt: skip

    def draw_panel(self) -> None:
        """What can be done with what is selected."""
        text, chosen, levels = self.context.texts, self.looked.selected, self.found["levels"]
        height = len(levels) - 1
        self.panel.clear()
        with self.panel:
            _title(text("hierarchies.edit"))
            if not chosen or not levels:
                ui.label(text("hierarchies.pick")).classes("quiet")
                ui.label(text("hierarchies.keys")).classes("quiet note")
                return
            level, labels = chosen[0][0], [label for _, label in chosen]
            with ui.row().classes("w-full items-center no-wrap"):
                said = text("hierarchies.selected", count=len(labels), level=level)
                ui.label(said).classes("grow").props("role=status")
                ui.button(text("hierarchies.clear"), on_click=self.clear).props("flat dense")
            ui.label(", ".join(labels[:8]) + (" …" if len(labels) > 8 else "")).classes("quiet path")
            able = {
                "rename": len(labels) == 1 and level > 0,
                "merge": len(labels) > 1 and 0 < level < height,
                "group": level < height,
            }
            self.name = ui.input(text("hierarchies.name")).props("outlined dense").classes("w-full").mark("name")
            if able["rename"]:
                self.name.set_value(labels[0])
            first = next(kind for kind in able if able[kind])
            self.name.on("keydown.enter", lambda: self.named(first))
            with ui.row().classes("gap-2"):
                for kind in (kind for kind in able if able[kind]):
                    button = ui.button(text(f"hierarchies.{kind}"), on_click=lambda kind=kind: self.named(kind))
                    button.props("unelevated" if kind == first else "outline").mark(kind)
            if level + 1 < height:
                self.draw_move(level)

    def draw_move(self, level: int) -> None:
        text = self.context.texts
        with ui.row().classes("w-full items-center no-wrap gap-2"):
            target = ui.select([], label=text("hierarchies.move_to"), with_input=True, new_value_mode="add-unique")
            target.props("outlined dense options-dense").classes("grow").mark("target")

            async def move() -> None:
                if target.value:
                    await self.edit(kind="move", level=level, labels=self.labels, to=target.value)

            ui.button(text("hierarchies.move"), on_click=move).props("outline").mark("move")

        async def fill() -> None:
            listed = await self.context.run("hierarchies.groups", self.context.asked(), self.column, level + 1)
            if listed is not None and not target.is_deleted:
                target.set_options(listed)

        ui.timer(0.01, fill, once=True)

    # What people do

    @property
    def labels(self) -> list[str]:
        return [label for _, label in self.looked.selected]

    def number(self, value: float) -> str:
        return self.context.texts.said(number(value))

    async def filter(self, event: Any) -> None:
        self.looked.find = event.value or ""
        await self.load()

    async def act(self, event: Any) -> None:
        """A key or a click in the tree."""
        place, what = event.args
        node = self.nodes[int(place)]
        if "more" in node:
            await self.more(node["more"])
        elif what == "toggle":
            await self.toggle(node)
        elif what == "rename":
            self.select(node, alone=True)
            ui.run_javascript("document.querySelector('.hierarchy-side input')?.focus()")
        else:
            self.select(node)

    async def toggle(self, node: dict[str, Any]) -> None:
        key = (node["level"], node["label"])
        if node["children"]:
            self.looked.opened.pop(key, None)
            self.close(node)
        else:
            self.looked.opened[key] = CHILDREN
            await self.open(node)

    async def more(self, node: dict[str, Any]) -> None:
        key = (node["level"], node["label"])
        self.looked.opened[key] = len(node["children"]) + CHILDREN
        at = len(node["children"])
        await self.open(node)
        if at < len(node["children"]):
            self.focus((node["children"][at]["level"], node["children"][at]["label"]))

    async def open(self, node: dict[str, Any]) -> None:
        level, label = node["level"], node["label"]
        found = await self.context.run(
            "hierarchies.node", self.context.asked(), self.column, level, label, self.looked.opened[level, label],
            self.looked.find,
        )  # fmt: skip
        if found is None or node["item"].is_deleted:
            return
        node["children"], node["hidden"] = found["children"], found["hidden"]
        node["group"].clear()
        self.draw_children(node)
        node["group"].set_visibility(True)
        node["item"].props["aria-expanded"] = "true"
        node["item"].update()

    def close(self, node: dict[str, Any]) -> None:
        node["children"] = []
        node["group"].clear()
        node["group"].set_visibility(False)
        node["item"].props["aria-expanded"] = "false"
        node["item"].update()

    def select(self, node: dict[str, Any], alone: bool = False) -> None:
        """Select a node, or no longer; all that are selected are of one level."""
        key, before = (node["level"], node["label"]), self.looked.selected
        kept = [one for one in before if one[0] == key[0] and one != key and not alone]
        self.looked.selected = kept if key in before and not alone else [*kept, key]
        self.mark()
        self.draw_panel()

    def clear(self) -> None:
        self.looked.selected = []
        self.mark()
        self.draw_panel()

    def mark(self) -> None:
        for node in self.nodes:
            if "more" in node or node["item"].is_deleted:
                continue
            now = "true" if (node["level"], node["label"]) in self.looked.selected else "false"
            if node["item"].props["aria-selected"] != now:
                node["item"].props["aria-selected"] = now
                node["item"].update()

    def focus(self, key: Node) -> None:
        """Put the focus on a node, where it is drawn."""
        shown = {(one["level"], one["label"]): i for i, one in enumerate(self.nodes) if "more" not in one}
        place = shown.get(key, 0)
        ui.run_javascript(
            f"requestAnimationFrame(() => document.querySelector('[role=tree] [data-node=\"{place}\"]')?.focus())"
        )

    async def named(self, kind: str) -> None:
        """Rename, merge, or make a group of what is selected."""
        to = (self.name.value or "").strip()
        level = self.looked.selected[0][0]
        await self.edit(kind=kind, level=level, labels=self.labels, to=to)

    async def edit(self, **edit: Any) -> None:
        """Edit the hierarchy; the page is drawn again where that was possible."""
        level, height = edit["level"], len(self.found["levels"]) - 1
        by = {"insert": 1, "remove": -1, "group": int(level + 1 == height)}.get(edit["kind"], 0)
        first = level + 1 if edit["kind"] == "group" else level
        at = {"rename": level, "merge": level, "group": level + 1, "move": level + 1}.get(edit["kind"])
        after = None if at is None else (at, edit["to"])
        if await self.write("hierarchies.edited", edit, after):  # the page is drawn again once this is done
            opened = {(one + by * (one >= first), label): most for (one, label), most in self.looked.opened.items()}
            self.looked.opened = opened if after is None else {**opened, after: CHILDREN}

    async def write(self, task: str, what: Any, after: Node | None = None) -> bool:
        """Have a new file of the hierarchy written, and take it."""
        self.alerts.clear()
        spec = await self.context.run(
            task, self.context.asked(), self.column, what, failed=lambda error: self.alarm(str(error))
        )
        return spec is not None and self.use(spec, after)

    def use(self, spec: Any, after: Node | None = None) -> bool:
        """Take another hierarchy for the column: a file, a builder, or None to have it learned."""
        selected, self.looked.selected, self.looked.focus = self.looked.selected, [], after
        if self.context.change("hierarchy", with_hierarchy(self.context.policy, self.column, spec)):
            return True
        self.looked.selected, self.looked.focus = selected, None
        return False

    def make(self, spec: Any) -> None:
        """Take what a form made."""
        self.looked.making = False
        self.use(spec)

    async def cut(self, level: Mapping[str, Any]) -> None:
        """Ask for the cut points of a level."""
        text = self.context.texts
        spread = await self.context.run("hierarchies.histogram", self.context.asked(), self.column)
        if spread is None:
            return
        with ui.dialog(value=True) as dialog, ui.card().classes("cut-dialog"):
            dialog.props["aria-label"] = text("hierarchies.cut_level", level=level["level"])
            _title(text("hierarchies.cut_level", level=level["level"]))
            ui.label(text("hierarchies.cut_about")).classes("quiet")
            field = ui.input(text("hierarchies.cuts"), value=", ".join(level["cuts"] or [])).props("outlined dense")
            field.classes("w-full mono").mark("cuts")
            cuts.draw(text, spread, field)

            async def take() -> None:
                points = [part.strip() for part in (field.value or "").split(",") if part.strip()]
                dialog.close()
                await self.edit(kind="cuts", level=level["level"], cuts=points)

            field.on("keydown.enter", take)
            with ui.row().classes("w-full justify-end"):
                ui.button(text("studio.cancel"), on_click=dialog.close).props("flat")
                ui.button(text("hierarchies.set_cuts"), on_click=take).props("unelevated").mark("set-cuts")

    # Making another

    async def open_maker(self, event: Any) -> None:
        self.looked.making = bool(event.value)
        if event.value and not self.maker.default_slot.children:
            await self.fill_maker()

    async def fill_maker(self) -> None:
        found = await self.context.run("hierarchies.builders", self.context.asked(), self.column)
        if found is not None and not self.maker.is_deleted:
            with self.maker:
                await HierarchyMaker(self, found).draw()


def with_hierarchy(policy: Mapping[str, Any], column: str, spec: Any) -> dict[str, Any]:
    """A policy in which a column has another hierarchy, or none.

    >>> with_hierarchy({"hierarchies": {"age": "a.csv"}}, "age", None)
    {'hierarchies': {}}
    """
    others = {name: one for name, one in policy.get("hierarchies", {}).items() if name != column}
    return {**policy, "hierarchies": others if spec is None else {**others, column: spec}}


def _icon(icon: str, label: str, action: Any) -> None:
    button = ui.button(icon=icon, on_click=action).props("flat round dense size=sm")
    button.props["aria-label"] = label
    button.tooltip(label)


def _title(words: str) -> None:
    with ui.element("h2").classes("card-title"):
        ui.label(words)
