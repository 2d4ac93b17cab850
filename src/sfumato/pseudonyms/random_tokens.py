"""Random tokens: drawn by chance, and kept in a vault (ISO/IEC 20889, 2018: pseudonymisation independent of values)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from sfumato.core.masked import Change, Context
from sfumato.core.parameters import Whole, Written, path_of
from sfumato.pseudonyms.keyed_tokens import shape_of
from sfumato.pseudonyms.step import PseudonymStep
from sfumato.pseudonyms.vault import originals_of, tokens_for


@dataclass(frozen=True)
class RandomTokens(PseudonymStep):
    """Replace texts by tokens drawn by chance, which only a vault leads back from.

    vault: a file that is made on first use and grows with each table, so that a person keeps the token. It holds the
    originals: it stays with its owner, outside every release. length: of a token, 8 to 32 letters of 5 bits each.
    """

    vault: Annotated[Any, Written("path", needed=True)] = None
    length: Annotated[int, Whole(8, 32)] = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.vault is None:
            raise self.refuse("the vault is not named", hint="vault=study.vault, a file that nobody else may read")
        self.settle(vault=str(path_of(self.vault)))

    leaves = (
        "Rows of one person can still be put together, how often each pseudonym stands in the table still shows, the "
        "other columns may tell who somebody is, and whoever has the vault can turn pseudonyms back."
    )

    def sentence(self) -> str:
        """What it does."""
        return f"texts are replaced by tokens of {self.length} letters, drawn by chance and kept in a private vault"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Tokens for each column."""
        found = [self.of_distinct(column, self._tokens(column.name)) for column in columns.iter_columns()]
        return Change(pl.DataFrame(found), facts=shape_of(self, self.length))

    def _tokens(self, column: str) -> Callable[[pl.Series], pl.Series]:
        return lambda texts: tokens_for(self.vault, self.domain_of(column), texts, self.length)

    def reverse(self, columns: pl.DataFrame) -> pl.DataFrame:
        """The originals of tokens; missing where the vault knows none."""
        return pl.DataFrame(
            [
                originals_of(self.vault, self.domain_of(column.name), column.cast(pl.String)).alias(column.name)
                for column in columns.iter_columns()
            ]
        )
