"""Problem: what every search is given. It sees cells, never rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells, Classes, Histogram, classes_of, count_cells, count_histogram, roll_up
from sfumato.core.keys import first_of
from sfumato.core.labels import Labels, at_level
from sfumato.core.microdata import Attribute, Microdata, microdata
from sfumato.core.policy import ClassStatistics, Policy, Verdict, check, class_statistics, label_losses
from sfumato.core.progress import Progress, SearchMessage, heard, quiet
from sfumato.core.wording import Described, count, number
from sfumato.errors import Infeasible, PolicyError
from sfumato.search.events import LabelsGiven, Record, Trace


@dataclass(frozen=True, eq=False)
class Problem:
    """Cells over all quasi-identifiers, the policy, and the levels allowed."""

    attributes: tuple[Attribute, ...]
    cells: Cells
    policy: Policy
    rows: int
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    progress: Progress = quiet
    trace: Trace | None = None  # called with each step, where a search tells its steps

    @property
    def limit(self) -> int:
        """How many rows may be suppressed."""
        return self.policy.limit(self.rows)

    def report(self, message: str, share: float | None, loss: float | None, suppressed: int | None = None) -> None:
        """Tell how far a search is, and of its best solution so far, if any, the loss and the suppressed rows."""
        if loss is not None and heard(self.progress):
            message = SearchMessage(message, loss, suppressed)
        self.progress(message, share)

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The quasi-identifier sets as positions among the attributes."""
        place = {a.name: i for i, a in enumerate(self.attributes)}
        return tuple(tuple(place[name] for name in names) for names in self.policy.quasi)


@dataclass(frozen=True, eq=False)
class Levels:
    """A level per column: every value of the column is replaced by its label at that level, or by another in its place:
    `labels` has, per column, such labels by code."""

    levels: Mapping[str, int]
    labels: Mapping[str, Labels] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Columns:
    """A label per value and column: `labels[column].of` gives each code its label."""

    labels: Mapping[str, Labels]


@dataclass(frozen=True, eq=False)
class CellSplit:
    """Cells cut into pieces: piece p is `count[p]` rows of cell `cell[p]`; cells ascend, and add up."""

    cell: np.ndarray
    count: np.ndarray


@dataclass(frozen=True, eq=False)
class Partition:
    """A class per cell; `labels[column].of` gives each class its label. With `split`, a class per piece of a cell."""

    class_of_cell: np.ndarray
    labels: Mapping[str, Labels]
    split: CellSplit | None = None


@dataclass(frozen=True, eq=False)
class Fragments(Partition):
    """Classes whose values stay as they are, without labels: they are published apart, joined by the class only."""


@dataclass(frozen=True, eq=False)
class Slices(Fragments):
    """Classes of which groups of columns are published apart, each as it is; the last group has the sensitive one."""

    columns: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Choice:
    """A search that was picked, why, and the runner-up: its name and what it would give."""

    search: Any
    why: str
    runner_up: str


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Described):
    """A recoding and what it comes to. `kept` says which cells stay; `bound` is a loss that nothing can be below;
    `choice` is there where the search was picked and not asked for; `as_ranges` is about what the same classes would
    lose if numbers and dates printed as ranges, where they print labels of hierarchies; `preference` is what the search
    compares it with others by, the loss where it is empty, the least first; `improving`, where a search goes on as long
    as it is let, is the share of the loss by which it still fell in the second half of its rounds."""

    recoding: Levels | Columns | Partition
    verdict: Verdict
    kept: np.ndarray
    optimal: bool
    checks: int
    seconds: float
    reproducible: bool = True
    bound: float | None = None
    choice: Choice | None = None
    as_ranges: float | None = None
    preference: tuple[float, ...] = ()
    improving: float | None = None
    proven: str | None = None  # what else is proven to be least, such as the cells that are blanked

    @property
    def levels(self) -> dict[str, int] | None:
        """Column to level, where the recoding is a level vector."""
        return dict(self.recoding.levels) if isinstance(self.recoding, Levels) else None

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """What was decided; not its loss, which is of the original values, and people paste this."""
        kind = type(self.recoding).__name__.lower()
        facts = [(name, f"level {level}") for name, level in (self.levels or {}).items()]
        facts += [("optimal", "yes" if self.optimal else "not claimed"), ("checks", number(self.checks))]
        facts += [("seconds", number(self.seconds))]
        return f"Solution by {kind}, {count(self.verdict.suppressed, 'row')} suppressed", facts


