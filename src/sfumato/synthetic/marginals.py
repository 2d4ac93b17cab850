"""Marginals: rows of the plainest distribution that has given tables of counts; Deming and Stephan, "On a least squares
adjustment of a sampled frequency table when the expected marginal totals are known", 1940."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import OneOf, Whole, Written, column_set, known_columns, real_number
from sfumato.core.printed import printed
from sfumato.core.wording import count, listed, number, quoted
from sfumato.errors import ColumnError, PolicyError, TooManyCells
from sfumato.synthetic.columns import SyntheticColumn, decoded
from sfumato.synthetic.counts import (
    INSIDE,
    CodedColumn,
    CodedTable,
    Count,
    Cut,
    frequent_groups,
    pair_information,
    spanning_order,
)
from sfumato.synthetic.fitting import EXACT, CliqueTree, Columns, Margin, NoMass, cliques_of
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel
from sfumato.synthetic.rules import bind_conditions, parse_conditions

PAIRS = "pairs"
MOST_CELLS = 1_000_000
AMOUNT = "count"  # the last column of an own table
OWN = "lists of columns, frames of counts, or all pairs"


@dataclass(frozen=True)
class Marginals(SyntheticGenerator):
    """The plainest distribution that has given tables of counts as its margins, and no mass where nothing can be.

    margins: lists of columns whose combinations are counted in the data; or own tables of counts, frames whose last
    column is "count"; "pairs" for all pairs. Without it, the pairs that tell the most of each other, one fewer than
    there are columns. A column in no margin keeps its own counts. zeros: conditions that no row meets, such as
    "age < 16 and married = yes", or a frame of impossible combinations. Numbers are cut into `bins` as by `Bayes`, and
    where conditions or own tables tell them apart.

    Tables are fitted in turn until shares change by less than 1e-12, over a tree of sets of columns that hang together:
    the table of all columns is never made, and `max_cells` bounds that of each set. Margins are then right to 1e-9. Own
    tables that contradict each other are refused. `fit_counts` learns from the counts of an engine.

    bins: into how many a column of numbers is cut. inside: how a number is drawn inside a bin. max_cells: how large the
    table of a set of columns may be.
    """

    margins: Annotated[Any, Written("lists", "column")] = None
    zeros: Annotated[Any, Written("list")] = ()
    bins: Annotated[Any, Whole(2, 1000)] = 20
    inside: Annotated[Any, OneOf(INSIDE)] = None
    max_cells: Annotated[Any, Whole(1, 10**9)] = MOST_CELLS

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(margins=self._margins(), zeros=self._zeros())

    fits_counts: ClassVar[bool] = True
    leaves: ClassVar[str] = (
        "The margins tell what they count: a count of one row is that person's. How columns go together that no margin "
        "joins is lost."
    )

    @property
    def pairs(self) -> bool:
        """Where all pairs are margins."""
        return bool(self.margins == PAIRS)

    @property
    def secret(self) -> tuple[str, ...]:
        """Own tables of counts may be nobody else's business."""
        return ("margins",) if self._own else ()

    def sentence(self) -> str:
        """How the rows were made."""
        given = {None: "the strongest pairs of columns", PAIRS: "all pairs of columns"}
        fitted = count(len(self._listed), "margin") if self._listed else given[self.margins]
        zeros = f" and has none of {count(len(self.zeros), 'impossible combination')}" if self.zeros else ""
        return f"rows of a distribution that has the counts of {fitted}{zeros}"

    @property
    def _listed(self) -> tuple[Any, ...]:
        return () if self.margins is None or self.margins == PAIRS else tuple(self.margins)

    @property
    def _own(self) -> tuple[Any, ...]:
        """Own tables: the names of columns, and rows, each with its count last."""
        return tuple(one for one in self._listed if not isinstance(one[0], str))

    def _margins(self) -> Any:
        if self.margins is None or (isinstance(self.margins, str) and self.margins == PAIRS):
            return self.margins
        if not isinstance(self.margins, list | tuple) or not len(self.margins):
            got = repr(self.margins) if isinstance(self.margins, str) else type(self.margins).__name__
            raise self.refuse("margins must be a list", got=got, allowed=OWN)
        return tuple(self._margin(one) for one in self.margins)

    def _margin(self, given: Any) -> tuple[Any, ...]:
        if isinstance(given, pl.DataFrame):
            texts = [printed(c).to_list() for c in given.iter_columns() if c.name != AMOUNT]
            names = [name for name in given.columns if name != AMOUNT]
            if len(names) == given.width:
                raise self.refuse("a table of counts has no column of counts", got=quoted(names), allowed=f'"{AMOUNT}"')
            given = [[*names, AMOUNT], *zip(*texts, given.get_column(AMOUNT).to_list(), strict=True)]
        if not isinstance(given, list | tuple) or not given or not isinstance(given[0], list | tuple):
            return column_set(given, f"{self.name}: each margin")
        first, *rows = (tuple(row) for row in given)
        names = list(column_set(first[:-1], f"{self.name}: the columns of a table of counts"))
        if not rows or any(len(row) != len(first) for row in rows):
            raise self.refuse(f"the table of counts of {quoted(names)} is no table", allowed="rows of the same length")
        kept = [
            (*(one if one is None else str(one) for one in row[:-1]), real_number(row[-1], f"{self.name}: a count"))
            for row in rows
        ]
        if not any(row[-1] for row in kept):
            raise self.refuse(f"the table of counts of {quoted(names)} counts nothing")
        return ((*names, AMOUNT), *kept)

    def _zeros(self) -> tuple[str, ...]:
        if isinstance(self.zeros, pl.DataFrame):
            columns = self.zeros.iter_columns()
            met = [[f"{_word(c.name)} = {_word(text)}" for text in printed(c).to_list()] for c in columns]
            return tuple(map(" and ".join, zip(*met, strict=True)))
        given = (self.zeros,) if isinstance(self.zeros, str) else tuple(self.zeros or ())
        return tuple(parse_conditions(text).text for text in given)

    def fit(self, table: pl.DataFrame, context: FitContext) -> MarginalsModel:
        """Fit to the counts of rows."""
        return self._learn(lambda cut: CodedTable.of(table, self.bins, cut), context)

    def fit_counts(self, count: Count, columns: Mapping[str, pl.DataType], context: FitContext) -> MarginalsModel:
        """Fit to counts alone: `count` gives the distinct tuples of some columns, and how many rows have each;
        `columns` are their types."""
        return self._learn(lambda cut: CodedTable.counted(count, columns, self.bins, cut), context)

    def _learn(self, make: Callable[[Cut], CodedTable], context: FitContext) -> MarginalsModel:
        table = make(self._cut)
        sizes = [max(column.size, 1) for column in table.columns]
        impossible = self._impossible(table)
        wanted = self._wanted(table)
        order = cliques_of(len(sizes), [*wanted, *(which for which, _ in impossible)], sizes)
        for clique, _ in order:
            if (cells := prod(sizes[c] for c in clique)) > self.max_cells:
                what = f"{self.name}: the margins join {quoted(table.names[c] for c in clique)} in one table"
                hint = "name fewer margins, or columns of fewer values, or cut numbers into fewer bins"
                raise TooManyCells(what, got=f"{number(cells)} cells", allowed=f"{number(self.max_cells)}", hint=hint)
        margins = [
            Margin(which, shares_of(table, which, sizes) if own is None else own) for which, own in wanted.items()
        ]
        self._refuse_contradictions(margins, table.names)

        def possible(which: Columns) -> np.ndarray:
            cells = np.ones([sizes[c] for c in which])
            for columns, met in impossible:
                if set(columns) <= set(which):
                    at = [met[columns.index(c)] if c in columns else np.arange(sizes[c]) for c in which]
                    cells[np.ix_(*at)] = 0.0
            return cells

        def report(turn: int) -> None:
            context.report_progress(f"fitting margins, round {turn}", None)

        try:
            tree = CliqueTree.of(order, sizes, possible)
            seen = None if self._own else lambda which: shares_of(table, which, sizes) > 0
            if not tree.fit(margins, report, seen):
                raise self._contradicting(tree, margins, table.names)
        except NoMass as none:
            which = "" if none.margin is None else f" for {quoted(_names(margins[none.margin], table.names))}"
            hint = "what is counted is impossible by a condition: mend the condition, or the counts"
            raise self.refuse(f"structural zeros leave no mass{which}", hint=hint) from None
        cliques = tuple(Clique.of(one, shared, part) for (one, shared), part in zip(order, tree.tables, strict=True))
        return MarginalsModel(table.columns, cliques, self.inside, max(tree.errors(margins), default=0.0))

    def _cut(self, columns: Sequence[CodedColumn]) -> tuple[CodedColumn, ...]:
        """Columns with bins cut where conditions and own tables tell values apart."""
        found = {one.column.name: one for one in columns}
        known = {name: one.column for name, one in found.items()}
        for text in self.zeros:
            bound = bind_conditions(parse_conditions(text), known)
            for name in bound.rule.needs:
                found[name] = found[name].cut(bound.meets(name, found[name].points))
        for names, *rows in self._own:
            known_columns(names[:-1], known)
            for name, texts in zip(names, zip(*rows, strict=True), strict=False):
                if name != AMOUNT and known[name].is_number:
                    listed_ones = np.isin(found[name].points, _encoded(texts, known[name], self.name))
                    found[name] = found[name].cut(np.where(listed_ones, np.cumsum(listed_ones), 0))
        return tuple(found[one.column.name] for one in columns)

    def _impossible(self, table: CodedTable) -> list[tuple[Columns, list[np.ndarray]]]:
        """Of each condition its columns, ascending, and the codes of each that meet it."""
        columns = table.columns
        place = {one.column.name: i for i, one in enumerate(columns)}
        found = []
        for text in self.zeros:
            bound = bind_conditions(parse_conditions(text), {one.column.name: one.column for one in columns})
            which = tuple(sorted(place[name] for name in bound.rule.needs))
            met = [bound.meets(columns[c].column.name, columns[c].firsts) for c in which]
            codes, rows = table.codes(which)
            there = np.logical_and.reduce([one[code] for one, code in zip(met, codes, strict=True)])
            if not self._own and (wrong := int(there.sum() if rows is None else rows[there].sum())):
                what = f"a condition that no row should meet is met by {count(wrong, 'row')} of the table"
                raise self.refuse(what, got=repr(text), hint="mend the condition, or the rows")
            found.append((which, [np.flatnonzero(one) for one in met]))
        return found

    def _wanted(self, table: CodedTable) -> dict[Columns, np.ndarray | None]:
        """The columns of each margin, ascending, and its shares where they were given."""
        names, everything = table.names, range(len(table.columns))
        place = {name: i for i, name in enumerate(names)}
        found: dict[Columns, np.ndarray | None] = {}
        if self.margins == PAIRS:
            found = dict.fromkeys(combinations(everything, 2))
        elif self.margins is None:
            information = pair_information(table, [frequent_groups(column) for column in table.columns])
            sizes = np.array([column.size for column in table.columns])
            information[np.outer(sizes, sizes) > self.max_cells] = 0.0
            found = {(min(x, y), max(x, y)): None for x, y in spanning_order(information) if x != y}
        for one in self._listed:
            own = not isinstance(one[0], str)
            given = one[0][:-1] if own else one
            known_columns(given, names)
            which = tuple(sorted(place[name] for name in given))
            if which in found:
                raise self.refuse(f"two margins are of {quoted(given)}", hint="name each set of columns once")
            found[which] = self._shares(one, which, table) if own else None
        joined = {c for which in found for c in which}
        return found | {(c,): None for c in everything if c not in joined}

    def _shares(self, given: tuple[Any, ...], which: Columns, table: CodedTable) -> np.ndarray:
        """The shares of an own table of counts."""
        names, rows = given[0][:-1], given[1:]
        cells = np.zeros([table.columns[c].size for c in which])
        codes = []
        for c in which:
            column = table.columns[c]
            name = column.column.name
            texts = [row[names.index(name)] for row in rows]
            x = _encoded(texts, column.column, self.name)
            missing = np.array([text is None for text in texts])
            if not np.where(missing, column.lacking > 0, np.isin(x, column.points)).all():
                what = f'{self.name}: a table of counts has values of "{name}" that the table does not have'
                raise ColumnError(what, hint="leave them out of the counts")
            codes.append(column.codes(column.column.decode(x)))
        np.add.at(cells, tuple(codes), np.array([row[-1] for row in rows], np.float64))
        return np.asarray(cells / cells.sum())

    def _refuse_contradictions(self, margins: Sequence[Margin], names: Sequence[str]) -> None:
        """Refuse two margins that count the columns they share differently."""
        for one, two in combinations(margins, 2) if self._own else ():
            shared = set(one.columns) & set(two.columns)
            a, b = (m.shares.sum(axis=tuple(i for i, c in enumerate(m.columns) if c not in shared)) for m in (one, two))
            if shared and np.abs(a - b).max() > EXACT:
                twice = quoted(names[c] for c in sorted(shared))
                what = f"the margins of {_both(one, two, names)} contradict each other: they count {twice} differently"
                raise self.refuse(what, hint="give one of them the counts of the other, or leave it out")

    def _contradicting(self, tree: CliqueTree, margins: Sequence[Margin], names: Sequence[str]) -> PolicyError:
        """The error of margins that cannot all hold: the one that is farthest off, and the one that takes it there."""
        errors = tree.errors(margins)
        worst = int(np.argmax(errors))
        other = max((i for i in range(len(margins)) if i != worst), key=lambda i: tree.pull(margins, i, worst))
        what = f"the margins of {_both(margins[worst], margins[other], names)} contradict each other"
        return self.refuse(f"{what}, given the others: no table has them all", got=f"{errors[worst]:.2g} apart")


