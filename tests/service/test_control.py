"""Datasets under control: asked over HTTP, refused, and nothing forgotten when the service is killed."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import polars as pl
import pytest

from sfumato.control import read_log
from sfumato.control.log import mended, parse_log
from sfumato.errors import PolicyError, QueryRefused
from sfumato.service.client import ServiceClient
from sfumato.service.policy import read_policy
from sfumato.service.secret import hash_key
from tests.service.running import KEYS, Running, running

POLICY = """
[service]
port = 0
tick = 5

[datasets.wages]
path = "wages.csv"

[datasets.wages.control]
controls = ["sum-auditing", {{name = "query-order", most = 2}}]
values = ["wage"]
keys = ["row", "region"]

[users.ann]
role = "analyst"
key = "{ann}"

[users.bob]
role = "analyst"
key = "{bob}"

[users.own]
role = "owner"
key = "{own}"

[users.aud]
role = "auditor"
key = "{aud}"

[[grants]]
user = "ann"
dataset = "wages"

[[grants]]
user = "bob"
dataset = "wages"
purpose = "study"
columns = ["wage", "region"]
queries = ["mean", "count"]
"""


def write(folder: Path, **changes: str) -> Path:
    wages = {"row": list(range(9)), "region": list("nnnsssnns"), "name": list("abcdefghi")}
    pl.DataFrame(wages | {"wage": [100 + i for i in range(9)]}).write_csv(folder / "wages.csv")
    text = POLICY.format(**{name: hash_key(key) for name, key in KEYS.items()})
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "policy.toml").write_text(text)
    return folder / "policy.toml"


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("controlled")
    write(folder)
    with running(folder) as found:
        yield found


def ask(service: Running, query: object, who: str = "ann", **more: object):
    return service.call("POST", "/ask", who, json={"query": query, **more})


@pytest.mark.slow
def test_asked_and_refused(controlled: Running) -> None:
    found = ask(controlled, "sum wage where region = n").json()
    assert found | {"number": 0} == {
        "dataset": "wages", "purpose": "", "value": 516.0, "number": 0, "rounded": None, "sampled": None, "snapshot": 1,
    }  # fmt: skip
    refused = ask(controlled, "sum wage where region = n and row > 0")
    assert (refused.status_code, refused.json()["error"]) == (403, "QueryRefused")
    assert "somebody's value could be computed" in refused.json()["message"]
    told_to_both = ask(controlled, "mean wage where region = n", "bob")
    assert told_to_both.json()["value"] == 516 / 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "status", "why"),
    [
        ({"query": "sum wage", "epsilon": 1}, 400, "answered exactly"),
        ({"query": {"query": "count"}}, 400, "asked in short texts"),
        ({"sql": "SELECT count(*) FROM wages"}, 400, "asked in short texts"),
        ({"query": "median wage"}, 400, "unknown kind"),
        ({"query": "count where name = a"}, 400, 'may not use "name"; allowed: row, region, wage'),
        ({"query": "max wage"}, 403, "no control here audits a max"),
        ({"query": "count where wage > 100"}, 403, "which is private"),
    ],
    ids=["epsilon", "typed", "sql", "median", "column", "max", "private"],
)
def test_what_is_not_asked(controlled: Running, question, status, why) -> None:
    found = controlled.call("POST", "/ask", "ann", json=question)
    assert found.status_code == status
    assert why in found.json()["message"]


@pytest.mark.slow
def test_a_grant_limits_kinds_and_columns(controlled: Running) -> None:
    assert ask(controlled, "sum wage", "bob").json()["error"] == "Forbidden"
    assert ask(controlled, "count where row > 3", "bob").json()["error"] == "Forbidden"
    assert ask(controlled, "count where region = s", "bob").json()["value"] == 4
    assert ask(controlled, "count", "aud").status_code == 403


@pytest.mark.slow
def test_nothing_has_a_cost(controlled: Running) -> None:
    for query in ("sum wage", "sum wage where row = 1"):  # whether or not it would be refused
        found = controlled.call("GET", "/cost", "ann", params={"query": query}).json()
        assert found["cost"] == "none"
        assert found["controls"][0] == "Sums and means together determine nobody's value."
    (own,) = controlled.call("GET", "/budget", "ann").json()
    assert own == {"dataset": "wages", "purpose": "", "control": own["control"], "controls": found["controls"]}
    (schema,) = controlled.call("GET", "/schema", "ann").json()
    assert schema["roles"] == {"row": "key", "region": "key", "wage": "value"}
    assert (schema["users"], schema["auditing"]) == ("together", "simulatable")
    (seen,) = controlled.call("GET", "/budget", "own").json()  # has no grant
    assert seen == {"dataset": "wages", "control": own["control"], "controls": found["controls"]}


@pytest.mark.slow
def test_auditors_see_who_asked_and_not_what(controlled: Running) -> None:
    ask(controlled, "count where region = s")
    found = controlled.call("GET", "/ledger", "aud", params={"dataset": "wages", "most": 1000}).json()
    assert found["rows"][-1] == {
        "number": len(found["rows"]), "analyst": "ann", "kind": "count", "state": "answered",
    }  # fmt: skip
    assert "region" not in json.dumps(found)
    assert "region" not in controlled.log()


@pytest.mark.slow
def test_the_client_and_the_shell(controlled: Running, tmp_path, capsys) -> None:
    from sfumato.cli import main

    (tmp_path / "key").write_text(KEYS["ann"])
    os.chmod(tmp_path / "key", 0o600)
    client = ServiceClient(controlled.url, tmp_path / "key")
    assert client.ask({"query": "count"})["value"] == 9
    with pytest.raises(QueryRefused):
        client.ask({"query": "sum wage where row = 1"})
    asked = ["--service", controlled.url, "--key-file", str(tmp_path / "key")]
    assert main(["query", "ask", "sum wage where region = n", *asked]) == 0
    assert capsys.readouterr().out.strip() == "516"
    assert main(["query", "budget", *asked]) == 0
    assert "determine nobody's value" in capsys.readouterr().out


@pytest.mark.slow
def test_a_killed_service_forgets_nothing(tmp_path) -> None:
    write(tmp_path)
    with running(tmp_path) as service:
        assert ask(service, "sum wage where region = s").json()["value"] == 420
        service.process.kill()
        service.process.wait()
    path = tmp_path / "service" / "wages.queries.json"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert [entry.answer for entry in read_log(path).entries] == [420]
    with running(tmp_path) as service:
        assert ask(service, "sum wage where region = s and row > 3").json()["error"] == "QueryRefused"
        assert ask(service, "sum wage where region = s").json()["number"] == 3


@pytest.mark.slow
def test_what_was_told_before_a_kill_is_in_the_log(tmp_path) -> None:
    write(tmp_path, **{'"sum-auditing", {name = "query-order", most = 2}': '{name = "query-set-size", k = 1}'})
    told: list[tuple[str, float]] = []
    with running(tmp_path) as service:

        def work(number: int) -> None:
            for i in range(1000):
                query = f"count where row > {(number + i) % 8}"
                try:
                    told.append((query, ask(service, query).json()["value"]))
                except httpx.HTTPError:
                    return

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        while len(told) < 40:
            time.sleep(0.01)
        service.process.kill()
        service.process.wait()
        for thread in threads:
            thread.join()
    path = tmp_path / "service" / "wages.queries.json"
    text = mended(path.read_text())
    found = Counter((entry.query, entry.answer) for entry in parse_log(text, "log").entries)
    assert len(told) >= 40
    assert not Counter(told) - found


FAULTS = [
    ('"sum-auditing"', '"sum-audit"', 'did you mean "sum-auditing"'),
    ("most = 2", "least = 2", 'unknown key "least"'),
    ('path = "wages.csv"', 'path = "wages.csv"\nepsilon = 1', "epsilon is of a dataset with a budget"),
    ('purpose = "study"', 'purpose = "study"\nepsilon = 1', "epsilon is of a dataset with a budget"),
    ('"mean", "count"', '"mean", "quantile"', 'unknown query "quantile"'),
    ("values =", "value =", 'did you mean "values"'),
    ("[datasets.wages.control]", "[datasets.wages.controls]", "unknown key"),
    ("[users.ann]", '[datasets.again]\npath = "./wages.csv"\nepsilon = 1\n\n[users.ann]', 'same table as "wages"'),
]


@pytest.mark.parametrize(("old", "new", "why"), FAULTS, ids=[new for _, new, _ in FAULTS])
def test_faults_of_a_policy(old, new, why, tmp_path) -> None:
    write(tmp_path, **{old: new})
    with pytest.raises(PolicyError, match=why):
        read_policy(tmp_path / "policy.toml")
