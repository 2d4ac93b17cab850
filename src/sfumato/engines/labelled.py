"""A released table whose numbers are written as numbers, by its labels: as it is counted, verified and copied."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.printed import printed_frame
from sfumato.core.progress import Progress
from sfumato.engines.numbers import NumberForms
from sfumato.engines.protocol import COUNT, LABEL, Plan

EVERY = 1 << 40  # tuples: a database would not count to more


def labelled(table: Any, forms: NumberForms) -> Any:
    """What was written, by its labels; as it is where all of them were written."""
    return Labelled(table, forms) if forms.form else table


class Labelled:
    """A table that was written in some forms. What is not about columns is asked of the table itself."""

    def __init__(self, table: Any, forms: NumberForms) -> None:
        self.table, self.forms = table, forms

    def __getattr__(self, name: str) -> Any:
        return getattr(self.table, name)

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order: labels are texts."""
        return dict(self.forms.read(pl.DataFrame(schema=self.table.schema())).schema)

    def count(self, columns: Sequence[str], report_progress: Progress, most: int = sys.maxsize) -> pl.DataFrame:
        """The distinct tuples of columns, and in `COUNT` how many rows have them."""
        found = self.table.count(self._counted(columns), report_progress, most)
        return self.forms.some(columns).read(found).select(*columns, COUNT)

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        found: list[int] = self.table.singled([self._counted(names) for names in sets])
        return found

    def fingerprint(self, secret: bytes | None) -> str | None:
        """A keyed fingerprint of what was written."""
        found: str | None = self.table.fingerprint(secret)
        return found

    def faults(self, report_progress: Progress, most: int) -> list[str]:
        """What is wrong with drawn values."""
        drawn = {name: self.forms.names(name) for name, form in self.forms.form.items() if form == "draw"}
        there = self.table.schema()
        whole = [names for names in drawn.values() if all(name in there for name in names)]
        return [f for names in whole for f in self.forms.faults(self.table.count(names, report_progress, most))]

    def recode(self, plan: Plan, file: Path, format: str, report_progress: Progress) -> Any:
        """Write a copy: labels are read off what was written, and written again in the same forms."""
        keys = self._counted(self.forms.form)
        found = self.table.count(keys, report_progress, EVERY).drop(COUNT)
        # the labels of a tuple, beside its values as they are matched
        labels = printed_frame(self.forms.some(self.forms.form).read(found)).select(pl.all().name.prefix(LABEL))
        unchanged = tuple(name for name in plan.columns if name not in self.forms.form)
        given = replace(plan, keys=tuple(keys), unchanged=unchanged, cells=pl.concat([found, labels], how="horizontal"))
        return labelled(self.table.recode(given, file, format, report_progress), self.forms)

    def _counted(self, columns: Sequence[str] | Any) -> list[str]:
        return [written for name in columns for written in self.forms.counted(name)]
