"""Projects, data and releases in a browser: a policy dropped, a table uploaded, a release signed and taken away."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import polars as pl
import pytest

from sfumato.service.secret import hash_password
from sfumato.studio.project import create, opened, projects
from sfumato.studio.table_watch import seen
from tests.studio.running import browsing, counted, running, until

pytestmark = pytest.mark.browser

MARKUP = "<img src=x onerror=document.title='hacked'>"
POLICY = f"""[roles]
identifying = ["{MARKUP}"]
quasi = ["age", "zip"]
sensitive = ["disease"]
[[require]]
model = "k-anonymity"
k = 3
[search]
method = "mondrian"
[output]
path = "out"
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    root = tmp_path_factory.mktemp("studio")
    before = {name: os.environ.get(name) for name in ("XDG_CONFIG_HOME", "SFUMATO_SHARED", "SFUMATO_ADULT")}
    os.environ["XDG_CONFIG_HOME"] = str(root / "config")
    os.environ.pop("SFUMATO_SHARED", None)
    try:
        with running(root / "projects") as url:
            yield url, root
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("in") / "ward 3.csv"
    rows = range(120)
    columns = {
        MARKUP: [f"{MARKUP} {i}" for i in rows],
        "age": [20 + i * 7 % 60 for i in rows],
        "zip": [f"{80410 + i % 9}" for i in rows],
        "disease": [("flu", "cold", "gout", None)[i % 4] for i in rows],
    }
    pl.DataFrame(columns).write_csv(path)
    return path


