"""JSON documents that come from outside, as a manifest or a signature does: read one way only, or refused."""

from __future__ import annotations

import json
import math
import stat
from pathlib import Path
from typing import Any

from sfumato.errors import ReadError

MANIFEST = "manifest.json"  # of a release, read by `release.manifest`
LARGEST_FILE = 1 << 27  # bytes
MOST_DIGITS = 100  # of a whole number: more than any seed has


def read_document(file: Path) -> Any:
    """What a JSON file says, where every reader would take it to say the same.

    Refused are keys that stand twice, numbers that are not finite or have no end of digits, half characters (lone
    surrogates), any encoding but UTF-8, nesting without end, and files that are too large or no files at all.

    Raises
    ------
    ReadError
        Names the file and what is wrong, never what stands in it.
    """
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ReadError(f'"{file}" is no file')
        if status.st_size > LARGEST_FILE:
            raise ReadError(f'"{file}" is too large', got=f"{status.st_size} bytes", allowed=f"{LARGEST_FILE} bytes")
        content = file.read_bytes()
    except OSError as error:
        raise ReadError(f'"{file}" cannot be read: {error.strerror or type(error).__name__}') from None
    try:
        document = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_short,
        )
        canonical(document)
    except json.JSONDecodeError as error:
        raise ReadError(f'"{file}" is no JSON: {error.msg} at line {error.lineno}') from None
    except UnicodeError:
        raise ReadError(f'"{file}" is no JSON that can be relied on: it is not UTF-8 text') from None
    except RecursionError:
        raise ReadError(f'"{file}" is no JSON that can be relied on: it is nested too deeply') from None
    except ValueError as error:  # of the four below
        raise ReadError(f'"{file}" is no JSON that can be relied on: {error}') from None
    return document


def canonical(document: Any) -> bytes:
    """The one form of a document that is hashed and signed: UTF-8, sorted keys, no spaces.

    >>> canonical({"b": 1, "a": ["ä", None]})
    b'{"a":["\\xc3\\xa4",null],"b":1}'
    """
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _short(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number has more than {MOST_DIGITS} digits")
    return int(text)
