"""Ends: ranges print ends that may be published, rounded outward to a step, and not the values of the people in them.

The step of a column is chosen from the released rows alone: suppressed rows could else be guessed from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.core.hierarchy import Categories
from sfumato.core.keys import tally
from sfumato.core.label_grammar import LONGEST_SET, STAR, range_text, run_text, set_text
from sfumato.core.labels import Labels, at_level, of_ranges, over_codes
from sfumato.core.microdata import Attribute
from sfumato.core.policy import ClassStatistics, Verdict, check, class_statistics, table_criteria
from sfumato.errors import Infeasible, PolicyError, did_you_mean
from sfumato.losses import LM, NCP, LabelLoss, NonUniformEntropy, Precision
from sfumato.release.few import FewLabels, few_labels
from sfumato.release.steps import Cuts, steps_of, with_cuts
from sfumato.search.problem import Columns, Levels, Partition, Problem, Solution, counting_labels, group_labels, measure

ENDS = ("rounded", "exact")
RISE = 0.05  # of the loss of a column, at most, that rounding may cost
ALIKE = 2  # times as wide a step of the grid may be, for a cut of a hierarchy to be preferred
SMALLER = (RISE, RISE / 4, 0.0)  # tried in turn where classes that become one cost more


def ends_named(given: Any) -> str:
    """How ranges end, checked: "rounded" or "exact"."""
    if given not in ENDS:
        hint = did_you_mean(given, ENDS) if isinstance(given, str) else None
        raise PolicyError("unknown ends of ranges", got=repr(given), allowed=", ".join(ENDS), hint=hint)
    return str(given)


def with_ends(problem: Problem, solution: Solution, common: bool = True) -> Solution:
    """The solution with ends as its policy asks for; `problem` has the cells that the solution is about.

    Each column takes the coarsest step that lets its loss rise by at most 5%: of a grid, or the cuts of a level of its
    hierarchy, which are preferred where they are about as wide. Where none does, values that at least k
    released rows have stay as ends, and the others are rounded to the finest step that is coarser than what the values
    are given in. Without `common` no value stays. Groups that print alike are one class and are checked again; where a
    criterion fails then, all steps become coarser. Labels of hierarchies stay as they are, or with `tidy` become fewer.
    """
    policy = problem.policy
    if (policy.ends == "exact" and not policy.tidy) or not solution.verdict.satisfied:
        return solution
    released = _released(problem, solution)
    columns = [c for i in range(len(problem.attributes)) if (c := _column(problem, released, i, common)) is not None]
    if not columns:
        return solution
    by_label = problem.policy.loss.by_label
    for budget in SMALLER:
        found = _settled(problem, released, [column.chosen(budget) for column in columns])
        if by_label or found.verdict.loss <= solution.verdict.loss * (1 + RISE):
            break
    return found


def loss_as_ranges(problem: Problem, solution: Solution) -> float | None:
    """What classes would lose about, if numbers and dates that print labels of hierarchies printed their own ranges."""
    recoding, policy, kept = solution.recoding, problem.policy, solution.kept
    if not isinstance(recoding, Partition) or not policy.loss.by_label or not kept.any():
        return None
    shown, other = [], False
    for code, attribute in zip(problem.cells.codes, problem.attributes, strict=True):
        labels = recoding.labels[attribute.name]
        if attribute.categories.ordered and labels.fixed_level is not None:
            lo, hi = np.full(len(labels.of), len(attribute.categories)), np.full(len(labels.of), -1)
            np.minimum.at(lo, recoding.class_of_cell, code)
            np.maximum.at(hi, recoding.class_of_cell, code)
            lo, hi = np.where(hi < 0, 0, lo), np.maximum(hi, 0)  # a class without cells
            labels, other = of_ranges(attribute, lo, hi), True
        shown.append((labels, labels.of[recoding.class_of_cell]))
    size = np.bincount(recoding.class_of_cell, weights=problem.cells.count * kept)
    return measure(problem, shown, kept, class_statistics(policy, size, size > 0, problem.rows))[0] if other else None


@dataclass(frozen=True, eq=False)
class _Released:
    """The solution, the labels of each column, and how many released rows each group of them has.

    A group is a class of a partition, or a value of a column. An attribute may have the values of a larger table.
    """

    solution: Solution
    labels: list[Labels]
    cells: list[np.ndarray]  # the group of each cell, per column
    rows: list[np.ndarray]  # released rows per group, per column
    count: list[np.ndarray]  # released rows per value, per column


def _released(problem: Problem, solution: Solution) -> _Released:
    recoding, kept, codes = solution.recoding, solution.kept, problem.cells.codes
    weight = problem.cells.count if kept.all() else np.where(kept, problem.cells.count, 0)
    names = [a.name for a in problem.attributes]
    if kept.all() and all(a.categories.count.sum() == problem.rows for a in problem.attributes):
        count = [a.categories.count for a in problem.attributes]
    else:
        count = [tally(codes[i], len(a.categories), weight) for i, a in enumerate(problem.attributes)]
    if isinstance(recoding, Partition):
        labels = [recoding.labels[name] for name in names]
        rows = tally(recoding.class_of_cell, len(labels[0].of), weight)
        if not kept.all():
            labels = [_of_kept(label, recoding.class_of_cell, codes[i], kept) for i, label in enumerate(labels)]
        return _Released(solution, labels, [recoding.class_of_cell] * len(names), [rows] * len(names), count)
    if isinstance(recoding, Columns):
        labels = [recoding.labels[name] for name in names]
    else:
        labels = [at_level(a, recoding.levels[a.name]) for a in problem.attributes]
    return _Released(solution, labels, list(codes), count, count)


def _of_kept(labels: Labels, class_of_cell: np.ndarray, code: np.ndarray, kept: np.ndarray) -> Labels:
    """The ranges of classes that were suppressed in part, over the cells that stay."""
    gone = np.zeros(len(labels.of), np.bool_)
    gone[class_of_cell[~kept]] = True
    if labels.named is not None or not gone[class_of_cell[kept]].any():
        return labels
    lo, hi = labels.lo[labels.of], labels.hi[labels.of]
    part = np.flatnonzero(kept & gone[class_of_cell])
    touched = np.unique(class_of_cell[part])
    lo[touched], hi[touched] = len(labels.attribute.categories), -1
    np.minimum.at(lo, class_of_cell[part], code[part])
    np.maximum.at(hi, class_of_cell[part], code[part])
    return of_ranges(labels.attribute, lo, hi)


def _column(problem: Problem, released: _Released, i: int, common: bool) -> _Column | _Sets | FewLabels | None:
    """A column with ranges whose ends are values, or with too many labels; None where it stays as it is."""
    labels, count = released.labels[i], released.count[i]
    attribute = labels.attribute
    rows = np.bincount(labels.of, weights=released.rows[i], minlength=len(labels.lo))
    present = np.flatnonzero(count)
    least = max(problem.policy.by_class.least_size, 2) if common else np.iinfo(np.int64).max
    ordered, own = attribute.categories.ordered, problem.policy.loss
    if labels.publishable:
        return None
    if labels.named is not None and (ordered or attribute.hierarchy is not None):  # given, round steps, or means
        if not (problem.policy.tidy and ordered and labels.fixed_level is not None):
            return None
        values = int((present < len(count) - attribute.categories.missing).sum())
        return few_labels(i, labels, rows, values, own if own.by_label else LM())
    if problem.policy.ends == "exact":
        return None
    if not ordered:
        return _sets(i, labels, rows, count, least)
    lo, hi = labels.lo, labels.hi
    if len(present) < len(count):  # global labels and nodes: from the first to the last value that is released
        after = np.searchsorted(present, lo)
        before = np.searchsorted(present, hi, side="right") - 1
        there = (before >= after) & (rows > 0)
        lo = np.where(there, present[np.minimum(after, len(present) - 1)], lo)
        hi = np.where(there, present[np.maximum(before, 0)], hi)
    wide = (lo < hi) & ~labels.star
    if not (wide & (rows > 0)).any():
        return None
    ends = np.zeros(len(count), np.bool_)
    ends[lo[wide]] = ends[hi[wide]] = ends[present[[0, -1]]] = True
    steps = with_cuts(steps_of(attribute.categories, present, np.flatnonzero(ends)), attribute, count)
    losses: tuple[LabelLoss, ...] = (LM(),)
    if isinstance(own, LM | NCP | NonUniformEntropy):
        losses = (own,)
    elif isinstance(own, Precision) and labels.fixed_level is None:
        losses = (own, LM())
    return _Column(i, labels, lo, hi, wide, rows, count, present, steps, count >= least, losses)


def rounded(labels: Labels, rows: np.ndarray, least: int) -> Labels:
    """Labels of ranges and sets that a table prints without a search, with ends that `least` rows have or of a step.

    All rows are released; `rows` has how many each label stands for. A value alone is a range, too, where few rows
    print it.
    """
    attribute = labels.attribute
    categories, count = attribute.categories, attribute.categories.count
    if not categories.ordered:
        sets = _sets(0, labels, rows, count, least)
        return labels if sets is None else sets.made
    present, lo, hi = np.flatnonzero(count), labels.lo, labels.hi
    known = hi < len(categories) - categories.missing
    wide = known & ((lo < hi) | ((rows < least) & (count[lo] < least))) & ~labels.star
    if not (wide & (rows > 0)).any():
        return labels
    ends = np.unique(np.concatenate([lo[wide], hi[wide], present[[0, -1]]]))
    steps = with_cuts(steps_of(categories, present, ends), attribute, count)
    column = _Column(0, labels, lo, hi, wide, rows, count, present, steps, count >= least, (LM(),))
    return column.chosen(RISE).made


@dataclass(frozen=True, eq=False)
class _Column:
    """The ranges of a column, over the codes `lo` to `hi`, those that are `wide`, and the step that their ends take.

    `at` is a step, or past the last one a single range over all; with `common`, values that many rows have stay.
    """

    index: int
    labels: Labels
    lo: np.ndarray
    hi: np.ndarray
    wide: np.ndarray
    rows: np.ndarray  # released, per label
    count: np.ndarray  # released rows per code
    present: np.ndarray  # codes
    steps: Cuts
    many: np.ndarray  # codes that may be ends
    losses: tuple[LabelLoss, ...]
    at: int = 0
    common: bool = False

    def chosen(self, budget: float) -> _Column:
        """The column at the coarsest step within the budget, else at the finest, where common values stay."""
        used = self.wide & (self.rows > 0)
        base, sizes, given = self._loss(None), np.array(self.steps.sizes), self.steps.given
        place = self.steps.place
        with np.errstate(over="ignore"):
            width = np.nan_to_num(place[self.hi[used]] - place[self.lo[used]])
            mean = float((width * self.rows[used]).sum() / self.rows[used].sum())

        def fits(at: int) -> bool:
            return bool((self._loss(replace(self, at=at)) <= base * (1 + budget) + 1e-12).all())

        grid = np.flatnonzero(~given).tolist()
        last = max(int(np.searchsorted(sizes[grid], mean, side="right")) - 1, 0)  # no wider than the ranges are
        at = min(int(np.searchsorted(sizes[grid], mean * budget)), last)
        if fits(grid[at]):
            while at < last and fits(grid[at + 1]):
                at += 1
        else:
            at -= 1
            while at >= 0 and not fits(grid[at]):
                at -= 1
        least = sizes[grid[at]] / ALIKE if at >= 0 else 0.0
        most = mean * (1 + RISE) + sizes[grid[0]]  # labels reach past their values
        cuts = np.flatnonzero(given & (sizes >= least) & (sizes <= most))
        best = next((cut for cut in cuts[::-1].tolist() if fits(cut)), grid[at] if at >= 0 else None)
        return replace(self, at=0, common=True) if best is None else replace(self, at=best)

    @property
    def coarser(self) -> _Column | None:
        """The column at the next step; None past a single range over all."""
        if self.common:
            return replace(self, common=False)
        return replace(self, at=self.at + 1) if self.at < len(self.steps.sizes) else None

    @cached_property
    def _own(self) -> tuple[Attribute, np.ndarray]:
        """The column as the released rows have it, and the code there of each code."""
        attribute = self.labels.attribute
        if len(self.present) == len(self.count):
            return attribute, np.arange(len(self.count))
        old = attribute.categories
        assert old.position is not None
        text = tuple(old.text[code] for code in self.present)
        new = Categories(old.name, old.kind, text, old.position[self.present], self.count[self.present])
        rank = np.cumsum(self.count > 0) - 1
        return replace(attribute, categories=new), rank

    @cached_property
    def _line(self) -> np.ndarray:
        """Where each known code stands, rising."""
        place = self.steps.place[: len(self.count) - self.labels.attribute.categories.missing]
        return np.nan_to_num(np.fmax.accumulate(place), nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    @cached_property
    def _exact(self) -> Labels:
        """The labels of released rows as they are, over the values that are released."""
        attribute, rank = self._own
        used = np.flatnonzero(self.rows > 0)
        made = over_codes(attribute, np.arange(len(used), dtype=np.int32), rank[self.lo[used]], rank[self.hi[used]])
        return replace(made, star=self.labels.star[used] | made.star)

    def _loss(self, column: _Column | None) -> np.ndarray:
        """What the released rows lose, in the measures that count: with ends as they are, or as a column has them."""
        made, used = self._exact, np.flatnonzero(self.rows > 0)
        attribute = made.attribute
        if column is not None:
            wide = np.flatnonzero(self.wide[used])
            low, high = column.ends(used[wide])
            by_width = all(isinstance(loss, NCP) or attribute.hierarchy is None for loss in self.losses)
            narrow = by_width and all(isinstance(loss, LM | NCP) for loss in self.losses) and made.on_a_line
            line = None if narrow else self._line[self.present[self.present < len(self._line)]]
            made = _moved(made, wide, low.place, high.place, line)
        rows, found = self.rows[used], []
        for loss in self.losses:
            own = float((loss.own(attribute) * attribute.categories.count).sum())
            found.append(float((loss.cost(made) * rows).sum()) - own)
        return np.array(found)

    def ends(self, which: np.ndarray) -> tuple[_Ends, _Ends]:
        """The lower and upper ends of some ranges."""
        return self._ends(self.lo[which], False), self._ends(self.hi[which], True)

    def _ends(self, code: np.ndarray, high: bool) -> _Ends:
        steps, at = self.steps, min(self.at, len(self.steps.sizes) - 1)
        if self.at > at:  # one range over all that is released
            seen = self.present[np.isfinite(steps.place[self.present])]
            code = np.full(len(code), (seen[-1] if high else seen[0]) if len(seen) else 0)
        fine = np.isfinite(steps.place[code])
        inside = code[fine]
        key = np.zeros(len(code), np.int64)
        key[fine] = (steps.high if high else steps.low)(at, inside)
        place = np.full(len(code), np.nan)
        place[fine] = steps.positions(at, key[fine], high)
        stays = self.many[code] & self.common
        key[stays], place[stays] = code[stays], steps.place[code[stays]]
        return _Ends(key, place, stays, at, high)

    @cached_property
    def made(self) -> Labels:
        """The labels with these ends; `of` is as it was."""
        labels, attribute = self.labels, self.labels.attribute
        which = np.flatnonzero(self.wide)
        low, high = self.ends(which)
        lost = ~(np.isfinite(low.place) & np.isfinite(high.place))  # infinite, or in no year that a calendar has
        (first, first_of), (last, last_of) = self._texts(low), self._texts(high)
        pair = np.where(lost, -1, first_of * len(last) + last_of)
        pairs, one, of_pair = np.unique(pair, return_index=True, return_inverse=True)
        text = [STAR if n < 0 else range_text(first[n // len(last)], last[n % len(last)]) for n in pairs.tolist()]
        others = np.flatnonzero(~self.wide)
        number = np.empty(len(labels.lo), np.int32)
        number[others], number[which] = np.arange(len(others)), len(others) + of_pair
        pick = np.concatenate([others, which[one]])
        ranges = over_codes(attribute, number[labels.of], self.lo[pick], self.hi[pick])
        at = len(others) + np.arange(len(one))
        ranges = _moved(ranges, at, low.place[one], high.place[one], self._line)
        star = labels.star[pick]
        star[at] = lost[one]
        named = [labels.text[i] for i in others] + text
        level = None if labels.fixed_level is None else labels.fixed_level[pick]
        return replace(ranges, star=star, named=tuple(named), fixed_level=level, publishable=True)

    def _texts(self, ends: _Ends) -> tuple[list[str], np.ndarray]:
        """The different ends as they print, and the number of each one's text."""
        keys, of = np.unique(ends.key * 2 + ends.stays, return_inverse=True)
        stays, words = (keys & 1).astype(np.bool_), np.empty(len(keys), object)
        words[stays] = [self.labels.attribute.categories.text[code] for code in keys[stays] >> 1]
        words[~stays] = self.steps.texts(ends.at, keys[~stays] >> 1, ends.high)
        number: dict[str, int] = {}  # a value, a cut and a point of the grid may print alike
        alike = np.array([number.setdefault(word, len(number)) for word in words], np.int64)
        return list(number), alike[of]


