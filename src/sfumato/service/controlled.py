"""Datasets that are answered exactly, under control: what a grant may ask, and what is said to users and auditors."""

from __future__ import annotations

from typing import Any, ClassVar

from sfumato.control.database import ControlledAnswer, StatisticalDatabase
from sfumato.control.query import SetQuery, parse_set_query
from sfumato.errors import PolicyError
from sfumato.service.access import check_set_access
from sfumato.service.datasets import RegisteredDataset
from sfumato.service.policy import DatasetTable, GrantTable

EXACT = "exact answers under control: no query has a cost"


class ControlledDataset(RegisteredDataset[StatisticalDatabase]):
    """A dataset under control. Every query is in a log on the disk before it is answered, so that a restart forgets
    none; users are those of the service."""

    verbatim: ClassVar[bool] = False  # formulas need types, which schema tells

    def _session_of(self, table: DatasetTable) -> StatisticalDatabase:
        keywords = self._policy.controlled[self.name]
        self._policy.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = StatisticalDatabase(self._data(), **keywords, log=self._policy.folder / f"{self.name}.queries.json")
        self.columns = found.columns
        self.types = {name: str(found.schema[name]).lower() for name in self.columns}
        self.rules = [control.sentence() for control in found.controls]
        return found

    def _view(self, grant: GrantTable, session: StatisticalDatabase) -> StatisticalDatabase:
        return session

    def check_grant(self, grant: GrantTable) -> None:
        """Refuse a grant that names columns which nobody may ask about."""
        if self._session is not None:
            self.refuse_unknown(grant, self.columns)

    def understood(self, asked: Any, grant: GrantTable) -> SetQuery:
        """A query from its text, which the grant allows."""
        if not isinstance(asked, str):
            what = f'"{self.name}" is answered exactly, and asked in short texts'
            raise PolicyError(what, allowed='"sum wage where region = north"')
        query = parse_set_query(asked)
        check_set_access(query, grant)
        return query

    def described(self, grant: GrantTable | None) -> dict[str, Any]:
        """What is public of it, as far as a grant goes."""
        keywords = self._policy.controlled[self.name]
        names = [name for name in self.columns if grant is None or grant.columns is None or name in grant.columns]
        return {
            "dataset": self.name,
            "columns": {name: self.types[name] for name in names},
            "roles": {name: self.columns[name] for name in names},
            "controls": self.rules,
            "users": keywords["users"],
            "auditing": keywords["auditing"],
            "until": None if self.table.until is None else self.table.until.isoformat(),
        }

    def price(self) -> dict[str, Any]:
        """What a query costs, whatever it is, and whether or not it would be refused."""
        return {"cost": "none", "control": EXACT, "controls": self.rules}


def answer_document(answer: ControlledAnswer) -> dict[str, Any]:
    """An answer as JSON has it."""
    return {
        "value": answer.value,
        "number": answer.number,
        "rounded": answer.rounded,
        "sampled": answer.sampled,
        "snapshot": answer.snapshot,
    }


def logged_rows(database: StatisticalDatabase, after: int, most: int) -> dict[str, Any]:
    """The log of queries without what was asked of whom, or answered."""
    rows = [
        {
            "number": entry.number,
            "analyst": entry.user,
            "kind": entry.kind,
            "state": "answered" if entry.refused is None else "refused",
        }
        for entry in database.log.entries
        if entry.number > after
    ]
    return {"faults": [], "rows": rows[:most], "more": len(rows) > most}
