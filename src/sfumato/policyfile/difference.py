"""Difference: what changed from one policy to another, a line for each change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.policyfile.dump import dump

ROLES = ("identifying", "quasi", "sensitive", "insensitive", "unprotected")
LISTS = {"require": "model", "mask": "step", "rule": "rule"}  # tables of which there are several, and what names each


@dataclass(frozen=True)
class PolicyChange:
    """A part of a policy that is new, gone or other. `table` is "roles", "require", ...; `name` a column, a model with
    its column, or a key; `before` and `after` are as they stand in the file, None where they do not."""

    table: str
    name: str
    before: str | None
    after: str | None


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[PolicyChange, ...]:
    """What changed, in the order of the tables.

    >>> new = {"roles": {"quasi": ["age"]}, "require": [{"model": "k-anonymity", "k": 5}]}
    >>> for change in difference({"roles": {"sensitive": ["age"]}}, new):
    ...     print(change.table, change.name, change.before, "->", change.after)
    roles age sensitive -> quasi
    require k-anonymity None -> k = 5
    """
    old, new = dict(_parts(before)), dict(_parts(after))
    keys = [*old, *(key for key in new if key not in old)]
    return tuple(PolicyChange(*key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key))


def _parts(policy: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Each part of a policy with its table and name, as text."""
    for table, entries in policy.items():
        if table in LISTS:
            seen: dict[str, int] = {}
            for entry in entries:
                name = " ".join(str(entry[key]) for key in (LISTS[table], "attribute") if key in entry)
                seen[name] = seen.get(name, 0) + 1
                rest = {key: value for key, value in entry.items() if key not in (LISTS[table], "attribute")}
                yield (table, name if seen[name] == 1 else f"{name} ({seen[name]})"), _text(rest)
            continue
        for key, value in entries.items():
            if table == "roles" and key in ROLES:
                for name in dict.fromkeys(n for one in value for n in (one if isinstance(one, list) else [one])):
                    yield (table, name), key
            else:
                yield (table, key), value if isinstance(value, str) else _text({key: value}).partition(" = ")[2]


def _text(entries: Mapping[str, Any]) -> str:
    """Keys and values as TOML, on one line."""
    return ", ".join(dump({"t": entries}).splitlines()[1:])
