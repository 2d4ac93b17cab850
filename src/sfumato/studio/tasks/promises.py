"""The promises of a project, checked on its table as it is, before anything is blurred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import roll_up
from sfumato.core.microdata import Microdata, microdata
from sfumato.core.policy import Policy
from sfumato.core.protocols import PROVEN
from sfumato.errors import PolicyError
from sfumato.policyfile.protection import made_by
from sfumato.search.problem import counted
from sfumato.studio.tasks.table import checked, draft_of, rows_of


def check(asked: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """Each promise with its sentence, how many classes and rows break it now, and what the worst class achieves.

    Faults of the policy, where it has any, come instead.
    """
    progress("reading", None)
    draft = draft_of(asked)
    try:
        _, policy = checked(draft, made_by(draft.tables))
    except PolicyError as error:
        return {"faults": list(error.faults) or [str(error)], "promises": [], "sampled": False}
    table = rows_of(draft)
    progress("checking the promises", None)
    found = as_it_is(table.frame, Policy(policy.roles.quasi, policy.require), policy.hierarchies)
    return {"faults": [], "promises": found, "sampled": table.sampled}


def as_it_is(frame: pl.DataFrame, policy: Policy, hierarchies: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the rows of a table say of each criterion, on the set of quasi-identifiers where it is worst."""
    from sfumato.release.request import distribution, hierarchies_of, recipes_of
    from sfumato.release.verify import verify_table

    named = dict.fromkeys((*policy.columns, *policy.needs), "sensitive")  # no order is learned of any
    along = [name for c in policy.require if c.uses_hierarchy for name in c.needs]
    recipes = recipes_of(frame, {name: one for name, one in hierarchies.items() if name in along}, ())
    micro = microdata(frame, named, recipes)
    overall = {name: distribution(micro, name) for name in policy.needs}
    found = []
    for criterion in policy.require:
        sets = [names for names in policy.quasi if criterion.quasi in (None, names)]
        if criterion.how != PROVEN:
            found.append(_described(criterion, sets) | {"holds": None, "how": criterion.how})
            continue
        seen = verify_table(frame, sets, (criterion,), whole=overall, hierarchies=hierarchies_of(micro, along))
        broken = [_broken(micro, criterion, names) for names in sets]
        worst = max(range(len(sets)), key=lambda i: (not seen.promises[i].holds, broken[i]["broken_rows"]))
        promise = seen.promises[worst]
        found.append(
            _described(criterion, [sets[worst]])
            | {"holds": promise.holds, "measured": promise.measured, "how": criterion.how}
            | broken[worst]
        )
    return found


def _described(criterion: Any, sets: Sequence[Sequence[str]]) -> dict[str, Any]:
    from sfumato.report.explanation import in_plain_words

    quasi = list(sets[0]) if sets else []
    said = {"model": criterion.model, "parameters": criterion.parameters(), "sentence": criterion.sentence()}
    return {
        **said,
        "sentence": in_plain_words({**said, "quasi": quasi}),
        "quasi": quasi,
        "bound": criterion.bound,
        "side": criterion.side,
    }


def _broken(micro: Microdata, criterion: Any, names: Sequence[str]) -> dict[str, int | None]:
    """How many classes, and rows in them, break a criterion; no class alone breaks one about the whole table."""
    cells, _ = counted(micro, names, criterion.needs)
    classes = roll_up(cells, [np.arange(size) for size in cells.sizes], range(len(names)))
    fails = np.zeros(len(classes.size), np.bool_) if criterion.about_table else ~criterion.holds(classes)
    return {
        "classes": len(classes.size),
        "broken_classes": int(fails.sum()),
        "rows": micro.rows,
        "broken_rows": int(classes.size[fails].sum()),
    }
