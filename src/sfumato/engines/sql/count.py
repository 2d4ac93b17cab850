"""The statements: count, sample, fingerprint, and the map. Values never stand in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from sfumato.engines.order import sorted_by
from sfumato.engines.protocol import COUNT, RESERVED_PREFIX, Plan
from sfumato.engines.sql.connect import STORED, TableName
from sfumato.engines.sql.link import Link
from sfumato.engines.sql.recode import CODE, KEY, PLACE, TEXT, VALUE, Staged
from sfumato.engines.sql.types import SqlColumn, SqlDialect, frame_of, quoted

ORDER = RESERVED_PREFIX + "order "


def fetched(link: Link, dialect: SqlDialect, query: str, columns: Sequence[SqlColumn]) -> Iterator[pl.DataFrame]:
    """The rows of a query that gives columns as they travel, as frames of memory; its columns are c0, c1 and so on."""
    if not dialect.guesses:
        for found in link.frames(query):
            yield frame_of(found, columns)
        return
    # a row of known types before all others, or a column that begins with missing values would be taken for numbers
    first = ", ".join(f"{_some(c.travels)} AS c{i}" for i, c in enumerate(columns))
    skip = 1
    for found in link.frames(f"SELECT {first} UNION ALL SELECT * FROM ({query})"):
        yield frame_of(found.slice(skip), columns)
        skip = 0


def _some(dtype: pl.DataType) -> str:
    return "''" if dtype == pl.String else "0.0" if dtype.is_float() else "0"


def listed(expressions: Sequence[str]) -> str:
    """Expressions of a query, named c0, c1 and so on."""
    return ", ".join(f"{expression} AS c{i}" for i, expression in enumerate(expressions))


def count(
    link: Link, dialect: SqlDialect, table: TableName, columns: Sequence[SqlColumn], most: int | None
) -> pl.DataFrame:
    """Distinct tuples of columns in their plain form with their counts; one more than `most` at the most."""
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    inner = f"SELECT {listed([c.plain() for c in columns])} FROM {table.rows} t"
    query = f"SELECT {names}, COUNT(*) AS c{len(columns)} FROM ({inner}) q GROUP BY {names}"
    query += "" if most is None else f" LIMIT {most + 1}"
    often = SqlColumn(COUNT, pl.Int64(), pl.Int64(), dialect)
    return pl.concat(list(fetched(link, dialect, query, [*columns, often])))


def singled(link: Link, table: TableName, columns: Sequence[SqlColumn]) -> int:
    """How many rows have values of columns, in their plain form, that no other row has."""
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    inner = f"SELECT {listed([c.plain() for c in columns])} FROM {table.rows} t"
    groups = f"SELECT 1 AS one FROM ({inner}) q GROUP BY {names} HAVING COUNT(*) = 1"
    return int(link.rows(f"SELECT COUNT(*) FROM ({groups}) s")[0][0])


def every(link: Link, table: TableName) -> int:
    """How many rows a table has."""
    return int(link.rows(f"SELECT COUNT(*) FROM {table.rows} t")[0][0])


def sample(table: TableName, dialect: SqlDialect, columns: Sequence[SqlColumn], rows: int, wanted: int) -> str:
    """A query for about so many rows, from all over a table."""
    said, step = listed([c.value() for c in columns]), max(1, rows // max(1, wanted))
    if rows <= wanted:
        return f"SELECT {said} FROM {table.rows} t"
    if dialect.sample is not None and table.kind in STORED and not table.where:
        how = dialect.sample.format(step=step, percent=min(100.0, 100 * wanted / rows))
        return f"SELECT {said} FROM {table.written} t {how}"
    number = quoted("sfumato: number")
    numbered = f"SELECT t.*, ROW_NUMBER() OVER () AS {number} FROM {table.rows} t"
    return f"SELECT {said} FROM ({numbered}) t WHERE t.{number} % {step} = 0"


def total(table: TableName, dialect: SqlDialect, columns: Sequence[SqlColumn]) -> str | None:
    """A query for the rows and the sum over a hash of each, which is the same in any order of the rows."""
    if dialect.hashed is None:
        return None
    row = f"CAST(ROW({', '.join(c.value() for c in columns)}) AS {dialect.text})"  # quotes what it must
    return f"SELECT COUNT(*), CAST(SUM({dialect.hashed.format(row)}) AS {dialect.text}) FROM {table.written} t"


def stage(link: Link, dialect: SqlDialect, staged: Staged) -> None:
    """Make the temporary tables."""
    for number, frame in enumerate(staged.tables):
        link.stage(number, frame)
        by = next(name for name in (VALUE, KEY, PLACE, CODE, TEXT) if name in frame.columns)
        if dialect.indexes:
            link.run(f'CREATE INDEX {dialect.temporary}"sfumato: by {number}" ON "sfumato: {number}" ({by})')
        if dialect.analyzes:
            link.run(f"ANALYZE {dialect.staged(number)}")


def _from(table: TableName, staged: Staged) -> str:
    where = f" WHERE {' AND '.join(staged.where)}" if staged.where else ""
    return f"FROM {table.rows} t {' '.join(staged.joins)}{where}"


def exported(table: TableName, plan: Plan, columns: Mapping[str, SqlColumn], staged: Staged) -> str:
    """A query for the released rows, as they travel."""
    said = [
        staged.labels.get(name) or (columns[name].plain() if name in plan.unchanged else columns[name].value())
        for name in plan.columns
    ]
    return f"SELECT {listed(said)} {_from(table, staged)}"


def created(
    target: TableName,
    table: TableName,
    plan: Plan,
    columns: Mapping[str, SqlColumn],
    staged: Staged,
    dialect: SqlDialect,
) -> list[str]:
    """The statements that make the released table."""
    said = {name: staged.labels.get(name) or columns[name].kept(name in plan.unchanged) for name in plan.columns}
    said |= {f"{ORDER}{i}": key for i, key in enumerate(staged.order)}
    listed = ", ".join(f"{expression} AS {quoted(name)}" for name, expression in said.items())
    written = _written(plan, columns, staged, dialect)
    outer = ", ".join(f"{value} AS {quoted(name)}" for name, (value, _) in written.items())
    joins = " ".join(
        f"LEFT JOIN {dialect.staged(int(alias[1:]))} {alias} "
        f"ON {alias}.{TEXT} = {dialect.same_text.format(f'q.{quoted(name)}')}"
        for name, alias in staged.numbers.items()
    )
    inner = f"SELECT {listed} {_from(table, staged)}"
    rows = f"SELECT {outer} FROM ({inner}) q {joins} {_sorted(plan, columns, staged, dialect)}"
    if dialect.name == "sqlite":  # which would forget the types
        types = [f"{quoted(name)} {declared}" for name, (_, declared) in written.items()]
        return [f"CREATE TABLE {target.written} ({', '.join(types)})", f"INSERT INTO {target.written} {rows}"]
    return [f"CREATE TABLE {target.written} AS {rows}"]


def _written(
    plan: Plan, columns: Mapping[str, SqlColumn], staged: Staged, dialect: SqlDialect
) -> dict[str, tuple[str, str]]:
    """The columns of the released table, of rows named q, each with its declared type."""
    found: dict[str, tuple[str, str]] = {}
    for name in plan.columns:
        if (alias := staged.numbers.get(name)) is None:
            declared = dialect.text if name in staged.labels else columns[name].declared
            found[name] = (f"q.{quoted(name)}", declared)
            continue
        for i, to in enumerate(plan.numbers.counted(name)):
            dtype = staged.tables[int(alias[1:])].schema[f"{TEXT} {i}"]
            declared = "INTEGER" if dtype.is_integer() else "REAL" if dtype.is_float() else dialect.text
            found[to] = (f'{alias}."{TEXT} {i}"', declared)
    return found


def _sorted(plan: Plan, columns: Mapping[str, SqlColumn], staged: Staged, dialect: SqlDialect) -> str:
    """What released rows, named q, are sorted by: where a row lies in a table must not tell where it lay before.

    Texts compare byte by byte and whole numbers by their digits; other values, which databases print in other ways than
    Sfumato, as values and then, where those are equal and yet differ, as the database prints them. What has ranks in
    this order is sorted by them.
    """
    keys = [f"q.{quoted(f'{ORDER}{i}')}" for i in range(len(staged.order))]
    for name in sorted_by(plan.columns, plan.order.quasi)[len(staged.ranked) :]:
        value, text = f"q.{quoted(name)}", dialect.same_text.format(f"q.{quoted(name)}")
        dtype = pl.String() if name in staged.labels else columns[name].dtype
        if dtype == pl.String or dtype.is_integer():
            keys.append(text)
        elif dtype.is_float():  # zeros are equal, and print differently
            keys += [value, dialect.below.format(value, text)]
        elif dtype.is_temporal() or dtype == pl.Boolean:
            keys.append(value)
        else:
            keys += [value, text]
    return "ORDER BY " + ", ".join(f"{key} NULLS LAST" for key in keys)
