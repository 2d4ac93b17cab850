"""A real PostgreSQL for tests: its own data folder, its own port on loopback, passwords on.

As a plugin of tests/conftest.py it gives the fixture `postgres`. Where there is no server program, which
`make system` installs, the tests are skipped, or fail where CI=true.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

USER = "sfumato"
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "250",
}


def run(address: str, sql: str) -> list[tuple[object, ...]]:
    """Run some SQL in a connection of its own, and give the rows of the last statement."""
    import adbc_driver_postgresql.dbapi

    with adbc_driver_postgresql.dbapi.connect(address) as connection, connection.cursor() as cursor:
        for part in sql.split(";"):
            cursor.execute(part)
        rows = cursor.fetchall() if cursor.description else []
        connection.commit()
    return rows


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server for this session, without the password, which is in the file that PGPASSFILE names."""
    pytest.importorskip("adbc_driver_postgresql")
    programs = _programs()
    # not under pytest's folder, which the server's user may not enter
    folder = Path(tempfile.mkdtemp(prefix="sfumato-postgres-"))
    password = secrets.token_hex(16)
    before = os.environ.get("PGPASSFILE")
    try:
        server, port = _start(programs, folder, password)
        try:
            passwords = folder / "passwords"
            passwords.touch(mode=0o600)
            passwords.write_text(f"127.0.0.1:{port}:*:*:{password}\n")
            os.environ["PGPASSFILE"] = str(passwords)
            yield f"postgresql://{USER}@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(signal.SIGINT)  # without waiting for clients
            server.wait(60)
    finally:
        os.environ.pop("PGPASSFILE", None)
        if before is not None:
            os.environ["PGPASSFILE"] = before
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    """The folder with initdb and postgres."""
    found = _find()
    if found is None:
        missing = "PostgreSQL is not on this machine: make system"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def _find() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), reverse=True)
    near = shutil.which("initdb")
    for folder in [*([Path(near).resolve().parent] if near else []), *folders]:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    return None


def _start(programs: Path, folder: Path, password: str) -> tuple[subprocess.Popen[bytes], int]:
    """Make a data folder, and a server on it; both refuse to run as root."""
    user = _user()
    first = folder / "first"
    first.touch(mode=0o600)
    first.write_text(password + "\n")
    if user is not None:
        for path in (folder, first):
            os.chown(path, user.pw_uid, user.pw_gid)
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user is not None else {}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment |= {"LC_ALL": "C.UTF-8", "HOME": str(folder)}
    data, log = folder / "data", folder / "log"
    subprocess.run(
        [programs / "initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={first}", "-E", "UTF8"],
        env=environment,
        cwd=folder,
        check=True,
        capture_output=True,
        **as_user,  # type: ignore[call-overload]
    )
    first.unlink()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    given = SETTINGS | {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "port": str(port)}
    options = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
    with log.open("wb") as out:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *options],
            env=environment,
            cwd=folder,
            stdout=out,
            stderr=out,
            **as_user,  # type: ignore[call-overload]
        )
    for _ in range(300):
        if server.poll() is not None:
            pytest.fail(f"PostgreSQL did not start: {log.read_text()[-500:]}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0 and "ready to accept" in log.read_text():
                return server, port
        time.sleep(0.1)
    server.kill()
    pytest.fail("PostgreSQL did not start in 30 seconds")


def _user() -> pwd.struct_passwd | None:
    """Whom to run the server as, where this runs as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None
