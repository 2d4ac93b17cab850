"""Log: what went wrong and where, without what it was about: messages and tracebacks may quote cells."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

FAULT = "this did not work: a fault of Sfumato, noted in the log of the studio"
HERE = Path(__file__).resolve().parents[1]


def place_of(error: BaseException) -> str:
    """The kind of an error and the last line of Sfumato that it passed, or the very last where it passed none.

    >>> try:
    ...     {}["Smith"]
    ... except KeyError as error:
    ...     print(place_of(error).split(" in ")[0])
    KeyError
    """
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(HERE)] or frames
    where = f" in {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return f"{type(error).__name__}{where}"


def keep_values_out(make: Callable[..., logging.LogRecord] | None = None) -> None:
    """Log no message of an exception and no traceback from here on, whoever logs it; SFUMATO_DEBUG=1 leaves them."""
    if os.environ.get("SFUMATO_DEBUG") == "1":
        return
    make = make or logging.getLogRecordFactory()

    def discreet(*arguments: Any, **more: Any) -> logging.LogRecord:
        record = make(*arguments, **more)
        if record.exc_info and record.exc_info[1] is not None:
            record.msg, record.args = place_of(record.exc_info[1]), ()
            record.exc_info = record.exc_text = record.stack_info = None
        return record

    logging.setLogRecordFactory(discreet)
