"""A keyed fingerprint of the input: it proves later which table a release came from, and tells nobody else anything."""

from __future__ import annotations

import hashlib
import hmac
import io
import os
import secrets
from pathlib import Path
from tempfile import mkstemp

import polars as pl

from sfumato.core.printed import FieldTexts, printed, printed_frame

CELLS = 1 << 22  # printed at a time, to bound memory


def key() -> bytes | None:
    """The secret key: SFUMATO_KEY, or a file in the user's configuration that is made on first use.

    None where neither can be had; releases then carry no fingerprint.
    """
    if given := os.environ.get("SFUMATO_KEY"):
        return os.fsencode(given)
    try:
        path = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "sfumato" / "key"
        if not path.exists():
            _make_key(path)
        return path.read_bytes().strip() or None
    except (OSError, RuntimeError):  # the latter where nobody is at home
        return None


def _make_key(path: Path) -> None:
    """A new key under its name, whole from the start; that of another run where it was faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = mkstemp(prefix=".key-", dir=path.parent)  # the owner's alone
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(part, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.rename(part, path)
    finally:
        Path(part).unlink(missing_ok=True)


def fingerprint(frame: pl.DataFrame, secret: bytes | None) -> str | None:
    """HMAC-SHA256 of the column names and printed values, in order: of their lines in a CSV file, all quoted."""
    if secret is None:
        return None
    mac = hmac.new(secret, digestmod=hashlib.sha256)
    mac.update(printed_frame(frame.clear()).write_csv(quote_style="always").encode())
    listed = sum(isinstance(dtype, pl.Enum) for dtype in frame.dtypes)
    texts = FieldTexts.of(frame, ",", _quoted) if 2 * listed > frame.width else None
    step = max(1, CELLS // max(1, frame.width))
    for low in range(0, frame.height, step):
        text = io.BytesIO()
        if texts is None:
            printed_frame(frame.slice(low, step)).write_csv(text, include_header=False, quote_style="always")
        else:
            texts.rows(low, step).write_csv(text, include_header=False, quote_style="never")
        mac.update(text.getbuffer())
    return "hmac-sha256:" + mac.hexdigest()


def _quoted(column: pl.Series) -> pl.Series:
    return ('"' + printed(column).str.replace_all('"', '""', literal=True) + '"').fill_null('""')


def secret_seed(seed: int | None, of: str = "shuffle") -> int:
    """A seed of a random order that nobody can derive from the published one: else the order could be undone."""
    secret = key() or secrets.token_bytes(32)
    given = secrets.token_hex(16) if seed is None else str(seed)
    return int.from_bytes(hmac.new(secret, f"{of} {given}".encode(), hashlib.sha256).digest()[:8], "big")
