"""What the commands print: text for people, one JSON document for machines."""

from __future__ import annotations

import json
import math
import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

# who stands in an address, with or without a password; but not where a message shows how one is written
USER = re.compile(r"(\w[\w+.-]*://)(?!user@host)(?:\S*|[^/\n]*)@")
SECRET = re.compile(r"\b((?:ssl)?password|passwd|pwd|pgpassword)(\s*=\s*)('[^']*'|[^\s&\"']+)", re.IGNORECASE)
STARS = r"\1\2***"
QUERY = re.compile(r"(?<=[?&])(user)(=)[^&\s\"']+")


def say(text: str = "") -> None:
    """A line on standard output."""
    print(clean(text))


def say_command(label: str, command: str) -> None:
    """A command to be pasted: users stay in its addresses, which hold no password."""
    print(_printable(f"{label}: {SECRET.sub(STARS, command)}"))


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


def say_table(head: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> None:
    """A table as wide as the terminal; where the output is no terminal, as wide as it needs."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, name in enumerate(head):
        table.add_column(name, justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(clean(str(cell))) for cell in row))
    width = None if sys.stdout.isatty() else 10_000
    Console(width=width, highlight=False, emoji=False, markup=False).print(table)


def number(value: object) -> str:
    """A number as people read it."""
    if isinstance(value, bool) or value is None:
        return "-" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


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
