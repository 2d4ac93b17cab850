"""Keys and passwords of users: 256 random bits stored as SHA-256, and scrypt; Percival, "Stronger key derivation via
sequential memory-hard functions", 2009. What is stored opens nothing, and comparisons take the same time."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

PREFIX = "sfk_"
N, R, P = 2**15, 8, 1  # of scrypt: 32 MB and some 80 ms
MEMORY = 256 * N * R
LONGEST = 1024  # characters of a password
KEY_HASH = re.compile(r"[0-9a-f]{64}")
PASSWORD_HASH = re.compile(r"scrypt:(\d{1,8}):(\d{1,3}):(\d{1,3}):([0-9a-f]{32}):([0-9a-f]{64})")


def new_api_key() -> str:
    """A key of 256 random bits. It is shown once: its hash alone is stored."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_key(key: str) -> str:
    """What is stored of a key.

    >>> hash_key("abc")[:16]
    'ba7816bf8f01cfea'
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def hash_password(password: str) -> str:
    """What is stored of a password: scrypt's parameters, a salt and the hash."""
    salt = secrets.token_bytes(16)
    return f"scrypt:{N}:{R}:{P}:{salt.hex()}:{_scrypt(password, salt, N, R, P).hex()}"


def is_password(password: str, stored: str) -> bool:
    """Whether a password is the one that is stored.

    >>> is_password("open sesame", hash_password("open sesame"))
    True
    """
    found = PASSWORD_HASH.fullmatch(stored)
    if found is None:
        return False
    n, r, p = map(int, found.groups()[:3])
    wanted = bytes.fromhex(found[5])
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(found[4]), n, r, p), wanted)


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    given = password[:LONGEST].encode("utf-8", "surrogatepass")
    return hashlib.scrypt(given, salt=salt, n=n, r=r, p=p, maxmem=max(MEMORY, 256 * n * r), dklen=32)


def password_fault(stored: str) -> str | None:
    """What is wrong with a stored password, before anybody gives theirs."""
    found = PASSWORD_HASH.fullmatch(stored)
    if found is None:
        return "is no hash of a password; sfumato query password makes one"
    n, r, p = map(int, found.groups()[:3])
    if not (2**14 <= n <= 2**20 and n & (n - 1) == 0 and 8 <= r <= 32 and 1 <= p <= 16):
        return "has parameters of scrypt that are too weak or too costly; sfumato query password makes another"
    return None
