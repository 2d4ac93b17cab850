"""Access: which queries, columns and filters a grant allows; decided by the request and what is public alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from sfumato.control.query import SetQuery
from sfumato.dp.queries.clipped import with_clipped
from sfumato.dp.queries.query import Part, Query
from sfumato.dp.values import Public, Unit
from sfumato.errors import SfumatoError
from sfumato.service.policy import GrantTable


class Forbidden(SfumatoError):
    """A grant does not allow what is asked."""


def check_access(query: Query, grant: GrantTable, public: Public, unit: Unit, clipped: bool = False) -> None:
    """Refuse what a grant does not allow: kinds of queries, columns, filters, and how many numbers an answer has, with
    that of what was clipped."""
    kinds = [one.name for one in inner_queries(query)]
    if grant.queries is not None:
        for kind in kinds:
            if kind not in grant.queries and kind != "several":
                raise Forbidden(f"{kind} is not allowed here", allowed=", ".join(grant.queries))
    _check_columns(query.columns, grant.columns, "be asked about")
    filters = grant.columns if grant.filters is None else grant.filters
    _check_columns([one.column for one in query.conditions], filters, "be filtered by")
    if grant.groups is not None:
        wide = sum(_numbers(part) for part in with_clipped(query, clipped).parts(public, unit))
        if wide > grant.groups:
            what = "the answer has more numbers than are allowed"
            raise Forbidden(what, got=f"{wide:,}", allowed=f"{grant.groups:,}")


def check_set_access(query: SetQuery, grant: GrantTable) -> None:
    """Refuse what a grant does not allow of a dataset under control."""
    if grant.queries is not None and query.kind not in grant.queries:
        raise Forbidden(f"{query.kind} is not allowed here", allowed=", ".join(grant.queries))
    _check_columns([] if query.column is None else [query.column], grant.columns, "be asked about")
    filters = grant.columns if grant.filters is None else grant.filters
    _check_columns(query.where.columns, filters, "be filtered by")


def _numbers(part: Part) -> int:
    """How many numbers or choices a part tells; of keys that nobody listed, none are public."""
    return part.width if part.candidates is None else part.chosen * part.cells


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
