"""PRAM: categories change by chance, as a matrix says (Gouweleeuw, Kooiman, Willenborg and de Wolf, "Post randomisation
for statistical disclosure control", Journal of Official Statistics 14, 1998)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.exact import printed as text_of
from sfumato.core.hierarchy import Categories
from sfumato.core.keys import first_of, rank_tuples
from sfumato.core.masked import Change, Context, MaskStep
from sfumato.core.microdata import encode
from sfumato.core.parameters import OneOf, Share, Whole, Written, YesNo, path_of, share_of
from sfumato.core.printed import known, printed
from sfumato.core.wording import count
from sfumato.errors import ColumnError, PolicyError
from sfumato.hierarchies.order import order, order_of_column, ranks_in
from sfumato.hierarchies.spec import parse

MOST = 1000  # categories: a matrix has the square of them
ROUTES = ("two-stage", "equal-flows", "proportional")
STAYS, SOFTENED = 0.8, 0.5  # unless they are given
WEIGHT = "weight"


@dataclass(frozen=True)
class Pram(MaskStep):
    """Change categories by chance, each into another with the probability that a matrix gives (PRAM).

    p: the probability that a category stays, 0.8 unless given; all others are as likely. matrix: the owner's own
    instead, as a mapping of each category to the probabilities of what it becomes, or a CSV file with a row and a
    column for each. invariant: whether shares stay as they are on average. route: how they do: "two-stage" (the
    matrix, then the one that leads back), softened to alpha times it; "equal-flows" (Gouweleeuw et al.: as many rows go
    from any category to any other, so that the rarest changes most, and stays with probability p); "proportional" (a
    category becomes another as likely as that is common). alpha: how much of the invariant matrix is kept, 1 unless
    given. band: ordered categories become others at most so many steps
    away, twice as many after two stages; order: their order, where it is not that of numbers. within: the level of the
    column's hierarchy whose groups no category leaves. together: several columns change as one.
    """

    p: Annotated[Any, Share()] = None
    matrix: Annotated[Any, Written("mapping")] = None
    invariant: Annotated[bool, YesNo()] = False
    route: Annotated[Any, OneOf(ROUTES)] = None
    alpha: Annotated[Any, Share(above=True)] = None
    band: Annotated[Any, Whole()] = None
    order: Annotated[Any, Written("list")] = None
    within: Annotated[Any, Whole()] = None
    together: Annotated[bool, YesNo()] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order is not None:
            self.settle(order=order(self.order).values)
        if self.matrix is not None:
            self.settle(matrix=read_matrix(self.matrix))
        own = self.matrix is not None
        for wrong, what, hint in (
            (not self.invariant and (self.route or self.alpha), "only an invariant matrix has a route and alpha",
             "say that it is invariant"),
            (self.route not in (None, "two-stage") and (own or self.alpha), "only two stages take a matrix, and alpha",
             'leave the route out, or say "two-stage"'),
            (own and (self.p, self.band, self.within) != (None,) * 3, "a matrix says all: p, band and within go "
             "without", "leave either out"),
            (self.together and (own or self.band or self.within), "columns that change together have no order, "
             "hierarchy or matrix", "let each change for itself"),
            (self.order is not None and self.band is None, "an order is for a band", "say how wide the band is"),
        ):  # fmt: skip
            if wrong:
                raise self.refuse(what, hint=hint)

    kinds = ("category",)
    named_kinds = ("number", "date")  # codes may be digits
    secret = ("p", "matrix", "alpha")
    stored = "rows"
    leaves = "Most values stay true: a combination of many columns may still point to one person."

    def sentence(self) -> str:
        """What it does."""
        kept = ", by probabilities that keep the share of each on average" if self.invariant else ""
        near = f", at most {count(self.band * (2 if self._stages == 2 else 1), 'step')} away" if self.band else ""
        inside = f", within groups of level {self.within} of the hierarchy" if self.within else ""
        return f"categories become others by chance (PRAM){near}{inside}{kept}"

    @property
    def _stages(self) -> int:
        return 2 if self.invariant and self.route in (None, "two-stage") else 1

    def look(self, columns: pl.DataFrame, context: Context) -> CategoryWeights:
        """How much each category, or combination of them, weighs."""
        found = []
        for names in self._sets(columns.columns):
            keys = [str(i) for i in range(len(names))]
            frame = pl.DataFrame([columns.get_column(n).alias(key) for n, key in zip(names, keys, strict=True)])
            weights = np.ones(columns.height) if context.weights is None else context.weights
            there = frame.with_columns(pl.Series(WEIGHT, weights)).filter(known(frame.schema))
            found.append(there.group_by(keys).agg(pl.col(WEIGHT).sum()))
            self._refuse_many(found[-1].height, names)
        return CategoryWeights(tuple(found))

    def _sets(self, names: list[str]) -> list[list[str]]:
        """The columns that change as one."""
        return [names] if self.together else [[name] for name in names]

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Change each column for itself, or all as one."""
        changed: dict[str, float] = {}
        made: list[pl.Series] = []
        for i, names in enumerate(self._sets(columns.columns)):
            own, weights, first = columns.select(names), context.weights, 0
            if context.seen is not None:  # the categories of all rows stand before these rows, which weigh nothing
                above = context.seen.sets[i]
                weights, first = np.append(above.get_column(WEIGHT), np.zeros(columns.height)), above.height
                own = pl.concat([pl.DataFrame(above.drop(WEIGHT).get_columns(), schema=names), own])
            code, rows, values, categories = self._coded(own)
            shares = np.bincount(code, weights=None if weights is None else weights[rows], minlength=values.height)
            code, rows = code[rows >= first], rows[rows >= first] - first
            matrix = self.transition(shares / shares.sum(), self._pairs(categories, context))
            u = context.random.part(" ".join(names)).at(rows).uniform(len(rows))
            number, has = np.zeros(columns.height, np.int64), np.zeros(columns.height, np.bool_)
            number[rows], has[rows] = _drawn(code, u, matrix), True
            drawn, mask = values[number], pl.Series(has)
            made += [drawn.get_column(name).zip_with(mask, columns.get_column(name)) for name in names]
            share = float((shares / shares.sum()) @ (1 - np.diag(matrix)))
            changed[", ".join(names)] = round(share, 2)  # more digits would tell the true shares
        kind = f"invariant, {self.route or ROUTES[0]}" if self.invariant else "own" if self.matrix else "even"
        return Change(pl.DataFrame(made), published={"matrix": kind, "changed": changed})

    def _coded(self, columns: pl.DataFrame) -> tuple[np.ndarray, np.ndarray, pl.DataFrame, Categories]:
        """The code of each row that has values, these rows, the values of each code, and those of the first column."""
        found = [encode(column) for column in columns.iter_columns()]
        known = np.ones(columns.height, np.bool_)
        for categories, codes in found:
            known &= codes < len(categories) - categories.missing
        rows = np.flatnonzero(known)
        if self.together:
            code, size = rank_tuples([c[rows] for _, c in found], [len(one) for one, _ in found], len(rows))
            values = columns[rows][first_of(code, size)]
        else:
            [(categories, codes)] = found
            texts = [text for text in categories.text if text is not None]
            code, size, values = codes[rows], len(texts), columns[first_of(codes, len(categories))][: len(texts)]
            if self.matrix is not None:
                code, size, values = self._as_in_matrix(code, texts, values)
        if not len(rows) or size < 2:
            few = "one value only" if len(rows) else "no value in any row"
            raise ColumnError(f'{self.name}: "{columns.columns[0]}" has {few}', hint="leave it out")
        self._refuse_many(size, columns.columns)
        return code, rows, values, found[0][0]

    def _refuse_many(self, size: int, names: list[str]) -> None:
        if size > MOST:
            raise ColumnError(f'{self.name}: "{names[0]}" has too many categories',
                              got=f"{size:,}", allowed=f"at most {MOST:,}", hint="group them first")  # fmt: skip

    def _as_in_matrix(
        self, code: np.ndarray, texts: list[str], values: pl.DataFrame
    ) -> tuple[np.ndarray, int, pl.DataFrame]:
        """Codes and values in the order of the matrix, whose categories may be more than those of the column."""
        place, name, dtype = {text: i for i, text in enumerate(self.matrix)}, values.columns[0], values.dtypes[0]
        if lost := sum(text not in place for text in texts):
            what = (
                f'{self.name}: the matrix lacks {lost} of the {count(len(texts), "category", "categories")} of "{name}"'
            )
            raise ColumnError(what, hint="it needs a row for each category of the column")
        there = {text: i for i, text in enumerate(texts)}
        more = pl.Series(name, [text for text in place if text not in there], pl.String)
        try:
            every = pl.concat([values.get_column(name), more.cast(dtype)]) if len(more) else values.get_column(name)
        except pl.exceptions.PolarsError:
            what = f'{self.name}: the matrix has categories that "{name}" cannot hold'
            raise ColumnError(
                what, got=dtype.base_type().__name__.lower(), hint="make the column one of texts"
            ) from None
        numbers = {text: i for i, text in enumerate([*texts, *more.to_list()])}
        rank = np.array([place[text] for text in texts], np.int64)
        return rank[code], len(place), every.gather([numbers[text] for text in place]).to_frame()

    def _pairs(self, categories: Categories, context: Context) -> np.ndarray | None:
        """Which category may become which, where not any any."""
        texts, name = _texts(categories), categories.name
        if self.band is not None:
            stated = order_of_column(context.table.get_column(name), self.order, context.hierarchies)
            place = np.arange(len(texts)) if stated is None else ranks_in(stated, texts, name).argsort().argsort()
            return np.asarray(np.abs(place[:, None] - place) <= self.band)
        if self.within is not None:
            if name not in context.hierarchies:
                raise ColumnError(f'{self.name}: "{name}" has no hierarchy', hint="give it one, or leave within out")
            tree = parse(context.hierarchies[name]).build(categories)
            if self.within >= tree.height:
                got, allowed = f"level {self.within}", f"below {tree.height}, which is the top"
                raise self.refuse(f'the hierarchy of "{name}" has no groups there', got=got, allowed=allowed)
            group = tree.ancestor[self.within][tree.locate(texts)]
            return np.asarray(group[:, None] == group)
        return None

    def transition(self, shares: np.ndarray, pairs: np.ndarray | None = None) -> np.ndarray:
        """The matrix for categories of these shares, where category k may become l if pairs[k, l].

        >>> Pram("sex", p=0.75).transition(np.array([0.5, 0.5])).tolist()
        [[0.75, 0.25], [0.25, 0.75]]
        """
        size, stays = len(shares), STAYS if self.p is None else self.p
        pairs = ~np.eye(size, dtype=np.bool_) & (True if pairs is None else pairs)
        if self.invariant and self._stages == 1:
            ratio = (
                shares
                if self.route == "proportional"
                else np.divide(1, shares, out=np.zeros(size), where=shares > 0)[:, None]
            )
            found = (pairs & (shares > 0) & (shares > 0)[:, None]) * ratio  # shares times it is symmetric
            found = found * (1 - stays) / max(found.sum(axis=1).max(), 1e-300)
        elif self.matrix is not None:
            found = np.array([[row.get(text, 0.0) for text in self.matrix] for row in self.matrix.values()])
        else:
            found = pairs * (1 - stays) / np.maximum(pairs.sum(axis=1, keepdims=True), 1)
        np.fill_diagonal(found, 0)
        np.fill_diagonal(found, 1 - found.sum(axis=1))
        if self._stages == 1:
            return found
        alpha = SOFTENED if self.alpha is None else self.alpha
        return alpha * two_stages(found, shares) + (1 - alpha) * np.eye(size)


