"""Generalisation: values become the labels of a level of their hierarchy (Samarati, Protecting respondents' identities
in microdata release, 2001)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.labels import at_level
from sfumato.core.masked import Change, Context, Fact, MaskStep
from sfumato.core.microdata import microdata
from sfumato.core.parameters import Written, column_names, is_whole, mapping, whole_number
from sfumato.core.printed import as_text, text_column
from sfumato.core.wording import listed, quoted
from sfumato.errors import ColumnError
from sfumato.hierarchies.learned import Learned
from sfumato.hierarchies.spec import parse
from sfumato.release.recode import texts_of_labels


@dataclass(frozen=True)
class Generalisation(MaskStep):
    """Replace values by the labels of a level of their hierarchies.

    columns: {column: level}, or names. levels: one for all columns, or one for each; 1 unless given. Level 0 is the
    values themselves, the last one a single label. hierarchies: {column: hierarchy} as a policy file writes them, such
    as "intervals:5,10"; for all others, the hierarchies of the table.
    """

    columns: Annotated[Any, Written("mapping", "column", needed=True)] = ()
    levels: Annotated[Any, Written("mapping")] = None
    hierarchies: Annotated[Any, Written("mapping", "hierarchies")] = None

    def __post_init__(self) -> None:
        if isinstance(self.columns, Mapping):
            if self.levels is not None:
                raise self.refuse("levels are given twice", hint="give them beside the columns, or by levels=")
            self.settle(levels=dict(self.columns), columns=list(self.columns))
        self.settle(columns=column_names(self.columns, f"{self.name}: columns"))
        super().__post_init__()
        if not self.columns:
            raise self.refuse("it needs columns and their levels", allowed='{"age": 1, "zip": 2}')
        given = 1 if self.levels is None else self.levels
        if is_whole(given):
            given = dict.fromkeys(self.columns, given)
        elif isinstance(given, list | tuple) and len(given) == len(self.columns):
            given = dict(zip(self.columns, given, strict=True))
        if not isinstance(given, Mapping) or {*map(str, given)} != {*self.columns}:
            raise self.refuse("levels must be one for all columns, or one for each", got=type(given).__name__)
        levels = {name: whole_number(given[name], f'{self.name}: level of "{name}"', 0) for name in self.columns}
        self.settle(levels=levels)
        specs = dict(mapping(self.hierarchies, f"{self.name}: hierarchies", self.columns, "the step"))
        for name, spec in specs.items():
            if not isinstance(spec, str | Mapping):
                hint = "give other hierarchies with the table"
                raise self.refuse(f'the hierarchy of "{name}" must be written as in a policy file', hint=hint)
            parse(spec)
        self.settle(hierarchies=specs or None)

    kinds = ("number", "category", "date")
    perturbs = False
    secret = ("hierarchies",)
    stored = "map"

    @property
    def weighs(self) -> bool:
        """A hierarchy may be learned from how often each value is there."""
        own = self.hierarchies or {}
        return any(isinstance(parse(own[name]), Learned) if name in own else True for name in self.columns)

    leaves = "A label that few rows have still stands out, and so may labels of several columns together."

    def sentence(self) -> str:
        """What it does."""
        to = [f'"{name}" to level {level}' for name, level in self.levels.items()]
        return f"values are generalised by their hierarchies: {listed(to)}"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """The label of each value at its level."""
        recipes = {name: self._recipe(name, context) for name in columns.columns}
        micro = microdata(columns, dict.fromkeys(columns.columns, "quasi"), recipes)
        made, facts = [], []
        for attribute in micro.schema:
            name, height, level = attribute.name, attribute.ladder.height, self.levels[attribute.name]
            if level > height:
                raise self.refuse(f'the hierarchy of "{name}" has no such level', got=level, allowed=f"0 to {height}")
            if level == 0:
                made.append(columns.get_column(name))
                continue
            codes = micro.codes[name]
            labels = at_level(attribute, level)
            texts, of = [*texts_of_labels(labels, codes), None], labels.of.astype(np.int64)
            if attribute.categories.missing:
                of = np.append(of[:-1], len(texts) - 1)
            made.append(as_text(text_column(name, texts, of[codes])))
            shown = made[-1].drop_nulls().unique().sort().to_list()
            facts.append(Fact("among", (name,), {"values": shown}))
        return Change(pl.DataFrame(made), facts=tuple(facts))

    def _recipe(self, name: str, context: Context) -> Any:
        given = {**context.hierarchies, **(self.hierarchies or {})}
        if name not in given:
            hint = 'give one, such as "intervals:5,10", "redact:right", "dates:month,year", a file, or "learned"'
            raise ColumnError(f"{self.name}: {quoted([name])} has no hierarchy", hint=hint)
        return parse(given[name])
