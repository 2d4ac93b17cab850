"""A stream of files: those that arrive in one folder are released into another, batch by batch.

A file is taken once, by its name; those whose names begin with "." or "_" are left alone, and so are folders, so that a
file is best written under such a name and renamed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.engines.files.read import read
from sfumato.errors import EmptyTable, InputError, PolicyError, ReadError
from sfumato.series.streams.request import StreamSpec
from sfumato.series.streams.written import WrittenStream


class FolderStream(WrittenStream):
    """The released frames of a folder of arriving files."""

    def __init__(
        self, source: Path, spec: StreamSpec, to: Any, state: Any, once: bool, finish: bool, format: str, poll: float
    ) -> None:
        if not source.is_dir():
            raise ReadError(f"{source} is no folder in which files arrive")
        self._folder = source
        super().__init__(spec, to, state, once, finish, format, poll, (source,))
        if self._ended and self._arrived():
            self._unlock()
            raise PolicyError("this stream was finished", hint="begin another, with a state and a folder of its own")
        self._source = self._frames()

    def _arrived(self) -> list[str]:
        """The files that were not yet taken, in the order of their names."""
        known = {*self._taken}
        there = [one.name for one in os.scandir(self._folder) if one.is_file()]
        return sorted(name for name in there if not name.startswith((".", "_")) and name not in known)

    def _take_file(self, name: str) -> Any:
        """Let the rows of a file arrive; one without rows is taken and passed over. An error says which file it is."""
        try:
            if (self._folder / name).stat().st_size == 0:
                return None
            return self._take(read(self._folder / name))
        except EmptyTable:
            return None
        except InputError as error:
            if name not in error.what:
                error.what = f"{name}: {error.what}"
                error.args = (f"{name}: {error.args[0]}", *error.args[1:])
            raise

    def _frames(self) -> Iterator[Any]:
        if self._ended:
            self._unlock()
            return
        while True:
            arrived = self._arrived()
            for name in arrived:
                found = self._take_file(name)
                self._taken.append(name)
                self._leave(found, False)
                if found is not None:
                    yield found
            if self._once and not arrived:
                break
            if not arrived:
                time.sleep(self._poll)
        if self._finish or self._place is None:
            found = self._last()
            if found is not None:
                yield found
        self._unlock()
