"""Checks of a privacy model."""

from __future__ import annotations

import itertools
import json
import random
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl

from sfumato.core.cells import Cells, Histogram
from sfumato.core.compiled import workers
from sfumato.core.protocols import BY_CONSTRUCTION, PROVEN, Monotonicity, Side, TableCriterion
from sfumato.core.registry import members
from sfumato.criteria import criterion as by_name
from sfumato.criteria import parse
from sfumato.criteria.known_population import KnownPopulation
from sfumato.criteria.model import CONCENTRATED, SHARES, SIZES
from sfumato.errors import Infeasible, PolicyError
from sfumato.search.lattice.checker import Ladders, NodeChecker
from sfumato.search.lattice.value_limits import stack_limits
from sfumato.testing.classes import (
    FEW,
    NUMBERS,
    WORDS,
    HandMadeClasses,
    Tree,
    Values,
    draw_classes,
    released_side,
    search_side,
)

TRIALS = 40  # of each kind of values


def check_criterion_declaration(criterion: Any) -> None:
    """What it declares has the right types, and its parameters make it again, as a manifest and a shell do."""
    name = type(criterion).__name__
    assert criterion.monotonicity in get_args(Monotonicity), f"{name}: monotonicity is {criterion.monotonicity!r}"
    assert criterion.side in get_args(Side), f"{name}: side is {criterion.side!r}"
    assert isinstance(criterion.needs, tuple), f"{name}: needs is no tuple of column names"
    assert criterion.least_size >= 1, f"{name}: least_size is below 1"
    assert criterion.how in (PROVEN, BY_CONSTRUCTION), f"{name}: how is {criterion.how!r}"
    assert criterion.by_people in (None, SIZES, SHARES, CONCENTRATED), f"{name}: by_people is {criterion.by_people!r}"
    known = criterion.of_population is None or isinstance(criterion.of_population, KnownPopulation)
    assert known, f"{name}: of_population is neither None nor the table of a population"
    assert hash(criterion) is not None
    parameters = criterion.parameters()
    assert json.loads(json.dumps(parameters)) == parameters, f"{name}: parameters are no plain values"
    assert by_name(criterion.model, **parameters) == criterion, f"{name}: its parameters make another value"
    line = [criterion.model]
    for key, value in parameters.items():
        several = [f"{one}={n}" for one, n in value.items()] if isinstance(value, dict) else value
        line += [f"{key}={one}" for one in (several if isinstance(several, list) else [several])]
    assert parse(shlex.join(line)) == criterion, f"{name}: the line of a shell makes another value"
    assert parameters.get(criterion.bounded_by) == criterion.bound, f"{name}: the bound is not {criterion.bounded_by}"
    assert criterion.sentence().endswith("."), f"{name}: the sentence has no full stop"
    lacking = [m for m in members(TableCriterion) if criterion.about_table and not hasattr(criterion, m)]
    assert not lacking, f"{name}: about the table, and lacks {', '.join(lacking)}"


def check_criterion_sides(criterion: Any) -> None:
    """`holds`, which the search asks, and `audit`, which sees released rows, say the same of the same classes."""
    satisfied = 0
    for classes, suppressed, tree in _cases(criterion, "sides"):
        good = criterion.holds(search_side(classes, suppressed, tree, criterion.needs))
        assert good.dtype == np.bool_, f"holds gives {good.dtype}, not bool"
        assert good.shape == (len(classes),), "holds gives no answer per class"
        found = criterion.audit(released_side(classes, suppressed, tree, criterion.needs))
        assert found.bound == criterion.bound, "audit has another bound"
        if criterion.about_table:
            sizes = np.array([len(one) for one in classes])
            assert found.holds == criterion.holds_table(sizes), f"audit and holds_table differ on sizes {sizes}"
            assert criterion.holds_table(np.maximum(sizes, criterion.enough_size)), "enough_size is not enough"
            assert good.all(), "no class alone breaks a promise about the table"
        else:
            assert found.holds == bool(good.all()), f"audit and holds differ on {_shown(classes, suppressed)}"
            assert found.failing_classes == int((~good).sum()), "audit and holds differ on how many classes fail"
        if not criterion.uses_overall_distribution:
            alone = criterion.holds(search_side(classes, criterion.named_values, tree, criterion.needs))
            assert (alone == good).all(), "rows of no class change what holds: it uses the overall distribution"
        satisfied += int(good.sum())
        small = [len(one) for one, ok in zip(classes, good, strict=True) if ok and len(one) < criterion.least_size]
        assert not small, f"least_size is {criterion.least_size}, and a class of {small[:1]} rows satisfies"
    assert satisfied, "no class that was tried satisfies it: check an example that asks for less"


