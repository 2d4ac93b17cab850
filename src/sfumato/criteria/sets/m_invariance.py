"""m-invariance over releases: X. Xiao, Y. Tao, m-Invariance: towards privacy preserving re-publication, SIGMOD 2007."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.core.parameters import Column, Whole
from sfumato.core.protocols import BY_CONSTRUCTION, Side
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.m_uniqueness import MUniqueness
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet


@dataclass(frozen=True)
class MInvariance(SetModel):
    """In all releases of a series a person is in groups of the same values: no table shows it, for who is who is not
    published, so that it holds by how the releases are made.

    What a release can refute, it is held to: without m-uniqueness there is no m-invariance.

    Parameters: `attribute`, the sensitive column; `m`, a whole number from 2.

    >>> MInvariance("disease", 3).how
    'by construction'
    """

    attribute: Annotated[str, Column("sensitive column")]
    m: Annotated[int, Whole(2)]

    bounded_by: ClassVar[str] = "m"
    side: ClassVar[Side] = "at least"

    @property
    def how(self) -> str:
        """No table shows it."""
        return BY_CONSTRUCTION

    def sentence(self) -> str:
        """The promise in words."""
        known = "Whoever knows in which releases of the series a person is, and in which group of each, learns no value"
        return f'{known} of "{self.attribute}" with a share above 1/{self.m} from all of them together.'

    def audit(self, published: PublishedSet) -> Finding:
        """Nothing is measured: only what would refute it is looked for."""
        found = MUniqueness(self.attribute, self.m).audit(published)
        note = None if found.holds else "it is not m-unique"
        return Finding(found.holds, None, self.m, found.failing_classes, note)
