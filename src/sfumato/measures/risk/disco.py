"""DiSCO: disclosive in the synthetic table, and correct in the original.

G. M. Raab, B. Nowok, C. Dibben, Practical privacy metrics for synthetic data, 2024.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sfumato.core.keys import number_tuples, tally
from sfumato.core.parameters import checked, column_name, known_columns
from sfumato.core.wording import percent
from sfumato.errors import PolicyError
from sfumato.measures.arguments import ORIGINAL, QUASI, TABLE, TARGET
from sfumato.measures.measure import Measure, wilson
from sfumato.measures.risk.synthetic_tables import SyntheticTables, keyed

LEVELS, DOMINANT = 5, 0.1  # how many values of a column are named, and which share of the records each has at least


@checked
def disco(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    quasi: Annotated[Any, QUASI] = (),
    target: Annotated[Any, TARGET] = None,
    *,
    hold_out: Annotated[Any, TABLE] = None,
) -> Measure:
    """The share of the real records whose target the synthetic table tells for sure, and tells right.

    A record counts where its keys occur in the synthetic table with one value of the target only, and that value is
    the record's own. The baseline is the same share of the rows of `hold_out`: what is told of people whom the model
    never saw is a fact about people, and no copy.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it.
    quasi
        The keys: the columns that others may know of a person.
    target
        The column that they would learn. Values count as equal or not: put numbers of many values into groups first.
    hold_out
        Real rows of the same kind that the model never saw.

    Returns
    -------
    A Measure. `details`: how many records are `disclosed`; the share that would be by the `original` itself; how many
    have keys that the synthetic table has (`met`), with one target only (`certain`); and `dominant`: by column the
    values that at least a tenth of the disclosed records have, with the number of these and of all records. Where one
    value of the target dominates, guessing it would tell as much. These are figures about the original: for its owner
    only.

    Examples
    --------
    >>> real = {"age": [30, 30, 41, 52], "ill": ["flu", "flu", "flu", "no"]}
    >>> disco(real, {"age": [30, 41, 52], "ill": ["flu", "no", "no"]}, ["age"], "ill").value
    0.75
    """
    tables, names = keyed(original, synthetic, hold_out, quasi)
    if target is None:
        raise PolicyError("DiSCO needs the target: the column that others would learn of a person")
    column_name(target, "target")
    for table in tables.tables:
        known_columns((target,), table.columns)
    if target in names:
        raise PolicyError("the target must be none of the keys", got=f'"{target}"')
    of, real, drawn = tables.counts(names)
    told = tables.column(target)
    pair, pairs = number_tuples([of, told.code], [np.arange(len(real)), np.arange(told.size)], tables.rows)
    mine, theirs, *others = tables.parts(pair)
    with_drawn, with_real = tally(theirs, pairs)[pair], tally(mine, pairs)[pair]
    # all synthetic rows of the key have this target, and there is one at least
    certain = (with_drawn == drawn[of]) & (with_drawn > 0)
    hit, rows = tables.parts(certain)[0], len(mine)
    count, at = int(hit.sum()), tables.parts(of)[0]
    shown = np.zeros(len(real), np.bool_)  # keys with one target only, whichever
    shown[tables.parts(of)[1][tables.parts(certain)[1]]] = True
    own = tables.parts(with_real == real[of])[0]
    details: dict[str, Any] = {
        "quasi": list(names),
        "target": target,
        "rows": rows,
        "disclosed": count,
        "original": float(own.mean()),
        "met": int((drawn > 0)[at].sum()),
        "certain": int(shown[at].sum()),
        "dominant": {name: _dominant(tables, name, hit) for name in (target, *names)},
    }
    baseline, beside = None, ""
    if others:
        baseline = float(tables.parts(certain)[2].mean())
        beside = f", of those that the model never saw {percent(baseline)}"
    sentence = (
        f'From the quasi-identifiers the synthetic table tells "{target}" of {count:,} of {rows:,} real records '
        f"({percent(count / rows)}) for sure, and right{beside}; the original itself would of {percent(own.mean())}."
    )
    return Measure("disco", count / rows, (0.0, 1.0), sentence, wilson(count, rows), baseline, details)


def _dominant(tables: SyntheticTables, name: str, hit: np.ndarray) -> list[dict[str, Any]]:
    """The values of a column that most disclosed records have."""
    column = tables.column(name)
    code = tables.parts(column.code)[0]
    among, every = tally(code[hit], column.size), tally(code, column.size)
    most = np.argsort(-among, kind="stable")[:LEVELS]
    least = max(1.0, DOMINANT * float(hit.sum()))
    return [
        {"value": column.text[i], "disclosed": int(among[i]), "rows": int(every[i])} for i in most if among[i] >= least
    ]
