"""SequentialTrees: each column drawn from the leaves of a tree grown on the columns before it; Reiter, "Using CART to
generate partially synthetic public use microdata", Journal of Official Statistics 21, 2005; Nowok, Raab and Dibben,
"synthpop: bespoke creation of synthetic data in R", Journal of Statistical Software 74, 2016."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.compiled import workers
from sfumato.core.microdata import encode
from sfumato.core.parameters import (
    ColumnNames,
    OneOf,
    PerColumn,
    PlainText,
    Real,
    Share,
    Whole,
    Written,
    YesNo,
    column_names,
    known_columns,
    mapping,
    whole_number,
)
from sfumato.core.printed import printed
from sfumato.errors import ColumnError, PolicyError
from sfumato.hierarchies.spec import parse
from sfumato.synthetic.columns import SPIKE, SyntheticColumn, column_of, mostly_alone
from sfumato.synthetic.exchange import Exchange
from sfumato.synthetic.formula import Formula
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel
from sfumato.synthetic.rules import BoundRule, bind_rules, check_rules, parse_rule
from sfumato.synthetic.tree import CODES, Tree, grow, ranks
from sfumato.synthetic.tree_columns import Stage, TreeColumn, index_of

SMOOTHINGS = ("spline", "kernel", "none")
MANY = 50  # levels of a category with a hierarchy that are drawn within groups
UPWARDS = (0, 1, 2, 4)  # how far above their leaf rows may exchange values
COARSE = 24  # bins by which predictors are chosen


@dataclass(frozen=True)
class SequentialTrees(SyntheticGenerator):
    """Each column in turn, drawn from the leaves of a tree grown on the columns before it.

    order: the columns in the order of their visits; those not named follow, columns of few values first. leaf: the
    fewest rows of a leaf. complexity: the least share of impurity that a split takes off. predictors: the most columns
    that a tree is grown on, those that go with the drawn one best. smoothing: of numbers inside a leaf, "spline",
    "kernel" or "none", which draws the values of rows, or a mapping of columns to these; by default "spline" for
    columns where most rows have a value of their own, by which they could be told. spikes: a mapping of columns of
    numbers to values that are drawn as such first; where numbers are smoothed, by default those of one row in 20.
    proper: grow each tree on a bootstrap sample. rules: texts such as "if age < 16 then married = no". passive: a
    mapping of columns to formulas of others. nested: the columns drawn group by group of their hierarchy, or a mapping
    to the level of these groups; by default those of more than 50 values with a hierarchy. columns: the only ones made
    anew, in the rows of the table; rows_at_risk: a row is made anew where 1 over the rows that have its values of the
    quasi-identifiers is above this.
    """

    order: Annotated[Any, ColumnNames()] = ()
    leaf: Annotated[int, Whole(2)] = 20
    complexity: Annotated[float, Real(0, 1)] = 0.0
    predictors: Annotated[int, Whole()] = 50
    smoothing: Annotated[Any, OneOf(SMOOTHINGS, PerColumn(OneOf(SMOOTHINGS)))] = None
    spikes: Annotated[Any, PerColumn(Written("list"))] = None
    proper: Annotated[bool, YesNo()] = False
    rules: Annotated[Any, Written("list")] = ()
    passive: Annotated[Any, PerColumn(PlainText())] = None
    nested: Annotated[Any, Written("columns", "column")] = None
    columns: Annotated[Any, ColumnNames()] = ()
    rows_at_risk: Annotated[Any, Share()] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        name = self.name
        if self.spikes is not None:
            given = self.spikes.items()
            self.settle(spikes={key: list(v) if isinstance(v, list | tuple) else [v] for key, v in given})
        for text in (self.passive or {}).values():
            Formula(text)
        if isinstance(self.nested, Mapping):
            self.settle(nested=dict(mapping(self.nested, f"{name}: nested")))
            for level in self.nested.values():
                whole_number(level, f"{name}: the level of nested")
        elif self.nested is not None:
            self.settle(nested=column_names(self.nested, f"{name}: nested"))
        rules = (self.rules,) if isinstance(self.rules, str) else tuple(self.rules or ())
        self.settle(rules=tuple(parse_rule(text).text for text in rules))
        for field in ("order", "columns"):
            if len(set(getattr(self, field))) < len(getattr(self, field)):
                raise self.refuse(f"{field} names a column twice")

    @property
    def changes(self) -> tuple[str, ...] | None:
        """The columns that it makes anew, where the others stay those of real people."""
        return self.columns or None

    @property
    def bounded(self) -> bool:
        """Whether numbers stay within the range of their column: a formula may lead out of it."""
        return not self.passive

    @property
    def leaves(self) -> str:
        """What it does not protect from."""
        if self.columns:
            return "Rows are those of people, with some columns drawn anew: the other columns may tell whose they are."
        return (
            "Values are those of people, a few of whom decide what a leaf gives: rows may repeat those of people, and "
            "what is rare may be seen. Repeated rows and membership are to be measured."
        )

    def sentence(self) -> str:
        """How the rows were made."""
        which = f"the columns {', '.join(self.columns)}" if self.columns else "each column in turn"
        at_risk = "" if self.rows_at_risk is None else ", in rows at risk"
        smooth = ", and smoothed inside a leaf where they are numbers" if self.smoothing not in (None, "none") else ""
        leaves = f"leaves of {self.leaf} rows or more, of a tree grown on the columns before"
        return f"{which}{at_risk}, drawn from {leaves}{smooth}"

    def fit(self, table: pl.DataFrame, context: FitContext) -> SequentialTreesModel:
        """Grow a tree for each column."""
        columns = {column.name: column_of(column) for column in table.iter_columns()}
        x = {name: column.encode(table.get_column(name)) for name, column in columns.items()}
        rules = bind_rules([parse_rule(text) for text in self.rules], columns)
        self._check(columns, context)
        check_rules(rules, x, columns)
        points = {name: _points(x[name], column) for name, column in columns.items()}
        order = self._visits({name: len(known) or columns[name].levels for name, known in points.items()})
        index = [index_of(x[name], columns[name], points[name]) for name in order]
        places = [
            _places(one, max(len(points[name]), columns[name].levels)) for one, name in zip(index, order, strict=True)
        ]
        codes = [place[one] for place, one in zip(places, index, strict=True)]
        levels = [_levels(columns[name]) for name in order]
        at_risk = None if context.at_risk is None or not self.columns else np.asarray(context.at_risk, np.bool_)
        if at_risk is not None:  # whether a row is at risk tells of its values, too
            codes, levels = [*codes, at_risk.astype(np.uint16)], [*levels, 0]
        coarse = [_coarse(one) for one in codes] if self.predictors < len(codes) else None
        seeds = context.rng.integers(0, 2**63, len(order)) if self.proper else None
        drawn = [name for name in order if name not in (self.passive or {}) and name in (self.columns or order)]

        def learn(j: int) -> TreeColumn:
            name = order[j]
            column, known = columns[name], points[name]
            if name not in drawn:
                return TreeColumn(column, known, places[j], (), None)
            ruled = [rule.holds(x) for rule in rules if rule.rule.column == name]
            rows = np.flatnonzero(~np.logical_or.reduce(ruled)) if ruled else np.arange(table.height)
            least = min(self.leaf, table.height // 2)
            rows = rows if len(rows) >= least else np.arange(table.height)
            if seeds is not None:
                rows = rows[np.random.default_rng(seeds[j]).integers(0, len(rows), len(rows))]
            before = np.append(np.arange(j), np.arange(len(order), len(codes)))
            if coarse is not None and self.predictors < j:
                strength = np.array([_association(coarse[i][rows], coarse[j][rows]) for i in before])
                before = np.sort(before[np.argsort(-strength, kind="stable")[: self.predictors]])
            smooth = self._smoothing(column, index[j])
            group = self._groups(column, known, index[j], smooth, context)
            rows = rows[_learnt(group[rows], column.is_number, least)]
            group = np.unique(group[rows], return_inverse=True)[1]
            predictors = [(i, codes[i][rows], levels[i]) for i in before.tolist()]
            own = index[j][rows]
            stages, groups = [], int(group.max()) + 1
            if groups > 1:
                stages.append(self._stage(predictors, group, groups, group))
            if column.is_number:
                response, labels = np.append(0.0, known)[own], 0
            else:
                response, labels = own - (own.min() > 0), column.levels + (own.min() == 0)
            stages.append(self._stage(predictors, response, labels, own, group, groups, smooth is not None))
            return TreeColumn(column, known, places[j], tuple(stages), smooth)

        fitted = []
        with workers() as pool:
            for j, one in enumerate(pool.map(learn, range(len(order)))):
                context.report_progress(f"growing the tree of {order[j]}", (j + 1) / len(order))
                fitted.append(one)
        kept = table if self.columns else None
        return SequentialTreesModel(tuple(fitted), tuple(columns), self.rules, dict(self.passive or {}), kept, at_risk)

    def _stage(
        self,
        predictors: Sequence[tuple[int, np.ndarray, int]],
        target: np.ndarray,
        labels: int,
        donors: np.ndarray,
        group: np.ndarray | None = None,
        groups: int = 1,
        sort: bool = False,
    ) -> Stage:
        """Grow a tree; what its leaves give are the donors."""
        codes = np.empty((len(predictors), len(target)), np.uint16)
        maps, offset = [np.zeros(0, np.uint16)], np.full(len(predictors), -1, np.int64)
        for k, (_, code, levels) in enumerate(predictors):
            if levels:
                offset[k] = sum(map(len, maps))
                maps.append(ranks(code.astype(np.int64), levels, target, labels, self.leaf))
                codes[k] = maps[-1][code]
            else:
                codes[k] = code
        tree, rows = grow(codes, target, labels, self.leaf, self.complexity, group, groups)
        given = donors[rows].astype(np.int32)
        if sort:
            given = given[np.lexsort((given, tree.start[tree.leaf_of_donors()]))]
        return Stage(np.array([i for i, _, _ in predictors], np.int32), offset, np.concatenate(maps), tree, given)

    def _check(self, columns: Mapping[str, SyntheticColumn], context: FitContext) -> None:
        """Refuse parameters that do not fit the columns."""
        passive = {name: Formula(text).needs for name, text in (self.passive or {}).items()}
        smooth = self.smoothing if isinstance(self.smoothing, dict) else {}
        for names, what in (
            (self.order, "order"),
            (self.columns, "columns"),
            (smooth, "smoothing"),
            (self.spikes or (), "spikes"),
            (self.nested or (), "nested"),
            ((*passive, *(one for needs in passive.values() for one in needs)), "passive"),
        ):
            try:
                known_columns(names, columns)
            except ColumnError as error:
                raise ColumnError(
                    f"{self.name}: {what} names a column that is absent: {error.what}", hint=error.hint
                ) from None
        for name in (*smooth, *(self.spikes or ())):
            if not columns[name].is_number:
                raise ColumnError(f'{self.name}: "{name}" is no column of numbers, and has no spikes to smooth')
        for name, needs in passive.items():
            for one in (name, *needs):
                if not columns[one].like.dtype.is_numeric() or not columns[one].is_number:
                    raise ColumnError(f'{self.name}: "{one}" is no column of numbers, and has no formula')
        made = set(self.columns or columns)
        for name, before in self._needs().items():
            if name not in made and made & before:
                what = f'"{name}" follows from columns that are made anew'
                raise self.refuse(what, hint=f'name "{name}" among the columns, too')
        for rule in map(parse_rule, self.rules):
            if rule.column in passive:
                raise self.refuse(f'a rule sets "{rule.column}", which is computed from others', got=repr(rule.text))
        if self.rows_at_risk is not None and (not self.columns or context.at_risk is None):
            raise self.refuse("rows at risk are made anew in some columns", hint="name these in columns")

    def _needs(self) -> dict[str, set[str]]:
        """The columns that have to be visited before a column."""
        found = {name: set(Formula(text).needs) for name, text in (self.passive or {}).items()}
        for rule in map(parse_rule, self.rules):
            found.setdefault(rule.column, set()).update(rule.needs)
        return found

    def _visits(self, values: Mapping[str, int]) -> list[str]:
        """The columns in the order of their visits: kept ones, those named, and the others, of few values first."""
        needs, place = self._needs(), {name: i for i, name in enumerate(values)}
        kept = {name for name in values if self.columns and name not in self.columns}
        named = {name: i for i, name in enumerate(self.order)}
        left = sorted(
            values, key=lambda name: (name not in kept, named.get(name, len(named)), values[name], place[name])
        )
        order: list[str] = []
        while left:
            ready = next((name for name in left if needs.get(name, set()) <= {*order}), None)
            if ready is None:
                names = ", ".join(f'"{name}"' for name in sorted(left))
                raise self.refuse(f"rules and formulas lead in a circle: {names}")
            if (first := left[0]) in named and ready != first and first not in kept:
                later = ", ".join(f'"{name}"' for name in sorted(needs[first] - {*order}))
                raise self.refuse(
                    f'"{first}" is visited before {later}, which it follows from', hint="change the order"
                )
            order.append(ready)
            left.remove(ready)
        return order

    def _smoothing(self, column: SyntheticColumn, index: np.ndarray) -> str | None:
        """How the numbers of a column are smoothed."""
        given = self.smoothing.get(column.name) if isinstance(self.smoothing, dict) else self.smoothing
        if not column.is_number or given == "none":
            return None
        return given or ("spline" if mostly_alone(np.bincount(index)[1:], len(index)) else None)

    def _groups(
        self, column: SyntheticColumn, known: np.ndarray, index: np.ndarray, smooth: str | None, context: FitContext
    ) -> np.ndarray:
        """The group of each row that is drawn before its value: 0 for missing, 1 for a number that is no spike, then
        spikes; or a group of a hierarchy."""
        if column.is_number:
            group = (index > 0).astype(np.int64)
            if self.spikes and column.name in self.spikes:
                given = column.encode(_as_column(self.spikes[column.name], column))
                spikes = np.flatnonzero(np.isin(known, given)) + 1
            elif smooth is not None:
                spikes = np.flatnonzero(np.bincount(index) >= SPIKE * len(index))
            else:
                spikes = np.zeros(0, np.int64)
            for k, one in enumerate(spikes[spikes > 0]):
                group[index == one] = k + 2
        else:
            group = self._nest(column, context)[index]
            size = np.bincount(group)
            group = np.where(size[group] < self.leaf, int(size.argmax()), group)  # no tree of fewer rows than a leaf
        return group

    def _nest(self, column: SyntheticColumn, context: FitContext) -> np.ndarray:
        """The group of each level of a category, missing values first."""
        name, nested = column.name, self.nested
        recipe = context.hierarchies.get(name)
        asked = nested is not None and name in nested
        if not asked and (nested is not None or recipe is None or column.levels <= MANY):
            return np.zeros(column.levels + 1, np.int64)
        if recipe is None:
            raise ColumnError(f'{self.name}: "{name}" has no hierarchy to be nested in', hint="give it one")
        categories, _ = encode(column.values.alias(name))
        tree = parse(recipe).build(categories)
        level = nested[name] if isinstance(nested, dict) else 1
        if level >= tree.height and asked:
            allowed = f"below {tree.height}, which is the top"
            raise self.refuse(f'the hierarchy of "{name}" has no groups there', got=f"level {level}", allowed=allowed)
        texts = [str(text) for text in categories.text]
        place = {
            text: group + 1
            for text, group in zip(
                texts, tree.ancestor[min(level, tree.height)][tree.locate(texts)].tolist(), strict=True
            )
        }
        return np.array([0, *(place[text] for text in printed(column.values).to_list())], np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class SequentialTreesModel(FittedModel):
    """The trees of a table, in the order of their visits, and the rows where some columns are kept."""

    trees: tuple[TreeColumn, ...]
    names: tuple[str, ...]
    rules: tuple[str, ...]
    passive: Mapping[str, str]
    kept: pl.DataFrame | None
    at_risk: np.ndarray | None

    parts: ClassVar[tuple[type, ...]] = (TreeColumn, Stage, Tree, SyntheticColumn)

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """New rows; where some columns are kept, those of the table in their order."""
        if self.kept is not None and rows != self.kept.height:
            what = "a table of which some columns are kept has the rows that it had"
            raise PolicyError(what, got=f"{rows} rows", allowed=f"{self.kept.height}")
        columns = {one.column.name: one.column for one in self.trees}
        rules = bind_rules([parse_rule(text) for text in self.rules], columns)
        x: dict[str, np.ndarray] = {}
        codes = np.zeros((len(self.trees) + 1, rows), np.uint16)
        if self.at_risk is not None:
            codes[-1] = self.at_risk
        for j, one in enumerate(self.trees):
            name = one.column.name
            real = None if self.kept is None else one.column.encode(self.kept.get_column(name))
            if name in self.passive:
                x[name] = _computed(
                    Formula(self.passive[name]), one.column, {key: _numbers(x[key], columns[key]) for key in x}
                )
            elif one.stages:
                x[name] = _set(one.draw(codes, rows, rng), [rule for rule in rules if rule.rule.column == name], x)
            elif real is not None:
                x[name] = real
            if real is not None and self.at_risk is not None:
                x[name] = np.where(self.at_risk, x[name], real)
            codes[j] = one.codes(x[name])
        made = {one.column.name: one.column.decode(x[one.column.name]) for one in self.trees if one.stages}
        made |= {name: _exact(x[name], columns[name]) for name in self.passive}
        return pl.DataFrame(
            [made[name] if name in made or self.kept is None else self.kept[name] for name in self.names]
        )

    def exchange(self, drawn: pl.DataFrame, original: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
        """Drawn rows of which fewer repeat a row that is unique in the original: rows of a leaf exchange their values.

        Any row of a leaf is as likely to have them, so that columns stay as they were, and how they go together nearly
        so. Columns of rules and formulas keep their place, as do those that a smoothed one follows.
        """
        rules = [parse_rule(text) for text in self.rules]
        bound = {name for rule in rules for name in (*rule.needs, rule.column)}
        bound |= {name for key, text in self.passive.items() for name in (key, *Formula(text).needs)}
        last = max((j + 1 for j, one in enumerate(self.trees) if one.smoothing), default=0)
        free = [j for j in range(last, len(self.trees)) if self.trees[j].column.name not in bound]
        if self.kept is not None or not free:
            return drawn
        exchange = Exchange(self.trees, drawn, original)
        for up in UPWARDS:
            for j in reversed(free):
                if not exchange.repeats.any():
                    break
                exchange.among_leaves(j, up, rng)
        return drawn.with_columns(self.trees[j].column.decode(exchange.x[j]) for j in free)


def _learnt(group: np.ndarray, is_number: bool, least: int) -> np.ndarray:
    """Which rows a tree is grown on: not those with a number, where these are fewer than a leaf has, and others miss it
    or have a spike. All rows are drawn as those, since the few numbers would be drawn as they are."""
    known = group == 1
    return np.full(len(group), True) if not is_number or known.sum() >= least or known.all() else ~known


def _points(x: np.ndarray, column: SyntheticColumn) -> np.ndarray:
    """The different numbers of a column, ascending."""
    return np.unique(x[~np.isnan(x)]) if column.is_number else np.zeros(0)


def _places(index: np.ndarray, values: int) -> np.ndarray:
    """The code of each place: itself, or, where there are more than codes, one of as many rows for each."""
    if values < CODES:
        return np.arange(values + 1, dtype=np.uint16)
    upto = np.cumsum(np.bincount(index, minlength=values + 1)[1:])
    return np.append(0, 1 + (upto - 1) * (CODES - 2) // upto[-1]).astype(np.uint16)


def _levels(column: SyntheticColumn) -> int:
    """How many codes of a predictor are to be ordered by their effect; 0 where they have an order, or are two."""
    return 0 if column.is_number or column.levels + column.missing <= 2 else min(column.levels + 1, CODES)


def _coarse(codes: np.ndarray) -> np.ndarray:
    """A few bins of codes, of about as many rows each."""
    size = np.bincount(codes)
    upto = np.cumsum(size) - (size + 1) // 2
    return (upto * COARSE // len(codes))[codes]


def _association(one: np.ndarray, target: np.ndarray) -> float:
    """How much better the bin of a column is guessed where that of another is known, beyond chance."""
    count = np.bincount(one * COARSE + target, minlength=COARSE * COARSE).reshape(COARSE, COARSE)
    size, share = count.sum(axis=1), count.sum(axis=0) / len(one)
    there = size > 0
    rest = 1 - float(share @ share)
    gain = float(((count[there] ** 2).sum(axis=1) / size[there]).sum()) / len(one) - (1 - rest)
    return gain / rest - (int(there.sum()) - 1) / (len(one) - 1) if rest > 0 else 0.0


def _numbers(x: np.ndarray, column: SyntheticColumn) -> np.ndarray:
    """What numbers of a column stand for."""
    return column.origin + column.step * x if column.step else x


def _computed(formula: Formula, column: SyntheticColumn, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
    """The value of a formula, with the decimals of its column."""
    value = formula.value(numbers)
    if column.step:
        return (np.round(value) - column.origin) / column.step
    return value if column.decimals is None else np.round(value, column.decimals) + 0.0


def _exact(x: np.ndarray, column: SyntheticColumn) -> pl.Series:
    """Numbers in the type of their column, also those outside its range; missing where the type has none."""
    made = pl.Series(column.name, _numbers(x, column)).fill_nan(None)
    return (
        made.round().cast(pl.Int64, strict=False).cast(column.like.dtype, strict=False)
        if column.step
        else made.cast(column.like.dtype, strict=False)
    )


def _set(x: np.ndarray, rules: Iterable[BoundRule], before: Mapping[str, np.ndarray]) -> np.ndarray:
    """The values that rules set."""
    for rule in rules:
        gone = np.isnan(rule.value) and x.dtype.kind == "i"
        x[rule.holds(before)] = -1 if gone else rule.value
    return x


def _as_column(values: Sequence[Any], column: SyntheticColumn) -> pl.Series:
    try:
        return pl.Series(column.name, values, strict=True).cast(column.like.dtype)
    except (TypeError, pl.exceptions.PolarsError):
        raise ColumnError(f'the spikes of "{column.name}" are not of the type of the column') from None
