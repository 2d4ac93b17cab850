"""Gate: what every request passes: its host, its size, who it is of, how often, and when the response is let out.

Responses leave at ticks after the whole request has come: one tick later, or two where the work took longer, whatever
the outcome; a client cannot move the ticks by sending its request slowly. Their lengths are multiples of PADDED.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import math
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from sfumato.service.address import is_loopback
from sfumato.service.audit import AuditLog
from sfumato.service.datasets import complain
from sfumato.service.limits import RateLimits
from sfumato.service.policy import ServicePolicy, UserTable
from sfumato.service.secret import hash_key, is_password

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PADDED = 256  # bytes
OPEN = ("/health", "/openapi.json")  # paths that need no key
EVENTS = ("ask", "cost", "budget", "schema", "ledger")
FAILURES = 60.0  # a minute, of those who are nobody
SLOWEST = 30.0  # seconds for a request to come
TRIES = 10.0  # passwords a minute, of a user
AT_ONCE = 2  # passwords that are hashed: each takes 32 MB
JSON_TYPE = (b"content-type", b"application/json")


@dataclass(frozen=True)
class Caller:
    """Who a request is of."""

    name: str
    user: UserTable


@dataclass(eq=False)
class Refusal(Exception):
    """A response without an answer."""

    status: int
    error: str
    message: str
    wait: float = 0.0


class Gate:
    """An ASGI application around another."""

    def __init__(self, app: App, policy: ServicePolicy, log: AuditLog) -> None:
        self.app, self.policy, self.log = app, policy, log
        self.tick = policy.service.tick / 1000
        self.limits = RateLimits()
        self.hosts = {*map(str.lower, policy.service.hosts), "localhost", policy.service.address.lower()}
        if is_loopback(policy.service.address):
            self.hosts |= {"127.0.0.1", "[::1]"}
        self._salt = secrets.token_bytes(32)
        self._known: dict[bytes, str] = {}  # passwords that were right, by a keyed hash that dies with the process
        self._stored = [user.password for user in policy.users.values() if user.password is not None]
        self._hashing = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request at a tick."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        said: dict[str, Any] = {}
        scope.setdefault("state", {})["said"] = said
        came = loop.time()
        try:
            body = await self._whole_body(scope, receive)
            came = loop.time()
            if body is None:  # the client has gone
                return
            status, headers, content = await self._passed(scope, body, said)
        except Refusal as refusal:
            status, headers, content = _refused(refusal)
            said.setdefault("outcome", refusal.error)
        except Exception as error:  # no trace of it may leave
            complain(error)
            failed = Refusal(500, "Failed", "the request could not be answered")
            status, headers, content = _refused(failed)
            said["outcome"] = failed.error
        if scope["path"] != "/health":
            try:
                self.log.write(event=_event(scope), status=status, **said)
            except OSError:
                status, headers, content = _refused(Refusal(503, "NoLog", "the log cannot be written"))
        content += b" " * (-len(content) % PADDED)
        headers = [(name, value) for name, value in headers if name != b"content-length"]
        headers += [(b"content-length", str(len(content)).encode()), (b"cache-control", b"no-store")]
        taken = max(math.ceil((loop.time() - came) / self.tick), 1)
        await asyncio.sleep(came + taken * self.tick - loop.time())
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _whole_body(self, scope: Scope, receive: Receive) -> bytes | None:
        try:
            async with asyncio.timeout(SLOWEST):
                return await self._body(scope, receive)
        except TimeoutError:
            raise Refusal(408, "TooSlow", "the request did not come in time") from None

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body, as far as it may go; None where the client has gone."""
        most, found = self.policy.service.body, bytearray()
        large = Refusal(413, "TooLarge", f"a request has at most {most:,} bytes")
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > most:
            raise large
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            found += message.get("body", b"")
            if len(found) > most:
                raise large
            if not message.get("more_body", False):
                return bytes(found)

    async def _passed(self, scope: Scope, body: bytes, said: dict[str, Any]) -> tuple[int, list[Any], bytes]:
        """What the application responds, kept until it may leave."""
        headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self._check_host(headers)
        if scope["path"] not in OPEN:
            caller = await self._caller(headers, str((scope.get("client") or ("",))[0]))
            said |= {"user": caller.name, "role": caller.user.role}
            scope["state"]["caller"] = caller
            if wait := self.limits.take(f"user {caller.name}", caller.user.rate):
                raise Refusal(429, "TooManyRequests", "too many requests; wait", wait)
        given, sent = [body], list[MutableMapping[str, Any]]()

        async def receive() -> MutableMapping[str, Any]:
            if given:
                return {"type": "http.request", "body": given.pop(), "more_body": False}
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return sent[0]["status"], list(sent[0]["headers"]), b"".join(one.get("body", b"") for one in sent[1:])

    def _check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse names that are not ours: a page elsewhere may have led its visitor's browser here."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name not in self.hosts:
            raise Refusal(421, "WrongHost", "this service has another name")

    # Who it is

    async def _caller(self, headers: Mapping[bytes, bytes], client: str) -> Caller:
        given = headers.get(b"authorization", b"").decode("latin-1")
        scheme, _, secret = given.partition(" ")
        name: str | None = None
        if scheme.lower() == "bearer":
            name = self._by_key(secret.strip())
        elif scheme.lower() == "basic":
            name = await self._by_password(secret.strip(), client)
        if name is not None:
            return Caller(name, self.policy.users[name])
        if wait := self.limits.take(f"nobody at {client}", FAILURES):
            raise Refusal(429, "TooManyRequests", "too many requests; wait", wait)
        raise Refusal(401, "WrongKey", "no user has this key or password")

    def _refuse_failing(self, client: str) -> None:
        if wait := self.limits.wait(f"nobody at {client}", FAILURES):
            raise Refusal(429, "TooManyRequests", "too many requests; wait", wait)

    def _by_key(self, key: str) -> str | None:
        """The user of a key; all are compared, whichever it is."""
        asked, found = hash_key(key), None
        for name, user in self.policy.users.items():
            for stored in user.key:
                if hmac.compare_digest(asked, stored):
                    found = name
        return found

    async def _by_password(self, given: str, client: str) -> str | None:
        """The user of a password. Hashing is dear: those who failed too often wait, whatever names they give."""
        try:
            name, _, password = base64.b64decode(given, validate=True).decode("utf-8").partition(":")
        except (binascii.Error, ValueError):
            return None
        digest = hmac.digest(self._salt, f"{name}:{password}".encode(), hashlib.sha256)
        if digest in self._known:
            return self._known[digest]
        if not self._stored:
            return None
        self._refuse_failing(client)
        async with self._hashing:
            self._refuse_failing(client)  # others may have failed meanwhile
            if wait := self.limits.take(f"password of {name}", TRIES):
                raise Refusal(429, "TooManyRequests", "too many passwords; wait", wait)
            user = self.policy.users.get(name)
            own = None if user is None else user.password
            at = hmac.digest(self._salt, name.encode(), hashlib.sha256)[0] % len(self._stored)
            other = self._stored[at]  # so that a name without one costs as much
            right = await asyncio.to_thread(is_password, password, own or other)
        if not right or own is None:
            return None
        self._known[digest] = name
        return name


def _event(scope: Scope) -> str:
    path = str(scope["path"]).strip("/")
    return path if path in EVENTS else "request"


def _refused(refusal: Refusal) -> tuple[int, list[Any], bytes]:
    headers = [JSON_TYPE]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refusal.wait:
        headers.append((b"retry-after", str(math.ceil(refusal.wait)).encode()))
    return refusal.status, headers, json.dumps({"error": refusal.error, "message": refusal.message}).encode()
