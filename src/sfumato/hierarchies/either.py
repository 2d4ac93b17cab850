"""Either: several hierarchies of one column, of which a release uses one; a value may have several parents so."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated

from sfumato.core.hierarchy import Categories, Hierarchy, HierarchyNote, Recipe, says_codes
from sfumato.core.label_grammar import STAR
from sfumato.core.parameters import Written
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies.file import File
from sfumato.hierarchies.flat import Flat
from sfumato.hierarchies.learned import Learned
from sfumato.hierarchies.redact import Redact
from sfumato.hierarchies.rows import choices_in, rows_of_way, source
from sfumato.hierarchies.tree import TreeRecipe
from sfumato.hierarchies.wide import Wide

MOST = 32  # combinations of the alternatives of all columns: each is searched by itself


@dataclass(frozen=True)
class Either:
    """The alternatives, in the order in which equally good ones are preferred."""

    alternatives: tuple[Recipe, ...]

    def __post_init__(self) -> None:
        if any(isinstance(one, Learned) or getattr(one, "learned", False) for one in self.alternatives):
            what = "either takes hierarchies that are given"
            raise PolicyError(what, got="learned", hint="a column without a hierarchy gets a learned one")
        masks = [(one.side, one.char) for one in self.alternatives if isinstance(one, Redact)]
        if len(set(masks)) < len(masks):
            what = "masks of one side print alike: either takes one redact of each side"
            raise PolicyError(what, got=self.describe(), hint="put all steps into one redact")
        if len(set(map(repr, self.alternatives))) < 2:
            got = ", ".join(one.describe() for one in self.alternatives) or "none"
            hint = "one file is enough where a value has two parents in it"
            raise PolicyError("either takes two different hierarchies or more", got=got, hint=hint)

    @property
    def codes(self) -> bool:
        """Whether digits are no numbers in one of them: then they are in none."""
        return any(map(says_codes, self.alternatives))

    def build(self, categories: Categories) -> Hierarchy:
        """The first of them, which stands for all until a search has chosen."""
        return self.alternatives[0].build(categories)

    def told_by(self, labels: Iterable[str | None], categories: Categories) -> Recipe:
        """The first of them that prints these labels: which was chosen is told by the labels, or not at all.

        What `flat` prints the others print too, and whether a label of theirs is a value is not told: it comes last.
        """
        listed = sorted(self.alternatives, key=lambda one: isinstance(one, Flat))
        shown = {label for label in labels if label is not None and label != STAR}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HierarchyNote)
            return next((one for one in listed if _prints(one, shown, categories)), listed[0])

    def describe(self) -> str:
        """A few words for the manifest."""
        described = list(dict.fromkeys(one.describe() for one in self.alternatives))
        return f"either parent in {described[0]}" if len(described) == 1 else f"either {' or '.join(described)}"


def _prints(recipe: Recipe, labels: set[str], categories: Categories) -> bool:
    if isinstance(recipe, Redact):  # whose masks are as long as the longest value that is released
        return recipe.prints(labels)
    return labels.issubset(label for level in recipe.build(categories).labels for label in level)


def either(*alternatives: Annotated[object, Written("variant", "hierarchies")]) -> Either:
    """Several hierarchies for one column: a release uses the one that loses least, for all rows alike.

    `alternatives`: the hierarchies to choose from.

    Each is a recipe or a short form, as in `hierarchies`. A single file, or a list of edges, in which values have
    several parents gives one for every way up: at each depth all values follow their first parent, or all their second,
    and so on; one that has fewer its last. Of a file in wide form all values follow their first line, or their second.

    >>> either("redact:right", "redact:left").describe()
    'either redact right or redact left'
    >>> zips = [("91412", "9141*"), ("91412", "914*2"), ("9141*", "914**"), ("914*2", "914**")]
    >>> len(either(zips).alternatives)
    2
    """
    from sfumato.hierarchies.spec import parse

    if len(alternatives) == 1 and _is_rows(alternatives[0]):
        return Either(_ways(File(source(alternatives[0], None))))
    found = [parse(one) for one in alternatives]
    if len(found) == 1 and isinstance(found[0], File | TreeRecipe | Wide):
        return Either(_ways(File(found[0].source)))
    return Either(tuple(inner for one in found for inner in (one.alternatives if isinstance(one, Either) else (one,))))


def _is_rows(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str | Path)


def _ways(file: File) -> tuple[Recipe, ...]:
    """The file once for every different way up."""
    rows = file.source.rows()
    choices = choices_in(rows)
    if (ways := prod(choices)) > MOST:
        what = f"{file.source.name} has too many ways up, each of which is searched"
        raise HierarchyError(
            what, got=f"{ways:,}", allowed=f"at most {MOST}", hint="give some of them as files of their own"
        )
    found = {tuple(rows_of_way(rows, way)): File(file.source, way) for way in product(*map(range, choices))}
    return tuple(found.values())
