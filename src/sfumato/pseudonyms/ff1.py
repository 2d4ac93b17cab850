"""FF1, format-preserving encryption on AES (NIST SP 800-38G, Dworkin 2016), of many numeral strings at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.errors import MissingExtra, PolicyError

LEAST = 10**6  # strings that a domain must have (SP 800-38G, revision 1)
NARROW = 1 << 55  # halves below this are computed in whole numbers of 64 bits, others as objects
ONE_BLOCK = 1 << 96  # halves below this take one AES block a round
BATCH = 1 << 15  # strings whose blocks are encrypted in one call
ROUNDS = 10


@dataclass(frozen=True)
class FF1:
    """The cipher under an AES key of 16, 24 or 32 bytes; numerals are numbers below the radix."""

    key: bytes = field(repr=False)
    radix: int
    tweak: bytes = b""
    _aes: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError:
            raise MissingExtra("cryptography", "pseudonyms") from None
        # FF1 is defined on single blocks: this is AES itself, and no mode in which anything is released
        object.__setattr__(self, "_aes", Cipher(algorithms.AES(self.key), modes.ECB()).encryptor())

    def encrypt(self, numerals: np.ndarray) -> np.ndarray:
        """Strings of numerals, one row each, of one length, encrypted."""
        return self._each(numerals, range(ROUNDS), 1)

    def decrypt(self, numerals: np.ndarray) -> np.ndarray:
        """What `encrypt` was given."""
        return self._each(numerals, range(ROUNDS - 1, -1, -1), -1)

    def _each(self, numerals: np.ndarray, rounds: range, sign: int) -> np.ndarray:
        length = numerals.shape[1]
        if self.radix**length < LEAST:
            raise PolicyError(
                "format-preserving encryption of short texts can be undone by trying",
                got=f"{length} of {self.radix} letters", allowed=f"at least {LEAST:,} possible texts of a length",
            )  # fmt: skip
        found = np.empty_like(numerals)
        if self.radix ** (length - length // 2) <= ONE_BLOCK:
            for low in range(0, len(numerals), BATCH):
                found[low : low + BATCH] = self._together(numerals[low : low + BATCH], rounds, sign)
        else:
            for i, row in enumerate(numerals.tolist()):
                found[i] = self._one(row, rounds, sign)
        return found

    def _sizes(self, length: int) -> tuple[int, int, bytes]:
        """Bytes of a half as a number (b), bytes of what is added to it (d), and what a PRF call always begins with:
        block P, the tweak, and zeros."""
        u, t = length // 2, len(self.tweak)
        b = ((self.radix ** (length - u) - 1).bit_length() + 7) // 8
        p = bytes([1, 2, 1]) + self.radix.to_bytes(3, "big") + bytes([10, u % 256])
        p += length.to_bytes(4, "big") + t.to_bytes(4, "big")
        return b, 4 * -(-b // 4) + 4, p + self.tweak + bytes((-t - b - 1) % 16)

    def _mac(self, text: bytes) -> bytes:
        """CBC-MAC of whole blocks."""
        mac = bytes(16)
        for low in range(0, len(text), 16):
            mac = self._aes.update(_xor(mac, text[low : low + 16]))
        return mac

    def _together(self, numerals: np.ndarray, rounds: range, sign: int) -> np.ndarray:
        """Many strings: one AES block a round for each, all encrypted together."""
        rows, length = numerals.shape
        u = length // 2
        b, d, begin = self._sizes(length)
        whole = len(begin) - len(begin) % 16
        start = np.frombuffer(_xor(self._mac(begin[:whole]), begin[whole:].ljust(16, b"\0")), np.uint8)
        kind = np.uint64 if self.radix ** (length - u) < NARROW else object
        halves = [_number(half.astype(kind), self.radix) for half in (numerals[:, :u], numerals[:, u:])]
        for i in rounds:
            # forward, A gains and the halves change places; backward, B loses after they did
            seen, other = (halves[1], halves[0]) if sign > 0 else (halves[0], halves[1])
            block = np.repeat(start[None, :], rows, axis=0)
            block[:, 15 - b] ^= i
            block[:, 16 - b :] ^= _bytes(seen, b)
            made = np.frombuffer(self._aes.update(block.tobytes()), np.uint8).reshape(rows, 16)
            modulus = self.radix ** (u if i % 2 == 0 else length - u)
            m = modulus if seen.dtype == object else np.uint64(modulus)
            y = _modulo(made, d, modulus).astype(seen.dtype)
            new = (other + y) % m if sign > 0 else (other + (m - y)) % m
            halves = [seen, new] if sign > 0 else [new, seen]
        return np.concatenate([_numerals(halves[0], self.radix, u), _numerals(halves[1], self.radix, length - u)], 1)

    def _one(self, numerals: list[int], rounds: range, sign: int) -> list[int]:
        """One string of any length, as the standard writes it."""
        length = len(numerals)
        u = length // 2
        b, d, begin = self._sizes(length)
        a, c = (_whole(half, self.radix) for half in (numerals[:u], numerals[u:]))
        for i in rounds:
            seen, other = (c, a) if sign > 0 else (a, c)
            made = self._mac(begin + bytes([i]) + seen.to_bytes(b, "big"))
            s = made + b"".join(self._aes.update(_xor(made, j.to_bytes(16, "big"))) for j in range(1, -(-d // 16)))
            new = (other + sign * int.from_bytes(s[:d], "big")) % self.radix ** (u if i % 2 == 0 else length - u)
            a, c = (seen, new) if sign > 0 else (new, seen)
        return [*_spelled(a, self.radix, u), *_spelled(c, self.radix, length - u)]


def _xor(a: bytes, b: bytes) -> bytes:
    return (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).to_bytes(16, "big")


def _number(numerals: np.ndarray, radix: int) -> np.ndarray:
    found, base = np.zeros(len(numerals), numerals.dtype), np.array(radix, numerals.dtype)
    for j in range(numerals.shape[1]):
        found = found * base + numerals[:, j]
    return found


def _numerals(numbers: np.ndarray, radix: int, length: int) -> np.ndarray:
    found, base = np.empty((len(numbers), length), np.int64), np.array(radix, numbers.dtype)
    for j in range(length - 1, -1, -1):
        left = numbers // base
        found[:, j], numbers = numbers - left * base, left
    return found


def _bytes(numbers: np.ndarray, b: int) -> np.ndarray:
    """Numbers as b bytes each, the highest first."""
    if numbers.dtype == object:
        return np.frombuffer(b"".join([n.to_bytes(b, "big") for n in numbers]), np.uint8).reshape(-1, b)
    return numbers.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - b :]


def _modulo(blocks: np.ndarray, d: int, modulus: int) -> np.ndarray:
    """The first d bytes of blocks as numbers, modulo another."""
    if modulus >= NARROW:
        text = np.ascontiguousarray(blocks[:, :d]).tobytes()
        listed = [int.from_bytes(text[i : i + d], "big") % modulus for i in range(0, len(text), d)]
        return np.array(listed, object)
    m = np.uint64(modulus)
    found = np.ascontiguousarray(blocks[:, :8]).view(">u8").ravel().astype(np.uint64) % m
    step = 4 if modulus <= 1 << 32 else 2 if modulus <= 1 << 48 else 1
    for low in range(8, d, step):
        part = np.ascontiguousarray(blocks[:, low : low + step]).view(f">u{step}").ravel().astype(np.uint64)
        found = ((found << np.uint64(8 * step)) | part) % m
    return found


def _whole(numerals: list[int], radix: int) -> int:
    found = 0
    for one in numerals:
        found = found * radix + one
    return found


def _spelled(number: int, radix: int, length: int) -> list[int]:
    found = [0] * length
    for j in range(length - 1, -1, -1):
        number, found[j] = divmod(number, radix)
    return found