GENERALISE = "allow more suppression, ask for less, or let columns generalise further"
LABELS = ("given", "ranges", "hierarchy")


def along_hierarchy(attribute: Attribute, labels: str) -> bool:
    """Whether a column prints labels of its hierarchy: with "hierarchy" all do, with "given" those that were given one.

    With "ranges" columns without an order do, where they were given one; others print what their classes have.
    """
    given = attribute.hierarchy is not None
    if labels == "hierarchy":
        return given or attribute.learns
    return given and (labels == "given" or not attribute.categories.ordered)


def refuse_unprunable(problem: Problem, search: str) -> None:
    """Refuse criteria that a search cannot prune by: with suppression, those that are not closed under supersets."""
    allowed = ("superset", "merge") if problem.limit == 0 else ("superset",)
    wrong = list(dict.fromkeys(c.model for c in problem.policy.require if c.monotonicity not in allowed))
    never = list(dict.fromkeys(c.model for c in problem.policy.require if c.monotonicity == "none"))
    if never:
        raise PolicyError(
            f"{search} prunes the lattice, which {', '.join(never)} does not allow",
            hint='search with "optimal", which does not need to prune by it',
        )
    if wrong:
        raise PolicyError(
            f"{search} prunes the lattice, which {', '.join(wrong)} does not allow where rows may be suppressed",
            got=f"suppression of up to {problem.limit} rows",
            allowed="k-anonymity, k-map and distinct-l-diversity, or no suppression",
            hint='set suppression to 0, or search with "optimal", which does not need to prune by them',
        )


def records_of(problem: Problem) -> tuple[Record, ...]:
    """The cells of a problem as events name them."""
    text = [a.categories.text for a in problem.attributes]
    values = zip(*([text[i][code] for code in codes] for i, codes in enumerate(problem.cells.codes)), strict=True)
    rows = problem.cells.count.tolist()
    return tuple(Record(i, value, rows[i]) for i, value in enumerate(values))


def tell_labels(problem: Problem, partition: Partition) -> None:
    """Tell the trace what each class prints; the problem is that of the pieces of cells, where these are cut."""
    if problem.trace is None:
        return
    records = records_of(problem)
    for c in range(int(partition.class_of_cell.max()) + 1):
        words = tuple((name, labels.text[labels.of[c]]) for name, labels in partition.labels.items())
        inside = tuple(records[i] for i in np.flatnonzero(partition.class_of_cell == c))
        problem.trace(LabelsGiven(words, inside, sum(record.rows for record in inside)))


def by_class(problem: Problem) -> Problem:
    """The problem for a search that looks at one class at a time: see `Policy.by_class`."""
    policy = problem.policy.by_class
    return problem if policy is problem.policy else replace(problem, policy=policy)


def check_root(problem: Problem) -> None:
    """The whole table as one class must satisfy the policy: else no partition of all its rows does."""
    everything = classes_of(problem.cells, np.zeros(len(problem.cells), np.int32), 1)
    broken = [c for c in problem.policy.by_class.require if not c.holds(everything)[0]]
    if broken:
        raise Infeasible(
            "the whole table as one class does not satisfy " + ", ".join(c.model for c in broken),
            got=f"{problem.rows} rows",
            hint="ask for less; with suppression, optimal may find a part of the table that satisfies it",
            closest={"suppressed": problem.rows},
        )


