"""Query control: exact answers from a table that stays with its owner, refused where they would tell a person's value.

`QUERY_CONTROLS` are the rules by which a `StatisticalDatabase` refuses or changes answers.
"""

from __future__ import annotations

from sfumato.control.controls import (
    QUERY_CONTROLS,
    CellRestriction,
    CountAuditing,
    ExtremeAuditing,
    QueryOrder,
    QuerySetOverlap,
    QuerySetSize,
    RandomSample,
    RoundedAnswers,
    SumAuditing,
)
from sfumato.control.database import AssumedKeysWarning, ControlledAnswer, OfflineAuditingWarning, StatisticalDatabase
from sfumato.control.formula import Formula, parse_formula
from sfumato.control.log import LoggedQuery, QueryLog, read_log
from sfumato.control.query import SetQuery, parse_set_query

__all__ = [
    "QUERY_CONTROLS",
    "AssumedKeysWarning",
    "CellRestriction",
    "ControlledAnswer",
    "CountAuditing",
    "ExtremeAuditing",
    "Formula",
    "LoggedQuery",
    "OfflineAuditingWarning",
    "QueryLog",
    "QueryOrder",
    "QuerySetOverlap",
    "QuerySetSize",
    "RandomSample",
    "RoundedAnswers",
    "SetQuery",
    "StatisticalDatabase",
    "SumAuditing",
    "parse_formula",
    "parse_set_query",
    "read_log",
]
