"""What every test may use: the `shared` folder, and Hypothesis settings that repeat."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

from sfumato.errors import OutputError
from sfumato.report.pdf import browser
from tests.fuzz import examples

pytest_plugins = [
    "tests.clusters",
    "tests.disks",
    "tests.postgres",
]  # fixtures: Spark in three ways, `disk`, and `postgres`

ROOT = Path(__file__).resolve().parent.parent
CI = os.environ.get("CI") == "true"

# The first example of a test may compile kernels, so no example has a deadline.
settings.register_profile("local", deadline=None, max_examples=examples(150))
settings.register_profile("ci", deadline=None, max_examples=examples(150), derandomize=True, print_blob=True)
settings.load_profile("ci" if CI else "local")


def lacks(what: str) -> NoReturn:
    """Skip a test, saying what it lacks; in CI that is a failure."""
    if CI:
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data, oracles and definitions beside the checkout, or where SFUMATO_SHARED says."""
    folder = Path(os.environ.get("SFUMATO_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        lacks(f"the shared folder is not at {folder}; set SFUMATO_SHARED to where it is")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """A browser that prints pages."""
    try:
        return browser()
    except OutputError:
        lacks("Chromium is not on this machine: make system")


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With --dist loadgroup the tests of a file share a process, so what they share is made once; so do those of
    Spark, and those of PostgreSQL, which start servers."""
    for item in items:
        shared = next((mark for mark in ("spark", "postgres") if item.get_closest_marker(mark)), item.path.stem)
        item.add_marker(pytest.mark.xdist_group(shared))
