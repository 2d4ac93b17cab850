"""Cells encrypted each in its own way: AES-GCM (D. McGrew, J. Viega 2004, NIST SP 800-38D), padded to one length."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Any

import polars as pl

from sfumato.core.parameters import column_name
from sfumato.core.printed import printed
from sfumato.errors import MissingExtra, PolicyError
from sfumato.pseudonyms.key_file import check_generation, secret_of

MARK = "s"  # so that no cell begins as a formula does
PURPOSE, NONCE, STEP = "sealed cells", 12, 16  # bytes of a nonce; lengths are rounded up to such steps


def seal(column: pl.Series, key: str | None = None, seed: int | None = None) -> pl.Series:
    """The cells of a column, encrypted: equal ones come out different, all are equally long, and missing ones too.

    `key` names a key file, else the owner's key is taken. With a `seed` the same column comes out the same.
    """
    secret = secret_of(key, None, PURPOSE, column.name)
    texts = printed(column).cast(pl.String).to_list()
    plain = [b"\0" if text is None else b"\1" + text.encode("utf-8", "surrogatepass") for text in texts]
    width = -(-(max(map(len, plain), default=0) + 4) // STEP) * STEP
    mark = secrets.token_bytes(32) if seed is None else hashlib.sha256(
        b"".join(len(one).to_bytes(4, "big") + one for one in plain)
    ).digest() + str(seed).encode()  # fmt: skip
    cipher = _cipher(secret)
    cells = []
    for i, one in enumerate(plain):
        nonce = hmac.digest(secret, b"nonce" + i.to_bytes(8, "big") + mark, "sha256")[:NONCE]
        body = (len(one).to_bytes(4, "big") + one).ljust(width, b"\0")
        sealed = base64.urlsafe_b64encode(nonce + cipher.encrypt(nonce, body, None))
        cells.append(MARK + sealed.decode("ascii"))
    return pl.Series(column.name, cells, dtype=pl.String)


def unseal(cells: Sequence[str] | pl.Series, column: str, key: str | None = None, generation: int | None = None) -> Any:
    """What `fragment(..., singletons="encrypt")` encrypted: the texts of a column, missing as None.

    Parameters
    ----------
    cells: the encrypted cells. column: the name of their column. key: the key file that they were encrypted with, the
        owner's key without one, and generation: which of its keys, the latest without one.

    Raises
    ------
    PolicyError: a cell was encrypted with another key, or changed.
    """
    key, generation = check_generation(key, generation, "unseal")
    cipher = _cipher(secret_of(key, generation, PURPOSE, column_name(column, "column")))
    found: list[str | None] = []
    for number, cell in enumerate(cells):
        try:
            sealed = base64.urlsafe_b64decode(cell.removeprefix(MARK))
            body = cipher.decrypt(sealed[:NONCE], sealed[NONCE:], None)
        except Exception:  # of another key, cut short, or no cell at all: the library has an exception for each
            what = f'a cell of "{column}" was not encrypted with this key, or was changed'
            raise PolicyError(what, got=f"cell {number}") from None
        one = body[4 : 4 + int.from_bytes(body[:4], "big")]
        found.append(None if one == b"\0" else one[1:].decode("utf-8", "surrogatepass"))
    return found


def _cipher(secret: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise MissingExtra("cryptography", "pseudonyms") from None
    return AESGCM(secret)
