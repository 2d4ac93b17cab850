"""Run the service: register its datasets, then answer until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.errors import MissingExtra, OutputError
from sfumato.service.address import is_loopback
from sfumato.service.policy import read_policy


def serve(
    path: str | Path, *, address: str | None = None, port: int | None = None, ready: Callable[[str], None]
) -> None:
    """Serve a policy file until it is stopped. `ready` is told the address once requests are taken."""
    try:
        import uvicorn

        from sfumato.service.app import Service, make_app
    except ImportError:
        raise MissingExtra("fastapi or uvicorn", "service") from None
    policy = read_policy(path)
    table = policy.service
    changed: dict[str, Any] = {
        name: value for name, value in (("address", address), ("port", port)) if value is not None
    }
    if changed:
        table = table.model_copy(update=changed)
        policy = replace(policy, service=table)
    secure = table.certificate is not None
    if not is_loopback(table.address) and not secure:
        what = f"{table.address} is reached from other machines, which needs TLS"
        raise OutputError(what, hint="give certificate and private_key in [service]")
    with _listening(table.address, table.port) as listening:
        host = f"[{table.address}]" if ":" in table.address else table.address
        url = f"{'https' if secure else 'http'}://{host}:{listening.getsockname()[1]}"
        config = uvicorn.Config(
            make_app(Service(policy)), access_log=False, log_level="warning", server_header=False, ws="none",
            proxy_headers=False, timeout_keep_alive=30, h11_max_incomplete_event_size=2**16,
            ssl_certfile=str(policy.home / table.certificate) if table.certificate else None,
            ssl_keyfile=str(policy.home / table.private_key) if table.private_key else None,
        )  # fmt: skip

        class Server(uvicorn.Server):
            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets)
                if self.started:
                    ready(url)

        Server(config).run([listening])


def _listening(address: str, port: int) -> socket.socket:
    """A socket that takes requests once the service runs."""
    try:
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(found[4][:2], family=found[0], backlog=2048)
    except OSError as error:
        raise OutputError(f"{address} port {port} cannot be served: {error.strerror}") from None
