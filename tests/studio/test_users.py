"""Ten users at once, over HTTP and websockets: every one is answered, and sees nothing of the others."""

from __future__ import annotations

import asyncio
import json
import shutil
import time

import httpx
import polars as pl
import pytest
from benchmarks.studio_user import StudioUser

from sfumato.service.secret import hash_password
from sfumato.studio.project import create
from tests.studio.running import running

pytestmark = pytest.mark.slow
USERS = [f"user{i}" for i in range(10)]
SECONDS = 60  # two on a machine that is quiet: `benchmarks/studio.py` measures that


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("users")


@pytest.fixture(scope="module")
def studio(root):
    """The address of a studio in which each user has a project of one name, and another of their own."""
    hashed = hash_password("sesame")
    (root / "users.toml").write_text("".join(f'{name} = "{hashed}"\n' for name in USERS))
    for i, name in enumerate(USERS):
        for title in ("Ward", f"Own of {name}"):
            project = create(root / "projects" / name, title)
            pl.DataFrame(
                {"age": [20 + j % 3 for j in range(100 + i)], "mark": [f"secret of {name}"] * (100 + i)}
            ).write_csv(project.folder / "private" / "table.csv")
            project.change(
                "made",
                {
                    "input": {"path": "private/table.csv"},
                    "roles": {"quasi": ["age"], "insensitive": ["mark"]},
                    "require": [{"model": "k-anonymity", "k": 2}],
                },
            )
    with running(root / "projects", "--users", str(root / "users.toml")) as url:
        yield url.rstrip("/")


def all_at_once(url, act):
    """What each of the ten gets, who act at the same time."""

    async def run():
        async def one(i, name):
            async with StudioUser(url) as user:
                await user.sign_in(name, "sesame")
                return await act(user, i, name)

        return await asyncio.gather(*(one(i, name) for i, name in enumerate(USERS)))

    return asyncio.run(run())


def test_ten_users_at_once_are_answered_and_see_their_own(studio):
    async def act(user, i, name):
        began = time.monotonic()
        await user.open("/")
        listed = json.dumps(user.elements)
        await user.sees(f"Own of {name}", SECONDS)
        await user.open("/project/Ward/data")
        await user.sees(f"{100 + i} rows, 2 columns", SECONDS)
        await user.until(lambda: f"secret of {name}" in json.dumps(user.elements), SECONDS)
        seen = listed + json.dumps(user.elements)
        await user.open("/project/Ward/promises")
        await user.sees("promised: at least 2", SECONDS)
        await user.enter("k", 3 + i)
        await user.sees(rf"promised: at least {3 + i}\.", SECONDS)
        return seen + json.dumps(user.elements), time.monotonic() - began

    for name, (seen, seconds) in zip(USERS, all_at_once(studio, act), strict=True):
        others = [other for other in USERS if other != name and f'{other}"' in seen.replace("\\", "")]
        assert others == [], name
        assert seconds < 3 * SECONDS


def test_nobody_is_let_in_to_the_page_of_another(studio):
    """Who has a password of their own, and even knows the number of the page of another, does not see it."""

    async def run():
        async with StudioUser(studio) as ann, StudioUser(studio) as eve:
            await ann.sign_in(USERS[0], "sesame")
            await eve.sign_in(USERS[1], "sesame")
            await ann.open("/project/Ward/promises")
            assert await eve.knock(ann.client) == (True, False)
            await eve.open(f"/project/Own of {USERS[0]}/data")
            await eve.sees(f"Own of {USERS[1]}", SECONDS)  # the list of projects that she has
            assert f"Own of {USERS[0]}" not in json.dumps(eve.elements)

    asyncio.run(run())


def test_without_a_cookie_or_from_elsewhere_no_socket_opens(studio):
    async def run():
        async with StudioUser(studio) as ann:
            await ann.sign_in(USERS[0], "sesame")
            await ann.open("/")
            for headers in (
                {"Origin": studio},
                {"Origin": "http://evil.example", "Cookie": ann.cookie},
                {"Cookie": ann.cookie},
                {"Origin": studio, "Cookie": "sfumato_studio_1=wrong"},
                {"Origin": studio, "Cookie": ann.cookie, "Host": "evil.example"},
            ):
                assert await ann.knock(ann.client, headers) == (False, False), headers
            assert (await ann.knock(ann.client))[0]
            ours = {"Origin": studio}
            async with httpx.AsyncClient(base_url=studio) as nobody:
                for method, path in (
                    ("GET", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"),
                    ("POST", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"),
                    ("GET", "/project/Ward/policies/0"),
                    ("POST", "/project/Ward/upload?file=a.csv"),
                    ("GET", "/signing.pub"),
                ):
                    assert (await nobody.request(method, path, headers=ours)).status_code == 401, path

    asyncio.run(run())


def test_what_no_page_expects_has_a_sentence(studio, root):
    """A project that is deleted on the disk, and a browser that sends nonsense."""

    async def run():
        async with StudioUser(studio) as user:
            await user.sign_in(USERS[2], "sesame")
            await user.open("/project/Ward/promises")
            await user.sees("promised: at least", SECONDS)
            await user.enter("k", {"no": ["number"]})
            await user.open(f"/project/Own of {USERS[2]}/promises")
            await user.sees("promised: at least", SECONDS)
            shutil.rmtree(root / "projects" / USERS[2] / f"Own of {USERS[2]}")
            await user.enter("k", 5)
            await user.until(lambda: any("cannot be used" in told for told in user.told), SECONDS)
            await user.open(f"/project/Own of {USERS[2]}/promises")
            await user.until(lambda: any("no such project" in told for told in user.told), SECONDS)

    asyncio.run(run())
