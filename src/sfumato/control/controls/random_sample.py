"""Random sample queries: D. Denning, "Secure statistical databases with random sample queries", ACM TODS 5(3), 1980."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from sfumato.control.controls.model import AskedSet, Auditor, QueryModel, Setting
from sfumato.control.query import COUNT, MAX, MEAN, MIN
from sfumato.core.parameters import PlainText, Share
from sfumato.core.wording import number


@dataclass(frozen=True)
class RandomSample(QueryModel):
    """Estimates counts, sums and means from a sample of the query set.

    Whether a person is in the sample depends on a keyed hash of the person and the query set: the same set has the same
    sample, so that repetition averages nothing, and sets that differ by one person have samples that differ by many.

    share: how likely a person is in the sample. key: a secret of the hash; the database's own unless given.
    """

    share: Annotated[float, Share(above=True)]
    key: Annotated[str | None, PlainText()] = field(default=None, repr=False)

    def start(self, setting: Setting) -> Samples:
        """The secret."""
        return Samples(self.share, setting.secret if self.key is None else self.key.encode())

    def sentence(self) -> str:
        """What it says."""
        return f"Answers are estimated from a sample of {number(100 * self.share)}% of the query set."


class Samples(Auditor):
    """Samples by a secret."""

    def __init__(self, share: float, secret: bytes) -> None:
        self.sampled, self._secret = share, secret

    def refusal(self, asked: AskedSet) -> str | None:
        """An extreme of a sample would be somebody's value."""
        if asked.query.kind in (MIN, MAX):
            return f"a {asked.query.kind} is not estimated from a sample"
        empty = asked.query.kind == MEAN and not self._sample(asked).any()
        return "nobody is in the sample of the query set" if empty else None

    def record(self, asked: AskedSet, answer: float) -> None:
        """Nothing is remembered."""

    def given(self, asked: AskedSet, values: np.ndarray | None, answer: float) -> float:
        """The estimate."""
        sample = self._sample(asked)
        if asked.query.kind == COUNT or values is None:
            return float(np.count_nonzero(sample)) / self.sampled
        total = float(values[sample].sum())
        return total / np.count_nonzero(sample) if asked.query.kind == MEAN else total / self.sampled

    def _sample(self, asked: AskedSet) -> np.ndarray:
        """Who of the set is in its sample: drawn by a counter-based generator, whose key is a hash of the set."""
        digest = set_digest(self._secret, asked)
        drawn = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16]))).random(len(asked.inside))
        return drawn[asked.members] < self.sampled


def set_digest(secret: bytes, asked: AskedSet, *more: str) -> bytes:
    """A keyed hash of a query set."""
    people = np.sort(asked.members).astype("<i8").tobytes()
    return hmac.digest(secret, "\0".join(more).encode() + b"\0" + people, hashlib.sha256)
