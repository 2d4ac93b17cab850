"""A keyed fingerprint of the input: it proves later which table a release came from, and tells nobody else anything."""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import secrets
from pathlib import Path

import polars as pl

from sfumato.engines.printed import printed


def key() -> bytes | None:
    """The secret key: SFUMATO_KEY, or a file in the user's configuration that is made on first use.

    None where neither can be had; releases then carry no fingerprint.
    """
    if given := os.environ.get("SFUMATO_KEY"):
        return given.encode()
    path = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "sfumato" / "key"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(32))
        return path.read_bytes().strip() or None
    except OSError:
        return None


def fingerprint(frame: pl.DataFrame, secret: bytes | None) -> str | None:
    """HMAC-SHA256 of the column names and printed values, in order."""
    if secret is None:
        return None
    mac = hmac.new(secret, digestmod=hashlib.sha256)
    for name in frame.columns:
        text = io.BytesIO()
        pl.DataFrame({name: printed(frame.get_column(name))}).write_csv(text, quote_style="always")
        mac.update(text.getbuffer())
        mac.update(b"\x00")
    return "hmac-sha256:" + mac.hexdigest()


def secret_seed(seed: int | None) -> int:
    """A seed for shuffling that nobody can derive from the published one: else the order could be undone."""
    secret = key() or secrets.token_bytes(32)
    given = secrets.token_hex(16) if seed is None else str(seed)
    return int.from_bytes(hmac.new(secret, f"shuffle {given}".encode(), hashlib.sha256).digest()[:8], "big")
