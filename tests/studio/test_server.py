"""The server of the studio: its process stays small, and what it logs holds no value."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import importlib, pkgutil, sys
import sfumato.service.client, sfumato.studio.server
for package in ("sfumato.studio", "sfumato.studio.views"):
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if module.name != "tasks":
            importlib.import_module(f"{package}.{module.name}")
from sfumato.studio.texts import Texts
assert Texts("it").number(1234.5) == "1.234,5"
print(*(name for name in ("polars", "numba", "pandas", "pyarrow") if name in sys.modules))
"""


def test_the_process_of_the_server_leaves_tables_to_its_workers():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