def shell(*words, cwd):
    command = [sys.executable, "-m", "sfumato", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_from_an_empty_project_to_a_signed_zip_that_verify_confirms(chromium, studio, table, tmp_path):
    url, root = studio
    (tmp_path / "Ward (3).toml").write_text(POLICY)
    with browsing(chromium, url) as watched:
        page = watched.page
        page.set_default_timeout(240_000)
        page.get_by_text("SFUMATO_ADULT=").wait_for()
        assert watched.accessible() == []
        page.locator("input[type=file]").set_input_files(tmp_path / "Ward (3).toml")
        page.get_by_text("Drop a file here").wait_for()
        assert watched.accessible() == []
        page.locator("input[type=file]").set_input_files(table)
        page.get_by_text("120 rows, 4 columns").wait_for()
        page.locator("svg.bars").nth(3).wait_for()
        counted(page, page.get_by_text(MARKUP, exact=True), 2)  # in the list of columns, and above the rows
        page.get_by_label("Rows after").click()
        page.get_by_text("26–50").wait_for()
        assert watched.accessible() == []

        page.get_by_role("link", name="Release").click()
        page.get_by_role("button", name="Make the release").click()
        page.get_by_text("every promise holds").wait_for()
        page.get_by_text("Sign", exact=True).first.click()
        page.get_by_label("Your name").fill("<b>Ann</b>")
        page.get_by_label("Passphrase of the key").fill("sesame")
        page.get_by_label("Passphrase once more").fill("sesame")
        page.get_by_role("button", name="Sign").last.click()
        page.get_by_text("Signed by <b>Ann</b> on").wait_for()
        assert watched.accessible() == []
        frame = page.frame_locator("iframe.report")
        frame.get_by_text("promise holds").first.wait_for()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download all as zip").click()
        download.value.save_as(tmp_path / "release.zip")
        page.get_by_text("Policy file and shell line").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download policy.toml").click()
        download.value.save_as(tmp_path / "policy.toml")
        assert page.title() != "hacked"
        assert page.locator("img[src=x]").count() == 0
        assert watched.faults == []

    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        archive.extractall(tmp_path)
    verified = shell("verify", "Ward (3) 1", cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert 'signed by "<b>Ann</b>"' in verified.stdout
    assert "by a key that you trust" in verified.stdout
    made = shell("anonymize", "policy.toml", "-o", "again", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    for name in ("data.csv", "manifest.json", "report.html"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "Ward (3) 1" / name).read_bytes(), name
    assert (root / "projects" / "Ward (3)" / "private" / "uploads" / "ward 3.csv").read_bytes() == table.read_bytes()


def test_files_that_change_go_away_or_are_none(chromium, studio, table, tmp_path):
    url, root = studio
    own = tmp_path / "own.csv"
    own.write_bytes(table.read_bytes())
    with browsing(chromium, url) as watched:
        page = watched.page
        page.set_default_timeout(60_000)
        name = f"Watched {len(projects(root / 'projects'))}"  # another one where it is tried again
        page.get_by_label("Name of the project").fill(name)
        page.get_by_role("button", name="Create").click()
        page.get_by_role("tab", name="On this machine").click()
        page.get_by_label("Path of a file").fill(str(own))
        page.get_by_role("button", name="Read it").click()
        page.get_by_text("120 rows, 4 columns").wait_for()
        page.locator("svg.bars").nth(3).wait_for()
        watch = opened(root / "projects" / name)
        until(page, lambda: (watch.kept("table") or {}).get("files") == seen([own]))  # the fingerprint is noted
        own.touch()
        page.reload()
        page.locator("svg.bars").nth(3).wait_for()
        until(page, lambda: watch.kept("table")["files"] == seen([own]))
        assert page.get_by_role("alert").count() == 0  # only touched
        own.write_text("age\n1\n2\n")
        page.reload()
        page.get_by_text("The file changed since it was looked at.").wait_for()
        page.get_by_role("button", name="Take it as it is now").click()
        page.get_by_text("2 rows, 1 column").wait_for()
        own.write_bytes(b"age\0\n1\n")
        page.reload()
        page.get_by_text("has a null byte").wait_for()
        own.unlink()
        page.reload()
        page.get_by_text("The file is not where it was.").wait_for()
        page.get_by_role("link", name="Release").click()
        page.get_by_text("The file is not where it was.").wait_for()
        assert watched.faults == []


@pytest.mark.parametrize(("width", "dark", "language"), [(390, True, "it-IT"), (1440, True, "en")])
def test_pages_can_be_read_by_everybody(chromium, studio, width, dark, language):
    url, _ = studio
    view = {"viewport": {"width": width, "height": 900}, "locale": language}
    with browsing(chromium, url, color_scheme="dark" if dark else "light", **view) as watched:
        page = watched.page
        page.set_default_timeout(60_000)
        for path in ("/", "/project/Ward (3)/data", "/project/Ward (3)/release"):
            page.goto(url.split("/?")[0] + path)
            page.locator(".studio-main h1").wait_for()
            page.locator(".progress-card, .q-spinner").first.wait_for(state="detached")
            assert watched.accessible() == [], path
            page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        assert watched.faults == []


def test_users_see_their_own_projects_and_nothing_of_the_machine(chromium, tmp_path):
    (tmp_path / "users.toml").write_text("".join(f'{name} = "{hash_password(name * 3)}"\n' for name in ("ann", "ben")))
    create(tmp_path / "projects" / "ann", "Hers", {"input": {"path": "private/uploads/a.csv"}})
    with (
        running(tmp_path / "projects", "--users", str(tmp_path / "users.toml")) as url,
        browsing(chromium, url) as watched,
    ):
        page = watched.page
        page.set_default_timeout(60_000)
        page.get_by_label("Name").fill("ben")
        page.get_by_label("Password").fill("benbenben")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("No project yet.").wait_for()
        assert page.get_by_label("Path of a policy file").count() == 0
        page.get_by_label("Name of the project").fill("His")
        page.get_by_role("button", name="Create").click()
        page.get_by_text("Tables are uploaded here").wait_for()
        counted(page, page.get_by_role("tab"), 1)
        for path in ("/project/Hers/data", "/project/..%2Fann%2FHers/data", "/project/Hers/release"):
            page.goto(url.rstrip("/") + path)
            page.get_by_text("There is no such project").or_(page.get_by_text("there is no such project")).or_(
                page.get_by_text("not found")
            ).first.wait_for()
            assert page.get_by_text("a.csv").count() == 0
        assert page.request.get(url.rstrip("/") + "/project/Hers/policies/0").status == 404
    assert not (tmp_path / "projects" / "ben" / "Hers").exists()
