"""A client of the service, for the shell and the studio: one request at a time, by the standard library alone."""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from sfumato.core.parameters import path_of
from sfumato.errors import BudgetSpent, InputError, PolicyError, QueryRefused, ReadError, SfumatoError
from sfumato.service.address import service_address

SECONDS = 120.0
ERRORS: dict[str, type[SfumatoError]] = {"BudgetSpent": BudgetSpent, "QueryRefused": QueryRefused}


class _Unmoved(urllib.request.HTTPRedirectHandler):
    """No redirect is followed: the key is for the host that was named."""

    def redirect_request(self, *_: Any) -> None:
        return None


class ServiceClient:
    """Requests to a service by a user's key, which is in a file or given."""

    def __init__(self, address: str, key_file: Any = None, *, key: str | None = None) -> None:
        self.address = service_address(address)
        self._key = read_key(key_file) if key is None else key
        if not self._key.isascii() or not self._key.isprintable():
            raise PolicyError("this is no key of a service", hint="sfumato query key makes one")

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Ask a question."""
        found: dict[str, Any] = self._call("/ask", question)
        return found

    def cost(self, question: dict[str, Any]) -> dict[str, Any]:
        """What a question would cost."""
        found: dict[str, Any] = self._call("/cost", question)
        return found

    def budget(self) -> list[dict[str, Any]]:
        """What is left of the user's budgets."""
        found: list[dict[str, Any]] = self._call("/budget")
        return found

    def schema(self) -> list[dict[str, Any]]:
        """What is public of the datasets that the user may ask."""
        found: list[dict[str, Any]] = self._call("/schema")
        return found

    def _call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            _Unmoved(),
            urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        )
        try:
            with opener.open(request, timeout=SECONDS) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise _error(error) from None
        except (OSError, ValueError):
            raise ReadError(
                f"the service at {self.address} does not answer",
                hint="does it run there? its owner starts it: sfumato query serve policy.toml",
            ) from None


def _error(error: urllib.error.HTTPError) -> SfumatoError:
    try:
        said = json.loads(error.read())
        kind, message, faults = str(said["error"]), str(said["message"]), said.get("faults") or ()
    except (OSError, ValueError, KeyError, TypeError):
        return ReadError(f"the service refused with status {error.code}")
    if kind in ERRORS:
        return ERRORS[kind](message)
    return PolicyError(message, [str(fault) for fault in faults]) if error.code < 500 else InputError(message)


def read_key(file: Any) -> str:
    """A key from its file, which nobody else may read."""
    place = path_of(file).expanduser()
    try:
        if os.name != "nt" and place.stat().st_mode & 0o077:
            raise ReadError(f'the key file "{place}" can be read by others', hint=f"chmod 600 {place}")
        return Path(place).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise ReadError(f'there is no key in "{place}"', hint="sfumato query key makes one") from None
