"""Release: what it will be, made, verified promise by promise, signed, and taken away."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from nicegui import ui

from sfumato.core.wording import number, percent
from sfumato.policyfile.difference import PolicyChange, difference
from sfumato.policyfile.protection import row_policy
from sfumato.studio import table_watch
from sfumato.studio.context import PageContext, prefer, preferences, with_progress
from sfumato.studio.downloads import add_download_routes, release_files
from sfumato.studio.layout import heading
from sfumato.studio.project import Project
from sfumato.studio.views.steps import as_sentence

ROLES = ("identifying", "person", "household", "quasi", "sensitive", "insensitive", "weight", "")  # as they are told
BECOMING = ("drawn", "changed", *ROLES)  # what becomes of columns
KNOWN = {"proven": "verified", "by construction": "foundation", "measured": "straighten",
         "against the original": "compare", "stated": "edit_note"}  # how, and its icon  # fmt: skip
OUTCOMES = {"holds": "check_circle", "broken": "error", "by construction": "foundation", "nothing promised": "info",
            "stated": "edit_note"}  # fmt: skip
VERBS = {"recoding": "anonymize", "masking": "mask", "synthesis": "synth", "table": "tables make"}
SAID = (
    "Proven",
    "By construction",
    "Stated",
    "Check it",
    "To check it",
)  # lines of an explanation that stand here in a form of their own


def add_routes(app: FastAPI, context: Callable[[Request], PageContext]) -> None:
    """Downloads."""
    add_download_routes(app, context)


async def draw(context: PageContext) -> None:
    """What will be released, and what was, the newest first."""
    text, project = context.texts, context.project
    assert project is not None
    heading(context, "release")
    if "input" not in context.policy:
        ui.link(text("studio.choose_table"), f"/project/{project.name}/data")
        return
    await table_watch.banner(context)
    released = project.releases()
    plan = ui.card().classes("w-full gap-3")
    for i in reversed(range(len(released))):
        alike = [one for one in released[:i] if _is_table(one) == _is_table(released[i])]
        _release(context, project, released[i], alike[-1] if alike else None, newest=i == len(released) - 1)
    with plan:
        await _plan(context, project, released)


def _is_table(one: Mapping[str, Any]) -> bool:
    """Whether a release is a statistical table: it is compared with none of rows."""
    return bool(one["figures"].get("by") == "table")


async def _plan(context: PageContext, project: Project, released: list[dict[str, Any]]) -> None:
    """What the policy as it is would release, and the button that does."""
    text = context.texts
    _title(text("release.plan"))
    if project.policy.get("table") and not any(project.policy.get(name) for name in ("require", "mask", "synthesis")):
        ui.label(text("release.only_table"))
        ui.link(text("steps.statistical"), f"/project/{quote(project.name)}/statistical")
        return
    waiting = ui.label(text("release.looking")).classes("quiet").props("role=status")
    faults: list[str] = []
    found = await context.run(
        "release.planned", context.asked(), slot=f"plan {ui.context.client.id}", failed=lambda e: faults.append(str(e))
    )
    waiting.delete()
    if found is None:
        if faults:
            ui.label(text("release.not_yet")).classes("alarm")
            ui.label(text.said(faults[0])).classes("faults")
        return
    _describe(context, found)
    policy = row_policy(project.policy)
    same = next((one["number"] for one in reversed(released) if one["policy"] == policy), None)
    if same is not None:
        ui.label(text("release.same", number=same)).classes("quiet")
    area = ui.column().classes("w-full")

    async def make() -> None:
        button.disable()
        number, folder = project.next_release()
        with area:
            figures = await with_progress(context, "release.make", context.asked(), str(folder))
        if figures is None:
            button.enable()
        else:
            project.add_release(number, figures | {"by": found["by"]})

    button = ui.button(text("release.make"), on_click=make, icon="outbox").props("unelevated").mark("make")


def _describe(context: PageContext, found: Mapping[str, Any]) -> None:
    """What becomes of each column, and what is promised."""
    text = context.texts
    with ui.element("dl").classes("told"):
        for role in BECOMING:
            if names := [name for name, given in found["columns"].items() if given == role]:
                _line(text(f"release.of_{role or 'none'}"), ", ".join(names))
        for step in found["steps"]:
            _line(text("release.steps"), text.said(as_sentence(step)))
        if found["generator"]:
            _line(text("release.generator"), text.said(as_sentence(found["generator"])))
        for promise in found["promises"]:
            _line(text("release.promised"), text.said(promise["sentence"]))
        if found["private"] is not None:
            charged = text("release.charged" if found["private"]["charged"] else "release.not_charged")
            _line(text("release.cost"), f"{text.said(found['private']['cost'] or '')}; {charged}".lstrip("; "))
        elif not found["promises"]:
            _line(text("release.promised"), text("release.nothing"))
        if found["by"] == "recoding":
            limit = found["suppression"]
            _line(text("release.suppressed"), text.said(percent(limit) if isinstance(limit, float) else number(limit)))


def _release(
    context: PageContext, project: Project, one: Mapping[str, Any], before: Mapping[str, Any] | None, newest: bool
) -> None:
    """A release: its verdict, and everything that can be done with it."""
    text, figures, number = context.texts, one["figures"], one["number"]
    when = datetime.fromtimestamp(one["time"]).strftime("%Y-%m-%d %H:%M")
    with ui.card().classes("w-full gap-3").mark(f"release-{number}"):
        with ui.row().classes("w-full items-center gap-3"):
            _title(text("release.number", number=number))
            ui.label(when).classes("quiet")
            ui.space()
            _verdict(context, figures["outcome"])
        body = ui.column().classes("w-full gap-3") if newest else ui.expansion(text("release.more")).classes("w-full")
        with body:
            if before is not None:
                _changes(context, difference(before["policy"], one["policy"]), before["number"])
            _promises(context, figures)
            _signature(context, project, one)
            _take(context, project, one)
            _report(context, project, number, newest)


def _verdict(context: PageContext, outcome: str) -> None:
    with ui.element("span").classes("verdict" + (" broken" if outcome == "broken" else "")):
        ui.icon(OUTCOMES[outcome]).props("aria-hidden=true")
        ui.label(context.texts(f"release.{outcome.replace(' ', '_')}"))


def _promises(context: PageContext, figures: Mapping[str, Any]) -> None:
    """Each promise with how it is known, then what was measured, and what is not covered."""
    text = context.texts
    with ui.element("ul").classes("studio-list promises"):
        for promise in figures["promises"]:
            _promise(context, promise["how"], promise["holds"], promise["sentence"], promise["note"])
        for fact in figures["facts"]:
            _promise(context, "measured", fact["holds"], fact["sentence"], fact["note"])
        for term, sentence in figures["told"]:
            if term == "Measured":
                _promise(context, "measured", True, sentence, None)
    for note in figures.get("notes", ()):
        ui.label(as_sentence(text.said(note))).classes("quiet note")
    with ui.element("dl").classes("told"):
        for term, sentence in figures["told"]:
            if term not in (*SAID, "Measured"):
                _line(text.said(term), text.said(sentence))


def _promise(context: PageContext, how: str, holds: bool | None, sentence: str, note: str | None) -> None:
    text = context.texts
    kind = how.replace(" ", "_")
    with ui.element("li").classes(f"promise {kind}" + ("" if holds is not False else " broken")):
        with ui.element("span").classes("how"):
            ui.icon(KNOWN[how] if holds is not False else "error").props("aria-hidden=true")
            ui.label(text(f"release.{kind}") if holds is not False else text("release.broken"))
        with ui.element("div"):
            ui.label(text.said(sentence))
            if note:
                ui.label(text.said(note)).classes("quiet")


def _changes(context: PageContext, changes: Iterable[PolicyChange], before: int) -> None:
    """What changed in the policy since the release before."""
    text, found = context.texts, tuple(changes)
    ui.label(text("release.changed", number=before) if found else text("release.unchanged", number=before))
    with ui.element("ul").classes("changes"):
        for change in found:
            with ui.element("li"):
                ui.label(worded(context, change))


def worded(context: PageContext, change: PolicyChange) -> str:
    """A change of a policy in words."""
    text = context.texts

    def shown(value: str | None) -> str:
        if value is None:
            return text("release.no_role") if change.table == "roles" else ""
        return text(f"roles.{value}") if change.table == "roles" and value in ROLES else value

    kind = "new" if change.before is None else "gone" if change.after is None else "other"
    if change.table == "roles":
        kind = "role"
    name = change.name if change.table in ("roles", "require", "mask", "rule") else f"{change.table} {change.name}"
    return text(f"release.change_{kind}", name=name, before=shown(change.before), after=shown(change.after))


def _signature(context: PageContext, project: Project, one: Mapping[str, Any]) -> None:
    """Who signed it, or the form to do so."""
    text, figures = context.texts, one["figures"]
    signature = figures["signature"]
    if signature is not None:
        with ui.element("div").classes("signature"):
            with ui.row().classes("items-center gap-2"):
                ui.icon("draw" if signature["valid"] else "error").props("aria-hidden=true")
                valid = "signed" if signature["valid"] else "not_valid"
                ui.label(text(f"release.{valid}", name=signature["name"] or "", date=signature["date"] or ""))
            if signature["statement"]:
                ui.label(f"“{signature['statement']}”").classes("statement")
            ui.label(signature["key"] or "").classes("mono quiet key")
            for fault in signature["faults"]:
                ui.label(text.said(fault)).classes("alarm")
    if figures["caveat"]:
        ui.label(text.said(figures["caveat"])).classes("quiet")
    if figures["outcome"] == "broken" or signature is not None:
        return
    with ui.expansion(text("release.sign"), icon="draw").classes("w-full sign").mark(f"sign-{one['number']}"):
        _form(context, project, one)


def _form(context: PageContext, project: Project, one: Mapping[str, Any]) -> None:
    text, key = context.texts, context.studio.key_of(context.user)
    known = key.exists()
    ui.label(text("release.key_there" if known else "release.key_new", path=str(key))).classes("quiet")
    name = ui.input(text("release.name"), value=preferences(context.root).get("name", "")).props("outlined dense")
    statement = ui.textarea(text("release.statement"), value=text("release.approve")).props("outlined dense autogrow")
    day = ui.input(text("release.date"), value=date.today().isoformat()).props("outlined dense type=date stack-label")
    secret = ui.input(text("release.passphrase"), password=True).props("outlined dense autocomplete=off")
    again = ui.input(text("release.again"), password=True).props("outlined dense autocomplete=off")
    again.set_visibility(not known)
    for field in (name, statement, day, secret, again):
        field.classes("w-full")
    area = ui.column().classes("w-full")

    async def sign() -> None:
        if not known and secret.value != again.value:
            ui.notify(text("release.not_same"), type="negative")
            return
        said = {"name": name.value or "", "statement": statement.value or "", "date": day.value or "",
                "passphrase": secret.value or ""}  # fmt: skip
        secret.value = again.value = ""
        folder = project.release_folder(one["number"])
        with area:
            found = await with_progress(context, "release.sign", str(folder), str(key), said, not context.studio.users)
        if found is not None:
            prefer(context.root, name=said["name"])
            project.note_release(one["number"], one["figures"] | found)

    ui.button(text("release.sign"), on_click=sign, icon="draw").props("unelevated").mark(f"do-sign-{one['number']}")


def _take(context: PageContext, project: Project, one: Mapping[str, Any]) -> None:
    """Downloads, the policy, and the line that makes the same in a shell."""
    text, number = context.texts, one["number"]
    base = f"/project/{quote(project.name)}"
    here = f"{base}/releases/{number}"
    with ui.row().classes("w-full items-center gap-3"):
        download = ui.link(text("release.zip"), here).classes("button")
        download.props["download"] = f"{project.name} {number}.zip"
        if one["figures"]["signature"] is not None:
            ui.link(text("release.public_key"), "/signing.pub").classes("button quiet-button").props("download")

        async def again() -> None:
            with area:
                found = await with_progress(context, "release.verified", str(project.release_folder(number)))
            if found is not None:
                project.note_release(number, one["figures"] | found)
                ui.notify(text("release.verified_again"))

        ui.button(text("release.verify"), on_click=again, icon="verified").props("flat").mark(f"verify-{number}")
    area = ui.column().classes("w-full")
    with ui.element("ul").classes("files"):
        for name, size in release_files(project.release_folder(number)):
            with ui.element("li"):
                if "/" in name:
                    ui.label(name).classes("mono")
                else:
                    ui.link(name, f"{here}/{quote(name)}?download").classes("mono").props("download")
                ui.label(shown_size(size)).classes("quiet")
    with ui.expansion(text("release.policy"), icon="description").classes("w-full"):
        ui.label(text("release.policy_about")).classes("quiet")
        ui.label(f"sfumato {VERBS[one['figures']['by']]} policy.toml -o {shlex.quote('out')}").classes("mono shell")
        ui.label(f"sfumato verify {shlex.quote(str(project.release_folder(number)))}").classes("mono shell")
        ui.label(project.exported(one["policy"])).classes("mono policy")
        ui.link(text("release.policy_download"), f"{base}/policies/{number}").props("download=policy.toml")


def _report(context: PageContext, project: Project, number: int, newest: bool) -> None:
    """The report as it will be read."""
    text = context.texts
    address = f"/project/{quote(project.name)}/releases/{number}/report.html"
    if newest:
        frame = ui.element("iframe").props('sandbox=""').classes("report")
        frame.props["src"], frame.props["title"] = address, text("release.report")
    ui.link(text("release.open_report"), address, new_tab=True)


def shown_size(size: float) -> str:
    """Bytes as people read them.

    >>> shown_size(312), shown_size(1_250_000)
    ('312 B', '1.2 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError


def _title(words: str) -> None:
    with ui.element("h2").classes("card-title"):
        ui.label(words)


def _line(term: str, words: str) -> None:
    with ui.element("dt"):
        ui.label(term)
    with ui.element("dd"):
        ui.label(words)
