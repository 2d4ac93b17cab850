"""A Plan as tables to join: values to codes, codes to a key, the key to labels. Joins are on equal numbers and texts.

No database joins missing values to each other fast, so their code and label are found without a join. Tuples are
joined by one number, made of the codes of their values, which every database can hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.core.printed import LARGEST_KEY, pack_numbers, printed
from sfumato.engines.order import sorted_by, value_ranks
from sfumato.engines.protocol import LABEL, PIECE, Plan
from sfumato.engines.sql.types import SqlColumn, SqlDialect

VALUE, MISSING, CODE, TEXT, KEY, PLACE, RANK = "value", "missing", "code", "label", "key", "place", "rank"
MANY = 100_000  # values of a column: more are sorted by as fast as they are joined


class Staged:
    """The tables of a plan, and the parts of the statement that joins them to the table t.

    `tables` are to be staged under their numbers, `joins` and `where` follow after FROM, and `labels` has an
    expression for each column that is blurred. `numbers` are tables of labels and of what is written in their place.
    Where rows are to be `sorted`, `order` are whole numbers in the order of the first columns that released rows are
    sorted by, which `ranked` names: numbers sort three times faster than texts.
    """

    def __init__(self, plan: Plan, columns: Mapping[str, SqlColumn], dialect: SqlDialect, sorted: bool = False) -> None:
        self.columns, self.dialect = columns, dialect
        self.tables: list[pl.DataFrame] = []
        self.joins: list[str] = []
        self.where: list[str] = []
        self.labels: dict[str, str] = {}
        self._coded: dict[str, int] = {}  # the tables of the values of columns
        self._values = {name: v.to_frame(name) for name, v in plan.values.items() if len(v) <= MANY}
        self._classes: dict[str, tuple[int, str]] = {}  # of columns with a label per class, where that is
        tuples = plan.suppressed_keys if plan.cells is None else plan.cells
        keys = [] if tuples is None else list(plan.keys)
        dealt = plan.dealt
        codes: dict[str, pl.DataFrame] = {}
        said: dict[str, str] = {}
        for name in dict.fromkeys((*keys, *plan.row_key, *plan.maps)):
            source = dealt if name in plan.row_key else plan.maps.get(name, self._values.get(name, tuples))
            assert source is not None
            texts = [pl.col(LABEL + name).cast(pl.String).alias(TEXT)] if name in plan.maps else []
            found = source.select(pl.col(name).alias(VALUE), *texts).unique(VALUE, maintain_order=True)
            codes[name] = found.with_row_index(CODE).cast({CODE: pl.Int64})
            # a row whose value was not counted has no label: it stays behind, and the rows will not add up
            said[name] = self._code(name, codes[name], name in plan.maps)
        if dealt is not None:
            key, expression = self._packed(dealt, [*keys, *plan.row_key], codes, said, False)
            alias = self._add(pl.DataFrame({KEY: key, PLACE: dealt.get_column(PIECE).cast(pl.Int64)}))
            self._join(alias, f"{alias}.{KEY} = {expression}", False)
            every = range(int(dealt.get_column(PIECE).to_numpy().max()) + 1)
            codes[PIECE] = pl.DataFrame({VALUE: every, CODE: every})
            keys, said[PIECE] = [*keys, PIECE], f"COALESCE({alias}.{PLACE}, 0)"
        if tuples is not None:
            self._match(tuples, keys, codes, said, plan.cells is not None)
        self.numbers: dict[str, str] = {}
        for name, labels in plan.number_labels().items():
            made = plan.numbers.columns(name, labels)
            if dialect.name == "sqlite":  # which has no days
                made = made.with_columns(printed(s) for s in made.iter_columns() if s.dtype.is_temporal())
            made.columns = [TEXT, *(f"{TEXT} {i}" for i in range(made.width - 1))]
            self.numbers[name] = self._add(made)
        self.order: list[str] = []
        self.ranked: list[str] = []
        if sorted:
            self._rank_columns(plan)

    def _add(self, table: pl.DataFrame) -> str:
        self.tables.append(table)
        return f"s{len(self.tables) - 1}"

    def _join(self, alias: str, on: str, inner: bool) -> None:
        number = int(alias.removeprefix("s"))
        kind = self.dialect.inner if inner else "LEFT JOIN"
        self.joins.append(f"{kind} {self.dialect.staged(number)} {alias} ON {on}")

    def _code(self, name: str, table: pl.DataFrame, all_known: bool) -> str:
        """Join the values of a column, with their codes and, if it has a map, their labels; the code as expression."""
        column = self.columns[name]
        table = table.with_columns(
            column.sent(table.get_column(VALUE)), pl.col(VALUE).is_null().cast(pl.Int32).alias(MISSING)
        )
        number = self._coded[name] = len(self.tables)
        alias = self._add(table)
        # an outer join on the value as it is: no planner takes it for one that finds few rows
        self._join(alias, f"{alias}.{VALUE} = {column.value()}", False)
        missing = table.filter(pl.col(MISSING) == 1)
        absent = f"WHEN {column.plain()} IS NULL THEN"
        code = f"CASE {absent} {missing.item(0, CODE) if missing.height else 'NULL'} ELSE {alias}.{CODE} END"
        if all_known:
            self.where.append(f"{code} IS NOT NULL")
        if TEXT in table.columns:
            of_missing = f"(SELECT MAX({TEXT}) FROM {self.dialect.staged(number)} WHERE {MISSING} = 1)"
            self.labels[name] = f"CASE {absent} {of_missing} ELSE {alias}.{TEXT} END"
        return code

    def _match(
        self,
        tuples: pl.DataFrame,
        keys: Sequence[str],
        codes: Mapping[str, pl.DataFrame],
        said: Mapping[str, str],
        stay: bool,
    ) -> None:
        """Join the tuples: rows that have one stay, with its labels, or do not."""
        key, expression = self._packed(tuples, keys, codes, said, stay)
        table = pl.DataFrame({KEY: key})
        if not stay:
            alias = self._add(table.unique())
            self._join(alias, f"{alias}.{KEY} = {expression}", False)
            self.where.append(f"{alias}.{KEY} IS NULL")
            return
        blurred = [name for name in tuples.columns if name.startswith(LABEL)]
        labels = tuples.select(pl.col(name).alias(f"{TEXT} {i}") for i, name in enumerate(blurred))
        if blurred:  # many tuples have the same labels
            groups = labels.unique(maintain_order=True).with_row_index(PLACE).cast({PLACE: pl.Int64})
            place = labels.join(groups, on=labels.columns, how="left", nulls_equal=True, maintain_order="left")
            table = table.with_columns(place.get_column(PLACE))
        alias = self._add(table)
        self._join(alias, f"{alias}.{KEY} = {expression}", True)
        if blurred:
            texts = self._add(groups.with_columns(pl.col(labels.columns).cast(pl.String)))
            self._join(texts, f"{texts}.{PLACE} = {alias}.{PLACE}", True)
            for i, name in enumerate(blurred):
                self.labels[name.removeprefix(LABEL)] = f'{texts}."{TEXT} {i}"'
                self._classes[name.removeprefix(LABEL)] = len(self.tables) - 1, f"{TEXT} {i}"

    def _rank_columns(self, plan: Plan) -> None:
        """Make the numbers that released rows are sorted by, as far as the values of columns are known."""
        ranks = []
        for name in sorted_by(plan.columns, plan.order.quasi):
            if (found := self._rank(name, plan)) is None:
                break
            ranks.append(found)
            self.ranked.append(name)
        self.order = pack_numbers(ranks, lambda key, size, rank: f"({key} * {size} + {rank})")

    def _rank(self, name: str, plan: Plan) -> tuple[str, int] | None:
        """The rank of what is released of a column, as an expression, and how many ranks there are."""
        if name in self._classes:
            number, text = self._classes[name]
            rank, size = value_ranks(self.tables[number].get_column(text))
            self.tables[number] = self.tables[number].with_columns(pl.Series(f"{RANK} {text}", rank))
            return f's{number}."{RANK} {text}"', size
        known = name in self._values or (plan.cells is not None and name in plan.keys)
        if name not in plan.maps and not (known and name in plan.unchanged):
            return None
        if name not in self._coded:
            values = self._values[name].rename({name: VALUE}).with_row_index(CODE).cast({CODE: pl.Int64})
            self._code(name, values, False)
        number, column = self._coded[name], self.columns[name]
        table = self.tables[number]
        labels = name in plan.maps
        rank, size = value_ranks(table.get_column(TEXT) if labels else table.get_column(VALUE).cast(column.dtype))
        self.tables[number] = table.with_columns(pl.Series(RANK, rank))
        missing = table.select(MISSING).with_columns(pl.Series(RANK, rank)).filter(pl.col(MISSING) == 1)
        absent = missing.item(0, RANK) if missing.height else "NULL"
        return f"CASE WHEN {column.plain()} IS NULL THEN {absent} ELSE s{number}.{RANK} END", size

    def _packed(
        self,
        tuples: pl.DataFrame,
        keys: Sequence[str],
        codes: Mapping[str, pl.DataFrame],
        said: Mapping[str, str],
        stay: bool,
    ) -> tuple[pl.Series, str]:
        """One number per tuple, and the expression that gives the same number of a row; `stay`: rows without go."""
        key, expression, domain = pl.repeat(0, tuples.height, dtype=pl.Int64, eager=True), "", 1
        for name in keys:
            size = codes[name].height
            if domain * size >= LARGEST_KEY:  # a wider key would wrap: number the tuples so far
                so_far = pl.DataFrame({KEY: key}).unique(maintain_order=True).with_row_index(PLACE)
                alias = self._add(so_far.select(KEY, pl.col(PLACE).cast(pl.Int64)))
                self._join(alias, f"{alias}.{KEY} = {expression}", stay)
                key = _looked_up(key, so_far, KEY, PLACE)
                expression, domain = f"{alias}.{PLACE}", so_far.height
            key = key * size + _looked_up(tuples.get_column(name), codes[name], VALUE, CODE)
            expression = f"({expression} * {size} + {said[name]})" if expression else said[name]
            domain *= size
        return key, expression


def _looked_up(values: pl.Series, table: pl.DataFrame, by: str, found: str) -> pl.Series:
    """What stands beside each value in a table that has all of them."""
    rows = pl.DataFrame({by: values}).join(
        table.select(by, found), on=by, how="left", nulls_equal=True, maintain_order="left"
    )
    return rows.get_column(found).cast(pl.Int64)
