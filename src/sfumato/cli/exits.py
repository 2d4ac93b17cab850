"""From an exception to a message and an exit code: 1 a promise does not hold, 2 anything else, 130 interrupted."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from sfumato.cli.console import complain, say_json
from sfumato.cli.phrases import in_flags
from sfumato.errors import BrokenPromise, Cancelled, SfumatoError

INTERRUPTED = 130


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Whether Ctrl-C was pressed: a library may swallow the exception that comes of it, and fail of something else."""
    pressed = threading.Event()
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield pressed
        return

    def press(number: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.default_int_handler(number, frame)

    def swallowed(found: Any) -> None:
        if not issubclass(found.exc_type, KeyboardInterrupt):
            hook(found)

    signal.signal(signal.SIGINT, press)
    sys.unraisablehook = swallowed
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = hook


def told(error: BaseException, as_json: bool) -> int:
    """Tell what went wrong; where nobody listens any more, or there is no room to write, say nothing."""
    try:
        code = report(error, as_json)
        sys.stdout.flush()
        return code
    except OSError:
        return quiet_pipe()


def report(error: BaseException, as_json: bool) -> int:
    """Tell what went wrong, without the values of the table, and give the exit code."""
    if isinstance(error, KeyboardInterrupt | Cancelled):
        return interrupted("interrupted, nothing written", as_json)
    if isinstance(error, SfumatoError):
        told: dict[str, Any] = {"type": type(error).__name__, "message": in_flags(str(error))}
        more = {"faults": [*map(in_flags, getattr(error, "faults", ()))], "hint": in_flags(error.hint or "")}
        told |= {name: value for name, value in more.items() if value}
        return _tell(told, as_json, 1 if isinstance(error, BrokenPromise) else 2)
    usage = getattr(error, "format_message", None)  # the parser's own exceptions, wherever its library keeps them
    if usage is not None:
        context = getattr(error, "ctx", None)
        hint = f"{context.command_path} --help" if context is not None else "sfumato --help"
        return _tell({"type": "UsageError", "message": str(usage()), "hint": f"see {hint}"}, as_json, 2, show_hint=True)
    if isinstance(error, UnicodeEncodeError) and re.search("[\ud800-\udfff]", str(error.object)):
        message = "a name, path or address in the command is not valid Unicode"
        return _tell({"type": "UnicodeEncodeError", "message": message}, as_json, 2)
    if isinstance(error, OSError):
        place = f" ({error.filename})" if isinstance(error.filename, str) else ""
        return _tell({"type": "OSError", "message": f"the system says: {error.strerror}{place}"}, as_json, 2)
    if os.environ.get("SFUMATO_DEBUG") == "1":
        complain("".join(traceback.format_exception(error)).rstrip())
    message = f"this is a fault of Sfumato: {type(error).__name__} at {_place(error)}"
    told = {"type": "Fault", "message": message, "hint": "SFUMATO_DEBUG=1 shows the traceback, which may quote values"}
    return _tell(told, as_json, 2, show_hint=True)


def interrupted(message: str, as_json: bool) -> int:
    """Tell what an interrupt left behind, and give the exit code."""
    return _tell({"type": "Interrupted", "message": message}, as_json, INTERRUPTED)


def _tell(told: dict[str, Any], as_json: bool, code: int, show_hint: bool = False) -> int:
    if as_json:
        say_json({"error": told})
    else:
        complain(told["message"] if code == INTERRUPTED else f"error: {told['message']}")
        if show_hint:
            complain(told["hint"])
    return code


def _place(error: BaseException) -> str:
    """File and line of the innermost frame of Sfumato; the message of the exception may quote values and stays out."""
    root = Path(__file__).resolve().parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).resolve().is_relative_to(root)]
    last = (ours or frames)[-1:]
    if not last:
        return "an unknown place"
    path = Path(last[0].filename).resolve()
    return f"{path.relative_to(root.parent) if path.is_relative_to(root) else path.name}:{last[0].lineno}"


def quiet_pipe() -> int:
    """Whoever read our output has left: say nothing more, and nothing at exit either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number, stream in ((1, sys.__stdout__), (2, sys.__stderr__)):
        os.dup2(nowhere, stream.fileno() if stream else number)
    return 141
