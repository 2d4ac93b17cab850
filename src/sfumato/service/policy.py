"""The policy of a service: which tables are asked, by whom, for what budget, and until when; faults are told at once.

A TOML file of its owner: [service], a table [datasets.NAME] for each table, [users.NAME] for each user, and [[grants]],
each of which lets a user ask a dataset for a purpose. A dataset has a budget; or it has
[datasets.NAME.control], and is answered exactly. Relative paths start at the folder of the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from sfumato.control.query import KINDS
from sfumato.core.accounting import exact
from sfumato.core.forms import in_our_words
from sfumato.core.wording import count
from sfumato.dp.queries import QUERIES
from sfumato.errors import PolicyError, did_you_mean
from sfumato.policyfile.control import ControlTable, control_keywords
from sfumato.policyfile.file import Draft, load
from sfumato.policyfile.tables import Faults, Name, PolicyTable, is_address
from sfumato.service.address import is_loopback
from sfumato.service.secret import KEY_HASH, password_fault

TABLES = ("service", "datasets", "users", "grants")
NAMES = re.compile(r"[^\W\d]\w{0,63}")  # that SQL takes without quotes
ANALYST, OWNER, AUDITOR = "analyst", "owner", "auditor"
PORT = 8321
BUDGETED = (  # settings of a dataset with a budget
    "bounds", "keys", "person", "rows_per_person", "groups_per_person", "rows_per_group", "neighbours", "epsilon",
    "delta", "accounting", "public_rows", "ledger", "share", "i_know",
)  # fmt: skip


def _amount(value: Any) -> Any:
    try:
        return exact(value, "it", strict=False)
    except PolicyError as error:
        raise PydanticCustomError("amount", "{why}", {"why": str(error).removeprefix("it ")}) from None


def _hashes(value: Any) -> Any:
    """One hash of a key, or several while keys are exchanged."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(one, str) and KEY_HASH.fullmatch(one) for one in listed):
        raise PydanticCustomError("hash", "must be the hash of a key, or a list; sfumato query key makes one")
    return listed


Amount = Annotated[Any, BeforeValidator(_amount)]


class ServiceTable(PolicyTable):
    """Where the service is reached, and its folder: the log, copies of tables, ledgers."""

    folder: Name = "service"
    address: Name = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = PORT
    certificate: Name | None = None
    private_key: Name | None = None
    hosts: list[Name] = Field(default=[])
    tick: Annotated[int, Field(ge=1, le=10_000)] = 50  # milliseconds
    body: Annotated[int, Field(ge=1024, le=2**20)] = 2**16  # bytes of a request


class DatasetTable(PolicyTable):
    """A table: where it is, what is public of it, its budget, and until when it is answered."""

    path: Name
    table: Name | None = None
    copied: bool = True
    stream: bool = False
    reading: dict[str, Any] = Field(default={})
    bounds: dict[str, list[int | float]] = Field(default={})
    keys: dict[str, list[Any]] = Field(default={})
    person: Name | None = None
    rows_per_person: Annotated[int, Field(ge=1)] = 1
    groups_per_person: Annotated[int, Field(ge=1)] | None = None
    rows_per_group: Annotated[int, Field(ge=1)] | None = None
    neighbours: Literal["add-remove", "replace"] = "add-remove"
    epsilon: Amount | None = None  # unless it has control
    delta: Amount = 0
    accounting: Literal["plain", "zcdp"] = "plain"
    public_rows: Annotated[int, Field(ge=1)] | None = None
    until: date | None = None
    ledger: Name | None = None
    share: bool = False
    i_know: bool = False
    control: dict[str, Any] | None = None


class UserTable(PolicyTable):
    """Who may ask: a role, the hash of a key or of a password, and how many requests a minute."""

    role: Literal["owner", "analyst", "auditor"]
    key: Annotated[list[str], BeforeValidator(_hashes)] = Field(default=[], repr=False)
    password: str | None = Field(default=None, repr=False)
    rate: Annotated[int, Field(ge=1, le=1_000_000)] = 600


class GrantTable(PolicyTable):
    """What a user may ask of a dataset for a purpose, and for which budget, where the dataset has one."""

    user: Name
    dataset: Name
    purpose: str = ""
    epsilon: Amount | None = None
    delta: Amount = 0
    columns: list[str] | None = None  # all, unless given
    filters: list[str] | None = None  # columns of filters: those of `columns`, unless given
    queries: list[str] | None = None
    groups: Annotated[int, Field(ge=1)] | None = None  # numbers of an answer, at most


