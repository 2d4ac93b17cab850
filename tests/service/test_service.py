"""The service, a real process: three ways to ask, who may, what is refused, and what its log and its responses tell."""

from __future__ import annotations

import base64
import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from sfumato.cli import main
from tests.service.running import KEYS, PASSWORD, Running

SQL = "SELECT count(*) FROM patients WHERE age > 41"


def test_three_ways_in_have_one_meaning(service: Running) -> None:
    first = service.ask(sql=SQL).json()
    assert isinstance(first["value"], int)
    assert (first["again"], first["cost"], first["mechanism"]) == (False, "epsilon 0.01", "geometric")
    for question in (
        {"query": "count where age > 41"},
        {"query": SQL},
        {"query": {"query": "count", "where": "age > 41"}},
        {"query": {"query": "count", "where": [{"column": "age", "sign": ">", "value": 41}]}},
        {"sql": 'select count( * ) from "patients" where "age">41 ;', "dataset": "patients", "purpose": ""},
    ):
        again = service.ask(**question).json()
        assert again["again"] is True, question
        assert (again["value"], again["cost"], again["left"]) == (first["value"], "epsilon 0", first["left"])


def test_groups_and_several_aggregates(service: Running) -> None:
    found = service.ask(sql="SELECT sex, count(*), avg(age) FROM patients GROUP BY sex", epsilon="0.05").json()
    assert [row["sex"] for row in found["value"]] == ["F", "M"]
    assert {"count", "mean"} <= {name.partition("_")[0] for name in found["value"][0]}
    both = service.ask(query={"query": "several", "queries": [{"query": "count"}, "median age"]}).json()
    assert len(both["value"]) == 2


def test_a_price_is_told_and_nothing_charged(service: Running) -> None:
    before = service.call("GET", "/budget").json()[0]["left"]
    asked = {"sql": "SELECT avg(age) FROM patients WHERE sex = 'F'", "epsilon": "0.5"}
    got = service.call("GET", "/cost", params=asked).json()
    assert (got["cost"], got["scales"], got["numbers"]) == ("epsilon 0.5", [4.0, 240.0], 2)
    assert service.call("POST", "/cost", json=asked).json() == got
    typed = json.dumps({"query": "mean", "column": "age", "where": "sex = F"})
    assert service.call("GET", "/cost", params={"query": typed, "epsilon": "0.5"}).json() == got
    assert service.call("GET", "/budget").json()[0]["left"] == before == got["left"]
    assert service.call("GET", "/cost", params={"query": "{", "epsilon": "0.5"}).status_code == 400


def test_what_is_public_is_told(service: Running) -> None:
    [bob] = service.call("GET", "/schema", "bob").json()
    assert bob["columns"] == {"age": "String", "sex": "String"}
    assert bob["bounds"] == {"age": [0.0, 120.0]}
    assert bob["keys"] == {"sex": ["F", "M"]}
    assert (bob["purpose"], bob["groups"], bob["filters"]) == ("study", 5, ["sex"])
    assert [one["dataset"] for one in service.call("GET", "/schema", "own").json()] == ["patients"]


