"""The bytes of a text file, unpacked, and in UTF-8 whatever encoding they came in."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from pathlib import Path

from sfumato.errors import ReadError

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
HEAD = 1 << 16  # bytes looked at to guess the dialect


def decode(data: bytes, name: str, encoding: str | None = None) -> tuple[bytes, str]:
    """Bytes in any encoding to UTF-8 without a byte order mark, and the name of the encoding.

    A byte order mark decides; else it is UTF-8 if it can be, else Windows-1252, else Latin-1.

    >>> decode("é".encode("cp1252"), "x.csv") == ("é".encode(), "cp1252")
    True
    """
    if encoding is None:
        encoding = next((found for mark, found in BOMS if data.startswith(mark)), None)
    if encoding is None:
        fault = None if data.isascii() else _utf8_fault(data)
        if fault is None:
            return data, "utf-8"
        if _mostly_utf8(data[max(0, fault - HEAD) : fault + HEAD]):
            line = data.count(b"\n", 0, fault) + 1
            hint = 'the file is damaged; or pass encoding=, for example "cp1252"'
            raise ReadError(f"{name}: line {line} is not valid UTF-8, though the others are", hint=hint)
    for candidate in [encoding] if encoding else ["cp1252", "latin-1"]:
        try:
            return data.decode(candidate).removeprefix("\ufeff").encode(), candidate
        except LookupError:
            raise ReadError(f"encoding {candidate!r} is unknown", allowed="utf-8, utf-16, cp1252, latin-1") from None
        except UnicodeError:
            continue
    raise ReadError(f"{name} is not in encoding {encoding!r}", hint="leave encoding= out to have it guessed")


def load(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is compressed."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        raise ReadError(f"{path.name} is a damaged gzip file") from None


def _utf8_fault(data: bytes) -> int | None:
    """Where data stops being UTF-8; piecewise, to bound memory."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for low in range(0, len(data), HEAD):
        try:
            decoder.decode(view[low : low + HEAD], final=low + HEAD >= len(data))
        except UnicodeDecodeError as error:
            return low + error.start
    return None


def _mostly_utf8(data: bytes) -> bool:
    """Whether most bytes beyond ASCII are whole UTF-8 sequences: then the file is damaged UTF-8, nothing else."""
    whole = re.findall(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}", data)
    beyond = len(data) - len(data.translate(None, bytes(range(128, 256))))
    return 2 * sum(map(len, whole)) > beyond
