"""Random numbers of steps: by place, by row key, by all bits of the key."""

from __future__ import annotations

import numpy as np

from sfumato.core.random_stream import BLOCK, RandomStream, stream_of


def test_a_row_has_its_numbers_wherever_the_table_is_cut() -> None:
    stream, places = RandomStream(bytes(32)), np.array([BLOCK + 3, 5, 2 * BLOCK])
    assert (stream.uniform(2 * BLOCK + 1)[places] == stream.at(places).uniform(3)).all()
    assert (stream.normal(2 * BLOCK + 1)[places] == stream.at(places).normal(3)).all()


def test_a_row_key_decides_whatever_the_place() -> None:
    stream = RandomStream(bytes(32), row_keys=(b"a", b"b", b"c"))
    assert (stream.at(np.array([2, 0])).uniform(2) == stream.uniform(3)[[2, 0]]).all()


def test_the_seed_alone_tells_nothing(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    found = []
    for key in ("one", "two", "one"):
        monkeypatch.setenv("SFUMATO_KEY", key)
        found.append(stream_of(7, 0).uniform(4).tolist())
    assert found[0] == found[2] != found[1]
    assert stream_of(7, 1).uniform(4).tolist() != found[0]
    assert stream_of(None, 0).uniform(4).tolist() != stream_of(None, 0).uniform(4).tolist()


def test_every_bit_of_the_key_counts() -> None:
    drawn = {RandomStream(bytes(i) + b"\1" + bytes(31 - i)).generator().integers(2**62) for i in range(32)}
    assert len(drawn) == 32