def check_criterion_monotonicity(criterion: Any) -> None:
    """What a search concludes from the declared monotonicity is so."""
    how, by_size = criterion.monotonicity, criterion.monotonicity == "superset" and not criterion.needs
    for classes, others, tree in _cases(criterion, "monotonicity"):
        alone = criterion.holds(search_side(classes, others, tree, criterion.needs))
        if by_size:
            large = np.array([len(one) >= criterion.least_size for one in classes])
            assert (alone == large).all(), "closed under supersets, without needs: holds from least_size rows on"
        for i, j in itertools.combinations(range(len(classes)), 2):
            if how != "none" and (alone[i] and alone[j] if how == "merge" else alone[i] or alone[j]):
                rest = [one for n, one in enumerate(classes) if n not in (i, j)]
                both = [*classes[i], *classes[j]]
                together = criterion.holds(search_side([both, *rest], others, tree, criterion.needs))[0]
                assert together, f'not closed as declared ("{how}"): {_shown([classes[i], classes[j]], others)}'


def check_criterion_suppression(criterion: Any) -> None:
    """No parts of a class that satisfy keep more of its rows than `least_suppressed` leaves."""
    rng = random.Random("suppression")
    for classes, others, tree in _cases(criterion, "suppression"):
        least = criterion.least_suppressed(search_side(classes, others, tree, criterion.needs))
        assert least.shape == (len(classes),), "least_suppressed gives no answer per class"
        for one, rows in zip(classes, least, strict=True):
            assert 0 <= rows <= len(one), f"least_suppressed gives {rows} of {len(one)} rows"
            for _ in range(8):
                left = rng.sample(one, rng.randint(1, len(one)))
                cut = rng.randint(0, len(left))
                parts = [part for part in (left[:cut], left[cut:]) if part]
                rest = (Counter(one) - Counter(left)).elements()
                beside = [*others, *rest, *(value for more in classes if more is not one for value in more)]
                good = criterion.holds(search_side(parts, beside, tree, criterion.needs))
                kept = sum(len(part) for part, ok in zip(parts, good, strict=True) if ok)
                assert kept <= len(one) - rows, f"least_suppressed is {rows} of {_shown([one], others)}"


def check_criterion_limits(criterion: Any) -> None:
    """Limits per value, which the lattice searches check by themselves, say what `holds` and `least_suppressed` do."""
    for classes, others, tree in _cases(criterion, "limits"):
        seen = search_side(classes, others, tree, criterion.needs)
        if not criterion.needs or criterion.value_limits(seen.histogram(criterion.needs[0])) is None:
            return
        by_limits, least_by_limits = hold_to_limits(criterion, seen)
        holds = criterion.holds(seen)
        least = np.where(holds, 0, criterion.least_suppressed(seen))
        assert (by_limits == holds).all(), f"value_limits and holds differ on {_shown(classes, others)}"
        assert (least_by_limits == least).all(), (
            f"value_limits and least_suppressed differ on {_shown(classes, others)}"
        )


def hold_to_limits(criterion: Any, seen: HandMadeClasses) -> tuple[np.ndarray, np.ndarray]:
    """Which classes satisfy the limits of a criterion, and how many rows of each go at least, as a search finds it."""
    name, h = criterion.needs[0], seen.only
    satisfied, least = [], []
    one_label = Ladders(np.zeros(1, np.int32), (np.zeros(1, np.int64),), (np.ones(1, np.int64),), (1,))
    node = np.zeros((1, 1), np.int64)
    for n, begin, end in zip(seen.size.tolist(), h.start, h.start[1:], strict=False):
        run = np.array([0, end - begin]), h.value[begin:end], h.count[begin:end]
        histograms = {name: Histogram(*run, h.overall, h.text)}
        cells = Cells(("q",), np.zeros((1, 1), np.int32), np.array([n]), (1,), histograms)
        limits = stack_limits([criterion], cells, n, 1)
        assert limits is not None, "it has limits, and needs more than one attribute or is about the table"
        checker = NodeChecker(one_label, cells, [0])
        with workers() as pool:
            found, floor = checker.bound(node, checker.prepare(node), 1, n, limits, pool)
        satisfied.append(found[0, 0] == 0)
        least.append(floor[0])
    return np.array(satisfied), np.array(least)