def nothing_found(problem: Problem, what: str, suppressed: int, hint: str, **closest: Any) -> Infeasible:
    """Why a search has no recoding to give: the nearest that it found suppresses too many rows."""
    return Infeasible(
        what,
        got=f"the nearest found would suppress at least {suppressed} of {problem.rows} rows",
        allowed=f"at most {min(problem.limit, problem.rows - 1)}",
        hint=hint,
        closest={**closest, "suppressed": suppressed},
    )


def level_columns(problem: Problem, node: Sequence[int]) -> list[tuple[Labels, np.ndarray]]:
    """Labels and label of each cell per attribute, at the levels of a node."""
    codes = problem.cells.codes
    found = [at_level(a, int(level)) for a, level in zip(problem.attributes, node, strict=True)]
    return [(labels, labels.of[codes[i]]) for i, labels in enumerate(found)]


def level_solution(
    problem: Problem,
    node: Sequence[int],
    checks: int,
    began: float,
    optimal: bool = False,
    reproducible: bool = True,
    bound: float | None = None,
) -> Solution:
    """The solution of a search that `began` then and decided for a level vector."""
    seconds = time.perf_counter() - began
    kept, verdict, _ = judge(problem, level_columns(problem, node))
    levels = Levels({a.name: int(level) for a, level in zip(problem.attributes, node, strict=True)})
    return Solution(levels, verdict, kept, optimal, checks, seconds, reproducible, bound)


def judge(problem: Problem, columns: list[tuple[Labels, np.ndarray]]) -> tuple[np.ndarray, Verdict, ClassStatistics]:
    """The plain way to a verdict on any recoding: group by labels, check, and measure the loss.

    `columns` holds, per attribute, its labels and the label of each cell.
    """
    problem = counting_labels(problem, columns)
    cells, policy = problem.cells, problem.policy
    groupings = [group_labels(problem, columns, members) for members in problem.sets]
    kept = check(policy.criteria, cells, groupings)
    suppressed = int(cells.count[~kept].sum())
    everything = groupings[0] if len(groupings) == 1 else group_labels(problem, columns, range(len(columns)))
    kept_class = np.zeros(len(everything.size), np.bool_)
    kept_class[everything.class_of_cell[kept]] = True
    size = (
        everything.size
        if kept.all()
        else np.bincount(everything.class_of_cell, weights=cells.count * kept, minlength=len(everything.size))
    )
    statistics = class_statistics(policy, everything.size, kept_class, problem.rows)
    if len(groupings) > 1:  # a class may be suppressed in part
        stay = size[kept_class]
        statistics = ClassStatistics(
            problem.rows,
            suppressed,
            len(size),
            statistics.squares,
            len(stay),
            float((stay**2).sum()),
            policy.k,
            problem.limit,
        )
    satisfied = suppressed <= problem.limit and suppressed < problem.rows
    value, per_attribute = measure(problem, columns, kept, statistics)
    return kept, Verdict(satisfied, suppressed, value, per_attribute), statistics


def counting_labels(problem: Problem, columns: list[tuple[Labels, np.ndarray]]) -> Problem:
    """The problem with histograms of the labels of columns that are quasi-identifying and sensitive at once."""
    cells, places = problem.cells, {a.name: i for i, a in enumerate(problem.attributes)}
    found = {}
    for name in problem.policy.needs:
        if name in places:
            labels, label = columns[places[name]]
            number = same_print(labels)
            text = dict(zip(number.tolist(), labels.text, strict=True))
            shown = tuple(text.get(n) for n in range(int(number.max()) + 1))
            each = np.arange(len(cells) + 1)
            overall = np.bincount(number[label], weights=cells.count, minlength=len(shown)).astype(np.int64)
            found[name] = Histogram(each, number[label].astype(np.int32), cells.count, overall, shown)
    return replace(problem, cells=replace(cells, histograms={**cells.histograms, **found})) if found else problem


