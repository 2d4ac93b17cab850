"""What the commands print: text for people, one JSON document for machines."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import threading
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sfumato.cli.phrases import in_flags
from sfumato.core.wording import number
from sfumato.errors import OutputError

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from sfumato.cli.options import DocumentOptions


# who stands in an address, with or without a password; but not where a message shows how one is written
USER = re.compile(r"(\w[\w+.-]*://)(?!user@host)(?:\S*|[^/\n]*)@")
SECRET = re.compile(r"\b((?:ssl)?password|passwd|pwd|pgpassword)(\s*=\s*)('[^']*'|[^\s&\"']+)", re.IGNORECASE)
STARS = r"\1\2***"
QUERY = re.compile(r"(?<=[?&])(user)(=)[^&\s\"']+")


def say(text: str = "") -> None:
    """A line on standard output."""
    print(clean(text))


def say_command(label: str, command: str, between: str = " ") -> None:
    """A command to be pasted: users stay in its addresses, which hold no password."""
    print(_printable(f"{label}:{between}{SECRET.sub(STARS, command)}"))


def complain(text: str) -> None:
    """A line on standard error."""
    print(clean(text), file=sys.stderr)


def clean(text: str) -> str:
    """Text that cannot steer a terminal, and gives no password away: names and addresses come from outside.

    >>> clean("a" + chr(27) + "[31m")
    'a?[31m'
    """
    return _printable(redact(text))


def _printable(text: str) -> str:
    return "".join("?" if unicodedata.category(c) in ("Cc", "Cs") and c != "\n" else c for c in text)


def redact(text: str) -> str:
    """Text without the users and passwords of the addresses in it.

    >>> redact("postgresql://ann:secret@host/db?password=secret has no table")
    'postgresql://***@host/db?password=*** has no table'
    """
    for pattern in (SECRET, QUERY):
        text = pattern.sub(STARS, text)
    return USER.sub(r"\1***@", text)


def without_user(address: str) -> str:
    """An address that names no user: the environment does.

    >>> without_user("postgresql://ann@host/db")
    'postgresql://host/db'
    """
    return USER.sub(r"\1", address)


def say_json(document: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(_plain(document), ensure_ascii=False, indent=2, allow_nan=False))


def width() -> int:
    """Columns to write into: those of the terminal, and 80 where there is none."""
    return max(40, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 80


def shortened(text: str, cells: int) -> str:
    """A text in so many cells of a terminal at most, its middle left out where it takes more.

    >>> shortened("admission_diagnosis_code_1", 16), shortened("漢字漢字漢字", 7)
    ('admissi…s_code_1', '漢字…字')
    """
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= cells:
        return text
    end = ""
    for letter in reversed(text):
        if cell_len(letter + end) > cells // 2:
            break
        end = letter + end
    return f"{set_cell_size(text, cells - 1 - cell_len(end)).rstrip()}…{end}"


def say_wrapped(text: str, indent: str = "  ") -> None:
    """An indented paragraph no wider than the terminal; a long word is cut, not lost."""
    from rich.cells import cell_len, chop_cells

    room, lines = width(), [indent]
    for word in clean(text).split():
        for piece in chop_cells(word, room - len(indent) - 2):
            longer = f"{lines[-1]} {piece}" if lines[-1].strip() else f"{lines[-1]}{piece}"
            lines = [*lines, f"{indent}  {piece}"] if cell_len(longer) > room else [*lines[:-1], longer]
    say("\n".join(lines))


def say_table(
    head: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[int] = (), short: int | None = None
) -> None:
    """A table as wide as the terminal; where the output is no terminal, as wide as it needs.

    With `short`, a column by number, each row is one line: that column is shortened so that the rest fits, and
    numbered where that makes two alike.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, name in enumerate(head):
        table.add_column(name, justify="right" if i in right else "left", overflow="fold")
    shown = [[clean(str(cell)) for cell in row] for row in rows]
    if short is not None:
        from rich.cells import cell_len

        lines = [head, *shown]
        rest = sum(max(cell_len(line[i]) for line in lines) + 3 for i in range(len(head)) if i != short)
        room = max(8, width() - rest)
        if len({shortened(row[short], room) for row in shown}) < len({row[short] for row in shown}):
            shown = [[*row[:short], f"{i} {row[short]}", *row[short + 1 :]] for i, row in enumerate(shown, 1)]
        for row in shown:
            row[short] = shortened(row[short], room)
    for row in shown:
        table.add_row(*map(Text, row))
    wide = None if sys.stdout.isatty() else 10_000
    Console(width=wide, highlight=False, emoji=False, markup=False).print(table)


def tell(notes: Iterable[str]) -> None:
    """Notes, on standard error."""
    for note in notes:
        complain(f"note: {note}")


