"""Sum auditing: F. Chin and G. Ozsoyoglu, "Auditing and inference control in statistical databases", IEEE TSE 8(6),
1982; that it is simulatable: K. Kenthapadi, N. Mishra and K. Nissim, "Simulatable auditing", PODS 2005."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.control.classes import QueryClasses
from sfumato.control.controls.model import OFFLINE, AskedSet, Auditor, QueryModel, Setting
from sfumato.control.intervals import is_narrowed
from sfumato.control.query import MEAN, SUM
from sfumato.control.row_space import RowSpace
from sfumato.core.parameters import Real
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class SumAuditing(QueryModel):
    """Answers sums and means only as long as all answers together determine nobody's value.

    Whether they do depends on the query sets alone, so that a refusal tells nothing. Values may be any numbers: who
    knows bounds of them may narrow a value, unless an interval is stated.

    interval: how wide the range that everybody's value may lie in stays at least, for those who know the bounds that
        the database states; this looks at answers, and needs offline auditing.
    """

    interval: Annotated[float | None, Real(0, above=True)] = None
    audits: ClassVar[frozenset[str]] = frozenset({SUM, MEAN})

    @property
    def carries(self) -> bool:
        """Whether it holds over snapshots."""
        return self.interval is None

    def start(self, setting: Setting) -> SumAuditor:
        """Nothing was answered."""
        if self.interval is None:
            return SumAuditor(setting, None)
        if setting.auditing != OFFLINE or {*setting.values} - {*setting.bounds}:
            what = "an interval is held with bounds of all values, by looking at the answers"
            raise PolicyError(what, hint='give bounds={"wage": (0, 9000)} and auditing="offline"')
        for name, (low, high) in setting.bounds.items():
            if self.interval > high - low:
                what = f'the bounds of "{name}" are narrower than the interval'
                raise PolicyError(what, got=f"{self.interval:g}", allowed=f"up to {high - low:g}")
        return SumAuditor(setting, self.interval)

    def sentence(self) -> str:
        """What it says."""
        wide = "" if self.interval is None else f", nor narrow one below an interval of {self.interval:g}"
        return f"Sums and means together determine nobody's value{wide}."


class SumAuditor(Auditor):
    """The row space of the sums that were answered, for each column."""

    def __init__(self, setting: Setting, interval: float | None) -> None:
        self._people, self._interval, self._bounds = setting.everybody, interval, setting.bounds
        self._columns: dict[str, tuple[QueryClasses, RowSpace]] = {}
        self._values = {name: setting.numbers(name) for name in setting.values} if interval is not None else {}

    def refusal(self, asked: AskedSet) -> str | None:
        """With this sum, somebody's value could be computed."""
        name = asked.query.column
        if asked.query.kind not in SumAuditing.audits or name is None:
            return None
        if name not in self._columns:
            self._columns[name] = QueryClasses(self._people), RowSpace()
        classes, space = self._columns[name]
        parents, inside = classes.split(asked.inside)
        space.widen(parents)
        if space.determined(inside, classes.sizes):
            return f'with what was answered of "{name}", somebody\'s value could be computed'
        if self._interval is not None and space.pending:
            true = np.bincount(classes.of, self._values[name], len(classes.sizes))
            if is_narrowed(space.answered(), classes.sizes, true, self._bounds[name], self._interval):
                return f'with what was answered of "{name}", somebody\'s value would be narrowed too far'
        return None

    def record(self, asked: AskedSet, answer: float) -> None:
        """The sum was answered."""
        if asked.query.kind in SumAuditing.audits and asked.query.column is not None:
            self._columns[asked.query.column][1].keep()

    def update(self, setting: Setting) -> None:
        """Who stays is the same person, whatever has become of the value: to know that it is the same only helps."""
        self._people = setting.everybody
        for classes, space in self._columns.values():
            space.forget()
            classes.grow(self._people)