def _sets(i: int, labels: Labels, rows: np.ndarray, count: np.ndarray, least: int) -> _Sets | None:
    """A column of texts with sets that print as `first..last`, where few released rows have one of these; else None."""
    categories = labels.attribute.categories
    known = len(count) - categories.missing
    if categories.sequence in ("words", "similar") or (
        categories.sequence == "codes" and labels.fixed_level is not None
    ):
        return None  # they name all their values, or a prefix of them
    present = np.flatnonzero(count[:known])
    used = np.flatnonzero(~labels.star & (labels.lo < labels.hi) & (rows > 0))
    first, last = np.searchsorted(present, labels.lo[used]), np.searchsorted(present, labels.hi[used], side="right") - 1
    long = last - first >= LONGEST_SET
    ends = present[np.concatenate([first[long], last[long]])]
    if (count[ends] >= least).all():
        return None
    return _Sets(i, labels, used, first, last, present, np.flatnonzero(count[:known] >= least))


@dataclass(frozen=True, eq=False)
class _Sets:
    """The sets of a column of texts, as released values have them: `used` labels, from the first to the last of those
    `present`. Short ones list their values; long ones go on to values that many rows have, or say nothing."""

    index: int
    labels: Labels
    used: np.ndarray
    first: np.ndarray
    last: np.ndarray
    present: np.ndarray  # codes
    common: np.ndarray  # codes

    def chosen(self, budget: float) -> _Sets:
        """The sets as they are: there is one way to name them."""
        return self

    @property
    def coarser(self) -> _Sets | None:
        """The column without long sets; None where there are none."""
        return replace(self, common=self.common[:0]) if len(self.common) else None

    @cached_property
    def made(self) -> Labels:
        """The labels with these ends; `of` is as it was."""
        labels, text = self.labels, self.labels.attribute.categories.text
        lo, hi, star, named = labels.lo.copy(), labels.hi.copy(), labels.star.copy(), list(labels.text)
        lo[self.used], hi[self.used] = self.present[self.first], self.present[self.last]
        before = np.searchsorted(self.common, lo, side="right") - 1
        after = np.searchsorted(self.common, hi)
        for label, first, last in zip(self.used.tolist(), self.first.tolist(), self.last.tolist(), strict=True):
            if last - first < LONGEST_SET:
                words = [text[code] for code in self.present[first : last + 1]]
                named[label] = set_text(words) if len(words) > 1 else words[0]
            elif before[label] < 0 or after[label] == len(self.common):
                named[label], star[label] = STAR, True
            else:
                lo[label], hi[label] = self.common[before[label]], self.common[after[label]]
                named[label] = run_text(text[lo[label]], text[hi[label]])
        made = over_codes(labels.attribute, labels.of, lo, hi)
        return replace(made, star=star, named=tuple(named), fixed_level=labels.fixed_level, publishable=True)


