"""Population uniqueness: F. Dankar et al., Estimating the re-identification risk of clinical data sets, BMC 2012."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.enough_rows import EnoughRows
from sfumato.criteria.model import SMALLEST_FRACTION, TOLERANCE, Classes, Closed, Flags, Model, check_choice, check_real
from sfumato.criteria.population import ESTIMATORS
from sfumato.criteria.released_uniqueness import RELEASED_UNIQUENESS


@dataclass(frozen=True)
class PopulationUniqueness(Model):
    """At most a share t of the population that the records were drawn from is estimated to be unique in it.

    The estimate is made from the class sizes of the release: by Pitman's model, Zayatz's, the slide negative binomial
    ("snb"), or by Dankar's rule, which takes Pitman up to a sampling fraction of 0.1 and the smaller of the other two
    above. It is a promise about the table as a whole, and neither merging nor leaving out records must lower it. A
    release in which nobody stands alone is estimated at 0; where the model has no solution the promise is broken.

    Parameters: `t`, from 0 to 1; `sampling_fraction`, the share of the population that is in the table, above 0 and at
    most 1; `estimator`.

    >>> PopulationUniqueness(0.01, 0.1).parameters()
    {'t': 0.01, 'sampling_fraction': 0.1, 'estimator': 'dankar'}
    """

    t: float
    sampling_fraction: float
    estimator: str = "dankar"

    closed: ClassVar[Closed] = "none"
    bounded_by: ClassVar[str] = "t"

    def __post_init__(self) -> None:
        check_real(self, "t", 0, 1)
        check_real(self, "sampling_fraction", SMALLEST_FRACTION, 1)
        check_choice(self, "estimator", tuple(ESTIMATORS))

    @property
    def enough_size(self) -> int:
        """A table whose classes all have at least so many records satisfies it."""
        return 2

    @property
    def enough(self) -> EnoughRows:
        """What stands for it where a search looks at one class at a time."""
        return EnoughRows(self)

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f"At most {self.t * 100:g}% of the population is estimated to be unique in it, with "
            f"{self.sampling_fraction * 100:g}% of the population in the table ({self.estimator})."
        )

    def holds(self, classes: Classes) -> Flags:
        """No class alone breaks it."""
        found: Flags = classes.size > 0
        return found

    def holds_table(self, sizes: np.ndarray) -> bool:
        """Whether a table of classes of these sizes satisfies it."""
        return len(sizes) > 0 and ESTIMATORS[self.estimator](sizes, self.sampling_fraction) <= self.t + TOLERANCE

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the estimated share of the population that is unique."""
        table = groups.sizes.get_column("size").value_counts(name="classes").sort("size")
        counts = dict(table.iter_rows())
        share = RELEASED_UNIQUENESS[self.estimator](counts, self.sampling_fraction)
        if math.isnan(share):
            return Finding(False, None, self.t, 0, f"the model {self.estimator} has no solution for these class sizes")
        return Finding(share <= self.t + SLACK, rounded(share), self.t, 0)
