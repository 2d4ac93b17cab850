"""Gate: what every request to the studio passes: its host, its origin, and who it is of.

On this machine alone, the address that is printed has a token of 256 bits, which is exchanged for a cookie and dropped
from the address. Reached from other machines, there are users with passwords instead. Browsers send the cookie with
requests from our own pages only (SameSite=Strict); beside that, websockets and everything that is no GET must name our
own origin.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from sfumato.service.limits import RateLimits
from sfumato.service.secret import hash_password, is_password
from sfumato.studio.texts import Texts, preferred

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "sfumato_studio"
OWNER = ""  # the user where there is only one
TRIES = 10.0  # passwords a minute, of a name
LONGEST = 4096  # bytes of a form
# NiceGUI writes scripts and styles into its page, and Vue compiles templates there: these are the exceptions.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; frame-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # without one, forms would name no origin
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]
PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width"><style>:root{{color-scheme:light dark;--paper:#f7f5f0;--card:#fdfcf9;
--ink:#2a2724;--rule:#8f877d;--accent:#35685f}}@media(prefers-color-scheme:dark){{:root{{--paper:#1b1917;--card:#23201d;
--ink:#e9e3d9;--accent:#8cc0b2}}}}body{{background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif;
margin:15vh auto;max-width:24rem;padding:0 1rem}}h1{{font:500 1.8rem/1.2 Palatino,Georgia,serif}}input,button{{
border:1px solid var(--rule);border-radius:4px;box-sizing:border-box;font:inherit;margin:.2rem 0 1rem;padding:.5rem
.8rem;width:100%}}input{{background:var(--card);color:var(--ink)}}button{{background:var(--accent);border:0;
color:var(--card);cursor:pointer}}:focus-visible{{outline:3px solid var(--accent);outline-offset:2px}}</style>
<main><h1>{title}</h1>{body}</main></html>"""
LOGIN = """<form method="post" action="/login"><label>{name}<input name="name" autocomplete="username" required
autofocus></label><label>{password}<input name="password" type="password" autocomplete="current-password" required>
</label><button>{sign_in}</button></form>"""


def page(headers: Mapping[bytes, str], *said: str, login: bool = False) -> str:
    """A page of sentences in the language of the browser, with the form to sign in or without."""
    text = Texts(preferred(headers.get(b"accept-language", "")))
    body = "".join(f"<p>{text(f'gate.{name}')}</p>" for name in said)
    if login:
        body += LOGIN.format(**{name: text(f"gate.{name}") for name in ("name", "password", "sign_in")})
    return PAGE.format(language=text.language, title=text("studio.title"), body=body)