@dataclass(frozen=True, eq=False)
class CategoryWeights:
    """The categories of columns with their weights, a frame for each set that changes as one; those of two sets of rows
    add up."""

    sets: tuple[pl.DataFrame, ...]

    def __add__(self, other: CategoryWeights) -> CategoryWeights:
        pairs = [pl.concat(both) for both in zip(self.sets, other.sets, strict=True)]
        return CategoryWeights(
            tuple(p.group_by([name for name in p.columns if name != WEIGHT]).agg(pl.col(WEIGHT).sum()) for p in pairs)
        )


def _texts(categories: Categories) -> list[str]:
    return [text for text in categories.text if text is not None]


def two_stages(matrix: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The invariant matrix R = PQ: P, and the Q that leads back from what P makes of the shares.

    >>> two_stages(np.array([[0.8, 0.2], [0.5, 0.5]]), np.array([0.5, 0.5])).round(4).tolist()
    [[0.5495, 0.4505], [0.4505, 0.5495]]
    """
    after = shares @ matrix
    back = np.divide((matrix * shares[:, None]).T, after[:, None], out=np.eye(len(shares)), where=after[:, None] > 0)
    return np.asarray(matrix @ back)


def _drawn(code: np.ndarray, u: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """What each row's category becomes, by its number between 0 and 1: its place in the sums of its row."""
    sums = np.cumsum(np.maximum(matrix, 0), axis=1)
    sums /= sums[:, -1:]
    rows, made = np.argsort(code, kind="stable"), np.empty(len(code), np.int64)
    ends = np.cumsum(np.bincount(code, minlength=len(matrix)))
    for k, those in enumerate(np.split(rows, ends[:-1])):
        made[those] = np.searchsorted(sums[k], u[those], side="right")
    return made


def read_matrix(given: Any) -> dict[str, dict[str, float]]:
    """A transition matrix: category to category to probability, as a mapping or a CSV file; what is left out is 0.

    >>> read_matrix({"f": {"f": 0.9, "m": 0.1}, "m": {"m": 1}})
    {'f': {'f': 0.9, 'm': 0.1}, 'm': {'m': 1.0}}
    """
    what = "a transition matrix"
    if isinstance(given, str):
        try:
            frame = pl.read_csv(path_of(given), infer_schema=False)
        except (OSError, pl.exceptions.PolarsError):
            raise PolicyError(f"{what} cannot be read", got=repr(given), allowed="a CSV file") from None
        names = [str(name) for name in frame.get_column(frame.columns[0])]
        if len(set(names)) < len(names):
            raise PolicyError(f"{what} has a row twice")
        cells = frame.drop(frame.columns[0]).rows()
        try:
            given = {
                n: dict(zip(frame.columns[1:], map(float, row), strict=True))
                for n, row in zip(names, cells, strict=True)
            }
        except (TypeError, ValueError):
            raise PolicyError(f"{what} has entries that are no numbers") from None
    if not isinstance(given, Mapping) or not all(isinstance(row, Mapping) for row in given.values()):
        raise PolicyError(f"{what} maps categories to probabilities", got=type(given).__name__,
                          allowed='{"f": {"f": 0.9, "m": 0.1}, "m": {"f": 0.1, "m": 0.9}}')  # fmt: skip
    found = {
        text_of(k): {text_of(c): share_of(x, f"a probability of {what}") for c, x in row.items()}
        for k, row in given.items()
    }
    if len(found) < 2 or len(found) > MOST:
        raise PolicyError(f"{what} has too few categories or too many", got=str(len(found)), allowed=f"2 to {MOST:,}")
    if lost := {c for row in found.values() for c in row} - set(found):
        raise PolicyError(f"{what} has no row for {count(len(lost), 'category', 'categories')} that others become",
                          hint="a category that is not changed has a row too, with 1 for itself")  # fmt: skip
    for number, row in enumerate(found.values(), 1):
        if abs(sum(row.values()) - 1) > 1e-9:
            raise PolicyError(f"row {number} of {what} does not add up to 1", got=f"{sum(row.values()):g}")
    return found


def true_shares(released: Any, matrix: Any) -> dict[str, float]:
    """Estimate the shares of categories before PRAM by a known matrix that is not invariant: released shares times its
    inverse. Unbiased; an estimate may lie below 0 or above 1.

    released: a column of released values, or a mapping of categories to shares or counts. matrix: as `Pram` takes it.

    >>> true_shares({"f": 50, "m": 50}, {"f": {"f": 0.5, "m": 0.5}, "m": {"m": 1}})
    {'f': 1.0, 'm': 0.0}
    """
    rows = read_matrix(matrix)
    if isinstance(released, Mapping):
        counts = {text_of(k): float(x) for k, x in released.items()}
    else:
        found = printed(pl.Series("released", released)).drop_nulls().value_counts()
        counts = {str(k): float(n) for k, n in found.iter_rows()}
    if lost := len(set(counts) - set(rows)):
        raise ColumnError(f"the matrix lacks {lost} of the released categories", hint="it needs a row for each")
    shares = np.array([counts.get(k, 0.0) for k in rows])
    transition = np.array([[row.get(k, 0.0) for k in rows] for row in rows.values()])
    if np.linalg.cond(transition) > 1e10 or not shares.sum() > 0:
        raise PolicyError("true shares cannot be estimated: the matrix has no inverse, or no value is known")
    estimate = np.linalg.solve(transition.T, shares / shares.sum())
    return dict(zip(rows, estimate.tolist(), strict=True))
