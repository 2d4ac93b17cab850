"""A protected table before its release: the audit in words, the cost, the cells, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from nicegui import ui

from sfumato.policyfile.protection import cell_policy
from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.pictures.cells import cell_table
from sfumato.studio.views.search import figure
from sfumato.studio.views.steps import as_sentence


def draw_fault(context: PageContext, found: Mapping[str, Any]) -> None:
    """Why there is no table, and what may help."""
    text = context.texts
    with ui.card().classes("w-full").mark("infeasible"):
        ui.label(text("statistical.cannot")).classes("card-title alarm")
        if "fault" in found:
            ui.label(text.said(found["fault"])).classes("faults")
            return
        ui.label(as_sentence(text.said(found["infeasible"]["what"])))
        if cells := found["infeasible"]["cells"]:
            ui.label(text("statistical.in_the_way"))
            with ui.element("ul").classes("changes"):
                for labels in cells:
                    with ui.element("li"):
                        ui.label(", ".join(text("statistical.total") if one == "*" else one for one in labels))
        ui.label(as_sentence(text.said(found["infeasible"]["hint"]))).classes("quiet")


def draw_table(context: PageContext, found: Mapping[str, Any]) -> None:
    """The audit in words, the cost, the table itself, and its release."""
    text, told = context.texts, found["figures"]
    with ui.card().classes("w-full gap-3").mark("result"):
        section(text("statistical.result"))
        ui.label(" ".join(_audited(context, told))).classes("promise-sentence").mark("audit")
        with ui.element("div").classes("figures"):
            if "hidden" in told:
                share, cells = text.percent(told["hidden"] / told["cells"]), text.number(told["cells"])
                of = text("statistical.of_cells", share=share, cells=cells)
                figure(text("statistical.cells_hidden"), text.number(told["hidden"]), of)
                measured = told["measured"]
                value = text("statistical.value_of", value=measured) if measured else text("statistical.rows_of")
                figure(text("statistical.value_hidden"), text.percent(told["share"]), value)
            elif told["left_out"]:
                figure(text("statistical.cells_left_out"), text.number(told["left_out"]), "")
            else:
                figure(text("statistical.cells_changed"), text.number(told["changed"]), "")
                figure(text("statistical.distance"), text.percent(told["distance"]), text("statistical.distance_about"))
        if "hidden" in told:
            ui.label(text("statistical.optimal" if told["optimal"] else "statistical.not_optimal")).classes("quiet")
        for note in found["notes"]:
            ui.label(as_sentence(text.said(note))).classes("quiet note")
        _grid(context, found)
        _release(context)


def _audited(context: PageContext, told: Mapping[str, Any]) -> list[str]:
    """How many cells are hidden, why, and how far an attacker comes; or what is true of changed cells."""
    text = context.texts
    by = "; ".join(
        text("statistical.by_rule", rule=text.said(title), count=text.number(n)) for title, n in told["rules"]
    )
    if "hidden" not in told:
        said = [text("statistical.unsafe_before", count=text.number(told["unsafe"]), rules=by)]
        if told["determined"]:
            said.append(text("statistical.determined", count=text.number(told["determined"])))
        return said + [text.said(one) for one in told["promises"]]
    if not told["hidden"]:
        return [text("statistical.nothing_hidden")]
    unsafe, secondary = told["hidden"] - told["secondary"], told["secondary"]
    said = [text("statistical.audited", hidden=text.number(told["hidden"]), cells=text.number(told["cells"]), rules=by,
                 unsafe=text.number(unsafe), secondary=text.number(secondary))]  # fmt: skip
    said.append(text("statistical.safe_inside" if told["coalition"] else "statistical.safe_outside"))
    low, high = (None if one is None else text.number(one) for one in told["narrowest"])
    if low is not None and high is not None:
        said.append(text("statistical.narrowest", low=low, high=high))
    return said


def _grid(context: PageContext, found: Mapping[str, Any]) -> None:
    """The cells as readers will see them, or as their owner does."""
    text, grid, flags = context.texts, found["grid"], found["figures"]["flags"]
    views = {False: text("statistical.public"), True: text("statistical.owner")}
    chosen = ui.toggle(views, value=False).props("no-caps unelevated").mark("view")
    chosen.props["aria-label"] = text("statistical.view")
    legend = ui.label(text("statistical.public_about")).classes("quiet note").props("role=status")
    with ui.element("div").classes("rows-grid").props("tabindex=0 role=group") as scrolled:
        scrolled.props["aria-label"] = text("statistical.result")
        shown = ui.html(cell_table(text, grid, False, flags), sanitize=False)

    def turn(event: Any) -> None:
        legend.set_text(text("statistical.owner_about" if event.value else "statistical.public_about"))
        shown.set_content(cell_table(text, grid, event.value, flags))

    chosen.on_value_change(turn)
    if grid["more_rows"] or grid["more_columns"]:
        ui.label(text("statistical.further_cells", rows=text.number(grid["more_rows"]),
                      columns=text.number(grid["more_columns"]))).classes("quiet")  # fmt: skip


def _release(context: PageContext) -> None:
    """The button that releases the table, and the policy file that makes the same."""
    text, project = context.texts, context.project
    assert project is not None
    policy = cell_policy(context.policy)
    same = next((one["number"] for one in reversed(project.releases()) if one["policy"] == policy), None)
    if same is not None:
        with ui.row().classes("items-center gap-2"):
            ui.label(text("release.same", number=same)).classes("quiet")
            ui.link(text("statistical.see"), f"/project/{quote(project.name)}/release")
    area = ui.column().classes("w-full")

    async def make() -> None:
        button.disable()
        number, folder = project.next_release()
        with area:
            figures = await with_progress(context, "statistical.make", context.asked(), str(folder))
        if figures is None:
            button.enable()
            return
        project.add_release(number, figures | {"by": "table"})
        ui.navigate.to(f"/project/{quote(project.name)}/release")

    with ui.row().classes("items-center gap-4"):
        button = ui.button(text("release.make"), on_click=make, icon="outbox").props("unelevated").mark("make")
        policy_link = ui.link(text("release.policy_download"), f"/project/{quote(project.name)}/policies/table")
        policy_link.props("download=policy.toml")
    ui.label("sfumato tables make policy.toml -o out").classes("mono shell")


def section(words: str) -> None:
    """The title of a card."""
    with ui.element("h2").classes("card-title"):
        ui.label(words)
