"""The examples for operators, as they stand in the docs: nginx before a studio, and the unit of systemd."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from sfumato.service.secret import hash_password
from tests.service.test_promises import certificate
from tests.studio.running import browsing, running

DOCS = (Path(__file__).parents[2] / "docs" / "studio" / "operators.md").read_text(encoding="utf-8")
NGINX, SYSTEMD = shutil.which("nginx"), shutil.which("systemd-analyze")
KINDS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")  # of files that nginx puts aside, all in its folder


def example(language):
    """The one block of a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)
    return found


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@contextmanager
def proxied(folder, studio):
    """The address of an nginx that is set up as the docs say, but for names of files, of the host and of ports."""
    port, theirs = free_port(), studio.rstrip("/").rpartition(":")[2]
    block = example("nginx")
    for written, here in (
        ("8123", theirs),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("https://studio.example", f"https://localhost:{port}"),
        ("server_name studio.example", "server_name localhost"),
        ("/etc/sfumato", str(folder)),
    ):
        assert written in block, written
        block = block.replace(written, here)
    aside = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in KINDS)
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{aside}{block}}}\n"
    )
    certificate(folder)
    with subprocess.Popen([NGINX, "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.PIPE) as process:
        try:
            for _ in range(100):
                if process.poll() is not None:
                    break
                with socket.socket() as tried:
                    if not tried.connect_ex(("127.0.0.1", port)):
                        break
                time.sleep(0.1)
            assert process.poll() is None, process.stderr.read()
            yield f"https://localhost:{port}"
        finally:
            process.terminate()
            process.wait(20)


def status(address, method, path, **headers):
    """What is answered to a request: the number of its first line."""
    port = int(address.rpartition(":")[2])
    insecure = ssl.create_default_context()
    insecure.check_hostname, insecure.verify_mode = False, ssl.CERT_NONE
    lines = [f"{method} {path} HTTP/1.1", f"Host: localhost:{port}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    with socket.create_connection(("127.0.0.1", port), 60) as plain, insecure.wrap_socket(plain) as secure:
        secure.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(secure.recv(1000).split()[1])


@pytest.mark.browser
@pytest.mark.skipif(NGINX is None, reason="nginx is not on this machine")
def test_a_studio_behind_nginx_as_the_docs_set_it_up(chromium, tmp_path):
    (tmp_path / "users.toml").write_text(f'ann = "{hash_password("annannann")}"\n')
    rows = 200_000  # 2 MB: more than nginx takes where nobody tells it otherwise
    pl.DataFrame({"age": [20 + i % 50 for i in range(rows)], "zip": [80000 + i % 90 for i in range(rows)]}).write_csv(
        tmp_path / "ward.csv"
    )
    with (
        running(tmp_path / "projects", "--users", str(tmp_path / "users.toml")) as studio,
        proxied(tmp_path, studio) as address,
        browsing(chromium, address, ignore_https_errors=True) as watched,
    ):
        page = watched.page
        page.set_default_timeout(120_000)
        sockets = []
        page.on("websocket", lambda opened: sockets.append(opened.url))
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("No user has this name and password.").wait_for()
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Password").fill("annannann")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("No project yet.").wait_for()
        assert page.url == f"{address}/"
        page.get_by_label("Name of the project").fill("Ward")
        page.get_by_role("button", name="Create").click()
        page.get_by_text("Tables are uploaded here").wait_for()  # the page before takes files, too
        page.locator("input[type=file]").set_input_files(tmp_path / "ward.csv")
        page.get_by_text("200,000 rows, 2 columns").wait_for()
        assert sockets
        assert all(url.startswith(address.replace("https", "wss")) for url in sockets)
        (cookie,) = page.context.cookies()
        assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")

        signed_in = {"Cookie": f"{cookie['name']}={cookie['value']}"}
        socket_path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13",
                   "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
        assert status(address, "GET", "/") == 401
        assert status(address, "GET", "/", **signed_in) == 200
        assert status(address, "GET", socket_path, Origin=address, **upgrade, **signed_in) == 101
        assert status(address, "GET", socket_path, Origin=address, **upgrade) == 403
        for origin in ("https://evil.example", "null", address.replace("https", "http"), address + "9"):
            assert status(address, "GET", "/", Origin=origin, **signed_in) == 403, origin
            assert status(address, "POST", "/login", Origin=origin, Content_Length=0) == 403, origin
            assert status(address, "GET", socket_path, Origin=origin, **upgrade, **signed_in) == 403, origin
        too_large = {"Origin": address, "Content_Length": 300_000_000, **signed_in}
        assert status(address, "POST", "/project/Ward/upload?file=a.csv", **too_large) == 413
    assert [fault for fault in watched.faults if "401" not in fault] == []  # the password that was wrong


@pytest.mark.skipif(SYSTEMD is None, reason="systemd is not on this machine")
def test_the_unit_of_the_docs_is_one_that_systemd_reads(tmp_path):
    unit, program = example("ini"), "/opt/sfumato/bin/sfumato"
    assert program in unit
    (tmp_path / "sfumato-studio.service").write_text(unit.replace(program, sys.executable))

    def told():
        command = [SYSTEMD, "verify", "--man=no", tmp_path / "sfumato-studio.service"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        own = [line for line in done.stderr.splitlines() if "sfumato-studio" in line]
        return done.returncode, own

    assert told() == (0, [])
    (tmp_path / "sfumato-studio.service").write_text(unit.replace("ReadWritePaths", "WritablePaths"))
    assert any("WritablePaths" in line for line in told()[1])


def test_the_command_of_the_unit_is_one_that_the_studio_takes():
    """Its flags are those that there are."""
    (line,) = re.findall(r"ExecStart=\S+ studio (.*)", example("ini"))
    command = [sys.executable, "-m", "sfumato", "studio", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert [flag for flag in re.findall(r"--[\w-]+", line) if flag not in shown] == []
