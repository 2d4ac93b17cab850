"""register: a criterion, loss, search, hierarchy, masker or generator of one's own, by name wherever a name works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.core.registry import Registry, Variant
from sfumato.criteria import CRITERIA
from sfumato.hierarchies import HIERARCHIES
from sfumato.losses import LOSSES
from sfumato.masking import MASKERS
from sfumato.search import SEARCHES
from sfumato.synthetic import GENERATORS

TABLES: tuple[Registry[Any], ...] = (CRITERIA, LOSSES, SEARCHES, HIERARCHIES, MASKERS, GENERATORS)


def register(name: str, make: Callable[..., Any], *, example: Any, cite: str = "", words: str = "") -> None:
    """Add a criterion, loss, search, hierarchy builder, masker or generator to the table of its kind, for this process.

    What it is follows from the contract that `example` keeps (`sfumato.core.protocols`). A package that is installed
    brings its own by entry point instead, which holds in the shell too; `sfumato.testing` checks both.

    Parameters
    ----------
    name: that of the class in small letters, as "my-criterion" for `MyCriterion`.
    make: a frozen dataclass, or of hierarchies a function that gives a recipe.
    example: a value of it, for lists and tests. cite: the paper it comes from. words: what a report calls it, where
        its name alone would not do.

    Raises
    ------
    PolicyError: the name is taken or does not match, or the example lacks what its contract asks for.
    """
    fitting = [table for table in TABLES if not table.lacking(example)]
    table = (fitting or sorted(TABLES, key=lambda table: -table.present(example)))[0]
    table.add(name, Variant(make, example, cite, words))
