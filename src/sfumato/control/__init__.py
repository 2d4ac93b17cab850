"""Query control: exact answers from a table that stays with its owner, refused where they would tell a person's value.

`QUERY_CONTROLS` are the rules by which a `StatisticalDatabase` refuses or changes answers.
"""

from __future__ import annotations

from sfumato.control.controls import QUERY_CONTROLS, QueryOrder, QuerySetOverlap, QuerySetSize
from sfumato.control.database import ControlledAnswer, OfflineAuditingWarning, StatisticalDatabase
from sfumato.control.formula import Formula, parse_formula
from sfumato.control.log import LoggedQuery, QueryLog, read_log
from sfumato.control.query import SetQuery, parse_set_query

__all__ = [
    "QUERY_CONTROLS",
    "ControlledAnswer",
    "Formula",
    "LoggedQuery",
    "OfflineAuditingWarning",
    "QueryLog",
    "QueryOrder",
    "QuerySetOverlap",
    "QuerySetSize",
    "SetQuery",
    "StatisticalDatabase",
    "parse_formula",
    "parse_set_query",
    "read_log",
]
