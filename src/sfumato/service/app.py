"""The application: what analysts, auditors and owners may ask over HTTP, and how refusals are told."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBasic, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr
from starlette.exceptions import HTTPException

from sfumato.dp.queries.query import Query as PrivateQuery
from sfumato.dp.queries.text import parse_query
from sfumato.dp.session import Session
from sfumato.dp.sql import looks_like_sql, parse_sql
from sfumato.errors import (
    AnswerFailed,
    BudgetSpent,
    ColumnError,
    OutputError,
    PolicyError,
    QueryRefused,
    SfumatoError,
    SqlRefused,
)
from sfumato.service.access import Forbidden, check_access
from sfumato.service.audit import AuditLog
from sfumato.service.controlled import EXACT, ControlledDataset, answer_document, logged_rows
from sfumato.service.datasets import Expired, ServedDataset, complain
from sfumato.service.gate import App, Caller, Gate
from sfumato.service.policy import ANALYST, AUDITOR, OWNER, GrantTable, ServicePolicy

EVERY = 60.0  # seconds between looks at end dates
MOST = 1000  # rows of the ledger in one response
Number = StrictInt | StrictFloat | StrictStr  # true is no number
STATUS: tuple[tuple[type[SfumatoError], int], ...] = (  # the first that fits
    (Forbidden, 403),
    (Expired, 410),
    (BudgetSpent, 402),
    (QueryRefused, 403),
    (AnswerFailed, 500),
    (PolicyError, 400),
    (ColumnError, 400),
    (SfumatoError, 503),  # of the ledger or the machine, and no business of an analyst's
)


class Question(BaseModel):
    """What is asked: typed JSON or a short text in `query`, or SQL in `sql`; what it may cost; in `request` the name
    of the call, so that one that was interrupted can be made again without a second charge."""

    model_config = ConfigDict(extra="forbid")

    query: dict[str, Any] | str | None = None
    sql: str | None = None
    epsilon: Number | None = None
    delta: Number = 0
    rho: Number | None = None
    clipped: StrictBool = False
    dataset: str | None = None
    purpose: str | None = None
    request: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class ErrorDocument(BaseModel):
    """A refusal: the kind of it, and why; of SQL also where, line and column from 1, position from 0."""

    error: str
    message: str
    hint: str | None = None
    faults: list[str] | None = None
    line: int | None = None
    column: int | None = None
    position: int | None = None


class PriceDocument(BaseModel):
    """What a question would cost, the scales of its noise, how many noisy numbers it has, and what is left."""

    dataset: str
    purpose: str
    cost: str
    epsilon: str
    delta: str
    rho: str
    scales: list[float]
    numbers: int
    left: str
    budget_left: str


class AnswerDocument(BaseModel):
    """A private answer; costs and what is left are exact decimals."""

    dataset: str
    purpose: str
    value: Any
    interval: Any
    scale: Any
    mechanism: str
    cost: str
    epsilon: str
    delta: str
    rho: str
    again: bool
    clipped: int | None
    sensitivity: str
    left: str
    budget_left: str


class ControlledDocument(BaseModel):
    """An exact answer of a dataset under control: the number of the query; the base that it was rounded to, the share
    of people that it was estimated from, and the snapshot that it is of."""

    dataset: str
    purpose: str
    value: float
    number: int
    rounded: float | None
    sampled: float | None
    snapshot: int


class FreeDocument(BaseModel):
    """What a query costs of a dataset under control: nothing, whether or not it would be refused."""

    dataset: str
    purpose: str
    cost: str
    control: str
    controls: list[str]


class Refused(SfumatoError):
    """A request that is refused for itself: its status, and why."""

    def __init__(self, status: int, what: str, **more: Any) -> None:
        self.status = status
        super().__init__(what, **more)


class Service:
    """The datasets of a policy, registered, and its log."""

    def __init__(self, policy: ServicePolicy) -> None:
        self.policy = policy
        try:
            policy.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (policy.folder / "copies").mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise OutputError(f"the folder {policy.folder} cannot be made: {error.strerror}") from None
        self.log = AuditLog(policy.folder)
        self.datasets: dict[str, ServedDataset | ControlledDataset] = {}
        try:
            for name in policy.datasets:
                kind = ControlledDataset if name in policy.controlled else ServedDataset
                self.datasets[name] = kind(name, policy, self.log)
            for grant in policy.grants:
                self.datasets[grant.dataset].check_grant(grant)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of everything."""
        for dataset in self.datasets.values():
            dataset.close()
        self.log.close()

    def grants(self, caller: Caller) -> list[GrantTable]:
        """What a user may ask."""
        return [grant for grant in self.policy.grants if grant.user == caller.name]

    def grant(self, caller: Caller, dataset: str | None, purpose: str | None) -> GrantTable:
        """The grant that a request is of: the only one, or that of its dataset and purpose."""
        found = [
            grant
            for grant in self.grants(caller)
            if dataset in (None, grant.dataset) and purpose in (None, grant.purpose)
        ]
        if not found:
            raise Refused(404, "you have no grant for such a dataset and purpose", hint="GET /budget lists yours")
        if len(found) > 1:
            raise Refused(400, "you have several grants", hint="name the dataset and the purpose")
        return found[0]


