"""What is checked on every path to a release, before the search and after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sfumato.core.policy import Policy
from sfumato.core.roles import Roles
from sfumato.engines.protocol import Engine
from sfumato.errors import ColumnError, Infeasible, PolicyError, ReadError, did_you_mean
from sfumato.release.verify import Verification
from sfumato.search import search_name
from sfumato.search.problem import Solution


def find_histogram_columns(columns: Collection[str], search: Any, policy: Policy, roles: Roles) -> tuple[str, ...]:
    """The columns whose histograms the criteria or the search need, such as a class attribute."""
    wanted = tuple(search.needs)
    for name in wanted:
        if name not in columns or name in roles.identifying or name in policy.columns:
            raise ColumnError(
                f'{search_name(search)} needs a column "{name}" that is released and not a quasi-identifier',
                hint=did_you_mean(name, columns),
            )
    return tuple(dict.fromkeys((*policy.needs, *wanted)))


def check_weights(store: Engine, name: str | None) -> None:
    """Survey weights: numbers above 0, none missing."""
    if name is not None and not store.positive(name):
        raise ColumnError(f'the weights in column "{name}" must be numbers above 0, with none missing')


def check_size(policy: Policy, rows: int) -> None:
    """No table can have a class larger than itself."""
    for criterion in policy.require:
        if criterion.least_size > rows:
            raise Infeasible(
                f"{type(criterion).__name__} asks for classes of at least {criterion.least_size} rows",
                got=f"a table of {rows}",
                allowed=f"at most {rows}",
                closest={"suppressed": rows},
            )


def check_solution(solution: Solution, search: Any, policy: Policy, rows: int) -> None:
    """Raise Infeasible where a search found nothing that satisfies the policy."""
    if not solution.verdict.satisfied:
        raise Infeasible(
            f"{search_name(search)} found no recoding that satisfies the policy",
            got=f"{solution.verdict.suppressed} of {rows} rows would have to be suppressed",
            allowed=f"at most {min(policy.limit(rows), rows - 1)}",
            hint="allow more suppression, ask for less, or use another search",
            closest={"suppressed": solution.verdict.suppressed},
        )


def distribution(source: Any, name: str) -> dict[str, int]:
    """Printed value to rows in the whole table; the empty string stands for missing."""
    categories = source.attribute(name).categories
    return {(text or ""): int(n) for text, n in zip(categories.text, categories.count, strict=True)}


def trees_of(source: Any, names: Iterable[str]) -> dict[str, Any]:
    """The hierarchies of those attributes of a table that have one."""
    return {name: tree for name in names if (tree := source.attribute(name).hierarchy) is not None}


def refuse_changed(whole: Mapping[str, Mapping[str, int]], released: Mapping[str, Mapping[str, int]]) -> None:
    """Raise a ReadError where released rows have values that the counted rows did not have, or more of them."""
    for name, shown in released.items():
        if any(n > whole[name].get(value, 0) for value, n in shown.items()):
            raise ReadError(f'column "{name}" was changed while the table was read', hint="run it again")


def publishable(
    policy: Policy, whole: Mapping[str, Mapping[str, int]], suppressed: int
) -> dict[str, Mapping[str, int]] | None:
    """The distributions of the whole table that verify needs, or None where they are not to be published.

    With the release they give the suppressed rows away, as one class; and publishing them only where that class
    satisfies the policy would tell, where they are missing, that it does not.
    """
    needed = dict.fromkeys(name for c in policy.require if c.uses_overall_distribution for name in c.needs)
    return None if needed and suppressed else {name: whole[name] for name in needed}


def refuse_hidden(policy: Policy, found: Verification) -> None:
    """Raise a PolicyError where all that is broken are promises against a distribution that may not be published."""
    require: tuple[Any, ...] = policy.require
    against = {c.model: c.bounded_by for c in require if c.uses_overall_distribution}
    models = list(dict.fromkeys(promise.model for promise in found.promises if not promise.holds))
    if models and all(model in against for model in models):
        raise PolicyError(
            f"{' and '.join(models)} {'hold' if len(models) > 1 else 'holds'} against the whole table, "
            "but cannot be shown from the release alone: "
            "the distribution of the whole table would give the suppressed rows away",
            hint=f"set suppression to 0, or ask for a larger {' and '.join(against[model] for model in models)}",
        )
