"""Confidentiality constraints on fragments: V. Ciriani et al., Combining fragmentation and encryption to protect
privacy in data storage, ACM TISSEC 13(3), 2010."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import polars as pl

from sfumato.core.parameters import ColumnSet, Written, YesNo
from sfumato.core.protocols import Side
from sfumato.core.wording import count, quoted
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.errors import PolicyError

SEALED = r"^[A-Za-z0-9_=-]{40,}$"  # what an encrypted cell is written with


@dataclass(frozen=True)
class Fragmentation(SetModel):
    """No table shows all columns of a constraint, and no column stands in two, so that nothing joins the tables.

    A constraint on a single column forbids it in clear: where it stands, its cells are encrypted, each in its own way.
    All fragments have as many rows. Rows stand sorted by what they show, which the integrity of the files checks.

    Parameters: `constraints`, lists of columns; `associated`, whether a table of pairs of groups joins two fragments
    loosely: k-loose association is a promise of its own.

    >>> Fragmentation([["name", "disease"], ["ssn"]]).sentence()
    'No table shows together: "name" + "disease". No table shows in clear: "ssn". Nothing joins two tables.'
    """

    constraints: Annotated[Any, Written("lists", "column")]
    associated: Annotated[bool, YesNo()] = False

    bounded_by: ClassVar[str] = "constraints"
    side: ClassVar[Side] = "at most"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "constraints", checked(self.constraints, self.model))

    @property
    def bound(self) -> int:
        """No constraint may be broken."""
        return 0

    def parameters(self) -> dict[str, Any]:
        """Its parameters as plain values."""
        return {"constraints": [[*one] for one in self.constraints], "associated": self.associated}

    def sentence(self) -> str:
        """The promise in words."""
        together = [" + ".join(f'"{name}"' for name in one) for one in self.constraints if len(one) > 1]
        clear = [f'"{one[0]}"' for one in self.constraints if len(one) == 1]
        said = [f"No table shows together: {'; '.join(together)}."] if together else []
        said += [f"No table shows in clear: {'; '.join(clear)}."] if clear else []
        joins = "but for pairs of groups nothing joins two tables" if self.associated else "nothing joins two tables"
        return " ".join([*said, joins[0].upper() + joins[1:] + "."])

    def audit(self, published: PublishedSet) -> Finding:
        """What the tables say: how many constraints one of them breaks."""
        fragments, pairs = fragments_of(published)
        if pairs and not self.associated:
            raise PolicyError("groups join fragments, which is not promised to be loose")
        names = [name for one in fragments for name in one.texts.columns]
        if twice := sorted(name for name, often in Counter(names).items() if often > 1):
            raise PolicyError(f"two fragments show {quoted(twice)}, which joins them")
        if len({one.texts.height for one in fragments}) > 1:
            raise PolicyError("the fragments do not have as many rows each")
        broken, notes = 0, []
        for one in self.constraints:
            seen = [table for table in fragments if {*one} <= {*table.texts.columns}]
            if len(one) == 1:
                seen = [table for table in seen if one[0] not in table.columns("encrypted")]
            if seen:
                broken += 1
                notes.append(f'"{seen[0].name}" shows {quoted(one)}')
        for table in fragments:
            for name in table.columns("encrypted"):
                if not sealed(table.texts.get_column(name).cast(pl.String)):
                    raise PolicyError(f'cells of "{name}" are not encrypted, each in its own way')
        return Finding(not broken, broken, 0, broken, "; ".join(notes) or None)


def checked(given: Any, model: str) -> tuple[tuple[str, ...], ...]:
    """Constraints as tuples of columns; a PolicyError where they are no lists of columns."""
    if not isinstance(given, list | tuple) or not given:
        raise PolicyError(f"{model}: constraints must be lists of columns", got=type(given).__name__)
    columns = ColumnSet()
    return tuple(columns(one, f"{model}: constraints") for one in given)


def fragments_of(published: PublishedSet) -> tuple[list[PublishedTable], list[PublishedTable]]:
    """The fragments, and the tables of pairs of groups, of which there is one at most, with two columns and no more."""
    pairs = [one for one in published.tables.values() if len(one.columns("group")) == one.texts.width > 1]
    fragments = [one for one in published.tables.values() if one not in pairs]
    groups = [name for one in fragments for name in one.columns("group")]
    if len(pairs) > 1 or any(one.texts.width != 2 for one in pairs):
        raise PolicyError("more than one table of pairs of groups joins the fragments", got=count(len(pairs), "table"))
    if sorted(groups) != sorted(name for one in pairs for name in one.texts.columns):
        raise PolicyError("groups of the fragments are not those of one table of pairs", got=quoted(groups) or "none")
    if any(len(one.columns("group")) > 1 for one in fragments):
        raise PolicyError("a fragment has groups of two kinds")
    return fragments, pairs


def sealed(cells: pl.Series) -> bool:
    """Whether cells are written as encrypted ones are: all of one length, and no two alike."""
    alike = cells.n_unique() < len(cells) or cells.str.len_chars().n_unique() > 1
    return not alike and not cells.null_count() and bool(cells.str.contains(SEALED).all())
