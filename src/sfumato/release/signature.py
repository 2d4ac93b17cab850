"""Signature: who stands for a release, by which key, and whether its files are still the ones that were signed.

`signature.json` lies beside the manifest. It names every file of the folder with its SHA-256, the manifest in its
canonical form, and who signed when and to what end; an Ed25519 signature covers all of that. The date stands there
alone, so that data, manifest and report stay the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from datetime import date as Date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.parameters import path_of
from sfumato.engines.atomic import PREFIX, RELEASE_FILES, atomic_file, clean
from sfumato.engines.documents import canonical, read_document
from sfumato.engines.files.bytes import sha256
from sfumato.engines.memory.table import enter
from sfumato.engines.tables import store_of
from sfumato.errors import BrokenPromise, MissingExtra, OutputError, PolicyError, ReadError
from sfumato.release.data_files import data_files
from sfumato.release.folder import verify_folder, verify_manifest
from sfumato.release.manifest import NAME, load_manifest
from sfumato.release.stream_folder import holds_stream, verify_stream
from sfumato.release.verify import Verification

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FILE = "signature.json"
BESIDE = (".sdmx.csv", ".pdf")  # that others may have put beside a release
STATEMENT = "I have read the report of this release and approve its publication."
CONTEXT = b"sfumato release signature 1\n"  # so that nothing else that the key signs can pass for one
TEXTS = {"name": 200, "statement": 2000}  # longest
KEYS = {"format", "key", "public_key", "name", "statement", "date", "manifest", "files", "signature"}
DIRECTIONS = frozenset(
    "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)  # they reorder a line
PUBLIC = bytes.fromhex("302a300506032b6570032100")  # of an Ed25519 key as DER, before its 32 bytes
PEM = re.compile(rb"\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----\s*")
LARGEST_KEY_FILE = 1 << 16  # bytes

Passphrase = str | bytes | Callable[[], str | bytes] | None


@dataclass(frozen=True)
class Signature:
    """What a signature says, and whether it is true.

    `valid` is None where it could not be checked, as cryptography is not installed. `known`: whether the key is among
    those that the user trusts. `faults`: why it is not valid, with the files that are other than signed.
    """

    valid: bool | None
    key: str | None = None
    name: str | None = None
    statement: str | None = None
    date: str | None = None
    known: bool = False
    faults: tuple[str, ...] = ()


def sign(
    folder: str | Path,
    *,
    key: str | Path,
    name: str,
    statement: str = STATEMENT,
    date: str | Date | None = None,
    passphrase: Passphrase = None,
    data: Any = None,
    overwrite: bool = False,
) -> Signature:
    """Sign a release: verify it, and write `signature.json` over the hashes of every file in its folder.

    Parameters
    ----------
    folder: of the release. data: its table where that lies elsewhere, as in a database.
    key: the file of an Ed25519 key, which nobody but its owner may read; `new_key` makes one. passphrase: of the key,
        or a function that is called where the key has one.
    name, statement, date: who signs, what they say by it, and when: today if not given.
    overwrite: whether an earlier signature is replaced.

    Raises
    ------
    BrokenPromise: a promise of the release does not hold. OutputError: it is signed already, or holds other files.

    >>> import sfumato as sf
    >>> sf.sign("out", key="steward.pem", name="Ann Steward").valid  # doctest: +SKIP
    True
    """
    place = path_of(folder)
    told = {"name": _text("name", name), "statement": _text("statement", statement), "date": _day(date)}
    own = data_files(load_manifest(place))
    if (place / FILE).is_symlink() or ((place / FILE).exists() and not overwrite):
        raise OutputError(f"{place} is signed already", hint="overwrite the signature, or leave it")
    clean(place)  # of what a killed run left
    known = RELEASE_FILES | own
    foreign = sorted(entry.name for entry in place.iterdir() if entry.name not in known)
    if foreign:
        listed = ", ".join(foreign)
        raise OutputError(f"{place} holds files that are no part of the release: {listed}", hint="move them")
    private = _private(path_of(key), passphrase)
    files, odd = _hashes(place)
    if odd:
        raise OutputError(f"{place} cannot be signed: {'; '.join(odd)}")
    if data is None:
        found = verify_stream(place) if holds_stream(place) else verify_folder(place)
    else:
        store = store_of(data)
        found = verify_manifest(place, enter(data)[0] if store is None else store)
    if found.outcome == "broken":
        broken = ", ".join(dict.fromkeys(promise.model for promise in found.promises if not promise.holds))
        raise BrokenPromise(f"the release in {place} does not keep {broken}, so it is not signed")
    if _hashes(place) != (files, odd):
        raise ReadError(f"{place} was changed while it was verified", hint="run it again")
    public = private.public_key().public_bytes_raw()
    document = {
        "format": 1,
        "key": key_id(public),
        "public_key": public.hex(),
        **told,
        "manifest": _manifest_hash(place),
        "files": files,
    }
    document["signature"] = private.sign(CONTEXT + canonical(document)).hex()
    with atomic_file(place / FILE, overwrite) as file:
        file.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    made = signature_of(place)
    if made is None or not made.valid:
        raise BrokenPromise(f"the signature of {place} does not verify. This is a fault of Sfumato")
    return made


def signed(found: Verification, folder: Path, signer: str | Path | None = None) -> Verification:
    """What was verified of a release, with its signature, and what neither can tell."""
    signature = signature_of(folder, signer)
    caveat = None
    if signature is None:
        caveat = "it is not signed: whoever has the folder can rewrite data and manifest together, and nobody can tell"
    elif signature.valid is None:
        caveat = f"the signature was not checked: {MissingExtra('cryptography', 'signing')}"
    elif signature.valid and signer is None and not signature.known:
        caveat = (
            "the key is not among those that you trust: anybody can make one and sign with any name. "
            "Ask the signer for the public key, and verify with --signer, or trust it with sfumato sign --trust"
        )
    if foreign := _foreign(folder):
        what = f"the folder holds files that are no part of the release: {', '.join(foreign)}"
        caveat = what if caveat is None else f"{what}; {caveat}"
    return replace(found, signature=signature, caveat=caveat)


def _foreign(folder: Path) -> list[str]:
    """The names of what lies in the folder of a release and is no part of it."""
    try:
        known = RELEASE_FILES | data_files(load_manifest(folder))
        return sorted(_shown(entry.name) for entry in folder.iterdir() if not _known(entry.name, known))
    except (OSError, ReadError):
        return []


def _known(name: str, known: Set[str]) -> bool:
    return name in known or name.startswith(PREFIX) or name.endswith(BESIDE)


def signature_of(folder: str | Path, signer: str | Path | None = None) -> Signature | None:
    """The signature of a release, checked; None where there is none. With `signer`, the file of a public key, one that
    is absent or by another key is not valid."""
    place = path_of(folder)
    expected = None if signer is None else public_key(path_of(signer))
    if not os.path.lexists(place / FILE):
        return None if expected is None else Signature(False, faults=("there is no signature",))
    try:
        document = _document(place / FILE)
    except ReadError as error:
        return Signature(False, faults=(error.what,))
    faults = _differences(document["files"], *_hashes(place))
    try:
        if document["manifest"] != _manifest_hash(place):
            faults.append("the manifest is another")
    except ReadError as error:
        faults.append(error.what)
    public = bytes.fromhex(document["public_key"])
    if document["key"] != key_id(public):
        faults.append("its key id is not that of its key")
    if expected is not None and expected != public:
        faults.append(f"it is by another key than {path_of(signer).name}")
    checked = _is_signed(document, public, must=signer is not None)
    if checked is False:
        faults.append("it was not made by its key over what it says")
    told = {field: document[field] for field in ("key", "name", "statement", "date")}
    valid = False if faults else checked
    return Signature(valid, **told, known=valid is True and public in _trusted(), faults=tuple(faults))


def new_key(path: str | Path, *, passphrase: str | bytes | None) -> Path:
    """Make an Ed25519 key: `path`, which its owner alone may read, and its public half beside it, ending in .pub.

    The key is encrypted with the passphrase; None leaves it open, which has to be said. Gives the public half's place.
    """
    serialization, ed25519 = _cryptography()
    target = path_of(path)
    public = target.with_suffix(".pub")
    if target == public:
        raise PolicyError("the name of a key must not end in .pub", hint="call it steward.pem")
    if (target.parent / NAME).exists():
        raise OutputError(f"{target.parent} is a release, and a key must not be published", hint="keep it elsewhere")
    secret = passphrase.encode("utf-8", "surrogateescape") if isinstance(passphrase, str) else passphrase
    if secret is not None and not secret:
        raise PolicyError("the passphrase is empty", hint="give one, or say that the key shall have none")
    key = ed25519.Ed25519PrivateKey.generate()
    lock = serialization.NoEncryption() if secret is None else serialization.BestAvailableEncryption(secret)
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)
    shown = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for file in (target, public):
        if os.path.lexists(file):
            raise OutputError(f"{file} exists", hint="choose another name: a lost key cannot be made again")
    _write_new(target, text, 0o600)
    try:
        _write_new(public, shown, 0o644)
    except BaseException:
        target.unlink()
        raise
    return public


def trust(path: str | Path) -> str:
    """Put a public key among those that the user trusts, which verify then calls known; its key id."""
    public = public_key(path_of(path))
    target = _trust_folder() / f"{key_id(public).removeprefix('sha256:')}.pub"
    body = base64.b64encode(PUBLIC + public).decode()
    with atomic_file(target, overwrite=True) as file:
        file.write_text(f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n", encoding="ascii")
    return key_id(public)


def key_id(public: bytes) -> str:
    """The name of a key: the SHA-256 of its 32 public bytes.

    >>> key_id(bytes(32))[:23]
    'sha256:66687aadf862bd77'
    """
    return "sha256:" + hashlib.sha256(public).hexdigest()


def public_key(path: Path) -> bytes:
    """The 32 bytes of the Ed25519 public key in a PEM file."""
    found = PEM.fullmatch(_content(path))
    try:
        der = base64.b64decode(b"".join(found[1].split()), validate=True) if found else b""
    except (binascii.Error, ValueError):
        der = b""
    if len(der) != len(PUBLIC) + 32 or not der.startswith(PUBLIC):
        hint = "give the .pub file that stands beside the key of the signer"
        raise ReadError(f'"{path}" is no Ed25519 public key', hint=hint)
    return der.removeprefix(PUBLIC)


def _trust_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "sfumato" / "trusted"


def _trusted() -> set[bytes]:
    found = set()
    for file in sorted(_trust_folder().glob("*.pub")):
        try:
            found.add(public_key(file))
        except ReadError:  # one that cannot be read is trusted by nobody
            continue
    return found


def _private(path: Path, passphrase: Passphrase) -> Ed25519PrivateKey:
    """The key in a file that nobody else can read."""
    serialization, ed25519 = _cryptography()
    text = _content(path)
    if os.name != "nt" and path.stat().st_mode & 0o077:
        raise ReadError(f'the key "{path}" can be read by others', hint=f"chmod 600 {path}")
    try:
        key = serialization.load_pem_private_key(text, None)
    except TypeError:  # it has a passphrase
        given = passphrase() if callable(passphrase) else passphrase
        if given is None:
            raise PolicyError(f'the key "{path}" needs its passphrase') from None
        secret = given.encode("utf-8", "surrogateescape") if isinstance(given, str) else given
        try:
            key = serialization.load_pem_private_key(text, secret)
        except (ValueError, TypeError):
            raise PolicyError(f'the passphrase does not open the key "{path}"') from None
    except Exception:  # whatever its library says of bytes that are no key
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise ReadError(f'"{path}" is no Ed25519 key', hint="make one: --new-key, or sfumato.new_key") from None
    return key


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra("cryptography", "signing") from None
    return serialization, ed25519


def _is_signed(document: Mapping[str, Any], public: bytes, must: bool) -> bool | None:
    """Whether the key signed the document; None where that cannot be checked and need not."""
    try:
        _, ed25519 = _cryptography()
    except MissingExtra:
        if must:
            raise
        return None
    from cryptography.exceptions import InvalidSignature

    said = {name: value for name, value in document.items() if name != "signature"}
    try:
        key = ed25519.Ed25519PublicKey.from_public_bytes(public)
        key.verify(bytes.fromhex(document["signature"]), CONTEXT + canonical(said))
    except (InvalidSignature, ValueError):
        return False
    return True


def _document(file: Path) -> dict[str, Any]:
    """The content of a signature, each part what it should be; else a ReadError."""
    if file.is_symlink():
        raise ReadError(f"{FILE} is a link")
    found = read_document(file)
    if not isinstance(found, dict) or set(found) != KEYS or found["format"] != 1:
        raise ReadError(f"{FILE} is no signature of a release")
    shapes = {"key": r"sha256:[0-9a-f]{64}", "public_key": "[0-9a-f]{64}", "manifest": "[0-9a-f]{64}"}
    shapes |= {"signature": "[0-9a-f]{128}", "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}"}
    for name, shape in shapes.items():
        if not isinstance(found[name], str) or not re.fullmatch(shape, found[name]):
            raise ReadError(f"{FILE} is no signature of a release: its {name} is malformed")
    files = found["files"]
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        raise ReadError(f"{FILE} is no signature of a release: its files are malformed")
    try:
        for name in TEXTS:
            _text(name, found[name])
    except PolicyError as error:
        raise ReadError(f"{FILE} is no signature of a release: {error.what}") from None
    return found


def _differences(said: Mapping[str, str], files: Mapping[str, str], odd: list[str]) -> list[str]:
    """How the files of a folder are other than signed, by name."""
    groups = {
        "added since": [name for name in files if name not in said],
        "missing": [name for name in said if name not in files],
        "changed": [name for name in files if name in said and files[name] != said[name]],
    }
    return [f"{how}: {', '.join(sorted(names))}" for how, names in groups.items() if names] + odd


def _hashes(folder: Path) -> tuple[dict[str, str], list[str]]:
    """The SHA-256 of every file of a folder but the signature, by its path in it; and what is in it beside files."""
    files, odd = {}, []
    for name, path in sorted(_walked(folder)):
        if path.is_symlink() or not path.is_file():
            odd.append(f"{_shown(name)} is a link or no file")
        elif _shown(name) != name:
            odd.append(f"{_shown(name)} has a name that is no text")
        elif name != FILE:
            files[name] = sha256(path)
    return files, odd


def _walked(folder: Path) -> Iterator[tuple[str, Path]]:
    """Everything below a folder that is no folder, with its path in it; links are not followed."""
    rest = [("", folder)]
    while rest:
        above, place = rest.pop()
        try:
            entries = list(place.iterdir())
        except OSError as error:
            raise ReadError(f'"{place}" cannot be read: {error.strerror or type(error).__name__}') from None
        for path in entries:
            if path.is_dir() and not path.is_symlink():
                rest.append((f"{above}{path.name}/", path))
            else:
                yield f"{above}{path.name}", path


def _shown(name: str) -> str:
    """The name of a file as text."""
    return name.encode("utf-8", "replace").decode()


def _manifest_hash(folder: Path) -> str:
    return hashlib.sha256(canonical(load_manifest(folder))).hexdigest()


def _text(field: str, value: Any) -> str:
    """A text that shows as what it is: one line, no marks that reorder it."""
    if not isinstance(value, str) or not value.strip():
        raise PolicyError(f"the {field} of a signature is empty", allowed="a text")
    found = unicodedata.normalize("NFC", value)
    odd = any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in DIRECTIONS for c in found)
    if odd or len(found) > TEXTS[field]:
        raise PolicyError(f"the {field} of a signature must be one line of at most {TEXTS[field]} characters")
    return found


def _day(value: Any) -> str:
    if value is None:
        return Date.today().isoformat()
    try:
        return (value if type(value) is Date else Date.fromisoformat(value)).isoformat()
    except (TypeError, ValueError):
        raise PolicyError("the date of a signature is no date", allowed="as in 2026-11-30") from None


def _content(path: Path) -> bytes:
    """The bytes of a key file."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_KEY_FILE:
            raise ReadError(f'"{path}" is no key file')
        return path.read_bytes()
    except OSError as error:
        raise ReadError(f'the key "{path}" cannot be read: {error.strerror or type(error).__name__}') from None


def _write_new(path: Path, content: bytes, mode: int) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or type(error).__name__}") from None
