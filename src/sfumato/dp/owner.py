"""Owner's folder: the key that signs ledgers, and the last row of each that the owner has seen, outside of it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfumato.errors import MissingExtra, OutputError, ReadError

SLOT = 512  # bytes that a disk writes at once
SLOTS = 2
ENDING = ".head"


def owner_folder() -> Path:
    """Where the owner keeps what stands outside of every ledger, made on first use."""
    folder = _folder(os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config"))
    if not os.path.isdir(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise OutputError(f"the folder of ledgers {folder} cannot be made: {error.strerror}") from None
    return folder


@lru_cache(maxsize=4)
def _folder(root: str) -> Path:
    return Path(root) / "sfumato" / "ledgers"


@dataclass(frozen=True)
class SeenHead:
    """The last row of a ledger that the owner has seen, and where the ledger was."""

    number: int
    hash: str
    place: str


def seen_head(first: str) -> SeenHead | None:
    """The head that was seen of the ledger with this first hash."""
    try:
        return _parse((owner_folder() / f"{first}{ENDING}").read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise ReadError("what the owner keeps of the ledger cannot be read", hint=str(owner_folder())) from None


def was_seen_at(place: str) -> bool:
    """Whether the owner has seen a ledger at a place."""
    found = (seen_head(file.stem) for file in owner_folder().glob(f"*{ENDING}"))
    return any(seen is not None and seen.place == place for seen in found)


def keep_head(first: str, head: SeenHead) -> None:
    """Keep the head of a ledger, durably; a later one of another process stays.

    The file has two slots of a sector each, and the one that holds the older head is written: a crash leaves the other,
    and a full disk does not matter.
    """
    folder = owner_folder()
    path = folder / f"{first}{ENDING}"
    try:
        with _alone(folder / f"{first}.lock"):
            seen = seen_head(first)
            if seen is not None and seen.number >= head.number:
                return
            if seen is None or seen.place != head.place:
                _replace(path, _slot(head) * SLOTS + json.dumps(head.place).encode())
                return
            file = os.open(path, os.O_RDWR)
            try:
                found = os.pread(file, SLOT * SLOTS, 0)
                numbers = [_number(found[at : at + SLOT]) for at in range(0, SLOT * SLOTS, SLOT)]
                os.pwrite(file, _slot(head), SLOT * numbers.index(min(numbers)))
                os.fdatasync(file)
            finally:
                os.close(file)
    except OSError as error:
        what = f"the head of the ledger cannot be kept in {folder}: {error.strerror}"
        raise OutputError(what, hint="nothing was answered") from None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _slot(head: SeenHead) -> bytes:
    text = f"{head.number} {head.hash}"
    return f"{text} {hashlib.sha256(text.encode()).hexdigest()}".ljust(SLOT - 1).encode() + b"\n"


def _number(slot: bytes) -> int:
    """The number of the row that a slot holds, or -1 where a crash left half of one."""
    text, _, check = slot.strip().rpartition(b" ")
    whole = len(slot) == SLOT and hashlib.sha256(text).hexdigest().encode() == check
    return int(text.partition(b" ")[0]) if whole else -1


def _parse(data: bytes) -> SeenHead:
    slots = [data[at : at + SLOT] for at in range(0, SLOT * SLOTS, SLOT)]
    last = max(slots, key=_number)
    if _number(last) < 0:
        raise ValueError
    number, found, _ = last.decode().split()
    return SeenHead(int(number), found, str(json.loads(data[SLOT * SLOTS :])))


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, durably."""
    part = path.parent / f".{path.name}-{secrets.token_hex(4)}"
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


# The key


def _keys() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra("cryptography", "dp") from None
    return ed25519


def _make_key(path: Path) -> None:
    part = path.parent / f".key-{secrets.token_hex(4)}"
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(_keys().Ed25519PrivateKey.generate().private_bytes_raw())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(part, path)
    except FileExistsError:  # another process was faster
        pass
    finally:
        part.unlink()


def _owner_key() -> tuple[Any, str]:
    """The owner's key of ledgers, made on first use, and its public half."""
    path = owner_folder() / "key"
    try:
        if not path.exists():
            _make_key(path)
        state = path.stat()
        return _key_of(path, state.st_ino, state.st_mtime_ns)
    except OSError as error:
        raise OutputError(f"the owner's key of ledgers {path} cannot be used: {error.strerror}") from None
    except ValueError:
        raise ReadError(f"{path} is no key of ledgers", hint="put the owner's key back from a copy") from None


@lru_cache(maxsize=4)
def _key_of(path: Path, inode: int, changed: int) -> tuple[Any, str]:
    """The key of a file, read once for as long as the file stays the same."""
    key = _keys().Ed25519PrivateKey.from_private_bytes(path.read_bytes())
    return key, str(key.public_key().public_bytes_raw().hex())


def owner_public() -> str:
    """The owner's public key."""
    return _owner_key()[1]


def _said(ledger: str, number: int, found: str) -> bytes:
    return f"sfumato ledger 1\n{ledger}\n{number}\n{found}\n".encode()


def sign_head(ledger: str, number: int, found: str) -> tuple[str, str]:
    """The owner's signature of the last row of a ledger, and the public key."""
    key, public = _owner_key()
    return key.sign(_said(ledger, number, found)).hex(), public


def head_is_signed(ledger: str, number: int, found: str, signature: str, key: str) -> bool:
    """Whether the signature is that of the key."""
    from cryptography.exceptions import InvalidSignature

    try:
        public = _keys().Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(signature), _said(ledger, number, found))
    except (InvalidSignature, ValueError):
        return False
    return True
