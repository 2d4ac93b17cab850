"""What the owner of a statistical table states of its cells: the rules, and the contributors whose view was tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.core.parameters import Declared, Whole
from sfumato.core.protocols import STATED, Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class StatedCells(SetModel):
    """What rules say of cells was tried on the contributions behind them, which are not published.

    Cells that are unsafe by a rule are hidden, and no attacker narrows them further than it allows: nobody outside, and
    no contributors who are all of a cell, and know it. Where the largest contributions were given, and none is below
    zero, it was also tried what those find who know that a cell is no less than what they have in it.

    Parameters: `rules`, what each rule says; `coalition`, how many contributors who are all of a cell were tried, 0 for
    none.

    >>> StatedCells(["Cells have 3 people."], 1).sentence()
    'Of every cell that is not hidden: Cells have 3 people. Nobody who is alone in a cell learns another unsafe one.'
    """

    rules: Annotated[Sequence[str], Declared()]
    coalition: Annotated[int, Whole(0)] = 1

    bounded_by: ClassVar[str] = "coalition"
    side: ClassVar[Side] = "at least"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rules, str) or not self.rules or not all(isinstance(one, str) for one in self.rules):
            raise PolicyError("rules has a sentence for each rule")
        object.__setattr__(self, "rules", tuple(self.rules))

    @property
    def how(self) -> str:
        """Its owner alone can show it."""
        return STATED

    def sentence(self) -> str:
        """The promise in words."""
        many = f"No {count(self.coalition, 'contributor')} who are all of a cell learn another unsafe one."
        who = {0: "", 1: " Nobody who is alone in a cell learns another unsafe one."}.get(self.coalition, f" {many}")
        return f"Of every cell that is not hidden: {' '.join(self.rules)}{who}"

    def audit(self, published: PublishedSet) -> Finding:
        """Nothing: the published table does not have the contributions."""
        return Finding(True, None, self.coalition, 0)
