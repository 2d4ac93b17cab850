"""How many different values a table has, from how often a sample has each."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Categories, Hierarchy, LevelMap, Recipe, bind_hierarchy, leaves_of, says_codes
from sfumato.core.label_grammar import DECIMAL, WHOLE
from sfumato.core.printed import categories, plain_values, printed
from sfumato.core.progress import check_cancelled
from sfumato.hierarchies.learned import Learned
from sfumato.hierarchies.similar import MOST_VALUES, grouped, similar_order
from sfumato.hierarchies.words import codes_of, word_order


def distinct_in(counts: np.ndarray, rows: int) -> int:
    """About how many different values a table of so many rows has, of which a sample has each so often.

    The larger of two estimates, neither of which is below the other on every table: values that the sample has once
    stand for the square root of rows per sampled row (Charikar); and all values alike (Chao), of which so many rows
    meet a share.

    >>> distinct_in(np.array([2, 1, 1]), 16)
    5

    References
    ----------
    Charikar, Chaudhuri, Motwani and Narasayya, "Towards estimation error guarantees for distinct values", PODS 2000.
    Chao, "Nonparametric estimation of the number of classes in a population", Scand. J. Statistics 11, 1984.
    """
    seen, once, twice = len(counts), int((counts == 1).sum()), int((counts == 2).sum())
    spread = seen - once + math.sqrt(max(1.0, rows / max(1, int(counts.sum())))) * once
    every = seen + once * (once - 1) / (2 * (twice + 1))
    alike = every * -math.expm1(-rows / every) if every else 0.0
    return min(rows, max(seen, round(max(spread, alike))))


NUMBER = rf"^(?:{DECIMAL}|[+-]?inf)$"
INTEGER = rf"^{WHOLE}$"
CODE = r"^0[0-9]"  # a whole number that keeps a leading zero is a code, which has no ranges
FIRST = frozenset("+-.0123456789i")  # how a number, date or inf begins
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
DATETIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?$"


@dataclass(frozen=True, eq=False)
class Attribute:
    """A column: its role, its values, and the hierarchy it is generalised by."""

    name: str
    role: str
    categories: Categories
    hierarchy: Hierarchy | None = None  # None: none was given, one is learned where a search needs it
    learner: Learned = field(default_factory=Learned)
    recipe: Recipe | None = None  # how the hierarchy was made
    learns: bool = True  # whether one can be learned from the values that are known

    @property
    def kind(self) -> str:
        """The kind of its values: one of `categories.KINDS`."""
        return self.categories.kind

    @cached_property
    def ladder(self) -> LevelMap:
        """The hierarchy, standing on the values that occur in the table."""
        return bind_hierarchy(self.hierarchy or self.learner.build(self.categories), self.categories)

    @cached_property
    def extent(self) -> tuple[float, float]:
        """Least and greatest position of an ordered column."""
        known = self.positions[: len(self.categories) - self.categories.missing]
        return (float(known[0]), float(known[-1])) if len(known) else (0.0, 0.0)

    @property
    def span(self) -> float:
        """Greatest minus least position of an ordered column."""
        return self.extent[1] - self.extent[0]

    @cached_property
    def below(self) -> np.ndarray:
        """How many rows have a value before each code, and how many there are."""
        return np.concatenate([[0], np.cumsum(self.categories.count)])

    @cached_property
    def file_rank(self) -> tuple[np.ndarray, int]:
        """The rank of each code among all leaves of the hierarchy, in value order, and how many leaves there are."""
        categories = self.categories
        if self.hierarchy is None or not categories.ordered:
            return np.arange(len(categories)), len(categories)
        leaves = pl.Series(self.name, [leaf for leaf in self.hierarchy.labels[0] if leaf], dtype=pl.String)
        like = {"date": DATE, "datetime": DATETIME}.get(self.kind, NUMBER)
        alike = leaves.filter(leaves.str.contains(like))  # leaves that are no numbers stand after those that are
        everything, codes = encode(alike)
        place = dict(zip(alike.to_list(), codes.tolist(), strict=True))
        total = len(leaves) + int(categories.missing)
        return np.array([total - 1 if v is None else place.get(v, len(everything)) for v in categories.text]), total

    @cached_property
    def positions(self) -> np.ndarray:
        """Where each code stands on a line: its number or time, or its rank where floats cannot tell those apart."""
        place = self.categories.position
        known = len(self.categories) - self.categories.missing
        if place is None or known == 0:
            return np.arange(len(self.categories), dtype=np.float64)
        low, high = place[0], place[known - 1]
        with np.errstate(over="ignore", invalid="ignore"):
            finite = bool(np.isfinite(high - low))
        huge = finite and max(abs(low), abs(high)) >= 2**53 and bool((place[1:known] == place[: known - 1]).any())
        return place if finite and not huge else np.arange(len(self.categories), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Microdata:
    """The columns that matter to a search, as codes; `weights` are survey weights, one per row.

    With `row_counts` an entry of the codes stands for so many rows: distinct tuples that an engine has counted.
    """

    rows: int
    schema: tuple[Attribute, ...]
    codes: Mapping[str, np.ndarray]  # a small whole number per row
    weights: np.ndarray | None = field(default=None)
    row_counts: np.ndarray | None = None

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name."""
        return next(a for a in self.schema if a.name == name)


