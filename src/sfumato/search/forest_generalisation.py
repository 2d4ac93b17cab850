"""Forest generalisation, an O(k)-approximation. Aggarwal et al., Approximation algorithms for k-anonymity, 2005."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import PolicyError
from sfumato.kernels.suppression_merge import nearest_by_boxes
from sfumato.losses import LM, NCP, Precision
from sfumato.search.boxes import Space, boxes
from sfumato.search.forest_suppression import forest
from sfumato.search.problem import Problem, Solution, by_class, judge
from sfumato.search.suppression_cells import mended, refuse, single_rows


@dataclass(frozen=True)
class ForestGeneralisation:
    """Join each row to its nearest ones, cut the trees small, and generalise each tree to one label (CG_, heuristic).

    The forest of forest-suppression, where two rows are as far apart as the labels that both stand under lose: the
    lowest common node of a category with a hierarchy, else the range of values (`labels="hierarchy"`: nodes for all).
    Loss is LM, NCP or precision as the policy has it, else LM, with its weights, summed over the columns. Under
    k-anonymity that sum is at most max(2k - 1, 3k - 5) times the least that classes with such labels can have, in
    each block of 4096 rows.

    Classes that fail another criterion are united with the nearest. No rows are suppressed.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True
    labels: str = "range"

    def __post_init__(self) -> None:
        if self.labels not in ("range", "hierarchy"):
            raise PolicyError(
                "forest-generalisation: unknown labels", got=repr(self.labels), allowed="range, hierarchy"
            )

    def __call__(self, problem: Problem) -> Solution:
        """Grow and cut a forest in each block of rows."""
        began = time.perf_counter()
        problem = by_class(problem)
        refuse(problem, "forest-generalisation")
        least = problem.policy.least_size
        fine, split = single_rows(problem, 3 * least)
        loss = problem.policy.loss if isinstance(problem.policy.loss, LM | NCP | Precision) else LM()
        space = Space(problem.attributes, loss, self.labels)
        points = space.points(fine)
        of = forest(fine, points, least, *space.arrays)

        def nearest(of: np.ndarray, size: np.ndarray, failing: np.ndarray) -> np.ndarray:
            return np.asarray(nearest_by_boxes(*boxes(points, of), size, failing, *space.arrays))

        partition = space.partition(points, mended(fine, of, nearest), split)
        seconds = time.perf_counter() - began
        labels = [partition.labels[a.name] for a in problem.attributes]
        columns = [(label, label.of[partition.of_cell]) for label in labels]
        kept, verdict, _ = judge(fine, columns)
        return Solution(partition, verdict, kept, False, len(fine.cells), seconds)