@dataclass(frozen=True)
class ServicePolicy:
    """A policy without faults; `home` is the folder that its paths start from."""

    home: Path
    service: ServiceTable
    datasets: Mapping[str, DatasetTable]
    users: Mapping[str, UserTable]
    grants: tuple[GrantTable, ...]
    controlled: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # keywords of a StatisticalDatabase

    @property
    def folder(self) -> Path:
        """The folder of the service."""
        return self.home / self.service.folder

    def ledger(self, name: str) -> Any:
        """The ledger of a dataset: a path, or the address of a database."""
        given = self.datasets[name].ledger
        if given is None:
            return self.folder / f"{name}.sqlite"
        return given if is_address(given) else self.home / given


def read_policy(path: str | Path) -> ServicePolicy:
    """The policy of a service from its file, or PolicyError with every fault."""
    draft = load(path)
    faults = Faults(draft.places)
    for name in draft.tables:
        if name not in TABLES:
            hint = did_you_mean(name, TABLES) or f"the tables are {', '.join(TABLES)}"
            faults.tell(f'unknown table "{name}"; {hint}', name)
    service = _model(ServiceTable, draft.tables.get("service", {}), faults, ("service",))
    datasets = _named(DatasetTable, draft, "datasets", faults)
    users = _named(UserTable, draft, "users", faults)
    grants = _grants(draft, faults)
    if service is not None:
        _check_service(service, draft.folder, faults)
    controlled = {}
    for name, dataset in datasets.items():
        if dataset.control is None:
            _check_dataset(name, dataset, faults)
        else:
            controlled[name] = _check_control(name, dataset, faults)
    _check_apart(datasets, draft.folder, faults)
    _check_users(users, faults)
    _check_grants(grants, datasets, users, draft, faults)
    if not draft.tables.get("datasets"):
        faults.append("no dataset is named; add [datasets.NAME]")
    if not draft.tables.get("users"):
        faults.append("no user is named; add [users.NAME]")
    if faults:
        raise PolicyError(f"{draft.name} has {count(len(faults), 'fault')}:", faults)
    assert service is not None
    return ServicePolicy(draft.folder, service, datasets, users, tuple(grants.values()), controlled)


def _model(model: type[PolicyTable], written: Any, faults: Faults, key: tuple[str | int, ...]) -> Any:
    """A table through its model; None and its faults where it has some."""
    if not isinstance(written, dict):
        faults.tell("must be a table", *key)
        return None
    try:
        return model.model_validate(written)
    except ValidationError as error:
        for fault in error.errors():
            own = str(fault["loc"][0])
            if fault["type"] == "missing":
                faults.tell(f"{own} is missing", *key)
            elif fault["type"] == "extra_forbidden":
                hint = did_you_mean(own, model.model_fields) or f"the keys are {', '.join(model.model_fields)}"
                faults.tell(f'unknown key "{own}"; {hint}', *key, own)
            else:
                message = in_our_words(str(fault["msg"]))  # what stands there may be a secret, and is not repeated
                faults.tell(f"{own} {message[:1].lower()}{message[1:]}", *key, own)
    return None


def _named(model: type[PolicyTable], draft: Draft, kind: str, faults: Faults) -> dict[str, Any]:
    written = draft.tables.get(kind, {})
    if not isinstance(written, dict):
        faults.tell(f"must be tables, each with a name, as [{kind}.NAME]", kind)
        return {}
    found = {}
    for name, table in written.items():
        if not NAMES.fullmatch(name):
            faults.tell("a name is of letters, digits and _, and begins with a letter", kind, name)
        made = _model(model, table, faults, (kind, name))
        if made is not None:
            found[name] = made
    return found


def _grants(draft: Draft, faults: Faults) -> dict[int, GrantTable]:
    written = draft.tables.get("grants", [])
    if not isinstance(written, list):
        faults.tell("must be a list of tables: [[grants]]", "grants")
        return {}
    made = {i: _model(GrantTable, one, faults, ("grants", i)) for i, one in enumerate(written)}
    return {i: one for i, one in made.items() if one is not None}


def _check_service(service: ServiceTable, home: Path, faults: Faults) -> None:
    if (service.certificate is None) != (service.private_key is None):
        faults.tell("TLS needs both certificate and private_key", "service")
    for key in ("certificate", "private_key"):
        given = getattr(service, key)
        if given is not None and not (home / given).is_file():
            faults.tell("there is no such file", "service", key)
    if not is_loopback(service.address) and service.certificate is None:
        what = "is reached from other machines, which needs TLS: give certificate and private_key"
        faults.tell(what, "service", "address")


def _check_control(name: str, dataset: DatasetTable, faults: Faults) -> dict[str, Any]:
    """The keywords of a dataset that is answered exactly."""
    for key in sorted(dataset.model_fields_set & {*BUDGETED}):
        faults.tell(f"{key} is of a dataset with a budget; this one has control", "datasets", name, key)
    _check_path(name, dataset, faults)
    at = ("datasets", name, "control")
    table = _model(ControlTable, dataset.control, faults, at)
    return {} if table is None else control_keywords(table, faults, *at)