def group_labels(problem: Problem, columns: list[tuple[Labels, np.ndarray]], members: Any) -> Classes:
    """Classes of cells with equal labels in the member columns. Labels are compared as they print."""
    cells = problem.cells
    numbers = [same_print(columns[i][0])[columns[i][1]] for i in members]
    stacked = Cells((), np.stack(numbers), cells.count, tuple(int(n.max()) + 1 for n in numbers), cells.histograms)
    return roll_up(stacked, [np.arange(size) for size in stacked.sizes], range(len(numbers)))


def same_print(labels: Labels) -> np.ndarray:
    """A number per label, equal where two labels print the same."""
    if labels.named is None and labels.attribute.categories.ordered:  # ranges of different values print differently
        alike = np.flatnonzero(labels.star & (labels.lo < labels.hi))
        numbers = np.arange(len(labels.lo), dtype=np.int32)
        numbers[alike] = alike[:1]
        return numbers
    first: dict[str | None, int] = {}
    return np.array([first.setdefault(text or None, len(first)) for text in labels.text], dtype=np.int32)


def measure(
    problem: Problem, columns: list[tuple[Labels, np.ndarray]], kept: np.ndarray, statistics: ClassStatistics
) -> tuple[float, dict[str, float]]:
    """The loss of a recoding and its share per column (LM where the loss is one of class sizes)."""
    from sfumato.losses import LM

    loss = problem.policy.loss
    by_label: Any = loss if loss.by_label else LM()
    per_column = [(labels, label, problem.cells.codes[i]) for i, (labels, label) in enumerate(columns)]
    x = label_losses(by_label, per_column, problem.cells.count, kept, problem.rows)
    weights = np.array([by_label.weight(a) for a in problem.attributes])
    value = float(by_label.combine(x, weights)) if by_label is loss else float(loss.value(statistics))
    return value, {a.name: float(v) for a, v in zip(problem.attributes, x, strict=True)}


def make_problem(
    frame: pl.DataFrame,
    policy: Policy,
    recipes: Mapping[str, Any],
    levels: Mapping[str, tuple[int, int]],
    progress: Progress = quiet,
) -> Problem:
    """Encode the columns that the policy names and count their cells; `recipes` maps a column to its hierarchy.

    >>> from sfumato.criteria import KAnonymity
    >>> from sfumato.losses import LM
    >>> table = pl.DataFrame({"age": [31, 31, 58], "sex": ["F", "F", "M"]})
    >>> len(make_problem(table, Policy((("age", "sex"),), (KAnonymity(2),), 0, LM()), {}, {}).cells)
    2
    """
    roles = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(policy.as_they_are, "sensitive")
    micro = microdata(frame, roles, recipes)
    attributes = tuple(micro.attribute(name) for name in policy.columns)
    cells, _ = counted(micro, policy.columns, policy.as_they_are)
    return Problem(attributes, cells, policy, frame.height, levels, progress)


def counted(
    micro: Microdata, columns: Sequence[str], histogram_columns: Sequence[str], jointly: bool = False
) -> tuple[Cells, np.ndarray]:
    """Cells over some columns with the histograms of others, and the cell of each row.

    `jointly`: rows of a cell also agree in the others, so that any of them may be dealt to any piece of the cell; a
    tuple of the columns may then have several cells.
    """
    names = list(dict.fromkeys((*columns, *histogram_columns))) if jointly else list(columns)
    sizes = [len(micro.attribute(name).categories) for name in names]
    cells, cell_of_row = count_cells(names, [micro.codes[name] for name in names], sizes, micro.row_counts)
    d = len(columns)
    cells = Cells(tuple(columns), cells.codes[:d], cells.count, tuple(sizes[:d]))
    histograms = {}
    for name in histogram_columns:
        attribute = micro.attribute(name)
        ancestor = None if attribute.hierarchy is None else attribute.ladder.of
        values = micro.codes[name], attribute.categories.text, ancestor
        histograms[name] = count_histogram(cell_of_row, len(cells), *values, micro.row_counts)
    return replace(cells, histograms=histograms), cell_of_row


