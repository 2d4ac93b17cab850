"""Sums in a database: grouped queries over a temporary table of what each contributor has in each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.engines.protocol import (
    ASKING,
    COUNT,
    GROSS,
    PEOPLE,
    RESERVED_PREFIX,
    SUM,
    TOP,
    AmountFacts,
    SumsAsked,
    refuse_many,
)
from sfumato.engines.sql.connect import TableName
from sfumato.engines.sql.count import fetched, listed
from sfumato.engines.sql.link import Link
from sfumato.engines.sql.types import SqlColumn, SqlDialect, quoted

HELD = RESERVED_PREFIX + "held"  # the temporary table
LARGEST = "1.7976931348623157e308"
FIRST = 900  # the number of the first staged table, beyond those of plans


class SqlSums:
    """Sums of a table of a database, over a link of its own; what is temporary there goes with it."""

    def __init__(
        self, link: Link, dialect: SqlDialect, table: TableName, columns: Mapping[str, SqlColumn], asked: SumsAsked
    ) -> None:
        self.link, self.dialect, self.table, self.columns, self.asked = link, dialect, table, columns, asked
        self.held, self.staged = f"{dialect.temporary}{quoted(HELD)}", FIRST
        self.made, self.negative = False, False

    def _number(self, name: str) -> str:
        """A number of a row, as a floating point number."""
        column = self.columns[name]
        value = f"CAST({column.plain()} AS INTEGER)" if column.dtype == pl.Boolean else column.plain()
        return f"CAST({value} AS DOUBLE PRECISION)"

    @property
    def _whole(self) -> bool:
        """Whether amounts are whole numbers by their types."""
        named = [name for name in (self.asked.value, self.asked.weight) if name is not None]
        return all(self.columns[name].dtype.is_integer() or self.columns[name].dtype == pl.Boolean for name in named)

    def _amount(self) -> str:
        """What a row adds to its cell."""
        parts = [self._number(name) for name in (self.asked.value, self.asked.weight) if name is not None]
        return " * ".join(parts) or "1.0"

    def facts(self, digits: int) -> AmountFacts:
        """One query over all rows."""
        asked = self.asked
        if all(one is None for one in (asked.value, asked.weight, asked.contributor, asked.request)):
            return AmountFacts(0, 0.0, 1.0, 1.0, 0, 0, 0)
        whose = "0" if asked.contributor is None else self.columns[asked.contributor].plain()
        wish = "0" if asked.request is None else self._number(asked.request)
        weight = "0.0" if asked.weight is None else self._number(asked.weight)
        inner = f"SELECT {listed([self._amount(), whose, wish, weight])} FROM {self.table.rows} t"
        lost = " OR ".join(["c0 IS NULL", f"ABS(c0) > {LARGEST}"])
        known = [f"COUNT(*) - COUNT(CASE WHEN {lost} THEN NULL ELSE 1 END)", "SUM(ABS(c0))", "MIN(c0)", "MIN(c3)"]
        near = [
            f"WHEN ABS(c0 * 1e{d} - ROUND(c0 * 1e{d})) <= 1e-9 + 1e-13 * ABS(ROUND(c0 * 1e{d})) THEN {d}"
            for d in range(digits + 1)
        ]
        known.append("0" if self._whole else f"MAX(CASE {' '.join(near)} ELSE {digits + 1} END)")
        known += ["COUNT(*) - COUNT(c1)", "COUNT(CASE WHEN c2 IN (0, 1) THEN NULL ELSE 1 END)"]
        found = self.link.rows(f"SELECT {', '.join(known)} FROM ({inner}) q")[0]
        missing, gross, least, low, most, nobody, unclear = found
        decimals = int(most or 0) if int(most or 0) <= digits else None
        self.negative = float(least or 0) < 0
        return AmountFacts(int(missing), float(gross or 0), float(least or 0), float(low or 0), decimals, int(nobody),
                           int(unclear))  # fmt: skip

    def add_up(self, decimals: int, most: int) -> pl.DataFrame:
        """Make the temporary table, where rows have contributors, and group it by all columns."""
        asked, by = self.asked, [self.columns[name] for name in self.asked.by]
        amount = "1" if asked.value is None and asked.weight is None else (
            f"CAST(ROUND({self._amount()} * 1e{decimals}) AS BIGINT)"
        )  # fmt: skip
        wish = "0" if asked.request is None else f"CAST({self._number(asked.request)} AS INTEGER)"
        keys = [f"c{i}" for i in range(len(by))]
        said = [*(f"{c.plain()} AS c{i}" for i, c in enumerate(by)), f"{amount} AS a", f"{wish} AS w"]
        if asked.contributor is None:
            source = f"(SELECT {', '.join(said)}, 1 AS n FROM {self.table.rows} t) h"
        else:
            said.append(f"{self.columns[asked.contributor].plain()} AS who")
            inner = f"SELECT {', '.join(said)} FROM {self.table.rows} t"
            sums = "CAST(SUM(a) AS BIGINT) AS a, MAX(w) AS w, COUNT(*) AS n"
            grouped = ", ".join([*keys, "who"])
            self.link.run(
                f"CREATE TEMPORARY TABLE {quoted(HELD)} AS SELECT {grouped}, {sums} FROM ({inner}) q GROUP BY {grouped}"
            )
            self.made = True
            source = f"{self.held} h"
        found = self._grouped(source, keys, by, most + 1)
        refuse_many(found.height, most)
        return found

    def totals(self, nodes: Mapping[str, pl.DataFrame | None], missing: Mapping[str, int]) -> pl.DataFrame:
        """Holdings of coarser cells, from the temporary table, and then grouped like those of all columns."""
        said: list[str] = []
        keys: list[str] = []
        joins: list[str] = []
        columns: list[SqlColumn] = []
        for name, frame in nodes.items():
            i, key = self.asked.by.index(name), f"k{len(keys)}"
            keys.append(key)
            column = self.columns[name]
            if frame is None:
                said.append(f"h.c{i} AS {key}")
                columns.append(column)
                continue
            value, node = frame.iter_columns()
            there = value.is_not_null()
            sent = column.sent(value.filter(there)).alias("value")
            self.link.stage(self.staged, pl.DataFrame([sent, node.filter(there).alias("node")]))
            alias = f"m{len(joins)}"
            joins.append(f"LEFT JOIN {self.dialect.staged(self.staged)} {alias} ON {alias}.value = h.c{i}")
            self.staged += 1
            said.append(f"COALESCE({alias}.node, {int(missing.get(name, -1))}) AS {key}")
            columns.append(SqlColumn(name, pl.Int64(), pl.Int64(), self.dialect))
        inner = f"SELECT {', '.join([*said, 'h.who', 'h.a', 'h.w', 'h.n'])} FROM {self.held} h {' '.join(joins)}"
        grouped = ", ".join([*keys, "who"])
        sums = "CAST(SUM(a) AS BIGINT) AS a, MAX(w) AS w, CAST(SUM(n) AS BIGINT) AS n"
        source = f"(SELECT {grouped}, {sums} FROM ({inner}) q GROUP BY {grouped}) h"
        return self._grouped(source, keys, columns, None)

    def close(self) -> None:
        """Drop what is temporary: others are staged under these names."""
        if self.made:
            self.link.run(f"DROP TABLE {self.held}")
        for number in range(FIRST, self.staged):
            self.link.run(f"DROP TABLE {self.dialect.staged(number)}")

    def _grouped(self, source: str, keys: Sequence[str], by: Sequence[SqlColumn], most: int | None) -> pl.DataFrame:
        """Sums and largest contributions of what is held, by keys."""
        asked, amounts = self.asked, self.asked.value is not None or self.asked.weight is not None
        ranks = range(1, asked.largest + 1) if amounts or asked.contributor is not None else ()
        held = asked.contributor is not None
        sums = {COUNT: "SUM(n)" if held else "COUNT(*)"}
        if held:
            sums[PEOPLE] = "COUNT(*)"
        if amounts:
            sums[SUM] = "SUM(a)"
        if amounts and self.negative:
            sums[GROSS] = "SUM(ABS(a))"
        if asked.request is not None:
            sums[ASKING] = "SUM(w)"
        if self.dialect.most is not None:
            size = "ABS(a)" if self.negative else "a"
            for rank in ranks:
                sums[f"{TOP}{rank}"] = self.dialect.most.format(what=size, most=asked.largest, rank=rank)
        elif ranks:
            sums |= {f"{TOP}{rank}": f"MAX(CASE WHEN r = {rank} THEN ABS(a) END)" for rank in ranks}
            over = f"PARTITION BY {', '.join(keys)} " if keys else ""
            source = f"(SELECT h.*, ROW_NUMBER() OVER ({over}ORDER BY ABS(a) DESC) AS r FROM {source}) h"
        numbers = [f"CAST(COALESCE({one}, 0) AS BIGINT)" for one in sums.values()]
        said = [f"{one} AS c{i}" for i, one in enumerate([*(f"h.{key}" for key in keys), *numbers])]
        group = f" GROUP BY {', '.join(f'h.{key}' for key in keys)}" if keys else ""
        query = f"SELECT {', '.join(said)} FROM {source}{group}" + ("" if most is None else f" LIMIT {most}")
        whole = [SqlColumn(name, pl.Int64(), pl.Int64(), self.dialect) for name in sums]
        found = pl.concat(list(fetched(self.link, self.dialect, query, [*by, *whole])))
        for name, same in ((PEOPLE, COUNT), (SUM, COUNT), (GROSS, SUM)):  # which they are where they were not asked
            if name not in sums:
                found = found.with_columns(found.get_column(same).alias(name))
        return found
