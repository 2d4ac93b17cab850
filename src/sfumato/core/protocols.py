"""The contracts: what a criterion, a loss and a search owe, and what each declares of itself.

Nothing outside asks which criterion, loss or search it is given; it reads what is declared here. A class may extend its
contract and get the defaults, or have the same members by itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sfumato.core.labels import Labels
    from sfumato.core.microdata import Attribute
    from sfumato.core.policy import ClassStatistics
    from sfumato.criteria.audit import Finding, Groups
    from sfumato.search.problem import Problem, Solution

Flags = NDArray[np.bool_]
Monotonicity = Literal["superset", "merge", "none"]
Side = Literal["at least", "at most", "below"]


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
    def about_table(self) -> bool:
        """Whether it is a promise about the table as a whole: then it is a `TableCriterion`."""
        return False

    @abstractmethod
    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it, as a search sees them; a class without rows satisfies nothing."""

    def least_suppressed(self, classes: ClassesView) -> np.ndarray:
        """How many rows of each class any recoding suppresses at least that makes these classes or parts of them.

        Of a class that fails, where the union of satisfying classes satisfies, a row at least."""
        if self.monotonicity == "none":
            return np.zeros(len(classes.size), np.int64)
        return (~self.holds(classes)).astype(np.int64)

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
    def needs(self) -> tuple[str, ...]:
        """The columns whose histograms it looks at, beside those of the criteria."""
        return ()

    @abstractmethod
    def __call__(self, problem: Problem) -> Solution:
        """Search for a recoding that satisfies the policy, or raise Infeasible or PolicyError."""
