"""What is published of several tables, as whoever reads them has it: printed texts, and what joins the tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from sfumato.core.wording import quoted
from sfumato.criteria.audit import Groups
from sfumato.errors import PolicyError

ROLES = (
    "quasi",
    "sensitive",
    "insensitive",
    "group",
    "count",
    "item",
    "encrypted",
)  # of the columns of a published table
LINKS = ("join", "same people", "earlier release")


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A published table: its printed texts, missing as null, and the role of each column."""

    name: str
    texts: pl.DataFrame
    roles: Mapping[str, str]

    def columns(self, role: str) -> tuple[str, ...]:
        """The columns of a role, in order."""
        return tuple(name for name in self.texts.columns if self.roles.get(name) == role)

    def column(self, role: str) -> str:
        """The one column of a role; a PolicyError where there is none, or more than one."""
        found = self.columns(role)
        if len(found) != 1:
            raise PolicyError(f'the table "{self.name}" needs one column that is {role}', got=len(found), allowed="1")
        return found[0]

    def numbers(self, name: str) -> pl.Series | None:
        """A column of whole numbers that are not negative; None where a text is no such number."""
        text = self.texts.get_column(name).cast(pl.String)
        found = text.cast(pl.Int64, strict=False)
        plain = text.str.contains(r"^(0|[1-9][0-9]{0,14})$").fill_null(False)
        return found if plain.all() else None


@dataclass(frozen=True)
class TableLink:
    """What joins tables: columns that all of them have, the same people in all of them, or an earlier release, whose
    manifest has the hash `sha256`."""

    kind: str
    tables: tuple[str, ...]
    columns: tuple[str, ...] = ()
    sha256: str = ""


@dataclass(frozen=True, eq=False)
class PublishedSet:
    """Tables that are published together, by name, and the links between them."""

    tables: Mapping[str, PublishedTable]
    links: Sequence[TableLink] = field(default=())

    def table(self, name: str) -> PublishedTable:
        """A table by its name; a PolicyError where it is not among them."""
        if name not in self.tables:
            raise PolicyError(f'there is no table "{name}"', allowed=", ".join(self.tables))
        return self.tables[name]

    def groups(self, attribute: str) -> Groups:
        """The sensitive values of each group, from the table that counts them."""
        for table in self.tables.values():
            if attribute in table.columns("sensitive") and table.columns("group"):
                keys = table.texts.select(table.columns("group"))
                often = None
                if table.columns("count"):
                    often = table.numbers(table.column("count"))
                    if often is None:
                        raise PolicyError(f'a count of the table "{table.name}" is no whole number')
                return Groups(keys, {attribute: table.texts.get_column(attribute)}, row_counts=often)
        raise PolicyError(f'no table has "{attribute}" as a sensitive column, by groups')


def only(published: PublishedSet, shapes: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse what a promise does not look at, as it may say anything of people: a table beside those of `shapes`, or a
    column of one that is none of its own, each of which is a pattern of names with the role that it must have.

    >>> table = PublishedTable("itemsets", pl.DataFrame({"item 1": ["a"], "who": ["Ann"]}), {"item 1": "item"})
    >>> only(PublishedSet({"itemsets": table}), {"itemsets": {r"item \\d+": "item"}})
    Traceback (most recent call last):
    sfumato.errors.PolicyError: the table "itemsets" has columns that the promise does not cover: "who"
    """
    if others := [name for name in published.tables if name not in shapes]:
        raise PolicyError(f"there are tables that the promise does not cover: {quoted(others)}")
    for name, table in published.tables.items():
        strange = [
            column for column in table.texts.columns
            if not any(
                re.fullmatch(own, column) and table.roles.get(column, "insensitive") == role
                for own, role in shapes[name].items()
            )
        ]  # fmt: skip
        if strange:
            raise PolicyError(f'the table "{name}" has columns that the promise does not cover: {quoted(strange)}')
