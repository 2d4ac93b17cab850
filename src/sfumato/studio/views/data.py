"""Data: which table it is, how it is read, and what its columns and rows look like."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from nicegui import ui
from starlette.requests import ClientDisconnect

from sfumato.core.wording import number
from sfumato.errors import SfumatoError
from sfumato.studio import table_watch
from sfumato.studio.browse import pick
from sfumato.studio.context import PageContext, with_progress
from sfumato.studio.layout import heading
from sfumato.studio.project import find
from sfumato.studio.uploads import LARGEST, TOO_LARGE, receive

COLUMNS = 40  # shown at a time
BASES = ("duckdb", "ddb", "db", "sqlite", "sqlite3")  # endings of database files
PAGES = (25, 50, 100, 500)  # rows of a page; a browser never holds more
TEXT, EXCEL, STATS = "text", "excel", "stats"
KINDS = {**dict.fromkeys(("csv", "tsv", "tab", "txt", "data", "dat"), TEXT), **dict.fromkeys(("xlsx", "xlsm"), EXCEL),
         **dict.fromkeys(("sav", "zsav", "dta"), STATS)}  # fmt: skip
# which options a kind of file has, and their values where they can be listed; "" is as found out
OPTIONS: Mapping[str, tuple[tuple[str, ...], Sequence[Any] | None]] = {
    "separator": ((TEXT,), (",", ";", "\t", "|", " ")),
    "encoding": ((TEXT,), ("utf-8", "cp1252", "latin-1", "iso-8859-15", "utf-16", "utf-16-le", "cp437")),
    "quote": ((TEXT,), ('"', "'")),
    "sheet": ((EXCEL,), ()),
    "header": ((TEXT, EXCEL), (True, False)),
    "skip": ((TEXT, EXCEL), None),
    "decimal": ((TEXT, EXCEL), ("point", "comma")),
    "dates": ((TEXT, EXCEL), ("dmy", "mdy", "ymd")),
    "value_labels": ((STATS,), (True, False)),
    "missing": ((TEXT, EXCEL, STATS, "parquet"), None),
}
# The browser sends the file by itself, as a stream, and tells how far it is and what was answered.
SEND = """(event) => {
  const input = event.target, file = input.files[0];
  if (!file) return;
  if (file.size > %d) { emit({status: 413, text: ""}); input.value = ""; return; }
  const request = new XMLHttpRequest();
  let last = 0;
  request.upload.onprogress = (sent) => {
    if (Date.now() - last > 200) { last = Date.now(); emit({share: sent.loaded / Math.max(1, sent.total)}); }
  };
  request.onloadend = () => emit({status: request.status, text: request.responseText});
  request.open("POST", "%s?file=" + encodeURIComponent(file.name));
  request.send(file);
  input.value = "";
}"""


def add_routes(app: FastAPI, context: Callable[[Request], PageContext]) -> None:
    """Uploads."""

    @app.post("/project/{name}/upload")
    async def _upload(request: Request, name: str, file: str) -> Response:
        own = context(request)
        try:
            project = find(own.root, name)
            length = request.headers.get("content-length", "")
            path = await receive(project.folder, file, request.stream(), int(length) if length.isdigit() else None)
        except SfumatoError as error:
            return PlainTextResponse(own.texts.said(str(error)), 413 if str(error) == TOO_LARGE else 400)
        except ClientDisconnect:
            return Response(status_code=400)
        return JSONResponse({"path": path})


async def draw(context: PageContext) -> None:
    """The table's place and how it is read, then its columns and rows."""
    text, policy = context.texts, context.policy
    heading(context, "data")
    there = "input" in policy
    watched = ui.element("div").classes("w-full")
    if there:
        with ui.row().classes("w-full items-center gap-3 table-named"):
            ui.icon("table_chart", size="1.4em").props("aria-hidden=true")
            ui.label(named(policy["input"])).classes("mono path")
            size = ui.label("").classes("quiet").mark("size")
        with ui.expansion(text("data.another")).classes("w-full bordered"):
            _choose(context)
        reading = ui.element("div").classes("w-full")
        area = ui.column().classes("w-full gap-4")
        await _table(context, size, reading, area)
        with watched:
            await table_watch.banner(context)
    else:
        with ui.card().classes("w-full"):
            _choose(context)


