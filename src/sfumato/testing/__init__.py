"""The conformance suite: what every criterion, loss, search, masker, generator and hierarchy must keep, ours and those
of other packages.

Sfumato trusts what a variant declares of itself: a search prunes by the monotonicity of a criterion and by the bound
of a loss. The checks here find a variant that declares what is not so. They need nothing beside Sfumato, draw their
cases from fixed seeds, and raise an AssertionError that says what was found.

>>> import sfumato as sf
>>> check_criterion(sf.KAnonymity(3))

In a test file of pytest, one test per check:

    @parametrize_with_checks(MyCriterion("disease", 3), MyLoss(), MySearch())
    def test_conformance(check):
        check()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from sfumato.core.registry import Registry, Variant
from sfumato.criteria import CRITERIA
from sfumato.hierarchies import HIERARCHIES
from sfumato.losses import LOSSES
from sfumato.masking import MASKERS
from sfumato.search import SEARCHES
from sfumato.synthetic import GENERATORS
from sfumato.testing.criteria import CRITERION_CHECKS
from sfumato.testing.generators import GENERATOR_CHECKS
from sfumato.testing.hierarchies import HIERARCHY_CHECKS, check_hierarchy
from sfumato.testing.losses import LOSS_CHECKS
from sfumato.testing.maskers import MASKER_CHECKS
from sfumato.testing.parameters import check_variant_parameters
from sfumato.testing.searches import SEARCH_CHECKS
from sfumato.verbs.register import register

__all__ = [
    "check_criterion",
    "check_generator",
    "check_hierarchy",
    "check_loss",
    "check_masker",
    "check_search",
    "check_variant_parameters",
    "checks_of",
    "parametrize_with_checks",
    "registered",
]

Check = Callable[..., None]
KINDS: tuple[tuple[Registry[Any], tuple[Check, ...]], ...] = (
    (CRITERIA, CRITERION_CHECKS),
    (LOSSES, LOSS_CHECKS),
    (SEARCHES, SEARCH_CHECKS),
    (MASKERS, MASKER_CHECKS),
    (GENERATORS, GENERATOR_CHECKS),
    (HIERARCHIES, HIERARCHY_CHECKS),
)


def check_criterion(criterion: Any) -> None:
    """Whether a privacy model is what it declares: the same to search and audit, as monotone as it says."""
    _run(criterion, CRITERIA)


def check_loss(loss: Any) -> None:
    """Whether a loss is what it declares: it never falls under generalisation, so that searches may prune by it."""
    _run(loss, LOSSES)


def check_search(search: Any) -> None:
    """Whether a search is what it declares: what it finds satisfies the policy, and is as good as it says."""
    _run(search, SEARCHES)


def check_masker(step: Any) -> None:
    """Whether a masker keeps its contract: it repeats with its key, and changes and states what it says."""
    _run(step, MASKERS)


def check_generator(generator: Any) -> None:
    """Whether a generator keeps its contract: rows as asked, of the table's columns, types and domains, in no order."""
    _run(generator, GENERATORS)


def checks_of(value: Any, kind: str | None = None) -> list[Callable[[], None]]:
    """All checks of a criterion, loss, search, masker, generator or recipe of a hierarchy, each to be called without
    arguments. `kind` is one of "criteria", "losses", "searches", "maskers", "generators" and "hierarchies", for a value
    that is of several."""
    for table, checks in KINDS:
        if kind in (None, table.kind) and not table.lacking(value):
            known = [partial(check_registered, table, value), partial(check_declared, table, value)]
            known = [] if table is HIERARCHIES else known  # whose functions have the names, and not what they give
            return [*known, *(partial(check, value) for check in checks)]
    lacking = "; ".join(f"as a {table.what} it lacks {', '.join(table.lacking(value))}" for table, _ in KINDS)
    raise AssertionError(f"{type(value).__name__} keeps no contract: {lacking}")


def parametrize_with_checks(*values: Any, kind: str | None = None) -> Any:
    """A decorator for pytest: the test gets every check of every value as its argument `check`, and calls it."""
    import pytest

    cases = [(value, check) for value in values for check in checks_of(value, kind)]
    names = [f"{type(value).__name__}-{_name(check)}" for value, check in cases]
    return pytest.mark.parametrize("check", [check for _, check in cases], ids=names)


@contextmanager
def registered(make: Callable[..., Any], example: Any) -> Iterator[None]:
    """A variant that is known by name within the block only."""
    variant: Variant[Any] = Variant(make, example)
    register(variant.name, make, example=example)
    try:
        yield
    finally:
        for table, _ in KINDS:
            if table.name_of(example) == variant.name:
                table.remove(variant.name)


def check_registered(table: Registry[Any], value: Any) -> None:
    """It is known by its name, and its row keeps the contract."""
    name = table.name_of(value)
    assert name is not None, f"{type(value).__name__} is no {table.what} by name: use sf.register or an entry point"
    faults = [] if name == "auto" else table.faults(name, table[name])
    assert not faults, "; ".join(faults)


def check_declared(table: Registry[Any], value: Any) -> None:
    """Its parameters are declared, so that lists and forms can show them, and hold it to what they say."""
    name = table.name_of(value)
    if name is not None:
        check_variant_parameters(table[name])


def _run(value: Any, table: Registry[Any]) -> None:
    lacking = table.lacking(value)
    assert not lacking, f"{type(value).__name__} as a {table.what} lacks {', '.join(lacking)}"
    for check in checks_of(value, table.kind):
        check()


def _name(check: Any) -> str:
    while isinstance(check, partial):
        check = check.func
    return str(check.__name__).removeprefix("check_")
