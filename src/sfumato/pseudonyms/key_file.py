"""Key files: secrets that pseudonyms are made with, by generation, in a file that its owner alone may read."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.fingerprint import key as owners_key
from sfumato.core.parameters import path_of, whole_number
from sfumato.core.private import private_file, refuse_open
from sfumato.engines.atomic import atomic_file
from sfumato.engines.documents import read_document
from sfumato.errors import OutputError, PolicyError, ReadError

KIND = "key of pseudonyms"


@dataclass(frozen=True)
class KeyFile:
    """The keys of a file, oldest first: generation 1, 2, ..., each with the day it was made."""

    path: Path
    keys: tuple[bytes, ...] = field(repr=False)
    made: tuple[str, ...] = ()

    def key(self, generation: int | None = None) -> bytes:
        """The key of a generation, the latest if none is said."""
        wanted = len(self.keys) if generation is None else generation
        if not 1 <= wanted <= len(self.keys):
            raise PolicyError(
                f'the key file "{self.path}" does not have that generation',
                got=wanted,
                allowed=f"1 to {len(self.keys)}",
            )
        return self.keys[wanted - 1]


def new(path: str | Path) -> KeyFile:
    """Make a key file, which its owner alone may read: a lost one cannot be made again.

    >>> new("~/keys/study.key").path  # doctest: +SKIP
    PosixPath('/home/ann/keys/study.key')
    """
    place = private_file(path, "a key")
    if os.path.lexists(place):
        raise OutputError(f"{place} exists", hint="choose another name, or rotate it: pseudonyms hang on the old key")
    return _write(KeyFile(place, (secrets.token_bytes(32),), (date.today().isoformat(),)), overwrite=False)


def add_generation(path: str | Path) -> KeyFile:
    """Put a new key into a key file, beside the old ones, which still reverse old pseudonyms."""
    old = read(path)
    found = KeyFile(old.path.resolve(), (*old.keys, secrets.token_bytes(32)), (*old.made, date.today().isoformat()))
    return _write(found, overwrite=True)


def _write(file: KeyFile, overwrite: bool) -> KeyFile:
    generations = [{"made": day, "key": key.hex()} for day, key in zip(file.made, file.keys, strict=True)]
    with atomic_file(file.path, overwrite) as part:
        part.touch(0o600)
        part.write_text(json.dumps({"sfumato": KIND, "generations": generations}, indent=1) + "\n", encoding="ascii")
    return file


def read(path: str | Path) -> KeyFile:
    """The keys of a file that nobody else can read."""
    place = private_file(path, "a key")
    if not place.is_file():
        raise ReadError(f'there is no key file "{place}"', hint=f"make one: sfumato pseudonyms new {place}")
    refuse_open(place, "the key file")
    found = read_document(place)
    try:
        listed = found["generations"] if found["sfumato"] == KIND else []
        keys = tuple(bytes.fromhex(one["key"]) for one in listed)
        made = tuple(str(one["made"]) for one in listed)
    except (ValueError, TypeError, KeyError):
        keys, made = (), ()
    if not keys or any(len(key) != 32 for key in keys):
        raise ReadError(f'"{place}" is no key file', hint="make one: sfumato pseudonyms new FILE")
    return KeyFile(place, keys, made)


def secret_of(path: str | None, generation: int | None, purpose: str, domain: str) -> bytes:
    """The secret for a purpose and a domain: from the key file, or from the owner's own key where none is named.

    Secrets of two purposes, domains or generations tell nothing of each other.
    """
    if path is not None:
        key = read(path).key(generation)
    else:
        found = owners_key()
        if found is None:
            raise PolicyError("there is no key to make pseudonyms with", hint="name a key file: key=study.key")
        key = found
    return hmac.new(key, f"sfumato pseudonyms {json.dumps([purpose, domain])}".encode(), hashlib.sha256).digest()


def check_generation(path: Any, generation: Any, what: str) -> tuple[str | None, int | None]:
    """The parameters of a step that name a key, checked but not opened: a policy may be read where the key is not."""
    if path is not None:
        path = str(path_of(path))
    if generation is not None:
        whole_number(generation, f"{what}: generation")
        if path is None:
            raise PolicyError(f"{what}: the owner's key has no generations", hint="name a key file: key=study.key")
    return path, generation


def digests(secret: bytes, texts: list[str]) -> np.ndarray:
    """HMAC-SHA-256 (RFC 2104) of each text, 32 bytes a row.

    >>> digests(b"key", ["The quick brown fox jumps over the lazy dog"]).tobytes().hex()[:16]
    'f7bc83f430538424'
    """
    block = secret.ljust(64, b"\0") if len(secret) <= 64 else hashlib.sha256(secret).digest().ljust(64, b"\0")
    inner, outer = (hashlib.sha256(bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C))

    def digest(text: str) -> bytes:
        first, second = inner.copy(), outer.copy()
        first.update(text.encode("utf-8", "surrogatepass"))
        second.update(first.digest())
        return second.digest()

    return np.frombuffer(b"".join(map(digest, texts)), np.uint8).reshape(-1, 32)