@dataclass(frozen=True, eq=False, repr=False)
class Clique:
    """The shares of the combinations of some columns, in rows by those of the columns that were drawn before."""

    shared: np.ndarray  # columns that were drawn before
    new: np.ndarray
    sizes: np.ndarray  # of the new ones
    before: np.ndarray  # of those drawn before
    shares: np.ndarray

    @staticmethod
    def of(columns: Columns, shared: Columns, table: np.ndarray) -> Clique:
        """Of a table with an axis for each column."""
        new = tuple(c for c in columns if c not in shared)
        turned = table.transpose([columns.index(c) for c in (*shared, *new)])
        sizes = np.array(turned.shape, np.int64)
        many = len(shared)
        return Clique(np.array(shared, np.int64), np.array(new), sizes[many:], sizes[:many], turned.ravel())

    def draw(self, drawn: dict[int, np.ndarray], rows: int, rng: np.random.Generator, even: bool = False) -> None:
        """Add the codes of the new columns; where it is `even`, as many as their shares are of the rows that have the
        same codes before, but for the last one (systematic sampling)."""
        row = np.zeros(rows, np.int64)
        for c, size in zip(self.shared.tolist(), self.before.tolist(), strict=True):
            row = row * size + drawn[c]
        wide = int(self.sizes.prod())
        upto = np.append(0.0, np.cumsum(self.shares))
        low, high = upto[row * wide], upto[(row + 1) * wide]
        u = _evenly(row, rng) if even else rng.random(rows)
        at = np.minimum(low + u * (high - low), np.nextafter(high, 0.0))
        cell = np.searchsorted(upto[1:], at, side="right") - row * wide
        for c, codes in zip(self.new.tolist(), np.unravel_index(cell, self.sizes), strict=True):
            drawn[c] = codes