def encode(series: pl.Series, as_text: bool = False, coded: pl.Series | None = None) -> tuple[Categories, np.ndarray]:
    """The categories of a column and the code of each row.

    Codes follow the sorted values; missing values (null, NaN, the empty string) take the last code. Values that print
    the same are the same value: what is released is the printed form. With `as_text` digits are no numbers. `coded` is
    a column of texts as an Enum of these, sorted: its codes may be of fewer bytes.
    """
    check_cancelled()
    name = series.name
    listed = None if coded is None else categories(coded)
    if coded is None or listed is None:
        distinct, codes = _ranked(printed(series) if as_text else _plain(series))
    else:
        physical, distinct = coded.to_physical(), listed
        if coded.null_count():
            physical, distinct = physical.cast(pl.Int32).fill_null(len(listed)), listed.extend_constant(None, 1)
        codes = physical.to_numpy()
    known = distinct.drop_nulls() if distinct.null_count() else distinct
    kind, order, place = ("text", np.arange(len(known)), None) if as_text else _sorted(known)
    moved = not np.array_equal(order, np.arange(len(order)))
    if known.dtype == pl.String:
        text: list[Any] = (known.gather(order) if moved else known).to_list()
    else:
        text = printed(known).to_list()
    if moved:
        rank = np.empty(len(distinct), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        rank[len(order) :] = len(order)
        codes = (rank if coded is None else narrow(rank, len(rank)))[codes]
    if len(known) < len(distinct):
        text.append(None)
        place = None if place is None else np.append(place, np.nan)
    count = np.bincount(codes, minlength=len(text)).astype(np.int64)
    return Categories(name, kind, tuple(text), place, count), codes


def narrow(codes: np.ndarray, values: int) -> np.ndarray:
    """Codes of so many values in as few bytes as hold them.

    >>> narrow(np.array([0, 255]), 256).dtype, narrow(np.array([0, 256]), 257).dtype
    (dtype('uint8'), dtype('uint16'))
    """
    return codes.astype(np.uint8 if values <= 1 << 8 else np.uint16 if values <= 1 << 16 else np.int32, copy=False)


def reads_codes(series: pl.Series, recipe: object) -> bool:
    """Whether the digits of a column are no numbers, as its recipe says; a learned one says so of whole numbers."""
    if not says_codes(recipe) or not isinstance(recipe, Learned) or series.dtype.is_integer():
        return says_codes(recipe)
    texts = isinstance(series.dtype, pl.String | pl.Categorical | pl.Enum)
    return texts and bool(printed(series).drop_nulls().str.contains(INTEGER).all())


def _plain(series: pl.Series) -> pl.Series:
    """The column as integers, floats, dates, datetimes or text, with one form of missing and one of zero."""
    dtype = series.dtype
    if dtype.is_float():
        return plain_values(series)
    if dtype.is_integer() or dtype in (pl.Date,) or isinstance(dtype, pl.Datetime):
        return series
    return printed(series)


def _ranked(series: pl.Series) -> tuple[pl.Series, np.ndarray]:
    """Distinct values sorted, null last, and the rank of each row."""
    if series.dtype == pl.String:
        distinct = series.unique().sort(nulls_last=True)
        known = distinct.drop_nulls()
        if len(known) < 1 << 16:
            codes = series.cast(pl.Enum(known)).to_physical().cast(pl.Int32)
        else:
            codes = (series.rank("dense").cast(pl.Int64) - 1).cast(pl.Int32)
        return distinct, codes.fill_null(len(known)).to_numpy().astype(np.int32, copy=False)
    physical = series.to_physical()
    if series.dtype.is_integer() or series.dtype == pl.Date:
        low: Any = physical.min()
        high: Any = physical.max()
        if (
            low is not None
            and abs(low) < 1 << 62
            and abs(high) < 1 << 62
            and high - low < max(1 << 16, 4 * len(series))
        ):
            return _ranked_dense(series, physical, int(low), int(high))
    distinct = series.unique().sort(nulls_last=True)
    known_count = len(distinct) - distinct.null_count()
    codes = (physical.rank("dense").cast(pl.Int64) - 1).cast(pl.Int32).fill_null(known_count)
    return distinct, codes.to_numpy().astype(np.int32, copy=False)


def _ranked_dense(series: pl.Series, physical: pl.Series, low: int, high: int) -> tuple[pl.Series, np.ndarray]:
    """The same for integers in a small range, by a table instead of a sort."""
    filled = physical.cast(pl.Int64).fill_null(high + 1).to_numpy() - low
    present = np.zeros(high - low + 2, dtype=np.bool_)
    present[filled] = True
    rank = np.cumsum(present, dtype=np.int32) - 1
    values = pl.Series(series.name, np.flatnonzero(present[:-1]) + low).cast(physical.dtype).cast(series.dtype)
    if physical.null_count():
        values = values.extend_constant(None, 1)
    return values, rank[filled].astype(np.int32, copy=False)


def _sorted(known: pl.Series) -> tuple[str, np.ndarray, np.ndarray | None]:
    """Kind, order and positions of the distinct known values (which come sorted)."""
    as_is = np.arange(len(known))
    dtype = known.dtype
    if dtype.is_integer():
        return "integer", as_is, known.cast(pl.Float64).to_numpy()
    if dtype.is_float():
        return "decimal", as_is, known.cast(pl.Float64).to_numpy()
    if dtype == pl.Date:
        return "date", as_is, known.to_physical().cast(pl.Float64).to_numpy()
    if isinstance(dtype, pl.Datetime):
        return (
            "datetime",
            as_is,
            known.to_physical().cast(pl.Float64).to_numpy() / {"ms": 1e3, "us": 1e6, "ns": 1e9}[dtype.time_unit],
        )
    if len(known) == 0:
        return "text", as_is, None
    if not {known[0][0], known[-1][0]} <= FIRST:  # one that is no number or date is enough
        return ("boolean" if set(known.to_list()) <= {"true", "false"} else "text"), as_is, None
    place: np.ndarray
    if known.str.contains(NUMBER).all():
        kind = "integer" if known.str.contains(INTEGER).all() else "decimal"
        if kind == "integer" and known.str.contains(CODE).any():
            return "text", as_is, None
        place = known.str.strip_prefix("+").cast(pl.Float64).to_numpy()
        if np.abs(place).max() < 2**53:
            order = np.argsort(place, kind="stable")
        else:  # floats cannot tell such numbers apart
            exact = [Decimal(v) for v in known.to_list()]
            order = np.array(sorted(range(len(exact)), key=exact.__getitem__))
        return kind, order, place[order]
    if known.str.contains(DATE).all():
        parsed = known.str.to_date("%Y-%m-%d", strict=False)
        if parsed.null_count() == 0:
            return "date", as_is, parsed.to_physical().cast(pl.Float64).to_numpy()
    elif known.str.contains(DATETIME).all():
        form = known.str.replace(" ", "T", literal=True).str.replace(r"(T[0-9]{2}:[0-9]{2})$", "${1}:00")
        parsed = form.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
        if parsed.null_count() == 0:
            place = parsed.to_physical().cast(pl.Float64).to_numpy() / 1e6
            order = np.lexsort((form.rank("dense").to_numpy(), place))  # digits beyond the microsecond order as text
            return "datetime", order, place[order]
    return ("boolean" if set(known.to_list()) <= {"true", "false"} else "text"), as_is, None


def microdata(
    frame: pl.DataFrame,
    roles: Mapping[str, str],
    hierarchies: Mapping[str, Any],
    weights: np.ndarray | None = None,
    row_counts: np.ndarray | None = None,
    secret: Collection[str] = (),
    coded: Mapping[str, pl.Series] | None = None,
) -> Microdata:
    """Encode the columns named in `roles`; `hierarchies` maps a column to its recipe, `row_counts` weigh the rows.

    No groups of values are learned by the columns in `secret`. `coded` are columns of texts as Enums of these, where
    they are known.
    """
    schema: list[Attribute] = []
    codes: dict[str, np.ndarray] = {}
    for name, role in roles.items():
        recipe = hierarchies.get(name)
        as_text, known = reads_codes(frame.get_column(name), recipe), (coded or {}).get(name)
        categories, code = encode(frame.get_column(name), as_text, known)
        codes[name] = narrow(code, len(categories))
        if row_counts is not None:
            often = np.bincount(codes[name], weights=row_counts, minlength=len(categories)).astype(np.int64)
            categories = replace(categories, count=often)
        if recipe is None or isinstance(recipe, Learned):  # what is learned is no given hierarchy: built when needed
            schema.append(Attribute(name, role, categories, None, recipe or Learned()))
        else:
            schema.append(Attribute(name, role, categories, recipe.build(categories), recipe=recipe))
    rows = frame.height if row_counts is None else int(row_counts.sum())
    listed = {name: kind.categories.to_list() for name, kind in frame.schema.items() if isinstance(kind, pl.Enum)}
    return Microdata(rows, tuple(_arranged(schema, codes, row_counts, listed, secret)), codes, weights, row_counts)


def _arranged(
    schema: list[Attribute],
    codes: dict[str, np.ndarray],
    row_counts: np.ndarray | None,
    listed: Mapping[str, list[str]],
    secret: Collection[str],
) -> list[Attribute]:
    """The attributes; quasi-identifiers of texts without a hierarchy in an order in which neighbours are alike.

    `codes` are changed with them. Similarity is by the other quasi-identifiers: what others may know of people anyhow,
    but not by those in `secret`, which are sensitive too.
    `listed` are the values of columns whose type has an order: it is theirs, unless it is the alphabet's.
    """
    quasi = [a for a in schema if a.role == "quasi"]
    loose = [a for a in quasi if a.hierarchy is None and a.kind == "text" and len(leaves_of(a.categories)) > 2]
    if not loose:
        return schema
    binned = [(narrow(group, n)[codes[a.name]], n) for a in quasi for group, n in [grouped(a.categories)]]
    found: dict[str, Attribute] = {}
    for a in loose:
        texts, total = leaves_of(a.categories), len(a.categories)
        others = [group for b, group in zip(quasi, binned, strict=True) if b is not a and b.name not in secret]
        coded = codes_of(texts, a.categories.count, a.learner.digits)
        order = None if coded is not None else _own_order(texts, listed.get(a.name, []))
        order, sequence = order or word_order(texts, a.learner.digits), "words"
        if order is None and coded is not None:
            order, sequence = sorted(range(len(texts)), key=coded.__getitem__), "codes"
        elif order is None and others and len(texts) <= MOST_VALUES:
            sequence = "similar"
            order = [i for i in similar_order(codes[a.name], total, others, row_counts).tolist() if i < len(texts)]
        elif order is None:
            sequence = "text"
        standing = np.array([*(order or range(len(texts))), *range(len(texts), total)])
        rank = np.empty(total, np.int32)
        rank[standing] = np.arange(total, dtype=np.int32)
        codes[a.name] = narrow(rank, total)[codes[a.name]]
        text, count = tuple(a.categories.text[i] for i in standing), a.categories.count[standing]
        found[a.name] = replace(a, categories=replace(a.categories, text=text, count=count, sequence=sequence))
    return [found.get(a.name, a) for a in schema]


def _own_order(texts: Sequence[str], listed: list[str]) -> list[int] | None:
    """The places of texts in the order of the type of their column; None where it is that of the alphabet."""
    if listed == sorted(listed):
        return None
    rank = {text: i for i, text in enumerate(listed)}
    return sorted(range(len(texts)), key=lambda i: rank[texts[i]])
