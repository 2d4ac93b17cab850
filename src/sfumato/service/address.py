"""Addresses: which machines one is reached from, and where a service is asked."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from sfumato.errors import PolicyError


def is_loopback(address: str) -> bool:
    """Whether an address is reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return address == "localhost" or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def service_address(text: str) -> str:
    """The address of a service, checked.

    >>> service_address("http://127.0.0.1:8321/")
    'http://127.0.0.1:8321'
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.scheme not in ("http", "https") or parts.username is not None:
        raise PolicyError("this is no address of a service", got=repr(text), allowed="http://127.0.0.1:8321")
    if parts.scheme == "http" and not is_loopback(host):
        raise PolicyError("a key is sent to other machines by https alone", got=repr(text))
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if port is None else f":{port}")