def named(table: Mapping[str, Any]) -> str:
    """What an input is called: its file, or its table and database."""
    path = table.get("path", "")
    shown = ", ".join(path) if isinstance(path, list) else str(path)
    return f"{table['table']} · {shown}" if "table" in table else shown


async def _table(context: PageContext, size: ui.label, reading: ui.element, area: ui.column) -> None:
    """Read it, and show what it is; a file that cannot be read as it is says so beside the options that may help."""
    text, client = context.texts, ui.context.client
    faults: list[str] = []
    with area:
        waiting = ui.row().classes("items-center quiet")
        with waiting:
            ui.spinner(size="1.2em").props("aria-hidden=true")
            ui.label(text("data.reading")).props("role=status")
    found = await context.run(
        "data.summary", context.asked(), slot=f"data {client.id}", failed=lambda error: faults.append(str(error))
    )
    waiting.delete()
    if found is None and not faults:
        return
    guessed = await context.run("data.dialect", context.asked(), failed=lambda error: None) or {}
    with reading:
        _reader(context, guessed, bool(faults))
    if found is None:
        with area, ui.element("div").classes("banner").props("role=alert"):
            ui.icon("error_outline").props("aria-hidden=true")
            ui.label(text.said(faults[0])).classes("faults grow")
        return
    names = [one["name"] for one in found["columns"]]
    size.set_text(text("data.rows", rows=_number(context, found["rows"]), columns=_number(context, len(names))))
    with area:
        if found["sampled"]:
            ui.label(text("data.sampled", rows=_number(context, found["sampled"]))).classes("quiet")
        for note in found["notes"]:
            ui.label(text.said(note)).classes("quiet note")
        await _Columns(context, names).draw()


class _Columns:
    """The columns of a table some at a time, and below them their rows, page by page."""

    def __init__(self, context: PageContext, names: list[str]) -> None:
        self.context, self.names, self.found = context, names, names
        self.first = self.row = 0
        self.rows = PAGES[0]
        self.place: ui.label | None = None

    async def draw(self) -> None:
        text = self.context.texts
        with ui.row().classes("w-full items-end gap-3"):
            _title(text("data.columns"))
            ui.space()
            if len(self.names) > COLUMNS:
                asked = ui.input(text("data.find"), on_change=lambda event: self.find(event.value or ""))
                asked.props("outlined dense clearable debounce=300").mark("find")
                self.place = ui.label().classes("quiet")
                _arrow("chevron_left", text("data.columns_before"), lambda: self.move(-COLUMNS))
                _arrow("chevron_right", text("data.columns_after"), lambda: self.move(COLUMNS))
        self.list = ui.element("div").classes("studio-grid columns-grid")
        with ui.row().classes("w-full items-end gap-3"):
            _title(text("data.first_rows"))
            ui.space()
            self.shown = ui.label().classes("quiet").mark("rows-shown")
            size = ui.select(list(PAGES), value=self.rows, on_change=lambda event: self.page(self.row, event.value))
            size.props("outlined dense options-dense").props["aria-label"] = text("data.page_size")
            with ui.row().classes("no-wrap gap-1"):
                _arrow("chevron_left", text("data.rows_before"), lambda: self.page(self.row - self.rows))
                _arrow("chevron_right", text("data.rows_after"), lambda: self.page(self.row + self.rows))
        self.grid = ui.element("div").classes("rows-grid").props("tabindex=0 role=region")
        self.grid.props["aria-label"] = text("data.first_rows")
        self.of = 0
        await self.show()

    @property
    def here(self) -> list[str]:
        return self.found[self.first : self.first + COLUMNS]

    async def find(self, asked: str) -> None:
        self.found = [name for name in self.names if asked.casefold() in name.casefold()]
        self.first = 0
        await self.show()

    async def move(self, by: int) -> None:
        if 0 <= self.first + by < len(self.found):
            self.first += by
            await self.show()

    async def show(self) -> None:
        """The columns that are looked at, and their rows."""
        if self.place is not None:
            last = min(self.first + COLUMNS, len(self.found))
            self.place.set_text(f"{min(self.first + 1, last)}–{last} / {len(self.found)}")
        await self.page(self.row)
        slot = f"columns {ui.context.client.id}"
        found = await self.context.run("data.columns", self.context.asked(), self.here, slot=slot)
        if found is None:
            return
        self.list.clear()
        with self.list:
            for head in ("column", "kind", "distinct", "missing", "spread"):
                ui.label(self.context.texts(f"data.{head}")).classes("quiet head")
            for column in found:
                _column(self.context, column)

    async def page(self, start: int, rows: int | None = None) -> None:
        """The rows from one on."""
        if start < 0 or (self.of and start >= self.of):
            return
        self.rows = rows or self.rows
        slot = f"rows {ui.context.client.id}"
        found = await self.context.run("data.page", self.context.asked(), self.here, start, self.rows, slot=slot)
        if found is None:
            return
        self.row, self.of = start, found["of"]
        last = start + len(found["rows"])
        self.shown.set_text(" / ".join((f"{start + 1}–{last}", _number(self.context, self.of))))
        self.grid.clear()
        columns = [
            {"name": f"c{i}", "label": name, "field": f"c{i}", "align": "left"} for i, name in enumerate(self.here)
        ]
        cells = [{"id": i, **{f"c{j}": "" if cell is None else cell for j, cell in enumerate(row)}}
                 for i, row in enumerate(found["rows"])]  # fmt: skip
        with self.grid:
            table = ui.table(columns=columns, rows=cells, row_key="id", pagination=0)
            table.props("flat dense hide-bottom").classes("w-full")