def _check_dataset(name: str, dataset: DatasetTable, faults: Faults) -> None:
    for column, ends in dataset.bounds.items():
        if len(ends) != 2 or not ends[0] < ends[1]:
            faults.tell(f'bounds of "{column}" must be a least number and a greater one', "datasets", name, "bounds")
    for column in sorted({*dataset.bounds} & {*dataset.keys}):
        faults.tell(f'"{column}" has both bounds and keys', "datasets", name, "keys")
    if dataset.epsilon is None:
        faults.tell("epsilon is missing; or add a table control, and exact answers are controlled", "datasets", name)
    elif not dataset.epsilon > 0:
        faults.tell("epsilon must be above 0", "datasets", name, "epsilon")
    if dataset.accounting == "zcdp" and not dataset.delta:
        faults.tell("zero-concentrated accounting needs a delta", "datasets", name, "accounting")
    if dataset.public_rows is not None and dataset.delta * dataset.public_rows >= 1:
        faults.tell("delta must be far below 1 over public_rows", "datasets", name, "delta")
    if dataset.delta >= 1:
        faults.tell("delta must be far below 1", "datasets", name, "delta")
    for key in sorted({"dates", "decimal", "verbatim"} & {*dataset.reading}):
        what = f"{key} is found out from all rows, and each cell is read by itself: write dates as 2024-01-31, 1234.5"
        faults.tell(what, "datasets", name, "reading")
    _check_path(name, dataset, faults)
    if dataset.person is None and (dataset.rows_per_person, dataset.groups_per_person, dataset.rows_per_group) != (
        1, None, None,
    ):  # fmt: skip
        faults.tell("rows_per_person and groups are of persons; name person", "datasets", name)


def _check_apart(datasets: Mapping[str, DatasetTable], home: Path, faults: Faults) -> None:
    """Refuse a second dataset of a table that is answered exactly: neither would know what the other told."""
    first: dict[tuple[str, str | None], str] = {}
    for name, dataset in datasets.items():
        place = dataset.path if is_address(dataset.path) else str((home / dataset.path).resolve())
        before = first.setdefault((place, dataset.table), name)
        if before != name and (dataset.control or datasets[before].control):
            what = f'is of the same table as "{before}", and exact answers of one know nothing of the other\'s'
            faults.tell(what, "datasets", name, "path")


def _check_path(name: str, dataset: DatasetTable, faults: Faults) -> None:
    if dataset.stream and dataset.copied and dataset.table is None:
        faults.tell("a file that is streamed is asked where it is: copied = false", "datasets", name, "stream")
    if is_address(dataset.path) and dataset.table is None:
        faults.tell("table is missing: which table of the database", "datasets", name, "path")


def _check_users(users: Mapping[str, UserTable], faults: Faults) -> None:
    seen: dict[str, str] = {}
    for name, user in users.items():
        if not user.key and user.password is None:
            faults.tell("has neither a key nor a password", "users", name)
        if user.password is not None and (fault := password_fault(user.password)):
            faults.tell(f"password {fault}", "users", name, "password")
        for one in user.key:
            if seen.setdefault(one, name) != name:
                faults.tell(f'has the key of "{seen[one]}"', "users", name, "key")


def _check_grants(
    grants: Mapping[int, GrantTable], datasets: Mapping[str, Any], users: Mapping[str, UserTable], draft: Draft,
    faults: Faults,
) -> None:  # fmt: skip
    seen = set()
    for i, grant in grants.items():
        for key, known in (("user", users), ("dataset", datasets)):
            name = getattr(grant, key)
            if name not in known and name not in draft.tables.get(f"{key}s", {}):
                faults.meant(f'there is no {key} "{name}"', name, known, "grants", i, key)
        if grant.user in users and users[grant.user].role == AUDITOR:
            faults.tell("an auditor asks nothing, and sees the ledger", "grants", i, "user")
        control = grant.dataset in datasets and datasets[grant.dataset].control is not None
        if control:
            for key in sorted(grant.model_fields_set & {"epsilon", "delta", "groups"}):
                faults.tell(f"{key} is of a dataset with a budget; this one has control", "grants", i, key)
        elif grant.epsilon is None:
            faults.tell("epsilon is missing", "grants", i)
        elif not grant.epsilon > 0:
            faults.tell("epsilon must be above 0", "grants", i, "epsilon")
        if len(grant.purpose) > 200 or not grant.purpose.isprintable():
            faults.tell("purpose must be a text of up to 200 characters", "grants", i, "purpose")
        for name in grant.queries or ():
            if name not in (kinds := KINDS if control else tuple(QUERIES)):
                faults.meant(f'unknown query "{name}"', name, kinds, "grants", i, "queries")
        if (own := (grant.user, grant.dataset, grant.purpose)) in seen:
            faults.tell("the same user, dataset and purpose have a grant before", "grants", i)
        seen.add(own)
