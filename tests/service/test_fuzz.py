"""The API against requests that schemathesis makes of its own description, and others that break it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import examples
from tests.service.running import KEYS, Running

OPERATIONS = [("/ask", "POST"), ("/cost", "POST"), ("/cost", "GET"), ("/budget", "GET"), ("/schema", "GET"),
              ("/ledger", "GET"), ("/health", "GET")]  # fmt: skip
QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_requests_made_of_the_description_never_fail(service: Running, path: str, method: str) -> None:
    """Requests that fit the description, and some that do not: no status of 500, and every response as described."""
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import load_all_checks, not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    load_all_checks()
    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]

    described = service.call("GET", "/openapi.json", None).json()
    operation: Any = schemathesis.openapi.from_dict(described)[path][method]
    both = operation.as_strategy(generation_mode=GenerationMode.POSITIVE) | operation.as_strategy(
        generation_mode=GenerationMode.NEGATIVE
    )

    @settings(max_examples=examples(300), deadline=None, suppress_health_check=QUIET, database=None)
    @given(case=both, who=st.sampled_from(["ann", "bob", "own", "aud"]))
    def tried(case: Any, who: str) -> None:
        headers = {"Authorization": f"Bearer {KEYS[who]}"}
        got = case.call(base_url=service.url, headers=headers)
        case.validate_response(got, checks=checks)
        assert got.status_code < 500
        assert len(got.content) % 256 == 0

    tried()


words = st.sampled_from(
    ["count", "mean", "age", "sex", "pay", "several", "queries", "F", "where", "by", "", "a\x00b", "é"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
QUERIES = ["count", "mean", "sum", "quantile", "histogram", "grouped", "grouped-mean", "several", "top", "covariance",
           "frequent-keys", "linear-regression", "decision-tree", "naive-bayes", "logistic-regression"]  # fmt: skip
KEYS_OF = [
    "column",
    "by",
    "bins",
    "q",
    "candidates",
    "where",
    "queries",
    "of",
    "one",
    "other",
    "k",
    "target",
    "features",
]


@pytest.mark.slow
@settings(max_examples=examples(1500), deadline=None, suppress_health_check=QUIET)
@given(
    query=st.sampled_from(QUERIES),
    parameters=st.dictionaries(st.sampled_from(KEYS_OF), values | words, max_size=4),
    epsilon=st.sampled_from([0.0001, "0.0001", 0, -1, None, "x", 1e300, float("inf"), [], True]) | st.just(1e-6),
    delta=st.sampled_from([0, "1e-9", 2, -1, None]),
)
def test_typed_json_is_answered_or_refused_in_words(
    service: Running, query: str, parameters: dict[str, Any], epsilon: Any, delta: Any
) -> None:
    body = json.dumps({"query": {"query": query, **parameters}, "epsilon": epsilon, "delta": delta})
    got = service.call("POST", "/ask", content=body.encode(), headers={"Content-Type": "application/json"})
    assert got.status_code in (200, 400, 402, 422), (body, got.text)
