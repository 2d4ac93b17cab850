"""Protection: which of the ways to protect a table a policy asks for, and which tables of a policy are for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OF_CELLS = ("table", "rule", "protect")  # what a statistical table alone is asked
WRITTEN = ("path", "format", "overwrite")  # what it may be asked of its output


def made_by(tables: Mapping[str, Any]) -> str:
    """What the tables of a policy ask for: "recoding", "masking" or "synthesis". Steps beside promises are for a search
    where its method is named, and for masked rows that keep the promises where it is not.

    >>> made_by({"require": []}), made_by({"mask": [{"step": "rounding"}]}), made_by({"synthesis": {"rows": 10}})
    ('recoding', 'masking', 'synthesis')
    """
    if "synthesis" in tables:
        return "synthesis"
    searched = tables.get("require") and "method" in tables.get("search", {})
    return "masking" if tables.get("mask") and not searched else "recoding"


def row_policy(tables: Mapping[str, Any]) -> dict[str, Any]:
    """What a release of rows is asked, of tables that may be about a statistical table, too.

    >>> row_policy({"input": {"path": "a.csv"}, "roles": {"quasi": ["sex"]}, "table": {"by": ["sex"]}})
    {'input': {'path': 'a.csv'}, 'roles': {'quasi': ['sex']}}
    """
    return {name: table for name, table in tables.items() if name not in OF_CELLS}


def cell_policy(tables: Mapping[str, Any]) -> dict[str, Any]:
    """What a statistical table is asked, as `sfumato tables make` takes it: of hierarchies those of its columns.

    >>> tables = {"input": {"path": "a.csv"}, "roles": {"quasi": ["sex"]}, "table": {"by": ["sex"]}}
    >>> cell_policy(tables | {"hierarchies": {"sex": "flat", "age": "flat"}})
    {'input': {'path': 'a.csv'}, 'table': {'by': ['sex']}, 'hierarchies': {'sex': 'flat'}}
    """
    found = {name: tables[name] for name in ("input", *OF_CELLS) if tables.get(name)}
    by = found.get("table", {}).get("by", ())
    trees = {name: one for name, one in tables.get("hierarchies", {}).items() if name in by}
    output = {name: one for name, one in tables.get("output", {}).items() if name in WRITTEN}
    return found | {name: one for name, one in (("hierarchies", trees), ("output", output)) if one}