@dataclass(frozen=True, eq=False)
class _Ends:
    """Ends of ranges: keys of a step, or codes where a value stays, and where they are; nan where there is no end."""

    key: np.ndarray
    place: np.ndarray
    stays: np.ndarray
    at: int
    high: bool


def _moved(labels: Labels, at: np.ndarray, low: np.ndarray, high: np.ndarray, line: np.ndarray | None) -> Labels:
    """The labels with those at `at` from low to high: they cover all values between, and cost what is printed, as far
    as the domain reaches. `line` is where each known code stands; without it they cover what they did."""
    attribute, fine = labels.attribute, np.isfinite(low) & np.isfinite(high)
    found = labels
    if line is not None:
        lo, hi = labels.lo.copy(), labels.hi.copy()
        lo[at] = np.where(fine, np.minimum(np.searchsorted(line, low), lo[at]), lo[at])
        hi[at] = np.where(fine, np.maximum(np.searchsorted(line, high, side="right") - 1, hi[at]), hi[at])
        found = replace(over_codes(attribute, labels.of, lo, hi), star=labels.star)
    if not labels.on_a_line:
        return found
    least, greatest = attribute.extent
    first, last = attribute.positions[labels.lo], attribute.positions[labels.hi]
    first[at] = np.where(fine, np.clip(low, least, greatest), first[at])
    last[at] = np.where(fine, np.clip(high, least, greatest), last[at])
    return replace(found, low=first, high=last)