def project(cells: Cells, columns: Sequence[int]) -> Cells:
    """The cells over some columns, with their rows; histograms are left out."""
    keep = list(columns)
    rolled = roll_up(cells, [np.arange(cells.sizes[c]) for c in keep], keep)
    codes = np.ascontiguousarray(cells.codes[keep][:, first_of(rolled.class_of_cell, len(rolled.size))])
    return Cells(tuple(cells.names[c] for c in keep), codes, rolled.size, tuple(cells.sizes[c] for c in keep))


def split_cells(problem: Problem, least: int) -> tuple[Problem, CellSplit | None]:
    """The problem with each cell of fewer than `least` rows cut into single rows; no split where none is cut.

    >>> import polars as pl
    >>> from sfumato.criteria import KAnonymity
    >>> from sfumato.losses import LM
    >>> from sfumato.core.policy import Policy
    >>> from sfumato.search.problem import make_problem as pose
    >>> problem = pose(pl.DataFrame({"age": [31, 31, 58]}), Policy((("age",),), (KAnonymity(3),), 0, LM()), {}, {})
    >>> cut, split = split_cells(problem, 3)
    >>> cut.cells.codes[0].tolist(), split.cell.tolist()
    ([0, 0, 1], [0, 0, 1])
    """
    count = problem.cells.count
    row_counts = np.where(count < least, count, 1)
    if (row_counts == 1).all():
        return problem, None
    cell = np.repeat(np.arange(len(count)), row_counts)
    split = CellSplit(cell, np.where(count < least, 1, count)[cell])
    return refine(problem, split), split


def refine(problem: Problem, split: CellSplit) -> Problem:
    """The problem whose cells are the pieces."""
    return replace(problem, cells=apply_split(problem.cells, split))


def apply_split(cells: Cells, split: CellSplit) -> Cells:
    """The pieces as cells. A cell that is cut has one sensitive value: see `counted(..., jointly=True)`."""
    taken = cells.take(split.cell)
    histograms = {}
    for name, h in taken.histograms.items():
        alone = np.diff(h.start) == 1
        count = h.count.copy()
        count[h.start[:-1][alone]] = split.count[alone]
        histograms[name] = replace(h, count=count)
    return replace(taken, count=split.count, histograms=histograms)


def deal(cell_of_row: np.ndarray, split: CellSplit, alike: np.ndarray) -> np.ndarray:
    """The piece of each row. Which piece of a cell a row gets depends on what else is released of it, never on its
    place in the table: rows with the same number in `alike` are spread over the pieces, others are mixed.

    >>> split = CellSplit(np.array([0, 1, 1]), np.array([1, 2, 1]))
    >>> deal(np.array([1, 0, 1, 1]), split, np.array([0, 0, 3, 0])).tolist()
    [1, 0, 1, 2]
    """
    by_number = np.lexsort((alike, cell_of_row))
    first = np.ones(len(cell_of_row), np.bool_)
    first[1:] = (np.diff(cell_of_row[by_number]) != 0) | (np.diff(alike[by_number]) != 0)
    start, group = np.flatnonzero(first), np.cumsum(first) - 1
    among = np.arange(len(cell_of_row)) - start[group]
    share = np.empty(len(cell_of_row))
    share[by_number] = (among + 0.5) / np.diff(start, append=len(cell_of_row))[group]
    piece = np.empty(len(cell_of_row), np.int32)
    order = np.lexsort((_mixed(alike), share, cell_of_row))
    piece[order] = np.repeat(np.arange(len(split.count), dtype=np.int32), split.count)
    return piece


def _mixed(number: np.ndarray) -> np.ndarray:
    """Numbers in an order that says nothing of theirs, the same in every run: the finaliser of SplitMix64."""
    x = number.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
