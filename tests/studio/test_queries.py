"""The page of private answers, against a service that runs."""

from __future__ import annotations

import http.server
import threading
from pathlib import Path

import pytest

from sfumato.errors import PolicyError, ReadError
from sfumato.service.client import ServiceClient
from sfumato.studio.server import Studio
from tests.service.running import KEYS
from tests.service.running import running as serving
from tests.studio.running import browsing, counted, running, until


@pytest.mark.parametrize(
    ("users", "service", "address", "allowed"),
    [
        ((), None, "http://127.0.0.1:8321/", True),
        ((), None, "http://localhost:1", True),
        ((), None, "https://service.example", False),
        ((), None, "http://127.0.0.1@service.example", False),
        ((), None, "ftp://127.0.0.1", False),
        ((), None, "http://127.0.0.1:none", False),
        ((), "https://service.example", "https://service.example", True),
        (("ann",), None, "http://127.0.0.1:8321", False),  # not the ports of the machine, for whoever has a password
        (("ann",), "http://127.0.0.1:8321", "http://127.0.0.1:8321", True),
    ],
)
def test_only_this_machine_or_the_service_that_was_named_is_asked(users, service, address, allowed):
    studio = Studio(Path(), None, users, service)
    if allowed:
        assert studio.service_at(address) == address.rstrip("/")
        return
    with pytest.raises(PolicyError):
        studio.service_at(address)


@pytest.mark.slow
def test_the_key_follows_no_redirect():
    asked = []

    class Moved(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{server.server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Moved) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(ReadError, match="status 302"):
            ServiceClient(f"http://127.0.0.1:{server.server_port}", key="k").budget()
        server.shutdown()
    assert asked == ["/budget"]


@pytest.mark.browser
def test_a_question_is_priced_asked_and_answered(chromium, tmp_path):
    (tmp_path / "service").mkdir()
    projects = tmp_path / "projects"
    with serving(tmp_path / "service") as service, running(projects) as url, browsing(chromium, url) as watched:
        page = watched.page
        page.set_default_timeout(60_000)
        page.get_by_role("link", name="Queries").click()
        page.get_by_text("sfumato query serve policy.toml").wait_for()
        assert watched.accessible() == []
        page.get_by_label("Your key").fill(KEYS["ann"])
        page.get_by_label("Address of the service").fill("http://127.0.0.1:1")
        page.get_by_role("button", name="Connect").click()
        page.get_by_text("does not answer").wait_for()
        page.get_by_label("Address of the service").fill("https://service.example")
        page.get_by_role("button", name="Connect").click()
        page.get_by_text("no service of another machine").wait_for()
        page.get_by_label("Address of the service").fill(service.url)
        page.get_by_role("button", name="Connect").click()
        page.get_by_text("epsilon 20 left").wait_for()
        until(page, lambda: page.get_by_label("Your key").input_value() == "")
        page.get_by_label("Question").fill("histogram sex")
        page.get_by_role("button", name="What would it cost?").click()
        page.get_by_text("It would cost epsilon 0.1").wait_for()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_text("Cost epsilon 0.1").wait_for()
        page.get_by_text("epsilon 19.9 left").wait_for()
        counted(page, ".answer tbody tr", 2)
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_text("Answered before").wait_for()
        page.get_by_label("Question").fill("SELECT avg(age) FROM patients")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_text("with 95% probability").wait_for()
        page.get_by_role("textbox", name="epsilon").fill("50")
        page.get_by_label("Question").fill("count")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_text("nothing was charged").wait_for()
        page.get_by_text("Columns that may be asked").click()
        assert watched.accessible() == []
        assert watched.faults == []
    assert not [path for path in projects.rglob("*") if path.is_file() and KEYS["ann"].encode() in path.read_bytes()]
