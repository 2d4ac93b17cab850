"""Maximum-order control: D. Denning, Cryptography and Data Security, Addison-Wesley 1982, section 6.4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sfumato.control.controls.model import AskedSet, QueryModel
from sfumato.core.parameters import Whole
from sfumato.core.wording import count


@dataclass(frozen=True)
class QueryOrder(QueryModel):
    """Answers only formulas over few attributes, so that they do not single people out.

    most: attributes in a formula, at most; the column of a sum is none of them.
    """

    most: Annotated[int, Whole(0)]

    def refusal(self, asked: AskedSet) -> str | None:
        """The formula has too many attributes."""
        return None if len(asked.query.where.columns) <= self.most else f"a formula has at most {self._most}"

    @property
    def _most(self) -> str:
        return count(self.most, "attribute")

    def sentence(self) -> str:
        """What it says."""
        return f"A formula has at most {self._most}."