def _arrow(icon: str, label: str, action: Callable[[], Any]) -> None:
    ui.button(icon=icon, on_click=action).props("flat round dense").props["aria-label"] = label


def _column(context: PageContext, column: Mapping[str, Any]) -> None:
    """A column in a line, with a small histogram."""
    text = context.texts
    ui.label(column["name"]).classes("mono path")
    ui.label(text(f"data.kind_{column['kind']}"))
    for name in ("distinct", "missing"):
        figure = ui.label("–" if column[name] is None else _number(context, column[name])).classes("figure")
        figure.props["data-head"] = text(f"data.{name}")
        if name == "missing" and column[name]:
            figure.classes("alarm")
    with ui.element("div").classes("spread"):
        drawn = ui.html(bars(column["bars"]), sanitize=False).props("role=img")
        drawn.props["aria-label"] = text("data.spread_of", column=column["name"])
        with ui.element("div").classes("ends"):
            ui.label(column["low"]).classes("ellipsis")
            ui.label(column["high"] if column["high"] != column["low"] else "").classes("ellipsis")


def bars(counts: Sequence[int]) -> str:
    """A histogram as a picture.

    >>> bars([1, 2]).count("<rect")
    2
    """
    if not counts:
        return ""
    most, wide = max(*counts, 1), 100 / len(counts)
    drawn = "".join(
        f'<rect x="{i * wide:.2f}" y="{24 - 24 * count / most:.2f}" width="{max(wide - 0.8, 0.6):.2f}" '
        f'height="{24 * count / most:.2f}"/>'
        for i, count in enumerate(counts)
    )
    return f'<svg class="bars" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'


def _reader(context: PageContext, guessed: Mapping[str, Any], opened: bool) -> None:
    """The options for reading the file; each change is read at once."""
    text, policy = context.texts, context.policy
    table = policy["input"]
    kind = kind_of(table)
    known = [name for name, (kinds, _) in OPTIONS.items() if kind in kinds]
    if not known:
        return

    def set_to(name: str, value: Any) -> None:
        new = {key: old for key, old in table.items() if key != name}
        if value not in (None, "", []):
            new[name] = value
        context.change("reading", policy | {"input": new})

    used = [name for name in known if name in table]
    with (
        ui.expansion(text("data.reader"), value=opened or bool(used)).classes("w-full bordered").mark("reader"),
        ui.element("div").classes("options"),
    ):
        for name in known:
            _option(context, name, table.get(name), guessed, set_to)


