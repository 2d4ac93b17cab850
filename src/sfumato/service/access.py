"""Access: which queries, columns and filters a grant allows; decided by the request and what is public alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from sfumato.dp.queries.contingency_table import BINS, ContingencyTable
from sfumato.dp.queries.query import Query
from sfumato.dp.values import Public
from sfumato.errors import SfumatoError
from sfumato.service.policy import GrantTable


class Forbidden(SfumatoError):
    """A grant does not allow what is asked."""


def check_access(query: Query, grant: GrantTable, public: Public) -> None:
    """Refuse what a grant does not allow: kinds of queries, columns, filters, and how many groups there are."""
    kinds = [one.name for one in inner_queries(query)]
    if grant.queries is not None:
        for kind in kinds:
            if kind not in grant.queries and kind != "several":
                raise Forbidden(f"{kind} is not allowed here", allowed=", ".join(grant.queries))
    _check_columns(query.columns, grant.columns, "be asked about")
    filters = grant.columns if grant.filters is None else grant.filters
    _check_columns([one.column for one in query.conditions], filters, "be filtered by")
    if grant.groups is not None:
        wide = max([1, *(_groups(one, public) for one in inner_queries(query))])
        if wide > grant.groups:
            raise Forbidden("the answer has more groups than are allowed", got=f"{wide:,}", allowed=f"{grant.groups:,}")


def _groups(query: Query, public: Public) -> int:
    """How many public groups a query is in; of groups that nobody listed, none are public."""
    by = getattr(query, "by", None)
    if not isinstance(by, tuple) or not all(name in public.bounds or name in public.keys for name in by):
        return 1
    return ContingencyTable(by, getattr(query, "bins", BINS)).size(public)


def _check_columns(asked: Any, allowed: list[str] | None, what: str) -> None:
    for name in asked if allowed is not None else ():
        if name not in (allowed or ()):
            raise Forbidden(f'"{name}" may not {what}', allowed=", ".join(allowed or ()) or "no column")


def inner_queries(query: Any) -> Iterator[Query]:
    """A query, and those that it is made of."""
    yield query
    for field in fields(query) if is_dataclass(query) else ():
        value = getattr(query, field.name)
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, Query):
                yield from inner_queries(one)
