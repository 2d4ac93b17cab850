"""What all pseudonyms share: named columns, a domain each, and one pseudonym for each distinct text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import polars as pl

from sfumato.core.masked import MaskStep
from sfumato.core.parameters import PlainText, Whole, Written
from sfumato.core.printed import plain_values, printed
from sfumato.errors import ColumnError
from sfumato.pseudonyms.key_file import check_generation, secret_of

LARGEST_WHOLE = 2**53


@dataclass(frozen=True)
class PseudonymStep(MaskStep):
    """A step that gives people pseudonyms.

    domain: columns of one domain get the same pseudonym for the same text, so that tables can be joined by it; each
    column's own name unless it is said.
    """

    domain: Annotated[str | None, PlainText()] = field(default=None, kw_only=True)

    kinds: ClassVar[tuple[str, ...]] = ("category", "number", "date")
    perturbs: ClassVar[bool] = False
    stored: ClassVar[Literal["map", "rows"]] = "map"
    pseudonymous = True
    secret = ("key", "vault")
    leaves = (
        "Rows of one person can still be put together, how often each pseudonym stands in the table still shows, and "
        "the other columns may tell who somebody is."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.columns:
            raise self.refuse("its columns are not named", hint="name the columns that tell who somebody is")
        if self.domain is not None and (not isinstance(self.domain, str) or not self.domain):
            raise self.refuse("domain must be a name", got=type(self.domain).__name__, allowed="a text, not empty")

    def domain_of(self, column: str) -> str:
        """The domain of a column."""
        return column if self.domain is None else self.domain

    def of_distinct(self, column: pl.Series, make: Callable[[pl.Series], pl.Series]) -> pl.Series:
        """A column with each text replaced by what `make` gives for it; it is given each distinct one once, but all of
        them where most are distinct."""
        texts = texts_of(column)
        known = texts.drop_nulls()
        if 2 * known.n_unique() > len(known):
            place = texts.is_not_null()
            made = make(known).gather(pl.select(pl.when(place).then(place.cum_sum() - 1)).to_series())
        else:
            distinct = known.unique(maintain_order=True)
            pairs = pl.DataFrame({"text": distinct, "made": make(distinct)})
            left = texts.alias("text").to_frame()
            made = left.join(pairs, on="text", how="left", maintain_order="left").get_column("made")
        return made.alias(column.name)


@dataclass(frozen=True)
class KeyedStep(PseudonymStep):
    """The same under a key.

    key: a key file, or None for the owner's own key. generation: of the keys in that file, the latest unless said.
    """

    key: Annotated[Any, Written("path")] = field(default=None, kw_only=True)
    generation: Annotated[int | None, Whole()] = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        path, generation = check_generation(self.key, self.generation, self.name)
        self.settle(key=path, generation=generation)

    def key_of(self, column: str) -> bytes:
        """The key for a column, derived from that of the step."""
        return secret_of(self.key, self.generation, self.name, self.domain_of(column))


def texts_of(column: pl.Series) -> pl.Series:
    """The texts that pseudonyms are made of: printed values; whole numbers as digits also where their type is not, so
    that a number has one pseudonym in every table.

    >>> texts_of(pl.Series([12.0, None])).to_list(), texts_of(pl.Series(["12", ""])).to_list()
    (['12', None], ['12', None])
    """
    if column.dtype.is_float():
        known = plain_values(column)
        if bool((known.drop_nulls() % 1 == 0).all()) and bool((known.drop_nulls().abs() < LARGEST_WHOLE).all()):
            return printed(known.cast(pl.Int64))
        raise ColumnError(f'column "{column.name}" has numbers that are not whole, which name nobody')
    return printed(column)
