"""Count the fields of every line of a delimited text: a line that is short must not pass as a row with gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CHUNK = 1 << 16  # stays in the processor's cache
NEWLINE, RETURN = 10, 13


@dataclass(frozen=True)
class Lines:
    """What a scan found: `regular` where every line has its fields, none is blank and all quotes are in place."""

    rows: int
    regular: bool


def scan(text: bytes, separator: str, quote: str | None, columns: int) -> Lines:
    """Check that every line has as many fields as there are columns.

    Parameters
    ----------
    text
        The file in UTF-8. A line ends at a line feed outside quotes.
    separator, quote
        One ASCII character each; None where quotes have no meaning.
    columns
        How many fields a line should have.

    Examples
    --------
    >>> scan(b"a,b\\n1,2\\n3\\n", ",", None, 2).regular
    False
    """
    if quote is not None and quote.encode() in text:
        ends, stray = _ends_quoted(text, ord(separator), ord(quote))
    else:
        ends, stray = _ends(text, ord(separator)), False
    if text and not text.endswith(b"\n"):
        ends = np.append(ends, True)
    rows = int(np.count_nonzero(ends))
    regular = not stray and ends.size == rows * columns and bool(ends.reshape(-1, columns)[:, -1].all())
    if regular and columns == 1:
        regular = not (text.startswith((b"\n", b"\r\n")) or b"\n\n" in text or b"\n\r\n" in text)
    return Lines(rows, regular)


def _ends(text: bytes, separator: int) -> np.ndarray:
    """For each separator and line feed, in order, whether it is a line feed."""
    buffer = np.frombuffer(text, np.uint8)
    found = []
    for low in range(0, buffer.size, CHUNK):
        chunk = buffer[low : low + CHUNK]
        newline = chunk == NEWLINE
        found.append(newline[newline | (chunk == separator)])
    return np.concatenate(found) if found else np.zeros(0, bool)


def _ends_quoted(text: bytes, separator: int, quote: int) -> tuple[np.ndarray, bool]:
    """The same outside quotes, and whether a quote stands where it neither opens nor closes a field."""
    buffer = np.frombuffer(text, np.uint8)
    found, inside, stray = [], False, False
    for low in range(0, buffer.size, CHUNK):
        view = buffer[max(low - 1, 0) : low + CHUNK + 1]  # one byte of context on either side
        if low == 0:
            view = np.append(np.uint8(NEWLINE), view)
        if low + CHUNK >= buffer.size:
            view = np.append(view, np.uint8(NEWLINE))
        newline, mark = view == NEWLINE, view == quote
        edge = newline | (view == separator) | mark
        closes = edge[2:] | (view[2:] == RETURN)
        # one byte per structural character: 1 quote, 2 line feed, 4 a field may open here, 8 a field may close here
        code = mark.view(np.uint8)[1:-1] | (newline.view(np.uint8)[1:-1] << 1)
        code |= (edge.view(np.uint8)[:-2] << 2) | (closes.view(np.uint8) << 3)
        code = code[edge[1:-1]]
        quotes = (code & 1).view(bool)
        state = np.logical_xor.accumulate(quotes) ^ inside  # inside quotes; a doubled quote closes and opens again
        allowed = code & (np.uint8(8) >> state.view(np.uint8))
        stray |= bool((quotes & (allowed == 0)).any())
        found.append(((code & 2) > 0)[~(quotes | state)])
        inside = bool(state[-1]) if state.size else inside
    return np.concatenate(found), stray or inside
