"""The state of a series of releases: who stands under which signature, encrypted, in a file of the owner alone.

It never leaves. It belongs to one release, and is replaced only once the next one is in place: what a killed run left
beside it is taken over where its release was put in place, and dropped otherwise.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key as owners_key
from sfumato.core.parameters import path_of
from sfumato.core.printed import printed
from sfumato.core.private import private_file, refuse_open
from sfumato.engines.atomic import atomic_file, hold
from sfumato.errors import MissingExtra, OutputError, PolicyError, ReadError
from sfumato.release.manifest import NAME, load_manifest
from sfumato.series.m_invariance import Signatures

MAGIC = b"sfumato state 1\n"
NONCE, MARK = 12, 8  # bytes
SHORTEST = 16  # bytes of a key
PERSON = ("low", "high")  # the two halves of a person's keyed hash
PEOPLE = {
    **dict.fromkeys(PERSON, pl.UInt64),
    "signature": pl.Int64,
    "value": pl.Int64,
    "group": pl.Int64,
    "first": pl.Int64,
    "last": pl.Int64,
}


@dataclass(frozen=True, eq=False, repr=False)
class State:
    """What the next release has to know of those before it.

    `people` are keyed hashes of everybody ever published: signature, value, last group, first and last release.
    `serial` is a number by chance that names the release that it belongs to, `before` that of the one before, and
    `manifests` are the hashes of the manifests that were written of it.
    """

    number: int  # releases so far
    m: int
    person: str
    kind: str  # of the ids: 7, 7.0 and "007" would be three people
    quasi: tuple[str, ...]
    sensitive: str
    values: tuple[str, ...]  # the text of each code
    signatures: Signatures
    people: pl.DataFrame
    kinds: Mapping[str, str] = field(default_factory=dict)  # of the other columns, where earlier states knew them
    serial: str = field(default_factory=lambda: secrets.token_hex(16))
    before: str | None = None
    manifests: tuple[str, ...] = ()
    target: str | None = None  # while it is pending, the folder that its release goes to

    def __repr__(self) -> str:
        return f"State of release {self.number}"


@dataclass(frozen=True)
class Secret:
    """The owner's key, from which one key for each purpose is made."""

    key: bytes = field(repr=False)

    def of(self, purpose: str) -> bytes:
        """The key of a purpose, which tells nothing of the others."""
        return hmac.new(self.key, f"sfumato series {purpose}".encode(), hashlib.sha256).digest()

    def people(self, ids: pl.Series) -> pl.DataFrame:
        """The keyed hash of each person, 128 bits of BLAKE2 (RFC 7693) in two halves."""
        key, one = self.of("people"), hashlib.blake2b
        texts = printed(ids).to_list()
        found = b"".join(
            [one(text.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest() for text in texts]
        )
        halves = np.frombuffer(found, "<u8").reshape(-1, 2)
        return pl.DataFrame(
            {name: halves[:, i] for i, name in enumerate(PERSON)}, schema=dict.fromkeys(PERSON, pl.UInt64)
        )

    def generator(self, seed: int | None, number: int) -> np.random.Generator:
        """Random numbers that nobody else can draw again; with a seed the same ones again."""
        given = secrets.token_hex(32) if seed is None else str(seed)
        drawn = hmac.new(self.of("draws"), f"{number} {given}".encode(), hashlib.sha256).digest()
        return np.random.default_rng(int.from_bytes(drawn, "big"))


def secret_from(path: Any) -> Secret:
    """The key in a file, whatever its bytes are, or the owner's own key where none is named."""
    if path is None:
        found = owners_key()
        if found is None:
            raise PolicyError(
                "there is no key to keep the state with", hint="name a file that holds one: key=study.key"
            )
        return Secret(found)
    place = private_file(path, "a key")
    if not place.is_file():
        raise ReadError(f'there is no key file "{place}"', hint=f"make one: sfumato pseudonyms new {place}")
    refuse_open(place, "the key file")
    content = place.read_bytes()
    if len(content) < SHORTEST:
        raise ReadError(
            f'the key in "{place}" is too short', got=f"{len(content)} bytes", allowed=f"at least {SHORTEST}"
        )
    return Secret(content)


def place_of(path: Any, target: Any = None) -> Path:
    """Where a state may stand: in no release, and not in the folder that a release goes to."""
    place = private_file(path, "a state")
    if target is not None:
        folder = path_of(target).expanduser().resolve()
        if folder in place.resolve().parents or folder == place.resolve():
            raise OutputError(f"{folder} is published, and the state must not be", hint="keep the state elsewhere")
    if place.is_dir():
        raise OutputError(f"{place} is a folder, not a file", hint="name a file for the state")
    return place


def beside(place: Path) -> Path:
    """Where the state of a release stands that is not yet known to be in place."""
    return place.with_name(place.name + ".next")


def pack(state: State, secret: Secret) -> bytes:
    """The bytes of a state, encrypted and authenticated with AES-256-GCM."""
    table = BytesIO()
    state.people.write_ipc(table, compression="zstd")
    head = json.dumps(
        {
            "number": state.number,
            "m": state.m,
            "person": state.person,
            "kind": state.kind,
            "kinds": dict(state.kinds),
            "quasi": list(state.quasi),
            "sensitive": state.sensitive,
            "values": list(state.values),
            "start": state.signatures.start.tolist(),
            "slots": state.signatures.values.tolist(),
            "serial": state.serial,
            "before": state.before,
            "manifests": list(state.manifests),
            "target": state.target,
        }
    ).encode()
    opened = MAGIC + secret.of("name")[:MARK]
    nonce = secrets.token_bytes(NONCE)
    content = len(head).to_bytes(8, "big") + head + table.getvalue()
    return opened + nonce + bytes(_cipher(secret).encrypt(nonce, content, opened))


def unpack(content: bytes, secret: Secret, place: Path) -> State:
    """The state in these bytes, or a ReadError where the key is another one or anything was changed."""
    if not content.startswith(MAGIC):
        raise ReadError(
            f'"{place}" is no state of releases', hint="name the file that the earlier release was made with"
        )
    opened, rest = content[: len(MAGIC) + MARK], content[len(MAGIC) + MARK :]
    if not hmac.compare_digest(opened[len(MAGIC) :], secret.of("name")[:MARK]):
        raise ReadError(f'the state "{place}" was kept with another key', hint="name the key of the earlier release")
    try:
        plain = bytes(_cipher(secret).decrypt(rest[:NONCE], rest[NONCE:], opened))
    except Exception:  # InvalidTag, or ValueError of what is too short
        raise ReadError(f'the state "{place}" was changed or cut short', hint="take it from a backup") from None
    long = int.from_bytes(plain[:8], "big")
    head = json.loads(plain[8 : 8 + long])
    start, slots = np.array(head.pop("start"), np.int64), np.array(head.pop("slots"), np.int64)
    people = pl.read_ipc(BytesIO(plain[8 + long :]))
    for name in ("quasi", "values", "manifests"):
        head[name] = tuple(head[name])
    return State(**head, signatures=Signatures(start, slots), people=people)


def _cipher(secret: Secret) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise MissingExtra("cryptography", "signing") from None
    return AESGCM(secret.of("state"))


def write(place: Path, state: State, secret: Secret) -> None:
    """Put a state into its file at once, which its owner alone may read."""
    content = pack(state, secret)
    with atomic_file(place, overwrite=True) as part:
        part.touch(0o600)
        part.write_bytes(content)


def read(place: Path, secret: Secret) -> State | None:
    """The state in a file, None where there is no file. What a killed run left beside it is settled first."""
    found, waits = _read(place, secret), _read(beside(place), secret)
    if waits is None:
        return found
    folder = None if waits.target is None else Path(waits.target)
    follows = waits.before is None if found is None else found.serial in (waits.before, waits.serial)
    if folder is not None and follows and serial_in(folder) == waits.serial:
        digest = manifest_hash(folder)  # its release is in place, and only this was left to do
        assert digest is not None
        found = replace(waits, target=None, manifests=tuple(dict.fromkeys((*waits.manifests, digest))))
        write(place, found, secret)
    with suppress(FileNotFoundError):
        beside(place).unlink()
    return found


def _read(place: Path, secret: Secret) -> State | None:
    if not place.exists():
        return None
    if not place.is_file():
        raise ReadError(f'"{place}" is no state of releases')
    refuse_open(place, "the state")
    return unpack(place.read_bytes(), secret, place)


def manifest_hash(folder: Path) -> str | None:
    """SHA-256 of the manifest of a folder, None where there is none."""
    try:
        return hashlib.sha256((folder / NAME).read_bytes()).hexdigest()
    except OSError:
        return None


def serial_in(folder: Path) -> str | None:
    """The serial of the release in a folder, None where there is none."""
    try:
        return str(load_manifest(folder)["method"]["series"])
    except (ReadError, KeyError, TypeError):
        return None


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Refuse another run that would replace the same state meanwhile: two releases would follow the same one."""
    lock = place.with_name(place.name + ".lock")
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = hold(lock)
    except BlockingIOError:
        raise OutputError(f"another run is replacing {place}", hint="wait until it is done") from None
    try:
        yield
    finally:
        if handle is not None:
            with suppress(OSError):
                lock.unlink()
            os.close(handle)
