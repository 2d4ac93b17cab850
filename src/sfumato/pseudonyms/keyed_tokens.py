"""Keyed one-way tokens: HMAC-SHA-256 of a text, truncated (Krawczyk, Bellare and Canetti, RFC 2104, 1997)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact
from sfumato.core.parameters import Whole
from sfumato.errors import PolicyError
from sfumato.pseudonyms.key_file import digests
from sfumato.pseudonyms.step import KeyedStep, PseudonymStep

LETTERS = "abcdefghijklmnopqrstuvwxyz234567"  # of base 32 (RFC 4648): no token reads as a number or a formula


@dataclass(frozen=True)
class KeyedTokens(KeyedStep):
    """Replace texts by tokens that only a key makes, and nothing turns back.

    length: of a token, 8 to 32 letters of 5 bits each. Equal texts of a domain have equal tokens in every table; two
    texts with one token are refused.
    """

    length: Annotated[int, Whole(8, 32)] = 16

    def sentence(self) -> str:
        """What it does."""
        return f"texts are replaced by tokens of {self.length} letters, made with a secret key that is not published"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Tokens for each column."""
        found = [self.of_distinct(column, self._tokens(column.name)) for column in columns.iter_columns()]
        return Change(pl.DataFrame(found), facts=shape_of(self, self.length))

    def _tokens(self, column: str) -> Callable[[pl.Series], pl.Series]:
        secret = self.key_of(column)

        def make(texts: pl.Series) -> pl.Series:
            tokens = spelled(digests(secret, texts.to_list())[:, : self.length])
            if tokens.n_unique() < texts.n_unique():
                raise PolicyError(
                    f'{self.name}: two texts of column "{column}" have one token',
                    got=f"length={self.length}", allowed="8 to 32", hint="give a larger length",
                )  # fmt: skip
            return tokens

        return make


def spelled(bits: np.ndarray) -> pl.Series:
    """Texts of base 32 from the low five bits of bytes, one row each.

    >>> spelled(np.array([[0, 31, 33]], np.uint8)).to_list()
    ['a7b']
    """
    letters = np.frombuffer(LETTERS.encode(), np.uint8)[bits & 31]
    return pl.Series(np.ascontiguousarray(letters).view(f"S{bits.shape[1]}").ravel()).cast(pl.String)


def shape_of(step: PseudonymStep, length: int, letters: str = LETTERS) -> tuple[Fact, ...]:
    """What can be checked of tokens: their length and their letters."""
    return (Fact("shape", step.columns, {"letters": letters, "length": length}),)