REFUSED: dict[str, tuple[str | None, dict[str, Any], int, str]] = {
    "no key": (None, {"sql": SQL}, 401, "WrongKey"),
    "wrong key": ("sfk_nobody", {"sql": SQL}, 401, "WrongKey"),
    "an auditor asks": ("aud", {"sql": SQL}, 403, "Refused"),
    "an owner without a grant": ("own", {"sql": SQL}, 404, "Refused"),
    "a dataset of others": ("eve", {"sql": SQL}, 404, "Refused"),
    "no such dataset": ("ann", {"sql": "SELECT count(*) FROM nothing"}, 404, "Refused"),
    "two datasets": ("ann", {"sql": SQL, "dataset": "gone"}, 400, "PolicyError"),
    "an expired dataset": ("eve", {"sql": "SELECT count(*) FROM gone"}, 410, "Expired"),
    "a forbidden column": ("bob", {"query": "mean pay"}, 403, "Forbidden"),
    "a filter on a forbidden column": ("bob", {"query": "count where age > 4"}, 403, "Forbidden"),
    "a forbidden query": ("bob", {"query": "sum age"}, 403, "Forbidden"),
    "a forbidden query among others": ("bob", {"query": "count; sum age"}, 403, "Forbidden"),
    "more groups than allowed": ("bob", {"query": "histogram age"}, 403, "Forbidden"),
    "more numbers than allowed together": (
        "bob",
        {"query": "histogram sex; histogram sex; mean age"},
        403,
        "Forbidden",
    ),
    "SQL of another table in a query": ("ann", {"query": "SELECT count(*) FROM gone"}, 404, "Refused"),
    "SQL of two tables": (
        "ann",
        {"query": {"query": "several", "queries": [SQL, "SELECT count(*) FROM gone"]}},
        400,
        "PolicyError",
    ),
    "a join": ("ann", {"sql": "SELECT count(*) FROM patients JOIN u"}, 400, "SqlRefused"),
    "a subquery": ("ann", {"sql": "SELECT count(*) FROM (SELECT 1)"}, 400, "SqlRefused"),
    "a function": ("ann", {"sql": "SELECT sum(abs(age)) FROM patients"}, 400, "SqlRefused"),
    "a comment": ("ann", {"sql": "SELECT count(*) FROM patients -- all"}, 400, "SqlRefused"),
    "stacked statements": ("ann", {"sql": SQL + "; DROP TABLE patients"}, 400, "SqlRefused"),
    "no column of that name": ("ann", {"sql": "SELECT avg(agee) FROM patients"}, 400, "SqlRefused"),
    "a query and SQL": ("ann", {"sql": SQL, "query": "count"}, 400, "PolicyError"),
    "nothing": ("ann", {}, 400, "PolicyError"),
    "epsilon 0": ("ann", {"sql": SQL, "epsilon": 0}, 400, "PolicyError"),
    "epsilon below 0": ("ann", {"sql": SQL, "epsilon": -1}, 400, "PolicyError"),
    "epsilon NaN": ("ann", {"sql": SQL, "epsilon": "NaN"}, 400, "PolicyError"),
    "epsilon true": ("ann", {"sql": SQL, "epsilon": True}, 422, "BadRequest"),
    "epsilon above the budget": ("ann", {"sql": SQL, "epsilon": 1000}, 402, "BudgetSpent"),
    "a rho": ("ann", {"sql": SQL, "epsilon": None, "rho": 0.1}, 400, "PolicyError"),
    "a column without bounds": ("ann", {"query": "mean sex"}, 400, "PolicyError"),
    "a value of another type": ("ann", {"query": "count where age > many"}, 400, "PolicyError"),
    "an unknown field": ("ann", {"sql": SQL, "analyst": "bob"}, 422, "BadRequest"),
    "a field of another type": ("ann", {"sql": 5}, 422, "BadRequest"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(service: Running, what: str) -> None:
    who, question, status, error = REFUSED[what]
    left = service.call("GET", "/budget").json()
    got = service.ask(who, **question)
    assert (got.status_code, got.json()["error"]) == (status, error), got.text
    assert service.call("GET", "/budget").json() == left  # nothing was charged
    assert len(got.content) % 256 == 0
    if error == "SqlRefused":
        assert {"line", "column", "position"} <= {*got.json()}


def test_a_request_is_one_query(service: Running) -> None:
    first = service.ask(query="count where pay > 3", request="mine").json()
    again = service.ask(query="count where pay > 3", request="mine").json()
    assert (again["value"], again["again"]) == (first["value"], True)
    got = service.ask(query="count where pay > 4", request="mine")
    assert (got.status_code, got.json()["error"]) == (409, "PolicyError")
    assert service.ask("bob", query="count where sex = F", request="mine").status_code == 200  # theirs is another


def test_too_many_requests_are_refused(service: Running) -> None:
    codes = [service.call("GET", "/budget", "slow") for _ in range(5)]
    assert [got.status_code for got in codes] == [200, 200, 200, 429, 429]
    assert 1 <= int(codes[-1].headers["retry-after"]) <= 20


@pytest.mark.slow
def test_a_password_opens_too(service: Running) -> None:
    def basic(text: str) -> int:
        token = base64.b64encode(text.encode()).decode()
        return service.call("GET", "/budget", None, headers={"Authorization": f"Basic {token}"}).status_code

    assert basic(f"pam:{PASSWORD}") == 200
    assert basic(f"pam:{PASSWORD}") == 200  # known by then
    assert basic("pam:wrong") == basic("ann:wrong") == basic("nobody:wrong") == 401
    assert basic("\udce9".encode("utf-8", "surrogatepass").decode("latin-1")) == 401


def test_the_ledger_is_for_auditors_and_owners(service: Running) -> None:
    service.ask(sql=SQL)
    path = "/ledger?dataset=patients"
    assert service.call("GET", path, "ann").status_code == 403
    found = service.call("GET", path, "aud").json()
    assert found["faults"] == []
    assert found["rows"][0]["state"] == "registered"
    charged = [row for row in found["rows"] if row["state"] == "reserved"]
    assert {row["kind"] for row in charged} >= {"count"}
    assert not {"answer", "query", "request"} & {name for row in found["rows"] for name in row}
    assert service.call("GET", path + "&most=2&after=1", "own").json()["rows"] == found["rows"][1:3]
    assert service.call("GET", "/ledger?dataset=other", "own").status_code == 404
    [whole] = service.call("GET", "/budget", "aud").json()
    assert whole["spent"][-1]["analyst"] == ""


def test_the_log_has_no_values(service: Running) -> None:
    answer = service.ask(query="sum pay where age > 37.125 and sex = F", epsilon="0.0213", request="secretname").json()
    service.call("GET", "/cost", params={"sql": "SELECT count(*) FROM patients WHERE pay > 17.625", "epsilon": "1"})
    service.call("GET", "/37.125")
    said = service.log()
    values = re.sub(r'"time": "[^"]*"', "", said)  # a moment may end in such digits
    for value in ("37.125", "17.625", "secretname", f"{answer['value']}", *KEYS.values(), "SELECT", "where"):
        assert value not in values
    line = next(json.loads(one) for one in said.splitlines() if '"cost": "epsilon 0.0213"' in one)
    assert {**line, "time": ""} == {
        "time": "", "event": "ask", "user": "ann", "role": "analyst", "dataset": "patients", "kind": "sum",
        "cost": "epsilon 0.0213", "outcome": "answered", "status": 200,
    }  # fmt: skip
    path = service.folder / "service"
    for file in (path / "log.jsonl", path / "patients.sqlite", path / "copies" / "patients.parquet"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_bodies_hosts_and_paths(service: Running) -> None:
    assert service.call("POST", "/ask", content=b" " * 70_000).json()["error"] == "TooLarge"
    assert service.call("POST", "/ask", content=iter([b" " * 40_000] * 2)).status_code == 413  # without a length
    assert service.call("POST", "/ask", content=b"{").status_code == 422
    assert service.call("POST", "/ask", content=b"[" * 60_000).status_code in (400, 422)
    assert service.call("POST", "/ask", None, content=b"{").status_code == 401
    for host in ("evil.example", "evil.example:80", ""):
        assert service.call("GET", "/health", headers={"Host": host}).status_code in (400, 421)
    assert service.call("GET", "/health", None).json() == {"status": "ok"}
    for path, status in (("/nothing", 404), ("/docs", 404), ("/ask", 405), ("/health/", 401), ("/ask/", 404)):
        got = service.call("GET", path, None if status == 401 else "ann")
        assert got.status_code == status
        assert "location" not in got.headers
    assert "server" not in service.call("GET", "/health").headers


def test_the_api_is_described(service: Running) -> None:
    found = service.call("GET", "/openapi.json", None).json()
    assert {*found["paths"]} == {"/ask", "/cost", "/budget", "/schema", "/ledger", "/health"}
    assert {*found["components"]["securitySchemes"]} == {"HTTPBearer", "HTTPBasic"}


@pytest.mark.slow
def test_the_shell_asks_a_service_as_it_asks_a_file(
    service: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_text(KEYS["ann"] + "\n")
    here = ("--service", service.url, "--key-file", str(key))
    assert main(["query", "ask", "mean age where sex = M", "--epsilon", "0.1", *here]) == 0
    out = capsys.readouterr().out
    assert "with 95% probability" in out
    assert "geometric noise, cost epsilon 0.1; left: epsilon " in out
    assert main(["query", "cost", "SELECT sex, count(*) FROM patients GROUP BY sex", "--epsilon", "0.5", *here]) == 0
    assert "would cost epsilon 0.5; noise of scale 2 on 2 numbers" in capsys.readouterr().out
    assert main(["query", "budget", *here]) == 0
    assert capsys.readouterr().out.startswith("left: epsilon ")
    assert main(["query", "ask", "SELECT count(*) FROM patients, u", "--epsilon", "0.1", *here]) == 2
    assert "a join: one table is asked (line 1, column 30)" in capsys.readouterr().err
    assert main(["query", "ask", "count where age > 33", "--epsilon", "1000", *here]) == 2
    assert "nothing was charged" in capsys.readouterr().err
    key.chmod(0o644)
    assert main(["query", "budget", *here]) == 2
    assert "can be read by others" in capsys.readouterr().err
    assert main(["query", "budget", "--service", "http://example.org", "--key-file", str(key)]) == 2
    assert "https alone" in capsys.readouterr().err
