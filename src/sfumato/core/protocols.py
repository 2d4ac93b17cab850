"""The contracts: what a criterion, a loss, a search and a masker owe, and what each declares of itself; that of a
generator is in `core.generators`.

Nothing outside asks which of them it is given; it reads what is declared here. A class may extend its
contract and get the defaults, or have the same members by itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sfumato.core.labels import Labels
    from sfumato.core.masked import Change, Context
    from sfumato.core.microdata import Attribute
    from sfumato.core.policy import ClassStatistics
    from sfumato.criteria.audit import Finding, Groups
    from sfumato.criteria.known_population import KnownPopulation
    from sfumato.criteria.sets.published import PublishedSet
    from sfumato.search.events import Event
    from sfumato.search.problem import Problem, Solution

Flags = NDArray[np.bool_]
Monotonicity = Literal["superset", "merge", "none"]
Side = Literal["at least", "at most", "below"]
PROVEN, BY_CONSTRUCTION = "proven", "by construction"  # how a promise is known to hold
AGAINST_ORIGINAL = "against the original"  # shown by its owner, who knows whose each row is: the rows do not tell
AGAINST_POPULATION = "against the population"  # shown by whoever has its table, too
STATED = "stated"  # by its owner alone, for whoever has the rows and not the original


class HistogramView(Protocol):
    """Counts of a sensitive attribute per class: the run of class c is start[c]:start[c + 1], values ascending."""

    @property
    def start(self) -> np.ndarray: ...
    @property
    def value(self) -> np.ndarray: ...
    @property
    def count(self) -> np.ndarray: ...
    @property
    def overall(self) -> np.ndarray: ...
    @property
    def text(self) -> tuple[str | None, ...]: ...
    @property
    def ancestor(self) -> np.ndarray | None: ...


class ClassesView(Protocol):
    """Equivalence classes, as a search sees them."""

    @property
    def size(self) -> np.ndarray: ...
    def histogram(self, attribute: str) -> HistogramView: ...


@dataclass(frozen=True, eq=False)
class ValueLimits:
    """A criterion in numbers per value of its sensitive attribute, which a search checks by itself.

    A class of n rows, c of them with value v, satisfies it where low[v] n < c <= high[v] n for each of its values, it
    has at least `distinct` values, and the sum of c/n (ln(c/n) - log_share[v]) is at most `divergence`.

    Of a class that fails, parts that satisfy it keep m of the n rows at most. At most cap[v] m of these have value v,
    and m <= c rows_per[v] for each value. That sum, over the rows that are kept, is at most `divergence`.
    """

    low: np.ndarray
    high: np.ndarray
    cap: np.ndarray
    rows_per: np.ndarray
    log_share: np.ndarray
    distinct: int = 0
    divergence: float = float("inf")


class Criterion(Protocol):
    """A privacy model: a function from equivalence classes to yes or no per class, and a second one, by other code,
    from released rows. `criteria.Model` has more defaults."""

    @property
    @abstractmethod
    def model(self) -> str:
        """Its name in the table of criteria."""

    @property
    @abstractmethod
    def bound(self) -> float | int:
        """What the measured value is compared with."""

    @property
    @abstractmethod
    def bounded_by(self) -> str:
        """The parameter that holds the bound."""

    @property
    def side(self) -> Side:
        """On which side of the bound what is measured of the worst class has to be."""
        return "at most"

    @property
    def quasi(self) -> tuple[str, ...] | None:
        """The set of quasi-identifiers that it is for; None for every set of the policy."""
        return None

    @property
    def monotonicity(self) -> Monotonicity:
        """What a search may conclude: "superset", any class that contains a satisfying one satisfies; "merge", the
        union of satisfying classes satisfies; "none". One that is closed under supersets and needs no histogram holds
        for every class of `least_size` rows."""
        return "none"

    @property
    def needs(self) -> tuple[str, ...]:
        """The sensitive attributes whose histograms it asks for."""
        return ()

    @property
    def least_size(self) -> int:
        """No class smaller than this can satisfy it."""
        return 1

    @property
    def uses_overall_distribution(self) -> bool:
        """Whether it compares a class with the distribution in the whole table."""
        return False

    @property
    def uses_order(self) -> bool:
        """Whether it looks at the order of sensitive values."""
        return False

    @property
    def uses_hierarchy(self) -> bool:
        """Whether it looks at the hierarchy of sensitive values."""
        return False

    @property
    def named_values(self) -> tuple[str, ...]:
        """The sensitive values that its parameters name."""
        return ()

    @property
    def wildcard(self) -> bool:
        """Whether it is defined where a missing value matches any value."""
        return False

    @property
    def on_labels(self) -> Criterion | None:
        """What stands for it where its sensitive attribute is quasi-identifying too, so that labels of its values are
        released and counted. None unless it holds for values wherever it does for labels that each cover some of them.
        """
        return None

    @property
    def enough_values(self) -> int | None:
        """A group of at least so many records, all with different sensitive values, satisfies it though each of them
        can be told from the others; None where no number is enough."""
        return None

    @property
    def about_table(self) -> bool:
        """Whether it is a promise about the table as a whole: then it is a `TableCriterion`."""
        return False

    @property
    def how(self) -> str:
        """How it is known to hold: "proven" from the released rows, or "by construction", which these can only refute;
        it then takes a search that is `private`."""
        return PROVEN

    @property
    def by_people(self) -> str | None:
        """What it looks at where people count and not records: the "sizes" of classes, the "shares" of people who have
        each value, or these where each person counts with one value alone, as "concentrated" as can be. None: it has no
        such reading."""
        return None

    @property
    def of_population(self) -> KnownPopulation | None:
        """The table of a population that it counts beside the released one: its classes are then those of the people of
        the population, and what it `needs` says which of them are in the table. None: it counts the table alone."""
        return None

    @abstractmethod
    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it, as a search sees them; a class without rows satisfies nothing."""

    def least_suppressed(self, classes: ClassesView) -> np.ndarray:
        """How many rows of each class any recoding suppresses at least that makes these classes or parts of them.

        Of a class that fails, where the union of satisfying classes satisfies, a row at least."""
        if self.monotonicity == "none":
            return np.zeros(len(classes.size), np.int64)
        return (~self.holds(classes)).astype(np.int64)

    def value_limits(self, histogram: HistogramView) -> ValueLimits | None:
        """The same as `holds` and `least_suppressed` in numbers per value, None where it cannot be said so: a search
        then checks many classes at once."""
        return None

    @abstractmethod
    def audit(self, groups: Groups) -> Finding:
        """What the released rows say of it; shares no formula with `holds`."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values, as in a policy file: the class makes an equal value of them."""

    @abstractmethod
    def sentence(self) -> str:
        """The promise in words."""