def check_criterion_labels(criterion: Any) -> None:
    """Where what stands for it on labels holds for labels, it holds for the values that they cover."""
    rng = random.Random("labels")
    if criterion.on_labels is None or len(criterion.needs) != 1:
        return
    for classes, others, tree in _cases(criterion, "labels"):
        values = sorted({value for one in (*classes, others) for value in one}, key=str)
        label = {value: rng.choice(values) for value in values}
        blurred = [[label[value] for value in one] for one in classes]
        beside = [label[value] for value in others]
        on_labels = criterion.on_labels.holds(search_side(blurred, beside, tree, criterion.needs))
        on_values = criterion.holds(search_side(classes, others, tree, criterion.needs))
        assert not (on_labels & ~on_values).any(), f"holds for labels, not for values: {_shown(classes, others)}"


def check_criterion_empty_class(criterion: Any) -> None:
    """A class without rows satisfies nothing, and leaves the others as they are."""
    for classes, others, tree in itertools.islice(_cases(criterion, "empty"), 8):
        plain, padded = (search_side(classes, others, tree, criterion.needs) for _ in range(2))
        padded.size = np.insert(padded.size, 0, 0)
        padded.only.start = np.insert(padded.only.start, 0, 0)
        found = criterion.holds(padded)
        assert not found[0], "a class without rows satisfies it"
        assert (found[1:] == criterion.holds(plain)).all(), "a class without rows changes what holds for others"


def check_criterion_release(criterion: Any) -> None:
    """Searches meet it or give a reason, and a saved release is verified by its name in the manifest."""
    import sfumato as sf

    rng, made = random.Random("release"), 0
    for tree, search in itertools.product((WORDS, NUMBERS, FEW), ("optimal", "mondrian", "k-member")):
        if tree is FEW and made:
            break
        rows = 60
        table = {"a": rng.choices("pqrs", k=rows), "b": rng.choices(range(6), k=rows)}
        counts = criterion.of_population is not None
        needs = () if counts else criterion.needs
        columns = {name: rng.choices([v for v in tree if v is not None], k=rows) for name in needs}
        for column in columns.values():
            column[: len(criterion.named_values)] = criterion.named_values
        trees = {name: sf.wide([row for value, row in tree.items() if value in columns[name]]) for name in columns}
        asked, more = criterion, dict[str, Any]()
        if counts:
            more = {"population": pl.concat([pl.DataFrame(table)] * 3)}
            field = next(f.name for f in fields(criterion) if isinstance(getattr(criterion, f.name), KnownPopulation))
            asked = replace(criterion, **{field: more["population"]})
        try:
            found = sf.anonymize(
                pl.DataFrame(table | columns), quasi=["a", "b"], require=asked, search=search,
                hierarchies=trees if criterion.uses_hierarchy else None, rest="release",
            )  # fmt: skip
        except (Infeasible, PolicyError) as no:
            assert str(no)
            continue
        made += 1
        if search == "optimal":
            with tempfile.TemporaryDirectory() as folder:
                saved = sf.verify(found.save(Path(folder) / "out"), **more)
            assert saved.holds, "the saved release does not keep the promise"
            assert [promise.model for promise in saved.promises if promise.model == criterion.model]
    assert made, "no search releases sixty rows under it: check an example that asks for less"


CRITERION_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_criterion_declaration,
    check_criterion_sides,
    check_criterion_monotonicity,
    check_criterion_labels,
    check_criterion_suppression,
    check_criterion_limits,
    check_criterion_empty_class,
    check_criterion_release,
)


def _cases(criterion: Any, seed: str) -> Iterator[tuple[list[list[str | None]], list[str | None], Tree]]:
    """Classes, rows beside them, and the hierarchy of the values: words, then numbers unless the model refuses them."""
    rng, taken = random.Random(seed), 0
    for tree in (WORDS, NUMBERS):
        levels = len(next(iter(tree.values())))
        known = {**{value: [value] * (levels - 1) + ["*"] for value in criterion.named_values}, **tree}
        for _ in range(TRIALS):
            classes = draw_classes(rng, known, min(criterion.least_size, 30))
            others = [*rng.choices(list(known), k=rng.randint(0, 5)), *criterion.named_values]
            try:
                criterion.holds(search_side(classes, others, known, criterion.needs))
            except PolicyError:
                continue
            taken += 1
            yield classes, others, known
    assert taken, "it refuses words and numbers as sensitive values"


def _shown(classes: Sequence[Values], others: Values) -> str:
    return f"classes {[list(one) for one in classes]} in a table with {list(others)} beside"
