"""Whether a file fits into memory: how much of it is free, and how much a file may take."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.policy_input import Origin

SHARE = 4  # a file of more than this part of the memory that is free is streamed


def is_large(origin: Origin) -> bool:
    """Whether a file is to be streamed since it may not fit into memory; a note says so."""
    from sfumato.engines.scanned_source import ENDINGS
    from sfumato.policy_input import STREAMED, ending

    path, free = Path(origin.paths[0]), available()
    kind = origin.reader.get("format") or ending(path)
    if origin.stream is not None or free is None or kind not in ENDINGS or set(origin.reader) - set(STREAMED):
        return False
    size = path.stat().st_size if path.is_file() else 0
    if size * SHARE <= free:
        return False
    shown = f"{path.name} has {size / 1e9:.3g} GB, and {free / 1e9:.3g} GB of memory are free"
    warnings.warn(f"{shown}: it is streamed; --no-stream reads it into memory", stacklevel=1)
    return True


def available() -> int | None:
    """Bytes of memory that this process could still take, or None where the system does not say."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        group = Path("/sys/fs/cgroup")  # the limit of a container
        limit, used = ((group / name).read_text("ascii").strip() for name in ("memory.max", "memory.current"))
        lines = (group / "memory.stat").read_text("ascii").splitlines()
        cached = sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))  # given back at need
        found += [] if limit == "max" else [max(0, int(limit) - int(used) + cached)]
    except (OSError, ValueError, IndexError):
        pass
    return min(found, default=None)