@dataclass(frozen=True, eq=False, repr=False)
class MarginalsModel(FittedModel):
    """A fitted distribution, clique by clique; `error` is how far a margin is from its shares, at most."""

    parts: ClassVar[tuple[type, ...]] = (SyntheticColumn, CodedColumn, Clique)

    columns: tuple[CodedColumn, ...]
    cliques: tuple[Clique, ...]
    inside: str | None
    error: float

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw one clique after the other."""
        drawn: dict[int, np.ndarray] = {}
        for clique in self.cliques:
            clique.draw(drawn, rows, rng)
        values = [column.values(drawn[i], rng, self.inside) for i, column in enumerate(self.columns)]
        return decoded([column.column for column in self.columns], values)


def _evenly(group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers from 0 to 1 for each row, evenly spread over the rows of each group, in no order."""
    order = rng.permutation(len(group))
    order = order[np.argsort(group[order], kind="stable")]
    ordered = group[order]
    new = np.append(True, ordered[1:] != ordered[:-1])[: len(group)]
    start, number = np.flatnonzero(new), np.cumsum(new) - 1
    size = np.diff(start, append=len(group))
    found = np.empty(len(group))
    found[order] = (np.arange(len(group)) - start[number] + rng.random(len(start))[number]) / size[number]
    return found


