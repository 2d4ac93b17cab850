"""Server: the studio on a port of this machine, until it is interrupted."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sfumato.errors import MissingExtra, OutputError, PolicyError, ReadError
from sfumato.service.address import is_loopback, service_address
from sfumato.studio.project import STATE

if TYPE_CHECKING:
    from sfumato.studio.worker import Workers

PORT = 8123
FIRST_PORTS = 100  # that are tried where none is named
MANY = 3  # workers at least, where there are users


@dataclass(frozen=True)
class Studio:
    """What is served: where projects are, and who works on them."""

    root: Path  # a folder of projects; of one for each user where there are users
    workers: Workers
    users: tuple[str, ...] = ()
    service: str | None = None  # the address of the service of private answers
    opened: tuple[Path, ...] = field(default=())  # further projects, by their folders

    def root_of(self, user: str) -> Path:
        """Where the projects of a user are; no user sees those of another."""
        return self.root / user if self.users else self.root

    def service_at(self, address: str) -> str:
        """The checked address of a service of private answers: the one that the studio was started with, or, where
        there is one user, another of this machine."""
        found = service_address(address)
        if self.service is not None and found == service_address(self.service):
            return found
        if self.users or not is_loopback(str(urlsplit(found).hostname)):
            what = "the studio asks no service of another machine that it was not started with"
            raise PolicyError(what, got=found, hint="sfumato studio --service URL")
        return found

    def key_of(self, user: str) -> Path:
        """Where the key is that a user signs with."""
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "sfumato"
        return (self.root_of(user) if self.users else folder) / "signing.pem"


def default_root() -> Path:
    """Where projects are kept unless a folder is named."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "sfumato" / "projects"


def read_users(path: Path) -> dict[str, str]:
    """Names and hashes of passwords, of a TOML file: `ann = "scrypt:..."`, as `sfumato query password` prints them."""
    from sfumato.service.secret import password_fault

    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise ReadError(f'the file of users "{path}" cannot be read as TOML') from None
    for name, stored in found.items():
        fault = password_fault(stored) if isinstance(stored, str) else "is no hash of a password"
        if fault is not None or not name.isidentifier():
            what = f'"{name}" of "{path}" {fault or "is no name of a user"}'
            raise PolicyError(what, allowed='ann = "scrypt:...", a name of letters and digits')
    if not found:
        raise PolicyError(f'"{path}" names no user')
    return found


def serve(
    *,
    project: Path | None = None,
    root: Path | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    certificate: Path | None = None,
    private_key: Path | None = None,
    users: Path | None = None,
    service: str | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve until interrupted; `ready` is told the address once pages are given out."""
    try:
        import nicegui  # noqa: F401
        import uvicorn
    except ImportError:
        raise MissingExtra("nicegui", "studio") from None
    from sfumato.studio.gate import COOKIE, StudioGate
    from sfumato.studio.log import keep_values_out
    from sfumato.studio.views import make_app
    from sfumato.studio.worker import Workers

    keep_values_out()
    own = is_loopback(host)
    secure = certificate is not None and private_key is not None
    names: Mapping[str, str] = {} if users is None else read_users(users)
    if not own and not (secure and names):
        what = f"{host} is reached from other machines, which needs TLS and passwords"
        raise OutputError(what, hint="--certificate server.pem --private-key server.key --users users.toml")
    if project is not None and not (project / STATE).is_file():
        raise ReadError(f'"{project}" is no project of the studio', hint="start without --project, and make one")
    with _listening(host, port) as listening:
        taken = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        hosts = {f"{name}:{taken}" for name in ({"127.0.0.1", "localhost", "[::1]", shown} if own else {shown})}
        if not own:
            hosts |= {f"{socket.gethostname()}:{taken}", f"{socket.getfqdn()}:{taken}"}
        workers = Workers(max(MANY, os.cpu_count() or 1), ahead=True) if names else Workers()
        workers.warm()
        base = (project.resolve().parent if project is not None else root or default_root()).absolute()
        studio = Studio(base, workers, tuple(names), None if service is None else service_address(service))
        gate = StudioGate(make_app(studio), hosts, secure, names, f"{COOKIE}_{taken}")
        config = uvicorn.Config(
            gate, access_log=False, log_level="warning", server_header=False, proxy_headers=False,
            ws="websockets-sansio", timeout_graceful_shutdown=2,  # an open tab keeps nobody waiting
            ssl_certfile=None if certificate is None else str(certificate),
            ssl_keyfile=None if private_key is None else str(private_key),
        )  # fmt: skip
        start = "/" if project is None else f"/project/{project.resolve().name}/data"
        query = f"?token={gate.token}" if gate.token else ""
        url = f"{'https' if secure else 'http'}://{shown}:{taken}{start}{query}"

        class Server(uvicorn.Server):
            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets)
                if self.started:
                    ready(url)
                    self.warming = asyncio.create_task(workers.get_ready())

            async def shutdown(self, sockets: Any = None) -> None:
                workers.close()  # nobody waits for a search
                await super().shutdown(sockets)

        try:
            Server(config).run([listening])
        finally:
            workers.close()


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket on the port that was named, or on the first that is free."""
    wanted = [port] if port is not None else [*range(PORT, PORT + FIRST_PORTS), 0]
    for number in wanted:
        try:
            found = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
            return socket.create_server(found[4][:2], family=found[0], backlog=2048, reuse_port=False)
        except OSError as error:
            if number == wanted[-1]:
                raise OutputError(f"{host} port {number} cannot be served: {error.strerror}") from None
    raise AssertionError


def open_browser(url: str) -> None:
    """Show a page, where there is a screen."""
    import webbrowser

    if sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)
