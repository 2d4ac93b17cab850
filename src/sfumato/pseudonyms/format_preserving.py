"""Format-preserving pseudonyms: numbers of people encrypted into numbers of the same form (NIST SP 800-38G, 2016)."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact
from sfumato.core.parameters import PlainText, Whole, Written
from sfumato.core.wording import count
from sfumato.errors import ColumnError
from sfumato.pseudonyms.ff1 import FF1, LEAST
from sfumato.pseudonyms.step import KeyedStep

ALL = string.digits + string.ascii_lowercase + string.ascii_uppercase
FOREIGN, KEPT = -1, -2  # instead of a numeral


@dataclass(frozen=True)
class FormatPreserving(KeyedStep):
    """Encrypt numbers of people into others of the same length and letters, which the owner can turn back (FF1).

    radix: how many letters there are: 10 for digits, 26 for a to z, 36 for digits and a to z, 62 for those and A to Z.
    letters: other letters, one for each numeral, or "upper" for capitals. keep: separators that stay where they are.
    A length of which there are fewer than a million texts is refused: all could be tried.
    """

    radix: Annotated[int, Whole(2, 1 << 16)] = 10
    letters: Annotated[str | None, PlainText()] = None
    keep: Annotated[str, Written("text")] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        marks = list(self.keep) if isinstance(self.keep, str | list | tuple) else [None]
        if not all(isinstance(mark, str) for mark in marks):
            raise self.refuse("keep must be separators", got=type(self.keep).__name__, allowed='for example "-"')
        keep = "".join(marks)
        self.settle(keep=keep)
        alphabet = self.alphabet
        if len(alphabet) != self.radix or len(set(alphabet)) < len(alphabet):
            allowed = f"{self.radix} different letters" + (", or upper" if self.radix in (26, 36) else "")
            raise self.refuse("letters do not fit the radix", got=count(len(set(alphabet)), "letter"), allowed=allowed)
        if set(alphabet) & set(keep):
            raise self.refuse("a letter cannot be kept and encrypted", hint="leave it out of keep")

    leaves = (
        "Rows of one person can still be put together, how often each pseudonym stands in the table still shows, the "
        "length stays, and whoever has the key can turn pseudonyms back."
    )

    @property
    def alphabet(self) -> str:
        """The letters, in the order of their numerals."""
        if self.letters not in (None, "upper"):
            return str(self.letters)
        first = 10 if self.radix == 26 else 0
        found = ALL[first : first + self.radix]
        return found.upper() if self.letters == "upper" and self.radix in (26, 36) else found

    def sentence(self) -> str:
        """What it does."""
        return "texts are encrypted into others of the same length and letters, with a secret key that is not published"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Encrypt each column."""
        found = pl.DataFrame([self._column(column, reverse=False) for column in columns.iter_columns()])
        return Change(
            found, facts=tuple(fact for name in found.columns for fact in self._shape(found.get_column(name)))
        )

    def reverse(self, columns: pl.DataFrame) -> pl.DataFrame:
        """The originals of pseudonyms."""
        return pl.DataFrame([self._column(column, reverse=True) for column in columns.iter_columns()])

    def _column(self, column: pl.Series, reverse: bool) -> pl.Series:
        cipher = FF1(self.key_of(column.name), self.radix)
        return self.of_distinct(column, lambda texts: self._encrypted(texts, column.name, cipher, reverse))

    def _encrypted(self, texts: pl.Series, column: str, cipher: FF1, reverse: bool) -> pl.Series:
        """Texts encrypted: the letters of all of them in one array, those of one length together."""
        if texts.is_empty():
            return texts
        ends = texts.str.len_chars().cast(pl.Int64).cum_sum().to_numpy()
        every = np.frombuffer("".join(texts.to_list()).encode("utf-32-le", "surrogatepass"), np.uint32).copy()
        letters = np.frombuffer(self.alphabet.encode("utf-32-le"), np.uint32)
        numeral = np.full(max(int(every.max()), *map(ord, self.alphabet + self.keep)) + 1, FOREIGN, np.int32)
        numeral[letters] = np.arange(self.radix)
        numeral[[ord(letter) for letter in self.keep]] = KEPT
        found = numeral[every]
        if bool((found == FOREIGN).any()):
            raise ColumnError(
                f'{self.name}: column "{column}" has characters that are none of its {self.radix} letters',
                hint="name separators by keep, give radix 26, 36 or 62, or the letters themselves",
            )
        ours = np.flatnonzero(found != KEPT)
        stops = np.searchsorted(ours, ends) if len(ours) < len(every) else ends
        starts = np.concatenate([[0], stops[:-1]])
        place, lengths = found[ours], stops - starts
        for length in np.unique(lengths):
            if self.radix ** int(length) < LEAST:
                raise ColumnError(
                    f'{self.name}: column "{column}" has texts that are too short: all could be tried',
                    got=f"{count(int(length), 'letter')} of {self.radix}", allowed=f"{LEAST:,} possible texts or more",
                    hint="take random-tokens or keyed-tokens for them",
                )  # fmt: skip
            cells = starts[lengths == length][:, None] + np.arange(length)
            place[cells] = (cipher.decrypt if reverse else cipher.encrypt)(place[cells])
        every[ours] = letters[place]
        return _cut(every, ends)

    def _shape(self, column: pl.Series) -> list[Fact]:
        """What can be checked of a column whose texts have one length."""
        lengths = column.drop_nulls().str.len_chars().unique().to_list()
        stated: dict[str, Any] = {"letters": self.alphabet + self.keep}
        return [Fact("shape", (column.name,), {**stated, "length": lengths[0]})] if len(lengths) == 1 else []


def _cut(letters: np.ndarray, ends: np.ndarray) -> pl.Series:
    """Texts from the letters of all of them and where each ends."""
    length = int(ends[0])
    if int(letters.max()) < 128 and bool((np.diff(ends) == length).all()):
        return pl.Series(letters.astype(np.uint8).view(f"S{length}")).cast(pl.String)
    text, begin = letters.tobytes().decode("utf-32-le", "surrogatepass"), 0
    found = []
    for end in ends.tolist():
        found.append(text[begin:end])
        begin = end
    return pl.Series(found, dtype=pl.String)
