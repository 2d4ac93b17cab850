"""FF1: the samples of NIST, and many strings at once as one by one."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import PolicyError
from sfumato.pseudonyms.ff1 import FF1, ROUNDS
from sfumato.pseudonyms.format_preserving import ALL

KEY = "2B7E151628AED2A6ABF7158809CF4F3C"
SAMPLES = [  # NIST, Cryptographic Standards and Guidelines, examples of FF1: key, radix, tweak, plain, encrypted
    (KEY, 10, "", "0123456789", "2433477484"),
    (KEY, 10, "39383736353433323130", "0123456789", "6124200773"),
    (KEY, 36, "3737373770717273373737", "0123456789abcdefghi", "a9tv40mll9kdu509eum"),
]


def numerals(text: str) -> np.ndarray:
    return np.array([[ALL.index(letter) for letter in text]])


@pytest.mark.parametrize(("key", "radix", "tweak", "plain", "encrypted"), SAMPLES)
def test_samples_of_nist(key: str, radix: int, tweak: str, plain: str, encrypted: str) -> None:
    cipher = FF1(bytes.fromhex(key), radix, bytes.fromhex(tweak))
    assert cipher.encrypt(numerals(plain)).tolist() == numerals(encrypted).tolist()
    assert cipher.decrypt(numerals(encrypted)).tolist() == numerals(plain).tolist()
    assert cipher._one(numerals(plain)[0].tolist(), range(ROUNDS), 1) == numerals(encrypted)[0].tolist()


@pytest.mark.parametrize("radix", [2, 10, 26, 36, 62, 256])
def test_many_at_once_are_those_one_by_one(radix: int) -> None:
    random = np.random.default_rng(radix)
    for length in (20, 21, 22, 33, 34, 60):
        cipher = FF1(bytes(range(32)), radix, bytes(length % 19))
        if radix**length < 10**6:
            continue
        strings = random.integers(0, radix, (5, length))
        strings[0], strings[1] = 0, radix - 1
        made = cipher.encrypt(strings)
        assert made.tolist() == [cipher._one(row, range(ROUNDS), 1) for row in strings.tolist()]
        assert cipher.decrypt(made).tolist() == strings.tolist()


@pytest.mark.slow
def test_it_permutes_a_whole_domain() -> None:
    every = np.arange(10**6)[:, None] // 10 ** np.arange(5, -1, -1) % 10
    made = FF1(bytes(16), 10).encrypt(every) @ 10 ** np.arange(5, -1, -1)
    assert len(np.unique(made)) == 10**6


def test_short_strings_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"can be undone by trying; got 5 of 10 letters"):
        FF1(bytes(16), 10).encrypt(np.zeros((1, 5), np.int64))
