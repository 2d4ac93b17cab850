"""A small disk of its own for a test, where the test may mount one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Disk = Callable[[str], Path]


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A folder on a disk in memory of so many bytes, as in `disk("4m")`."""
    made: list[Path] = []
    place = Path(tempfile.mkdtemp(prefix="sfumato-disk-"))  # not under pytest's folder, which others may not enter

    def one(size: str) -> Path:
        folder = place / f"disk{len(made)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "none", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=20)
        except FileNotFoundError:
            pytest.skip("there is no mount here")
        if done.returncode:
            pytest.skip("a small disk may not be mounted here" + (": run it as root" if os.geteuid() else ""))
        made.append(folder)
        return folder

    try:
        yield one
    finally:
        for folder in made:
            subprocess.run(["umount", "-l", str(folder)], check=True, timeout=20)
        shutil.rmtree(place)