def make_app(service: Service) -> App:
    """The ASGI application of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watch = asyncio.create_task(_watch(service))
        try:
            yield
        finally:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch
            service.close()

    statuses = (400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 421, 422, 429, 500, 503)
    api = FastAPI(
        title="Sfumato", version=version("sfumato"), docs_url=None, redoc_url=None, redirect_slashes=False,
        summary="Private answers from tables that stay with their owner.", lifespan=lifespan,
        responses={status: {"model": ErrorDocument} for status in statuses},
    )  # fmt: skip
    secured = [Depends(HTTPBearer(auto_error=False)), Depends(HTTPBasic(auto_error=False))]
    api.add_exception_handler(SfumatoError, _refuse)
    api.add_exception_handler(RequestValidationError, _refuse_form)
    api.add_exception_handler(HTTPException, _refuse_route)

    @api.get("/health")
    async def health() -> dict[str, str]:
        """Whether the service runs."""
        return {"status": "ok"}

    @api.post("/ask", response_model=AnswerDocument | ControlledDocument, dependencies=secured)
    async def ask(question: Question, request: Request) -> JSONResponse:
        """Ask a question: it is charged, and answered with noise; one that was answered before is free. A dataset under
        control is answered exactly, or refuses."""
        grant, served, asked = await _granted(service, question, request)
        if isinstance(served, ControlledDataset):
            return await _controlled(served, grant, asked, question, request)
        query = await _understood(served, grant, asked, question, request)

        def work(session: Session) -> dict[str, Any]:
            answer = session.ask(
                query, question.epsilon, question.request, delta=question.delta, rho=question.rho,
                clipped=question.clipped,
            )  # fmt: skip
            return answer.plain() | _left(session)

        found = await served.run(grant, work)
        request.state.said["cost"] = found["cost"]
        request.state.said["outcome"] = "answered before" if found["again"] else "answered"
        return JSONResponse(_finite({"dataset": grant.dataset, "purpose": grant.purpose} | found))

    async def price(question: Question, request: Request) -> JSONResponse:
        grant, served, asked = await _granted(service, question, request)
        if isinstance(served, ControlledDataset):
            own = await asyncio.to_thread(served.understood, asked, grant)
            request.state.said |= {"kind": own.kind, "outcome": "priced"}
            return JSONResponse({"dataset": grant.dataset, "purpose": grant.purpose} | served.price())
        query = await _understood(served, grant, asked, question, request)

        def work(session: Session) -> dict[str, Any]:
            found = session.price(
                query, question.epsilon, delta=question.delta, rho=question.rho, clipped=question.clipped
            )
            cost = found["cost"]
            parts = dict(zip(("epsilon", "delta", "rho"), (f"{part:f}" for part in cost.parts), strict=True))
            return {
                "cost": str(cost),
                **parts,
                "scales": found["scales"],
                "numbers": found["numbers"],
                **_left(session),
            }

        found = await served.run(grant, work)
        request.state.said |= {"cost": found["cost"], "outcome": "priced"}
        return JSONResponse(_finite({"dataset": grant.dataset, "purpose": grant.purpose} | found))

    @api.post("/cost", response_model=PriceDocument | FreeDocument, dependencies=secured)
    async def cost_of(question: Question, request: Request) -> JSONResponse:
        """What a question would cost, and how noisy its answer would be; nothing is asked or charged."""
        return await price(question, request)

    @api.get("/cost", response_model=PriceDocument | FreeDocument, dependencies=secured)
    async def cost(
        request: Request,
        query: Annotated[str | None, Query(description="A short text, or typed JSON.")] = None,
        sql: str | None = None,
        epsilon: str | None = None,
        delta: str = "0",
        rho: str | None = None,
        clipped: bool = False,
        dataset: str | None = None,
        purpose: str | None = None,
    ) -> JSONResponse:
        """What a question would cost, and how noisy its answer would be; nothing is asked or charged."""
        given: Any = query
        if query is not None and query.lstrip().startswith("{"):
            try:
                given = json.loads(query)
            except (ValueError, RecursionError):
                raise PolicyError("the query is not JSON") from None
        question = Question(
            query=given, sql=sql, epsilon=epsilon, delta=delta, rho=rho, clipped=clipped, dataset=dataset,
            purpose=purpose,
        )  # fmt: skip
        return await price(question, request)

    @api.get("/budget", dependencies=secured)
    async def budget(request: Request) -> list[dict[str, Any]]:
        """The budgets of your grants, and what is left of each; to owners and auditors, what was spent by whom."""
        caller: Caller = request.state.caller
        found = []
        for grant in service.grants(caller):
            own: dict[str, Any] = {"dataset": grant.dataset, "purpose": grant.purpose}
            served = service.datasets[grant.dataset]
            if isinstance(served, ControlledDataset):
                if not served.refuse_expired():
                    found.append(own | {"control": EXACT, "controls": served.rules})
                continue
            with suppress(Expired):
                own |= {"accounting": served.table.accounting, **await served.run(grant, _budget)}
                found.append(own)
        if caller.user.role != ANALYST:
            for name, dataset in service.datasets.items():
                if isinstance(dataset, ControlledDataset):
                    if not dataset.refuse_expired():
                        found.append({"dataset": name, "control": EXACT, "controls": dataset.rules})
                elif isinstance(dataset, ServedDataset):
                    with suppress(Expired):
                        found.append({"dataset": name, **await dataset.run(None, _whole_budget)})
        return found

    @api.get("/schema", dependencies=secured)
    async def schema(request: Request) -> list[dict[str, Any]]:
        """What is public of the datasets that you may ask: columns, types, bounds, values, and the privacy unit."""
        caller: Caller = request.state.caller
        if caller.user.role != ANALYST:
            return [one.described(None) for one in service.datasets.values() if not one.refuse_expired()]
        found = []
        for grant in service.grants(caller):
            if not service.datasets[grant.dataset].refuse_expired():
                allowed = {"purpose": grant.purpose, "queries": grant.queries, "filters": grant.filters}
                found.append(service.datasets[grant.dataset].described(grant) | allowed | {"groups": grant.groups})
        return found

    @api.get("/ledger", dependencies=secured)
    async def ledger(
        request: Request,
        dataset: str,
        after: Annotated[int, Query(ge=0, le=2**53)] = 0,
        most: Annotated[int, Query(ge=1, le=MOST)] = 100,
    ) -> dict[str, Any]:
        """Rows of the ledger, for owners and auditors: who was charged what and when, by which kind of query; no
        filter and no answer. Of a dataset under control, who was answered or refused."""
        _only(request, OWNER, AUDITOR)
        if dataset not in service.datasets:
            raise Refused(404, "there is no such dataset")
        request.state.said["dataset"] = dataset
        served = service.datasets[dataset]
        if isinstance(served, ControlledDataset):
            return await served.run(None, lambda database: logged_rows(database, after, most))

        def work(session: Session) -> dict[str, Any]:
            rows = [_row(entry) for entry in session.ledger.entries() if entry.number > after]
            return {"faults": session.ledger.verify(), "rows": rows[:most], "more": len(rows) > most}

        return await served.run(None, work)

    return Gate(api, service.policy, service.log)


async def _watch(service: Service) -> None:
    """Erase what has passed its end date, though nobody asks."""
    while True:
        for dataset in service.datasets.values():
            with suppress(SfumatoError):
                dataset.refuse_expired()
        await asyncio.sleep(EVERY)


def _only(request: Request, *roles: str) -> None:
    caller: Caller = request.state.caller
    if caller.user.role not in roles:
        raise Refused(403, f"the role {caller.user.role} may not do this", allowed=", ".join(roles))


async def _granted(
    service: Service, question: Question, request: Request
) -> tuple[GrantTable, ServedDataset | ControlledDataset, Any]:
    """The grant of a question, its dataset, and what is asked; read on a thread, as a long one takes a while."""
    _only(request, ANALYST, OWNER)
    if (question.query is None) == (question.sql is None):
        raise PolicyError("a question has a query or sql", got="none" if question.sql is None else "both")
    asked = question.query if question.sql is None else question.sql
    tables = await asyncio.to_thread(_tables, asked, question.sql is not None)
    named = tables | ({question.dataset} - {None})
    if len(named) > 1:
        raise PolicyError("the table of the SQL is another dataset than the one that is named")
    grant = service.grant(request.state.caller, next(iter(named), None), question.purpose)
    request.state.said |= {"dataset": grant.dataset, "purpose": grant.purpose}
    served = service.datasets[grant.dataset]
    if served.refuse_expired():
        raise Expired(f'the end date of "{grant.dataset}" has passed: it is answered no more')
    return grant, served, asked


async def _understood(
    served: ServedDataset, grant: GrantTable, asked: Any, question: Question, request: Request
) -> PrivateQuery:
    """The query of a question, which the grant allows."""
    if question.sql is not None or looks_like_sql(asked):  # hints name no column that is not allowed
        schema = served.public.schema if grant.columns is None else None
        query = (await asyncio.to_thread(parse_sql, asked, schema)).query
    else:
        query = await asyncio.to_thread(parse_query, asked)
    request.state.said["kind"] = query.name
    await asyncio.to_thread(check_access, query, grant, served.public, served.unit, question.clipped)
    return query


async def _controlled(
    served: ControlledDataset, grant: GrantTable, asked: Any, question: Question, request: Request
) -> JSONResponse:
    """An exact answer, or a refusal."""
    if question.epsilon is not None or question.rho is not None or question.clipped:
        raise PolicyError(f'"{grant.dataset}" is answered exactly', hint="ask without epsilon, rho and clipped")
    query = await asyncio.to_thread(served.understood, asked if question.sql is None else None, grant)
    request.state.said["kind"] = query.kind
    answer = await served.run(grant, lambda database: database.ask(query, grant.user))
    request.state.said["outcome"] = "answered"
    return JSONResponse({"dataset": grant.dataset, "purpose": grant.purpose} | answer_document(answer))


def _tables(asked: Any, sql: bool) -> set[str | None]:
    """The tables of a question in SQL, and of those in SQL that a question is made of."""
    if sql:
        return {parse_sql(asked).table}
    found, left = set[str | None](), [asked]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += [one.get("queries"), one.get("of")]
        elif isinstance(one, list):
            left += one
        elif looks_like_sql(one):
            found.add(parse_sql(one).table)
    return found


def _finite(value: Any) -> Any:
    """A value that JSON can hold: null where it is no finite number."""
    if isinstance(value, dict):
        return {str(name): _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _left(session: Session) -> dict[str, str]:
    left = session.left
    return {"left": str(left.epsilon), "budget_left": str(left)}


def _budget(session: Session) -> dict[str, Any]:
    return {"epsilon": str(session.budget.epsilon), "delta": f"{session.budget.delta:f}", **_left(session)}


def _whole_budget(session: Session) -> dict[str, Any]:
    return {**_budget(session), "spent": session.ledger.spent_by()}


def _row(entry: Any) -> dict[str, Any]:
    """A row of the ledger without what was asked and answered; its kind of query is told."""
    kind = ""
    with suppress(ValueError, LookupError, TypeError):
        form = json.loads(entry.query)
        kind = str(form[0]["query"]) if isinstance(form, list) else "release"
    names = ("number", "time", "analyst", "purpose", "state", "charge", "epsilon", "delta", "rho", "hash")
    return {**{name: getattr(entry, name) for name in names}, "kind": kind}


# Refusals


def _document(error: SfumatoError) -> dict[str, Any]:
    found: dict[str, Any] = {"error": type(error).__name__, "message": str(error)}
    if isinstance(error, SqlRefused):
        found |= {"line": error.line, "column": error.column, "position": error.position}
    return found


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SfumatoError)
    status = error.status if isinstance(error, Refused) else next(s for kind, s in STATUS if isinstance(error, kind))
    if isinstance(error, PolicyError) and error.what.startswith("this request was another query"):
        status = 409
    request.state.said["outcome"] = type(error).__name__
    if status == 503:  # it may name files of the owner's
        complain(error)
        return JSONResponse({"error": "OutputError", "message": "the ledger cannot be used now"}, status)
    return JSONResponse(_document(error), status)


async def _refuse_form(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    request.state.said["outcome"] = "BadRequest"
    faults = [f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()[:20]]
    return JSONResponse({"error": "BadRequest", "message": "the request has faults", "faults": faults}, 422)


async def _refuse_route(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    request.state.said["outcome"] = "BadRequest"
    said = {404: "there is nothing here", 405: "this is asked in another way"}.get(error.status_code, "refused")
    headers: Mapping[str, str] | None = error.headers
    return JSONResponse({"error": "BadRequest", "message": said}, error.status_code, headers=headers)