def _settled(problem: Problem, released: _Released, columns: Sequence[_Column | _Sets | FewLabels]) -> Solution:
    """The solution with the ends that the columns have; coarser ones where a criterion fails."""
    policy, solution = problem.policy, released.solution
    surely = all(c.monotonicity in ("superset", "merge") for c in policy.require) and not table_criteria(policy.require)
    by_label = policy.loss.by_label
    while True:
        labels = list(released.labels)
        for column in columns:
            labels[column.index] = column.made
        shown = [(label, label.of[of]) for label, of in zip(labels, released.cells, strict=True)]
        sizes = np.zeros(0, np.int64)
        if not (surely and by_label):
            sizes = _sizes(problem, shown, solution.kept)
        if surely or len(sizes):
            break
        coarser = [column.coarser for column in columns]
        if not any(coarser):
            raise Infeasible(
                "classes that satisfy the policy one by one do not where their ranges print alike",
                hint='ask for ends="exact", or for less',
            )
        columns = [new or old for new, old in zip(coarser, columns, strict=True)]
    made = {column.labels.attribute.name: column.made for column in columns}
    return replace(
        solution,
        recoding=_with_labels(solution.recoding, made),
        verdict=_verdict(problem, released, shown, sizes),
        optimal=solution.optimal and isinstance(solution.recoding, Levels),
    )