def shares_of(table: CodedTable, which: Columns, sizes: Sequence[int]) -> np.ndarray:
    """The shares of the combinations of some columns."""
    codes, rows = table.codes(which)
    shape = [sizes[c] for c in which]
    cells = np.bincount(np.ravel_multi_index(tuple(codes), tuple(shape)), weights=rows, minlength=prod(shape))
    return np.asarray(cells / cells.sum()).reshape(shape)


def _encoded(texts: Sequence[Any], column: SyntheticColumn, what: str) -> np.ndarray:
    """Printed values as numbers or codes of a column."""
    try:
        return column.encode(pl.Series(column.name, texts, pl.String).cast(column.like.dtype))
    except pl.exceptions.PolarsError:
        if column.is_number:
            raise ColumnError(f'{what}: a table of counts has no values of the type of "{column.name}"') from None
        return column.encode(pl.Series(column.name, texts, pl.String))


def _word(text: Any) -> str:
    """A name or a value in a condition."""
    if text is None:
        return "missing"
    if '"' in text and "'" in text:
        raise PolicyError("marginals: a condition cannot have both kinds of quotes", hint="leave that combination out")
    return f"'{text}'" if '"' in text else f'"{text}"'


def _names(margin: Margin, names: Sequence[str]) -> list[str]:
    return [names[c] for c in margin.columns]


def _both(one: Margin, two: Margin, names: Sequence[str]) -> str:
    return listed(f"({', '.join(_names(margin, names))})" for margin in (one, two))
