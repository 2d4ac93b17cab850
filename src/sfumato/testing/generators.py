"""Checks of a generator: columns, types, missing values and domains stay, as many rows as asked come in no order of the
table, a seed decides, and a model outlives its process."""

from __future__ import annotations

import datetime as dt
import json
import stat
import tempfile
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.generators import SyntheticModel
from sfumato.core.registry import members
from sfumato.synthetic import GENERATORS, load_model
from sfumato.synthetic.columns import columns_of
from sfumato.synthetic.generator import FitContext

ROWS = 240
COINS = 100_000
MANY = 200  # times that a private generator sees each row


@cache
def mixed_table() -> pl.DataFrame:
    """Columns of many types that depend on each other, some values missing, sorted by age."""
    chance = np.random.default_rng(5)
    age = np.sort(chance.integers(18, 90, ROWS))
    pay = np.where(chance.uniform(size=ROWS) < 0.3, 0.0, (80 * age + 900 * chance.standard_normal(ROWS)).round(2))
    town = np.where(age < 50, chance.choice(["Bern", "Oslo"], ROWS), chance.choice(["Rome", "Oslo", "Wien"], ROWS))
    minutes = chance.integers(0, 99, ROWS).tolist()
    frame = pl.DataFrame(
        {
            "age": pl.Series(age, dtype=pl.UInt8),
            "pay": pay,
            "cents": pl.Series((pay / 7).round(2)).cast(pl.Decimal(12, 2)),
            "since": pl.Series([dt.date(1990, 1, 1) + dt.timedelta(days=7 * int(a)) for a in age]),
            "at": [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=m) for m in minutes],
            "town": town,
            "ill": pl.Series(chance.uniform(size=ROWS) < age / 120),
            "grade": pl.Series(np.where(pay > 4000, "high", "low"), dtype=pl.Enum(["low", "high", "never"])),
            "code": pl.Series(chance.choice(["x", "y", "z"], ROWS)).cast(pl.Categorical()),
        }
    )
    holes = {name: pl.Series(chance.uniform(size=ROWS) > 0.15) for name in ("pay", "since", "town", "ill")}
    return frame.with_columns(pl.when(there).then(name).alias(name) for name, there in holes.items())


@cache
def chain() -> pl.DataFrame:
    """Coins, each the one before it but for noise."""
    chance = np.random.default_rng(11)
    a = chance.uniform(size=COINS) < 0.4
    b = a ^ (chance.uniform(size=COINS) < 0.2)
    c = b ^ (chance.uniform(size=COINS) < 0.1)
    return pl.DataFrame({"a": a, "b": b, "c": c})


