"""A keyed fingerprint of the input: it proves later which table a release came from, and tells nobody else anything."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import secrets
from pathlib import Path
from tempfile import mkstemp

import numpy as np
import polars as pl

from sfumato.core.printed import FEW, SEEN, count_numbers, printed, text_numbers

LINES = 1 << 20  # printed at a time, to bound memory


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
    """HMAC-SHA256 of the column names and printed values, column by column.

    A column of few texts goes in as these, sorted, and the number of each row's; one of many as lines of CSV.
    """
    if secret is None:
        return None
    mac = hmac.new(secret, json.dumps([frame.height, frame.columns]).encode(), digestmod=hashlib.sha256)
    for column in frame.iter_columns():
        if printed(column.head(SEEN)).n_unique() > FEW:
            for low in range(0, frame.height, LINES):
                text = io.BytesIO()
                lines = printed(column.slice(low, LINES)).to_frame()
                lines.write_csv(text, include_header=False, quote_style="always")
                mac.update(text.getbuffer())
            continue
        texts, number = _numbered(column)
        mac.update(json.dumps(texts).encode())
        mac.update(number.astype(np.min_scalar_type(len(texts)).newbyteorder("<")).tobytes())
    return "hmac-sha256-columns:" + mac.hexdigest()


def _numbered(column: pl.Series) -> tuple[list[str], np.ndarray]:
    """The printed texts of a column, each once and sorted, and the number of each row's, the greatest for missing."""
    if not isinstance(column.dtype, pl.Enum):
        text = printed(column)
        column = text.cast(pl.Enum(text.drop_nulls().unique().sort()))
    texts: list[str | None] = printed(column.dtype.categories).to_list()  # type: ignore[attr-defined]
    number = text_numbers(column)
    used = count_numbers(number, len(texts) + 1)[:-1] > 0
    words = sorted({text for text, some in zip(texts, used.tolist(), strict=True) if some and text is not None})
    if words == texts:
        return words, number
    rank = {text: i for i, text in enumerate(words)}
    return words, np.array([rank.get(text or "", len(words)) for text in (*texts, None)])[number]


def secret_seed(seed: int | None, of: str = "shuffle") -> int:
    """A seed of a random order that nobody can derive from the published one: else the order could be undone."""
    secret = key() or secrets.token_bytes(32)
    given = secrets.token_hex(16) if seed is None else str(seed)
    return int.from_bytes(hmac.new(secret, f"{of} {given}".encode(), hashlib.sha256).digest()[:8], "big")
