"""Local differential privacy: answers that are noised by the people who give them, before anybody collects them.

Warner, "Randomized response: a survey technique for eliminating evasive answer bias", 1965; Kairouz, Bonawitz and
Ramage, "Discrete distribution estimation under local privacy", 2016, for several values; Wang, Blocki, Li and Jha,
"Locally differentially private protocols for frequency estimation", 2017, for optimised unary encoding.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.accounting import epsilon_of
from sfumato.core.mechanisms import opendp
from sfumato.core.parameters import shown
from sfumato.core.printed import printed
from sfumato.errors import PolicyError

MOST_VALUES = 2**16
LOWERED = 2.0**-53  # by how much less a probability is, the first time
Z95 = 1.959963984540054
YES, NO = "true", "false"


@dataclass(frozen=True)
class LocalRandomiser:
    """How one person answers, and how many answers are counted: a report is kept with probability p where it is so, and
    is there with probability q where it is not, so the share of reports that say x estimates q + (p - q) times the
    share of people."""

    @property
    @abstractmethod
    def texts(self) -> tuple[str, ...]:
        """The values that people may have, as they print."""

    @property
    @abstractmethod
    def p(self) -> float:
        """How likely a report says what is so."""

    @property
    @abstractmethod
    def q(self) -> float:
        """How likely a report says a value that is not so."""

    @abstractmethod
    def respond(self, value: Any) -> Any:
        """What a person with a value reports, drawn anew. Whoever is asked again gives the same report again, or spends
        epsilon again."""

    @abstractmethod
    def count(self, reports: Iterable[Any]) -> tuple[np.ndarray, int]:
        """How many reports say each value, and how many there are."""

    def estimate(self, reports: Iterable[Any]) -> pl.DataFrame:
        """The share of people with each value: unbiased, with its standard error and 95% interval.

        The interval is of the population that the people who answered are a sample of.
        """
        counts, n = self.count(reports)
        return self._estimated(counts, n)

    def estimate_counts(self, counts: Mapping[Any, int], reports: int) -> pl.DataFrame:
        """The same, where it is known how many of so many reports say each value."""
        known = dict(zip(_texts(list(counts)), counts.values(), strict=True))
        if {*known} - {*self.texts} or not all(0 <= often <= reports for often in known.values()):
            what = "counts must be of the values that people may have, and no more than there are reports"
            raise PolicyError(what, got=f"{len(known)} values")
        return self._estimated(np.array([known.get(text, 0) for text in self.texts]), reports)

    def _estimated(self, counts: np.ndarray, n: int) -> pl.DataFrame:
        if not n:
            raise PolicyError("there are no reports to estimate from")
        share, wide = counts / n, self.p - self.q
        middle = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)  # Wilson 1927: it also holds where nobody says x
        half = Z95 * np.sqrt(share * (1 - share) / n + (Z95 / (2 * n)) ** 2) / (1 + Z95**2 / n)
        ends = [np.clip((end - self.q) / wide, 0, 1) for end in (middle - half, middle + half)]
        found = {"estimate": (share - self.q) / wide, "error": np.sqrt(share * (1 - share) / n) / wide}
        return pl.DataFrame({"value": self.texts, "reports": counts, **found, "low": ends[0], "high": ends[1]})


@dataclass(frozen=True)
class BinaryResponse(LocalRandomiser):
    """Randomised response to a question with yes or no: a person says what is so with probability p.

    >>> answer = BinaryResponse(epsilon=1)
    >>> round(answer.p, 6), answer.respond(True) in (True, False)
    (0.731059, True)
    """

    epsilon: Any
    i_know: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(self.epsilon, self.i_know))

    @property
    def texts(self) -> tuple[str, ...]:
        """True and false."""
        return YES, NO

    @cached_property
    def _drawn(self) -> tuple[Any, float]:
        dp = opendp()
        return _at_most(lambda p: dp.m.make_randomized_response_bool(prob=p), self.epsilon, _kept(self.epsilon, 2))

    @property
    def p(self) -> float:
        """How likely a report says what is so."""
        return self._drawn[1]

    @property
    def q(self) -> float:
        """How likely it does not."""
        return 1 - self.p

    def respond(self, value: bool) -> bool:
        """What a person reports."""
        if not isinstance(value, bool | np.bool_):
            raise PolicyError("the value must be true or false", got=type(value).__name__)
        return bool(self._drawn[0](bool(value)))

    def count(self, reports: Iterable[Any]) -> tuple[np.ndarray, int]:
        """Reports of true, and of false."""
        return _counted(reports, self.texts)


@dataclass(frozen=True)
class KaryResponse(LocalRandomiser):
    """Randomised response with several values: a person says what is so with probability p, else any other one.

    >>> answer = KaryResponse(["a", "b", "c", "d"], epsilon=1)
    >>> round(answer.p, 6), round(answer.q, 6), answer.respond("b") in "abcd"
    (0.475367, 0.174878, True)
    """

    values: Sequence[Any]
    epsilon: Any
    i_know: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _values(self.values))
        object.__setattr__(self, "epsilon", epsilon_of(self.epsilon, self.i_know))

    @property
    def texts(self) -> tuple[str, ...]:
        """The values, as they print."""
        return tuple(self.values)

    @cached_property
    def _drawn(self) -> tuple[Any, float]:
        dp, k = opendp(), len(self.values)
        return _at_most(
            lambda p: dp.m.make_randomized_response(categories=list(range(k)), prob=p),
            self.epsilon,
            _kept(self.epsilon, k),
        )

    @property
    def p(self) -> float:
        """How likely a report says what is so."""
        return self._drawn[1]

    @property
    def q(self) -> float:
        """How likely it says a certain other value."""
        return (1 - self.p) / (len(self.values) - 1)

    def respond(self, value: Any) -> str:
        """What a person reports: one of the values, as it prints."""
        return self.texts[self._drawn[0](_place(value, self.texts))]

    def count(self, reports: Iterable[Any]) -> tuple[np.ndarray, int]:
        """Reports of each value."""
        return _counted(reports, self.texts)


@dataclass(frozen=True)
class OptimisedUnaryEncoding(LocalRandomiser):
    """A bit for each of many values: that of the person's own is a fair coin, each other one is set with probability
    1/(e^epsilon + 1). Its error does not grow with the number of values: it is the better one beyond 3 e^epsilon + 2.

    >>> answer = OptimisedUnaryEncoding(range(100), epsilon=1)
    >>> round(answer.p, 6), round(answer.q, 6), len(answer.respond(17))
    (0.5, 0.268941, 100)
    """

    values: Sequence[Any]
    epsilon: Any
    i_know: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _values(self.values))
        object.__setattr__(self, "epsilon", epsilon_of(self.epsilon, self.i_know))

    @property
    def texts(self) -> tuple[str, ...]:
        """The values, as they print."""
        return tuple(self.values)

    @cached_property
    def _drawn(self) -> tuple[Any, Any, float]:
        """Bits that are set with probability q, a fair coin, and q.

        For two people with other values, the reports differ in two bits: one's own is a coin where the other's is set
        with q, and the other way round. The likelihoods differ by (1/2)/q times (1 - q)/(1/2) at most, which is
        (1 - q)/q: what randomised response of one bit costs, as OpenDP says.
        """
        dp = opendp()
        _, p = _at_most(lambda p: dp.m.make_randomized_response_bool(prob=p), self.epsilon, _kept(self.epsilon, 2))
        space = dp.bitvector_domain(max_weight=0), dp.discrete_distance()
        bits = dp.m.make_randomized_response_bitvec(*space, f=2 * (1 - p))  # each bit is flipped with half of that
        return bits, dp.m.make_randomized_response_bool(prob=0.5), 1 - p

    @property
    def p(self) -> float:
        """How likely the bit of what is so is set."""
        return 0.5

    @property
    def q(self) -> float:
        """How likely another one is."""
        return self._drawn[2]

    def respond(self, value: Any) -> str:
        """What a person reports: a text of 0 and 1, one for each value."""
        bits, coin, _ = self._drawn
        at, k = _place(value, self.texts), len(self.texts)
        drawn = np.unpackbits(np.frombuffer(bits(bytes((k + 7) // 8)), np.uint8))[:k]
        drawn[at] = coin(True)
        return "".join(map(str, drawn.tolist()))

    def count(self, reports: Iterable[Any]) -> tuple[np.ndarray, int]:
        """Reports whose bit of each value is set."""
        texts, k = pl.Series("r", list(reports), dtype=pl.String, strict=False), len(self.texts)
        fits = texts.str.contains(rf"\A[01]{{{k}}}\z").fill_null(value=False)
        if not fits.all():
            what = "some reports are no text of 0 and 1 for each value"
            raise PolicyError(what, got=f"{int((~fits).sum())} of {len(texts)}", allowed=f"texts of {k} characters")
        joined = np.frombuffer("".join(texts.to_list()).encode(), np.uint8).reshape(len(texts), k)
        return (joined == ord("1")).sum(0), len(texts)


def _kept(epsilon: Decimal, k: int) -> float:
    """The probability of what is so, among k values: e^epsilon/(e^epsilon + k - 1)."""
    return 1 / (1 + (k - 1) * math.exp(-float(epsilon)))


def _at_most(make: Callable[[float], Any], epsilon: Decimal, p: float) -> tuple[Any, float]:
    """A measurement whose loss is at most epsilon, exactly: the probability is lowered until OpenDP says so."""
    step = LOWERED
    while True:
        p = min(p, 1 - LOWERED)
        measurement = make(p)
        if Decimal(measurement.map(1)) <= epsilon:
            return measurement, p
        p, step = p - step, 2 * step


def _values(given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not 2 <= len(given) <= MOST_VALUES:
        what = "values must be a list of two or more"
        raise PolicyError(what, got=type(given).__name__, allowed=f'["a", "b", "c"], up to {MOST_VALUES:,}')
    found = _texts(list(given))
    if len({*found}) < len(found):
        raise PolicyError("the values have one twice")
    return found


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    texts = printed(pl.Series("v", list(values), strict=False))
    return tuple("" if text is None else text for text in texts.to_list())


def _place(value: Any, texts: Sequence[str]) -> int:
    (text,) = _texts([value])
    if text not in texts:
        hint = "name another value for all others, and let people report that"
        raise PolicyError("the value is none of those that people may have", got=shown(type(value).__name__), hint=hint)
    return texts.index(text)


def _counted(reports: Iterable[Any], texts: Sequence[str]) -> tuple[np.ndarray, int]:
    said = printed(pl.Series("r", list(reports), strict=False)).fill_null("")
    known = pl.DataFrame({"r": list(texts)}, schema={"r": pl.String})
    often = known.join(said.value_counts(name="n"), on="r", how="left", maintain_order="left")["n"].fill_null(0)
    if often.sum() < len(said):
        what = "some reports say none of the values that people may have"
        raise PolicyError(what, got=f"{len(said) - int(often.sum())} of {len(said)}", hint="drop them first")
    return often.cast(pl.Int64).to_numpy(), len(said)
