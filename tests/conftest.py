"""What every test may use: the `shared` folder, and Hypothesis settings that repeat."""

from __future__ import annotations

import atexit
import faulthandler
import gc
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings

from sfumato.errors import OutputError
from sfumato.report.page import browser
from tests.fuzz import FUZZ, examples

pytest_plugins = [
    "tests.clusters",
    "tests.disks",
    "tests.postgres",
]  # fixtures: Spark in three ways, `disk`, and `postgres`

ROOT = Path(__file__).resolve().parent.parent
OWNERS_KEY = "the owner's key of the tests"
CI = os.environ.get("CI") == "true"

# The first example of a test may compile kernels, so no example has a deadline.
settings.register_profile("local", deadline=None, max_examples=examples(150))
settings.register_profile("ci", deadline=None, max_examples=examples(150), derandomize=True, print_blob=True)
settings.load_profile("ci" if CI else "local")

# Some hundred processes that tests start import the same modules: each would compile them anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

gc.set_threshold(20_000)  # at the default of 700, an eighth of all time went into looking for garbage


HANGS = 600  # seconds
# Seconds after which it is set again: pytest's own clock, a thread with every test, took a 15th of all time.
AGAIN = 30
_clock = {"stderr": 2, "set": -math.inf}


def pytest_configure() -> None:
    """Keep where a test that hangs is told of: output is captured later."""
    _clock["stderr"] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, bool, bool]:
    """A test that hangs is ended with its process, which says where it stood, and fails; the others go on."""
    if FUZZ == 1 and time.monotonic() > _clock["set"] + AGAIN:
        faulthandler.dump_traceback_later(HANGS, exit=True, file=int(_clock["stderr"]))
        _clock["set"] = time.monotonic()
    return (yield)


def pytest_unconfigure() -> None:
    """What ends the process may take its time."""
    faulthandler.cancel_dump_traceback_later()
    atexit.register(gc.unfreeze)  # pytest looks for garbage a last time before, five times over


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """All tests are run by two processes, a part of them by one; `-n`, `-s` and `--pdb` have their way."""
    if "PYTEST_XDIST_WORKER" in os.environ:  # one of the two, which would start two more, and they four
        return
    chosen = config.getoption("numprocesses", 0) is not None or config.getoption("dist") != "no"
    watched = config.option.collectonly or config.option.usepdb or config.option.capture == "no"
    if config.args == config.getini("testpaths") and not chosen and not watched:
        config.option.numprocesses, config.option.dist = 2, "loadgroup"


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end, so they are no garbage."""
    gc.collect()
    gc.freeze()


def lacks(what: str) -> NoReturn:
    """Skip a test, saying what it lacks; in CI that is a failure."""
    if CI:
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session", autouse=True)
def owners_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A configuration of their own, with an owner's key that makes runs repeat; `make fuzz` has another each time."""
    folder = tmp_path_factory.mktemp("config")
    if FUZZ == 1:
        (folder / "sfumato").mkdir()
        (folder / "sfumato" / "key").write_text(OWNERS_KEY, "ascii")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        yield


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


@cache
def _all_spark(file: str) -> bool:
    return "pytestmark = pytest.mark.spark" in (ROOT / file).read_text("utf-8")


def unit_of(nodeid: str) -> str:
    """What runs in one process: the tests of a file, which share fixtures; all tests of Spark, which share servers."""
    file = nodeid.partition("::")[0]
    return "spark" if "spark" in nodeid or _all_spark(file) else file


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In parallel, long units begin first: Spark, then by how many slow tests they have.

    What a browser shows may come late on a busy machine, so a test that looks at it may be tried twice more.
    """
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=2))
    if hasattr(config, "workerinput"):
        slow = Counter(unit_of(item.nodeid) for item in items if item.get_closest_marker("slow"))
        slow["spark"] = len(items)
        items.sort(key=lambda item: -slow[unit_of(item.nodeid)])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadgroup` by unit; the groups of pytest-xdist 3.8 are lost on pytest 9.2 (its issue 1386)."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByUnit(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    config.option.loadscopereorder = False
    return ByUnit(config, log)
