"""Substitution: names and places replaced by common ones of a country (ISO 25237, 2017), from the lists of Faker."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context
from sfumato.core.parameters import OneOf, PlainText
from sfumato.errors import MissingExtra, PolicyError, did_you_mean
from sfumato.pseudonyms.key_file import digests
from sfumato.pseudonyms.step import KeyedStep

LISTS = {  # kind to the provider of Faker and its lists, the first that there is
    "last_name": ("person", ("last_names", "unisex_last_names", "last_names_male")),
    "first_name": ("person", ("first_names", "first_names_unisex", "first_names_male")),
    "first_name_female": ("person", ("first_names_female",)),
    "first_name_male": ("person", ("first_names_male",)),
    "city": ("address", ("cities", "city_names", "towns")),
    "region": ("address", ("states", "provinces", "regions", "counties")),
    "street": ("address", ("streets", "street_names")),
    "job": ("job", ("jobs",)),
}
KINDS = (*LISTS, "name")  # a first and a last name
GROUPS = (list, tuple, dict)  # a dict has weights, which do not count here
LEAST = 10  # texts of a list: with fewer, Faker has none of that country


@dataclass(frozen=True)
class Substitution(KeyedStep):
    """Replace names or places by common ones of a country, picked by a key: a text has one substitute in every table.

    kind: last_name, first_name, first_name_female, first_name_male, name (first and last), city, region, street or job;
    it is also the domain unless another is said. country: a language and a country, as it_IT. Several texts may have
    one substitute, and nothing turns substitutes back.
    """

    kind: Annotated[str, OneOf(KINDS)] = "last_name"
    country: Annotated[str, PlainText()] = "en_US"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.country, str) or not re.fullmatch(r"[a-z]{2,3}(_[A-Z]{2})?", self.country):
            raise self.refuse("country must be a language and a country", got=repr(self.country), allowed="as it_IT")

    perturbs = True
    leaves = (
        "Rows with one substitute can still be put together, frequent texts stay frequent, and the other columns may "
        "tell who somebody is."
    )

    def domain_of(self, column: str) -> str:
        """The domain: one for all names of a kind."""
        return self.kind if self.domain is None else self.domain

    def sentence(self) -> str:
        """What it does."""
        what = self.kind.replace("_", " ")
        return (
            f"texts are replaced by common ones ({what}, {self.country}), picked by a secret key that is not published"
        )

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Substitutes for each column."""
        kinds = ("first_name", "last_name") if self.kind == "name" else (self.kind,)
        lists = [texts_of_country(kind, self.country) for kind in kinds]

        def make(texts: pl.Series) -> pl.Series:
            made = digests(self.key_of(columns.columns[0]), texts.to_list())
            words = np.ascontiguousarray(made[:, : 8 * len(lists)]).view(">u8").astype(np.uint64)
            picked = [one.gather((words[:, i] % np.uint64(len(one))).astype(np.int64)) for i, one in enumerate(lists)]
            return picked[0] if len(picked) == 1 else picked[0] + " " + picked[1]

        found = [self.of_distinct(column, make) for column in columns.iter_columns()]
        return Change(pl.DataFrame(found), published={"texts": [len(one) for one in lists]})


def texts_of_country(kind: str, country: str) -> pl.Series:
    """The texts of a kind that Faker has for a country, sorted: the order does not hang on its version."""
    provider, names = LISTS[kind]
    try:
        package = import_module(f"faker.providers.{provider}")
    except ImportError:
        raise MissingExtra("faker", "pseudonyms") from None
    countries = [found.name for found in iter_modules(package.__path__) if "_" in found.name]
    if country in countries:
        home = import_module(f"faker.providers.{provider}.{country}").Provider
        for name in names:
            listed = getattr(home, name, None)
            texts = {text for text in listed if isinstance(text, str)} if isinstance(listed, GROUPS) else set()
            if len(texts) >= LEAST:
                return pl.Series(sorted(texts), dtype=pl.String)
    near = None if country in countries else did_you_mean(country, countries)
    what = f'Faker has no list of "{kind}" for that country'
    raise PolicyError(what, got=country, hint=near or "take another country or kind")
