"""k-anonymity of views: C. Yao, X. S. Wang, S. Jajodia, Checking for k-anonymity violation by views, VLDB 2005."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Annotated, Any, ClassVar

import polars as pl

from sfumato.core.parameters import Column, ColumnNames, ColumnSet, PerColumn, Whole, Written
from sfumato.core.protocols import Side
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.errors import PolicyError

MOST_COLUMNS = 10  # all sets of so many columns are tried; of more, small sets


@dataclass(frozen=True)
class ViewKAnonymity(SetModel):
    """Everybody whom the tables name keeps k possible values, whatever is joined.

    The tables are views of one private table. Somebody who has one row of it may exchange one side of the row with any
    row that agrees in certain columns: those without which nothing links the column of names to the column of values.
    A table, the columns that it was selected by, and a dependency that everybody knows each link all of their columns.
    So everybody has, at least, as many possible values as a view shows beside what they have in these columns.

    Parameters: `identity`, the column of names; `attribute`, the column that must not be linked to it; `k`, a whole
    number from 2; `distinct`, the tables in which equal rows stand once; `selected`, for each table of some rows only
    the columns of the condition; `dependent`, lists of columns, one for each dependency that everybody knows.

    >>> ViewKAnonymity("name", "disease", 3).sentence()
    'However the tables are joined, everybody named in "name" keeps 3 possible values of "disease".'
    """

    identity: Annotated[str, Column("column")]
    attribute: Annotated[str, Column("sensitive column")]
    k: Annotated[int, Whole(2)]
    distinct: Annotated[tuple[str, ...], ColumnNames("table")] = ()
    selected: Annotated[Mapping[str, tuple[str, ...]] | None, PerColumn(ColumnSet(), "table")] = None
    dependent: Annotated[Any, Written("lists", "column")] = ()

    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.identity == self.attribute:
            raise PolicyError("view-k-anonymity: identity and attribute are one column")
        given = self.dependent
        if not isinstance(given, list | tuple):
            raise PolicyError("view-k-anonymity: dependent must be lists of columns", got=type(given).__name__)
        columns = ColumnSet()
        object.__setattr__(self, "dependent", tuple(columns(one, "view-k-anonymity: dependent") for one in given))

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""
        found = {"identity": self.identity, "attribute": self.attribute, "k": self.k, "distinct": [*self.distinct]}
        if self.selected is not None:
            found["selected"] = {name: [*columns] for name, columns in self.selected.items()}
        return {**found, "dependent": [[*one] for one in self.dependent]}

    def __hash__(self) -> int:
        return hash((self.identity, self.attribute, self.k, self.distinct, self.dependent))

    def sentence(self) -> str:
        """The promise in words."""
        kept = f'everybody named in "{self.identity}" keeps {self.k} possible values of "{self.attribute}"'
        return f"However the tables are joined, {kept}."

    def audit(self, published: PublishedSet) -> Finding:
        """What the tables say: the least number of values that somebody can be shown to keep."""
        tables, selected = published.tables, self.selected or {}
        for name in (*self.distinct, *selected):
            published.table(name)
        edges = [{*table.texts.columns, *selected.get(name, ())} for name, table in tables.items()]
        edges += [{*one} for one in self.dependent]
        for column in (self.identity, self.attribute):
            if not any(column in edge for edge in edges[: len(tables)]):
                return Finding(True, None, self.k, 0, f'no table shows "{column}", nor is selected by it')
        whole = [table for name, table in tables.items() if name not in self.distinct and name not in selected]
        self._same_rows(tables, whole)
        register = next((table for table in whole if self.identity in table.texts.columns), None)
        if register is None:
            raise PolicyError(f'no table shows "{self.identity}" of all rows, each as often as it is there')
        people = register.texts.select(person=pl.col(self.identity)).group_by("person").agg(often=pl.len())
        people = people.filter(pl.col("person").is_not_null())
        alone = people.filter(pl.col("often") == 1).select("person")
        kept = [people.select("person", values=pl.lit(1, pl.Int64))]
        for apart in cuts(edges, self.identity, self.attribute):
            kept += [self._kept(alone, apart, tables.values())]
        found = pl.concat(kept).group_by("person").agg(pl.col("values").max())
        failing = int((found["values"] < self.k).sum())
        least = found["values"].min()
        return Finding(failing == 0, None if least is None else int(str(least)), self.k, failing)

    def _same_rows(self, tables: Mapping[str, PublishedTable], whole: Collection[PublishedTable]) -> None:
        """Refuse tables that no one table has as its views: of other numbers of rows, of people or of equal rows."""
        if len({table.texts.height for table in whole}) > 1:
            raise PolicyError("the tables of all rows differ in their number of rows")
        for name in self.distinct:
            if tables[name].texts.is_duplicated().any():
                raise PolicyError(f'equal rows of the table "{name}" stand more than once')
        having = [table for table in tables.values() if self.identity in table.texts.columns]
        named = [table.texts.select(pl.col(self.identity).cast(pl.String)) for table in having]
        known = next((one for table, one in zip(having, named, strict=True) if table in whole), None)
        if known is not None and any(
            one.join(known, on=self.identity, how="anti", nulls_equal=True).height for one in named
        ):
            raise PolicyError(f'a table names somebody in "{self.identity}" whom the tables of all rows do not')

    def _kept(self, alone: pl.DataFrame, apart: list[str], tables: Iterable[PublishedTable]) -> pl.DataFrame:
        """How many values stand beside what each person has in some columns: those of people with one row."""
        none = pl.DataFrame(schema={"person": pl.String, "values": pl.Int64})
        shown = [table.texts for table in tables]
        having = next((texts for texts in shown if {self.identity, *apart} <= {*texts.columns}), None)
        beside = [texts for texts in shown if {self.attribute, *apart} <= {*texts.columns}]
        if having is None or not beside:
            return none
        places = {name: pl.col(name).cast(pl.String).alias(f"at {i}") for i, name in enumerate(apart)}
        value = pl.col(self.attribute).cast(pl.String).alias("value")
        pairs = pl.concat([texts.select(*places.values(), value) for texts in beside])
        people = having.select(pl.col(self.identity).cast(pl.String).alias("person"), *places.values())
        people = people.join(alone, on="person", how="semi").unique()
        if not apart:
            return people.select("person", values=pl.lit(pairs["value"].n_unique(), pl.Int64))
        sums = pairs.group_by(pl.exclude("value")).agg(values=pl.col("value").n_unique().cast(pl.Int64))
        keys = [f"at {i}" for i in range(len(apart))]
        return people.join(sums, on=keys, nulls_equal=True).select("person", "values")


def cuts(edges: Iterable[Collection[str]], start: str, end: str) -> list[list[str]]:
    """The sets of columns, none of which has another one in it, that part two columns: of what is left, nothing that
    is linked to the first, over however many steps, is linked to the second.

    >>> cuts([{"name", "sex"}, {"sex", "disease"}], "name", "disease")
    [['sex']]
    >>> cuts([{"name", "disease"}], "name", "disease")
    []
    """
    linked = [frozenset(edge) for edge in edges]
    others = sorted(frozenset(chain.from_iterable(linked)) - {start, end})
    most = len(others) if len(others) <= MOST_COLUMNS else 2
    found: list[list[str]] = []
    for chosen in chain.from_iterable(combinations(others, size) for size in range(most + 1)):
        if any({*smaller} <= {*chosen} for smaller in found):
            continue
        side, grown = {start}, True
        while grown:
            more = {name for edge in linked if side & (edge - {*chosen}) for name in edge} - {*chosen}
            grown = not more <= side
            side |= more
        if end not in side:
            found.append([*chosen])
    return found