def fitting(generator: Any) -> pl.DataFrame:
    """The columns of the table that a generator takes, and those of households where it asks for them."""
    table = mixed_table()
    found = table.select(column.name for column in columns_of(table) if column.kind in generator.kinds)
    if generator.private:  # so many rows that noise hides none of what is checked
        return pl.concat([found] * MANY)
    return found if generator.unit is None else found.with_columns(pl.Series(generator.unit, np.arange(ROWS) // 3))


def drawn(generator: Any, rows: int = ROWS, seed: int = 1) -> pl.DataFrame:
    """Rows that it makes of that table."""
    return _fitted(generator, seed).draw(rows, np.random.default_rng(seed + 100))


def _fitted(generator: Any, seed: int = 1) -> Any:
    if generator.private:
        return _private(repr(generator), generator)
    return generator.fit(fitting(generator), FitContext(np.random.default_rng(seed)))


_models: dict[str, Any] = {}


def _private(name: str, generator: Any) -> Any:
    """A private model, which costs thousands of draws, made once for all checks."""
    if name not in _models:
        _models[name] = generator.fit(fitting(generator), FitContext(np.random.default_rng(1)))
    return _models[name]


def check_generator_declaration(generator: Any) -> None:
    """Its parameters are plain and make it again, as a manifest does; it says what it does, and what it leaves open."""
    name = GENERATORS.name_of(generator)
    assert name is not None
    made = GENERATORS[name].make(**json.loads(json.dumps(generator.parameters())))
    assert made == generator, f"its parameters make another value: {made}"
    assert generator.sentence(), "it does not say how rows are made"
    assert generator.leaves, "it does not say what it leaves open"
    assert not {*generator.published_parameters()} & {*generator.secret}, "it publishes a secret parameter"
    assert {*generator.kinds} <= {"number", "category"}, f"unknown kinds of columns: {generator.kinds}"
    assert isinstance(generator.fits_counts, bool), "fits_counts is not True or False"
    lacking = [member for member in members(SyntheticModel) if not hasattr(_fitted(generator), member)]
    assert not lacking, f"its model lacks {', '.join(lacking)}"


def check_generator_schema(generator: Any) -> None:
    """Columns and types stay, values are missing where they were, about as often, and there are the rows asked for."""
    original, made = fitting(generator), drawn(generator)
    assert made.schema == original.schema, "columns or types are others than those of the table"
    for name in original.columns:
        before, after = original[name].null_count() * ROWS // original.height, made[name].null_count()
        assert (after > 0) == (before > 0), f"{name}: {after} values are missing, and {before} were"
        assert abs(after - before) < 0.12 * ROWS, f"{name}: {after} values are missing, and {before} were"
    for rows in (ROWS, 77, 601):
        assert drawn(generator, rows).height == rows, f"not {rows} rows, as asked"


def check_generator_domain(generator: Any) -> None:
    """No category is new; numbers stay within the range of their column and on its grid, unless it says otherwise."""
    original, made = fitting(generator), drawn(generator, 600)
    for column in columns_of(original if generator.unit is None else original.drop(generator.unit)):
        name = column.name
        before, after = original[name].drop_nulls(), made[name].drop_nulls()
        if not column.is_number:
            assert after.is_in(before.implode()).all(), f"{name}: a category that the table does not have"
        elif generator.bounded:
            x, known = column.encode(after), column.encode(before)
            assert known.min() <= x.min() <= x.max() <= known.max(), f"{name}: a number out of range"
            grid = np.round(x) if column.step else np.round(x, column.decimals or 0)
            assert (x == grid).all(), f"{name}: a number that is not on the grid of its column"


def check_generator_seed(generator: Any) -> None:
    """The same random numbers give the same rows, others give others."""
    if generator.private:
        return  # its noise is not to be repeated
    made = drawn(generator)
    assert made.equals(drawn(generator)), "the same random numbers give other rows"
    assert not made.equals(drawn(generator, seed=2)), "other random numbers give the same rows"


def check_generator_order(generator: Any) -> None:
    """Rows come in no order of the table, which is sorted by age: places and ages would be correlated."""
    found = np.corrcoef(np.arange(ROWS), drawn(generator)["age"].to_numpy())[0, 1]
    assert abs(found) < 0.3, "rows come in the order of the table"


def check_generator_model(generator: Any) -> None:
    """A model is kept in a file that its owner alone may read, and draws the same when it is read again."""
    model = _fitted(generator)
    with tempfile.TemporaryDirectory() as folder:
        path = model.save(Path(folder) / "model")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, "others may read the file of a model"
        again = load_model(path)
    first, second = (one.draw(90, np.random.default_rng(7)) for one in (model, again))
    assert second.equals(first), "a model that was saved draws other rows"


def check_generator_pairs(generator: Any) -> None:
    """Where it claims to keep pairs: each cell of each pair of a chain of coins is within three standard errors."""
    if not generator.pairs:
        return
    model = generator.fit(chain(), FitContext(np.random.default_rng(1)))
    assert_pairs_kept(chain(), model.draw(COINS, np.random.default_rng(3)))


def assert_pairs_kept(original: pl.DataFrame, made: pl.DataFrame) -> None:
    """Each cell of each pair is within three standard errors of the draw."""
    for pair in combinations(original.columns, 2):
        before, after = (
            dict(frame.group_by(pair).len().select(pl.concat_str(pair), pl.col("len") / frame.height).iter_rows())
            for frame in (original, made)
        )
        for cell, share in before.items():
            error = np.sqrt(share * (1 - share) / made.height)
            assert abs(after.get(cell, 0.0) - share) <= 3 * error, f"the pair {pair} is not kept"


GENERATOR_CHECKS = (
    check_generator_declaration,
    check_generator_schema,
    check_generator_domain,
    check_generator_seed,
    check_generator_order,
    check_generator_model,
    check_generator_pairs,
)
