"""One service for all tests that change nothing of it but what is spent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.running import Running, running


@pytest.fixture(scope="session")
def service(owners_key: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("service")) as found:
        yield found