def say_written(files: Iterable[object], how: str = "") -> None:
    """The files that a command wrote."""
    say(f"written{how}:")
    for file in files:
        say(f"  {file}")


def say_measures(measures: Iterable[Mapping[str, Any]]) -> None:
    """Two lines per measure: the figure with what it can be, and the sentence."""
    for measure in measures:
        say(f"  {measure['name']}: {number(measure['value'], 'not defined')} ({about(measure)})")
        say(f"      {measure['sentence']}")


def about(measure: Mapping[str, Any]) -> str:
    """The range of a measure, and its interval and baseline where it has one.

    >>> about({"range": [0.0, 1.0], "interval": [0.1, 0.3], "baseline": 0.05})
    '0 to 1; 95% interval 0.1 to 0.3; baseline 0.05'
    """
    low, high = measure["range"]
    words = [f"{number(low)} to {number(high)}" if high is not None else f"{number(low)} or more"]
    if measure["interval"] is not None:
        words.append("95% interval {} to {}".format(*map(number, measure["interval"])))
    if measure["baseline"] is not None:
        words.append(f"baseline {number(measure['baseline'])}")
    return "; ".join(words)


def refuse_existing(path: Path | None, overwrite: bool, what: str = "file") -> None:
    """Refuse to replace a file before the work, not after it."""
    if path is not None and path.exists() and not overwrite:
        raise OutputError(f'the {what} "{path}" exists already', hint="choose another name, or give --overwrite")


def publish(
    found: Mapping[str, Any], document: DocumentOptions, notes: Iterable[str], as_json: bool, show: Callable[[], None]
) -> None:
    """What a command measured: in a file where one is named, and for machines or, by `show`, for people."""
    if document.output is not None:
        from sfumato.engines.atomic import atomic_file

        with (
            atomic_file(document.output, document.overwrite) as part,
            part.open("w", encoding="utf-8", newline="\n") as file,
            redirect_stdout(file),
        ):
            say_json(found)
    if as_json:
        say_json(found)
        return
    tell(notes)
    show()
    if document.output is not None:
        say(f"written: {document.output}")


def _plain(value: Any) -> Any:
    """Values that JSON knows; what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {redact(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a number of numpy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float | bool) or value is None else redact(str(value))


@contextmanager
def notes(words: str = "shell") -> Iterator[list[str]]:
    """Collect the warnings raised inside, each once; those that libraries raise for developers are dropped."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield found
        finally:
            kinds = [w for w in caught if w.category.__module__.startswith("sfumato") or w.category is UserWarning]
            found += dict.fromkeys(
                _in_shell(w.message, words) for w in kinds if "sfumato" in w.filename or w.category is not UserWarning
            )


@contextmanager
def notes_at_once() -> Iterator[None]:
    """Tell the warnings of all threads as they come: for what runs until it is stopped."""
    with warnings.catch_warnings():
        told = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **beside: Any) -> None:
            if category.__module__.startswith("sfumato"):
                tell([_in_shell(message, "shell")])
            else:
                told(message, category, *place, **beside)

        warnings.showwarning = show
        yield


def _in_shell(message: Warning | str, words: str) -> str:
    """A warning in the words of the shell."""
    return in_flags(str(message.told_in(words) if hasattr(message, "told_in") else message))


DELAY = 1.0  # seconds before anything shows
ONCE = "compiling"  # this message is told at once and everywhere: it explains a wait that comes once


class Progress:
    """A context manager to call with a message and the share done, or None where nobody knows."""

    def __init__(self, first: str) -> None:
        self.message = first
        self.share: float | None = None
        self.lock = threading.Lock()
        self.bar: Bar | None = None
        self.task: TaskID | None = None
        self.timer = threading.Timer(DELAY, self._show)
        self.timer.daemon = True
        self.told = self.over = False

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self.timer.start()
        return self

    def __call__(self, message: str, share: float | None = None) -> None:
        with self.lock:
            self.message, self.share = message, share
            if message.startswith(ONCE) and not self.told:
                self.told = True
                complain(message)
            if self.bar is not None and self.task is not None:
                self.bar.update(self.task, description=clean(message), total=1.0 if share is not None else None)
                self.bar.update(self.task, completed=share or 0.0)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.timer.cancel()
        with self.lock:
            if self.bar is not None:
                self.bar.stop()
            self.bar, self.over = None, True

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        with self.lock:
            if self.over:  # the timer fired late
                return
            self.bar = Bar(*columns, console=Console(stderr=True), transient=True)
            total = 1.0 if self.share is not None else None
            self.task = self.bar.add_task(clean(self.message), total=total)
            self.bar.update(self.task, completed=self.share or 0.0)
            self.bar.start()
