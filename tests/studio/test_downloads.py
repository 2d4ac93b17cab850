"""Files of releases: their own, to whom they belong, and by names that lead nowhere else."""

from __future__ import annotations

import asyncio
import io
import tomllib
import zipfile

import httpx
import pytest
from fastapi import FastAPI

import sfumato as sf
from sfumato.service.secret import hash_password
from sfumato.studio.context import PageContext
from sfumato.studio.downloads import add_download_routes, zipped
from sfumato.studio.gate import StudioGate
from sfumato.studio.project import create
from sfumato.studio.server import Studio
from sfumato.studio.texts import Texts
from sfumato.studio.views.data import add_routes as add_upload_routes

OURS = "http://127.0.0.1:8123"
TABLE = {"age": [31, 31, 58, 58], "<b>sex": ["f", "f", "m", "m"]}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A project of ann's with a release, and cookies of ann and ben."""
    root = tmp_path_factory.mktemp("root")
    studio = Studio(root, None, ("ann", "ben"))
    project = create(root / "ann", "Ward 3", {"input": {"path": "in.csv"}})
    number, folder = project.next_release()
    sf.anonymize(TABLE, quasi=["age", "<b>sex"], k=2).save(folder)
    project.add_release(number, {})
    (folder / "link").symlink_to(project.folder / "project.sqlite")
    app = FastAPI()
    for add in (add_download_routes, add_upload_routes):
        add(app, lambda request: PageContext(studio, request.state.user, Texts("en")))
    gate = StudioGate(app, {"127.0.0.1:8123"}, users={name: hash_password("sesame") for name in ("ann", "ben")})

    async def call(method, path, **more):
        cookies = more.pop("cookies", None)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(gate), base_url=OURS, cookies=cookies) as client:
            return await client.request(method, path, **more)

    def login(user):
        form = {"data": {"name": user, "password": "sesame"}, "headers": {"origin": OURS}}
        return dict(asyncio.run(call("POST", "/login", **form)).cookies)

    cookies = {user: login(user) for user in ("ann", "ben")}

    def ask(path, user="ann", method="GET", **more):
        return asyncio.run(call(method, path, cookies=cookies[user], **more))

    yield ask, project
    (folder / "link").unlink()


def test_the_report_is_shown_in_a_sandbox_and_files_are_downloads(site):
    get, project = site
    folder = project.folder / "releases" / "1"
    report = get("/project/Ward 3/releases/1/report.html")
    assert report.content == (folder / "report.html").read_bytes()
    assert report.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "attachment" not in report.headers.get("content-disposition", "")
    data = get("/project/Ward 3/releases/1/data.csv")
    assert data.content == (folder / "data.csv").read_bytes()
    assert "attachment" in data.headers["content-disposition"]
    policy = get("/project/Ward 3/policies/1")
    assert tomllib.loads(policy.text) == {"input": {"path": str(project.folder / "in.csv")}}


def test_the_zip_has_the_release_and_nothing_else(site, tmp_path):
    get, project = site
    with zipfile.ZipFile(io.BytesIO(get("/project/Ward 3/releases/1").content)) as archive:
        names = [f"Ward 3 1/{name}" for name in ("data.csv", "manifest.json", "report.html")]
        assert archive.namelist() == names
        assert archive.testzip() is None
        archive.extractall(tmp_path)
    assert sf.verify(tmp_path / "Ward 3 1").holds
    folder = project.folder / "releases" / "1"
    assert b"".join(zipped(folder, "x")) == b"".join(zipped(folder, "x"))


@pytest.mark.parametrize(
    "path",
    [
        "releases/1/..%2f..%2fpolicy.toml", "releases/1/../../policy.toml", "releases/1/%2e%2e%2fproject.sqlite",
        "releases/1/..%5c..%5cpolicy.toml", "releases/1/link", "releases/1/none.csv", "releases/2",
        "releases/2/data.csv", "releases/..", "releases/-1", "releases/1/%2fetc%2fpasswd", "policies/7",
        "releases/1/data.csv%00",
    ],
)  # fmt: skip
def test_names_lead_nowhere_else(site, path):
    get, _ = site
    got = get(f"/project/Ward 3/{path}")
    assert got.status_code in (404, 422)
    assert "CREATE TABLE" not in got.text


def test_nobody_sees_the_project_of_another_user(site):
    get, _ = site
    for path in ("releases/1", "releases/1/report.html", "releases/1/data.csv", "policies/0", "policies/1"):
        assert get(f"/project/Ward 3/{path}").status_code == 200
        assert get(f"/project/Ward 3/{path}", "ben").status_code == 404
    assert get("/project/..%2fann%2fWard 3/releases/1", "ben").status_code == 404
    assert get("/project/..%2fann/releases/1", "ben").status_code == 404
    assert get("/signing.pub").status_code == 404


def test_uploads_go_into_the_own_project_from_the_own_page(site):
    ask, project = site
    sent = {"method": "POST", "content": b"a,b\n1,2\n"}
    ours = {"headers": {"origin": OURS}}
    got = ask("/project/Ward 3/upload?file=..%2F..%2Fa.csv", **sent, **ours)
    assert (got.status_code, got.json()) == (200, {"path": "private/uploads/a.csv"})
    assert ask("/project/Ward 3/upload?file=b.csv", **sent).status_code == 403  # no origin
    assert (
        ask("/project/Ward 3/upload?file=b.csv", **sent, headers={"origin": "http://evil.example"}).status_code == 403
    )
    assert ask("/project/Ward 3/upload?file=b.csv", "ben", **sent, **ours).status_code == 400
    assert ask("/project/..%2fann%2fWard 3/upload?file=b.csv", "ben", **sent, **ours).status_code == 404
    too_long = {"headers": {"origin": OURS, "content-length": "200000001"}}
    refused = ask("/project/Ward 3/upload?file=b.csv", **sent, **too_long)
    assert refused.status_code == 413
    assert "read where they lie" in refused.text
    assert [path.name for path in (project.folder / "private" / "uploads").iterdir()] == ["a.csv"]