class TableCriterion(Criterion, Protocol):
    """A criterion about the table as a whole, which no class alone breaks. It stays satisfied where the smallest
    classes are left out."""

    @property
    @abstractmethod
    def enough_size(self) -> int:
        """A table whose classes all have at least so many rows satisfies it."""

    @property
    @abstractmethod
    def enough(self) -> Criterion:
        """What stands for it where a search looks at one class at a time."""

    @abstractmethod
    def holds_table(self, sizes: np.ndarray) -> bool:
        """Whether a table of classes of these sizes satisfies it."""


class SetPromise(Protocol):
    """A promise about several tables that are published together, checked on what is published alone.
    `criteria.sets.SetModel` has the defaults."""

    @property
    @abstractmethod
    def model(self) -> str:
        """Its name in the table of these promises."""

    @property
    @abstractmethod
    def bound(self) -> float | int:
        """What the measured value is compared with."""

    @property
    @abstractmethod
    def bounded_by(self) -> str:
        """The parameter that holds the bound."""

    @property
    def side(self) -> Side:
        """On which side of the bound what is measured has to be."""
        return "at most"

    @property
    def how(self) -> str:
        """How it is known to hold: "proven" from the published tables, or "by construction"."""
        return PROVEN

    @abstractmethod
    def audit(self, published: PublishedSet) -> Finding:
        """What the published tables say of it."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values: the class makes an equal value of them."""

    @abstractmethod
    def sentence(self) -> str:
        """The promise in words."""


class Loss(Protocol):
    """An information loss: of labels (`LossOfLabels`) or of class sizes (`LossOfClasses`)."""

    @property
    @abstractmethod
    def by_label(self) -> bool:
        """Whether it is a loss of labels, with a cost per row and column."""

    @property
    def by_level(self) -> bool:
        """Whether it is defined for level vectors only."""
        return False

    @property
    def weights(self) -> Mapping[str, float] | None:
        """Weight per column, where it has any."""
        return None

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values, as in a policy file."""


class LossOfLabels(Loss, Protocol):
    """A loss of labels: a cost per row and column, averaged over rows, aggregated over columns.

    The cost of a row under a label is `cost[label] - own[code]`, that of a suppressed row `suppressed[code]`; neither
    the cost nor what is combined ever falls under generalisation. `losses.LabelLoss` has the defaults.
    """

    @property
    @abstractmethod
    def aggregate(self) -> str:
        """How columns are put together: "mean", "sum", "geometric" or "maximum"."""

    @abstractmethod
    def cost(self, labels: Labels) -> np.ndarray:
        """Cost of a row under each label."""

    @abstractmethod
    def own(self, attribute: Attribute) -> np.ndarray:
        """What a value costs unchanged: taken off the cost of its label."""

    @abstractmethod
    def suppressed(self, attribute: Attribute) -> np.ndarray | None:
        """Cost of a suppressed row, per value; None where suppression is free."""

    @abstractmethod
    def weight(self, attribute: Attribute) -> float:
        """Weight of a column in the aggregate."""

    @abstractmethod
    def combine(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Aggregate over the last axis, as `aggregate` says."""

    @abstractmethod
    def released(self, column: Any) -> np.ndarray | None:
        """Cost of a row under each label of a `losses.released.ReleasedColumn`; None where the release alone does not
        tell, and the manifest then does not either."""


