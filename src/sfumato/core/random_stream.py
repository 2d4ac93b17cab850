"""RandomStream: the random numbers of one step, from the owner's key, so that a published seed undoes nothing.

The key of a stream is HMAC-SHA-256 of the seed and the step under the owner's secret, all 256 bits. A row's numbers
are those of its place, or of its row key: they do not depend on how the table is cut into batches, nor on the engine.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.core.fingerprint import key as owners_key

BLOCK = 1 << 16  # rows whose numbers are made at once
UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class RandomStream:
    """Random numbers under a secret key.

    `places` are the numbers of the rows in their table, where these are not 0, 1, 2, ...; `row_keys` their keys, where
    there is a row key.

    >>> stream = RandomStream(bytes(32))
    >>> bool((stream.uniform(3)[1:] == stream.at(np.array([1, 2])).uniform(2)).all())
    True
    """

    key: bytes = field(repr=False)
    places: np.ndarray | None = field(default=None, repr=False)
    row_keys: tuple[bytes, ...] | None = field(default=None, repr=False)

    def part(self, name: object) -> RandomStream:
        """A stream of its own for a part of the step, such as a stratum or a column."""
        return replace(self, key=hmac.new(self.key, str(name).encode(), hashlib.sha256).digest())

    def at(self, rows: np.ndarray) -> RandomStream:
        """The same numbers, for some of the rows."""
        if self.row_keys is not None:
            return replace(self, row_keys=tuple(self.row_keys[i] for i in rows.tolist()))
        return replace(self, places=rows if self.places is None else self.places[rows])

    def generator(self) -> np.random.Generator:
        """A generator of NumPy for whatever is not drawn row by row; its state is made of all 256 bits."""
        entropy = int.from_bytes(self.key, "big")
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, pool_size=8)))

    def uniform(self, rows: int) -> np.ndarray:
        """A number for each row, above 0 and below 1."""
        return ((self._bits(rows, 1)[:, 0] >> np.uint64(11)) + 0.5) * UNIT

    def normal(self, rows: int) -> np.ndarray:
        """A standard normal number for each row (Box and Muller 1958)."""
        u = ((self._bits(rows, 2) >> np.uint64(11)) + 0.5) * UNIT
        return np.asarray(np.sqrt(-2 * np.log(u[:, 0])) * np.cos(2 * np.pi * u[:, 1]))

    def _bits(self, rows: int, width: int) -> np.ndarray:
        """`width` numbers of 64 bits for each row."""
        if self.row_keys is not None:
            found = b"".join(hashlib.blake2b(k, digest_size=8 * width, key=self.key).digest() for k in self.row_keys)
            return np.frombuffer(found, "<u8").reshape(rows, width)
        if self.places is None:
            return np.concatenate([np.empty((0, width), np.uint64), *self._blocks(0, rows, width)])[:rows]
        if not rows:
            return np.empty((0, width), np.uint64)
        first, last = int(self.places.min()), int(self.places.max()) + 1
        start = first // BLOCK * BLOCK
        taken: np.ndarray = np.concatenate(self._blocks(start, last, width))[self.places - start]
        return taken

    def _blocks(self, first: int, last: int, width: int) -> list[np.ndarray]:
        """The numbers of whole blocks of rows, from the one that begins with `first`."""
        found = []
        for block in range(first // BLOCK, -(-last // BLOCK)):
            size = min(BLOCK, last - block * BLOCK) * width * 8
            xof = hashlib.shake_256(self.key + width.to_bytes(8, "big") + block.to_bytes(8, "big"))
            found.append(np.frombuffer(xof.digest(size), "<u8").reshape(-1, width))
        return found


def stream_of(seed: int | None, step: object, of: str = "mask") -> RandomStream:
    """The stream of a step: HMAC(the owner's key, seed, step). Without a seed, or a key, one by chance."""
    secret = owners_key() or secrets.token_bytes(32)
    given = secrets.token_hex(32) if seed is None else str(seed)
    return RandomStream(hmac.new(secret, f"{of} {given} {step}".encode(), hashlib.sha256).digest())
