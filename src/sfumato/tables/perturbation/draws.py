"""Random numbers of cells: the same cell has the same number in every table, and only the owner's key tells it."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from sfumato.core.fingerprint import key as owners_key
from sfumato.core.progress import check_cancelled
from sfumato.core.random_stream import stream_of
from sfumato.tables.values import StatTable

BLOCK = 1 << 18  # cells whose numbers are drawn at once


def repeats() -> bool:
    """Whether there is an owner's key, so that a cell has its number in the next run as well."""
    return owners_key() is not None


def cell_draws(table: StatTable, cells: np.ndarray, seed: int | None, of: str) -> np.ndarray:
    """A number above 0 and below 1 for each of some cells, by their labels and values.

    A cell is known by the labels that it has in its columns; a column along which it is a total does not count, so that
    it is the same cell in a table without that column. A value that changes is drawn for anew.
    """
    stream = stream_of(seed or 0, of, of="table")  # without a seed under the owner's key alone: never by chance
    stream = stream.part(json.dumps(["measured", table.measured]))
    nodes = stream.part("nodes").key
    names = np.zeros((len(cells), 2), np.uint64)
    for one, place in zip(table.dimensions, np.unravel_index(cells, table.shape), strict=True):
        texts = [json.dumps([one.name, text]).encode() for text in one.labels]
        digests = b"".join(hashlib.blake2b(text, key=nodes, digest_size=16).digest() for text in texts)
        number = np.frombuffer(digests, "<u8").reshape(-1, 2).copy()
        number[0] = 0  # the total
        names += number[place]  # in any order of the columns; modulo 2**64
    value = (np.round(table.value.ravel()[cells], table.decimals) + 0.0).view(np.uint64)
    written = np.column_stack([names, value]).astype("<u8").tobytes()
    found = [np.empty(0)]
    for begin in range(0, len(cells), BLOCK):
        check_cancelled()
        keys = tuple(written[24 * i : 24 * i + 24] for i in range(begin, min(begin + BLOCK, len(cells))))
        found.append(type(stream)(stream.key, row_keys=keys).uniform(len(keys)))
    return np.concatenate(found)
