"""Who gets in: by the token or a password, from our own page, under our own name, and nobody else."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from sfumato.service.secret import hash_password
from sfumato.studio.gate import COOKIE, StudioGate

OURS = "http://127.0.0.1:8123"


async def app(scope, receive, send):
    body = scope["state"]["user"].encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def gate(**more):
    return StudioGate(app, {"127.0.0.1:8123", "localhost:8123"}, **more)


def call(own, method="GET", path="/", cookies=None, base=OURS, **more):
    async def run():
        transport = httpx.ASGITransport(own)
        async with httpx.AsyncClient(transport=transport, base_url=base, cookies=cookies) as client:
            return await client.request(method, path, **more)

    return asyncio.run(run())


def test_the_token_is_exchanged_for_a_cookie_and_dropped_from_the_address():
    own = gate()
    got = call(own, path=f"/project/a/data?x=1&token={own.token}")
    assert (got.status_code, got.headers["location"]) == (303, "/project/a/data?x=1")
    cookie = got.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert own.token not in cookie
    again = call(own, cookies={COOKIE: got.cookies[COOKIE]})
    assert again.status_code == 200
    assert "default-src 'self'" in again.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/login", "/project/a/data", "/_nicegui/x"])
def test_without_it_nothing_is_shown(path):
    own = gate()
    assert call(own, path=path).status_code == 401
    assert call(own, path=path, cookies={COOKIE: "x"}).status_code == 401
    assert len(own.token) >= 43  # 256 bits


def test_a_token_leads_to_no_other_host():
    own, sent = gate(), []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "//evil.example/x", "headers": [(b"host", b"127.0.0.1:8123")],
             "query_string": f"token={own.token}".encode()}  # fmt: skip
    asyncio.run(own(scope, None, send))
    assert dict(sent[0]["headers"])[b"location"] == b"/evil.example/x"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example:8123"}, 421),
        ({"host": "127.0.0.1:9"}, 421),
        ({"host": "localhost:8123"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:8123"}, 200),
        ({"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:8123"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),  # a link
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, 403),  # another port of this machine
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, 200),
    ],
)
def test_host_and_origin_are_ours(headers, status):
    own = gate()
    cookie = call(own, path=f"/?token={own.token}").cookies[COOKIE]
    assert call(own, cookies={COOKIE: cookie}, headers=headers).status_code == status


def test_what_changes_something_names_its_origin():
    own = gate()
    cookie = {COOKIE: call(own, path=f"/?token={own.token}").cookies[COOKIE]}
    assert call(own, "POST", "/upload", cookies=cookie).status_code == 403
    assert call(own, "POST", "/upload", cookies=cookie, headers={"origin": OURS}).status_code == 200


def test_websockets_need_cookie_and_origin():
    own = gate()
    value = call(own, path=f"/?token={own.token}").cookies[COOKIE]

    def connect(**headers):
        sent = []

        async def inner(scope, receive, send):
            sent.append({"type": "accepted"})

        own.app = inner
        scope = {"type": "websocket", "path": "/ws", "query_string": b"",
                 "headers": [(name.encode(), text.encode()) for name, text in headers.items()]}  # fmt: skip

        async def send(message):
            sent.append(message)

        asyncio.run(own(scope, None, send))
        return sent[0]["type"]

    good = {"host": "127.0.0.1:8123", "origin": OURS, "cookie": f"{COOKIE}={value}"}
    assert connect(**good) == "accepted"
    for name in good:
        assert connect(**{key: text for key, text in good.items() if key != name}) == "websocket.close"
    assert connect(**{**good, "origin": "http://evil.example"}) == "websocket.close"


@pytest.mark.slow
def test_users_have_passwords_and_are_told_apart():
    own = gate(users={"ann": hash_password("sesame")})
    assert own.token == ""
    assert call(own, path="/?token=").status_code == 401
    assert "<form" in call(own).text
    form = {"headers": {"origin": OURS}, "data": {"name": "ann", "password": "sesame"}}
    got = call(own, "POST", "/login", **form)
    assert got.status_code == 303
    assert call(own, cookies={COOKIE: got.cookies[COOKIE]}).text == "ann"
    wrong = [call(own, "POST", "/login", headers={"origin": OURS}, data={"name": "ann", "password": "x"}).status_code
             for _ in range(11)]  # fmt: skip
    assert wrong[0] == 401
    assert wrong[-1] == 429
    nobody = call(own, "POST", "/login", headers={"origin": OURS}, data={"name": "eve", "password": "x"})
    assert nobody.status_code == 401
    assert call(own, "POST", "/login", data={"name": "ann", "password": "sesame"}).status_code == 403


def test_pages_of_the_gate_speak_the_language_of_the_browser():
    italian = {"accept-language": "it-IT,it;q=0.9"}
    assert "contiene il token" in call(gate(), headers=italian).text
    users = gate(users={"ann": hash_password("sesame")})
    assert '<html lang="it">' in (got := call(users, headers=italian).text)
    assert "<button>Entra</button>" in got
    asked = {"headers": {"origin": OURS, **italian}, "data": {"name": "ann", "password": "x"}}
    assert "Nessun utente" in call(users, "POST", "/login", **asked).text
    assert "Sign in" in call(users).text


def test_two_studios_of_a_machine_have_cookies_of_their_own():
    first, second = gate(cookie="first"), gate(cookie="second")
    cookies = {}
    for own in (first, second):
        cookies |= dict(call(own, path=f"/?token={own.token}").cookies)
    assert set(cookies) == {"first", "second"}
    assert [call(own, cookies=cookies).status_code for own in (first, second)] == [200, 200]
    assert call(first, cookies={"first": cookies["second"]}).status_code == 401


def test_a_browser_that_goes_away_is_no_fault():
    async def broken(scope, receive, send):
        await receive()
        raise RuntimeError("No response returned.")

    async def ask(message):
        own = StudioGate(broken, {"127.0.0.1:8123"})
        own._sessions["x"] = ""
        headers = [(b"host", b"127.0.0.1:8123"), (b"cookie", f"{COOKIE}=x".encode())]

        async def receive():
            return {"type": message}

        await own(
            {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}, receive, None
        )

    asyncio.run(ask("http.disconnect"))
    with pytest.raises(RuntimeError):
        asyncio.run(ask("http.request"))
