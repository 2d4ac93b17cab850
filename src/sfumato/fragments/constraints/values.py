"""Confidentiality constraints as they are given, checked: V. Ciriani, S. De Capitani di Vimercati, S. Foresti, S.
Jajodia, S. Paraboschi, P. Samarati, Combining fragmentation and encryption to protect privacy in data storage, ACM
TISSEC 13(3), 2010."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from sfumato.core.parameters import is_whole
from sfumato.core.wording import count, quoted
from sfumato.errors import PolicyError, did_you_mean

Constraint = tuple[str, ...]
SHAPE = 'a list of lists of columns, such as [["name", "disease"], ["ssn"]]'


def constraints_of(given: Any, columns: Sequence[str]) -> tuple[Constraint, ...]:
    """The constraints on the columns of a table; a PolicyError with all that is wrong with them.

    >>> constraints_of([["zip", "name"], ["ssn"]], ["name", "zip", "ssn"])
    (('name', 'zip'), ('ssn',))
    """
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise PolicyError("constraints must list sets of columns", got=type(given).__name__, allowed=SHAPE)
    found: list[Constraint] = []
    faults: list[str] = []
    for number, one in enumerate(given):
        where = f"constraints.{number}"
        names = [one] if isinstance(one, str) else list(one) if isinstance(one, Sequence | set | frozenset) else None
        if names is None or not names or not all(isinstance(name, str) for name in names):
            faults.append(f"{where}: no list of columns")
            continue
        if not all(names):
            faults.append(f"{where}: the name of a column is empty")
            continue
        if twice := [name for name, often in Counter(names).items() if often > 1]:
            faults.append(f"{where}: {quoted(twice)} stands in it twice")
        if unknown := [name for name in dict.fromkeys(names) if name not in columns]:
            hints = [hint for name in unknown if (hint := did_you_mean(name, columns))]
            faults.append(f"{where}: the table has no {quoted(unknown)}" + "".join(f"; {hint}" for hint in hints))
        found.append(tuple(name for name in columns if name in names))
    sets = [frozenset(one) for one in found]
    for i, j in permutations(range(len(sets)), 2):
        if sets[i] < sets[j]:
            faults.append(
                f"the constraint on {quoted(found[j])} includes that on {quoted(found[i])}: the larger one is "
                "redundant, leave it out"
            )
        elif sets[i] == sets[j] and i < j:
            faults.append(f"the constraint on {quoted(found[i])} is given twice")
    if faults:
        raise PolicyError(f"the constraints have {count(len(faults), 'fault')}:", faults)
    if {*columns} <= {one[0] for one in found if len(one) == 1}:
        raise PolicyError(
            "every column is constrained by itself, so that none can be seen", got=count(len(columns), "column")
        )
    return tuple(found)


def sizes_of(k: Any) -> tuple[int, int] | None:
    """The sizes of groups, as even as can be, whose product is k; a pair is taken as it is.

    >>> sizes_of(12), sizes_of(7), sizes_of([3, 2]), sizes_of(None)
    ((3, 4), (1, 7), (3, 2), None)
    """
    if k is None:
        return None
    if is_whole(k) and k >= 2:
        one = max(i for i in range(1, int(k**0.5) + 1) if k % i == 0)
        return one, int(k) // one
    if isinstance(k, Sequence) and len(k) == 2 and all(is_whole(n) and n >= 1 for n in k) and k[0] * k[1] >= 2:
        return int(k[0]), int(k[1])
    raise PolicyError("k must be a number of associations, or the sizes of groups in two fragments", got=repr(k)[:50],
                      allowed="a whole number from 2, or two such as [2, 3]")  # fmt: skip