class LossOfClasses(Loss, Protocol):
    """A loss of class sizes. `losses.ClassLoss` has the defaults."""

    @abstractmethod
    def value(self, statistics: ClassStatistics) -> float:
        """The loss."""

    @abstractmethod
    def floor(self, statistics: ClassStatistics) -> float:
        """What no generalisation of the recoding loses less than; it never falls under generalisation."""


@runtime_checkable
class Search(Protocol):
    """An algorithm: a frozen value that maps a problem to a solution."""

    @property
    @abstractmethod
    def code(self) -> str:
        """What it generalises and suppresses, after Ciriani et al.: columns (AG, AS), cells (CG, CS), rows (TS)."""

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """What is known of its result: "exact", "k-minimal", "approximation", "heuristic" or "as picked"."""

    @property
    def splits(self) -> bool:
        """Whether rows with equal values may get different labels."""
        return False

    @property
    def wildcard(self) -> bool:
        """Whether its release keeps its promise where a missing value matches any value."""
        return False

    @property
    def counts_labels(self) -> bool:
        """Whether it gives each value one label in all rows, and counts the labels of a column that is both
        quasi-identifying and sensitive."""
        return False

    @property
    def by_level(self) -> bool:
        """Whether given levels bound it: its labels are then levels of the hierarchies."""
        return not self.code.startswith("CG")

    @property
    def private(self) -> bool:
        """Whether what it finds is differentially private: it then needs a criterion that says how much."""
        return False

    @property
    def fragments(self) -> bool:
        """Whether its release is several tables, with values as they are: its recoding is `Fragments`."""
        return False

    @property
    def counts_population(self) -> bool:
        """Whether it takes criteria that count a population: people with equal values then have one label, no two
        labels of classes cover the same values, and the loss that it compares is that of `Problem.released`, if any."""
        return False

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns whose histograms it looks at, beside those of the criteria."""
        return ()

    @property
    def traces(self) -> tuple[type[Event], ...]:
        """The kinds of events that `problem.trace` is called with, in the order of its steps: see `search.events`. None
        where it tells no steps."""
        return ()

    @abstractmethod
    def __call__(self, problem: Problem) -> Solution:
        """Search for a recoding that satisfies the policy, or raise Infeasible or PolicyError."""


class Masker(Protocol):
    """A step that changes columns of a table: a frozen value. `core.masked.MaskStep` has the defaults."""

    columns: tuple[str, ...]  # that it changes; all that fit, where there are none
    by: tuple[str, ...]  # columns whose combinations of values are strata, each masked for itself

    @property
    @abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """The kinds of columns that it takes: "number", "category", "date"; none where it takes whole rows."""

    @property
    def changes(self) -> tuple[str, ...]:
        """The columns that it changes: its own, and others where it says so."""
        return self.columns

    @property
    def named_kinds(self) -> tuple[str, ...]:
        """Further kinds of columns, which it takes where they are named: codes of digits are categories, for one."""
        return ()

    @property
    def secret(self) -> tuple[str, ...]:
        """The parameters that are not published."""
        return ()

    @property
    def perturbs(self) -> bool:
        """Whether values are changed into others, so that classes of equal rows say nothing of risk."""
        return True

    @property
    def stored(self) -> Literal["map", "rows"] | None:
        """How it runs on an out-of-core table: "map", value to value; "rows", row by row, after a pass that counts;
        None where it does not."""
        return None

    @property
    def draws(self) -> bool:
        """Whether it draws a random number for each row where it works by "rows"."""
        return self.stored == "rows" and not self.pseudonymous

    @property
    def weighs(self) -> bool:
        """Whether what a "map" makes of a value depends on how often all values are there, and not just on which."""
        return False

    def look(self, columns: pl.DataFrame, context: Context) -> Any:
        """What a step that works by "rows" has to know of all of them, from some of them; what is found of others can
        be added to it. `apply` is given the sum as `context.seen`. None where it needs nothing."""
        return None

    @property
    def needs(self) -> tuple[str, ...]:
        """Other columns that it looks at."""
        return ()

    @property
    def own_strata(self) -> bool:
        """Whether it deals with its strata itself, and is given all rows at once."""
        return False

    @property
    def leaves(self) -> str:
        """What it does not protect from, in a sentence."""
        return ""

    @property
    def private(self) -> bool:
        """Whether what it makes is differentially private by itself: it then has a `cost` and an `accounting`, and
        takes every column that is released."""
        return False

    @property
    def pseudonymous(self) -> bool:
        """Whether it gives people pseudonyms, so that `core.masked.PSEUDONYMOUS` is to be said of the table."""
        return False

    def published_parameters(self) -> dict[str, Any]:
        """Its parameters as a manifest tells them: without those that are secret."""
        return {name: value for name, value in self.parameters().items() if name not in self.secret}

    @abstractmethod
    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """The columns anew. Missing values stay missing."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values, as in a policy file: the class makes an equal value of them."""

    @abstractmethod
    def sentence(self) -> str:
        """What it does, in words that are published."""