def _with_labels(recoding: Levels | Columns | Partition, made: Mapping[str, Labels]) -> Levels | Columns | Partition:
    return replace(recoding, labels={**recoding.labels, **made})


def _sizes(problem: Problem, shown: list[tuple[Labels, np.ndarray]], kept: np.ndarray) -> np.ndarray:
    """The sizes of the classes of released rows, over all columns; none where one of them breaks the policy.

    What was suppressed stays so, also where it would now print like a class that is released.
    """
    rest = np.flatnonzero(kept)
    own = problem if kept.all() else replace(problem, cells=problem.cells.take(rest))
    columns = [(labels, label[rest]) for labels, label in shown]
    own = counting_labels(own, columns)
    groupings = [group_labels(own, columns, members) for members in own.sets]
    if not check(own.policy.criteria, own.cells, groupings).all():
        return np.zeros(0, np.int64)
    return (groupings[0] if len(groupings) == 1 else group_labels(own, columns, range(len(columns)))).size


def _verdict(
    problem: Problem, released: _Released, shown: list[tuple[Labels, np.ndarray]], sizes: np.ndarray
) -> Verdict:
    """What the solution comes to with its new labels: its loss."""
    solution, rows = released.solution, problem.rows
    squares = float((sizes.astype(np.float64) ** 2).sum())
    suppressed, count = solution.verdict.suppressed, len(sizes)
    statistics = ClassStatistics(rows, suppressed, count, squares, count, squares, problem.policy.k, problem.limit)
    if not solution.kept.all() or not problem.policy.loss.by_label:
        loss, per_attribute = measure(problem, shown, solution.kept, statistics)
        return replace(solution.verdict, loss=loss, per_attribute=per_attribute)
    x = np.array([_total(problem.policy.loss, label, n) for (label, _), n in zip(shown, released.rows, strict=True)])
    weights = np.array([problem.policy.loss.weight(a) for a in problem.attributes])
    each = {a.name: float(v) for a, v in zip(problem.attributes, x / rows, strict=True)}
    return replace(solution.verdict, loss=float(problem.policy.loss.combine(x / rows, weights)), per_attribute=each)


def _total(loss: LabelLoss, labels: Labels, rows: np.ndarray) -> float:
    """What all rows lose in a column where none is suppressed; `rows` per group."""
    own = loss.own(labels.attribute) * labels.attribute.categories.count
    return float((loss.cost(labels)[labels.of] * rows).sum() - own.sum())