def kind_of(table: Mapping[str, Any]) -> str:
    """The kind of a file, by its format or ending; empty for databases."""
    path = table.get("path", "")
    first = path[0] if isinstance(path, list) and path else path
    if "table" in table or "://" in str(first):
        return ""
    end = table.get("format") or str(first).lower().removesuffix(".gz").rpartition(".")[2]
    return KINDS.get(end, "parquet" if end == "parquet" else "")


def _option(
    context: PageContext, name: str, value: Any, guessed: Mapping[str, Any], set_to: Callable[[str, Any], None]
) -> None:
    text, choices = context.texts, OPTIONS[name][1]
    label = text("data.missing_as" if name == "missing" else f"data.{name}")
    if choices is None:
        shown = ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)
        field = ui.input(label, value=shown).props("outlined dense")

        def leave() -> None:
            given = (field.value or "").strip()
            if name == "missing":
                set_to(name, [part.strip() for part in given.split(",") if part.strip()])
            elif given.isdigit() or not given:
                set_to(name, int(given) if given else None)

        if isinstance(value, dict):
            field.disable()
        field.on("keydown.enter", leave).on("blur", lambda: leave() if (field.value or "") != shown else None)
        return
    listed = list(guessed.get("sheets", ())) if name == "sheet" else list(choices)
    listed += [] if value is None or value in listed else [value]
    found = _shown(context, name, guessed[name]) if name in guessed and value is None else None
    options = {"": text("data.as_found") if found is None else text("data.as_found_so", value=found)}
    options |= {f"{i}": _shown(context, name, one) for i, one in enumerate(listed)}
    now = "" if value is None else str(listed.index(value))
    chosen = ui.select(
        options, label=label, value=now,
        on_change=lambda event: set_to(name, None if event.value == "" else listed[int(event.value)]),
    )  # fmt: skip
    chosen.props("outlined dense options-dense").mark(f"option-{name}")


def _shown(context: PageContext, name: str, value: Any) -> str:
    """A value of an option in words."""
    text = context.texts
    if isinstance(value, bool):
        return text("data.yes" if value else "data.no")
    if name == "separator":
        return {",": text("data.comma"), ";": text("data.semicolon"), "\t": text("data.tab"), "|": "|",
                " ": text("data.space")}.get(value, value)  # fmt: skip
    if name in ("decimal", "dates"):
        return text(f"data.{name}_{value}")
    return text("data.none") if value is None else str(value)


def _choose(context: PageContext) -> None:
    """Three ways to a table: upload a file, name one of this machine, or a table of a database."""
    text, local = context.texts, not context.studio.users
    with ui.tabs().props("align=left no-caps dense").classes("w-full") as tabs:
        upload = ui.tab("upload", text("data.upload"), icon="upload_file")
        if local:
            path = ui.tab("path", text("data.on_machine"), icon="folder_open")
            base = ui.tab("base", text("data.database"), icon="storage")
    with ui.tab_panels(tabs, value=upload).classes("w-full"):
        with ui.tab_panel(upload):
            _upload(context)
        if local:
            with ui.tab_panel(path):
                _path(context)
            with ui.tab_panel(base):
                _database(context)
    if not local:
        ui.label(text("data.only_uploads")).classes("quiet")