class StudioGate:
    """An ASGI application around another. `users` are names and hashes of passwords; without any there is one user, who
    has the token. `cookie` is the name of this studio's cookie: browsers keep those of all ports together."""

    def __init__(
        self,
        app: App,
        hosts: set[str],
        secure: bool = False,
        users: Mapping[str, str] | None = None,
        cookie: str = COOKIE,
    ) -> None:
        self.app, self.secure, self.cookie = app, secure, cookie
        self.hosts = {host.lower() for host in hosts}  # as a browser names them, with the port
        self.users = dict(users or {})
        self.token = "" if self.users else secrets.token_urlsafe(32)
        self._sessions: dict[str, str] = {}  # cookie to user
        self._limits = RateLimits()
        self._nobody = hash_password(secrets.token_hex(16)) if self.users else ""
        self._hashing = asyncio.Semaphore(2)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or turn it away."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        websocket = scope["type"] == "websocket"
        if headers.get(b"host", "").lower() not in self.hosts:
            await self._refuse(scope, send, 421, page(headers, "other_name"))
        elif not self._is_ours(headers, websocket or scope["method"] not in ("GET", "HEAD")):
            await self._refuse(scope, send, 403, page(headers, "other_page"))
        elif not websocket and self.users and scope["path"] == "/login" and scope["method"] == "POST":
            await self._login(headers, receive, send)
        elif not websocket and "token=" in scope["query_string"].decode("latin-1"):
            await self._exchange(scope, headers, send)
        elif (user := self._user(headers)) is None:
            await self._refuse(scope, send, 401, page(headers, login=True) if self.users else page(headers, "closed"))
        else:
            scope.setdefault("state", {})["user"] = user
            await self._served(scope, receive, send)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on. That a browser went away before it was answered is no fault."""
        gone = False

        async def heard() -> MutableMapping[str, Any]:
            nonlocal gone
            message = await receive()
            gone = gone or message["type"] == "http.disconnect"
            return message

        try:
            await self.app(scope, heard, self._guarded(send))
        except RuntimeError:
            if not gone:
                raise

    def _is_ours(self, headers: Mapping[bytes, str], needed: bool) -> bool:
        origin = headers.get(b"origin")
        elsewhere = headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin")
        if elsewhere and (needed or origin is not None or headers.get(b"sec-fetch-mode") != "navigate"):
            return False  # another page may link here, and no more
        if origin is None:
            return not needed
        return origin.lower() in {f"{'https' if self.secure else 'http'}://{host}" for host in self.hosts}

    def _user(self, headers: Mapping[bytes, str]) -> str | None:
        try:
            given = SimpleCookie(headers.get(b"cookie", "")).get(self.cookie)
        except CookieError:
            return None
        return None if given is None else self._sessions.get(given.value)

    def _admit(self, user: str) -> tuple[bytes, bytes]:
        """A new cookie for a user, until the studio ends."""
        value = secrets.token_urlsafe(32)
        self._sessions[value] = user
        secure = "; Secure" if self.secure else ""
        return b"set-cookie", f"{self.cookie}={value}; Path=/; HttpOnly; SameSite=Strict{secure}".encode()

    async def _exchange(self, scope: Scope, headers: Mapping[bytes, str], send: Send) -> None:
        """A token for a cookie; the address is then without it."""
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = "".join(value for name, value in asked if name == "token")
        if not self.token or not hmac.compare_digest(given.encode(), self.token.encode()):
            await self._refuse(scope, send, 401, page(headers, "closed"))
            return
        rest = urlencode([(name, value) for name, value in asked if name != "token"])
        path = "/" + scope["path"].lstrip("/")  # never the name of another host
        await _respond(send, 303, [self._admit(OWNER), (b"location", (path + (f"?{rest}" if rest else "")).encode())])

    async def _login(self, headers: Mapping[bytes, str], receive: Receive, send: Send) -> None:
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > LONGEST or message["type"] == "http.disconnect":
                await _respond(send, 413, [])
                return
            if not message.get("more_body"):
                break
        form = dict(parse_qsl(body.decode("utf-8", "replace")))
        name = form.get("name", "")
        if self._limits.take(f"password of {name}", TRIES):
            await _respond(send, 429, [], page(headers, "too_many", login=True))
            return
        stored = self.users.get(name)
        async with self._hashing:  # a name that is unknown costs as much
            right = await asyncio.to_thread(is_password, form.get("password", ""), stored or self._nobody)
        if right and stored is not None:
            await _respond(send, 303, [self._admit(name), (b"location", b"/")])
            return
        await _respond(send, 401, [], page(headers, "wrong", login=True))

    async def _refuse(self, scope: Scope, send: Send, status: int, body: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _respond(send, status, [], body)

    def _guarded(self, send: Send) -> Send:
        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message.get("headers", ())}
                more = [header for header in HEADERS if header[0] not in own]
                if not any(name == b"cache-control" for name in own):
                    more.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        return guarded


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: str = "") -> None:
    content = body.encode()
    more = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(content)).encode())]
    more += [(b"cache-control", b"no-store"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
    await send({"type": "http.response.body", "body": content})
