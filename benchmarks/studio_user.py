"""A user of the studio without a browser: pages by HTTP, what changes on them by their websocket, events sent back.

Ten browsers would measure the machine that they run on as well; ten of these measure the studio.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import uuid
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import socketio

Element = dict[str, Any]
ELEMENTS = re.compile(r"parseElements\(String\.raw`(.*?)`\)", re.DOTALL)
QUERY = re.compile(r"^\s*query: (\{.*\}),$", re.MULTILINE)
SOCKET = "/_nicegui_ws/socket.io"
ESCAPED = {"&#36;": "$", "&#96;": "`", "&gt;": ">", "&lt;": "<", "&amp;": "&"}


class StudioUser:
    """One who has signed in, and has one page open at a time: `elements` are what it shows, by their numbers, and
    `told` what it said beside."""

    def __init__(self, home: str) -> None:
        self.home = home.rstrip("/")
        self.http = httpx.AsyncClient(base_url=self.home, timeout=60, follow_redirects=True)
        self.socket: socketio.AsyncClient | None = None
        self.elements: dict[int, Element] = {}
        self.told: list[str] = []  # notifications
        self.client = ""
        self._news = asyncio.Event()

    async def __aenter__(self) -> StudioUser:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.leave()
        await self.http.aclose()

    async def use_token(self, url: str) -> None:
        """Exchange the token of the address that the studio prints."""
        (await self.http.get(url)).raise_for_status()

    async def sign_in(self, name: str, password: str) -> None:
        """Sign in where there are users."""
        form, origin = {"name": name, "password": password}, {"origin": self.home}
        (await self.http.post("/login", data=form, headers=origin)).raise_for_status()

    async def open(self, path: str) -> None:
        """Open a page; what it shows comes after this."""
        await self.leave()
        page = (await self.http.get(quote(path, safe="/?=&"))).raise_for_status().text
        found, query = ELEMENTS.search(page), QUERY.search(page)
        assert found, page[:200]
        assert query, page[:200]
        text = found[1]
        for code, letter in ESCAPED.items():
            text = text.replace(code, letter)
        self.elements = {int(number): element for number, element in json.loads(text).items()}
        asked = ast.literal_eval(query[1])
        self.client = asked["client_id"]
        self.socket = socketio.AsyncClient(reconnection=False)
        self.socket.on("update", self._update)
        self.socket.on("notify", self._notify)
        asked |= {"tab_id": str(uuid.uuid4()), "document_id": str(uuid.uuid4())}
        await self.socket.connect(
            f"{self.home}?" + urlencode(asked).replace("True", "true"),
            headers={"Cookie": self.cookie, "Origin": self.home}, transports=["websocket"], socketio_path=SOCKET,
            wait_timeout=60,
        )  # fmt: skip
        if not asked.get("implicit_handshake"):
            await self.socket.call("handshake", asked)

    @property
    def cookie(self) -> str:
        """What a browser would send."""
        return "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())

    async def knock(self, client: str, headers: dict[str, str] | None = None) -> tuple[bool, bool]:
        """Whether a further socket is opened, and whether it then is let in to a page."""
        socket = socketio.AsyncClient(reconnection=False)
        asked = {"client_id": client, "tab_id": str(uuid.uuid4()), "document_id": str(uuid.uuid4())}
        given = {"Cookie": self.cookie, "Origin": self.home} if headers is None else headers
        try:
            await socket.connect(
                f"{self.home}?{urlencode(asked)}",
                headers=given,
                transports=["websocket"],
                socketio_path=SOCKET,
                wait_timeout=60,
            )
            return True, bool(await socket.call("handshake", asked))
        except socketio.exceptions.ConnectionError:
            return False, False
        finally:
            await socket.disconnect()

    async def leave(self) -> None:
        """Close the page."""
        if self.socket is not None:
            with suppress(Exception):
                await self.socket.disconnect()
            self.socket = None

    def _update(self, message: dict[str, Any]) -> None:
        for number, element in message.items():
            if number == "_id":
                continue
            if element is None:
                self.elements.pop(int(number), None)
            else:
                self.elements[int(number)] = element
        self._news.set()

    def _notify(self, message: dict[str, Any]) -> None:
        self.told.append(str(message.get("message", "")))
        self._news.set()

    def find(self, fits: Callable[[Element], bool]) -> int | None:
        """The number of the first element that fits."""
        return next((number for number, element in self.elements.items() if fits(element)), None)

    def says(self, pattern: str) -> bool:
        """Whether the page shows a text."""
        wanted = re.compile(pattern)
        return self.find(lambda element: bool(wanted.search(str(element.get("text", ""))))) is not None

    async def until(self, seen: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something is seen."""
        async with asyncio.timeout(seconds):
            while not seen():
                self._news.clear()
                await self._news.wait()

    async def sees(self, pattern: str, seconds: float = 60) -> None:
        """Wait until the page shows a text."""
        await self.until(lambda: self.says(pattern), seconds)

    async def enter(self, label: str, value: Any) -> None:
        """Write into a field."""
        await self._send(lambda element: element.get("props", {}).get("label") == label, "update:", value)

    async def click(self, text: str) -> None:
        """Click on what bears a text."""
        await self._send(
            lambda element: text in (element.get("text"), element.get("props", {}).get("label")), "click", {}
        )

    async def _send(self, fits: Callable[[Element], bool], kind: str, value: Any) -> None:
        def handled(element: Element) -> bool:
            return fits(element) and any(event["type"].startswith(kind) for event in element.get("events", ()))

        await self.until(lambda: self.find(handled) is not None)
        number = self.find(handled)
        assert number is not None
        assert self.socket is not None
        for event in self.elements[number]["events"]:
            if event["type"].startswith(kind):
                message = {"id": number, "client_id": self.client, "listener_id": event["listener_id"]}
                await self.socket.emit("event", {**message, "args": [json.dumps(value)]})
