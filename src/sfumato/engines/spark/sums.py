"""Sums on a cluster: grouped frames of what each contributor has in each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import mul
from typing import Any

import polars as pl

from sfumato.engines.protocol import ASKING, COUNT, GROSS, PEOPLE, SUM, TOP, AmountFacts, SumsAsked, refuse_many
from sfumato.engines.spark.count import LARGEST, SparkFrame, as_polars
from sfumato.engines.spark.types import functions, job, windows


class SparkSums:
    """Sums of a frame of Spark; what contributors have in cells is kept on the cluster until it is closed."""

    def __init__(self, table: SparkFrame, asked: SumsAsked) -> None:
        self.table, self.asked, self.held = table, asked, table.rows
        self.functions = functions(table.rows)

    def _number(self, name: str) -> Any:
        return self.table.plain(name).cast("double")

    def _amount(self) -> Any:
        parts = [self._number(name) for name in (self.asked.value, self.asked.weight) if name is not None]
        return reduce(mul, parts, self.functions.lit(1.0))

    def facts(self, digits: int) -> AmountFacts:
        """One look at all rows."""
        F, asked = self.functions, self.asked
        whose = F.lit(0) if asked.contributor is None else self.table.plain(asked.contributor)
        wish = F.lit(0.0) if asked.request is None else self._number(asked.request)
        weight = F.lit(0.0) if asked.weight is None else self._number(asked.weight)
        rows = self.table.rows.select(
            self._amount().alias("a"), whose.alias("who"), wish.alias("w"), weight.alias("weight")
        )
        a, one = F.col("a"), F.lit(1)
        good = a.isNotNull() & (F.abs(a) < F.lit(float("inf")))
        known = [F.count(one), F.count(F.when(good, one)), F.sum(F.abs(a)), F.min(a), F.min("weight"), F.count("who"),
                 F.count(F.when(F.col("w").isin(0.0, 1.0), one))]  # fmt: skip
        for d in range(digits + 1):
            scaled = a * F.lit(10.0**d)
            off = F.abs(scaled - F.rint(scaled)) > F.lit(1e-9) + F.lit(1e-13) * F.abs(F.rint(scaled))
            known.append(F.max(off.cast("int")))
        with job(self.table.spark, "the cluster could not read the table"):
            rows_in, has, gross, least, low, named, clear, *off_by = rows.agg(*known).collect()[0]
        decimals = next((d for d, is_off in enumerate(off_by) if not is_off), None)
        return AmountFacts(rows_in - has, float(gross or 0), float(least or 0), float(low or 0), decimals,
                           rows_in - named, rows_in - clear)  # fmt: skip

    def add_up(self, decimals: int, most: int) -> pl.DataFrame:
        """Group rows by contributor, where they have any, and keep that; then by all columns."""
        F, asked = self.functions, self.asked
        amount = F.rint(self._amount() * F.lit(10.0**decimals)).cast("long")
        wish = F.lit(0) if asked.request is None else self._number(asked.request).cast("int")
        keys = [self.table.plain(name).alias(f"k{i}") for i, name in enumerate(asked.by)]
        said = [*keys, amount.alias("a"), wish.alias("w"), F.lit(1).alias("n")]
        names = [f"k{i}" for i in range(len(keys))]
        with job(self.table.spark, "the cluster could not count the rows"):
            if asked.contributor is None:
                self.held = self.table.rows.select(*said)
            else:
                whose = self.table.plain(asked.contributor).alias("who")
                self.held = self._by_whom(self.table.rows.select(*said, whose), names).persist()
            found = self._grouped(self.held, names).limit(min(most, LARGEST - 1) + 1).toArrow()
        refuse_many(found.num_rows, most)
        return as_polars(found, {name: self.table.schema[name] for name in asked.by} | self._schema)

    def totals(self, nodes: Mapping[str, pl.DataFrame | None], missing: Mapping[str, int]) -> pl.DataFrame:
        """What contributors have in coarser cells, grouped like that in all."""
        F, rows, said = self.functions, self.held, []
        for number, (name, frame) in enumerate(nodes.items()):
            own = f"k{self.asked.by.index(name)}"
            if frame is None:
                said.append(F.col(own).alias(f"t{number}"))
                continue
            value, node = (column.alias(text) for column, text in zip(frame.iter_columns(), ("v", "node"), strict=True))
            there = pl.DataFrame([value, node]).drop_nulls()
            kind = rows.schema[own].dataType.simpleString()
            given = self.table.spark.createDataFrame(there.to_arrow(compat_level=pl.CompatLevel.oldest()))
            given = given.select(F.col("v").cast(kind).alias(f"v{number}"), F.col("node").alias(f"node{number}"))
            rows = rows.join(F.broadcast(given), F.col(own) == F.col(f"v{number}"), "left")
            node_of = F.coalesce(F.col(f"node{number}"), F.lit(int(missing.get(name, -1))))
            said.append(node_of.cast("long").alias(f"t{number}"))
        names = [f"t{i}" for i in range(len(nodes))]
        with job(self.table.spark, "the cluster could not count the rows"):
            held = self._by_whom(rows.select(*said, "who", "a", "w", "n"), names)
            found = self._grouped(held, names).toArrow()
        of: dict[str, pl.DataType] = {
            name: self.table.schema[name] if frame is None else pl.Int64() for name, frame in nodes.items()
        }
        return as_polars(found, of | self._schema)

    def close(self) -> None:
        """Let the cluster forget what contributors have."""
        if self.asked.contributor is not None and self.held is not self.table.rows:
            self.held.unpersist()

    @property
    def _ranks(self) -> Sequence[int]:
        ones = self.asked.value is None and self.asked.weight is None and self.asked.contributor is None
        return () if ones else range(1, self.asked.largest + 1)

    @property
    def _schema(self) -> dict[str, pl.DataType]:
        asking = [] if self.asked.request is None else [ASKING]
        names = [COUNT, SUM, GROSS, PEOPLE, *asking, *(f"{TOP}{rank}" for rank in self._ranks)]
        return dict.fromkeys(names, pl.Int64())

    def _by_whom(self, rows: Any, names: Sequence[str]) -> Any:
        F = self.functions
        return rows.groupBy(*names, "who").agg(F.sum("a").alias("a"), F.max("w").alias("w"), F.sum("n").alias("n"))

    def _grouped(self, held: Any, names: Sequence[str]) -> Any:
        """Sums and largest contributions of what is held, by keys."""
        F = self.functions
        size = F.abs(F.col("a"))
        sums = [F.sum("n").cast("long"), F.sum("a").cast("long"), F.sum(size).cast("long"), F.count(F.lit(1))]
        if self.asked.request is not None:
            sums.append(F.sum("w").cast("long"))
        if self._ranks:
            over = windows(held).partitionBy(*names).orderBy(size.desc())
            held = held.withColumn("r", F.row_number().over(over))
            sums += [F.coalesce(F.max(F.when(F.col("r") == rank, size)), F.lit(0)).cast("long") for rank in self._ranks]
        said = [one.alias(f"s{i}") for i, one in enumerate(sums)]
        return held.groupBy(*names).agg(*said) if names else held.agg(*said)