def _upload(context: PageContext) -> None:
    text, project = context.texts, context.project
    assert project is not None
    bar = ui.linear_progress(0, show_value=False).props("instant-feedback")
    bar.props["aria-label"] = text("data.uploading")
    bar.set_visibility(False)

    def heard(event: Any) -> None:
        said = event.args
        if "share" in said:
            bar.set_visibility(True)
            bar.set_value(float(said["share"]))
            return
        bar.set_visibility(False)
        if said.get("status") == 200:
            context.change("table", context.policy | {"input": {"path": str(json.loads(said["text"])["path"])}})
            return
        words = text.said(TOO_LARGE) if said.get("status") == 413 else str(said.get("text") or text("data.broken_off"))
        ui.notify(words, type="negative", multi_line=True, timeout=15_000, close_button=True)

    with ui.element("label").classes("drop"):
        ui.icon("upload_file", size="2rem").props("aria-hidden=true")
        ui.label(text("data.drop"))
        ui.label(text("data.drop_about")).classes("quiet")
        field = ui.element("input").props("type=file").mark("file")
        field.props["aria-label"] = text("data.drop")
        address = f"/project/{quote(project.name)}/upload"
        field.on("change", heard, js_handler=SEND % (LARGEST, address))


def _path(context: PageContext) -> None:
    text, table = context.texts, context.policy.get("input", {})
    known = table.get("path", "")
    now = "" if "table" in table or isinstance(known, list) or "://" in known else known
    with ui.row().classes("w-full items-end gap-4"):
        path = ui.input(text("data.path"), value=now).props("outlined dense").classes("grow").mark("path")

        def choose() -> None:
            given = (path.value or "").strip()
            if given:
                assert context.project is not None
                context.change("table", context.policy | {"input": input_of(given, context.project.folder)})

        async def look() -> None:
            start = Path(path.value).parent if path.value and Path(path.value).is_absolute() else None
            if (found := await pick(context, start)) is not None:
                path.set_value(found)
                choose()

        path.on("keydown.enter", choose)
        ui.button(text("data.browse"), on_click=look, icon="folder_open").props("outline")
        ui.button(text("data.read"), on_click=choose).props("unelevated")
    ui.label(text("data.path_about")).classes("quiet")


def input_of(path: str, folder: Path) -> dict[str, Any]:
    """The input of a policy for a path, seen from a folder: a file that is too large to be uploaded is streamed."""
    given = str(Path(path).expanduser()) if path.startswith("~") else path
    place = folder / given
    end = place.name.lower().removesuffix(".gz").rpartition(".")[2]
    streamed = KINDS.get(end) == TEXT or end == "parquet"
    try:
        large = streamed and place.is_file() and place.stat().st_size > LARGEST
    except OSError:
        large = False
    return {"path": given, **({"stream": True} if large else {})}


def _database(context: PageContext) -> None:
    text, project = context.texts, context.project
    assert project is not None
    table = context.policy.get("input", {})
    here = str(table.get("path", "")) if "table" in table else ""
    address = ui.input(text("data.address"), value=here).props("outlined dense").classes("w-full").mark("address")
    address.props["placeholder"] = "postgresql://user@host/database"
    area = ui.column().classes("w-full")
    chosen: ui.select | None = None

    async def look() -> None:
        nonlocal chosen
        with area:
            found = await with_progress(context, "data.tables", (address.value or "").strip(), str(project.folder))
        if found is None:
            return
        area.clear()
        with area:
            if not found:
                ui.label(text("data.no_tables")).classes("alarm")
                return
            chosen = ui.select(found, label=text("data.table"), value=found[0], with_input=len(found) > 12)
            chosen.props("outlined dense options-dense").classes("w-full").mark("table")
            ui.button(text("data.read"), on_click=take).props("unelevated")

    def take() -> None:
        assert chosen is not None
        new = {"path": (address.value or "").strip(), "table": chosen.value}
        context.change("table", context.policy | {"input": new})

    address.on("keydown.enter", look)

    async def browse() -> None:
        if (found := await pick(context, endings=BASES)) is not None:
            address.set_value(found)
            await look()

    with ui.row().classes("gap-3"):
        ui.button(text("data.browse"), on_click=browse, icon="folder_open").props("outline")
        ui.button(text("data.list_tables"), on_click=look, icon="storage").props("outline").mark("tables")
    ui.label(text("data.address_about")).classes("quiet")


def _number(context: PageContext, value: float) -> str:
    """A number as the language writes it."""
    return context.texts.said(number(value))


def _title(words: str) -> None:
    with ui.element("h2").classes("card-title"):
        ui.label(words)
