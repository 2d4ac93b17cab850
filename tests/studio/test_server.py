"""The server of the studio: its process stays small, and what it logs holds no value."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from sfumato.studio.log import keep_values_out

SCRIPT = """
import importlib, pkgutil, sys
import sfumato.service.client, sfumato.studio.server
for package in ("sfumato.studio", "sfumato.studio.views"):
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if module.name != "tasks":
            importlib.import_module(f"{package}.{module.name}")
from sfumato.policyfile.paths import absolute
from sfumato.studio.texts import Texts
absolute({"hierarchies": {"zip": "redact:right", "sex": "sex.csv"}}, sfumato.studio.server.default_root())
assert Texts("it").number(1234.5) == "1.234,5"
print(*(name for name in ("polars", "numba", "pandas", "pyarrow") if name in sys.modules))
"""


@pytest.mark.slow
def test_the_process_of_the_server_leaves_tables_to_its_workers():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.fixture
def discreet():
    before = logging.getLogRecordFactory()
    keep_values_out()
    yield
    logging.setLogRecordFactory(before)


def test_a_log_tells_where_it_went_wrong_and_nothing_of_what_it_was_about(discreet, caplog):
    try:
        [][int("Kaltenbrunn")]
    except ValueError as error:
        logging.getLogger("nicegui").exception(str(error))  # as NiceGUI and asyncio do
        logging.getLogger("asyncio").error("Task exception: %r", error, exc_info=error)
    logging.getLogger("uvicorn.error").warning("port %d", 8123)
    assert "Kaltenbrunn" not in caplog.text
    assert caplog.text.count("ValueError in test_server.py:") == 2
    assert "Traceback" not in caplog.text
    assert "port 8123" in caplog.text
